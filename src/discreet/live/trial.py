"""Live trials: adaptive experiments on real people, with noise that nobody can replay.

>>> import discreet
>>> trial = discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), arms=["A", "B"])
>>> arm = trial.assign("patient-1")
>>> trial.record("patient-1", 1.0)
>>> print(trial.guarantee.short())
ε = 1 (interactive)

The trial is the curator: it alone holds outcomes, and only until their batch is released. All that
it shows is made of releases and of public counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from ..errors import InvalidArgument, UnsupportedBudget
from ..identify import Identifier
from ..identify.setting import one_risk
from ..identify.trials import row_for_goal
from ..inference.record import Record, check_kind
from ..policies import Policy
from ..privacy.source import SECURE
from .arguments import Name, check_horizon, check_range
from .chance import SystemChance
from .experiment import Experiment
from .protocol import Protocol
from .report import as_text, make_report
from .rows import protects_whole_run, rows_for_trials


class Trial(Experiment[Protocol]):
    """An adaptive experiment that keeps the outcomes of its units private.

    `assign(unit)` says which arm a unit gets, always the same one; `record(unit, outcome)` hands in
    what came of it. A batch is its first n assignments; units that arrive while it settles get its
    arm, and their outcomes are not used.

    - `goal`: "regret" to treat well on the way, or "identify", with an identifier as policy, to
      stop with a recommendation that is wrong with probability at most `risk` (`delta` is its
      older name), or, with a row of a fixed size, after its number of participants.
    - `intervals`: the kind that the report shows, fixed here: "auto", "anytime", "looks" or "end".
    - `binary`: whether outcomes can only be one of two values, the ends of `outcome_range`.
    - `horizon`: how many assignments are used at most; some policies need it.
    - `deadline`: seconds after the last assignment of a batch at which it is released, whoever has
      answered by then; a missing outcome counts as `default`. Without a deadline a batch waits
      until everybody has answered, and the guarantee rests on that.
    - `outcome_range`: the least and the largest outcome.
    - `contributions`: how many outcomes of one unit may be used; the guarantee covers all.
    - `path`: where the trial is kept, so that it outlives a crash; else it lives in memory.
    - `clock`: seconds as a function, for tests and replays.
    """

    policy: Policy
    _kind: ClassVar[type] = Policy
    _range_fix: ClassVar[str] = (
        "record what was measured, or set outcome_range when the trial is planned"
    )

    def __init__(
        self,
        policy: Policy,
        arms: int | Sequence[Name],
        *,
        goal: str = "regret",
        risk: float | None = None,
        delta: float | None = None,
        intervals: str = "auto",
        binary: bool = False,
        horizon: float | None = None,
        deadline: float | None = None,
        default: float = 0.0,
        outcome_range: tuple[float, float] = (0.0, 1.0),
        contributions: int = 1,
        path: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidArgument(
                "policy", "be a row for finite arms", str(policy),
                "take discreet.policy(...); discreet.linear.Trial takes linear rows",
            )  # fmt: skip
        policy = row_for_goal(policy, goal, one_risk(risk, delta))
        if not protects_whole_run(policy):
            raise UnsupportedBudget(
                "policy", "be private over the whole run of a live trial",
                f"{policy.name}: {policy.guarantee.short()}",
                f"rows that serve: {', '.join(rows_for_trials())}; "
                "Rehearsal runs any row, on made-up outcomes",
            )  # fmt: skip
        super().__init__(
            policy, arms, outcome_range=check_range(outcome_range), deadline=deadline,
            default=default, contributions=contributions, clock=clock,
        )  # fmt: skip
        setting = policy.setting(len(self._arms), check_horizon(horizon), SECURE)
        protocol = Protocol(policy, setting, SystemChance(), None)
        self._intervals = check_kind(intervals, protocol.recorded)
        self._binary = bool(binary)
        self._open(policy.guarantee, protocol, path)

    def assign(self, unit: Name) -> Name:
        """The arm of a unit; asking again gives the same one."""
        return self._assign(unit)

    @property
    def recommendation(self) -> Name | None:
        """The best arm, wrong with probability at most δ, once a trial that identifies stopped."""
        answer = self._batch.protocol.answer
        return None if answer is None else self._arms[answer]

    def _report(self) -> dict[str, Any]:
        return make_report(
            self.policy, self.guarantee, self._arms, self._range, self._batch.protocol,
            self._record(),
            status=self.status, rounds=self.rounds, assigned=self._assigned,
            filled=len(self._batch.units), due=self._batch.due,
        )  # fmt: skip

    def public_record(self) -> Record | None:
        """What was released, and what is known of the noise in it: all that intervals use."""
        with self._lock:
            self._settle_if_due()
            return self._record()

    def _record(self) -> Record | None:
        protocol = self._batch.protocol
        return protocol.record(self._arms, self._range, self._intervals, self._binary)

    def __str__(self) -> str:
        with self._lock:
            return as_text(self._report())

    def _scaled(self, outcome: float) -> int:
        low, high = self._range
        return round((outcome - low) / (high - low) * SECURE.unit)

    def _settings(self) -> dict[str, Any]:
        kinds = {"intervals": self._intervals, "binary": self._binary}
        return {"outcome_range": list(self._range), **kinds}

    @classmethod
    def _from_settings(cls, policy: Policy, state: Any, clock: Callable[[], float]) -> Self:
        goal: dict[str, Any] = {}
        if isinstance(policy, Identifier):
            goal = {"goal": "identify", "risk": policy.risk}
        return cls(
            policy, state["arms"], **goal, horizon=state["horizon"], deadline=state["deadline"],
            default=state["default"], outcome_range=tuple(state["outcome_range"]),
            contributions=state["contributions"], clock=clock,
            intervals=state.get("intervals", "auto"), binary=state.get("binary", False),
        )  # fmt: skip
