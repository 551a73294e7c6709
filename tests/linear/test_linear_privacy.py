"""Sensitivities by brute force, guarantees derived, broken assumptions void."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import discreet.linear as linear
from discreet._compiled import Kernel
from discreet.errors import InvalidArgument, UnsupportedBudget
from discreet.linear import _trees as trees
from discreet.linear._grid import Grid
from discreet.linear._releases import ExactSum, NoisySum, collect_sum, publish_noisy
from discreet.linear._view import LinearSetting, fresh_view
from discreet.privacy import ZCDP, Approximate, Definition, GaussianDP, Pure
from discreet.privacy._noise import gaussian, zero
from discreet.privacy._source import RESOLUTION

D = 3
SETTING = LinearSetting(arms=4, dimension=D, horizon=1000)


def released(release: NoisySum, episode: list[tuple[Any, float]], noise: Any) -> Any:
    """Play an episode through the curator's kernels and return the view."""
    ledger, view = ExactSum().ledger(SETTING), fresh_view(D, 1.0)
    parameters = release.parameters(SETTING)
    for action, reward in episode:
        collect_sum(parameters, ledger, list(action), 0, reward, D)
    publish = Kernel(publish_noisy, noise=noise).interpreted()
    publish(parameters, ledger, view, D, np.random.default_rng(1))
    assert not ledger.total.any()  # forgotten as soon as released
    return view


@pytest.mark.parametrize("rewards", [(-1.0, 1.0), (-50.0, 1e9), (math.inf, -math.inf)])
@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_noise_of_an_episode_covers_any_change_of_a_reward(
    rewards: tuple[float, float], low: float
) -> None:
    """Rewards and actions of any size: sensitivity found by brute force = sd · sqrt(2ρ)."""
    rng = np.random.default_rng(1)
    actions = rng.standard_normal((6, D)) * [[0.1], [1.0], [3.0], [20.0], [0.5], [2.0]]
    release = NoisySum(ZCDP(0.2), low=low)
    moves = []
    for place in range(6):
        sums = []
        for reward in rewards:
            episode = [(a, reward if i == place else 0.3) for i, a in enumerate(actions)]
            sums.append(np.array(released(release, episode, zero).noisy))
        moves.append(np.linalg.norm(sums[0] - sums[1]))
    view = released(release, [(a, 0.3) for a in actions], gaussian)
    sd = math.sqrt(view.variance[0])
    assert max(moves) / sd == pytest.approx(math.sqrt(2 * 0.2))


def test_printed_noise_trusts_the_assumptions() -> None:
    release = NoisySum(ZCDP(0.2), setting="printed")
    view = released(release, [([30.0, 0.0, 0.0], 7.0)], zero)
    assert view.noisy.tolist() == [210.0, 0.0, 0.0]
    assert view.variance[0] == pytest.approx(2 / 0.2)


def test_a_nan_reward_cannot_pass_the_curator() -> None:
    """min(max(x, low), high) of NaN must not be NaN where it would poison a release."""
    view = released(NoisySum(ZCDP(0.2)), [([1.0, 0.0, 0.0], math.nan)], zero)
    assert abs(view.noisy[0]) <= 1.0


def test_the_first_reward_is_released_with_noise() -> None:
    """With λ = 0.1 the first round ends an episode: its reward must not be readable."""
    sign = linear.LinearProblem(linear.FixedActions(np.eye(2)), [0.5, 0.2], linear.SignRewards())
    row = linear.policy("adac-oful", rho=0.01)
    release = row.release
    assert isinstance(release, NoisySum)
    view = released(release, [([1.0, 0.0, 0.0], 1.0)], gaussian)
    assert view.releases[0] == 1
    assert (np.array(view.noisy) != [1.0, 0.0, 0.0]).all()
    assert row.guarantee_on(sign).is_private


def rows(count: int, seed: int) -> np.ndarray:
    """Rows (z, r) in the ball times [-1, 1], extreme ones among them."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((count, D))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    z[: count // 4] *= rng.random((count // 4, 1))
    z[-8:] = np.array(np.meshgrid(*[[-1, 1]] * D)).reshape(D, -1).T / math.sqrt(D)
    z[-14:-8] = np.vstack([np.eye(D), -np.eye(D)])
    z[-16:-14] = [[math.sqrt(0.5), math.sqrt(0.5), 0], [math.sqrt(0.5), -math.sqrt(0.5), 0]]
    r = rng.choice([-1.0, 1.0], count)
    return np.column_stack([z, r])


def test_sensitivities_of_a_row_by_brute_force() -> None:
    data = rows(300, 1)
    upper = np.triu_indices(D)
    matrix = np.array([np.outer(z, z)[upper] for z in data[:, :D]])
    vector = data[:, :D] * data[:, D:]
    full = np.array([np.outer(v, v) for v in data])
    entries = np.abs(matrix[:, None] - matrix[None]).max(axis=(0, 1))
    assert (entries <= 1.0 + 1e-9).all()
    assert entries.max() == pytest.approx(1.0)
    moves = np.abs(vector[:, None] - vector[None])
    assert moves.max() == pytest.approx(2.0)  # not 1, as if every entry lay in [0, 1]
    joint = np.abs(matrix[:, None] - matrix[None]).sum(axis=2) + moves.sum(axis=2)
    assert joint.max() <= trees.joint_sensitivity(D) + 1e-9
    frobenius = np.sqrt(((full[:, None] - full[None]) ** 2).sum(axis=(2, 3)))
    assert frobenius.max() <= math.sqrt(2) * trees.LENGTH_SQUARED + 1e-9
    assert frobenius.max() > 0.9 * math.sqrt(2) * trees.LENGTH_SQUARED


def largest_in_ball(q: np.ndarray) -> tuple[float, np.ndarray]:
    """max z'Qz + Σ z over the unit ball: an upper bound by Lagrange's dual, and a z.

    For every λ above all eigenvalues of Q, and above 0, the maximum is at most
    λ + 1'(λI - Q)⁻¹1/4, which is convex in λ; at the best one z = (λI - Q)⁻¹1/2.
    """
    values, vectors = np.linalg.eigh(q)
    along = vectors.T @ np.ones(len(q))

    def dual(shift: float) -> float:
        above = np.maximum(values, 0.0).max() + math.exp(shift)
        return float(above + (along**2 / (above - values)).sum() / 4.0)

    found = minimize_scalar(dual, bounds=(-35.0, 5.0), method="bounded", options={"xatol": 1e-10})
    above = np.maximum(values, 0.0).max() + math.exp(found.x)
    z = vectors @ (along / (above - values)) / 2.0
    return dual(found.x), z / max(1.0, float(np.linalg.norm(z)))


def worst_rows(d: int) -> tuple[float, np.ndarray, np.ndarray]:
    """The largest move of (upper triangle of zz', zr) in the 1-norm, and two rows that make it.

    A 1-norm is the largest of all signed sums, and flipping features makes the signs of the vector
    all +1: max over signs S of [max z'Qz + Σ z] + [max -y'Qy + Σ y], where z'Qz is the sum of
    S_ij z_i z_j over i <= j. Both are solved exactly, so this is the largest move there is.
    """
    most, pair = 0.0, (np.zeros(d), np.zeros(d))
    upper = list(zip(*np.triu_indices(d), strict=True))
    for signs in itertools.product((1.0, -1.0), repeat=len(upper)):
        q = np.zeros((d, d))
        for (i, j), sign in zip(upper, signs, strict=True):
            q[i, j] += sign / 2.0
            q[j, i] += sign / 2.0
        if np.trace(q) < 0.0:
            continue  # -Q with the two rows exchanged
        first, z = largest_in_ball(q)
        second, y = largest_in_ball(-q)
        if first + second > most:
            most, pair = first + second, (z, y)
    return most, *pair


@pytest.mark.parametrize(("d", "exact"), [(1, 2.25), (2, 4.37), (3, 5.53)])
def test_the_joint_sensitivity_holds_for_the_worst_rows(d: int, exact: float) -> None:
    most, z, y = worst_rows(d)
    assert most == pytest.approx(exact, abs=6e-3)
    bound = trees.joint_sensitivity(d)
    assert most <= bound + 1e-9
    assert bound <= 1.025 * most  # next to nothing is left over
    upper = np.triu_indices(d)
    moved = np.abs((np.outer(z, z) - np.outer(y, y))[upper]).sum() + np.abs(z + y).sum()
    assert moved == pytest.approx(most, rel=1e-6)  # the rows (z, 1) and (y, -1)
    # the same two rows in the whole numbers of a live trial
    whole = [[round(x * RESOLUTION) for x in (*v, sign)] for v, sign in ((z, 1.0), (y, -1.0))]
    for row in whole:
        trees.into_whole_ball(row, d)
    pairs = [(i, j) for i in range(d + 1) for j in range(i, d + 1) if (i, j) != (d, d)]
    moves = sum(abs(whole[0][i] * whole[0][j] - whole[1][i] * whole[1][j]) for i, j in pairs)
    scale = Grid().laplace_scale(1.0, bound, 1)
    assert 0.97 * scale < moves <= scale


@pytest.mark.parametrize("d", [2, 5, 20])
def test_the_joint_sensitivity_is_the_maximum_that_its_proof_names(d: int) -> None:
    c = np.linspace(0.0, 1.0, 200_001)
    named = math.sqrt(d * (d + 3) / 2) * np.sqrt(1 - c * c) + np.sqrt(2 * d * (1 + c))
    assert trees.joint_sensitivity(d) == pytest.approx(named.max(), rel=1e-9)
    assert named.max() <= trees.joint_sensitivity(d) * (1.0 + 1e-12)


def test_curator_of_trees_scales_and_clips() -> None:
    release = trees.LaplaceTrees(1.0)
    ledger = release.ledger(SETTING)
    trees.collect_row(None, ledger, [3.0, 0.0, 4.0], 0, 1e9, D)
    np.testing.assert_allclose(np.array(ledger.row), [0.6, 0.0, 0.8, 1.0])
    trees.collect_row(None, ledger, [0.3, 0.0, 0.4], 0, -0.5, D)
    np.testing.assert_allclose(np.array(ledger.row), [0.3, 0.0, 0.4, -0.5])
    trees.collect_row(None, ledger, [0.0, 2.0, 0.0], 0, 0.5, D)  # the row keeps r = <θ, z>
    np.testing.assert_allclose(np.array(ledger.row), [0.0, 1.0, 0.0, 0.25])


@pytest.mark.parametrize("calibration", ["joint", "entry", "paper"])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_laplace_trees_cost_what_their_noise_buys(calibration: str, d: int) -> None:
    release = trees.LaplaceTrees(0.7, calibration)
    levels, diagonal, other, vector, _ = release.parameters(LinearSetting(4, d, 1000))
    assert levels == 10  # nodes of 1, 2, …, 512 of 1000 leaves: a prefix never reads a larger one
    assert diagonal == other
    entries = d * (d + 1) / 2
    by_entry = levels * (entries / diagonal + 2 * d / vector)
    by_row = levels * trees.joint_sensitivity(d) / min(diagonal, vector)
    epsilon = release.guarantee(d).budget.epsilon  # type: ignore[attr-defined]
    assert epsilon == pytest.approx(min(by_entry, by_row))
    if calibration != "paper":
        assert epsilon <= 0.7
    else:
        assert diagonal == pytest.approx(levels * (d * d + 3 * d) / (2 * 0.7))
        assert (epsilon <= 0.7) is (d >= 2)  # the paper's noise is short in one dimension


def test_joint_calibration_needs_the_least_noise() -> None:
    for d in (2, 3, 8, 20):
        joint = trees.LaplaceTrees(1.0).parameters(LinearSetting(4, d, 1000))
        entry = trees.LaplaceTrees(1.0, "entry").parameters(LinearSetting(4, d, 1000))
        assert joint.vector < entry.vector
        assert joint.diagonal <= entry.diagonal * 1.17


@pytest.mark.parametrize("budget", [Approximate(1.0, 1e-6), ZCDP(0.3), GaussianDP(0.4)])
def test_gaussian_trees_keep_the_budget(budget: Any) -> None:
    release = trees.GaussianTrees(budget)
    noise = release.parameters(SETTING)
    assert noise.diagonal == pytest.approx(math.sqrt(2) * noise.other)
    # h nodes, each (L²/σ)-Gaussian DP
    spent = GaussianDP(math.sqrt(noise.levels) * 2.0 / noise.other)
    assert spent.implies(budget)
    assert not GaussianDP(spent.mu * 1.001).implies(budget)
    assert release.guarantee().budget.implies(budget)
    assert release.guarantee().definition is Definition.JOINT


def test_papers_gaussian_trees_are_stronger_than_asked() -> None:
    budget = Approximate(1.0, 1e-6)
    paper = trees.GaussianTrees(budget, "paper")
    assert paper.scale(SETTING) > 2 * trees.GaussianTrees(budget).scale(SETTING)
    spent = paper.guarantee().budget
    assert isinstance(spent, Approximate)
    assert spent.delta < 1e-12
    with pytest.raises(InvalidArgument):
        trees.GaussianTrees(ZCDP(1.0), "paper")


def test_guarantees_of_the_catalogue() -> None:
    for row in linear.CATALOGUE.values():
        example = row.example()
        assert example.is_private is bool(row.budgets)
        if not row.budgets:
            continue
        asked = next(b for b in (Pure(1.0), ZCDP(0.5), Approximate(1.0, 1e-6))
                     if isinstance(b, row.budgets))  # fmt: skip
        assert example.guarantee.budget.implies(asked)
        private = example.release.private_contexts
        wanted = Definition.JOINT if private else Definition.INTERACTIVE
        assert example.guarantee.definition is wanted
        assert ("contexts are public" in example.guarantee.conditions) is not private


FIXED = linear.LinearProblem.random(contexts="fixed", rewards="sign", seed=1)
LONG = linear.LinearProblem(
    linear.FixedActions([[2.0, 0.0], [0.0, 1.0]]), [0.1, 0.2], linear.SignRewards()
)
UNBOUNDED = linear.LinearProblem.random(seed=1)
WIDE = linear.LinearProblem.random(contexts="fixed", seed=1)


@pytest.mark.parametrize(
    ("name", "problem", "reason"),
    [
        ("adac-oful", FIXED, ""),
        ("adac-oful", LONG, "unit ball"),
        ("adac-oful", UNBOUNDED, "unbounded"),
        ("adac-gope", FIXED, "exactly optimal"),
        ("adac-gope", WIDE, "unbounded"),
    ],
)
def test_printed_guarantees_are_void_where_assumptions_break(
    name: str, problem: linear.LinearProblem, reason: str
) -> None:
    printed = linear.policy(name, rho=0.3, setting="printed")
    sound = linear.policy(name, rho=0.3)
    assert printed.guarantee.is_private  # under its conditions
    assert len(printed.guarantee.conditions) >= 3
    assert sound.guarantee_on(problem).budget.implies(ZCDP(0.3))
    found = printed.guarantee_on(problem)
    assert found.is_private is (not reason)
    if reason:
        assert reason in found.conditions[0]
        assert "ρ = 0.3" in found.conditions[0]
    result = linear.simulate(printed, problem, horizon=200, runs=1, seed=1)
    assert result.guarantee == found
    summary: Any = result.summary()
    assert summary["guarantee"]["conditions"] == list(found.conditions)


def test_sums_do_not_mind_long_actions() -> None:
    printed = linear.policy("adac-gope", rho=0.3, setting="printed", noise="sums")
    assert printed.guarantee_on(LONG).is_private
    assert not printed.guarantee_on(WIDE).is_private


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adac-oful", {"epsilon": 1.0}),
        ("adac-oful", {}),
        ("oful", {"rho": 1.0}),
        ("jdp-linucb", {"epsilon": 1.0}),
    ],
)
def test_budgets_that_do_not_fit(name: str, options: dict[str, float]) -> None:
    with pytest.raises(UnsupportedBudget):
        linear.policy(name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adac-oful", {"rho": 1.0, "growth": 0.0}),
        ("adac-oful", {"rho": 1.0, "failure": 1.0}),
        ("adac-oful", {"rho": 1.0, "ridge": -1.0}),
        ("adac-oful", {"rho": 1.0, "low": 2.0}),
        ("adac-oful", {"rho": 1.0, "high": math.inf}),
        ("adac-oful", {"rho": 1.0, "setting": "loud"}),
        ("adac-oful", {"rho": 1.0, "setting": "printed", "low": 0.0}),
        ("adac-oful", {"rho": 1.0, "colour": 1.0}),
        ("adac-gope", {"rho": 1.0, "noise": "everywhere"}),
        ("private-lints", {"epsilon": 1.0, "calibration": "loose"}),
        ("private-lints", {"epsilon": 1.0, "alpha": 0.0}),
        ("jdp-linucb", {"rho": 1.0, "norm": math.nan}),
        ("ofull", {}),
    ],
)
def test_bad_options(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        linear.policy(name, **options)


def test_private_contexts_stay_with_the_curator() -> None:
    """A schedule with a public design matrix would write raw private contexts into the view."""
    from dataclasses import replace

    from discreet.errors import InvalidArgument
    from discreet.linear._rules import Optimism, TreeOptimism
    from discreet.linear._schedules import Determinant, EachRoundPrivately, EachRoundPublicly

    private = linear.policy("private-linucb", epsilon=1.0)
    public = linear.policy("adac-oful", rho=1.0)
    for schedule in (Determinant(), EachRoundPublicly()):
        with pytest.raises(InvalidArgument, match="schedule must be for private contexts"):
            replace(private, schedule=schedule)
    with pytest.raises(InvalidArgument, match="rule must be for private contexts"):
        replace(private, rule=Optimism())
    with pytest.raises(InvalidArgument, match="schedule must be for public contexts"):
        replace(public, schedule=EachRoundPrivately())
    with pytest.raises(InvalidArgument, match="rule must be for public contexts"):
        replace(public, rule=TreeOptimism())
    joint = linear.policy("jdp-linucb", epsilon=1.0, delta=1e-6)
    weaker = linear.policy("jdp-linucb", epsilon=9.0, delta=1e-6)
    with pytest.raises(InvalidArgument, match="constants of the row's own release"):
        replace(joint, rule=weaker.rule)
