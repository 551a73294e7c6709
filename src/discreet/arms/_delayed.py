"""Rewards that arrive later: after a number of rounds, fixed or random, or at the end of a block.

>>> from discreet.arms._bernoulli import Bernoulli
>>> law = Delayed(Bernoulli([0.7, 0.5]), rounds=100)
>>> law.means, law.rounds, law.every
((0.7, 0.5), (100, 100), 1)

A reward of round t with delay d is known before round t + 1 + d is decided: d = 0 is no delay.
With `every` = B rewards are handed over together, in rounds B, 2B, …: batched feedback. Outcomes
that are still on their way at the horizon are never released. Which arm was played is known at
once. Delays are in rounds and have nothing to do with the reward or the arm; for days, deadlines,
missing outcomes and arms that run concurrently see `discreet.simulator.calendar`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import count
from discreet.arms._base import Environment, taken
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints

LONGEST = 10**7
"""Rounds that a reward can be on its way: so many are remembered."""


@dataclass(frozen=True, init=False)
class Delayed(Environment):
    """Rewards of another environment that arrive some rounds after they are earned.

    Args:
        environment: The environment of the rewards.
        rounds: The delay: a number, or (least, most) of a uniform delay.
        every: Rewards are delivered every so many rounds.

    Raises:
        InvalidArgument: If the rewards are late already, or the delay is not a whole number.

    Example:
        >>> import discreet
        >>> discreet.Delayed(discreet.Bernoulli([0.7, 0.5]), rounds=(50, 150)).rounds
        (50, 150)
    """

    name = "delayed"
    late = True
    environment: Environment
    rounds: tuple[int, int]
    every: int

    def __init__(
        self, environment: Environment, rounds: int | Sequence[int] = 0, every: int = 1
    ) -> None:
        if not isinstance(environment, Environment) or environment.late:
            raise InvalidArgument(
                "environment", "be an environment whose rewards are not late already", environment,
                "for example discreet.Bernoulli([0.7, 0.5])",
            )  # fmt: skip
        fix = "use for example rounds=100, or rounds=(50, 150)"
        both = rounds if isinstance(rounds, Sequence) else (rounds, rounds)
        if len(both) != 2:
            raise InvalidArgument("rounds", "be a number or (least, most)", rounds, fix)
        least, most = (count("rounds", value, least=0, most=LONGEST, fix=fix) for value in both)
        if least > most:
            raise InvalidArgument("rounds", "be given as (least, most)", rounds, fix)
        self._set(
            environment=environment,
            rounds=(least, most),
            means=environment.means,
            bounds=environment.bounds,
            limit=environment.limit,
            draw=environment.draw,
            steady=environment.steady,
            lost=environment.lost,
            every=count("every", every, most=LONGEST, fix="use for example every=100"),
        )

    def due(self, t: int, rng: Generator) -> int:
        """After how many rounds the reward of the t-th round is known."""
        least, most = self.rounds
        due = t + least
        if most > least:
            due += int(rng.random() * (most - least + 1))
        return -(-due // self.every) * self.every

    def start(self, rng: Generator) -> NamedTuple:
        """The environment's own."""
        return self.environment.start(rng)

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """The environment's own."""
        return self.environment.refill(state, rng)

    def standard(self, horizon: int) -> Floats | NamedTuple:
        """The environment's own."""
        return self.environment.standard(horizon)

    def ahead(self, t: Ints, horizon: int) -> Floats:
        """The environment's own."""
        return self.environment.ahead(t, horizon)

    def arranged(self, order: Sequence[int]) -> Delayed:
        """The environment inside, rearranged."""
        inside = self.environment.arranged(order)
        return self._changed(environment=inside, draw=inside.draw, means=taken(self.means, order))
