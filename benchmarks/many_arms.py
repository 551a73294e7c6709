"""Very many arms: tournaments beside the walk over all arms, in CPU time of the same run.

    python benchmarks/many_arms.py --arms 1000 10000 --horizon 1e6
    python benchmarks/many_arms.py --memory --arms 10000 --horizon 1e5

`--memory` prints instead how much memory 1,000 runs take that keep regret alone, the whole process
with its compiled code: each number of arms in a process of its own.

Both give the same numbers (`tests/policies/test_policies_ranks.py`), which is checked here as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
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


def megabytes(arms: int, horizon: float, times: int, points: int) -> float:
    """The most memory that a process takes that simulates so many runs and keeps their regret."""
    code = f"""
import resource, discreet
means = [0.9] + [0.1 + 0.5 * arm / {arms} for arm in range({arms} - 1)]
found = discreet.simulate(
    discreet.policy("dp-imed", epsilon=1.0), discreet.Bernoulli(means), horizon={horizon},
    runs={times}, points={points}, seed=1, record="regret", progress=False,
)
assert found.runs == {times} and found.regret.shape[1] <= {points}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
"""
    asked = [sys.executable, "-c", code]
    return float(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--horizon", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--points", type=int, default=100)
    asked = parser.parse_args()
    if asked.memory:
        print(f"T = {asked.horizon:g}; 1,000 runs of dp-imed, {asked.points} points, regret alone")
        for arms in asked.arms:
            took = megabytes(arms, asked.horizon, 1000, asked.points)
            print(f"{arms:7,d} arms: {took:,.0f} MB at most", flush=True)
        return
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
