"""The bandits and the policies that Azize & Basu (2022) compare, as their section 5 sets them.

Their DP-UCB is Mishra & Thakurta's private UCB with γ = 0.1 (appendix G.1 names that paper, and γ
is its parameter). As printed there, the budget is divided by the number of arms; since arms
have disjoint rewards this is not needed, so both readings are run: "as printed" and "tight".

The papers list the best arm first. Policies break ties for the first arm, and as long as indices
are capped at 1 there are many: here the best arm is in the middle, where it gains nothing by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...arms import Environment
    from ...policies import Policy

INSTANCES: dict[str, tuple[float, ...]] = {
    "C1": (0.75, 0.70, 0.70, 0.70, 0.70),
    "C2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "C3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "C4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
}
EPSILONS = (0.1, 0.25, 0.5, 1.0)
ALPHA = 3.1

DP_SE, ADAP_UCB, ADAP_KLUCB = "DP-SE", "AdaP-UCB", "AdaP-KLUCB"
DP_UCB, DP_UCB_TIGHT = "DP-UCB (as printed)", "DP-UCB (tight)"
COMPETITORS = (DP_SE, DP_UCB, DP_UCB_TIGHT)

ORDER_NOTE = "The best arm stands in the middle, because ties go to the first arm."


def bernoulli(means: Sequence[float]) -> Environment:
    """Bernoulli arms of these means, the first of which, the best, is put in the middle."""
    from ...arms import Bernoulli

    best, *others = means
    middle = len(others) // 2
    return Bernoulli([*others[:middle], best, *others[middle:]])


def published_curves(epsilon: float) -> dict[str, Policy]:
    """The four algorithms, DP-UCB in both readings; β = 1/T is DP-SE's default."""
    from ...policies import policy

    return {
        ADAP_KLUCB: policy("adap-klucb", epsilon=epsilon, alpha=ALPHA),
        ADAP_UCB: policy("adap-ucb", epsilon=epsilon, alpha=ALPHA),
        DP_SE: policy("dp-se", epsilon=epsilon),
        DP_UCB_TIGHT: policy("private-ucb", epsilon=epsilon, gamma=0.1),
        DP_UCB: policy("private-ucb", epsilon=epsilon, gamma=0.1, calibration="paper"),
    }
