"""Many short transcripts of a policy, from the very kernels that simulations and trials run.

    for each transcript: forget everything; while t < T: choose, (steer), feed, publish, write down

One compiled call plays them all from one generator: a call costs more than a transcript. All arrays
of a run are slices of two buffers, one of floats and one of integers, so that forgetting is two
copies, whatever the policy keeps. What is stored is what the world sees:
- `codes`: the arms played, as one number; 0 stands for "no further decision",
- `sums`: of every arm its released mean times its size, at each of its first releases.
A place for each (arm, release of that arm), and not for each decision: the third release of an arm
is then the same number, with the same noise in it, whichever arms were played in between. Where an
adversary looks at a long run from some round on (`since`), the first place of an arm is the last
number that it had before: what comes next may be a running sum, which tells most without that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .._checks import count as whole
from .._checks import one_of
from .._compiled import Function, Kernel, compile_for, open_slot
from ..policies import Policy
from ..policies._step import choose, fresh_state, length, parts_of, publish
from ..policies._view import View, shown
from ..privacy._source import SIMULATED
from ..simulator._seeds import quick
from ._adversaries import DECISIONS, Adversary

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints

MOST_CODES = 20_000
"""Action sequences are told apart exactly as long as there are no more of them."""
ABSENT = -1e300
"""Stands for a number that was never published; NaN is a number that was, and is not one."""
NOT_A_NUMBER = 1.2e300
"""Stands for NaN, which equals nothing and would be counted nowhere."""


class Transcripts(NamedTuple):
    """What was seen: a code for the discrete part, numbers for the rest; one line a transcript.

    A number that was not published is `ABSENT`. NaN and infinities are outputs like any other.
    """

    codes: Ints
    numbers: Floats

    def cut(self, start: int, end: int) -> Transcripts:
        """Some of them."""
        return Transcripts(self.codes[start:end], self.numbers[start:end])

    def settled(self) -> Transcripts:
        """The same with NaN as a value that equals itself: an output like any other."""
        none = np.isnan(self.numbers)
        if not none.any():
            return self
        return Transcripts(self.codes, np.where(none, NOT_A_NUMBER, self.numbers))


class Subject(Protocol):
    """Anything that can be audited: two neighbouring inputs, and what the world sees of a run."""

    @property
    def inputs(self) -> str:
        """The neighbouring inputs, in words."""

    @property
    def codes(self) -> int:
        """How many codes there are; 1 if nothing discrete is seen."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are."""

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        """So many independent transcripts on one side."""


class Buffers(NamedTuple):
    """All arrays of a run, and how they were at the beginning."""

    floats: Floats
    integers: Ints
    clean_floats: Floats
    clean_integers: Ints


class Seen(NamedTuple):
    """Scratch: how often a number of every arm was published, and the last one."""

    releases: Ints
    last: Floats


def forget(buffers: Buffers) -> None:
    """A run that has not begun; loops compile much faster than copies of slices."""
    for i in range(len(buffers.floats)):
        buffers.floats[i] = buffers.clean_floats[i]
    for i in range(len(buffers.integers)):
        buffers.integers[i] = buffers.clean_integers[i]


feed: Callable[[object, View, int, int, int], float] = open_slot("feed")
steer: Callable[[object, View, int, int], int] = open_slot("steer")
respond: Callable[[object, float, Generator], float] = open_slot("respond")


def collect_sum(
    adversary: object, release: object, view: View, arm: int, rounds: int, t: int, rng: Generator
) -> float:
    """A trusted curator is handed the sum of the batch."""
    return feed(adversary, view, arm, rounds, t)


def collect_answers(
    adversary: object, release: object, view: View, arm: int, rounds: int, t: int, rng: Generator
) -> float:
    """Every user's device answers for one reward; the curator sums the answers."""
    total = 0.0
    for played in range(rounds):
        total += respond(release, feed(adversary, view, arm, 1, t + played), rng)
    return total


collect: Callable[[object, object, View, int, int, int, Generator], float] = open_slot("collect")


def play(
    adversary: object, schedule: object, release: object, rule: object, ledger: object,
    memory: object, view: View, buffers: Buffers, seen: Seen, start: int, since: int,
    horizon: int, decisions: int, digits: int, codes: Ints, sums: Floats, rng: Generator,
) -> None:  # fmt: skip
    """As many transcripts as `codes` has room for, of what ends in round `since` or later.

    `start` is 0, and `rounds` an int for sure: for a literal 0 or 1 numba would compile every
    callee a second time.
    """
    arms, most = sums.shape[1], sums.shape[2]
    for number in range(len(codes)):
        forget(buffers)
        for arm in range(arms):
            seen.releases[arm] = 0
            seen.last[arm] = 0.0
            if since > 0:  # a place for the last number before that
                seen.releases[arm] = 1
                sums[number, arm, 0] = ABSENT
        t, decided, code = start, 0, 0
        while t < horizon and decided < decisions:
            public = shown(view)
            arm = choose(rule, memory, public, t, rng)
            arm = steer(adversary, view, arm, t)
            rounds = int(length(schedule, memory, public, arm))
            looks = t + rounds >= since
            if looks:
                if decided < digits:
                    code = code * (arms + 1) + arm + 1
                decided += 1
            if rounds > horizon - t:  # a batch that the horizon cuts off is never released
                break
            total = collect(adversary, release, view, arm, rounds, t, rng)
            t += rounds
            view.pulls[arm] += rounds
            publish(release, ledger, view, arm, rounds, total, rng)
            for other in range(arms):
                now = view.value[other] * view.size[other]
                # some releases renew the numbers of arms that were not played
                if other == arm or now != seen.last[other]:
                    place = seen.releases[other] if looks else 0
                    if place < most:
                        sums[number, other, place] = now
                    if looks:
                        seen.releases[other] = place + 1
                    seen.last[other] = now
        codes[number] = code * (arms + 1) ** max(0, digits - decided)
        for arm in range(arms):
            for later in range(seen.releases[arm], most):
                sums[number, arm, later] = ABSENT


@lru_cache(maxsize=256)
def transcript_kernel(policy: Policy, feeding: Function, steering: Function) -> Kernel:
    """The loop above with a policy and an adversary filled in."""
    answer = policy.release.respond_kernel(SIMULATED)
    gather = (
        Kernel(collect_sum, feed=feeding)
        if answer is None
        else Kernel(collect_answers, feed=feeding, respond=answer)
    )
    return Kernel(
        play,
        choose=policy.choose_kernel,
        length=policy.length_kernel,
        publish=policy.release.publish_kernel(SIMULATED),
        collect=gather,
        steer=steering,
    )


def digits_of(kinds: int, most: int) -> int:
    """How many things of so many kinds a code can tell apart, at most as many as there are."""
    digits = 1
    while digits < most and kinds ** (digits + 1) <= MOST_CODES:
        digits += 1
    return digits


def arrays_of(state: object) -> Iterator[np.ndarray]:
    """All arrays of a state, those of states in it included."""
    if isinstance(state, np.ndarray):
        yield state
    elif isinstance(state, tuple):
        for part in state:
            yield from arrays_of(part)


def in_buffers(*states: Any) -> tuple[list[Any], Buffers]:
    """The same states with all their arrays in two buffers."""
    arrays = list(arrays_of(states))
    real = [array for array in arrays if array.dtype.kind == "f"]
    whole = [array for array in arrays if array.dtype.kind != "f"]
    floats: Floats = np.concatenate([*real, np.zeros(0)]).astype(np.float64)
    integers: Ints = np.concatenate([*whole, np.zeros(0, np.int64)]).astype(np.int64)
    taken = {True: 0, False: 0}

    def moved(value: Any) -> Any:
        if hasattr(value, "_fields"):
            return value._make(map(moved, value))
        if not isinstance(value, np.ndarray):
            return value
        is_float = value.dtype.kind == "f"
        start = taken[is_float]
        taken[is_float] = start + value.size
        return (floats if is_float else integers)[start : start + value.size]

    inside = [moved(state) for state in states]
    return inside, Buffers(floats, integers, floats.copy(), integers.copy())


@dataclass(frozen=True)
class Runs:
    """Transcripts of a policy against an adversary.

    `sees` is "releases" (all that a trial shows: arms and released means) or "actions". The policy
    is told the adversary's horizon; `decisions` is how many of its decisions are played at most, by
    default as many as the adversary asks for.
    """

    policy: Policy
    adversary: Adversary
    sees: str = "releases"
    decisions: int | None = None

    def __post_init__(self) -> None:
        one_of("sees", self.sees, "releases", "actions")
        if self.decisions is not None:
            whole("decisions", self.decisions, fix=f"use {DECISIONS}")

    @property
    def played(self) -> int:
        """How many decisions are stored at most."""
        wanted = self.adversary.decisions if self.decisions is None else self.decisions
        return min(wanted, self.adversary.horizon)

    @property
    def inputs(self) -> str:
        return str(self.adversary)

    @property
    def digits(self) -> int:
        """How many decisions enter the code."""
        return digits_of(self.adversary.arms + 1, self.played)

    @property
    def codes(self) -> int:
        return int((self.adversary.arms + 1) ** self.digits)

    @property
    def names(self) -> tuple[str, ...]:
        if self.sees == "actions":
            return ()
        since = self.adversary.since
        late = f" from round {since} on" if since else ""
        return tuple(
            f"release {place} of arm {arm}{late}" if place else f"last release of arm {arm} before"
            for arm in range(self.adversary.arms)
            for place in self._places
        )

    @property
    def _places(self) -> range:
        """The releases of an arm that are stored; 0 is the last one before they begin."""
        return range(0 if self.adversary.since else 1, self.played + 1)

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        codes = np.empty(count, np.int64)
        sums = np.empty((count, self.adversary.arms, len(self._places)))
        self.fill(side, codes, sums, rng)
        if self.sees == "actions":
            return Transcripts(codes, np.zeros((count, 0)))
        return Transcripts(codes, sums.reshape(count, -1))

    def fill(self, side: int, codes: Ints, sums: Floats, rng: Generator) -> None:
        """Play as many transcripts as there is room for."""
        policy, adversary = self.policy, self.adversary
        setting = policy.setting(adversary.arms, adversary.horizon)
        state, buffers = in_buffers(*fresh_state(policy, setting))
        seen = Seen(np.zeros(setting.arms, np.int64), np.zeros(setting.arms))
        arguments = (
            adversary.state(side), *parts_of(policy, setting), *state, buffers, seen, 0,
            adversary.since, adversary.horizon, self.played, self.digits, codes, sums, quick(rng),
        )  # fmt: skip
        kernel = transcript_kernel(policy, type(adversary).feed, type(adversary).steer)
        linked_for(policy, adversary, kernel, arguments)(*arguments)


def linked_for(
    policy: Policy, adversary: Adversary, kernel: Kernel, arguments: tuple[object, ...]
) -> Function:
    """The kernel compiled for such arguments. Code on disk names its classes: those of a script or
    a notebook are not found again."""
    kept = type(adversary).__module__.startswith(__package__)
    link = partial(kernel.cached, *arguments) if kept else kernel.compiled
    return compile_for(policy.name, link, arguments)
