"""The exploration level L = α log t that the doubling policies share."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import positive
from ._rules import Rule

PUBLISHED_ALPHA = 3.1
"""The α of the published figures; the theorems ask for more than 3."""


@dataclass(frozen=True)
class Exploring(Rule):
    """Base of the rules with L = α log t."""

    alpha: float = PUBLISHED_ALPHA

    def __post_init__(self) -> None:
        positive("alpha", self.alpha, "use 3.1 as published, or 1 for less regret")
