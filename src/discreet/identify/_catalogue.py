"""The catalogue of identifiers.

>>> from discreet.identify import identifier
>>> print(identifier("adap-tt", epsilon=1.0).guarantee.short())
ε = 1 (interactive)

| ttucb        | not private; exact means, a release every round |
| adap-tt      | doubling batches with Laplace noise, Gaussian cost |
| adap-tt-star | the same with costs and thresholds that know ε; `version` "jmlr" or "thesis-k2" |
| dp-tt        | running sums, no forgetting; a baseline, which can starve a best arm |
| ctb-tt       | local: every participant answers with a random bit, then as ttucb |
| dp-se        | successive elimination on fresh Laplace means, until one arm is left |
| evidence-tt  | mixture evidence on running sums; any budget or none; `xi` for good within xi |
| local-evidence-tt | the same on random bits |
| chernoff-tt  | its simpler twin, on batches of fixed sizes |
| race         | all arms concurrently, the ones behind dropped at fixed looks; for live trials |
| halving, classical-halving, uniform | a fixed number of `participants`, no risk promised |

Options: `beta`, the leader's share; `threshold="public"`, for adap-tt, is what the authors' public
code runs: its threshold, σ = 1 in the cost, and a leader drawn with probability β;
`threshold="heuristic"` is the one of TTUCB in that code, "heuristic+noise" that and what the
printed thresholds add for the noise: none of the three is δ-correct.
`sampling="published"` for the printed bonus, under which an arm with a bad start can be forgotten
indefinitely; "batched" to decide once a batch, as a live trial does. The first reward of every arm
is a batch of one and released with noise like any other.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from .._checks import one_of
from ..policies import (
    Doubling,
    EachRound,
    Exact,
    ForgetLaplace,
    LocalBernoulli,
    Phases,
    Release,
    RunningGaussian,
    RunningLaplace,
)
from ..policies._registry import Entry
from ..privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, budget_from_dict
from ._chernoff import ChernoffTopTwo, EnoughChernoff, FixedBatches
from ._costs import GaussianCost, PrivateCost, UnitCost
from ._dp_tt import EnoughCost, PlainTopTwo
from ._evidence import EFFECTS
from ._evidence_top_two import EnoughEvidence, EvidenceTopTwo, MissingEvidence
from ._halving import Halved, Halving, HalvingRounds
from ._identifier import Identifier
from ._race import Looks, RaceWon, Racing
from ._recommendation import BestActive
from ._sampling import Elimination, PrivateTopTwo, RandomTopTwo, SharedTopTwo, TopTwo
from ._stopping import Likelihood, OneLeft
from ._thresholds import (
    GaussianThreshold,
    HeuristicThreshold,
    NoisyHeuristicThreshold,
    PrivateThreshold,
    PublicThreshold,
    StarredThreshold,
    Threshold,
)

if TYPE_CHECKING:
    from .._types import Json


class IdentifierRow(Entry[Identifier]):
    """A line of the catalogue; a private one takes an ε, or a budget of several kinds."""

    kind: ClassVar[str] = "identify"
    catalogue: ClassVar[dict[str, IdentifierRow]] = {}
    argument: ClassVar[str] = "epsilon"

    @property
    def optional(self) -> bool:
        return "budget" in inspect.signature(self.build).parameters

    @property
    def options(self) -> dict[str, object]:
        return {name: value for name, value in super().options.items() if name != "budget"}

    def policy(self, budget: Budget | None = None, **options: object) -> Identifier:
        self.check(budget, options)
        served = None if budget is None else self.served(budget)
        epsilon = served.epsilon if isinstance(served, Pure) else None
        given = {"budget": served} if self.optional else {"epsilon": epsilon}
        made: Identifier = self.build(**(given if self.private else {}), **options)
        made = self.stating(replace(made, name=self.name), budget)
        recipe: dict[str, object] = {"goal": "identify", "name": self.name, "epsilon": epsilon}
        if budget is not None and (epsilon is None or made.keeps is not None):
            recipe |= {"epsilon": None, "budget": budget.to_dict()}
        return replace(made, recipe=recipe | options)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, object]) -> Identifier:
        return identifier_from_recipe(recipe)


IDENTIFIERS = IdentifierRow.catalogue
"""All policies by name."""
row = IdentifierRow.enter


def identifier(name: str, *, budget: Budget | None = None, **options: object) -> Identifier:
    """An identification policy by name; `discreet.policy` knows all kinds.

    >>> identifier("adap-tt-star", epsilon=0.1, version="thesis-k2").delta_correct
    True
    >>> print(identifier("evidence-tt", rho=0.1).guarantee.short())
    ρ = 0.1 (interactive)
    """
    return IdentifierRow.named(name).asked(budget=budget, **options)


def identifier_from_recipe(recipe: Mapping[str, object]) -> Identifier:
    """The identifier that a saved recipe names."""
    options = dict(recipe)  # JSON, which the policies check
    name = str(options.pop("name"))
    said = options.pop("budget", None)
    budget = None if said is None else budget_from_dict(cast("Json", said))
    risk = options.pop("risk", None)
    options.pop("goal", None)
    mixed = options.pop("mixed", True)
    row = identifier(name, budget=budget, **options)
    row = row if mixed else row.batched()
    return row if risk is None else row.at(cast("float", risk))


def _threshold(asked: str, proved: Threshold) -> Threshold:
    choices = {"proved": proved, "heuristic": HeuristicThreshold()}
    if isinstance(proved, PrivateThreshold):
        choices["heuristic+noise"] = NoisyHeuristicThreshold()
    if type(proved) is PrivateThreshold:
        choices["public"] = PublicThreshold()
    return choices[one_of("threshold", asked, *choices)]


def _sampled(row: Identifier, sampling: str) -> Identifier:
    asked = one_of("sampling", sampling, "shared", "published", "batched")
    if asked == "published":
        rule = cast("SharedTopTwo", row.rule)
        return replace(row, rule=PrivateTopTwo(rule.cost, rule.beta))
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
    bar = _threshold(threshold, PrivateThreshold())
    public = isinstance(bar, PublicThreshold)
    if public:
        one_of("sampling", sampling, "shared")
    cost = UnitCost() if public else GaussianCost()
    top_two = RandomTopTwo(cost, beta) if public else SharedTopTwo(cost, beta)
    row = Identifier(
        "adap-tt", Doubling(), ForgetLaplace(epsilon), top_two, "azize2026",
        stopping=Likelihood(cost, bar), mixed=True,
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


@row("dp-tt", Pure, reference="jourdan2025")
def _dp_tt(epsilon: float, beta: float = 0.5) -> Identifier:
    """DP-TT"""
    return Identifier(
        "dp-tt", Doubling(), RunningLaplace(epsilon), PlainTopTwo(beta), "jourdan2025",
        stopping=EnoughCost(), mixed=True,
    )  # fmt: skip


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


def running(budget: Budget | None) -> Release:
    """Running sums for a budget: Laplace noise for a pure one, Gaussian for the others.

    An outcome is in one Gaussian sum, so the exact curve of that noise is the whole cost: less
    noise for (ε, δ) than the way through zCDP would need.
    """
    if budget is None:
        return Exact()
    return RunningLaplace(budget.epsilon) if isinstance(budget, Pure) else RunningGaussian(budget)


@row("evidence-tt", Pure, ZCDP, Approximate, GaussianDP, reference="kaufmann2021")
def _evidence_tt(
    budget: Budget | None = None, xi: float = 0.0, effects: int = EFFECTS
) -> Identifier:
    """Evidence-TT"""
    return Identifier(
        "evidence-tt", MissingEvidence(), running(budget), EvidenceTopTwo(xi, effects),
        "kaufmann2021", stopping=EnoughEvidence(),
    )  # fmt: skip


@row("local-evidence-tt", Pure, reference="kaufmann2021")
def _local_evidence_tt(epsilon: float, xi: float = 0.0, effects: int = EFFECTS) -> Identifier:
    """Evidence-TT, local"""
    return Identifier(
        "local-evidence-tt", MissingEvidence(), LocalBernoulli(epsilon),
        EvidenceTopTwo(xi, effects), "kaufmann2021", stopping=EnoughEvidence(),
    )  # fmt: skip


@row("chernoff-tt", Pure, ZCDP, Approximate, GaussianDP, reference="jourdan2025")
def _chernoff_tt(budget: Budget | None = None, xi: float = 0.0, ratio: float = 1.5) -> Identifier:
    """Chernoff-TT"""
    return Identifier(
        "chernoff-tt", FixedBatches(ratio), running(budget), ChernoffTopTwo(xi), "jourdan2025",
        stopping=EnoughChernoff(),
    )  # fmt: skip


@row("race", Pure, reference="maron1994")
def _race(epsilon: float) -> Identifier:
    """Race"""
    return Identifier(
        "race", Looks(), RunningLaplace(epsilon), Racing(), "maron1994",
        stopping=RaceWon(), recommendation=BestActive(),
    )  # fmt: skip


def _fixed(name: str, budget: Budget | None, rule: Halving) -> Identifier:
    return Identifier(
        name, HalvingRounds(), running(budget), rule, "karnin2013",
        stopping=Halved(), recommendation=BestActive(),
    )  # fmt: skip


@row("halving", Pure, ZCDP, Approximate, GaussianDP, reference="karnin2013")
def _halving(budget: Budget | None = None, participants: int | None = None) -> Identifier:
    """Halving by thirds"""
    return _fixed("halving", budget, Halving(participants))


@row("classical-halving", Pure, ZCDP, Approximate, GaussianDP, reference="karnin2013")
def _classical(budget: Budget | None = None, participants: int | None = None) -> Identifier:
    """Sequential halving"""
    return _fixed("classical-halving", budget, Halving(participants, 2.0, 0.0))


@row("uniform", Pure, ZCDP, Approximate, GaussianDP, reference="karnin2013")
def _uniform(budget: Budget | None = None, participants: int | None = None) -> Identifier:
    """Equal shares"""
    return _fixed("uniform", budget, Halving(participants, math.inf, 0.0))
