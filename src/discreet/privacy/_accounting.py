"""Numerical composition: what several uses on the same records cost together.

Neighbours differ in one outcome, replaced; every budget and sensitivity handed in is already stated
for that. `composed_delta` and `composed_epsilon` return proved upper bounds, the least of
- the exact curve of k copies of one (ε, δ) budget (Kairouz, Oh & Viswanath 2015): two binomial
  tails, instant for any k;
- Gaussian budgets alone: one Gaussian of μ² = Σ k μ², exact;
- otherwise privacy-loss distributions, rounded pessimistically (dp-accounting): Gaussian parts as
  one Gaussian, (ε, δ) parts as their exact composed distribution, rounded once, Laplace parts by
  FFT, or by their pure budget beyond 3000 copies, when hardly anything is lost and FFT takes long;
- the closed formulas: basic composition, zCDP, Rényi. They are all there is for zCDP and Rényi
  parts, and the better ones where the grid of the distributions is too coarse (over 1e5 cells for
  one standard deviation of the total loss).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from discreet.errors import InvalidArgument, NoConversion

from .._checks import amount, count, probability
from . import _curves as curves
from ._mechanisms import Gaussian, Laplace, Mechanism, RandomisedResponse, TruncatedLaplace
from .budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi, compose

Part = tuple[Budget | Mechanism, int]
Curve = Callable[[float], float]
LAPLACE_COPIES = 3000
_CUT = 1e-18  # mass moved to the pessimistic side when a long tail is cut off


def composed_delta(parts: Sequence[Part], epsilon: float) -> float:
    """An upper bound on δ at ε for all parts together; a part is (budget or mechanism, copies)."""
    epsilon = amount("epsilon", epsilon, fix="use a value such as 1.0")
    return curve(parts)(epsilon)


def composed_epsilon(parts: Sequence[Part], delta: float) -> float:
    """An upper bound on ε at δ for all parts together; infinite if no ε is proved."""
    delta = probability("delta", delta, fix="choose a small number such as 1e-6")
    at = curve(parts)
    if at(0.0) <= delta:
        return 0.0
    high = 1.0
    while at(high) > delta:
        high *= 2.0
        if high > 1e12:
            return math.inf
    return curves.least(lambda epsilon: at(epsilon) <= delta, 0.0, high, halvings=60)


def curve(parts: Sequence[Part]) -> Curve:
    """δ as a function of ε: the least proved bound at each ε."""
    merged = _merged(parts)
    if not all(_budget(part).is_finite for part in merged):
        return lambda epsilon: 0.0 if math.isinf(epsilon) else 1.0
    bounds = [_closed(merged)]
    loose = [part for part in merged if not isinstance(part, GaussianDP)]
    if len(merged) == 1 and isinstance(loose and loose[0], Pure | Approximate):
        ((part, copies),) = merged.items()
        bounds.append(_copies(_budget(part), copies))
    elif loose and not any(isinstance(part, ZCDP | Renyi) for part in merged):
        bounds.append(loss_distribution(parts))
    return lambda epsilon: min(bound(epsilon) for bound in bounds)


class _Losses(Protocol):
    """What is asked of a privacy-loss distribution of dp-accounting, which has no types."""

    def compose(self, other: _Losses) -> _Losses:
        """The distribution of both losses together."""

    def get_delta_for_epsilon(self, epsilon: float) -> float:
        """δ at an ε."""


def loss_distribution(parts: Sequence[Part]) -> Curve:
    """δ as a function of ε by privacy-loss distributions, rounded up.

    The grid is a twentieth of the smallest loss, kept between 1e-5 and 1e-3 of the standard
    deviation of the total."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    merged = _merged(parts)
    sizes = [_size(part) for part in merged]
    total = math.sqrt(math.fsum(k * s * s for s, k in zip(sizes, merged.values(), strict=True)))
    if total == 0:
        return lambda epsilon: _closed(merged)(epsilon)
    grid = min(max(min(s for s in sizes if s > 0) / 20.0, total * 1e-5), total * 1e-3)
    composed: _Losses | None = None
    for part, copies in merged.items():
        match part:
            case GaussianDP(mu=mu):
                if mu == 0:
                    continue
                one = pld.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=grid)
                one = one if copies == 1 else one.self_compose(copies)
            case Laplace():
                one = pld.from_laplace_mechanism(
                    part.scale, part.sensitivity, value_discretization_interval=grid
                )
                one = one if copies == 1 else one.self_compose(copies)
            case Pure() | Approximate():
                one = _rounded_copies(part, copies, grid)
            case _:
                raise NoConversion(
                    "parts", "have a loss distribution", str(part), "use composed_delta"
                )
        composed = one if composed is None else composed.compose(one)

    assert composed is not None  # or the total were 0
    losses = composed

    def delta(epsilon: float) -> float:
        # binomial terms are good to 1e-12, the transforms of the library lose an absolute 1e-15
        return min(1.0, float(losses.get_delta_for_epsilon(epsilon)) * (1.0 + 1e-10) + 1e-14)

    return delta


def _merged(parts: Sequence[Part]) -> dict[Budget | Laplace, int]:
    """Equal parts counted together, all Gaussians as one, mechanisms by their budget."""
    merged: dict[Budget | Laplace, int] = {}
    variance = 0.0
    for part in parts:
        if not isinstance(part, tuple) or len(part) != 2:
            raise InvalidArgument(
                "parts", "be pairs (budget or mechanism, copies)", part, "write (Pure(0.1), 10)"
            )
        what, copies = part
        copies = count("copies", copies, fix="give the number of uses")
        if isinstance(what, Gaussian | TruncatedLaplace | RandomisedResponse):
            what = what.budget
        if isinstance(what, GaussianDP):
            variance += copies * what.mu**2
        elif isinstance(what, Budget | Laplace):
            merged[what] = merged.get(what, 0) + copies
        else:
            raise InvalidArgument(
                "parts", "hold budgets or mechanisms", what, "use for example Pure(0.1)"
            )
    for what in [part for part, k in merged.items() if k > LAPLACE_COPIES]:
        if isinstance(what, Laplace):
            merged[what.budget] = merged.get(what.budget, 0) + merged.pop(what)
    if variance > 0:
        merged[GaussianDP(math.sqrt(variance))] = 1
    return merged


def _budget(part: Budget | Laplace) -> Budget:
    return part.budget if isinstance(part, Laplace) else part


def _size(part: Budget | Laplace) -> float:
    """Typical privacy loss of one use, to choose a grid by."""
    match part:
        case GaussianDP(mu=mu):
            return mu
        case Laplace():
            return part.budget.epsilon
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon):
            return epsilon
        case _:
            raise NoConversion("parts", "have a loss distribution", str(part), "compose budgets")


def _closed(merged: dict[Budget | Laplace, int]) -> Curve:
    """The best closed formula. An (ε, δ) part fails with probability δ and is ε-DP otherwise."""
    kept = 0.0  # log of the probability that no part fails
    cores: list[Budget] = []
    for part, copies in merged.items():
        budget = _budget(part)
        if isinstance(budget, Approximate):
            kept += copies * math.log1p(-budget.delta)
            budget = Pure(budget.epsilon)
        cores.append(budget.times(copies))
    each = [_budget(part) for part in merged]
    options: list[Budget] = []
    if all(isinstance(core, Pure) for core in cores):
        options.append(compose(*cores))
        rho = math.fsum(
            k * Pure(e.epsilon).to_zcdp().rho
            for e, k in zip(each, merged.values(), strict=True)
            if isinstance(e, Pure | Approximate)
        )
        options.append(ZCDP(rho))
    else:
        try:
            options.append(compose(*map(_concentrated, each, merged.values())))
        except NoConversion:
            return lambda epsilon: 0.0 if math.isinf(epsilon) else 1.0
    fail = -math.expm1(kept)

    def bound(epsilon: float) -> float:
        rest = min(option.delta_at(epsilon) for option in options)
        return min(1.0, fail + math.exp(kept) * rest)

    return bound


def _concentrated(budget: Budget, copies: int) -> Budget:
    """k copies in a kind that composes tightly."""
    if isinstance(budget, Approximate):
        budget = Pure(budget.epsilon)
    return (budget.to_zcdp() if isinstance(budget, Pure) else budget).times(copies)


def _copies(budget: Budget, copies: int) -> Curve:
    """k copies of (ε0, δ0), exactly (Kairouz, Oh & Viswanath 2015).

    The worst mechanism fails with probability δ0 and otherwise has loss ±ε0: with B and B' binomial
    in k of success probability p = 1/(1 + e^-ε0) and 1 - p, and b the least count with
    (2b - k) ε0 > ε,   δ = 1 - (1 - δ0)^k (1 - P[B >= b] + e^ε P[B' >= b]).
    """
    from scipy.stats import binom

    e, d = _field(budget)
    truth = 1.0 / (1.0 + math.exp(-e))
    kept = copies * math.log1p(-d)
    fail, alive = -math.expm1(kept), math.exp(kept)

    def delta(epsilon: float) -> float:
        if e == 0 or epsilon >= copies * e:
            return fail
        least = math.floor((copies + epsilon / e) / 2.0)  # a count too low only adds cells of 0
        while (2 * least - copies) * e <= epsilon:
            least += 1
        first = float(binom.sf(least - 1, copies, truth))
        second = float(binom.sf(least - 1, copies, 1.0 - truth))
        second = math.exp(epsilon + math.log(second)) if second > 0 else 0.0
        # the tails are good to about 1e-12: round both the unfavourable way
        rest = max(0.0, first * (1.0 + 1e-10) - second * (1.0 - 1e-10))
        return min(1.0, fail + alive * curves.up(rest))

    return delta


def _rounded_copies(budget: Budget, copies: int, grid: float) -> _Losses:
    """The loss distribution of k copies of (ε0, δ0): the exact distribution, rounded up to the
    grid once."""
    import numpy as np
    from dp_accounting.pld import privacy_loss_distribution as pld
    from scipy.stats import binom

    e, d = _field(budget)
    truth = 1.0 / (1.0 + math.exp(-e))
    low = int(binom.ppf(_CUT, copies, truth))
    high = int(binom.isf(_CUT, copies, truth))
    counts = np.arange(low, high + 1)
    mass = binom.pmf(counts, copies, truth)
    mass[0] += binom.cdf(low - 1, copies, truth)  # a small loss taken for a greater one
    cells = np.ceil((2 * counts - copies) * e / grid - 1e-9).astype(np.int64)
    kept = copies * math.log1p(-d)
    alive = math.exp(kept)
    # not 1 minus the rest, whose rounding could exceed a small δ
    lost = alive * float(binom.sf(high, copies, truth)) - math.expm1(kept)
    law: dict[int, float] = {}
    for cell, part in zip(cells.tolist(), mass.tolist(), strict=True):
        law[cell] = law.get(cell, 0.0) + alive * part
    made: _Losses = pld.PrivacyLossDistribution.create_from_rounded_probability(
        law, lost, grid, pessimistic_estimate=True
    )
    return made


def _field(budget: Budget) -> tuple[float, float]:
    if isinstance(budget, Approximate):
        return budget.epsilon, budget.delta
    return budget.to_pure().epsilon, 0.0
