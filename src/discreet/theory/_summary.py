"""All bounds that speak about one instance, in one table; and those that speak about a result.

>>> table = bounds([0.75, 0.5], epsilon=1.0, horizon=1e6)
>>> [round(line.value, 1) for line in table if line.name == "private_bernoulli"]
[24.2]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from .._checks import amount, horizon_of, means_of, positive, probability, share
from ..errors import DiscreetError, InvalidArgument
from ..privacy._guarantees import Definition
from ..privacy.budgets import ZCDP, Approximate, Budget, Pure
from . import _identification as identification
from . import _linear_lower as linear_lower
from . import _linear_upper as linear_upper
from . import _regret_lower as regret_lower
from . import _regret_upper as regret_upper
from ._bound import BOUNDS, LOG, Bound, about

if TYPE_CHECKING:
    from .._types import Floats, Ints
    from ..simulator import Comparison, Result


@dataclass(frozen=True)
class Line:
    """One bound, evaluated: `value` at the horizon (or δ), or why there is none.

    Example:
        >>> import discreet
        >>> lines = discreet.bounds([0.75, 0.5], epsilon=1.0, horizon=1e6)
        >>> line = next(line for line in lines if line.name == "private_bernoulli")
        >>> line.side, round(line.value, 1)
        ('lower', 24.2)
    """

    name: str
    side: str
    quantity: str
    form: str
    summary: str
    source: str
    domain: str
    coefficient: float | None
    value: float | None
    silent: str = ""
    policy: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self)


def bounds(
    means: Sequence[float],
    *,
    horizon: float,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    risk: float | None = None,
) -> list[Line]:
    """Every lower and upper bound for Bernoulli arms that the given numbers suffice for.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds.
        epsilon: The budget ε.
        delta: The δ of an (ε, δ) budget.
        rho: Instead of these, a zCDP budget.
        risk: The probability of a wrong answer, if the best arm is to be identified.

    Returns:
        A line for every bound: name, side, value, formula and source. A theorem that does not apply
        says why; at ε = 0 with a δ > 0 most do not.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> lines = discreet.bounds([0.7, 0.5], horizon=1_000, epsilon=1.0)
        >>> "lai_robbins" in {line.name for line in lines}
        True
    """
    clean = means_of(means)
    arms, rounds = len(clean), horizon_of(horizon, len(clean))
    delta = probability("delta", delta, fix="use for example delta=1e-6")
    if epsilon is not None:
        epsilon = amount(
            "epsilon", epsilon, infinite=False, zero=delta > 0.0, fix="use for example epsilon=1.0"
        )
    _one_budget(epsilon, delta, rho)
    if risk is not None:
        risk = share("risk", risk, below=1.0 / 3.0)
    lines: list[Line] = []

    def add(name: str, formula: Callable[[], float], policy: str = "") -> None:
        lines.append(_line(name, rounds, formula, policy))

    add("lai_robbins", lambda: regret_lower.lai_robbins(clean))
    add("kl_ucb", lambda: regret_upper.kl_ucb(clean))
    add("ucb", lambda: regret_upper.ucb(clean, rounds))
    if epsilon is not None:
        e: float = epsilon
        add("view_private", lambda: regret_lower.view_private(clean, e))
        add("private_bernoulli", lambda: regret_lower.private_bernoulli(clean, e))
        add("local_private", lambda: regret_lower.local_private(clean, e))
        add("minimax_pure", lambda: regret_lower.minimax_pure(arms, rounds, e))
        add(
            "minimax_global",
            lambda: regret_lower.minimax_global(rounds, e, delta, arms=arms),
        )
        _add_upper(add, clean, rounds, {"epsilon": e, "delta": delta})
    if rho is not None:
        r = positive("rho", rho)
        add("minimax_zcdp", lambda: regret_lower.minimax_zcdp(arms, rounds, r))
        _add_upper(add, clean, rounds, {"rho": r})
    if risk is not None:
        lines += _samples(clean, risk, epsilon)
    return lines


def _one_budget(epsilon: float | None, delta: float, rho: float | None) -> None:
    if epsilon is not None and rho is not None:
        raise InvalidArgument(
            "rho", "come without epsilon", rho, "give one budget: epsilon (and delta), or rho"
        )
    if epsilon is None and delta > 0.0:
        raise InvalidArgument("delta", "come with epsilon", delta, "give epsilon, or leave it out")


def _add_upper(
    add: Callable[..., None], means: tuple[float, ...], rounds: int, budget: dict[str, float]
) -> None:
    """The theorem about every row whose budget is stated by these numbers."""
    for entry in BOUNDS.values():
        if entry.row and entry.budget in budget and (budget.get("delta") or not entry.needs_delta):
            given, arms = entry.given(budget), len(means) if entry.gap_free else means
            add(entry.name, partial(entry.formula, arms, rounds, **given), entry.row)


def linear_bounds(
    dimension: int,
    *,
    horizon: float,
    actions: int | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    risk: float = 1e-3,
    eigenvalue: float | None = None,
) -> list[Line]:
    """Every bound for linear bandits in R^d that the given numbers suffice for.

    Args:
        dimension: The dimension d.
        horizon: The number of rounds T.
        actions: The number of fixed actions.
        epsilon: The budget ε.
        rho: A zCDP budget.
        risk: Upper bounds hold with probability 1 - risk.
        eigenvalue: The least eigenvalue of E[aa'] of random contexts.

    Returns:
        The bounds, evaluated; one that is silent says why.

    Raises:
        InvalidArgument: If an argument breaks its rule, or there is no budget.

    Example:
        >>> from discreet import theory
        >>> lines = theory.linear_bounds(3, horizon=1e6, rho=1.0)
        >>> {line.side for line in lines} <= {"lower", "upper"}, len(lines) > 0
        (True, True)
    """
    rounds = horizon_of(horizon)
    _one_budget(epsilon, 0.0, rho)
    lines: list[Line] = []

    def add(formula: Callable[..., float], *numbers: float, policy: str = "") -> None:
        lines.append(_line(formula.__name__, rounds, partial(formula, *numbers), policy))

    if epsilon is not None:
        add(linear_lower.linear_minimax_pure, dimension, rounds, epsilon)
    if rho is not None:
        add(linear_lower.linear_minimax_zcdp, dimension, rounds, rho)
        if actions is not None:
            add(linear_upper.adac_gope, dimension, actions, rounds, rho, risk, policy="adac-gope")
        if eigenvalue is not None:
            numbers = (dimension, rounds, rho, risk, eigenvalue)
            add(linear_upper.adac_oful, *numbers, policy="adac-oful")
    if not lines:
        raise InvalidArgument("epsilon or rho", "be given", None, "use for example rho=0.1")
    return lines


def _samples(means: tuple[float, ...], risk: float, epsilon: float | None) -> list[Line]:
    """The bounds on samples, at the error probability δ."""

    def time(e: float) -> float:
        return identification.characteristic_time(means, e).samples

    factor = math.log(1.0 / (3.0 * risk))
    said = "samples per log(1/(3δ)) of every δ-correct procedure"
    free = _line("characteristic_time", factor, lambda: time(math.inf))
    lines = [replace(free, summary=f"T*_KL: {said}")]
    if not epsilon:
        return lines
    private = _line("characteristic_time", factor, lambda: time(epsilon))
    lines.append(replace(private, summary=f"T*(ε): {said} with ε-DP"))
    variation = _line(
        "total_variation_time", factor / epsilon,
        lambda: identification.total_variation_time(means),
    )  # fmt: skip
    said = "T*_TV: the high-privacy regime needs T*_TV/ε samples per log(1/(3δ))"
    lines.append(replace(variation, summary=said))
    lines.append(
        _line(
            "private_characteristic_time",
            math.log(1.0 / (2.4 * risk)),
            lambda: identification.private_characteristic_time(means, epsilon).samples,
        )
    )
    tail = math.log(1.0 / risk)
    for formula in (identification.adap_tt_samples, identification.adap_tt_star_samples):
        lines.append(_line(formula.__name__, tail, partial(formula, means, epsilon)))
    return lines


def _line(name: str, scale: float, formula: Callable[[], float], policy: str = "") -> Line:
    """Evaluate; `scale` is T for regret, and what a coefficient is multiplied by for samples."""
    entry = BOUNDS[name]
    said = (name, entry.side, entry.quantity, entry.form, entry.summary, entry.source, entry.domain)
    try:
        result = formula()
    except InvalidArgument as error:
        return Line(*said, None, None, str(error), policy)
    if entry.quantity == "samples":
        return Line(*said, result, result * scale, policy=policy)
    if entry.form == LOG:
        return Line(*said, result, result * math.log(scale), policy=policy)
    return Line(*said, None, result, policy=policy)


def best_lower(means: Sequence[float], epsilon: float, *, local: bool = False) -> float:
    """The largest of the known lower bounds per log T, for pure ε.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.
        local: Whether privacy is local.

    Returns:
        The largest of the lower bounds.

    Example:
        >>> from discreet import theory
        >>> round(theory.best_lower([0.75, 0.5], 1.0), 3)
        1.753
    """
    known = regret_lower.private_bernoulli(means, epsilon)
    return max(known, regret_lower.local_private(means, epsilon)) if local else known


def bounds_of(result: Result) -> list[Line]:
    """The bounds that speak about a simulated result.

    Those of its kind of privacy, on its environment, and the theorem about its policy.

    Args:
        result: A result of `simulate`.

    Returns:
        The bounds, evaluated at its horizon.

    Raises:
        InvalidArgument: If its environment is one that no bound speaks of.

    Example:
        >>> import discreet
        >>> from discreet import theory
        >>> policy = discreet.policy('dp-imed', epsilon=1.0)
        >>> result = discreet.simulate(
        ...     policy, discreet.Bernoulli([0.7, 0.4]), horizon=300, runs=2, seed=1
        ... )
        >>> [line.name for line in theory.bounds_of(result) if line.side == "lower"]
        ['lai_robbins', 'view_private', 'private_bernoulli']
    """
    _check_environment(result)
    means, rounds = result.means, result.horizon
    lines = []

    def add(name: str, formula: Callable[[], float], policy: str = "") -> None:
        lines.append(_line(name, rounds, formula, policy))

    add("lai_robbins", lambda: regret_lower.lai_robbins(means))
    guarantee = result.guarantee
    budget = guarantee.budget
    if not guarantee.is_private:
        return lines
    # view DP is implied by local, interactive and table DP; an instantaneous promise is another
    whole = guarantee.definition not in (Definition.INSTANTANEOUS, Definition.GLOBAL)
    if whole and isinstance(budget, Pure):
        e = budget.epsilon
        add("view_private", lambda: regret_lower.view_private(means, e))
        add("private_bernoulli", lambda: regret_lower.private_bernoulli(means, e))
        if guarantee.definition is Definition.LOCAL:
            add("local_private", lambda: regret_lower.local_private(means, e))
    upper = _upper(result, budget)
    if upper is not None:
        theorem, curve = upper
        add(theorem.name, lambda: curve(rounds), result.name)
    return lines


def overlay(comparison: Comparison) -> dict[str, Callable[[Ints], Floats]]:
    """The bounds of all results as functions of t, for `Comparison.plot(bounds=...)`.

    Args:
        comparison: The results of `compare`.

    Returns:
        The functions, by what the legend calls them.

    Example:
        >>> import discreet
        >>> from discreet import theory
        >>> found = discreet.compare(
        ...     [discreet.policy('dp-imed', epsilon=1.0)], discreet.Bernoulli([0.7, 0.4]),
        ...     horizon=300, runs=2, seed=1,
        ... )
        >>> sorted(theory.overlay(found))
        ['lower bound, no privacy', 'lower bound, ε = 1']
    """
    curves: dict[str, Callable[[Ints], Floats]] = {}
    for result in comparison:
        lines = [line for line in bounds_of(result) if line.value is not None]
        lower = [line for line in lines if line.side == "lower"]
        curves["lower bound, no privacy"] = partial(_logarithm, lower[0].coefficient or 0.0)
        if len(lower) > 1:
            guarantee = result.guarantee
            kind = " (local)" if guarantee.definition is Definition.LOCAL else ""
            sharpest = max(line.coefficient or 0.0 for line in lower)
            curves[f"lower bound{kind}, {guarantee.budget}"] = partial(_logarithm, sharpest)
        upper = _upper(result, result.guarantee.budget)
        if upper is not None and len(lines) > len(lower):
            name, (theorem, curve) = f"upper bound of {result.label}", upper
            if theorem.tuned:
                curves[name] = partial(_level, curve(result.horizon))
            else:
                curves[name] = _along(curve, len(result.means))
    return curves


def _logarithm(coefficient: float, t: Ints) -> Floats:
    import numpy as np

    return coefficient * np.log(np.maximum(t, 1))


def _level(value: float, t: Ints) -> Floats:
    import numpy as np

    return np.full(len(t), value)


def _along(upper: Callable[[int], float], arms: int) -> Callable[[Ints], Floats]:
    """The bound at every t, from the first round on that the theorem speaks about."""
    import numpy as np

    def curve(t: Ints) -> Floats:
        return np.array([upper(int(x)) if x >= max(2, arms) else np.nan for x in t])

    return curve


def _upper(result: Result, budget: Budget) -> tuple[Bound, Callable[[int], float]] | None:
    """The theorem about the row, with the row's own budget and options; None if there is none."""
    recipe = dict(result.policy["recipe"])
    theorem = about(result.name)
    if theorem is None or not recipe:
        return None
    numbers = {
        name: getattr(budget, name) for name in ("epsilon", "delta", "rho") if hasattr(budget, name)
    }
    exact = isinstance(budget, Pure | Approximate | ZCDP)
    if not exact or theorem.budget not in numbers:
        return None
    given = theorem.given(recipe | numbers)
    return theorem, lambda t: theorem.formula(result.means, t, **given)


def _check_environment(result: Result) -> None:
    if result.environment["environment"] != "bernoulli":
        raise InvalidArgument(
            "bounds", "be asked for Bernoulli rewards", result.environment["environment"],
            "leave --bounds out, or call discreet.theory.view_private with finite laws",
        )  # fmt: skip
    if not result.means:
        raise DiscreetError("a result without arms has no bounds")
