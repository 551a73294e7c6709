"""Worlds: who comes when, and what they answer."""

from __future__ import annotations

from ._at_once import AT_ONCE
from ._base import Truth, World
from ._calendar import ANSWERS, BLOCKS, CALENDAR, ONE_BATCH
from ._strides import STRIDES

WORLDS = {
    "at once": AT_ONCE, "calendar": CALENDAR, "blocks": BLOCKS, "answers": ANSWERS,
    "one batch": ONE_BATCH, "strides": STRIDES,
}  # fmt: skip

__all__ = ["WORLDS", "Truth", "World"]
