"""Live trials with contexts: every day, bad input, crashes, and what is kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from context_cases import BUDGETS, offers, play, trial_of
from live_cases import Clock, keys_in_use, open_block, pending_in
from live_disk import THOROUGH, WORLDS, Crash, Disk, off_disk, on_disk
from test_live_crashes import is_a_trial

import discreet
import discreet.linear as linear
from discreet import Features
from discreet.errors import (
    ConflictingOutcome,
    InvalidArgument,
    UnknownUnit,
    UnsupportedBudget,
)
from discreet.live._arguments import grouped
from discreet.live._contexts import serves
from discreet.privacy import ZCDP, GaussianDP


def test_the_estimates_are_those_of_the_estimate_in_the_report() -> None:
    trial = trial_of(horizon=100)
    play(trial, offers(60, seed=1))
    rows = offers(1, seed=2)[0]
    theta = np.array(trial.report()["estimate"])
    found = trial.estimates(rows.tolist())
    assert [row["arm"] for row in found] == ["A", "B"]
    assert [row["mean"] for row in found] == pytest.approx((rows @ theta).tolist())
    shown = trial.report()["ellipsoid"]
    inverse = np.array(shown["inverse"]).reshape(len(theta), -1)
    widths = [shown["radius"] * math.sqrt(row @ inverse @ row) for row in rows]
    assert [row["width"] for row in found] == pytest.approx(widths)


# --- every day ------------------------------------------------------------------------------------


def test_whoever_arrives_while_an_episode_settles_is_served_but_not_used() -> None:
    trial = trial_of()
    actions = [[0.9, 0.0, 0.0], [0.0, 0.9, 0.0]]
    first = trial.assign("x", actions)
    assert trial.status == "settling"
    before = trial._run.view.to_dict()
    assert trial.assign("visitor", actions) == first
    trial.record("visitor", 1.0)
    assert trial.rounds == 1
    assert trial._run.view.to_dict() == before
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 1
    assert trial.assign("visitor") == first
    assert trial.assign("x") == first


def test_a_deadline_releases_with_the_default(clock: Clock) -> None:
    trial = trial_of(deadline=5.0, missing=-1.0, clock=clock)
    actions = [[0.9, 0.0, 0.0], [0.0, 0.9, 0.0]]
    trial.assign("x", actions)
    assert trial.report()["batch"]["due"] == clock.now + 5.0
    trial.record("x", 1.0)
    assert not trial.settle()
    clock.now += 5.0
    assert trial.settle()
    assert trial.report()["releases"] == 1


def test_contributions_are_covered_by_the_guarantee() -> None:
    trial = trial_of(contributions=2)
    assert trial.guarantee.budget == ZCDP(2.0)  # k² ρ for groups of k
    actions = offers(40, seed=9)
    for number in range(0, 40, 2):
        for visit in (0, 1):
            trial.assign(number, actions[number + visit])
            trial.record(number, 0.5)
    assert trial.rounds == 40


def test_outcomes_are_checked_against_the_range_of_the_row() -> None:
    row = linear.policy("adac-oful", rho=1.0, low=0.0, high=10.0)
    trial = linear.Trial(row, 2, horizon=50, features=Features(dimension=3))
    trial.assign(1, offers(1, seed=1)[0])
    with pytest.raises(InvalidArgument, match=r"from 0 to 10.*not shown.*low="):
        trial.record(1, 10.5)
    trial.record(1, 10.0)
    with pytest.raises(UnknownUnit):
        trial.record(2, 1.0)
    small = [[0.001, 0.0, 0.0], [0.0, 0.001, 0.0]]
    trial.assign(3, small)
    trial.record(3, 1.0)
    with pytest.raises(ConflictingOutcome):
        trial.record(3, 2.0)


BAD_ACTIONS: list[Any] = [
    None,
    [[0.1, 0.2, 0.3]],
    [[0.1, 0.2], [0.1, 0.2]],
    [[0.1, 0.2, math.inf], [0.0, 0.0, 0.0]],
    [["a", "b", "c"], [0.0, 0.0, 0.0]],
    [[0.9, 0.9, 0.0], [0.0, 0.0, 0.0]],
    3.0,
    "abc",
]


@pytest.mark.parametrize("bad", BAD_ACTIONS, ids=str)
def test_bad_actions_are_refused_and_change_nothing(bad: Any) -> None:
    trial = trial_of()
    play(trial, offers(3, seed=1))
    before = trial.report()
    with pytest.raises(InvalidArgument, match="actions"):
        trial.assign("x", bad)
    assert trial.report() == before
    with pytest.raises(UnknownUnit):
        trial.record("x", 0.5)


def test_arrays_and_lists_are_the_same() -> None:
    rows = offers(1, seed=3)[0]
    run: Any = trial_of()._run
    assert run.context(rows) == run.context(rows.tolist())


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"dimension": 0}, "dimension"),
    ({"dimension": 2.5}, "dimension"),
    ({"horizon": None}, "horizon"),
    ({"horizon": 0}, "horizon"),
    ({"longest": 0.0}, "longest"),
    ({"longest": math.nan}, "longest"),
    ({"batch": 0}, "batch"),
    ({"batch": 2}, "batch"),
    ({"deadline": "-1 s"}, "deadline"),
    ({"deadline": "1 s", "missing": 3.0}, "missing"),
    ({"arms": 1}, "arms"),
]


@pytest.mark.parametrize(("options", "argument"), BAD_SETTINGS, ids=str)
def test_bad_settings_are_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument, match=argument):
        trial_of(**options)


def test_rows_that_do_not_serve_are_refused_with_those_that_do() -> None:
    served = [name for name, row in linear.CATALOGUE.items() if serves(row.example())]
    assert set(BUDGETS) <= set(served)
    assert {"jdp-ts", "adac-ts", "blocks-ts", "jdp-blocks-ts"} <= set(served)
    refused: list[Any] = [
        linear.policy("oful"),
        linear.policy("rs-oful"),
        linear.policy("gope"),
        linear.policy("adac-gope", rho=0.5),
        linear.policy("adac-oful", rho=0.5, setting="printed"),
    ]
    for row in refused:
        with pytest.raises(UnsupportedBudget, match=r"adac-oful.*private-linucb"):
            linear.Trial(row, 2, horizon=10, features=Features(dimension=3))
    with pytest.raises(InvalidArgument, match="dimension"):
        discreet.Trial(linear.policy("adac-oful", rho=0.5), 2)
    with pytest.raises(InvalidArgument, match="policy must be a row"):
        discreet.Trial("adac-oful", 2)
    with pytest.raises(UnsupportedBudget, match="rho = mu"):
        linear.Trial(
            linear.policy("adac-oful", budget=GaussianDP(1.0)),
            2,
            horizon=10,
            features=Features(dimension=3),
        )


def test_a_budget_too_small_for_whole_units_is_refused_before_anybody_is_assigned() -> None:
    with pytest.raises(InvalidArgument, match="scale"):
        linear.Trial(
            linear.policy("private-linucb", epsilon=1e-4),
            2,
            horizon=1e6,
            features=Features(dimension=3),
        )


def test_blocks_put_the_features_of_a_unit_where_its_arm_is() -> None:
    assert linear.blocks([1.0, 2.0], arms=3) == [
        [1.0, 2.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 2.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 2.0],
    ]


# --- keeping it -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("midway", [False, True])
def test_a_loaded_trial_stands_where_it_was(name: str, midway: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    batch = {} if name == "adac-oful" else {"batch": 4}
    trial = trial_of(name, **batch, **({} if midway else {"path": path}))
    actions = offers(50, seed=11)
    play(trial, actions[:22])
    trial.assign("open", [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]])
    if midway:
        trial.save(path)
    expected, run = trial.report(), trial._run.to_dict()
    outcomes, places = dict(open_block(trial).outcomes), list(open_block(trial).places)
    trial.close()
    with linear.Trial.load(path) as again:
        assert again.report() == expected
        found = again._run.to_dict()
        del found["view"]["along"], run["view"]["along"]  # scratch, of the last choice
        assert found == run
        assert (open_block(again).outcomes, open_block(again).places) == (outcomes, places)
        assert again.guarantee == trial.guarantee
        again.record("open", 0.5)
        play(again, actions[22:], 22)
        assert again.report()["releases"] > expected["releases"]


def test_there_is_one_trial_for_finite_arms_and_contexts() -> None:
    assert linear.Trial is discreet.Trial
    positional = discreet.Trial(
        linear.policy("adac-oful", rho=0.5), 2, 100, features=discreet.Features(dimension=3)
    )
    assert positional.report()["horizon"] == 100
    finite = discreet.policy("adap-ucb", epsilon=1.0)
    for options in ({"dimension": 3}, {"batch": 2}, {"longest": 2.0}):
        with pytest.raises(InvalidArgument, match="adap-ucb is a policy for finite arms"):
            discreet.Trial(finite, 2, **grouped(options))  # type: ignore[arg-type]
    trial = discreet.Trial(finite, 2)
    for call in (lambda: trial.assign("x", [[1.0], [0.5]]), lambda: trial.estimates([[1.0]])):
        with pytest.raises(InvalidArgument, match="actions must be left out"):
            call()
    contexts: list[dict[str, Any]] = [
        {"outcome_range": (0, 1)}, {"risk": 0.1},
    ]  # fmt: skip
    for wrong in contexts:
        with pytest.raises(InvalidArgument, match=r"outcome_range|risk"):
            trial_of(**wrong)


@pytest.mark.usefixtures("no_sync")
def test_a_composed_row_must_be_passed_again(tmp_path: Path) -> None:
    from dataclasses import replace

    from discreet.linear._schedules import Determinant

    row = replace(linear.policy("adac-oful", rho=0.5), schedule=Determinant(3.0))
    path = tmp_path / "t.db"
    linear.Trial(row, 2, horizon=10, path=path, features=Features(dimension=3)).close()
    with pytest.raises(InvalidArgument, match="composed row"):
        linear.Trial.load(path)
    linear.Trial.load(path, policy=row).close()


UNITS = 6


def go_on(path: Path, name: str, seen: dict[str, Any]) -> None:
    """All units from wherever the files are; what was acknowledged must still hold."""
    options: dict[str, Any] = {"path": path, "horizon": UNITS}
    with linear.Trial.load(path) if is_a_trial(path) else trial_of(name, **options) as trial:
        actions = offers(UNITS, seed=12)
        for unit in range(UNITS):
            arm = trial.assign(unit, actions[unit])
            assert seen.setdefault(f"arm {unit}", arm) == arm, "an assignment was lost"
            report = trial.report()
            known = seen.setdefault(f"estimate {report['releases']}", report["estimate"])
            assert known == report["estimate"], "a release was drawn twice"
            trial.record(unit, 0.5)
            report = trial.report()
            known = seen.setdefault(f"estimate {report['releases']}", report["estimate"])
            assert known == report["estimate"], "a release was drawn twice"
        assert trial.status == "finished"


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["adac-oful", "private-linucb"])
def test_a_crash_at_any_step_loses_nothing(
    name: str, world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at = 0
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        seen: dict[str, Any] = {}
        disk = Disk(folder, crash_at)
        on_disk(monkeypatch, disk)
        try:
            go_on(folder / "trial.db", name, seen)
        except Crash:
            pass
        finally:
            off_disk(monkeypatch)
        if not disk.crashed:
            break
        disk.after_crash(world)
        go_on(folder / "trial.db", name, seen)
        assert len(keys_in_use(folder / "trial.db")) == 1, "of the ledger: no block is open"
        assert not pending_in(folder / "trial.db"), "outcomes of a released batch are on disk"
        crash_at += 1 if THOROUGH else 7
    assert crash_at > 40


def test_a_batch_without_any_features_is_released_and_the_trial_goes_on() -> None:
    """Noise in proportion to features that are all 0 would be none at all, which is refused."""
    trial = linear.Trial(
        linear.policy("blocks-ts", epsilon=1.0, first=2),
        2,
        horizon=9,
        features=Features(dimension=2),
    )
    for unit in range(4):
        trial.assign(unit, [[0.0, 0.0], [0.0, 0.0]])
        trial.record(unit, 1.0)
    assert trial.report()["releases"] > 0
    assert trial.status == "collecting"


@pytest.mark.parametrize(
    ("name", "options"),
    [("jdp-ts", {"rho": 0.5, "low": 0.0, "high": 1e-5}), ("jdp-linucb", {"rho": 3e-7})],
)
def test_noise_that_cannot_be_drawn_is_refused_before_anybody_comes(
    name: str, options: dict[str, Any]
) -> None:
    """In whole steps of rewards that small, or at that budget, it is beyond what can be drawn."""
    with pytest.raises(InvalidArgument, match="scale must be at most"):
        linear.Trial(linear.policy(name, **options), 2, horizon=64, features=Features(dimension=2))
