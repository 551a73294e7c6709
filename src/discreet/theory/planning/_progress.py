"""Progress in steps: a bar on a terminal, a line for every step anywhere else."""

from __future__ import annotations

import time

from ..._progress import PATIENCE, Bar


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
        if self.speaks and not self.wanted and time.perf_counter() - self.started >= PATIENCE:
            self.say(f"{self.what}: {min(self.done, self.total)} of {self.total}")
