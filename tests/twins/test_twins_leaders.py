"""Random leaders: the noise from uniforms, the shift, and the law of a choice among Beta draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import naive_formulas as naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import discreet
from discreet._compiled import Kernel
from discreet.policies._perturbed import Leader, leader_shift, noise_at
from discreet.policies._policy import Policy
from discreet.policies._view import View
from discreet.privacy import _noise as noise
from discreet.privacy.budgets import Approximate

T = 5000
epsilons = st.floats(-4.0, 2.4).map(lambda x: 10.0**x)
deltas = st.one_of(st.just(0.0), st.floats(-12.0, -0.5).map(lambda x: 10.0**x))
COMPILED_NOISE = Kernel(noise_at).compiled()


@given(epsilons, deltas, st.floats(1e-12, 1.0 - 1e-12))
@example(0.0, 0.1, 0.2)
@example(0.0, 1e-6, 0.999)
@example(1.0, 0.01, 0.5)
@example(250.0, 1e-12, 1e-12)
def test_the_noise_of_a_leader(epsilon: float, delta: float, u: float) -> None:
    expected = naive.truncated_laplace(u, epsilon, delta, 1)
    rule = Leader(1, epsilon, delta, 1.0, 0.0)
    slack = 1e-13 / epsilon if epsilon else 0.0  # the naive difference of logarithms cancels
    for function in (noise_at, COMPILED_NOISE):
        assert function(rule, u) == pytest.approx(expected, rel=1e-9, abs=30.0 * slack)


class Uniforms:
    """A generator that hands out what it was given."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def random(self) -> float:
        return self.values.pop(0)


@given(epsilons, deltas, st.floats(0.0, 1.0 - 1e-12), st.booleans())
@example(0.0, 0.1, 0.3, True)
@example(0.0, 0.1, 0.3, False)
@example(1.0, 0.01, 0.0, True)
def test_truncated_laplace_noise(epsilon: float, delta: float, far: float, plus: bool) -> None:
    """Two uniforms: m = (1 - far)/2 from the nearer end, and a fair coin for the side."""
    m = 0.5 - 0.5 * far
    expected = abs(naive.truncated_laplace(m, epsilon, delta, 1)) * (1.0 if plus else -1.0)
    side = Uniforms(far, 0.5 - 1e-9 if plus else 0.5)
    slack = 1e-13 / epsilon if epsilon else 0.0
    drawn = noise.truncated_laplace(epsilon, delta, side)  # type: ignore[arg-type]
    assert drawn == pytest.approx(expected, rel=1e-9, abs=30.0 * slack)
    assert not side.values


def choice_shares(policy: Policy, view: View, memory: Any, t: int, draws: int) -> Any:
    """How often each arm is chosen; Thompson sampling compiled, for all the others' machinery."""
    setting = policy.setting(len(view.size), T)
    kernel = policy.choose_kernel
    choose = kernel.compiled() if policy.name == "thompson" else kernel.interpreted()
    rule, rng = policy.rule.parameters(setting), np.random.default_rng(17)
    chosen = [choose(rule, memory, view, t, rng) for _ in range(draws)]
    return np.bincount(chosen, minlength=len(view.size))


Environment = tuple[float, float]


def around(mean: float, n: int) -> Environment:
    mean = naive.clip01(mean)
    return mean * n + 1.0, (1.0 - mean) * n + 1.0


def padded(mean: float, n: int) -> Environment:
    k = n // 8 + 1
    return mean * n + 1.0 + k, n - mean * n + 1.0 + k


BELIEFS: dict[str, Callable[[float, int, int], Environment]] = {
    "thompson": lambda m, n, t: around(m, n),
    "lazy-dp-ts": lambda m, n, t: around(m + 3.0 * math.log(t) / (5.0 * n), n),
    "dp-ts": lambda m, n, t: around(
        m + 6.0 * math.sqrt(8.0) * math.log(n + 1) * math.log(t) / (5.0 * n), n
    ),
    "private-thompson": lambda m, n, t: around(m, n),
    "dp-ftpl-beta": lambda m, n, t: padded(m, n),
}


def beta_row(name: str) -> Policy:
    if name == "thompson":
        return discreet.policy(name)
    if name == "dp-ftpl-beta":
        return discreet.policy(name, budget=Approximate(1.0, 0.1))
    return discreet.policy(name, epsilon=5.0)


VIEWS = (
    ([6, 6, 6], [0.5, 0.5, 0.5]),
    ([400, 30, 12], [0.62, 0.5, 0.55]),
    ([9000, 700, 2500], [0.3, 0.26, 0.285]),
)


@pytest.mark.parametrize("name", BELIEFS)
def test_beta_rules_choose_by_the_largest_draw(name: str) -> None:
    """The rules draw no more than they must: the law of the choice is that of drawing all arms.

    Fifteen chi-square tests at 1e-8 each.
    """
    row = beta_row(name)
    rng = np.random.default_rng(23)
    for sizes, means in VIEWS:
        t = sum(sizes)
        view = View(np.array(means), np.array(sizes), np.array(sizes))
        memory = row.rule.memory(row.setting(3, T))
        if name == "private-thompson":
            memory.phase[0] = 2  # gap estimated, trees filled
        seen = choice_shares(row, view, memory, t, 8_000)
        environments = [BELIEFS[name](m, n, t + 1) for m, n in zip(means, sizes, strict=True)]
        draws = [rng.beta(a, b, 200_000) for a, b in environments]
        expected = np.bincount(np.argmax(draws, axis=0), minlength=3)
        both = np.array([seen, expected])
        both = both[:, both.sum(axis=0) > 0]
        if both.shape[1] > 1:
            assert stats.chi2_contingency(both).pvalue > 1e-8


@given(
    st.floats(-6.0, 2.5).map(lambda x: 10.0**x),
    st.one_of(st.just(0.0), st.floats(-12.0, -0.5).map(lambda x: 10.0**x)),
    st.integers(4, 10**7),
)
def test_the_shift_of_the_leader(epsilon: float, delta: float, horizon: int) -> None:
    expected = naive.leader_centre(0.0, 1, epsilon, delta, horizon) - math.sqrt(math.log(horizon))
    assert leader_shift(epsilon, delta, horizon) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.01, 1e-9])
def test_a_huge_budget_hardly_perturbs_the_leader(delta: float) -> None:
    for epsilon in (800.0, 1e5, 1e12):
        rng = np.random.default_rng(3)
        compiled = Kernel(noise.truncated_laplace).compiled()
        for function in (noise.truncated_laplace, compiled):
            drawn = [function(epsilon, delta, rng) for _ in range(100)]
            assert all(abs(x) < 60.0 / epsilon + 1.0 for x in drawn)
        assert abs(leader_shift(epsilon, delta, 1000)) < 60.0 / epsilon
