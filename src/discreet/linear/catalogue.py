"""The linear rows of the catalogue.

>>> from discreet.linear import policy
>>> print(policy("jdp-linucb", epsilon=1.0, delta=1e-6).guarantee.short())
ε = 1, δ = 1e-06 (joint)

Rows with public contexts protect rewards (interactive DP); `private-linucb`, `private-lints` and
`jdp-linucb` protect contexts and rewards (joint DP).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidArgument, UnknownPolicy, UnsupportedBudget
from ..policies.catalogue import ARGUMENTS, EXAMPLES
from ..privacy.budgets import (
    ZCDP,
    Approximate,
    Budget,
    GaussianDP,
    Pure,
    Renyi,
    budget_from,
)
from .design import TOLERANCE
from .phases import Elimination, NoisyEstimate, NoisySums, PhaseExact
from .releases import ExactSum, NoisySum, Release
from .row import LinearPolicy
from .rules import Optimism, Rule, TreeOptimism, TreeSampling
from .schedules import Determinant, EachRound, EachRoundPrivately, Phases, Schedule
from .trees import GaussianTrees, LaplaceTrees, ShiftedOptimism

Parts = tuple[Schedule, Release, Rule]
FAILURE = 0.001
"""δ of the confidence sets in the thesis' runs."""
RIDGE = 0.1
"""λ in the thesis' runs."""


@dataclass(frozen=True)
class LinearRow:
    """A line of the catalogue: how to build it, for which budgets, after which paper."""

    name: str
    title: str
    build: Callable[..., Parts]
    budgets: tuple[type[Budget], ...]
    reference: str

    @property
    def options(self) -> dict[str, Any]:
        """The options beside the budget, with their defaults."""
        parameters = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "budget"}

    def policy(self, budget: Budget | None = None, **options: Any) -> LinearPolicy:
        """The row for a budget."""
        for name in sorted(set(options) - set(self.options)):
            raise InvalidArgument(
                name, f"be an option of {self.name}", options[name],
                f"its options: {', '.join(self.options)}",
            )  # fmt: skip
        if budget is None and self.budgets:
            raise UnsupportedBudget("budget", f"be given: {self.name} is private", None, self._fix)
        if budget is not None and not isinstance(budget, self.budgets):
            raise UnsupportedBudget("budget", f"suit {self.name}", str(budget), self._fix)
        parts = self.build(**options) if budget is None else self.build(budget, **options)
        recipe = {"name": self.name, "budget": None if budget is None else budget.to_dict()}
        return LinearPolicy(self.name, *parts, self.reference, recipe | options)

    @property
    def _fix(self) -> str:
        if not self.budgets:
            return "leave the budget out: it is not private"
        return f"give {' or '.join(ARGUMENTS[kind] for kind in self.budgets)}"

    def example(self) -> LinearPolicy:
        """The row as the printed table shows it."""
        if not self.budgets:
            return self.policy()
        return self.policy(next(b for b in EXAMPLES if isinstance(b, self.budgets)))


CATALOGUE: dict[str, LinearRow] = {}
"""All linear rows by name, in the order of the table."""

GAUSSIAN = (ZCDP, Approximate, Renyi, GaussianDP)
"""The kinds of budget that Gaussian noise serves."""


def row(name: str, *budgets: type[Budget], reference: str) -> Callable[[Any], Any]:
    """Enter a builder into the catalogue; its docstring is the title."""

    def enter(build: Callable[..., Parts]) -> Callable[..., Parts]:
        title = inspect.getdoc(build) or name
        CATALOGUE[name] = LinearRow(name, title.splitlines()[0], build, budgets, reference)
        return build

    return enter


def policy(
    name: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    renyi_alpha: float | None = None,
    mu: float | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> LinearPolicy:
    """A published linear policy by name.

    >>> policy("adac-gope", rho=0.1, noise="sums").release.name
    'phase sums + Gaussian'
    """
    if name not in CATALOGUE:
        raise UnknownPolicy.near(str(name), CATALOGUE)
    asked = budget_from(epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu)
    if budget is not None and asked is not None:
        raise InvalidArgument(
            "budget", "be the only budget", str(asked), "give either budget or its numbers"
        )
    return CATALOGUE[name].policy(asked if budget is None else budget, **options)


@row("gope", reference="lattimore2020")
def _gope(failure: float = FAILURE, sd: float = 1.0, tolerance: float = TOLERANCE) -> Parts:
    """GOPE: phased elimination by optimal designs"""
    return Phases(), PhaseExact(), Elimination(failure, sd, tolerance)


@row("adac-gope", *GAUSSIAN, reference="azize2024")
def _adac_gope(
    budget: Budget,
    noise: str = "estimate",
    failure: float = FAILURE,
    sd: float = 1.0,
    tolerance: float = TOLERANCE,
    low: float = -1.0,
    high: float = 1.0,
    setting: str = "sound",
) -> Parts:
    """AdaC-GOPE"""
    kinds = {"estimate": NoisyEstimate, "sums": NoisySums}
    if noise not in kinds:
        raise InvalidArgument("noise", "be 'estimate' or 'sums'", noise, "use 'estimate'")
    release = kinds[noise](budget, low, high, setting)
    return Phases(), release, Elimination(failure, sd, tolerance)


@row("oful", reference="abbasi2011")
def _oful(
    ridge: float = RIDGE, failure: float = FAILURE, norm: float = 1.0, sd: float = 1.0
) -> Parts:
    """OFUL"""
    return EachRound(), ExactSum(), Optimism(ridge, failure, norm, sd)


@row("rs-oful", reference="abbasi2011")
def _rs_oful(
    growth: float = 1.0,
    ridge: float = RIDGE,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
) -> Parts:
    """Rarely switching OFUL"""
    return Determinant(growth), ExactSum(), Optimism(ridge, failure, norm, sd)


@row("adac-oful", *GAUSSIAN, reference="azize2024")
def _adac_oful(
    budget: Budget,
    growth: float = 1.0,
    ridge: float = RIDGE,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
    low: float = -1.0,
    high: float = 1.0,
    setting: str = "sound",
) -> Parts:
    """AdaC-OFUL"""
    release = NoisySum(budget, low, high, setting)
    return Determinant(growth), release, Optimism(ridge, failure, norm, sd)


@row("private-linucb", Pure, reference="mishra2015")
def _private_linucb(
    budget: Pure, alpha: float = 1.0, ridge: float = 1.0, calibration: str = "joint"
) -> Parts:
    """Private contextual UCB"""
    release = LaplaceTrees(budget.epsilon, calibration)
    return EachRoundPrivately(), release, TreeOptimism(alpha, ridge)


@row("private-lints", Pure, reference="mishra2015")
def _private_lints(
    budget: Pure, alpha: float = 1.0, ridge: float = 1.0, calibration: str = "joint"
) -> Parts:
    """Private contextual Thompson sampling"""
    release = LaplaceTrees(budget.epsilon, calibration)
    return EachRoundPrivately(), release, TreeSampling(alpha, ridge)


@row("jdp-linucb", Approximate, ZCDP, GaussianDP, reference="shariff2018")
def _jdp_linucb(
    budget: Budget,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
    calibration: str = "exact",
) -> Parts:
    """LinUCB under joint DP"""
    release = GaussianTrees(budget, calibration)
    return EachRoundPrivately(), release, ShiftedOptimism(release, failure, norm, sd)
