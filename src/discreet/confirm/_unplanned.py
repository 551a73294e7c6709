"""Tests of two arms whose looks have sizes that no one planned: spent as they come.

At a look that has n of N planned participants, t = n/N, the boundary is the least b, to a
precision, with *certified* P(cross by this look) <= α*(t), those before it being fixed (Lan &
DeMets 1983; the certificate: `certificates`, with all participants so far). At the last look t is
1. So the risk is kept whatever the sizes were, as long as the moment of a look does not depend on
outcomes or releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .._checks import check_flag, count, one_of
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from_dict
from ._certificates import Certificate, Question, calibrate
from ._designs import GO_ON, Design, Verdict, check_budget, check_risk
from ._lattice import Sizes
from ._noises import noise_of
from ._normal import SPENDING, error, next_bound

LEAST_SPENT = 1e-7
"""What is spent below it is nothing: no look of such a size can reject."""


@dataclass(frozen=True)
class Unplanned:
    """A test of two arms so far: `sizes` and `certificates` of its looks; from `unplanned`.

    Example:
        >>> import discreet
        >>> test = discreet.confirm.unplanned(80, epsilon=2.0).look(22, 20).look(40, 40)
        >>> test.is_over, test.certificates[-1].bound <= 0.05
        (True, True)
        >>> print(test.verdict([(18, 6), (15, 5)]))
        look 2: better; difference 0.477, 95 % interval 0.220 to 0.703, p = 0.00035
    """

    participants: int
    budget: Budget
    boundary: str
    risk: float
    sides: int
    sizes: Sizes = ()
    certificates: tuple[Certificate, ...] = ()
    is_over: bool = False

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Reject at look l where |Z| (one-sided: Z) is above the l-th."""
        return self.certificates[-1].boundaries if self.certificates else ()

    def spent(self, share: float) -> float:
        """α*(t), of both sides."""
        return self.sides * SPENDING[self.boundary](self.risk / self.sides, min(share, 1.0))

    def look(self, treatment: int, control: int, *, last: bool = False) -> Unplanned:
        """The test with one more look, at so many participants of each arm in all. Its boundary is
        certified before anything is released. `last`: what is left is spent."""
        size = count("treatment", treatment), count("control", control)
        check_flag("last", last)
        before = self.sizes[-1] if self.sizes else (0, 0)
        if self.is_over or size[0] <= before[0] or size[1] <= before[1]:
            raise InvalidArgument(
                "treatment", "grow from look to look, as control, until the last", size,
                "give the participants of each arm in all",
            )  # fmt: skip
        sizes = (*self.sizes, size)
        share = sum(size) / self.participants
        over = last or share >= 1.0
        target = self.risk if over else self.spent(share)
        if target < LEAST_SPENT:
            raise InvalidArgument(
                "treatment", f"be enough to spend {LEAST_SPENT:g} of the risk", size,
                "wait for more participants: so early a look cannot reject",
            )  # fmt: skip
        clock = tuple(float(sum(each)) for each in sizes)
        known = list(self.boundaries)
        left = target - (error(known, clock[:-1], self.sides) if known else 0.0)
        guess = next_bound(known, clock, self.sides, target, left)
        question = Question(
            sizes, noise_of(self.budget), (*known, guess), target, self.sides, fixed=len(known)
        )
        found = calibrate(question)
        return replace(self, sizes=sizes, certificates=(*self.certificates, found), is_over=over)

    @cached_property
    def design(self) -> Design:
        """The looks so far, as if they were all."""
        return Design(
            self.sizes, self.budget, self.boundary, self.risk, self.sides, None,
            self.certificates[-1],
        )  # fmt: skip

    def verdict(self, sums: Sequence[Sequence[float]]) -> Verdict:
        """From the releases, as of a `Design`: a trial goes on until it crosses or is over."""
        if not self.sizes:
            raise InvalidArgument("sums", "follow a look", "no look", "call look() first")
        found = self.design.verdict(sums)
        if found.decision == "no difference shown" and not self.is_over:
            return replace(found, decision=GO_ON, estimate=None)
        return found

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificates included."""
        return {
            "participants": self.participants,
            "budget": self.budget.to_dict(),
            "boundary": self.boundary,
            "risk": self.risk,
            "sides": self.sides,
            "sizes": [list(size) for size in self.sizes],
            "certificates": [each.to_dict() for each in self.certificates],
            "is_over": self.is_over,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Unplanned:
        """The inverse of `to_dict`."""
        return cls(
            data["participants"], budget_from_dict(data["budget"]), data["boundary"],
            data["risk"], data["sides"], tuple((int(a), int(b)) for a, b in data["sizes"]),
            tuple(Certificate.from_dict(each) for each in data["certificates"]), data["is_over"],
        )  # fmt: skip

    def __str__(self) -> str:
        bounds = ", ".join(f"{b:.3f}" for b in self.boundaries) or "no look yet"
        return f"{self.boundary}, {self.participants} participants planned, {self.budget}: {bounds}"


def unplanned(
    participants: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "lan-demets",
    risk: float = 0.05,
    sides: int = 2,
) -> Unplanned:
    """A private test of two arms whose looks come when they come.

    Each look is added with `Unplanned.look` when its size is known. The risk is kept whatever the
    sizes were, as long as the moment of a look does not depend on outcomes or releases.

    Args:
        participants: The number that is hoped for, at which the risk is spent.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        boundary: How the risk is spent: "lan-demets" or "lan-demets-pocock".
        risk: The type I error, of both sides together if `sides` is 2.
        sides: 2, or 1 for "the treatment is better".

    Returns:
        The test, without a look so far.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> test = discreet.confirm.unplanned(80, epsilon=2.0).look(22, 20)
        >>> test.sizes, round(test.boundaries[0], 2)
        (((22, 20),), 3.58)
        >>> test.verdict([(12, 9)]).decision
        'go on'
    """
    total = count("participants", participants, least=2, fix="use participants=800")
    asked = check_budget(epsilon, delta, rho, budget)
    one_of("boundary", boundary, *SPENDING)
    return Unplanned(total, asked, boundary, check_risk(risk), count("sides", sides, most=2))
