"""One object goes on with a trial: of two, each could release the same block."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest
from live_cases import Clock, CountedNoise
from live_disk import THOROUGH
from test_live_interruptions import Handler

import discreet
from discreet import Assignment
from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.live import Strata, Trial
from discreet.live._arguments import grouped
from discreet.live.stores import MemoryStore
from discreet.privacy import _secure as secure

ROW = discreet.policy("adap-klucb", epsilon=1.0)


def waiting(clock: Clock, **options: Any) -> Trial:
    """A trial with an outcome whose block is due in a second."""
    trial = Trial(
        ROW, 2, deadline=1.0, missing=0.0, clock=clock, **grouped(dict(window=1, **options))
    )
    trial.assign("x")
    trial.record("x", 1.0)
    return trial


# --- a store --------------------------------------------------------------------------------------


def test_whoever_loads_a_store_goes_on_and_the_other_refuses(
    clock: Clock, noise: CountedNoise
) -> None:
    store = MemoryStore()
    first = waiting(clock, path=store)
    again = Trial.load(store, clock=clock)
    clock.now += 5.0
    for call in (first.report, first.settle, lambda: first.assign("y"), lambda: "x" in first):
        with pytest.raises(TrialError, match="another object goes on"):
            call()
    first.close()  # what is not its own any more stays as it is
    assert again.report()["releases"] == 1
    assert len(noise.drawn) == 1
    assert again.assign("y") in (0, 1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_store_cannot_be_copied(copied: Callable[[Any], object], clock: Clock) -> None:
    """Each copy could be loaded, and would release the same block with noise of its own."""
    store = MemoryStore()
    waiting(clock, path=store)
    with pytest.raises(TrialError, match="must not be copied"):
        copied(store)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_cannot_go_on_with_a_store(clock: Clock, noise: CountedNoise) -> None:
    store = MemoryStore()
    trial = waiting(clock, path=store)
    clock.now += 5.0
    child = os.fork()
    if child == 0:
        try:
            Trial.load(store, clock=clock).report()
        except TrialError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert trial.report()["releases"] == len(noise.drawn) == 1


@pytest.mark.usefixtures("noise")
def test_a_store_is_not_taken_over_in_the_middle_of_a_draw(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal handler that loads the store while a block is drawn would draw it again."""
    store, drawn = MemoryStore(), []
    trial = waiting(clock, path=store)
    clock.now += 5.0

    def noise(scale: float, rng: None = None) -> int:
        drawn.append(scale)
        if len(drawn) == 1:
            with pytest.raises(TrialError, match="in the middle of another call"):
                Trial.load(store, clock=clock)
        return 0

    monkeypatch.setattr(secure, "laplace", noise)
    assert trial.report()["releases"] == 1
    assert len(drawn) == 1


def test_a_thread_that_takes_a_store_over_waits_for_the_draw(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, drawn, drawing, loading = MemoryStore(), [], threading.Event(), threading.Event()
    trial = waiting(clock, path=store)
    clock.now += 5.0
    reports: list[Any] = []

    def noise(scale: float, rng: None = None) -> int:
        drawn.append(scale)
        drawing.set()
        loading.wait(5.0)
        return len(drawn)

    def other() -> None:
        drawing.wait(5.0)
        loading.set()
        reports.append(Trial.load(store, clock=clock).report())

    monkeypatch.setattr(secure, "laplace", noise)
    thread = threading.Thread(target=other)
    thread.start()
    reports.append(trial.report())
    thread.join()
    assert len(drawn) == 1
    assert reports[0] == reports[1]


@pytest.mark.usefixtures("no_sync")
def test_saving_leaves_nothing_in_the_store_before(
    tmp_path: Path, clock: Clock, noise: CountedNoise
) -> None:
    store = MemoryStore()
    with waiting(clock, path=store) as trial:
        trial.save(tmp_path / "trial.db")
        assert not store.blocks
        assert not store.state
        with pytest.raises(DamagedFile):
            Trial.load(store, clock=clock)
        clock.now += 5.0
        assert trial.report()["releases"] == 1
    assert len(noise.drawn) == 1


def test_a_store_that_holds_a_trial_takes_no_new_one(clock: Clock) -> None:
    store = MemoryStore()
    trial = waiting(clock, path=store)
    with pytest.raises(InvalidArgument, match="be empty for a new trial"):
        Trial(ROW, 2, path=store)
    assert "x" in trial


def test_a_store_that_is_loaded_in_vain_stays_with_its_trial(
    clock: Clock, noise: CountedNoise
) -> None:
    store = MemoryStore()
    trial = waiting(clock, path=store)
    with pytest.raises(InvalidArgument, match="policy must"):
        Trial.load(store, policy=discreet.policy("dp-imed", epsilon=1.0), clock=clock)
    clock.now += 5.0
    (arm,) = (row for row in trial.report()["arms"] or () if row["releases"])
    assert arm["mean"] == pytest.approx(1.0 + noise.drawn[0] / 2**20)


# --- strata ---------------------------------------------------------------------------------------


def strata(clock: Clock) -> Strata:
    trial = Strata(
        ROW, ["a", "b"], 3, deadline=1.0, missing=0.0, clock=clock, assignment=Assignment(window=3)
    )
    for unit in range(6):
        trial.assign(unit, "ab"[unit % 2])
        trial.record(unit, 1.0)
    clock.now += 5.0
    return trial


def test_a_look_in_the_middle_of_a_drop_by_stratum_tears_nothing(noise: CountedNoise) -> None:
    """As by a signal handler, at any line of the package."""
    at, refused = 0, 0
    while True:
        noise.drawn.clear()
        trial = strata(Clock())
        seen: list[str] = []

        def look(trial: Strata = trial, seen: list[str] = seen) -> None:
            try:
                seen.append(trial.status)
            except TrialError:
                seen.append("refused")

        def drop(trial: Strata = trial) -> None:
            trial.drop(0)

        handler = Handler(at, look)
        assert not handler.run(drop)
        refused += seen == ["refused"]
        assert trial.report()["releases"] == len(noise.drawn) == 6, handler.where
        if not handler.where:
            break
        at += 7 if THOROUGH else 29
    assert refused > 5


def test_a_thread_that_looks_while_an_arm_is_dropped_draws_nothing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other thread has seen that a block is due, and stops there while this one draws it."""
    clock, drawn, reading = Clock(), [], threading.Event()
    drawing = threading.Event()
    trial = strata(clock)
    looker = threading.Thread(target=lambda: trial.status)

    def noise(scale: float, rng: None = None) -> int:
        drawn.append(scale)
        drawing.set()
        if threading.current_thread() is not looker:
            looker.join(0.5)
        return 0

    def slow() -> float:
        if threading.current_thread() is looker:
            reading.set()
            drawing.wait(0.5)
        return clock.now

    monkeypatch.setattr(secure, "laplace", noise)
    for one in trial._trials.values():
        one._clock = slow
    looker.start()
    reading.wait(5.0)
    trial.drop(0)
    looker.join()
    assert len(drawn) == 6


def test_a_call_from_within_a_call_puts_nobody_into_two_strata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A handler comes between the look where somebody is at home and their place."""
    trial = Strata(ROW, ["a", "b"], 2)
    home, inside = trial._home, [False]

    def watched(unit: Any) -> Any:
        found = home(unit)
        if not inside[0]:
            inside[0] = True
            with pytest.raises(TrialError, match="in the middle of another call"):
                trial.assign("x", "b")
        return found

    monkeypatch.setattr(trial, "_home", watched)
    trial.assign("x", "a")
    assert inside[0]
    assert [name for name, one in trial._trials.items() if "x" in one] == ["a"]


# --- a handler that closes ------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sync")
def test_a_handler_that_closes_sends_no_outcome_into_its_own_files(tmp_path: Path) -> None:
    """Descriptors are numbers: a file that the handler opens may get that of a file it closed, and
    the call goes on writing."""
    at, secret = 0, str(round(0.123456 * 2**20)).encode()
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        trial = Trial(ROW, 2, deadline="9 s", missing="estimate", path=folder / "t.db")
        trial.assign("x")
        logs: list[IO[bytes]] = []

        def close(
            trial: Trial = trial, logs: list[IO[bytes]] = logs, folder: Path = folder
        ) -> None:
            trial.close()
            logs += [(folder / f"log-{number}").open("w+b") for number in range(4)]

        def record(trial: Trial = trial) -> None:
            trial.record("x", 0.123456)

        handler = Handler(at, close)
        with suppress(TrialError):  # closed before it had begun
            handler.run(record)
        for log in logs:
            log.close()
        assert not any(secret in path.read_bytes() for path in folder.glob("log-*")), handler.where
        if not handler.where:
            break
        with pytest.raises(TrialError, match="is closed"):
            trial.report()
        Trial.load(folder / "t.db").close()
        at += 2
    assert at > 40
