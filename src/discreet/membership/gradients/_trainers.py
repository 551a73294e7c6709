"""Gradient descent that leaves a trace: full batch, mini-batches, single points, DP-SGD.

A step is θ' = θ - η g with g = (Σ_{i in batch} g_i)/B, or for DP-SGD, with clip c and multiplier γ,
    g = (Σ clip_c(g_i) + N(0, γ²c² I))/B,
where B is the size of a batch, or its expectation n q for Poisson batches. The noise is on the sum,
as accountants take it: on the mean it would have to be γc/B.

These trainers exist to be attacked. Their noise is floating-point and comes from a generator that
can be seeded, so a model trained here is protected from no one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ..._checks import amount, positive
from ...errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import int64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from ..._types import Array
    from .models._base import Model


class Trace(NamedTuple):
    """What an observer of every step sees.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Trace
        >>> trace = Trace.of(np.array([[1.0], [0.5], [0.25]]), rates=0.1)
        >>> trace.updates.round(3).tolist()
        [[5.0], [2.5]]
    """

    parameters: Array
    """(T + 1, d): θ_0, …, θ_T"""
    updates: Array
    """(T, d): the gradient of every step"""

    @classmethod
    def of(cls, parameters: Array, rates: float | Array) -> Trace:
        """From the parameters alone: g_t = (θ_t - θ_{t+1})/η_t, so that descent has the sign right.

        >>> import numpy as np
        >>> Trace.of(np.array([[1.0], [0.5]]), 0.1).updates.tolist()
        [[5.0]]
        """
        parameters = np.asarray(parameters)
        if parameters.ndim != 2 or len(parameters) < 2 or not np.isfinite(parameters).all():
            raise InvalidArgument(
                "parameters", "be at least two rows of finite numbers, one per step",
                f"shape {parameters.shape}", "flatten each model into one row",
            )  # fmt: skip
        steps = len(parameters) - 1
        rates = np.asarray(rates, float)
        if rates.shape not in ((), (steps,)):
            raise InvalidArgument(
                "rates", f"be one number, or one for each of the {steps} steps",
                f"shape {rates.shape}", "leave out none, and the last parameters have none",
            )  # fmt: skip
        rates = np.broadcast_to(rates, steps)
        if not (np.isfinite(rates).all() and (rates > 0).all()):
            raise InvalidArgument("rates", "be positive", rates.tolist(), "use for example 1e-3")
        return cls(parameters, (parameters[:-1] - parameters[1:]) / rates[:, None])


class Batches(Protocol):
    """Which points enter every step."""

    def draw(self, n: int, rng: Generator) -> Iterator[NDArray[int64]]:
        """The points of each step."""

    def steps(self, n: int) -> int:
        """How many steps there are."""

    def divisor(self, n: int) -> float:
        """What the sum of a step is divided by: the size of a batch, or its expectation."""


@dataclass(frozen=True)
class Counted:
    """Base of those that make as many steps as they are told."""

    count: int = 1

    def steps(self, n: int) -> int:
        """As told."""
        return self.count


class FullBatch(Counted):
    """All points in every step of gradient descent.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import FullBatch
        >>> batches = FullBatch(2)  # steps
        >>> [batch.tolist() for batch in batches.draw(3, np.random.default_rng(1))]
        [[0, 1, 2], [0, 1, 2]]
    """

    def draw(self, n: int, rng: Generator) -> Iterator[NDArray[int64]]:
        """All of them, again and again."""
        everybody = np.arange(n)
        for _ in range(self.count):
            yield everybody

    def divisor(self, n: int) -> float:
        """n."""
        return float(n)


@dataclass(frozen=True)
class Shuffled:
    """Epochs: the points are shuffled and cut into batches; an incomplete last one is left out.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Shuffled
        >>> batches = Shuffled(batch=2, epochs=1)
        >>> batches.steps(5), len(list(batches.draw(5, np.random.default_rng(1))))
        (2, 2)
    """

    batch: int = 64
    epochs: int = 1

    def draw(self, n: int, rng: Generator) -> Iterator[NDArray[int64]]:
        """Each point in one step of an epoch."""
        for _ in range(self.epochs):
            order = rng.permutation(n)
            for at in range(0, n - self.batch + 1, self.batch):
                yield order[at : at + self.batch]

    def steps(self, n: int) -> int:
        """Whole batches, times epochs."""
        if n < self.batch:
            raise InvalidArgument("batch", f"be at most the {n} points", self.batch, f"use {n}")
        return self.epochs * (n // self.batch)

    def divisor(self, n: int) -> float:
        """The size of a batch."""
        return float(self.batch)


@dataclass(frozen=True)
class Poisson:
    """Every point enters a step with probability `rate`, independently of all else.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Poisson
        >>> batches = Poisson(rate=0.5, count=2)
        >>> len(list(batches.draw(10, np.random.default_rng(1)))), batches.divisor(10)
        (2, 5.0)
    """

    rate: float
    count: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.rate <= 1.0:
            raise InvalidArgument("rate", "lie in (0, 1]", self.rate, "use for example 0.01")

    def draw(self, n: int, rng: Generator) -> Iterator[NDArray[int64]]:
        """A coin for every point and step."""
        for _ in range(self.count):
            yield np.flatnonzero(rng.random(n) < self.rate)

    def steps(self, n: int) -> int:
        """As told."""
        return self.count

    def divisor(self, n: int) -> float:
        """The expected size of a batch: the true one would be about the data."""
        return n * self.rate


class Single(Counted):
    """Stochastic gradient descent: one point drawn uniformly in every step.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Single
        >>> [len(batch) for batch in Single(3).draw(5, np.random.default_rng(1))]
        [1, 1, 1]
    """

    def draw(self, n: int, rng: Generator) -> Iterator[NDArray[int64]]:
        """One at a time, with replacement."""
        for at in rng.integers(0, n, self.count):
            yield at[None]

    def divisor(self, n: int) -> float:
        """1."""
        return 1.0


@dataclass(frozen=True)
class Trainer:
    """A way to train: batches, learning rate, and for DP-SGD a clip and a noise multiplier.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Shuffled, SoftmaxRegression, Trainer
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((8, 3)), np.arange(8) % 2
        >>> trace = Trainer(Shuffled(batch=4)).train(model, x, y, model.start(rng), rng)
        >>> trace.updates.shape  # steps, parameters
        (2, 8)
    """

    batches: Batches
    rate: float = 1e-3
    clip: float | None = None
    noise: float = 0.0
    """the multiplier γ; the noise on the sum has standard deviation γ · clip"""

    def __post_init__(self) -> None:
        positive("rate", self.rate, "use for example 1e-3")
        if self.clip is not None:
            positive("clip", self.clip, "use for example 1.0")
        amount("noise", self.noise, infinite=False, fix="use for example 1.0")
        if self.noise and self.clip is None:
            raise InvalidArgument(
                "clip", "be given where noise is: it bounds what one point can do", self.clip,
                "use for example clip=1.0",
            )  # fmt: skip

    def train(self, model: Model, x: Array, y: Array, start: Array, rng: Generator) -> Trace:
        """Train from `start` and keep every step; a generator fixes batches and noise."""
        n = len(x)
        steps, divisor = self.batches.steps(n), self.batches.divisor(n)
        parameters = np.empty((steps + 1, model.size), start.dtype)
        updates = np.empty((steps, model.size), start.dtype)
        parameters[0] = theta = start
        for t, batch in enumerate(self.batches.draw(n, rng)):
            total = model.total(theta, x[batch], y[batch], self.clip)
            if self.noise and self.clip:
                total += rng.normal(0.0, self.noise * self.clip, model.size)
            np.divide(total, divisor, out=updates[t])
            theta = parameters[t + 1]
            np.multiply(updates[t], -self.rate, out=theta)
            theta += parameters[t]
        return Trace(parameters, updates)
