"""Sources of noise, one distribution: a fast one for simulation, a secure one for real people.

A release is written once, with a `noise` to be filled in. A source says what is filled in, in
how many steps a reward of 1 is counted, and at which scale the noise keeps a budget:

- `SIMULATED`: floats from the numpy Generator that the kernel is handed. Protects no one.
- `REHEARSED`: the same noise, on whole numbers of the same steps as `SECURE`: for rehearsals of
  live trials, which must differ from them in the noise alone. Protects no one either.
- `SECURE`: rewards are integers, a reward of 1 is `RESOLUTION` steps; discrete noise from OpenDP,
  whose own privacy map proves the scale. Takes no generator, so it has no seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _noise as noise
from ._mechanisms import Gaussian, Laplace
from .budgets import Budget, Pure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator

RESOLUTION = 1 << 20
"""Steps in a reward of 1 on the secure path: fine enough that the discrete noise and the
continuous one of the simulations agree to about one part in a million."""


@dataclass(frozen=True, eq=False)
class Source:
    """Where noise comes from; `kernels` are the functions to fill in, by name."""

    name: str
    resolution: int
    """Fixed-point steps that make up 1; 1 for floats."""
    secure: bool
    kernels: Mapping[str, Callable[..., float]]

    @property
    def unit(self) -> int:
        """The old name of `resolution`."""
        return self.resolution

    def laplace_scale(self, epsilon: float) -> float:
        """Scale, in steps, of Laplace noise that hides one reward in [0, 1] at ε."""
        if not self.secure:
            return self.resolution * Laplace.calibrated(Pure(epsilon)).scale
        from . import _secure as secure

        return secure.laplace_scale(epsilon, self.resolution)

    def gaussian_scale(self, budget: Budget, calibration: str = "exact") -> float:
        """Standard deviation, in steps, of Gaussian noise that hides one reward in [0, 1]."""
        if not self.secure:
            return self.resolution * Gaussian.calibrated(budget, calibration=calibration).scale
        from . import _secure as secure

        scale = secure.gaussian_scale(budget, self.resolution)
        if calibration == "exact":
            return scale
        # the paper's formula is an upper bound on what is needed: more noise, never less
        paper = Gaussian.calibrated(budget, calibration=calibration).scale
        return max(scale, self.resolution * paper)

    def whole_scale(self, budget: Budget) -> float:
        """Scale of noise on *whole* numbers that hides one reward of 0 or 1: Laplace's for a pure
        budget, else that of Gaussian noise."""
        if not self.secure:
            if isinstance(budget, Pure):
                return Laplace.calibrated(budget).scale
            return Gaussian.calibrated(budget, lattice=1).scale
        from . import _secure as secure

        if isinstance(budget, Pure):
            return secure.laplace_scale(budget.epsilon, 1)
        return secure.gaussian_scale(budget, 1)


def _secure_laplace(scale: float, rng: None) -> int:
    from . import _secure as secure

    return secure.laplace(scale, rng)


def _secure_gaussian(scale: float, rng: None) -> int:
    from . import _secure as secure

    return secure.gaussian(scale, rng)


def _secure_response(reward: int, epsilon: float, rng: None) -> int:
    from . import _secure as secure

    return secure.randomised_response(reward, RESOLUTION, epsilon)


def _rehearsed_response(reward: int, epsilon: float, rng: Generator) -> int:
    from ._noise import (
        randomised_response,  # by name: `noise` is filled in where kernels are linked
    )

    return int(randomised_response(reward / RESOLUTION, epsilon, rng))


def _squash(reward: float, resolution: int) -> float:
    """1 / (1 + e^-r)."""
    return 1.0 / (1.0 + math.exp(-reward))


def _secure_squash(reward: int, resolution: int) -> int:
    """The same, rounded to whole steps: a fixed map of one reward, before any noise."""
    value = max(min(reward / resolution, 700.0), -700.0)
    return round(resolution / (1.0 + math.exp(-value)))


SIMULATED = Source(
    "simulated",
    resolution=1,
    secure=False,
    kernels={
        "laplace": noise.laplace,
        "gaussian": noise.gaussian,
        "whole_laplace": noise.whole_laplace,
        "whole_gaussian": noise.whole_gaussian,
        "response": noise.randomised_response,
        "truncated": noise.truncated_laplace,
        "squash": _squash,
    },
)

REHEARSED = Source(
    "rehearsed",
    resolution=RESOLUTION,
    secure=False,
    kernels={
        "laplace": noise.laplace,
        "gaussian": noise.gaussian,
        "whole_laplace": noise.whole_laplace,
        "whole_gaussian": noise.whole_gaussian,
        "response": _rehearsed_response,
        "squash": _secure_squash,
    },
)

SECURE = Source(
    "secure",
    resolution=RESOLUTION,
    secure=True,
    kernels={
        "laplace": _secure_laplace,
        "gaussian": _secure_gaussian,
        "whole_laplace": _secure_laplace,
        "whole_gaussian": _secure_gaussian,
        "response": _secure_response,
        "squash": _secure_squash,
    },
)
