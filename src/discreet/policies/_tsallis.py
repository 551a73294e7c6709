"""DP-Tsallis: an adversarial bandit on private batch means, for rewards that no distribution
describes.

Every τ = ceil(1/ε) rounds the chosen arm's mean loss l = 1 - reward is released with Lap(1/(ετ)).
In batch b the arm is drawn from x_i = (σ √b / (L_i - λ))², λ so that Σ x = 1 (Tsallis entropy of
order 1/2), L_i the sum of the estimates l/x of the batches that arm i was drawn for; one with
|l| > 0.206 σ √(b x) is left out (HTINF: Huang, Dai & Huang 2022), σ² = 6.

Every reward is in one release: ε-DP, interactive. Regret against the best fixed arm is
O(√(KT/ε) + 1/ε) for any sequence of rewards in [0, 1] that does not look at the choices.
Asi, Raman & Talwar (2025), Theorem 1. Where rewards do follow a distribution, dp-imed regrets far
less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ._rules import Rule
from ._view import Setting, View, counts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


SPREAD = math.sqrt(6.0)
"""σ: a noisy loss has a second moment of at most σ²."""
SKIP = 0.206
"""θ of HTINF for moments of order 2."""
STEPS = 100
"""More than Newton's method needs: it stops by itself after about ten steps."""


class Weights(NamedTuple):
    """What the rule remembers: estimated losses, the batch, and whom it was drawn for."""

    loss: Floats
    """sum of the estimates of every arm"""
    batch: Integers
    """number of the batch under way; one entry"""
    arm: Integers
    """the arm that it was drawn for; one entry"""
    share: Floats
    """with which probability; one entry"""


class Sigma(NamedTuple):
    """σ."""

    sigma: float


def tsallis_level(loss: Floats, scale: float) -> float:
    """λ with Σ (scale / (L_i - λ))² = 1, by Newton's method.

    The sum is convex and increasing in λ, at least 1 at min L - scale, so the steps from there
    never pass the root.
    """
    least = loss[0]
    for arm in range(1, len(loss)):
        least = min(least, loss[arm])
    level = least - scale
    for _ in range(STEPS):
        total, slope = -1.0, 0.0
        for arm in range(len(loss)):
            ratio = scale / (loss[arm] - level)
            total += ratio * ratio
            slope += 2.0 * ratio * ratio / (loss[arm] - level)
        step = total / slope
        level -= step
        if step <= 1e-12 * (least - level):
            break
    return float(level)


def choose_tsallis(rule: Sigma, memory: Weights, view: View, t: int, rng: Generator) -> int:
    """Take in the release of the last batch, then draw an arm for the next."""
    batch, last = memory.batch[0], memory.arm[0]
    if batch > 0:
        loss, share = 1.0 - view.value[last], memory.share[0]
        if abs(loss) <= SKIP * rule.sigma * math.sqrt(batch * share):
            memory.loss[last] += loss / share
    batch += 1
    scale = rule.sigma * math.sqrt(batch)
    level = tsallis_level(memory.loss, scale)
    total = 0.0
    for arm in range(len(memory.loss)):
        total += (scale / (memory.loss[arm] - level)) ** 2
    draw = rng.random() * total
    chosen, share = 0, 0.0
    for arm in range(len(memory.loss)):
        share = (scale / (memory.loss[arm] - level)) ** 2
        chosen = arm
        draw -= share
        if draw < 0.0:
            break
    memory.batch[0], memory.arm[0], memory.share[0] = batch, chosen, share / total
    return chosen


@dataclass(frozen=True)
class Tsallis(Rule):
    """x_i = (σ √b / (L_i - λ))², Σ x = 1."""

    name: ClassVar[str] = "Tsallis sample"
    choose: ClassVar[Function | Kernel] = Kernel(choose_tsallis)

    def parameters(self, setting: Setting) -> Sigma:
        return Sigma(SPREAD)

    def memory(self, setting: Setting) -> Weights:
        import numpy as np

        return Weights(np.zeros(setting.arms), counts(), counts(), np.zeros(1))


def loss_batch(epsilon: float) -> int:
    """τ = ceil(1/ε)."""
    return max(1, math.ceil(1.0 / epsilon))
