"""A live trial on made-up days: the trial itself, with other noise and another clock.

`RehearsedTrial` is `Trial`, in all that it does, but for two things: its noise comes from a
generator that has a seed, and its clock shows the day of the rehearsal. So what was rehearsed is
what will run. It is in memory only, for no one may take it for a trial that protects anyone.

`Visits` is the world around it: participants arrive at random moments, λ a day on average, each
answers after a while drawn from the distribution of delays, and some never. What came in the
meantime is handed in, in the order of time, before the next participant gets an arm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple, Never, NoReturn

from .._checks import Name, amount
from ..errors import InvalidArgument, TrialError, UnknownUnit, shown
from ..policies import Policy
from ..privacy._guarantees import Guarantee
from ..privacy._source import REHEARSED
from ._setup import Plan, Sources, finite_plan
from ._strata import Strata
from ._trial import Trial

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..policies._policy import BasePolicy
    from ..simulator.calendar import Calendar

CAVEAT = "a live trial draws the noise: that of a rehearsal can be replayed and protects nobody"
FIXED = ("deadline", "path", "clock")
"""What a calendar says of a trial, or what a rehearsal has none of."""


class SeededRandomness:
    """The draws that rules make, from a generator with a seed: `SystemRandomness` can be replayed
    by no one, this can."""

    __slots__ = ("_rng", "beta", "random", "standard_exponential", "standard_normal")

    def __init__(self, rng: Generator) -> None:
        self._rng = rng
        self.random, self.beta = rng.random, rng.beta
        self.standard_normal, self.standard_exponential = (
            rng.standard_normal,
            rng.standard_exponential,
        )

    def below(self, number: int) -> int:
        """Uniform on 0, ..., number - 1."""
        return int(self._rng.integers(number))


class RehearsedTrial(Trial):
    """A trial whose noise can be replayed. It protects no one, and is never stored."""

    def __init__(self, rng: Generator, *arguments: Any, **options: Any) -> None:
        self._sources = Sources(REHEARSED, SeededRandomness(rng), rng)
        super().__init__(*arguments, **options)
        conditions = (*self.guarantee.conditions, CAVEAT)
        self.guarantee = replace(self.guarantee, conditions=conditions)

    def _planned(self, policy: BasePolicy[Never], arms: int, **options: Any) -> Plan:
        contexts = {name: options.pop(name) for name in ("dimension", "longest", "batch")}
        if any(value is not None for value in contexts.values()):
            raise InvalidArgument(
                "dimension", "be left out: a rehearsal has no contexts", contexts, "leave it out"
            )
        assert isinstance(policy, Policy)
        return finite_plan(policy, arms, sources=self._sources, **options)

    @property
    def horizon(self) -> int | None:
        """How many participants it takes at most."""
        return self._run.rest or self._terms.horizon

    def save(self, path: object, witness: object = None) -> NoReturn:
        """Refused: a file of a trial must be one that protects."""
        raise TrialError("a rehearsal is not stored as a trial: its noise protects nobody")

    def __repr__(self) -> str:
        return super().__repr__().replace("<Trial of", "<Rehearsed trial of", 1)


class RehearsedStrata(Strata):
    """Trials by stratum whose noise can be replayed."""

    def __init__(self, rng: Generator, *arguments: Any, **options: Any) -> None:
        self._sources = Sources(REHEARSED, SeededRandomness(rng), rng)
        super().__init__(*arguments, **options)

    def _fresh(self) -> Trial:
        made = RehearsedTrial.__new__(RehearsedTrial)
        made._sources = self._sources
        return made

    @property
    def guarantee(self) -> Guarantee:
        found = super().guarantee
        return replace(found, conditions=(*found.conditions, CAVEAT))

    @property
    def horizon(self) -> int | None:
        """How many participants all strata take at most."""
        terms = [trial._terms for trial in self._trials.values()]
        if terms[0].shared:
            return terms[0].horizon
        each = [own.horizon for own in terms]
        return None if None in each else sum(size for size in each if size is not None)


class Visit(NamedTuple):
    """A participant who has just got an arm."""

    unit: int
    arm: Name
    day: float
    stratum: Name | None = None


class Visits:
    """Who comes when, and when they answer."""

    __slots__ = (
        "_calendar", "_coming", "_letters", "_numbers", "_rng", "_silent", "day", "shares", "trial",
    )  # fmt: skip

    def __init__(
        self, policy: Any, arms: Sequence[Name], calendar: Calendar, rng: Generator,
        default: float | str, shares: Mapping[Name, float] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        for name in FIXED:
            if name in options:
                raise InvalidArgument(
                    name, "be left out of a rehearsal", options[name],
                    "arrivals, delay, missing and default say when participants come and answer",
                )  # fmt: skip
        if calendar.delay.deadline <= 0.0:
            raise InvalidArgument(
                "delay", "be above 0 days: a trial needs a deadline", calendar.delay.deadline,
                "use for example delay=14, or leave out arrivals for rewards that come at once",
            )  # fmt: skip
        self.day = 0.0
        self._calendar, self._rng = calendar, rng
        self._letters: list[tuple[float, int, int, float]] = []
        self._silent: dict[int, Visit] = {}  # who has not been given an answer yet
        self._numbers = self._coming = 0
        self.shares = shares
        plan = (policy, arms) if shares is None else (policy, list(shares), arms)
        kind = RehearsedTrial if shares is None else RehearsedStrata
        self.trial: Any = kind(
            rng, *plan, deadline=calendar.delay.deadline, missing=default,
            clock=lambda: self.day, **options,
        )  # fmt: skip

    def participants(self) -> Iterator[Visit]:
        """Everyone who comes until the trial takes no more; then what is open is waited for."""
        while True:
            self.reach(self.day + self._rng.standard_exponential() / self._calendar.arrivals)
            unit, stratum = self._coming, self._stratum()
            try:
                arm = self.trial.assign(unit, *([] if stratum is None else [stratum]))
            except TrialError:
                if self.trial.status in ("settling", "finished"):
                    break
                if stratum is None:
                    raise
                continue  # that stratum is full, and another one is not
            self._coming += 1
            self._silent[unit] = visit = Visit(unit, arm, self.day, stratum)
            yield visit
        self.see_out()

    def _stratum(self) -> Name | None:
        """Whose turn it is, by the shares of those who come."""
        if self.shares is None:
            return None
        place = self._rng.random() * math.fsum(self.shares.values())
        for name, share in self.shares.items():
            place -= share
            if place < 0.0:
                return name
        return name

    def answer(self, unit: int, outcome: float | None, after: float | None = None) -> None:
        """What will come of a participant: so many days `after` they got an arm, or when, and if at
        all, the calendar draws it; None for never."""
        visit, calendar = self._silent.pop(unit, None), self._calendar
        if visit is None:
            raise UnknownUnit(
                f"unit must be a participant who has not answered, got {shown(unit)}; "
                "answer once for everybody of participants()"
            )
        if after is None:
            arm = min(self.trial.arms.index(visit.arm), len(calendar.missing) - 1)
            never, late = self._rng.random() < calendar.missing[arm], self._delay()
        else:
            never, late = False, amount("after", after, fix="say after how many days")
        if outcome is None or never:
            return
        at, deadline = visit.day + late, calendar.delay.deadline
        if late == deadline:  # in time: of these moments a trial counts those before the last
            at = math.nextafter(at, 0.0)
        self._numbers += 1
        heappush(self._letters, (max(at, self.day), self._numbers, unit, outcome))

    def _delay(self) -> float:
        delay, rng = self._calendar.delay, self._rng
        mean = delay.mean or 0.0
        if delay.law == "uniform":
            return float(2.0 * mean * rng.random())
        return float(mean * rng.standard_exponential()) if delay.law == "exponential" else mean

    def reach(self, until: float) -> None:
        """Let time pass; what comes meanwhile is handed in."""
        while self._letters and self._letters[0][0] <= until:
            self.day, _, unit, outcome = heappop(self._letters)
            self.trial.record(unit, outcome)
        self.day = until

    def see_out(self) -> None:
        """Wait until the last block is released."""
        while self.trial.status == "settling":
            due = self.trial.report()["next_release"]
            if due is None:
                break
            self.reach(due)
