"""A small convolutional net in NumPy: 3 × 3 convolutions of stride 2 and one softmax layer.

Convolutions are matrix products of unfolded patches P (positions × 9c), so the gradient of point i
in a layer's weights is P_i' Δ_i, one small product per point, all points in one batched call.

The thesis prints d_C = 18786 and a last layer of 4080 parameters, which no such net has: 4080 =
10(k + 1) needs k = 407, not a feature map. The default stands in for it: channels 16-37-26 on
32 × 32 × 3 images and Linear(416, 10), 18,667 parameters, the last 4,170 in the softmax layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....errors import InvalidArgument
from ._base import Factors, clip_factors, residuals

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...._types import Array

KERNEL = 3
STRIDE = 2
SMALL = 1 << 18
"""Multiply-adds above which BLAS libraries start threads, which costs more than it saves here."""
CHUNK = 32
"""Points whose patches are unfolded at a time: their working set stays in the cache."""
KEPT = 31 << 20
"""Bytes that the allocator is made to keep; GNU's heeds no more than 32 MB."""


class _Pass(NamedTuple):
    """What a forward pass leaves for the backward one."""

    patches: list[Array]
    """per layer (n, positions, 9c)"""
    outputs: list[Array]
    """per layer (n, positions, o), after the ReLU"""


@dataclass(frozen=True)
class ConvNet:
    """ReLU convolutions, each halving the image, then a softmax layer on what is left.

    >>> net = ConvNet()
    >>> net.size, net.head
    (18667, 4170)
    """

    shape: tuple[int, int, int] = (32, 32, 3)
    channels: tuple[int, ...] = (16, 37, 26)
    classes: int = 10

    def __post_init__(self) -> None:
        high, wide, colours = self.shape
        if min(high, wide, colours, *self.channels, self.classes) < 1:
            raise InvalidArgument(
                "shape", "have positive sizes and channels", self.shape, "use (32, 32, 3)"
            )
        _keep_memory()

    @cached_property
    def sides(self) -> tuple[tuple[int, int], ...]:
        """Height and width before every layer and after the last."""
        found = [self.shape[:2]]
        for _ in self.channels:
            high, wide = found[-1]
            found.append(((high + 1) // STRIDE, (wide + 1) // STRIDE))
        return tuple(found)

    @cached_property
    def kernels(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of every layer's weights."""
        return tuple((KERNEL**2 * c, o) for c, o in pairwise((self.shape[2], *self.channels)))

    @property
    def features(self) -> int:
        """How many values enter the softmax layer."""
        high, wide = self.sides[-1]
        return high * wide * self.channels[-1]

    @property
    def head(self) -> int:
        """Parameters of the softmax layer."""
        return self.classes * (self.features + 1)

    @property
    def size(self) -> int:
        """All parameters."""
        return sum((rows + 1) * columns for rows, columns in self.kernels) + self.head

    def start(self, rng: Generator) -> Array:
        """Uniform within ±1/√(inputs of a neuron), as most frameworks do."""
        parts = [
            rng.uniform(-(rows**-0.5), rows**-0.5, (rows + 1) * columns)
            for rows, columns in self.kernels
        ]
        limit = self.features**-0.5
        return np.concatenate([*parts, rng.uniform(-limit, limit, self.head)]).astype(np.float32)

    def split(self, theta: Array) -> tuple[list[tuple[Array, Array]], Array]:
        """Weights (9c, o) and biases of every convolution, and the rows of the softmax layer."""
        layers, at = [], 0
        for rows, columns in self.kernels:
            weights = theta[at : at + rows * columns].reshape(rows, columns)
            at += rows * columns
            layers.append((weights, theta[at : at + columns]))
            at += columns
        return layers, theta[at:].reshape(self.classes, self.features + 1)

    def logits(self, theta: Array, x: Array) -> Array:
        """One row of scores per image."""
        _, rows = self.split(theta)
        found = [
            self._forward(theta, x[i : i + CHUNK]).outputs[-1].reshape(-1, self.features)
            for i in range(0, len(x), CHUNK)
        ]
        features = np.concatenate(found) if found else np.empty((0, self.features), np.float32)
        return np.asarray(features @ rows[:, :-1].T + rows[:, -1])

    def layer(self, theta: Array, x: Array, y: Array) -> Factors:
        """The gradients in the softmax layer."""
        _, rows = self.split(theta)
        features = np.empty((len(x), self.features), theta.dtype)
        for i in range(0, len(x), CHUNK):
            found = self._forward(theta, x[i : i + CHUNK]).outputs[-1]
            features[i : i + CHUNK] = found.reshape(len(found), -1)
        return Factors(residuals(features @ rows[:, :-1].T + rows[:, -1], y), features)

    def gradients(self, theta: Array, x: Array, y: Array) -> Array:
        """The gradient in all parameters, one per point."""
        out = np.empty((len(x), self.size), theta.dtype)
        for i in range(0, len(x), CHUNK):
            self._fill(theta, x[i : i + CHUNK], y[i : i + CHUNK], out[i : i + CHUNK])
        return out

    def total(self, theta: Array, x: Array, y: Array, clip: float | None = None) -> Array:
        """The sum of the gradients; only clipping needs them one by one."""
        out = np.zeros(self.size, theta.dtype)
        for i in range(0, len(x), CHUNK):
            some, labels = x[i : i + CHUNK], y[i : i + CHUNK]
            if clip is None:
                out += self._sum(theta, some, labels)
            else:
                each = self.gradients(theta, some, labels)
                norms = np.sqrt(np.einsum("ij,ij->i", each, each))
                out += clip_factors(norms, clip) @ each
        return out

    def input_gradient(self, theta: Array, x: Array, upstream: Array) -> Array:
        """The gradient in the images of a loss with gradient `upstream` in the layer's inputs."""
        layers, _ = self.split(theta)
        done = self._forward(theta, x)
        delta = upstream.reshape(done.outputs[-1].shape) * (done.outputs[-1] > 0)
        for place in range(len(layers) - 1, -1, -1):
            below = self._fold(delta @ layers[place][0].T, place, len(x))
            if place:
                below = below.reshape(done.outputs[place - 1].shape)
                delta = below * (done.outputs[place - 1] > 0)
        return np.asarray(below)

    def _forward(self, theta: Array, x: Array) -> _Pass:
        layers, _ = self.split(theta)
        patches, outputs = [], []
        for place, (weights, bias) in enumerate(layers):
            unfolded = self._unfold(x, place)
            n, positions, _ = unfolded.shape
            z = unfolded.reshape(n * positions, -1) @ weights
            z += bias
            np.maximum(z, 0, out=z)
            patches.append(unfolded)
            outputs.append(z.reshape(n, positions, -1))
            x = outputs[-1]
        return _Pass(patches, outputs)

    def _backward(self, theta: Array, x: Array, y: Array) -> tuple[Factors, list[Array], _Pass]:
        """The softmax layer's factors, and Δ (n, positions, o) of every convolution."""
        layers, rows = self.split(theta)
        done = self._forward(theta, x)
        last = done.outputs[-1]
        features = last.reshape(len(x), -1)
        left = residuals(features @ rows[:, :-1].T + rows[:, -1], y)
        delta = (left @ rows[:, :-1]).reshape(last.shape)
        delta *= last > 0
        deltas = [delta]
        for place in range(len(layers) - 1, 0, -1):
            weights = layers[place][0]
            below = done.outputs[place - 1]
            spread = delta.reshape(-1, weights.shape[1]) @ weights.T
            delta = self._fold(spread, place, len(x)).reshape(below.shape)
            delta *= below > 0
            deltas.append(delta)
        return Factors(left, features), deltas[::-1], done

    def _fill(self, theta: Array, x: Array, y: Array, out: Array) -> None:
        """Write the gradients of some points into the rows of `out`."""
        head, deltas, done = self._backward(theta, x, y)
        at = 0
        for (rows, columns), patches, delta in zip(self.kernels, done.patches, deltas, strict=True):
            _products(patches, delta, _cells(out[:, at:], rows, columns))
            at += rows * columns
            delta.sum(axis=1, out=out[:, at : at + columns])
            at += columns
        k = self.features
        each = _cells(out[:, at:], self.classes, k + 1)
        np.multiply(head.residuals[:, :, None], head.inputs[:, None, :], out=each[:, :, :k])
        each[:, :, k] = head.residuals

    def _sum(self, theta: Array, x: Array, y: Array) -> Array:
        head, deltas, done = self._backward(theta, x, y)
        parts = []
        for (rows, columns), patches, delta in zip(self.kernels, done.patches, deltas, strict=True):
            flat = delta.reshape(-1, columns)
            # a product with ones: NumPy's sum down long, narrow columns is ten times slower
            ones = np.ones(len(flat), flat.dtype)
            parts += [(patches.reshape(-1, rows).T @ flat).reshape(-1), ones @ flat]
        return np.concatenate([*parts, head.total()])

    def _unfold(self, x: Array, place: int) -> Array:
        """Patches of a layer's input: (n, positions, 9c), zeros around the image."""
        (high, wide), (up, across) = self.sides[place], self.sides[place + 1]
        n, c = len(x), self.kernels[place][0] // KERNEL**2
        padded = np.zeros((n, high + 2, wide + 2, c), x.dtype)
        padded[:, 1:-1, 1:-1] = x.reshape(n, high, wide, c)
        out = np.empty((n, up, across, KERNEL, KERNEL * c), x.dtype)
        step = padded.strides
        for i in range(KERNEL):
            # three neighbours of a line are next to each other in memory: one strided view
            out[:, :, :, i] = np.lib.stride_tricks.as_strided(
                padded[:, i:], (n, up, across, KERNEL * c),
                (step[0], STRIDE * step[1], STRIDE * step[2], step[3]),
            )  # fmt: skip
        return out.reshape(n, up * across, -1)

    def _fold(self, spread: Array, place: int, n: int) -> Array:
        """The transpose of unfolding: what patches say, added up pixel by pixel."""
        (high, wide), (up, across) = self.sides[place], self.sides[place + 1]
        c = self.kernels[place][0] // KERNEL**2
        cells = spread.reshape(n, up, across, KERNEL, KERNEL, c)
        padded = np.zeros((n, high + 2 + STRIDE, wide + 2 + STRIDE, c), spread.dtype)
        for i in range(KERNEL):
            for j in range(KERNEL):
                rows = slice(i, i + STRIDE * up, STRIDE)
                padded[:, rows, j : j + STRIDE * across : STRIDE] += cells[:, :, :, i, j]
        return padded[:, 1 : high + 1, 1 : wide + 1]


def _keep_memory() -> None:
    """Free one large block that was never touched.

    GNU's allocator then keeps blocks up to that size instead of handing them back. A step would
    otherwise get all its arrays anew from the system, page by page, half of its time.
    """
    np.empty(KEPT, np.uint8)


def _cells(out: Array, rows: int, columns: int) -> Array:
    """The first rows · columns values of every row of `out`, as matrices to write into."""
    strides = (out.strides[0], columns * out.itemsize, out.itemsize)
    return np.lib.stride_tricks.as_strided(out, (len(out), rows, columns), strides)


def _products(patches: Array, delta: Array, out: Array) -> None:
    """P_i' Δ_i for every point, in column blocks small enough to stay in one thread."""
    turned = patches.transpose(0, 2, 1)
    columns = delta.shape[2]
    blocks = -(-turned.shape[1] * turned.shape[2] * columns // SMALL)
    width = -(-columns // blocks)
    for at in range(0, columns, width):
        np.matmul(turned, delta[:, :, at : at + width], out=out[:, :, at : at + width])
