"""Streams of places, cut into blocks: what both loops of a trial share.

Every participant takes the next place in the stream of their arm. A block is open until its last
place is taken, closed until the deadline of its last member, and then released once:

    S += Σ outcomes + Lap(1/ε),   a declared default for outcomes that are missing; or
    S += Σ r (y - ½) + Lap(1/ε),  R += Σ r + Lap(2/ε),   r = 1 for those who answered.

The pair costs ε: another answer moves it by (1, 0), answering or not by (½, 1).
Index of an arm: C d_ε(clip01(m), clip01(max m)) + log N with N all its places and C those in closed
blocks (or released, or all), m = S/n or ½ + S/clip(R, 1, n), then C is scaled by R/n.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ...compiled import Floats, Integers
from ...policies.divergences import private_divergence
from ...policies.rules import clip01
from ...privacy.noise import laplace

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Ints

CLOSED, RELEASED, ALL = 0, 1, 2
"""Which places count as evidence."""
STEADY, LINEAR, SEASON = 0, 1, 2
"""How rates drift."""


class World(NamedTuple):
    """What is true of the trial: rates, answers, arrivals, drift."""

    rates: Floats
    answered: Floats
    arrivals: float
    deadline: float
    drift: int
    size: float
    period: float


class Design(NamedTuple):
    """What was decided beforehand: marks of blocks, noise, evidence, size."""

    marks: Integers
    scale: float
    """of Laplace noise, 1/ε; 0 for none"""
    epsilon: float
    default: float
    """what a missing outcome counts as; NaN releases the pair"""
    counted: int
    horizon: int


class Book(NamedTuple):
    """Where a trial stands, one entry per arm; then the closed blocks that wait, in order."""

    places: Integers
    closed: Integers
    released: Integers
    block: Integers
    """blocks closed so far: the place of the next mark"""
    published: Integers
    """blocks released so far"""
    noisy: Floats
    answers: Floats
    mean: Floats
    rate: Floats
    """evidence per counted place against the arm"""
    score: Floats
    left: Integers
    """places of the window under way that are not drawn yet"""
    open_sum: Floats
    open_answers: Floats
    wait_arm: Integers
    wait_size: Integers
    wait_due: Floats
    wait_sum: Floats
    wait_answers: Floats


def fresh(book: Book) -> None:
    """A trial that has not begun."""
    for arm in range(len(book.places)):
        book.places[arm] = 0
        book.closed[arm] = 0
        book.released[arm] = 0
        book.block[arm] = 0
        book.published[arm] = 0
        book.noisy[arm] = 0.0
        book.answers[arm] = 0.0
        book.mean[arm] = 0.0
        book.rate[arm] = 0.0
        book.score[arm] = 0.0
        book.left[arm] = 0
        book.open_sum[arm] = 0.0
        book.open_answers[arm] = 0.0


def publish(
    design: Design, book: Book, arm: int, size: int, total: float, answers: float, rng: Generator
) -> None:
    """Release a block: the sum of its answers and their number, or the sum with defaults."""
    book.released[arm] += size
    many = book.released[arm]
    if math.isnan(design.default):
        book.noisy[arm] += total - 0.5 * answers + laplace(design.scale, rng)
        book.answers[arm] += answers + laplace(2.0 * design.scale, rng)
        book.mean[arm] = 0.5 + book.noisy[arm] / min(max(book.answers[arm], 1.0), float(many))
    else:
        book.noisy[arm] += total + design.default * (size - answers) + laplace(design.scale, rng)
        book.answers[arm] = float(many)
        book.mean[arm] = book.noisy[arm] / many


def weigh(design: Design, book: Book) -> None:
    """The evidence per place against every arm that has a release."""
    best = -1e300
    for arm in range(len(book.mean)):
        if book.released[arm] > 0:
            best = max(best, book.mean[arm])
    for arm in range(len(book.mean)):
        many = book.released[arm]
        if many > 0:
            share = min(max(book.answers[arm], 1.0), float(many)) / many
            own = private_divergence(clip01(book.mean[arm]), clip01(best), design.epsilon)
            book.rate[arm] = share * own


def counted(design: Design, book: Book, arm: int) -> int:
    """The places that count as evidence."""
    if design.counted == CLOSED:
        return book.closed[arm]
    if design.counted == RELEASED:
        return book.released[arm]
    return book.places[arm]


def rescore(design: Design, book: Book, arm: int) -> None:
    """C d + log N."""
    evidence = counted(design, book, arm) * book.rate[arm]
    book.score[arm] = evidence + math.log(max(book.places[arm], 1))


def named(book: Book) -> int:
    """The arm with the largest released mean."""
    best = -1
    for arm in range(len(book.mean)):
        if book.released[arm] > 0 and (best < 0 or book.mean[arm] > book.mean[best]):
            best = arm
    return best


def rate_at(world: World, arm: int, day: float, length: float) -> float:
    """The rate of an arm on a day of a trial that lasts about `length` days."""
    rate = world.rates[arm]
    if world.drift == LINEAR:
        rate += world.size * min(day / length, 1.0)
    elif world.drift == SEASON:
        rate += world.size * math.sin(2.0 * math.pi * day / world.period)
    return clip01(rate)


def drawn(world: World, arm: int, size: int, rng: Generator) -> tuple[float, float]:
    """Of a block: the sum of the answers, and how many there are; rates do not drift."""
    answers = rng.binomial(size, world.answered[arm]) if world.answered[arm] < 1.0 else size
    return float(rng.binomial(answers, world.rates[arm])), float(answers)


def marks_of(first: int, ratio: float, horizon: int) -> Ints:
    """b' = b + max(1, ceil((r - 1) b)), until an arm cannot have more places."""
    import numpy as np

    marks = [first]
    while marks[-1] < horizon:
        marks.append(marks[-1] + max(1, math.ceil((ratio - 1.0) * marks[-1])))
    return np.array(marks, np.int64)


def fresh_book(arms: int, blocks: int) -> Book:
    """Arrays for a trial."""
    import numpy as np

    def whole(length: int) -> Ints:
        return np.zeros(length, np.int64)

    room = arms * blocks + 1
    return Book(
        whole(arms), whole(arms), whole(arms), whole(arms), whole(arms), np.zeros(arms),
        np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), whole(arms),
        np.zeros(arms), np.zeros(arms), whole(room), whole(room), np.zeros(room), np.zeros(room),
        np.zeros(room),
    )  # fmt: skip
