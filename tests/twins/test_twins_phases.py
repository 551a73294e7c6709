"""Phases, seen from outside: how long they are, and the lead at which they end."""

from __future__ import annotations

import math
from typing import Any

import naive_formulas as naive
import numpy as np
import pytest

import discreet
from discreet.policies._policy import Policy
from discreet.policies._view import View, fresh_view
from discreet.privacy.budgets import Approximate, Pure


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e9])
@pytest.mark.parametrize("arms", [2, 5])
def test_an_epoch_of_elimination(epsilon: float, arms: int) -> None:
    """Lengths of two epochs, and the width, found by moving the worst arm."""
    policy = discreet.policy("dp-se", epsilon=epsilon, beta=0.01)
    choose, length = policy.choose_kernel.interpreted(), policy.length_kernel.interpreted()
    setting = policy.setting(arms, 10**9)
    rule = policy.rule.parameters(setting)

    def second_epoch(worst: float) -> tuple[int, list[int]]:
        memory, view = policy.rule.memory(setting), fresh_view(arms)
        first = 0
        for arm in range(arms):
            assert choose(rule, memory, view, 0, None) == arm
            first = length(None, memory, view, arm)
            view.value[arm], view.size[arm] = (0.6 if arm else worst), first
        order = [choose(rule, memory, view, 0, None)]
        second = length(None, memory, view, order[0])
        if second < 1 << 60:
            order += [choose(rule, memory, view, 0, None) for _ in range(arms - 2)]
        assert first == naive.se_pulls(arms, 1, epsilon, 0.01)
        return second, order

    stays, order = second_epoch(0.6)
    assert order == list(range(arms))[: len(order)]
    assert stays == naive.se_pulls(arms, 2, epsilon, 0.01)
    dropped, order = second_epoch(-5.0)
    assert order[0] == 1
    assert dropped == (naive.se_pulls(arms - 1, 2, epsilon, 0.01) if arms > 2 else 1 << 62)
    at = naive.largest(lambda gap: second_epoch(0.6 - gap)[1][0] == 0, 0.0, 5.0)
    pulls = naive.se_pulls(arms, 1, epsilon, 0.01)
    assert at == pytest.approx(naive.se_width(arms, 1, epsilon, 0.01, pulls), abs=1e-9)


class Steps:
    """The decisions of a row that is told released means, one arm after another."""

    def __init__(self, policy: Policy, arms: int, horizon: int) -> None:
        setting = policy.setting(arms, horizon)
        self.rule, self.memory = policy.rule.parameters(setting), policy.rule.memory(setting)
        self.choose = policy.choose_kernel.interpreted()
        self.length = policy.length_kernel.interpreted()
        self.view: View = fresh_view(arms)
        self.t = 0

    def next(self, mean: float | None = None) -> tuple[int, int]:
        """The arm and the length of the next batch; its release has this mean."""
        arm = self.choose(self.rule, self.memory, self.view, self.t, np.random.default_rng(1))
        rounds = self.length(None, self.memory, self.view, arm)
        if mean is not None:
            self.view.value[arm], self.view.size[arm] = mean, rounds
            self.t += rounds
        return arm, rounds

    def phase(self, means: list[float]) -> set[int]:
        """Every arm in turn; the lengths of their batches."""
        batches = [self.next(mean) for mean in means]
        assert [arm for arm, _ in batches] == list(range(len(means)))
        return {rounds for _, rounds in batches}


LEADS: list[tuple[float, float]] = [
    (1.0, 0.01), (1.0, 0.0), (0.01, 0.0), (0.001, 1e-9), (0.05, 0.3), (20.0, 1e-6),
]  # fmt: skip


@pytest.mark.parametrize("horizon", [1000, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), LEADS)
def test_phases_until_an_arm_leads(epsilon: float, delta: float, horizon: int) -> None:
    """N(k), and in phase 3 the lead at which the exploitation begins: Δ = 1/8, and not less."""
    budget = Approximate(epsilon, delta) if delta else Pure(epsilon)
    policy = discreet.policy("gdp-elim-new", budget=budget)

    def explores(lead: float) -> bool:
        steps = Steps(policy, 3, horizon)
        for k in (1, 2):
            assert steps.phase([0.5, 0.5, 0.4]) == {naive.lead_pulls(k, epsilon, delta, horizon)}
        assert steps.phase([0.25, 0.5, 0.5 + lead]) == {
            naive.lead_pulls(3, epsilon, delta, horizon)
        }
        arm, rounds = steps.next()
        if arm == 2:
            assert rounds >= horizon
            return False
        assert (arm, rounds) == (0, naive.lead_pulls(4, epsilon, delta, horizon))
        return True

    assert explores(0.125 - 1e-12)
    assert not explores(0.125)


@pytest.mark.parametrize("calibration", ["tight", "paper"])
@pytest.mark.parametrize(("epsilon", "horizon"), [(0.1, 1000), (1.0, 10**6), (300.0, 5000)])
def test_gap_estimation_and_filling(epsilon: float, horizon: int, calibration: str) -> None:
    """Batches for Δ̂ = 1, 1/2, 1/4; the gap that ends them; and the binary digits of Γ/Δ̂²."""
    arms = 3
    policy = discreet.policy("private-thompson", epsilon=epsilon, calibration=calibration)
    factor = arms if calibration == "paper" else 1

    def ends(gap: float) -> Steps | None:
        steps = Steps(policy, arms, horizon)
        for estimate in (1.0, 0.5):
            pulls = naive.gap_pulls(estimate, epsilon, horizon, factor)
            assert steps.phase([0.5, 0.6, 0.4]) == {pulls}
        pulls = naive.gap_pulls(0.25, epsilon, horizon, factor)
        assert steps.phase([0.25, 0.5, 0.5 + gap]) == {pulls}
        again = naive.gap_pulls(0.125, epsilon, horizon, factor)
        return None if steps.next()[1] == again else steps

    assert ends(0.25) is None
    found = ends(0.25 + 1e-12)
    assert found is not None
    for begun, arm in [(True, 0), (False, 1), (False, 2)]:
        left = naive.fill_pulls(0.25, epsilon, horizon)
        if begun:  # `ends` has looked at the first block
            left -= 1 << (left.bit_length() - 1)
        while left:
            block = found.next(0.5)
            assert block == (arm, 1 << (left.bit_length() - 1))
            left -= block[1]
    assert found.next()[1] == 1


@pytest.mark.parametrize("fill", [1, 6, 64, 1023])
def test_a_tree_filled_in_blocks_has_the_nodes_that_are_read(fill: int) -> None:
    """A whole run as released: one value a block, then one per round, as a tree with all nodes.

    The generator's other draws are kept apart by hand: the noise is what the release draws.
    """
    policy = discreet.policy("private-thompson", epsilon=2.0, gap_estimation=False, fill=fill)
    setting = policy.setting(2, 5000)
    release, ledger = policy.release.parameters(setting), policy.release.ledger(setting)
    publish: Any = policy.release.publish_kernel(setting.source).interpreted()
    mine, other = np.random.default_rng(4), np.random.default_rng(4)
    scale = naive.tree_height(5000) / 2.0

    def laplace() -> float:
        return float(scale * (other.standard_exponential() - other.standard_exponential()))

    twin, view = naive.NaiveTree(laplace), fresh_view(2)
    rewards = np.random.default_rng(5).random(fill + 70).tolist()
    blocks = [1 << j for j in reversed(range(fill.bit_length())) if fill >> j & 1] + [1] * 70
    for block in blocks:
        begin = len(twin.rewards)
        batch = rewards[begin : begin + block]
        expected = twin.add(*batch)
        publish(release, ledger, view, 1, block, math.fsum(batch), mine)
        assert view.size[1] == begin + block
        assert view.value[1] * view.size[1] == pytest.approx(expected, rel=1e-9, abs=1e-9)
