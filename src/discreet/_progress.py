"""Progress on standard error: a bar on a terminal, and a word while code is compiled anywhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

PATIENCE = 1.0
"""Seconds after which the bar, or the word, appears."""


class Bar:
    """Shows how much is done; `wanted=None` means "if standard error is a terminal".

    Only `wanted=False` also silences the word that code is being compiled. A bar beneath another
    one shows nothing by itself and speaks through that.
    """

    def __init__(self, wanted: bool | None = None, above: Bar | None = None) -> None:
        self.above = above
        self.wanted = above is None and (_on_terminal() if wanted is None else wanted)
        self.speaks: bool = wanted is not False if above is None else above.speaks
        self.started = time.perf_counter()
        self.estimates = True
        """Whether the bar says how long it will take; False where what is shown says so itself."""
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    @classmethod
    def of(cls, progress: bool | Bar | None) -> Bar:
        """A bar that is given, or a new one."""
        return progress if isinstance(progress, Bar) else cls(progress)

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

            columns: list[ProgressColumn] = [BarColumn(), TaskProgressColumn()]
            if self.estimates:
                columns.append(TimeRemainingColumn())
            self.bar = Progress(
                "{task.description}", *columns,
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(what, total=total)
            self.bar.start()
        assert self.task is not None
        self.bar.update(self.task, completed=min(done, total), total=total, description=what)

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        """Say so, on a terminal or not, if what happens meanwhile takes a second."""
        if not self.speaks:
            yield
            return
        word = threading.Timer(PATIENCE, self.say, (f"compiling {what} ...",))
        word.daemon = True
        word.start()
        try:
            yield
        finally:
            word.cancel()

    def say(self, line: str) -> None:
        """A line on standard error, above the bar if there is one."""
        if self.above is not None:
            self.above.say(line)
        elif self.bar is not None:
            self.bar.console.print(line, highlight=False, markup=False)
        elif sys.stderr is not None:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
