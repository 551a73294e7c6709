"""Live adaptive trials in epochs that end with a test: splits, verdicts, who is in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import confirm
from discreet.arms import Bernoulli
from discreet.confirm._adaptive import Plan
from discreet.confirm._final import Cells, batched_z, weighted_z
from discreet.confirm._played_epochs import Noted, played_in_epochs, z_of_epochs
from discreet.errors import InvalidArgument, TrialError
from discreet.live._arguments import grouped
from discreet.live._lives import verify_lives
from discreet.privacy import _secure as secure
from discreet.report import papers, trial_report

ARMS = ["drug", "placebo"]
AT_ONCE = confirm.epochs(300, epochs=3, least=0.3, epsilon=1.0, runs=2000)
LATE = confirm.epochs(300, epochs=3, least=0.3, epsilon=1.0, runs=2000, lag=1)
WEIGHTED = confirm.epochs(300, epochs=3, least=0.3, epsilon=1.0, runs=2000, statistic="W")
DESIGNS = {"at once": AT_ONCE, "late": LATE, "weighted": WEIGHTED}


class World:
    """Participants who come one after the other, and a ledger of who is in which epoch."""

    def __init__(self, plan: confirm.EpochDesign, **options: Any) -> None:
        self.now, self.plan = 0.0, plan
        self.trial = discreet.Trial(
            plan, ARMS, deadline=10.0, missing=0.0, clock=lambda: self.now, **grouped(options)
        )
        self.used: list[tuple[str, float]] = []
        self.visitors: list[str] = []

    def come(self, rates: tuple[float, float], most: int = 2000, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        for number in range(most):
            self.now += 1.0
            unit, before = f"p{number}-{self.now}", self.trial.report()["rounds"]
            try:
                arm = str(self.trial.assign(unit))
            except TrialError:
                break
            outcome = float(rng.random() < rates[ARMS.index(arm)])
            self.trial.record(unit, outcome)
            if self.trial.report()["rounds"] > before:
                self.used.append((arm, outcome))
            else:
                self.visitors.append(arm)
        self.now += 30.0

    def cells(self) -> list[tuple[float, ...]]:
        """By hand, without noise."""
        found, start = [], 0
        for size in self.plan.sizes:
            epoch = self.used[start : start + size]
            by_arm = [[y for a, y in epoch if a == arm] for arm in ARMS]
            found.append((*map(len, by_arm), *map(sum, by_arm)))
            start += size
        return found


@pytest.mark.parametrize("rates", [(0.9, 0.3), (0.5, 0.4), (0.4, 0.4), (0.3, 0.6)])
@pytest.mark.parametrize("name", DESIGNS)
def test_splits_and_verdicts_are_those_of_the_design(
    name: str, rates: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    plan = DESIGNS[name]
    world = World(plan)
    world.come(rates)
    cells = world.cells()
    verdict = world.trial.verdict()
    assert isinstance(verdict, confirm.EpochVerdict)
    assert verdict == plan.verdict(cells[: len(verdict.z)])
    assert verdict.decision != "go on"
    for epoch in range(1, len(verdict.z) + 1):
        assert cells[epoch - 1][:2] == plan.places(epoch, cells[: epoch - 1])
    assert world.trial.status == "finished"
    winner = {"better": "drug", "worse": "placebo"}.get(verdict.decision)
    assert world.trial.recommendation == winner
    assert set(world.visitors) <= {"placebo"}  # who comes while an epoch is awaited
    assert (len(world.visitors) == 0) == (plan.lag == 1)
    shown = world.trial.report()["test"]
    assert shown["decision"] == verdict.decision
    assert verdict.final is not None
    assert shown["difference"] == verdict.final.difference
    html = trial_report(world.trial.report()).html()
    assert f"{abs(verdict.final.difference):.3f}" in html
    assert f"discreet {discreet.__version__}" in papers(world.trial).markdown()


def test_z_is_the_same_to_the_last_bit() -> None:
    """So that a live trial and `verdict` cannot disagree."""
    rng = np.random.default_rng(4)
    for plan in (AT_ONCE, WEIGHTED):
        row = played_in_epochs(plan)
        rule: Any = row.rule.parameters(row.setting(2))
        for _ in range(300):
            epochs = int(rng.integers(1, 4))
            n1 = rng.choice([30, 50, 70], size=epochs).astype(float)
            n0 = 100.0 - n1
            x1, x0 = (np.floor(rng.random(epochs) * (n + 20) - 10) for n in (n1, n0))
            cells = Cells(*(each[:, None] for each in (n1, n0, x1, x0)))
            places = np.column_stack([n1, n0]).ravel().tolist()
            sums = np.column_stack([x1, x0]).ravel().tolist()
            memory: Any = Noted([1, 1], [epochs], [0], [0], places, sums, [-1])
            for batched, z in ((1, batched_z), (0, weighted_z)):
                wanted = float(z(cells, plan.noise)[0])
                assert z_of_epochs(rule, memory, epochs, batched) == wanted


def test_nothing_is_shown_before_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = World(LATE)
    world.come((0.5, 0.5), most=150)
    shown = world.trial.report()
    assert shown["test"]["look"] == 1
    assert shown["test"]["decision"] == "go on"
    assert [row["mean"] for row in shown["arms"] or ()] == [None, None]
    assert all(set(look) <= {"participants", "boundary"} for look in shown["test"]["looks"])
    assert all(entry["mean"] is None for entry in shown["course"])


def test_the_guarantee_is_derived_and_holds() -> None:
    for plan in (AT_ONCE, confirm.epochs(240, epochs=3, least=0.3, rho=0.5, runs=500)):
        row = played_in_epochs(plan)
        assert row.guarantee.budget == plan.budget
        found = row.proved(arms=2, horizon=plan.participants, live=True)
        assert found.holds


def test_two_lives_that_differ_in_an_outcome_show_the_same() -> None:
    """Pairs of whole lives on symbols, two epochs long, each block released once."""
    small = confirm.epochs(60, epochs=3, least=0.5, epsilon=8.0, runs=1000)
    found = verify_lives(played_in_epochs(small), 2)
    assert found.holds
    assert found.blocks >= 5 * len(found.kinds) > 12


def test_a_stored_trial_goes_on(tmp_path: Path) -> None:
    world = World(LATE, path=tmp_path / "t.db")
    world.come((0.5, 0.5), most=130)
    said = world.trial.report()
    world.trial.close()
    world.trial = discreet.Trial.load(tmp_path / "t.db", clock=lambda: world.now)
    assert world.trial.report() == said
    assert world.trial.policy == played_in_epochs(LATE)
    world.come((0.5, 0.5), seed=2)
    assert world.trial.status == "finished"
    world.trial.close()


def test_a_trial_that_is_ended_in_an_epoch_has_not_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cells of an epoch that was cut short are released, and enter no verdict."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    for most in (101, 150):
        world = World(LATE)
        world.come((0.5, 0.5), most=most)
        world.now -= 25.0
        world.trial.stop("public")
        world.now += 60.0
        assert world.trial.status == "finished"
        verdict = world.trial.verdict()
        assert isinstance(verdict, confirm.EpochVerdict)
        assert (verdict.decision, len(verdict.z)) == ("go on", 1)
        assert sum(row["used"] for row in world.trial.report()["arms"] or ()) == most


def test_a_rehearsal_is_the_trial() -> None:
    rehearsal = discreet.Rehearsal(LATE, ARMS, arrivals=10.0, delay="2 days", default=0.0, seed=3)
    shown = rehearsal.play(Bernoulli([0.8, 0.3]))
    cells = [(*look["places"], *look["sums"]) for look in shown["test"]["looks"] if "sums" in look]
    assert rehearsal.verdict() == LATE.verdict(cells)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"window": 10}, "window"),
        ({"share": {"drug": 0.3}}, "share"),
        ({"horizon": 100}, "horizon"),
        ({"trend": True}, "trend"),
        ({"deadline": "28 days", "missing": "estimate"}, "missing"),
        ({"contributions": 2}, "contributions"),
    ],
)
def test_what_it_cannot_do_is_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        discreet.Trial(AT_ONCE, ARMS, **grouped(options))
    assert error.value.argument == argument
    with pytest.raises(InvalidArgument, match="arms"):
        discreet.Trial(AT_ONCE, 3)


def test_live_trials_keep_the_error_and_the_power_of_their_design() -> None:
    """60 rehearsals against the design's simulation: beyond 5 standard errors with probability
    below 1e-6. All arms and epochs, noise included."""
    course = LATE.operating(0.75, 0.35)
    wins, trials = 0, 60
    for seed in range(trials):
        rehearsal = discreet.Rehearsal(
            LATE, ARMS, arrivals=30.0, delay="1 days", default=0.0, seed=seed
        )
        rehearsal.play(Bernoulli([0.75, 0.35]))
        verdict = rehearsal.verdict()
        assert isinstance(verdict, confirm.EpochVerdict)
        wins += verdict.decision == "better"
    power = sum(course.above)
    assert abs(wins / trials - power) < 5.0 * math.sqrt(0.25 / trials)
    assert isinstance(LATE.plan, Plan)
