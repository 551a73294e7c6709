"""A run of a simulated result, played again release by release: its public record.

A result keeps the seed of its runs, and a seed fixes every number. So a run can be played again by
the same compiled loop, which pauses after every release; that the pulls come out as they were is
checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import count
from ..arms._catalogue import environment_from_dict
from ..errors import InvalidArgument
from ..identify import Identifier
from ..identify._runs import PATIENCE, Identification, IdentifyPlayer
from ..policies import Policy
from ..policies._registry import row_from_recipe
from ..policies._step import FINISHED, STARVED
from ..policies.releases._entries import LAST, Silence
from ..simulator._record import RECORDS
from ..simulator._results import Result
from ..simulator._runs import DECISIONS, FinitePlayer, Simulation
from ._record import History, Record, Recording, frozen, note, recording


def replayed(result: object, run: int = 0, policy: Policy | None = None) -> Record:
    """Play one run of a simulated result again, to have its public record.

    Args:
        result: A result of `simulate` or `identify`.
        run: Which run, from 0.
        policy: The policy, if it is not one of the catalogue.

    Returns:
        The record of that run.

    Raises:
        InvalidArgument: If the result cannot be played again, or comes out differently.

    Example:
        >>> import discreet
        >>> from discreet.inference import replayed
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> result = discreet.simulate(
        ...     policy, discreet.arms.Bernoulli([0.8, 0.3]), horizon=100, runs=1, seed=1
        ... )
        >>> record = replayed(result)
        >>> [len(entries) for entries in record.history]  # releases of each arm
        [5, 2]
    """
    if not isinstance(result, Result) or result.calendar is not None:
        raise _not_finite(result)
    place = count("run", run, least=0, most=result.runs - 1, fix="number the runs from 0")
    if policy is None and not result.policy.get("recipe"):
        raise InvalidArgument(
            "source", "be of a row of the catalogue, which can be played again", result.name,
            "give a row that you composed to discreet.inference.replayed",
        )  # fmt: skip
    policy = row_from_recipe(result.policy["recipe"]) if policy is None else policy
    if not isinstance(policy, Policy):
        raise _not_finite(result)
    environment = environment_from_dict(result.environment)
    work: Identification | Simulation
    if isinstance(policy, Identifier):
        if policy.risk is None and result.risk is not None:
            policy = policy.at(result.risk)
        work = Identification(policy, environment, result.horizon, 1, result.seed)
    else:
        work = Simulation(
            policy, environment, result.horizon, 1, result.seed, result.t, shuffle=result.shuffle
        )
    work.first = int(result.run[place])
    recorded = recording(policy, work.setting)
    if isinstance(recorded, Silence):
        raise InvalidArgument(
            "source", "release what speaks of mean outcomes", f"{policy.name} ({recorded.reason})",
            "use for example dp-imed",
        )  # fmt: skip
    binary = environment.name == "bernoulli"
    bounds = environment.bounds
    bounded = bounds is not None and bounds[0] >= 0.0 and bounds[1] <= 1.0
    if isinstance(work, Identification):
        history = _identified(work, recorded)
    else:
        history = _simulated(work, recorded)
    if not _same(work, result, place):
        raise InvalidArgument(
            "source", "come out the same when it is played again", f"run {run} of {result.name}",
            "simulate it anew: the result is of another version",
        )  # fmt: skip
    arms = tuple(range(environment.arms))
    return Record(recorded, arms, frozen(history), binary=binary, bounded=bounded)


def _same(work: Identification | Simulation, result: Result, place: int) -> bool:
    """Whether a run came out as it did before, by what was kept of it."""
    if result.kept == RECORDS[0]:
        return bool(np.array_equal(work.pulls[0].ravel(), result.pulls[place].ravel()))
    again = work.lost if isinstance(work, Identification) else work.regret
    return bool(np.array_equal(np.ravel(again[0]), result.regret[place], equal_nan=True))


def _not_finite(result: object) -> InvalidArgument:
    return InvalidArgument(
        "source", "be a result of simulate or identify on finite arms", type(result).__name__,
        "for arms with features see `ellipsoid`; for late outcomes use a Trial or its report",
    )  # fmt: skip


def _simulated(work: Simulation, recorded: Recording) -> History:
    player = FinitePlayer(work)
    begun = player.begin(0)
    memory, view, course = player.state.memory, player.state.public, player.course
    history = _noted(
        begun, recorded, memory, view, DECISIONS,
        lambda: int(course.arm[0]) if course.left[0] == 0 and course.rounds[0] > 0 else -1,
    )  # fmt: skip
    player.end(begun)
    if begun.order is not None:  # back to the arms' own numbers
        own: History = [[] for _ in history]
        for place, arm in enumerate(begun.order.tolist()):
            own[arm] = history[place]
        return own
    return history


def _identified(work: Identification, recorded: Recording) -> History:
    player = IdentifyPlayer(work)
    begun, course, seen = player.begin(0), player.course, [0]

    def released() -> int:
        before, seen[0] = seen[0], int(course.releases[0])
        return int(course.arm[0]) if seen[0] > before else -1

    history = _noted(begun, recorded, player.memory, player.view, PATIENCE, released)
    player.end(0)
    return history


def _noted(begun: Any, recorded: Any, memory: Any, view: Any, usual: int, released: Any) -> History:
    """Play to the end, a release at a time; `released` is the arm of the last one, or -1."""
    history: History = [[] for _ in view.size]
    releases = [0] * len(history)
    # of running totals the last entry is all that counts
    slow = usual if recorded.reads == LAST else 1
    pace = slow
    while True:
        before = [(float(v), int(s)) for v, s in zip(view.value, view.size, strict=True)]
        status = begun.loop(*begun.arguments, pace, begun.rng)
        arm = released()
        if recorded.reads == LAST:
            for each, (value, size) in enumerate(zip(view.value, view.size, strict=True)):
                if size > 0:
                    history[each] = [[int(size), float(value)]]
        elif arm >= 0 and (float(view.value[arm]), int(view.size[arm])) != before[arm]:
            releases[arm] += 1
            note(recorded, history, arm, releases, view, memory)
        if status == STARVED:
            if not begun.refill():
                return history
            pace = 0 if slow == 1 else slow
        elif status == FINISHED:
            return history
        else:
            pace = slow
