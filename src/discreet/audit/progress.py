"""A progress bar on standard error, only on a terminal, and only if the work takes a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 1.0
"""Seconds after which the bar shows."""


class Bar:
    """Shows which part of an audit is done."""

    def __init__(self, name: str, share: Callable[[], float], wanted: bool | None) -> None:
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.name, self.share = name, share
        self.started = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, step: str) -> None:
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
            self.task = self.bar.add_task(self.name, total=1.0)
            self.bar.start()
        self.bar.update(
            self.task, completed=min(self.share(), 1.0), description=f"{self.name}: {step}"
        )
