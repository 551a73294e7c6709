"""Policies for rewards that move, where they do: choices, alarms, regret."""

from __future__ import annotations

import math
from typing import Any

import naive_moving as moving
import numpy as np
import pytest
from naive_twin import replay
from test_twins_runs import generator, walk

import discreet
from discreet.errors import InvalidArgument
from discreet.policies import (
    Doubling,
    EachRound,
    Exact,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    Policy,
    Regular,
)
from discreet.policies._moving import Alarm, Discounting, Exp3, SlidingWindow, Watching, threshold
from discreet.privacy import ZCDP, Pure
from discreet.privacy._source import SIMULATED


def turning(horizon: int) -> Any:
    """The first arm is best, then the last."""
    rng = np.random.default_rng(horizon)
    table = rng.random((horizon, 3)) * 0.3
    table[: horizon // 2, 0] += 0.7
    table[horizon // 2 :, 2] += 0.7
    return table


CASES: dict[str, tuple[str, dict[str, Any], type[moving.Moving]]] = {
    "m-ucb": ("m-ucb", {"window": 200, "share": 0.1}, moving.MUCB),
    "dp-m-ucb": ("dp-m-ucb", {"window": 600, "share": 0.2, "epsilon": 2.0}, moving.DPMUCB),
    "dp-sw-ucb": ("dp-sw-ucb", {"window": 400, "epsilon": 2.0}, moving.DPSWUCB),
    "dp-d-ucb": ("dp-d-ucb", {"discount": 0.995, "epsilon": 2.0}, moving.DPDUCB),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("label", CASES)
def test_choices_while_means_move(label: str, compiled: bool) -> None:
    if compiled and label != "m-ucb":
        pytest.skip("one is enough to show that compiled and interpreted kernels agree")
    name, options, twin_of = CASES[label]
    table = turning(3000)
    played = walk(discreet.policy(name, **options), table, 0, 11, compiled).played()
    twin = twin_of(3, len(table), generator(11, 0), **options)
    replay(twin, table, played)
    late = played[-500:]
    assert np.mean(late == 2) > 0.6
    if isinstance(twin, moving.MUCB):
        assert twin.alarms == 1


def test_the_threshold_is_the_one_that_is_proved() -> None:
    """P(|D| > x) <= 2e^-L, for the widest rewards (bits at 1/2) and Laplace noise.

    Measured on 200,000 windows: with the most that is allowed, a count above mean + 6 standard
    deviations has a probability below 1e-6 (Bernstein); the alarms seen are far fewer.
    """
    rng, windows = np.random.default_rng(1), 200_000
    for n, batches, scale in ((5, 4, 0.0), (5, 4, 1.0), (1, 2, 3.0), (40, 2, 10.0)):
        halves = rng.binomial(n, 0.5, (2, windows, batches // 2)).astype(float)
        halves += rng.laplace(0.0, scale, halves.shape) if scale else 0.0
        gap = np.abs(halves[0].sum(axis=1) - halves[1].sum(axis=1))
        for level in (1.0, 2.0, 4.0):
            # `threshold` adds log m(m + 1) of the batch: log 2 at m = 1
            rule = Alarm(
                0.0, n, batches * (n / 4.0 + 4.0 * scale**2), scale, level - math.log(2.0), 1
            )
            most = 2.0 * math.exp(-level)
            allowed = windows * most + 6.0 * math.sqrt(windows * most)
            assert (gap > threshold(rule, 1)).sum() <= allowed
            if scale == 0.0 and level <= 2.0:  # and it is not idle
                assert (gap > 0.5 * threshold(rule, 1)).any()


def test_parameters_of_the_alarm() -> None:
    setting = discreet.policy("dp-m-ucb", epsilon=0.5, window=100, share=0.25, alarm=0.1).setting(4)
    rule = setting_rule(setting, Watching(100, 0.25, 0.1))
    # batches of ceil(10/0.5) = 20; 2 · (50 // 20) = 4 of them; b = 2, v = 8
    assert rule == Alarm(32.0, 20, 4 * (5.0 + 16.0), 2.0, math.log(80.0), 16)
    gaussian = Policy("g", Regular(20), ForgetGaussian(ZCDP(0.5)), Watching(100, 0.25, 0.1))
    sigma = SIMULATED.gaussian_scale(ZCDP(0.5), "exact")
    found = setting_rule(gaussian.setting(4), gaussian.rule)
    assert found.variance == pytest.approx(4 * (5.0 + sigma**2))
    assert found.scale == 0.0


def setting_rule(setting: Any, rule: Any) -> Any:
    return rule.parameters(setting)


@pytest.mark.parametrize("name", ["dp-sw-ucb", "dp-d-ucb", "dp-m-ucb"])
@pytest.mark.parametrize("live", [False, True])
def test_an_outcome_in_many_windows_is_paid_once(name: str, live: bool) -> None:
    row = discreet.policy(name, epsilon=0.5, every=2)
    found = row.proved(arms=2, horizon=40, live=live)
    assert found.holds
    assert found.worst is not None
    assert found.worst.noises == 1
    assert row.guarantee.budget == Pure(0.5)


def test_they_follow_where_others_stay_behind() -> None:
    """Five stretches, 10 paired runs: the regret of dp-imed is several times as large in each."""
    arms = [0.8, 0.5, 0.4, 0.3]
    rows = [arms[i % 4 :] + arms[: i % 4] for i in range(5)]
    environment = discreet.Switching(rows, at=[20_000 * i for i in range(5)])
    results = discreet.compare(
        [discreet.policy(name, epsilon=1.0) for name in ("dp-imed", "dp-sw-ucb", "dp-d-ucb")],
        environment, horizon=100_000, runs=10, seed=1, points=2,
    )  # fmt: skip
    still, *others = [result.moving_regret[:, -1] for result in results]
    assert all((2.0 * other < still).all() for other in others)


@pytest.mark.parametrize(
    ("schedule", "release", "rule", "argument"),
    [
        (Doubling(), ForgetLaplace(1.0), SlidingWindow(), "schedule"),
        (EachRound(), Exact(), Discounting(), "release"),
        (EachRound(), Exact(), Watching(), "release"),
    ],
)
def test_parts_that_do_not_go_together(
    schedule: Any, release: Any, rule: Any, argument: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Policy("mine", schedule, release, rule).setting(2)
    assert caught.value.argument == argument


def test_exp3_is_for_exact_rewards() -> None:
    assert Policy("mine", EachRound(), ForgetExact(), Exp3())
    with pytest.raises(InvalidArgument, match="exact rewards"):
        Policy("mine", Regular(3), ForgetLaplace(1.0), Exp3())


@pytest.mark.parametrize(
    ("name", "options", "argument"),
    [
        ("sw-ucb", {"window": 0}, "window"),
        ("sw-ucb", {"xi": 0.0}, "xi"),
        ("d-ucb", {"discount": 1.0}, "discount"),
        ("m-ucb", {"share": 0.0}, "share"),
        ("m-ucb", {"alarm": 1.0}, "alarm"),
        ("dp-sw-ucb", {"epsilon": 1.0, "every": 0}, "every"),
    ],
)
def test_options_that_make_no_sense(name: str, options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        discreet.policy(name, **options)
    assert caught.value.argument == argument


def test_a_window_that_no_memory_holds() -> None:
    with pytest.raises(InvalidArgument, match="window must be at most"):
        discreet.simulate(
            discreet.policy("sw-ucb", window=1 << 40), discreet.Bernoulli([0.5, 0.4]), horizon=10
        )
