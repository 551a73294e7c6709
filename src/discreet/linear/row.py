"""A linear policy is schedule × release × rule, as in the finite-armed table.

>>> import discreet.linear
>>> row = discreet.linear.policy("adac-oful", rho=0.1)
>>> print(row)
adac-oful = determinant grown × running sum + Gaussian × optimism
>>> print(row.guarantee.short())
ρ = 0.1 (interactive)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..privacy.budgets import Pure
from ..privacy.guarantees import Definition, Guarantee
from .phases import Elimination, PhaseRelease
from .releases import Release
from .rules import Rule
from .schedules import Schedule

if TYPE_CHECKING:
    from ..privacy.verification import Verification
    from .problem import LinearProblem


@dataclass(frozen=True)
class LinearPolicy:
    """One row: when to release, how to release, and what to make of it."""

    name: str
    schedule: Schedule
    release: Release
    rule: Rule
    reference: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for argument, kind in (("schedule", Schedule), ("release", Release), ("rule", Rule)):
            if not isinstance(getattr(self, argument), kind):
                raise InvalidArgument(
                    argument, f"be a {kind.__name__} of discreet.linear",
                    getattr(self, argument), "see discreet.linear.catalogue for examples",
                )  # fmt: skip
        if isinstance(self.rule, Elimination) is not isinstance(self.release, PhaseRelease):
            raise InvalidArgument(
                "release", "be a release of phases exactly if the rule is Elimination",
                str(self.release), "combine PhaseExact, NoisyEstimate or NoisySums with it",
            )  # fmt: skip
        self._check_contexts()

    def _check_contexts(self) -> None:
        """A public design matrix of private contexts would be a breach."""
        private = self.release.private_contexts
        for argument, part in (("schedule", self.schedule), ("rule", self.rule)):
            if part.private_contexts is not private:
                which = "private" if private else "public"
                raise InvalidArgument(
                    argument, f"be for {which} contexts, as the release {str(self.release)!r} is",
                    str(part), "private contexts go with EachRoundPrivately and TreeOptimism, "
                    "TreeSampling or ShiftedOptimism, public ones with the others",
                )  # fmt: skip
        if not self.rule.suits(self.release):
            raise InvalidArgument(
                "rule", "have the constants of the row's own release", str(self.rule),
                "hand the same release to both",
            )  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """What is promised if the conditions hold: whatever the rule does is post-processing."""
        return self.release.guarantee()

    def guarantee_on(self, problem: LinearProblem) -> Guarantee:
        """The same on a given problem: void, with the reason, if that breaks an assumption."""
        broken = self.release.broken(problem.bounds, problem.contexts.longest)
        promised = self.release.guarantee(problem.contexts.dimension)
        if not broken:
            return promised
        reason = f"void: {promised.budget} was asked for, but {broken}"
        return Guarantee(Pure(math.inf), Definition.NONE, conditions=(reason,))

    def verify(
        self, arms: int = 10, horizon: int = 300, *, dimension: int = 3, live: bool = False
    ) -> Verification:
        """The claim beside what the row's own kernels spend, computed by running them on symbols.

        `live`: with the whole-numbered noise of live trials. See `linear.verification`.
        """
        from .verification import verify

        return verify(self, arms, horizon, dimension=dimension, live=live)

    @property
    def is_private(self) -> bool:
        """Whether anything at all is promised."""
        return self.guarantee.is_private

    @property
    def phased(self) -> bool:
        """Whether it plays in phases, for which actions must be fixed."""
        return isinstance(self.rule, Elimination)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Rewards may be anything: curators clip them. Present for tables beside other policies."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Everything a reader needs to know about the row, ready for JSON."""
        return {
            "name": self.name,
            "schedule": str(self.schedule),
            "release": str(self.release),
            "rule": str(self.rule),
            "guarantee": self.guarantee.to_dict(),
            "bounds": None,
            "reference": self.reference,
            "recipe": dict(self.recipe),
        }

    def __str__(self) -> str:
        return f"{self.name} = {self.schedule} × {self.release} × {self.rule}"
