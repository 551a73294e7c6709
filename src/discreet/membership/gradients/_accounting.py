"""What DP-SGD claims: the accountant's budget of a training run, and two that are less.

Neighbours are stated. "add-or-remove": one point more or less, or sent or not. "replace": one point
exchanged for another, which moves the sum by up to 2c.
- Full batch, T steps: T Gaussian releases of multiplier γ: μ = √T/γ Gaussian DP, exact; 2√T/γ for
  "replace".
- Poisson batches of rate q: privacy-loss distributions (dp-accounting), rounded pessimistically.
- Shuffled epochs, where the slot of a removed point stays empty: a point enters one step of an
  epoch, and what follows is post-processing of it, so μ = √epochs/γ. No amplification is claimed:
  that of Poisson sampling does not hold for shuffling.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._checks import amount, count, one_of, share
from ...errors import InvalidArgument
from ...privacy._curves import least
from ...privacy.budgets import Approximate, Budget, GaussianDP

if TYPE_CHECKING:
    from collections.abc import Callable

ADD_OR_REMOVE = "add-or-remove"
REPLACE = "replace"
_RELATIONS = {ADD_OR_REMOVE: "ADD_OR_REMOVE_ONE", REPLACE: "REPLACE_ONE"}
GRID = 1e-4
"""Cells of the privacy-loss distributions."""
COARSE = 1e-3
"""Cells where a multiplier is searched for: quicker, and on the safe side."""
MOST_EPSILON = 20.0


def claim(
    noise: float, steps: int, *, sampling: float = 1.0, delta: float = 1e-5,
    neighbours: str = ADD_OR_REMOVE,
) -> Budget:  # fmt: skip
    """The budget of `steps` releases of multiplier `noise`, each on a Poisson batch.

    Args:
        noise: The noise multiplier γ.
        steps: How many steps there are.
        sampling: The probability with which a point enters a batch; 1 for all.
        delta: The δ at which a sampled run is accounted.
        neighbours: What neighbours differ by: adding or removing a point, or replacing one.

    Returns:
        The budget.

    Example:
        >>> from discreet.membership.gradients import claim
        >>> claim(10.0, 100)
        GaussianDP(mu=1.0)
        >>> round(claim(1.0, 100, sampling=0.01, delta=1e-5).epsilon, 2)
        0.72
    """
    check_run(noise, steps, sampling, delta, neighbours)
    if noise == 0.0:
        return Approximate(math.inf, delta)
    if sampling == 1.0:
        return GaussianDP((1.0 if neighbours == ADD_OR_REMOVE else 2.0) * math.sqrt(steps) / noise)
    losses = _losses(noise, steps, sampling, neighbours)
    return Approximate(float(losses.get_epsilon_for_delta(delta)), delta)


def shuffled_claim(noise: float, epochs: int = 1, *, neighbours: str = ADD_OR_REMOVE) -> Budget:
    """The budget of shuffled epochs: one release of multiplier `noise` per epoch and point.

    Args:
        noise: The noise multiplier γ.
        epochs: How many epochs there are.
        neighbours: What neighbours differ by: adding or removing a point, or replacing one.

    Returns:
        The budget.

    Example:
        >>> from discreet.membership.gradients import shuffled_claim
        >>> shuffled_claim(10.0, epochs=4)
        GaussianDP(mu=0.2)
    """
    return claim(noise, epochs, neighbours=neighbours)


def most_power(level: float, noise: float, steps: int, sampling: float) -> float:
    """The largest power at a level that the accountant's curve allows; never too small.

    min over ε of e^ε α + δ(ε) and 1 - e^-ε(1 - α - δ(ε)), add-or-remove.
    """
    losses = _losses(noise, steps, sampling, ADD_OR_REMOVE, COARSE)
    epsilons = MOST_EPSILON * np.linspace(0.0, 1.0, 60) ** 2
    deltas = np.asarray(losses.get_delta_for_epsilon(list(epsilons)))
    inside = np.exp(epsilons) * level + deltas
    outside = 1.0 - np.exp(-epsilons) * (1.0 - level - deltas)
    return float(min(inside.min(), outside.min(), 1.0))


def least_epsilon(noise: float, steps: int, sampling: float, delta: float) -> float:
    """ε at δ rounded down, where a lower bound is stated by a multiplier."""
    losses = _losses(noise, steps, sampling, ADD_OR_REMOVE, COARSE, False)
    return float(losses.get_epsilon_for_delta(delta))


@lru_cache(maxsize=64)
def _losses(
    noise: float, steps: int, sampling: float, neighbours: str, grid: float = GRID,
    upwards: bool = True,
) -> Any:  # fmt: skip
    """The privacy-loss distribution of all steps, rounded up or, for lower bounds, down."""
    from dp_accounting import privacy_accountant
    from dp_accounting.pld import privacy_loss_distribution

    relation = privacy_accountant.NeighboringRelation[_RELATIONS[neighbours]]
    one = privacy_loss_distribution.from_gaussian_mechanism(
        noise, sampling_prob=sampling, neighboring_relation=relation,
        value_discretization_interval=grid, pessimistic_estimate=upwards,
        use_connect_dots=upwards,
    )  # fmt: skip
    return one.self_compose(steps)


def last_iterate_delta(noise: float, steps: int, sampling: float, epsilon: float) -> float:
    """δ at ε of the last iterate for linear losses (Steinke, Nasr et al. 2024): a heuristic.

    Without the point the sum of all steps is N(0, Tγ²), if the clip is 1; with it, Bin(T, q) +
    N(0, Tγ²). The likelihood ratio rises in the sum, so both hockey sticks are attained at one
    threshold. Hidden intermediate steps are what it credits; curved losses can do worse, so it is
    no guarantee.

    Args:
        noise: The noise multiplier γ.
        steps: How many steps there are.
        sampling: The probability with which a point enters a batch.
        epsilon: The ε.

    Returns:
        The δ.

    Args:
        noise: The noise multiplier γ.
        steps: How many steps there are.
        sampling: The probability with which a point enters a batch.
        epsilon: The ε.

    Returns:
        The δ.

    Args:
        noise: The noise multiplier γ.
        steps: How many steps there are.
        sampling: The probability with which a point enters a batch.
        epsilon: The ε.

    Returns:
        The δ.

    Example:
        >>> from discreet.membership.gradients import last_iterate_delta
        >>> round(last_iterate_delta(2.0, 4, 1.0, epsilon=1.0), 4)
        0.1269
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    check_run(noise, steps, sampling, 0.5, ADD_OR_REMOVE)
    spread = noise * math.sqrt(steps)
    k = np.arange(steps + 1)
    weights = binom.pmf(k, steps, sampling)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)

    def ratio(x: float) -> float:
        return float(np.logaddexp.reduce(logs + (2.0 * k * x - k * k) / (2.0 * spread**2)))

    def above(x: float) -> tuple[float, float]:
        """P(sum > x) without and with the point."""
        return float(ndtr(-x / spread)), float(weights @ ndtr((k - x) / spread))

    high = _root(lambda at: ratio(at) - epsilon, spread, steps)
    low = _root(lambda at: ratio(at) + epsilon, spread, steps)
    without, with_it = above(high)
    most = with_it - math.exp(epsilon) * without
    without, with_it = above(low)
    return max(0.0, most, (1.0 - without) - math.exp(epsilon) * (1.0 - with_it))


def last_iterate_epsilon(noise: float, steps: int, sampling: float, delta: float) -> float:
    """The ε of the last iterate for linear losses at δ; see `last_iterate_delta`: a heuristic.

    Args:
        noise: The noise multiplier γ.
        steps: How many steps there are.
        sampling: The probability with which a point enters a batch.
        delta: The δ.

    Returns:
        The ε.

    Example:
        >>> from discreet.membership.gradients import last_iterate_epsilon
        >>> full = last_iterate_epsilon(2.0, 4, 1.0, 1e-5)  # every step: Gaussian with μ = √4/2
        >>> round(full, 3)
        4.377
    """
    check_run(noise, steps, sampling, delta, ADD_OR_REMOVE)

    def fits(epsilon: float) -> bool:
        return last_iterate_delta(noise, steps, sampling, epsilon) <= delta

    high = 1.0
    while not fits(high):
        high *= 2.0
    return 0.0 if fits(0.0) else least(fits, 0.0, high, halvings=60)


def _root(rising: Callable[[float], float], spread: float, steps: int) -> float:
    """Where a rising function crosses zero, or where it no longer matters that it does not."""
    from scipy.optimize import brentq

    width = 40.0 * spread + steps
    if rising(-width) >= 0.0:
        return -width
    if rising(width) <= 0.0:
        return width
    return float(brentq(rising, -width, width, xtol=1e-12 * width))


def check_run(
    noise: float, steps: int, sampling: float, delta: float = 0.5, neighbours: str = ADD_OR_REMOVE
) -> None:
    """Refuse what no run of DP-SGD can have."""
    amount("noise", noise, infinite=False, fix="use for example 1.0")
    count("steps", steps, fix="use for example 100")
    if not 0.0 < sampling <= 1.0:
        raise InvalidArgument("sampling", "lie in (0, 1]", sampling, "use for example 0.01")
    share("delta", delta, fix="use for example 1e-5")
    one_of("neighbours", neighbours, *_RELATIONS)
