"""The likelihood-ratio attack of `make timing`, on durations that are made up.

Noise of a known law, and a draw of so many steps that takes as long as they do, or that does not
depend on them. False alarms at most 1e-6 a test; what it finds it finds with a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import timing_ratios as ratios
from scipy.stats import binom
from timing_ratios import BITS, GAUSSIAN, LAPLACE, Environment, Transcripts, proved

SURE = 1.0 - 1e-6
TRIALS = 30_000
SIGMA = 3.1857030952716894
"""In outcomes, for (1, 1e-4)."""
FLIPS = 1.0 / (1.0 + np.exp(2.0))


def transcripts(
    environment: str, step: float, known: bool = False, seed: int = 5, weather: float = 0.0
) -> tuple[Transcripts, Environment]:
    """A step of the sampler takes so many nanoseconds, and the weather makes all calls of a trial
    slower or quicker."""
    rng = np.random.default_rng(seed)
    of = {"laplace": LAPLACE, "gaussian": GAUSSIAN, "bits": BITS}[environment]
    coins = rng.integers(0, 2, TRIALS)
    other = np.abs(rng.laplace(size=TRIALS)) if known else np.zeros(TRIALS)
    rows = Transcripts(coins, noises(environment, coins, rng), other, np.empty((TRIALS, 2, 1)))
    steps = np.where(coins == 1, *reversed(rows.steps(of)))
    slow = weather * rng.normal(size=TRIALS)
    # a draw is quick, or is held up for a while, and another call sees nothing of it
    rows.durations[:, 0, 0] = 70_000.0 + step * steps + slow + rng.exponential(4_000.0, TRIALS)
    rows.durations[:, 1, 0] = 10_000.0 + slow / 8.0 + rng.exponential(100.0, TRIALS)
    return rows, of


def noises(environment: str, coins: Any, rng: Any) -> Any:
    """Sizes of the noise in scales, if the outcome was 0 and if it was 1."""
    if environment == "bits":
        answers = coins ^ (rng.random(TRIALS) < FLIPS)
        return 2.0 * np.column_stack([answers == 1, answers == 0])
    scale = SIGMA if environment == "gaussian" else 1.0
    drawn = rng.normal(size=TRIALS) if environment == "gaussian" else rng.laplace(size=TRIALS)
    # on a grid, or the sum of two floating-point numbers tells them apart
    value = coins + np.round(scale * drawn * 2.0**20) / 2.0**20
    return np.column_stack([np.abs(value), np.abs(value - 1.0)]) / scale


CLAIMS = {"laplace": 1.0, "gaussian": 1.0, "bits": 2.0}


@pytest.mark.parametrize(
    ("environment", "known"),
    [("laplace", False), ("laplace", True), ("gaussian", False), ("bits", False)],
)
def test_steps_that_take_time_prove_more_than_the_claim(environment: str, known: bool) -> None:
    rows, of = transcripts(environment, 2_000.0, known)
    assert proved(rows, of, SURE) > CLAIMS[environment]


def test_what_makes_all_calls_slow_hides_no_steps() -> None:
    """By ten steps, up and down: without the other call nothing could be told."""
    rows, of = transcripts("laplace", 2_000.0, weather=20_000.0)
    assert proved(rows, of, SURE) > 1.5
    alone = rows._replace(durations=rows.durations[:, :1])
    assert proved(alone, of, SURE) <= 1.0


@pytest.mark.parametrize("environment", CLAIMS)
@pytest.mark.parametrize("seed", range(3))
def test_durations_that_tell_nothing_prove_what_values_do(environment: str, seed: int) -> None:
    """And nearly all of that: of the Gaussian value, what (ε, δ) with another δ leaves."""
    rows, of = transcripts(environment, 0.0, seed=seed, weather=5_000.0)
    found = proved(rows, of, SURE)
    assert found <= CLAIMS[environment]
    assert found > {"laplace": 0.8, "bits": 1.7, "gaussian": 0.1}[environment]


def test_what_the_attack_is_told_of_the_law_cannot_prove_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong law makes it weaker: it guesses at other trials than those that taught it."""
    rows, _ = transcripts("laplace", 0.0)
    assert proved(rows, GAUSSIAN._replace(delta=0.0), SURE) <= 1.0
    for name, value in {"RARE": 1, "CELLS": 20_000, "FEW": 1, "MORE": 0.1}.items():
        monkeypatch.setattr(ratios, name, value)
    assert proved(rows, LAPLACE, SURE) <= 1.0


def test_a_step_is_told_from_what_else_takes_time() -> None:
    """Quartiles of an exponential law are log 3 of its means apart."""
    step, spread = ratios.clearest(*transcripts("laplace", 2_000.0, weather=20_000.0))
    assert step == pytest.approx(2_000.0, rel=0.05)
    assert spread == pytest.approx(4_000.0 * np.log(3.0), rel=0.1)


def test_so_many_right_guesses_are_as_unlikely_as_the_risk() -> None:
    for right, guesses in ((40, 40), (90, 100), (7_500, 10_000)):
        epsilon = ratios.worth(np.array(right), np.array(guesses), 20_000, 0.0, 0.999)
        often = 1.0 / (1.0 + np.exp(-epsilon))
        assert binom.sf(right - 1, guesses, often) == pytest.approx(1e-3)
    assert ratios.worth(np.array(50), np.array(100), 20_000, 0.0, 0.999) == 0.0
    assert ratios.worth(np.array(0), np.array(0), 20_000, 0.0, 0.999) == 0.0


def test_coins_that_are_shown_openly_prove_nothing() -> None:
    """As many as δ admits are taken off the right guesses; one in a thousand here."""
    right, guesses, delta, size = np.array(90), np.array(90), 1e-3, 20_000
    shown = binom.isf(1e-4, size, delta)
    found = ratios.worth(right, guesses, size, delta, 0.999)
    rest = ratios.worth(right - shown, guesses - shown, size, 0.0, 1.0 - 9e-4)
    assert found == pytest.approx(rest)
    assert 0.0 < found < ratios.worth(right, guesses, size, 0.0, 0.999)


@pytest.mark.parametrize("seed", range(3))
def test_a_coin_shown_with_probability_delta_keeps_the_claim(seed: int) -> None:
    """The worst that (ε, δ) admits: a random bit, and now and then a glance at the coin."""
    rows, of = transcripts("bits", 0.0, seed=seed)
    shown = np.random.default_rng(seed).random(TRIALS) < 0.02
    rows.sizes[shown] = 20.0 * np.column_stack([rows.coins[shown] == 1, rows.coins[shown] == 0])
    assert proved(rows, of, SURE) > 2.0 >= proved(rows, of._replace(delta=0.02), SURE)
