"""A progress bar in steps: on standard error, only on a terminal, only after a second."""

from __future__ import annotations

import sys
import time
from typing import Any

from ...simulator.runs import PATIENCE


class Steps:
    """Counts steps and shows them; `wanted=None` means "if standard error is a terminal"."""

    def __init__(self, total: int, what: str, wanted: bool | None = None) -> None:
        self.total, self.what, self.done = total, what, 0
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.started = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, what: str | None = None) -> None:
        """One step is done."""
        self.done += 1
        self.what = what or self.what
        if not self.wanted or time.perf_counter() - self.started < PATIENCE:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            self.bar = Progress(
                "{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(self.what, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, description=self.what)
