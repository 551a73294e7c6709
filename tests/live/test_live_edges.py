"""Edges of the live code that small changes of it would move unseen elsewhere (see `make mutants`):
what is stored and then interrupted, what is refused, and which moment a block is due at."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_cases import (
    Clock,
    CountedNoise,
    batch_trial,
    damaged,
    klucb_trial,
)

from discreet import Assignment, Outcomes
from discreet._compiled import Function, Kernel
from discreet.errors import DamagedFile, DiscreetError, InvalidArgument, TrialError
from discreet.identify import identifier
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live._lists import history_in
from discreet.live._rows import rows_for_trials, serves_trials
from discreet.live._stream_run import StreamRun, head_from_dict, head_to_dict
from discreet.live._tables import TABLES
from discreet.live.stores import MemoryStore, SqliteStore
from discreet.live.stores._database import Database
from discreet.policies import CATALOGUE, DividedTree, EachRound, ForgetLaplace, Policy, policy
from discreet.policies._rules import Rule
from discreet.privacy import _secure as secure
from discreet.protocol._missing import everybody
from discreet.protocol.plans import _index as index


def stream_run(trial: Trial) -> Any:
    assert isinstance(trial._run, StreamRun)
    return trial._run


# --- noise is drawn once --------------------------------------------------------------------------


class Broken(MemoryStore):
    """Raises before or after it has stored what a draw hides."""

    when = ""

    def record(self, *arguments: Any) -> None:
        self._broken("record", super().record, arguments)

    def release(self, *arguments: Any) -> None:
        self._broken("release", super().release, arguments)

    def _broken(self, what: str, store: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        when, self.when = self.when, "" if self.when.endswith(what) else self.when
        if when == f"before {what}":
            raise KeyboardInterrupt
        store(*arguments)
        if when == f"after {what}":
            raise KeyboardInterrupt


ROWS: dict[str, tuple[str, Callable[..., Trial]]] = {
    "one batch": ("release", klucb_trial),
    "streams": (
        "release",
        lambda **options: Trial(
            policy("dp-imed", epsilon=1.0, first=1), ["A", "B"], **grouped(options)
        ),
    ),
    "local": (
        "record",
        lambda **options: batch_trial(policy("ldp-ucb-l", epsilon=1.0), ["A", "B"], **options),
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_noise_whose_result_was_not_stored_is_not_drawn_again(
    row: str, noise: CountedNoise
) -> None:
    what, make = ROWS[row]
    store = Broken()
    trial = make(path=store)
    trial.assign("x")
    store.when = f"before {what}"
    with pytest.raises(KeyboardInterrupt):
        trial.record("x", 1.0)
    assert len(noise.drawn) == 1
    for call in (
        trial.report, trial.settle, lambda: trial.record("x", 1.0), lambda: trial.assign("y"),
    ):  # fmt: skip
        with pytest.raises(TrialError, match="never drawn twice"):
            call()
    assert len(noise.drawn) == 1


@pytest.mark.parametrize("row", ROWS)
def test_what_was_stored_before_an_interrupt_stands(row: str, noise: CountedNoise) -> None:
    what, make = ROWS[row]
    store = Broken()
    trial = make(path=store)
    trial.assign("x")
    store.when = f"after {what}"
    with pytest.raises(KeyboardInterrupt):
        trial.record("x", 1.0)
    assert trial.report()["releases"] == 1
    assert trial.settle() is False
    trial.record("x", 1.0)
    trial.assign("y")
    assert len(noise.drawn) == 1


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sync")
def test_an_interrupt_while_loading_is_not_swallowed_and_frees_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    klucb_trial(path=path).close()

    def interrupted(store: SqliteStore, *arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_read_document", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Trial.load(path)
    Trial.load(path).close()


@pytest.mark.usefixtures("no_sync")
def test_files_that_are_closed_take_nothing_more(tmp_path: Path) -> None:
    trial = klucb_trial(path=tmp_path / "t.db", deadline=9.0)
    trial.assign("x")
    (key,), store = trial._store.blocks, trial._store
    trial.close()
    with pytest.raises(TrialError, match="closed"):
        store.record(key, 0, 1)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("call", ["assign", "record"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_after_a_commit_that_failed_the_trial_stands_where_the_file_is(
    when: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a commit may be lost, and then it is in the file."""
    path, commit = tmp_path / "t.db", Database.commit
    trial = klucb_trial(path=path, deadline=9.0)
    trial.assign("x")
    calls: dict[str, Callable[[], Any]] = {
        "assign": lambda: trial.assign("y"), "record": lambda: trial.record("x", 1.0),
    }  # fmt: skip

    def fails(base: Database) -> None:
        if when == "after":
            commit(base)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "commit", fails)
        with pytest.raises(OSError, match="No space"):
            calls[call]()
    assigned = 2 if (when, call) == ("after", "assign") else 1
    assert trial.report()["assigned"] == assigned
    (block,) = trial._store.blocks.values()
    assert len(block.outcomes) == ((when, call) == ("after", "record"))
    arm = trial.assign("y")
    trial.close()
    with Trial.load(path) as again:
        assert again.report()["assigned"] == 2
        assert again.assign("y") == arm


@pytest.mark.usefixtures("no_sync")
def test_a_trial_that_cannot_be_revived_is_let_go_at_once(tmp_path: Path) -> None:
    """Whoever holds on to the error must not hold on to the lock."""
    path = tmp_path / "t.db"
    row = Policy("mine", EachRound(), ForgetLaplace(1.0), policy("adap-ucb", epsilon=1.0).rule)
    Trial(row, 2, path=path).close()
    with pytest.raises(DiscreetError) as refusal:
        Trial.load(path)
    Trial.load(path, policy=row).close()
    assert "mine" in str(refusal.value)


# --- streams --------------------------------------------------------------------------------------


def test_evidence_of_batches_that_fill_is_the_newest_full_one() -> None:
    """Batches of 1, 2, 4, ... single places, filled one after the other."""
    trial = Trial(policy("lazy-dp-ts", epsilon=1.0), 2, horizon=100)
    run = stream_run(trial)
    behind = Kernel(index.behind, worth=everybody).interpreted()
    size, filled = 1, 0
    newest = 0
    for closed in range(1, 100):
        filled += 1
        if filled == size:
            newest, size, filled = size, 2 * size, 0
        room = run.design.room._replace(ends=[closed, 0], planned=[closed, 0])
        assert behind(run.design, run.head, room, 0) == newest


def choose_nothing(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
    return int(1 / (view.value[0] - view.value[0]))


@dataclass(frozen=True)
class Failing(Rule):
    name: ClassVar[str] = "failing"
    choose: ClassVar[Function] = staticmethod(choose_nothing)


def test_a_rule_that_fails_in_streams_leaves_a_trial_that_says_so(noise: CountedNoise) -> None:
    row = Policy("failing", EachRound(), ForgetLaplace(1.0), Failing())
    trial = Trial(row, ["A", "B"], assignment=Assignment(window=2))
    for unit in range(2):
        trial.assign(unit)
        trial.record(unit, 1.0)
    assert stream_run(trial)
    assert trial.status == "collecting"
    for unit in range(2, 5):
        with pytest.raises(TrialError, match=r"ZeroDivisionError.*nothing is drawn again"):
            trial.assign(unit)
        assert trial.status == trial.report()["status"] == "stuck"
    assert len(noise.drawn) == 2


def test_a_unit_comes_back_once_its_block_is_released(clock: Clock) -> None:
    row = policy("dp-imed", epsilon=1.0, first=1)
    trial = Trial(
        row,
        2,
        deadline=14.0,
        missing=0.0,
        clock=clock,
        outcomes=Outcomes(contributions=2),
        assignment=Assignment(window=2),
    )
    trial.assign("x")
    clock.now += 14.0
    assert trial.settle()
    assert not trial._store.blocks
    trial.assign("x")
    assert trial.rounds == 2


# --- looks ----------------------------------------------------------------------------------------


def test_what_was_open_of_a_dropped_arm_is_due_by_itself(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of no look: neither is it held up by the others, nor does it belong in the record."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    row = policy("dp-se", epsilon=5.0, beta=0.2)
    trial = Trial(row, ["A", "B", "C"], deadline=14.0, missing=0.0, clock=clock)
    for unit in range(6):
        trial.assign(unit)
    trial.drop("C")
    clock.now += 1.0
    for unit in range(6, 9):
        trial.assign(unit)
    (block,) = [block for block in trial.report()["blocks"] if block["arm"] == "C"]
    assert block["due"] == 1014.0
    clock.now = 1014.0
    report = trial.report()
    assert [row["size"] for row in report["arms"]] == [0, 0, 2]
    assert report["looks"] == 0
    assert stream_run(trial).history in (None, [[], [], []])


def test_a_last_arm_is_played_in_blocks_that_double(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    row = policy("dp-se", epsilon=5.0, beta=0.2)
    trial = Trial(row, ["A", "B"], deadline=14.0, missing=0.0, clock=clock)
    unit, outcome = 0, {"A": 1.0, "B": 0.0}
    while sum(stream_run(trial).memory.active) > 1:
        clock.now += 14.0
        for _ in range(2 * int(stream_run(trial).memory.length[0])):
            arm = str(trial.assign(unit))
            trial.record(unit, outcome[arm])
            unit += 1
        clock.now += 14.0
        trial.settle()
    length = stream_run(trial).head.closed[0]
    for _ in range(3):
        for place in range(1, length + 1):
            assert trial.assign(unit) == "A"
            unit += 1
            full = length * (1 + place // length)
            assert stream_run(trial).head.closed[0] == full
        length *= 2


# --- rows -----------------------------------------------------------------------------------------


def test_rows_that_promise_too_little_or_have_no_secure_noise_serve_no_trial() -> None:
    refused = {name for name, row in CATALOGUE.items() if not serves_trials(row.example())}
    assert refused == {
        "ucb1", "kl-ucb", "imed", "thompson", "episodic-ucb", "gdp-elim-new", "dp-ftpl-gauss",
        "dp-ftpl-beta", "dp-ftpl-new", "sw-ucb", "d-ucb", "m-ucb", "exp3",
    }  # fmt: skip
    assert set(rows_for_trials()) == set(CATALOGUE) - refused


@dataclass(frozen=True)
class NotLive(ForgetLaplace):
    """Private over the whole run, and without secure noise."""

    secure_noise: ClassVar[bool] = False


def test_a_release_without_secure_noise_is_refused_by_name() -> None:
    row = Policy("mine", EachRound(), NotLive(1.0), policy("adap-ucb", epsilon=1.0).rule)
    with pytest.raises(InvalidArgument, match="policy must have secure noise for a live trial"):
        Trial(row, 2)


def test_a_record_that_was_damaged_in_one_arm_is_refused() -> None:
    good = [[[2, 0.5]], [[2, 0.25, 3]]]
    assert history_in({"history": good}, 2) == good
    assert history_in({}, 2) is None
    for wrong in ([good[0], 3], [3, good[1]], [good[0], [[2, "x"]]], [[[2]], good[1]], [good[0]]):
        with pytest.raises(DamagedFile, match="damaged record"):
            history_in({"history": wrong}, 2)


# --- noise that could not be drawn ----------------------------------------------------------------

SMALL: dict[str, tuple[Policy, dict[str, Any]]] = {
    "pairs": (policy("adap-klucb", epsilon=2e-10), {"deadline": 1.0, "missing": "estimate"}),
    "hybrid": (policy("dp-ts", epsilon=1e-9), {"horizon": 200}),
    "hybrid, no end": (policy("dp-ucb-bound", epsilon=1e-8), {}),
    "hybrid, idle": (policy("dp-ucb-td", epsilon=1e-9), {"horizon": 200, "streams": False}),
    "divided tree": (
        Policy("divided", EachRound(), DividedTree(2e-9), policy("dp-ucb", epsilon=1.0).rule),
        {"horizon": 200},
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_noise_that_could_not_be_drawn_is_refused_when_the_trial_is_planned(name: str) -> None:
    """Not at the first release, when people have taken part; and what is planned can be drawn."""
    (row, given), clock = SMALL[name], Clock()
    options = {**given, "clock": clock}
    with pytest.raises(InvalidArgument, match=r"noise of a scale of at most.*larger budget") as no:
        Trial(row, 4, **grouped(options))
    times = 1.01 * float(str(no.value).rpartition("at least ")[2].partition(" times")[0])
    release: Any = row.release
    larger = replace(release, epsilon=times * release.epsilon)
    enough = Trial(Policy(row.name, row.schedule, larger, row.rule), 4, **grouped(options))
    scales: list[float] = []

    def noise(scale: float, rng: None = None) -> int:
        scales.append(scale)
        return 0

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(secure, "laplace", noise)
        for unit in range(190):
            enough.assign(unit)
            enough.record(unit, 1.0)
        clock.now += 10.0
        assert enough.report()["releases"] > 0
    assert 0.05 * secure.LARGEST_SCALE < max(scales) <= secure.LARGEST_SCALE


# --- single batches -------------------------------------------------------------------------------


def test_an_outcome_is_late_after_its_own_deadline_though_its_batch_has_a_place_left(
    clock: Clock,
) -> None:
    trial = batch_trial(policy("dp-imed", epsilon=1.0, first=3), 2, deadline=10.0, clock=clock)
    for unit in range(2):
        trial.assign(unit)
    clock.now += 25.0
    assert trial.report()["next_release"] is None
    trial.record(0, 1.0)
    (block,) = trial._store.blocks.values()
    assert not block.outcomes
    trial.assign(2)
    trial.record(2, 1.0)
    assert list(block.outcomes) == [2]
    assert trial.report()["next_release"] == clock.now + 10.0


@pytest.mark.parametrize(
    ("entry", "value", "why"),
    [
        ("releases", None, "counts of releases"), ("releases", [0], "counts of releases"),
        ("begun", 1, "whether its rule has looked"), ("arm", 2, "no open block"),
        ("head", None, "lacks its streams"),
    ],
)  # fmt: skip
def test_a_damaged_state_is_refused_by_what_is_wrong(entry: str, value: Any, why: str) -> None:
    run = klucb_trial()._run
    with pytest.raises(DamagedFile, match=why):
        run.copy().restore({**run.to_dict(), entry: value})
    run.copy().restore(run.to_dict())


@pytest.mark.parametrize(
    ("entry", "value", "why"),
    [
        ("places", [0], "of another shape"), ("places", 0, "of another shape"),
        ("closed", [0, -1], "damaged closed"), ("left", [0, 0.5], "damaged left"),
        ("active", [True, 1], "damaged active"), ("active", [2, 1], "contradict"),
        ("at", [0] * 5, "of another shape"), ("at", [0.0] * 6, "damaged counts"),
        ("at", [1, 0, 0, 0, -1, 0], "contradict"), ("when", "0", "when they were read"),
        ("when", float("inf"), "when they were read"), ("block", [0, 1], "contradict"),
        ("closed", [1, 0], "contradict"), ("places", [10**9, 0], "contradict"),
        ("released", [1, 0], "contradict"), ("due", [0.0], "no room"), ("due", 3, "no room"),
        ("many", [0], "of another shape"), ("memory", 3, "lacks its memory"),
    ],
)  # fmt: skip
def test_damaged_streams_are_refused_by_what_is_wrong(entry: str, value: Any, why: str) -> None:
    run = stream_run(Trial(policy("dp-imed", epsilon=1.0), 2))
    saved = head_to_dict(run.head)
    assert head_to_dict(head_from_dict(saved, run.design, run.head)[1]) == saved
    with pytest.raises(DamagedFile, match=why):
        head_from_dict({**saved, entry: value}, run.design, run.head)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sync")
def test_a_rule_whose_opening_could_not_be_stored_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    trial = klucb_trial(path=path)
    trial.assign("x")

    stored = SqliteStore.release

    def full(store: SqliteStore, block: str | None, *state: Any) -> None:
        if block is None:
            raise OSError(28, "No space left on device")
        stored(store, block, *state)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "release", full)
        with pytest.raises(OSError, match="No space"):
            trial.record("x", 1.0)
    trial.close()
    with Trial.load(path) as again:
        assert again.report()["releases"] == 1


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("left", ["empty", "no tables"])
def test_what_a_crash_left_of_a_trial_that_had_not_begun_is_replaced(
    left: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"")
    if left == "no tables":
        damaged(path, "PRAGMA journal_mode=WAL")
    with pytest.raises(InvalidArgument, match="nobody was assigned"):
        Trial.load(path)
    with klucb_trial(path=path) as trial:
        trial.assign("x")
    with Trial.load(path) as trial:
        assert "x" in trial
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match="be a new file"):
        klucb_trial(path=path)
    assert path.read_bytes() == before


@pytest.mark.usefixtures("no_sync")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files there")
def test_no_file_stays_open_when_a_trial_is_closed_or_refused(tmp_path: Path) -> None:
    gc.collect()  # of what earlier tests left open
    before = len(os.listdir("/proc/self/fd"))
    klucb_trial(path=tmp_path / "t.db").close()
    os.mkfifo(tmp_path / "u.db-wal", 0o600)
    (tmp_path / "u.db").write_bytes((tmp_path / "t.db").read_bytes())
    for path in ("t.db", "u.db"):
        for _ in range(3):
            with suppress(DamagedFile):
                Trial.load(tmp_path / path).close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_releases_are_numbered_from_one(clock: Clock) -> None:
    trial = Trial(policy("dp-imed", epsilon=1.0, first=1), 2, clock=clock)
    for unit in range(6):
        trial.assign(unit)
        trial.record(unit, 1.0)
    rows, _ = TABLES["releases"]
    numbers = [row["release"] for row in rows(trial.report())]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


@pytest.mark.parametrize(
    ("argument", "value"),
    [("missing", [1]), ("missing", 7.0), ("intervals", 3), ("intervals", "end")],
)
def test_errors_name_the_argument_that_was_given(argument: str, value: Any) -> None:
    options = {"deadline": "1 s", "missing": "estimate", argument: value}
    with pytest.raises(InvalidArgument, match=f"^{argument} must"):
        Trial(policy("dp-imed", epsilon=1.0), 2, **grouped(options))


@pytest.mark.parametrize("path", [5, None, [], object()])
def test_what_is_neither_a_path_nor_a_store_is_not_loaded(path: Any) -> None:
    with pytest.raises(InvalidArgument, match="path must be the file of a saved trial, or a store"):
        Trial.load(path)


def test_a_look_is_due_when_the_last_of_its_blocks_is(clock: Clock) -> None:
    race = identifier("race", epsilon=8.0)
    trial = Trial(race, 2, deadline=10.0, missing=0.0, clock=clock, risk=0.1, horizon=400)
    first = trial._run.marks[0]  # type: ignore[attr-defined]
    moments: dict[Any, list[float]] = {0: [], 1: []}
    for unit in range(2 * first + 8):
        assert trial.report()["next_release"] is None
        clock.now += 1.0 / 64.0
        moments[trial.assign(unit)].append(clock.now)
        if min(map(len, moments.values())) == first:
            break
    due = max(of_arm[first - 1] for of_arm in moments.values()) + 10.0
    report = trial.report()
    assert report["next_release"] == due
    assert [block["due"] for block in report["blocks"] or () if block["block"] == 1] == [due, due]
