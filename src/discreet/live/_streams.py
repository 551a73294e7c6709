"""Streams: the places of every arm, in the order of assignment, cut into blocks in advance.

A unit takes the next *place* in the stream of its arm. The marks at which a stream is cut follow
from the row's schedule alone: b' = b + ceil((r - 1) b), or every place for itself. A block is open
until its last place is taken, then *closed*, and released once at a public moment. The blocks of
all arms fill and wait concurrently, so no one is treated for nothing while a block waits.

**Why this is private.** By induction over the calls, the arm, place, block, size and due moment of
every unit are functions of arrivals, of the clock, of coins, and of *earlier releases*: `Streams`
holds counts and nothing else, `planned` reads `Streams` and the released means. An outcome is in
one block, a block in one release. If one outcome differs, everything before the release of its
block has the same distribution; that release costs what its noise buys; everything after is built
from the transcript. So the whole costs one release (adaptive parallel composition).

**What the rule is shown** at an assignment, all of it public:

    value    the released mean m
    size     the evidence C: places in closed blocks, released or waiting, as if those that wait
             were going to look like m; of a row that forgets, those of the newest closed block
    pulls    N: all places
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._checks import Name, count
from ..errors import InvalidArgument


def key_of(arm: int, block: int) -> str:
    """The name of a block."""
    return f"{arm}-{block}"


def arm_of(key: str) -> int:
    """The arm of the block of that name."""
    return int(key.partition("-")[0])


def check_window(window: int | None, arms: int) -> int:
    """Places that are planned at once; two for each arm by default."""
    fix = "use for example a day's arrivals, or 1 for none"
    return 2 * arms if window is None else count("window", window, fix=fix)


def check_shares(share: Mapping[Name, float] | None, arms: Sequence[Name]) -> tuple[float, ...]:
    """The least share of every arm."""
    fix = 'use for example share={"control": 0.2}'
    if share is not None and not isinstance(share, Mapping):
        raise InvalidArgument("share", "name arms and their shares", share, fix)
    given = dict(share or {})
    for name in given:
        if name not in arms:
            raise InvalidArgument("share", "name arms of the trial", name, fix)
    shares = [given.get(name, 0.0) for name in arms]
    for value in shares:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise InvalidArgument("share", "be from 0 to 1 for every arm", value, fix)
    if sum(shares) > 1.0 + 1e-12:
        raise InvalidArgument("share", "sum to at most 1", sum(shares), fix)
    return tuple(float(value) for value in shares)
