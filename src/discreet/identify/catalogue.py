"""The catalogue of identifiers.

>>> from discreet.identify import identifier
>>> print(identifier("adap-tt", epsilon=1.0).guarantee.short())
ε = 1 (interactive)

| ttucb        | not private; exact means, a release every round |
| adap-tt      | doubling batches with Laplace noise, Gaussian cost |
| adap-tt-star | the same with costs and thresholds that know ε; `version` "jmlr" or "thesis" |
| ctb-tt       | local: every participant answers with a random bit, then as ttucb |
| dp-se        | successive elimination on fresh Laplace means, until one arm is left |

Options: `beta`, the leader's share; `threshold="heuristic"` for the one that public code uses,
"heuristic+noise" for that and what the printed thresholds add for the noise: neither is δ-correct.
`sampling="published"` for the printed bonus, under which an arm with a bad start can be forgotten
for ever; "batched" to decide once a batch, as a live trial does. The first reward of every arm is a
batch of one and released with noise like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ..checks import one_of
from ..policies import Doubling, EachRound, Exact, ForgetLaplace, LocalBernoulli, Phases
from ..policies.registry import Entry
from ..privacy.budgets import Budget, Pure
from .costs import GaussianCost, PrivateCost
from .identifier import Identifier
from .recommendation import BestActive
from .sampling import Elimination, PrivateTopTwo, SharedTopTwo, TopTwo
from .stopping import Likelihood, OneLeft
from .thresholds import (
    GaussianThreshold,
    HeuristicThreshold,
    NoisyHeuristicThreshold,
    PrivateThreshold,
    StarredThreshold,
    Threshold,
)


class IdentifierRow(Entry[Identifier]):
    """A line of the catalogue; a private one takes an ε."""

    kind: ClassVar[str] = "identify"
    catalogue: ClassVar[dict[str, IdentifierRow]] = {}
    argument: ClassVar[str] = "epsilon"

    def policy(self, budget: Budget | None = None, **options: Any) -> Identifier:
        self.check(budget, options)
        pure = None if budget is None else self.served(budget)
        return self.identifier(pure.epsilon if isinstance(pure, Pure) else None, **options)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> Identifier:
        return identifier_from_recipe(recipe)

    def identifier(self, epsilon: float | None = None, **options: Any) -> Identifier:
        """The row for an ε."""
        self.check(epsilon, options)
        if epsilon is not None:
            options["epsilon"] = Pure(epsilon).epsilon
        recipe = {"goal": "identify", "name": self.name, "epsilon": epsilon} | options
        made: Identifier = self.build(**options)
        return replace(made, name=self.name, recipe=recipe)


IDENTIFIERS = IdentifierRow.catalogue
"""All rows by name."""
row = IdentifierRow.enter


def identifier(name: str, *, epsilon: float | None = None, **options: Any) -> Identifier:
    """A published identification policy by name.

    >>> identifier("adap-tt-star", epsilon=0.1, version="thesis").delta_correct
    True
    """
    return IdentifierRow.named(name).identifier(epsilon, **options)


def identifier_from_recipe(recipe: Mapping[str, Any]) -> Identifier:
    """The identifier that a saved recipe names."""
    options = dict(recipe)
    delta = options.pop("delta", None)
    options.pop("goal", None)
    row = identifier(**options)
    return row if delta is None else row.at(delta)


def _threshold(asked: str, proved: Threshold) -> Threshold:
    choices = {"proved": proved, "heuristic": HeuristicThreshold()}
    if isinstance(proved, PrivateThreshold):
        choices["heuristic+noise"] = NoisyHeuristicThreshold()
    return choices[one_of("threshold", asked, *choices)]


def _sampled(row: Identifier, sampling: str) -> Identifier:
    assert isinstance(row.rule, PrivateTopTwo)
    asked = one_of("sampling", sampling, "shared", "published", "batched")
    if asked == "published":
        return replace(row, rule=PrivateTopTwo(row.rule.cost, row.rule.beta))
    return row.batched() if asked == "batched" else row


@row("ttucb", reference="jourdan2023")
def _ttucb(beta: float = 0.5, threshold: str = "proved") -> Identifier:
    """TTUCB"""
    cost = GaussianCost()
    return Identifier(
        "ttucb", EachRound(), Exact(), TopTwo(cost, beta), "jourdan2023",
        stopping=Likelihood(cost, _threshold(threshold, GaussianThreshold())),
    )  # fmt: skip


@row("adap-tt", Pure, reference="azize2026")
def _adap_tt(
    epsilon: float, beta: float = 0.5, threshold: str = "proved", sampling: str = "shared"
) -> Identifier:
    """AdaP-TT"""
    cost = GaussianCost()
    row = Identifier(
        "adap-tt", Doubling(), ForgetLaplace(epsilon), SharedTopTwo(cost, beta), "azize2026",
        stopping=Likelihood(cost, _threshold(threshold, PrivateThreshold())), mixed=True,
    )  # fmt: skip
    return _sampled(row, sampling)


@row("adap-tt-star", Pure, reference="azize2026")
def _adap_tt_star(
    epsilon: float,
    version: str = "jmlr",
    beta: float = 0.5,
    threshold: str = "proved",
    sampling: str = "shared",
) -> Identifier:
    """AdaP-TT*"""
    cost = PrivateCost(version)
    row = Identifier(
        "adap-tt-star", Doubling(), ForgetLaplace(epsilon), SharedTopTwo(cost, beta), "azize2026",
        stopping=Likelihood(cost, _threshold(threshold, StarredThreshold(version))), mixed=True,
    )  # fmt: skip
    return _sampled(row, sampling)


@row("ctb-tt", Pure, reference="azize2026")
def _ctb_tt(epsilon: float, beta: float = 0.5, threshold: str = "proved") -> Identifier:
    """CTB-TT"""
    cost = GaussianCost()
    return Identifier(
        "ctb-tt", EachRound(), LocalBernoulli(epsilon), TopTwo(cost, beta), "azize2026",
        stopping=Likelihood(cost, _threshold(threshold, GaussianThreshold())),
    )  # fmt: skip


@row("dp-se", Pure, reference="sajed2019")
def _dp_se(epsilon: float) -> Identifier:
    """DP-SE"""
    return Identifier(
        "dp-se", Phases(), ForgetLaplace(epsilon), Elimination(), "sajed2019",
        stopping=OneLeft(), recommendation=BestActive(),
    )  # fmt: skip
