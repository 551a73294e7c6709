"""The event loop unit by unit: for rates that drift and for shuffled windows.

    for every arrival:  release what is due;  plan a window if none is under way;
                        draw an arm from it;  close its block if that was the last place

A window of w places is planned by adding the index up w times, an arm without release having w/K
of them; who gets which place is drawn at random. Windows shuffle arms within days, so that a trend
shorter than a window cannot favour one of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ...policies.divergences import kl
from ...policies.epochs import keep_least
from .blocks import (
    ALL,
    Book,
    Design,
    World,
    counted,
    fresh,
    named,
    publish,
    rate_at,
    weigh,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Floats, Ints


class Windows(NamedTuple):
    """How many places are planned at a time, and the least share of every arm."""

    window: int
    share: Floats
    least: Ints


class Answers(NamedTuple):
    """How answers are late, and room for those to come, in the order of a heap."""

    law: int
    mean: float
    due: Floats
    what: Ints
    windows: Windows


def rescore_planned(design: Design, book: Book, arm: int) -> None:
    """C d + log N, the places planned but not drawn among N."""
    planned = book.places[arm] + book.left[arm]
    evidence = planned if design.counted == ALL else counted(design, book, arm)
    book.score[arm] = evidence * book.rate[arm] + math.log(max(planned, 1))


def plan_window(design: Design, book: Book, window: int, blind: int) -> None:
    """The places of the next window, by arm; `blind` arms have no release."""
    arms = len(book.places)
    for _ in range(window):
        arm, level = -1, 1e300
        if blind > 0:  # an arm without release: w/K places
            for other in range(arms):
                if book.released[other] == 0 and book.left[other] * arms < window:
                    value = float(book.places[other] + book.left[other])
                    if value < level:
                        arm, level = other, value
        if arm < 0:
            for other in range(arms):
                if book.released[other] > 0:
                    value = book.score[other]
                    if value < level:
                        arm, level = other, value
        book.left[arm] += 1
        rescore_planned(design, book, arm)


def spread_least(window: int, share: Floats, least: Ints, rng: Generator) -> float:
    """The least places of every arm in a window: on average exactly, rounded up or down; and the
    sum of their shares."""
    reached, before, some = rng.random(), 0, 0.0
    for arm in range(len(share)):
        some += share[arm]
        reached += window * share[arm]
        least[arm] = int(reached) - before
        before = int(reached)
    return some


def keep_shares(design: Design, book: Book, extra: Windows, rng: Generator) -> None:
    """No arm has less than its share of a window."""
    if spread_least(extra.window, extra.share, extra.least, rng) > 0.0:
        keep_least(book.left, extra.least)
        for arm in range(len(book.places)):
            rescore_planned(design, book, arm)


def unit_by_unit(
    world: World, design: Design, book: Book, extra: Windows, rng: Generator
) -> tuple[float, float]:
    """A whole trial; the day of its last assignment, and the share of participants used: 1."""
    fresh(book)
    window = extra.window
    arms, horizon, marks = len(book.places), design.horizon, design.marks
    length = horizon / world.arrivals
    now, head, tail, left, blind = 0.0, 0, 0, 0, arms
    for _ in range(horizon):
        now += rng.standard_exponential() / world.arrivals
        changed = False
        while head < tail and book.wait_due[head] <= now:
            if book.released[book.wait_arm[head]] == 0:
                blind -= 1
            release_waiting(design, book, head, rng)
            head += 1
            changed = True
        if changed:
            weigh(design, book)
            for arm in range(arms):
                rescore_planned(design, book, arm)
        if left == 0:
            plan_window(design, book, window, blind)
            keep_shares(design, book, extra, rng)
            left = window
        arm = 0
        if window > 1:
            place = int(rng.random() * left)
            while place >= book.left[arm]:
                place -= book.left[arm]
                arm += 1
        else:
            while book.left[arm] == 0:
                arm += 1
        book.left[arm] -= 1
        left -= 1
        book.places[arm] += 1
        if rng.random() < world.answered[arm]:
            book.open_answers[arm] += 1.0
            if rng.random() < rate_at(world, arm, now, length):
                book.open_sum[arm] += 1.0
        if book.places[arm] == marks[book.block[arm]]:
            close(book, arm, tail, now + world.deadline)
            rescore_planned(design, book, arm)
            tail += 1
    for arm in range(arms):
        if book.places[arm] > book.closed[arm]:
            close(book, arm, tail, now + world.deadline)
            book.block[arm] -= 1
            book.published[arm] -= 1
            tail += 1
    while head < tail:
        release_waiting(design, book, head, rng)
        head += 1
    return now, 1.0


def close(book: Book, arm: int, tail: int, due: float) -> None:
    """The open block of an arm waits, last in the queue."""
    book.wait_arm[tail] = arm
    book.wait_size[tail] = book.places[arm] - book.closed[arm]
    book.wait_due[tail] = due
    book.wait_sum[tail] = book.open_sum[arm]
    book.wait_answers[tail] = book.open_answers[arm]
    book.open_sum[arm] = 0.0
    book.open_answers[arm] = 0.0
    book.closed[arm] = book.places[arm]
    book.block[arm] += 1


def release_waiting(design: Design, book: Book, head: int, rng: Generator) -> None:
    """Release the block that is due first."""
    arm = book.wait_arm[head]
    total, answers = book.wait_sum[head], book.wait_answers[head]
    publish(design, book, arm, book.wait_size[head], total, answers, rng)
    book.published[arm] += 1


def delay_of(law: int, mean: float, deadline: float, rng: Generator) -> float:
    """Days until an answer that comes in time."""
    if law == 0 or mean == 0.0:
        return mean
    if law == 1:
        return float(min(2.0 * mean, deadline) * rng.random())
    # exponential, given that it is at most the deadline
    return -mean * math.log1p(rng.random() * math.expm1(-deadline / mean))


def not_private(
    world: World, design: Design, book: Book, extra: Answers, rng: Generator
) -> tuple[float, float]:
    """IMED that sees every answer when it comes, in the same windows with the same least shares.

    N kl(m, m*) + log N, N all participants of the arm as if they had answered with mean m, those
    that are planned in the window among them.
    """
    fresh(book)
    horizon = design.horizon
    due, what, windows = extra.due, extra.what, extra.windows
    length = horizon / world.arrivals
    now, waiting, seen, left = 0.0, 0, 0, 0
    for _ in range(horizon):
        now += rng.standard_exponential() / world.arrivals
        while waiting > 0 and due[0] <= now:
            waiting -= 1
            observe(book, extra, waiting)
            seen += 1
        if left == 0:
            left = windows.window
            for _ in range(left):
                book.left[smallest_imed(book)] += 1
            if spread_least(left, windows.share, windows.least, rng) > 0.0:
                keep_least(book.left, windows.least)
        arm = 0
        if windows.window > 1:
            place = int(rng.random() * left)
            while place >= book.left[arm]:
                place -= book.left[arm]
                arm += 1
        else:
            while book.left[arm] == 0:
                arm += 1
        book.left[arm] -= 1
        left -= 1
        book.places[arm] += 1
        if rng.random() < world.answered[arm]:
            reward = 1 if rng.random() < rate_at(world, arm, now, length) else 0
            late = delay_of(extra.law, extra.mean, world.deadline, rng)
            push(due, what, waiting, now + late, 2 * arm + reward)
            waiting += 1
    while waiting > 0:
        waiting -= 1
        observe(book, extra, waiting)
        seen += 1
    return now, seen / horizon


def smallest_imed(book: Book) -> int:
    """The arm of the smallest N kl(m, m*) + log N; arms without an answer take turns first."""
    best = named(book)
    arm, level = -1, 1e300
    for other in range(len(book.places)):
        places = book.places[other] + book.left[other]
        if book.released[other] == 0:
            value = places - 1e9
        else:
            cost = kl(book.mean[other], book.mean[best])
            if cost == math.inf:
                cost = 1e9
            value = places * cost + math.log(max(places, 1))
        if value < level:
            arm, level = other, value
    return arm


def observe(book: Book, extra: Answers, waiting: int) -> None:
    """The earliest answer arrives; `waiting` others are to come."""
    arm, reward = extra.what[0] // 2, extra.what[0] % 2
    book.released[arm] += 1
    book.noisy[arm] += reward
    book.mean[arm] = book.noisy[arm] / book.released[arm]
    pop(extra.due, extra.what, waiting)


def push(due: Floats, what: Ints, many: int, moment: float, code: int) -> None:
    """Add to a heap of `many` entries, earliest first."""
    place = many
    while place > 0 and due[(place - 1) // 2] > moment:
        due[place], what[place] = due[(place - 1) // 2], what[(place - 1) // 2]
        place = (place - 1) // 2
    due[place], what[place] = moment, code


def pop(due: Floats, what: Ints, many: int) -> None:
    """Remove the earliest of `many` + 1 entries."""
    moment, code = due[many], what[many]
    place, child = 0, 1
    while child < many:
        if child + 1 < many and due[child + 1] < due[child]:
            child += 1
        if due[child] >= moment:
            break
        due[place], what[place] = due[child], what[child]
        place, child = child, 2 * child + 1
    due[place], what[place] = moment, code
