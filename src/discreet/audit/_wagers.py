"""Anytime-valid audits: wagers against a claim, stopped whenever one likes.

A pair of runs, o of M(D) and o' of M(D'), and an event E. Under (ε, δ)-DP
    x = 1{o ∈ E} - e^ε 1{o' ∈ E} - δ
has mean at most 0, so anyone who starts with wealth 1 and stakes λ_t on x_t, 0 <= λ_t < 1/(e^ε +
δ), has wealth Π(1 + λ_t x_t), a supermartingale if λ_t and the event are chosen from the past
alone. It ever reaches 1/γ with probability at most γ (Ville 1939), so the claim may be rejected
then, at any time and after any number of looks. Testing ever larger ε needs no correction: claims
are nested.

The stake is the one that would have earned most on the past pairs, discounted by half a
pseudo-pair of either sign (Waudby-Smith & Ramdas 2024, "approximately growth-rate optimal").

>>> wager = Wager(epsilon=0.0, confidence=0.95)
>>> for _ in range(30):
...     _ = wager.see(True, False)
>>> wager.rejected
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .._checks import number
from ._counts import Claim, audited, check_confidence, check_delta, settled_delta
from ._result import Audit

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from .._types import Floats, Ints

STEP = 0.02
"""Distance of the ε that `wagers` tests, from 0 upwards."""
PRIOR = (1.0, 0.5, 0.5, 0.0)
"""Pseudo-pairs that the first stakes rest on: hit on neither, the first, the second, both."""
KEPT = 0.95
"""The largest share of the wealth that is ever at stake."""


class Wager:
    """Wealth against one claim (ε, δ), fed pair by pair."""

    def __init__(self, epsilon: float, delta: float = 0.0, confidence: float = 0.95) -> None:
        self.epsilon = number("epsilon", epsilon, low=0.0, high=700.0, fix="use epsilon=1.0")
        self.delta = check_delta(delta)
        self.goal = -math.log(1.0 - check_confidence(confidence))
        self._seen = np.array(PRIOR)
        self._wealth = 0.0
        self.log_wealth = 0.0
        """the largest log-wealth so far: what Ville's inequality bounds"""

    @property
    def rejected(self) -> bool:
        """Whether the claim is rejected, for good."""
        return self.log_wealth >= self.goal

    def see(self, first: bool, second: bool) -> bool:
        """One more pair: was the event hit on the first input, and on the second?"""
        outcome = int(bool(first)) + 2 * int(bool(second))
        stake = float(_stake(self._seen, self.epsilon, self.delta))
        self._wealth += math.log1p(stake * _gains(self.epsilon, self.delta)[outcome])
        self.log_wealth = max(self.log_wealth, self._wealth)
        self._seen[outcome] += 1.0
        return self.rejected


def wagers(
    pairs: Iterable[tuple[bool, bool]], *, delta: float = 0.0, confidence: float = 0.95,
    claimed: Claim = None,
) -> Audit:  # fmt: skip
    """The largest ε that is rejected by wagers on a stream of pairs of hits.

    The event of pair t may depend on the pairs before it, and the stream may end for any reason.
    ε is tested upwards from 0 until one stands: to report more than the truth, the first ε from the
    truth on would have to be rejected, which is one true hypothesis.

    Args:
        pairs: Pairs of hits, side by side.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import wagers
        >>> pairs = [(True, False)] * 60 + [(False, True)] * 20
        >>> round(wagers(pairs).epsilon_lower, 2)
        2.56
    """
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    hits = np.array(list(pairs), bool).reshape(-1, 2)
    outcomes = hits[:, 0] + 2 * hits[:, 1].astype(np.int64)
    indicator = (outcomes == np.arange(4)[:, None]).astype(float)
    past = np.array(PRIOR)[:, None] + np.cumsum(indicator, axis=1) - indicator
    bound, epsilon = 0.0, 0.0
    while len(hits) and _log_wealth(outcomes, past, epsilon, delta) >= -math.log(error):
        bound, epsilon = epsilon, epsilon + STEP
    counts = hits.sum(axis=0)
    return audited(
        "wagers", bound, claimed=claimed, delta=delta, confidence=confidence, runs=2 * len(hits),
        inputs=f"{len(hits):,} pairs of runs: the event was hit {counts[0]:,} and {counts[1]:,} "
        "times; valid whenever it was stopped",
    )  # fmt: skip


def _log_wealth(outcomes: Ints, past: NDArray[float64], epsilon: float, delta: float) -> float:
    """The largest log-wealth on the way."""
    gains = np.array(_gains(epsilon, delta))[outcomes]
    return float(np.cumsum(np.log1p(_stake(past, epsilon, delta) * gains)).max())


def _gains(epsilon: float, delta: float) -> tuple[float, float, float, float]:
    """x when the event is hit on neither input, on the first, on the second, on both."""
    factor = math.exp(epsilon)
    return -delta, 1.0 - delta, -factor - delta, 1.0 - factor - delta


def _stake(seen: NDArray[float64], epsilon: float, delta: float) -> Floats:
    """About the λ that maximises Σ seen·log(1 + λx) on [0, most], by Newton's steps; any is valid.

    `seen` counts the four outcomes, (4,) or (4, pairs).
    """
    gains = np.array(_gains(epsilon, delta)).reshape(4, *([1] * (seen.ndim - 1)))
    most = KEPT / (math.exp(epsilon) + delta)
    stake: Floats = np.clip((seen * gains).sum(axis=0) / (seen * gains**2).sum(axis=0), 0.0, most)
    for _ in range(3):
        over = gains / (1.0 + stake * gains)
        stake = np.clip(stake + (seen * over).sum(axis=0) / (seen * over**2).sum(axis=0), 0.0, most)
    return stake
