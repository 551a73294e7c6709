"""Twins: at a huge budget a policy makes the choices of the policy without privacy that it comes
from."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from ..policies._policy import Policy
from ..privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from ._case import SEED, Case
from ._walk import Walk

HUGE = 1e12


def check_twin(row: Policy, case: Case) -> None:
    """Check that a policy at a huge budget and its twin without privacy choose the same arms.

    Rewards are fixed. Without a twin nothing is checked.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If they choose different arms.

    Example:
        >>> import discreet
        >>> from discreet.policies import IMED, Exact, Geometric, Policy
        >>> from discreet.testing import Case, check_twin
        >>> twin = Policy("twin", Geometric(2.0, 20), Exact(), IMED())
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> check_twin(policy, Case(arms=2, horizon=1200, twin=twin))
    """
    if case.twin is None:
        return
    rich = at_huge_budget(row)
    for number in range(3):
        environment = case.table(number)
        mine = Walk(rich, environment, case.horizon, seed=SEED).played()
        other = Walk(case.twin, environment, case.horizon, seed=SEED).played()
        if not (mine == other).all():
            first = int((mine != other).argmax())
            raise AssertionError(
                f"with a huge budget the policy plays arm {mine[first]} in round {first + 1}, "
                f"its twin {case.twin.name} arm {other[first]}"
            )


def at_huge_budget(row: Policy) -> Policy:
    """The same policy with noise that is too small to matter.

    Args:
        row: The policy.

    Returns:
        The policy.

    Example:
        >>> import discreet
        >>> from discreet.testing import at_huge_budget
        >>> policy = at_huge_budget(discreet.policy("dp-imed", epsilon=1.0))
        >>> policy.guarantee.budget.epsilon > 1e6
        True
    """
    changed: dict[str, Any] = {}
    for name in ("release", "rule"):
        part: Any = getattr(row, name)  # its own dataclass
        fields = {field.name for field in dataclasses.fields(part)} if _is_data(part) else set()
        if "epsilon" in fields:
            changed[name] = dataclasses.replace(part, epsilon=HUGE)
        for field in fields & {"budget", "asked"}:
            changed[name] = dataclasses.replace(part, **{field: _huge(getattr(part, field))})
    if not changed:
        raise AssertionError("neither release nor rule has a budget that could be raised")
    return dataclasses.replace(row, **changed)


def _is_data(part: object) -> bool:
    return dataclasses.is_dataclass(part) and not inspect.isclass(part)


def _huge(budget: Budget) -> Budget:
    match budget:
        case ZCDP():
            return ZCDP(HUGE**2)
        case Renyi(alpha=alpha):
            return Renyi(alpha, HUGE**2)
        case GaussianDP():
            return GaussianDP(HUGE)
        case Approximate(delta=delta) if delta > 0.0:
            return Approximate(HUGE, delta)
        case _:
            return Pure(HUGE)
