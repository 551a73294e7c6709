"""A private group-sequential test of two arms: planned, certified, then read off its releases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import Unshown, check_is, count, number, numbers, one_of, real, share
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from, budget_from_dict
from ._after import Estimate, Stop, stagewise, standard_errors
from ._certificates import Certificate, Question, calibrate
from ._lattice import Law, Rule, Sizes, statistic, two_arm_rule
from ._noises import Noise, noise_of
from ._normal import SHAPES, SPENDING, boundaries

if TYPE_CHECKING:
    from .._types import Floats

GO_ON = "go on"
"""The decision before there is one."""
KINDS = (*SHAPES, *SPENDING)
MOST_LOOKS = 50
LEAST_RISK, MOST_RISK = 1e-4, 0.25


@dataclass(frozen=True)
class Operating:
    """What a design does at a pair of rates: probabilities of stopping, look by look.

    `above` and `below`: the treatment is shown to be better, or worse; `futile`: given up.
    `participants` is the mean number.

    Example:
        >>> import discreet
        >>> found = discreet.confirm.design(200, looks=2, epsilon=1.0).operating(0.6, 0.35)
        >>> [round(p, 3) for p in found.above], round(found.participants)
        ([0.294, 0.61], 171)
    """

    above: tuple[float, ...]
    below: tuple[float, ...]
    futile: tuple[float, ...]
    participants: float


@dataclass(frozen=True)
class Verdict:
    """What the releases of a test say so far.

    `decision`: "go on", "better", "worse" (of the treatment), "no difference shown" or "futile".
    `estimate` is None until the trial stops; `repeated` holds at every look, at level `level`.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
        >>> plan.verdict([(24, 18)]).decision  # sums of treatment and control at the first look
        'go on'
        >>> print(plan.verdict([(24, 18), (31, 15)]))
        look 2: better; difference 0.215, 95 % interval 0.063 to 0.361, p = 0.0068
    """

    decision: str
    look: int
    z: tuple[float, ...]
    level: float
    repeated: tuple[float, float]
    estimate: Estimate | None = None

    def __str__(self) -> str:
        if self.estimate is None:
            return f"look {self.look}: go on"
        (low, high), found = self.estimate.interval, self.estimate
        return (
            f"look {self.look}: {self.decision}; difference {found.difference:.3f}, "
            f"{100 * self.level:g} % interval {low:.3f} to {high:.3f}, p = {found.p_value:.2g}"
        )


@dataclass(frozen=True)
class Design:
    """A test of treatment against control, fixed before the first outcome; from `design`.

    Each arm's outcomes (0 or 1) since the last look are one block, whose sum is released once with
    noise. An outcome is in one block, so all looks together cost `budget`, and whatever is said
    here is post-processing of these releases.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
        >>> plan.sizes, plan.participants
        (((50, 50), (100, 100)), 200)
        >>> [round(b, 3) for b in plan.boundaries]
        [2.828, 2.0]
        >>> round(plan.power(0.6, 0.35), 3)
        0.904
    """

    sizes: Sizes
    budget: Budget
    boundary: str
    risk: float
    sides: int
    futility: tuple[float, ...] | None
    certificate: Certificate

    @cached_property
    def noise(self) -> Noise:
        """On each block's sum."""
        return noise_of(self.budget)

    @property
    def participants(self) -> int:
        """At most, both arms."""
        return sum(self.sizes[-1])

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Reject at look l where |Z| (one-sided: Z) is above the l-th."""
        return self.certificate.boundaries

    @property
    def rule(self) -> Rule:
        """The boundaries, futility among them."""
        plain = two_arm_rule(self.boundaries, 1.0, self.sides)
        if self.futility is None:
            return plain
        return Rule(plain.lower, plain.upper, futility_of(self.futility, self.sides))

    def operating(self, treatment: float, control: float) -> Operating:
        """Where the trial stops, and its mean size, if the arms have these rates; exact."""
        rates = [
            number(name, rate, low=0.0, high=1.0, fix=f"use for example {name}=0.5")
            for name, rate in (("treatment", treatment), ("control", control))
        ]
        found = Law(self.sizes, self.noise, *rates).stops(self.rule)
        totals = np.array([sum(size) for size in self.sizes], float)
        stopped = found.above + found.below + found.futile
        mean = float(totals[-1] - stopped[:-1] @ (totals[-1] - totals[:-1]))
        return Operating(
            tuple(found.above.tolist()), tuple(found.below.tolist()), tuple(found.futile.tolist()),
            mean,
        )  # fmt: skip

    def power(self, treatment: float, control: float) -> float:
        """P(the better arm is shown to be better), futility heeded; of equal arms: the error."""
        found = self.operating(treatment, control)
        above = sum(found.above) if treatment >= control else 0.0
        return above + (sum(found.below) if treatment <= control else 0.0)

    def verdict(self, sums: Sequence[Sequence[float]]) -> Verdict:
        """From the releases: per look the noisy sums (treatment, control) of that look's blocks.

        The first look beyond a boundary decides. Later sums, of participants who were under way,
        narrow `repeated` alone. Futility decides only where no later sums are given.
        """
        totals = np.cumsum(check_sums(sums, len(self.sizes)), axis=0)
        z = tuple(
            float(statistic(one, two, self.sizes[look], look + 1, self.noise))
            for look, (one, two) in enumerate(totals)
        )
        rule, given = self.rule, len(z)
        crossed = [
            look for look in range(given)
            if z[look] > rule.upper[look] or z[look] < rule.lower[look]
        ]  # fmt: skip
        look = crossed[0] if crossed else given - 1
        if crossed:
            decision = "better" if z[look] > 0.0 else "worse"
        elif given == len(self.sizes):
            decision = "no difference shown"
        else:
            decision = "futile" if rule.gives_up(np.asarray(z[look]), look) else GO_ON
        estimate = None if decision == GO_ON else self._estimate(totals[look], look + 1)
        level = 1.0 - 2.0 * self.risk / self.sides
        return Verdict(decision, look + 1, z, level, self._repeated(totals[-1], given), estimate)

    def _difference(self, total: Floats, look: int) -> tuple[float, Floats]:
        n1, n0 = self.sizes[look - 1]
        se = standard_errors(self.sizes, self.noise, float(total[0]), float(total[1]), look)
        return float(total[0] / n1 - total[1] / n0), se

    def _estimate(self, total: Floats, look: int) -> Estimate:
        difference, se = self._difference(total, look)
        return stagewise(Stop(self.sizes, self.rule, se, difference), self.risk / self.sides)

    def _repeated(self, total: Floats, look: int) -> tuple[float, float]:
        difference, se = self._difference(total, look)
        half = self.boundaries[look - 1] * float(se[-1])
        return max(difference - half, -1.0), min(difference + half, 1.0)

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificate included."""
        return {
            "sizes": [list(size) for size in self.sizes],
            "budget": self.budget.to_dict(),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "boundary": self.boundary,
            "risk": self.risk,
            "sides": self.sides,
            "futility": None if self.futility is None else list(self.futility),
            "certificate": self.certificate.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Design:
        """The inverse of `to_dict`; the certificate is checked against its own numbers."""
        futility = data["futility"]
        return cls(
            tuple((int(n1), int(n0)) for n1, n0 in data["sizes"]), budget_from_dict(data["budget"]),
            data["boundary"], data["risk"], data["sides"],
            None if futility is None else tuple(futility),
            Certificate.from_dict(data["certificate"]),
        )  # fmt: skip

    def __str__(self) -> str:
        looks = ", ".join(str(sum(size)) for size in self.sizes)
        bounds = ", ".join(f"{bound:.3f}" for bound in self.boundaries)
        return f"{self.boundary} at {looks} participants, {self.budget}: reject beyond {bounds}"


def design(
    participants: int,
    *,
    looks: int | Sequence[int] = 3,
    treated: float = 0.5,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "obrien-fleming",
    risk: float = 0.05,
    sides: int = 2,
    futility: Sequence[float] | None = None,
) -> Design:
    """A private test of two arms: planned looks, with boundaries calibrated and certified.

    A group-sequential test (Jennison & Turnbull 2000) of 0/1 outcomes. Its type I error is proved
    to be at most `risk` at every common rate, noise included; see `Certificate`.

    Args:
        participants: In all, both arms.
        looks: Their number, equally spaced; or how many participants there are at each, the last
            being all.
        treated: The treatment's share of each look.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        boundary: "obrien-fleming", "pocock", "lan-demets" (spends like O'Brien-Fleming) or
            "lan-demets-pocock".
        risk: The type I error, of both sides together if `sides` is 2.
        sides: 2, or 1 for "the treatment is better".
        futility: Give up below these Z (two sides: |Z|) at the looks but the last. Not binding: the
            risk is kept if it is overruled.

    Returns:
        The design: its boundaries, its power at any rates, and its verdict from releases.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the noise is too large for these sizes.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
        >>> print(plan)
        obrien-fleming at 100, 200 participants, ε = 1: reject beyond 2.828, 2.000
        >>> plan.certificate.bound <= 0.05
        True
    """
    sizes = sizes_of(participants, looks, treated)
    asked = check_budget(epsilon, delta, rho, budget)
    question = ask(sizes, asked, boundary, risk, sides)
    given = None if futility is None else check_futility(futility, len(sizes), question.bounds)
    found = calibrate(question)
    return Design(sizes, asked, boundary, question.risk, question.sides, given, found)


def ask(sizes: Sizes, budget: Budget, boundary: str, risk: float, sides: int) -> Question:
    """The test to calibrate: the normal law's boundaries, with information t_l = N_l/N_L."""
    one_of("boundary", boundary, *KINDS)
    risk, sides = check_risk(risk), count("sides", sides, most=2)
    clock = tuple(float(sum(size)) for size in sizes)
    bounds = boundaries(boundary, clock, risk, sides)
    return Question(sizes, noise_of(budget), bounds, risk, sides)


def check_risk(risk: float) -> float:
    """A type I error."""
    return number("risk", risk, low=LEAST_RISK, high=MOST_RISK, fix="use risk=0.05")


def check_budget(
    epsilon: float | None, delta: float | None, rho: float | None, budget: Budget | None
) -> Budget:
    """The one that is given."""
    asked = budget_from(epsilon=epsilon, delta=delta, rho=rho)
    if (asked is None) == (budget is None):
        raise InvalidArgument(
            "epsilon", "be given, or rho, or epsilon and delta, or budget alone", epsilon,
            "use for example epsilon=1.0; epsilon=math.inf is no privacy",
        )  # fmt: skip
    if asked is not None:
        return asked
    return check_is("budget", budget, Budget, "use for example budget=discreet.Pure(1.0)")


def sizes_of(participants: int, looks: int | Sequence[int], treated: float = 0.5) -> Sizes:
    """Participants of treatment and control at each look; who is left over has no place."""
    total = count("participants", participants, least=2, fix="use for example participants=800")
    part = share("treated", treated, fix="use treated=0.5")
    if isinstance(looks, Integral):
        number_of_looks = count("looks", looks, most=MOST_LOOKS, fix="use looks=3")
        times = [(look + 1) / number_of_looks for look in range(number_of_looks)]
        ends = _floor(part * total), _floor((1.0 - part) * total)
        sizes = tuple((_floor(ends[0] * t), _floor(ends[1] * t)) for t in times)
    else:
        listed = list(looks) if isinstance(looks, list | tuple | range) else []
        planned = [count(f"looks[{i}]", n, fix="use looks=3") for i, n in enumerate(listed)]
        if not planned or planned[-1] != total or len(planned) > MOST_LOOKS:
            raise InvalidArgument(
                "looks", f"be a number, or up to {MOST_LOOKS} numbers that end with {total}", looks,
                "use for example looks=3",
            )  # fmt: skip
        sizes = tuple((_floor(part * n), _floor((1.0 - part) * n)) for n in planned)
    before = (0, 0)
    for size in sizes:
        if size[0] <= before[0] or size[1] <= before[1]:
            raise InvalidArgument(
                "looks", "each add a participant to either arm", looks,
                "use fewer looks or more participants",
            )  # fmt: skip
        before = size
    return sizes


def _floor(x: float) -> int:
    return math.floor(x + 1e-9)  # 0.29 · 100 is 29


def check_futility(
    futility: Sequence[float], looks: int, bounds: tuple[float, ...]
) -> tuple[float, ...]:
    """One number for each look but the last, each below the boundary."""
    fix = f"use for example futility={[0.0] * max(looks - 1, 1)}"
    given = numbers("futility", futility, fix=fix)
    if len(given) != looks - 1:
        raise InvalidArgument(
            "futility", f"have {looks - 1} numbers, one for each look but the last", futility, fix
        )
    for low, high in zip(given, bounds, strict=False):
        if low >= high:
            raise InvalidArgument("futility", f"stay below the boundary {high:.3f}", low, fix)
    return given


def futility_of(given: tuple[float, ...], sides: int) -> tuple[tuple[float, float], ...]:
    """Where a trial gives up: below a number, or (two sides) within ± of it."""
    return tuple((-math.inf if sides == 1 else -z, z) for z in given)


def check_sums(sums: Sequence[Sequence[float]], looks: int, arms: int = 2) -> Floats:
    """Whole numbers, one an arm at each look. None is shown: someone may have passed outcomes."""
    who = "a pair of whole numbers (treatment, control)"
    if arms > 2:
        who = f"{arms} whole numbers (treatments, control)"
    rule = f"hold {who} for each look so far"
    given = (70, *(44,) * (arms - 1))
    fix = f"pass the released sums, for example sums=[{given}]"
    rows = list(sums) if isinstance(sums, Sequence | np.ndarray) else []
    if not 1 <= len(rows) <= looks:
        raise InvalidArgument(
            "sums", f"{rule}, 1 to {looks} in all", Unshown(type(sums).__name__), fix
        )
    for row in rows:
        one = list(row) if isinstance(row, Sequence | np.ndarray) else []
        if len(one) != arms or not all(real(x).is_integer() for x in one):
            raise InvalidArgument("sums", rule, Unshown(type(row).__name__), fix)
    return np.array([[real(x) for x in row] for row in rows])
