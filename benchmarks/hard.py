"""Hard instances: has a policy that we advise runs that never recover?

    python benchmarks/hard.py                       every policy, a line for each
    python benchmarks/hard.py --only laplace-imed   one of them (as often as you like)
    python benchmarks/hard.py --output docs/hard.md the page

The sweep has best rates from .01 to .99, gaps from .01 to .4, 2 to 20 arms, and budgets over three
decades. An instance is hard for a policy if the regret of some runs is far above that of most: a
run is lost if its regret is above 20 times the median of its instance. Advised policies must have
none in 2,000 runs of any instance; exits with 1 if one has. Policies in batches run for 1e6
participants, those that decide each round or every few for 1e4.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import discreet

RATES = (0.01, 0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
"""of the best arm"""
GAPS = (0.01, 0.05, 0.1, 0.4)
ARMS = (2, 5, 20)
EPSILONS = (0.01, 0.1, 1.0, 10.0)
RHOS = (0.0005, 0.005, 0.05, 0.5)
LONG, SHORT = 1_000_000, 10_000
RUNS, SEED = 2000, 31_415
GLANCE = 100
"""Runs of a slow policy that may show that none can be lost: if the largest regret is at most
10 of their medians."""
LOST = 20.0
"""A run is lost above so many medians."""


@dataclass(frozen=True)
class Line:
    """A policy of the table."""

    label: str
    name: str
    budgets: tuple[dict[str, float], ...]
    advised: bool
    horizon: int = LONG
    options: tuple[tuple[str, Any], ...] = ()


PURE = tuple({"epsilon": epsilon} for epsilon in EPSILONS)
ZERO = tuple({"rho": rho} for rho in RHOS)
CAUTIOUS = (("caution", 0.5),)
LINES = (
    Line("laplace-imed, c = 0.5", "laplace-imed", PURE, advised=True, options=CAUTIOUS),
    Line("gauss-imed, c = 0.5", "gauss-imed", ZERO, advised=True, options=CAUTIOUS),
    Line("ldp-ucb-b", "ldp-ucb-b", PURE, advised=True, horizon=SHORT),
    Line("dp-tsallis", "dp-tsallis", PURE, advised=True, horizon=SHORT),
    Line("laplace-imed", "laplace-imed", PURE, advised=False),
    Line("gauss-imed", "gauss-imed", ZERO, advised=False),
    Line("dp-imed", "dp-imed", PURE, advised=False),
    Line("dp-imed, r = 1.5", "dp-imed", PURE, advised=False, options=(("ratio", 1.5),)),
    Line("dp-klucb", "dp-klucb", PURE, advised=False),
    Line("adap-klucb, α = 1", "adap-klucb", PURE, advised=False, options=(("alpha", 1.0),)),
)
"""`tests/theory/test_theory_choosing.py` holds the advised ones to what `choose` names."""
COMPARED = (
    ("laplace-imed", "dp-imed"),
    ("laplace-imed, c = 0.5", "dp-imed"),
    ("laplace-imed, c = 0.5", "laplace-imed"),
    ("gauss-imed, c = 0.5", "gauss-imed"),
)
"""Whose mean regrets are compared."""


@dataclass(frozen=True)
class Found:
    """One instance."""

    means: tuple[float, ...]
    budget: dict[str, float]
    mean: float
    median: float
    lost: int
    worst: float
    """the largest regret, in medians"""

    def __str__(self) -> str:
        name, value = next(iter(self.budget.items()))
        sign = {"epsilon": "ε", "rho": "ρ"}[name]
        best, other = self.means[0], self.means[-1]
        return f"{best:g} and {len(self.means) - 1} × {other:g}, {sign} = {value:g}"


def instances() -> Iterator[tuple[float, ...]]:
    """A best arm, all others worse by the gap."""
    for rate in RATES:
        for gap in GAPS:
            if rate - gap > -1e-12:
                for arms in ARMS:
                    yield (rate, *[round(max(rate - gap, 0.0), 6)] * (arms - 1))


def examined(line: Line, means: tuple[float, ...], budget: dict[str, float], runs: int) -> Found:
    """Regrets of one instance; arms in a random order, so that none is the first by design."""
    row = discreet.policy(line.name, **budget, **dict(line.options))
    environment = discreet.Bernoulli(list(means))
    most = line.horizon * (means[0] - means[-1])
    for many in (GLANCE, runs) if line.horizon == SHORT else (runs,):
        result = discreet.simulate(
            row, environment, horizon=line.horizon, runs=many, seed=SEED, shuffle=True, points=2,
            threads=1, progress=False,
        )  # fmt: skip
        regret = result.final_regret
        median = float(np.median(regret))
        if many == GLANCE and 2.0 * most <= LOST * median:  # no run can be lost
            return Found(means, budget, float(regret.mean()), median, 0, most / median)
    ratio = math.inf if median <= 0.0 else float(regret.max()) / median
    lost = int((regret > LOST * median).sum())
    return Found(means, budget, float(regret.mean()), median, lost, ratio)


def sweep(line: Line, runs: int = RUNS) -> list[Found]:
    """All instances of a line."""
    return [examined(line, means, budget, runs) for means in instances() for budget in line.budgets]


HEADER = (
    "| policy | advised | instances | with lost runs | most lost in 2,000 | largest, in medians "
    "| where |\n|---|---|---|---|---|---|---|"
)


def row_of(line: Line, found: list[Found]) -> str:
    """A row of the table."""
    worst = max(found, key=lambda one: (one.lost, one.worst))
    touched = sum(one.lost > 0 for one in found)
    far = max(one.worst for one in found)
    return (
        f"| {line.label} | {'yes' if line.advised else 'no'} | {len(found)} | {touched} "
        f"| {worst.lost} | {far:.3g} | {worst} |"
    )


def compared(ours: list[Found], theirs: list[Found]) -> str:
    """Mean regrets of two policies over the same instances."""
    ratios = np.array([a.mean / b.mean for a, b in zip(ours, theirs, strict=True)])
    low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
    overall = float(np.exp(np.log(ratios).mean()))
    return (
        f"{overall:.2f} (geometric mean; 5 %, median and 95 %: {low:.2f}, {middle:.2f}, {high:.2f})"
    )


PAGE = """# Hard instances

Some policies have runs that never recover: a best arm that noise makes look bad early is not tried
again. A mean over trials hides it, and the trial that you run may be such a one. A run is *lost*
here if its regret is above 20 times the median of its instance. The sweep has best rates of
{rates}; all other arms worse by {gaps};
{arms} arms; ε of {epsilons}, or ρ of {rhos};
2,000 runs each, with 1e6 participants for policies that release in batches, and 1e4 for `ldp-ucb-b`
and `dp-tsallis`, of which 100 runs are enough where the largest regret that there can be is at most
10 of their medians. `choose` advises only policies without a lost run in any of it, and so does
`plan` unless the trial is too small for a run to be lost. c = 0.5 and the first batch of
`laplace-imed` were chosen on 60 instances like these with another seed. Policies with features and
those that name a best arm are not in it.

{table}

Mean regrets over the same instances, as ratios:

{words}

Why `dp-imed` loses runs: the evidence N d_ε takes the noise of k batches for that of one and its
tail for e^-εy, so it overstates what is known against an arm that noise has made look bad.
`laplace-imed` has the exact exponent, and loses few. The rest is a price of small regret: a policy
that explores no more than it must has a regret above x with probability of the order 1/x (Fan &
Glynn 2021). The caution c explores 1 + c times as much.

Made by `python benchmarks/hard.py --output docs/hard.md`, which fails if an advised policy loses a
run.
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    lines = [line for line in LINES if not given.only or line.label in given.only]
    found: dict[str, list[Found]] = {}
    rows = []
    print(HEADER, flush=True)
    for line in lines:
        found[line.label] = sweep(line, given.runs)
        rows.append(row_of(line, found[line.label]))
        print(rows[-1], flush=True)
    failed = [
        line.label for line in lines if line.advised and any(f.lost for f in found[line.label])
    ]
    words = "\n".join(
        f"- {ours} over {theirs}: {compared(found[ours], found[theirs])}"
        for ours, theirs in COMPARED
        if ours in found and theirs in found
    )
    print(words)
    if given.output is not None:
        text = PAGE.format(
            rates=listed(RATES), gaps=listed(GAPS), arms=listed(ARMS), epsilons=listed(EPSILONS),
            rhos=listed(RHOS), table="\n".join([HEADER, *rows]), words=words,
        )  # fmt: skip
        given.output.write_text(text, encoding="utf-8")
    if failed:
        print(f"advised, and with lost runs: {', '.join(failed)}")
    return bool(failed)


def listed(values: tuple[float, ...]) -> str:
    *most, last = (f"{value:g}" for value in values)
    return f"{', '.join(most)} and {last}"


if __name__ == "__main__":
    sys.exit(main())
