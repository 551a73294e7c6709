"""What evidence must know of a release: which noise a batch gets, and what a gap becomes."""

from __future__ import annotations

from ..errors import InvalidArgument
from ..policies import (
    Exact,
    LocalBernoulli,
    LocalLaplace,
    Release,
    RunningGaussian,
    RunningLaplace,
    Setting,
)
from ..policies.releases._entries import Entries, entries_of

RUNNING = (Exact, RunningLaplace, RunningGaussian, LocalBernoulli, LocalLaplace)
"""Releases whose view holds the mean of all batches so far, each of them noisy once."""


def has_running_sums(release: Release) -> bool:
    """Whether batches can be read off the running mean, each with independent noise."""
    return type(release) in RUNNING


def batches_of(setting: Setting) -> Entries:
    """What the batches of a policy are: their noise, from the scale that is really drawn with, and
    what a difference of two means is multiplied by before it is seen."""
    found = entries_of(setting.release, setting)
    if not has_running_sums(setting.release) or not isinstance(found, Entries):
        raise InvalidArgument(
            "release", "be a running sum, for evidence adds up batches", str(setting.release),
            "use RunningLaplace, RunningGaussian, LocalBernoulli or Exact",
        )  # fmt: skip
    return found
