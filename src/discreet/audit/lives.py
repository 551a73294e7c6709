"""Whole lives of live trials: every number that a trial shows, on two neighbouring lists of
outcomes.

The lives are those of `live.lives`: blocks are cut off, arms are dropped or added, some never
answer, a board stops the trial, it is finished early. Here the noise is that of real trials, and
what is written down is all that an onlooker sees: the arm of every participant and what is public
after it, and the whole report, in the middle and at the end. Each of its numbers has a place of its
own, means, counts, intervals, record and course alike; its words are told apart by what they are.
What is planned (settings, guarantee) was public before anybody answered, and is left out.

>>> import discreet
>>> runs = LifeRuns(discreet.policy("adap-ucb", epsilon=1.0), LIVES[0], 3, (0.0, 1.0))
>>> print(runs.inputs)
a live trial of 8 participants, 2 arms (everybody answers), number 4 answers 0 or 1

A trial takes milliseconds, a few hundred transcripts a second at best. Whatever no noise hides is
found in seconds; noise that is too small by a little is not: `live.lives.verify_lives` plays the
same lives on symbols and computes what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidArgument
from ..live import Trial
from ..live.lives import LIVES, Life, Outcome, answers, lead
from ..policies import Policy
from .own import OTHER
from .transcripts import ABSENT, MOST_CODES, Transcripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

PARTICIPANTS = 8
"""So that with two arms blocks of two to four people are released, by themselves or cut off."""
MOST = 400
"""Numbers of a transcript that have a place; a report of eight participants has about 150."""
PLANNED = frozenset({"policy", "settings", "guarantee", "meaning", "budget"})
"""What a report repeats of the plan, which no outcome has a part in."""
CHANGES: tuple[tuple[Outcome, Outcome], ...] = ((0.0, 1.0), (1.0, None))


@dataclass(frozen=True)
class LifeRuns:
    """Transcripts of one kind of life, in which one participant answers otherwise, or not at all.

    Places of numbers and codes of words are given out as they come, to both sides alike: what was
    not seen while an event was learned has no part in it.
    """

    policy: Policy
    life: Life
    who: int
    change: tuple[Outcome, Outcome]
    arms: int = 2
    participants: int = PARTICIPANTS
    make: Callable[..., Trial] = Trial
    discrete: str = "the words of the reports"
    places: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The place of every number seen so far."""
    known: dict[frozenset[tuple[str, object]], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The code of all words of a life, of those seen so far."""

    @property
    def inputs(self) -> str:
        first, second = ("nothing" if say is None else f"{say:g}" for say in self.change)
        return (
            f"a live trial of {self.participants} participants, {self.arms} arms "
            f"({self.life.name}), number {self.who + 1} answers {first} or {second}"
        )

    @property
    def codes(self) -> int:
        return MOST_CODES

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.places)[:MOST] + ("nothing",) * max(0, MOST - len(self.places))

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        """Live noise takes no generator."""
        codes, numbers = np.zeros(count, np.int64), np.full((count, MOST), ABSENT)
        outcomes = answers(self.participants, self.life)
        outcomes[self.who] = self.change[side]
        for line in range(count):
            seen = Seen({}, {})
            seen.add("", self._led(outcomes))
            for name, number in seen.numbers.items():
                place = self.places.setdefault(name, len(self.places))
                if place < MOST:
                    numbers[line, place] = number
            label = frozenset(seen.words.items())
            if label not in self.known and len(self.known) < MOST_CODES - 1:
                self.known[label] = len(self.known) + 1
            codes[line] = self.known.get(label, OTHER)
        return Transcripts(codes, numbers)

    def _led(self, outcomes: Sequence[Outcome]) -> dict[str, object]:
        """What is seen, by when; that a trial fails, and how, is seen as well."""
        try:
            shown = lead(
                self.make, self.policy, self.arms, self.life, outcomes,
                lambda trial: {"status": trial.status, "rounds": trial.rounds},
                _reported,
            )  # fmt: skip
        except Exception as error:
            return {"failure": type(error).__name__}
        return {f"step {step + 1}": what for step, what in enumerate(shown)}


def _reported(trial: Trial) -> dict[str, object]:
    shown = trial.report().items()
    return {"report": {entry: value for entry, value in shown if entry not in PLANNED}}


@dataclass(frozen=True)
class Seen:
    """What was seen, each under a name that says where."""

    numbers: dict[str, float]
    words: dict[str, object]

    def add(self, name: str, shown: object) -> None:
        """Take apart what was shown. Where a mean has a size, so does their product: of running
        sums it is the difference of products that has one noise."""
        if isinstance(shown, dict):
            entries = list(shown.items())
            if isinstance(shown.get("mean"), float) and isinstance(shown.get("size"), int):
                entries.append(("sum", shown["mean"] * shown["size"]))
        elif isinstance(shown, list | tuple):
            entries = list(enumerate(shown))
        elif isinstance(shown, int | float):
            self.numbers[name] = float(shown)
            return
        else:
            self.words[name] = shown if isinstance(shown, str) else repr(shown)
            return
        for key, value in entries:
            self.add(f"{name}, {key}" if name else str(key), value)


def life_runs(
    policy: Policy, arms: int | None = None, participants: int | None = None,
    make: Callable[..., Trial] = Trial, lives: Sequence[Life] = LIVES,
) -> list[LifeRuns]:  # fmt: skip
    """Every kind of life that a policy can lead. Who answers otherwise comes right before the
    middle, when blocks are of two people or more and arms are dropped; or first, where nothing
    happens in the middle."""
    arms, people = arms or 2, participants or PARTICIPANTS
    found, refused = list[LifeRuns](), list[InvalidArgument]()
    for life in lives:
        try:
            lead(make, policy, arms, life, answers(people, life), _nothing, _nothing)
        except InvalidArgument as refusal:  # this policy leads no such life
            refused.append(refusal)
            continue
        for change in CHANGES if "deadline" in life.options else CHANGES[:1]:
            quiet = life.in_the_middle is None and None not in change
            for who in (0, people // 2) if quiet else (people // 2 - 1,):
                found.append(LifeRuns(policy, life, who, change, arms, people, make))
    if not found:
        raise refused[0]
    return found


def _nothing(trial: Trial) -> None:
    """Look away."""
