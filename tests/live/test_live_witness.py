"""An old copy of a trial never releases anything again: it adopts what its witness knows, or is
fenced."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from context_cases import BUDGETS, offers, trial_of
from live_cases import ROWS, Clock, CountedNoise, batch_trial, klucb_trial, short_row

import discreet
from discreet import Assignment
from discreet.errors import DamagedFile, Fenced, InvalidArgument, TrialError
from discreet.live import Strata, Trial
from discreet.live._arguments import grouped
from discreet.live.stores import SqliteStore
from discreet.live.stores import _copies as copies
from discreet.live.stores import _database as database
from discreet.live.stores._database import Database
from discreet.live.stores._witness import Witness, changed, changes

pytestmark = pytest.mark.usefixtures("no_sync")


class Stop(BaseException):
    """The process ends here."""


def step(trial: Trial, unit: object, outcome: float = 1.0) -> None:
    """One unit; without a deadline the last outcome of a block releases it."""
    trial.assign(unit)  # type: ignore[arg-type]
    trial.record(unit, outcome)  # type: ignore[arg-type]


def means(trial: Trial) -> list[tuple[int, float | None]]:
    return [(row["releases"], row["mean"]) for row in trial.report()["arms"] or ()]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def put_back(path: Path, data: bytes) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    path.unlink()
    path.write_bytes(data)


def lines_of(path: Path) -> list[dict[str, Any]]:
    text = Path(f"{path}.witness").read_text()
    return [json.loads(line.partition(" ")[2]) for line in text.splitlines()]


def check_fenced(trial: Trial, noise: CountedNoise, known: object) -> None:
    """Nothing is released, newcomers are refused, the report says so; who has an arm keeps it."""
    drawn = len(noise.drawn)
    assert trial.status == "fenced"
    assert trial.report()["fence"]
    assert "nothing is released" in str(trial)
    assert not trial.settle()
    assert trial.assign(known) in trial.arms  # type: ignore[arg-type]
    trial.record(known, 1.0)  # type: ignore[arg-type]
    with pytest.raises(Fenced, match=r"discreet trial fence FILE --stop"):
        trial.assign("newcomer")
    with pytest.raises(Fenced):
        trial.assign_many(["newcomer", "another"])
    assert "newcomer" not in trial
    assert len(noise.drawn) == drawn


# --- one line a release ---------------------------------------------------------------------------


def test_every_release_is_in_the_witness_before_it_is_stored(
    tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the moment of every commit the witness knows all draws; the planted late one is caught by
    the same check."""

    def follow(path: Path) -> list[tuple[int, int]]:
        found, run = [], Database.run

        def watched(base: Database, statement: str, values: Any = ()) -> Any:
            if statement == "COMMIT" and Path(f"{path}.witness").exists():
                found.append((len(noise.drawn), len(lines_of(path)) - 1))
            return run(base, statement, values)

        noise.drawn.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Database, "run", watched)
            with klucb_trial(path=path) as trial:
                for unit in range(6):
                    step(trial, unit)
        return found

    found = follow(tmp_path / "trial.db")
    assert found[-1][0] >= 3
    assert all(drawn == lines for drawn, lines in found)

    testify, late = Database.testify, list[str]()
    monkeypatch.setattr(Database, "testify", lambda base, text: late.append(text))
    clean = Database.clean

    def after(base: Database) -> None:
        clean(base)
        while late:
            base.begin()
            testify(base, late.pop())
            base.commit()

    monkeypatch.setattr(Database, "clean", after)
    found = follow(tmp_path / "late.db")
    assert any(drawn > lines for drawn, lines in found)


def test_a_line_says_what_changed_and_nothing_private(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    row = discreet.policy("dp-ucb", epsilon=1.0)
    with Trial(row, ["A", "B"], horizon=120, path=path) as trial:
        sizes = []
        for unit in range(120):
            step(trial, unit, 0.123456)
            sizes.append(Path(f"{path}.witness").stat().st_size)
        assert trial.report()["releases"] >= 100
    grown = [b - a for a, b in pairwise(sizes) if b > a]
    assert max(grown[-20:]) < 1.5 * max(grown[:20]), "a line must not grow with the trial"
    text = Path(f"{path}.witness").read_text()
    assert "0.123456" not in text
    assert str(round(0.123456 * 2**20)) not in text
    first, *lines = lines_of(path)
    assert first.keys() == {"witness", "trial"}
    names = {"number", "block", "before", "opens", "change", "noted", "trail", "ledger"}
    assert all(line.keys() == names for line in lines)
    assert all(set(json.loads(one)) <= {"what", "at", "block"} for one in lines[-1]["noted"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 0, "b": [1, 2]}, {"a": 0.0, "b": [1, 2, 3]}),
        ({"a": 0.0, "gone": 1}, {"a": -0.0, "new": {"x": []}}),
        ([[1, [2, 3]], {"k": None}], [[1, [2, 4], 5], {"k": True}]),
        ({"a": [1, 2, 3]}, {"a": [1]}),
        ({"a": [True]}, {"a": [1]}),
        ([1], {"a": 1}),
        ({"a": {"in": {}, "out": [], "is": 1}}, {"a": {"in": {"is": 2}, "at": {}, "on": []}}),
    ],
)
def test_changes_give_the_document_after_to_the_last_character(before: Any, after: Any) -> None:
    how = json.loads(json.dumps(changes(before, after)))
    found, untouched = changed(before, how), changed(before, changes(before, before))
    assert json.dumps(found, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert json.dumps(untouched) == json.dumps(before)
    with pytest.raises(DamagedFile, match="does not fit"):
        changed(7, {"in": {}, "out": []})


# --- scenarios ------------------------------------------------------------------------------------


def test_an_old_file_put_back_is_fenced(tmp_path: Path, noise: CountedNoise) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        trial.assign(1)
    old = path.read_bytes()
    with Trial.load(path) as trial:
        trial.record(1, 1.0)
        for unit in range(2, 6):
            step(trial, unit)
        newest, shown = path.read_bytes(), means(trial)
    put_back(path, old)
    with Trial.load(path) as trial:
        check_fenced(trial, noise, 1)
        assert "knows of" in trial.report()["fence"]
    for _ in range(2):  # the newest one again: it goes on, as if nothing had been
        put_back(path, newest)
        with Trial.load(path) as trial:
            assert means(trial) == shown
            assert trial.status != "fenced"


def test_an_old_file_that_lacks_one_release_adopts_it(tmp_path: Path, noise: CountedNoise) -> None:
    """It has all that the release was drawn from but for the outcome, and shows the same value."""
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        trial.assign(1)
    old = path.read_bytes()
    with Trial.load(path) as trial:
        trial.record(1, 1.0)
        shown, drawn = means(trial), list(noise.drawn)
    put_back(path, old)
    with Trial.load(path) as trial:
        trial.record(1, 0.0)
        assert means(trial) == shown
        assert noise.drawn == drawn
        step(trial, 2)  # and it goes on
        assert sum(count for count, _ in means(trial)) == 3
        assert len(lines_of(path)) == 4


def test_an_old_file_that_took_others_in_is_fenced(tmp_path: Path, noise: CountedNoise) -> None:
    """As many steps, another participant: the release of the witness was not drawn from this."""
    path, elsewhere = tmp_path / "trial.db", tmp_path / "there"
    elsewhere.mkdir()
    common = elsewhere / "witness"
    with klucb_trial(path=SqliteStore(path, witness=common)) as trial:
        step(trial, 0)
    shutil.copy(path, elsewhere / "trial.db")
    with Trial.load(path) as one, Trial.load(elsewhere / "trial.db") as other:
        one.assign("x")
        other.assign("y")
        one.record("x", 1.0)
        other.record("y", 1.0)
        assert means(one)[0][0] + means(one)[1][0] == 2
        check_fenced(other, noise, "y")
        step(one, "z")
        assert one.status != "fenced"


def test_of_a_folder_that_was_copied_one_goes_on(tmp_path: Path, noise: CountedNoise) -> None:
    folder, copy = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    with klucb_trial(path=folder / "trial.db") as trial:
        step(trial, 0)
        trial.assign(1)
    shutil.copytree(folder, copy)
    with Trial.load(copy / "trial.db") as other, Trial.load(folder / "trial.db") as one:
        check_fenced(other, noise, 1)
        assert "copied" in other.report()["fence"]
        one.record(1, 1.0)
        assert sum(count for count, _ in means(one)) == 2
        check_fenced(other, noise, 1)
    folder.rename(tmp_path / "c")  # as a whole, and on its disk: nothing was copied
    with Trial.load(tmp_path / "c" / "trial.db") as one:
        assert one.status != "fenced"
        step(one, 2)


def test_a_copy_that_is_restored_twice_gives_one_release(
    tmp_path: Path, noise: CountedNoise
) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        trial.assign(1)
        trial.assign(2)
    old = path.read_bytes()
    seen = set()
    for _ in range(3):
        put_back(path, old)
        with Trial.load(path) as trial:
            trial.record(1, 1.0)
            seen.add(str(means(trial)))
    assert len(seen) == 1
    assert len(noise.drawn) == 2
    assert len(lines_of(path)) == 3


@pytest.mark.parametrize(
    "how", ["deleted", "cut", "torn", "edited", "foreign", "put back", "empty"]
)
def test_a_witness_that_lost_or_changed_anything_fences(
    how: str, tmp_path: Path, noise: CountedNoise
) -> None:
    path, witness = tmp_path / "trial.db", tmp_path / "trial.db.witness"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        old = witness.read_bytes()
        for unit in range(1, 5):
            step(trial, unit)
        trial.assign(9)
    text = witness.read_bytes()
    if how == "deleted":
        witness.unlink()
    elif how == "put back":
        witness.unlink()
        witness.write_bytes(old)
    elif how == "foreign":
        with klucb_trial(path=tmp_path / "other.db") as trial:
            step(trial, 0)
        witness.write_bytes((tmp_path / "other.db.witness").read_bytes())
    else:
        lines = text.splitlines(keepends=True)
        kept = {
            "cut": b"".join(lines[:-1]),
            "torn": text[:-7],
            "edited": text.replace(b'"opens"', b'"Opens"', 1),
            "empty": b"",
        }
        witness.write_bytes(kept[how])
    with Trial.load(path) as trial:
        check_fenced(trial, noise, 9)
    if how == "deleted":
        assert not witness.exists()
        return
    if how not in ("put back",):
        witness.write_bytes(text)  # right again, in the same file
        with Trial.load(path) as trial:
            trial.record(9, 1.0)
            assert trial.status != "fenced"


def test_a_witness_that_goes_while_the_trial_is_open_fences(
    tmp_path: Path, noise: CountedNoise
) -> None:
    path, witness = tmp_path / "trial.db", tmp_path / "trial.db.witness"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        trial.assign(1)
        witness.rename(tmp_path / "away")
        check_fenced(trial, noise, 1)
        (tmp_path / "away").rename(witness)
        assert trial.settle()
        assert sum(count for count, _ in means(trial)) == 2


# --- a crash between witness and commit -----------------------------------------------------------


@pytest.fixture
def lost_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, the process ends at the first commit after a line was written."""
    testify = Database.testify

    def arm() -> None:
        def dies(base: Database, text: str) -> None:
            testify(base, text)
            monkeypatch.setattr(Database, "testify", testify)
            raise Stop

        monkeypatch.setattr(Database, "testify", dies)

    return arm


@pytest.mark.parametrize("again", ["same object", "loaded", "beside"])
def test_a_release_whose_commit_was_lost_is_adopted(
    again: str, tmp_path: Path, noise: CountedNoise, lost_commit: Callable[[], None]
) -> None:
    path = tmp_path / "trial.db"
    trial = klucb_trial(path=path)
    beside = Trial.load(path)
    step(trial, 0)
    assert means(beside) == means(trial)
    trial.assign(1)
    assert beside.assign(1) == trial.assign(1)
    lost_commit()
    with pytest.raises(Stop):
        trial.record(1, 1.0)
    assert len(noise.drawn) == 2
    if again == "loaded":
        trial.close()
        trial = Trial.load(path)
    found = beside if again == "beside" else trial
    shown = means(found)
    assert [count for count, _ in shown] == [1, 1]
    assert len(noise.drawn) == 2, "it was drawn again"
    (mean,) = [mean for _, mean in shown if mean != shown[0][1]]
    assert mean == pytest.approx(1.0 + noise.drawn[1] / 2**20, rel=1e-12)
    assert means(trial) == means(beside) == shown
    step(beside, 2)
    assert means(trial) == means(beside)
    assert len(lines_of(path)) == 4
    beside.close()
    trial.close()


def test_a_planted_redraw_is_caught(
    tmp_path: Path,
    noise: CountedNoise,
    lost_commit: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were the line taken for one of nobody, the block would be drawn again; the witness itself
    refuses that second line, and the noise is counted."""
    path = tmp_path / "trial.db"
    trial = klucb_trial(path=path)
    trial.assign(0)
    lost_commit()
    with pytest.raises(Stop):
        trial.record(0, 1.0)
    trial.close()
    monkeypatch.setattr(SqliteStore, "_adopt", lambda store, line: None)
    with Trial.load(path) as careless, pytest.raises(Fenced, match="knows of another release"):
        careless.settle()
    assert len(noise.drawn) == 2, "planted: it was drawn again"
    assert len(lines_of(path)) == 2
    monkeypatch.undo()
    monkeypatch.setattr(database, "SYNCHRONOUS", "OFF")
    with Trial.load(path) as trial:
        assert means(trial)[0][1] == pytest.approx(1.0 + noise.drawn[0] / 2**20, rel=1e-12)


def test_a_line_that_was_never_finished_is_written_over(
    tmp_path: Path, noise: CountedNoise
) -> None:
    path, witness = tmp_path / "trial.db", tmp_path / "trial.db.witness"
    with klucb_trial(path=path) as trial:
        step(trial, 0)
        trial.assign(1)
    with witness.open("ab") as file:
        file.write(b"0123abc {half a li")
    with Trial.load(path) as trial:
        trial.record(1, 1.0)
        assert sum(count for count, _ in means(trial)) == 2
    assert len(lines_of(path)) == 3
    with Trial.load(path) as trial:
        assert trial.status != "fenced"


SCRIPT = """
import os, signal, sys
import discreet
from discreet.live.stores._database import Database

testify = Database.testify

def dies(base, text):
    testify(base, text)
    os.kill(os.getpid(), signal.SIGKILL)

trial = discreet.Trial.load(sys.argv[1])
Database.testify = dies
trial.record("x", 1.0)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9")
def test_a_killed_process_leaves_a_release_that_is_adopted(
    tmp_path: Path, noise: CountedNoise
) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        trial.assign("x")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path)], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert len(lines_of(path)) == 2
    with Trial.load(path) as trial:
        assert means(trial)[0][0] == 1
        assert noise.drawn == []


def test_strata_adopt_whichever_of_them_is_asked(
    tmp_path: Path, noise: CountedNoise, lost_commit: Callable[[], None]
) -> None:
    path = tmp_path / "trial.db"
    row = discreet.policy("adap-klucb", epsilon=1.0)
    trial = Strata(
        row, ["men", "women"], ["A", "B"], path=path, assignment=Assignment(streams=False)
    )
    trial.assign("x", "women")
    lost_commit()
    with pytest.raises(Stop):
        trial.record("x", 1.0)
    trial.assign("y", "men")
    trial.record("y", 0.0)
    report = trial.report()
    assert [one["releases"] for one in report["strata"]] == [1, 1]
    assert len(noise.drawn) == 2
    trial.close()
    old = path.read_bytes()
    with Strata.load(path) as trial:
        assert trial.report() == report
        for unit in range(4):
            trial.assign(unit, "men")
            trial.record(unit, 1.0)
    put_back(path, old)
    with Strata.load(path) as trial:
        assert trial.status == "fenced"
        with pytest.raises(Fenced):
            trial.assign("z", "women")
        trial.fence()
        assert trial.status == "finished"


IDENTIFY = {"risk": 0.1}
ADOPTING: dict[str, Callable[..., Trial]] = {
    **{
        name: partial(batch_trial, short_row(name), ["A", "B", "C"], horizon=40) for name in ROWS
    },
    "streams": partial(Trial, discreet.policy("dp-imed", epsilon=1.0), ["A", "B"]),
    "pairs": partial(
        Trial, discreet.policy("dp-imed", epsilon=1.0, ratio=1.5, first=2), ["A", "B"],
        deadline=3.0, missing="estimate",
    ),
    "epochs": partial(
        Trial, discreet.policy("dp-imed", epsilon=1.0, ratio=1.5, first=2), ["A", "B"],
        assignment=Assignment(trend=True, window=6), deadline=3.0, missing=0.0,
    ),
    "race": partial(
        Trial, discreet.policy("race", epsilon=1.0), ["A", "B"], horizon=24, **IDENTIFY
    ),
    "top two": partial(
        Trial, discreet.policy("adap-tt", epsilon=1.0), ["A", "B"],
        assignment=Assignment(window=2), **IDENTIFY,
    ),
    **{name: partial(trial_of, name, horizon=40) for name in BUDGETS},
}  # fmt: skip
"""A trial of every kind of run, by every policy that a trial accepts."""


@pytest.mark.parametrize("kind", ADOPTING)
def test_whatever_is_adopted_is_what_was_drawn(
    kind: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit of a release is lost once. What is stored in its place is the same, to the last
    character, and the trial goes on."""
    states: list[str] = []
    replace, testify = SqliteStore._replace, Database.testify

    def watched(store: SqliteStore, block: str | None, state: Any, opens: str | None) -> None:
        if block is not None and not store._base.is_gathering:
            states.append(json.dumps([block, state, opens], sort_keys=True))
        replace(store, block, state, opens)

    def dies(base: Database, text: str) -> None:
        testify(base, text)
        raise Stop

    monkeypatch.setattr(SqliteStore, "_replace", watched)
    monkeypatch.setattr(Database, "testify", dies)
    features = offers(40, 1)
    options: dict[str, Any] = {} if kind not in ("pairs", "epochs") else {"clock": clock}
    trial = ADOPTING[kind](path=tmp_path / "trial.db", **options)

    def until_it_goes_on(call: Callable[[], Any]) -> Any:
        for _ in range(10):
            with suppress(Stop):
                return call()
        raise AssertionError("the trial does not go on")

    def play(unit: int) -> None:
        actions = features[unit] if kind in BUDGETS else None
        until_it_goes_on(lambda: trial.assign(unit, actions))
        until_it_goes_on(lambda: trial.record(unit, 0.25))
        clock.now += 1.0

    with suppress(TrialError):  # it may stop before
        for unit in range(40):
            play(unit)
    report = until_it_goes_on(trial.report)
    trial.close()
    assert states[::2] == states[1::2]
    assert len(states) == 2 * (len(lines_of(tmp_path / "trial.db")) - 1)
    if kind != "dp-se":  # whose first epoch is longer
        assert len(states) >= 4, "too few releases to be a test"
    with Trial.load(tmp_path / "trial.db", clock=options.get("clock")) as again:
        assert until_it_goes_on(again.report) == report


# --- backups, moves, the end of a fence -----------------------------------------------------------


def test_a_backup_is_read_and_never_goes_on(tmp_path: Path, noise: CountedNoise) -> None:
    path, backup, restored = (tmp_path / name for name in ("trial.db", "backup.db", "again.db"))
    with klucb_trial(path=path) as trial:
        for unit in range(4):
            step(trial, unit, 0.123456)
        trial.assign(9)
        trial.backup(backup)
        shown, arms = means(trial), [trial.assign(unit) for unit in range(4)]
        with pytest.raises(InvalidArgument):
            trial.backup(backup)
        trial.record(9, 1.0)
        assert trial.status != "fenced"
    for _ in range(2):
        Trial.restore(backup, restored)
        with Trial.load(restored) as copy:
            assert means(copy) == shown
            assert [copy.assign(unit) for unit in range(4)] == arms
            check_fenced(copy, noise, 9)
            copy.fence()
            assert copy.status == "finished"
            assert means(copy) == shown
            with pytest.raises(TrialError, match="was ended"):
                copy.assign("newcomer")
        with Trial.load(restored) as copy:
            assert copy.status == "finished"
            copy.record(9, 1.0)
            assert means(copy) == shown
        restored.unlink()
    with pytest.raises(InvalidArgument, match=r"discreet trial backup FILE TO"):
        Trial.restore(path, restored)
    with klucb_trial() as memory, pytest.raises(TrialError, match=r"save\(path\)"):
        memory.backup(tmp_path / "no.db")
    assert not (tmp_path / "no.db").exists()


@pytest.mark.parametrize("what", ["backup", "fence"])
def test_nothing_private_is_left_in_a_backup_or_behind_a_fence(
    what: str, tmp_path: Path, keys: Any, clock: Clock
) -> None:
    """Neither a key under which anything was sealed before, nor an outcome under the new ones."""
    folder = tmp_path / "there"
    folder.mkdir()
    path = folder / "trial.db"
    options: dict[str, Any] = {"deadline": 9.0, "missing": 0.0, "clock": clock}
    row = discreet.policy("dp-imed", epsilon=1.0)
    with Trial(row, ["A", "B"], path=tmp_path / "trial.db", **grouped(options)) as trial:
        for unit in range(12):
            step(trial, unit, 0.5)
            clock.now += 1.0
        before = list(keys.made)
        open_blocks = len(trial._store.blocks)
        assert open_blocks
        if what == "backup":
            trial.backup(path)
        places = {key: list(block.places) for key, block in trial._store.blocks.items()}
    if what == "fence":
        shutil.copy(tmp_path / "trial.db", path)
    with Trial.load(path, clock=clock) as copy:
        if what == "fence":
            copy.fence()
            assert copy.status == "finished"
        blocks = copy._store.blocks
        with copy._store.held():
            assert {key: list(block.places) for key, block in blocks.items()} == places
            assert not any(block.outcomes for block in blocks.values())
        assert set(copy._store.state["protocol"]["ledger"]) == set(copy._run.secret())
    data = b"".join(files(folder).values())
    assert not [key for key in before if key in data]


def test_private_features_are_blank_in_a_backup(tmp_path: Path) -> None:
    path, backup = tmp_path / "trial.db", tmp_path / "backup.db"
    with trial_of("jdp-linucb", path=path, deadline="1 day", missing=0.0) as trial:
        trial.assign("x", [[0.625, 0.0, 0.0], [0.0, 0.625, 0.0]])
        trial.record("x", 0.5)
        trial.backup(backup)
        open_places = [len(block.places) for block in trial._store.blocks.values()]
        assert sum(open_places) == 1
    with Trial.load(backup) as copy:
        assert copy.status == "fenced"
        blocks = list(copy._store.blocks.values())
        assert [len(block.places) for block in blocks] == open_places
        assert all(not any(place.action or ()) for block in blocks for place in block.places)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_trial_is_moved_with_its_witness(
    elsewhere: bool, tmp_path: Path, noise: CountedNoise
) -> None:
    path, to = tmp_path / "trial.db", tmp_path / "there" / "new.db"
    to.parent.mkdir()
    witness = tmp_path / "w" if elsewhere else None
    with klucb_trial(path=SqliteStore(path, witness=witness)) as trial:
        step(trial, 0)
        trial.assign(1)
        shown = means(trial)
    old = path.read_bytes()
    Trial.move(path, to)
    names = {"new.db"} if elsewhere else {"new.db", "new.db.witness"}
    assert {p.name for p in to.parent.iterdir()} == names
    assert {p.name for p in tmp_path.iterdir()} == ({"there", "w"} if elsewhere else {"there"})
    with Trial.load(to) as trial:
        assert means(trial) == shown
        trial.record(1, 1.0)
        step(trial, 2)
        assert sum(count for count, _ in means(trial)) == 3
    path.write_bytes(old)  # a copy of before
    with Trial.load(path) as trial:
        check_fenced(trial, noise, 1)
    with pytest.raises(Fenced, match="stays where it is"):
        Trial.move(path, tmp_path / "third.db")
    with pytest.raises(InvalidArgument, match="new file"):
        Trial.move(path, to)


CUTS = {"witness": (copies.Witness, "written"), "commit": (copies, "sync_folder"),
        "file": (copies, "_write_whole"), "end": (copies, "_remove")}  # fmt: skip
"""Where a move ends too early: before that."""


@pytest.mark.parametrize("cut", CUTS)
def test_a_move_that_was_cut_short_leaves_one_trial(
    cut: str, tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the commit the old one goes on; after it nobody does with the old file, who has it
    open neither. Called again it goes to its end."""
    path, to = tmp_path / "trial.db", tmp_path / "new.db"
    trial = klucb_trial(path=path)
    step(trial, 0)
    trial.assign(1)

    def dies(*arguments: object, **options: object) -> None:
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(*CUTS[cut], dies)
        with pytest.raises(Stop):
            Trial.move(path, to)
    if cut in ("witness", "commit"):
        trial.record(1, 1.0)
        assert sum(count for count, _ in means(trial)) == 2
    else:
        check_fenced(trial, noise, 1)
    trial.close()
    Trial.move(path, to)
    assert {p.name for p in tmp_path.iterdir()} == {"new.db", "new.db.witness"}
    with Trial.load(to) as moved:
        moved.record(1, 1.0)
        step(moved, 2)
        assert sum(count for count, _ in means(moved)) == 3
    with pytest.raises(InvalidArgument, match="lie beside a trial"):
        Trial.move(to, tmp_path / "x.witness")


def test_a_fence_ends_only_what_is_fenced(tmp_path: Path) -> None:
    with klucb_trial(path=tmp_path / "trial.db") as trial:
        step(trial, 0)
        with pytest.raises(TrialError, match=r"not fenced.*stop\(\)"):
            trial.fence()
    with pytest.raises(InvalidArgument, match="new file in an existing folder"):
        klucb_trial(path=SqliteStore(tmp_path / "b.db", witness=tmp_path / "trial.db.witness"))
    assert not (tmp_path / "b.db").exists()
    (tmp_path / "trial.db").unlink()
    with pytest.raises(InvalidArgument, match="put its trial back"):
        klucb_trial(path=tmp_path / "trial.db")


def test_two_writers_of_one_witness_cannot_both_append(tmp_path: Path) -> None:
    one, first = Witness.make(tmp_path / "w", "name")
    other = Witness(tmp_path / "w", "name", one.file)
    second = one.append('{"x": 1}', first.end, first.chain)
    with pytest.raises(Fenced, match="nothing was released"):
        other.append('{"x": 2}', first.end, first.chain)
    assert other.append('{"x": 3}', second.end, second.chain).end > second.end
    assert one.look(first.end, first.chain)[1][0] == second
    os.unlink(tmp_path / "w")
    with pytest.raises(TrialError, match="could not be written"):
        one.append("{}", second.end, second.chain)
    assert one.look(second.end, second.chain)[0].endswith("is not there")
