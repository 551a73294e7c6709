"""A step of a live trial with contexts: an assignment and its outcome, and what windows take of it.

    python benchmarks/live_contexts.py

A window is a release's padded draw. "draw" is what the same numbers take without one. The rest of a
step is the algebra of the policy, interpreted, and the trial's own. Steps are averaged over trials
in memory, from the sixth participant on.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import discreet
import discreet.linear as linear
from discreet.privacy import _secure as secure

ROWS: tuple[tuple[str, int, dict[str, float]], ...] = (
    ("adac-oful", 6, {"rho": 0.5}),
    ("adac-oful", 50, {"rho": 0.5}),
    ("private-linucb", 6, {"epsilon": 1.0}),
    ("jdp-linucb", 6, {"epsilon": 1.0, "delta": 1e-6}),
    ("jdp-linucb", 20, {"epsilon": 1.0, "delta": 1e-6}),
    ("jdp-ts", 6, {"epsilon": 1.0, "delta": 1e-6}),
)


def milliseconds(name: str, dimension: int, people: int, **budget: float) -> tuple[float, ...]:
    """Of a step: all of it, its windows, the draws in them; and how many windows it has."""
    world, spent = random.Random(1), [0.0, 0.0, 0.0]
    padded = secure.padded

    def watched(law: str, draw: Any, number: int) -> list[int]:
        def timed(many: int) -> list[int]:
            begun = time.perf_counter()
            drawn: list[int] = draw(many)
            spent[1] += time.perf_counter() - begun
            return drawn

        if law not in secure._windows:
            secure._measured(law, draw, number)
        begun = time.perf_counter()
        found = padded(law, timed, number)
        spent[0] += time.perf_counter() - begun
        spent[2] += 1.0
        return found

    row, features = linear.policy(name, **budget), discreet.Features(dimension=dimension)
    length = dimension**-0.5
    secure.padded = watched
    try:
        with linear.Trial(row, 2, horizon=people + 5, features=features) as trial:
            for unit in range(people + 5):
                actions = [
                    [world.uniform(-length, length) for _ in range(dimension)] for _ in range(2)
                ]
                if unit == 5:
                    spent[:] = [0.0, 0.0, 0.0]
                    begun = time.perf_counter()
                trial.assign(unit, actions)
                trial.record(unit, 0.5)
            whole = time.perf_counter() - begun
    finally:
        secure.padded = padded
    return tuple(1e3 * part / people for part in (whole, spent[0], spent[1], 1e-3 * spent[2]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=60)
    people = parser.parse_args().people
    heads = ("ms a step", "in windows", "draw", "windows")
    print(f"{'policy':16s} {'d':>3s} " + " ".join(f"{head:>10s}" for head in heads))
    for name, dimension, budget in ROWS:
        whole, inside, draw, number = milliseconds(name, dimension, people, **budget)
        print(
            f"{name:16s} {dimension:3d} {whole:10.2f} {inside:10.2f} {draw:10.2f} {number:10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
