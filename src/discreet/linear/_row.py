"""A linear policy is schedule × release × rule, as in the finite-armed table.

>>> import discreet
>>> row = discreet.policy("adac-oful", rho=0.1)
>>> print(row)
adac-oful = determinant grown × running sum + Gaussian × optimism
>>> print(row.guarantee.short())
ρ = 0.1 (interactive)

There are two kinds: a `RoundPolicy` chooses an action every round, a `PhasedPolicy` fixes the plays
of a whole phase in advance, for which the actions must stay the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, cast

from ..errors import InvalidArgument
from ..policies._policy import BasePolicy
from ..privacy._guarantees import Definition, Guarantee
from ..privacy.budgets import Pure
from ._phases import Elimination, PhaseRelease
from ._releases import LinearRelease, RoundRelease
from ._rules import LinearRule, RoundRule
from ._schedules import DesignPhases, LinearSchedule, RoundSchedule
from ._view import LinearSetting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..privacy.verification import Verification
    from ..simulator import Comparison
    from ..simulator._runs import Size
    from ._problem import LinearProblem


@dataclass(frozen=True)
class LinearPolicy(BasePolicy[LinearSetting]):
    """One policy: when to release, how to release, and what to make of it.

    Rewards may be anything: curators clip them.
    """

    schedule: LinearSchedule
    release: LinearRelease
    rule: LinearRule
    kind: ClassVar[str] = "linear"

    def __new__(
        cls, name: str = "", schedule: object = None, *rest: object, **more: object
    ) -> Self:
        """The kind of policy that the schedule asks for."""
        kind: type[LinearPolicy] = cls
        if cls is LinearPolicy:
            kind = PhasedPolicy if getattr(schedule, "phased", False) else RoundPolicy
        return cast("Self", object.__new__(kind))

    def __post_init__(self) -> None:
        super().__post_init__()
        # a public design matrix of private contexts would be a breach
        private = self.release.private_contexts
        for argument, part in (("schedule", self.schedule), ("rule", self.rule)):
            if part.private_contexts is not private:
                which = "private" if private else "public"
                raise InvalidArgument(
                    argument, f"be for {which} contexts, as the release {str(self.release)!r} is",
                    str(part), "private contexts go with EachRoundPrivately and TreeOptimism, "
                    "TreeSampling or ShiftedOptimism, or with PrivateBatches and BatchThompson or "
                    "BlockThompson, public ones with the others",
                )  # fmt: skip
        if not self.rule.suits(self.release):
            raise InvalidArgument(
                "rule", "have the constants of the row's own release", str(self.rule),
                "hand the same release to both",
            )  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """What is promised if the conditions hold: whatever the rule does is post-processing."""
        return self.stated(self.release.guarantee())

    def guarantee_on(self, problem: LinearProblem) -> Guarantee:
        """The same on a given problem: void, with the reason, if that breaks an assumption."""
        broken = self.release.broken(problem.bounds, problem.contexts.longest)
        promised = self.release.guarantee(problem.contexts.dimension)
        if not broken:
            return self.stated(promised)
        reason = f"void: {promised.budget} was asked for, but {broken}"
        return Guarantee(Pure(math.inf), Definition.NONE, conditions=(reason,))

    def proved(
        self, arms: int = 10, horizon: int = 300, *, dimension: int = 3, live: bool = False
    ) -> Verification:
        """The claim beside what the policy's own kernels spend, found by running them on symbols.

        `live`: with the whole-numbered noise of live trials. See `linear.verification`.
        """
        from .verification import verify

        return verify(self, arms, horizon, dimension=dimension, live=live)

    def compared(self, rows: Sequence[object], place: object, **study: object) -> Comparison:
        from ._runs import compare

        mine, problem = cast("Sequence[LinearPolicy]", rows), cast("LinearProblem", place)
        return compare(mine, problem, **cast("Size", study))  # which refuses others

    def plan(self, setting: LinearSetting) -> str:
        """How participants are treated: a key of `discreet.protocol.PLANS`."""
        return "contexts"

    @property
    def phased(self) -> bool:
        """Whether it plays in phases, for which actions must be fixed."""
        return False


@dataclass(frozen=True)
class RoundPolicy(LinearPolicy):
    """A policy that takes one context after the other."""

    schedule: RoundSchedule
    release: RoundRelease
    rule: RoundRule
    made_of: ClassVar[dict[str, type]] = {
        "schedule": RoundSchedule, "release": RoundRelease, "rule": RoundRule,
    }  # fmt: skip


@dataclass(frozen=True)
class PhasedPolicy(LinearPolicy):
    """A policy that plays in phases, on actions that stay the same."""

    schedule: DesignPhases
    release: PhaseRelease
    rule: Elimination
    made_of: ClassVar[dict[str, type]] = {
        "schedule": DesignPhases, "release": PhaseRelease, "rule": Elimination,
    }  # fmt: skip

    @property
    def phased(self) -> bool:
        return True
