"""Arms without a call for every visitor: public shares, and a hash that picks by them.

A worker asks a trial for its weights once in a while, picks arms by itself, and hands in whom it
has shown what. Then they are participants like others, with places in the streams of their arms.

**Why this is private.** The shares are those of the next window as the rule would plan it: built
from released means and public counts. Every version of them has its own key of the hash, drawn
from no outcome. So an arm is a function of earlier releases, coins and the visitor's name, as in
`assign`, and the steps of the protocol that follow (`seat`) read nothing else. What is left is
*who* is handed in, and when: like who comes next, that must not depend on outcomes that are not
released.

It is for policies with an index, in streams: their blocks take places of one arm in any order and
number. Others count on more than shares: a race or a top two on balanced blocks, epochs on shares
that are fixed within them, single batches on one arm at a time, contexts on features.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._checks import Name, check_unit
from ..errors import TrialError
from ._pairs import PairRun
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from ._run import Run
    from .stores._base import Json

BITS = 256


@dataclass(frozen=True, slots=True)
class Weights:
    """The public shares of the arms until the next release.

    - `version`: a number, to be handed in with what was shown.
    - `arms` and `parts`: an arm has `parts[i]` of `sum(parts)`.
    - `key`: of the hash; who knows it can tell who gets which arm, like anyone who runs the page.
    """

    version: int
    arms: tuple[Name, ...]
    parts: tuple[int, ...]
    key: str

    @property
    def shares(self) -> dict[Name, float]:
        """The same as fractions."""
        total = sum(self.parts)
        return {arm: part / total for arm, part in zip(self.arms, self.parts, strict=True)}

    def pick(self, visitor: Name) -> Name:
        """The arm of a visitor: always the same one under one version. An HMAC is a number below
        2²⁵⁶; arms have intervals in proportion to their parts, exact but for less than 2⁻²⁵⁰."""
        text = json.dumps(check_unit(visitor)).encode()
        digest = hmac.new(bytes.fromhex(self.key), text, hashlib.sha256).digest()
        place = int.from_bytes(digest, "big") * sum(self.parts)
        upto = 0
        for arm, part in zip(self.arms, self.parts, strict=True):
            upto += part
            if place < upto << BITS:
                return arm
        raise AssertionError("a number below 2**256 is in one of the intervals")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, for workers in other processes."""
        return {
            "version": self.version, "arms": list(self.arms), "parts": list(self.parts),
            "key": self.key,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, found: Json) -> Weights:
        """The inverse."""
        return cls(found["version"], tuple(found["arms"]), tuple(found["parts"]), found["key"])


def new_key() -> str:
    """Of the hash, for one version."""
    return secrets.token_hex(32)


def check_weights(run: Run) -> StreamRun:
    """The run, if it may be played by weights."""
    if type(run) in (StreamRun, PairRun):
        assert isinstance(run, StreamRun)
        return run
    why = "its batches take one arm at a time, or features"
    if isinstance(run, StreamRun) and run.CHANGES:
        why = "it compares its arms in balanced blocks, looks or epochs, which shares do not keep"
    raise TrialError(
        "weights are for policies with an index, in streams, such as dp-imed; this trial cannot be "
        f"played by them: {why}; use assign(), or assign_many() for several units at once"
    )


def standing_of(run: StreamRun) -> list[object]:
    """What the shares are good for: until something is released, or an arm comes or goes."""
    head = run.head
    return [list(head.released), list(head.active), run.has_ended]


def parts_of(run: StreamRun) -> list[int]:
    """The shares of the window that the rule would plan now, in whole places."""
    head = run.head
    if not any(on and size > 0 for on, size in zip(head.active, head.size, strict=True)):
        return list(head.active)  # nothing is known of any arm
    other = run.copy()
    other.leave_window()
    arm, _ = other.steps.turn(other.design, other.head, 1, other.random)
    parts = list(other.head.left)
    parts[arm] += 1
    return parts


def seated_on(run: StreamRun, arm: int, now: float) -> tuple[StreamRun, str, int]:
    """The run with one more place of an arm, taken outside of any window; its block and slot."""
    other = run.copy()
    other.leave_window()
    key, slot = other.open_key(arm), other.head.places[arm] - other.head.closed[arm]
    other.steps.seat(other.design, other.head, arm, 1, now)
    return other.changed(), key, slot


def exposures(shown: Sequence[tuple[Name, Name, int]]) -> list[tuple[Name, Name, int]]:
    """What was shown to whom, checked."""
    from ..errors import InvalidArgument

    found: list[tuple[Name, Name, int]] = []
    entries: Sequence[Any] = shown if isinstance(shown, list | tuple) else [shown]
    for entry in entries:
        whole = isinstance(entry, list | tuple) and len(entry) == 3
        if not whole or type(entry[2]) is not int:
            raise InvalidArgument(
                "exposures", "be (visitor, arm, version), in a list", entry,
                'use for example [("visitor-1", "A", weights.version)]',
            )  # fmt: skip
        visitor, arm, version = entry
        found.append((check_unit(visitor), arm, version))
    return found
