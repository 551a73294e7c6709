"""What a policy that identifies says after a release: the arm that it recommends, or none yet."""

from __future__ import annotations

from collections.abc import Callable

from .._compiled import open_slot
from ..policies._view import View, shown
from ._state import Design, Head

enough: Callable[[object, object, object, View, int, int], bool] = open_slot("enough")
recommend: Callable[[object, View], int] = open_slot("recommend")
verdict: Callable[[Design, Head], int] = open_slot("verdict")


def no_verdict(design: Design, head: Head) -> int:
    """Of a policy that plays on."""
    return -1


def verdict_of(design: Design, head: Head) -> int:
    """The recommended arm if the evidence is enough: a function of releases and counts, so it may
    be acted upon and shown. -1 to continue."""
    known = 0
    for arm in range(len(head.places)):
        if head.size[arm] == 0:
            return -1
        known += head.pulls[arm]
    seen = shown(View(head.value, head.size, head.pulls))
    best = recommend(head.memory, seen)
    if enough(design.stopping, design.rule, head.memory, seen, best, known):
        return recommend(head.memory, seen)
    return -1
