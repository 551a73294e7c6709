"""Identification: when it stops and what it recommends, beside what it releases.

The transcripts come from the loop of `discreet.identify` itself, many in one compiled call. The two
sides differ in one reward: that of the `pull`-th pull (from 0) of an arm; all others are `base`.

>>> from discreet.identify import identifier
>>> runs = Identifications(identifier("adap-tt", epsilon=1.0), base=(1.0, 0.0))
>>> print(runs.inputs)
rewards 1/0 by arm, pull 1 of arm 0 being 0 or 1, at most 4096 samples, risk 0.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._checks import one_of
from .._compiled import Kernel, open_slot
from ..errors import InvalidArgument
from ..identify._filling import Batches, Ease, Patch, scratch_of
from ..identify._identifier import Identifier
from ..identify._loop import Course, fresh_course, loop_kernel
from ..policies._step import PAUSED
from ..policies._view import View, fresh_view
from ..privacy._source import SIMULATED
from ._plain import Plain
from ._transcripts import Buffers, Subject, Transcripts, forget, in_buffers

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints


RELEASES = 4
"""How many releases are stored."""


class Tape(NamedTuple):
    """The rewards of every arm in the order of its pulls: all `base`, but for one."""

    base: Floats
    arm: int
    pull: int
    reward: float
    taken: Ints
    """pulls of every arm whose reward was handed out"""


def draw_tape(tape: Tape, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """The next rewards of an arm, as the loop asks an environment for them."""
    total = tape.base[arm] * rounds
    place = tape.pull - tape.taken[arm]
    if arm == tape.arm and place >= 0 and place < rounds:
        total += tape.reward - tape.base[arm]
    tape.taken[arm] += rounds
    return total, rounds


run: Callable[..., int] = open_slot("run")


def identify_often(
    tape: Tape, schedule: object, release: object, rule: object, stopping: object, ledger: object,
    memory: object,
    view: View, batches: Batches, ease: Ease | Patch, course: Course, buffers: Buffers, limit: int,
    codes: Ints, numbers: Floats, rng: Generator,
) -> None:  # fmt: skip
    """As many identifications as `codes` has room for."""
    arms = len(view.size)
    decisions = (numbers.shape[1] - 2) // arms
    for number in range(len(codes)):
        forget(buffers)
        status, recorded, released = PAUSED, 0, 0
        for place in range(2, numbers.shape[1]):
            numbers[number, place] = 0.0
        while status == PAUSED:
            # one step at a time as long as releases are stored
            patience = 1 if recorded < decisions else limit + 1
            status = run(
                tape, schedule, release, rule, stopping, ledger, memory, view, batches, ease,
                course, limit, patience, rng,
            )  # fmt: skip
            if course.releases[0] > released and recorded < decisions:
                released = course.releases[0]
                for arm in range(arms):
                    place = 2 + recorded * arms + arm
                    numbers[number, place] = view.value[arm] * view.size[arm]
                recorded += 1
        codes[number] = 2 * course.answer[0] + course.stopped[0]
        numbers[number, 0] = course.t[0]
        numbers[number, 1] = course.releases[0]


@lru_cache(maxsize=64)
def identification_kernel(row: Identifier) -> Kernel:
    """The loop above with an identifier filled in."""
    return Kernel(identify_often, run=loop_kernel(row, draw_tape))


@dataclass(frozen=True)
class Identifications:
    """Transcripts of an identification.

    `sees` is "releases" (stopping time, recommendation and the first releases) or "answer" (the
    first two alone). `risk` is that of a wrong answer, `limit`
    the most samples.
    """

    row: Identifier
    base: tuple[float, ...] = (1.0, 0.0)
    arm: int = 0
    pull: int = 0
    risk: float = 0.1
    limit: int = 4096
    sees: str = "releases"

    def __post_init__(self) -> None:
        one_of("sees", self.sees, "releases", "answer")
        if not 0 <= self.arm < len(self.base) or self.pull < 0:
            raise InvalidArgument(
                "arm and pull", "name a pull", (self.arm, self.pull), "both count from 0"
            )

    @property
    def inputs(self) -> str:
        rewards = "/".join(f"{reward:g}" for reward in self.base)
        return (
            f"rewards {rewards} by arm, pull {self.pull + 1} of arm {self.arm} being 0 or 1, "
            f"at most {self.limit} samples, risk {self.risk:g}"
        )

    @property
    def codes(self) -> int:
        return 2 * len(self.base)

    @property
    def names(self) -> tuple[str, ...]:
        answer = ("stopping time", "number of releases")
        if self.sees == "answer":
            return answer
        return answer + tuple(
            f"noisy sum of arm {arm} after release {number + 1}"
            for number in range(RELEASES)
            for arm in range(len(self.base))
        )

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        row, arms = self.row, len(self.base)
        if not row.fixed_size:
            row = row.at(self.risk)
        setting = row.setting(arms)
        parts = (row.schedule, row.release, row.rule, row.stopping)
        ledger, memory = row.release.ledger(setting), row.rule.memory(setting)
        tape = Tape(np.array(self.base), self.arm, self.pull, float(side), np.zeros(arms, np.int64))
        batches = Batches(np.zeros(arms, np.int64), np.zeros(arms, np.int64))
        ease = scratch_of(row, arms)
        states, buffers = in_buffers(
            tape, ledger, memory, fresh_view(arms), batches, ease, fresh_course()
        )
        codes, numbers = np.zeros(count, np.int64), np.zeros((count, 2 + RELEASES * arms))
        arguments = (
            states[0], *(part.parameters(setting) for part in parts), *states[1:], buffers,
            self.limit, codes, numbers, rng,
        )  # fmt: skip
        identification_kernel(row).cached(*arguments)(*arguments)
        return Transcripts(codes, numbers[:, : len(self.names)])


def identifications(row: Identifier) -> list[Subject]:
    """Inputs to search: clear and unclear best arms, early and later pulls; in the local model also
    a single response, which is seen as it leaves, before any batch is summed up."""
    # a release every round makes long transcripts dear
    limit = 256 if row.schedule.each_round else 4096
    found: list[Subject] = [
        Identifications(row, base, arm, pull, limit=limit)
        for base in ((1.0, 0.0), (0.0, 0.0), (1.0, 1.0))
        for arm in (0, 1)
        for pull in (0, 1, 3)
    ]
    return found + responses(row)


def responses(row: Identifier) -> list[Subject]:
    """What a participant of a local policy sends; none where a curator is trusted."""
    kernel = row.release.respond_kernel(SIMULATED)
    if kernel is None:
        return []
    respond = kernel.interpreted()
    parameters = row.release.parameters((row if row.fixed_size else row.at(0.1)).setting(2))

    def draw(side: int, count: int, rng: Generator) -> list[float]:
        return [respond(parameters, float(side), rng) for _ in range(count)]

    return [Plain(draw, ("response",), "a participant with the reward 0 or 1")]
