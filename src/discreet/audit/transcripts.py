"""Many short transcripts of a policy, from the very kernels that simulations and trials run.

    for each transcript: forget everything; while t < T: choose, (steer), feed, publish, write down

One compiled call plays them all from one generator: a call costs more than a transcript. All arrays
of a run are slices of two buffers, one of floats and one of integers, so that forgetting is two
copies, whatever the policy keeps. What is written down is what the world sees:
- `codes`: the arms played, as one number; 0 stands for "no further decision",
- `sums`: of every arm its released mean times its size, after each of the first decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..compiled import Function, Kernel, open_slot
from ..errors import InvalidArgument
from ..policies import Policy
from ..policies.step import choose, length, publish
from ..policies.view import View, fresh_view
from ..privacy.source import SIMULATED
from .adversaries import Adversary

if TYPE_CHECKING:
    from numpy.random import Generator

MOST_CODES = 20_000
"""Action sequences are told apart exactly as long as there are no more of them."""


class Transcripts(NamedTuple):
    """What was seen: a code for the discrete part, numbers for the rest; one row a transcript."""

    codes: Any
    numbers: Any


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

    floats: Any
    integers: Any
    clean_floats: Any
    clean_integers: Any


feed: Callable[[Any, View, int, int, int], float] = open_slot("feed")
steer: Callable[[Any, View, int, int], int] = open_slot("steer")
respond: Callable[[Any, float, Any], float] = open_slot("respond")


def collect_sum(
    adversary: Any, release: Any, view: View, arm: int, rounds: int, t: int, rng: Any
) -> float:
    """A trusted curator is handed the sum of the batch."""
    return feed(adversary, view, arm, rounds, t)


def collect_answers(
    adversary: Any, release: Any, view: View, arm: int, rounds: int, t: int, rng: Any
) -> float:
    """Every user's device answers for one reward; the curator sums the answers."""
    total = 0.0
    for played in range(rounds):
        total += respond(release, feed(adversary, view, arm, 1, t + played), rng)
    return total


collect: Callable[[Any, Any, View, int, int, int, Any], float] = open_slot("collect")


def play(
    adversary: Any, schedule: Any, release: Any, rule: Any, ledger: Any, memory: Any, view: View,
    buffers: Buffers, start: int, horizon: int, digits: int, codes: Any, sums: Any, rng: Any,
) -> None:  # fmt: skip
    """As many transcripts as `codes` has room for.

    `start` is 0, and `rounds` an int for sure: for a literal 0 or 1 numba would compile every
    callee a second time.
    """
    decisions, arms = sums.shape[1], sums.shape[2]
    for number in range(len(codes)):
        for i in range(len(buffers.floats)):  # loops compile much faster than copies of slices
            buffers.floats[i] = buffers.clean_floats[i]
        for i in range(len(buffers.integers)):
            buffers.integers[i] = buffers.clean_integers[i]
        t, decided, released, code = start, 0, 0, 0
        while t < horizon and decided < decisions:
            arm = choose(rule, memory, view, t, rng)
            arm = steer(adversary, view, arm, t)
            if decided < digits:
                code = code * (arms + 1) + arm + 1
            rounds = int(length(schedule, memory, view, arm))
            if rounds > horizon - t:  # a batch that the horizon cuts off is never released
                decided += 1
                break
            total = collect(adversary, release, view, arm, rounds, t, rng)
            t += rounds
            view.pulls[arm] += rounds
            publish(release, ledger, view, arm, rounds, total, rng)
            for other in range(arms):
                sums[number, decided, other] = view.value[other] * view.size[other]
            decided += 1
            released = decided
        codes[number] = code * (arms + 1) ** max(0, digits - decided)
        for later in range(released, decisions):
            for other in range(arms):
                sums[number, later, other] = 0.0


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


def in_buffers(*states: Any) -> tuple[list[Any], Buffers]:
    """The same states with all their arrays in two buffers."""
    import numpy as np

    arrays = [array for state in states for array in state if isinstance(array, np.ndarray)]
    kinds: dict[bool, Any] = {}
    for is_float in (True, False):
        mine = [array for array in arrays if (array.dtype.kind == "f") is is_float]
        kind = np.float64 if is_float else np.int64
        kinds[is_float] = np.concatenate([*mine, np.zeros(0, kind)]).astype(kind)
    taken = {True: 0, False: 0}

    def moved(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        is_float = value.dtype.kind == "f"
        start = taken[is_float]
        taken[is_float] = start + value.size
        return kinds[is_float][start : start + value.size]

    inside = [type(state)(*map(moved, state)) for state in states]
    floats, integers = kinds[True], kinds[False]
    return inside, Buffers(floats, integers, floats.copy(), integers.copy())


@dataclass(frozen=True)
class Runs:
    """Transcripts of a policy against an adversary.

    `sees` is "releases" (all that a trial shows: arms and released means) or "actions". `horizon`
    is what the policy is told; `decisions` how many are written down.
    """

    policy: Policy
    adversary: Adversary
    sees: str = "releases"
    decisions: int = 8

    def __post_init__(self) -> None:
        if self.sees not in ("releases", "actions"):
            raise InvalidArgument(
                "sees", "be 'releases' or 'actions'", self.sees, "trials show releases"
            )
        object.__setattr__(self, "decisions", min(self.decisions, self.adversary.horizon))

    @property
    def inputs(self) -> str:
        return str(self.adversary)

    @property
    def digits(self) -> int:
        """How many decisions enter the code."""
        digits = 1
        while digits < self.decisions and (self.adversary.arms + 1) ** (digits + 1) <= MOST_CODES:
            digits += 1
        return digits

    @property
    def codes(self) -> int:
        return int((self.adversary.arms + 1) ** self.digits)

    @property
    def names(self) -> tuple[str, ...]:
        if self.sees == "actions":
            return ()
        arms = range(self.adversary.arms)
        sums = [f"noisy sum of arm {a} after release {d + 1}"
                for d in range(self.decisions) for a in arms]  # fmt: skip
        steps = [f"step of the noisy sum of arm {a} at release {d + 1}"
                 for d in range(1, self.decisions) for a in arms]  # fmt: skip
        return tuple(sums + steps)

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        import numpy as np

        codes = np.zeros(count, np.int64)
        sums = np.zeros((count, self.decisions, self.adversary.arms))
        self.fill(side, codes, sums, rng)
        if self.sees == "actions":
            return Transcripts(codes, np.zeros((count, 0)))
        steps = np.diff(sums, axis=1)
        parts = [sums.reshape(count, -1), steps.reshape(count, -1)]
        return Transcripts(codes, np.concatenate(parts, axis=1))

    def fill(self, side: int, codes: Any, sums: Any, rng: Generator) -> None:
        """Play as many transcripts as there is room for."""
        policy, adversary = self.policy, self.adversary
        setting = policy.setting(adversary.arms, adversary.horizon)
        (ledger, memory, view), buffers = in_buffers(
            policy.release.ledger(setting), policy.rule.memory(setting), fresh_view(setting.arms)
        )
        arguments = (
            adversary.state(side),
            policy.schedule.parameters(setting),
            policy.release.parameters(setting),
            policy.rule.parameters(setting),
            ledger, memory, view, buffers, 0, adversary.horizon, self.digits, codes, sums, rng,
        )  # fmt: skip
        kernel = transcript_kernel(policy, type(adversary).feed, type(adversary).steer)
        # code on disk names its classes: those of a script or a notebook are not found again
        kept = type(adversary).__module__.startswith(__package__)
        (kernel.cached(*arguments) if kept else kernel.compiled())(*arguments)
