"""Rewards without a bound, made fit for a policy that needs [0, 1]: min(x, B)/B.

The guarantee is the policy's, whatever the rewards are: each is moved into [0, 1] before anything
is summed. What it costs is accuracy: **the policy ranks clipped means.** If E|X|^(1+v) <= u,
clipping at B lowers a mean by at most (u/B^v) v^v/(1+v)^(1+v), so arms whose means lie further
apart than that keep their order, and an arm whose mean sits in rare large values may lose its
place. B is declared in advance, from what is known without the data. Regret is measured on the
true means.

>>> law = Capped(pareto([0.9, 0.5], shape=1.55), at=1.0)
>>> law.means, law.bounds
((0.9, 0.5), (0.0, 1.0))

Reference: Tao et al. 2022, whose arms with a known moment these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import number, numbers, positive
from discreet.arms._base import Environment, taken
from discreet.arms._clipped import Clipped
from discreet.arms._sampler import Buffer, Sampler, draw_buffer
from discreet.arms._seen import Seen, fresh_seen, seen_by
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints


def pareto(means: Sequence[float], shape: float) -> Sampler:
    """Pareto arms with these means: P(X > x) = (c/x)^shape from c = mean (shape - 1)/shape on.

    Args:
        means: The mean reward of every arm.
        shape: How fast the tails fall; above 1.

    Returns:
        The environment.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.arms import pareto
        >>> pareto([1.0, 0.5], shape=3.0).arms
        2
    """
    from scipy import stats

    shape = number("shape", shape)
    if not shape > 1.0:
        raise InvalidArgument("shape", "be above 1, for a mean to exist", shape, "use shape=1.55")
    lows = [positive("means", mean, "give means above 0") for mean in numbers("means", means)]
    arms = [stats.pareto(shape, scale=mean * (shape - 1.0) / shape) for mean in lows]
    return Sampler(arms, lows)


def clipping_bias(moment: float, order: float, at: float) -> float:
    """(u/B^v) v^v/(1+v)^(1+v): the most that clipping at B lowers a mean, if E|X|^(1+v) <= u.

    E (X - B)^+ <= E[X^(1+v)] max over x > B of (x - B)/x^(1+v), which is at x = B(1+v)/v.

    Args:
        moment: u, the bound of the moment.
        order: v, the moment's order less 1.
        at: B, where rewards are clipped.

    Returns:
        The most that a mean falls.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.arms import clipping_bias
        >>> round(clipping_bias(1.0, 1.0, 5.0), 3)
        0.05
    """
    v = positive("order", order, "give v > 0 with E|X|^(1+v) <= u")
    u = positive("moment", moment, "give a bound on E|X|^(1+v)")
    bound = positive("at", at, "give the B that rewards are clipped at")
    return float(u / bound**v * v**v / (1.0 + v) ** (1.0 + v))


def clipping_level(moment: float, order: float, epsilon: float, outcomes: float) -> float:
    """The B that rewards from 0 on are best clipped at, from what is known without the data.

    It minimises how far the private mean of an arm may be from its true one, as bias and two
    standard deviations: `clipping_bias`, sqrt(V/n) and sqrt(2) B/(εn), V the largest second moment
    of min(X, B): u B^(1-v) for v <= 1, else u^(2/(1+v)). All are powers of B, so their sum is
    convex in log B.

    Args:
        moment: A bound u on E|X|^(1+v).
        order: v, above 0.
        epsilon: The budget, with Laplace noise on the sum of the arm's outcomes.
        outcomes: How many outcomes n an arm is expected to have.

    Returns:
        B, for `Capped(environment, at=B)` and `Outcomes(range=(0, B), truncate=True)`.

    Raises:
        InvalidArgument: If a number is not above 0.

    Example:
        >>> from discreet.arms import clipping_level
        >>> round(clipping_level(moment=5.0, order=0.9, epsilon=1.0, outcomes=1000), 1)
        33.4
    """
    v = positive("order", order, "give v > 0 with E|X|^(1+v) <= u")
    u = positive("moment", moment, "give a bound on E|X|^(1+v)")
    budget = positive("epsilon", epsilon, "use for example epsilon=1.0")
    n = positive("outcomes", outcomes, "say how many outcomes an arm is expected to have")

    def error(level: float) -> float:
        bound = math.exp(level)
        second = u * bound ** (1.0 - v) if v <= 1.0 else u ** (2.0 / (1.0 + v))
        noise = math.sqrt(2.0) * bound / (budget * n)
        return clipping_bias(u, v, bound) + math.sqrt(second / n) + noise

    middle = math.log(u) / (1.0 + v)  # of the size of the rewards themselves
    low, high = middle - 50.0, middle + 50.0
    while high - low > 1e-9:
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if error(left) < error(right):
            high = right
        else:
            low = left
    return math.exp(0.5 * (low + high))


@dataclass(frozen=True, init=False)
class Capped(Environment):
    """Rewards from 0 on, as a policy sees them: min(x, B) / B. Means and regret are those of x.

    Args:
        environment: The environment of the rewards x, such as `discreet.arms.pareto`.
        at: The bound B that rewards are clipped at.

    Raises:
        InvalidArgument: If rewards may be below 0, or come late.

    Example:
        >>> import discreet
        >>> discreet.Capped(discreet.Uniform([0, 0], [4, 2]), at=3.0).means
        (2.0, 1.0)
    """

    name = "capped"
    environment: Environment
    at: float

    def __init__(self, environment: Environment, at: float) -> None:
        if not isinstance(environment, Environment) or environment.late:
            raise InvalidArgument(
                "environment", "be an environment whose rewards are not late", environment,
                "use pareto(...); Delayed goes round Capped",
            )  # fmt: skip
        if environment.bounds is not None and environment.bounds[0] < 0.0:
            raise InvalidArgument(
                "environment", "have rewards from 0 on", environment.bounds, "shift them"
            )
        at = positive("at", at, "give the B that rewards are clipped at")
        draw = draw_buffer if isinstance(environment, Sampler) else seen_by(environment.draw)
        self._set(
            environment=environment,
            at=at,
            means=environment.means,
            bounds=(0.0, 1.0),
            draw=draw,
            limit=environment.limit,
            steady=environment.steady,
            lost=environment.lost,
        )

    @property
    def clipped_means(self) -> tuple[float, ...]:
        """What the policy ranks: E min(X, B)/B."""
        return tuple(mean / self.at for mean in Clipped(self.environment, 0.0, self.at).means)

    def standard(self, horizon: int) -> Floats | NamedTuple:
        """That of the rewards themselves."""
        return self.environment.standard(horizon)

    def ahead(self, t: Ints, horizon: int) -> Floats:
        return self.environment.ahead(t, horizon)

    def start(self, rng: Generator) -> Buffer | Seen:
        """A buffer of rewards as the policy sees them, or the environment's own state."""
        if not isinstance(self.environment, Sampler):
            return fresh_seen(self.environment.start(rng), 0.0, self.at, 1.0 / self.at)
        buffer = self.environment.start(rng)
        for arm in range(self.arms):
            self._see(buffer, arm)
        return buffer

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """More of them."""
        if isinstance(state, Seen):
            return self.environment.refill(state.inside, rng)
        assert isinstance(state, Buffer)
        assert isinstance(self.environment, Sampler)
        used = [arm for arm in range(self.arms) if state.used[arm] == self.environment.buffer]
        more = self.environment.refill(state, rng)
        for arm in used:  # the others are as the policy sees them already
            self._see(state, arm)
        return more

    def _see(self, buffer: Buffer, arm: int) -> None:
        buffer.values[arm] = buffer.values[arm].clip(0.0, self.at) / self.at

    def arranged(self, order: Sequence[int]) -> Capped:
        """The environment inside, rearranged."""
        environment = self.environment.arranged(order)
        if isinstance(environment, Sampler):
            return self._changed(environment=environment, means=taken(self.means, order))
        return Capped(environment, self.at)
