"""Linear policies verified by execution: their own kernels on symbols, given public actions.

- `episodes`: public contexts, in sums and in blocks; `dimension` of the latter counts the features
  of one arm. Exact on the paths that are walked.
- `private`: private contexts, in trees and in batches. What an entry costs is exact; how far one
  participant moves all of them is bounded by a lemma, whose assumption is checked by execution.
- `phases`: estimates of whole phases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..._checks import count
from ...errors import InvalidArgument
from ...policies._verification import SEED
from ...privacy._source import SECURE, SIMULATED
from ...privacy.verification import NotAffine, Verification
from .._releases import RoundRelease
from .._row import LinearPolicy
from .._view import LinearSetting
from ._episodes import verify_episodes
from ._phases import verify_phases
from ._private import verify_batches, verify_trees

if TYPE_CHECKING:
    from .._grid import Grid


VERIFIERS: dict[str, Callable[[Any, LinearSetting, Verification, int], Verification]] = {
    "sums": verify_episodes, "blocks": verify_episodes, "trees": verify_trees,
    "batches": verify_batches, "phases": verify_phases,
}  # fmt: skip
"""By the shape of what is released."""


def verify(
    policy: LinearPolicy,
    arms: int = 10,
    horizon: int = 300,
    *,
    dimension: int = 3,
    live: bool = False,
    seed: int = SEED,
) -> Verification:
    """What a linear policy's kernels spend, beside what it claims."""
    arms = count("arms", arms, least=2, fix="use 10")
    horizon = count("horizon", horizon, fix="use for example horizon=300")
    dimension = count("dimension", dimension, fix="use for example dimension=3")
    claim = policy.release.guarantee(dimension)
    source = SECURE if live else SIMULATED
    result = Verification(
        policy.name, claim.budget, claim.definition, None, False, "none", arms, horizon,
        source.name, 0, 0, conditions=claim.conditions,
    )  # fmt: skip
    if not claim.is_private:
        return replace(result, reason="nothing is claimed: the row is not private")
    setting = LinearSetting(arms, dimension, horizon)
    if policy.release.own_blocks:
        setting = replace(setting, dimension=arms * dimension)
    if live:
        setting = replace(setting, grid=_grid(policy))
    try:
        return VERIFIERS[policy.release.shape](policy, setting, result, seed)
    except NotAffine as stop:
        return replace(result, reason=f"the release is not affine: {stop}")


def _grid(policy: LinearPolicy) -> Grid:
    """Whole numbers, for the policies that live trials run."""
    release = policy.release
    if not release.is_live:
        raise InvalidArgument(
            "live", "be False for a row that live trials do not run", policy.name, "leave it out"
        )
    return cast("RoundRelease", release).grid(1.0)  # what is live takes one after the other
