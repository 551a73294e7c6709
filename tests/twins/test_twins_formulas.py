"""Every compiled formula against its naive twin, at its limits too.

Rules are tested from outside: the value of one arm at which the choice changes is where two naive
indices are equal, so a wrong constant anywhere in an index shows, whatever the code looks like.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import naive_formulas as naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import discreet
from discreet._compiled import Kernel
from discreet.policies import (
    DPIMED,
    KLUCB,
    AsymptoticUCB,
    Doubling,
    EachRound,
    Exact,
    ForgetLaplace,
    Geometric,
    RememberLaplace,
    Tree,
)
from discreet.policies import (
    _divergences as divergences,
)
from discreet.policies._policy import Policy
from discreet.policies._view import View
from discreet.privacy import _counters as counters
from discreet.privacy import _noise as noise
from discreet.privacy.budgets import ZCDP, Approximate, Pure, Renyi

COMPILED = {
    name: Kernel(getattr(divergences, name)).compiled()
    for name in (
        "kl",
        "kl_upper",
        "private_divergence",
        "private_upper",
        "noisy_divergence",
        "noisy_floor",
    )
}
unit = st.floats(0.0, 1.0)
levels = st.floats(-13.0, 4.0).map(lambda x: 10.0**x)
budgets = st.one_of(st.floats(-6.0, 3.0).map(lambda x: 10.0**x), st.sampled_from([1e9, math.inf]))


def both(name: str, *arguments: float) -> float:
    """Interpreted and compiled agree to the last bits; the interpreted value."""
    plain = getattr(divergences, name)(*arguments)
    fast = COMPILED[name](*arguments)
    assert fast == pytest.approx(plain, rel=1e-9, abs=1e-13)
    return float(plain)


@given(unit, unit)
@example(0.0, 0.0)
@example(1.0, 1.0)
@example(0.0, 1.0)
@example(1.0, 0.0)
@example(0.3, 0.3)
@example(5e-324, 1.0)
def test_kl(p: float, q: float) -> None:
    value = both("kl", p, q)
    assert value >= 0.0
    assert value == pytest.approx(naive.kl(p, q), rel=1e-9, abs=1e-13)


@given(unit, levels)
@example(0.0, 0.5)
@example(1.0, 0.5)
@example(0.5, 1e-13)
@example(0.5, 1e4)
@example(1e-300, 1e-3)
@example(1.0 - 1e-16, 1e-3)
@example(1e-9, 30.0)
def test_kl_upper(p: float, c: float) -> None:
    q = both("kl_upper", p, c)
    assert p <= q <= 1.0
    expected = naive.kl_upper(p, c)
    # rounding of kl near q = p: an error of 1e-15 in c moves q by about 1e-15 / slope
    assert q == pytest.approx(expected, abs=1e-8)
    if 1e-3 < c < 5.0 and 1e-3 < p < 0.999:
        assert q == pytest.approx(expected, abs=1e-12)


@given(unit)
def test_no_exploration_gives_the_mean(p: float) -> None:
    assert both("kl_upper", p, 0.0) == p
    assert both("private_upper", p, 0.0, 1.0) == p


@given(unit, unit, budgets)
@example(0.0, 1.0, 1.0)
@example(0.3, 1.0, 2.0)
@example(0.0, 0.5, 1e9)
@example(0.2, 0.7, math.inf)
@example(0.2, 0.7, 1e-6)
@example(0.7, 0.2, 1.0)
def test_private_divergence(x: float, y: float, epsilon: float) -> None:
    value = both("private_divergence", x, y, epsilon)
    expected = naive.private_divergence(x, y, epsilon)
    assert value >= 0.0
    assert value == pytest.approx(expected, rel=1e-7, abs=1e-12)


@given(unit, levels, budgets)
@example(0.0, 0.5, math.inf)
@example(0.0, 0.5, 1e9)
@example(0.0, 0.5, 1e-6)
@example(1.0, 0.5, 1.0)
@example(0.5, 1e4, 1e-6)
@example(0.3, 0.2, 1.0)
@example(0.3, 1e-3, 1.0)
def test_private_upper(x: float, c: float, epsilon: float) -> None:
    q = both("private_upper", x, c, epsilon)
    assert x <= q <= 1.0
    assert q == pytest.approx(naive.private_upper(x, c, epsilon), abs=1e-7)


@given(unit, unit, unit, budgets)
def test_private_divergence_grows_with_its_second_argument(
    x: float, y: float, z: float, epsilon: float
) -> None:
    low, high = sorted((y, z))
    near = divergences.private_divergence(x, low, epsilon)
    assert near <= divergences.private_divergence(x, high, epsilon) + 1e-12


@given(unit, unit, st.integers(1, 10**6), st.integers(1, 40), levels, st.booleans())
@example(0.0, 1.0, 1000, 3, 0.1, True)
@example(0.0, 1.0, 1000, 3, 0.1, False)
@example(0.2, 1.0, 10**6, 1, 1e-13, True)
@example(0.0, 0.5, 100, 1, 1e-6, True)
@example(0.0, 0.5, 100, 1, 1e-6, False)
@example(0.01, 0.02, 400, 5, 20.0, True)
@example(0.01, 0.02, 400, 5, 20.0, False)
@example(0.7, 0.2, 100, 1, 1.0, True)
@example(0.3, 0.6, 100, 4, 0.0, False)
def test_noisy_divergence(x: float, y: float, n: int, k: int, scale: float, gaussian: bool) -> None:
    """Gaussian noise by the infimum over z, Laplace noise by the supremum over l."""
    noise = (scale**2, 0.0) if gaussian else (0.0, scale)
    value = n * both("noisy_divergence", x, y, k / n, *noise)
    least = n * both("noisy_floor", x, y, k / n, *noise)
    if gaussian:
        expected = naive.gaussian_cost(x, y, n, k, scale**2)
    else:
        expected = naive.laplace_cost(x, y, n, k, math.inf if scale == 0.0 else 1.0 / scale)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-9 * n + 1e-9)
    assert 0.0 <= least <= value * (1.0 + 1e-9) + 1e-12 * n


# --- indices, seen from outside -------------------------------------------------------------------


def indifference(policy: Policy, sizes: list[int], value: float, t: int, horizon: int) -> float:
    """The value of arm 1 at which the choice between it and arm 0 changes; t rounds are over."""
    choose = policy.choose_kernel.interpreted()
    setting = policy.setting(2, horizon)
    rule = policy.rule.parameters(setting)

    def first_wins(other: float) -> bool:
        view = View(np.array([value, other]), np.array(sizes), np.array(sizes))
        rng = np.random.default_rng(5)
        return bool(choose(rule, policy.rule.memory(setting), view, t, rng) == 0)

    return naive.largest(first_wins, -2000.0, 2000.0)


def pure_row(name: str, epsilon: float, **options: Any) -> Policy:
    made: Policy = discreet.policy(name, epsilon=epsilon, **options)
    return made


Index = Callable[..., float]
T = 5000


def indices() -> dict[str, tuple[Policy, Index]]:
    found: dict[str, tuple[Policy, Index]] = {"ucb1": (discreet.policy("ucb1"), naive.ucb1)}
    asymptotic = Policy("asymptotic", EachRound(), Exact(), AsymptoticUCB(0.7))
    found["asymptotic"] = (asymptotic, lambda m, n, t: naive.asymptotic_ucb(m, n, t, 0.7))
    found["kl-ucb"] = (discreet.policy("kl-ucb"), naive.kl_ucb)
    found["ldp-ucb-b"] = (pure_row("ldp-ucb-b", 0.5), naive.ucb1)
    for e in (0.05, 1.0, 20.0):
        for a in (1.0, 3.1):
            found[f"adap-ucb {e} {a}"] = (
                pure_row("adap-ucb", e, alpha=a),
                lambda m, n, t, e=e, a=a: naive.adap_ucb(m, n, t, e, a),
            )
            found[f"adap-klucb {e} {a}"] = (
                pure_row("adap-klucb", e, alpha=a),
                lambda m, n, t, e=e, a=a: naive.adap_klucb(m, n, t, e, a),
            )
        found[f"dp-klucb {e}"] = (
            pure_row("dp-klucb", e),
            lambda m, n, t, e=e: naive.dp_klucb(m, n, t, e),
        )
        found[f"dp-ucb {e}"] = (
            pure_row("dp-ucb", e),
            lambda m, n, t, e=e: naive.dp_ucb(m, n, t, e, T),
        )
        found[f"ldp-ucb-l {e}"] = (
            pure_row("ldp-ucb-l", e),
            lambda m, n, t, e=e: naive.ldp_ucb_l(m, n, t, e),
        )
    paper: dict[str, Any] = {"calibration": "paper"}
    for label, budget, b, options in (
        ("zCDP", ZCDP(0.02), 25.0, {}),
        ("Rényi", Renyi(4.0, 0.5), 4.0, {}),
        ("exact", Approximate(1.5, 1e-6), naive.gaussian_variance(1.5, 1e-6), {}),
        (
            "paper",
            Approximate(0.8, 1e-6),
            2.0 / 0.8**2 * math.log(1.25e6),
            paper,
        ),
    ):
        found[f"adac-ucb {label}"] = (
            discreet.policy("adac-ucb", budget=budget, alpha=2.0, **options),
            lambda m, n, t, b=b: naive.adac_ucb(m, n, t, b, 2.0),
        )
    return found


INDICES = indices()


@pytest.mark.parametrize("label", INDICES)
def test_the_choice_changes_where_two_naive_indices_are_equal(label: str) -> None:
    policy, index = INDICES[label]
    compared = 0
    for sizes in ([40, 90], [200, 60], [64, 64], [1000, 3000], [90_000, 50_000]):
        for value in (0.15, 0.5, 0.8):
            t = sum(sizes)
            target = index(value, sizes[0], t + 1)
            if target > 1.0 - 1e-6 and "kl" in label:
                continue  # both indices may be 1: the choice changes anywhere
            at = indifference(policy, sizes, value, t, T)
            slope = (index(at + 1e-4, sizes[1], t + 1) - index(at - 1e-4, sizes[1], t + 1)) / 2e-4
            if at < 0.0 and slope == 0.0:
                continue  # a clipped mean: below 0 the index does not move
            compared += 1
            assert index(at, sizes[1], t + 1) == pytest.approx(target, abs=1e-8)
            assert slope > 0.0
    assert compared >= 3


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, math.inf])
def test_the_imed_scores(epsilon: float) -> None:
    """Arm 1 leads; the value of arm 0 at which it is tried again."""
    finite = math.isfinite(epsilon)
    policy = pure_row("dp-imed", epsilon) if finite else discreet.policy("imed")
    choose, setting = policy.choose_kernel.interpreted(), policy.setting(2, T)
    rule = policy.rule.parameters(setting)
    for sizes in ((3, 300), (20, 1000), (40, 4000)):
        for lead in (0.4, 0.75, 0.99):

            def led(value: float, lead: float = lead, sizes: Any = sizes) -> bool:
                view = View(np.array([value, lead]), np.array(sizes), np.array(sizes))
                memory = policy.rule.memory(setting)
                return bool(choose(rule, memory, view, sum(sizes), None) == 1)

            at = naive.largest(led, 0.0, lead)
            if not led(0.0):
                continue
            score = naive.dp_imed(at, sizes[0], lead, epsilon)
            assert score == pytest.approx(math.log(sizes[1]), abs=1e-6)


def test_imed_clips_the_leader_too() -> None:
    """A noisy leader above 1 is compared as 1, where kl is infinite but d_ε is ε(1 - x)."""
    policy = Policy("p", Doubling(), ForgetLaplace(1.0), DPIMED())
    choose, setting = policy.choose_kernel.interpreted(), policy.setting(2, 1000)
    rule = policy.rule.parameters(setting)
    for n, other in ((4, 100), (8, 100)):
        view = View(np.array([0.5, 1.3]), np.array([n, other]), np.array([n, other]))
        arm = choose(rule, policy.rule.memory(setting), view, n + other, None)
        assert arm == (0 if n * 0.5 + math.log(n) < math.log(other) else 1)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.1, 0.01), (3.0, 1e-6), (0.0, 0.1)])
def test_the_perturbed_leader(epsilon: float, delta: float) -> None:
    """The draws of one generator, so both sides add the same noise."""
    budget = Approximate(epsilon, delta) if delta else Pure(epsilon)
    policy = discreet.policy("dp-ftpl-new", budget=budget)
    for sizes in ([40, 90], [200, 60]):
        uniforms = np.random.default_rng(5).random(2).tolist()  # the larger arm is drawn first
        if sizes[1] > sizes[0]:
            uniforms.reverse()
        index = []
        for arm, n in enumerate(sizes):
            drawn = naive.truncated_laplace(uniforms[arm], epsilon, delta, n)
            if epsilon == 0.0:
                centre = math.sqrt(math.log(T) / n) + (T - 2.0) / (2.0 * T * delta * n)
            else:
                centre = naive.leader_centre(0.0, n, epsilon, delta, T)
            index.append(centre + drawn + (0.4 if arm == 0 else 0.0))
        at = indifference(policy, sizes, 0.4, sum(sizes), T)
        assert at == pytest.approx(index[0] - index[1], abs=1e-9)


def test_an_index_defined_by_an_equation_is_compared_as_it_is_solved() -> None:
    """KL-UCB is evaluated lazily: with arms in every order the same arm wins."""
    rng = np.random.default_rng(8)
    policy = Policy("kl", EachRound(), Exact(), KLUCB())
    choose, setting = policy.choose_kernel.interpreted(), policy.setting(6, 10_000)
    for _ in range(300):
        sizes = rng.integers(1, 400, 6)
        means = rng.random(6)
        t = int(sizes.sum())
        view = View(means, sizes, sizes)
        memory = policy.rule.memory(setting)
        memory.played[0] = rng.integers(0, 6)
        best = naive.argmax(
            [naive.kl_ucb(m, int(n), t + 1) for m, n in zip(means, sizes, strict=True)]
        )
        assert choose(None, memory, view, t, None) == best


def test_a_ceiling_is_void_once_its_arm_was_played() -> None:
    """Batches may move the mean of the played arm anywhere; the other arms stay as they are."""
    rng = np.random.default_rng(9)
    policy = Policy("kl", Doubling(), Exact(), KLUCB())
    choose, setting = policy.choose_kernel.interpreted(), policy.setting(3, 10_000)
    for _ in range(60):
        sizes, means = rng.integers(1, 4, 3), rng.random(3)
        memory = policy.rule.memory(setting)
        for _ in range(30):
            t = int(sizes.sum())
            indices = [naive.kl_ucb(m, int(n), t + 1) for m, n in zip(means, sizes, strict=True)]
            arm = choose(None, memory, View(means, sizes, sizes), t, None)
            assert indices[arm] >= max(indices) - 1e-9
            sizes[arm] += rng.integers(1, 5)
            means[arm] = rng.random()


# --- schedules and counters -----------------------------------------------------------------------


@given(
    st.floats(1.01, 6.0), st.integers(1, 3000), st.integers(40, 10**6), st.integers(2, 12)
)  # fmt: skip
@example(2.0, 1000, 1000, 2)
def test_no_arm_sees_more_releases_than_the_schedule_says(
    ratio: float, first: int, horizon: int, arms: int
) -> None:
    """`releases` is what trees and remembering releases pay for, so it must never be too small."""
    schedule = Geometric(ratio, first)
    policy = Policy("p", schedule, Exact(), KLUCB())
    parameters = schedule.parameters(policy.setting(arms, horizon))
    first_batch = max(1, min(first, horizon // (10 * arms)))
    pulls, releases = 0, 0
    while True:
        view = View([0.0], [0], [pulls])
        rounds = policy.length_kernel.interpreted()(parameters, None, view, 0)
        assert rounds == (first_batch if pulls == 0 else math.ceil((ratio - 1.0) * pulls))
        if pulls + rounds > horizon:
            break
        pulls, releases = pulls + rounds, releases + 1
    assert releases <= schedule.releases(horizon)
    assert releases + 1 >= Doubling().releases(horizon) or (ratio, first) != (2.0, 1)


@pytest.mark.parametrize("release", [RememberLaplace(1.0), Tree(1.0)])
def test_a_capped_first_batch_is_paid_for(release: RememberLaplace | Tree) -> None:
    """The cap on the first batch makes room for more releases than an uncapped one would have."""
    schedule, arms, horizon = Geometric(2.0, 1000), 2, 1000
    setting = Policy("p", schedule, release, discreet.policy("ucb1").rule).setting(arms, horizon)
    first = schedule.parameters(setting).first
    releases = int(math.log2(horizon / first)) + 1
    needed = releases if isinstance(release, RememberLaplace) else naive.tree_height(releases)
    assert release.parameters(setting).scale >= needed * (1.0 - 1e-12)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025, 10**12])
def test_the_height_of_a_tree(leaves: int) -> None:
    assert counters.tree_levels(leaves) == naive.tree_height(leaves)


def test_the_tree_counter_is_a_tree_that_stores_all_nodes() -> None:
    rng = np.random.default_rng(2)
    rewards = rng.random(500)
    levels = counters.tree_levels(len(rewards))
    ledger = counters.tree_ledger(2, levels)
    add = Kernel(counters.tree_add, noise=noise.laplace).compiled()
    mine, other = np.random.default_rng(4), np.random.default_rng(4)
    twin = naive.NaiveTree(
        lambda: 3.0 * (other.standard_exponential() - other.standard_exponential())
    )
    for reward in rewards:
        assert add(ledger, levels, 3.0, 1, reward, mine) == pytest.approx(twin.add(float(reward)))
    assert not np.asarray(ledger.total_at)[:levels].any()


def test_the_hybrid_counter_is_blocks_and_trees() -> None:
    rng = np.random.default_rng(2)
    mine, other = np.random.default_rng(4), np.random.default_rng(4)
    counter = counters.HybridCounter(0.7, mine)

    def laplace(scale: float) -> float:
        return float(scale * (other.standard_exponential() - other.standard_exponential()))

    twin = naive.NaiveHybrid(laplace, 0.7)
    for reward in rng.random(300):
        assert counter.add(float(reward)) == pytest.approx(twin.add(float(reward)))


@given(unit, st.floats(1e-3, 20.0))
def test_the_local_bit(reward: float, epsilon: float) -> None:
    """The bit is 1 just below its probability and 0 just above."""

    class Fixed:
        def __init__(self, u: float) -> None:
            self.u = u

        def random(self) -> float:
            return self.u

    chance = naive.response_probability(reward, epsilon)
    assert noise.randomised_response(reward, epsilon, Fixed(chance - 1e-9)) == 1.0  # type: ignore[arg-type]
    assert noise.randomised_response(reward, epsilon, Fixed(chance + 1e-9)) == 0.0  # type: ignore[arg-type]
