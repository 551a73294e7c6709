"""Rewards that move: the table of docs/simulator.md, moving regret of policies that follow.

python benchmarks/moving.py [--runs 100]
"""

from __future__ import annotations

import argparse

import discreet
from discreet.arms import Environment
from discreet.simulator._record import mean_and_error

HORIZON = 100_000
MEANS = [0.8, 0.5, 0.4, 0.3]
PRIVATE = ("dp-imed", "dp-tsallis", "dp-sw-ucb", "dp-d-ucb", "dp-m-ucb")
OPEN = ("sw-ucb", "imed")


def stretches(number: int) -> Environment:
    """The same means, moved on by one arm in every stretch."""
    rows = [MEANS[i % 4 :] + MEANS[: i % 4] for i in range(number)]
    return discreet.Switching(rows, at=[i * HORIZON // number for i in range(number)])


ENVIRONMENTS: dict[str, Environment] = {
    "means .8 .5 .4 .3, still": discreet.Bernoulli(MEANS),
    "the same, moved on 4 times": stretches(5),
    "moved on 19 times": stretches(20),
    ".5 .4 .4 .4, then the third .9": discreet.Switching(
        [[0.5, 0.4, 0.4, 0.4], [0.5, 0.4, 0.9, 0.4]], at=[0, HORIZON // 3]
    ),
}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=100)
    runs = asked.parse_args().runs
    for name, environment in ENVIRONMENTS.items():
        for epsilon in (1.0, 0.1):
            rows = [discreet.policy(row, epsilon=epsilon) for row in PRIVATE]
            rows += [discreet.policy(row) for row in OPEN]
            found = discreet.compare(
                rows, environment, horizon=HORIZON, runs=runs, seed=1, points=2, progress=False
            )
            cells = [mean_and_error(result.moving_regret[:, -1]) for result in found]
            print(f"| {name}, ε = {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
