"""Trials on a calendar: loops against a naive twin and each other, published figures, refusals.

Distributions are compared with the Dvoretzky-Kiefer-Wolfowitz bound, at a false-alarm rate of 1e-7
each; means within five standard errors or more (6e-7). Seeds are fixed.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from naive_calendar import ks_distance, ks_limit, naive_epochs, naive_trial

import discreet
from discreet.errors import InvalidArgument
from discreet.live._arguments import grouped
from discreet.policies._epochs import EpochPlan
from discreet.policies._races import half_width, race_marks, threshold
from discreet.simulator.calendar import Delay, Drift

TWO = discreet.Bernoulli([0.5, 0.3])
ROW = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5)


def late(default: float | str = 0.0, runs: int = 2000, horizon: float = 600, **more: object):  # type: ignore[no-untyped-def]
    given: dict[str, object] = {"arrivals": 12, "delay": 14, "missing": 0.1, "default": default}
    environment, row = more.pop("environment", TWO), more.pop("policy", ROW)
    return discreet.simulate(row, environment, horizon=horizon, runs=runs, seed=1, **(given | more))  # type: ignore[call-arg]


@pytest.mark.parametrize("default", [0.0, None])
def test_strides_and_units_have_the_law_of_the_naive_loop(default: float | None) -> None:
    first, ratio = 4, 1.5
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=ratio, first=first)
    said = "estimate" if default is None else default
    rng = np.random.default_rng(5)
    naive = [
        naive_trial([0.7, 0.4], [0.9, 0.8], 80, 3.0, 5.0, 1.0, first, ratio, default, rng)
        for _ in range(500)
    ]
    environment = discreet.Bernoulli([0.7, 0.4])
    for drift in (None, Drift("linear", 1e-12)):  # in strides; unit by unit
        own = discreet.simulate(
            row,
            environment,
            horizon=80,
            runs=4000,
            seed=2,
            arrivals=3,
            delay=5,
            missing=[0.1, 0.2],
            default=said,
            drift=drift,
        )
        limit = ks_limit(500, 4000)
        assert ks_distance([places[0] for places, _, _ in naive], own.pulls[:, -1, 0]) < limit
        assert ks_distance([day + 5.0 for _, day, _ in naive], own.days) < limit
        assert ks_distance([named for _, _, named in naive], own.named) < limit


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_epochs_have_the_law_of_the_naive_loop(share: float) -> None:
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5, first=4)
    rng, rule = np.random.default_rng(6), EpochPlan(1.0, 4, 1.5, 15)
    naive = [
        naive_epochs([0.7, 0.3], [0.9, 0.8], 70, 3.0, 5.0, rule, share, rng) for _ in range(150)
    ]
    own = discreet.simulate(
        row, discreet.Bernoulli([0.7, 0.3]), horizon=70, runs=4000, seed=2, arrivals=3, delay=5,
        missing=[0.1, 0.2], default=0, trend=True, share=share,
    )  # fmt: skip
    limit = ks_limit(150, 4000)
    assert limit < 0.3
    assert ks_distance([places[0] for places, _, _ in naive], own.pulls[:, -1, 0]) < limit
    assert ks_distance([day + 5.0 for _, day, _ in naive], own.days) < limit
    ahead = own.estimates[:, 0] - own.estimates[:, 1]
    assert ks_distance([gap for _, _, gap in naive], ahead) < limit
    assert (own.participants == 70).all()


@pytest.mark.parametrize(
    ("drift", "share", "regret", "error", "bias"),
    [
        (Drift("linear", 0.2), 0.0, 38.0, 1.0, 0.02),
        (Drift("season", 0.1, 180.0), 0.1, 74.0, 0.5, 0.0),
    ],
)
def test_epochs_do_not_follow_a_trend(
    drift: Drift, share: float, regret: float, error: float, bias: float
) -> None:
    """Measured beforehand with 1,000 trials, of which both means have about that error; biases to
    two digits."""
    environment = discreet.Bernoulli([0.5, 0.4])
    own = late(
        environment=environment, horizon=5000, runs=250, drift=drift, trend=True, share=share
    )
    assert abs(own.final_regret.mean() - regret) < 5.0 * math.hypot(error, 2.0 * error)
    ahead = own.estimates[:, 0] - own.estimates[:, 1] - 0.09
    assert abs(ahead.mean() - bias) < 0.005 + 5.0 * ahead.std() / math.sqrt(250)
    pooled = late(environment=environment, horizon=5000, runs=250, drift=drift, window=24)
    astray = pooled.estimates[:, 0] - pooled.estimates[:, 1] - 0.09
    if drift.kind == "linear":
        assert astray.mean() > 0.05


def test_least_shares_are_kept_in_windows() -> None:
    """A third of 20: 6 or 7 places, so that the share is a third on average, once the first few
    hundred have come, who are shared out equally."""
    own = late(runs=30, horizon=20_000, window=20, share=[0.0, 1 / 3])
    assert own.pulls[:, -1, 1].min() >= 20_000 * 6 / 20
    assert 0.0 <= own.pulls[:, -1, 1].mean() / 20_000 - 1 / 3 < 0.01


def test_strides_and_units_agree_on_four_arms() -> None:
    environment = discreet.Bernoulli([0.6, 0.5, 0.5, 0.45])
    strides = late(environment=environment, horizon=2000)
    units = late(environment=environment, horizon=2000, runs=400, drift=Drift("linear", 1e-12))
    for a, b in ((strides.final_regret, units.final_regret), (strides.days, units.days)):
        assert ks_distance(a, b) < ks_limit(len(a), len(b))


@pytest.mark.parametrize(
    ("means", "horizon", "regret", "error"),
    [
        ((0.5, 0.3), 600, 24.4, 0.16),
        ((0.5, 0.3), 10_000, 26.2, 0.2),
        ((0.6, 0.5, 0.5, 0.45), 10_000, 90.0, 1.1),
    ],
)
def test_regret_of_streams(
    means: tuple[float, ...], horizon: int, regret: float, error: float
) -> None:
    """Measured beforehand with 2,000 trials: both means have that standard error."""
    own = late(environment=discreet.Bernoulli(means), horizon=horizon)
    assert abs(own.final_regret.mean() - regret) < 5.0 * math.sqrt(2.0) * error
    assert own.used.mean() == 1.0
    assert own.best_named > 0.98


@pytest.mark.parametrize(
    ("missing", "default", "regret", "error"),
    [
        ((0.3, 0.1), 0.0, 304.0, 4.5),
        ((0.3, 0.1), "estimate", 30.0, 0.5),
        ((0.1, 0.3), "estimate", 32.0, 0.5),
    ],
)
def test_missing_outcomes(
    missing: tuple[float, float], default: float | str, regret: float, error: float
) -> None:
    environment = discreet.Bernoulli([0.5, 0.4])
    own = late(environment=environment, horizon=5000, missing=missing, default=default)
    assert abs(own.final_regret.mean() - regret) < 5.0 * math.sqrt(2.0) * error
    assert (own.best_named > 0.99) == (default == "estimate")


def test_a_trial_without_answers_names_no_arm() -> None:
    """Not even the last one, which is best."""
    environment, row = discreet.Bernoulli([0.3, 0.6]), discreet.policy("imed")
    found = discreet.simulate(
        row, environment, horizon=20, runs=5, seed=1, arrivals=12, delay=14, missing=0.999
    )
    assert set(found.named.tolist()) == {-1}
    assert found.best_named == 0.0


def test_places_add_up_and_seeds_fix_everything() -> None:
    asked = {"arrivals": 12, "delay": 14, "missing": 0.1, "horizon": 300, "seed": 3}
    one, two = (discreet.simulate(ROW, TWO, runs=120, threads=n, **asked) for n in (1, 2))  # type: ignore[call-arg]
    assert one.calendar is not None
    assert (one.participants == 300).all()
    assert (one.pulls == two.pulls).all()
    assert (one.days == two.days).all()
    assert one.summary()["regret"] == two.summary()["regret"]
    shorter = discreet.simulate(ROW, TWO, runs=50, **asked)  # type: ignore[call-arg]
    assert (one.pulls[:50] == shorter.pulls).all()


RACE = discreet.identify.identifier("race", epsilon=1.0).at(0.05)


def test_race_declares_the_better_arm() -> None:
    own = late(policy=RACE, horizon=6000, runs=1000)
    assert own.declared > 0.995
    assert own.false_winners == 0.0
    assert abs(own.participants.mean() - 892) < 5.0 * math.sqrt(2.0) * 11.0


@pytest.mark.parametrize("drift", [None, Drift("linear", 0.3), Drift("season", 0.15)])
def test_races_of_equal_arms_seldom_have_a_winner(drift: Drift | None) -> None:
    """At most α = .05: more than 55 of 500 has a probability below 1e-7 then."""
    level = discreet.Bernoulli([0.4, 0.4])
    own = late(policy=RACE, environment=level, horizon=5000, runs=500, drift=drift)
    assert own.false_winners * 500 <= 55


@pytest.mark.parametrize(
    ("name", "horizon", "given"),
    [
        ("evidence-tt", 3000, {"epsilon": 1.0}),
        ("dp-se", 3000, {"epsilon": 8.0}),
        ("private-thompson", 400, {"epsilon": 1.0}),
    ],
)
def test_policies_of_every_plan_meet_late_outcomes(
    name: str, horizon: int, given: dict[str, float]
) -> None:
    """Rewards of any distribution, outcomes 14 days late: everybody has a place, and seeds fix
    everything."""
    policy: discreet.Policy = discreet.policy(name, **given)  # type: ignore[call-overload]
    if isinstance(policy, discreet.identify.Identifier):
        policy = policy.at(0.05)
    environment = discreet.Beta.of_means([0.8, 0.2])
    own = late(policy=policy, environment=environment, horizon=horizon, runs=10)
    again = late(policy=policy, environment=environment, horizon=horizon, runs=4)
    assert (own.pulls[:4] == again.pulls).all()
    stops = policy.kind == "identify"
    assert (own.participants <= horizon).all() if stops else (own.participants == horizon).all()
    assert (own.participants < horizon).all() == stops
    assert (own.recommendation >= 0).all() == stops
    assert np.isfinite(own.final_regret).all()
    if stops:
        assert (own.recommendation == 0).all()
        assert (own.days > 14.0).all()


def test_results_of_trials_are_saved_and_loaded(tmp_path: Path) -> None:
    found = discreet.compare(
        [ROW, discreet.policy("imed")], TWO, horizon=200, runs=12, seed=1, arrivals=12, delay=14,
        missing=0.1, drift=Drift("linear", 0.1), default=0,
    )  # fmt: skip
    again = discreet.load(found.save(tmp_path / "trials.parquet"))
    for before, after in zip(found, again, strict=True):
        assert after.calendar is not None
        assert after.calendar == before.calendar
        assert after.summary() == before.summary()
        assert before.more.keys() == after.more.keys()
        for name in ("estimates", "looks", "days", "named", "used", "pulls", "regret"):
            assert np.array_equal(getattr(before, name), getattr(after, name), equal_nan=True)


def test_thresholds_are_minima() -> None:
    for epsilon, mark, look in itertools.product((0.25, 1.0, math.inf), (20, 300), (1, 6)):
        theta = np.linspace(1e-4, min(epsilon, 3.0), 40_001)[:-1]
        noise = 0.0 if math.isinf(epsilon) else np.log(1 - (theta / epsilon) ** 2)
        risk = math.log(3 * 2 * look * (look + 1) / 0.05)
        by_grid = ((theta**2 * mark / 4 - 2 * look * noise + risk) / theta).min()
        assert threshold(mark, look, 3, epsilon, 0.05) == pytest.approx(by_grid, rel=1e-5)
        risk = math.log(2 * 3 * look * (look + 1) / 0.05)
        by_grid = ((theta**2 * mark / 8 - look * noise + risk) / (theta * mark)).min()
        assert half_width(mark, look, 3, epsilon, 0.05) == pytest.approx(by_grid, rel=1e-5)


def test_marks() -> None:
    marks = race_marks(4, 6000, 20)
    assert 1500 in marks
    assert marks[0] >= 20
    assert marks[-1] <= 3000


def test_answers_in_time() -> None:
    assert Delay(14).in_time == 1.0
    assert Delay(14, "uniform", mean=14).in_time == 0.5
    assert Delay(5, "exponential", mean=5).in_time == pytest.approx(1 - math.exp(-1))
    assert Delay(5, "fixed", mean=6).in_time == 0.0


def test_answers_that_come_sooner_help_those_who_see_them() -> None:
    row = discreet.policy("imed")
    slow = discreet.simulate(row, TWO, horizon=600, runs=500, seed=1, arrivals=12, delay=14)
    soon = discreet.simulate(
        row, TWO, horizon=600, runs=500, seed=1, arrivals=12, delay=Delay(14, "exponential", 2)
    )
    assert soon.final_regret.mean() < 0.6 * slow.final_regret.mean()


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"arrivals": 0}, "arrivals"),
        ({"delay": -1}, "deadline"),
        ({"missing": 1.0}, "missing"),
        ({"missing": [0.1, 0.1, 0.1]}, "missing"),
        ({"default": 2}, "default"),
        ({"drift": "linear"}, "drift"),
        ({"window": 0}, "window"),
        ({"share": [0.6, 0.6]}, "share"),
        ({"share": [0.1, 0.1, 0.1]}, "share"),
        ({"trend": True, "policy": discreet.policy("dp-klucb", epsilon=1.0)}, "trend"),
        ({"trend": "yes"}, "trend must be True or False, got 'yes'"),
        ({"shuffle": True}, "shuffle"),
        ({"delay": Delay(5, "fixed", mean=6)}, "delay"),
        ({"environment": discreet.Gaussian([0.5, 0.3])}, "environment"),
        ({"policy": discreet.policy("oful")}, "problem"),
        ({"policy": discreet.policy("dp-se", epsilon=1.0), "share": 0.1}, "share"),
        ({"policy": discreet.policy("private-thompson", epsilon=1.0), "window": 4}, "window"),
    ],
)
def test_refusals(wrong: dict[str, object], argument: str) -> None:
    given: dict[str, object] = {
        "policy": ROW,
        "environment": TWO,
        "arrivals": 12,
        "horizon": 100,
        **wrong,
    }
    with pytest.raises(InvalidArgument) as caught:
        discreet.simulate(**given)  # type: ignore[call-arg]
    assert argument in str(caught.value)


def test_what_is_late_needs_arrivals() -> None:
    with pytest.raises(InvalidArgument, match="arrivals"):
        discreet.simulate(ROW, TWO, horizon=100, delay=14)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dealy"):
        discreet.simulate(ROW, TWO, horizon=100, dealy=14)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("row", "options"),
    [
        (discreet.policy("adap-klucb", epsilon=1.0), {"window": 4, "share": 0.1}),
        (discreet.policy("ldp-ucb-b", epsilon=2.0), {"window": 2, "default": 0.0}),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_row_by_its_own_rule_has_the_law_of_rehearsed_trials(
    row: discreet.Policy, options: dict[str, float]
) -> None:
    """Forgetting blocks with the pair, and each round in the local model: 50 rehearsals of the live
    trial, 1,000 simulated."""
    environment, days = (
        discreet.Bernoulli([0.7, 0.2]),
        {"arrivals": 12, "delay": 7, "missing": [0.1, 0.2]},
    )
    found = discreet.simulate(row, environment, horizon=200, runs=1000, seed=5, **days, **options)  # type: ignore[call-arg]
    assert (found.participants == 200).all()
    again = discreet.simulate(
        row, environment, horizon=200, runs=60, seed=5, threads=1, **days, **options
    )  # type: ignore[call-arg]
    assert (again.pulls == found.pulls[:60]).all()
    with pytest.raises(InvalidArgument, match="rehearse"):
        found.widths()
    played = {"default": "estimate", **options}
    least = options.get("share", 0.0)
    played.pop("share", None)
    pulls, means = [], []
    for seed in range(50):
        rehearsal = discreet.Rehearsal(
            row,
            2,
            horizon=200,
            seed=seed,
            **grouped(dict(share={0: least, 1: least}, **days, **played)),
        )
        report = rehearsal.play(environment)
        pulls.append(report["arms"][0]["used"])
        means.append([arm["mean"] for arm in report["arms"]])
    for ours, theirs in (
        (found.pulls[:, -1, 0], np.array(pulls)),
        *zip(found.estimates.T, np.array(means, float).T, strict=True),
    ):
        error = math.hypot(ours.std() / math.sqrt(1000), theirs.std(ddof=1) / math.sqrt(50))
        assert abs(ours.mean() - theirs.mean()) < 6.5 * error  # six of them, 49 degrees: 3e-7
