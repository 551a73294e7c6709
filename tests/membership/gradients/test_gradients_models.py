"""Gradients against finite differences, and against JAX where it is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from discreet.errors import DiscreetError, InvalidArgument
from discreet.membership.gradients import ConvNet, SoftmaxRegression, per_sample_gradients
from discreet.membership.gradients.models._base import losses

NETS = [
    (SoftmaxRegression(6, 4), (6,)),
    (ConvNet((5, 6, 2), (3, 4), 3), (5, 6, 2)),
    (ConvNet(), (32, 32, 3)),
]


def drawn(model: Any, shape: tuple[int, ...], n: int = 5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    theta = model.start(rng).astype(float)
    return theta, rng.random((n, *shape)), rng.integers(0, model.classes, n)


@pytest.mark.parametrize(("model", "shape"), NETS, ids=["softmax", "small net", "stand-in"])
def test_gradients_are_finite_differences(model: Any, shape: tuple[int, ...]) -> None:
    theta, x, y = drawn(model, shape)
    found = model.gradients(theta, x, y)
    assert found.shape == (5, model.size)
    for j in np.unique(np.linspace(0, model.size - 1, 40).astype(int)):
        step = np.zeros(model.size)
        step[j] = 1e-6
        up, down = (losses(model.logits(theta + s, x), y) for s in (step, -step))
        assert np.allclose((up - down) / 2e-6, found[:, j], atol=1e-7)


@pytest.mark.parametrize(("model", "shape"), NETS, ids=["softmax", "small net", "stand-in"])
def test_sums_layers_and_clipping_follow_from_them(model: Any, shape: tuple[int, ...]) -> None:
    theta, x, y = drawn(model, shape, 40)
    each = model.gradients(theta, x, y)
    assert np.allclose(model.total(theta, x, y), each.sum(axis=0))
    head = model.layer(theta, x, y)
    assert np.allclose(head.dense(), each[:, -model.head :])
    assert np.allclose(head.norms(), np.linalg.norm(each[:, -model.head :], axis=1))
    norms = np.linalg.norm(each, axis=1)
    clip = float(np.median(norms))
    clipped = each * np.minimum(1.0, clip / norms)[:, None]
    assert np.allclose(model.total(theta, x, y, clip), clipped.sum(axis=0))


def test_the_softmax_layer_adds_up_to_zero_over_classes() -> None:
    model = SoftmaxRegression(6, 4)
    theta, x, y = drawn(model, (6,))
    assert np.allclose(model.gradients(theta, x, y).reshape(5, 4, 7).sum(axis=1), 0.0)


def test_the_gradient_in_the_image_is_a_finite_difference() -> None:
    net = ConvNet((5, 6, 2), (3, 4), 3)
    theta, x, _ = drawn(net, (5, 6, 2), 1)
    rng = np.random.default_rng(1)
    upstream = rng.normal(size=(1, net.features))

    def value(image: Any) -> float:
        return float(net.layer(theta, image, np.array([0])).inputs[0] @ upstream[0])

    found = net.input_gradient(theta, x, upstream)
    for place in [(0, 0, 0, 0), (0, 2, 3, 1), (0, 4, 5, 0)]:
        step = np.zeros_like(x)
        step[place] = 1e-6
        slope = (value(x + step) - value(x - step)) / 2e-6
        assert found[place] == pytest.approx(slope, abs=1e-7)


def test_the_stand_in_has_the_stated_sizes() -> None:
    assert (ConvNet().size, ConvNet().head) == (18_667, 4_170)
    assert SoftmaxRegression(784).size == 7_850
    with pytest.raises(InvalidArgument, match="positive sizes"):
        ConvNet((0, 3, 3))


def test_jax_agrees() -> None:
    pytest.importorskip("jax", reason='jax is an extra: pip install "discreet[jax]"')
    from discreet.membership.gradients.models._jax_model import conv_loss

    net = ConvNet((8, 8, 3), (4, 5), 10)
    rng = np.random.default_rng(2)
    theta = net.start(rng)
    x, y = rng.random((21, 8, 8, 3), np.float32), rng.integers(0, 10, 21)
    gradients = per_sample_gradients(conv_loss(net), batch=8)
    assert np.allclose(gradients(theta, x, y), net.gradients(theta, x, y), atol=1e-5)
    assert gradients(theta, x[:0], y[:0]).shape == (0, net.size)


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="jax is installed")
def test_without_jax_the_error_says_how_to_get_it() -> None:
    with pytest.raises(DiscreetError, match=r'pip install "discreet\[jax\]"'):
        per_sample_gradients(lambda theta, x, y: 0.0)
