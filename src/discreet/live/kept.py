"""What a trial remembers, and how it is kept: save, load, close.

A snapshot holds where the run stood when the open batch began, and lines since then hold who came
and what they answered; loading goes through the lines again. A file belongs to one process and one
object: of two copies each could release the same batch, and two noisy answers about the same people
betray more than one.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

from ..errors import DamagedFile, InvalidArgument, TrialError
from ..privacy.guarantees import Guarantee
from .arguments import Name, check_arms, check_unit
from .batch import Batch
from .rows import row_from_dict, row_to_dict
from .run import Run
from .storage import Saved, Storage

R = TypeVar("R", bound=Run)


class Kept(ABC, Generic[R]):
    """Who got which arm, and the open batch; in memory, and in files if there is a path."""

    guarantee: Guarantee
    _kind: ClassVar[type]
    """of policies"""
    _batch: Batch[R]
    _deadline: float | None
    _default: float
    _contributions: int

    def __init__(self, policy: Any, arms: int | Sequence[Name]) -> None:
        self.policy = policy
        self._arms = check_arms(arms)
        self._arm_of: dict[Name, int] = {}
        self._used: dict[Name, int] = {}
        self._assigned = [0] * len(self._arms)
        self._row: dict[str, Any] = {}
        """what the file says of the policy"""
        self._storage: Storage | None = None
        self._closed = False
        self._process = os.getpid()
        self._lock = threading.RLock()

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What the file says of the trial beside what every trial has."""

    @classmethod
    @abstractmethod
    def _from_settings(cls, policy: Any, state: Any, clock: Callable[[], float]) -> Self:
        """A fresh trial with the settings of a file."""

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
            since, secret = [], []
            last = len(batch.units) - 1
            for slot, (unit, arm) in enumerate(zip(batch.units, batch.arms, strict=True)):
                assigned[arm] -= 1
                due = batch.due if slot == last else None
                line, hidden = lines_of(
                    [unit, arm, slot, self._used[unit], due],
                    batch.actions.get(slot),
                    batch.protocol.private_contexts,
                )
                since.append(line)
                secret += hidden
            self._storage = Storage.create(
                place,
                self._state(batch.opened, assigned),
                [
                    [unit, arm, None, self._used.get(unit, 0), None]
                    for unit, arm in self._arm_of.items()
                    if unit not in counted
                ],
                since,
                [*secret, *(list(item) for item in batch.outcomes.items())],
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


def lines_of(
    line: list[Any], action: list[int] | None, private: bool
) -> tuple[list[Any], list[list[Any]]]:
    """The line of an assignment, with the features if they are public, and those lines that are
    kept among the outcomes and forgotten with them: the features if they are private."""
    if action is None:
        return line, []
    return (line, [[line[2], action]]) if private else ([*line, action], [])
