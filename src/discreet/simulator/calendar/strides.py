"""The event loop in strides: exact, and as many steps as the allocation changes its mind.

Between a release and the next nothing moves but log N of the arm that is chosen, so it stays for

    n = min(ceil(e^(s₂ - E)) - N,  places to its mark,  participants to come)

participants, s₂ the second smallest score and E its own evidence. k ~ Poisson(λ (due - t)) arrive
before the next release; the j-th of them comes at t + (due - t) Beta(j, k - j + 1), and is asked
only when a block closes. A block's sum is one binomial draw, made when it is released.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .blocks import (
    ALL,
    Book,
    Design,
    World,
    counted,
    drawn,
    fresh,
    publish,
    rescore,
    weigh,
)

if TYPE_CHECKING:
    from numpy.random import Generator

NOT_DUE = -1
"""No block waits, so arrivals need not be counted."""


def stay(design: Design, book: Book, arm: int, second: float, most: int) -> int:
    """For how many participants an arm keeps the smallest score; at most `most`."""
    places, rate = book.places[arm], book.rate[arm]
    if design.counted == ALL:
        low, high = 1, most
        while low < high:  # the score rises with every place
            middle = (low + high) // 2
            if (places + middle) * rate + math.log(places + middle) >= second:
                high = middle
            else:
                low = middle + 1
        return low
    room = second - counted(design, book, arm) * rate
    if room > 40.0:
        return most
    return int(min(max(math.ceil(math.exp(room)) - places, 1), most))


def advance(world: World, now: float, since: int, coming: int, due: float, rng: Generator) -> float:
    """The moment of the last of `since` arrivals; `coming` more arrive before `due`."""
    if since == 0:
        return now
    if coming == NOT_DUE:
        return float(now + rng.standard_gamma(float(since)) / world.arrivals)
    # Beta(j, k - j + 1), from two gammas, which other loops compile anyway
    before, after = rng.standard_gamma(float(since)), rng.standard_gamma(coming + 1.0)
    return float(now + (due - now) * before / (before + after))


def release_first(world: World, design: Design, book: Book, head: int, rng: Generator) -> None:
    """Release the block that is due first."""
    arm, size = book.wait_arm[head], book.wait_size[head]
    total, answers = drawn(world, arm, size, rng)
    publish(design, book, arm, size, total, answers, rng)
    book.published[arm] += 1
    weigh(design, book)
    for other in range(len(book.places)):
        rescore(design, book, other)


def in_strides(
    world: World, design: Design, book: Book, extra: object, rng: Generator
) -> tuple[float, float]:
    """A whole trial; the day of its last assignment, and the share of participants used: 1."""
    fresh(book)
    arms, horizon, marks = len(book.places), design.horizon, design.marks
    now, since, taken = 0.0, 0, 0
    head, tail, coming = 0, 0, NOT_DUE
    blind = arms
    while taken < horizon:
        if coming == 0:
            arm = book.wait_arm[head]
            now, since = book.wait_due[head], 0
            if book.released[arm] == 0:
                blind -= 1
            release_first(world, design, book, head, rng)
            head += 1
            coming = NOT_DUE
            if head < tail:
                coming = rng.poisson(world.arrivals * (book.wait_due[head] - now))
            continue
        arm, units, level, second = -1, 1, 1e300, 1e300
        if blind > 0:  # arms without release share equally
            room = horizon
            for other in range(arms):
                if book.released[other] == 0:
                    room = min(room, marks[book.block[other]] - book.places[other])
                    if book.places[other] < level:
                        arm, level = other, float(book.places[other])
            limit = horizon - taken if coming == NOT_DUE else min(horizon - taken, coming)
            rounds = min(room - 1, limit // blind)
            if rounds > 0:
                for other in range(arms):
                    if book.released[other] == 0:
                        book.places[other] += rounds
                taken += rounds * blind
                since += rounds * blind
                if coming != NOT_DUE:
                    coming -= rounds * blind
                continue
        else:
            for other in range(arms):
                value = book.score[other]
                if value < level:
                    arm, level, second = other, value, level
                elif value < second:
                    second = value
            most = min(marks[book.block[arm]] - book.places[arm], horizon - taken)
            units = stay(design, book, arm, second, most)
            if coming != NOT_DUE:
                units = min(units, coming)
        book.places[arm] += units
        taken += units
        since += units
        if coming != NOT_DUE:
            coming -= units
        if book.places[arm] == marks[book.block[arm]]:
            now = advance(world, now, since, coming, book.wait_due[head], rng)
            since = 0
            book.wait_arm[tail] = arm
            book.wait_size[tail] = book.places[arm] - book.closed[arm]
            book.wait_due[tail] = now + world.deadline
            tail += 1
            book.closed[arm] = book.places[arm]
            book.block[arm] += 1
            if coming == NOT_DUE:
                coming = rng.poisson(world.arrivals * world.deadline)
        rescore(design, book, arm)
    now = advance(world, now, since, coming, book.wait_due[head], rng)
    while head < tail:
        release_first(world, design, book, head, rng)
        head += 1
    for arm in range(arms):  # the end of the trial closes all open blocks
        size = book.places[arm] - book.closed[arm]
        if size > 0:
            total, answers = drawn(world, arm, size, rng)
            publish(design, book, arm, size, total, answers, rng)
    return now, 1.0


def one_batch(
    world: World, design: Design, book: Book, extra: object, rng: Generator
) -> tuple[float, float]:
    """One batch at a time: who arrives while it waits is treated alike and thrown away."""
    fresh(book)
    arms, horizon = len(book.places), design.horizon
    now, taken, used = 0.0, 0, 0
    while taken < horizon:
        arm, level = -1, 1e300
        for other in range(arms):
            value = -1.0 if book.released[other] == 0 else book.score[other]
            if value < level:
                arm, level = other, value
        size = design.marks[book.block[arm]] - book.released[arm]
        units = min(size, horizon - taken)
        now += rng.standard_gamma(float(units)) / world.arrivals
        taken += units
        book.places[arm] += units
        if units < size:
            break
        used += size
        if taken < horizon:
            thrown = rng.poisson(world.arrivals * world.deadline)
            beyond = thrown - (horizon - taken)
            if beyond < 0:
                now += world.deadline
            else:
                thrown = horizon - taken
                now = advance(world, now, thrown, beyond, now + world.deadline, rng)
            taken += thrown
            book.places[arm] += thrown
        total, answers = drawn(world, arm, size, rng)
        publish(design, book, arm, size, total, answers, rng)
        book.published[arm] += 1
        book.block[arm] += 1
        book.closed[arm] = book.released[arm]
        weigh(design, book)
        for other in range(arms):
            evidence = book.released[other] * book.rate[other]
            book.score[other] = evidence + math.log(max(book.released[other], 1))
    return now, used / horizon
