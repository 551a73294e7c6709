"""Rewards from any sampler: frozen scipy distributions or plain functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from discreet._checks import count, interval, number, numbers
from discreet.arms._base import Environment, taken
from discreet.arms._frozen import Frozen, clipped_mean, from_dict, is_frozen, support, to_dict
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from .._types import Json

Sample: TypeAlias = "Frozen | Callable[[Generator, int], object]"
"""What draws the rewards of an arm."""

# A distribution is shared by all runs and may hold the caller's generator while it draws (scipy's
# rvs restores an attribute): in parallel, runs could draw from each other's generators.
_ONE_AT_A_TIME = threading.Lock()
_SLACK = 1e-9  # of the range: rounding inside a sampler is clipped, anything more is refused


class Buffer(NamedTuple):
    """Rewards drawn ahead for every arm, and how many of them are used."""

    values: NDArray[float64]
    used: NDArray[int64]


def draw_buffer(state: Buffer, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """Sum of the next rewards of the arm; fewer than asked for when its buffer is empty."""
    first = state.used[arm]
    served = min(rounds, state.values.shape[1] - first)
    total = 0.0
    for i in range(first, first + served):
        total += state.values[arm, i]
    state.used[arm] = first + served
    return total, served


@dataclass(frozen=True, init=False)
class Sampler(Environment):
    """Any reward distribution: one sampler per arm, a frozen scipy distribution or a function.

    Args:
        samplers: For each arm a scipy-like distribution (`rvs`, `mean`, `support`), or a function
            `f(rng, size)` that returns an array.
        means: The means of the arms; functions need them.
        bounds: A range that holds every reward, for functions.
        buffer: Rewards that are drawn ahead for each arm.

    Raises:
        InvalidArgument: If a sampler is neither, or a mean is missing.

    Example:
        >>> import discreet
        >>> arms = [lambda rng, size: rng.random(size), lambda rng, size: rng.random(size) / 2]
        >>> discreet.Sampler(arms, means=[0.5, 0.25], bounds=(0.0, 1.0)).means
        (0.5, 0.25)
    """

    name = "sampler"
    draw = staticmethod(draw_buffer)
    samplers: tuple[Sample, ...]
    means: tuple[float, ...]
    bounds: tuple[float, float] | None
    buffer: int

    def __init__(
        self,
        samplers: Iterable[Sample],
        means: float | Sequence[float] | None = None,
        bounds: tuple[float, float] | None = None,
        buffer: int = 1024,
    ) -> None:
        each = _samplers(samplers)
        size = count("buffer", buffer, fix="pass for instance 1024")
        if means is None:
            true = tuple(_mean(i, sampler) for i, sampler in enumerate(each))
        else:
            true = numbers("means", means)
        if len(true) != len(each):
            raise InvalidArgument(
                "means", f"have {len(each)} entries", means, "pass one mean per sampler"
            )
        limits = interval("bounds", bounds) or _hull(each)
        self._set(samplers=each, means=true, bounds=limits, buffer=size)

    def start(self, rng: Generator) -> Buffer:
        """A full buffer."""
        import numpy as np

        full = np.full(self.arms, self.buffer, dtype=np.int64)
        state = Buffer(np.zeros((self.arms, self.buffer)), full)
        self.refill(state, rng)
        return state

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """Draw a new buffer for every arm that has used up its own."""
        assert isinstance(state, Buffer)
        for arm, sampler in enumerate(self.samplers):
            if state.used[arm] == self.buffer:
                state.values[arm] = self._checked(arm, sampler, rng)
                state.used[arm] = 0
        return True

    def clipped_means(self, low: float, high: float) -> tuple[float, ...]:
        """True means after clipping to [low, high]."""
        if self.bounds is not None and low <= self.bounds[0] and self.bounds[1] <= high:
            return self.means
        for i, sampler in enumerate(self.samplers):
            if not is_frozen(sampler):
                raise InvalidArgument(
                    f"samplers[{i}]",
                    "be a frozen distribution if it is to be clipped",
                    sampler,
                    "clip inside the function and pass the means after clipping",
                )
        return tuple(clipped_mean(each, low, high) for each in self.samplers if is_frozen(each))

    def arranged(self, order: Sequence[int]) -> Sampler:
        """The samplers in another order."""
        return self._changed(samplers=taken(self.samplers, order), means=taken(self.means, order))

    def to_dict(self) -> dict[str, object]:
        """Scipy distributions by name and parameters; other samplers by description only."""
        return {
            "environment": self.name,
            "samplers": [to_dict(sampler) for sampler in self.samplers],
            "means": list(self.means),
            "bounds": None if self.bounds is None else list(self.bounds),
            "buffer": self.buffer,
        }

    @classmethod
    def from_settings(cls, settings: Json) -> Sampler:
        """The environment with these settings, if all its samplers are scipy's."""
        samplers = [from_dict(sampler) for sampler in cast("list[Json]", settings["samplers"])]
        means, bounds = numbers("means", settings["means"]), interval("bounds", settings["bounds"])
        return cls(samplers, means, bounds, cast("int", settings["buffer"]))

    def _checked(self, arm: int, sampler: Sample, rng: Generator) -> NDArray[float64]:
        import numpy as np

        drawn: object
        if is_frozen(sampler):
            with _ONE_AT_A_TIME:
                drawn = sampler.rvs(size=self.buffer, random_state=rng)
        else:
            drawn = cast("Callable[[Generator, int], object]", sampler)(rng, self.buffer)
        argument = f"samplers[{arm}]"
        rule = f"return {self.buffer} finite numbers"
        try:
            values = np.asarray(drawn, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidArgument(argument, rule, drawn, "return an array of floats") from None
        if values.shape != (self.buffer,):
            fix = "return an array of `size` rewards"
            raise InvalidArgument(argument, rule, f"shape {values.shape}", fix)
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0].item()
            raise InvalidArgument(argument, rule, bad, "return neither NaN nor infinity")
        if self.bounds is None:
            return values
        low, high = self.bounds
        outside = np.maximum(low - values, values - high)
        worst = int(outside.argmax())
        if outside[worst] > _SLACK * (high - low):
            rule = f"stay within bounds = {self.bounds!r}"
            raise InvalidArgument(argument, rule, values[worst].item(), "widen bounds, or clip")
        return values.clip(low, high)


def _samplers(samplers: object) -> tuple[Sample, ...]:
    fix = "pass for instance [scipy.stats.beta(2, 3), scipy.stats.uniform()]"
    if not isinstance(samplers, Iterable) or isinstance(samplers, str):
        raise InvalidArgument("samplers", "be a sequence of samplers", samplers, fix)
    each = tuple(samplers)
    if not each:
        raise InvalidArgument("samplers", "hold at least one sampler", each, fix)
    for i, sampler in enumerate(each):
        if not is_frozen(sampler) and not callable(sampler):
            rule = "be a frozen distribution or a function f(rng, size)"
            raise InvalidArgument(f"samplers[{i}]", rule, sampler, fix)
    return each


def _mean(arm: int, sampler: Sample) -> float:
    fix = "pass means=[...], one true mean per arm"
    try:
        mean = sampler.mean() if is_frozen(sampler) else None
    except TypeError:  # an unfrozen distribution whose parameters are missing
        mean = None
    if mean is None:
        raise InvalidArgument(f"samplers[{arm}]", "have a known mean", sampler, fix)
    return number(f"mean of samplers[{arm}]", mean, fix=fix)


def _hull(samplers: tuple[Sample, ...]) -> tuple[float, float] | None:
    """The smallest range that holds every support; None if there is none."""
    ends = [support(sampler) for sampler in samplers if is_frozen(sampler)]
    low, high = min((e[0] for e in ends), default=0.0), max((e[1] for e in ends), default=0.0)
    known = len(ends) == len(samplers) and float("-inf") < low < high < float("inf")
    return (low, high) if known else None
