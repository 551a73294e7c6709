"""Other people's loops, with tiny stand-ins; with the real packages where they are installed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.loops import BanditEnv, RiverPolicy, from_river, play

ENVIRONMENT = discreet.Bernoulli([0.9, 0.1, 0.2])
ROW = discreet.policy("dp-imed", epsilon=1.0)


class Steps:
    """An environment with the methods of gymnasium's and its own numbers for actions."""

    class action_space:  # noqa: N801  its name in gymnasium
        n, start = 2, 5

    def __init__(self) -> None:
        self.seeds: list[int | None] = []
        self.t = 0

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        self.seeds.append(seed)
        self.t = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert action in (5, 6)
        self.t += 1
        return 0, float(action == 6), self.t == 50, False, {}


class EpsilonGreedy:
    """A policy with the methods of river's."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed, self.rng = seed, random.Random(seed)
        self.totals: dict[Any, list[float]] = {}

    def clone(self, new_params: dict[str, Any] | None = None) -> EpsilonGreedy:
        return EpsilonGreedy(**({"seed": self.seed} | (new_params or {})))

    def pull(self, arm_ids: list[Any]) -> Any:
        if self.rng.random() < 0.1 or not self.totals:
            return self.rng.choice(arm_ids)
        return max(self.totals, key=lambda arm: np.mean(self.totals[arm]))

    def update(self, arm: Any, reward: float) -> None:
        self.totals.setdefault(arm, []).append(reward)


def test_a_policy_plays_an_environment() -> None:
    env = Steps()
    found = play(ROW, env, seed=3)
    assert len(found.rewards) == 50
    assert env.seeds == [3]
    assert (found.rewards == (found.arms == 1)).all()
    longer = play(ROW, env, horizon=120, seed=3)
    assert len(longer.arms) == 120
    assert env.seeds == [3, 3, None, None]
    assert "120 rounds" in repr(longer)
    again = play(ROW, Steps(), horizon=120, seed=3)
    assert (again.arms == longer.arms).all()
    with pytest.raises(InvalidArgument, match="discrete action space"):
        play(ROW, type("Box", (Steps,), {"action_space": None})())


def test_a_law_is_an_environment() -> None:
    env = BanditEnv(ENVIRONMENT, horizon=4)
    with pytest.raises(InvalidArgument, match="follow a reset"):
        env.step(0)
    rewards = []
    for _ in range(2):
        assert env.reset(seed=1) == (0, {"regret": 0.0})
        steps = [env.step(np.int64(arm)) for arm in (0, 1, 1, 2)]
        rewards.append([step[1] for step in steps])
        assert [step[3] for step in steps] == [False, False, False, True]
        assert [step[4]["regret"] for step in steps] == pytest.approx([0.0, 0.8, 1.6, 2.3])
    assert rewards[0] == rewards[1]
    assert set(rewards[0]) <= {0.0, 1.0}
    for wrong in (3, -1, "A", 0.5):
        env.reset()
        with pytest.raises(InvalidArgument, match="action"):
            env.step(wrong)
    with pytest.raises(InvalidArgument, match="environment"):
        BanditEnv([0.5, 0.4], horizon=10)  # type: ignore[arg-type]


def test_rewards_of_an_environment_are_those_of_the_law() -> None:
    """1,000 rewards of rate 0.9: 6 standard deviations have a probability below 1e-8."""
    env = BanditEnv(ENVIRONMENT, horizon=1000)
    env.reset(seed=2)
    mean = np.mean([env.step(0)[1] for _ in range(1000)])
    assert abs(mean - 0.9) < 6.0 * np.sqrt(0.09 / 1000)


def test_a_list_that_is_over_ends_the_episode() -> None:
    env = BanditEnv(discreet.RewardTable([[1.0, 0.0]] * 3), horizon=10)
    env.reset(seed=1)
    ends = [env.step(0)[2] for _ in range(4)]
    assert ends == [False, False, False, True]


def test_ours_with_the_methods_of_river() -> None:
    policy = RiverPolicy(ROW, seed=1)
    twin = discreet.Rehearsal(ROW, 2, seed=1)
    for t in range(200):
        arm = policy.pull(["A", "B"])
        assert ["A", "B"].index(arm) == twin.select()
        policy.update(arm, float(t % 3 == 0))
        twin.update("AB".index(arm), float(t % 3 == 0))
    assert policy.clone().pull(["A", "B"]) in ("A", "B")
    assert policy.clone({"seed": 9}).seed == 9
    with pytest.raises(InvalidArgument, match="stay the same"):
        policy.pull(["A", "B", "C"])
    with pytest.raises(InvalidArgument, match="arm_id"):
        RiverPolicy(ROW).update("A", 1.0)


def test_rivers_beside_ours() -> None:
    found = discreet.compare(
        [from_river(EpsilonGreedy(), 3), ROW],
        ENVIRONMENT,
        horizon=300,
        runs=4,
        seed=1,
        progress=False,
    )
    assert found.labels == ["EpsilonGreedy", "dp-imed"]
    assert len({tuple(run) for run in found[0].pulls[:, -1]}) > 1  # every run has its own seed
    assert not found[0].guarantee.is_private
    with pytest.raises(InvalidArgument, match="pull"):
        from_river(object(), 3)


def test_the_real_gymnasium() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = BanditEnv(ENVIRONMENT, horizon=30)
    assert isinstance(env.action_space, gymnasium.spaces.Discrete)
    assert env.action_space.contains(env.action_space.sample())
    assert len(play(ROW, env, seed=1).rewards) == 30


def test_the_real_river() -> None:
    bandit = pytest.importorskip("river.bandit")
    found = discreet.simulate(
        from_river(bandit.UCB(delta=1, seed=1), 3), ENVIRONMENT, horizon=200, runs=3, seed=1,
        progress=False,
    )  # fmt: skip
    assert found.label == "UCB"
    assert found.final_regret.mean() < 0.9 * 200 * (0.8 + 0.7) / 3
