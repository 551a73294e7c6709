"""A progress bar on standard error: only on a terminal, and only once the work takes a second."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

PATIENCE = 1.0
"""Seconds after which the bar appears."""


class Bar:
    """Shows how much is done; `wanted=None` means "if standard error is a terminal"."""

    def __init__(self, wanted: bool | None = None) -> None:
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.started = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, what: str, done: float, total: float) -> None:
        """Bring the bar up to date."""
        if not self.wanted or time.perf_counter() - self.started < PATIENCE:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            self.bar = Progress(
                "{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(what, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=min(done, total), total=total, description=what)
