"""What a block releases: its sum, or the centred sum and the number of those who answered.

With r = 1 for who answered and 0 for who did not, the pair is

    S = Σ r (y - 1/2) + noise,    R = Σ r + noise,    and m = 1/2 + S / clip(R, 1, n).

**Price.** Another answer moves (S, R) by at most (1, 0); answering or not moves them by at most
(1/2, 1). Laplace noise 1/ε on S and 2/ε on R: at most max(ε, ε/2 + ε/2) = ε. Gaussian noise σ on S
and 2σ/√3 on R: at most max(1, 1/4 + 3/4) / (2σ²) of zCDP. So the count costs the sum nothing. An
approximate budget is reached through zCDP, for the sharper bound on one number does not speak of
two. Everything else is built from S and R, and free: the mean of those who answered (assumed to be
like those who did not), and (S + R/2 + d(n-R))/n, the mean with d in place of the missing ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compiled import open_slot
from ..policies._step import publish
from ..policies._view import View
from ..policies.releases._pairs import publish_pair
from ._state import Design, Head, Vault

Found = tuple[float, int]
"""The sum of a block's outcomes, and how many answered."""

worth: Callable[[Design, Head, int, int], float] = open_slot("worth")
"""How much evidence so many places are."""


def release_sum(
    design: Design, head: Head, vault: Vault, arm: int, size: int, found: Found, rng: Any
) -> None:
    """As the policy releases a batch; who is missing counts as declared."""
    seen = View(head.value, head.size, head.pulls)
    total, answers = found
    counted = total + design.default * (size - answers)
    publish(design.release, vault.ledger, seen, arm, size, counted, rng)


def release_whole(
    design: Design, head: Head, vault: Vault, arm: int, size: int, found: Found, rng: Any
) -> None:
    """The same where no one is missing, or who is was counted already."""
    seen = View(head.value, head.size, head.pulls)
    publish(design.release, vault.ledger, seen, arm, size, found[0], rng)


def release_pair(
    design: Design, head: Head, vault: Vault, arm: int, size: int, found: Found, rng: Any
) -> None:
    """S and R, added to those before unless forgotten; the mean of those who seem to answer."""
    pair, pairs, (total, answers) = design.pair, head.pairs, found
    publish_pair(pair, pairs, arm, total - design.half * answers, answers, rng)
    pairs.places[arm] = pair.kept * pairs.places[arm] + size
    head.size[arm] = pairs.places[arm]
    head.value[arm] = 0.5 + pairs.total[arm] / (answering(design, head, arm) * pair.resolution)


def answering(design: Design, head: Head, arm: int) -> float:
    """clip(R, 1, n): how many seem to have answered."""
    pairs = head.pairs
    seem = max(pairs.count[arm] / design.pair.resolution, 1.0)
    return float(min(seem, float(max(1, pairs.places[arm]))))


def those_who_answer(design: Design, head: Head, arm: int, places: int) -> float:
    """R/n of them."""
    share = answering(design, head, arm) / max(1, head.pairs.places[arm])
    return float(max(1.0, places * share))


def everybody(design: Design, head: Head, arm: int, places: int) -> int:
    """A place is a place."""
    return places
