"""The race: arms in permuted blocks, dropped when their released sums fall too far behind.

After look j every arm of the race has b_j places. Drop a if S_best - S_a > x_j,

    x_j = min over θ < ε of [θ² b_j / 4 - 2j log(1 - θ²/ε²) + log(1/α_j)] / θ,
    α_j = α / (K (K - 1) j (j + 1)).

P(any false drop) <= α: the difference of two sums of b_j outcomes in [0, 1] has log E e^(θX) at
most θ² b_j / 4, each of the 2j Laplace noises -log(1 - θ²/ε²); Markov, then the union over pairs
and looks. Arms run side by side, so a drift that they share cancels in every difference.
All arms of a look wait for one deadline together; who arrives meanwhile opens the next look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...policies.races import half_width, race_marks, threshold
from ...privacy.noise import laplace
from .blocks import Book, Design, World, fresh, rate_at

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Floats

__all__ = ["half_width", "race", "race_marks", "threshold"]


def race(
    world: World, design: Design, book: Book, thresholds: Floats, sums: Floats, rng: Generator
) -> tuple[float, int, int, int]:
    """A whole race: its last day, participants, looks released, and the winner or -1.

    `sums` holds the outcomes of every look that is not released, by look and arm.
    """
    fresh(book)
    arms, horizon, marks = len(book.places), design.horizon, design.marks
    sums[:] = 0.0
    length = horizon / world.arrivals
    looks = len(marks)
    active, now = arms, 0.0
    look, released, left, taken = 0, 0, 0, 0
    for arm in range(arms):
        book.score[arm] = 1.0  # in the race
    while taken < horizon:
        now += rng.standard_exponential() / world.arrivals
        while released < look and book.wait_due[released] <= now:
            active = look_at(design, book, released, active, thresholds, sums, rng)
            released += 1
            left = 0
            for arm in range(arms):
                left += book.left[arm]
            if active == 1:
                return book.wait_due[released - 1], taken, released, winner_of(book)
        if left == 0:
            for arm in range(arms):
                if book.score[arm] > 0.0:
                    book.left[arm] = 2
                    left += 2
        place, arm = int(rng.random() * left), 0
        while place >= book.left[arm]:
            place -= book.left[arm]
            arm += 1
        book.left[arm] -= 1
        left -= 1
        book.places[arm] += 1
        taken += 1
        own = book.block[arm]
        if own < looks:
            value = design.default
            if rng.random() < world.answered[arm]:
                value = 1.0 if rng.random() < rate_at(world, arm, now, length) else 0.0
            sums[own, arm] += value
            if book.places[arm] == marks[own]:
                book.block[arm] += 1
        while look < looks and all_closed(book, look):
            book.wait_due[look] = now + world.deadline
            look += 1
    end = now
    while released < look:
        active = look_at(design, book, released, active, thresholds, sums, rng)
        end = book.wait_due[released]
        released += 1
        if active == 1:
            return end, taken, released, winner_of(book)
    return now + world.deadline, taken, released, -1


def all_closed(book: Book, look: int) -> bool:
    """Whether every arm of the race has filled its block."""
    for arm in range(len(book.places)):
        if book.score[arm] > 0.0 and book.block[arm] <= look:
            return False
    return True


def look_at(
    design: Design, book: Book, look: int, active: int, thresholds: Floats, sums: Floats,
    rng: Generator,
) -> int:  # fmt: skip
    """Release a look and drop who is behind; how many arms are left."""
    best = -1e300
    for arm in range(len(book.places)):
        if book.score[arm] > 0.0:
            book.noisy[arm] += sums[look, arm] + laplace(design.scale, rng)
            best = max(best, book.noisy[arm])
    for arm in range(len(book.places)):
        if book.score[arm] > 0.0 and best - book.noisy[arm] > thresholds[look]:
            book.score[arm] = 0.0
            book.left[arm] = 0  # nobody gets its places of the permuted block under way
            active -= 1
    return active


def winner_of(book: Book) -> int:
    """The first arm that is still in the race."""
    for arm in range(len(book.places)):
        if book.score[arm] > 0.0:
            return arm
    return -1
