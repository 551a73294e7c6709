"""Whole runs against the naive twins, decision by decision, from the same generator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import naive_linear as naive
import numpy as np
import pytest

import discreet.linear as linear
from discreet.linear._trees import joint_sensitivity
from discreet.privacy._mechanisms import Gaussian
from discreet.privacy.budgets import Approximate

D, K, T = 3, 5, 400
LEVELS = 1 + math.floor(math.log2(T))

Twin = Callable[[Any], Any]
JOINT = Approximate(20.0, 1e-3)
CASES: dict[str, tuple[linear.LinearPolicy, Twin]] = {
    "oful": (linear.policy("oful"), lambda rng: naive.OFUL(D, T, rng)),
    "rs-oful": (linear.policy("rs-oful"), lambda rng: naive.RSOFUL(D, T, rng)),
    "rs-oful C": (
        linear.policy("rs-oful", growth=0.2, ridge=2.0, failure=0.05),
        lambda rng: naive.RSOFUL(D, T, rng, lam=2.0, delta=0.05, C=0.2),
    ),
    "adac-oful": (
        linear.policy("adac-oful", rho=5.0, low=-1.0, high=1.0),
        lambda rng: naive.AdaCOFUL(D, T, rng, rho=5.0),
    ),
    "adac-oful printed": (
        linear.policy("adac-oful", rho=5.0, setting="printed"),
        lambda rng: naive.AdaCOFUL(D, T, rng, rho=5.0, printed=True),
    ),
    "private-linucb": (
        linear.policy("private-linucb", epsilon=200.0),
        lambda rng: naive.TreeLinUCB(D, T, rng, LEVELS * joint_sensitivity(D) / 200.0),
    ),
    "private-linucb α": (
        linear.policy("private-linucb", epsilon=30.0, alpha=0.3),
        lambda rng: naive.TreeLinUCB(D, T, rng, LEVELS * joint_sensitivity(D) / 30.0, 0.3),
    ),
    "private-lints": (
        linear.policy("private-lints", epsilon=200.0, alpha=0.5),
        lambda rng: naive.TreeLinTS(D, T, rng, LEVELS * joint_sensitivity(D) / 200.0, 0.5),
    ),
    "jdp-linucb": (
        linear.policy("jdp-linucb", budget=JOINT),
        lambda rng: naive.JointLinUCB(
            D, T, rng, Gaussian.calibrated(JOINT, 2.0 * math.sqrt(LEVELS)).scale
        ),
    ),
    "jdp-linucb paper": (
        linear.policy("jdp-linucb", budget=JOINT, calibration="paper"),
        lambda rng: naive.JointLinUCB(
            D, T, rng, 4 * math.sqrt(LEVELS) * 2.0 * math.log(4 / 1e-3) / 20.0
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_decision_is_the_twins(name: str) -> None:
    policy, twin = CASES[name]
    problem = linear.LinearProblem.random(arms=K, dimension=D, seed=3)
    result = linear.simulate(policy, problem, horizon=T, runs=2, seed=8, points=T, threads=1)
    for run in range(2):
        regret, pulls = run_of(problem, twin, run)
        expected = [regret[t - 1] for t in result.t]
        np.testing.assert_allclose(result.regret[run], expected, atol=1e-8)
        assert result.pulls[run, -1].tolist() == pulls.tolist()


def run_of(problem: linear.LinearProblem, twin: Twin, run: int) -> tuple[list[float], np.ndarray]:
    """The run of a twin: contexts, choice, reward and noise from one generator, in this order."""
    child = np.random.SeedSequence(8, spawn_key=(run,))
    rng = np.random.Generator(np.random.SFC64(child))
    player = twin(rng)
    total, regret, pulls = 0.0, [], np.zeros(K, int)
    for _ in range(T):
        actions = 1 / math.sqrt(D) + math.sqrt(0.1) * rng.standard_normal((K, D))
        arm = player.choose(actions)
        means = actions @ problem.theta
        player.record(actions[arm], means[arm] + rng.standard_normal())
        total += means.max() - means[arm]
        regret.append(total)
        pulls[arm] += 1
    return regret, pulls


def test_orthonormal_actions_are_finite_arms() -> None:
    """OFUL on e_1 … e_K: S_a/(λ + N_a) + β/sqrt(λ + N_a), deterministic rewards."""
    theta = np.array([0.2, 0.5, 0.3, 0.1])
    problem = linear.LinearProblem(
        linear.FixedActions(np.eye(4)), theta, linear.GaussianRewards(sd=1e-300)
    )
    result = linear.simulate(linear.policy("oful"), problem, horizon=3000, runs=1, seed=1)
    n, sums = np.zeros(4), np.zeros(4)
    for _ in range(3000):
        beta = math.sqrt(0.1) + math.sqrt(2 * math.log(1000) + np.log1p(n / 0.1).sum())
        arm = int(np.argmax(sums / (0.1 + n) + beta / np.sqrt(0.1 + n)))
        n[arm] += 1
        sums[arm] += theta[arm]
    assert result.pulls[0, -1].tolist() == n.tolist()


@pytest.mark.parametrize("setting", ["sound", "printed"])
def test_infinite_budget_is_the_open_twin(setting: str) -> None:
    problem = linear.LinearProblem(
        linear.FixedActions(np.random.default_rng(1).uniform(-0.7, 0.7, (6, 2))),
        [0.3, -0.4],
        linear.GaussianRewards(sd=1e-300),
    )
    free = linear.policy("adac-oful", rho=math.inf, setting=setting)
    assert not free.is_private
    private = linear.simulate(free, problem, horizon=5000, runs=1, seed=1)
    opened = linear.simulate(linear.policy("rs-oful"), problem, horizon=5000, runs=1, seed=1)
    assert private.regret.tolist() == opened.regret.tolist()
    assert private.pulls.tolist() == opened.pulls.tolist()


def test_small_noise_is_linucb() -> None:
    """Trees with ε = 1e12 choose as LinUCB without noise: A = I + Σ zz'."""
    problem = linear.LinearProblem(
        linear.FixedActions(np.random.default_rng(2).uniform(-0.7, 0.7, (6, 2))),
        [0.3, -0.4],
        linear.GaussianRewards(sd=1e-300),
    )
    result = linear.simulate(
        linear.policy("private-linucb", epsilon=1e12), problem, horizon=2000, runs=1, seed=1
    )
    actions = problem.contexts.average
    A, b, pulls = np.eye(2), np.zeros(2), np.zeros(6, int)
    for _ in range(2000):
        inverse = np.linalg.inv(A)
        index = actions @ inverse @ b + np.sqrt(((actions @ inverse) * actions).sum(1))
        arm = int(np.argmax(index))
        A += np.outer(actions[arm], actions[arm])
        b += actions[arm] * (actions[arm] @ problem.theta)
        pulls[arm] += 1
    # ties within the noise may fall either way; the counts differ by no more than those
    assert np.abs(result.pulls[0, -1] - pulls).max() <= 2


def test_drift_of_rank_one_updates_stays_small() -> None:
    """In 300 000 rounds of one episode det V is found to 1e-9, so that a release comes in time; the
    release itself is made from V afresh."""
    from discreet._compiled import Kernel
    from discreet.linear._rules import update_public
    from discreet.linear._schedules import Determinant, follow_determinant
    from discreet.linear._view import LinearSetting

    rng = np.random.default_rng(1)
    rule = linear.policy("rs-oful").rule
    setting = LinearSetting(2, 4, 300_000)
    view = rule.first_view(setting)
    kernel = Kernel(play_many, follow=Kernel(follow_determinant)).compiled()
    actions = rng.standard_normal(4 * 1000)
    kernel(Determinant(1e300).parameters(setting), view, actions, 300)
    matrix = view.matrix.reshape(4, 4)
    assert view.updates[0] == 300_000
    assert view.log_now[0] == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-9)
    points = actions.reshape(-1, 4)
    np.testing.assert_allclose(matrix, 0.1 * np.eye(4) + 300 * points.T @ points, rtol=1e-9)
    update_public(rule.parameters(setting), view, 4)
    assert view.updates[0] == 0
    np.testing.assert_allclose(view.inverse.reshape(4, 4) @ matrix, np.eye(4), atol=1e-12)
    assert view.log_used[0] == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-12)


def follow(schedule: Any, view: Any, actions: Any, start: int, dimension: int) -> bool:
    """Filled in by the test."""
    raise RuntimeError("not linked")


def play_many(schedule: Any, view: Any, actions: Any, times: int) -> None:
    for _ in range(times):
        for start in range(0, len(actions), 4):
            follow(schedule, view, actions, start, 4)


@pytest.mark.parametrize("name", ["adac-oful", "private-lints"])
def test_a_seed_fixes_every_number(name: str) -> None:
    policy = CASES[name][0]
    problem = linear.LinearProblem.random(arms=K, dimension=D, seed=3)
    one = linear.simulate(policy, problem, horizon=300, runs=4, seed=5, threads=1)
    two = linear.simulate(policy, problem, horizon=300, runs=4, seed=5, threads=3)
    assert one.regret.tolist() == two.regret.tolist()
    assert one.pulls.tolist() == two.pulls.tolist()
    assert (one.pulls[:, -1].sum(axis=1) == 300).all()
