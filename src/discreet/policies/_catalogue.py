"""The catalogue: every published policy as one row of one table.

>>> import discreet
>>> row = discreet.policy("adap-klucb", epsilon=1.0)
>>> print(row)
adap-klucb = doubling × forget + Laplace × KL-UCB index, lifted

A row is a short function from a budget and options to a schedule, a release and a rule. To add
one, write the function and decorate it: name, kinds of budget, reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeGuard

from .._checks import one_of
from ..privacy.budgets import (
    ZCDP,
    Approximate,
    Budget,
    GaussianDP,
    Pure,
    Renyi,
)
from ._adac import AdaCUCB
from ._adap import AdaPKLUCB, AdaPUCB
from ._elimination import LeadElimination, SuccessiveElimination
from ._exploration import PUBLISHED_ALPHA
from ._imed import IMED
from ._interval import release_interval
from ._klucb import KLUCB
from ._local import LDPUCBL
from ._moving import XI, Discounting, Exp3, SlidingWindow, Watching, moving_batch
from ._noisy_imed import NoisyIMED, first_gaussian_batch, first_laplace_batch
from ._perturbed import BetaLeader, ExactBits, GaussianLeader, PerturbedLeader
from ._policy import Policy
from ._private_kl import DPIMED, DPKLUCB, first_batch
from ._private_thompson import GapThenTree, PrivateThompson
from ._registry import ARGUMENTS, EXAMPLES, PolicyEntry
from ._rules import Rule
from ._schedules import Doubling, EachRound, Geometric, Phases, Regular, Schedule
from ._thompson import HybridThompson, LazyThompson, Thompson
from ._tree_ucb import DPUCB, DPUCBBound, ExperimentalUCB, IntervalUCB, PrivateUCB
from ._tsallis import Tsallis, loss_batch
from ._ucb import UCB1
from .releases import (
    DividedTree,
    Exact,
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
    Hybrid,
    IdleHybrid,
    LocalBernoulli,
    LocalLaplace,
    Release,
    RunningGaussian,
    RunningLaplace,
    ShrinkingLaplace,
    SquashedBernoulli,
    SquashedLaplace,
    Tree,
)

Parts = tuple[Schedule, Release, Rule]

__all__ = [
    "ARGUMENTS",
    "CATALOGUE",
    "EXAMPLES",
    "Parts",
    "Row",
    "has_delta",
    "one_of",
    "policy",
    "policy_from_recipe",
    "row",
    "serving",
]


class Row(PolicyEntry[Policy]):
    """A line of the catalogue."""

    kind: ClassVar[str] = "finite"
    catalogue: ClassVar[dict[str, Row]] = {}

    def composed(self, parts: Parts, recipe: dict[str, object]) -> Policy:
        return Policy(self.name, *parts, reference=self.reference, recipe=recipe)


CATALOGUE = Row.catalogue
"""All rows by name, in the order of the table."""
row, serving = Row.enter, Row.serving


def policy(name: str, *, budget: Budget | None = None, **options: object) -> Policy:
    """A published finite-armed policy by name; `discreet.policy` knows all kinds.

    >>> policy("adac-ucb", rho=0.1, alpha=1.0).guarantee.budget
    ZCDP(rho=0.1)
    """
    return Row.named(name).asked(budget=budget, **options)


def has_delta(budget: Budget) -> TypeGuard[Approximate]:
    """Whether a budget has a δ above 0."""
    return isinstance(budget, Approximate) and budget.delta > 0.0


def policy_from_recipe(recipe: Mapping[str, object]) -> Policy:
    """The policy that a saved recipe names."""
    return Row.from_recipe(recipe)


@row("ucb1", reference="auer2002")
def _ucb1() -> Parts:
    """UCB1"""
    return EachRound(), Exact(), UCB1()


@row("kl-ucb", reference="garivier2011")
def _kl_ucb() -> Parts:
    """KL-UCB"""
    return EachRound(), Exact(), KLUCB()


@row("imed", reference="honda2015")
def _imed() -> Parts:
    """IMED"""
    return EachRound(), Exact(), IMED()


@row("thompson", reference="thompson1933")
def _thompson() -> Parts:
    """Thompson sampling"""
    return EachRound(), Exact(), Thompson()


@row("episodic-ucb", reference="azize2022")
def _episodic_ucb(alpha: float = PUBLISHED_ALPHA) -> Parts:
    """Episodic UCB"""
    return Doubling(), ForgetExact(), AdaPUCB(alpha)


@row("adap-ucb", Pure, reference="azize2022", twin="ucb1", offered=({"alpha": 1.0},))
def _adap_ucb(budget: Pure, alpha: float = PUBLISHED_ALPHA) -> Parts:
    """AdaP-UCB"""
    return Doubling(), ForgetLaplace(budget.epsilon), AdaPUCB(alpha)


@row("adap-klucb", Pure, reference="azize2022", twin="kl-ucb", offered=({"alpha": 1.0},))
def _adap_klucb(budget: Pure, alpha: float = PUBLISHED_ALPHA) -> Parts:
    """AdaP-KLUCB"""
    return Doubling(), ForgetLaplace(budget.epsilon), AdaPKLUCB(alpha)


@row(
    "adac-ucb", ZCDP, Approximate, Renyi, GaussianDP, reference="azize2024", twin="ucb1",
    offered=({"alpha": 1.0},),
)  # fmt: skip
def _adac_ucb(budget: Budget, alpha: float = PUBLISHED_ALPHA, calibration: str = "exact") -> Parts:
    """AdaC-UCB"""
    return Doubling(), ForgetGaussian(budget, calibration), AdaCUCB(alpha)


@row("dp-klucb", Pure, reference="azize2025", twin="kl-ucb", offered=({"ratio": 1.5},))
def _dp_klucb(budget: Pure, ratio: float = 2.0, first: int | None = None) -> Parts:
    """DP-KLUCB"""
    schedule = Geometric(ratio, first_batch(budget.epsilon) if first is None else first)
    return schedule, RunningLaplace(budget.epsilon), DPKLUCB()


@row("dp-imed", Pure, reference="azize2025", twin="imed", offered=({"ratio": 1.5}, {"ratio": 1.25}))
def _dp_imed(
    budget: Pure, ratio: float = 2.0, first: int | None = None, portion: int = 10
) -> Parts:
    """DP-IMED"""
    batch = first_batch(budget.epsilon) if first is None else first
    schedule = Geometric(ratio, batch, portion)
    return schedule, RunningLaplace(budget.epsilon), DPIMED()


@row("laplace-imed", Pure, reference="azize2025", twin="imed", offered=({"caution": 0.5},))
def _laplace_imed(
    budget: Pure, ratio: float = 1.5, first: int | None = None, caution: float = 0.0
) -> Parts:
    """Laplace-IMED"""
    batch = first_laplace_batch(budget.epsilon) if first is None else first
    return Geometric(ratio, batch), RunningLaplace(budget.epsilon), NoisyIMED(caution)


@row(
    "gauss-imed", ZCDP, GaussianDP, Renyi, Approximate, reference="azize2025", twin="imed",
    offered=({"caution": 0.5},),
)  # fmt: skip
def _gauss_imed(
    budget: Budget, ratio: float = 1.5, first: int | None = None, caution: float = 0.0,
    calibration: str = "exact",
) -> Parts:  # fmt: skip
    """Gauss-IMED"""
    batch = first_gaussian_batch(budget, calibration) if first is None else first
    return Geometric(ratio, batch), RunningGaussian(budget, calibration), NoisyIMED(caution)


@row("dp-ucb", Pure, reference="tossou2016", twin="ucb1")
def _dp_ucb(budget: Pure, power: float = 4.0) -> Parts:
    """DP-UCB with trees"""
    return EachRound(), Tree(budget.epsilon), DPUCB(power)


@row("dp-ucb-td", Pure, reference="tossou2016", twin="ucb1")
def _dp_ucb_td(budget: Pure) -> Parts:
    """DP-UCB with hybrid counters"""
    return EachRound(), IdleHybrid(budget.epsilon), UCB1()


@row("dp-ucb-bound", Pure, reference="tossou2016", twin="ucb1")
def _dp_ucb_bound(budget: Pure) -> Parts:
    """DP-UCB-BOUND"""
    return EachRound(), Hybrid(budget.epsilon), DPUCBBound()


@row("dp-ucb-int", Approximate, ZCDP, reference="tossou2016", twin="ucb1")
def _dp_ucb_int(budget: Budget, v: float = 1.1, calibration: str = "exact") -> Parts:
    """DP-UCB-INT"""
    release = ShrinkingLaplace(v, budget)
    return Regular(release_interval(budget, v, calibration)), release, IntervalUCB()


@row("private-ucb", Pure, reference="mishra2015", twin="ucb1", offered=({"width": "experiment"},))
def _private_ucb(
    budget: Pure, gamma: float = 0.1, calibration: str = "tight", width: str = "theory"
) -> Parts:
    """Private UCB"""
    divided = one_of("calibration", calibration, "tight", "paper") == "paper"
    release = DividedTree(budget.epsilon) if divided else Tree(budget.epsilon)
    if one_of("width", width, "theory", "experiment") == "experiment":
        return EachRound(), release, ExperimentalUCB()
    return EachRound(), release, PrivateUCB(gamma, divided)


@row("ldp-ucb-b", Pure, reference="ren2020", twin="ucb1")
def _ldp_ucb_b(budget: Pure) -> Parts:
    """LDP-UCB-B"""
    return EachRound(), LocalBernoulli(budget.epsilon), UCB1()


@row("ldp-ucb-l", Pure, reference="ren2020", twin="ucb1")
def _ldp_ucb_l(budget: Pure) -> Parts:
    """LDP-UCB-L"""
    return EachRound(), LocalLaplace(budget.epsilon), LDPUCBL()


@row("ldp-ucb-bs", Pure, reference="ren2020", twin="ucb1")
def _ldp_ucb_bs(budget: Pure) -> Parts:
    """LDP-UCB-BS"""
    return EachRound(), SquashedBernoulli(budget.epsilon), UCB1()


@row("ldp-ucb-ls", Pure, reference="ren2020", twin="ucb1")
def _ldp_ucb_ls(budget: Pure) -> Parts:
    """LDP-UCB-LS"""
    return EachRound(), SquashedLaplace(budget.epsilon), LDPUCBL()


@row("lazy-dp-ts", Pure, reference="hu2022", twin="thompson")
def _lazy_dp_ts(budget: Pure) -> Parts:
    """Lazy-DP-TS"""
    return EachRound(), FillingLaplace(budget.epsilon), LazyThompson()


@row("dp-ts", Pure, reference="hu2022", twin="thompson")
def _dp_ts(budget: Pure) -> Parts:
    """DP-TS"""
    return EachRound(), Hybrid(budget.epsilon), HybridThompson()


@row("private-thompson", Pure, reference="mishra2015", twin="thompson")
def _private_thompson(
    budget: Pure,
    gap_estimation: bool = True,
    fill: int | None = None,
    calibration: str = "tight",
) -> Parts:
    """Private Thompson sampling"""
    divided = one_of("calibration", calibration, "tight", "paper") == "paper"
    release = GapThenTree(budget.epsilon, gap_estimation, divided)
    return Phases(), release, PrivateThompson(gap_estimation, fill, divided)


@row("dp-se", Pure, reference="sajed2019")
def _dp_se(budget: Pure, beta: float | None = None) -> Parts:
    """DP-SE"""
    return Phases(), ForgetLaplace(budget.epsilon), SuccessiveElimination(beta)


@row("gdp-elim-new", Approximate, Pure, reference="wang2024")
def _gdp_elim_new(budget: Budget) -> Parts:
    """GDP-Elim-New"""
    halved = Approximate(budget.epsilon, budget.delta / 2) if has_delta(budget) else budget
    return Phases(), ForgetTruncated(halved), LeadElimination(budget)


@row("dp-ftpl-gauss", Approximate, reference="wang2024")
def _dp_ftpl_gauss(budget: Approximate, calibration: str = "exact") -> Parts:
    """DP-FTPL-Gauss"""
    return EachRound(), ExactBits(), GaussianLeader(budget, calibration)


@row("dp-ftpl-beta", Approximate, reference="wang2024")
def _dp_ftpl_beta(budget: Approximate, calibration: str = "exact") -> Parts:
    """DP-FTPL-Beta"""
    return EachRound(), ExactBits(), BetaLeader(budget, calibration)


@row("dp-ftpl-new", Pure, Approximate, reference="wang2024")
def _dp_ftpl_new(budget: Budget) -> Parts:
    """DP-FTPL-New"""
    return EachRound(), ExactBits(), PerturbedLeader(budget)


@row("dp-tsallis", Pure, reference="asi2025")
def _dp_tsallis(budget: Pure) -> Parts:
    """DP-Tsallis"""
    return Regular(loss_batch(budget.epsilon)), ForgetLaplace(budget.epsilon), Tsallis()


@row("exp3", reference="bubeck2012")
def _exp3() -> Parts:
    """Exp3"""
    return EachRound(), ForgetExact(), Exp3()


@row("sw-ucb", reference="garivier2008")
def _sw_ucb(window: int = 1000, xi: float = XI) -> Parts:
    """SW-UCB: a sliding window"""
    return EachRound(), ForgetExact(), SlidingWindow(window, xi)


@row("d-ucb", reference="garivier2008")
def _d_ucb(discount: float = 0.999, xi: float = XI) -> Parts:
    """D-UCB: a discount"""
    return EachRound(), ForgetExact(), Discounting(discount, xi)


@row("m-ucb", reference="cao2019")
def _m_ucb(window: int = 400, share: float = 0.03, alarm: float = 0.05) -> Parts:
    """M-UCB: an alarm"""
    return EachRound(), ForgetExact(), Watching(window, share, alarm)


@row("dp-sw-ucb", Pure, reference="garivier2008", twin="sw-ucb")
def _dp_sw_ucb(budget: Pure, window: int = 4000, xi: float = XI, every: int | None = None) -> Parts:
    """Private SW-UCB"""
    batch = moving_batch(budget.epsilon) if every is None else every
    return Regular(batch), ForgetLaplace(budget.epsilon), SlidingWindow(window, xi)


@row("dp-d-ucb", Pure, reference="garivier2008", twin="d-ucb")
def _dp_d_ucb(
    budget: Pure, discount: float = 0.9995, xi: float = XI / 4.0, every: int | None = None
) -> Parts:
    """Private D-UCB"""
    batch = moving_batch(budget.epsilon) if every is None else every
    return Regular(batch), ForgetLaplace(budget.epsilon), Discounting(discount, xi)


@row("dp-m-ucb", Pure, reference="cao2019", twin="m-ucb")
def _dp_m_ucb(
    budget: Pure, window: int = 2000, share: float = 0.03, alarm: float = 0.05,
    every: int | None = None,
) -> Parts:  # fmt: skip
    """Private M-UCB"""
    batch = moving_batch(budget.epsilon) if every is None else every
    return Regular(batch), ForgetLaplace(budget.epsilon), Watching(window, share, alarm)
