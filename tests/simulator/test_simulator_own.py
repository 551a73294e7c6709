"""One's own: Python objects as policies, functions as laws, means that move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import discreet
import discreet.simulator.calendar
from discreet.arms import environment_from_dict
from discreet.errors import InvalidArgument
from discreet.simulator._own import OwnWork

ENVIRONMENT = discreet.Bernoulli([0.7, 0.5, 0.3])


class UCB1:
    """The naive twin of the compiled row."""

    def __init__(self, rng: Any) -> None:
        self.totals, self.counts = np.zeros(3), np.zeros(3, int)

    def select(self) -> int:
        if 0 in self.counts:
            return int(np.argmin(self.counts > 0))
        t = self.counts.sum()
        bonus = np.sqrt(2 * np.log(t) / self.counts)
        return int(np.argmax(self.totals / self.counts + bonus))

    def update(self, arm: int, reward: float) -> None:
        self.totals[arm] += reward
        self.counts[arm] += 1


class Always:
    """Plays one arm."""

    def __init__(self, arm: Any = 0) -> None:
        self.arm, self.seen = arm, 0

    def select(self) -> Any:
        return self.arm

    def update(self, arm: int, reward: float) -> None:
        assert arm == self.arm
        self.seen += 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_an_object_beside_compiled_rows(shuffle: bool, tmp_path: Path) -> None:
    rows = [UCB1, discreet.policy("ucb1")]
    found = discreet.compare(rows, ENVIRONMENT, horizon=400, runs=40, seed=3, shuffle=shuffle)
    assert found.labels == ["UCB1", "ucb1"]
    mine, row = found
    assert not mine.guarantee.is_private
    assert mine.pulls[:, -1].sum() == 40 * 400
    gaps = np.array([0.0, 0.2, 0.4])
    assert np.allclose(mine.final_regret, mine.pulls[:, -1] @ gaps)
    # the same policy by another route: six standard errors are a false alarm of 2e-9
    error = np.hypot(mine.final_regret.std(), row.final_regret.std()) / 40**0.5
    assert abs(mine.final_regret.mean() - row.final_regret.mean()) < 6 * error
    back = discreet.load(found.save(tmp_path / "both.parquet"))
    assert np.array_equal(back[0].regret, mine.regret)
    json.dumps(found.summary(), allow_nan=False)


def test_every_run_has_an_object_of_its_own() -> None:
    one = Always(1)
    found = discreet.simulate(one, ENVIRONMENT, horizon=50, runs=3, seed=1)
    assert one.seen == 0
    assert found.mean_pulls.tolist() == [0.0, 50.0, 0.0]
    assert found.name == "Always"
    shuffled = discreet.simulate(one, ENVIRONMENT, horizon=50, runs=20, seed=1, shuffle=True)
    assert (shuffled.pulls[:, -1] > 0).any(axis=0).all()


def test_a_seed_fixes_what_an_object_draws() -> None:
    def drawn(rng: Any) -> Any:
        agent = Always()
        agent.select = lambda: int(rng.integers(3))  # type: ignore[method-assign]
        agent.update = lambda arm, reward: None  # type: ignore[method-assign]
        return agent

    one, other = (
        discreet.simulate(drawn, ENVIRONMENT, horizon=50, runs=3, seed=1) for _ in range(2)
    )
    assert np.array_equal(one.pulls, other.pulls)
    assert not np.array_equal(one.pulls[0], one.pulls[1])


@pytest.mark.parametrize("arm", [3, -1, 0.5, "a", None])
def test_arms_that_do_not_exist_are_refused(arm: Any) -> None:
    with pytest.raises(InvalidArgument, match="select an arm from 0 to 2"):
        discreet.simulate(Always(arm), ENVIRONMENT, horizon=10, runs=1)


def test_what_makes_no_agent_is_refused() -> None:
    number: Any = lambda rng: 3  # noqa: E731
    with pytest.raises(InvalidArgument, match="make an object with select"):
        discreet.simulate(number, ENVIRONMENT, horizon=10, runs=1)


def test_slowness_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    work = OwnWork.__new__(OwnWork)
    work.name, work.runs, work.horizon, work.said = "Always", 10, 10**6, False
    from discreet._progress import Bar

    for wanted, says in ((None, True), (False, False)):
        work.bar, work.said = Bar(wanted), False
        work.say(1e-5)
        work.say(1e-5)
        told = capsys.readouterr().err
        assert told.count("Always runs in Python, at 100,000 rounds a second: about 100 s") == says


def test_one_thread_plays_objects() -> None:
    import threading

    players = set()

    class Seen(Always):
        def select(self) -> Any:
            players.add(threading.get_ident())
            return super().select()

    discreet.simulate(Seen(), ENVIRONMENT, horizon=200, runs=20, seed=1, threads=2, progress=False)
    assert len(players) == 1


# --- laws as functions ------------------------------------------------------------------------


def coin(arm: int, t: int, rng: Any) -> float:
    """Bernoulli, as a user would write it."""
    return 1.0 if rng.random() < 0.7 - 0.2 * arm else 0.0


def test_a_function_is_a_law() -> None:
    environment = discreet.FunctionEnvironment(coin, [0.7, 0.5, 0.3])
    row = discreet.policy("ucb1")
    mine = discreet.simulate(row, environment, horizon=300, runs=5, seed=1)
    same = discreet.simulate(row, ENVIRONMENT, horizon=300, runs=5, seed=1)
    assert np.array_equal(mine.pulls, same.pulls)  # one uniform number a reward, for both
    assert "coin" in json.dumps(mine.environment)


def test_functions_that_cannot_be_laws_are_refused() -> None:
    level = 0.5
    for bad in (lambda arm, t, rng: level, 3):
        with pytest.raises(InvalidArgument, match="reward must be a plain function"):
            discreet.FunctionEnvironment(bad, [0.5, 0.5])  # type: ignore[arg-type]


# --- means that move --------------------------------------------------------------------------

SWITCHING = discreet.Switching([[0.9, 0.1], [0.2, 0.6], [0.5, 0.4]], at=[0, 40, 70])
DRIFTING = discreet.Drifting([0.9, 0.1], [0.1, 0.9], rounds=100, steps=7)


def means_by_round(environment: Any, horizon: int) -> Any:
    """The means of every round, by hand."""
    if isinstance(environment, discreet.Switching):
        rounds = [
            max(j for j, since in enumerate(environment.at) if since <= t) for t in range(horizon)
        ]
        return np.array([environment.stretches[j] for j in rounds])
    first, last = np.array(environment.first), np.array(environment.last)
    found = []
    for t in range(horizon):
        step = max(
            j
            for j in range(environment.steps + 1)
            if environment.rounds * j // environment.steps <= t
        )
        share = 1.0 if step == environment.steps else (step + 0.5) / environment.steps
        found.append(first + (last - first) * share)
    return np.array(found)


@pytest.mark.parametrize("environment", [SWITCHING, DRIFTING])
@pytest.mark.parametrize("shuffle", [False, True])
def test_regret_against_the_best_fixed_and_the_best_moving_arm(
    environment: Any, shuffle: bool
) -> None:
    horizon = 130
    means = means_by_round(environment, horizon)
    best = means.sum(axis=0).argmax()
    assert environment.best_fixed(horizon) == best
    for arm in (0, 1):
        found = discreet.simulate(
            Always(arm), environment, horizon=horizon, runs=1, seed=1, points=5000
        )
        fixed = np.cumsum(means[:, best] - means[:, arm])[found.t - 1]
        moving = np.cumsum(means.max(axis=1) - means[:, arm])[found.t - 1]
        assert np.allclose(found.regret[0], fixed)
        assert np.allclose(found.moving_regret[0], moving)
    # batches that span several stretches, compiled
    row = discreet.policy("dp-imed", epsilon=1.0)
    found = discreet.simulate(
        row, environment, horizon=horizon, runs=4, seed=2, points=5000, shuffle=shuffle
    )
    for run in range(4):
        played = np.diff(found.pulls[run], axis=0, prepend=0)  # one round a point
        assert (played.sum(axis=1) == 1).all()
        cost = ((means[:, [best]] - means) * played).sum(axis=1)
        assert np.allclose(found.regret[run], np.cumsum(cost))


@pytest.mark.parametrize("environment", [SWITCHING, DRIFTING])
def test_draws_follow_the_means_of_their_rounds(environment: Any) -> None:
    rng = np.random.default_rng(1)
    state = environment.start(rng)
    runs, rounds = 4000, 90
    totals = [environment.draw(state, 0, rounds, 10, rng)[0] for _ in range(runs)]
    means = means_by_round(environment, 10 + rounds)[10:, 0]
    error = np.sqrt((means * (1 - means)).sum() / runs)
    assert abs(np.mean(totals) - means.sum()) < 5 * error  # a false alarm of 6e-7


@pytest.mark.parametrize("environment", [SWITCHING, DRIFTING])
def test_moving_laws_come_back_from_their_settings(environment: Any) -> None:
    again = environment_from_dict(json.loads(json.dumps(environment.to_dict())))
    assert again == environment
    assert again.since == environment.since
    order = environment.arranged([1, 0])
    assert order.best_fixed(1000) == 1 - environment.best_fixed(1000)


def test_moving_laws_are_not_for_identification() -> None:
    from discreet.identify import identifier, identify

    with pytest.raises(
        InvalidArgument, match="environment must serve any number of independent rewards"
    ):
        identify(identifier("adap-tt", epsilon=1.0), SWITCHING, risk=0.1, runs=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: discreet.Switching([[0.5, 0.4], [0.5]], at=[0, 5]), "have the same arms"),
        (lambda: discreet.Switching([[0.5, 0.4]], at=[1]), "at must name the first round"),
        (lambda: discreet.Switching([[0.5, 0.4]] * 2, at=[0, 0]), "at must name the first round"),
        (lambda: discreet.Switching([[0.5, 1.4]], at=[0]), "stretches"),
        (lambda: discreet.Switching([], at=[]), "stretches must hold"),
        (lambda: discreet.Drifting([0.5, 0.4], [0.5], 100), "last must have 2 arms"),
        (lambda: discreet.Drifting([0.5, 0.4], [0.5, 0.1], 10.5), "rounds must be a whole"),
        (lambda: discreet.Drifting([0.5, 0.4], [0.5, 0.1], 10, steps=11), "steps must be"),
    ],
)
def test_moving_laws_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


def test_a_table_from_a_generator() -> None:
    def adversary() -> Any:
        for t in range(60):
            yield [float(t % 2), float(t >= 20), 0.25]

    environment = discreet.RewardTable(adversary())
    table = np.array(list(adversary()))
    assert environment.limit == 60
    for horizon, best in ((60, 1), (30, 0)):
        assert environment.best_fixed(horizon) == best
        found = discreet.simulate(Always(2), environment, horizon=horizon, runs=1, seed=1)
        reached = table[:horizon]
        assert found.final_regret[0] == pytest.approx((reached[:, best] - 0.25).sum())
        moving = (reached.max(axis=1) - 0.25).sum()
        assert found.moving_regret[0, -1] == pytest.approx(moving)
    row = discreet.policy("ucb1")
    found = discreet.simulate(
        row, environment, horizon=60, runs=2, seed=1, points=5000, shuffle=True
    )
    played = np.diff(found.pulls[0], axis=0, prepend=0)
    cost = ((table[:, [1]] - table) * played).sum(axis=1)
    assert np.allclose(found.regret[0], np.cumsum(cost))


def test_regret_of_a_steady_law_is_its_moving_regret() -> None:
    found = discreet.simulate(discreet.policy("ucb1"), ENVIRONMENT, horizon=50, runs=2, seed=1)
    assert np.array_equal(found.moving_regret, found.regret)


def wild(arm: int, t: int, rng: Any) -> float:
    return float(5.0 * rng.standard_normal() + 0.5)


def rising(arm: int, t: int, rng: Any) -> float:
    return 1.0 if rng.random() < 0.5 + 0.2 * arm else 0.0


def drifting(arm: int, t: int, rng: Any) -> float:
    return 1.0 if rng.random() < 0.5 + 0.2 * arm * (t > 100) else 0.0


def test_rewards_of_a_function_stay_in_their_declared_range() -> None:
    """Noise is calibrated to the range: rewards beyond it ran as "ε = 1"."""
    environment = discreet.FunctionEnvironment(wild, means=[0.5, 0.5])
    with pytest.raises(ValueError, match="outside of its bounds"):
        discreet.simulate(discreet.policy("ucb1"), environment, horizon=100, runs=2, seed=1)
    free = discreet.FunctionEnvironment(wild, means=[0.5, 0.5], bounds=None)
    with pytest.raises(InvalidArgument):
        discreet.simulate(discreet.policy("dp-imed", epsilon=1.0), free, horizon=100, runs=2)


def test_declared_means_are_held_against_bounds_and_draws() -> None:
    with pytest.raises(InvalidArgument, match="lie in the bounds, from 0 to 1"):
        discreet.FunctionEnvironment(rising, means=[0.5, 1.2])
    with pytest.raises(InvalidArgument, match="be those of the function"):
        discreet.FunctionEnvironment(rising, means=[0.5, 0.2])
    assert discreet.FunctionEnvironment(rising, means=[0.5, 0.7]).arms == 2
    assert (
        discreet.FunctionEnvironment(drifting, means=[0.5, 0.7]).arms == 2
    )  # there is no one mean


# --- outcomes that come late ----------------------------------------------------------------------


class Thompson:
    """Beta posteriors, of what has come."""

    def __init__(self, rng: Any) -> None:
        self.rng, self.seen = rng, np.ones((2, 2))

    def select(self) -> int:
        return int(self.rng.beta(self.seen[:, 0], self.seen[:, 1]).argmax())

    def update(self, arm: int, reward: float) -> None:
        self.seen[arm, 0 if reward else 1] += 1


class Diary:
    """Arms in turn; what was asked of it, in its order."""

    pages: ClassVar[list[list[object]]] = []

    def __init__(self, rng: Any) -> None:
        self.page: list[object] = []
        self.pages.append(self.page)

    def select(self) -> int:
        self.page.append("select")
        return self.page.count("select") % 2

    def update(self, arm: int, reward: float) -> None:
        self.page.append((arm, reward))


TWO = discreet.Bernoulli([0.7, 0.4])


def test_answers_at_once_are_the_policy_of_the_catalogue() -> None:
    """In law: 400 and 2,000 trials; |z| > 4.9 has a probability of 1e-6."""
    mine, theirs = (
        discreet.simulate(row, TWO, horizon=150, runs=runs, seed=3, arrivals=12, delay=1e-9)
        for row, runs in ((Thompson, 400), (discreet.policy("thompson"), 2000))
    )
    for name in ("final_regret", "days"):
        a, b = getattr(mine, name), getattr(theirs, name)
        assert abs(a.mean() - b.mean()) < 4.9 * np.hypot(
            a.std() / np.sqrt(len(a)), b.std() / np.sqrt(len(b))
        )
    assert mine.used.tolist() == [1.0] * 400
    assert mine.best_named > 0.95


@pytest.mark.parametrize("default", ["estimate", 0.25])
def test_outcomes_are_told_on_their_days(default: float | str) -> None:
    Diary.pages.clear()
    found = discreet.simulate(
        Diary, TWO, horizon=400, runs=5, seed=2, arrivals=10, delay="8 days", missing=[0.0, 0.5],
        default=default,
    )  # fmt: skip
    for page, used, days in zip(Diary.pages, found.used, found.days, strict=True):
        told = [entry for entry in page if entry != "select"]
        assert page.count("select") == 400
        assert "select" in page[-200:]
        # nobody's outcome is known for 8 days, in which about 80 others come
        first = next(i for i, entry in enumerate(page) if entry != "select")
        assert 35 < first < 140
        rewards = {entry[1] for entry in told if isinstance(entry, tuple)}
        if default == "estimate":
            assert rewards == {0.0, 1.0}
            assert 200 + 50 < len(told) < 400 - 50
        else:
            assert rewards == {0.0, 0.25, 1.0}
            assert len(told) == 400
        assert used == len(told) / 400
        assert 8.0 < days < 8.0 + 70.0
    assert (found.final_pulls == 200).all()
    assert found.plan == "its own"


def test_objects_meet_a_drift() -> None:
    """All rates rise by .3 from .4: the mean is .55 on average."""
    risen = discreet.simulator.calendar.Drift("linear", 0.3)
    found = discreet.simulate(
        Diary, discreet.Bernoulli([0.4, 0.4]), horizon=1000, runs=10, seed=5, arrivals=12, delay=1,
        drift=risen,
    )  # fmt: skip
    mean = found.estimates.mean()
    assert abs(mean - 0.55) < 4.9 * np.sqrt(0.25 / 10_000) + 0.01
    again = discreet.simulate(
        Diary, discreet.Beta.of_means([0.4, 0.4]), horizon=300, runs=2, seed=5, arrivals=12,
        delay=1, drift=risen,
    )  # fmt: skip
    assert 0.4 < again.estimates.mean() < 0.7


def test_objects_with_arrivals_in_comparisons_and_sweeps(tmp_path: Path) -> None:
    given: dict[str, Any] = {"horizon": 60, "runs": 3, "seed": 1, "arrivals": 12, "delay": 2}
    found = discreet.compare([Thompson, discreet.policy("imed")], TWO, **given)
    assert [result.plan for result in found] == ["its own", "index"]
    swept = discreet.sweep([Thompson(np.random.default_rng(1))], TWO, piece=2, **given)
    assert swept[0].days.shape == (3,)
    assert discreet.load(found.save(tmp_path / "x.parquet")).summary() == found.summary()
    for name, value in (("window", 4), ("share", 0.1), ("trend", True)):
        with pytest.raises(InvalidArgument, match=f"{name} must be left out for Thompson"):
            discreet.simulate(Thompson, TWO, **given, **{name: value})
