"""Every kernel draws what its law says: moments, batches, determinism.

Fixed seeds. About 150 two-sided checks at 1e-10 or 1e-9 each: false alarms below 1e-6 in all.
"""

from __future__ import annotations

import numpy as np
import pytest
from law_cases import CASES, PAIRS, check_moments, compiled, serve, totals
from scipy import stats

from discreet.arms import Bernoulli, Environment, Gaussian

INF = float("inf")


def seed(name: str, arm: int, rounds: int) -> np.random.Generator:
    return np.random.default_rng([175, list(CASES).index(name), arm, rounds])


@pytest.mark.parametrize("rounds", [1, 60])
@pytest.mark.parametrize(("name", "arm"), PAIRS)
def test_totals_have_the_mean_and_variance_of_the_law(name: str, arm: int, rounds: int) -> None:
    environment, twins = CASES[name]
    sample = totals(environment, arm, rounds, 20_000, seed(name, arm, rounds))
    check_moments(sample, rounds * twins[arm].mean(), rounds * twins[arm].var())


@pytest.mark.parametrize(("name", "arm"), PAIRS)
def test_stated_means_and_bounds_are_true(name: str, arm: int) -> None:
    environment, twins = CASES[name]
    assert environment.means[arm] == pytest.approx(twins[arm].mean(), abs=1e-9)
    rewards = totals(environment, arm, 1, 5_000, seed(name, arm, 2))
    low, high = environment.bounds or (-INF, INF)
    assert low <= rewards.min() < rewards.max() <= high


@pytest.mark.parametrize(("name", "arm"), PAIRS)
def test_a_batch_has_the_law_of_single_draws(name: str, arm: int) -> None:
    environment = CASES[name].environment
    rng = seed(name, arm, 3)
    batches = totals(environment, arm, 6, 10_000, rng)
    singles = totals(environment, arm, 1, 60_000, rng).reshape(-1, 6).sum(axis=1)
    # Rounding keeps equal sums of two values equal, whatever the order of addition.
    assert stats.ks_2samp(np.round(batches, 9), np.round(singles, 9)).pvalue > 1e-9


@pytest.mark.parametrize("name", CASES)
def test_interpreted_and_compiled_draws_agree(name: str) -> None:
    environment = CASES[name].environment
    draw = compiled(environment)

    def run(kernel: object) -> list[tuple[float, int]]:
        rng = np.random.default_rng(7)
        state = environment.start(rng)
        plan = [(i % environment.arms, (1, 2, 9, 250)[i % 4]) for i in range(80)]
        return [serve(kernel, environment, state, arm, n, rng) for arm, n in plan]  # type: ignore[arg-type]

    plain, fast = run(environment.draw), run(draw)
    assert [served for _, served in plain] == [served for _, served in fast]
    np.testing.assert_allclose([x for x, _ in plain], [x for x, _ in fast], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_seed_fixes_the_draws(name: str) -> None:
    environment = CASES[name].environment
    first, second, other = (
        totals(environment, 0, 5, 300, np.random.default_rng(key)) for key in (1, 1, 2)
    )
    assert (first == second).all()
    assert (first != other).any()


@pytest.mark.parametrize("name", CASES)
def test_kernels_return_a_float_and_a_whole_number(name: str) -> None:
    environment = CASES[name].environment
    rng = np.random.default_rng(0)
    draw = compiled(environment)
    for rounds in (0, 1, 3):
        for kernel in (environment.draw, draw):
            total, served = kernel(environment.start(rng), 0, rounds, 0, rng)
            assert isinstance(total, float)
            assert int(served) == rounds
    returned = draw.nopython_signatures[0].return_type
    assert str(returned) == "Tuple(float64, int64)"


def test_one_draw_serves_a_trillion_rounds() -> None:
    rounds = 10**12
    for environment, sd in (
        (Bernoulli([0.5, 0.3]), (0.21 * rounds) ** 0.5),
        (Gaussian([0, 0.3]), 1e6),
    ):
        sample = totals(environment, 1, rounds, 2_000, np.random.default_rng(5))
        check_moments((sample - 0.3 * rounds) / sd, 0.0, 1.0)


def _too_wide(state, arm, rounds, t, rng):  # type: ignore[no-untyped-def]
    return rng.normal(rounds * state.mean[arm], state.sd[arm] * rounds), rounds


def _too_high(state, arm, rounds, t, rng):  # type: ignore[no-untyped-def]
    return rng.normal(rounds * state.mean[arm] + 0.2, state.sd[arm] * rounds**0.5), rounds


@pytest.mark.parametrize(("kernel", "word"), [(_too_wide, "variance"), (_too_high, "mean")])
def test_a_wrong_kernel_is_caught(kernel: object, word: str) -> None:
    environment: Environment = Gaussian([0.0, 0.0])
    object.__setattr__(environment, "draw", kernel)
    sample = totals(environment, 0, 2, 20_000, np.random.default_rng(3))
    with pytest.raises(AssertionError, match=word):
        check_moments(sample, 0.0, 2.0)
