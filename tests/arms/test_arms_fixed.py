"""Laws that run out: lists, tables, replay of a trial, and buffers."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from law_cases import compiled, serve
from scipy import stats

from discreet.arms import (
    Bernoulli,
    Replay,
    RewardList,
    RewardTable,
    Sampler,
    TrialData,
    actg175,
    replay,
    resample,
)

RNG = np.random.default_rng


def test_a_list_serves_the_round_and_not_the_arm() -> None:
    environment = RewardList([0.0, 1.0, 0.25, 0.5], arms=3)
    for draw in (environment.draw, compiled(environment)):
        state = environment.start(RNG(0))
        assert draw(state, 0, 2, 1, None if draw is environment.draw else RNG(0)) == (1.25, 2)
        assert draw(state, 2, 2, 1, None if draw is environment.draw else RNG(0)) == (1.25, 2)
    assert environment.means == (0.4375,) * 3
    assert (environment.arms, environment.limit, environment.bounds) == (3, 4, (0.0, 1.0))


def test_a_table_serves_round_and_arm() -> None:
    environment = RewardTable([[0, 1], [0.5, 0.25], [1, 1]])
    for draw in (environment.draw, compiled(environment)):
        state, rng = environment.start(RNG(0)), RNG(0)
        assert draw(state, 0, 2, 1, rng) == (1.5, 2)
        assert draw(state, 1, 3, 0, rng) == (2.25, 3)
    assert environment.means == (0.5, 0.75)
    assert (environment.arms, environment.limit) == (2, 3)


@pytest.mark.parametrize("environment", [RewardList([1, 1, 1], 2), RewardTable([[1, 1]] * 3)])
@pytest.mark.parametrize(("t", "rounds", "served"), [(0, 9, 3), (2, 2, 1), (3, 1, 0), (8, 5, 0)])
def test_lists_and_tables_end(environment: Any, t: int, rounds: int, served: int) -> None:
    rng = RNG(0)
    state = environment.start(rng)
    assert compiled(environment)(state, 1, rounds, t, rng) == (float(served), served)
    assert environment.draw(state, 1, rounds, t, rng) == (float(served), served)
    assert environment.refill(state, rng) is False


def test_rates_of_the_embedded_trial() -> None:
    cd4, free = actg175(), actg175("event-free")
    assert [round(rate, 3) for rate in cd4.rates] == [0.436, 0.653, 0.555, 0.556]
    assert [round(rate, 3) for rate in free.rates] == [0.660, 0.803, 0.792, 0.772]
    assert [len(outcomes) for outcomes in cd4.by_arm] == [532, 522, 524, 561]
    assert len(cd4.arm_names) == 4
    assert (cd4.licence, "335 (1996) 1081" in cd4.citation) == ("CC BY 4.0", True)
    assert resample(cd4) == Bernoulli(cd4.rates)


def test_replay_of_one_arm_is_exactly_its_patients() -> None:
    data = actg175()
    environment = replay(data)
    assert (environment.limit, environment.means) == (2139, data.rates)
    for arm, outcomes in enumerate(data.by_arm):
        rng = RNG(arm)
        state = environment.start(rng)
        served = serve(compiled(environment), environment, state, arm, 10**9, rng)
        assert served == (sum(outcomes), len(outcomes))
        assert serve(compiled(environment), environment, state, arm, 1, rng) == (0.0, 0)


def test_replay_under_random_choice_serves_a_quarter() -> None:
    """Rounds ~ Binomial(2139, 1/4), sd 20: the mean of 200 runs within 6.5 standard errors."""
    environment = replay(actg175())
    draw, lengths = compiled(environment), []
    for key in range(200):
        rng = RNG([11, key])
        state, length = environment.start(rng), 0
        while draw(state, int(rng.integers(4)), 1, length, rng)[1]:
            length += 1
        lengths.append(length)
    assert np.mean(lengths) == pytest.approx(2139 / 4, abs=6.5 * 20.03 / 200**0.5)
    assert max(lengths) <= (environment.limit or 0)


def test_replay_shuffles_by_the_generator_of_the_run() -> None:
    environment = replay(actg175())
    orders = [environment.start(RNG(key)).outcomes for key in (1, 1, 2)]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()
    one = environment.start(RNG(1))
    by_patient = sorted(zip(one.assigned.tolist(), one.outcomes.tolist(), strict=True))
    data = actg175()
    assert by_patient == sorted(zip(data.assigned, data.outcomes, strict=True))


def test_replay_passes_over_other_arms_in_order() -> None:
    data = TrialData("tiny", "cured", ["a", "b"], [0, 1, 1, 0, 1], [1, 0, 1, 1, 0])
    environment = Replay(data)
    state = environment.start(RNG(3))
    wanted = [x for arm, x in zip(state.assigned, state.outcomes, strict=True) if arm == 1]
    got = [environment.draw(state, 1, 1, i, RNG(0)) for i in range(4)]
    assert got == [(x, 1) for x in wanted] + [(0.0, 0)]


def count(rng: np.random.Generator, size: int) -> Any:
    """Rewards that show their own order."""
    count.calls += 1  # type: ignore[attr-defined]
    return np.arange(size) + 1000.0 * count.calls  # type: ignore[attr-defined]


def test_a_buffer_starves_and_is_refilled_without_losing_a_reward() -> None:
    count.calls = -1  # type: ignore[attr-defined]
    environment = Sampler([count, stats.norm()], means=[0, 0], buffer=4)
    rng = RNG(0)
    for draw in (environment.draw, compiled(environment)):
        count.calls = -1  # type: ignore[attr-defined]
        state = environment.start(rng)
        assert draw(state, 0, 3, 0, rng) == (0.0 + 1 + 2, 3)
        assert draw(state, 0, 3, 3, rng) == (3.0, 1)
        assert draw(state, 0, 3, 4, rng) == (0.0, 0)
        other = state.values[1].copy()
        assert environment.refill(state, rng) is True
        assert (state.values[1] == other).all()
        assert draw(state, 0, 2, 4, rng) == (2001.0, 2)
        assert serve(draw, environment, state, 0, 10, rng) == (
            1002.0 + 1003 + 4 * 2000 + 6 + 4 * 3000 + 6,
            10,
        )


def test_the_size_of_a_buffer_does_not_change_the_rewards_of_one_arm() -> None:
    sums = []
    for size in (3, 50, 1000):
        environment, rng = Sampler([stats.expon()], buffer=size), RNG(4)
        sums.append(
            serve(compiled(environment), environment, environment.start(rng), 0, 900, rng)[0]
        )
    assert sums == pytest.approx([sums[0]] * 3)


class Swapping:
    """A distribution that holds the caller's generator while it draws, slowly."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        self.held = random_state
        time.sleep(0.001)
        return self.held.normal(size=size)

    def mean(self) -> float:
        return 0.0

    def support(self) -> tuple[float, float]:
        return -np.inf, np.inf


def test_threads_do_not_share_a_generator() -> None:
    arms: list[Any] = [Swapping(), stats.gamma(2.0)]
    environment = Sampler(arms, buffer=8)
    draw = compiled(environment)

    def run(key: int) -> float:
        rng = RNG([6, key])
        state = environment.start(rng)
        return sum(serve(draw, environment, state, i % 2, 20, rng)[0] for i in range(6))

    alone = [run(key) for key in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(12)))
    assert together == alone


def test_bounds_of_samplers() -> None:
    assert Sampler([stats.beta(2, 3), stats.uniform(-1, 3)]).bounds == (-1.0, 2.0)
    assert Sampler([stats.beta(2, 3), stats.norm()]).bounds is None
    assert Sampler([count], means=0.5, bounds=(0, 1)).bounds == (0.0, 1.0)
    assert Sampler([count], means=0.5).bounds is None
