"""Counters against naive twins that build the whole tree, and what one reward costs in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet._compiled import Kernel
from discreet.errors import InvalidArgument
from discreet.privacy import Pure
from discreet.privacy import _counters as counters
from discreet.privacy import _noise as noises
from discreet.privacy._counters import (
    BinaryCounter,
    HybridCounter,
    HybridLedger,
    TogetherLedger,
    TreeLedger,
    check_leaves,
    hybrid_add,
    hybrid_ledger,
    together_add,
    together_ledger,
    tree_add,
    tree_ledger,
    tree_levels,
)

fixed = settings(derandomize=True, deadline=None, max_examples=40)


def linked(add: Callable[..., Any], noise: Callable[..., Any]) -> Callable[..., Any]:
    return Kernel(add, noise=noise).interpreted()


class NaiveTree:
    """Every dyadic node once, with its own noise; a prefix is the sum of the nodes of its bits."""

    def __init__(self, draw: Callable[[], float]) -> None:
        self.rewards: list[float] = []
        self.nodes: dict[tuple[int, int], float] = {}
        self.draw = draw

    def add(self, reward: float) -> float:
        self.rewards.append(reward)
        i = len(self.rewards)
        for level in range(i.bit_length()):
            width = 1 << level
            # a node is needed when some prefix uses it: left children, at the moment they close
            if i % (2 * width) == width:
                self.nodes[i - width, i] = sum(self.rewards[i - width : i]) + self.draw()
        total, start = 0.0, 0
        for level in reversed(range(i.bit_length())):
            if i >> level & 1:
                total += self.nodes[start, start + (1 << level)]
                start += 1 << level
        return total


class NaiveHybrid:
    """Blocks that end at powers of two with Lap(2/ε); a fresh tree in between."""

    def __init__(self, epsilon: float, draw: Callable[[float], float]) -> None:
        self.epsilon, self.draw = epsilon, draw
        self.count, self.base, self.block = 0, 0.0, 0.0
        self.tree: NaiveTree | None = None

    def add(self, reward: float) -> float:
        self.count += 1
        self.block += reward
        if self.count & (self.count - 1) == 0:
            self.base += self.block + self.draw(2 / self.epsilon)
            self.block = 0.0
            levels = math.ceil(math.log2(self.count))
            self.tree = NaiveTree(lambda: self.draw(2 * levels / self.epsilon))
            return self.base
        assert self.tree is not None
        return self.base + self.tree.add(reward)


def test_levels() -> None:
    for leaves in range(1, 2000):
        # nodes close at multiples of 2^j: those of up to 2^j <= leaves are the ones ever read
        assert tree_levels(leaves) == sum(2**j <= leaves for j in range(12))
    check_leaves(3, 7)
    with pytest.raises(InvalidArgument, match="leaves"):
        check_leaves(3, 8)
    with pytest.raises(InvalidArgument):
        tree_levels(0)


def test_tree_equals_its_twin() -> None:
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    levels = tree_levels(300)
    ledger = tree_ledger(2, levels)
    twin = NaiveTree(lambda: noises.laplace(4.0, two))
    for reward in np.random.default_rng(2).random(300):
        mine = tree_add(ledger, levels, 4.0, 1, reward, one)
        assert mine == pytest.approx(twin.add(reward), rel=1e-10, abs=1e-9)
    assert ledger.count.tolist() == [0, 300]


def test_hybrid_equals_its_twin() -> None:
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    ledger = hybrid_ledger(2)
    twin = NaiveHybrid(0.5, lambda scale: noises.laplace(scale, two))
    for reward in np.random.default_rng(2).random(600):
        mine = hybrid_add(ledger, counters.HYBRID_LEVELS, 2.0, 1, reward, one)
        assert mine == pytest.approx(twin.add(reward), rel=1e-10, abs=1e-9)


def played(steps: int) -> list[tuple[int, float]]:
    """Which of three counters is handed a reward, and which; the middle one is mostly idle."""
    rng = np.random.default_rng(2)
    return [(0 if step % 9 else 1 + step // 9 % 2, float(rng.random())) for step in range(steps)]


def test_counters_together_equal_their_twins() -> None:
    """All draw from one generator, an arm after the other; 0 is what an idle arm is handed."""
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    ledger = together_ledger(3)
    twins = [NaiveHybrid(0.5, lambda scale: noises.laplace(scale, two)) for _ in range(3)]
    for arm, reward in played(600):
        together_add(ledger, 2.0, arm, reward, one)
        sums = [twin.add(reward if each == arm else 0.0) for each, twin in enumerate(twins)]
        assert ledger.prefix.tolist() == pytest.approx(sums, rel=1e-10, abs=1e-9)
    assert (ledger.count[0], ledger.power[0], ledger.depth[0]) == (600, 512, 9)


def test_counters_together_are_exact_in_integers_and_the_same_on_lists() -> None:
    """What a live trial does: integers, on lists."""
    add, levels, arms = linked(together_add, integer_noise), 10, 3
    parts = ([0] * (levels * arms), *([0] * arms for _ in range(3)), *([0] for _ in range(3)))
    lists, array = TogetherLedger(*parts), together_ledger(arms, levels, exact=True)
    one, two, three = (np.random.default_rng(4) for _ in range(3))
    apart, add_one = hybrid_ledger(arms, levels, exact=True), linked(hybrid_add, integer_noise)
    for step in range(300):
        for ledger, rng in ((lists, one), (array, two)):
            add(ledger, 1.0, step % 2, step, rng)
        rewards = [step if each == step % 2 else 0 for each in range(arms)]
        sums = [add_one(apart, levels, 1.0, each, r, three) for each, r in enumerate(rewards)]
        assert lists.prefix == array.prefix.tolist() == sums
    assert [list(part) for part in lists] == [list(part) for part in array]
    assert all(isinstance(x, int) for part in lists for x in part)


def test_counters_together_compiled_and_interpreted_agree() -> None:
    kernel = Kernel(together_add, noise=noises.laplace)
    slow, fast = kernel.interpreted(), kernel.compiled()
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    a, b = together_ledger(3, 10), together_ledger(3, 10)
    for arm, reward in played(400):
        slow(a, 2.0, arm, reward, one)
        fast(b, 2.0, arm, reward, two)
        assert a.prefix == pytest.approx(b.prefix, rel=1e-12, abs=1e-12)


@fixed
@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=300), st.booleans())
def test_without_noise_sums_are_exact_in_every_kind_of_ledger(
    rewards: list[int], hybrid: bool
) -> None:
    levels = 10
    names = HybridLedger if hybrid else TreeLedger
    add = linked(hybrid_add if hybrid else tree_add, lambda_zero)
    lists = names(*([0] * levels for _ in range(2)), *([0] for _ in names._fields[2:]))
    make = hybrid_ledger if hybrid else tree_ledger
    ledgers = [lists, make(1, levels, exact=True), make(1, levels)]
    total = 0
    for reward in rewards:
        total += reward
        assert [add(ledger, levels, 1.0, 0, reward, None) for ledger in ledgers] == [total] * 3
    assert all(isinstance(x, int) for part in lists for x in part)


def lambda_zero(scale: float, rng: Any) -> int:
    return 0


def integer_noise(scale: float, rng: Any) -> int:
    return int(rng.integers(-5, 6))


@pytest.mark.parametrize("hybrid", [False, True])
def test_lists_and_integer_arrays_agree_under_noise(hybrid: bool) -> None:
    levels, names = 10, HybridLedger if hybrid else TreeLedger
    add = linked(hybrid_add if hybrid else tree_add, integer_noise)
    lists = names(*([0] * levels for _ in range(2)), *([0] for _ in names._fields[2:]))
    array = (hybrid_ledger if hybrid else tree_ledger)(1, levels, exact=True)
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    for reward in range(200):
        assert add(lists, levels, 1.0, 0, reward, one) == add(array, levels, 1.0, 0, reward, two)
    assert [list(part) for part in lists] == [list(part) for part in array]


@pytest.mark.parametrize("hybrid", [False, True])
def test_compiled_and_interpreted_agree(hybrid: bool) -> None:
    levels, make = 10, hybrid_ledger if hybrid else tree_ledger
    kernel = Kernel(hybrid_add if hybrid else tree_add, noise=noises.laplace)
    slow, fast = kernel.interpreted(), kernel.compiled()
    one, two = np.random.default_rng(4), np.random.default_rng(4)
    a, b = make(3, levels), make(3, levels)
    for step in range(400):
        arm, reward = step % 3, float(step % 7) / 7
        assert slow(a, levels, 2.0, arm, reward, one) == pytest.approx(
            fast(b, levels, 2.0, arm, reward, two), rel=1e-12, abs=1e-12
        )


def telling(scale: float, drawn: list[float]) -> int:
    """Noise that tells every draw apart: the k-th is 8^k; the "generator" records the scales."""
    drawn.append(scale)
    return 1 << (3 * len(drawn))


def touched(add: Callable[..., Any], ledger: Any, levels: int, steps: int, at: int) -> list[float]:
    """Scales of all noisy numbers that reward `at` enters."""
    kernel = linked(add, telling)
    scales: list[float] = []
    exact: dict[int, int] = {}  # what the k-th noisy number is before its noise
    for step in range(1, steps + 1):
        prefix = kernel(ledger, levels, 1.0, 0, int(step - 1 == at), scales)
        draws = [k for k in range(1, step + 1) if prefix >> (3 * k) & 1]
        assert len(scales) == draws[-1] == step  # one draw a step, and it is in the prefix
        exact[step] = prefix % 8 - sum(exact[k] for k in draws[:-1])
    return [scales[k - 1] for k, value in exact.items() if value]


@pytest.mark.parametrize("leaves", [1, 2, 5, 8, 31, 32, 33])
def test_a_reward_enters_at_most_h_nodes_of_the_tree(leaves: int) -> None:
    levels = tree_levels(leaves)
    most = 0
    for at in range(leaves):
        ledger = TreeLedger([0] * levels, [0] * levels, [0], [0])
        scales = touched(tree_add, ledger, levels, leaves, at)
        assert len(scales) <= levels
        most = max(most, len(scales))
    assert most == leaves.bit_length()


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 33, 64, 100])
def test_a_reward_costs_at_most_epsilon_in_the_hybrid(steps: int) -> None:
    """Every noisy number with Laplace scale b costs 1/b, at ε = 1."""
    worst = 0.0
    for at in range(steps):
        ledger = HybridLedger([0] * 8, [0] * 8, *([0] for _ in range(5)))
        scales = touched(hybrid_add, ledger, 8, steps, at)
        assert scales.count(2.0) <= 2  # a block, and in (2, 4) the only level of its tree
        worst = max(worst, sum(1 / scale for scale in scales))
    assert worst <= 1 + 1e-12
    if steps >= 8:
        assert worst == pytest.approx(1.0)


def one_of_together(
    ledger: Any, levels: int, scale: float, arm: int, reward: Any, drawn: Any
) -> Any:
    """The first counter of those that advance together, as if it were alone."""
    together_add(ledger, scale, arm, reward, drawn)
    return ledger.prefix[arm]


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 33, 100])
def test_a_reward_costs_at_most_epsilon_in_counters_together(steps: int) -> None:
    worst = 0.0
    for at in range(steps):
        ledger = TogetherLedger([0] * 8, *([0] for _ in range(6)))
        scales = touched(one_of_together, ledger, 8, steps, at)
        worst = max(worst, sum(1 / scale for scale in scales))
    assert worst <= 1 + 1e-12
    if steps >= 8:
        assert worst == pytest.approx(1.0)


def test_noise_of_a_prefix_has_one_draw_a_set_bit() -> None:
    """Var = popcount(i) 2 b². Sample variance of 4000 runs within 6 standard errors (< 1e-6)."""
    runs, steps = 4000, 13
    kernel = Kernel(tree_add, noise=noises.laplace).compiled()
    rng = np.random.default_rng(9)
    ledger = tree_ledger(runs, 4)
    out = np.empty((steps, runs))
    for i in range(steps):
        for run in range(runs):
            out[i, run] = kernel(ledger, 4, 1.0, run, 0.0, rng)
    for i in range(1, steps + 1):
        squares = out[i - 1] ** 2
        error = squares.std() / math.sqrt(runs)
        assert abs(squares.mean() - 2 * i.bit_count()) < 6 * error


def test_classes() -> None:
    counter = BinaryCounter(4, 1.0, np.random.default_rng(0))
    assert counter.budget == Pure(1.0)
    assert counter.levels == 3
    values = [counter.add(1.0) for _ in range(4)]
    assert len(set(values)) == 4
    with pytest.raises(InvalidArgument, match="stream"):
        counter.add(1.0)
    hybrid = HybridCounter(math.inf, np.random.default_rng(0))
    assert [hybrid.add(0.5) for _ in range(9)] == [0.5 * i for i in range(1, 10)]
    assert HybridCounter(0.5, np.random.default_rng(0)).budget == Pure(0.5)
    for bad in (1.5, -0.1, math.nan):
        with pytest.raises(InvalidArgument, match="x must"):
            hybrid.add(bad)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidArgument, match="epsilon"):
            BinaryCounter(4, bad, np.random.default_rng(0))


def test_classes_follow_the_noise_scales_of_the_text() -> None:
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    counter = BinaryCounter(100, 0.5, one)
    twin = NaiveTree(lambda: noises.laplace(7 / 0.5, two))  # 100 has 7 binary digits
    for _ in range(100):
        assert counter.add(0.25) == pytest.approx(twin.add(0.25), rel=1e-10, abs=1e-9)
