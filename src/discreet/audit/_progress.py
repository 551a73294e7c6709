"""Progress of an audit: which part of its time or of its transcripts is used up."""

from __future__ import annotations

from collections.abc import Callable

from .._progress import Bar


class Shares(Bar):
    """Shows a share of 1 and what is being done."""

    def __init__(self, name: str, share: Callable[[], float], wanted: bool | None) -> None:
        super().__init__(wanted)
        self.name, self.share = name, share

    def tell(self, step: str) -> None:
        """Bring the bar up to date."""
        self.show(f"{self.name}: {step}", self.share(), 1.0)
