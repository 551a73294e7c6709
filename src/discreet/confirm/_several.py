"""Several treatments against one control: a private test of each, with one risk for all.

Z_a is made of treatment a and the control alone. An intersection of j hypotheses "a is no better
than the control" (two sides: "is equal") is rejected where one of its arms ever crosses c_j·b_l.
Closed testing (Marcus, Peritz & Gabriel 1976) rejects a treatment's hypothesis where every
intersection that holds it is rejected; as c_j·b_l grows with j it is enough to start with all
treatments, and to test those that are left at the next smaller j, earlier looks included. So the
probability of any false rejection is at most the risk whichever hypotheses are true.

c_j by Dunnett's law, exact, at one look or two; else by Šidák's bound: see `families`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import count, number, numbers, one_of, share
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from_dict
from ._after import standard_errors
from ._certificates import Certificate, Question, calibrate
from ._designs import GO_ON, KINDS, check_budget, check_risk, check_sums, sizes_of
from ._families import MOST_LOOKS, Crossings, Family
from ._lattice import Law, Sizes, statistic, two_arm_rule
from ._noises import Noise, noise_of
from ._normal import boundaries

MOST_TREATMENTS = 50
METHODS = ("dunnett", "sidak")


@dataclass(frozen=True)
class Comparison:
    """What the releases say of one treatment.

    `decision` is "better", "worse", "no difference shown" or "go on", `look` the one at which it
    was reached. `repeated` holds for all treatments and looks at once.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.several(90, 2, looks=1, epsilon=1.0)
        >>> first = plan.verdict([(24, 12, 11)]).comparisons[0]  # sums of 2 treatments, control
        >>> first.decision, round(first.difference, 3)
        ('better', 0.433)
    """

    decision: str
    look: int
    z: tuple[float, ...]
    difference: float
    repeated: tuple[float, float]


@dataclass(frozen=True)
class SeveralVerdict:
    """What the releases so far say of every treatment, at one risk for all.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.several(90, 2, looks=1, epsilon=1.0)
        >>> found = plan.verdict([(24, 12, 11)])
        >>> [each.decision for each in found.comparisons], found.is_over
        (['better', 'no difference shown'], True)
    """

    comparisons: tuple[Comparison, ...]
    look: int
    level: float

    @property
    def is_over(self) -> bool:
        """Whether no treatment is to go on."""
        return all(each.decision != GO_ON for each in self.comparisons)

    def __str__(self) -> str:
        lines = []
        for place, each in enumerate(self.comparisons, 1):
            if each.decision == GO_ON:
                lines.append(f"treatment {place}, look {self.look}: go on")
                continue
            low, high = each.repeated
            lines.append(
                f"treatment {place}, look {each.look}: {each.decision}; difference "
                f"{each.difference:.3f}, {100 * self.level:g} % interval {low:.3f} to {high:.3f}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class SeveralDesign:
    """A test of several treatments against a control, fixed before the first outcome.

    `sizes` are those of each treatment and of the control at each look. `certificates`: the j-th is
    for j hypotheses that are left. Places of a treatment that is dropped are not given away.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.several(90, 2, looks=1, epsilon=1.0)
        >>> plan.sizes, round(plan.certificates[-1].bound, 3)
        (((30, 30),), 0.048)
        >>> print(plan.verdict([(24, 12, 11)]))  # sums of 2 treatments, then the control
        treatment 1, look 1: better; difference 0.433, 95 % interval 0.126 to 0.740
        treatment 2, look 1: no difference shown; difference 0.033, 95 % interval -0.293 to 0.360
    """

    treatments: int
    sizes: Sizes
    budget: Budget
    boundary: str
    risk: float
    sides: int
    method: str
    certificates: tuple[Certificate, ...]

    @cached_property
    def noise(self) -> Noise:
        """On each block's sum."""
        return noise_of(self.budget)

    @property
    def participants(self) -> int:
        """At most, all arms."""
        return self.treatments * self.sizes[-1][0] + self.sizes[-1][1]

    def boundaries(self, left: int | None = None) -> tuple[float, ...]:
        """Reject at look l where |Z| (one-sided: Z) is above the l-th, with `left` hypotheses."""
        left = count("left", self.treatments if left is None else left, most=self.treatments)
        known = np.array([each.boundaries for each in self.certificates[:left]])
        return tuple(known.max(axis=0).tolist())  # growing in j, as the short cut needs

    @property
    def bound(self) -> float:
        """On the probability of any false rejection, proved for every common rate."""
        worst = self.certificates[-1].bound
        return 1.0 - (1.0 - worst) ** self.treatments if self.method == "sidak" else worst

    def operating(self, treatments: Sequence[float], control: float) -> Crossings:
        """P(arm a crosses the boundary for all), for each, exact; and, at one look or two, that any
        does. Closed testing rejects these, and sometimes one more."""
        rates = numbers("treatments", treatments, low=0.0, high=1.0, fix="use treatments=(0.5,)")
        if len(rates) != self.treatments:
            raise InvalidArgument(
                "treatments", f"have {self.treatments} rates", len(rates), "give one for each"
            )
        p0 = number("control", control, low=0.0, high=1.0, fix="use control=0.35")
        rule = two_arm_rule(self.boundaries(), 1.0, self.sides)
        if len(self.sizes) <= MOST_LOOKS:
            return Family(self.sizes, self.noise, rates, p0).stops(rule)
        single = {rate: Law(self.sizes, self.noise, rate, p0).stops(rule) for rate in {*rates}}
        each = tuple(single[rate].rejected for rate in rates)
        return Crossings(float("nan"), each, max(one.lost for one in single.values()))

    def power(self, treatment: float, control: float) -> float:
        """P(a treatment of that rate is shown to differ), before any other is; exact."""
        return self.operating((treatment,) * self.treatments, control).each[0]

    def verdict(self, sums: Sequence[Sequence[float | None]]) -> SeveralVerdict:
        """From the releases: per look the noisy sums (treatments, control) of that look's blocks;
        None for a treatment that was decided at an earlier look and has left.

        A treatment may be rejected at a later look than the one at which it crossed: when another
        one is, which makes the boundary smaller.
        """
        gone = [[x is None for x in row] for row in sums]
        known = [[0.0 if x is None else x for x in row] for row in sums]
        new = check_sums(known, len(self.sizes), self.treatments + 1)
        new[np.array(gone)] = np.nan
        totals = np.cumsum(new, axis=0)
        z = np.array([
            [
                float(statistic(row[arm], row[-1], self.sizes[look], look + 1, self.noise))
                for arm in range(self.treatments)
            ]
            for look, row in enumerate(totals)
        ])  # fmt: skip
        found: dict[int, tuple[str, int]] = {}
        for look in range(len(z)):
            if any(np.isnan(z[look, arm]) for arm in range(self.treatments) if arm not in found):
                raise InvalidArgument(
                    "sums", "be there for the control and for every treatment that goes on",
                    f"none at look {look + 1}", "pass None for treatments that were decided before",
                )  # fmt: skip
            while crossed := self._crossed(z[: look + 1], found):
                found |= {arm: (word, look + 1) for arm, word in crossed.items()}
        last = len(z)
        rest = "no difference shown" if last == len(self.sizes) else GO_ON
        comparisons = []
        for arm in range(self.treatments):
            seen = int(np.isfinite(z[:, arm]).sum())  # looks at which it was still there
            bound = self.boundaries()[seen - 1]
            one, control = float(totals[seen - 1, arm]), float(totals[seen - 1, -1])
            n1, n0 = self.sizes[seen - 1]
            gap = one / n1 - control / n0
            se = float(standard_errors(self.sizes, self.noise, one, control, seen)[-1])
            ends = max(gap - bound * se, -1.0), min(gap + bound * se, 1.0)
            decision, look = found.get(arm, (rest, last))
            course = tuple(z[:seen, arm].tolist())
            comparisons.append(Comparison(decision, look, course, gap, ends))
        return SeveralVerdict(tuple(comparisons), last, 1.0 - 2.0 * self.risk / self.sides)

    def _crossed(self, z: np.ndarray, found: Mapping[int, object]) -> dict[int, str]:
        """Treatments beyond the boundary for those that are left, at any look so far."""
        left = [arm for arm in range(self.treatments) if arm not in found]
        if not left:
            return {}
        bounds = np.array(self.boundaries(len(left))[: len(z)])
        words = {}
        for arm in left:
            up, down = z[:, arm] > bounds, (z[:, arm] < -bounds) & (self.sides == 2)  # of NaN none
            crossed = np.flatnonzero(up | down)
            if len(crossed):
                words[arm] = "better" if up[crossed[0]] else "worse"
        return words

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificates included."""
        return {
            "treatments": self.treatments,
            "sizes": [list(size) for size in self.sizes],
            "budget": self.budget.to_dict(),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "boundary": self.boundary,
            "risk": self.risk,
            "sides": self.sides,
            "method": self.method,
            "certificates": [each.to_dict() for each in self.certificates],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SeveralDesign:
        """The inverse of `to_dict`; certificates are checked against their own numbers."""
        return cls(
            data["treatments"], tuple((int(n1), int(n0)) for n1, n0 in data["sizes"]),
            budget_from_dict(data["budget"]), data["boundary"], data["risk"], data["sides"],
            data["method"], tuple(Certificate.from_dict(each) for each in data["certificates"]),
        )  # fmt: skip

    def __str__(self) -> str:
        bounds = ", ".join(f"{bound:.3f}" for bound in self.boundaries())
        looks = ", ".join(str(self.treatments * n1 + n0) for n1, n0 in self.sizes)
        return (
            f"{self.treatments} treatments against a control, {self.boundary} ({self.method}) at "
            f"{looks} participants, {self.budget}: reject beyond {bounds}"
        )


def several(
    participants: int,
    treatments: int,
    *,
    looks: int | Sequence[int] = 2,
    control: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "obrien-fleming",
    risk: float = 0.05,
    sides: int = 2,
    method: str | None = None,
) -> SeveralDesign:
    """A private test of several treatments against one control, calibrated and certified.

    All treatments together have one risk (closed testing). An outcome is in one sum, so all looks
    cost the budget once.

    Args:
        participants: In all, the control's among them.
        treatments: How many treatments there are.
        looks: Their number, equally spaced; or how many participants there are at each.
        control: The control's share. Default: that of every arm.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        boundary: The shape of the boundary, as in `design`.
        risk: The probability that any treatment is wrongly shown to differ.
        sides: 2, or 1 for "the treatment is better".
        method: "dunnett", exact, at one look or two; "sidak", at any number.

    Returns:
        The design: a certificate for each number of treatments that can be left.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.several(90, 2, looks=1, epsilon=1.0)
        >>> plan.sizes, plan.treatments
        (((30, 30),), 2)
        >>> plan.bound <= 0.05
        True
    """
    arms = count("treatments", treatments, most=MOST_TREATMENTS, fix="use treatments=3")
    total = count("participants", participants, least=arms + 1, fix="use participants=800")
    part = 1.0 / (arms + 1)
    if control is not None:
        part = share("control", control, fix="use control=0.25")
    each = (1.0 - part) / arms
    pair = math.floor((each + part) * total + 1e-9)  # of one treatment and the control
    planned = looks
    if isinstance(looks, list | tuple | range):
        if not looks or looks[-1] != total:
            raise InvalidArgument("looks", f"end with {total}", looks, "use for example looks=2")
        planned = tuple(math.floor((each + part) * n + 1e-9) for n in looks)
    sizes = sizes_of(pair, planned, each / (each + part))
    how = one_of("method", method or METHODS[len(sizes) > MOST_LOOKS], *METHODS)
    if how == "dunnett" and len(sizes) > MOST_LOOKS:
        raise InvalidArgument(
            "method", f"be 'sidak' with more than {MOST_LOOKS} looks", method, "use method='sidak'"
        )
    asked = check_budget(epsilon, delta, rho, budget)
    one_of("boundary", boundary, *KINDS)
    risk, sides = check_risk(risk), count("sides", sides, most=2)
    noise, clock = noise_of(asked), tuple(float(sum(size)) for size in sizes)
    found = []
    for left in range(1, arms + 1):
        single = 1.0 - (1.0 - risk) ** (1.0 / left)
        bounds = boundaries(boundary, clock, single, sides)
        question = Question(sizes, noise, bounds, single, sides)
        if how == "dunnett" and left > 1:
            question = Question(sizes, noise, bounds, risk, sides, left)
        found.append(calibrate(question))
    return SeveralDesign(arms, sizes, asked, boundary, risk, sides, how, tuple(found))
