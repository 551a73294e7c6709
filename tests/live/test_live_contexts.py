"""Live trials with contexts: the simulator's law, secure noise, and nothing raw kept or shown."""

from __future__ import annotations

import itertools
import json
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_cases import Clock, functions_in, values_in_memory, values_on_disk
from live_disk import WORLDS, Crash, Disk

import discreet
import discreet.linear as linear
from discreet.errors import (
    ConflictingOutcome,
    DamagedFile,
    InvalidArgument,
    TrialError,
    UnknownUnit,
    UnsupportedBudget,
)
from discreet.linear.grid import Grid
from discreet.linear.live import serves
from discreet.linear.stepwise import secure_kernels
from discreet.linear.trees import (
    ENTRY,
    GaussianTrees,
    LaplaceTrees,
    into_whole_ball,
    joint_sensitivity,
)
from discreet.linear.view import Setting
from discreet.live import files
from discreet.privacy import ZCDP, Approximate, GaussianDP, Renyi, secure
from discreet.privacy import noise as simulated_noise
from discreet.privacy.source import RESOLUTION

BUDGETS: dict[str, dict[str, float]] = {
    "adac-oful": {"rho": 0.5},
    "private-linucb": {"epsilon": 1.0},
    "private-lints": {"epsilon": 1.0},
    "jdp-linucb": {"epsilon": 1.0, "delta": 1e-6},
}
PRIVATE = [name for name in BUDGETS if name != "adac-oful"]
SECRET = 0.123456
SECRET_UNITS = round(SECRET * RESOLUTION)
MARK = 0.0703125
"""A feature with 7 decimals, exact on the grid: as a number of units it is 73728."""


def trial_of(name: str = "adac-oful", **options: Any) -> linear.Trial:
    """A short trial with two arms and three features."""
    row = linear.policy(name, **BUDGETS[name])
    settings: dict[str, Any] = {"arms": ["A", "B"], "dimension": 3, "horizon": 64}
    return linear.Trial(row, **(settings | options))


def offers(count: int, seed: int, longest: float = 1.0) -> Any:
    """Actions inside the ball, on the grid."""
    points = np.random.default_rng(seed).standard_normal((count, 2, 3))
    points *= 0.9 * longest / np.linalg.norm(points, axis=2).max()
    return np.round(points * 1024) / 1024


def play(trial: linear.Trial, actions: Any, start: int = 0) -> list[Any]:
    """Units that answer at once; their arms."""
    given = []
    for number, rows in enumerate(actions, start):
        arm = trial.assign(number, rows)
        trial.record(number, 0.5 if arm == "A" else -0.25)
        given.append(arm)
    return given


def test_the_estimates_are_those_of_the_estimate_in_the_report() -> None:
    trial = trial_of(horizon=100)
    play(trial, offers(60, seed=1))
    rows = offers(1, seed=2)[0]
    theta = np.array(trial.report()["estimate"])
    found = trial.estimates(rows.tolist())
    assert [row["arm"] for row in found] == ["A", "B"]
    assert [row["mean"] for row in found] == pytest.approx((rows @ theta).tolist())
    assert all(0.0 < row["width"] < math.inf for row in found)


# --- the noise hides one participant --------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (-0.3, 2.7)])
@pytest.mark.parametrize("budget", [ZCDP(0.3), Renyi(8.0, 1.0), ZCDP(1e-4)])
def test_the_noise_of_an_episode_is_enough_for_its_longest_action(
    budget: Any, low: float, high: float
) -> None:
    """In exact arithmetic: σ² >= (span of rewards)² ||a||² / (2ρ), whatever was rounded."""
    grid = Grid(1.7, low, high)
    release = linear.policy("adac-oful", budget=budget, low=low, high=high).release
    noise: Any = release.parameters(Setting(2, 3, 100, grid))
    rho = budget.rho if isinstance(budget, ZCDP) else budget.epsilon / budget.alpha
    rng = np.random.default_rng(1)
    for _ in range(300):
        features = grid.features((rng.standard_normal(3) * rng.choice([1e-4, 0.1, 1.0])).tolist())
        square = sum(feature**2 for feature in features)
        scale = Fraction(noise.scale * math.sqrt(square))
        moved = Fraction(noise.high - noise.low) ** 2 * square
        assert scale**2 * 2 * Fraction(rho) >= moved
        assert scale**2 * 2 * Fraction(rho) <= moved * Fraction(1 + 1e-9)


def test_approximate_budgets_are_kept_by_all_entries_together() -> None:
    budget = Approximate(1.0, 1e-6)
    sensitivity = 1 << 30
    scale = secure.vector_gaussian_scale(budget, sensitivity)
    rho = (sensitivity / scale) ** 2 / 2
    assert ZCDP(rho).implies(budget)
    assert not ZCDP(rho * 1.001).implies(budget)
    assert scale > secure.gaussian_scale(budget, sensitivity)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_whole_rows_stay_in_the_ball_and_keep_the_sensitivities(dimension: int) -> None:
    """Of random rows, of long ones, and of those on the edge of the ball: in exact arithmetic."""
    rng = np.random.default_rng(2)
    rows = []
    for kind in range(400):
        z = rng.standard_normal(dimension)
        z *= (3.0 * rng.random() if kind % 2 else 1.0 + 1e-7 * rng.random()) / np.linalg.norm(z)
        row = [round(x * RESOLUTION) for x in (*z.tolist(), rng.choice([-1.0, 1.0]))]
        into_whole_ball(row, dimension)
        assert sum(feature**2 for feature in row[:dimension]) <= ENTRY
        assert abs(row[dimension]) <= RESOLUTION
        rows.append(row)
    limit = math.ceil(joint_sensitivity(dimension) * ENTRY * (1 + 1e-12))
    worst = 0
    for first, second in itertools.pairwise(rows):
        moved, frobenius = 0, 0
        for i in range(dimension + 1):
            for j in range(i, dimension + 1):
                if i == j == dimension:
                    continue  # r² is not released
                change = abs(first[i] * first[j] - second[i] * second[j])
                moved += change
                frobenius += change**2 * (1 if i == j else 2)
        assert moved <= limit
        assert frobenius <= 2 * (2 * ENTRY) ** 2
        worst = max(worst, moved)
    assert worst > 0.4 * limit, "the rows are too tame to test the bound"


def test_a_row_inside_the_ball_is_left_alone() -> None:
    row = [RESOLUTION // 2, -RESOLUTION // 3, RESOLUTION]
    into_whole_ball(row, 2)
    assert row == [RESOLUTION // 2, -RESOLUTION // 3, RESOLUTION]
    row = [3 * RESOLUTION, -4 * RESOLUTION, -RESOLUTION]
    into_whole_ball(row, 2)
    assert [x / RESOLUTION for x in row] == pytest.approx([0.6, -0.8, -0.2], abs=1e-5)


@pytest.mark.parametrize("calibration", ["joint", "entry", "paper"])
def test_laplace_trees_have_the_noise_of_the_simulator_or_more(calibration: str) -> None:
    release = LaplaceTrees(0.7, calibration)
    plain = release.parameters(Setting(2, 4, 1000))
    whole = release.parameters(Setting(2, 4, 1000, Grid()))
    for name in ("diagonal", "other", "vector"):
        ratio = getattr(whole, name) / whole.unit / getattr(plain, name)
        assert 1.0 - 1e-12 <= ratio <= 1.0 + 1e-9


def test_gaussian_trees_have_the_noise_of_the_simulator_or_more() -> None:
    for budget, most in ((ZCDP(0.5), 1 + 1e-9), (Approximate(1.0, 1e-6), 1.25)):
        release = GaussianTrees(budget)
        plain = release.parameters(Setting(2, 4, 1000))
        whole = release.parameters(Setting(2, 4, 1000, Grid()))
        for name in ("diagonal", "other", "vector"):
            ratio = getattr(whole, name) / whole.unit / getattr(plain, name)
            assert 1.0 - 1e-12 <= ratio <= most


def test_the_released_sum_has_the_stated_variance() -> None:
    """One action, 1500 trials, 3 entries each: the mean square within 5.6 standard errors,
    2e-8."""
    squares, action = [], [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
    for _ in range(1500):
        trial = trial_of(horizon=100)
        trial.assign(1, action)
        trial.record(1, 0.75)
        run: Any = trial._batch.protocol
        assert run.releases == [1]
        sd = math.sqrt(run.view.variance[0])
        assert sd == pytest.approx(math.sqrt(2 / 0.5) * 0.5, rel=1e-9)
        exact = np.array(action[trial.arms.index(trial.assign(1))]) * 0.75
        squares += (((np.array(run.view.noisy) - exact) / sd) ** 2).tolist()
    assert abs(np.mean(squares) - 1.0) < 5.6 * math.sqrt(2 / len(squares))


# --- only secure noise ----------------------------------------------------------------------------


@pytest.mark.usefixtures("only_secure")
@pytest.mark.parametrize("name", BUDGETS)
def test_a_trial_with_contexts_runs_where_seedable_noise_is_mined(name: str) -> None:
    trial = trial_of(name, horizon=20)
    for unit in range(20):
        x = 0.1 + 0.04 * unit
        trial.assign(unit, [[x, 0.1, 0.0], [0.0, 0.1, x]])
        trial.record(unit, 0.5)
    assert trial.report()["releases"] >= 5


@pytest.mark.parametrize("name", BUDGETS)
def test_the_linked_noise_of_linear_rows_is_the_secure_one(name: str) -> None:
    kernels = secure_kernels(linear.policy(name, **BUDGETS[name]))
    inside = functions_in(kernels.publish, {})
    modules = {function.__module__ for function in inside.values()}
    assert simulated_noise.__name__ not in modules
    assert "discreet.privacy.source" in modules
    assert not any(f.__name__ == "into_ball" for f in functions_in(kernels.collect, {}).values())


# --- nothing raw is kept or shown -----------------------------------------------------------------


def reveals(values: list[Any], *secrets: Any) -> bool:
    return any(value in secrets or str(value) in map(str, secrets) for value in values)


@pytest.mark.usefixtures("no_sync")
def test_outcomes_of_an_episode_are_erased_at_its_release(tmp_path: Path) -> None:
    with trial_of(path=tmp_path / "t.json") as trial:
        play(trial, offers(20, seed=6))
        while trial._batch.units:
            play(trial, offers(1, seed=trial.rounds), trial.rounds)
        small = [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]]
        trial.assign("x", small)
        trial.record("x", SECRET)
        assert trial.status == "collecting"
        assert reveals(values_on_disk(tmp_path), SECRET, SECRET_UNITS)
        assert reveals(values_in_memory(trial), SECRET_UNITS)
        play(trial, offers(30, seed=7), 1000)
        assert not reveals(values_on_disk(tmp_path), SECRET, SECRET_UNITS)
        assert not reveals(values_in_memory(trial), SECRET, SECRET_UNITS)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("name", PRIVATE)
def test_private_contexts_are_erased_with_the_outcomes(name: str, tmp_path: Path) -> None:
    """Those of the last member too: nothing but sums of products stays in the ledger."""
    marked = [[MARK, 0.5, 0.25], [0.5, MARK, 0.25]]
    secrets = (MARK, round(MARK * RESOLUTION))
    with trial_of(name, path=tmp_path / "t.json", batch=2) as trial:
        trial.assign("x", marked)
        assert reveals(values_on_disk(tmp_path), *secrets)
        assert reveals(values_in_memory(trial._batch), *secrets)
        trial.assign("y", marked)
        trial.record("x", 0.5)
        trial.record("y", 0.25)
        assert trial.report()["releases"] == 1
        assert not reveals(values_on_disk(tmp_path), *secrets)
        assert not reveals(values_in_memory(trial._batch), *secrets)


@pytest.mark.parametrize("name", PRIVATE)
def test_joint_privacy_shows_no_count_of_an_arm(name: str) -> None:
    """A count holds everybody's own arm, which a participant's own description decides."""
    one, other = trial_of(name, horizon=30), trial_of(name, horizon=30)
    for trial, arm in ((one, "A"), (other, "B")):
        trial._assigned[trial.arms.index(arm)] = 7
    shown = [json.dumps({**t.report(), "estimate": None}) for t in (one, other)]
    assert shown[0] == shown[1]
    assert str(one) == str(other)
    assert repr(one) == repr(other)
    assert '"assigned": 7' in shown[0]


def test_public_contexts_show_who_got_what() -> None:
    trial = trial_of()
    given = play(trial, offers(30, seed=8))
    counts = {row["arm"]: row["assigned"] for row in trial.report()["arms"]}
    assert counts == {"A": given.count("A"), "B": given.count("B")}
    assert "assigned" in str(trial)


@pytest.mark.usefixtures("no_sync")
def test_a_batch_that_the_horizon_cuts_off_is_never_released_and_forgotten(tmp_path: Path) -> None:
    small = [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]]
    with trial_of(path=tmp_path / "t.json", horizon=3) as trial:
        for unit in range(3):
            trial.assign(unit, small)
            if unit < 2:
                trial.record(unit, SECRET)
                assert reveals(values_on_disk(tmp_path), SECRET_UNITS)
        trial.record(2, SECRET)
        assert trial.status == "finished"
        report = trial.report()
        assert (report["releases"], report["rounds"], report["estimate"]) == (0, 3, None)
        assert not reveals(values_on_disk(tmp_path), SECRET, SECRET_UNITS)
        assert not reveals(values_in_memory(trial), SECRET, SECRET_UNITS)
        with pytest.raises(TrialError, match="horizon of 3"):
            trial.assign("late", small)
        assert trial.assign(1) in ("A", "B")
    with linear.Trial.load(tmp_path / "t.json") as again:
        assert again.report() == report


def test_errors_do_not_show_private_contexts() -> None:
    for name in PRIVATE:
        trial = trial_of(name)
        for bad in ([[MARK, 1.0], [1.0]], [[MARK, math.nan, 0.0]] * 2, [[MARK, 3.0, 0.0]] * 2):
            with pytest.raises(InvalidArgument) as refusal:
                trial.assign("x", bad)
            assert str(MARK) not in str(refusal.value)
            assert "not shown" in str(refusal.value)
        assert trial.rounds == 0


# --- every day ------------------------------------------------------------------------------------


def test_whoever_arrives_while_an_episode_settles_is_served_but_not_used() -> None:
    trial = trial_of()
    actions = [[0.9, 0.0, 0.0], [0.0, 0.9, 0.0]]
    first = trial.assign("x", actions)
    assert trial.status == "settling"
    before = trial._batch.protocol.view.to_dict()
    assert trial.assign("visitor", actions) == first
    trial.record("visitor", 1.0)
    assert trial.rounds == 1
    assert trial._batch.protocol.view.to_dict() == before
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 1
    assert trial.assign("visitor") == first
    assert trial.assign("x") == first


def test_a_deadline_releases_with_the_default(clock: Clock) -> None:
    trial = trial_of(deadline=5.0, default=-1.0, clock=clock)
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
    trial = linear.Trial(row, 2, dimension=3, horizon=50)
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
    assert trial_of()._checked(rows) == trial_of()._checked(rows.tolist())


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"dimension": 0}, "dimension"),
    ({"dimension": 2.5}, "dimension"),
    ({"horizon": None}, "horizon"),
    ({"horizon": 0}, "horizon"),
    ({"longest": 0.0}, "longest"),
    ({"longest": math.nan}, "longest"),
    ({"batch": 0}, "batch"),
    ({"batch": 2}, "batch"),
    ({"deadline": -1.0}, "deadline"),
    ({"deadline": 1.0, "default": 3.0}, "default"),
    ({"arms": 1}, "arms"),
]


@pytest.mark.parametrize(("options", "argument"), BAD_SETTINGS, ids=str)
def test_bad_settings_are_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument, match=argument):
        trial_of(**options)


def test_rows_that_do_not_serve_are_refused_with_those_that_do() -> None:
    served = [name for name, row in linear.CATALOGUE.items() if serves(row.example())]
    assert served == list(BUDGETS)
    refused: list[Any] = [
        linear.policy("oful"),
        linear.policy("rs-oful"),
        linear.policy("gope"),
        linear.policy("adac-gope", rho=0.5),
        linear.policy("adac-oful", rho=0.5, setting="printed"),
    ]
    for row in refused:
        with pytest.raises(UnsupportedBudget, match="adac-oful, private-linucb"):
            linear.Trial(row, 2, dimension=3, horizon=10)
    with pytest.raises(InvalidArgument, match=r"discreet\.Trial"):
        linear.Trial(discreet.policy("adap-ucb", epsilon=1.0), 2, dimension=3, horizon=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"discreet\.linear\.Trial"):
        discreet.Trial(linear.policy("adac-oful", rho=0.5), 2)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedBudget, match="rho = mu"):
        linear.Trial(linear.policy("adac-oful", budget=GaussianDP(1.0)), 2, dimension=3, horizon=10)


def test_a_budget_too_small_for_whole_units_is_refused_before_anybody_is_assigned() -> None:
    with pytest.raises(InvalidArgument, match="scale"):
        linear.Trial(linear.policy("private-linucb", epsilon=1e-4), 2, dimension=3, horizon=1e6)


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
    path = tmp_path / "t.json"
    batch = {} if name == "adac-oful" else {"batch": 4}
    trial = trial_of(name, **batch, **({} if midway else {"path": path}))
    actions = offers(50, seed=11)
    play(trial, actions[:22])
    trial.assign("open", [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]])
    if midway:
        trial.save(path)
    expected, run = trial.report(), trial._batch.protocol.to_dict()
    outcomes, kept = dict(trial._batch.outcomes), dict(trial._batch.actions)
    trial.close()
    with linear.Trial.load(path) as again:
        assert again.report() == expected
        found = again._batch.protocol.to_dict()
        del found["view"]["along"], run["view"]["along"]  # scratch, of the last choice
        assert found == run
        assert (again._batch.outcomes, again._batch.actions) == (outcomes, kept)
        assert again.guarantee == trial.guarantee
        again.record("open", 0.5)
        play(again, actions[22:], 22)
        assert again.report()["releases"] > expected["releases"]
    with pytest.raises(InvalidArgument, match=r"contexts by discreet\.linear\.Trial"):
        discreet.Trial.load(path)


def test_a_finite_trial_is_not_loaded_as_one_with_contexts(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    discreet.Trial(discreet.policy("adap-ucb", epsilon=1.0), 2, path=path).close()
    with pytest.raises(InvalidArgument, match=r"finite arms by discreet\.Trial"):
        linear.Trial.load(path)
    discreet.Trial.load(path).close()


@pytest.mark.usefixtures("no_sync")
def test_a_composed_row_must_be_passed_again(tmp_path: Path) -> None:
    from dataclasses import replace

    from discreet.linear.schedules import Determinant

    row = replace(linear.policy("adac-oful", rho=0.5), schedule=Determinant(3.0))
    path = tmp_path / "t.json"
    linear.Trial(row, 2, dimension=3, horizon=10, path=path).close()
    with pytest.raises(InvalidArgument, match="composed row"):
        linear.Trial.load(path)
    linear.Trial.load(path, policy=row).close()


@pytest.mark.usefixtures("no_sync")
def test_lines_without_their_features_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with trial_of(path=path) as trial:
        trial.assign("x", [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]])
    log = path.with_name("t.json.assignments")
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], json.dumps(json.loads(lines[1])[:5])]) + "\n")
    with pytest.raises(DamagedFile, match="features"):
        linear.Trial.load(path)


UNITS = 6


def go_on(path: Path, name: str, seen: dict[str, Any]) -> None:
    """All units from wherever the files are; what was acknowledged must still hold."""
    options: dict[str, Any] = {"path": path, "horizon": UNITS}
    with linear.Trial.load(path) if path.exists() else trial_of(name, **options) as trial:
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
        monkeypatch.setattr(files, "os", disk)
        try:
            go_on(folder / "trial.json", name, seen)
        except Crash:
            pass
        finally:
            monkeypatch.setattr(files, "os", os)
        if not disk.crashed:
            break
        disk.after_crash(world)
        go_on(folder / "trial.json", name, seen)
        left = [p.name for p in folder.iterdir() if "outcomes" in p.name]
        assert len(left) == 1, "outcomes of a released batch are on disk"
        crash_at += 3 if name == "private-linucb" else 2
    assert crash_at > 40
