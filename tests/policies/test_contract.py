"""The contract over the whole catalogue, composed rows, and rows that are broken on purpose.

"worth its budget" is the one statistical check: fixed seeds, below 1e-7 for one release and about
three releases a row, so below 1e-6 × (rows / 3) for a false alarm in all.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

import discreet
from discreet._compiled import Function, Kernel
from discreet.policies import (
    CATALOGUE,
    IMED,
    KLUCB,
    UCB1,
    AdaPKLUCB,
    AdaPUCB,
    Doubling,
    EachRound,
    Exact,
    ExactBits,
    ForgetLaplace,
    Geometric,
    LocalBernoulli,
    PerturbedLeader,
    Policy,
    RememberLaplace,
    Rule,
    RunningLaplace,
    Schedule,
    Tree,
)
from discreet.policies._view import View
from discreet.privacy._guarantees import Definition, Guarantee
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.testing import CHECKS, Case, at_huge_budget, check_policy

BUDGETS: dict[str, list[tuple[Budget, dict[str, Any]]]] = {
    "adac-ucb": [
        (ZCDP(0.5), {}),
        (Approximate(1.0, 1e-6), {}),
        (Approximate(1.0, 1e-6), {"calibration": "paper"}),
        (Renyi(3.0, 0.5), {}),
        (GaussianDP(0.7), {}),
    ],
    "dp-ftpl-new": [(Pure(1.0), {}), (Approximate(0.5, 0.01), {})],
}


def catalogue_rows() -> dict[str, Policy]:
    rows = {}
    for name, entry in CATALOGUE.items():
        if name not in BUDGETS:
            rows[name] = entry.example()
        for budget, options in BUDGETS.get(name, []):
            rows[f"{name} {budget} {options or ''}"] = entry.policy(budget, **options)
    return rows


CATALOGUE_ROWS = catalogue_rows()
COMPOSED = {
    row.name: row
    for row in (
        Policy("slow growth", Geometric(1.5), ForgetLaplace(0.5), AdaPKLUCB(1.0)),
        Policy("remember", Doubling(), RememberLaplace(2.0), AdaPUCB(1.0)),
        Policy("tree of batches", Doubling(), Tree(2.0), AdaPUCB(1.0)),
        Policy("local batches", Doubling(), LocalBernoulli(1.0), UCB1()),
        Policy("capped first batch", Geometric(2.0, 1000), Tree(1.0), AdaPUCB(1.0)),
    )
}
TWINS = {
    "adap-ucb": None,
    "dp-imed": Policy("twin", Geometric(2.0, 20), Exact(), IMED()),
    "dp-klucb": Policy("twin", Geometric(2.0, 20), Exact(), discreet.policies.DPKLUCB()),
    "laplace-imed": Policy("twin", Geometric(1.5, 40), Exact(), IMED()),
    "gauss-imed": Policy("twin", Geometric(1.5, 20), Exact(), IMED()),
    "dp-ucb": Policy("twin", EachRound(), Exact(), discreet.policies.DPUCB()),
}


@pytest.mark.parametrize("label", CATALOGUE_ROWS)
def test_every_row_of_the_catalogue_keeps_the_contract(label: str) -> None:
    row = CATALOGUE_ROWS[label]
    check_policy(row, horizon=1200, twin=TWINS.get(row.name))


@pytest.mark.parametrize("label", COMPOSED)
def test_composed_rows_keep_the_contract(label: str) -> None:
    check_policy(COMPOSED[label], arms=3, horizon=900)


def test_every_check_says_what_it_checks() -> None:
    import discreet.testing

    for name, check in CHECKS.items():
        assert check.__doc__
        assert f"**{name}**" in (discreet.testing.__doc__ or "")


# --- mutants: each breaks one clause ----------------------------------------------------------


@dataclass(frozen=True)
class RawFirst(ForgetLaplace):
    """The published slip: the first reward of an arm is released as it is."""

    publish: ClassVar[Function]


def publish_raw_first(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    scale = 0.0 if view.size[arm] == 0 else release.scale
    view.value[arm] = (total + noise(scale, rng)) / rounds
    view.size[arm] = rounds


def noise(scale: float, rng: Any) -> float:
    raise RuntimeError("filled in by a source")


RawFirst.publish = staticmethod(publish_raw_first)


@dataclass(frozen=True)
class RawForOneArm(ForgetLaplace):
    """Noise for all arms but the last."""

    publish: ClassVar[Function]


def publish_raw_last_arm(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    scale = 0.0 if arm == len(view.size) - 1 else release.scale
    view.value[arm] = (total + noise(scale, rng)) / rounds
    view.size[arm] = rounds


RawForOneArm.publish = staticmethod(publish_raw_last_arm)


@dataclass(frozen=True)
class HalfScale(ForgetLaplace):
    """Half the noise that ε needs."""

    def parameters(self, setting: Any) -> Any:
        whole: Any = super().parameters(setting)
        return whole._replace(scale=0.5 * whole.scale)


@dataclass(frozen=True)
class HalfScaleTree(Tree):
    """Half the node noise that ε needs."""

    def parameters(self, setting: Any) -> Any:
        whole = super().parameters(setting)
        return whole._replace(scale=whole.scale / whole.levels)


@dataclass(frozen=True)
class ForgotTheOthers(RememberLaplace):
    """Every reward in every later release, but paid for once."""

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return 1


@dataclass(frozen=True)
class ClaimsLess(ForgetLaplace):
    """Spends ε and claims half of it."""

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        return Guarantee(Pure(self.epsilon / 2.0), Definition.INTERACTIVE)


@dataclass(frozen=True)
class SpendsMore(ForgetLaplace):
    """Asked for ε, spends twice as much, and says so."""

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        return Guarantee(Pure(self.epsilon * 2.0), Definition.INTERACTIVE)


@dataclass(frozen=True)
class WorseWithTime(ForgetLaplace):
    """Keeps its budget at the nominal horizon only."""

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return 2 if horizon > 10**6 else 1

    def scale(self, schedule: Schedule, horizon: int | None, source: Any) -> float:
        return float(source.laplace_scale(self.epsilon))


@dataclass(frozen=True)
class PromisesNothing(ForgetLaplace):
    """Was given a budget and forgot to say so."""

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        return Guarantee.none()


@dataclass(frozen=True)
class HonestBit(LocalBernoulli):
    """Leans towards the reward twice as much as ε allows."""

    def parameters(self, setting: Any) -> Any:
        whole = super().parameters(setting)
        return whole._replace(epsilon=2.0 * whole.epsilon)


@dataclass(frozen=True)
class CalmLeader(PerturbedLeader):
    """Draws the noise of three times its ε."""

    def parameters(self, setting: Any) -> Any:
        whole = super().parameters(setting)
        return whole._replace(epsilon=3.0 * whole.epsilon)


@dataclass(frozen=True)
class CountsTooMuch(ForgetLaplace):
    """Counts the pulls of a batch, which the loop does already."""

    publish: ClassVar[Function]


def publish_and_count(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    view.value[arm] = (total + noise(release.scale, rng)) / rounds
    view.size[arm] = rounds
    view.pulls[arm] += rounds


CountsTooMuch.publish = staticmethod(publish_and_count)


def choose_at_whim(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
    return int(random.random() * len(view.size))


@dataclass(frozen=True)
class Whim(Rule):
    """Draws from the global generator."""

    name: ClassVar[str] = "whim"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_at_whim)


def choose_too_far(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    return len(view.size) if t > 100 else t % len(view.size)


@dataclass(frozen=True)
class TooFar(Rule):
    """Names an arm that does not exist."""

    name: ClassVar[str] = "too far"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_too_far)


def choose_and_scribble(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    arm = t % len(view.size)
    view.value[arm] = 0.0
    return arm


@dataclass(frozen=True)
class Scribbler(Rule):
    """Writes into the view."""

    name: ClassVar[str] = "scribbler"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_and_scribble)


def stand_still(schedule: Any, memory: Any, view: View, arm: int) -> int:
    return 0 if view.pulls[arm] > 0 else 1


@dataclass(frozen=True)
class StandStill(Schedule):
    """Plays no round."""

    name: ClassVar[str] = "stand still"
    length: ClassVar[Function] = staticmethod(stand_still)


class Wordless(UCB1):
    pass


Wordless.__doc__ = None

MUTANTS = {
    "first reward raw": (Doubling(), RawFirst(1.0), UCB1(), "noisy first reward"),
    "last arm raw": (Doubling(), RawForOneArm(1.0), UCB1(), "noisy first reward"),
    "half the noise": (Doubling(), HalfScale(1.0), UCB1(), "worth its budget"),
    "half the noise, small ε": (Doubling(), HalfScale(0.2), UCB1(), "worth its budget"),
    "half the noise, large ε": (Doubling(), HalfScale(4.0), UCB1(), "worth its budget"),
    "tree without its height": (EachRound(), HalfScaleTree(1.0), UCB1(), "worth its budget"),
    "remembers for free": (Doubling(), ForgotTheOthers(1.0), UCB1(), "worth its budget"),
    "claims less": (Doubling(), ClaimsLess(1.0), UCB1(), "worth its budget"),
    "spends more": (Doubling(), SpendsMore(1.0), UCB1(), "guarantee"),
    "worse with time": (Doubling(), WorseWithTime(1.0), UCB1(), "guarantee"),
    "promises nothing": (Doubling(), PromisesNothing(1.0), UCB1(), "guarantee"),
    "honest bit": (EachRound(), HonestBit(1.0), UCB1(), "worth its budget"),
    "calm leader": (EachRound(), ExactBits(), CalmLeader(Pure(1.0)), "worth its budget"),
    "counts pulls twice": (Doubling(), CountsTooMuch(1.0), UCB1(), "steps"),
    "global randomness": (EachRound(), Exact(), Whim(), "compiled"),
    "no such arm": (EachRound(), Exact(), TooFar(), "steps"),
    "writes into the view": (EachRound(), Exact(), Scribbler(), "steps"),
    "plays no round": (StandStill(), Exact(), UCB1(), "steps"),
    "no docstring": (EachRound(), Exact(), Wordless(), "documented"),
}


@pytest.mark.parametrize("label", MUTANTS)
def test_a_broken_row_breaks_the_contract(label: str) -> None:
    schedule, release, rule, clause = MUTANTS[label]
    row = Policy("mutant", schedule, release, rule)
    with pytest.raises(AssertionError, match=f"mutant breaks the contract at '{clause}': ."):
        check_policy(row, arms=3, horizon=400)


def test_global_randomness_is_caught_under_a_seed_too() -> None:
    row = Policy("whim", EachRound(), Exact(), Whim())
    with pytest.raises(AssertionError, match="one seed gave two results"):
        CHECKS["seeded"](row, Case(3, 400))


def test_a_reference_must_exist() -> None:
    row = replace(discreet.policy("ucb1"), reference="nobody1900")
    with pytest.raises(AssertionError, match="nobody1900"):
        check_policy(row)
    row = replace(discreet.policy("ucb1"), reference="")
    with pytest.raises(AssertionError, match="must name its reference"):
        check_policy(row)


def test_a_wrong_twin_is_noticed() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    twin = Policy("greedy twin", Geometric(2.0, 20), Exact(), KLUCB())
    with pytest.raises(AssertionError, match="its twin greedy twin"):
        CHECKS["twin"](row, Case(4, 1200, twin))


def test_a_huge_budget_keeps_everything_else() -> None:
    row = discreet.policy("dp-klucb", epsilon=0.5, ratio=1.5)
    rich = at_huge_budget(row)
    assert rich.schedule == row.schedule
    assert rich.rule == row.rule
    assert rich.release == RunningLaplace(1e12)
    for budget in (ZCDP(1.0), Approximate(1.0, 1e-6), Renyi(2.0, 1.0), GaussianDP(1.0)):
        rich = at_huge_budget(discreet.policy("adac-ucb", budget=budget))
        assert type(rich.release.budget) is type(budget)
        assert math.isfinite(rich.setting(2, 100).release.parameters(rich.setting(2, 100))[0])
    with pytest.raises(AssertionError, match="could be raised"):
        at_huge_budget(discreet.policy("ucb1"))


def test_a_policy_is_needed() -> None:
    with pytest.raises(AssertionError, match="takes a Policy"):
        check_policy("ucb1")  # type: ignore[arg-type]
