"""What a budget means to a person: bounds of every kind, against mechanisms that reach them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

import discreet
from discreet.errors import InvalidArgument
from discreet.privacy import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.privacy._tradeoff import Tradeoff, in_words

LEVELS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.9)
BUDGETS: tuple[Budget, ...] = (
    Pure(1.0), Approximate(1.0, 0.01), GaussianDP(1.0), ZCDP(0.5), Renyi(2.0, 0.5),
)  # fmt: skip


def test_pure_and_approximate_are_exact() -> None:
    for epsilon, delta in ((1.0, 0.0), (0.3, 0.05), (4.0, 1e-3)):
        tradeoff = Tradeoff(Approximate(epsilon, delta) if delta else Pure(epsilon))
        for level in LEVELS:
            f = max(
                0.0, 1 - delta - math.exp(epsilon) * level, math.exp(-epsilon) * (1 - delta - level)
            )
            assert tradeoff.misses(level) == pytest.approx(f)
        factor = math.exp(epsilon)
        assert tradeoff.advantage == pytest.approx((factor - 1 + 2 * delta) / (factor + 1))


def test_gaussian_is_exact() -> None:
    tradeoff = Tradeoff(GaussianDP(1.0))
    for level in LEVELS:
        assert tradeoff.power(level) == pytest.approx(norm.cdf(norm.ppf(level) + 1.0))
    assert tradeoff.advantage == pytest.approx(2 * norm.cdf(0.5) - 1)


def test_concentrated_bounds_hold_for_mechanisms_that_satisfy_them() -> None:
    """Gaussian noise has ρ = μ²/2, randomised response at most ε²/2."""
    bound = Tradeoff(ZCDP(0.5))
    for level in LEVELS:
        assert bound.power(level) >= Tradeoff(GaussianDP(1.0)).power(level)
        assert bound.power(level) >= Tradeoff(Pure(1.0)).power(level) - 1e-9
        assert bound.power(level) <= Tradeoff(ZCDP(0.6)).power(level)
    assert bound.advantage >= Tradeoff(GaussianDP(1.0)).advantage


def test_renyi_bound_is_the_best_of_its_level() -> None:
    """Two coins at the bound have exactly that divergence, so no smaller bound holds."""
    order, epsilon = 3.0, 0.4
    tradeoff = Tradeoff(Renyi(order, epsilon))
    for q in (0.01, 0.2, 0.6):
        p = tradeoff.power(q)
        divergences = [
            math.log(a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order))
            / (order - 1)
            for a, b in ((p, q), (q, p))
        ]
        assert max(divergences) == pytest.approx(epsilon, abs=1e-9)
    grid = [i / 2000 for i in range(1, 2000)]
    widest = max(tradeoff.power(q) - q for q in grid[::20])
    assert widest <= tradeoff.advantage + 1e-9
    assert tradeoff.advantage == pytest.approx(widest, abs=2e-3)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_kind_has_a_sound_curve(budget: Budget) -> None:
    tradeoff = Tradeoff(budget)
    levels, powers = tradeoff.curve(41)
    assert levels[0] == 0.0
    assert levels[-1] == 1.0
    assert powers == sorted(powers)
    assert all(power >= level for level, power in zip(levels, powers, strict=True))
    assert tradeoff.advantage <= budget.attacker_advantage() + 1e-9
    assert tradeoff.power(1.0) == 1.0
    # the conversion to (ε, δ) is a bound too, so the best one is not above it
    for level in LEVELS:
        through = min(
            Tradeoff(Approximate(e, budget.delta_at(e))).power(level)
            for e in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
            if budget.delta_at(e) < 1.0
        )
        assert tradeoff.power(level) <= through + 1e-9


def test_perfect_and_no_privacy() -> None:
    assert Tradeoff(Pure(0.0)).power(0.05) == 0.05
    assert Tradeoff(ZCDP(0.0)).advantage == 0.0
    assert Tradeoff(Pure(math.inf)).power(0.0) == 1.0
    assert "Nothing is promised" in in_words(Pure(math.inf))


def test_words_never_say_too_little() -> None:
    words = in_words(Pure(1.0))
    assert "accuses 5 of 100 innocents finds at most 14 of 100 members" in words
    assert "accuses 1 of 100 innocents finds at most 3 of 100 members" in words
    assert "at most 73.1 %" in words  # to the nearest tenth, as everywhere
    assert "994 of 1,000" in in_words(Pure(5.0))
    guarantee = discreet.policy("adap-ucb", epsilon=1.0).guarantee
    assert guarantee.tradeoff().in_words() == words
    # whoever is in a trial is known to be: its report speaks of outcomes
    about = guarantee.tradeoff().in_words(outcomes=True)
    assert "5 of 100 participants without an outcome finds at most 14 of 100" in about
    assert "took part" not in about


def test_levels_are_checked() -> None:
    for level in (-0.1, 1.1, math.nan, True):
        with pytest.raises(InvalidArgument, match="level must be"):
            Tradeoff(Pure(1.0)).power(level)


def test_explain(call: Callable[..., Any], tmp_path: Path) -> None:
    found = json.loads(call("explain", "--epsilon", "1", "--json").stdout)
    assert found["advantage"] == pytest.approx(math.tanh(0.5))
    assert found["power"]["0.01"] == pytest.approx(0.01 * math.e)
    assert found["power"]["0.05"] == pytest.approx(0.05 * math.e)
    assert "14 of 100" in found["words"]
    shown = call("explain", "--mu", "1", "--plot", "curve.png")
    assert "finds at most 26 of 100 members" in shown.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert call("explain").exit_code == 2
    assert call("explain", "--epsilon", "1", "--plot", "curve.txt").exit_code == 2
