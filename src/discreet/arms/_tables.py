"""Rewards fixed in advance: the inputs of view and table differential privacy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import count, interval
from discreet.arms._base import Environment
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from .._types import Ints


class ListState(NamedTuple):
    """Reward of every round."""

    rewards: NDArray[float64]


class TableState(NamedTuple):
    """Reward of every round and arm."""

    rewards: NDArray[float64]


def draw_list(state: ListState, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """rewards[t] + … + rewards[t + n - 1], as far as the list goes."""
    served = max(0, min(rounds, state.rewards.size - t))
    total = 0.0
    for i in range(t, t + served):
        total += state.rewards[i]
    return total, served


def draw_table(
    state: TableState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """table[t, arm] + … + table[t + n - 1, arm], as far as the table goes."""
    served = max(0, min(rounds, state.rewards.shape[0] - t))
    total = 0.0
    for i in range(t, t + served):
        total += state.rewards[i, arm]
    return total, served


class TableStandard(NamedTuple):
    """The table, and the column of the best fixed arm."""

    rewards: NDArray[float64]
    best: NDArray[float64]


def lost_table(standard: TableStandard, arm: int, t: int, rounds: int) -> float:
    """What the best fixed arm got in these rounds, less what this one did."""
    total = 0.0
    for i in range(t, t + rounds):
        total += standard.best[i] - standard.rewards[i, arm]
    return total


@dataclass(frozen=True, init=False)
class RewardList(Environment):
    """A recorded list of rewards: the reward of round t is rewards[t], whatever the arm.

    `bounds` are declared and not read off the list, so that neighbouring lists share them.

    Args:
        rewards: The reward of every round.
        arms: The number of arms.
        bounds: A range that holds every reward; None if there is none.

    Raises:
        InvalidArgument: If a reward is outside of the bounds.

    Example:
        >>> import discreet
        >>> discreet.RewardList([1.0, 0.0, 1.0], arms=2).limit
        3
    """

    name = "reward-list"
    draw = staticmethod(draw_list)
    rewards: tuple[float, ...] = field(repr=False)
    means: tuple[float, ...]
    bounds: tuple[float, float] | None

    def __init__(
        self,
        rewards: Sequence[float] | NDArray[float64],
        arms: int,
        bounds: tuple[float, float] | None = (0.0, 1.0),
    ) -> None:
        limits = interval("bounds", bounds)
        array = _array("rewards", rewards, 1, limits)
        held = count("arms", arms, fix="pass the number of arms")
        means = (float(array.mean()),) * held
        self._set(rewards=tuple(array.tolist()), means=means, bounds=limits, limit=array.size)

    @cached_property
    def _array(self) -> NDArray[float64]:
        return _array("rewards", self.rewards, 1, None)

    def start(self, rng: Generator) -> ListState:
        """The list; runs share it, and none writes to it."""
        return ListState(self._array)

    def clipped(self, low: float, high: float) -> RewardList:
        """The same with every reward moved into a range."""
        return RewardList(self._array.clip(low, high), self.arms, (low, high))

    def arranged(self, order: Sequence[int]) -> RewardList:
        """Itself: all arms are alike."""
        return self

    def to_dict(self) -> dict[str, object]:
        """All rewards, the number of arms and the bounds."""
        settings = super().to_dict()
        del settings["means"]
        return settings | {"arms": self.arms}


@dataclass(frozen=True, init=False)
class RewardTable(Environment):
    """A recorded table of rewards: the reward of round t and arm a is table[t, a].

    `bounds` are declared and not read off the table, as in `RewardList`.

    Regret is held against the rewards of the best fixed arm up to the horizon.

    Args:
        table: The rewards of all arms, for every round. A generator may produce them: the sequence
            of an adversary, stored before the policy plays.
        bounds: A range that holds every reward; None if there is none.

    Raises:
        InvalidArgument: If a reward is outside of the bounds.

    Example:
        >>> import discreet
        >>> discreet.RewardTable([[1.0, 0.0], [0.0, 0.0]]).means
        (0.5, 0.0)
    """

    name = "reward-table"
    draw = staticmethod(draw_table)
    lost = staticmethod(lost_table)
    steady = False
    table: tuple[tuple[float, ...], ...] = field(repr=False)
    bounds: tuple[float, float] | None

    def __init__(
        self,
        table: Sequence[Sequence[float]] | Iterator[Sequence[float]] | NDArray[float64],
        bounds: tuple[float, float] | None = (0.0, 1.0),
    ) -> None:
        limits = interval("bounds", bounds)
        rewards = list(table) if isinstance(table, Iterator) else table
        array = _array("table", rewards, 2, limits)
        rows = tuple(tuple(row) for row in array.tolist())
        means = tuple(float(mean) for mean in array.mean(axis=0))
        self._set(table=rows, means=means, bounds=limits, limit=len(rows))

    @cached_property
    def _array(self) -> NDArray[float64]:
        return _array("table", self.table, 2, None)

    def start(self, rng: Generator) -> TableState:
        """The table; runs share it, and none writes to it."""
        return TableState(self._array)

    def best_fixed(self, horizon: int) -> int:
        """The arm whose rewards sum to most in so many rounds."""
        return int(self._array[:horizon].sum(axis=0).argmax())

    def standard(self, horizon: int) -> TableStandard:
        return TableStandard(self._array, self._array[:, self.best_fixed(horizon)].copy())

    def ahead(self, t: Ints, horizon: int) -> NDArray[float64]:
        import numpy as np

        gain = self._array.max(axis=1) - self._array[:, self.best_fixed(horizon)]
        summed: NDArray[float64] = np.concatenate([[0.0], np.cumsum(gain)])[np.asarray(t)]
        return summed

    def clipped(self, low: float, high: float) -> RewardTable:
        """The same with every reward moved into a range."""
        return RewardTable(self._array.clip(low, high), (low, high))

    def arranged(self, order: Sequence[int]) -> RewardTable:
        """The columns in another order."""
        return RewardTable(self._array[:, list(order)], self.bounds)


def _array(
    argument: str, values: ArrayLike, dimensions: int, bounds: tuple[float, float] | None
) -> NDArray[float64]:
    import numpy as np

    rule = f"be {'a list' if dimensions == 1 else 'a table (rounds × arms)'} of finite numbers"
    fix = "pass rewards[t]" if dimensions == 1 else "pass table[t][arm], one list per round"
    try:
        raw = np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        raise InvalidArgument(argument, rule, values, fix) from None
    if raw.dtype.kind not in "biuf":
        raise InvalidArgument(argument, rule, values, fix)
    if raw.ndim != dimensions or raw.size == 0:
        raise InvalidArgument(argument, rule, f"shape {raw.shape}", fix)
    array = np.array(raw, dtype=np.float64, order="C")
    bad = ~np.isfinite(array)
    if bounds is not None and not bad.any():
        bad = (array < bounds[0]) | (array > bounds[1])
        rule, fix = f"stay within bounds = {bounds!r}", "clip the rewards, or declare their bounds"
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"{argument}[{', '.join(map(str, place))}]"
        raise InvalidArgument(where, rule, array[place].item(), fix)
    return array
