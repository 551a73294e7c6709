"""Linear rows: what they release on two neighbouring streams of participants.

Two actions of two features a round, and a reward a round whichever is taken. With public contexts
the sides differ in one reward; with private ones in a whole participant, features and reward, whose
own arm is then not seen (joint privacy).

>>> import discreet.linear as linear
>>> runs = LinearRuns(linear.policy("adac-oful", rho=0.5))
>>> print(runs.inputs)
4 participants, one of whom, number 1, is ((1, 0), 1) or ((1, 0), -1)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..compiled import Kernel
from ..errors import InvalidArgument
from ..linear.loop import choose, collect, follow, publish, update
from ..linear.row import LinearPolicy, RoundPolicy
from ..linear.view import LinearSetting, LinearView
from ..privacy.source import SIMULATED
from .transcripts import ABSENT, Buffers, Transcripts, in_buffers

if TYPE_CHECKING:
    from numpy.random import Generator

ARMS, DIMENSION = 2, 2
Participant = tuple[tuple[float, float], float]
"""Features, the same for both arms, and a reward."""
PUBLIC: tuple[tuple[Participant, Participant], ...] = (
    (((1.0, 0.0), 1.0), ((1.0, 0.0), -1.0)),
    (((0.6, 0.8), 1.0), ((0.6, 0.8), -1.0)),
)
PRIVATE: tuple[tuple[Participant, Participant], ...] = (
    (((0.6, 0.8), 1.0), ((0.6, -0.8), -1.0)),
    (((1.0, 0.0), 1.0), ((0.0, 1.0), -1.0)),
    (((1.0, 0.0), 1.0), ((1.0, 0.0), -1.0)),
)


class Stream(NamedTuple):
    """The actions of every round, flat, its reward, and the round whose arm is not seen, or -1."""

    actions: Any
    rewards: Any
    hidden: int


def play_stream(
    stream: Stream, schedule: Any, release: Any, rule: Any, ledger: Any, view: LinearView,
    buffers: Buffers, arms: int, codes: Any, numbers: Any, rng: Any,
) -> None:  # fmt: skip
    """As many transcripts as `codes` has room for: the loop of `linear.loop`, written down."""
    rounds, width = len(stream.rewards), numbers.shape[2]
    dimension = len(view.noisy)
    for number in range(len(codes)):
        for i in range(len(buffers.floats)):
            buffers.floats[i] = buffers.clean_floats[i]
        for i in range(len(buffers.integers)):
            buffers.integers[i] = buffers.clean_integers[i]
        released, code = 0, 0
        for t in range(rounds):
            actions = stream.actions[t]
            arm = choose(rule, view, actions, arms, dimension, rng)
            if t != stream.hidden:
                code = code * arms + arm
            start = arm * dimension
            collect(release, ledger, actions, start, stream.rewards[t], dimension)
            if follow(schedule, view, actions, start, dimension):
                publish(release, ledger, view, dimension, rng)
                update(rule, view, dimension)
                for i in range(dimension):
                    numbers[number, released, i] = view.noisy[i]
                place = dimension
                for i in range(dimension):
                    for j in range(i, dimension):
                        if place < width:
                            numbers[number, released, place] = view.matrix[i * dimension + j]
                            place += 1
                released += 1
        codes[number] = code
        for later in range(released, rounds):
            for i in range(width):
                numbers[number, later, i] = ABSENT


@lru_cache(maxsize=64)
def stream_kernel(policy: RoundPolicy) -> Kernel:
    """The loop above with a policy filled in."""
    release = policy.release
    return Kernel(
        play_stream,
        choose=policy.rule.choose,
        update=policy.rule.update,
        follow=policy.schedule.follow,
        collect=release.kernel(release.collect, SIMULATED),
        publish=release.kernel(release.publish, SIMULATED),
    )


@dataclass(frozen=True)
class LinearRuns:
    """Transcripts of a linear row: the arms of others, and every noisy sum that is released."""

    policy: RoundPolicy
    pair: tuple[Participant, Participant] = PUBLIC[0]
    place: int = 0
    horizon: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.place < self.horizon:
            raise InvalidArgument("place", f"be from 0 to {self.horizon - 1}", self.place, "use 0")

    @property
    def inputs(self) -> str:
        one, other = (f"(({z[0]:g}, {z[1]:g}), {r:g})" for z, r in self.pair)
        who = f"number {self.place + 1}"
        return f"{self.horizon} participants, one of whom, {who}, is {one} or {other}"

    @property
    def codes(self) -> int:
        return int(ARMS**self.horizon)

    @property
    def width(self) -> int:
        """Numbers of one release: Σ a r, and with private contexts the noisy Σ a a'."""
        private = self.policy.release.private_contexts
        return DIMENSION + (DIMENSION * (DIMENSION + 1) // 2 if private else 0)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"entry {entry + 1} of release {number + 1}"
            for number in range(self.horizon)
            for entry in range(self.width)
        )

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        import numpy as np

        policy = self.policy
        setting = LinearSetting(ARMS, DIMENSION, self.horizon)
        others = [1.0, 0.0, 0.0, 1.0]
        actions = np.tile(np.array(others), (self.horizon, 1))
        rewards = np.zeros(self.horizon)
        features, rewards[self.place] = self.pair[side]
        actions[self.place] = [*features, *features]
        private = policy.release.private_contexts
        (ledger, view), buffers = in_buffers(
            policy.release.ledger(setting), policy.rule.first_view(setting)
        )
        codes = np.zeros(count, np.int64)
        numbers = np.zeros((count, self.horizon, self.width))
        arguments = (
            Stream(actions, rewards, self.place if private else -1),
            policy.schedule.parameters(setting), policy.release.parameters(setting),
            policy.rule.parameters(setting), ledger, view, buffers, ARMS, codes, numbers, rng,
        )  # fmt: skip
        stream_kernel(policy).cached(*arguments)(*arguments)
        return Transcripts(codes, numbers.reshape(count, -1))


def streams(policy: LinearPolicy, horizon: int | None = None) -> list[LinearRuns]:
    """Inputs to search: several pairs of participants, early and late, short and longer streams."""
    if not isinstance(policy, RoundPolicy):
        raise InvalidArgument(
            "policy", "release round by round", policy.name,
            "rows that play in phases are not audited; audit adac-oful, private-linucb, "
            "private-lints or jdp-linucb",
        )  # fmt: skip
    pairs = PRIVATE if policy.release.private_contexts else PUBLIC
    return [
        LinearRuns(policy, pair, place, rounds)
        for rounds in ((1, 4, 8) if horizon is None else (horizon,))
        for place in sorted({0, rounds // 2})
        for pair in pairs
    ]
