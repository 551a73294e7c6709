"""AdaP-UCB and AdaP-KLUCB: optimism on the private mean of the last, doubled batch.

With m the released mean of a batch of n and L = α log t:
AdaP-UCB:    m + sqrt(L/(2n)) + L/(εn).
AdaP-KLUCB:  max{q in [0, 1] : kl(clip01(m + L/(εn)), q) <= L/n}.

ε-DP: every reward is in one batch, a batch is released once with Lap(1/(εn)). Azize & Basu (2022),
Algorithm 1, Theorems 7 and 8. Their theorems ask for α > 3, their figures take 3.1; 1 plays best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ._divergences import kl, kl_upper
from ._exploration import Exploring
from ._ranks import ranked_indices
from ._rules import choose_exceeding, choose_largest, clip01
from ._view import Setting, View


class Optimism(NamedTuple):
    """α and the ε of the release."""

    alpha: float
    epsilon: float


def adap_ucb_index(rule: Optimism, view: View, arm: int, t: int) -> float:
    """m + sqrt(L/(2n)) + L/(εn)."""
    L, size = rule.alpha * math.log(t + 1.0), view.size[arm]
    width = math.sqrt(L / (2.0 * size)) + L / (rule.epsilon * size)
    return float(view.value[arm] + width)


@dataclass(frozen=True)
class AdaPUCB(Exploring):
    """m + sqrt(L/(2n)) + L/(εn), L = α log t."""

    name: ClassVar[str] = "UCB index + Laplace width"
    choose: ClassVar[Function | Kernel] = Kernel(choose_largest, index=adap_ucb_index)
    ranked: ClassVar[Kernel | None] = ranked_indices(adap_ucb_index)

    def parameters(self, setting: Setting) -> Optimism:
        return Optimism(self.alpha, setting.pure_epsilon(self.name))


def lifted_mean(rule: Optimism, view: View, arm: int, L: float) -> float:
    """clip01(m + L/(εn)): the mean, moved above what the noise may have taken."""
    return clip01(view.value[arm] + L / (rule.epsilon * view.size[arm]))


def adap_klucb_index(rule: Optimism, view: View, arm: int, t: int) -> float:
    """max{q : kl(clip01(m + L/(εn)), q) <= L/n}."""
    L = rule.alpha * math.log(t + 1.0)
    return kl_upper(lifted_mean(rule, view, arm, L), L / view.size[arm])


def adap_klucb_exceeds(rule: Optimism, view: View, arm: int, t: int, level: float) -> bool:
    """Whether that index is above a level."""
    if level >= 1.0:
        return False
    L = rule.alpha * math.log(t + 1.0)
    mean = lifted_mean(rule, view, arm, L)
    return bool(mean > level or view.size[arm] * kl(mean, level) < L)


def adap_klucb_hopeless(
    rule: Optimism, view: View, arm: int, t: int, shared: float, least: float
) -> bool:
    """Whether that index is below -least: by more than rounding, and below 1 if that is 1."""
    level = min(-least, 1.0 - 1e-12)
    L = rule.alpha * math.log(t + 1.0)
    mean = lifted_mean(rule, view, arm, L)
    return bool(mean < level and view.size[arm] * kl(mean, level) > L * (1.0 + 1e-9) + 1e-9)


@dataclass(frozen=True)
class AdaPKLUCB(Exploring):
    """max{q : kl(clip01(m + L/(εn)), q) <= L/n}, L = α log t."""

    name: ClassVar[str] = "KL-UCB index, lifted"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_exceeding, index=adap_klucb_index, exceeds=adap_klucb_exceeds
    )
    ranked: ClassVar[Kernel | None] = ranked_indices(adap_klucb_index, adap_klucb_hopeless)

    def parameters(self, setting: Setting) -> Optimism:
        return Optimism(self.alpha, setting.pure_epsilon(self.name))
