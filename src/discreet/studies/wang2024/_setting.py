"""The bandits and the policies of Wang & Zhu (2024), section 8.

Instance 1: nine arms, means .3 .35 … .7. Instance 2: 101 arms, means .3 + .004 i; 100 runs.

The text at hand is damaged where it prints T: "105" for figures 4 and 5, "10°" for the sweeps of 6
and 7. The first reads as 10^5, but may have lost more than its superscript; the second as 10^6, of
which a scan makes a degree sign. So figures 4 and 5 are run at both, and the sweeps at 10^6: at
10^5 the third part of 7(b) could not be seen, since the start phase alone takes 716,202 rounds.

Start phases N_G and N_B and the interval f = ceil(1/ε) are as
printed; beside them the smallest that keep the budget ("exact"). They differ: at (1, 0.01) the
Gaussian leader needs 2 pulls of every arm and not 8, while f = 1 releases every pull of an arm and
keeps no such budget. Leaders protect each choice given the history, DP-UCB-INT the whole run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...privacy.budgets import Approximate

if TYPE_CHECKING:
    from ...arms import Bernoulli
    from ...policies import Policy

INSTANCES: dict[str, tuple[float, ...]] = {
    "instance 1": tuple((30 + 5 * i) / 100 for i in range(9)),
    "instance 2": tuple((300 + 4 * i) / 1000 for i in range(101)),
}
BUDGETS: dict[str, tuple[float, float]] = {"0.01": (1.0, 0.01), "e^-10": (1.0, math.exp(-10.0))}
"""(ε, δ) of figure 4, by δ as printed."""
EPSILONS = (1.0, 0.1)
"""Of figure 5, δ = 0."""

NEW, GAUSS, BETA, INTERVAL = "DP-FTPL-New", "DP-FTPL-Gauss", "DP-FTPL-Beta", "DP-UCB-INT"
GAUSS_EXACT, BETA_EXACT = f"{GAUSS} (exact start)", f"{BETA} (exact start)"
INTERVAL_PRINTED, INTERVAL_EXACT = f"{INTERVAL} (as printed)", f"{INTERVAL} (exact)"
DP_UCB, BOUND, DP_SE = "DP-UCB", "DP-UCB-BOUND", "DP-SE"
LEADERS = (NEW, GAUSS, BETA)
DAMAGED = (
    'The text at hand is damaged where it prints T ("105" for figures 4 and 5, "10°" for 6 and 7): '
)


def bandit(instance: str) -> Bernoulli:
    """The distribution of an instance."""
    from ...arms import Bernoulli

    return Bernoulli(INSTANCES[instance])


def outlasts(epsilon: float, delta: float, horizon: int) -> bool:
    """Whether the printed start phase of DP-FTPL-Gauss on instance 1 is still going on at T: the
    regret then says nothing of the policy."""
    from ...policies._starts import gauss_start

    pulls = gauss_start(Approximate(epsilon, delta), "paper")
    return len(INSTANCES["instance 1"]) * pulls >= horizon


def leader_pair(epsilon: float, delta: float) -> dict[str, Policy]:
    """The new leader, and the Gaussian one with both start phases; ε = 0 is served."""
    from ...policies import policy

    budget = Approximate(epsilon, delta)
    return {
        NEW: policy("dp-ftpl-new", budget=budget),
        GAUSS: policy("dp-ftpl-gauss", budget=budget, calibration="paper"),
        GAUSS_EXACT: policy("dp-ftpl-gauss", budget=budget),
    }


def approximate_curves(epsilon: float, delta: float, instance: str) -> dict[str, Policy]:
    """The algorithms of figure 4; exact start phases of the leaders with nine arms only."""
    from ...policies import policy

    budget = Approximate(epsilon, delta)
    curves = leader_pair(epsilon, delta)
    if instance != "instance 1":
        del curves[GAUSS_EXACT]
    curves[BETA] = policy("dp-ftpl-beta", budget=budget, calibration="paper")
    if instance == "instance 1":  # with 101 arms its draws alone would take longer than all else
        curves[BETA_EXACT] = policy("dp-ftpl-beta", budget=budget)
    curves[INTERVAL_PRINTED] = policy("dp-ucb-int", budget=budget, calibration="paper")
    curves[INTERVAL_EXACT] = policy("dp-ucb-int", budget=budget)
    return curves


def pure_curves(epsilon: float) -> dict[str, Policy]:
    """The algorithms of figure 5; DP-UCB counts idle rounds, as Tossou & Dimitrakakis have it."""
    from ...policies import policy

    return {
        NEW: policy("dp-ftpl-new", epsilon=epsilon),
        BOUND: policy("dp-ucb-bound", epsilon=epsilon),
        DP_SE: policy("dp-se", epsilon=epsilon),
        DP_UCB: policy("dp-ucb-td", epsilon=epsilon),
    }
