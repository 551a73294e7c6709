"""A policy with contexts in a loop of one's own: the steps of simulate, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet import linear
from discreet.errors import InvalidArgument, TrialError
from discreet.linear._loop import Course, fresh_course, loop_kernel, simulated_state
from discreet.linear._view import LinearSetting
from discreet.policies._step import parts_of
from discreet.simulator._loop import Curve

ARMS, D, ROUNDS = 3, 2, 120


def paid(rewards: object, mean: float, rng: Any) -> float:
    """A reward with noise, from the same generator."""
    return mean + 0.1 * float(rng.standard_normal())


@pytest.mark.parametrize(
    ("name", "budget"),
    [("adac-oful", {"rho": 0.5}), ("adac-ts", {"rho": 0.5}), ("jdp-ts", {"rho": 0.5}),
     ("private-linucb", {"epsilon": 2.0})],
)  # fmt: skip
def test_it_is_the_loop_of_simulate(name: str, budget: dict[str, float]) -> None:
    problem = linear.LinearProblem.random(arms=ARMS, dimension=D, contexts="fixed", seed=3)
    make: Any = linear.policy
    row = make(name, **budget)
    setting = LinearSetting(ARMS, D, ROUNDS)
    state, parts = simulated_state(row, setting), parts_of(row, setting)
    curve = Curve(np.array([ROUNDS]), np.zeros(1), np.zeros((1, ARMS), np.int64))
    course: Course = fresh_course(ARMS, D)
    play = loop_kernel(row, problem.contexts.offer, paid).interpreted()
    rng = np.random.Generator(np.random.PCG64(7))
    theta = np.array(problem.theta)
    offered: Any = problem.contexts.start(rng)
    play(
        offered, None, *parts, state.ledger, state.memory, state.public, course, theta, ROUNDS,
        curve, ROUNDS, rng,
    )  # fmt: skip

    rehearsal = linear.Rehearsal(row, ARMS, D, horizon=ROUNDS, seed=7)
    actions = np.array(problem.contexts.average).reshape(ARMS, D)
    problem.contexts.start(rehearsal._rng)
    for _ in range(ROUNDS):
        arm: Any = rehearsal.select(actions)
        rehearsal.update(arm, paid(None, float(actions[arm] @ theta), rehearsal._rng))
    assert list(rehearsal.played.values()) == curve.pulls[0].tolist()
    assert rehearsal.rounds == ROUNDS
    np.testing.assert_allclose(rehearsal._view.estimate, state.public.estimate, rtol=1e-9)
    with pytest.raises(TrialError, match="horizon"):
        rehearsal.select(actions)


def test_real_data_and_propensities() -> None:
    """Features of rows of a table; blocks say how likely each arm is, and nothing is used up."""
    rng = np.random.default_rng(1)
    row: Any = discreet.policy("blocks-ts", epsilon=4.0)
    rehearsal = linear.Rehearsal(row, ["a", "b"], 4, horizon=400, seed=2)
    right = 0
    for number in range(400):
        x = rng.choice([-0.7, 0.7], 2)
        actions = linear.blocks(x.tolist(), arms=2)
        if number == 399:
            likely = rehearsal.propensities(actions)
            assert sum(likely.values()) == pytest.approx(1.0, abs=1e-7)
            assert likely == rehearsal.propensities(actions)
        arm = rehearsal.select(actions)
        good = "a" if x[0] > 0 else "b"
        right += number >= 300 and arm == good
        rehearsal.update(arm, float(rng.random() < (0.95 if arm == good else 0.05)))
    assert right > 60
    steady = linear.Rehearsal(linear.policy("adac-oful", rho=0.5), 2, 2, horizon=10)
    assert sorted(steady.propensities([[1.0, 0.0], [0.0, 1.0]]).values()) == [0.0, 1.0]
    assert "protects no one" in repr(steady)
    assert "can be replayed" in str(steady.guarantee)


def test_bad_input_is_refused() -> None:
    row: Any = linear.policy("adac-oful", rho=0.5)
    rehearsal = linear.Rehearsal(row, 2, 2, horizon=10, seed=1)
    for actions in ([[1.0, 0.0]], [[1.0], [0.0]], "ab", [[float("nan"), 0.0], [0.0, 1.0]]):
        with pytest.raises(InvalidArgument, match="finite features"):
            rehearsal.select(actions)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="select first"):
        rehearsal.update(0, 1.0)
    arm = rehearsal.select([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidArgument, match="finite"):
        rehearsal.update(arm, float("inf"))
    with pytest.raises(InvalidArgument, match="one context after the other"):
        linear.Rehearsal(discreet.policy("ucb1"), 2, 2, horizon=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"linear\.Rehearsal"):
        discreet.Rehearsal(row, 2)
