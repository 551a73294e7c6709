"""Very many arms: tournaments beside the walk over all arms, in CPU time of the same run.

    python benchmarks/many_arms.py --arms 1000 10000 --horizon 1e6

Both give the same numbers (`tests/policies/test_policies_ranks.py`), which is checked here as well.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np

import discreet
from discreet.simulator import _loop as loop
from discreet.simulator import _runs as runs

POLICIES = (
    discreet.policy("adap-ucb", epsilon=1.0),
    discreet.policy("adap-klucb", epsilon=1.0),
    discreet.policy("adac-ucb", rho=0.5),
    discreet.policy("dp-klucb", epsilon=1.0),
    discreet.policy("dp-imed", epsilon=1.0),
    discreet.policy("gauss-imed", rho=0.5),
    discreet.policy("laplace-imed", epsilon=1.0),
)


def milliseconds(
    policy: discreet.Policy, environment: discreet.Bernoulli, horizon: float, times: int
):
    """CPU time of a run, compiling left out, and its regret."""
    study = {"seed": 1, "threads": 1, "points": 2, "progress": False}
    discreet.simulate(policy, environment, horizon=environment.arms, runs=1, **study)
    started = time.process_time()
    result = discreet.simulate(policy, environment, horizon=horizon, runs=times, **study)
    return 1e3 * (time.process_time() - started) / times, result.final_regret[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--horizon", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    print(f"T = {asked.horizon:g}; CPU milliseconds a run")
    print(f"{'policy':14s} {'arms':>7s} {'tournaments':>12s} {'walk':>10s} {'ratio':>8s}")
    for arms in asked.arms:
        means = np.append(np.random.default_rng(1).uniform(0.1, 0.6, arms - 1), 0.9)
        environment = discreet.Bernoulli(means.tolist())
        for policy in POLICIES:
            ranked, regret = milliseconds(policy, environment, asked.horizon, asked.runs)
            with (
                mock.patch.object(loop, "is_ranked", return_value=False),
                mock.patch.object(runs, "is_ranked", return_value=False),
            ):
                walked, same = milliseconds(policy, environment, asked.horizon, 1)
            assert regret == same
            print(
                f"{policy.name:14s} {arms:7d} {ranked:12.2f} {walked:10.1f} {walked / ranked:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
