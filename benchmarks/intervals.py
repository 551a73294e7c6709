"""Coverage and width of intervals on adaptive trials: four cases, 800 trials each.

    python benchmarks/intervals.py [TRIALS]

Level 95 %. Coverage is over all arms; width is the mean of the first two. Anytime and P looks hold
here; one look and the normal approximation do not, for shares follow outcomes: they are printed to
be compared. "raw" is the width of Clopper and Pearson's interval for as many rewards as were
played, without noise. P is the number of looks that the schedule allows within the trial.

Top two is `evidence-tt`, whose sizes follow the evidence, so that planned looks are not for it (at
risk 1e-6, at which hardly any trial stops, and at .01, at which about half of them do), and
`chernoff-tt`, whose sizes are fixed beforehand, at ratio 1.5 (its default) and 2.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, norm

import discreet
from discreet.identify import identifier, identify
from discreet.inference import Record, intervals, record_of
from discreet.inference.record import Recording
from discreet.inference.tails import exact_limits

A = [0.95, 0.9, 0.9, 0.9, 0.5]
NEAR = [0.55, 0.5, 0.5, 0.45]
ALPHA = 0.05
SEED = 1


class Case(NamedTuple):
    """A trial: its row, its means, its length."""

    name: str
    row: Any
    means: list[float]
    horizon: int


TOP_TWO = [
    *(("evidence-tt", risk, {}) for risk in (1e-6, 0.01)),
    *(("chernoff-tt", 0.01, {"ratio": ratio}) for ratio in (1.5, 2.0)),
]
CASES = [
    *(
        Case(f"A, ε {epsilon:g}, T {horizon}, {name}, risk {risk:g} {options or ''}",
             identifier(name, epsilon=epsilon, **options).at(risk), A, horizon)
        for epsilon, horizon in ((1.0, 5000), (0.1, 20_000))
        for name, risk, options in TOP_TWO
    ),
    *(
        Case(f".55 .5 .5 .45, ε {epsilon:g}, T {horizon}, IMED",
             discreet.policy("dp-imed", epsilon=epsilon), NEAR, horizon)
        for epsilon, horizon in ((1.0, 5000), (0.1, 20_000))
    ),
]  # fmt: skip


def records(case: Case, trials: int) -> tuple[Any, Any, int | None]:
    """A simulated result, the pulls of its trials, and P where sizes are fixed."""
    law = discreet.Bernoulli(case.means)
    options: dict[str, Any] = {"runs": trials, "seed": SEED, "progress": False}
    setting = case.row.setting(len(case.means), case.horizon)
    looks = case.row.schedule.looks(setting)
    if hasattr(case.row, "at"):
        result: Any = identify(
            case.row, law, risk=case.row.delta, max_samples=case.horizon, **options
        )
        return result, result.pulls, looks
    result = discreet.simulate(case.row, law, horizon=case.horizon, **options)
    return result, result.pulls[:, -1], looks


def limits(record: Record, arm: int) -> dict[str, tuple[float, float]]:
    """One look by exact tails, and the normal approximation."""
    size, total, draws = record.sums(arm)
    noise, mean = record.recorded.noise, record.sums(arm)[1] / size
    inside = min(max(mean, 0.0), 1.0)
    spread = math.sqrt(inside * (1 - inside) / size + 2 * draws * noise.scale**2 / size**2)
    reach = float(norm.isf(ALPHA / 2)) * spread
    one = exact_limits(size, total, noise, draws, ALPHA)
    assert one is not None
    return {"one look": one, "normal": (mean - reach, mean + reach)}


def raw_width(pulls: int, mean: float) -> float:
    """Clopper and Pearson's, for as many rewards with that share of successes."""
    wins = pulls * mean
    return float(
        beta.isf(ALPHA / 2, wins + 1, pulls - wins) - beta.ppf(ALPHA / 2, wins, pulls - wins + 1)
    )


def measured(case: Case, trials: int) -> None:
    """Print a line of the table."""
    result, pulls, looks = records(case, trials)
    held: dict[str, list[float]] = {}
    wide: dict[str, list[float]] = {}
    for run in range(trials):
        record = record_of(result, run)
        recorded = replace(record.recorded, looks=looks)
        assert isinstance(recorded, Recording)
        record = replace(record, recorded=recorded, binary=True)
        found: dict[str, list[tuple[float, float]]] = {}
        for kind in ("anytime", "looks") if looks else ("anytime",):
            found[kind] = [(row.low, row.high) for row in intervals(record, 1 - ALPHA, kind)]
        for arm in range(len(case.means)):
            for kind, ends in limits(record, arm).items():
                found.setdefault(kind, []).append(ends)
        for kind, rows in found.items():
            inside = [low <= m <= high for (low, high), m in zip(rows, case.means, strict=True)]
            held.setdefault(kind, []).append(float(np.mean(inside)))
            wide.setdefault(kind, []).append(float(np.mean([high - low for low, high in rows[:2]])))
        raw = [raw_width(int(pulls[run][arm]), case.means[arm]) for arm in range(2)]
        wide.setdefault("raw", []).append(float(np.mean(raw)))
    cells = [
        f"{kind} {np.mean(held[kind]):.3f}/{np.mean(wide[kind]):.4f}"
        for kind in ("anytime", "looks", "one look", "normal")
        if kind in wide
    ]
    error = np.std(wide["anytime"]) / math.sqrt(trials)
    print(f"{case.name}: P = {looks}; ", "; ".join(cells),
          f"; raw width {np.mean(wide['raw']):.4f}; standard error of a width {error:.4f}",
          flush=True)  # fmt: skip


def main() -> None:
    """All cases."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    for case in CASES:
        measured(case, trials)


if __name__ == "__main__":
    main()
