"""Random numbers that are drawn inside compiled code are NumPy's, number for number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import _draws as draws
from discreet._compiled import Kernel

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


def fill_normals(rng: Any, out: Any, mean: Any) -> None:
    rng.normals(out, mean, 0.3)


def fill_one_by_one(rng: Any, out: Any, mean: Any) -> None:
    for place in range(len(out)):
        out[place] = mean[place] + 0.3 * rng.standard_normal()


def test_many_normals_are_those_of_numba_one_by_one() -> None:
    """A million: some 15,000 rims of strips, and 270 tails."""
    together, singly = np.empty(1_000_000), np.empty(1_000_000)
    mean = np.linspace(-1.0, 1.0, len(together))
    ours, theirs = draws.Draws(np.random.SFC64(2)), np.random.Generator(np.random.SFC64(2))
    Kernel(fill_normals).compiled()(ours, together, mean)
    Kernel(fill_one_by_one).compiled()(theirs, singly, mean)
    np.testing.assert_array_equal(together, singly)
    assert ours.random() == theirs.random()
    draws.Draws(np.random.SFC64(2)).normals(singly, mean, 0.3)
    np.testing.assert_allclose(singly, together, rtol=1e-13, atol=1e-15)


def test_what_is_decided_without_the_density_is_what_the_density_decides() -> None:
    """In every rim, also where the density is furthest from the line between its edges."""
    from numba.np.random._constants import fi_double, ki_double, wi_double

    rng = np.random.default_rng(1)
    near, undecided, total = np.linspace(-2e-4, 2e-4, 41), 0, 0
    for strip in range(1, 256):
        inside = int(ki_double[strip])
        size = rng.integers(inside, 1 << 52, 500)
        line = ((1 << 52) - size) * draws.RIM_SLOPE[strip]
        assert 0.0 <= line.min() <= line.max() <= 1.0
        low, high = line + draws.RIM_LOW[strip], line + draws.RIM_HIGH[strip]
        level = np.concatenate(
            [rng.random((100, 500)), low + near[:, np.newaxis], high + near[:, np.newaxis]]
        )
        rise = fi_double[strip - 1] - fi_double[strip]
        below = rise * level + fi_double[strip] < np.exp(-0.5 * (size * wi_double[strip]) ** 2)
        assert below[level < low].all()
        assert not below[level >= high].any()
        undecided += int(((level >= low) & (level < high))[:100].sum())
        total += 100 * 500
    assert undecided < 0.01 * total


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
