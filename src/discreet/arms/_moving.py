"""Means that change: in jumps (`Switching`), or little by little (`Drifting`).

>>> law = Switching([[0.9, 0.1], [0.1, 0.9]], at=[0, 1000])
>>> law.best_fixed(1500), law.best_fixed(2500)
(0, 1)
>>> law.ahead([1000, 1500], horizon=1500).tolist()
[0.0, 400.0]

Rewards are Bernoulli and independent of what is played. Regret is held against the best fixed arm,
the one whose means sum to most over the whole horizon; `Result.moving_regret` against the best arm
of every round. The two differ by `ahead`, which no policy changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import count, numbers
from discreet._checks import rounds as whole_number
from discreet.arms._base import Environment, taken
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray


class MovingState(NamedTuple):
    """The first round of every stretch, and the success probabilities in it."""

    since: NDArray[int64]
    p: NDArray[float64]


class MovingStandard(NamedTuple):
    """The same, with the mean of the best fixed arm in every stretch."""

    since: NDArray[int64]
    p: NDArray[float64]
    best: NDArray[float64]


def stretch_of(since: NDArray[int64], t: int) -> int:
    """The stretch that round t lies in."""
    low, high = 0, len(since)
    while high - low > 1:
        middle = (low + high) // 2
        if since[middle] <= t:
            low = middle
        else:
            high = middle
    return low


def draw_moving(
    state: MovingState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """A binomial draw for every stretch that the batch meets."""
    place, now, end, total = stretch_of(state.since, t), t, t + rounds, 0.0
    while now < end:
        until = end
        if place + 1 < len(state.since):
            until = min(end, state.since[place + 1])
        if until - now == 1:
            total += 1.0 if rng.random() < state.p[place, arm] else 0.0
        else:
            total += rng.binomial(until - now, state.p[place, arm])
        now = until
        place += 1
    return total, rounds


def lost_moving(standard: MovingStandard, arm: int, t: int, rounds: int) -> float:
    """What the best fixed arm's means sum to in these rounds, less those of the arm."""
    place, now, end, total = stretch_of(standard.since, t), t, t + rounds, 0.0
    while now < end:
        until = end
        if place + 1 < len(standard.since):
            until = min(end, standard.since[place + 1])
        total += (standard.best[place] - standard.p[place, arm]) * (until - now)
        now = until
        place += 1
    return total


class Moving(Environment):
    """Bernoulli rewards whose means are constant in each of some stretches of rounds."""

    draw = staticmethod(draw_moving)
    lost = staticmethod(lost_moving)
    steady = False
    bounds = (0.0, 1.0)
    since: tuple[int, ...]
    stretches: tuple[tuple[float, ...], ...]

    def start(self, rng: Generator) -> MovingState:
        """The stretches; nothing changes during a run."""
        return MovingState(*self._arrays())

    def _arrays(self) -> tuple[NDArray[int64], NDArray[float64]]:
        import numpy as np

        return np.array(self.since, np.int64), np.array(self.stretches)

    def _rounds(self, horizon: int) -> NDArray[int64]:
        """How many rounds of every stretch lie before the horizon."""
        import numpy as np

        ends = np.append(np.array(self.since[1:], np.int64), horizon)
        rounds: NDArray[int64] = np.minimum(ends, horizon) - np.array(self.since, np.int64)
        return np.maximum(rounds, 0)

    def best_fixed(self, horizon: int) -> int:
        """The arm whose means sum to most over so many rounds."""
        _, means = self._arrays()
        return int((self._rounds(horizon) @ means).argmax())

    def standard(self, horizon: int) -> MovingStandard:
        since, means = self._arrays()
        return MovingStandard(since, means, means[:, self.best_fixed(horizon)].copy())

    def ahead(self, t: NDArray[int64], horizon: int) -> NDArray[float64]:
        import numpy as np

        _, means = self._arrays()
        gain = means.max(axis=1) - means[:, self.best_fixed(horizon)]
        return np.array([float(self._rounds(int(rounds)) @ gain) for rounds in t])

    def arranged(self, order: Sequence[int]) -> Moving:
        """The columns in another order."""
        return self._changed(
            means=taken(self.means, order),
            stretches=tuple(taken(stretch, order) for stretch in self.stretches),
        )


@dataclass(frozen=True, init=False)
class Switching(Moving):
    """Rewards of 0 and 1 whose means jump: from round `at[j]` on they are `stretches[j]`.

    The first round is 0. The last means stay.

    Args:
        stretches: The success probabilities of all arms, for every stretch.
        at: The first round of every stretch, 0 first.

    Raises:
        InvalidArgument: If they do not fit together.

    Example:
        >>> import discreet
        >>> discreet.Switching([[0.7, 0.5], [0.4, 0.6]], at=[0, 500]).at
        (0, 500)
    """

    name = "switching"
    stretches: tuple[tuple[float, ...], ...]
    at: tuple[int, ...]

    def __init__(self, stretches: Sequence[Sequence[float]], at: Sequence[int]) -> None:
        fix = "pass the means of every arm for each stretch, such as [[0.9, 0.1], [0.1, 0.9]]"
        if not isinstance(stretches, Sequence) or not len(stretches):
            raise InvalidArgument("stretches", "hold the means of each", stretches, fix)
        each = tuple(
            numbers(f"stretches[{j}]", means, low=0.0, high=1.0, fix=fix)
            for j, means in enumerate(stretches)
        )
        if len({len(means) for means in each}) > 1:
            raise InvalidArgument(
                "stretches", "have the same arms", [len(means) for means in each], fix
            )
        fix = "for example at=[0, 1000]"
        firsts = numbers("at", at, low=0.0, fix=fix)
        since = tuple(whole_number(x, argument="at", least=0, fix=fix) for x in firsts)
        if len(since) != len(each) or since[0] != 0 or any(a >= b for a, b in pairwise(since)):
            rule = "name the first round of each stretch, 0 first, and rise"
            raise InvalidArgument("at", rule, list(since), fix)
        self._set(stretches=each, at=since, since=since, means=each[-1])


@dataclass(frozen=True, init=False)
class Drifting(Moving):
    """Rewards of 0 and 1 whose means move from `first` to `last` in equal steps, and then stay.

    Step j of n has the means first + (last - first) (j + 1/2) / n, those in its middle.

    Args:
        first: The success probability of every arm at the start.
        last: The same at the end.
        rounds: How long the drift takes.
        steps: How many steps it has.

    Raises:
        InvalidArgument: If the two differ in their arms, or a number is out of range.

    Example:
        >>> import discreet
        >>> discreet.Drifting([0.7, 0.5], [0.5, 0.7], rounds=1_000).steps
        100
    """

    name = "drifting"
    first: tuple[float, ...]
    last: tuple[float, ...]
    rounds: int
    steps: int = field(default=100)

    def __init__(
        self, first: Sequence[float], last: Sequence[float], rounds: float, steps: int = 100
    ) -> None:
        fix = "pass one success probability per arm"
        low = numbers("first", first, low=0.0, high=1.0, fix=fix)
        high = numbers("last", last, low=0.0, high=1.0, fix=fix)
        if len(low) != len(high):
            raise InvalidArgument("last", f"have {len(low)} arms, as first has", list(high), fix)
        first_to_last = whole_number(rounds, argument="rounds", fix="use for example 1e5")
        whole = count("rounds", first_to_last, most=10**15)
        many = count("steps", steps, most=min(whole, 10**6))
        shares = [(step + 0.5) / many for step in range(many)]
        stretches = [
            tuple(a + (b - a) * share for a, b in zip(low, high, strict=True)) for share in shares
        ]
        since = tuple(whole * step // many for step in range(many + 1))
        self._set(
            first=low, last=high, rounds=whole, steps=many, since=since,
            stretches=(*stretches, high), means=high,
        )  # fmt: skip
