"""Composition: what several releases cost together.

>>> compose(Pure(1.0), Pure(2.0)), parallel(Pure(1.0), Pure(2.0))
(Pure(epsilon=3.0), Pure(epsilon=2.0))
>>> compose(GaussianDP(1.0), ZCDP(0.5))
ZCDP(rho=1.0)

Budgets of several kinds are first turned into one kind that all of them imply. `accounting`
composes approximate budgets more tightly.
"""

from __future__ import annotations

import math

from discreet.errors import InvalidArgument, NoConversion

from ._gaussian import GaussianDP
from ._kinds import ZCDP, Approximate, Budget, Pure, Renyi


def compose(*budgets: Budget) -> Budget:
    """What releases that read the same records cost together: sequential composition.

    Pure and pure stay pure; with zCDP or Gaussian they become zCDP; Gaussian alone adds μ²; with a
    Rényi budget all become Rényi at its order; pure and approximate become approximate.

    Args:
        *budgets: The budgets of the releases. None given costs nothing.

    Returns:
        One budget that all releases together satisfy.

    Raises:
        InvalidArgument: If one of them is not a budget.
        NoConversion: If they have no common kind.

    Example:
        >>> import discreet
        >>> discreet.compose(discreet.Pure(1.0), discreet.Pure(0.5))
        Pure(epsilon=1.5)
    """
    alike = _promoted(budgets)
    numbers = {name: _column(alike, name) for name in alike[0].names()}
    match alike[0]:
        case Pure():
            return Pure(math.fsum(numbers["epsilon"]))
        case ZCDP():
            return ZCDP(math.fsum(numbers["rho"]))
        case GaussianDP():
            return GaussianDP(math.hypot(*numbers["mu"]))
        case Renyi(alpha=alpha):
            return Renyi(alpha, math.fsum(numbers["epsilon"]))
    delta = math.fsum(numbers["delta"])
    if delta >= 1:
        raise NoConversion("delta", "add up to less than 1", delta, "use smaller deltas")
    return Approximate(math.fsum(numbers["epsilon"]), delta)


def parallel(*budgets: Budget) -> Budget:
    """What releases of disjoint records cost together: the worst budget counts.

    Args:
        *budgets: The budgets of the releases; each record enters one of them only.

    Returns:
        One budget that all releases together satisfy.

    Raises:
        InvalidArgument: If one of them is not a budget.
        NoConversion: If they have no common kind.

    Example:
        >>> import discreet
        >>> discreet.parallel(discreet.Pure(1.0), discreet.Pure(0.5))
        Pure(epsilon=1.0)
    """
    alike = _promoted(budgets)
    return type(alike[0])(*(max(_column(alike, name)) for name in alike[0].names()))


def _column(budgets: list[Budget], name: str) -> list[float]:
    return [budget.numbers()[name] for budget in budgets]


def _promoted(budgets: tuple[Budget, ...]) -> list[Budget]:
    """The budgets turned into one common kind; no budget is a perfect one."""
    for budget in budgets:
        if not isinstance(budget, Budget):
            raise InvalidArgument("budget", "be a Budget", budget, "build one, e.g. Pure(1.0)")
    if not budgets:
        return [Pure(0.0)]
    if all(isinstance(b, GaussianDP) for b in budgets):
        return list(budgets)
    orders = {b.alpha for b in budgets if isinstance(b, Renyi)}
    concentrated = orders or any(isinstance(b, ZCDP | GaussianDP) for b in budgets)
    loose = [b for b in budgets if isinstance(b, Approximate) and b.delta > 0]
    if concentrated and loose:
        raise NoConversion(
            "budgets",
            "not mix approximate DP with zCDP, Rényi or Gaussian DP",
            str(loose[0]),
            "call to_approximate(delta) on the others first",
        )
    if len(orders) > 1:
        raise NoConversion(
            "alpha", "be the same in all Rényi budgets", sorted(orders), "use to_renyi(alpha) first"
        )
    if orders:
        (order,) = orders
        return [b.to_renyi(order) for b in budgets]
    if concentrated:
        return [b.to_zcdp() for b in budgets]
    if any(isinstance(b, Approximate) for b in budgets):
        return [b if isinstance(b, Approximate) else b.to_approximate(0.0) for b in budgets]
    return list(budgets)
