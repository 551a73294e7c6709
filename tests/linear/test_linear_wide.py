"""Simulations draw all contexts, and work out the indices of several actions, at a time: the same
numbers and choices, bit for bit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from discreet._compiled import Kernel
from discreet._draws import draws
from discreet.linear._algebra import grow, of_known_length
from discreet.linear._contexts import GaussianContexts, offer_normal
from discreet.linear._rules import choose_optimistic
from discreet.linear._view import LinearView, fresh_view
from discreet.linear._wide import choose_wide, grow_wide, offer_normal_wide


def with_known_dimension(view: Any, actions: Any, arms: Any, theta: Any) -> Any:
    return choose(None, view, actions, arms, len(theta), None)


choose: Any = choose_optimistic


@lru_cache(maxsize=1)
def compiled() -> Any:
    return Kernel(with_known_dimension, choose=Kernel(choose_wide).inlined()).compiled()


def drawn(rng: np.random.Generator, arms: int, dimension: int) -> LinearView:
    factor = rng.standard_normal((dimension, dimension))
    view = fresh_view(dimension, 1.0)
    np.asarray(view.inverse)[:] = (factor @ factor.T).ravel()
    np.asarray(view.estimate)[:] = rng.standard_normal(dimension)
    view.width[0] = rng.exponential()
    return view._replace(work=np.zeros(max(arms, dimension**2)))


@pytest.mark.parametrize("dimension", [1, 2, 5, 12])
def test_the_same_arm_as_one_by_one(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    for arms in (2, 3, 7, 8, 9, 10, 16, 21):
        theta = of_known_length(np.zeros(dimension))
        for _ in range(100):
            view = drawn(rng, arms, dimension)
            actions = rng.standard_normal(arms * dimension)
            expected = choose_optimistic(None, view, actions, arms, dimension, rng)
            assert compiled()(view, actions, arms, theta) == expected


def test_of_equal_indices_the_first_wins_and_indices_that_are_no_numbers_never_do() -> None:
    rng = np.random.default_rng(1)
    view = drawn(rng, 10, 3)
    theta = of_known_length(np.zeros(3))
    same = np.tile(rng.standard_normal(3), 10)
    assert compiled()(view, same, 10, theta) == 0
    same[3 * 4] = np.nan
    same[0] = np.nan
    found = compiled()(view, same, 10, theta)
    assert found == choose_optimistic(None, view, same, 10, 3, rng) == 1


def with_known_length(matrix: Any, inverse: Any, along: Any, x: Any, start: Any, theta: Any) -> Any:
    return widened(matrix, inverse, along, x, start, 1.0, len(theta))


widened: Any = grow


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 8, 9, 12])
def test_a_rank_one_update_is_the_same_to_the_last_bit(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    wide = Kernel(with_known_length, widened=grow_wide).compiled()
    one_by_one = Kernel(with_known_length, widened=grow).compiled()
    mine = [np.eye(dimension).ravel(), np.eye(dimension).ravel(), np.zeros(dimension)]
    other = [array.copy() for array in mine]
    theta = of_known_length(np.zeros(dimension))
    for step in range(300):
        actions = rng.standard_normal(3 * dimension)
        start = step % 3 * dimension
        assert wide(*mine, actions, start, theta) == one_by_one(*other, actions, start, theta)
        for got, expected in zip(mine, other, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("ball", [False, True])
def test_contexts_are_those_drawn_one_by_one(ball: bool) -> None:
    """10,000 features: rims and tails of the ziggurat are among them."""
    contexts = GaussianContexts(arms=2000, dimension=5, mean=[0.9, -0.5, 0.0, 0.3, 0.1], ball=ball)
    many, one = (draws(np.random.SeedSequence(3)) for _ in range(2))
    state = contexts.start(many)
    together, singly = np.zeros(10_000), np.zeros(10_000)
    Kernel(offer_normal_wide).compiled()(state, together, many)
    Kernel(offer_normal).compiled()(state, singly, one)
    np.testing.assert_array_equal(together, singly)
    assert many.random() == one.random()
