"""Progress in steps."""

from __future__ import annotations

from ..._progress import Bar


class Steps(Bar):
    """Counts steps and shows them."""

    def __init__(self, total: int, what: str, wanted: bool | None = None) -> None:
        super().__init__(wanted)
        self.total, self.what, self.done = total, what, 0

    def advance(self, what: str | None = None) -> None:
        """One step is done."""
        self.done += 1
        self.what = what or self.what
        self.show(self.what, self.done, self.total)
