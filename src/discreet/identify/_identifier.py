"""An identifier is a policy of the same table, with two more columns: when to stop, and what to
say.

    schedule × release × sampling × stopping × recommendation

>>> from discreet.identify import *
>>> from discreet.policies import Doubling, ForgetLaplace
>>> cost = GaussianCost()
>>> mine = Identifier(
...     "mine", Doubling(), ForgetLaplace(epsilon=0.5), BatchedTopTwo(cost),
...     stopping=Likelihood(cost, PrivateThreshold()), recommendation=BestMean(),
... )
>>> mine.guarantee.short(), mine.delta_correct
('ε = 0.5 (interactive)', True)

Sampling, stopping and recommendation see releases and counts alone, so the stopping time and the
recommendation are covered by what the release guarantees, like every assignment. `mixed` lets the
batches of several arms fill concurrently, with a decision every round; otherwise a chosen arm is
played until its batch is full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies import Policy, Setting
from ..policies._policy import ONE_BATCH, check_size
from ..privacy._source import SIMULATED, Source
from ._recommendation import BestMean, Recommendation
from ._setting import RiskSetting, check_risk
from ._stopping import Stopping


@dataclass(frozen=True, kw_only=True)
class Identifier(Policy):
    """One policy; `rule` is the sampling rule, any rule of `discreet.policies` included."""

    stopping: Stopping
    recommendation: Recommendation = field(default_factory=BestMean)
    kind: ClassVar[str] = "identify"
    goal: ClassVar[str] = "identify"
    """That of a trial which plays it."""
    made_of: ClassVar[dict[str, type]] = {
        **Policy.made_of, "stopping": Stopping, "recommendation": Recommendation,
    }  # fmt: skip
    mixed: bool = False
    risk: float | None = None
    """The probability of a wrong answer; `identify` and a trial set it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stopping.check(self.rule)
        counts_arms = self.stopping.counts_arms or self.recommendation.counts_arms
        if counts_arms and not self.rule.eliminates:
            raise InvalidArgument(
                "rule", "eliminate arms if the row asks which are left", str(self.rule),
                "use Elimination(), or the stopping rule Likelihood and BestMean()",
            )  # fmt: skip
        if self.mixed and self.schedule.set_by_rule:
            raise InvalidArgument(
                "mixed", "be False where the rule sets the phases", True, "leave it out"
            )
        if self.risk is not None:
            check_risk(self.risk)

    @property
    def fixed_size(self) -> bool:
        """Whether it stops after a number of participants, and not at a risk."""
        return self.rule.fixed_size

    @property
    def participants(self) -> int | None:
        """After how many participants it stops, if that is fixed."""
        return getattr(self.rule, "participants", None) if self.fixed_size else None

    @property
    def xi(self) -> float:
        """By how much an answer may be worse than the best arm; 0 for most policies."""
        return float(getattr(self.rule, "xi", 0.0))

    @property
    def delta_correct(self) -> bool:
        """Whether the answer is proved wrong with at most the probability `risk`, whatever the
        means."""
        return self.stopping.covers(self.schedule, self.release)

    def setting(
        self, arms: int, horizon: int | None = None, source: Source = SIMULATED
    ) -> RiskSetting:
        """The policy put to work; checks that every part can be."""
        if self.risk is None and not self.fixed_size:
            raise InvalidArgument(
                "risk", f"be set for {self.name}, which stops with an answer", None,
                "policy.at(0.05) is the same policy for a risk of 0.05",
            )  # fmt: skip
        risk = math.nan if self.risk is None else self.risk
        arms = check_size(arms, horizon)
        setting = RiskSetting(arms, horizon, source, self.schedule, self.release, risk)
        for part in (self.schedule, self.release, self.rule, self.stopping):
            part.parameters(setting)
        return setting

    def at(self, risk: float) -> Identifier:
        """The policy for a risk."""
        if self.fixed_size:
            raise InvalidArgument(
                "risk", f"be left out for {self.name}, which has a fixed size", risk,
                "give participants instead, or take evidence-tt",
            )  # fmt: skip
        return replace(self, risk=check_risk(risk), recipe=self._recipe(risk=risk))

    def among(self, participants: int) -> Identifier:
        """The policy for a fixed number of participants."""
        if not self.rule.fixed_size:
            raise InvalidArgument(
                "participants", f"be left out for {self.name}, which stops at a risk", participants,
                "give risk instead, or take halving",
            )  # fmt: skip
        rule = replace(self.rule, participants=participants)  # type: ignore[type-var]
        return replace(self, rule=rule, recipe=self._recipe(participants=participants))

    def _recipe(self, **changes: object) -> dict[str, object]:
        """The recipe of a policy of the catalogue with a change; a composed policy has none."""
        return {**self.recipe, **changes} if self.recipe else {}

    def plan(self, setting: Setting) -> str:
        """How arms are played concurrently. A search of fixed size with several rounds plays one
        batch: who arrives between two rounds would have to get arms that are about to be dropped,
        and there would be more participants than planned."""
        if not self.release.takes_any_block:
            return ONE_BATCH
        if self.rule.compares == "top two":
            sized = "missing_growth" in self.kernels
            return "top two" if sized or self.schedule.fixed_sizes else ONE_BATCH
        several = self.fixed_size and len(self.rule.parameters(setting).length) > 1  # type: ignore[attr-defined]
        looks = self.rule.compares == "looks" and super().plan(setting) == "looks"
        return "looks" if looks and not several else ONE_BATCH

    @property
    def kernels(self) -> dict[str, Function | Kernel]:
        names = ("pair", "note", "missing_growth", "pass_over")
        own = {name: getattr(self.rule, name) for name in names if hasattr(self.rule, name)}
        answer = {"enough": self.stopping.enough, "recommend": self.recommendation.recommend}
        return {**super().kernels, **own, **answer}

    def stopping_parameters(self, setting: Setting) -> NamedTuple:
        return self.stopping.parameters(setting)

    @property
    def has_fixed_size(self) -> bool:
        return self.fixed_size

    def batched(self) -> Identifier:
        """The policy for a live trial, which decides between releases and not every round."""
        if not self.mixed:
            return self
        rule = self.rule if self.schedule.each_round else self.rule.between_releases()
        how: dict[str, object] = {"mixed": False} if rule is self.rule else {"sampling": "batched"}
        return replace(self, rule=rule, mixed=False, recipe=self._recipe(**how))

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {
            "stopping": str(self.stopping),
            "recommendation": str(self.recommendation),
            "mixed": self.mixed,
            "risk": self.risk,
            "delta_correct": self.delta_correct,
            **({"xi": self.xi} if self.xi else {}),
        }

    def __str__(self) -> str:
        schedule = f"{self.schedule}, mixed" if self.mixed else f"{self.schedule}"
        return (
            f"{self.name} = {schedule} × {self.release} × {self.rule} × {self.stopping} × "
            f"{self.recommendation}"
        )
