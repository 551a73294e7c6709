"""Claims: what a policy says of itself is there, and its guarantee is within what was asked for."""

from __future__ import annotations

from ..policies._policy import Policy
from ..policies._rules import Rule
from ..policies._schedules import Schedule
from ..policies.releases import Release
from ..privacy._guarantees import Definition
from ..privacy.budgets import Budget
from ._case import Case

HORIZONS = (100, 10_000, 10**6, 10**12)


def check_documented(row: Policy, case: Case) -> None:
    """Check that the parts of a policy have docstrings, and a published policy its citation.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If something is missing.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_documented
        >>> check_documented(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    from ..references import REFERENCES

    for part, base in ((row.schedule, Schedule), (row.release, Release), (row.rule, Rule)):
        kind = type(part)
        words = (kind.__doc__ or "").strip()
        # a dataclass without docstring is given its signature for one
        generated = words.startswith(f"{kind.__name__}(")
        if kind is base or not words or generated:
            raise AssertionError(f"{kind.__name__} must have a docstring that says what it does")
        if not getattr(part, "name", ""):
            raise AssertionError(f"{kind.__name__} must have a name for the printed table")
    if row.recipe and not row.reference:
        raise AssertionError("a policy of the catalogue must name its reference")
    if row.reference and row.reference not in REFERENCES:
        raise AssertionError(f"the reference {row.reference!r} must be in discreet.references")


def check_guarantee(row: Policy, case: Case) -> None:
    """Check that a guarantee can be derived and is finite, and at most what was asked for.

    It must also be the same at every horizon.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If it is not so.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_guarantee
        >>> check_guarantee(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    promised = row.guarantee
    if not promised.is_private:
        if getattr(row.release, "budget", None) is not None or row.rule.budget is not None:
            raise AssertionError("the policy was given a budget and promises nothing")
        return
    if promised.definition is Definition.NONE or not promised.budget.is_finite:
        raise AssertionError(
            f"a private policy must promise something finite, got {promised.short()}"
        )
    if promised.definition is Definition.INSTANTANEOUS:
        _keeps(promised.budget, getattr(row.rule, "asked", promised.budget), "a choice")
        return
    asked = row.release.budget
    for horizon in HORIZONS:
        spent = row.release.guarantee(row.schedule, horizon)
        _keeps(spent.budget, asked, f"horizon {horizon:g}")
        if spent.definition is not promised.definition:
            raise AssertionError(
                f"the definition must not depend on the horizon: {spent.definition.value} at "
                f"{horizon:g}, {promised.definition.value} without"
            )
    _keeps(promised.budget, asked, "no horizon")


def _keeps(spent: Budget, asked: Budget, where: str) -> None:
    """`spent` is of the asked kind and within it."""
    if type(spent) is not type(asked):
        raise AssertionError(f"{where}: a budget of kind {asked.kind} became one of {spent.kind}")
    for name, wanted in asked.numbers().items():
        was = spent.numbers()[name]
        if was > wanted * (1.0 + 1e-9):
            raise AssertionError(f"{where}: spends {name} = {was:g} of {wanted:g}")
