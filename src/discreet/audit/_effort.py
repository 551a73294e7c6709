"""How much an audit may do: so many transcripts, or so many seconds once all is compiled."""

from __future__ import annotations

import time

from .._checks import count, positive
from ..errors import InvalidArgument


class Limit:
    """How much work may be done: a number of transcripts, or a time."""

    def __init__(self, transcripts: int | None, seconds: float | None) -> None:
        if transcripts is not None and seconds is not None:
            raise InvalidArgument(
                "seconds", "be left out where transcripts are given", seconds, "give one of the two"
            )
        if transcripts is not None:
            transcripts = count("transcripts", transcripts, least=100, fix="use 1_000_000")
        self.transcripts = transcripts
        self.seconds = 30.0 if seconds is None else positive("seconds", seconds, "use seconds=30")
        self.started: float | None = None
        self.used = 0

    def start(self) -> None:
        """Time counts from now on."""
        self.started = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        return 0.0 if self.started is None else time.perf_counter() - self.started

    def share(self, more: int = 0) -> float:
        """Which part of the work is done, or will be after so many transcripts more."""
        if self.transcripts is not None:
            return (self.used + more) / self.transcripts
        return self.elapsed / self.seconds
