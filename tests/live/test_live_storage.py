"""Files of a trial: what they hold, who may read them, and which are refused."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_cases import ROWS, Clock, CountedNoise, batch_trial, damaged, klucb_trial, short_row

from discreet import Assignment, Outcomes
from discreet._compiled import Function
from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.live import Strata, Trial
from discreet.live._arguments import ungrouped
from discreet.live._randomness import SystemRandomness
from discreet.live._terms import Stored
from discreet.policies import AdaPKLUCB, ForgetLaplace, Geometric, Policy, policy
from discreet.policies._rules import Rule
from discreet.policies._view import View

pytestmark = pytest.mark.usefixtures("no_sync")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_runs_with_secure_noise_and_goes_on_after_a_reload(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "trial.db"
    row = short_row(name)
    trial = batch_trial(row, ["A", "B", "C"], horizon=60, path=path)
    for unit in range(60):
        arm = trial.assign(unit)
        assert arm in trial.arms
        if unit % 7 == 3:
            before = trial.report()
            trial.close()
            trial = Trial.load(path)
            assert trial.report() == before
            assert trial.assign(unit) == arm
            assert trial.policy == row
            assert trial.guarantee.budget == row.release.budget
        trial.record(unit, 0.5 + 0.2 * (arm == "B"))
    report = trial.report()
    assert report["status"] == "finished"
    assert report["rounds"] == 60
    if name != "dp-se":  # whose first epoch is longer
        assert report["releases"] > 1
    json.dumps(report)
    trial.close()


def test_a_deadline_survives_a_reload(tmp_path: Path, clock: Clock, noise: CountedNoise) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(deadline=50.0, clock=clock, missing=0.25, path=path) as trial:
        trial.assign("x")
        trial.assign("visitor")
        due = trial.report()["batch"]["due"]
    clock.now += 49.0
    with Trial.load(path, clock=clock) as trial:
        assert trial.report()["batch"]["due"] == due == 1050.0
        assert trial.status == "settling"
        trial.record("visitor", 1.0)
    clock.now += 1.0
    with Trial.load(path, clock=clock) as trial:
        assert trial.settle()
        mean = trial.report()["arms"][0]["mean"]
        assert mean == pytest.approx(0.25 + noise.drawn[0] / 2**20, rel=1e-12)
        assert trial.assign("visitor") == "A"
        assert trial.report()["assigned"] == 2


def test_names_keep_their_type(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(arms=["1", 2], path=path) as trial:
        arms = [trial.assign(1)]
        trial.record(1, 1.0)
        arms += [trial.assign("1"), trial.assign("\u00e9\n\ud800")]
    with Trial.load(path) as trial:
        assert [trial.assign(unit) for unit in (1, "1", "\u00e9\n\ud800")] == arms == ["1", 2, 2]
        assert trial.report()["assigned"] == 3


def test_names_that_read_alike_are_refused(tmp_path: Path) -> None:
    """They would be one in the course, in tables, and for `discreet trial drop`."""
    row = policy("dp-imed", epsilon=1.0)
    for refused in (
        lambda: Trial(row, [1, "1"]),
        lambda: klucb_trial(arms=["A", 0, "0"]),
        lambda: Trial(row, 2).add("1"),
        lambda: Strata(row, ["1", 1], 2),
    ):
        with pytest.raises(InvalidArgument, match=r"read differently.*rename one"):
            refused()
    path = tmp_path / "trial.db"
    made, asked = Trial.__new__(Trial), {"horizon": None, "risk": None, **ungrouped({})}
    made._set_up(row, [1, "1"], path, None, asked, Stored(2, False))  # of before they were refused
    made.close()
    with Trial.load(path) as trial:
        assert trial.assign("x") in (1, "1")


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with klucb_trial(path=tmp_path / "trial.db") as trial:
            trial.assign("x")
            trial.record("x", 1.0)
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {"trial.db": 0o600, "trial.db.witness": 0o600}


def test_a_trial_may_be_open_many_times(tmp_path: Path) -> None:
    """In one process and in others: each goes on where the others are."""
    path = tmp_path / "trial.db"
    script = (
        f"import discreet; trial = discreet.Trial.load({str(path)!r}); "
        "print(trial.assign('x'), trial.assign('y'), trial.assign('z'))"
    )
    with klucb_trial(path=path) as one, Trial.load(path) as other:
        arm = one.assign("x")
        assert other.assign("x") == arm
        other.record("x", 1.0)
        assert one.report() == other.report()
        assert one.report()["releases"] == 1
        second = one.assign("y")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        third = other.assign("z")
        assert done.stdout.split() == [arm, second, third]
        assert one.report()["assigned"] == other.report()["assigned"] == 3


def test_a_trial_has_one_file(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        trial.save(path)
        with pytest.raises(TrialError, match="copied"):
            trial.save(tmp_path / "copy.db")
    with pytest.raises(InvalidArgument, match=r"Trial.load"):
        klucb_trial(path=path)
    assert not list(tmp_path.glob("copy*"))


def test_a_trial_saved_midway_stays_bound_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    trial = klucb_trial()
    for unit in range(5):
        trial.assign(unit)
        trial.record(unit, 1.0)
    trial.save(path)
    for unit in range(5, 20):
        trial.assign(unit)
        trial.record(unit, 1.0)
    report, arms = trial.report(), [trial.assign(unit) for unit in range(20)]
    trial.close()
    with Trial.load(path) as loaded:
        assert loaded.report() == report
        assert [loaded.assign(unit) for unit in range(20)] == arms


def test_contributions_are_not_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    trial = klucb_trial(contributions=3)
    for _ in range(2):
        trial.assign("x")
        trial.record("x", 1.0)
    trial.assign("x")
    trial.save(path)
    for _ in range(3):
        trial.close()
        trial = Trial.load(path)
        trial.record("x", 1.0)
        trial.assign("x")
    assert trial.rounds == 3
    trial.close()


# --- rows that users compose ---------------------------------------------------------------------


def choose_first(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    return 0


@dataclass(frozen=True)
class First(Rule):
    """Always the same arm."""

    taste: float = 1.0
    name: ClassVar[str] = "first"
    choose: ClassVar[Function] = staticmethod(choose_first)


def test_a_composed_row_must_be_passed_again_and_be_the_same(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    row = Policy("mine", Geometric(1.5), ForgetLaplace(0.5), First())
    klucb = replace(row, rule=AdaPKLUCB(2.0))
    with batch_trial(row, 2, path=path) as trial:
        trial.assign("x")
    with pytest.raises(InvalidArgument, match="pass the same composed row"):
        Trial.load(path)
    for other in (klucb, replace(row, rule=First(2.0)), replace(row, schedule=Geometric(1.6))):
        with pytest.raises(InvalidArgument, match="'mine'"):
            Trial.load(path, policy=other)
    with Trial.load(path, policy=Policy("mine", Geometric(1.5), ForgetLaplace(0.5), First())) as t:
        assert t.assign("x") == 0


def test_a_changed_row_of_the_catalogue_counts_as_composed(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    row = replace(policy("adap-klucb", epsilon=1.0), release=ForgetLaplace(0.25))
    with batch_trial(row, 2, path=path) as trial:
        assert trial.guarantee.budget.to_dict()["epsilon"] == 0.25
    with pytest.raises(InvalidArgument, match="composed"):
        Trial.load(path)
    Trial.load(path, policy=row).close()


# --- files that cannot be trusted ----------------------------------------------------------------


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def rewritten(
    column: str, change: Callable[[Any], Any], table: str = "trials"
) -> Callable[[Path], None]:
    """A document of the trial that somebody has changed by hand."""

    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as file:
            (text,) = file.execute(f"SELECT {column} FROM {table}").fetchone()
            data = json.loads(text)
            change(data)
            file.execute(f"UPDATE {table} SET {column} = ?", (json.dumps(data),))
            file.commit()

    return damage


def changed(statement: str) -> Callable[[Path], None]:
    return lambda path: damaged(path, statement)


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "an old trial": (lambda p: p.write_text('{"format": "discreet trial"}'), "before there was"),
    "not a database": (lambda p: p.write_bytes(b"PK\x03\x04"), "foreign"),
    "foreign": (changed("PRAGMA application_id = 5"), "not the file of a trial"),
    "truncated": (lambda p: cut(p, 0.4), "damaged"),
    "overwritten": (lambda p: p.write_bytes(p.read_bytes()[:100] + b"x" * 60_000), "damaged"),
    "newer": (changed("PRAGMA user_version = 4"), "version 4 .* later version"),
    "no table": (changed("DROP TABLE heads"), "no such table"),
    "no trial": (changed("DELETE FROM heads"), "holds no trial"),
    "no state": (changed("UPDATE trials SET settings = '[]'"), "settings"),
    "not json": (changed("UPDATE trials SET public = '{'"), "state of the run"),
    "no policy": (rewritten("settings", lambda d: d.pop("policy")), "policy"),
    "unknown row": (
        rewritten("settings", lambda d: d["policy"]["recipe"].update(name="nobody")), "nobody",
    ),
    "other row": (
        rewritten("settings", lambda d: d["policy"]["recipe"].update(alpha=1.0)), "another",
    ),
    "no head": (rewritten("moved", lambda d: d.update(head=0), "heads"), "lacks its streams"),
    "short head": (
        rewritten("moved", lambda d: d["head"]["value"].pop(), "heads"), "another shape",
    ),
    "strange arm": (rewritten("public", lambda d: d.update(arm=9)), "open block"),
    "negative count": (
        rewritten("moved", lambda d: d["head"]["at"].__setitem__(0, -1), "heads"), "counts",
    ),
    "no range": (rewritten("settings", lambda d: d.pop("outcome_range")), "settings"),
    "bad range": (rewritten("settings", lambda d: d.update(outcome_range=[1, 0])), "settings"),
    "another's ledger": (changed("UPDATE keys SET key = zeroblob(32)"), "state of the run"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_trial_is_refused(case: str, tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        for unit in range(3):
            trial.assign(unit)
            trial.record(unit, 0.5)
        trial.assign(3)
    damage, message = DAMAGES[case]
    damage(path)
    for _ in range(2):
        with pytest.raises((DamagedFile, TrialError), match=message):
            Trial.load(path)


def test_a_block_that_lacks_a_place_is_not_released(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path, deadline=5.0, clock=clock) as trial:
        trial.assign("x")
    damaged(path, "DELETE FROM pending")
    clock.now += 9.0
    with Trial.load(path, clock=clock) as trial, pytest.raises(DamagedFile, match="lacks one"):
        trial.settle()


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="saved trial"):
        Trial.load(tmp_path / "nothing.db")
    with pytest.raises(InvalidArgument, match="existing folder"):
        klucb_trial(path=tmp_path / "no" / "trial.db")
    assert not list(tmp_path.iterdir())


def test_the_log_of_a_lost_trial_is_not_overwritten(tmp_path: Path) -> None:
    path, log = tmp_path / "trial.db", tmp_path / "trial.db-wal"
    with klucb_trial(path=path) as trial:
        trial.assign("x")
        left = log.read_bytes()
    path.unlink()
    log.write_bytes(left)
    with pytest.raises(InvalidArgument, match="another trial"):
        klucb_trial(path=path)
    assert log.read_bytes() == left


# --- units with several places --------------------------------------------------------------------


@pytest.mark.parametrize("saved_later", [False, True])
def test_of_several_places_the_latest_counts_after_a_reload_too(
    saved_later: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit has a place in a block that waits and a later one in a block that is released: it
    keeps the arm of the latter, and an outcome for it is no outcome of the former."""
    monkeypatch.setattr(SystemRandomness, "below", lambda self, number: 0)  # A, A, A, B, ...
    path, row = tmp_path / "trial.db", policy("adap-klucb", epsilon=1.0)
    trial = Trial(
        row,
        ["A", "B"],
        path=None if saved_later else path,
        outcomes=Outcomes(contributions=2),
        assignment=Assignment(window=6),
    )
    for unit, arm, outcome in (("x", "A", 0), ("x", "A", 1), ("y", "A", 0.25), ("y", "B", 0.5)):
        assert trial.assign(unit) == arm
        trial.record(unit, outcome)
    assert list(trial._store.blocks) == ["0-3"], "the second place of y is released"
    assert trial.assign("y") == "B"
    if saved_later:
        trial.save(path)
    trial.close()
    with Trial.load(path) as loaded:
        assert loaded.assign("y") == "B"
        loaded.record("y", 0.75)  # dropped: its block is released
        assert loaded._store.blocks["0-3"].outcomes == {0: 1 << 18}
        assert loaded.report()["rounds"] == 4
