"""One step of a run: choose an arm, play a batch of it, release the batch.

    arm, left, rounds = open_batch(...);  total = collect(...);  close_batch(...)

The one text of it for simulations, identifications, audits, rehearsals and trials: a kernel with
the functions of a policy filled in, compiled on arrays or interpreted on lists.

**A batch that the horizon cuts off is played but never released**: the policy is told nothing of
it. `open_batch` gives such a batch the length 0, and `close_batch` releases none of length 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .._compiled import Function, Kernel, open_slot
from ..privacy._source import Source
from ._view import View, shown

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._policy import BasePolicy, Policy

S = TypeVar("S", contravariant=True)

FINISHED, PAUSED, STARVED = 0, 1, 2
"""How a loop of steps ends: at its end, to look up, or because an environment has run out of
rewards."""


class Parts(NamedTuple):
    """What the kernels of a policy get as their first argument."""

    schedule: NamedTuple
    release: NamedTuple
    rule: NamedTuple


class State(NamedTuple):
    """What the steps of a run change."""

    ledger: NamedTuple
    """the curator's, private"""
    memory: NamedTuple
    """the rule's own notes"""
    public: NamedTuple
    """the view (numba reserves that name)"""


choose: Callable[[object, object, View, int, Generator], int] = open_slot("choose")
length: Callable[[object, object, View, int], int] = open_slot("length")
publish: Callable[[object, object, View, int, int, float, Generator], None] = open_slot("publish")
draw: Callable[[object, int, int, int, Generator], tuple[float, int]] = open_slot("draw")
respond: Callable[[object, float, Generator], float] = open_slot("respond")
collect: Callable[[object, object, int, int, int, Generator], tuple[float, int]] = open_slot(
    "collect"
)


# flat arguments, here and in the loops: handing on a tuple of arrays costs as much as a decision


def open_batch(
    schedule: object, rule: object, memory: object, view: View, t: int, horizon: int, rng: Generator
) -> tuple[int, int, int]:
    """After t rounds: the arm to play, for how long, and the length of the batch that this makes:
    0 if the horizon cuts it off."""
    seen = shown(view)
    arm = choose(rule, memory, seen, t, rng)
    if arm < 0 or arm >= len(view.pulls):  # compiled code would write elsewhere
        raise IndexError("a rule names an arm that is there")
    rounds = length(schedule, memory, seen, arm)
    if rounds < 1:  # and never come to an end
        raise ValueError("a batch has one round at least")
    if rounds > horizon - t:
        return arm, horizon - t, 0
    return arm, rounds, rounds


def close_batch(
    release: object, ledger: object, view: View, arm: int, rounds: int, total: float, rng: Generator
) -> None:
    """Release a batch whose rewards sum to `total`; not if it was cut off."""
    if rounds > 0:
        publish(release, ledger, view, arm, rounds, total, rng)


def collect_batch(
    environment: object, release: object, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """A trusted curator is handed the sum of the batch."""
    return draw(environment, arm, rounds, t, rng)


def collect_each(
    environment: object, release: object, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Every user's device answers for one reward; the curator sums the answers."""
    total = 0.0
    for played in range(rounds):
        reward, served = draw(environment, arm, 1, t + played, rng)
        if served == 0:
            return total, played
        total += respond(release, reward, rng)
    return total, rounds


def parts_of(policy: BasePolicy[S], setting: S) -> Parts:
    """The parameters of a policy's kernels."""
    return Parts(
        policy.schedule.parameters(setting),
        policy.release.parameters(setting),
        policy.rule.parameters(setting),
    )


def fresh_state(policy: BasePolicy[S], setting: S) -> State:
    """A run that has not begun."""
    rule = policy.rule
    return State(policy.release.ledger(setting), rule.memory(setting), rule.first_view(setting))


def slots_of(policy: Policy, source: Source) -> dict[str, Kernel]:
    """What a policy fills in: `choose`, `length` and `publish`."""
    return {
        "choose": policy.choose_kernel,
        "length": policy.length_kernel,
        "publish": policy.release.publish_kernel(source),
    }


def collecting(policy: Policy, draw: Function, source: Source) -> Kernel:
    """How the curator comes by the rewards of a batch, drawn by `draw`."""
    answer = policy.release.respond_kernel(source)
    if answer is None:
        return Kernel(collect_batch, draw=draw)
    return Kernel(collect_each, draw=draw, respond=answer)


class Steps(NamedTuple):
    """The two halves of a step, interpreted."""

    open_batch: Function
    close_batch: Function
    respond: Function | None
    """what local releases make of one reward; None where a curator is trusted"""


@lru_cache(maxsize=256)
def interpreted_steps(policy: Policy, source: Source) -> Steps:
    """The step of a policy, on plain lists, with the noise of a source."""
    slots, answer = slots_of(policy, source), policy.release.respond_kernel(source)
    return Steps(
        Kernel(open_batch, **slots).interpreted(),
        Kernel(close_batch, **slots).interpreted(),
        None if answer is None else answer.interpreted(),
    )
