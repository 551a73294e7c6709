"""Runs that several figures show are made once a process.

A seed fixes every number, so a curve that was run before, with the same policy, distribution,
horizon, runs, seed and grid, is the same curve: figure 2 of Azize & Basu (2022) is a panel of
their figure 5 and figure 5.2 of Azize's thesis, and both halves of the linear figures have one
twin.

>>> cache = Cache()
>>> cache.filled(["ucb1", "imed"], lambda missing: [f"run {place}" for place in missing])
('run 0', 'run 1')
>>> cache.filled(["imed", "kl-ucb"], lambda missing: [f"later {place}" for place in missing])
('run 1', 'later 1')
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST_BYTES = 64 << 20
"""Bytes that a cache holds at most."""
LARGE_BYTES = 1 << 20
"""A result above this is not kept: those with a hundred arms would drive out all others."""


class Cache(Generic[T]):
    """Results by what fixes them; the ones not asked for longest go first."""

    def __init__(self, most: int = MOST_BYTES, large: int = LARGE_BYTES) -> None:
        self.most, self.large = most, large
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def filled(
        self, keys: Sequence[Hashable], run: Callable[[list[int]], Iterable[T]]
    ) -> tuple[T, ...]:
        """The results of `keys`; those not kept come from `run`, which is told their places.

        What `run` raises, Ctrl-C included, is passed on, and nothing of it is kept.
        """
        with self._lock:
            found = {place: self._kept[key] for place, key in enumerate(keys) if key in self._kept}
            for place in found:
                self._kept.move_to_end(keys[place])
        missing = [place for place in range(len(keys)) if place not in found]
        if missing:
            fresh = dict(zip(missing, run(missing), strict=True))
            with self._lock:
                for place, result in fresh.items():
                    self._keep(keys[place], result)
            found |= fresh
        return tuple(found[place] for place in range(len(keys)))

    def _keep(self, key: Hashable, result: T) -> None:
        size = bytes_of(result)
        if size > self.large or key in self._kept:
            return
        self._kept[key] = result
        self._bytes += size
        while self._bytes > self.most:
            self._bytes -= bytes_of(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0


def bytes_of(result: object) -> int:
    """What the arrays of a result take."""
    return sum(getattr(part, "nbytes", 0) for part in getattr(result, "__dict__", {}).values())


CACHE: Cache[Any] = Cache()
"""The one of this process."""
