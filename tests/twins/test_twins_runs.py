"""Whole runs against the naive twins, decision by decision.

The rewards are a fixed table, so all randomness of a run is its noise, which the twin draws from
the same generator in the same order. Runs are interpreted: that compiled ones are the same, round
by round, is a clause of the contract that every row passes.

A run is followed with a generator that draws Beta laws as quantiles (`naive_leaders.Coupled`), so
that draws which the package skips can be made up for.

Tables: "smooth" has no ties; "bits" has many; "edges" has an arm that never pays and one that
always does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import naive_policies as naive
import numpy as np
import pytest
from naive_formulas import gaussian_variance, release_interval, zcdp_epsilon
from naive_leaders import Coupled
from naive_twin import Mismatch, Twin, replay

import discreet
from discreet.policies import CATALOGUE, AsymptoticUCB, EachRound, Exact
from discreet.policies._policy import Policy
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.testing import Walk

ARMS = 4


@dataclass(frozen=True)
class Case:
    """A row, its budget and options, and what its twin is told of them."""

    name: str
    budget: Budget | None = None
    options: dict[str, Any] = field(default_factory=dict)
    twin: dict[str, Any] = field(default_factory=dict)
    horizon: int = 500
    means: tuple[float, ...] = (0.35, 0.8, 0.6, 0.7)

    def policy(self) -> Policy:
        return CATALOGUE[self.name].policy(self.budget, **self.options)

    def naive(self, rng: Any, horizon: int, **changes: Any) -> Twin:
        return naive.TWINS[self.name](ARMS, horizon, rng, **(self.twin | changes))


def pure(name: str, epsilon: float, horizon: int = 500, **options: Any) -> Case:
    return Case(name, Pure(epsilon), options, {"epsilon": epsilon, **options}, horizon)


def approximate(name: str, epsilon: float, delta: float, **changes: Any) -> Case:
    known = {"epsilon": epsilon, "delta": delta}
    return Case(name, Approximate(epsilon, delta), twin=known, **changes)


def interval(budget: Budget, every: int, v: float = 1.1, **options: Any) -> Case:
    return Case("dp-ucb-int", budget, {"v": v, **options}, {"every": every, "v": v}, 1500)


CLEAR = (0.3, 0.95, 0.4, 0.6)
"""A gap of 0.35 ends phases early."""


def adac(budget: Budget, variance: float, **options: Any) -> Case:
    known = {key: value for key, value in options.items() if key != "calibration"}
    return Case("adac-ucb", budget, options, {"variance": variance, **known}, 3000)


def gauss(budget: Budget, variance: float, **options: Any) -> Case:
    known = {"variance": variance, "first": math.ceil(20.0 * math.sqrt(variance)), **options}
    return Case("gauss-imed", budget, options, known, 3000)


CASES = {
    "ucb1": Case("ucb1", horizon=1500),
    "kl-ucb": Case("kl-ucb", horizon=1500),
    "imed": Case("imed", horizon=1500),
    "episodic-ucb": Case("episodic-ucb", horizon=3000),
    "adap-ucb": pure("adap-ucb", 1.0, 3000),
    "adap-ucb α = 1": pure("adap-ucb", 0.3, 3000, alpha=1.0),
    "adap-klucb": pure("adap-klucb", 1.0, 3000),
    "adap-klucb α = 1": pure("adap-klucb", 4.0, 3000, alpha=1.0),
    "adac-ucb zCDP": adac(ZCDP(0.1), 1.0 / 0.2),
    "adac-ucb Rényi": adac(Renyi(3.0, 0.5), 3.0 / (2 * 0.5), alpha=1.0),
    "adac-ucb Gaussian": adac(GaussianDP(0.5), 1.0 / 0.5**2, alpha=1.0),
    "adac-ucb paper": adac(
        Approximate(0.5, 1e-4), 2.0 / 0.5**2 * math.log(1.25 / 1e-4), calibration="paper", alpha=0.5
    ),
    "adac-ucb exact": adac(Approximate(2.0, 1e-5), gaussian_variance(2.0, 1e-5), alpha=1.0),
    "dp-klucb": pure("dp-klucb", 1.0, 3000),
    "dp-klucb r = 1.5": pure("dp-klucb", 0.2, 3000, ratio=1.5, first=7),
    "dp-imed": pure("dp-imed", 1.0, 3000),
    "dp-imed r = 1.5": pure("dp-imed", 0.2, 3000, ratio=1.5, first=7),
    "laplace-imed": pure("laplace-imed", 1.0, 3000),
    "laplace-imed r = 2": pure("laplace-imed", 0.2, 3000, ratio=2.0, first=7),
    "laplace-imed c = 0.5": pure("laplace-imed", 1.0, 3000, caution=0.5),
    "gauss-imed c = 0.5": gauss(GaussianDP(0.5), 4.0, caution=0.5),
    "gauss-imed": gauss(GaussianDP(1.0), 1.0),
    "gauss-imed zCDP": gauss(ZCDP(0.08), 1.0 / 0.16, ratio=2.0, first=5),
    "gauss-imed Rényi": gauss(Renyi(4.0, 0.5), 4.0),
    "dp-ucb": pure("dp-ucb", 50.0, 1200),
    "dp-ucb ε = 1": pure("dp-ucb", 1.0, 700),
    "dp-ucb-td": pure("dp-ucb-td", 5.0, 700),
    "dp-ucb-bound": pure("dp-ucb-bound", 20.0, 700),
    "private-ucb": pure("private-ucb", 500.0, 700),
    "private-ucb paper": Case(
        "private-ucb", Pure(500.0), {"calibration": "paper"}, {"epsilon": 500.0, "divided": True}
    ),
    "private-ucb experiment": Case(
        "private-ucb", Pure(5.0), {"width": "experiment"}, {"epsilon": 5.0, "experiment": True}
    ),
    "ldp-ucb-bs": pure("ldp-ucb-bs", 1.0, 700),
    "ldp-ucb-ls": pure("ldp-ucb-ls", 3.0, 1200),
    "ldp-ucb-b": pure("ldp-ucb-b", 1.0, 700),
    "ldp-ucb-l": pure("ldp-ucb-l", 3.0, 1200),
    "dp-se": pure("dp-se", 1.0, 40_000),
    "dp-se β": pure("dp-se", 0.02, 60_000, beta=0.05),
    "dp-ftpl-new": pure("dp-ftpl-new", 1.0),
    "dp-ftpl-new δ": approximate("dp-ftpl-new", 0.5, 0.01),
    "dp-ftpl-gauss": approximate("dp-ftpl-gauss", 0.1, 0.01, horizon=700),
    "dp-ftpl-gauss ε = 0": approximate("dp-ftpl-gauss", 0.0, 0.1),
    "dp-ftpl-beta": approximate("dp-ftpl-beta", 1.0, 0.1, horizon=900),
    "dp-ftpl-beta ε = 3": approximate("dp-ftpl-beta", 3.0, 0.01, horizon=700),
    "dp-ucb-int zCDP": interval(ZCDP(0.5), release_interval(1.1, lambda rho: rho <= 0.5)),
    "dp-ucb-int exact": interval(
        Approximate(1.0, 1e-3),
        release_interval(1.5, lambda rho: zcdp_epsilon(rho, 1e-3) <= 1.0),
        v=1.5,
    ),
    "dp-ucb-int paper": interval(Approximate(0.3, 0.01), 4, calibration="paper"),
    "thompson": Case("thompson", horizon=1000),
    "lazy-dp-ts": pure("lazy-dp-ts", 1.0, 1000),
    "dp-ts": pure("dp-ts", 20.0, 1000),
    "private-thompson": replace(pure("private-thompson", 1000.0, 12_600), means=CLEAR),
    "private-thompson fill": pure("private-thompson", 30.0, 700, gap_estimation=False, fill=37),
    "private-thompson paper": Case(
        "private-thompson",
        Pure(500.0),
        {"calibration": "paper", "fill": 13},
        {"epsilon": 500.0, "divided": True, "fill": 13},
        2500,
        CLEAR,
    ),
    "gdp-elim-new": approximate("gdp-elim-new", 1.0, 0.01, horizon=30_000, means=CLEAR),
    "gdp-elim-new δ = 0": pure("gdp-elim-new", 0.1, 30_000),
    "dp-tsallis": pure("dp-tsallis", 1.0),
    "dp-tsallis ε = 0.3": pure("dp-tsallis", 0.3, 2000),
    "exp3": Case("exp3", horizon=300),
    "sw-ucb": Case("sw-ucb", None, {"window": 60}, {"window": 60}, 400),
    "d-ucb": Case("d-ucb", None, {"discount": 0.98}, {"discount": 0.98}, 400),
    "m-ucb": Case("m-ucb", None, {"window": 41}, {"window": 41}, 400),
    "dp-sw-ucb": pure("dp-sw-ucb", 1.0, 2500, window=505),
    "dp-sw-ucb every": pure("dp-sw-ucb", 2.0, 800, window=200, xi=0.2, every=3),
    "dp-d-ucb": pure("dp-d-ucb", 1.0, 2500),
    "dp-d-ucb γ": pure("dp-d-ucb", 3.0, 800, discount=0.98, xi=0.6),
    "dp-m-ucb": pure("dp-m-ucb", 1.0, 2500),
    "dp-m-ucb share": pure("dp-m-ucb", 2.0, 1500, window=300, share=0.2, alarm=0.5),
}


def reward_table(kind: str, horizon: int, seed: int, means: Any = Case.means) -> Any:
    rng = np.random.default_rng([2026, seed, horizon])
    if kind == "smooth":
        noise = 0.2 * rng.standard_normal((horizon, ARMS))
        return np.clip(np.array(means) + noise, 0.0, 1.0)
    bits = (rng.random((horizon, ARMS)) < np.array(means)).astype(float)
    if kind == "edges":
        bits[:, 0], bits[:, 2] = 0.0, 1.0
    return bits


def run_arms(policy: Policy, table: Any, run: int, seed: int, compiled: bool = False) -> Any:
    """The arm of every round of one run."""
    return walk(policy, table, run, seed, compiled).played()


def walk(policy: Policy, table: Any, run: int, seed: int, compiled: bool = False) -> Walk:
    environment = discreet.RewardTable(table)
    found = Walk(policy, environment, len(table), seed=seed, number=run, compiled=compiled)
    if not compiled:
        coupled: Any = Coupled(found.rng)
        found.rng = coupled
    return found


def check(case: Case, kind: str, run: int, **changes: Any) -> int:
    """Every choice of a run, and the means that it has released in the end, are the twin's."""
    table = reward_table(kind, case.horizon, run, case.means)
    course = walk(case.policy(), table, run, seed=11)
    twin = case.naive(generator(11, run), case.horizon, **changes)
    ties = replay(twin, table, course.played())
    if not np.allclose(course.view.value, twin.mean, rtol=1e-9, atol=1e-9):
        raise Mismatch(f"the means {twin.mean} are not those released: {course.view.value}")
    return ties


def generator(seed: int, run: int) -> Any:
    """The documented generator of run i: the i-th child of one SeedSequence."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed).spawn(run + 1)[run]))


def test_a_walk_is_the_run_of_a_simulation() -> None:
    """So that what is compared here is what `simulate` computes."""
    policy, table = CASES["adap-klucb"].policy(), reward_table("bits", 300, 1)
    result = discreet.simulate(
        policy, discreet.RewardTable(table), horizon=300, runs=3, seed=11, points=4000
    )
    assert (result.t == np.arange(1, 301)).all()
    for run in range(3):
        steps = np.diff(result.pulls[run], axis=0, prepend=np.zeros((1, ARMS), np.int64))
        for compiled in (False, True):
            arms = run_arms(policy, table, run, seed=11, compiled=compiled)
            assert (steps.argmax(axis=1) == arms).all()


def test_every_row_of_the_catalogue_has_a_twin() -> None:
    assert set(CATALOGUE) == set(naive.TWINS) == {case.name for case in CASES.values()}


def test_kl_ucb_when_there_is_little_to_go_by() -> None:
    """Many short runs: with few rewards a ceiling holds for long, so a stale one would show."""
    policy = discreet.policy("kl-ucb")
    for number in range(150):
        table = reward_table("bits", 60, 1000 + number)
        replay(naive.KLUCB(ARMS, 60, None), table, run_arms(policy, table, 0, seed=1))


@pytest.mark.parametrize("kind", ["smooth", "bits", "edges"])
@pytest.mark.parametrize("label", CASES)
def test_a_run_makes_the_choices_of_its_twin(label: str, kind: str) -> None:
    case = CASES[label]
    for run in range(2 if kind == "smooth" and case.horizon < 10_000 else 1):
        ties = check(case, kind, run)
        # clipped means and KL indices may both be 1, and bits have equal means: no others tie,
        # but for single rewards, clipped to 1 as well, by which sw-ucb and m-ucb compare arms
        few = case.name in ("sw-ucb", "m-ucb")
        clipped = few or any(part in case.name for part in ("kl", "imed", "ldp-ucb-b"))
        if kind == "smooth" and not clipped:
            assert ties == 0


FEW = {"episodic-ucb", "dp-se", "dp-se β", "gdp-elim-new", "gdp-elim-new δ = 0", "private-thompson"}


@pytest.mark.parametrize("change", [{"tilt": 1.04}, {"noise_tilt": 1.1}])
@pytest.mark.parametrize("label", CASES)
def test_a_wrong_constant_would_be_noticed(label: str, change: dict[str, float]) -> None:
    """The comparison has teeth: a twin that explores 4 % more, or is 10 % noisier, disagrees."""
    case = CASES[label]
    if case.budget is None and "noise_tilt" in change:
        pytest.skip("no noise")
    if "tilt" in change and label in FEW:
        pytest.skip("few decisions: its formulas are compared one by one")
    runs = (
        25
        if case.name.startswith(("ada", "dp-imed", "dp-klucb", "gauss", "laplace", "dp-ucb-int"))
        else 2
    )
    for run in range(runs):
        try:
            check(case, "smooth", run, **change)
        except Mismatch:
            return
    pytest.fail(f"{runs} runs agree with a twin that has {change}")


@pytest.mark.parametrize("name", ["ucb1", "kl-ucb", "imed"])
def test_the_first_of_equal_arms_wins(name: str) -> None:
    """All rewards are 1/2: means are exact, so equal indices are equal to the last bit."""
    table = np.full((400, ARMS), 0.5)
    arms = run_arms(discreet.policy(name), table, 0, seed=1)
    counts = [0] * ARMS
    for arm in arms:
        assert arm == counts.index(min(counts))  # the first of those that were played least
        counts[arm] += 1


def test_asymptotic_ucb_makes_the_choices_of_its_twin() -> None:
    policy = Policy("asymptotic", EachRound(), Exact(), AsymptoticUCB(0.4))
    table = reward_table("smooth", 1000, 9)
    arms = run_arms(policy, table, 0, seed=1)
    twin = naive.AsymptoticUCB(ARMS, 1000, None, sigma=0.4)
    assert replay(twin, table, arms) == 0


SILENT = {"epsilon": 1e12, "noise_tilt": 0.0}
"""Noise is drawn, since other draws follow, but not added."""
INFINITE: dict[str, dict[str, Any]] = {
    "adap-ucb": {},
    "adap-klucb": {},
    "adac-ucb": {"variance": 0.0},
    "dp-klucb": {"first": 20},
    "dp-imed": {"first": 20},
    "gauss-imed": {"variance": 0.0, "first": 20},
    "laplace-imed": {"first": 20},
    "dp-ucb": {},
    "dp-ucb-td": {},
    "dp-ucb-bound": {},
    "private-ucb": {},
    "ldp-ucb-b": {},
    "ldp-ucb-l": {},
    "ldp-ucb-bs": {},
    "ldp-ucb-ls": {},
    "dp-se": {},
    "dp-ftpl-new": {},
    "lazy-dp-ts": SILENT,
    "dp-ts": SILENT,
    "private-thompson": SILENT,
    "gdp-elim-new": {},
    "dp-ucb-int": {"every": 1},
    "dp-ftpl-gauss": {},
    "dp-ftpl-beta": {},
    "dp-tsallis": SILENT,
    "dp-sw-ucb": {},
    "dp-d-ucb": {},
    "dp-m-ucb": {},
}


DRAWS = {
    "dp-ucb-int",
    "dp-tsallis",
    "dp-ftpl-gauss",
    "dp-ftpl-beta",
    "lazy-dp-ts",
    "dp-ts",
    "private-thompson",
}
"""These draw at random whatever the budget: their runs are compared with the generator."""


def huge(name: str) -> Policy:
    options = {"first": 20} if name in ("dp-klucb", "dp-imed", "gauss-imed", "laplace-imed") else {}
    budget: Budget = Pure(1e12)
    if name in ("adac-ucb", "dp-ucb-int", "gauss-imed"):
        budget = ZCDP(1e24)
    if name in ("dp-ftpl-gauss", "dp-ftpl-beta"):
        budget = Approximate(700.0, 0.5)
    return CATALOGUE[name].policy(budget, **options)


def test_every_private_row_is_taken_to_infinity() -> None:
    assert set(INFINITE) == {name for name, row in CATALOGUE.items() if row.budgets}


@pytest.mark.parametrize("kind", ["smooth", "bits", "edges"])
@pytest.mark.parametrize("name", INFINITE)
def test_an_infinite_budget_is_the_twin_without_noise(name: str, kind: str) -> None:
    """Noise of scale 1e-12 may decide between equals, hence the wider tie.

    What an infinite budget spares dp-ucb-int is the wait between releases, and the leaders their
    start phase: how far they perturb does not depend on it.
    """
    if name == "ldp-ucb-bs" or (kind == "smooth" and name in ("ldp-ucb-b", "dp-ftpl-new")):
        pytest.skip("rounds rewards to bits at random, whatever the budget")
    horizon = 20_000 if name in ("dp-se", "gdp-elim-new") else 1000
    table = reward_table(kind, horizon, 7)
    arms = run_arms(huge(name), table, 0, seed=5)
    options = {"epsilon": math.inf, **INFINITE[name]}
    twin = naive.TWINS[name](ARMS, horizon, generator(5, 0) if name in DRAWS else None, **options)
    replay(twin, table, arms, tie=1e-7)


def test_local_bits_with_an_infinite_budget_are_ucb1() -> None:
    table = reward_table("bits", 2000, 3)
    private = run_arms(huge("ldp-ucb-b"), table, 0, seed=5)
    assert (private == run_arms(discreet.policy("ucb1"), table, 0, seed=6)).all()
