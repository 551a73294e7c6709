"""The writer: gathers steps, plays them on a fixed beat, and answers on the beat too.

Steps that come between two ticks are played together at the second one, and answered at the first
tick after they are stored. So when an answer comes does not tell what else was stored with it. The
ticks lie on a grid that is fixed when the process starts.

The curator's rounds go the same way: they release what is due, and keep an eye on the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..live._curator import PATIENCE, Due, too_late
from ._beat import NotStored, Step
from ._engine import Engine, Id, Standing

T = TypeVar("T")
BEAT = 0.025
"""Seconds between two ticks, over SQLite."""
SERVER_BEAT = 0.01
"""The same, over PostgreSQL."""
ROUND = 0.1
"""Seconds between two rounds of the curator."""
Waiting = tuple["asyncio.Future[Any]", Any]


class Job(NamedTuple):
    """A step, whom to answer, and until when a newcomer waits."""

    future: asyncio.Future[Any]
    step: Step
    until: float


class Writer:
    """One thread that alone touches trials, and the loop that feeds it."""

    def __init__(
        self, engine: Engine, beat: float = BEAT,
        released: Callable[[Id, Standing], None] = lambda name, standing: None,
    ) -> None:  # fmt: skip
        self.engine, self.beat, self._released = engine, beat, released
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="discreet-writer")
        self._jobs: dict[Id, list[Job]] = {}
        self._newcomers: list[tuple[Id, Job]] = []
        """who wait for a block that others release"""
        self._calls: list[tuple[asyncio.Future[Any], Callable[[], Any]]] = []
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._generations: dict[Id, int] = {}
        self._rounds: set[Id] = set()
        self._stopping = False

    # --- asking it --------------------------------------------------------------------------------

    def step(self, name: Id, step: Step) -> asyncio.Future[Any]:
        """A step of an experiment; its answer is a value or an error."""
        self._check()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.setdefault(name, []).append(Job(future, step, time.monotonic() + PATIENCE))
        self._wake.set()
        return future

    def call(self, do: Callable[[], T]) -> asyncio.Future[T]:
        """Anything else that needs the trials to itself, after the steps of its beat."""
        self._check()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.append((future, do))
        self._wake.set()
        return future

    def _check(self) -> None:
        if self._stopping:
            raise NotStored("the service is stopping")

    # --- its life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to beat."""
        self._tasks = [asyncio.create_task(self._beats()), asyncio.create_task(self._curate())]

    async def stop(self) -> None:
        """Play what waits, answer it, and close all trials."""
        self._stopping = True
        self._wake.set()
        beats, *others = self._tasks
        for task in others:
            task.cancel()
        await beats
        for task in others:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.get_running_loop().run_in_executor(self._thread, self.engine.close)
        self._thread.shutdown()

    async def _beats(self) -> None:
        loop = asyncio.get_running_loop()
        answered: list[Waiting] = []
        while True:
            if not (self._jobs or self._calls or self._newcomers or answered):
                if self._stopping:
                    return
                self._wake.clear()
                await self._wake.wait()
            now = loop.time()
            await asyncio.sleep((now // self.beat + 1.0) * self.beat - now)
            for future, answer in answered:
                if not future.done():  # else whoever asked has gone
                    future.set_result(answer)
            for name, job in self._newcomers:  # again, now that others may have released
                self._jobs.setdefault(name, []).append(job)
            jobs, calls, self._newcomers = self._jobs, self._calls, []
            self._jobs, self._calls = {}, []
            answered = []
            if jobs or calls:
                answered, changed = await loop.run_in_executor(
                    self._thread, self._play, jobs, calls
                )
                for name, standing in changed:
                    self._released(name, standing)

    def _play(
        self, jobs: dict[Id, list[Job]],
        calls: list[tuple[asyncio.Future[Any], Callable[[], Any]]],
    ) -> tuple[list[Waiting], list[tuple[Id, Standing]]]:  # fmt: skip
        """All that a beat has, in the writer's thread; the answers, and who has released."""
        answers: list[Waiting] = []
        for name, waiting in jobs.items():
            steps = [step for _, step, _ in waiting]
            found = self._safely(partial(self.engine.play, name, steps))
            each = found if isinstance(found, list) else [found] * len(waiting)
            for job, one in zip(waiting, each, strict=True):
                if not isinstance(one, Due):
                    answers.append((job.future, one))
                elif time.monotonic() < job.until:
                    self._newcomers.append((name, job))
                else:
                    answers.append((job.future, too_late()))
        for future, do in calls:
            answers.append((future, self._safely(do)))
        return answers, self._changed()

    @staticmethod
    def _safely(do: Callable[[], Any]) -> Any:
        """A value or an error; whatever fails, the next beat comes."""
        try:
            return do()
        except Exception as error:
            return error.with_traceback(None)

    def _changed(self) -> list[tuple[Id, Standing]]:
        found = []
        for name, standing in self.engine.standings.items():
            if self._generations.get(name) != standing.generation:
                self._generations[name] = standing.generation
                found.append((name, standing))
        return found

    # --- the curator ------------------------------------------------------------------------------

    async def _curate(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            now = time.time()
            for name, standing in list(self.engine.standings.items()):
                if name not in self._rounds and (standing.due is None or standing.due <= now):
                    self._rounds.add(name)
                    self.call(partial(self._round, name))

    def _round(self, name: Id) -> None:
        try:
            self.engine.settle(name)
        finally:
            self._rounds.discard(name)
