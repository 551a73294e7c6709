"""The event loop of any row in streams: its own rule is asked for every place, its own release for
every block, as in a live trial (`live.stream_run`), compiled.

    for every arrival:  release what is due;  plan a window if none is under way, asking the rule
                        on released means, evidence C and places N;  draw an arm from it;
                        close its block if that was the last place

A block releases its sum, with a declared value for outcomes that are missing, or the centred pair
(`policies.streams`), where the row can. What C is follows from the release: places in closed
blocks, the newest of them, or all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...compiled import Kernel, open_slot
from ...errors import InvalidArgument
from ...policies import Policy, Setting
from ...policies.epochs import keep_least
from ...policies.releases.pairs import Pairs, PairScale, pair_scale_of, publish_pair
from ...policies.step import choose, fresh_state, parts_of, publish, respond
from ...policies.streams import (
    ALL,
    CLOSED,
    FILLED,
    NEWEST,
    evidence_in,
    fits_streams,
)
from ...policies.view import View
from ...privacy.source import SIMULATED
from .blocks import Book, Design, World, fresh, rate_at
from .events import close, spread_least

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Floats, Ints
    from .setting import Calendar

KINDS = (CLOSED, NEWEST, FILLED, ALL)
MOST_BLOCKS = 10**7
"""Of all arms: there is room for each."""

release_block: Callable[[Row, int, int, float, float, Generator], None] = open_slot("release_block")


class Seen(NamedTuple):
    """What the rule is shown of the arms that have a release, in their order."""

    arm: Ints
    value: Floats
    size: Floats
    pulls: Ints


class Row(NamedTuple):
    """Parameters and state of a row, for one trial."""

    release: NamedTuple
    rule: NamedTuple
    ledger: NamedTuple
    memory: NamedTuple
    public: View
    scale: PairScale
    pairs: Pairs
    seen: Seen
    planned: Ints
    """places, those of the window that is being planned included"""
    block: Ints
    """the place of the next mark then"""
    ends: Ints
    """places in closed blocks then"""
    newest: Ints
    """places of the newest of them"""
    evidence: int
    """which places count: the place in `KINDS`"""
    window: int
    share: Floats
    least: Ints


def release_sum(
    row: Row, arm: int, size: int, total: float, answers: float, rng: Generator
) -> None:
    """As the row releases a batch."""
    row.public.pulls[arm] += size
    publish(row.release, row.ledger, row.public, arm, size, total, rng)


def release_pair(
    row: Row, arm: int, size: int, total: float, answers: float, rng: Generator
) -> None:
    """Σ r (y - ½) and Σ r, both with noise; m = ½ + S/clip(R, 1, n)."""
    view, pairs = row.public, row.pairs
    publish_pair(row.scale, pairs, arm, total, int(answers), rng)
    pairs.places[arm] = row.scale.kept * pairs.places[arm] + size
    view.pulls[arm] += size
    view.size[arm] = pairs.places[arm]
    answered = min(max(pairs.count[arm], 1.0), float(pairs.places[arm]))
    view.value[arm] = 0.5 + pairs.total[arm] / answered


def answered_share(row: Row, arm: int) -> float:
    """R/n, where answers are counted; else 1."""
    places = row.pairs.places[arm]
    if places == 0:
        return 1.0
    return float(min(max(row.pairs.count[arm], 1.0), float(places)) / places)


def evidence_for(row: Row, arm: int) -> float:
    """C, times R/n."""
    ends = row.ends[arm]
    if row.evidence == 3:
        return float(row.planned[arm])
    if row.evidence == 1:
        found = row.newest[arm]
    elif row.evidence == 2:  # doubling batches of single places: 1, 2, 4, ...
        found = 1
        while 4 * found <= ends + 1:
            found *= 2
    else:
        found = ends
    return float(max(1.0, found * answered_share(row, arm)))


def take(design: Design, row: Row, arm: int) -> None:
    """One more planned place; its block may end with it."""
    row.planned[arm] += 1
    if row.planned[arm] == design.marks[row.block[arm]]:
        row.newest[arm] = row.planned[arm] - row.ends[arm]
        row.ends[arm] = row.planned[arm]
        row.block[arm] += 1


def plan_row(design: Design, book: Book, row: Row, taken: int, rng: Generator) -> None:
    """The places of the next window, by arm: an arm without release has one in K, before any has
    one all have the same, and the rule has the rest."""
    arms, window, view = len(book.places), row.window, row.public
    many = 0
    for arm in range(arms):
        row.planned[arm] = book.places[arm]
        row.ends[arm] = book.closed[arm]
        row.block[arm] = block = book.block[arm]
        row.newest[arm] = book.closed[arm]
        if block > 1:
            row.newest[arm] -= design.marks[block - 2]
        book.left[arm] = 0
        if view.size[arm] > 0:
            row.seen.arm[many] = arm
            many += 1
    left = window
    if many == 0:
        while left > 0:
            arm = 0
            for other in range(1, arms):
                if row.planned[other] < row.planned[arm]:
                    arm = other
            row.planned[arm] += 1
            book.left[arm] += 1
            left -= 1
    elif many < arms:
        reached, before = rng.random(), 0
        for arm in range(arms):
            if view.size[arm] == 0:
                reached += window / arms
                for _ in range(int(reached) - before):
                    take(design, row, arm)
                    book.left[arm] += 1
                    left -= 1
                before = int(reached)
    for place in range(left):
        best = 0
        if many > 1:
            for number in range(many):
                arm = row.seen.arm[number]
                row.seen.value[number] = view.value[arm]
                row.seen.size[number] = evidence_for(row, arm)
                row.seen.pulls[number] = row.planned[arm]
            size = row.seen.size[:many]  # whole but for pairs
            shown = View(row.seen.value[:many], size, row.seen.pulls[:many])
            best = choose(row.rule, row.memory, shown, taken + window - left + place, rng)
        arm = row.seen.arm[best]
        take(design, row, arm)
        book.left[arm] += 1


def by_the_row(
    world: World, design: Design, book: Book, row: Row, rng: Generator
) -> tuple[float, float]:
    """A whole trial; the day of its last assignment, and the share of participants used: 1."""
    fresh(book)
    arms, horizon, marks = len(book.places), design.horizon, design.marks
    length = horizon / world.arrivals
    estimated = design.default != design.default
    now, head, tail, left = 0.0, 0, 0, 0
    for taken in range(horizon):
        now += rng.standard_exponential() / world.arrivals
        while head < tail and book.wait_due[head] <= now:
            release_oldest(book, row, head, rng)
            head += 1
        if left == 0:
            plan_row(design, book, row, taken, rng)
            if spread_least(row.window, row.share, row.least, rng) > 0.0:
                keep_least(book.left, row.least)
            left = row.window
        place, arm = int(rng.random() * left), 0
        while place >= book.left[arm]:
            place -= book.left[arm]
            arm += 1
        book.left[arm] -= 1
        left -= 1
        book.places[arm] += 1
        value, answered = design.default, rng.random() < world.answered[arm]
        if answered:
            value = 1.0 if rng.random() < rate_at(world, arm, now, length) else 0.0
        if not estimated:
            book.open_sum[arm] += respond(row.release, value, rng)
        elif answered:
            book.open_sum[arm] += value - 0.5
            book.open_answers[arm] += 1.0
        if book.places[arm] == marks[book.block[arm]]:
            close(book, arm, tail, now + world.deadline)
            tail += 1
    for arm in range(arms):
        if book.places[arm] > book.closed[arm]:
            close(book, arm, tail, now + world.deadline)
            book.published[arm] -= 1
            tail += 1
    while head < tail:
        release_oldest(book, row, head, rng)
        head += 1
    for arm in range(arms):
        book.mean[arm] = row.public.value[arm]
    return now, 1.0


def release_oldest(book: Book, row: Row, head: int, rng: Generator) -> None:
    """Release the block that is due first."""
    arm, size = book.wait_arm[head], book.wait_size[head]
    release_block(row, arm, size, book.wait_sum[head], book.wait_answers[head], rng)
    book.released[arm] += size
    book.published[arm] += 1


def as_it_is(release: object, reward: float, rng: Generator) -> float:
    """A trusted curator is handed outcomes as they are."""
    return reward


@lru_cache(maxsize=64)
def row_kernel(policy: Policy, estimated: bool) -> Kernel:
    """The loop with a row's own functions."""
    release = policy.release
    answer = release.respond_kernel(SIMULATED)
    block = Kernel(release_sum, publish=release.publish_kernel(SIMULATED))
    if estimated:
        block = Kernel(release_pair, publish_pair=release.kernel(publish_pair, SIMULATED))
    return Kernel(
        by_the_row, choose=policy.choose_kernel, release_block=block,
        respond=as_it_is if answer is None else answer,
    )  # fmt: skip


def row_parts(
    policy: Policy, setting: Setting, calendar: Calendar, size: int
) -> tuple[Row, Design, bool]:
    """What the loop needs of a row, and whether it estimates missing outcomes; where a row cannot,
    they count as declared, and as 0 if nothing is."""
    import numpy as np

    if not policy.is_private or not fits_streams(policy, setting):
        raise InvalidArgument(
            "policy", "be simulated with late outcomes", policy.name,
            "use a private policy with an index, such as dp-imed, adap-klucb or adac-ucb, or imed; "
            "discreet.Rehearsal(..., arrivals=...) plays whatever a trial can, one at a time",
        )  # fmt: skip
    arms = setting.arms
    parts, state = parts_of(policy, setting), fresh_state(policy, setting)
    pair = pair_scale_of(policy.release, SIMULATED) if calendar.default is None else None
    estimated = pair is not None
    default = np.nan if estimated else 0.0 if calendar.default is None else calendar.default

    def whole() -> Ints:
        return np.zeros(arms, np.int64)

    scale = PairScale(0.0, 0.0, 1, 1) if pair is None else pair
    row = Row(
        parts.release, parts.rule, state.ledger, state.memory, state.public, scale,  # type: ignore[arg-type]
        Pairs(np.zeros(arms), np.zeros(arms), whole()),
        Seen(whole(), np.zeros(arms), np.zeros(arms), whole()), whole(), whole(), whole(), whole(),
        KINDS.index(evidence_in(policy)), calendar.window,
        np.array(calendar.share or (0.0,) * arms), whole(),
    )  # fmt: skip
    marks = _marks(policy, setting, size)
    return row, Design(marks, 0.0, np.nan, default, 0, size), estimated


def _marks(policy: Policy, setting: Setting, size: int) -> Ints:
    """Where an arm's blocks end, by the schedule's own counting."""
    import numpy as np

    schedule, length = policy.schedule.parameters(setting), policy.length_kernel.interpreted()
    memory, none, marks = policy.rule.memory(setting), [0] * setting.arms, [0]
    while marks[-1] < size:
        if len(marks) * setting.arms > MOST_BLOCKS:
            raise InvalidArgument(
                "horizon", f"make at most {MOST_BLOCKS:,} blocks", size,
                "shorten it, or take a policy whose batches grow",
            )  # fmt: skip
        view = View([0.0], none, [marks[-1], *none[1:]])
        marks.append(marks[-1] + int(length(schedule, memory, view, 0)))
    return np.array(marks[1:], np.int64)


def estimated_means(policy: Policy, values: Floats) -> Floats:
    """The means behind released values: a device's answer may lean to one side."""
    import numpy as np

    mean_of = policy.release.estimated_mean
    found = [[mean_of(float(value)) for value in line] for line in values]
    return np.array([[np.nan if x is None else x for x in line] for line in found])
