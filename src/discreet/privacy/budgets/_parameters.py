"""The numbers that budgets are built from: ε, δ, ρ, α, μ, uses k and records m, checked and shown.

>>> parameter("epsilon", 1)
1.0
>>> shown(float("inf"))
'∞'
"""

from __future__ import annotations

import math

from discreet.errors import InvalidArgument

from ..._checks import amount, count, probability

EXAMPLES = {"epsilon": "1.0", "rho": "0.1", "mu": "0.5"}


def parameter(name: str, value: object, *, zero: bool = True) -> float:
    """A number of a budget, clean, by its name."""
    if name == "delta":
        return probability(name, value, fix="choose a small number such as 1e-6")
    if name in ("alpha", "renyi_alpha"):
        return _order(name, value)
    return amount(name, value, zero=zero, fix=f"use a value such as {EXAMPLES[name]}")


def _order(name: str, alpha: object) -> float:
    fix = "use an order such as 2 (an infinite order is Pure)"
    order = amount(name, alpha, infinite=False, zero=False, fix=fix)
    if order <= 1:
        raise InvalidArgument(name, "be greater than 1", alpha, fix)
    return order


def records(m: object) -> int:
    """The size of a group."""
    return count("m", m, fix="give the number of records of one user")


def uses(k: object) -> int:
    """How often a mechanism is used."""
    return count("k", k, fix="give the number of uses")


def shown(value: float) -> str:
    """For people."""
    return "∞" if math.isinf(value) else f"{value:.6g}"
