"""What is attacked: mechanisms that turn a data set of n records into an output.

`Mean` is the empirical mean, with Gaussian noise and sub-sampling; its outputs are drawn from their
distribution, without a data set. `Release` is any function from a data set to an output.

Neighbours replace a record: with the target in the data, it stands in for one of the n records.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import amount, count, real
from ..errors import InvalidArgument
from ._laws import Law

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from .._types import Array

    Matrix = NDArray[float64]

CELLS = 1 << 21
"""Numbers of one block of rounds; fixed, so that results do not depend on the threads."""


class Mechanism(ABC):
    """A release that membership games attack: data of n records, and what is released of them.

    `Mean` and `Release` are two; derive from it for others.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5, 0.1])
        >>> isinstance(membership.Mean(columns, n=20), membership.Mechanism)
        True
    """

    name: str
    n: int

    @abstractmethod
    def targets(self, rng: Generator, rounds: int) -> Array:
        """Targets drawn from the distribution of the data, one per round."""

    @abstractmethod
    def outputs(self, rng: Generator, targets: Array, member: bool) -> Sequence[object] | Array:
        """One output a round, of fresh data with or without the round's target."""

    def check_target(self, target: ArrayLike) -> Any:
        """The target, if the distribution of the data could have drawn it."""
        return target

    @property
    def block(self) -> int:
        """Rounds that are played in one go."""
        return 64

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {"mechanism": self.name, "n": self.n}


class Mean(Mechanism):
    """The mean of some records, with Gaussian noise on it if that is asked for.

    The mean is over `subsample`·n records, drawn without replacement, plus N(0, noise²) a column.

    The noise is on the mean that is released: C_γ = n·noise²·I in the notation of Azize (2024),
    section 6.2, so that the thesis' γ is noise·sqrt(n).

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> noisy = membership.Mean(columns, n=20, noise=0.2)
        >>> leak = membership.leakage(noisy, target=columns.easiest())
        >>> round(leak.advantage, 3)
        0.3
    """

    name = "mean"

    def __init__(self, law: Law, n: int, *, noise: float = 0.0, subsample: float = 1.0) -> None:
        if not isinstance(law, Law):
            raise InvalidArgument(
                "law",
                "be a distribution of data",
                type(law).__name__,
                "use membership.Bernoulli([0.1])",
            )  # fmt: skip
        self.law = law
        self.n = count("n", n, least=2)
        self.noise = amount("noise", noise, infinite=False, fix="use 0.1, a standard deviation")
        self.rows = check_subsample(subsample, self.n)

    @property
    def subsample(self) -> float:
        """The probability ρ that a record is among those that the mean is taken over."""
        return self.rows / self.n

    @property
    def block(self) -> int:
        return max(1, CELLS // self.law.columns)

    def targets(self, rng: Generator, rounds: int) -> Matrix:
        return self.law.draw(rng, rounds)

    def check_target(self, target: ArrayLike) -> Matrix:
        return self.law.check_targets(target)

    def outputs(self, rng: Generator, targets: Matrix, member: bool) -> Matrix:
        """Means (rounds, columns): what is summed is the target, if drawn, and others."""
        rounds, rows = len(targets), self.rows
        if not member:
            total = self.law.sums(rng, rows, rounds)
        else:
            total = self.law.sums(rng, rows - 1, rounds)
            if rows < self.n:
                drawn = rng.random(rounds) < self.subsample
                targets = np.where(drawn[:, None], targets, self.law.draw(rng, rounds))
            total += targets
        total /= rows
        if self.noise:
            total += rng.normal(0.0, self.noise, total.shape)
        return total

    def to_dict(self) -> dict[str, object]:
        return {
            "mechanism": self.name,
            "law": self.law.to_dict(),
            "n": self.n,
            "noise": self.noise,
            "subsample": self.subsample,
        }


Draw = Callable[["Generator", int], "ArrayLike"]


class Release(Mechanism):
    """Any mechanism: `function(data)` or `function(data, rng)` of an array of n records.

    `law` is the distribution of the data, or a function (rng, count) that draws records.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> largest = membership.Release(lambda data: data.max(axis=0), columns, n=5)
        >>> game = membership.Game(largest, columns.easiest())
        >>> game.play(lambda output, target: output.sum(), rounds=300, seed=1).auc > 0.7
        True
    """

    def __init__(
        self, function: Callable[..., object], law: Law | Draw, n: int, *, name: str | None = None
    ) -> None:
        if not callable(function):
            raise InvalidArgument(
                "function", "be a function of a data set", type(function).__name__,
                "write def release(data, rng): ...",
            )  # fmt: skip
        self.function, self.law = function, law
        self._draw: Draw = law.draw if isinstance(law, Law) else law
        self.n = count("n", n, least=2)
        self.name = str(name or getattr(function, "__name__", "release"))
        self._random = _takes_rng(function)

    def targets(self, rng: Generator, rounds: int) -> Array:
        return np.asarray(self._draw(rng, rounds))

    def check_target(self, target: ArrayLike) -> Array | float:
        return self.law.check_targets(target) if isinstance(self.law, Law) else np.asarray(target)

    def outputs(self, rng: Generator, targets: Array, member: bool) -> Sequence[object]:
        outputs = []
        for target in targets:
            data = np.array(self._draw(rng, self.n))
            if member:
                data[int(rng.integers(self.n))] = target
            outputs.append(self.function(data, rng) if self._random else self.function(data))
        return outputs


def _takes_rng(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    # a second argument with a default, such as numpy.mean's axis, is none of ours
    if len(positional) < 2:
        return False
    return positional[1].name == "rng" or positional[1].default is inspect.Parameter.empty


def check_subsample(subsample: float, n: int) -> int:
    """How many of n records a share of them is."""
    if not 0.0 < real(subsample) <= 1.0:
        raise InvalidArgument("subsample", "be a share in (0, 1]", subsample, "use for example 0.5")
    rows = round(float(subsample) * n)
    if rows < 1 or abs(rows - subsample * n) > 1e-9 * n:
        raise InvalidArgument(
            "subsample", f"make a whole number of {n} records", subsample,
            f"use for example {max(1, rows) / n:g}",
        )  # fmt: skip
    if rows < 2:
        raise InvalidArgument("subsample", "keep at least 2 records", subsample, f"use {2 / n:g}")
    return rows
