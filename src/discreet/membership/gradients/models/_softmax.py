"""Softmax (multinomial logistic) regression: one linear layer, every gradient in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._base import Factors, residuals

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...._types import Array


@dataclass(frozen=True)
class SoftmaxRegression:
    """Linear(inputs, classes) with a bias; parameters are the rows (w_k, b_k), one after another.

    >>> SoftmaxRegression(784).size
    7850
    """

    inputs: int
    classes: int = 10

    @property
    def size(self) -> int:
        """classes · (inputs + 1)."""
        return self.classes * (self.inputs + 1)

    @property
    def head(self) -> int:
        """All of it."""
        return self.size

    def start(self, rng: Generator) -> Array:
        """Uniform within ±1/√inputs, as most frameworks do."""
        limit = self.inputs**-0.5
        return rng.uniform(-limit, limit, self.size).astype(np.float32)

    def logits(self, theta: Array, x: Array) -> Array:
        """x W' + b."""
        rows = theta.reshape(self.classes, self.inputs + 1)
        return x @ rows[:, :-1].T + rows[:, -1]

    def layer(self, theta: Array, x: Array, y: Array) -> Factors:
        """(p - e_y) and x."""
        return Factors(residuals(self.logits(theta, x), y), x)

    def gradients(self, theta: Array, x: Array, y: Array) -> Array:
        """(p - e_y) ⊗ (x, 1), one vector per point."""
        return self.layer(theta, x, y).dense()

    def total(self, theta: Array, x: Array, y: Array, clip: float | None = None) -> Array:
        """The sum of the gradients without forming them."""
        return self.layer(theta, x, y).total(clip)

    def input_gradient(self, theta: Array, x: Array, upstream: Array) -> Array:
        """The layer's inputs are the model's: nothing to pass through."""
        return upstream
