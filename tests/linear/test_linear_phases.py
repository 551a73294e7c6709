"""GOPE and AdaC-GOPE: phases by hand, noise, elimination, runs cut off by the horizon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet.linear as linear
from discreet.linear._phases import Elimination, NoisyEstimate, NoisySums, interleaved
from discreet.privacy.budgets import ZCDP

RHO = 0.5
THETA = [0.9, 0.1, 0.5, -0.2]


def plays(phase: int, arms: int, rank: int, rho: float | None) -> float:
    """c of algorithm 8, from the formula."""
    beta, delta = 2.0**-phase, 0.001 / (arms * phase * (phase + 1))
    c = 8 * rank / beta**2 * math.log(4 / delta)
    if rho is not None:
        log = math.log(2 / delta)
        f = rank + 2 * math.sqrt(rank * log) + 2 * log
        c += 2 * rank / beta * math.sqrt(2 / rho * f)
    return c


def orthonormal(rho: float | None, rng: Any, T: int) -> tuple[np.ndarray, float]:
    """GOPE on e_1 … e_K is successive elimination: n plays each, mean + N(0, 2/ρ)/n."""
    means, active, t, phase = np.array(THETA), list(range(4)), 0, 0
    pulls, regret = np.zeros(4), 0.0
    while t < T:
        phase += 1
        n = math.ceil(plays(phase, 4, len(active), rho) / len(active))
        if len(active) == 1 or n * len(active) > T - t:
            break
        sums = [rng.normal(n * means[a], math.sqrt(n)) for a in active]
        if rho is not None:
            sums = [s + math.sqrt(2 / rho) * rng.standard_normal() for s in sums]
        pulls[active] += n
        regret += n * sum(0.9 - means[a] for a in active)
        t += n * len(active)
        values = np.array(sums) / n
        active = [
            a for a, v in zip(active, values, strict=True) if values.max() - v <= 2 * 2.0**-phase
        ]
    return pulls, regret


@pytest.mark.parametrize("rho", [None, RHO, 0.01])
def test_orthonormal_actions_are_successive_elimination(rho: float | None) -> None:
    problem = linear.LinearProblem(linear.FixedActions(np.eye(4)), THETA)
    options: dict[str, Any] = {"tolerance": 1e-9}
    if rho is not None:
        options |= {"rho": rho, "noise": "sums", "setting": "printed"}
    row = linear.policy("gope" if rho is None else "adac-gope", **options)
    horizon = 50_000
    result = linear.simulate(row, problem, horizon=horizon, runs=5, seed=4)
    for run in range(5):
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(4, spawn_key=(run,))))
        pulls, regret = orthonormal(rho, rng, horizon)
        # what is left after the last finished phase is played among the survivors
        rest = result.pulls[run, -1] - pulls
        assert rest.min() >= 0
        assert result.pulls[run, -1].sum() == horizon
        assert regret - 1e-6 <= result.final_regret[run] <= regret + rest.sum() * 1.1 + 1e-6
        assert rest[0] == rest.max()


def test_lengths_of_phases() -> None:
    rule = Elimination()
    for phase in (1, 2, 5):
        assert rule.rounds(phase, 7, 3, 0.0) == pytest.approx(plays(phase, 7, 3, None))
        assert rule.rounds(phase, 7, 3, 2 / RHO) == pytest.approx(plays(phase, 7, 3, RHO))
    assert NoisyEstimate(ZCDP(RHO)).reward_variance == pytest.approx(2 / RHO)
    assert NoisySums(ZCDP(RHO), low=0.0, high=1.0).reward_variance == pytest.approx(1 / (2 * RHO))


class Scripted:
    """A generator whose normal numbers are given."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values)

    def standard_normal(self, size: int) -> np.ndarray:
        assert size == len(self.values)
        return self.values


def phase_data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((5, 3)) * rng.uniform(0.1, 3.0)
    n = rng.integers(1, 40, 5).astype(float)
    return points, n, rng.uniform(-1, 1, 5) * n


@pytest.mark.parametrize("seed", range(5))
def test_noise_at_the_estimate_covers_every_change_of_a_reward(seed: int) -> None:
    """Brute force: V^1/2 (θ^ - θ^') for each reward moved from -1 to 1, against the noise's sd."""
    points, n, totals = phase_data(seed)
    release = NoisyEstimate(ZCDP(RHO))
    V = (points * n[:, None]).T @ points
    still = release.estimate(points, n, totals, 1.0, Scripted([0.0] * 3))
    np.testing.assert_allclose(still, np.linalg.solve(V, points.T @ totals))
    moves = []
    for action in range(5):
        moved = totals.copy()
        moved[action] += 2.0
        change = release.estimate(points, n, moved, 1.0, Scripted([0.0] * 3)) - still
        moves.append(math.sqrt(change @ V @ change))
    for axis in np.eye(3):
        noise = release.estimate(points, n, totals, 1.0, Scripted(axis.tolist())) - still
        sd = math.sqrt(noise @ V @ noise)
        # ρ-zCDP: sensitivity / sd = sqrt(2ρ), with the sensitivity that brute force finds
        assert max(moves) / sd == pytest.approx(math.sqrt(2 * RHO))


def test_noise_at_the_estimate_has_covariance_g2_v_inverse() -> None:
    """3 × 3 sample covariance of 40 000 estimates; each entry within 6 of its standard errors.

    False alarm: 9 entries, P(|z| > 6) < 2e-9 each.
    """
    points, n, totals = phase_data(1)
    release = NoisyEstimate(ZCDP(RHO))
    V = (points * n[:, None]).T @ points
    rng, count = np.random.default_rng(1), 40_000
    drawn = np.array([release.estimate(points, n, totals, 1.0, rng) for _ in range(count)])
    g2 = max(a @ np.linalg.solve(V, a) for a in points)
    expected = 2 / RHO * g2 * np.linalg.inv(V)
    spread = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / count)
    assert (np.abs(np.cov(drawn.T) - expected) < 6 * spread).all()


def test_noise_at_the_sums_hides_one_sum() -> None:
    points, n, totals = phase_data(2)
    release = NoisySums(ZCDP(RHO))
    noise = [1.0, -2.0, 0.5, 0.0, 3.0]
    V = (points * n[:, None]).T @ points
    expected = np.linalg.solve(V, points.T @ (totals + math.sqrt(2 / RHO) * np.array(noise)))
    np.testing.assert_allclose(release.estimate(points, n, totals, 1.0, Scripted(noise)), expected)


def test_printed_noise_assumes_an_exact_design() -> None:
    points, n, totals = phase_data(3)
    release = NoisyEstimate(ZCDP(RHO), setting="printed")
    V = (points * n[:, None]).T @ points
    still = release.estimate(points, n, totals, 50.0, Scripted([0.0] * 3))
    noise = release.estimate(points, n, totals, 50.0, Scripted([1.0, 0.0, 0.0])) - still
    assert noise @ V @ noise == pytest.approx(2 / RHO * 3 / 50.0)


def test_interleaving() -> None:
    plays = np.array([5, 1, 10, 3])
    before = np.zeros(4, int)
    for rounds in range(1, 20):
        now = interleaved(plays, rounds)
        assert now.sum() == rounds
        assert (now >= before).all()
        assert (now <= plays).all()
        assert (np.abs(now - plays * rounds / 19) <= 1.0).all()
        before = now
    assert before.tolist() == plays.tolist()


def test_curve_inside_phases_is_consistent() -> None:
    problem = linear.LinearProblem.random(contexts="fixed", seed=2)
    row = linear.policy("adac-gope", rho=1.0)
    result = linear.simulate(row, problem, horizon=20_000, runs=2, seed=1, points=60)
    gaps = max(problem.means) - np.array(problem.means)
    np.testing.assert_allclose(result.regret, result.pulls @ gaps, rtol=1e-9)
    np.testing.assert_array_equal(result.pulls.sum(axis=2), np.tile(result.t, (2, 1)))
    assert (np.diff(result.pulls, axis=1) >= 0).all()


def test_a_phase_that_is_cut_off_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = linear.LinearProblem.random(contexts="fixed", seed=2)
    calls: list[float] = []
    keep = NoisyEstimate.estimate

    def spy(self: Any, points: Any, n: Any, totals: Any, c: float, rng: Any) -> Any:
        calls.append(float(n.sum()))
        return keep(self, points, n, totals, c, rng)

    monkeypatch.setattr(NoisyEstimate, "estimate", spy)
    row = linear.policy("adac-gope", rho=1.0, low=-1.0, high=1.0)
    first = math.ceil(Elimination().rounds(1, 10, 3, 2.0)) - 5
    linear.simulate(row, problem, horizon=first, runs=1, seed=1, threads=1)
    assert not calls
    linear.simulate(row, problem, horizon=first + 20, runs=1, seed=1, threads=1)
    assert len(calls) == 1
    assert calls[0] <= first + 20


def test_long_horizons_cost_nothing() -> None:
    """O(log T) phases: T = 1e12 with rewards whose sums are one draw."""
    problem = linear.LinearProblem.random(contexts="fixed", rewards="sign", seed=1)
    result = linear.simulate(
        linear.policy("adac-gope", rho=0.1), problem, horizon=1e12, runs=3, seed=1
    )
    assert result.seconds < 20
    assert (result.pulls[:, -1].argmax(axis=1) == np.argmax(problem.means)).all()


def test_actions_that_lose_rank() -> None:
    """Survivors on a line in space: the design lives in their span."""
    actions = [[1.0, 0.0, 0.0], [0.99, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    problem = linear.LinearProblem(linear.FixedActions(actions), [1.0, -1.0, -1.0])
    result = linear.simulate(
        linear.policy("adac-gope", rho=1.0), problem, horizon=1e6, runs=3, seed=1
    )
    assert (result.pulls[:, -1, 0] + result.pulls[:, -1, 1] > 0.9e6).all()
    assert result.complete


def test_contexts_that_change_are_refused() -> None:
    from discreet.errors import InvalidArgument

    with pytest.raises(InvalidArgument, match="fixed"):
        linear.simulate(
            linear.policy("gope"), linear.LinearProblem.random(seed=1), horizon=100, runs=1
        )
