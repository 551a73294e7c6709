"""Files of a trial: what they hold, who may read them, and which are refused."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from discreet.live.stores.format import BODY, VERSION, digest_of
from live_cases import ROWS, Clock, CountedNoise, batch_trial, klucb_trial, short_row

from discreet._compiled import Function
from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.live import Strata, Trial
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
    Trial(row, [1, "1"], path=path, _stored=Stored(2, False)).close()  # of before they were refused
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
    assert len(modes) == 3
    assert set(modes.values()) == {0o600}


def test_a_trial_is_open_only_once(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path):
        with pytest.raises(TrialError, match="already open"):
            Trial.load(path)
        script = f"import discreet; discreet.Trial.load({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert "already open" in done.stderr
    with Trial.load(path):
        pass


def test_a_trial_has_one_file(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        trial.save(path)
        with pytest.raises(TrialError, match="copied"):
            trial.save(tmp_path / "copy.json")
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


def rewritten(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """A snapshot that was changed by somebody who also made its digest fit."""

    def damage(path: Path) -> None:
        data = json.loads(path.read_text())
        change(data)
        body = {key: data.get(key) for key in BODY[VERSION]}
        path.write_text(json.dumps({**data, "digest": digest_of(body)}))

    return damage


def beside(path: Path, kind: str) -> Path:
    return next(path.parent.glob(f"{path.name}.{kind}*"))


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "foreign": (lambda p: p.write_text('{"format": "something else"}'), "not the file of a trial"),
    "not json": (lambda p: p.write_bytes(b"PK\x03\x04"), "not JSON"),
    "a list": (lambda p: p.write_text("[]"), "not the file of a trial"),
    "empty": (lambda p: p.write_bytes(b""), "not JSON"),
    "truncated": (lambda p: cut(p, 0.7), "not JSON"),
    "newer": (rewritten(lambda d: d.update(version=4)), "version 4 .* later version"),
    "a digit": (lambda p: p.write_text(p.read_text().replace('"t": 3', '"t": 4')), "digest"),
    "no state": (rewritten(lambda d: d.update(state=None)), "no state"),
    "no policy": (rewritten(lambda d: d["state"].pop("policy")), "policy"),
    "unknown row": (
        rewritten(lambda d: d["state"]["policy"]["recipe"].update(name="nobody")), "nobody",
    ),
    "other row": (
        rewritten(lambda d: d["state"]["policy"]["recipe"].update(alpha=1.0)), "another",
    ),
    "no view": (rewritten(lambda d: d["state"]["protocol"].pop("view")), "view"),
    "short view": (
        rewritten(lambda d: d["state"]["protocol"]["view"]["value"].pop()), "another shape",
    ),
    "strange arm": (
        lambda p: beside(p, "outcomes").write_text(
            beside(p, "outcomes").read_text().replace('"arm":', '"arm":9')
        ),
        "open block",
    ),
    "negative t": (rewritten(lambda d: d["state"]["protocol"].update(t=-1)), "its t"),
    "no range": (rewritten(lambda d: d["state"].pop("outcome_range")), "settings"),
    "bad range": (rewritten(lambda d: d["state"].update(outcome_range=[1, 0])), "settings"),
    "assignments gone": (lambda p: beside(p, "assignments").unlink(), "missing"),
    "assignments cut": (lambda p: cut(beside(p, "assignments"), 0.4), "truncated"),
    "assignments of another": (
        lambda p: beside(p, "assignments").write_text(
            '{"trial":"0123456789abcdef"}\n' + "x" * 500
        ),
        "belong",
    ),
    "assignments emptied": (lambda p: beside(p, "assignments").write_text(""), "truncated"),
    "line damaged": (
        lambda p: beside(p, "assignments").write_text(
            beside(p, "assignments").read_text().replace("[0,", "(0,", 1)
        ),
        "line 2 is damaged",
    ),
    "line twice": (
        lambda p: beside(p, "assignments").write_text(
            beside(p, "assignments").read_text()
            + beside(p, "assignments").read_text().splitlines()[-1]
            + "\n"
        ),
        "out of order",
    ),
    "outcomes gone": (lambda p: beside(p, "outcomes").unlink(), "missing"),
    "outcomes of another": (
        lambda p: beside(p, "outcomes").write_text('{"trial":"0","generation":9}\n'), "belong",
    ),
    "outcome of nobody": (
        lambda p: beside(p, "outcomes").open("a").write("[99,5]\n"), "outcomes since",
    ),
    "outcome is text": (
        lambda p: beside(p, "outcomes").open("a").write('["0",5]\n'), "damaged",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_trial_is_refused_and_left_alone(case: str, tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        for unit in range(3):
            trial.assign(unit)
            trial.record(unit, 0.5)
        trial.assign(3)
        while trial.status != "collecting":
            trial.record(3, 0.5)
    damage, message = DAMAGES[case]
    if case == "a digit" and '"t": 3' not in path.read_text():
        path.write_text(path.read_text().replace('"t": 2', '"t": 3'))
    damage(path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    for _ in range(2):  # the first refusal lets go of the lock
        with pytest.raises(DamagedFile, match=message):
            Trial.load(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_an_old_copy_of_the_snapshot_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        trial.assign("x")
        old = path.read_bytes()
        trial.record("x", 1.0)
    path.write_bytes(old)
    with pytest.raises(DamagedFile, match="missing"):
        Trial.load(path)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="saved trial"):
        Trial.load(tmp_path / "nothing.json")
    with pytest.raises(InvalidArgument, match="existing folder"):
        klucb_trial(path=tmp_path / "no" / "trial.db")
    assert not list(tmp_path.iterdir())


def test_assignments_of_a_lost_trial_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        trial.assign("x")
    path.unlink()
    with pytest.raises(InvalidArgument, match="another trial"):
        klucb_trial(path=path)
    assert "x" in beside(path, "assignments").read_text()


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
        row, ["A", "B"], contributions=2, window=6, path=None if saved_later else path
    )  # fmt: skip
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
