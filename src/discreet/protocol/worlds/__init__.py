"""Worlds: who comes when, and what they answer."""

from __future__ import annotations

from .at_once import AT_ONCE
from .base import Truth, World
from .calendar import ANSWERS, BLOCKS, CALENDAR, ONE_BATCH
from .strides import STRIDES

WORLDS = {
    "at once": AT_ONCE, "calendar": CALENDAR, "blocks": BLOCKS, "answers": ANSWERS,
    "one batch": ONE_BATCH, "strides": STRIDES,
}  # fmt: skip

__all__ = ["WORLDS", "Truth", "World"]
