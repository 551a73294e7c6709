"""Pieces on workers: the first of a kind compiles, what is finished is handed over at once.

Any `concurrent.futures.Executor` serves: threads, processes, Dask (`client.get_executor()`), loky.

One worker of a host compiles what a kind of pieces needs; who takes a piece of the same kind
meanwhile waits for its file (`compiled.compile_for`), and plays as soon as it is there. One piece
of each kind comes first, so that different workers compile different kinds. Where files cannot be
locked, the others of a kind are held back until the first is finished.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from importlib.util import find_spec

from .._progress import Bar
from ..errors import DiscreetError, InvalidArgument
from ._pieces import Piece, Played, Stopped, play, source_digest

LOOK = 0.1
"""Seconds between two looks at Ctrl-C and the bar."""
LOCKS = find_spec("fcntl") is not None
"""Whether workers of a host can wait for each other's files: not on Windows."""
LOST = (BrokenExecutor, CancelledError)
LOST_BY_NAME = ("KilledWorker", "CommClosedError", "FutureCancelledError")
"""Errors of clusters, which are known by name only: they are not installed everywhere."""


class WorkerLost(DiscreetError):
    """A worker died: its piece has to be played again."""


def check_executor(executor: object, pieces: Sequence[Piece]) -> None:
    """An executor that pieces can be sent to."""
    if executor is None:
        return
    if not isinstance(executor, Executor):
        raise InvalidArgument(
            "executor", "be a concurrent.futures.Executor", executor,
            "for example ProcessPoolExecutor(), or client.get_executor() of Dask",
        )  # fmt: skip
    if isinstance(executor, ThreadPoolExecutor):
        return
    for piece in pieces:
        try:
            pickle.dumps(piece)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidArgument(
                "executor", f"be threads for {piece.cell.policy.name} on {piece.cell.name}, "
                f"which cannot be sent elsewhere ({error})", type(executor).__name__,
                "leave it out, or define functions and classes in a module of their own",
            ) from None  # fmt: skip


def run(
    pieces: Sequence[Piece],
    executor: Executor | None,
    threads: int,
    keep: Callable[[Piece, Played], None],
    bar: Bar,
    finished: int = 0,
) -> bool:
    """Play pieces, hand each over when it is done; False if Ctrl-C came first.

    `finished` were done before, and count for the bar alone.
    """
    if executor is not None:
        return _run(pieces, executor, None, keep, bar, finished)
    with ThreadPoolExecutor(threads) as own:
        return _run(pieces, own, threading.Event(), keep, bar, finished)


def _run(
    pieces: Sequence[Piece],
    executor: Executor,
    stop: threading.Event | None,
    keep: Callable[[Piece, Played], None],
    bar: Bar,
    finished: int,
) -> bool:
    code = source_digest()
    more = () if stop is None else (stop,)
    first, others = in_order(pieces)
    waiting: dict[tuple[str, str, str], list[Piece]] = {}
    if not LOCKS:
        for piece in others:
            waiting.setdefault(piece.kind, []).append(piece)
        others = []
    under_way: dict[Future[Played], Piece] = {}
    estimate = Estimate(pieces)

    def submit(piece: Piece) -> None:
        future = executor.submit(play, piece, code, *more)
        under_way[future] = piece
        if future.done():  # some executors play at once
            finish([future])

    def take(future: Future[Played]) -> Piece:
        piece, played = under_way[future], future.result()
        keep(piece, played)  # before it is forgotten: Ctrl-C may come at any line
        del under_way[future]
        estimate.add(piece, played.seconds)
        return piece

    def take_rest() -> None:
        """What was finished while pieces were handed out or others were waited for."""
        for future in list(under_way):
            if future.done() and _error_of(future) is None:
                take(future)

    def finish(done: Iterable[Future[Played]]) -> None:
        lost: BaseException | None = None
        released: list[Piece] = []
        for future in done:
            error = _error_of(future)
            if error is not None:
                lost = lost or error
                continue
            released += waiting.pop(take(future).kind, [])
        if lost is not None:
            raise lost
        bar.show(estimate.said(finished), finished + estimate.finished, finished + len(pieces))
        for next_one in released:
            submit(next_one)

    try:
        for piece in (*first, *others):
            submit(piece)
        while under_way:
            finish(wait(under_way, LOOK, return_when=FIRST_COMPLETED).done)
    except (KeyboardInterrupt, Stopped):  # a worker may hear Ctrl-C before we do
        take_rest()
        return False
    except Exception as error:
        if not _is_lost(error):
            raise
        take_rest()
        raise WorkerLost(
            f"a worker was lost, and its piece with it: {finished + estimate.finished} of "
            f"{finished + len(pieces)} pieces are finished; call again with a new executor and "
            "the same folder, which plays only what is missing"
        ) from error
    finally:
        if stop is not None:
            stop.set()
        for future in under_way:
            future.cancel()
    return True


def in_order(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """One piece of each kind, and the others, the largest first: so that at the end no worker is
    left with a long one while all the others have nothing to do."""
    first = list({piece.kind: piece for piece in reversed(pieces)}.values())[::-1]
    taken = set(map(id, first))
    others = [piece for piece in pieces if id(piece) not in taken]
    return first, sorted(others, key=lambda piece: piece.size, reverse=True)


def _error_of(future: Future[Played]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, LOST) or type(error).__name__ in LOST_BY_NAME


class Estimate:
    """How long the rest will take, from the pieces that were played.

    A piece is expected to take what those of its cell took, else those of its kind. As long as
    there are kinds of which none was played nothing is known, and that is said.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.started = time.perf_counter()
        self.remaining = {id(piece): piece for piece in pieces}
        self.times: dict[object, list[float]] = {}
        self.finished = 0
        self.total = len(pieces)
        self.spent = 0.0

    def add(self, piece: Piece, seconds: float) -> None:
        """A piece took so long."""
        del self.remaining[id(piece)]
        self.finished += 1
        self.spent += seconds
        for key in (id(piece.cell), piece.kind):
            self.times.setdefault(key, []).append(seconds)

    def left(self) -> float | None:
        """Seconds; None if nothing is known."""
        expected = 0.0
        for piece in self.remaining.values():
            seen = self.times.get(id(piece.cell)) or self.times.get(piece.kind)
            if seen is None:
                return None
            expected += sum(seen) / len(seen)
        elapsed = time.perf_counter() - self.started
        # so many pieces at once as there were so far, waiting for compilers included
        return expected * elapsed / max(self.spent, 1e-9)

    def said(self, before: int) -> str:
        """For the bar."""
        left = self.left()
        what = f"{before + self.finished} of {before + self.total} pieces"
        if left is None:
            return f"sweep: {what}, time left not known yet"
        return f"sweep: {what}, about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """ "40 s", "12 min", "3.5 h"."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
