"""The bandits and the policies of Ren et al. (2020): 20 arms, three kinds of rewards.

Means .9, 5 × .8, 5 × .7, 5 × .6, 4 × .5. Bounded rewards are Bernoulli, or of different
distributions: Beta(4, 1) for .8, {.4, 1} at random for .7, uniform on [0, 1] for .5, Bernoulli for
.9 and .6. Unbounded ones are N(mean, 1), and then the baseline UCB1 also sees them through the
sigmoid, while regret is counted in the means themselves. Neither the horizon nor the ε of most
curves is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..._compiled import Function
from ...policies.releases._base import squash
from ...policies.releases._exact import Exact

if TYPE_CHECKING:
    from ...arms import Environment
    from ...policies import Policy
    from ...policies.releases._base import Scale

MEANS = (0.9, *[0.8] * 5, *[0.7] * 5, *[0.6] * 5, *[0.5] * 4)
EPSILONS = (2.0, 1.0, 0.5, 0.2)
"""Printed: 2 and 0.2 for bounded rewards, 0.5 for Gaussian ones. The others are ours."""

UCB, LAPLACE, BERNOULLI = "UCB1", "LDP-UCB-L", "LDP-UCB-B"
SIGMOID_UCB, SIGMOID_LAPLACE, SIGMOID_BERNOULLI = "UCB1, sigmoid", "LDP-UCB-LS", "LDP-UCB-BS"


def at(label: str, epsilon: float) -> str:
    """The label of a curve: "LDP-UCB-L, ε = 2"."""
    return f"{label}, ε = {epsilon:g}"


def laplace_bound(epsilon: float) -> float:
    """(1 + 4/ε)², the published bound of LDP-UCB-L's regret over UCB1's."""
    return (1.0 + 4.0 / epsilon) ** 2


def bernoulli_bound(epsilon: float) -> float:
    """((e^ε + 1)/(e^ε - 1))², the same for LDP-UCB-B."""
    import math

    return 1.0 / math.tanh(epsilon / 2.0) ** 2


def bernoulli_arms() -> Environment:
    """Bits."""
    from ...arms import Bernoulli

    return Bernoulli(MEANS)


def mixed_arms() -> Environment:
    """Four distributions on [0, 1] with the same means."""
    from ...arms import Bernoulli, Beta, Mixed, TwoPoint, Uniform

    return Mixed(
        [
            Bernoulli(0.9), Beta([4.0] * 5, [1.0] * 5), TwoPoint([0.4] * 5, [1.0] * 5),
            Bernoulli([0.6] * 5), Uniform([0.0] * 4, [1.0] * 4),
        ]
    )  # fmt: skip


def gaussian_arms() -> Environment:
    """N(mean, 1)."""
    from ...arms import Gaussian

    return Gaussian(MEANS)


def bounded_curves(epsilons: tuple[float, ...], *, baseline: bool = True) -> dict[str, Policy]:
    """UCB1, and both private policies at every ε."""
    from ...policies import policy

    curves = {UCB: policy("ucb1")} if baseline else {}
    for epsilon in epsilons:
        curves[at(BERNOULLI, epsilon)] = policy("ldp-ucb-b", epsilon=epsilon)
        curves[at(LAPLACE, epsilon)] = policy("ldp-ucb-l", epsilon=epsilon)
    return curves


def unbounded_curves(epsilons: tuple[float, ...], *, baseline: bool = True) -> dict[str, Policy]:
    """The same with a sigmoid before everything."""
    from ...policies import policy

    curves = {SIGMOID_UCB: sigmoid_ucb()} if baseline else {}
    for epsilon in epsilons:
        curves[at(SIGMOID_BERNOULLI, epsilon)] = policy("ldp-ucb-bs", epsilon=epsilon)
        curves[at(SIGMOID_LAPLACE, epsilon)] = policy("ldp-ucb-ls", epsilon=epsilon)
    return curves


def respond_sigmoid(release: Scale, reward: float, rng: object) -> float:
    """1/(1+e^-r)."""
    return squash(reward, release.resolution)


@dataclass(frozen=True)
class SigmoidExact(Exact):
    """Exact means of the sigmoids of the rewards: no noise, no privacy."""

    name: ClassVar[str] = "sigmoid + exact"
    respond: ClassVar[Function | None] = staticmethod(respond_sigmoid)


def sigmoid_ucb() -> Policy:
    """UCB1 on sigmoids of the rewards."""
    from ...policies import EachRound, Policy
    from ...policies._ucb import UCB1

    return Policy(SIGMOID_UCB, EachRound(), SigmoidExact(), UCB1(), reference="ren2020")
