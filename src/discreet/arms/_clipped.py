"""An environment made bounded: each reward is clipped to [low, high].

Means, and so regret, are those after clipping; `Capped` keeps those of the rewards themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from discreet._checks import number, numbers
from discreet.arms._base import BETA, GAUSSIAN, TWO_POINT, Environment, Parametric, Part, taken
from discreet.arms._mixed import table_of
from discreet.arms._sampler import Buffer, Sampler, draw_buffer
from discreet.arms._seen import Seen, fresh_seen, seen_by
from discreet.arms._tables import RewardList, RewardTable
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from .._types import Floats, Ints


class ClippedState(NamedTuple):
    """Family and parameters of every arm, as in `Part`, and the range."""

    family: NDArray[int64]
    x: NDArray[float64]
    y: NDArray[float64]
    z: NDArray[float64]
    low: float
    high: float


def draw_clipped(
    state: ClippedState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of min(max(reward, low), high) over n rewards."""
    family, x, y = state.family[arm], state.x[arm], state.y[arm]
    total = 0.0
    if family == TWO_POINT:  # both points are clipped by `start`
        hits = rng.binomial(rounds, state.z[arm])
        return x * (rounds - hits) + y * hits, rounds
    for _ in range(rounds):
        if family == GAUSSIAN:
            reward = rng.normal(x, y)
        elif family == BETA:
            reward = rng.beta(x, y)
        else:
            reward = x + (y - x) * rng.random()
        total += min(max(reward, state.low), state.high)
    return total, rounds


@dataclass(frozen=True, init=False)
class Clipped(Environment):
    """Rewards of another environment, clipped to [low, high].

    Policies for bounded rewards take them. Means and regret are those after clipping.

    Args:
        environment: The environment whose rewards are clipped.
        low: The smallest reward.
        high: The largest reward.
        means: The means after clipping, where they cannot be computed.

    Raises:
        InvalidArgument: If low is not below high, or the means are needed and missing.

    Example:
        >>> import discreet
        >>> discreet.Clipped(discreet.Gaussian([0.5, 0.5], sd=1.0)).bounds
        (0.0, 1.0)
    """

    name = "clipped"
    environment: Environment
    low: float
    high: float

    def __init__(
        self,
        environment: Environment,
        low: float = 0.0,
        high: float = 1.0,
        means: Sequence[float] | None = None,
    ) -> None:
        low, high = number("low", low), number("high", high)
        if not low < high:
            raise InvalidArgument("low", f"be below high = {high!r}", low, "swap low and high")
        if not isinstance(environment, Environment) or environment.late:
            raise InvalidArgument(
                "environment",
                "be an environment whose rewards are not late",
                environment,
                "Delayed goes round Clipped",
            )
        known: tuple[float, ...] | None = None
        inner, draw = environment, cast("Any", environment.draw)
        if isinstance(environment, Parametric):
            known, draw = (
                tuple(clipped_mean(part, low, high) for part in environment.parts()),
                draw_clipped,
            )
        elif isinstance(environment, Sampler):
            known, draw = environment.clipped_means(low, high), draw_buffer
        elif (
            environment.bounds is not None
            and low <= environment.bounds[0]
            and environment.bounds[1] <= high
        ):
            known = environment.means  # nothing is beyond the range
        elif isinstance(environment, RewardList | RewardTable):
            inner = environment.clipped(low, high)
            known, draw = inner.means, inner.draw
        else:
            draw = seen_by(environment.draw)
        if known is None and not environment.steady:
            raise InvalidArgument(
                "environment", "have means that stay, for clipping to change them", environment,
                "widen the range, or clip its rewards in advance",
            )  # fmt: skip
        if known is None and means is None:
            raise InvalidArgument(
                "means", "be given: those of this environment are unknown after clipping", None,
                "pass means=[...], one per arm",
            )  # fmt: skip
        if known is not None and means is not None:
            raise InvalidArgument("means", "be left out: they are known", means, "leave them out")
        given = () if means is None else numbers("means", means, low=low, high=high)
        if means is not None and len(given) != environment.arms:
            raise InvalidArgument("means", f"have {environment.arms} entries", given, "one per arm")
        self._set(
            environment=environment,
            low=low,
            high=high,
            means=known or given,
            bounds=(low, high),
            draw=draw,
            limit=environment.limit,
            steady=environment.steady,
            lost=environment.lost,
            given=given,
            inner=inner,
        )

    given: ClassVar[tuple[float, ...]]
    """means that had to be said"""
    inner: ClassVar[Environment]
    """the environment that is drawn from"""

    def standard(self, horizon: int) -> Floats | NamedTuple:
        """Of the clipped rewards."""
        return super().standard(horizon) if self.steady else self.inner.standard(horizon)

    def ahead(self, t: Ints, horizon: int) -> Floats:
        return self.inner.ahead(t, horizon)

    def to_dict(self) -> dict[str, object]:
        """The settings; means only where they had to be said."""
        return super().to_dict() | ({"means": list(self.given)} if self.given else {})

    def start(self, rng: Generator) -> NamedTuple:
        """The parameters, a buffer of clipped rewards, or the environment's own state."""
        if isinstance(self.environment, Parametric):
            parts = (_clip_points(part, self.low, self.high) for part in self.environment.parts())
            return ClippedState(*table_of(parts), self.low, self.high)
        if not isinstance(self.environment, Sampler):
            inside = self.inner.start(rng)
            return fresh_seen(inside, self.low, self.high) if self.given else inside
        buffer = self.environment.start(rng)
        buffer.values.clip(self.low, self.high, out=buffer.values)
        return buffer

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """More clipped rewards."""
        if isinstance(state, Seen):
            return self.environment.refill(state.inside, rng)
        more = self.inner.refill(state, rng)
        if more and isinstance(state, Buffer):
            state.values.clip(self.low, self.high, out=state.values)
        return more

    def arranged(self, order: Sequence[int]) -> Clipped:
        """The environment inside, rearranged."""
        environment = self.environment.arranged(order)
        if isinstance(environment, Parametric | Sampler):  # whose means would be computed again
            return self._changed(
                environment=environment, inner=environment, means=taken(self.means, order)
            )
        return Clipped(
            environment, self.low, self.high, taken(self.given, order) if self.given else None
        )


def clipped_mean(part: Part, low: float, high: float) -> float:
    """E min(max(X, low), high) = low P(X < low) + E[X; low <= X <= high] + high P(X > high)."""
    family, x, y, z = part
    if family == TWO_POINT:
        _, x, y, _ = _clip_points(part, low, high)
        return x * (1.0 - z) + y * z
    if family == GAUSSIAN:
        mean = _gaussian(x, y, low, high)
    elif family == BETA:
        mean = _beta(x, y, low, high)
    else:
        mean = _uniform(x, y, low, high)
    return min(max(mean, low), high)  # rounding must not leave the range


def _clip_points(part: Part, low: float, high: float) -> Part:
    if part.family != TWO_POINT:
        return part
    return part._replace(x=min(max(part.x, low), high), y=min(max(part.y, low), high))


def _gaussian(mean: float, sd: float, low: float, high: float) -> float:
    """With α = (low - μ)/σ, β = (high - μ)/σ: E = low + σ (I(β) - I(α)), I(x) = ∫ up to x of 1 - Φ.

    I(x) = x (1 - Φ(x)) - φ(x) up to a constant.
    """

    def primitive(x: float) -> float:
        tail = 0.5 * math.erfc(x / math.sqrt(2.0))
        return x * tail - math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    return low + sd * (primitive((high - mean) / sd) - primitive((low - mean) / sd))


def _beta(a: float, b: float, low: float, high: float) -> float:
    """E[X; X <= x] = a/(a+b) Iₓ(a + 1, b), with I the regularised incomplete beta function."""
    if low <= 0.0 and high >= 1.0:
        return a / (a + b)
    from scipy.special import betainc

    below, above = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    inside = float(betainc(a + 1.0, b, above) - betainc(a + 1.0, b, below)) * a / (a + b)
    return float(low * betainc(a, b, below) + inside + high * (1.0 - betainc(a, b, above)))


def _uniform(x: float, y: float, low: float, high: float) -> float:
    """A constant if x = y; else the pieces below, inside and above, by their lengths."""
    if x == y:
        return x
    left, right = min(max(low, x), y), min(max(high, x), y)
    inside = 0.5 * (right - left) * (right + left)
    return (low * (left - x) + inside + high * (y - right)) / (y - x)
