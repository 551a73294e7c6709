"""Steps of many users at a fixed beat, so that no one can tell from waiting who has just answered.

Who asks for an arm just after someone's outcome has come would wait for that outcome to be stored.
With a beat every commit comes at its time, whatever came meanwhile, and always writes something;
answers are given at the beat after it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import Name
from ..errors import DiscreetError, TrialError
from ._curator import PATIENCE, Answer, Assigning, Due, Recording, too_late
from .stores._base import bare, unheld

if TYPE_CHECKING:
    from ._contexts import Features
    from ._trial import Trial


class Job(NamedTuple):
    """A step, whom to answer, and until when a newcomer waits."""

    step: Assigning | Recording
    answer: Future[Any]
    until: float


class Beat:
    """Commits of a trial at a fixed beat.

    >>> import discreet
    >>> trial = discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"])
    >>> with Beat(trial, 0.01) as beat:
    ...     arm = beat.assign("patient-1")
    ...     beat.record("patient-1", 1.0)

    `assign` and `record` are those of the trial, for many threads at once; each takes one to two
    beats. As long as a commit takes less than a beat, how long says nothing of what others do.
    0.025 seconds suit SQLite, 0.005 PostgreSQL.
    """

    def __init__(self, trial: Trial, seconds: float = 0.025) -> None:
        self._trial, self._seconds = trial, seconds
        self._jobs: list[Job] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="discreet beat")
        self._thread.start()

    @unheld
    def assign(self, unit: Name, actions: Features = None) -> Name:
        """The arm of a unit: see `Trial.assign`."""
        arm: Name = self.ask(Assigning(unit, actions)).result()
        return arm

    @unheld
    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a unit: see `Trial.record`."""
        self.ask(Recording(unit, outcome)).result()

    def ask(self, step: Assigning | Recording) -> Future[Any]:
        """A step of the next beat; the answer comes a beat later."""
        job = Job(step, Future(), time.monotonic() + PATIENCE)
        with self._lock:
            if self._ended.is_set():
                raise TrialError("the beat has ended; start another: Beat(trial)")
            self._jobs.append(job)
        return job.answer

    def close(self) -> None:
        """End the beat, once all that was asked is answered. The trial stays open."""
        with self._lock:
            self._ended.set()
        self._thread.join()

    def __enter__(self) -> Beat:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self) -> None:
        answers: list[Callable[[], None]] = []
        at = time.monotonic()
        while True:
            at = max(at + self._seconds, time.monotonic())
            time.sleep(max(0.0, at - time.monotonic()))
            for answer in answers:
                answer()
            last = self._ended.is_set()
            with self._lock:
                jobs, self._jobs = self._jobs, []
            if last and not jobs:
                return
            answers = self._answers(jobs)

    def _answers(self, jobs: list[Job]) -> list[Callable[[], None]]:
        """Take the steps in one commit; how to answer each, at the next beat."""
        failure: BaseException | None = None
        found: list[Answer] = []
        try:
            found = self._trial.batch([job.step for job in jobs])
        except BaseException as error:
            failure = bare(error)
        if failure is not None:
            each = failure
            return [lambda job=job: job.answer.set_exception(each) for job in jobs]  # type: ignore[misc]
        answers: list[Callable[[], None]] = []
        for job, result in zip(jobs, found, strict=True):
            if isinstance(result, Due) and time.monotonic() < job.until:
                with self._lock:
                    self._jobs.append(job)
                continue
            refusal = too_late() if isinstance(result, Due) else result
            if isinstance(refusal, DiscreetError):
                answers.append(lambda job=job, it=refusal: job.answer.set_exception(it))  # type: ignore[misc]
            else:
                answers.append(lambda job=job, it=result: job.answer.set_result(it))  # type: ignore[misc]
        return answers
