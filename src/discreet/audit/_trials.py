"""Live trials: everything that a `Trial` publishes, on two neighbouring lists of outcomes.

After every participant the arm, the status and the report are stored, so the secure noise, the
batches, the deadline and the files are audited as they run. A trial takes milliseconds: a
few hundred transcripts a second at best, enough for gross faults. An outcome of None never comes;
with a deadline it is estimated or counts as declared, and whether someone answers is itself
protected.

>>> import discreet
>>> runs = TrialRuns(discreet.policy("adap-klucb", epsilon=1.0), (0.0, 1.0), (1.0, 1.0))
>>> print(runs.inputs)
a trial with outcomes [0.0, 1.0] or [1.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidArgument
from ..live import Trial
from ..live._setup import can_estimate
from ..policies import Policy
from ._transcripts import ABSENT, Transcripts, digits_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats

Outcomes = tuple[float | None, ...]
STATUSES = ("collecting", "settling", "finished")


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class TrialRuns:
    """Transcripts of live trials.

    `make` builds a trial from policy, arms and options; `between`, if given, is called with the
    trial after every participant, `repeats` times, and returns the one to continue with, for
    instance after a reload; the reports before and after are all seen. With a deadline, time
    passes after every `together` participants: as many are treated while blocks wait for their
    release.
    """

    policy: Policy
    first: Outcomes
    second: Outcomes
    arms: int = 2
    horizon: int | None = None
    deadline: float | None = None
    make: Callable[..., Trial] = Trial
    between: Callable[[Trial], Trial] | None = None
    repeats: int = 1
    together: int = 1

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second) or self.first == self.second:
            raise InvalidArgument(
                "second", "be another list of the same length", self.second, "change one outcome"
            )
        if self.deadline is None and None in self.first + self.second:
            raise InvalidArgument(
                "deadline", "be given where outcomes are missing", None, "use deadline=1.0"
            )

    @property
    def inputs(self) -> str:
        return f"a trial with outcomes {list(self.first)} or {list(self.second)}"

    @property
    def digits(self) -> int:
        """How many participants enter the code."""
        return digits_of(self._kinds, len(self.first))

    @property
    def codes(self) -> int:
        return int(self._kinds**self.digits)

    @property
    def _kinds(self) -> int:
        return len(STATUSES) * self.arms + 1  # an exception is its own output

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{what} of arm {arm} after unit {unit + 1}" + (f", look {look}" if look else "")
            for unit in range(len(self.first))
            for look in range(self.looks)
            for arm in range(self.arms)
            for what in self.seen
        )

    @property
    def seen(self) -> tuple[str, ...]:
        """What of an arm enters a transcript; how many answered, if that is estimated."""
        return ("reported sum",) if self.deadline is None else ("reported sum", "share answered")

    @property
    def looks(self) -> int:
        """Reports that are seen after every participant."""
        return 1 if self.between is None else 1 + self.repeats

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        codes = np.zeros(count, np.int64)
        numbers = np.full((count, len(self.names)), ABSENT)
        outcomes = self.second if side else self.first
        for number in range(count):
            codes[number] = self._play(outcomes, numbers[number])
        return Transcripts(codes, numbers)

    def _play(self, outcomes: Outcomes, numbers: Floats) -> int:
        clock, code, entered = Clock(), 0, 0
        late: dict[str, object] = {}
        if self.deadline is not None:
            estimates = can_estimate(self.policy, self.arms, self.horizon)
            late = {"deadline": self.deadline, "missing": "estimate" if estimates else 0.0}
        trial = self.make(self.policy, self.arms, horizon=self.horizon, clock=clock, **late)
        try:
            for unit, outcome in enumerate(outcomes):
                trial, kind = self._step(trial, clock, unit, outcome, numbers)
                if unit < self.digits:
                    code, entered = code * self._kinds + kind, entered + 1
        except Exception:
            if entered < self.digits:
                code, entered = code * self._kinds + self._kinds - 1, entered + 1
        finally:
            trial.close()
        return int(code * self._kinds ** (self.digits - entered))

    def _step(
        self, trial: Trial, clock: Clock, unit: int, outcome: float | None, numbers: Floats
    ) -> tuple[Trial, int]:
        """One participant: the trial to continue with, and the arm and status as one number."""
        arm = int(trial.assign(unit))  # a number: arms have no names here
        if outcome is not None:
            trial.record(unit, outcome)
        due = None
        if self.deadline is not None and (unit + 1) % self.together == 0:
            due = trial.report()["next_release"]
        if due is not None:
            clock.now = max(clock.now, due)
            trial.settle()
        shown = [trial.report()]
        while self.between is not None and len(shown) < self.looks:
            trial = self.between(trial)
            shown.append(trial.report())
        for look, report in enumerate(shown):
            start = (unit * len(shown) + look) * self.arms
            for row in report["arms"] or ():
                if row["mean"] is None:
                    continue
                place = (start + int(row["arm"])) * len(self.seen)
                numbers[place] = row["mean"] * row["size"]
                answered = row.get("answered")
                if answered is not None:
                    numbers[place + 1] = answered
        return trial, arm * len(STATUSES) + STATUSES.index(shown[-1]["status"])
