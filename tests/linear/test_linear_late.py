"""Linear policies with late outcomes: the plan `contexts`, interpreted; and at once, where it is
the loop of linear policies bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet import linear
from discreet._compiled import Kernel
from discreet.errors import InvalidArgument
from discreet.linear._algebra import of_known_length
from discreet.linear._late import LatePhasedPlayer, LateWork, batch_of, context_slots
from discreet.linear._loop import fresh_course, loop_kernel, simulated_state
from discreet.linear._problem import LinearProblem
from discreet.linear._row import LinearPolicy, RoundPolicy
from discreet.linear._runs import fitted
from discreet.linear._view import LinearSetting
from discreet.policies._step import FINISHED, fresh_state, parts_of
from discreet.protocol._state import NEVER
from discreet.protocol.plans._contexts import (
    MEMBERS,
    OVER,
    RELEASED,
    TAKEN,
    USED,
    WAITS,
    ContextDesign,
    ContextHead,
    ContextVault,
)
from discreet.protocol.worlds._contexts import ContextTrack, ContextTruth, context_kernel
from discreet.simulator._loop import Curve
from discreet.simulator._work import Work
from discreet.simulator.calendar import Drift, calendar
from discreet.simulator.calendar._runs import world_of

ARMS, D, HORIZON = 4, 4, 120
DAYS: dict[str, Any] = {"arrivals": 12, "delay": 2, "missing": 0.1}


def problem_for(name: str) -> LinearProblem:
    """Fixed actions for phases, blocks of features for policies that need them."""
    row = linear.CATALOGUE[name].example()
    if "blocks-ts" in name:
        sets = np.array([linear.blocks([x], ARMS) for x in (0.4, 0.8)])
        contexts: linear.Contexts = linear.IIDContexts(sets)
    elif row.phased:
        contexts = linear.FixedActions(np.eye(D)[:ARMS])
    else:
        rng = np.random.default_rng(1)
        contexts = linear.IIDContexts(rng.uniform(-0.5, 0.5, (6, ARMS, D)))
    return LinearProblem(contexts, np.array([0.9, 0.3, 0.1, 0.0]), linear.GaussianRewards(0.1))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Work, "ready", lambda work, link, arguments: link())
    monkeypatch.setattr(Kernel, "cached", lambda kernel, *arguments: kernel.interpreted())


def coins(seed: int) -> Any:
    from discreet._draws import Draws

    return Draws(np.random.SFC64(np.random.SeedSequence(seed)))


ROUNDS = [name for name in linear.CATALOGUE if not linear.CATALOGUE[name].example().phased]


@pytest.mark.parametrize("name", ROUNDS)
def test_at_once_it_is_the_loop_bit_by_bit(name: str) -> None:
    problem = problem_for(name)
    policy: Any = fitted(linear.CATALOGUE[name].example(), problem)
    assert isinstance(policy, RoundPolicy)
    setting = LinearSetting(ARMS, problem.dimension, HORIZON)
    grid = np.array([1, 7, 50, HORIZON])
    rewards, theta = problem.rewards.parameters(), of_known_length(problem.theta)

    rng, pulls, regret = coins(5), np.zeros((4, ARMS), np.int64), np.zeros(4)
    state, parts = simulated_state(policy, setting), parts_of(policy, setting)
    loop = loop_kernel(policy, problem.contexts.offer, problem.rewards.pay).interpreted()
    done = loop(
        problem.contexts.start(rng), rewards, *parts, *state,
        fresh_course(ARMS, problem.dimension), theta, HORIZON, Curve(grid, regret, pulls), 10**6,
        rng,
    )  # fmt: skip
    assert done == FINISHED

    rng, track = coins(5), (np.zeros(4), np.zeros((4, ARMS), np.int64))
    ledger, _, view = fresh_state(policy, setting)
    alone = int(policy.release.each_alone)
    design = ContextDesign(*parts, ARMS, problem.dimension, HORIZON, 0.0, 1, alone, 0.0)
    head = ContextHead(view, np.zeros(6, np.int64), np.full(1, NEVER))
    vault = ContextVault(ledger, np.zeros(problem.dimension), np.zeros(1))
    world = world_of(calendar(ARMS, arrivals=1), HORIZON, problem)
    features = np.zeros(ARMS * problem.dimension)
    truth = ContextTruth(problem.contexts.start(rng), rewards, theta, features)
    play = context_kernel(context_slots(policy, problem), "at once").interpreted()
    places = np.zeros(ARMS, np.int64)
    own = ContextTrack(grid, *track, np.zeros(1), np.zeros(1, np.int64), places)
    assert play(world, truth, design, head, vault, own, rng) == 0
    assert (own.pulls == pulls).all()
    assert (own.regret == regret).all()
    theirs: Any = state.public
    assert np.array_equal(head.seen.estimate, theirs.estimate)
    assert head.at[OVER] == 1
    assert head.at[TAKEN] == HORIZON
    assert head.at[USED] + head.at[MEMBERS] == HORIZON


@pytest.mark.parametrize("name", linear.CATALOGUE)
@pytest.mark.usefixtures("interpreted")
def test_every_policy_meets_late_outcomes(name: str) -> None:
    """A tenth missing, rewards that move with a season: everybody is treated, and who is used was
    in a block."""
    row: Any = linear.CATALOGUE[name].example()
    asked = DAYS | {"horizon": HORIZON, "seed": 1, "drift": Drift("season", 0.1, 20)}
    found = discreet.simulate(row, problem_for(name), runs=2, **asked)
    assert found.calendar is not None
    assert found.plan == "contexts"
    assert (found.participants == HORIZON).all()
    assert ((found.used >= 0.0) & (found.used <= 1.0)).all()
    assert (found.days > 5.0).all()
    assert np.isfinite(found.final_regret).all()
    again = discreet.simulate(row, problem_for(name), runs=1, **asked)
    assert (again.pulls[0] == found.pulls[0]).all()


@pytest.mark.usefixtures("interpreted")
def test_who_comes_while_a_block_waits_is_not_used() -> None:
    """Blocks of 6 participants, then 24 days' worth of waiting: 6 of every 6 + Poisson(24)."""
    row: Any = linear.policy("private-linucb", epsilon=1.0, delta=1e-6)
    found = discreet.simulate(
        row, problem_for("private-linucb"), horizon=600, runs=4, seed=2, arrivals=12, delay=2,
        window=6,
    )  # fmt: skip
    share = found.used.mean()
    assert 0.15 < share < 0.27  # 6 / 30, about 20 blocks a run: 6 errors of at most 0.011
    assert (found.looks[:, 0] * 6 == np.round(found.used * 600)).all()


def test_batches() -> None:
    days = calendar(2, arrivals=12, delay=2)
    assert batch_of(linear.policy("oful"), days) == 24
    assert batch_of(linear.policy("adac-oful", rho=0.5), days) == 1
    assert batch_of(linear.policy("oful"), calendar(2, arrivals=12, delay=2, window=5)) == 5


@pytest.mark.usefixtures("interpreted")
def test_phases_wait_for_their_outcomes() -> None:
    problem = problem_for("gope")
    row: Any = linear.policy("gope")
    at_once = discreet.simulate(row, problem, horizon=20_000, runs=3, seed=1)
    late = discreet.simulate(row, problem, horizon=20_000, runs=3, seed=1, arrivals=100, delay=10)
    assert late.calendar is not None
    assert (late.participants == 20_000).all()
    assert (late.used < 1.0).all()
    assert (late.final_regret > at_once.final_regret).all()
    assert (late.named == 0).all()
    nobody = discreet.simulate(row, problem, horizon=20_000, runs=3, seed=1, arrivals=100)
    assert nobody.final_regret == pytest.approx(at_once.final_regret, rel=0.2)


def test_outcomes_of_a_phase_move_with_the_days() -> None:
    """With a drift of 1 over the trial and no noise to speak of, each reward is its mean and what
    its day adds: all of a phase sum to their means and the mean of the drift."""
    problem = LinearProblem(
        linear.FixedActions(np.eye(2)), np.array([0.5, 0.2]), linear.GaussianRewards(1e-9)
    )
    days = calendar(2, arrivals=10, delay=1, drift=Drift("linear", 1.0))
    policy: Any = linear.policy("gope")
    work = LateWork(policy, problem, 1000, 1, 1, np.array([1000]), calendar=days)
    player = work.player()
    assert isinstance(player, LatePhasedPlayer)
    player.before, player.last = 20.0, 40.0  # of a hundred days
    plays = np.array([300, 100])
    found = player.sums(None, np.array([0, 1]), plays, coins(1))  # type: ignore[arg-type]
    assert found / plays == pytest.approx([0.8, 0.5], abs=0.02)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [({"share": 0.1}, "share"), ({"trend": True}, "trend"), ({"window": 4}, "window")],
)
def test_refusals(wrong: dict[str, Any], argument: str) -> None:
    row: Any = linear.policy("adac-oful", rho=0.5)
    with pytest.raises(InvalidArgument) as caught:
        discreet.simulate(row, problem_for("adac-oful"), horizon=50, arrivals=12, **wrong)
    assert caught.value.argument == argument


def test_what_was_answered_is_erased() -> None:
    """Where every member is a leaf, features and outcomes of a block go with its release."""
    problem = problem_for("private-linucb")
    policy: Any = fitted(linear.CATALOGUE["private-linucb"].example(), problem)
    setting = LinearSetting(ARMS, D, 24)
    ledger, _, view = fresh_state(policy, setting)
    design = ContextDesign(*parts_of(policy, setting), ARMS, D, 24, 1.0, 12, 1, 0.0)
    head = ContextHead(view, np.zeros(6, np.int64), np.full(1, NEVER))
    vault = ContextVault(ledger, np.zeros(12 * D), np.zeros(12))
    assert isinstance(policy, LinearPolicy)
    slots = context_slots(policy, problem)
    from discreet.protocol.plans._contexts import CONTEXTS

    steps = {name: Kernel(step, **slots).interpreted() for name, step in CONTEXTS.items()}
    rng, features = coins(3), np.linspace(-0.4, 0.4, ARMS * D)
    for number in range(14):
        arm = steps["turn"](design, head, features, rng)
        slot = steps["seat"](design, head, features, arm, float(number))
        assert slot == (number if number < 12 else -1)
        if slot >= 0:
            steps["answer"](design, vault, slot, features, arm, 0.5)
    assert head.at[WAITS] == 1
    assert list(vault.outcomes) == [0.5] * 12
    steps["settle"](design, head, vault, 11.9, rng)
    assert head.at[RELEASED] == 0
    steps["settle"](design, head, vault, 12.0, rng)
    assert head.at[RELEASED] == 1
    assert not any(vault.outcomes)
    assert not any(vault.features)
