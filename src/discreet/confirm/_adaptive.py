"""Adaptive trials of two arms in epochs that end with a test.

Epochs have sizes that are fixed in advance. The first is split evenly; in each later one the arm
that was ahead when it was planned (by Z so far) gets all but the least share. The test is one of
`final`: B after every epoch, boundaries by spending (Lan & DeMets 1983) with the clock ΣN, or W
once at the end. All boundaries are multiplied by one factor c.

P(reject) has no lattice here, so c is certified by simulation: see `simulated`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import Unshown, check_seed, count, number, one_of, real, share
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from_dict
from ._designs import GO_ON, check_budget, check_risk
from ._final import (
    Cells,
    Final,
    anytime,
    batched,
    batched_z,
    weighted,
    weighted_z,
    weights,
)
from ._noises import Noise, noise_of
from ._normal import boundaries
from ._simulated import Simulated, Sums, Trials, certify

if TYPE_CHECKING:
    from .._types import Array, Floats

LEAST_EPOCHS, MOST_EPOCHS = 3, 50
LEAST_SHARE = {"B": 0.1, "W": 0.2}
"""Below it the statistic is not near normal, or a null without a best arm is not covered."""
LEAST_CELL, LEAST_NOISE = 10, 4.0
"""Places of a cell: so many at least, and so many scales of the noise."""


@dataclass(frozen=True)
class Course:
    """How simulated trials went: shares of them that rejected, look by look, and means.

    `in_trial`: the better arm's share of those who took part; `in_all`: of all places, if the rest
    gets the winner of a trial that stopped, and half and half where none was shown.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
        >>> found = plan.operating(0.7, 0.3, runs=500)
        >>> found.runs, len(found.above)
        (500, 3)
        >>> found.in_trial > 0.5  # the better arm has most places
        True
    """

    above: tuple[float, ...]
    below: tuple[float, ...]
    participants: float
    in_trial: float
    in_all: float
    runs: int

    @property
    def power(self) -> float:
        """Share of trials that rejected, either way."""
        return sum(self.above) + sum(self.below)


@dataclass(frozen=True)
class EpochVerdict:
    """What the cells of a trial in epochs say so far; `decision` as of a `Verdict`.

    `final` is None until the trial stops. `repeated` holds at every look that was planned,
    `anytime` at every epoch. Both rest on the normal distribution.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
        >>> found = plan.verdict([(25, 25, 18, 11)])  # places and sums: treatment, control
        >>> found.decision, found.look
        ('go on', 1)
    """

    decision: str
    look: int
    z: tuple[float, ...]
    level: float
    repeated: tuple[float, float]
    anytime: tuple[float, float]
    final: Final | None = None

    def __str__(self) -> str:
        if self.final is None:
            return f"epoch {self.look}: go on"
        low, high = self.repeated
        return (
            f"epoch {self.look}: {self.decision}; difference {self.final.difference:.3f}, "
            f"{100 * self.level:g} % interval {low:.3f} to {high:.3f}"
        )


@dataclass(frozen=True)
class EpochDesign:
    """An adaptive trial of two arms in epochs with a test, fixed before the first outcome.

    Every cell (epoch, arm) is released once with noise, and an outcome is in one cell: all of it
    costs `budget` once. `lag`: so many epochs are under way when the next one is planned.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
        >>> first = plan.places(1)  # of treatment and control
        >>> first, plan.places(2, [(*first, 18, 11)])  # after released sums of 18 and 11
        ((25, 25), (35, 15))
    """

    sizes: tuple[int, ...]
    least: float
    budget: Budget
    statistic: str
    risk: float
    sides: int
    lag: int
    certificate: Simulated

    @cached_property
    def noise(self) -> Noise:
        """On each cell's sum."""
        return noise_of(self.budget)

    @property
    def participants(self) -> int:
        """At most, both arms."""
        return sum(self.sizes)

    @property
    def plan(self) -> Plan:
        """What a simulation needs."""
        return Plan(self.sizes, self.least, self.noise, self.statistic, self.sides, self.lag)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Reject after epoch e where |Z| (one-sided: Z) is above the e-th; infinite: no look."""
        return tuple(self.certificate.factor * b for b in self.certificate.boundaries)

    def places(self, epoch: int, cells: Sequence[Sequence[float]] = ()) -> tuple[int, int]:
        """Places of treatment and control in an epoch (1, 2, ...), from the cells before it that
        its plan may see: (n₁, n₀, X₁, X₀) of each, the last `lag` of them left out."""
        place = count("epoch", epoch, most=len(self.sizes), fix="use epoch=1") - 1
        seen, lead = max(place - self.lag, 0), 0.0
        if len(cells) < seen:
            raise InvalidArgument(
                "cells", f"hold the {seen} epochs that epoch {epoch} is planned on", len(cells),
                "wait until they are released",
            )  # fmt: skip
        if seen:
            lead = float(batched_z(self._check(cells[:seen]), self.noise)[0])
        n1, n0 = split(self.sizes[place], self.least, np.array([lead]))
        return int(n1[0]), int(n0[0])

    def verdict(self, cells: Sequence[Sequence[float]]) -> EpochVerdict:
        """From the releases: (n₁, n₀, X₁, X₀) for each epoch so far."""
        known = self._check(cells)
        z = tuple(float(row[0]) for row in self.plan.statistics(known))
        bounds = self.boundaries
        low = [-b if self.sides == 2 else -math.inf for b in bounds]
        crossed = [e for e in range(len(z)) if z[e] > bounds[e] or z[e] < low[e]]
        stop = crossed[0] if crossed else len(z) - 1
        if crossed:
            decision = "better" if z[stop] > 0.0 else "worse"
        else:
            decision = "no difference shown" if len(z) == len(self.sizes) else GO_ON
        estimate = (batched if self.statistic == "B" else weighted)(known, self.noise)
        bound = bounds[len(z) - 1]
        half = bound * estimate.se if math.isfinite(bound) else 2.0
        ends = max(estimate.difference - half, -1.0), min(estimate.difference + half, 1.0)
        always = anytime(known, self.noise, self.planned_weight, 2.0 * self.risk / self.sides)
        level = 1.0 - 2.0 * self.risk / self.sides
        shown = None
        if decision != GO_ON:
            final = known.until(stop + 1)
            shown = (batched if self.statistic == "B" else weighted)(final, self.noise)
        return EpochVerdict(decision, stop + 1, z, level, ends, always, shown)

    @property
    def planned_weight(self) -> float:
        """V*: Σω if every epoch but the first has the least share."""
        parts = [split(n, self.least, np.array([float(e > 0)])) for e, n in enumerate(self.sizes)]
        n1, n0 = (np.array([part[arm] for part in parts], float) for arm in (0, 1))
        return float(weights(Cells(n1, n0, n1, n0), self.noise).sum())

    def operating(
        self, treatment: float, control: float, *, runs: int = 20_000, seed: int | None = 1
    ) -> Course:
        """How trials go at a pair of rates: simulated."""
        rates = [
            number(name, rate, low=0.0, high=1.0, fix=f"use {name}=0.5")
            for name, rate in (("treatment", treatment), ("control", control))
        ]
        runs = count("runs", runs, fix="use runs=20_000")
        cells, z = self.plan.play(
            (rates[0], rates[1]), runs, np.random.default_rng(check_seed(seed))
        )
        bounds = np.array(self.boundaries)[:, None]
        up, down = z > bounds, (z < -bounds) & (self.sides == 2)
        stop = np.where((up | down).any(0), (up | down).argmax(0), len(self.sizes) - 1)
        trial = np.arange(runs)
        sizes = np.cumsum(np.array(self.sizes))
        taken = sizes[stop]
        better = cells.n1 if treatment >= control else cells.n0
        on = np.cumsum(better, axis=0)[stop, trial]
        won = up[stop, trial] if treatment >= control else down[stop, trial]
        lost = down[stop, trial] if treatment >= control else up[stop, trial]
        rest = (sizes[-1] - taken) * np.where(won, 1.0, np.where(lost, 0.0, 0.5))
        looks = range(len(self.sizes))
        return Course(
            tuple(float((up[e] & (stop == e)).mean()) for e in looks),
            tuple(float((down[e] & (stop == e)).mean()) for e in looks),
            float(taken.mean()), float(on.mean() / taken.mean()),
            float((on + rest).mean() / sizes[-1]), runs,
        )  # fmt: skip

    def power(self, treatment: float, control: float, *, runs: int = 20_000) -> float:
        """P(the better arm is shown to be better), simulated."""
        found = self.operating(treatment, control, runs=runs)
        return sum(found.above) if treatment >= control else sum(found.below)

    def _check(self, cells: Sequence[Sequence[float]]) -> Cells:
        """Cells of epochs, as planned. No sum is shown: someone may have passed outcomes."""
        rule = f"hold (n1, n0, x1, x0) for 1 to {len(self.sizes)} epochs, x whole numbers"
        fix = "pass what was released, for example cells=[(133, 133, 70, 44)]"
        rows = list(cells) if isinstance(cells, Sequence | np.ndarray) else []
        if not 1 <= len(rows) <= len(self.sizes):
            raise InvalidArgument("cells", rule, Unshown(type(cells).__name__), fix)
        for epoch, row in enumerate(rows):
            one = list(row) if isinstance(row, Sequence | np.ndarray) else []
            if len(one) != 4 or not all(real(x).is_integer() for x in one):
                raise InvalidArgument("cells", rule, Unshown(type(row).__name__), fix)
            least = min(one[0], one[1])
            if one[0] + one[1] != self.sizes[epoch] or least < least_places(
                self.sizes[epoch], self.least
            ):
                raise InvalidArgument(
                    "cells", f"have {self.sizes[epoch]} places in epoch {epoch + 1} and the least "
                    "share in each", tuple(one[:2]), "pass epochs as places() planned them",
                )  # fmt: skip
        n1, n0, x1, x0 = (np.array([[real(row[i])] for row in rows]) for i in range(4))
        return Cells(n1, n0, x1, x0)

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificate included."""
        return {
            "sizes": list(self.sizes),
            "least": self.least,
            "budget": self.budget.to_dict(),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "statistic": self.statistic,
            "risk": self.risk,
            "sides": self.sides,
            "lag": self.lag,
            "certificate": self.certificate.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpochDesign:
        """The inverse of `to_dict`."""
        return cls(
            tuple(data["sizes"]), data["least"], budget_from_dict(data["budget"]),
            data["statistic"], data["risk"], data["sides"], data["lag"],
            Simulated.from_dict(data["certificate"]),
        )  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{len(self.sizes)} epochs of {', '.join(map(str, self.sizes))} participants, least "
            f"share {self.least:g}, {self.budget}: {self.statistic}, factor "
            f"{self.certificate.factor:.4f}"
        )


def least_places(size: int, least: float) -> int:
    """The smaller cell of an epoch."""
    return math.floor(least * size + 0.5)


def split(size: int, least: float, lead: Floats) -> tuple[Array, Array]:
    """Places of treatment and control, by who is ahead; evenly if none is."""
    few = least_places(size, least)
    n1 = np.where(lead > 0.0, size - few, np.where(lead < 0.0, few, size // 2))
    return n1, size - n1


@dataclass(frozen=True)
class Plan:
    """What a trial in epochs does, certificate or not."""

    sizes: tuple[int, ...]
    least: float
    noise: Noise
    statistic: str
    sides: int
    lag: int

    def statistics(self, cells: Cells) -> Floats:
        """Z after each epoch; of W after the last alone, else 0."""
        epochs = len(cells.n1)
        if self.statistic == "B":
            return np.array([batched_z(cells.until(e + 1), self.noise) for e in range(epochs)])
        z = np.zeros((epochs, cells.n1.shape[1]))
        if epochs == len(self.sizes):
            z[-1] = weighted_z(cells, self.noise)
        return z

    def play(
        self, rates: tuple[float, float], runs: int, rng: np.random.Generator
    ) -> tuple[Cells, Floats]:
        """Trials to their last epoch: their cells, and Z after each epoch.

        A cell's noisy sum is one draw from the exact law of Bin(n, p) + noise.
        """
        sums_of = Sums(self.noise)
        shape = len(self.sizes), runs
        cells = Cells(*(np.zeros(shape) for _ in range(4)))
        lead, leads = np.zeros(runs), [np.zeros(runs)] * (self.lag + 1)
        for epoch, size in enumerate(self.sizes):
            lead = leads[epoch]
            cells.n1[epoch], cells.n0[epoch] = split(size, self.least, lead)
            for places, sums, rate in (
                (cells.n1[epoch], cells.x1[epoch], rates[0]),
                (cells.n0[epoch], cells.x0[epoch], rates[1]),
            ):
                for n in np.unique(places):
                    here = places == n
                    sums[here] = sums_of.draw(int(n), rate, int(here.sum()), rng)
            leads.append(batched_z(cells.until(epoch + 1), self.noise))
        return cells, self.statistics(cells)


def bounds_of(plan: Plan, risk: float) -> tuple[float, ...]:
    """The normal law's, after each epoch; infinite where no look is planned."""
    if plan.statistic == "B":
        clock = tuple(float(n) for n in np.cumsum(plan.sizes))
        return boundaries("lan-demets", clock, risk, plan.sides)
    last = boundaries("obrien-fleming", (1.0,), risk, plan.sides)
    return (*(math.inf,) * (len(plan.sizes) - 1), *last)


def epochs(
    participants: int,
    *,
    epochs: int = 3,
    least: float = 0.3,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    statistic: str = "B",
    risk: float = 0.05,
    sides: int = 2,
    lag: int = 0,
    runs: int = 100_000,
    seed: int | None = 1,
) -> EpochDesign:
    """An adaptive trial of two arms in epochs of equal sizes, its factor certified by simulation.

    In every epoch but the first the arm that is ahead has all places but the share `least`.
    Refused, for what is known does not cover them: fewer than three epochs, shares below .1 (B) or
    .2 (W), cells of fewer than 10 places or 4/ε.

    Args:
        participants: In all, both arms.
        epochs: How many epochs there are; at least three.
        least: The share of an epoch that the arm behind has; .5 is no adaptation.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        statistic: "B", tested after every epoch, or "W", at the end.
        risk: The type I error, of both sides together if `sides` is 2.
        sides: 2, or 1 for "the treatment is better".
        lag: Epochs whose outcomes are still to come when one is planned.
        runs: Trials that are simulated at each rate of a grid.
        seed: Random seed of that simulation.

    Returns:
        The design, with the certificate of its simulation.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the design is one of those refused.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
        >>> plan.sizes, plan.least
        ((50, 50, 50), 0.3)
        >>> plan.places(2, [(25, 25, 18, 11)])  # of treatment and control in the second epoch
        (35, 15)
    """
    total = count("participants", participants, least=2, fix="use participants=800")
    number_of = count(
        "epochs", epochs, least=LEAST_EPOCHS, most=MOST_EPOCHS, fix="use for example epochs=3"
    )
    which = one_of("statistic", statistic, "B", "W")
    few = share("least", least, below=0.5 + 1e-12, fix="use for example least=0.3")
    if few < LEAST_SHARE[which]:
        raise InvalidArgument(
            "least", f"be at least {LEAST_SHARE[which]:g} for {which}", least, "use least=0.3"
        )
    asked = check_budget(epsilon, delta, rho, budget)
    risk, sides = check_risk(risk), count("sides", sides, most=2)
    late = count("lag", lag, least=0, most=number_of - 1, fix="use lag=0")
    pairs = [round((total // 2) * (e + 1) / number_of) for e in range(number_of)]
    sizes = tuple(2 * (b - a) for a, b in zip([0, *pairs], pairs, strict=False))
    noise = noise_of(asked)
    need = max(LEAST_CELL, math.ceil(LEAST_NOISE * noise.scale))
    if min(least_places(size, few) for size in sizes) < need:
        raise InvalidArgument(
            "participants", f"give every cell {need} places: 10, and 4/ε", participants,
            "use fewer epochs, a larger least share or more participants",
        )  # fmt: skip
    plan = Plan(sizes, few, noise, which, sides, late)
    runs = count("runs", runs, fix="use runs=100_000")

    def play(rate: float, rng: np.random.Generator) -> Floats:
        return plan.play((rate, rate), runs, rng)[1]

    trials = Trials(play, sum(sizes), bounds_of(plan, risk), sides, runs)
    found = certify(trials, risk, check_seed(seed))
    return EpochDesign(sizes, few, asked, which, risk, sides, late, found)
