"""Rewards that arrive later: the loop beside a plain one, what is refused, what is saved."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.arms import environment_from_dict
from discreet.errors import InvalidArgument
from discreet.policies._step import fresh_state, parts_of
from discreet.simulator._late import bears_delay, empty_post, late_kernel, late_rows
from discreet.simulator._loop import Curve, Study, fresh_course, loop_kernel, simulated_state
from discreet.testing._case import generator

MEANS = [0.3, 0.8, 0.5]


def walked(row: Any, environment: Any, horizon: int, seed: int) -> tuple[Any, Any]:
    """Arms and pulls of one run, the kernel interpreted; `law` may be late or not."""
    setting = row.setting(environment.arms, horizon)
    rng = generator(seed, 0)
    state, post = environment.start(rng), (empty_post(environment),) if environment.late else ()
    run = fresh_state(row, setting) if environment.late else simulated_state(row, setting)
    kernel = late_kernel if environment.late else loop_kernel
    curve = Curve(
        np.arange(1, horizon + 1),
        np.zeros(horizon),
        np.zeros((horizon, environment.arms), np.int64),
    )
    study = Study(horizon, environment.standard(horizon), curve)
    loop = kernel(row, environment.draw, environment.lost).interpreted()
    fixed = (state, *parts_of(row, setting), *run, *post, fresh_course(), study)
    while loop(*fixed, 7, rng) != 0:  # paused every seven decisions
        pass
    return curve.regret, curve.pulls


def ucb1_by_hand(environment: Any, horizon: int, seed: int) -> list[int]:
    """UCB1 that is told of a reward when it is due, written plainly."""
    rng, arms = generator(seed, 0), environment.arms
    post: dict[int, list[tuple[int, float]]] = defaultdict(list)
    totals, counts, played = [0.0] * arms, [0] * arms, []
    for t in range(horizon):
        for arm, reward in post.pop(t, []):
            totals[arm] += reward
            counts[arm] += 1
        if 0 in counts:
            arm = counts.index(0)
        else:
            level = 2.0 * np.log(t + 1.0)
            index = [s / n + np.sqrt(level / n) for s, n in zip(totals, counts, strict=True)]
            arm = int(np.argmax(index))
        reward = 1.0 if rng.random() < environment.means[arm] else 0.0
        low, high = environment.rounds
        ready = t + 1 + low + (int(rng.random() * (high - low + 1)) if high > low else 0)
        while ready % environment.every:
            ready += 1
        post[ready].append((arm, reward))
        played.append(arm)
    return played


@pytest.mark.parametrize("rounds", [0, 1, 30, (0, 9), (5, 40)])
@pytest.mark.parametrize("every", [1, 4, 25])
def test_a_row_is_told_of_rewards_when_they_are_due(rounds: Any, every: int) -> None:
    environment = discreet.Delayed(discreet.Bernoulli(MEANS), rounds, every)
    _, pulls = walked(discreet.policy("ucb1"), environment, 400, seed=3)
    arms = np.diff(pulls, axis=0, prepend=np.zeros((1, 3), np.int64)).argmax(axis=1)
    assert arms.tolist() == ucb1_by_hand(environment, 400, seed=3)


def example(name: str) -> Any:
    return discreet.policies.CATALOGUE[name].example()


@pytest.mark.parametrize("name", ["thompson", "dp-ucb", "dp-ts", "ldp-ucb-b"])
def test_no_delay_is_the_loop_without_one(name: str) -> None:
    row, environment = example(name), discreet.Bernoulli(MEANS)
    plain, late = (
        walked(row, each, 200, seed=2) for each in (environment, discreet.Delayed(environment))
    )
    np.testing.assert_array_equal(plain[0], late[0])
    np.testing.assert_array_equal(plain[1], late[1])


def test_rows_that_cannot_use_it_are_refused_by_name() -> None:
    environment = discreet.Delayed(discreet.Bernoulli(MEANS), 10)
    for name, why in {"adap-klucb": "whose batches last", "kl-ucb": "order of the rounds"}.items():
        with pytest.raises(InvalidArgument, match=f"{name}, .*{why}.*ucb1"):
            discreet.simulate(example(name), environment, horizon=100, runs=1)
    for name in late_rows():
        assert bears_delay(example(name))
    with pytest.raises(InvalidArgument, match="at once with arrivals"):
        discreet.simulate(example("ucb1"), environment, horizon=100, runs=1, arrivals=5)
    with pytest.raises(InvalidArgument, match="adap-tt, which stops by itself"):
        discreet.sweep("adap-tt", environment, epsilon=1.0, risk=0.1, runs=1)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rounds": -1}, "rounds"),
        ({"rounds": (3, 1)}, "rounds"),
        ({"rounds": (1, 2, 3)}, "rounds"),
        ({"every": 0}, "every"),
    ],
)
def test_delays_that_make_no_sense(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        discreet.Delayed(discreet.Bernoulli(MEANS), **settings)
    with pytest.raises(InvalidArgument, match="not late already"):
        discreet.Delayed(discreet.Delayed(discreet.Bernoulli(MEANS), 1), 1)


def test_a_policy_of_ones_own_is_told_late_too() -> None:
    told: list[tuple[int, int]] = []

    class Counting:
        def __init__(self, rng: Any) -> None:
            self.rounds = 0

        def select(self) -> int:
            self.rounds += 1
            return self.rounds % 2

        def update(self, arm: int, reward: float) -> None:
            told.append((self.rounds, arm))

    environment = discreet.Delayed(discreet.Bernoulli(MEANS), 3, every=4)
    discreet.simulate(Counting, environment, horizon=14, runs=1, seed=1, threads=1)
    # the reward of round t is due after t + 3 rounds, at the next multiple of 4
    assert told == [(4, 1), (8, 0), (8, 1), (8, 0), (8, 1), (12, 0), (12, 1), (12, 0), (12, 1)]


def test_it_is_saved_and_rearranged() -> None:
    environment = discreet.Delayed(discreet.Bernoulli(MEANS), (2, 5), every=3)
    assert environment_from_dict(environment.to_dict()) == environment
    turned = environment.arranged([2, 0, 1])
    assert turned.means == (0.5, 0.3, 0.8)
    assert (turned.rounds, turned.every) == (environment.rounds, environment.every)


def test_compiled_and_saved(tmp_path: Any) -> None:
    """Through the front door: delays cost, and a file knows of them."""
    environment = discreet.Bernoulli(MEANS)
    study: dict[str, Any] = {"horizon": 2000, "runs": 20, "seed": 1}
    late = discreet.simulate(discreet.policy("ucb1"), discreet.Delayed(environment, 300), **study)
    regrets, _ = walked(discreet.policy("ucb1"), discreet.Delayed(environment, 300), 2000, seed=1)
    assert late.final_regret[0] == regrets[-1]  # run 0 draws what the walk drew
    # each arm is played until its first reward comes: 301 rounds each
    assert late.final_regret.min() >= 301 * (0.5 + 0.3)
    late.save(tmp_path / "late.parquet")
    assert (
        discreet.load(tmp_path / "late.parquet")[0].environment
        == discreet.Delayed(environment, 300).to_dict()
    )
