"""What all live trials have in common: assign, record, release, keep.

A trial is the curator: it alone holds outcomes, and only until their batch is released. It steps a
`Run` on a copy, has every step on disk before it is seen, and shows releases and public counts.

- Every call first releases what is due. Without a deadline a full batch is due when all its
  outcomes are there, with one at a public moment, whoever has answered by then.
- A file belongs to one process and one object: of two copies each could release the same batch,
  and two noisy answers about the same people betray more than one.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

from ..errors import (
    ConflictingOutcome,
    DamagedFile,
    InvalidArgument,
    TrialError,
    UnknownUnit,
)
from ..privacy.guarantees import Guarantee
from .arguments import Name, Unshown, check_arms, check_count, check_number, check_unit, number_of
from .batch import Batch
from .rows import row_from_dict, row_to_dict
from .run import Run
from .storage import Saved, Storage

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others."""
EVERYBODY_ANSWERS = "every unit answers, or it is public whether a unit answers"

R = TypeVar("R", bound=Run)


class Experiment(ABC, Generic[R]):
    """Base of the trials. Outcomes lie in `outcome_range`, and are refused otherwise."""

    guarantee: Guarantee
    _kind: ClassVar[type]
    """of policies"""
    _range_fix: ClassVar[str]
    """what to do about an outcome out of range"""

    def __init__(
        self,
        policy: Any,
        arms: int | Sequence[Name],
        *,
        outcome_range: tuple[float, float],
        deadline: float | None,
        default: float,
        contributions: int,
        clock: Callable[[], float],
    ) -> None:
        self.policy = policy
        self._arms = check_arms(arms)
        self._range = outcome_range
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
        self._arm_of: dict[Name, int] = {}
        self._used: dict[Name, int] = {}
        self._assigned = [0] * len(self._arms)
        self._row: dict[str, Any] = {}
        """what the file says of the policy"""
        self._storage: Storage | None = None
        self._closed = False
        self._process = os.getpid()
        self._lock = threading.RLock()

    def _open(self, guarantee: Guarantee, protocol: R, path: str | os.PathLike[str] | None) -> None:
        """The first batch."""
        self.guarantee = self._covering(guarantee)
        self._batch = Batch(protocol)
        if path is not None:
            self.save(path)

    # --- what the kinds of trials differ in -------------------------------------------------------

    @abstractmethod
    def _scaled(self, outcome: float) -> int:
        """An outcome inside the range as an integer number of units."""

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What the file says of the trial beside what every trial has."""

    @classmethod
    @abstractmethod
    def _from_settings(cls, policy: Any, state: Any, clock: Callable[[], float]) -> Self:
        """A fresh trial with the settings of a file."""

    @abstractmethod
    def _report(self) -> dict[str, Any]:
        """Releases and public counts, ready for JSON."""

    def _checked(self, context: Any) -> Any:
        """The context of a unit that needs an arm."""
        return context

    # --- the two calls of every day ---------------------------------------------------------------

    def _assign(self, unit: Name, context: Any = None) -> Name:
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
                    "decide for further units by what report() shows"
                )
            context = self._checked(context)
            arm = protocol.arm_for(context)
            slot = action = due = None
            if not full:
                slot, action = len(batch.units), protocol.action_of(context, arm)
                protocol = protocol.joined(action, slot)
                last = protocol.is_full(slot + 1) and not protocol.cut
                if last and self._deadline is not None:
                    due = self._now() + self._deadline
            if self._storage is not None:
                used = self._used.get(unit, 0) + (slot is not None)
                line: list[Any] = [unit, arm, slot, used, due]
                if action is not None and protocol.private_contexts:
                    self._storage.add_outcome([slot, action])
                elif action is not None:
                    line.append(action)
                self._storage.add_assignment(line)
            self._enter(unit, arm, slot, due, action, protocol)
            self._abandon_if_cut()
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

    def report(self) -> dict[str, Any]:
        """Releases and public counts, ready for JSON."""
        with self._lock:
            self._settle_if_due()
            return self._report()

    def __repr__(self) -> str:
        return (
            f"<Trial of {self.policy.name}, {len(self._arms)} arms, {sum(self._assigned)} assigned,"
            f" {sum(self._batch.protocol.releases)} releases, {self.status}: "
            f"{self.guarantee.short()}>"
        )

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
            batch = self._batch
            counted = set(batch.slot_of)
            self._row = row_to_dict(self.policy)
            assigned = self._assigned.copy()
            since, private = [], []
            last = len(batch.units) - 1
            for slot, (unit, arm) in enumerate(zip(batch.units, batch.arms, strict=True)):
                assigned[arm] -= 1
                due = batch.due if slot == last else None
                line: list[Any] = [unit, arm, slot, self._used[unit], due]
                action = batch.actions.get(slot)
                if action is not None and batch.protocol.private_contexts:
                    private.append([slot, action])
                elif action is not None:
                    line.append(action)
                since.append(line)
            self._storage = Storage.create(
                place,
                self._state(batch.opened, assigned),
                [
                    [unit, arm, None, self._used.get(unit, 0), None]
                    for unit, arm in self._arm_of.items()
                    if unit not in counted
                ],
                since,
                [*private, *(list(item) for item in batch.outcomes.items())],
            )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Any = None,
        clock: Callable[[], float] | None = None,
    ) -> Self:
        """Go on with a saved trial; a policy that you composed yourself must be passed again."""
        import time

        place = Path(path).absolute()
        storage, saved = Storage.open(place)
        try:
            state = saved.state
            if not isinstance(state, dict):
                raise DamagedFile(f"{place} holds no state of a trial")
            row = row_from_dict(state.get("policy"), policy, place)
            if not isinstance(row, cls._kind):
                raise InvalidArgument(
                    "path", f"hold a trial of a {cls._kind.__name__}", f"{place}: {row.name}",
                    "load finite arms by discreet.Trial, contexts by discreet.linear.Trial",
                )  # fmt: skip
            try:
                trial = cls._revived(row, saved, clock or time.time)
            except DamagedFile as error:
                raise DamagedFile(f"{place}: {error}") from None
            except (InvalidArgument, KeyError, TypeError, ValueError, IndexError):
                raise DamagedFile(f"{place}: the settings or the assignments are damaged") from None
            trial._row = row_to_dict(row)
            trial._storage = storage
            trial._abandon_if_cut()
            return trial
        except BaseException:
            storage.close()
            raise

    @classmethod
    def _revived(cls, policy: Any, saved: Saved, clock: Callable[[], float]) -> Self:
        state = saved.state
        trial = cls._from_settings(policy, state, clock)
        trial._batch.protocol.restore(state["protocol"])
        trial._batch = batch = Batch(trial._batch.protocol)
        for unit, arm, _, used, *_ in saved.before:
            if type(arm) is not int or not 0 <= arm < len(trial._arms) or type(used) is not int:
                raise DamagedFile("the assignments before the last release are damaged")
            trial._arm_of[check_unit(unit)] = arm
            trial._used[unit] = used
        trial._assigned = [int(count) for count in state["assigned"]]
        private = {slot: value for slot, value in saved.outcomes if type(value) is list}
        for unit, arm, slot, used, due, *public in saved.since:
            expected = None if batch.is_full else len(batch.units)
            fits = type(arm) is int and 0 <= arm < len(trial._arms) and slot == expected
            if not fits or not batch.protocol.may_play(arm):
                raise DamagedFile("the assignments since the last release are out of order")
            action, protocol = None, batch.protocol
            if slot is not None:
                # of two for the same place the last counts: the first one's call never returned
                action = public[0] if public else private.get(slot)
                protocol = protocol.joined(action, slot)
            trial._enter(check_unit(unit), arm, slot, due, action, protocol)
            trial._used[unit] = int(used)  # a trial saved midway has only one line a unit
        for slot, value in saved.outcomes:
            if type(value) is list:
                continue
            if not 0 <= slot < len(batch.units) or slot in batch.outcomes or type(value) is not int:
                raise DamagedFile("the outcomes since the last release are damaged")
            batch.outcomes[slot] = value
        return trial

    def _state(self, protocol: R, assigned: list[int]) -> dict[str, Any]:
        return {
            "policy": self._row,
            "guarantee": str(self.guarantee),
            "arms": list(self._arms),
            "horizon": protocol.horizon,
            "deadline": self._deadline,
            "default": self._default,
            "contributions": self._contributions,
            "assigned": assigned,
            **self._settings(),
            "protocol": protocol.to_dict(),
        }

    def close(self) -> None:
        """End the use of this object. A trial that was saved can be loaded again; of one that
        was not, the outcomes are erased."""
        with self._lock:
            self._closed = True
            self._batch.outcomes.clear()
            self._batch.actions.clear()
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
            if len(batch.outcomes) < len(batch.units):
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
        protocol, outcomes = batch.protocol.copy(), []
        missing = self._scaled(self._default)
        for slot in range(len(batch.units)):
            value = batch.outcomes.get(slot)
            if value is None:
                value = protocol.respond(missing) if protocol.is_local else missing
            outcomes.append(value)
        protocol.finish_batch(batch.actions, outcomes)
        self._turn(protocol)

    def _abandon_if_cut(self) -> None:
        """Forget what is known of a batch of which it turns out that the horizon cuts it off."""
        batch = self._batch
        if batch.actions and batch.protocol.cut:
            protocol = batch.protocol.copy()
            protocol.t += len(batch.units)
            self._turn(protocol)

    def _turn(self, protocol: R) -> None:
        """Stand at the start of the next batch, on disk first."""
        if self._storage is not None:
            self._storage.turn(self._state(protocol, self._assigned.copy()))
        self._batch = Batch(protocol)

    def _enter(
        self,
        unit: Name,
        arm: int,
        slot: int | None,
        due: float | None,
        action: list[int] | None = None,
        protocol: R | None = None,
    ) -> None:
        """Write an assignment down; without a place in the batch its outcome is not used."""
        if slot is not None:
            batch = self._batch
            batch.units.append(unit)
            batch.arms.append(arm)
            batch.slot_of[unit] = slot
            batch.due = due
            if action is not None:
                batch.actions[slot] = action
            if protocol is not None:
                batch.protocol = protocol
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
                self._range_fix,
            )  # fmt: skip
        return self._scaled(number)

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

    def _covering(self, guarantee: Guarantee) -> Guarantee:
        """A guarantee in the budget that the secure noise is calibrated to, for all outcomes that
        one unit may contribute, under the conditions of a trial."""
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
