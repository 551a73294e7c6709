"""What evidence must know of a release: which noise a batch gets, and what a gap becomes."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InvalidArgument
from ..policies import Exact, LocalBernoulli, LocalLaplace, Release, RunningLaplace, Setting
from ..policies.releases import RunningGaussian, SquashedBernoulli
from .evidence import GAUSSIAN, LAPLACE, NOISELESS, Noise

RUNNING = (Exact, RunningLaplace, RunningGaussian, LocalBernoulli, LocalLaplace)
"""Releases whose view holds the mean of all batches so far, each of them noisy once."""


def has_running_sums(release: Release) -> bool:
    """Whether batches can be read off the running mean, each with independent noise."""
    return type(release) in RUNNING


def batch_noise(setting: Setting) -> Noise:
    """The noise of one batch, in rewards: from the scale that is really drawn with."""
    release = setting.release
    if not has_running_sums(release):
        raise InvalidArgument(
            "release", "be a running sum, for evidence adds up batches", str(release),
            "use RunningLaplace, RunningGaussian, LocalBernoulli or Exact",
        )  # fmt: skip
    if isinstance(release, Exact) or type(release) is LocalBernoulli:
        return NOISELESS
    parameters: Any = release.parameters(setting)
    scale = parameters.scale / parameters.unit
    if isinstance(release, RunningGaussian):
        return Noise(GAUSSIAN, scale)
    return Noise(LAPLACE, scale, each=isinstance(release, LocalLaplace))


def gap_factor(release: Release) -> float:
    """What a difference of two means is multiplied by before it is seen.

    Randomised responses have the mean 1/2 + (2μ-1)(e^ε-1)/(2(e^ε+1)).
    """
    if isinstance(release, LocalBernoulli) and not isinstance(release, SquashedBernoulli):
        return math.tanh(0.5 * release.epsilon)
    return 1.0
