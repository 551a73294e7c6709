"""Random numbers that are drawn inside compiled code are NumPy's, number for number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import draws
from discreet.compiled import Kernel

EACH = 30_000
"""Draws of each law. The rare branches (one in 100 for the rims of strips, one in 3,700 for the
tail of the normal, one in 2,000 for that of the exponential) are missed with probability e^-8."""


def fill(rng: Any, out: Any) -> None:
    for place in range(len(out)):
        out[place, 0] = rng.random()
        out[place, 1] = rng.standard_normal()
        out[place, 2] = rng.standard_exponential()
        out[place, 3] = rng.beta(0.5 + place % 7, 1.0 + place % 3)
        out[place, 4] = rng.binomial(1 + place % 300, 0.3)
        out[place, 5] = rng.normal(2.0, 3.0)
        out[place, 6] = rng.integers(0, 10)


@pytest.fixture(scope="module")
def filled() -> Callable[..., Any]:
    return Kernel(fill).cached(None, None)


def test_draws_are_numpys_number_for_number(filled: Callable[..., Any]) -> None:
    compiled, plain = np.empty((EACH, 7)), np.empty((EACH, 7))
    ours = draws.draws(np.random.SeedSequence(5, spawn_key=(3,)))
    theirs = np.random.Generator(np.random.SFC64(np.random.SeedSequence(5, spawn_key=(3,))))
    filled(ours, compiled)
    fill(theirs, plain)
    # the laws that numba translates itself may differ in the last bit of a logarithm
    np.testing.assert_array_equal(compiled[:, [0, 4, 6]], plain[:, [0, 4, 6]])
    np.testing.assert_allclose(compiled, plain, rtol=1e-14, atol=0.0)
    assert ours.random() == theirs.random()  # Python goes on where compiled code stopped


def test_the_ziggurats_are_those_of_numba(filled: Callable[..., Any]) -> None:
    """The same kernel with a plain generator, whose draws are numba's: bit for bit."""
    compiled, plain = np.empty((EACH, 7)), np.empty((EACH, 7))
    filled(draws.Draws(np.random.SFC64(1)), compiled)
    filled(np.random.Generator(np.random.SFC64(1)), plain)
    np.testing.assert_array_equal(compiled, plain)


def test_children_are_such_generators_too() -> None:
    (child,) = draws.draws(np.random.SeedSequence(1)).spawn(1)
    assert isinstance(child, draws.Draws)


def test_of_an_unknown_layout_numbers_are_drawn_by_numpy_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert draws.is_known()
    seed = np.random.SeedSequence(1)
    known = draws.draws(seed)
    monkeypatch.setattr(draws, "WORDS", 3)
    draws.is_known.cache_clear()
    try:
        plain = draws.draws(seed)
    finally:
        draws.is_known.cache_clear()
    assert type(plain) is np.random.Generator
    assert plain.random() == known.random()
