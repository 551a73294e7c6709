"""Live trials side by side, on seeded noise: races, top two and epochs.

    python benchmarks/side_by_side.py race|top-two|epochs|equal [--runs 100] [--seed 1]

12 arrivals a day, answers count for 14 days, 10 % are missing and counted as 0, ε = 1. These are
the live classes themselves, rehearsed: slow, and the same code that runs with secure noise.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import discreet
from discreet.identify import identifier
from discreet.live._arguments import grouped
from discreet.simulator.calendar import Drift

CALENDAR: dict[str, Any] = {"arrivals": 12, "delay": 14, "missing": 0.1, "default": 0.0}


def line(name: str, values: list[float]) -> str:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((x - mean) ** 2 for x in values) / len(values))
    return f"{name} {mean:.3f} ± {spread / math.sqrt(len(values)):.3f}"


def identified(row: Any, means: list[float], seed: int, horizon: int, drift: Any = None) -> Any:
    trial = discreet.Rehearsal(
        row, ["A", "B"], horizon=horizon, seed=seed, risk=0.05, drift=drift, **grouped(CALENDAR)
    )
    report = trial.play(discreet.Bernoulli(means))
    answer = report["recommendation"]
    return (None if answer is None else answer["arm"]), report["assigned"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["race", "top-two", "epochs", "equal"])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.runs)
    print(f"{asked.what}: {asked.runs} trials, seeds from {asked.seed}; ± one standard error")
    if asked.what == "epochs":
        row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5)
        regret, bias = [], []
        for seed in seeds:
            rehearsal = discreet.Rehearsal(
                row,
                ["A", "B"],
                horizon=5000,
                seed=seed,
                **grouped(dict(trend=True, window=168, **CALENDAR)),
            )
            report = rehearsal.play(discreet.Bernoulli([0.5, 0.4]))
            gap = report["trend"]["behind"][0]
            sign = -1.0 if gap["arm"] == "A" else 1.0
            regret.append(0.1 * report["arms"][1]["assigned"])
            bias.append(sign * gap["mean"] - 0.09)
        print(line("regret", regret), line("bias", bias))
        return
    name = "evidence-tt" if asked.what == "top-two" else "race"
    means = [0.5, 0.5] if asked.what == "equal" else [0.5, 0.3]
    drift = Drift("season", 0.15, 365.0) if asked.what == "equal" else None
    found = [identified(identifier(name, epsilon=1.0), means, seed, 6000, drift) for seed in seeds]
    print(line("declared", [float(arm is not None) for arm, _ in found]))
    print(line("wrong", [float(arm == "B") for arm, _ in found]))
    print(line("participants", [float(many) for _, many in found]))


if __name__ == "__main__":
    main()
