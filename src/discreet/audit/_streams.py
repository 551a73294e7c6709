"""Transcripts of the protocol itself: the adversary is the world.

    coming   one participant at a time, unless a release is due
    reply    the adversary feeds the outcome of participant t, seeing all releases before
    plan     the policy's own plan; in single batches an adversary may replace the arm

A block is due `late` participants after its last one, so blocks of several arms wait together, as
in a trial. What an observer sees is stored as by `Runs`: the arms of the first participants, as one
number, and the released sums of every arm, in the order of its releases.

>>> import discreet
>>> from discreet.audit import Streams, lists
>>> runs = Streams(discreet.policy("dp-imed", epsilon=1.0), lists([0, 1, 1], [1, 1, 1], arms=2))
>>> runs.plan
'index'

With `plan="one batch"` and `late=0` this is `Runs`, whose loop is a shortcut of it, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._checks import count as whole_number
from .._checks import one_of
from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ..arms._base import lost_steadily
from ..errors import InvalidArgument
from ..policies import Policy
from ..policies._step import choose, length, respond
from ..policies._view import View, shown
from ..privacy._source import SIMULATED
from ..protocol import Design, Head, Playing, Track, Vault, World, answer, begin, play_kernel, slots
from ..protocol._state import LEFT, SOON, TAKEN
from ..protocol.worlds._calendar import held
from ..simulator._seeds import quick
from ._adversaries import OWN_CHOICE, Adversary, Steady, Tables
from ._transcripts import ABSENT, Transcripts, digits_of, in_buffers, linked_for

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats as FloatArray
    from .._types import Ints

LONGEST = 4096
"""Participants of a transcript, at most: each is played singly."""
PLANNED = ("one batch", "index", "looks")
"""Plans whose every release is a mean of its arm."""


class Seen(NamedTuple):
    """What is stored of one transcript."""

    code: Integers
    """the arms so far, as one number; how many of them it has room for"""
    releases: Integers
    """by arm"""
    last: Floats
    """the newest sum of every arm"""
    sums: Floats
    """at arm × most + release of that arm"""
    most: int


class Against(NamedTuple):
    """What stands in the vault: what outcomes are fed from, and what is seen."""

    adversary: Any
    seen: Seen


feed: Callable[[object, View, int, int, int], float] = open_slot("feed")
steer: Callable[[object, View, int, int], int] = open_slot("steer")
forget: Callable[..., None] = open_slot("forget")
play_it: Callable[..., int] = open_slot("play_it")
release_it: Callable[..., None] = open_slot("release_it")


def next_in_line(world: World, design: Design, head: Head, rng: Generator) -> int:
    """One participant, unless a release is due."""
    return 0 if head.when[SOON] <= world.now[0] else 1


def one_later(world: World, head: Head, many: int, closes: bool, rng: Generator) -> float:
    """A moment per participant."""
    world.now[0] += many
    return world.now[0]


def note_arm(world: World, head: Head, slot: int, arm: int, now: float) -> None:
    """An outcome is owed."""
    world.owed[0], world.owed[1], world.owed[2] = slot, arm, head.at[TAKEN] - 1


def reply_fed(world: World, design: Design, head: Head, vault: Vault, rng: Generator) -> bool:
    """The adversary's outcome, and a digit for the arm."""
    slot, arm = world.owed[0], world.owed[1]
    if slot >= 0:
        seen = vault.environment.seen
        if seen.code[1] > 0:
            seen.code[0] = seen.code[0] * (len(head.places) + 1) + arm + 1
            seen.code[1] -= 1
        view = View(head.value, head.size, head.pulls)
        value = feed(vault.environment.adversary, view, arm, 1, world.owed[2])
        answer(vault, slot, told(design, value, rng))
        world.owed[0] = -1
    return True


told: Callable[[Design, float, Any], float] = open_slot("told")
"""What the curator is told of an outcome."""


def as_it_is(design: Design, value: float, rng: Generator) -> float:
    """A trusted curator."""
    return value


def by_device(design: Design, value: float, rng: Generator) -> float:
    """Randomised where it arises."""
    return respond(design.release, value, rng)


def release_noted(
    design: Design, head: Head, vault: Vault, arm: int, size: int, found: tuple[float, int],
    rng: Generator,
) -> None:  # fmt: skip
    """The release, and the sums that are public after it."""
    release_it(design, head, vault, arm, size, found, rng)
    seen = vault.environment.seen
    for other in range(len(head.value)):
        now = head.value[other] * head.size[other]
        # some releases renew the numbers of arms that were not played
        if other == arm or now != seen.last[other]:
            if seen.releases[other] < seen.most:
                seen.sums[other * seen.most + seen.releases[other]] = now
            seen.releases[other] += 1
            seen.last[other] = now


def plan_steered(design: Design, head: Head, most: int, rng: Generator) -> None:
    """A batch of the rule's arm, or of the arm that the adversary plays instead."""
    view = View(head.value, head.size, head.pulls)
    public = shown(view)
    arm = choose(design.rule, head.memory, public, head.at[TAKEN], rng)
    arm = steer(design.plan, view, arm, head.at[TAKEN])
    rounds = length(design.schedule, head.memory, public, arm)
    head.left[arm] = head.at[LEFT] = rounds
    head.mark[arm] = head.places[arm] + rounds


def play_all(
    world: World, design: Design, head: Head, vault: Vault, track: Track, buffers: Any,
    digits: int, codes: Ints, sums: FloatArray, rng: Generator,
) -> int:  # fmt: skip
    """As many transcripts as `codes` has room for."""
    seen, arms = vault.environment.seen, len(head.value)
    failed = 0
    for number in range(len(codes)):
        forget(buffers)
        seen.code[1] = digits
        failed += play_it(world, design, head, vault, track, rng)
        codes[number] = seen.code[0] * (arms + 1) ** seen.code[1]
        for place in range(len(seen.sums)):
            sums[number, place] = seen.sums[place]
    return failed


@lru_cache(maxsize=256)
def streams_kernel(
    policy: Policy, terms: Playing, feeding: Function, steering: Function | None
) -> Kernel:
    """The driver of simulations with a policy, its plan and an adversary filled in."""
    from ._transcripts import forget as anew

    filled = slots(policy, terms, SIMULATED, "calendar")
    device = "respond" in filled
    filled |= {
        "coming": next_in_line, "passed": one_later, "asked": note_arm,
        "reply": Kernel(reply_fed, feed=feeding, told=by_device if device else as_it_is),
        "collect": held, "lost": lost_steadily,
        "release_block": Kernel(release_noted, release_it=filled["release_block"]),
    }  # fmt: skip
    if steering is not None:
        filled["plan"] = Kernel(plan_steered, steer=steering)
    return Kernel(play_all, play_it=play_kernel(filled).inlined(), forget=anew)


@dataclass(frozen=True)
class Streams:
    """Transcripts of a policy as a trial plays it, against an adversary who is the world.

    Args:
        policy: The policy that is attacked.
        adversary: Who feeds outcomes; only in single batches may it replace arms.
        late: Participants between the last one of a block and its release.
        plan: How the policy is played, a key of `discreet.protocol.PLANS`; its own by default.
        window: Places that are planned together and given out in a random order.
        sees: "releases" (arms and released sums) or "actions".
    """

    policy: Policy
    adversary: Adversary
    late: int = 0
    plan: str = ""
    window: int = 1
    sees: str = "releases"

    def __post_init__(self) -> None:
        one_of("sees", self.sees, "releases", "actions")
        whole_number("late", self.late, least=0, fix="use late=2")
        whole_number("window", self.window, fix="use window=4")
        if not self.plan:
            setting = self.policy.setting(self.adversary.arms, self.adversary.horizon)
            object.__setattr__(self, "plan", self.policy.plan(setting))
        one_of("plan", self.plan, *PLANNED)
        if self.adversary.horizon > LONGEST:
            raise InvalidArgument(
                "adversary", f"have a horizon of at most {LONGEST}", self.adversary.horizon,
                "use a shorter one: every participant is played singly",
            )  # fmt: skip
        if self.plan != "one batch" and not can_stream(self.adversary):
            raise InvalidArgument(
                "adversary", f"play the policy's own arms in the plan {self.plan!r}",
                str(self.adversary), 'leave out forced arms, or use plan="one batch"',
            )  # fmt: skip

    @property
    def inputs(self) -> str:
        """The neighbouring inputs, in words."""
        late = f", released {self.late} participants later" if self.late else ""
        return f"{self.adversary}{late}"

    @property
    def digits(self) -> int:
        """How many participants' arms enter the code."""
        return digits_of(self.adversary.arms + 1, self.adversary.horizon)

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return int((self.adversary.arms + 1) ** self.digits)

    @property
    def most(self) -> int:
        """Releases of an arm that are stored."""
        return min(self.adversary.horizon, self.adversary.decisions)

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are."""
        if self.sees == "actions":
            return ()
        return tuple(
            f"release {place + 1} of arm {arm}"
            for arm in range(self.adversary.arms)
            for place in range(self.most)
        )

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        """So many independent transcripts on one side."""
        arms, horizon = self.adversary.arms, self.adversary.horizon
        codes, sums = np.empty(count, np.int64), np.empty((count, arms * self.most))
        terms = Playing(
            self.plan, self.window, deadline=float(self.late), cuts=self.plan == "one batch"
        )
        started = begin(self.policy, self.policy.setting(arms, horizon), terms, horizon + 1)
        state = self.adversary.state(side)
        steers = not follows(self.adversary)
        design = started.design._replace(plan=state) if steers else started.design
        world = World(
            1.0, np.ones(arms), 0, 0.0, 0.0, 0, 0.0, 1.0, 1.0, np.zeros(2), np.full(1, -1),
            np.full(3, -1),
        )  # fmt: skip
        seen = Seen(
            np.zeros(2, np.int64), np.zeros(arms, np.int64), np.zeros(arms),
            np.full(arms * self.most, ABSENT), self.most,
        )  # fmt: skip
        track = Track(
            np.zeros(0, np.int64), np.zeros(0), np.zeros((0, arms), np.int64), np.zeros(arms),
            np.zeros(1), np.zeros(2, np.int64), np.zeros(2), np.zeros(arms),
        )  # fmt: skip
        moved, buffers = in_buffers(world, started.head, started.vault, seen)
        world, head, vault, seen = moved
        vault = vault._replace(environment=Against(state, seen))
        arguments = (
            world, design, head, vault, track, buffers, self.digits, codes, sums, quick(rng)
        )  # fmt: skip
        kernel = streams_kernel(
            self.policy, terms, type(self.adversary).feed,
            type(self.adversary).steer if steers else None,
        )  # fmt: skip
        failed = linked_for(self.policy, self.adversary, kernel, arguments)(*arguments)
        assert failed == 0
        if self.sees == "actions":
            return Transcripts(codes, np.zeros((count, 0)))
        return Transcripts(codes, sums)


def can_stream(adversary: Adversary) -> bool:
    """Whether it can be the world of a trial: it replaces no arms, and looks from the beginning."""
    return follows(adversary) and adversary.since == 0 and adversary.horizon <= LONGEST


def follows(adversary: Adversary) -> bool:
    """Whether it always plays the arm that the policy recommends."""
    if isinstance(adversary, Tables):
        return all(arm == OWN_CHOICE for arm in adversary.forced)
    if isinstance(adversary, Steady):
        return adversary.plan == OWN_CHOICE
    return type(adversary).steer is Adversary.steer
