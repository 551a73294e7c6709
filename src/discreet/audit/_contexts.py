"""Linear policies: what they release on two neighbouring streams of participants.

Two actions of two features a round, and a reward a round whichever is taken. With public contexts
the sides differ in one reward; with private ones in a whole participant, features and reward, whose
own arm is then not seen (joint privacy). Where each arm has its own block of features, a block
is one feature. A stream is as long as it takes until something is released.

>>> import discreet.linear as linear
>>> runs = LinearRuns(linear.policy("adac-oful", rho=0.5))
>>> print(runs.inputs)
4 participants, one of whom, number 1, is ((1, 0), 1) or ((1, 0), -1)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from .._compiled import Kernel
from ..errors import InvalidArgument
from ..linear._loop import choose, collect, follow, publish, slots_of, update
from ..linear._row import LinearPolicy, RoundPolicy
from ..linear._view import LinearSetting, LinearView
from ..policies._step import parts_of
from ._transcripts import ABSENT, Buffers, Transcripts, forget, in_buffers

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints
    from ..linear._batches import Batches

ARMS, DIMENSION = 2, 2
SEEN = 8
"""Arms of a transcript, the last ones: what was released stands before them."""
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
    """The actions of every round, flat, its reward, the round that differs, and whether its arm is
    not seen."""

    actions: Floats
    rewards: Floats
    place: int
    hidden: bool
    entries: Ints
    """of the released matrix, those that are stored"""


def play_stream(
    stream: Stream, schedule: object, release: object, rule: object, ledger: object,
    view: LinearView,
    buffers: Buffers, arms: int, codes: Ints, numbers: Floats, rng: Generator,
) -> None:  # fmt: skip
    """As many transcripts as `codes` has room for: the loop of `linear.loop`, stored."""
    rounds, dimension, codes_in_all = len(stream.rewards), len(view.noisy), arms**SEEN
    for number in range(len(codes)):
        forget(buffers)
        released, code, own = 0, 0, -1
        for t in range(rounds):
            actions = stream.actions[t]
            arm = choose(rule, view, actions, arms, dimension, rng)
            start = arm * dimension
            if t != stream.place or not stream.hidden:
                code = (code * arms + arm) % codes_in_all
            if t == stream.place:
                own = start
            collect(release, ledger, actions, start, stream.rewards[t], dimension)
            if follow(schedule, view, actions, start, dimension):
                publish(release, ledger, view, dimension, rng)
                update(rule, view, dimension)
                for i in range(dimension):
                    numbers[number, released, i] = view.noisy[i]
                for i in range(len(stream.entries)):
                    numbers[number, released, dimension + i] = view.matrix[stream.entries[i]]
                if not stream.hidden:
                    along = 0.0
                    for i in range(dimension if own >= 0 else 0):
                        along += stream.actions[stream.place, own + i] * view.noisy[i]
                    numbers[number, released, dimension] = along
                released += 1
        codes[number] = code
        for later in range(released, numbers.shape[1]):
            for i in range(numbers.shape[2]):
                numbers[number, later, i] = ABSENT


@lru_cache(maxsize=64)
def stream_kernel(policy: RoundPolicy) -> Kernel:
    """The loop above with a policy filled in."""
    return Kernel(play_stream, choose=policy.rule.choose, **slots_of(policy))


@dataclass(frozen=True)
class LinearRuns:
    """Transcripts of a linear policy: the arms of others, and every noisy sum that is released."""

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
        return int(ARMS ** min(self.horizon, SEEN))

    @property
    def entries(self) -> list[int]:
        """Of Σ a a', which is released where contexts are private: its upper triangle, or with
        blocks of one feature all that there is."""
        if not self.policy.release.private_contexts:
            return []
        if is_in_blocks(self.policy):
            return list(range(ARMS))
        return [i * DIMENSION + j for i in range(DIMENSION) for j in range(i, DIMENSION)]

    @property
    def width(self) -> int:
        """Numbers of one release: Σ a r, and with private contexts the noisy Σ a a', with public
        ones Σ a r along the action that the one who differs has got: their arm is a coin's, and
        seen."""
        return DIMENSION + (len(self.entries) if self.policy.release.private_contexts else 1)

    @cached_property
    def releases(self) -> int:
        """How often something is released at most: of batches with known ends, as in one walk."""
        if not self.policy.schedule.known_ends:
            return self.horizon
        seen = self._played(0, 1, np.random.Generator(np.random.SFC64(0)), self.horizon)[1][0]
        return int((seen[:, 0] != ABSENT).sum())

    @property
    def names(self) -> tuple[str, ...]:
        private = self.policy.release.private_contexts
        entries = [f"entry {entry + 1}" for entry in range(DIMENSION + len(self.entries))]
        own = [] if private else [f"what is along the action of number {self.place + 1}"]
        return tuple(
            f"{entry} of release {number + 1}"
            for number in range(self.releases)
            for entry in entries + own
        )

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        codes, numbers = self._played(side, count, rng, self.releases)
        return Transcripts(codes, numbers.reshape(count, -1))

    def _played(self, side: int, count: int, rng: Generator, room: int) -> tuple[Ints, Floats]:
        """Arms and releases of so many transcripts, with room for so many releases in each."""
        policy = self.policy
        setting = LinearSetting(ARMS, DIMENSION, self.horizon)
        others = [1.0, 0.0, 0.0, 1.0]
        actions = np.tile(np.array(others), (self.horizon, 1))
        rewards = np.zeros(self.horizon)
        features, rewards[self.place] = self.pair[side]
        own = [*features, *features]
        if is_in_blocks(policy):
            own = [features[0], 0.0, 0.0, features[0]]
        actions[self.place] = own
        private = policy.release.private_contexts
        (ledger, view), buffers = in_buffers(
            policy.release.ledger(setting), policy.rule.first_view(setting)
        )
        codes = np.zeros(count, np.int64)
        numbers = np.zeros((count, room, self.width))
        entries = np.array(self.entries, np.int64)
        arguments = (
            Stream(actions, rewards, self.place, private, entries),
            *parts_of(policy, setting), ledger, view, buffers, ARMS, codes, numbers, rng,
        )  # fmt: skip
        stream_kernel(policy).cached(*arguments)(*arguments)
        return codes, numbers


def is_in_blocks(policy: RoundPolicy) -> bool:
    """Whether every arm has its own block of features."""
    return getattr(policy.schedule, "blocks", None) == "disjoint"


def streams(policy: LinearPolicy, horizon: int | None = None) -> list[LinearRuns]:
    """Inputs to search: several pairs of participants, early and late, short and longer streams."""
    if not isinstance(policy, RoundPolicy):
        raise InvalidArgument(
            "policy", "release round by round", policy.name,
            "policies that play in phases are not audited; audit adac-oful, private-linucb, "
            "private-lints or jdp-linucb",
        )  # fmt: skip
    pairs = PRIVATE if policy.release.private_contexts else PUBLIC
    if is_in_blocks(policy):  # the one feature of a block is the first
        pairs = tuple(pair for pair in pairs if all(not person[0][1] for person in pair))
    lengths: tuple[int, ...] = (1, 4, 8) if horizon is None else (horizon,)
    if policy.schedule.known_ends:
        setting = LinearSetting(ARMS, DIMENSION, SEEN)
        first = cast("Batches", policy.schedule.parameters(setting)).first
        lengths = (first, 2 * first) if horizon is None else lengths
    return [
        LinearRuns(policy, pair, place, rounds)
        for rounds in lengths
        for place in sorted({0, rounds // 2})
        for pair in pairs
    ]
