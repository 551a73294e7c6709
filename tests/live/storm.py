"""Storms: workers and curators of one trial that are killed, paused and started again at random.

Every process writes down what it was told, one line at a time; a checker then compares what all of
them have seen with what is stored. Noise is one known number, and every outcome is the same, so
that a release says how many outcomes it counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from live_cases import SECRET, SECRET_STEPS

from discreet import Assignment, Outcomes
from discreet.errors import DiscreetError
from discreet.live import Trial
from discreet.live import _course as course
from discreet.live import _curator as curator_module
from discreet.live.stores import _server
from discreet.live.stores._sql import SqlStore
from discreet.live.stores._transactions import Transactions
from discreet.policies import policy

NOISE = 1_000_003
DEADLINE = 0.15
Open = Callable[[bool], SqlStore]
"""A store of the trial of the storm, which releases or not."""


def new_trial(store: SqlStore) -> None:
    row = policy("dp-imed", epsilon=1.0, first=2, ratio=1.001)
    Trial(
        row, ["A", "B"], path=store, deadline=f"{DEADLINE} s", missing=0.0,
        outcomes=Outcomes(conflicts="ignore"), assignment=Assignment(window=4),
    ).close()  # fmt: skip


class Diary:
    """What a process was told; whoever is killed leaves whole lines."""

    def __init__(self, folder: Path, kind: str) -> None:
        path = folder / f"{kind}-{os.getpid()}.log"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, *what: object) -> None:
        os.write(self._file, json.dumps([time.time(), *what]).encode() + b"\n")


def quick() -> None:
    """Waits that are short enough for a storm, noise that is known, no padding of draws."""
    from discreet.privacy import _secure as secure

    secure.laplace = lambda scale, rng=None: NOISE  # type: ignore[assignment]
    secure.padded = lambda environment, draw, number: draw(number)  # type: ignore[assignment]
    secure.AHEAD = 1
    course.MOST = 1 << 30  # all releases are looked at
    curator_module.PATIENCE = 0.3
    _server.PATIENCE = 2.0


def work(open_store: Open, folder: Path, seed: int) -> None:
    """Somebody comes, perhaps one who is known, and answers, or does not."""
    diary, random_ = Diary(folder, "worker"), random.Random(seed)
    trial: Trial | None = None
    while True:
        try:
            if trial is None:
                trial = Trial.load(open_store(False))
            unit = random_.randrange(1 << 30) if random_.random() < 0.8 else random_.randrange(30)
            arm = trial.assign(unit)
            diary.note("assigned", unit, arm)
            if random_.random() < 0.8:
                diary.note("records", unit)
                trial.record(unit, SECRET)
                diary.note("recorded", unit)
            if random_.random() < 0.05:
                diary.note("course", trial.report()["course"])
        except DiscreetError as error:
            diary.note("refused", type(error).__name__, str(error)[:60])
            if trial is not None and "try again" not in str(error):
                trial.close()
                trial = None
            time.sleep(0.01)


def curate(open_store: Open, folder: Path, seed: int, dies: float) -> None:
    """Releases; with a probability it dies between witness and commit."""
    diary, random_ = Diary(folder, "curator"), random.Random(seed)
    testify = Transactions.testify
    commit = Transactions.commit
    at_commit = [False]

    def noted(base: Any, text: str) -> None:
        diary.note("draws", json.loads(text)["block"])
        try:
            testify(base, text)
        except DiscreetError:
            diary.note("not drawn", json.loads(text)["block"])
            raise
        if random_.random() < dies:
            diary.note("dies", json.loads(text)["block"])
            os.kill(os.getpid(), signal.SIGKILL)
        at_commit[0] = True

    def answered(base: Any) -> None:
        if at_commit[0] and random_.random() < dies and isinstance(base, _server.Server):
            at_commit[0] = False
            kind = random_.choice(["lost answer", "40001"])
            diary.note(kind)
            if kind == "lost answer":
                base.run("COMMIT")
                base._drop()
                raise base._lost()
            import psycopg

            base.run("ROLLBACK")
            raise base._refusal(psycopg.errors.SerializationFailure())
        at_commit[0] = False
        commit(base)

    Transactions.testify = noted  # type: ignore[method-assign, assignment]
    Transactions.commit = answered  # type: ignore[method-assign, assignment]
    trial: Trial | None = None
    while True:
        try:
            if trial is None:
                trial = Trial.load(open_store(True))
            trial.settle()
            if random_.random() < 0.1:
                diary.note("course", trial.report()["course"])
        except DiscreetError as error:
            diary.note("refused", type(error).__name__, str(error)[:60])
            if trial is not None:
                trial.close()
                trial = None
        time.sleep(0.01)


class Storm:
    """Three workers and two curators, until so many were killed."""

    def __init__(self, open_store: Open, folder: Path, seed: int, dies: float = 0.4) -> None:
        self.open_store, self.folder, self.dies = open_store, folder, dies
        self.random, self.seeds = random.Random(seed), seed * 1_000_003
        self.kills = 0
        self.running: dict[int, str] = {}

    def start(self, kind: str) -> None:
        self.seeds += 1
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                quick()
                if kind == "worker":
                    work(self.open_store, self.folder, self.seeds)
                else:
                    curate(self.open_store, self.folder, self.seeds, self.dies)
            except BaseException as error:
                Diary(self.folder, "failed").note(type(error).__name__, str(error)[:300])
            finally:
                os._exit(code)
        self.running[pid] = kind

    def blow(self, kills: int, meanwhile: Callable[[int], None] = lambda kills: None) -> None:
        for kind in ("worker", "worker", "worker", "curator", "curator"):
            self.start(kind)
        try:
            while self.kills < kills:
                time.sleep(self.random.uniform(0.02, 0.12))
                self._reap()
                meanwhile(self.kills)
                pid = self.random.choice(list(self.running))
                if self.random.random() < 0.1:
                    self._pause(pid)
                elif self.random.random() < 0.8:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.5)
        finally:
            for pid in list(self.running):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            self.running.clear()

    def _pause(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0.05, 0.3))
            os.kill(pid, signal.SIGCONT)

    def _reap(self) -> None:
        for pid, kind in list(self.running.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self.running[pid]
                self.kills += 1
                self.start(kind)


class Found(NamedTuple):
    """What a storm has seen."""

    assigned: int
    recorded: int
    releases: int
    between: int
    """killed between witness and commit"""
    lost: int
    """lost answers, and steps that were undone"""


def check(open_store: Open, folder: Path, lines: Callable[[], list[str]]) -> Found:
    """Nobody has two arms; a release is one value for ever; no block is witnessed twice; whoever
    was told that an outcome is recorded before it was late is counted."""
    notes: list[list[Any]] = []
    for path in folder.glob("*.log"):
        assert not path.name.startswith("failed"), path.read_text()
        notes += [json.loads(line) for line in path.read_text().splitlines()]
    notes.sort(key=lambda note: note[0])
    quick()
    time.sleep(2 * DEADLINE)
    trial = Trial.load(open_store(True))
    trial.settle()
    assert trial.status == "collecting", trial.report()
    final = trial.report()["course"]

    arms: dict[Any, Any] = {}
    told: dict[Any, float] = {}
    begun: set[Any] = set()
    for at, what, *rest in notes:
        if what == "assigned":
            assert arms.setdefault(rest[0], rest[1]) == rest[1], "a participant has two arms"
        elif what == "records":
            begun.add(rest[0])
        elif what == "recorded":
            told.setdefault(rest[0], at)
        elif what == "course":
            assert final[: len(rest[0])] == rest[0], "a release has changed"
    for unit, arm in arms.items():
        assert trial.assign(unit) == arm, "somebody has another arm now"
    final = trial.report()["course"]
    counted = counts_of(trial)
    witnessed = [json.loads(line)["block"] for line in lines()]
    assert max(Counter(witnessed).values(), default=0) <= 1, "a block was drawn twice"

    store: Any = trial._store
    with store.held():
        store.ready()
        rows = store._base.run(
            "SELECT unit, block, at FROM places WHERE trial = ? AND block IS NOT NULL",
            (store._trial,),
        ).fetchall()
        released = [b for (b,) in store._base.run("SELECT block FROM releases").fetchall()]
    assert sorted(released) == sorted(witnessed), "stored is not what was witnessed"
    in_time: Counter[str] = Counter()
    at_most: Counter[str] = Counter()
    for text, block, at in rows:
        unit = json.loads(text)
        in_time[block] += unit in told and told[unit] < at + DEADLINE
        at_most[block] += unit in begun
    for block in released:
        if block in counted:
            assert in_time[block] <= counted[block] <= at_most[block], "an outcome is lost"
    trial.close()
    whats = Counter(note[1] for note in notes)
    return Found(
        len(arms), len(told), len(released), whats["dies"], whats["lost answer"] + whats["40001"]
    )


def counts_of(trial: Trial) -> dict[str, int]:
    """How many outcomes each release has counted: the course has running sums of every arm."""
    found: dict[str, int] = {}
    seen: Counter[Any] = Counter()
    before: Counter[Any] = Counter()
    for entry in trial.report()["course"]:
        arm = trial.arms.index(entry["arm"])
        seen[arm] += 1
        total = round((entry["mean"] or 0.0) * entry["size"] * (1 << 20)) - seen[arm] * NOISE
        count = (total - before[arm]) / SECRET_STEPS
        assert abs(count - round(count)) < 1e-3, "not a sum of outcomes"
        found[f"{arm}-{seen[arm]}"], before[arm] = round(count), total
    return found
