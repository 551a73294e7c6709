"""The participant's own device as curator: one random bit leaves it, and the outcome does not.

For policies of the local model whose release is a bit that leans towards the outcome (CTB). The
module `static/curator.js` draws it on the device; `randomised` here is the same function of the
same random words, by which that module is tested bit by bit. Both are exact: of an outcome of
`units` steps of 2^20 the bit is 1 with probability units/2^20, and is then kept with probability
keep/2^53, where keep is rounded towards 1/2.

What is reported is stored as it comes, for it was randomised already. The first report of a
participant stands, and every one gets the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..live import Strata, Trial
from ..policies.releases._local import LocalBernoulli
from ..privacy._source import RESOLUTION

BITS = 53
WHOLE = 1 << BITS


class Randomiser(NamedTuple):
    """What a device needs to know to randomise an outcome; all of it is public."""

    keep: int
    """the bit is kept with probability keep/2^53"""
    low: float
    high: float


def keep_of(epsilon: float) -> int:
    """e^ε/(1 + e^ε) in steps of 2^-53, rounded towards 1/2 by more than the error of `exp`."""
    share = 1.0 / (1.0 + math.exp(-epsilon))
    return max(WHOLE // 2, min(int(share * WHOLE), WHOLE - 1) - 4)


def units_of(outcome: float, low: float, high: float) -> int:
    """An outcome in steps of 2^20, the nearest one."""
    share = (outcome - low) / (high - low)
    if not 0.0 <= share <= 1.0:
        raise ValueError("the outcome is outside of the range that was planned")
    return math.floor(share * RESOLUTION + 0.5)


def randomised(units: int, keep: int, words: Sequence[int]) -> int:
    """One bit, of three random words of 32 bits."""
    bit = (words[0] >> 12) < units
    draw = ((words[1] & 0x1FFFFF) << 32) + words[2]
    return int(bit == (draw < keep))


def randomiser_of(trial: Trial | Strata) -> Randomiser | None:
    """How devices randomise for a trial; None if its policy does not take such bits."""
    if isinstance(trial, Strata):
        return None
    release = getattr(trial._plan.policy, "release", None)
    if type(release) is not LocalBernoulli:  # of sigmoids, and of other bits, it is another law
        return None
    low, high = trial._plan.outcome_range
    return Randomiser(keep_of(float(release.epsilon)), low, high)
