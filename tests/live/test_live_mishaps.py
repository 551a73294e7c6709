"""What happens every day: delayed, missing, repeated, conflicting, late and broken outcomes."""

from __future__ import annotations

import copy
import math
import os
import pickle
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from live_cases import (
    PUBLIC_ROWS,
    ROWS,
    Clock,
    CountedNoise,
    batch_trial,
    fill,
    klucb_trial,
    open_block,
)

from discreet.errors import (
    ConflictingOutcome,
    InvalidArgument,
    TrialError,
    UnknownUnit,
    UnsupportedBudget,
)
from discreet.live import Trial
from discreet.live._batches import BatchRun
from discreet.live._terms import CHECKED, EVERYBODY_RESPONDS
from discreet.policies import CATALOGUE, Doubling, Exact, Policy, policy
from discreet.policies._ucb import UCB1
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy._source import SECURE


def released_sum(trial: Trial, arm: str) -> float:
    """Sum and noise of the last batch of an arm, in steps."""
    row = next(row for row in trial.report()["arms"] or () if row["arm"] == arm)
    assert row["mean"] is not None
    return round(row["mean"] * row["size"] * SECURE.resolution)


def test_an_arm_is_sticky_and_asking_again_changes_nothing() -> None:
    trial = klucb_trial()
    arms = {unit: trial.assign(unit) for unit in ("x", "y", "z")}
    before = trial.report()
    for _ in range(3):
        assert {unit: trial.assign(unit) for unit in arms} == arms
    assert trial.report() == before


def test_numbers_and_strings_are_different_units() -> None:
    trial = klucb_trial()
    trial.assign(1)
    with pytest.raises(UnknownUnit, match="'1'"):
        trial.record("1", 1.0)
    assert trial.assign(np.int64(1)) == trial.assign(1)
    assert trial.report()["assigned"] == 1


@pytest.mark.parametrize("unit", [None, 1.0, True, b"x", ("a",), 1 << 200, float("nan")])
def test_units_that_could_not_be_told_apart_later_are_refused(unit: Any) -> None:
    trial = klucb_trial()
    with pytest.raises(InvalidArgument, match="unit"):
        trial.assign(unit)
    with pytest.raises(InvalidArgument, match="unit"):
        trial.record(unit, 1.0)
    assert trial.report()["assigned"] == 0


def test_an_unknown_unit_is_an_error_that_changes_nothing() -> None:
    trial = klucb_trial()
    before = trial.report()
    with pytest.raises(UnknownUnit, match="stranger"):
        trial.record("stranger", 1.0)
    assert trial.report() == before


BAD = [
    math.nan, math.inf, -math.inf, -1e-9, 1.0 + 1e-9, 2, 10**400, "1", None, [1.0], 1j, b"1",
    np.float64("nan"), np.array([0.5]), np.str_("1"), np.ma.masked, np.ma.array(0.5, mask=True),
]  # fmt: skip


@pytest.mark.parametrize("outcome", BAD)
def test_a_bad_outcome_is_an_error_that_changes_nothing(outcome: Any) -> None:
    trial = klucb_trial()
    trial.assign("x")
    before = trial.report()
    with pytest.raises(InvalidArgument, match="outcome must be a number from 0 to 1"):
        trial.record("x", outcome)
    assert trial.report() == before
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 1


GOOD = [0, 1, True, False, 0.25, Fraction(1, 4), np.float32(0.25), np.True_, np.int8(1)]


@pytest.mark.parametrize("outcome", GOOD)
def test_any_real_number_in_range_is_an_outcome(outcome: Any, noise: CountedNoise) -> None:
    trial = klucb_trial()
    trial.assign("x")
    trial.record("x", outcome)
    assert released_sum(trial, "A") == round(float(outcome) * SECURE.resolution) + noise.drawn[0]


def test_outcomes_are_scaled_from_their_range(noise: CountedNoise) -> None:
    trial = klucb_trial(outcome_range=(-10.0, 30.0))
    trial.assign("x")
    trial.record("x", 0.0)
    mean = trial.report()["arms"][0]["mean"]
    drawn = noise.drawn[0] / SECURE.resolution
    assert mean == pytest.approx(-10.0 + 40.0 * (0.25 + drawn), rel=1e-12)


def test_a_delayed_outcome_counts_when_it_comes_in_time(clock: Clock, noise: CountedNoise) -> None:
    trial = klucb_trial(deadline=100.0, clock=clock)
    trial.assign("x")
    clock.now += 99.9
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 0, "nothing is released before the public moment"
    clock.now += 0.1
    assert trial.report()["releases"] == 1
    assert released_sum(trial, "A") == SECURE.resolution + noise.drawn[0]


def test_a_missing_outcome_counts_as_the_default(clock: Clock, noise: CountedNoise) -> None:
    trial = klucb_trial(deadline=100.0, clock=clock, outcome_range=(0.0, 4.0), missing=1.0)
    trial.assign("x")
    clock.now += 100.0
    assert trial.settle()
    assert not trial.settle()
    assert released_sum(trial, "A") == 4 * (SECURE.resolution // 4 + noise.drawn[0])


def test_a_late_outcome_is_dropped(clock: Clock, noise: CountedNoise) -> None:
    trial = klucb_trial(deadline=100.0, clock=clock)
    trial.assign("x")
    clock.now += 100.0
    trial.record("x", 1.0)
    assert released_sum(trial, "A") == noise.drawn[0]
    before = trial.report()
    trial.record("x", 0.5)
    trial.record("x", 0.6)
    assert trial.report() == before
    with pytest.raises(InvalidArgument):
        trial.record("x", math.nan)


def test_the_moment_of_release_is_public(clock: Clock) -> None:
    """Whoever answers, whenever: the times of the releases are the same until an arm differs."""

    def first_releases(answer_after: float | None) -> list[float]:
        clock.now = 0.0
        trial = klucb_trial(deadline=100.0, clock=clock)
        times: list[float] = []
        pending: list[tuple[float, int]] = []
        for step in range(500):
            clock.now = float(step)
            if step % 10 == 0:
                trial.assign(step)
                if answer_after is not None:
                    pending.append((step + answer_after, step))
            while pending and pending[0][0] <= clock.now:
                trial.record(pending.pop(0)[1], 1.0)
            count = trial.report()["releases"]
            if count > len(times):
                times.append(clock.now)
        return times[:2]

    assert first_releases(None) == first_releases(0.0) == first_releases(99.0) == [100.0, 200.0]


def test_the_same_outcome_again_changes_nothing(noise: CountedNoise) -> None:
    trial = klucb_trial()
    units = settle_two(trial)
    trial.record(units[0], 0.5)
    trial.record(units[0], 0.5)
    assert trial.status == "settling"
    trial.record(units[1], 1.0)
    expected = 1.5 * SECURE.resolution + noise.drawn[-1]
    assert released_sum(trial, str(trial.assign(units[0]))) == expected


def settle_two(trial: Trial) -> list[str]:
    """Bring a trial to a full batch of two without outcomes."""
    turn = 0
    while True:
        units = fill(trial, f"turn{turn}")
        if len(units) == 2:
            return units
        for unit in units:
            trial.record(unit, 1.0)
        turn += 1


def test_another_outcome_is_refused_and_the_first_stands(noise: CountedNoise) -> None:
    trial = klucb_trial()
    units = settle_two(trial)
    trial.record(units[0], 0.25)
    before = trial.report()
    with pytest.raises(ConflictingOutcome, match=units[0]):
        trial.record(units[0], 0.75)
    assert trial.report() == before
    trial.record(units[1], 0.0)
    expected = 0.25 * SECURE.resolution + noise.drawn[-1]
    assert released_sum(trial, str(trial.assign(units[0]))) == expected


def test_arrivals_during_settlement_get_the_arm_and_are_not_used(noise: CountedNoise) -> None:
    trial = klucb_trial()
    units = settle_two(trial)
    arm = trial.assign(units[0])
    assert trial.assign("visitor") == arm
    trial.record("visitor", 1.0)
    trial.record("visitor", 0.3)  # not kept, so there is nothing to compare it with
    assert trial.status == "settling"
    for unit in units:
        trial.record(unit, 0.0)
    assert released_sum(trial, str(arm)) == noise.drawn[-1]
    assert trial.assign("visitor") == arm
    used, assigned = trial.rounds, trial.report()["assigned"]
    assert assigned == used + 1


def test_the_horizon_ends_the_trial_and_cuts_the_last_batch_off() -> None:
    trial = klucb_trial(horizon=5)
    for unit in range(5):
        trial.assign(unit)
        trial.record(unit, 1.0)
    report = trial.report()
    assert report["status"] == "finished"
    assert report["rounds"] == sum(row["used"] for row in report["arms"]) == 5
    assert sum(row["size"] for row in report["arms"]) < 5, "the cut batch was released"
    with pytest.raises(TrialError, match="horizon of 5"):
        trial.assign("another")
    trial.record(4, 0.5)
    assert trial.assign(4) in ("A", "B")
    assert trial.report() == report


def test_a_batch_that_ends_at_the_horizon_is_released() -> None:
    trial = klucb_trial(horizon=2)
    for unit in range(2):
        trial.assign(unit)
        assert trial.status == "settling"
        if unit == 1:
            with pytest.raises(TrialError, match="horizon"):
                trial.assign("another")
        trial.record(unit, 1.0)
    assert trial.report()["releases"] == 2
    assert trial.status == "finished"


def test_a_batch_that_never_ends_keeps_no_outcomes() -> None:
    """A last arm of an eliminating rule is played for ever: nothing of it will be released."""
    trial = batch_trial(policy("dp-se", epsilon=1.0, beta=0.1), 2)
    run = trial._run
    assert isinstance(run, BatchRun)
    run.memory.active[1] = 0
    run.memory.epoch[0] = 0
    run.leave_window()
    run.begin()
    trial._store.release(None, trial._document(run), None)
    trial._stale = True
    trial.assign("x")
    trial.record("x", 0.5)
    assert trial._run.is_cut_off
    assert not open_block(trial).outcomes


# --- several outcomes of one unit ----------------------------------------------------------------


def test_a_unit_contributes_once_by_default() -> None:
    trial = klucb_trial()
    for _ in range(3):
        trial.assign("x")
        trial.record("x", 1.0)
    assert trial.rounds == 1


def test_a_unit_may_contribute_several_times_and_the_budget_says_so() -> None:
    trial = klucb_trial(contributions=3)
    for _ in range(10):
        trial.assign("x")
        trial.record("x", 1.0)
    assert trial.rounds == 3
    assert trial.guarantee.budget == Pure(3.0)
    assert trial.guarantee.unit == 3
    assert "up to 3 of one participant's outcomes" in str(trial.guarantee)


def test_without_a_deadline_a_unit_returns_once_it_has_answered() -> None:
    trial = klucb_trial(contributions=2)
    while trial.report()["batch"]["size"] != 2:
        name = f"filler-{trial.rounds}"
        trial.assign(name)
        trial.record(name, 1.0)
    trial.assign("x")
    trial.assign("x")
    assert trial.status == "collecting", "not answered yet, so it keeps its place"
    trial.record("x", 0.5)
    trial.assign("x")
    assert trial.status == "settling"
    trial.record("x", 1.0)
    assert trial.status == "collecting"


def test_with_a_deadline_a_unit_returns_once_its_batch_is_released(clock: Clock) -> None:
    """Whether it has answered is private, so it must not decide who takes the next place."""
    trial = klucb_trial(contributions=2, deadline=10.0, clock=clock)
    while trial.report()["batch"]["size"] != 2:
        trial.assign(f"filler-{trial.rounds}")
        clock.now += 10.0
    trial.assign("x")
    trial.record("x", 1.0)
    trial.assign("x")
    assert trial.status == "collecting"
    trial.assign("y")
    clock.now += 10.0
    trial.assign("x")
    assert trial._store.member("x").used == 2  # type: ignore[union-attr]


# --- what a trial is made of ---------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC_ROWS)
def test_rows_without_a_promise_for_the_whole_run_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedBudget, match="adap-klucb") as refusal:
        batch_trial(CATALOGUE[name].example(), 3, horizon=100)
    assert all(row in str(refusal.value) for row in ROWS)


def test_there_are_rows_of_both_kinds() -> None:
    assert {"adap-klucb", "dp-imed", "dp-ucb", "ldp-ucb-b", "adac-ucb", "dp-se"} <= set(ROWS)
    assert {"ucb1", "thompson", "dp-ftpl-new"} <= set(PUBLIC_ROWS)


def test_a_row_without_secure_noise_is_refused() -> None:
    left = set(CATALOGUE) - set(ROWS) - set(PUBLIC_ROWS)
    assert left == {"gdp-elim-new"}
    for name in left:
        with pytest.raises(InvalidArgument, match="secure noise"):
            batch_trial(CATALOGUE[name].example(), 2, horizon=100)


def test_composed_rows_without_privacy_are_refused() -> None:
    with pytest.raises(UnsupportedBudget):
        batch_trial(Policy("mine", Doubling(), Exact(), UCB1()), 2)
    with pytest.raises(UnsupportedBudget):
        klucb_trial(epsilon=math.inf)


def test_a_budget_that_discrete_noise_cannot_prove_is_refused() -> None:
    with pytest.raises(UnsupportedBudget, match="rho"):
        batch_trial(policy("adac-ucb", mu=1.0), 2)


def test_waiting_for_everybody_is_a_condition_of_the_guarantee(clock: Clock) -> None:
    row = policy("adap-klucb", epsilon=1.0)
    assert row.guarantee.conditions == (CHECKED,), "the trial sees to this one"
    assert klucb_trial().guarantee.conditions == (EVERYBODY_RESPONDS,)
    assert klucb_trial(deadline=1.0).guarantee.conditions == ()
    assert EVERYBODY_RESPONDS in klucb_trial().report()["guarantee"]


@pytest.mark.parametrize(
    "budget", [ZCDP(0.1), Approximate(1.0, 1e-6)], ids=lambda budget: budget.kind
)
def test_the_guarantee_is_in_the_budget_that_was_asked_for(budget: Any) -> None:
    trial = batch_trial(policy("adac-ucb", budget=budget), 2)
    assert trial.guarantee.budget == budget


WRONG: list[tuple[str, Any]] = [
    ("arms", 1), ("arms", ["A", "A"]), ("arms", "AB"), ("arms", [None, 1.5]), ("arms", True),
    ("horizon", 1), ("horizon", 0), ("horizon", 2.5), ("horizon", math.nan), ("horizon", "9"),
    ("deadline", 0), ("deadline", -1.0), ("deadline", math.inf), ("deadline", "1 month"),
    ("outcome_range", (1, 0)), ("outcome_range", (0, math.inf)), ("outcome_range", (0, 0)),
    ("outcome_range", 5), ("outcome_range", (-1.7e308, 1.7e308)), ("outcome_range", (0, math.nan)),
    ("contributions", 0), ("contributions", 1.5), ("contributions", True),
    ("missing", math.nan), ("missing", "0"),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "value"), WRONG)
def test_wrong_arguments_are_named(argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgument, match=argument):
        klucb_trial(**{argument: value})


def test_the_default_must_be_an_outcome_where_it_is_used() -> None:
    klucb_trial(outcome_range=(1, 5))
    with pytest.raises(InvalidArgument, match="missing must be a number from"):
        klucb_trial(outcome_range=(1, 5), deadline=10.0)


def test_rows_that_need_a_horizon_say_so() -> None:
    with pytest.raises(InvalidArgument, match="horizon"):
        batch_trial(policy("dp-ucb", epsilon=1.0), 2)


@pytest.mark.parametrize("time", [math.nan, math.inf, "abc", "12", None, True, 1j])
@pytest.mark.parametrize("deadline", [None, 1.0])
def test_a_broken_clock_is_refused_at_once(time: Any, deadline: float | None) -> None:
    with pytest.raises(InvalidArgument, match="clock must return a finite number"):
        klucb_trial(deadline=deadline, clock=lambda: time)


def test_a_clock_that_breaks_later_is_refused_when_it_is_read(clock: Clock) -> None:
    trial = klucb_trial(deadline=1.0, clock=clock)
    clock.now = math.nan
    with pytest.raises(InvalidArgument, match="clock"):
        trial.assign("x")
    clock.now = 5.0
    assert trial.report()["assigned"] == 0
    with pytest.raises(InvalidArgument, match="clock must be a function"):
        klucb_trial(clock=5.0)


def test_a_trial_cannot_be_copied() -> None:
    trial = klucb_trial()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TrialError, match="copied"):
            copied(trial)


def test_a_closed_trial_refuses_everything() -> None:
    with klucb_trial() as trial:
        trial.assign("x")
    for call in (lambda: trial.assign("x"), lambda: trial.record("x", 1.0), trial.report):
        with pytest.raises(TrialError, match="closed"):
            call()
    assert "Trial of adap-klucb" in repr(trial)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_cannot_release_the_same_batch_again() -> None:
    trial = klucb_trial()
    trial.assign("x")
    child = os.fork()
    if child == 0:
        try:
            trial.record("x", 1.0)
        except TrialError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    trial.record("x", 1.0)


def test_threads_share_a_trial() -> None:
    trial = klucb_trial(arms=3)

    def work(name: int) -> None:
        for number in range(300):
            trial.assign(f"{name}-{number}")
            trial.record(f"{name}-{number}", 1.0)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = trial.report()
    assert report["assigned"] == 1200
    assert report["rounds"] == sum(row["used"] for row in report["arms"]) <= 1200
    assert trial.status == "collecting", "every batch that filled up was released"
