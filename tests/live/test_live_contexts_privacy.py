"""Live trials with contexts: the noise is enough and secure, and nothing raw is kept or shown."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from context_cases import BUDGETS, MARK, PRIVATE, SECRET, SECRET_STEPS, offers, play, trial_of
from live_cases import functions_in, units_in, values_in_memory, values_on_disk

import discreet.linear as linear
from discreet import Features
from discreet.errors import (
    InvalidArgument,
    TrialError,
)
from discreet.linear._grid import Grid
from discreet.linear._trees import (
    ENTRY,
    GaussianTrees,
    LaplaceTrees,
    into_whole_ball,
    joint_sensitivity,
)
from discreet.linear._view import Setting
from discreet.live._arguments import grouped
from discreet.live._contexts import secure_steps
from discreet.live._rules import Member
from discreet.live.stores import SqliteStore
from discreet.privacy import ZCDP, Approximate, Renyi
from discreet.privacy import _noise as simulated_noise
from discreet.privacy import _secure as secure
from discreet.privacy._source import RESOLUTION
from discreet.testing import _stores as contract

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
        ratio = getattr(whole, name) / whole.resolution / getattr(plain, name)
        assert 1.0 - 1e-12 <= ratio <= 1.0 + 1e-9


def test_gaussian_trees_have_the_noise_of_the_simulator_or_more() -> None:
    for budget, most in ((ZCDP(0.5), 1 + 1e-9), (Approximate(1.0, 1e-6), 1.25)):
        release = GaussianTrees(budget)
        plain = release.parameters(Setting(2, 4, 1000))
        whole = release.parameters(Setting(2, 4, 1000, Grid()))
        for name in ("diagonal", "other", "vector"):
            ratio = getattr(whole, name) / whole.resolution / getattr(plain, name)
            assert 1.0 - 1e-12 <= ratio <= most


def test_the_released_sum_has_the_stated_variance() -> None:
    """One action, 1500 trials, 3 entries each: the mean square within 5.6 standard errors,
    2e-8."""
    squares, action = [], [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
    for _ in range(1500):
        trial = trial_of(horizon=100)
        trial.assign(1, action)
        trial.record(1, 0.75)
        run: Any = trial._run
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
    steps = secure_steps(linear.policy(name, **BUDGETS[name]))
    inside = functions_in(steps.release, {})
    modules = {function.__module__ for function in inside.values()}
    assert simulated_noise.__name__ not in modules
    assert "discreet.privacy._source" in modules
    assert not any(f.__name__ == "into_ball" for f in functions_in(steps.answer, {}).values())


# --- nothing raw is kept or shown -----------------------------------------------------------------


def reveals(values: list[Any], *secrets: Any) -> bool:
    return any(value in secrets or str(value) in map(str, secrets) for value in values)


@pytest.mark.usefixtures("no_sync")
def test_outcomes_of_an_episode_are_erased_at_its_release(tmp_path: Path) -> None:
    with trial_of(path=tmp_path / "t.db") as trial:
        play(trial, offers(20, seed=6))
        while units_in(trial):
            play(trial, offers(1, seed=trial.rounds), trial.rounds)
        small = [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0]]
        trial.assign("x", small)
        trial.record("x", SECRET)
        assert trial.status == "collecting"
        assert reveals(values_on_disk(tmp_path), SECRET, SECRET_STEPS)
        play(trial, offers(30, seed=7), 1000)
        assert not reveals(values_on_disk(tmp_path), SECRET, SECRET_STEPS)
        assert not reveals(values_in_memory(trial), SECRET, SECRET_STEPS)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("name", PRIVATE)
def test_exact_sums_are_erased_at_the_horizon(name: str, left: int, tmp_path: Path) -> None:
    """Also where it cuts a batch off."""
    trial = trial_of(name, horizon=6 + left, batch=2, path=tmp_path / "t.db")
    people = offers(6 + left, seed=3)
    play(trial, people[:4])
    assert any(any(numbers) for numbers in trial._run.secret().values())
    play(trial, people[4:], start=4)
    assert trial.status == "finished"
    store = SqliteStore(tmp_path / "t.db")
    store.load()
    stored = store.state["protocol"]["ledger"]
    store.close()
    for ledger in (trial._run.secret(), stored):
        assert not any(any(numbers) for numbers in ledger.values())
    shown = trial.report()
    trial.close()
    with linear.Trial.load(tmp_path / "t.db") as loaded:
        assert loaded.report() == shown


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("name", PRIVATE)
def test_private_contexts_are_erased_with_the_outcomes(name: str, tmp_path: Path) -> None:
    """Those of the last member too: nothing but sums of products stays in the ledger."""
    marked = [[MARK, 0.5, 0.25], [0.5, MARK, 0.25]]
    secrets = (MARK, round(MARK * RESOLUTION))
    with trial_of(name, path=tmp_path / "t.db", batch=2) as trial:
        trial.assign("x", marked)
        assert reveals(values_on_disk(tmp_path), *secrets)
        assert reveals(values_in_memory(trial._store), *secrets)
        trial.assign("y", marked)
        trial.record("x", 0.5)
        trial.record("y", 0.25)
        assert trial.report()["releases"] == 1
        assert not reveals(values_on_disk(tmp_path), *secrets)
        assert not reveals(values_in_memory(trial._store), *secrets)


@pytest.mark.parametrize("name", PRIVATE)
def test_joint_privacy_shows_no_count_of_an_arm(name: str) -> None:
    """A count holds everybody's own arm, which a participant's own description decides."""
    one, other = trial_of(name, horizon=30), trial_of(name, horizon=30)
    for trial, arm in ((one, "A"), (other, "B")):
        trial._store.assigned[trial.arms.index(arm)] = 7
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
    with trial_of(path=tmp_path / "t.db", horizon=3) as trial:
        for unit in range(3):
            trial.assign(unit, small)
            if unit < 2:
                trial.record(unit, SECRET)
                assert reveals(values_on_disk(tmp_path), SECRET_STEPS)
        trial.record(2, SECRET)
        assert trial.status == "finished"
        report = trial.report()
        assert (report["releases"], report["rounds"], report["estimate"]) == (0, 3, None)
        assert not reveals(values_on_disk(tmp_path), SECRET, SECRET_STEPS)
        assert not reveals(values_in_memory(trial), SECRET, SECRET_STEPS)
        with pytest.raises(TrialError, match="horizon of 3"):
            trial.assign("late", small)
        assert trial.assign(1) in ("A", "B")
    with linear.Trial.load(tmp_path / "t.db") as again:
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


def sizes_after(folder: Path, features: list[float], arms: int = 2, **options: Any) -> list[int]:
    """The sizes of all files once somebody with these features has a place."""
    folder.mkdir()
    row = linear.policy("private-linucb", epsilon=1.0)
    with linear.Trial(
        row, arms, horizon=64, path=folder / "t.db", **grouped(dict(dimension=3, **options))
    ) as trial:
        trial.assign("x", [features] * arms)
    return [path.stat().st_size for path in sorted(folder.iterdir())]


@pytest.mark.usefixtures("no_sync")
def test_sizes_of_files_do_not_tell_how_long_private_contexts_are(tmp_path: Path) -> None:
    found = [
        sizes_after(tmp_path / str(length), [length, 0.0, -length], longest=2e9, batch=4)
        for length in (0.0, 1e-3, 7.0, 99.0, 1e9)
    ]
    assert all(sizes == found[0] for sizes in found)
    with pytest.raises(InvalidArgument, match="longest must"):
        trial_of("private-linucb", longest=1e16)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("arms", [2, 11])
def test_sizes_of_files_do_not_tell_who_got_which_arm(arms: int, tmp_path: Path) -> None:
    """With private contexts it is private; so are counts of the arms, with their digits."""
    row = linear.policy("private-linucb", epsilon=1.0)
    found: list[list[int]] = []
    for given in ([0] * 12, [arms - 1] * 12, [0, 1] * 6):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        with linear.Trial(
            row, arms, horizon=64, path=folder / "t.db", features=Features(dimension=1)
        ) as trial:
            for unit, arm in enumerate(given):  # who has no place changes nothing that is public
                contract.assign(trial._store, f"visitor {unit:02}", Member(arm), None)
            contract.release(trial._store, None, dict(trial._store.state), None)
        found.append([path.stat().st_size for path in sorted(folder.iterdir())])
    assert found[0] == found[1] == found[2]
