"""A beat: many steps, one commit, and nothing half-done."""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from discreet import Outcomes, Strata, Trial, policy
from discreet.errors import InvalidArgument, TrialError
from discreet.live.stores import SqliteStore
from discreet.live.stores._database import Database
from discreet.serve._beat import Ask, Assign, Lookup, NotStored, Outcome, Quiet, play
from discreet.serve._engine import Engine, Files
from discreet.serve._writer import Writer


def trial_at(path: Path, now: list[float], **more: Any) -> Trial:
    return Trial(
        policy("dp-imed", epsilon=1.0, ratio=1.5), ["A", "B"], deadline=10.0, missing=0.0,
        outcomes=Outcomes(conflicts="ignore"), path=path, clock=lambda: now[0], **more,
    )  # fmt: skip


def commits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    real = Database.run

    def run(self: Database, statement: str, values: Any = ()) -> Any:
        if statement == "COMMIT" or statement.startswith("UPDATE beats"):
            found.append(statement[:6])
        return real(self, statement, values)

    monkeypatch.setattr(Database, "run", run)
    return found


@pytest.mark.parametrize(
    "steps",
    [
        [Assign("p")], [Lookup("p")], [Assign("known")], [Outcome("known", 1.0)],
        [Outcome("stranger", 1.0)], [Assign("known"), Outcome("known", 1.0)],
        [Outcome("known", 0.0), Assign("q"), Outcome("other", 1.0), Lookup("stranger")],
    ],
)  # fmt: skip
def test_one_commit_and_one_head_whatever_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[Any]
) -> None:
    with trial_at(tmp_path / "t.db", [0.0]) as trial:
        play(trial, [Assign("known"), Assign("other")])
        found = commits(monkeypatch)
        play(trial, steps)
        assert found == ["UPDATE", "COMMIT"]


def test_a_beat_is_what_single_calls_are(tmp_path: Path) -> None:
    """The same participants and outcomes: the same counts, and every outcome where it belongs."""
    now, world = [0.0], random.Random(1)
    with trial_at(tmp_path / "t.db", now) as trial:
        arms: dict[str, Any] = {}
        for beat in range(30):
            now[0] = float(beat)
            units = [f"p{beat}-{i}" for i in range(world.randrange(6))]
            steps: list[Any] = [Assign(unit) for unit in units]
            steps += [Outcome(unit, float(world.random() < 0.5)) for unit in units]
            steps += [Assign(unit) for unit in units]
            found = play(trial, steps)
            assert found[: len(units)] == found[-len(units) :] if units else True
            arms |= dict(zip(units, found, strict=False))
        report = trial.report()
        assert report["assigned"] == len(arms)
        assert [row["assigned"] for row in report["arms"] or ()] == [
            sum(arm == name for arm in arms.values()) for name in ("A", "B")
        ]
    with Trial.load(tmp_path / "t.db", clock=lambda: now[0]) as again:
        assert {unit: again.assign(unit) for unit in arms} == arms
        now[0] = 100.0
        assert again.report()["releases"] > 0


def test_refusals_stand_alone(tmp_path: Path) -> None:
    with trial_at(tmp_path / "t.db", [0.0], horizon=2) as trial:
        found = play(trial, [Assign("a"), Outcome("a", 7.0), Assign("b"), Assign("c"),
                             Outcome("nobody", 1.0), Assign("a", None, "men")])  # fmt: skip
        assert found[0] in ("A", "B")
        assert isinstance(found[1], InvalidArgument)
        assert found[2] in ("A", "B")
        assert type(found[3]) is TrialError
        assert found[4] is None
        assert isinstance(found[5], InvalidArgument)
        assert trial.assign("a") == found[0]


@pytest.mark.parametrize("at", range(12))
def test_a_write_that_fails_takes_the_beat_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A disk that is full at any statement: nobody is told of an arm, and nothing is stored."""
    trial = trial_at(tmp_path / "t.db", [0.0])
    play(trial, [Assign("known")])
    real, left = Database.run, [at]

    def run(self: Database, statement: str, values: Any = ()) -> Any:
        if statement.startswith(("INSERT", "UPDATE", "COMMIT")):
            left[0] -= 1
            if left[0] < 0:
                raise TrialError(f"{self.path} could not be written or read: disk full")
        return real(self, statement, values)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "run", run)
        found = play(trial, [Assign("p"), Outcome("p", 1.0), Assign("q"), Outcome("known", 1.0)])
    if left[0] >= 0:
        pytest.fail("nothing failed")
    assert all(isinstance(one, NotStored) for one in found)
    trial.close()
    with Trial.load(tmp_path / "t.db", clock=lambda: 0.0) as again:
        assert again.report()["assigned"] == 1
        assert "p" not in again
        assert isinstance(again._store, SqliteStore)
        assert sum(len(block.outcomes) for block in again._store.blocks.values()) == 0


def test_an_outcome_alone_releases_nothing(tmp_path: Path) -> None:
    now = [0.0]
    with trial_at(tmp_path / "t.db", now) as trial:
        play(trial, [Assign(f"p{i}") for i in range(60)])
        now[0] = 20.0
        play(trial, [Outcome("p1", 1.0)])
        assert sum(trial._run.releases) == 0
        play(trial, [Lookup("p1")])
        assert sum(trial._run.releases) > 0


def test_strata_have_a_commit_each_in_every_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = policy("dp-imed", epsilon=1.0)
    with Strata(row, ["m", "w"], ["A", "B"], deadline="1 day", missing=0.0,
                path=tmp_path / "t.db") as trials:  # fmt: skip
        play(trials, [Assign("p", None, "m"), Assign("q", None, "w")])
        found = commits(monkeypatch)
        play(trials, [Outcome("p", 1.0)])
        play(trials, [Outcome("nobody", 1.0)])
        assert found == ["UPDATE", "COMMIT"] * 4


def test_local_policies_draw_once(tmp_path: Path) -> None:
    row = policy("ldp-ucb-b", epsilon=1.0)
    with Trial(row, ["A", "B"], outcomes=Outcomes(conflicts="ignore"), path=tmp_path / "t.db") as t:
        units = [f"p{i}" for i in range(20)]
        play(t, [Assign(unit) for unit in units])
        play(t, [Outcome(unit, 1.0) for unit in units] * 2)
        assert t.report()["assigned"] == 20


def test_calls_of_which_nobody_hears(tmp_path: Path) -> None:
    with trial_at(tmp_path / "t.db", [0.0]) as trial:
        found = play(trial, [Quiet("withdraw", ("p",)), Ask(lambda t: 1 / 0)])
        assert found[0] is None
        assert isinstance(found[1], ZeroDivisionError)


def test_answers_come_on_the_beat(tmp_path: Path) -> None:
    """Whatever a beat does, its answers come together, at a tick of the grid."""
    beat = 0.05

    async def main() -> list[float]:
        engine = Engine(Files(tmp_path))
        writer = Writer(engine, beat)
        loop = asyncio.get_running_loop()
        writer.start()
        moments = []
        for _ in range(6):
            await writer.call(lambda: None)
            moments.append(loop.time())
        await writer.stop()
        return moments

    moments = asyncio.run(main())
    assert all(moment % beat < 0.6 * beat for moment in moments)
    gaps = [b - a for a, b in pairwise(moments)]
    assert all(gap > 0.5 * beat for gap in gaps)


def test_engines_close_what_was_used_longest_ago(tmp_path: Path) -> None:
    from discreet._plans import planned

    engine = Engine(Files(tmp_path), most=2)
    plan = {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"]}
    for name in "abc":
        engine.make(("t", name), planned(plan))
    arms = {name: engine.play(("t", name), [Assign("p")])[0] for name in "abc"}
    assert len(engine._open) == 2
    assert {name: engine.play(("t", name), [Lookup("p")])[0] for name in "abc"} == arms
    assert isinstance(engine.play(("t", "none"), [Assign("p")])[0], NotStored)
    engine.close()
    assert not engine._open
