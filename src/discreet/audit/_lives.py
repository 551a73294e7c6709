"""Whole lives of live trials: every number that a trial shows, on two neighbouring lists of
outcomes.

The lives are those of `live.lives`: blocks are cut off, arms are dropped or added, some never
answer, a board stops the trial, it is finished early. Here the noise is that of real trials, and
what is stored is all that an observer sees: the arm of every participant and what is public
after it, and the whole report, in the middle and at the end. Each of its numbers has a place of its
own, means, counts, intervals, record and course alike; its words are told apart by what they are.
What is planned (settings, guarantee) was public before anyone answered, and is left out.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidArgument
from ..live import Trial
from ..live._lives import LIVES, Life, Outcome, answers, lead
from ..policies import Policy
from ._own import OTHER
from ._transcripts import ABSENT, MOST_CODES, Transcripts

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
    known: dict[frozenset[tuple[str, str]], int] = field(
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
        outcomes = answers(self.policy, self.participants, self.life)
        outcomes[self.who] = self.change[side]
        for line in range(count):
            seen = Seen(self._led(outcomes))
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


class Seen:
    """What was seen, each under a name that says where; and what numbers of one kind add up to,
    over arms, blocks and batches, for who is in which of them is drawn by lot."""

    def __init__(self, shown: object) -> None:
        self.numbers: dict[str, float] = {}
        self.words: dict[str, str] = {}
        self._add((), (), shown)

    def _add(self, path: tuple[object, ...], kind: tuple[object, ...], shown: object) -> None:
        if isinstance(shown, dict):
            for key, value in (shown | _products(shown)).items():
                self._add((*path, key), (*kind, key), value)
        elif isinstance(shown, list | tuple):
            for place, value in enumerate(shown):
                alike = isinstance(value, dict | list | tuple)
                self._add((*path, place), (*kind, "all" if alike else place), value)
        elif isinstance(shown, int | float):
            self.numbers[_name(path)] = float(shown)
            if kind != path:
                self.numbers[_name(kind)] = self.numbers.get(_name(kind), 0.0) + float(shown)
        else:
            self.words[_name(path)] = shown if isinstance(shown, str) else repr(shown)


def _name(path: tuple[object, ...]) -> str:
    return ", ".join(map(str, path))


def _products(shown: dict[str, Any]) -> dict[str, float]:
    """Where a mean or a share has a size, their product: sums differ by the noise drawn last, means
    do not."""
    size = shown.get("size")
    if not isinstance(size, int):
        return {}
    shares = {what: shown.get(what) for what in ("mean", "answered")}
    return {f"{what} × size": size * x for what, x in shares.items() if isinstance(x, float)}


def life_runs(
    policy: Policy, arms: int | None = None, participants: int | None = None,
    make: Callable[..., Trial] = Trial, lives: Sequence[Life] | None = None,
) -> list[LifeRuns]:  # fmt: skip
    """Every kind of life that a policy can lead. Who answers otherwise comes right before the
    middle, when blocks are of two people or more and arms are dropped; or first, where nothing
    happens in the middle."""
    arms, people = arms or 2, participants or PARTICIPANTS
    found, refused = list[LifeRuns](), list[InvalidArgument]()
    for life in LIVES if lives is None else lives:
        try:
            lead(make, policy, arms, life, answers(policy, people, life), _nothing, _nothing)
        except InvalidArgument as refusal:  # this policy leads no such life
            refused.append(refusal)
            continue
        for change in CHANGES if "deadline" in life.options else CHANGES[:1]:
            for who in (0, people // 2) if life.in_the_middle is None else (people // 2 - 1,):
                found.append(LifeRuns(policy, life, who, change, arms, people, make))
    if not found:
        raise refused[0]
    return found


def _nothing(trial: Trial) -> None:
    """Look away."""
