"""Episodes drawn at once are the per-round loop on fixed actions: same law, same decisions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import discreet.linear as linear
from discreet.linear import _episodes as episodes
from discreet.linear._episodes import EpisodePlayer, episode_kernel, in_episodes
from discreet.linear._phased import clipped_environment
from discreet.linear._releases import ExactSum, collect_sum, collect_total
from discreet.linear._rules import Optimism
from discreet.linear._runs import LinearWork, RoundPlayer
from discreet.linear._schedules import ENDLESS, Determinant, length_determinant
from discreet.linear._view import LinearSetting, fresh_view
from discreet.simulator._runs import log_grid

ACTIONS = np.random.default_rng(3).standard_normal((6, 3)) * [[0.3], [1], [0.7], [1.5], [1], [0.9]]
THETA = [0.4, -0.3, 0.2]
SHORT = ACTIONS / np.linalg.norm(ACTIONS, axis=1, keepdims=True)


def problem(rewards: Any, actions: Any = ACTIONS, theta: Any = THETA) -> linear.LinearProblem:
    return linear.LinearProblem(linear.FixedActions(actions), theta, rewards)


def both(
    row: linear.LinearPolicy, place: linear.LinearProblem, T: int, runs: int, points: int = 40
) -> tuple[Any, Any]:
    """Results of the two ways to run a row, from the same seeds."""
    grid = log_grid(T, points)
    results = []
    for kind in (EpisodePlayer, RoundPlayer):
        work = LinearWork(row, place, T, runs, 7, grid)
        player = kind(work, row)
        for number in range(runs):
            work.done[number] = player.play(number)
        results.append(work.result())
    return results[0], results[1]


def check_same(batched: Any, stepped: Any) -> None:
    np.testing.assert_array_equal(batched.pulls, stepped.pulls)
    np.testing.assert_allclose(batched.regret, stepped.regret, rtol=1e-9, atol=1e-9)
    assert batched.regret.dtype == stepped.regret.dtype
    assert batched.pulls.dtype == stepped.pulls.dtype
    assert batched.summary().keys() == stepped.summary().keys()


@pytest.mark.parametrize("horizon", [6, 97, 4000])
@pytest.mark.parametrize("growth", [1.0, 0.1])
def test_clipped_rewards_come_from_the_same_draws(horizon: int, growth: float) -> None:
    """Clipped one by one they leave the generator as single rounds do, so noise is the same too:
    every decision must agree, long actions, late releases and the cut-off episode included."""
    row = linear.policy("adac-oful", rho=5.0, growth=growth, low=-0.5)
    check_same(*both(row, problem(linear.GaussianRewards(sd=0.5)), horizon, 6))


@pytest.mark.parametrize("name", ["rs-oful", "adac-oful", "adac-oful printed"])
def test_without_noise_every_episode_is_the_per_round_loops(name: str) -> None:
    budget: dict[str, Any] = {} if name == "rs-oful" else {"rho": math.inf}
    if "printed" in name:
        budget["setting"] = "printed"
    row = linear.policy(name.split()[0], **budget)
    check_same(*both(row, problem(linear.GaussianRewards(sd=1e-300)), 30_000, 1))


@pytest.mark.parametrize("ridge", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("growth", [1.0, 2.0])
def test_determinants_that_tie_are_decided_by_rule(ridge: float, growth: float) -> None:
    """Orthonormal actions: det V/det V_τ = (λ + N + n)/(λ + N) equals 1 + C exactly, again and
    again, and rounding must not tell the two loops apart. By hand: n is the least with > 1 + C."""
    row = linear.policy("rs-oful", ridge=ridge, growth=growth)
    place = problem(linear.GaussianRewards(sd=1e-300), np.eye(3), [0.5, 0.3, 0.1])
    batched, stepped = both(row, place, 20_000, 1)
    check_same(batched, stepped)
    N, sums, t = np.zeros(3), np.zeros(3), 0
    while t < 20_000:
        beta = math.sqrt(ridge) + math.sqrt(2 * math.log(1000) + np.log1p(N / ridge).sum())
        index = sums / (ridge + N) + beta / np.sqrt(ridge + N)
        arm = int(np.argmax(np.round(index, 12)))
        n = math.floor(round(growth * (ridge + N[arm]), 9)) + 1
        n = min(n, 20_000 - t)
        N[arm] += n
        sums[arm] += n * [0.5, 0.3, 0.1][arm]
        t += n
    assert batched.pulls[0, -1].tolist() == N.tolist()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("adac-oful", problem(linear.SignRewards(), SHORT)),
        ("adac-oful printed", problem(linear.GaussianRewards(), SHORT)),
        ("rs-oful", problem(linear.GaussianRewards(), SHORT)),
    ],
)
def test_sums_drawn_at_once_have_the_law_of_single_rounds(
    name: str, place: linear.LinearProblem
) -> None:
    """Regret at three times of 500 runs each way, two-sample Kolmogorov-Smirnov.

    False alarm: 3 tests in each of 3 cases at p < 1e-8, together below 1e-7.
    """
    options: dict[str, Any] = {} if name == "rs-oful" else {"rho": 0.5}
    if "printed" in name:
        options["setting"] = "printed"
    row = linear.policy(name.split()[0], **options)
    grid = np.array([100, 500, 2000])
    regrets = []
    for kind, seed in ((EpisodePlayer, 1), (RoundPlayer, 2)):
        work = LinearWork(row, place, 2000, 500, seed, grid)
        player = kind(work, row)
        assert all(player.play(number) for number in range(500))
        regrets.append(work.regret)
    for point in range(3):
        assert ks_2samp(regrets[0][:, point], regrets[1][:, point]).pvalue > 1e-8


@pytest.mark.parametrize("growth", [0.05, 1.0, 7.5])
def test_lengths_are_the_least_that_grow_the_determinant(growth: float) -> None:
    schedule = Determinant(growth).parameters(LinearSetting(6, 3, 100))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((3, 5)) * rng.uniform(0.1, 3.0)
        V, a = half @ half.T + 0.1 * np.eye(3), rng.standard_normal(3)
        view = fresh_view(3, 1.0)
        for place, value in enumerate(np.linalg.inv(V).ravel().tolist()):
            view.inverse[place] = value
        n = length_determinant(schedule, view, a, 0, 3)
        ratio = [np.linalg.det(V + m * np.outer(a, a)) / np.linalg.det(V) for m in (n - 1, n)]
        assert ratio[0] <= (1 + growth) * (1 + 1e-8) < ratio[1] * (1 + 2e-8)


@pytest.mark.parametrize("tiny", [0.0, 1e-200])
def test_an_action_that_says_nothing_is_never_released(tiny: float) -> None:
    """a = 0: det V stays, the episode is endless, and the run ends all the same."""
    assert length_determinant(
        Determinant().parameters(LinearSetting(2, 2, 100)), fresh_view(2, 1.0), [tiny, 0.0], 0, 2
    ) == ENDLESS  # fmt: skip
    row, place = linear.policy("rs-oful"), problem(linear.GaussianRewards(), [[tiny], [0.0]], [1.0])
    result = linear.simulate(row, place, horizon=1e15, runs=1, seed=1)
    assert result.pulls[0, -1].sum() == 10**15


def test_a_sum_is_collected_as_its_rewards_are() -> None:
    release = linear.policy("adac-oful", rho=1.0).release
    setting = LinearSetting(6, 3, 100)
    one, many = ExactSum().ledger(setting), ExactSum().ledger(setting)
    parameters = release.parameters(setting)
    rewards = np.random.default_rng(1).uniform(-1, 1, 50)
    for reward in rewards:
        collect_sum(parameters, one, ACTIONS.ravel(), 3, reward, 3)
    collect_total(parameters, many, ACTIONS.ravel(), 3, float(rewards.sum()), 3)
    np.testing.assert_allclose(np.array(one.total), np.array(many.total))
    assert one.longest[0] == many.longest[0]


def test_the_curator_clips_before_it_sums() -> None:
    """adac-oful to [-0.2, 0.1]: no sum of n rewards may leave [-0.2 n, 0.1 n]."""
    row = linear.policy("adac-oful", rho=1.0, low=-0.2, high=0.1)
    for rewards in (linear.GaussianRewards(sd=3.0), linear.SignRewards()):
        environment = clipped_environment(row, problem(rewards, SHORT))
        rng = np.random.default_rng(1)
        state = environment.start(rng)
        totals = [environment.draw(state, 0, 40, 0, rng)[0] for _ in range(200)]
        assert -8.0 <= min(totals) < max(totals) <= 4.0 + 1e-12


@pytest.mark.parametrize(("horizon", "releases"), [(50, 0), (51, 1), (60, 1)])
def test_an_episode_that_is_cut_off_is_not_released(horizon: int, releases: int) -> None:
    """λ = 50, unit actions: the first episode has 51 rounds."""
    row = linear.policy("adac-oful", rho=1.0, ridge=50.0)
    place = problem(linear.SignRewards(), SHORT)
    work = LinearWork(row, place, horizon, 1, 1, log_grid(horizon, 9))
    player = EpisodePlayer(work, row)
    assert player.play(0)
    assert work.pulls[0, -1].sum() == horizon
    assert player.state.public.public.releases[0] == releases
    assert bool(player.state.public.public.noisy.any()) is bool(releases)
    assert not player.state.ledger.total.any()


def test_the_first_episode_is_released_with_noise() -> None:
    """Rewards that are always 1: the released sum is 51 a + N(0, 2/ρ I), never 51 a."""
    row = linear.policy("adac-oful", rho=1e-3, ridge=50.0)
    place = problem(linear.SignRewards(), [[1.0], [0.5]], [1.0])
    work = LinearWork(row, place, 51, 200, 1, log_grid(51, 5))
    player = EpisodePlayer(work, row)
    released = []
    for number in range(200):
        assert player.play(number)
        assert work.pulls[number, -1].tolist() == [51, 0]
        released.append(float(player.state.public.public.noisy[0]) - 51.0)
    # 200 draws of N(0, 2000): (n - 1) s²/σ² beyond 6 sd of chi-square has probability < 1e-7
    assert np.var(released, ddof=1) == pytest.approx(2000.0, rel=6 * math.sqrt(2 / 199))


def test_long_batches_look_up_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards that are drawn one by one come in pieces, and the loop comes back after each; the
    same loop interpreted, with pieces of 7, makes the same run."""
    row = linear.policy("adac-oful", rho=5.0, low=-1.0, high=1.0)
    place = problem(linear.GaussianRewards())
    whole = linear.simulate(row, place, horizon=500, runs=1, seed=7, points=40)
    work = LinearWork(row, place, 500, 1, 7, log_grid(500, 40))
    player = EpisodePlayer(work, row)
    calls: list[int] = []
    monkeypatch.setattr(episodes, "PIECE", 7)
    episode_kernel.cache_clear()
    loop = episode_kernel(row, clipped_environment(row, place).draw, True).interpreted()
    episode_kernel.cache_clear()

    def counted(*arguments: Any) -> int:
        calls.append(int(loop(*arguments)))
        return calls[-1]

    player.loop = counted
    assert player.play(0)
    assert len(calls) > 10
    np.testing.assert_array_equal(whole.pulls, work.pulls)
    np.testing.assert_allclose(whole.regret, work.regret, rtol=1e-12)


class Restless(Optimism):
    """Does not say that it takes the same action until the next release."""

    steady = False


def test_which_policies_run_in_episodes() -> None:
    fixed, pool = problem(linear.SignRewards(), SHORT), linear.LinearProblem.random(seed=1)
    for name, row in linear.CATALOGUE.items():
        policy = row.example()
        assert in_episodes(policy, fixed) is (name in ("rs-oful", "adac-oful"))
        assert not in_episodes(policy, pool)
    rare = linear.policy("rs-oful")
    restless = linear.LinearPolicy("x", rare.schedule, rare.release, Restless())
    assert not in_episodes(restless, fixed)
    assert in_episodes(linear.LinearPolicy("x", rare.schedule, rare.release, Optimism()), fixed)


def test_long_horizons_cost_nothing() -> None:
    """O(d log T) releases; every curve is complete and consistent with its pulls."""
    place = linear.LinearProblem.random(dimension=5, contexts="fixed", rewards="sign", seed=1)
    row = linear.policy("adac-oful", rho=0.1)
    result = linear.simulate(row, place, horizon=1e12, runs=3, seed=1)
    assert result.seconds < 20
    gaps = max(place.means) - np.array(place.means)
    np.testing.assert_allclose(result.regret, result.pulls @ gaps, rtol=1e-9, atol=1e-3)
    np.testing.assert_array_equal(result.pulls.sum(axis=2), np.tile(result.t, (3, 1)))
    assert (result.pulls[:, -1].argmax(axis=1) == np.argmax(place.means)).all()


def test_threads_change_nothing() -> None:
    row, place = linear.policy("adac-oful", rho=0.5), problem(linear.SignRewards(), SHORT)
    one = linear.simulate(row, place, horizon=1e6, runs=6, seed=5, threads=1)
    two = linear.simulate(row, place, horizon=1e6, runs=6, seed=5, threads=3)
    assert one.regret.tolist() == two.regret.tolist()
