"""What a budget means to a person: the most that any attacker can reach against them.

An attacker accuses: a share `level` of the innocent (false alarms) and a share `power` of those who
really took part. A budget bounds the power at every level, whatever the attacker knows or computes:
    (ε, δ):    power <= min{1, δ + e^ε level, 1 - e^-ε(1 - δ - level)}           (exact)
    μ:         power <= Φ(Φ⁻¹(level) + μ)                                        (exact)
    Rényi:     D_α(power ‖ level) <= ε and back, D_α of two coins                (best of any order)
    ρ-zCDP:    the same for every order, with αρ.
Coins are mechanisms too, so the last two are the best that can be said of a single level. The pairs
(level, power) that they allow form a convex set (Rényi divergences are jointly quasi-convex) which
is symmetric under (level, power) -> (1 - power, 1 - level): the largest advantage power - level is
on the line power = 1 - level. For (ε, δ) it is (e^ε - 1 + 2δ)/(e^ε + 1).

References: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022; van Erven & Harremoës 2014.

>>> from discreet.privacy import Pure
>>> in_words(Pure(1.0)).split(";")[0]
'An attacker who accuses 1 of 100 innocents finds at most 3 of 100 members'
>>> round(Tradeoff(Pure(1.0)).power(0.05), 4)
0.1359
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from .._checks import number
from .budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi

SHOWN = (0.01, 0.05)
"""False-alarm rates that people are told about."""
ORDERS = tuple(1.0 + 10.0 ** (k / 5.0) for k in range(-15, 21))
"""Rényi orders of a zCDP budget; leaving some out can only raise the bound."""
_MEMBERS = ("innocents", "members", "whether one person took part")
_OUTCOMES = (
    "participants without an outcome", "participants with it", "which of two outcomes one had",
)  # fmt: skip
_NORMAL = NormalDist()
_SLACK = 1e-9
_STEPS = 44


@dataclass(frozen=True)
class Tradeoff:
    """The trade-off of a budget: the largest power at every level."""

    budget: Budget

    def power(self, level: float) -> float:
        """The largest share of members that a test with this false-alarm rate finds."""
        level = number("level", level, low=0.0, high=1.0, fix="use for example 0.05")
        budget = self.budget
        if not budget.is_finite or level == 1.0:
            return 1.0
        if budget.is_perfect or (level == 0.0 and not isinstance(budget, Approximate)):
            return level
        if isinstance(budget, Pure | Approximate):
            return _approximate(budget, level)
        if isinstance(budget, GaussianDP):
            return _cdf(_NORMAL.inv_cdf(level) + budget.mu)
        return _largest_coin(_limits(budget), level)

    def misses(self, level: float) -> float:
        """The trade-off function f: the least share of members that such a test misses."""
        return 1.0 - self.power(level)

    @property
    def advantage(self) -> float:
        """The largest power - level."""
        budget = self.budget
        if not budget.is_finite:
            return 1.0
        if isinstance(budget, ZCDP | Renyi) and not budget.is_perfect:
            return 1.0 - 2.0 * _symmetric_coin(_limits(budget))
        return budget.attacker_advantage()

    @property
    def accuracy(self) -> float:
        """How often the best guess is right when both cases are equally likely."""
        return (1.0 + self.advantage) / 2.0

    def curve(self, points: int = 201) -> tuple[list[float], list[float]]:
        """Levels from 0 to 1, dense near 0, and the powers there."""
        levels = [0.0] + [10.0 ** (-5.0 * (1.0 - i / (points - 2))) for i in range(points - 1)]
        return levels, [self.power(level) for level in levels]

    def in_words(self, levels: Sequence[float] = SHOWN, *, outcomes: bool = False) -> str:
        """For people; shares are rounded up.

        With `outcomes` it speaks of what someone answered, where taking part is no secret.
        """
        return _said(self, tuple(levels), outcomes)

    def _words(self, levels: Sequence[float], outcomes: bool) -> str:
        innocents, members, question = _OUTCOMES if outcomes else _MEMBERS
        if not self.budget.is_finite:
            return f"Nothing is promised: an attacker may find all {members} without a false alarm."
        found = [
            f"{'An attacker who' if not i else 'one who'} accuses {_of_100(level)} {innocents} "
            f"finds at most {_of_100(self.power(level), up=True)} {members}"
            for i, level in enumerate(levels)
        ]
        right = 100.0 * self.accuracy
        return (
            "; ".join(found) + f". Asked {question}, with both answers equally likely before, the "
            f"best attacker is right at most {right:.1f} % of the time instead of 50 %."
        )

    def to_dict(self, levels: Sequence[float] = SHOWN) -> dict[str, object]:
        """JSON-ready."""
        return {
            "budget": self.budget.to_dict(),
            "advantage": self.advantage,
            "accuracy": self.accuracy,
            "power": {f"{level:g}": self.power(level) for level in levels},
            "words": self.in_words(),
        }


@lru_cache(maxsize=256)
def _said(tradeoff: Tradeoff, levels: tuple[float, ...], outcomes: bool) -> str:
    """Every report says it again, and working it out for a zCDP budget takes longer than all else
    of a report."""
    return tradeoff._words(levels, outcomes)


def in_words(budget: Budget) -> str:
    """What a budget means to a person, in two sentences."""
    return Tradeoff(budget).in_words()


def _of_100(share: float, *, up: bool = False) -> str:
    """ "5 of 100", or "3 of 1,000" where that is too coarse; `up` never says too little."""
    for total in (100, 1000, 10_000):
        count = math.ceil(share * total - _SLACK) if up else round(share * total)
        if share in (0.0, 1.0) or (share * total >= 1.0 - _SLACK and count < total):
            break
    return f"{count} of {total:,}"


def _approximate(budget: Pure | Approximate, level: float) -> float:
    delta = budget.delta if isinstance(budget, Approximate) else 0.0
    factor = math.exp(min(budget.epsilon, 700.0))
    return min(1.0, delta + factor * level, 1.0 - (1.0 - delta - level) / factor)


def _limits(budget: Budget) -> list[tuple[float, float]]:
    """Orders, and the largest divergence at each."""
    if isinstance(budget, Renyi):
        return [(budget.alpha, budget.epsilon)]
    assert isinstance(budget, ZCDP)
    return [(order, order * budget.rho) for order in ORDERS]


def _largest_coin(limits: list[tuple[float, float]], level: float) -> float:
    """The largest p with D_α(p ‖ level) and D_α(level ‖ p) within the limits, rounded up."""
    low, high = level, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _allowed(limits, middle, level) else (low, middle)
    return high


def _symmetric_coin(limits: list[tuple[float, float]]) -> float:
    """The least q with D_α(1 - q ‖ q) within the limits, rounded down."""
    low, high = 0.0, 0.5
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _allowed(limits, 1.0 - middle, middle) else (middle, high)
    return low


def _allowed(limits: list[tuple[float, float]], p: float, q: float) -> bool:
    return all(
        _divergence(p, q, order) <= most and _divergence(q, p, order) <= most
        for order, most in limits
    )


def _divergence(p: float, q: float, order: float) -> float:
    """D_α of a coin with p from one with q: log(p^α q^(1-α) + (1-p)^α (1-q)^(1-α))/(α - 1)."""
    terms = []
    for x, y in ((p, q), (1.0 - p, 1.0 - q)):
        if x == 0.0:
            continue
        if y == 0.0:
            return math.inf
        terms.append(order * math.log(x) + (1.0 - order) * math.log(y))
    largest = max(terms)
    total = largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
    return total / (order - 1.0)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
