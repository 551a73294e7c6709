"""How many participants a private test needs, and how many of them privacy asks for.

J = I_max δ² is the squared drift that gives the power under the normal law (Jennison & Turnbull
2000, ch. 2). With rates p₁, p₀, s = p(1-p), shares w₁, w₀, q = looks, noise variance v and
A = s₁/w₁ + s₀/w₀, B = qv(1/w₁² + 1/w₀²):  A/N + B/N² = δ²/J, so

    N = ½ N₀ (1 + sqrt(1 + 4BJ/(δ²N₀²))),  N₀ = AJ/δ² without noise.

Then N moves until the exact power of the certified design reaches the target.

With H strata whose sums are released each by itself (Mantel-Haenszel, weights in proportion to
shares f_h), the noise's part is Σ f_h² qv/(f_h N w)² = H qv/(N w)², whatever the shares: q becomes
qH. The power of such a design is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from .._checks import check_flag, count, number, numbers, one_of, share
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, Pure
from ._certificates import calibrate, likely_factor
from ._designs import KINDS, MOST_LOOKS, Design, ask, check_budget, check_risk, sizes_of
from ._designs import design as make_design
from ._lattice import Law, two_arm_rule
from ._noises import noise_of
from ._normal import boundaries, crossing
from ._strata import StrataDesign
from ._strata import strata as strata_design

RUNS = 20_000
"""Simulated trials for the power over strata, and for the boundaries."""
MOST_STRATA = 50


@dataclass(frozen=True)
class Size:
    """How many participants a power takes, with the noise and without it; from `size`.

    Both are exact where `design` is given: the smallest found whose certified test has the power.
    Powers of lattice laws wiggle, so a somewhat smaller number may do by luck. Over strata the
    power is simulated. `closed_form` and `closed_form_without_privacy` are the normal law's.

    Example:
        >>> import discreet
        >>> found = discreet.confirm.size(0.7, 0.3, power=0.8, looks=1, epsilon=1.0)
        >>> found.participants, found.without_privacy, found.for_privacy
        (60, 52, 8)
    """

    participants: int
    without_privacy: int
    closed_form: int
    closed_form_without_privacy: int
    power: float
    design: Design | StrataDesign | None

    @property
    def for_privacy(self) -> int:
        """Participants that the noise asks for."""
        return self.participants - self.without_privacy

    def __str__(self) -> str:
        kind = "closed form"
        if self.design is not None:
            kind = "exact" if isinstance(self.design, Design) else "simulated"
        return (
            f"{self.participants} participants for a power of {self.power:.3f} ({kind}), "
            f"{self.for_privacy} of them for privacy"
        )


@dataclass(frozen=True)
class _Aim:
    """A power at a pair of rates, for a kind of test."""

    rates: tuple[float, float]
    power: float
    looks: int
    treated: float
    boundary: str
    risk: float
    sides: int
    strata: tuple[float, ...] = ()
    """shares of strata, if there are any"""

    def closed(self, budget: Budget) -> int:
        """The closed form, rounded up to an even number."""
        (p1, p0), w = self.rates, self.treated
        gap = p1 - p0
        drift = drift_for(self.power, self.looks, self.boundary, self.risk, self.sides)
        mean = p1 * (1.0 - p1) / w + p0 * (1.0 - p0) / (1.0 - w)
        releases = self.looks * max(1, len(self.strata))
        known = releases * noise_of(budget).variance if budget.is_finite else 0.0
        known *= 1.0 / w**2 + 1.0 / (1.0 - w) ** 2
        half = 0.5 * mean * (drift / gap) ** 2
        return _even(half + math.sqrt(half**2 + known * (drift / gap) ** 2))

    def design(self, participants: int, budget: Budget) -> Design:
        sizes = sizes_of(participants, self.looks, self.treated)
        asked = ask(sizes, budget, self.boundary, self.risk, self.sides)
        return Design(sizes, budget, self.boundary, self.risk, self.sides, None, calibrate(asked))

    def power_at(self, participants: int, budget: Budget, factor: float) -> float:
        """The exact power with the textbook's boundaries times a factor."""
        sizes = sizes_of(participants, self.looks, self.treated)
        asked = ask(sizes, budget, self.boundary, self.risk, self.sides)
        rule = two_arm_rule(asked.bounds, factor, self.sides)
        found = Law(sizes, asked.noise, *self.rates, trim=1e-9).stops(rule)
        return float((found.above if self.rates[0] > self.rates[1] else found.below).sum())

    def over_strata(self, budget: Budget, start: int) -> tuple[StrataDesign, float]:
        """The first design over strata, from the closed form on, whose simulated power reaches the
        target within two standard errors; in steps of 2 %."""
        participants = start
        while True:
            parts = [max(2, _even(f * participants)) for f in self.strata]
            found = strata_design(
                parts, looks=self.looks, treated=self.treated, budget=budget,
                boundary=self.boundary, risk=self.risk, sides=self.sides, runs=RUNS,
            )  # fmt: skip
            rates = [[rate] * len(parts) for rate in self.rates]
            better, worse = found.operating(*rates, runs=RUNS)
            reached = better if self.rates[0] > self.rates[1] else worse
            slack = 2.0 * math.sqrt(self.power * (1.0 - self.power) / RUNS)
            if reached >= self.power - slack:
                return found, reached
            participants = max(participants + 2, _even(1.02 * participants))

    def exact(self, budget: Budget) -> Design:
        """The smallest certified design found that has the power."""
        least = _even(4.0 * self.looks / min(self.treated, 1.0 - self.treated))
        start = max(self.closed(budget), least)
        sizes = sizes_of(start, self.looks, self.treated)
        factor = likely_factor(ask(sizes, budget, self.boundary, self.risk, self.sides))
        while True:
            # bound by default, for the closure must not see a later factor
            def reaches(n: int, factor: float = factor) -> bool:
                return self.power_at(n, budget, factor) >= self.power

            found = self.design(_first(reaches, start, least), budget)
            if found.power(*self.rates) >= self.power:
                return found
            least, factor = found.participants + 2, found.certificate.factor
            start = max(start, least)


def _even(x: float) -> int:
    return 2 * math.ceil(0.5 * x - 1e-9)


def _first(reaches: Callable[[int], bool], start: int, least: int) -> int:
    """The first even number that reaches, by bisection around a start."""
    low = high = start
    step = max(2, _even(0.02 * start))
    while not reaches(high):
        low, high, step = high, high + step, 2 * step
    while low == high or (low > least and reaches(low)):
        low, high, step = max(low - step, least), low, 2 * step
        if low == high == least:
            return least
    if low == least and reaches(low):
        return least
    while high - low > 2:
        middle = low + _even(0.5 * (high - low) - 1.0)
        middle = max(middle, low + 2)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def drift_for(power: float, looks: int, boundary: str, risk: float, sides: int) -> float:
    """√J: the mean of Z at the last look that gives the power, under the normal law."""
    clock = tuple((look + 1) / looks for look in range(looks))
    upper = boundaries(boundary, clock, risk, sides)
    lower = [-b if sides == 2 else -math.inf for b in upper]

    def short(drift: float) -> float:
        means = (drift * np.sqrt(clock)).tolist()
        return float(crossing(lower, upper, clock, means)[0].sum()) - power

    return float(brentq(short, 0.0, 20.0))


def size(
    treatment: float,
    control: float,
    *,
    power: float = 0.9,
    looks: int = 3,
    treated: float = 0.5,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "obrien-fleming",
    risk: float = 0.05,
    sides: int = 2,
    strata: int | Sequence[float] = 1,
    exact: bool = True,
) -> Size:
    """Participants that a private test of two arms needs for a power, and how many are for privacy.

    Args:
        treatment: The rate of the treatment.
        control: The rate of the control.
        power: The power to reach.
        looks: Planned looks, equally spaced.
        treated: The share of participants on the treatment.
        epsilon: The budget ε.
        delta: With epsilon: an (ε, δ) budget.
        rho: A zCDP budget.
        budget: Instead of these numbers, a budget.
        boundary: "obrien-fleming", "pocock", "lan-demets" or "lan-demets-pocock".
        risk: The type I error.
        sides: 1 (the treatment is better) or 2.
        strata: How many groups release separate sums, or their shares, for one effect over all
            of them (`discreet.confirm.strata`); the power is then simulated. Released as totals,
            strata need no more participants than none.
        exact: False stops at the closed form, which takes milliseconds at any size.

    Returns:
        The size: participants, those without privacy, and the design.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> found = discreet.size(0.5, 0.35, power=0.8, epsilon=1.0, exact=False)
        >>> found.participants > found.without_privacy
        True
    """
    p1 = number("treatment", treatment, low=0.0, high=1.0, fix="use treatment=0.5")
    p0 = number("control", control, low=0.0, high=1.0, fix="use control=0.35")
    if p1 == p0 or (sides == 1 and p1 < p0):
        rule = "differ from control" if p1 == p0 else "be above control if sides=1"
        raise InvalidArgument("treatment", rule, treatment, "give the rates you hope to tell apart")
    one_of("boundary", boundary, *KINDS)
    check_flag("exact", exact)
    risk = check_risk(risk)
    target = number("power", power, low=risk, high=1.0, strict=True, fix="use power=0.9")
    aim = _Aim(
        (p1, p0), target, count("looks", looks, most=MOST_LOOKS, fix="use looks=3"),
        share("treated", treated, fix="use treated=0.5"), boundary, risk,
        count("sides", sides, most=2), shares_of(strata),
    )  # fmt: skip
    asked, none = check_budget(epsilon, delta, rho, budget), Pure(math.inf)
    closed, closed_none = aim.closed(asked), aim.closed(none)
    if not exact:
        return Size(closed, closed_none, closed, closed_none, target, None)
    if aim.strata:
        over, reached = aim.over_strata(asked, closed)
        bare = over if not asked.is_finite else aim.over_strata(none, closed_none)[0]
        return Size(over.participants, bare.participants, closed, closed_none, reached, over)
    found = aim.exact(asked)
    without = found if not asked.is_finite else aim.exact(none)
    reached = found.power(p1, p0)
    return Size(found.participants, without.participants, closed, closed_none, reached, found)


def shares_of(strata: int | Sequence[float]) -> tuple[float, ...]:
    """Shares of strata that add up to 1; none where there is one."""
    fix = "use for example strata=3, or strata=(0.5, 0.3, 0.2)"
    if isinstance(strata, int) and not isinstance(strata, bool):
        number_of = count("strata", strata, most=MOST_STRATA, fix=fix)
        return () if number_of == 1 else (1.0 / number_of,) * number_of
    found = numbers("strata", strata, low=0.0, high=1.0, fix=fix)
    if len(found) < 2 or min(found) <= 0.0 or abs(sum(found) - 1.0) > 1e-9:
        raise InvalidArgument("strata", "be shares above 0 that add up to 1", strata, fix)
    return tuple(found)


@dataclass(frozen=True)
class Power:
    """The power of a certified design of so many participants, with the noise and without it.

    Example:
        >>> import discreet
        >>> found = discreet.confirm.power_at(0.6, 0.35, 100, looks=1, epsilon=1.0)
        >>> print(found)
        100 participants have a power of 0.653 (exact); it would be 0.689 without privacy
        >>> round(found.for_privacy, 3)
        0.037
    """

    participants: int
    power: float
    without_privacy: float
    design: Design

    @property
    def for_privacy(self) -> float:
        """What the noise takes."""
        return self.without_privacy - self.power

    def __str__(self) -> str:
        return (
            f"{self.participants} participants have a power of {self.power:.3f} (exact); it would "
            f"be {self.without_privacy:.3f} without privacy"
        )


def power_at(
    treatment: float,
    control: float,
    participants: int,
    *,
    looks: int = 3,
    treated: float = 0.5,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "obrien-fleming",
    risk: float = 0.05,
    sides: int = 2,
) -> Power:
    """The exact power of a number of participants, and how much of it privacy takes.

    The other way of `size`.

    Args:
        treatment: The treatment's rate of success.
        control: The control's.
        participants: In all, both arms.
        looks: How many looks there are.
        treated: The treatment's share of the participants.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        boundary: The shape of the boundary, as in `design`.
        risk: The type I error, of both sides together if `sides` is 2.
        sides: 2, or 1 for "the treatment is better".

    Returns:
        The power with the noise and without, and the certified design.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> found = discreet.confirm.power_at(0.6, 0.35, 100, looks=1, epsilon=1.0)
        >>> round(found.power, 3), round(found.without_privacy, 3)
        (0.653, 0.689)
    """
    asked = check_budget(epsilon, delta, rho, budget)
    given = {"looks": looks, "treated": treated, "boundary": boundary, "risk": risk, "sides": sides}
    found = make_design(participants, budget=asked, **given)  # type: ignore[arg-type]
    bare = found
    if asked.is_finite:
        bare = make_design(participants, epsilon=math.inf, **given)  # type: ignore[arg-type]
    reached = found.power(treatment, control)
    return Power(found.participants, reached, bare.power(treatment, control), found)
