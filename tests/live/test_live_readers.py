"""Every reader settles first, and what whoever may record can find out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock, CountedNoise, batch_trial, fill, klucb_trial, open_block

from discreet import Assignment, policy
from discreet.errors import ConflictingOutcome, InvalidArgument, UnknownUnit
from discreet.identify import identifier
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live.stores._database import Database
from discreet.privacy import _secure as secure

READERS: dict[str, Callable[[Trial], Any]] = {
    "str": str,
    "repr": repr,
    "status": lambda trial: trial.status,
    "rounds": lambda trial: trial.rounds,
    "recommendation": lambda trial: trial.recommendation,
    "report": lambda trial: trial.report(),
    "public record": lambda trial: trial.public_record(),
    "settle": lambda trial: trial.settle(),
    "assign": lambda trial: trial.assign("x"),
}

KINDS = {"batches": 1, "streams": 1, "pairs": 2}
"""Noisy numbers of a release."""


def made(kind: str, clock: Clock) -> Trial:
    """A trial that releases the first outcome alone: in a batch, in a block, or as a pair. The
    first arm comes first: no coin is tossed for a window of one."""
    missing: Any = "estimate" if kind == "pairs" else 0.0
    options: dict[str, Any] = {"streams": False} if kind == "batches" else {"window": 1}
    row = policy("adap-klucb", epsilon=1.0)
    return Trial(row, 2, deadline=10.0, clock=clock, missing=missing, **grouped(options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_settles_first(
    reader: str, kind: str, clock: Clock, noise: CountedNoise
) -> None:
    trial = made(kind, clock)
    trial.assign("x")
    clock.now += 10.0
    assert not noise.drawn
    READERS[reader](trial)
    assert len(noise.drawn) == KINDS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_outcome_steers_nothing_that_is_shown(
    kind: str, clock: Clock, noise: CountedNoise
) -> None:
    """Whether somebody answers after the deadline must not decide what the next look shows."""
    shown = []
    for late in (True, False):
        clock.now = 0.0
        noise.drawn.clear()
        trial = made(kind, clock)
        trial.assign("x")
        clock.now += 10.0
        if late:
            trial.record("x", 1.0)
        shown.append((trial.status, repr(trial), str(trial), trial.rounds))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("kind", KINDS)
def test_who_responds_when_does_not_decide_which_call_releases(
    kind: str, clock: Clock, noise: CountedNoise
) -> None:
    """A release that some `record` had made would be missing from the next call: from what `settle`
    answers, from how long it takes, and, once a clock is set back, from the time."""
    seen = []
    for responds in (True, False):
        clock.now = 0.0
        noise.drawn.clear()
        trial = made(kind, clock)
        trial.assign("x")
        clock.now += 5.0
        trial.assign("y")
        clock.now += 50.0
        if responds:
            trial.record("y", 1.0)
        assert not noise.drawn
        clock.now = 20.0
        seen.append((trial.settle(), len(noise.drawn), trial.assign("z"), trial.report()))
    assert seen[0] == seen[1]
    assert seen[0][0]


@pytest.mark.parametrize("streams", [None, False])
def test_a_local_release_takes_as_many_draws_whoever_responded(
    streams: bool | None, clock: Clock, noise: CountedNoise
) -> None:
    """Every draw has its window of time: draws for missing outcomes alone would count them."""
    row, drawn, sizes = policy("ldp-ucb-l", epsilon=1.0), [], set()
    for responding in ([], ["x"]):
        trial = Trial(
            row, 2, deadline=10.0, missing=0.0, clock=clock, assignment=Assignment(streams=streams)
        )
        trial.assign("x")
        for unit in responding:
            trial.record(unit, 1.0)
        before = len(noise.drawn)
        clock.now += 10.0
        assert trial.settle()
        drawn.append(len(noise.drawn) - before)
        sizes.add(trial.report()["releases"])
    assert drawn == [1, 1]
    assert sizes == {1}


def test_an_answer_is_shown_as_soon_as_it_is_due(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it first after the moment sees it, and whoever reads it before does not."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    row = identifier("adap-tt", epsilon=1e3)
    trial = batch_trial(row, 2, risk=0.3, deadline=1.0, clock=clock)
    blocks = 0
    while trial.recommendation is None and blocks < 30:
        blocks += 1
        for unit in fill(trial, f"block-{blocks}"):
            trial.record(unit, float(trial.assign(unit)))
        clock.now += 0.5
        assert trial.recommendation is None
        clock.now += 0.5
    assert trial.recommendation == 1
    assert blocks > 2


def test_what_cannot_be_shown_any_more_says_why(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A debugger that shows a trial whose file is gone gets a word on it, not another error."""

    def fails(base: Database) -> None:
        raise OSError(28, "No space left on device")

    trial = klucb_trial(deadline=10.0, clock=clock, path=tmp_path / "t.db")
    with monkeypatch.context() as failing:
        failing.setattr(Database, "commit", fails)
        with pytest.raises(OSError, match="space"):
            trial.assign("x")
    assert "0 assigned" in repr(trial)
    (tmp_path / "t.db").rename(tmp_path / "u.db")
    assert "not in use" in repr(trial)
    assert "moved, removed or replaced" in repr(trial)
    trial.close()
    assert "closed" in repr(trial)
    wrong = klucb_trial(deadline=10.0, clock=clock)
    clock.now = float("nan")
    assert "clock must return a finite number" in repr(wrong)


def spoiled(shown: Any) -> None:
    """Change everything that can be changed in a report."""
    if isinstance(shown, dict):
        for name in list(shown):
            spoiled(shown[name])
            del shown[name]
    elif isinstance(shown, list):
        for one in shown:
            spoiled(one)
        shown.clear()


@pytest.mark.usefixtures("no_sync", "noise")
@pytest.mark.parametrize("name", ["dp-imed", "ldp-ucb-l", "dp-ucb-bound", "race", "evidence-tt"])
def test_a_report_can_be_changed_without_changing_the_trial(
    name: str, tmp_path: Path, clock: Clock
) -> None:
    """What a board has seen must stay in the guarantee, whatever becomes of a copy."""
    identifies = name in ("race", "evidence-tt")
    goal: dict[str, Any] = {"risk": 0.1} if identifies else {}
    path, row = tmp_path / "t.db", policy(name, epsilon=1.0)
    trial = Trial(
        row, 2, horizon=900, deadline=1.0, missing=0.0, clock=clock, path=path, **grouped(goal)
    )
    for unit in range(20):
        trial.assign(unit)
        clock.now += 0.2
    trial.stop("board")
    before, guarantee = trial.report(), str(trial.guarantee)
    spoiled(trial.report())
    assert trial.report() == before
    clock.now += 5.0
    assert trial.report()["releases"] > before["releases"], "the last blocks are stored"
    trial.close()
    with Trial.load(path, clock=clock) as loaded:
        assert str(loaded.guarantee) == guarantee
        assert "raw outcomes" in guarantee
        assert loaded.report()["ended"] == {"by": "board"}


# --- an oracle ------------------------------------------------------------------------------------


def waiting(**options: Any) -> Trial:
    """A trial with an outcome of "x" in a block that is not yet due."""
    trial = klucb_trial(deadline=10.0, **options)
    trial.assign("x")
    trial.record("x", 0.25)
    return trial


def test_recording_again_is_an_oracle_unless_conflicts_are_ignored(clock: Clock) -> None:
    with pytest.raises(ConflictingOutcome):
        waiting(clock=clock).record("x", 0.75)
    trial = waiting(clock=clock, conflicts="ignore")
    trial.assign("visitor")
    answers = [trial.record("x", outcome) for outcome in (0.0, 0.25, 1.0)]  # type: ignore[func-returns-value]
    answers += [trial.record("visitor", 1.0)]  # type: ignore[func-returns-value]
    clock.now += 10.0
    answers += [trial.record("x", 0.5)]  # type: ignore[func-returns-value]
    assert answers == [None] * 5
    for wrong, error in (((1, 2.0), UnknownUnit), (("x", 2.0), InvalidArgument)):
        with pytest.raises(error):
            trial.record(*wrong)


@pytest.mark.usefixtures("no_sync")
def test_the_first_outcome_stands_and_the_setting_is_stored(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    with waiting(clock=clock, conflicts="ignore", path=path) as trial:
        trial.record("x", 1.0)
        assert open_block(trial).outcomes == {0: 1 << 18}
    with Trial.load(path, clock=clock) as trial:
        trial.record("x", 0.5)
        assert open_block(trial).outcomes == {0: 1 << 18}
    with pytest.raises(InvalidArgument, match="conflicts must be 'refuse' or 'ignore'"):
        klucb_trial(conflicts="alike")


def test_time_passes_by_itself_without_a_clock_of_ones_own() -> None:
    trial = klucb_trial(deadline=0.01)
    trial.assign("x")
    time.sleep(0.02)
    assert "1 releases" in repr(trial)
