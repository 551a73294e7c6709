"""A trial with a safety alarm: a second outcome, harm, watched in one arm with its own budget.

The alarm is a separate trial, of one arm (`discreet.confirm.alarm`): its outcomes are stored,
released and erased as those of any trial. Participants with the watched arm take its places.

**Privacy.** A participant has two outcomes. That of the trial is in one block of the trial, that of
the alarm in one block of the alarm. Who is in which is computed from arrivals, the clock, random
draws and earlier releases of both. So both together cost the sum of the two budgets (adaptive
composition). An alarm that stops the trial is a rule on releases, which is free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._checks import Name, Unshown, check_flag
from ..errors import InvalidArgument, TrialError, UnknownUnit
from ..privacy._guarantees import Guarantee
from ..privacy.budgets import compose
from ._trial import Trial

if TYPE_CHECKING:
    from ..confirm import AlarmState
    from ._documents import Report

WATCHED = "harm of a participant is recorded by harm(), and the trial of the alarm has no other use"


class Watched:
    """A trial and its alarm.

    Args:
        trial: The trial, of any policy or design with finite arms.
        alarm: The trial of an alarm, whose one arm has the name of the arm that it watches.
        stops: Whether the alarm ends the trial.

    Raises:
        InvalidArgument: If the alarm is none, or watches no arm of the trial.

    Example:
        >>> import discreet
        >>> watch = discreet.confirm.alarm(400, 0.02, looks=8, epsilon=0.5)
        >>> asked = {"deadline": "28 days", "missing": 0}
        >>> trial = discreet.live.Watched(
        ...     discreet.Trial(
        ...         discreet.confirm.design(200, epsilon=1.0), ["drug", "placebo"], **asked
        ...     ),
        ...     discreet.Trial(watch, ["drug"], **asked),
        ... )
        >>> arm = trial.assign("patient-1")
        >>> trial.record("patient-1", 1)
        >>> trial.harm("patient-1", 0)
        >>> print(trial.guarantee.short())
        ε = 1.5 (interactive)
    """

    def __init__(self, trial: Trial, alarm: Trial, *, stops: bool = True) -> None:
        if not isinstance(alarm, Trial) or getattr(alarm.policy, "fewest", 2) != 1:
            raise InvalidArgument(
                "alarm", "be a trial of an alarm", Unshown(type(alarm).__name__),
                'use discreet.Trial(discreet.confirm.alarm(400, 0.02, epsilon=0.5), ["drug"])',
            )  # fmt: skip
        if not isinstance(trial, Trial) or getattr(trial.policy, "fewest", 2) == 1:
            raise InvalidArgument(
                "trial", "be a Trial, which is not an alarm", Unshown(type(trial).__name__),
                "watch a trial by stratum in every stratum, with an alarm each",
            )  # fmt: skip
        (self._arm,) = alarm.arms
        if trial._care.kits or alarm._care.kits or self._arm not in trial.arms:
            raise InvalidArgument(
                "alarm", "watch an arm of the trial that is shown by name", self._arm,
                f"name it as one of {list(trial.arms)}, and plan without kits",
            )  # fmt: skip
        self.trial, self.watch, self._stops = trial, alarm, check_flag("stops", stops)

    def assign(self, unit: Name) -> Name:
        """The arm of a participant, who is watched from now on if it is the watched one. If it is
        cut short, ask again: the arm stays the same."""
        self._heed()
        arm = self.trial.assign(unit)
        if arm == self._arm and unit not in self.watch and self.watch.status == "collecting":
            self.watch.assign(unit)
        return arm

    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a participant: see `Trial.record`."""
        self.trial.record(unit, outcome)

    def harm(self, unit: Name, happened: float) -> None:
        """Whether a participant came to harm, 0 or 1; not used of those who are not watched."""
        if unit in self.watch:
            self.watch.record(unit, happened)
        elif unit not in self.trial:
            raise UnknownUnit(
                f"unit must have been assigned before its harm is recorded, got {unit!r}; call "
                "assign(unit) first"
            )

    def alarm(self, *, by: str = "", reason: str = "") -> AlarmState | None:
        """Where the watch stands; None before its first look. That it was opened is in the trail of
        the alarm."""
        self._heed()
        found: AlarmState | None = self.watch.verdict(by=by, reason=reason)  # type: ignore[assignment]
        return found

    def _heed(self) -> None:
        """An alarm ends the trial: a rule on releases."""
        if not self._stops or self.watch.status == "collecting":
            return
        if self.watch.report()["test"]["decision"] != "alarm":
            return
        if self.trial.status == "collecting":
            self.trial.stop("releases", by="alarm", reason=self.watch.report()["test"]["sentence"])

    @property
    def guarantee(self) -> Guarantee:
        """For both outcomes of a participant together."""
        one, other = self.trial.guarantee, self.watch.guarantee
        conditions = dict.fromkeys((*one.conditions, *other.conditions, WATCHED))
        return replace(one, budget=compose(one.budget, other.budget), conditions=tuple(conditions))

    def report(self) -> dict[str, Report | str | dict[str, object]]:
        """The reports of both, and what they cost together."""
        self._heed()
        return {
            "guarantee": str(self.guarantee), "budget": self.guarantee.to_dict(),
            "trial": self.trial.report(), "alarm": self.watch.report(),
        }  # fmt: skip

    def close(self) -> None:
        """End the use of both objects."""
        self.trial.close()
        self.watch.close()

    def __reduce__(self) -> None:  # type: ignore[override]
        raise TrialError("a trial must not be copied or pickled; load both trials, and pair them")
