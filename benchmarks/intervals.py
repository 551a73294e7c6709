"""Coverage and width of intervals on adaptive trials: four cases, 800 trials each.

    python benchmarks/intervals.py [TRIALS]
    python benchmarks/intervals.py --epochs [TRIALS]
    python benchmarks/intervals.py --differences [TRIALS]
    python benchmarks/intervals.py --implied

Level 95 %. Coverage is over all arms; width is the mean of the first two. Anytime and P looks hold
here; one look and the normal approximation do not, for shares follow outcomes: they are printed to
be compared. "raw" is the width of Clopper and Pearson's interval for as many rewards as were
played, without noise. P is the number of looks that the schedule allows within the trial.

Top two is `evidence-tt`, whose sizes follow the evidence, so that planned looks are not for it (at
risk 1e-6, at which hardly any trial stops, and at .01, at which about half of them do), and
`chernoff-tt`, whose sizes are fixed beforehand, at ratio 1.5 (its default) and 2.

With --implied: which batches stand behind the reference widths of the top-two cases, which name no
sizes. Three of their columns tell: the raw width is a function of an arm's pulls n alone, the
normal one of n and the number k of its batches, and the quotient of planned looks and one look of P
alone. A ratio gives k and P, for the first batch is known. At n, k and P the anytime width is ours
to compare, with nothing left to choose.

With --differences: simulated trials of index policies over a grid of rates, by the kind that is
reckoned beforehand and by the other: how often the interval of the difference of the first two arms
holds it at the end, and its width; the same of the first arm's mean.

With --epochs: the difference of two arms within epochs, .45 and .36, ε = 1, 5,000 participants,
each epoch planned while the one before it is in flight; how often it is inside after every epoch,
and at the end, beside the mean ± 1.96 standard errors.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm

import discreet
from discreet.identify import identifier, identify
from discreet.inference import Record, differences, intervals, record_of
from discreet.inference._record import Recording, check_kind
from discreet.inference._tails import exact_limits
from discreet.inference._within import EpochRecord, Within, limits_within
from discreet.policies._epochs import Cells, EpochPlan, Room, difference, epoch_size, plan_epoch
from discreet.policies.releases._entries import Noise

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
    environment = discreet.Bernoulli(case.means)
    options: dict[str, Any] = {"runs": trials, "seed": SEED, "progress": False}
    setting = case.row.setting(len(case.means), case.horizon)
    looks = case.row.schedule.looks(setting)
    if hasattr(case.row, "at"):
        result: Any = identify(
            case.row, environment, risk=case.row.delta, max_samples=case.horizon, **options
        )
        return result, result.pulls, looks
    result = discreet.simulate(case.row, environment, horizon=case.horizon, **options)
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


def raw_width(pulls: float, mean: float) -> float:
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


class Reference(NamedTuple):
    """A row of the table of widths to reach, to three digits."""

    epsilon: float
    horizon: int
    anytime: float
    looks: float
    one: float
    normal: float
    raw: float


REFERENCES = (
    Reference(1.0, 5000, 0.059, 0.048, 0.034, 0.034, 0.032),
    Reference(0.1, 20_000, 0.052, 0.044, 0.031, 0.031, 0.015),
)
HALF = 0.0005
"""of the last digit"""


def implied(row: Reference) -> None:
    """Print what a row implies, and what each ratio would give."""
    noise, means = Noise("laplace", 1.0 / row.epsilon), A[:2]

    def mean_width(limits_of: Any) -> float:
        return float(np.mean([high - low for low, high in map(limits_of, means)]))

    pulls = brentq(lambda n: np.mean([raw_width(n, m) for m in means]) - row.raw, 100, 1e5)
    first = math.ceil((8.0 + 4.0 * math.log((len(A) - 1) / 0.01)) / row.epsilon)
    least, most = ((row.looks + s * HALF) / (row.one - s * HALF) for s in (-1, 1))
    print(f"ε {row.epsilon:g}, T {row.horizon}: n = {pulls:.0f}, first batch {first}; "
          f"looks / one look in [{least:.3f}, {most:.3f}]")  # fmt: skip
    size = round(pulls)
    for ratio in (1.5, 2.0, 3.0):
        batches = round(1.0 + math.log(pulls / first) / math.log(ratio))
        looks = 1 + math.floor(math.log(row.horizon / first) / math.log(ratio))
        one, several = (
            mean_width(lambda m, p=p, k=batches: exact_limits(size, size * m, noise, k, ALPHA / p))
            for p in (1, looks)
        )
        ends = [round(size * ratio ** (k + 1 - batches)) for k in range(batches)]
        history = tuple(tuple((end, m) for end in ends) for m in means)
        record = Record(Recording("running", noise), (0, 1), history, binary=True)
        ours = float(np.mean([one.width for one in intervals(record, 1 - ALPHA, "anytime")]))
        print(f"  ratio {ratio:g}: k = {batches}, P = {looks}; looks / one look "
              f"{several / one:.3f}; one look {one:.4f} ({row.one}), looks {several:.4f} "
              f"({row.looks}), anytime {ours:.4f} ({row.anytime})")  # fmt: skip


GRID: tuple[tuple[str, dict[str, float], int, tuple[float, float]], ...] = (
    *(("dp-imed", {"epsilon": 0.1}, 20_000, rates)
      for rates in ((0.55, 0.5), (0.5, 0.5), (0.1, 0.1), (0.9, 0.5), (0.05, 0.02))),
    *(("dp-imed", {"epsilon": 1.0}, 2000, rates) for rates in ((0.55, 0.5), (0.1, 0.1))),
    *(("adap-klucb", {"epsilon": 0.02}, 50_000, rates)
      for rates in ((0.55, 0.5), (0.5, 0.5), (0.1, 0.1))),
    *(("adac-ucb", {"rho": 0.05}, 5000, rates) for rates in ((0.55, 0.5), (0.1, 0.1))),
)  # fmt: skip
"""Policies, budgets, participants and the rates of two arms."""


def measured_differences(
    name: str, budget: dict[str, float], horizon: int, rates: tuple[float, float], trials: int
) -> None:
    """Print a line: the kind that was reckoned comes first."""
    found = discreet.simulate(
        discreet.policy(name, **budget), discreet.Bernoulli(list(rates)), horizon=horizon,
        runs=trials, seed=SEED, progress=False,
    )  # fmt: skip
    truth, cells = rates[0] - rates[1], []
    record = replace(record_of(found, 0), binary=True)
    reckoned = check_kind(record.kind, record.recorded)
    for kind in sorted(("looks", "anytime"), key=lambda each: each != reckoned):
        held, alone, widths, wide = 0, 0, np.empty(trials), np.empty(trials)
        for run in range(trials):
            record = replace(record_of(found, run), binary=True, kind=kind)
            gap, one = differences(record, against=1, together=False)[0], intervals(record)[0]
            held += gap.low <= truth <= gap.high
            alone += rates[0] in one
            widths[run], wide[run] = gap.width, one.width
        cells.append(
            f"{kind}: difference {held / trials:.3f}/{widths.mean():.3f}, "
            f"first arm {alone / trials:.3f}/{wide.mean():.3f}"
        )
    said = ", ".join(f"{key} = {value:g}" for key, value in budget.items())
    print(f"{name}, {said}, {horizon:,}, {rates[0]:g}/{rates[1]:g}: {'; '.join(cells)}", flush=True)


PLAN = EpochPlan(1.0, 20, 1.5, 168)
PEOPLE = 5000
RATES = (0.45, 0.36)
DRIFTS: dict[str, Any] = {
    "none": lambda at: 0.0 * at,
    "+.2 linear": lambda at: 0.2 * at,
    "-.2 linear": lambda at: -0.2 * at,
    "±.1, 180 d": lambda at: 0.1 * np.sin(2.0 * math.pi * at * PEOPLE / 12.0 / 180.0),
}


def in_epochs(drift: Any, share: float, rng: Any) -> list[tuple[tuple[int, float], ...]]:
    """The cells of one trial, all of them released."""
    epochs: list[tuple[tuple[int, float], ...]] = []
    taken = 0
    while taken < PEOPLE:
        size = min(epoch_size(PLAN, taken, 2), PEOPLE - taken)
        cells, room = _known(epochs), Room([0, 0], [0, 0], [0.0, 0.0], [0.0, 0.0])
        least = [math.floor(share * size)] * 2
        plan_epoch(PLAN, cells, len(epochs), [1, 1], least, size, room)
        arms = rng.permutation(np.repeat([0, 1], room.wanted))
        rates = np.array(RATES)[arms] + drift((taken + np.arange(size)) / PEOPLE)
        outcomes = rng.random(size) < rates
        noises = rng.laplace(0.0, 1.0 / PLAN.epsilon, 2)
        epochs.append(
            tuple(
                (int(n), float(outcomes[arms == arm].sum() + noises[arm]))
                for arm, n in enumerate(room.wanted)
            )
        )
        taken += size
    return epochs


def _known(epochs: list[tuple[tuple[int, float], ...]], waiting: int = 1) -> Cells:
    """What is known while the last epochs are waited for."""
    flat = [cell for epoch in epochs for cell in epoch]
    seen = 2 * max(0, len(epochs) - waiting)
    released = [int(i < seen and n > 0) for i, (n, _) in enumerate(flat)]
    return Cells([n for n, _ in flat], [x for _, x in flat], released)


def measured_within(name: str, share: float, trials: int) -> None:
    """Print a line for a drift."""
    rng, truth = np.random.default_rng(SEED), RATES[0] - RATES[1]
    held = {"always": 0, "end": 0, "normal": 0}
    widths, wide = np.empty(trials), np.empty(trials)
    for run in range(trials):
        epochs = in_epochs(DRIFTS[name], share, rng)
        cells = tuple(tuple((n, x if n else None) for n, x in epoch) for epoch in epochs)
        record = EpochRecord((0, 1), cells, Noise("laplace", 1.0 / PLAN.epsilon))
        most = -math.inf
        for a, c, d in ((0, 1, truth), (1, 0, -truth)):
            pair = Within(record, a, c)
            logs = np.logaddexp.reduce(pair.weights + pair.steps(d).cumsum(axis=0), axis=1)
            most = max(most, float(logs.max()))
        held["always"] += most < math.log(2.0 / ALPHA)
        low, high = limits_within(record, 0, 1, ALPHA)
        held["end"] += low <= truth <= high
        gap, weights = difference(PLAN, _known(epochs, 0), len(epochs), 2, 0, 1)
        reach = float(norm.isf(ALPHA / 2)) / math.sqrt(weights)
        held["normal"] += abs(gap - truth) <= reach
        widths[run], wide[run] = high - low, 2.0 * reach
    print(
        f"drift {name}, each arm at least {share:g}: always inside {held['always'] / trials:.4f}, "
        f"at the end {held['end'] / trials:.4f}, width {widths.mean():.4f}; "
        f"± 1.96 errors {held['normal'] / trials:.4f}, width {wide.mean():.4f}",
        flush=True,
    )


def main() -> None:
    """All cases."""
    if "--implied" in sys.argv:
        for row in REFERENCES:
            implied(row)
        return
    asked = [word for word in sys.argv[1:] if not word.startswith("--")]
    trials = int(asked[0]) if asked else 800
    if "--differences" in sys.argv:
        for line in GRID:
            measured_differences(*line, trials)
        return
    if "--epochs" in sys.argv:
        for share in (0.0, 0.1):
            for name in DRIFTS:
                measured_within(name, share, trials)
        return
    for case in CASES:
        measured(case, trials)


if __name__ == "__main__":
    main()
