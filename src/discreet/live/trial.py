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

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Self

from ..errors import (
    ConflictingOutcome,
    DamagedFile,
    InvalidArgument,
    TrialError,
    UnknownUnit,
    UnsupportedBudget,
)
from ..identify import Identifier
from ..identify.trials import row_for_goal
from ..policies import Policy
from ..privacy.guarantees import Guarantee
from ..privacy.source import SECURE
from .arguments import (
    Name,
    Unshown,
    check_arms,
    check_count,
    check_horizon,
    check_number,
    check_range,
    check_unit,
    number_of,
)
from .chance import SystemChance
from .protocol import Protocol
from .report import as_text, make_report
from .rows import protects_whole_run, row_from_dict, row_to_dict, rows_for_trials
from .storage import Saved, Storage

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others."""
EVERYBODY_ANSWERS = "every unit answers, or it is public whether a unit answers"


class Batch:
    """The open batch: who is in it, and the outcomes that have come, in integer units."""

    __slots__ = ("due", "outcomes", "protocol", "slot_of", "units")

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        """where the run stood when the batch was opened"""
        self.units: list[Name] = []
        """its members, in the order of their assignment"""
        self.outcomes: dict[int, int] = {}
        """by place in the batch; of a local release, what was made of them"""
        self.slot_of: dict[Name, int] = {}
        """the latest place of each member"""
        self.due: float | None = None
        """when it is released, once it is full and if there is a deadline"""

    @property
    def is_full(self) -> bool:
        """Whether it takes no more members."""
        return len(self.units) >= self.protocol.rounds


class Trial:
    """An adaptive experiment that keeps the outcomes of its units private.

    `assign(unit)` says which arm a unit gets, always the same one; `record(unit, outcome)` hands in
    what came of it. A batch is its first n assignments; units that arrive while it settles get its
    arm, and their outcomes are not used.

    - `goal`: "regret" to treat well on the way, or "identify", with an identifier as policy, to
      stop with a recommendation that is wrong with probability at most `delta`.
    - `horizon`: how many assignments are used at most; some policies need it.
    - `deadline`: seconds after the last assignment of a batch at which it is released, whoever has
      answered by then; a missing outcome counts as `default`. Without a deadline a batch waits
      until everybody has answered, and the guarantee rests on that.
    - `outcome_range`: the least and the largest outcome.
    - `contributions`: how many outcomes of one unit may be used; the guarantee covers all.
    - `path`: where the trial is kept, so that it outlives a crash; else it lives in memory.
    - `clock`: seconds as a function, for tests and replays.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int | Sequence[Name],
        *,
        goal: str = "regret",
        delta: float | None = None,
        horizon: float | None = None,
        deadline: float | None = None,
        default: float = 0.0,
        outcome_range: tuple[float, float] = (0.0, 1.0),
        contributions: int = 1,
        path: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        policy = row_for_goal(policy, goal, delta)
        if not protects_whole_run(policy):
            raise UnsupportedBudget(
                "policy", "be private over the whole run of a live trial",
                f"{policy.name}: {policy.guarantee.short()}",
                f"rows that serve: {', '.join(rows_for_trials())}; "
                "Rehearsal runs any row, on made-up outcomes",
            )  # fmt: skip
        self.policy = policy
        self._arms = check_arms(arms)
        self._range = check_range(outcome_range)
        self._contributions = check_count(
            "contributions", contributions, "use 1, or the most outcomes that a unit may give"
        )
        self._deadline = None
        if deadline is not None:
            self._deadline = check_number(
                "deadline", deadline, "be a number of seconds above 0", 0.0,
                "use for example deadline=86_400 for a day, or None to wait for everybody",
            )  # fmt: skip
        self._default = self._check_default(default)
        self._clock = clock
        setting = policy.setting(len(self._arms), check_horizon(horizon), SECURE)
        self.guarantee: Guarantee = self._derived_guarantee()
        self._batch = Batch(Protocol(policy, setting, SystemChance(), None))
        self._arm_of: dict[Name, int] = {}
        self._used: dict[Name, int] = {}
        self._assigned = [0] * len(self._arms)
        self._row: dict[str, Any] = {}
        """what the file says of the policy"""
        self._storage: Storage | None = None
        self._closed = False
        self._process = os.getpid()
        self._lock = threading.RLock()
        if path is not None:
            self.save(path)

    # --- the two calls of every day ---------------------------------------------------------------

    def assign(self, unit: Name) -> Name:
        """The arm of a unit; asking again gives the same one."""
        with self._lock:
            self._settle_if_due()
            unit = check_unit(unit)
            batch = self._batch
            arm, full = self._arm_of.get(unit), batch.is_full
            if arm is not None and (full or not self._may_contribute_again(unit)):
                return self._arms[arm]
            protocol = batch.protocol
            if protocol.answer is not None:
                raise TrialError(
                    f"the trial has stopped and recommends {self._arms[protocol.answer]!r}; "
                    "give further units that arm"
                )
            if full and protocol.horizon is not None and self.rounds >= protocol.horizon:
                raise TrialError(
                    f"the horizon of {protocol.horizon} assignments is reached; "
                    "give further units the arm that report() shows as most played"
                )
            arm, slot, due = protocol.arm, None, None
            if not full:
                slot = len(batch.units)
                last = slot + 1 == protocol.rounds and not protocol.cut
                if last and self._deadline is not None:
                    due = self._now() + self._deadline
            if self._storage is not None:
                used = self._used.get(unit, 0) + (slot is not None)
                self._storage.add_assignment([unit, arm, slot, used, due])
            self._enter(unit, arm, slot, due)
            return self._arms[arm]

    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a unit.

        Kept until its batch is released. A late one is dropped, and so is one that is not used. The
        same outcome again changes nothing, another one is refused; of a policy in the local model
        the first stands, for it was randomised at once and cannot be compared.
        """
        with self._lock:
            self._settle_if_due()
            unit = check_unit(unit)
            if unit not in self._arm_of:
                raise UnknownUnit(
                    f"unit must have been assigned before an outcome is recorded, got {unit!r}; "
                    "call assign(unit) first, and mind that 1 and '1' are two units"
                )
            value = self._in_units(outcome)
            batch = self._batch
            protocol, slot = batch.protocol, batch.slot_of.get(unit)
            if slot is None or protocol.cut:
                return
            known = batch.outcomes.get(slot)
            if known is not None:
                if known == value or protocol.is_local:
                    return
                raise ConflictingOutcome(
                    f"outcome must stay the same once it is recorded, got another one for unit "
                    f"{unit!r} (neither is shown: outcomes are private); the first one stands"
                )
            if protocol.is_local:
                value = protocol.respond(value)
            if self._storage is not None:
                self._storage.add_outcome([slot, value])
            batch.outcomes[slot] = value
            self._settle_if_due()

    def settle(self) -> bool:
        """Release what is due, as every other call does first; whether there was anything."""
        with self._lock:
            return self._settle_if_due()

    # --- what may be shown ------------------------------------------------------------------------

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms."""
        return self._arms

    @property
    def rounds(self) -> int:
        """Assignments whose outcomes are used, so far."""
        batch = self._batch
        return batch.protocol.t + len(batch.units)

    @property
    def status(self) -> str:
        """ "collecting" units for a batch, "settling" a full one, or "finished"."""
        batch = self._batch
        if not batch.is_full:
            return "collecting"
        return "finished" if batch.protocol.cut else "settling"

    @property
    def recommendation(self) -> Name | None:
        """The best arm, wrong with probability at most δ, once a trial that identifies stopped."""
        answer = self._batch.protocol.answer
        return None if answer is None else self._arms[answer]

    def report(self) -> dict[str, Any]:
        """Releases and public counts, ready for JSON."""
        with self._lock:
            self._settle_if_due()
            return self._report()

    def _report(self) -> dict[str, Any]:
        return make_report(
            self.policy, self.guarantee, self._arms, self._range, self._batch.protocol,
            status=self.status, rounds=self.rounds, assigned=self._assigned,
            filled=len(self._batch.units), due=self._batch.due,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<Trial of {self.policy.name}, {len(self._arms)} arms, {sum(self._assigned)} assigned,"
            f" {sum(self._batch.protocol.releases)} releases, {self.status}: "
            f"{self.guarantee.short()}>"
        )

    def __str__(self) -> str:
        with self._lock:
            return as_text(self._report())

    # --- keeping it -------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep the trial in a file from now on; every later call is on disk before it returns.

        A trial has one file: of two copies each could release the same batch, and two noisy
        answers about the same people betray more than one.
        """
        with self._lock:
            self._usable()
            place = Path(path).absolute()
            if self._storage is not None:
                if place == self._storage.path:
                    return
                raise TrialError(
                    f"the trial is kept in {self._storage.path} and must not be copied; close it, "
                    "move all its files and load it from there"
                )
            batch, arm = self._batch, self._batch.protocol.arm
            counted = set(batch.slot_of)
            self._row = row_to_dict(self.policy)
            assigned = self._assigned.copy()
            assigned[arm] -= len(batch.units)
            last = len(batch.units) - 1
            self._storage = Storage.create(
                place,
                self._state(batch.protocol, assigned),
                [
                    [unit, arm, None, self._used.get(unit, 0), None]
                    for unit, arm in self._arm_of.items()
                    if unit not in counted
                ],
                [
                    [unit, arm, slot, self._used[unit], batch.due if slot == last else None]
                    for slot, unit in enumerate(batch.units)
                ],
                [list(item) for item in batch.outcomes.items()],
            )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Go on with a saved trial; a policy that you composed yourself must be passed again."""
        place = Path(path).absolute()
        storage, saved = Storage.open(place)
        try:
            state = saved.state
            if not isinstance(state, dict):
                raise DamagedFile(f"{place} holds no state of a trial")
            row = row_from_dict(state.get("policy"), policy, place)
            try:
                trial = cls._revived(row, saved, clock)
            except DamagedFile as error:
                raise DamagedFile(f"{place}: {error}") from None
            except (InvalidArgument, KeyError, TypeError, ValueError, IndexError):
                raise DamagedFile(f"{place}: the settings or the assignments are damaged") from None
            trial._row = row_to_dict(row)
            trial._storage = storage
            return trial
        except BaseException:
            storage.close()
            raise

    @classmethod
    def _revived(cls, policy: Policy, saved: Saved, clock: Callable[[], float]) -> Self:
        state = saved.state
        goal: dict[str, Any] = {}
        if isinstance(policy, Identifier):
            goal = {"goal": "identify", "delta": policy.delta}
        trial = cls(
            policy, state["arms"], **goal, horizon=state["horizon"], deadline=state["deadline"],
            default=state["default"], outcome_range=tuple(state["outcome_range"]),
            contributions=state["contributions"], clock=clock,
        )  # fmt: skip
        batch = trial._batch
        batch.protocol.restore(state["protocol"])
        for unit, arm, _, used, _ in saved.before:
            if type(arm) is not int or not 0 <= arm < len(trial._arms) or type(used) is not int:
                raise DamagedFile("the assignments before the last release are damaged")
            trial._arm_of[check_unit(unit)] = arm
            trial._used[unit] = used
        trial._assigned = [int(count) for count in state["assigned"]]
        for unit, arm, slot, used, due in saved.since:
            expected = None if batch.is_full else len(batch.units)
            if arm != batch.protocol.arm or slot != expected:
                raise DamagedFile("the assignments since the last release are out of order")
            trial._enter(check_unit(unit), arm, slot, due)
            trial._used[unit] = int(used)  # a trial saved midway has only one line a unit
        for slot, value in saved.outcomes:
            if not 0 <= slot < len(batch.units) or slot in batch.outcomes or type(value) is not int:
                raise DamagedFile("the outcomes since the last release are damaged")
            batch.outcomes[slot] = value
        return trial

    def _state(self, protocol: Protocol, assigned: list[int]) -> dict[str, Any]:
        return {
            "policy": self._row,
            "guarantee": str(self.guarantee),
            "arms": list(self._arms),
            "horizon": protocol.horizon,
            "deadline": self._deadline,
            "default": self._default,
            "outcome_range": list(self._range),
            "contributions": self._contributions,
            "assigned": assigned,
            "protocol": protocol.to_dict(),
        }

    def close(self) -> None:
        """End the use of this object. A trial that was saved can be loaded again; of one that
        was not, the outcomes are erased."""
        with self._lock:
            self._closed = True
            self._batch.outcomes.clear()
            if self._storage is not None:
                self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "a trial must not be copied or pickled: two copies could release the same batch twice; "
            "use save(path), close() and Trial.load(path)"
        )

    # --- inside -----------------------------------------------------------------------------------

    def _settle_if_due(self) -> bool:
        """Release the open batch if its public moment has come."""
        self._usable()
        batch = self._batch
        if not batch.is_full or batch.protocol.cut:
            return False
        if self._deadline is None:
            if len(batch.outcomes) < batch.protocol.rounds:
                return False
        elif batch.due is None or self._now() < batch.due:
            return False
        self._release()
        return True

    def _release(self) -> None:
        """Draw the release, store it with the state that it changes, and only then let it be seen.

        All is done on a copy that takes the batch's place in one step, and the outcomes go with
        the old one.
        """
        batch = self._batch
        protocol, total = batch.protocol.copy(), 0
        missing = self._scaled(self._default)
        for slot in range(protocol.rounds):
            value = batch.outcomes.get(slot)
            if value is None:
                value = protocol.respond(missing) if protocol.is_local else missing
            total += value
        protocol.finish(total)
        if self._storage is not None:
            self._storage.turn(self._state(protocol, self._assigned.copy()))
        self._batch = Batch(protocol)

    def _enter(self, unit: Name, arm: int, slot: int | None, due: float | None) -> None:
        """Write an assignment down; without a place in the batch its outcome is not used."""
        if slot is not None:
            batch = self._batch
            batch.units.append(unit)
            batch.slot_of[unit] = slot
            batch.due = due
            self._used[unit] = self._used.get(unit, 0) + 1
        self._arm_of[unit] = arm
        self._assigned[arm] += 1

    def _may_contribute_again(self, unit: Name) -> bool:
        """Whether a unit that has an arm may take another place in a batch.

        With a deadline it must wait until its batch is released, for it is private whether it has
        answered; without one that is public.
        """
        if self._used.get(unit, 0) >= self._contributions or self._contributions == 1:
            return False
        slot = self._batch.slot_of.get(unit)
        return slot is None or (self._deadline is None and slot in self._batch.outcomes)

    def _in_units(self, outcome: Any) -> int:
        """An outcome as an integer number of the source's units."""
        low, high = self._range
        number = number_of(outcome)
        if number is None or not low <= number <= high:
            raise InvalidArgument(
                "outcome", f"be a number from {low:g} to {high:g}",
                Unshown(type(outcome).__name__),
                "record what was measured, or set outcome_range when the trial is planned",
            )  # fmt: skip
        return self._scaled(number)

    def _scaled(self, outcome: float) -> int:
        low, high = self._range
        return round((outcome - low) / (high - low) * SECURE.unit)

    def _check_default(self, default: float) -> float:
        low, high = self._range
        number = number_of(default)
        if number is None or not math.isfinite(number):
            raise InvalidArgument("default", "be a finite number", default, "use an outcome")
        if self._deadline is not None and not low <= number <= high:
            raise InvalidArgument(
                "default", f"lie in the outcome_range, from {low:g} to {high:g}", default,
                "say what a missing outcome counts as",
            )  # fmt: skip
        return number

    def _derived_guarantee(self) -> Guarantee:
        """The policy's, in the budget that the secure noise is calibrated to, for all outcomes that
        one unit may contribute."""
        guarantee = self.policy.guarantee
        asked = getattr(self.policy.release, "budget", None)
        if asked is not None and guarantee.budget.implies(asked):
            guarantee = replace(guarantee, budget=asked)
        conditions = [text for text in guarantee.conditions if text != CHECKED]
        if self._deadline is None:
            conditions.append(EVERYBODY_ANSWERS)
        guarantee = replace(guarantee, conditions=tuple(conditions))
        return guarantee.for_user(self._contributions)

    def _now(self) -> float:
        now = float(self._clock())
        if not math.isfinite(now):
            raise InvalidArgument("clock", "return a finite number", now, "use time.time")
        return now

    def _usable(self) -> None:
        if self._closed:
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        if self._process != os.getpid():
            raise TrialError(
                "the trial belongs to the process that opened it, and this is a fork of it: both "
                "could release the same batch; open the trial after the fork, in one process"
            )
        if self._storage is not None and self._storage.failed:
            raise TrialError(
                f"a write to {self._storage.path} failed, so it is unknown what is on disk; "
                "close the trial, make room or mend the disk, and load it again"
            )
