"""What all live trials have in common: assign, record, release, show.

A trial is the curator: it alone holds outcomes, and only until their batch is released. It steps a
`Run` on a copy, has every step on disk before it is seen, and shows releases and public counts.

Every call first releases what is due. Without a deadline a full batch is due when all its outcomes
are there, with one at a public moment, whoever has answered by then.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from ..errors import ConflictingOutcome, InvalidArgument, TrialError, UnknownUnit
from ..privacy.guarantees import Guarantee
from .arguments import Name, Unshown, check_count, check_number, check_unit, number_of
from .batch import Batch
from .kept import Kept, lines_of
from .run import Run

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others."""
EVERYBODY_ANSWERS = "every unit answers, or it is public whether a unit answers"

R = TypeVar("R", bound=Run)


class Experiment(Kept[R]):
    """Base of the trials. Outcomes lie in `outcome_range`, and are refused otherwise."""

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
        super().__init__(policy, arms)
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
                line, hidden = lines_of(
                    [unit, arm, slot, used, due], action, protocol.private_contexts
                )
                for secret in hidden:
                    self._storage.add_outcome(secret)
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
