"""Where privacy is free, how strong an ε is, and the two pictures."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import theory
from discreet.errors import InvalidArgument
from discreet.theory._regimes import BETWEEN, HIGH, LOW

rates = st.floats(0.02, 0.98)


@given(rates, rates)
def test_the_turn_is_the_log_odds_ratio(mean: float, best: float) -> None:
    if mean >= best - 1e-3:
        return
    turn = theory.log_odds_ratio(mean, best)
    odds = (best / (1 - best)) / (mean / (1 - mean))
    assert turn == pytest.approx(math.log(odds))
    free = theory.lai_robbins([mean, best])
    assert theory.private_bernoulli([mean, best], turn * 1.0001) == pytest.approx(free, rel=1e-9)
    assert theory.private_bernoulli([mean, best], turn * 0.8) > free * (1 + 1e-6)
    assert theory.turning_epsilon(mean, best) < turn


def test_free_epsilon() -> None:
    means = [0.75, 0.5, 0.25]
    assert theory.free_epsilon(means) == pytest.approx(math.log(9))
    near = theory.free_epsilon(means, 0.1)
    free = theory.lai_robbins(means)
    assert theory.private_bernoulli(means, near) == pytest.approx(1.1 * free, rel=1e-6)
    assert math.isinf(theory.free_epsilon([1.0, 0.5]))
    with pytest.raises(InvalidArgument, match="tolerance"):
        theory.free_epsilon(means, -0.1)


@pytest.mark.parametrize(
    "means", [[0.7, 0.5], [0.7, 0.5, 0.4], [0.5, 0.9, 0.95, 0.9], [0.75, 0.7, 0.7, 0.7, 0.7]]
)
def test_free_epsilon_of_identification(means: list[float]) -> None:
    free = theory.characteristic_time(means).samples
    turn = theory.free_epsilon_identification(means)
    assert theory.characteristic_time(means, 1.001 * turn).samples == pytest.approx(free, rel=1e-6)
    assert theory.characteristic_time(means, 0.9 * turn).samples > free * (1 + 1e-4)
    # where T*_TV/ε crosses T*_KL privacy still costs
    crossing = theory.total_variation_time(means) / free
    assert crossing < turn
    assert theory.characteristic_time(means, crossing).samples > free * (1 + 1e-5)


def test_regimes() -> None:
    assert theory.regime(0.5, 0.75, 2.0).name == LOW
    assert theory.regime(0.5, 0.75, 2.0).factor == pytest.approx(1.0)
    assert theory.regime(0.5, 0.75, 0.01).name == HIGH
    assert theory.regime(0.5, 0.75, 0.01).factor > 10
    assert theory.regime(0.5, 0.75, 0.9).name == BETWEEN
    with pytest.raises(InvalidArgument):
        theory.regime(0.5, 0.75, 0.0)


@given(st.floats(0.01, 20.0), st.sampled_from([0.0, 1e-6, 0.1]))
def test_strength(epsilon: float, delta: float) -> None:
    found = theory.strength(epsilon, delta)
    e = math.exp(epsilon)
    assert found.advantage == pytest.approx((e - 1 + 2 * delta) / (e + 1))
    assert found.right == pytest.approx((1 + found.advantage) / 2)
    assert found.odds == pytest.approx(e)
    # ten per cent is odds of one to nine
    assert found.suspicion_after == pytest.approx(e / (e + 9))
    assert f"ε = {epsilon:g}" in found.sentence


def test_strength_in_words() -> None:
    words = [theory.strength(e).word for e in (0.1, 0.5, 1.0, 4.0, 10.0)]
    assert words == ["very strong", "strong", "moderate", "weak", "hardly any"]
    assert "73.1 %" in theory.strength(1.0).sentence
    assert "1e-06" in theory.strength(1.0, 1e-6).sentence
    assert theory.strength(1e4).to_dict()["odds"] is None


def test_pictures(tmp_path: Path) -> None:
    figure = theory.regime_picture(0.6, path=tmp_path / "regimes.png")
    assert figure.axes[0].get_xlabel().startswith("gap")
    theory.price_picture([0.7, 0.5], horizon=1e4, runs=5, path=tmp_path / "price.svg")
    assert (tmp_path / "regimes.png").read_bytes().startswith(b"\x89PNG")
    assert "lower bound with" in (tmp_path / "price.svg").read_text(encoding="utf-8")
