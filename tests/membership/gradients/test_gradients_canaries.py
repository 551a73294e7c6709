"""Canaries: the best ones are the best, and CANIFE descends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidArgument
from discreet.membership.gradients import (
    ConvNet,
    References,
    SoftmaxRegression,
    best_gradient,
    blank,
    canife,
    dirac,
    fashion_mnist_sample,
    mislabelled,
    random_direction,
    rank,
)
from discreet.membership.gradients._canaries import _canife_loss


@pytest.fixture(scope="module")
def known() -> References:
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(8, 8))
    return References.of(rng.normal(size=(500, 8)) @ mixing + 0.5, ridge=1e-3)


def distance(known: References, gradient: Any) -> float:
    return float(known.distances(gradient - known.mean))


def test_ranking(known: References) -> None:
    rng = np.random.default_rng(6)
    candidates = rng.normal(size=(101, 8))
    found = rank(known, candidates)
    each = [distance(known, g) for g in candidates]
    assert found.easiest == int(np.argmax(each))
    assert found.hardest == int(np.argmin(each))
    assert sum(d < each[found.median] for d in each) == 50
    with pytest.raises(InvalidArgument, match="candidates must hold at least one"):
        rank(known, candidates[:0])


def test_algorithm_14_as_printed() -> None:
    """μ̂ = Σ u/n, Ĉ = Σ uu'/n about 0, m_k = |g_k - μ̂|² in its inverse, the largest returned."""
    rng = np.random.default_rng(9)
    ordinary, candidates = rng.normal(1.0, 1.0, (400, 5)), rng.normal(0.0, 3.0, (60, 5))
    mean = ordinary.sum(axis=0) / 400
    matrix = sum(np.outer(u, u) for u in ordinary) / 400
    scores = [(g - mean) @ np.linalg.inv(matrix) @ (g - mean) for g in candidates]
    printed = References.of(ordinary, ridge=0.0, centred=False)
    found = rank(printed, candidates)
    assert np.allclose(found.distances, scores)
    assert found.easiest == int(np.argmax(scores))
    centred = rank(References.of(ordinary, ridge=0.0), candidates)
    assert (centred.distances * 400 / 399 >= found.distances).all()  # Ĉ + ūū' is larger than Ĉ
    with pytest.raises(InvalidArgument, match="among must be left out"):
        rank(printed, ordinary, among=True)


def test_the_best_gradient_beats_all_others_of_its_norm(known: References) -> None:
    rng = np.random.default_rng(7)
    for norm in (0.3, 2.0):
        best = best_gradient(known, norm)
        assert np.linalg.norm(best) == pytest.approx(norm)
        top = distance(known, best)
        others = [random_direction(8, norm, rng) for _ in range(500)]
        assert top >= max(distance(known, g) for g in others)
        assert top >= distance(known, dirac(known, norm))
    covariance = known.factor @ known.factor.T
    least = np.linalg.eigvalsh(covariance)[0]
    centred = References(np.zeros(8), known.factor, known.ridge, known.count)
    assert distance(centred, best_gradient(centred, 1.5)) == pytest.approx(2.25 / least, rel=1e-3)


def test_the_dirac_takes_the_best_coordinate(known: References) -> None:
    """arg max |R e_j - μ̂|², which need not be where (Ĉ⁻¹)_jj is largest: a mean may point there."""
    for norm in (0.1, 1.0, 9.0):
        each = [distance(known, norm * e) for e in np.eye(8)]
        assert int(dirac(known, norm).argmax()) == int(np.argmax(each))
    near = References(np.array([1.0, 0.0]), np.diag([0.5, 1.0]), 0.0, 100)
    assert dirac(near, 1.0).tolist() == [0.0, 1.0]  # (e_1 - μ = 0)
    assert dirac(known, 2.0, coordinate=3).tolist() == [0, 0, 0, 2.0, 0, 0, 0, 0]
    with pytest.raises(InvalidArgument, match="coordinate must lie in 0 … 7, got 8"):
        dirac(known, 1.0, coordinate=8)
    with pytest.raises(InvalidArgument, match="norm must be a finite number above 0"):
        best_gradient(known, 0.0)


def test_heuristics() -> None:
    images = fashion_mnist_sample()
    x, y = images.features(4), images.labels
    model, rng = SoftmaxRegression(49), np.random.default_rng(8)
    theta = model.start(rng)
    assert not blank(x[0]).any()
    wrong = mislabelled(model, theta, x[0], int(y[0]))
    assert wrong != y[0]
    right_first = np.argsort(model.logits(theta, x[:1])[0])
    assert wrong in right_first[:2]
    assert np.linalg.norm(random_direction(490, 3.0, rng)) == pytest.approx(3.0)


@pytest.mark.parametrize("net", [False, True], ids=["softmax", "net"])
def test_canife_descends_along_its_gradient(net: bool) -> None:
    images = fashion_mnist_sample()
    y = images.labels
    x = images.scaled()[..., None] if net else images.features(4)
    model: Any = ConvNet((28, 28, 1), (3, 4, 4)) if net else SoftmaxRegression(49)
    theta = model.start(np.random.default_rng(9)).astype(float)
    layer = model.layer(theta, x[:60], y[:60])
    image = x[100].astype(float) * 0.5 + 0.25
    loss, slope = _canife_loss(model, theta, layer, image, 3, 4.0)
    rng = np.random.default_rng(1)
    direction = rng.normal(size=image.shape)
    up, down = (
        _canife_loss(model, theta, layer, image + s * 1e-6 * direction, 3, 4.0)[0] for s in (1, -1)
    )
    assert (slope * direction).sum() == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)
    crafted, losses = canife(model, theta, layer, image, 3, clip=4.0, steps=5)
    assert losses[0] == pytest.approx(loss)
    assert all(later < earlier for earlier, later in pairwise(losses))
    assert len(losses) > 2
    assert crafted.min() >= 0.0
    assert crafted.max() <= 1.0
