"""A budget from the numbers that someone asks for, or from a saved file.

>>> budget_from(epsilon=1.0, delta=1e-6)
Approximate(epsilon=1.0, delta=1e-06)
>>> budget_from(epsilon=0.0, delta=0.01)
Approximate(epsilon=0.0, delta=0.01)
>>> budget_from_dict({"kind": "zcdp", "rho": "infinity"})
ZCDP(rho=inf)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from discreet.errors import InvalidArgument

from ._gaussian import GaussianDP
from ._kinds import ZCDP, Approximate, Budget, Pure, Renyi
from ._parameters import parameter

KINDS: dict[str, type[Budget]] = {
    kind.kind: kind for kind in (Pure, Approximate, ZCDP, Renyi, GaussianDP)
}
TOGETHER = ({"epsilon"}, {"epsilon", "delta"}, {"rho"}, {"epsilon", "renyi_alpha"}, {"mu"})


def budget_from(
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    renyi_alpha: float | None = None,
    mu: float | None = None,
) -> Budget | None:
    """The budget that keyword arguments ask for, None if none is given.

    epsilon -> Pure; epsilon and delta -> Approximate (Pure when delta is 0); rho -> ZCDP;
    epsilon and renyi_alpha -> Renyi; mu -> GaussianDP. A requested budget is positive; beside a
    delta > 0, epsilon may be 0: total variation at most δ.

    Args:
        epsilon: ε of a pure or approximate budget.
        delta: δ of an approximate one.
        rho: ρ of zero-concentrated privacy.
        renyi_alpha: The order α of a Rényi budget, with `epsilon`.
        mu: μ of Gaussian privacy.

    Returns:
        The budget, or None if none was asked for.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.privacy import budget_from
        >>> budget_from(epsilon=1.0, delta=1e-6)
        Approximate(epsilon=1.0, delta=1e-06)
    """
    numbers = {
        "epsilon": epsilon, "delta": delta, "rho": rho, "renyi_alpha": renyi_alpha, "mu": mu,
    }  # fmt: skip
    given = {name for name, value in numbers.items() if value is not None}
    if not given:
        return None
    if given not in TOGETHER:
        raise InvalidArgument(
            " and ".join(sorted(given)), "name one kind of budget", numbers,
            "give epsilon; epsilon and delta; rho; epsilon and renyi_alpha; or mu",
        )  # fmt: skip
    leaks = delta is not None and parameter("delta", delta) > 0.0
    clean = {name: parameter(name, numbers[name], zero=leaks) for name in numbers if name in given}
    if rho is not None:
        return ZCDP(clean["rho"])
    if mu is not None:
        return GaussianDP(clean["mu"])
    if renyi_alpha is not None:
        return Renyi(clean["renyi_alpha"], clean["epsilon"])
    if clean.get("delta"):
        return Approximate(clean["epsilon"], clean["delta"])
    return Pure(clean["epsilon"])


def budget_from_dict(data: Mapping[str, object]) -> Budget:
    """The budget that to_dict() wrote.

    Args:
        data: What `to_dict` gave.

    Returns:
        The budget.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.privacy import Pure, budget_from_dict
        >>> budget_from_dict(Pure(1.0).to_dict())
        Pure(epsilon=1.0)
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidArgument("kind", f"be one of {', '.join(KINDS)}", kind, "see Budget.to_dict()")
    names = KINDS[kind].names()
    if set(data) != {"kind", *names}:
        raise InvalidArgument(
            "budget", f"have exactly the keys kind, {', '.join(names)}", dict(data), "add or drop"
        )
    return KINDS[kind](*(math.inf if data[name] == "infinity" else data[name] for name in names))
