"""Repeats: the same run again, compiled, under its seed, in threads, or saved midway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..policies._policy import Policy
from ._case import SEED, Case
from ._walk import Walk

if TYPE_CHECKING:
    from ..simulator import Result


def check_compiled(row: Policy, case: Case) -> None:
    """Round by round, from one generator.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.
    """
    plain = Walk(row, case.environment(), case.horizon, seed=SEED).played()
    fast = Walk(row, case.environment(), case.horizon, seed=SEED, compiled=True).played()
    if not (plain == fast).all():
        first = int((plain != fast).argmax())
        raise AssertionError(
            f"interpreted and compiled runs part in round {first + 1}: "
            f"arm {plain[first]} and arm {fast[first]}"
        )


def check_seeded(row: Policy, case: Case) -> None:
    """Check that the same seed gives the same run, twice.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If the runs differ.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_seeded
        >>> check_seeded(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    once, again = (_result(row, case, runs=4, threads=1).pulls for _ in range(2))
    if not (once == again).all():
        raise AssertionError("one seed gave two results: draw from the generator that is passed in")


def check_threads(row: Policy, case: Case) -> None:
    """Check that eight runs are the same in 1, 2 and 4 threads.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If they differ.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_threads
        >>> check_threads(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    single = _result(row, case, runs=8, threads=1)
    for threads in (2, 4):
        result = _result(row, case, runs=8, threads=threads)
        if not ((result.pulls == single.pulls).all() and (result.regret == single.regret).all()):
            raise AssertionError(f"1 and {threads} threads gave different numbers for one seed")


def _result(row: Policy, case: Case, runs: int, threads: int) -> Result:
    from ..simulator import simulate

    return simulate(
        row,
        case.environment(),
        horizon=case.horizon,
        runs=runs,
        seed=SEED,
        threads=threads,
        progress=False,
    )


def check_saved_state(row: Policy, case: Case) -> None:
    """Check that a rehearsal that is saved and loaded continues the same.

    It is saved as JSON after a third of the rounds, and in mid-batch.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If it continues in another way.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_saved_state
        >>> check_saved_state(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    from ..live._rehearsal import Rehearsal

    rounds = min(case.horizon, 600)
    table = case.table(2).table

    def play(rehearsal: Rehearsal, start: int, end: int) -> list[int]:
        arms = []
        for t in range(start, end):
            arm = rehearsal.select()
            assert isinstance(arm, int)  # arms have no names here
            rehearsal.update(arm, table[t][arm])
            arms.append(arm)
        return arms

    for stop in (rounds // 3, rounds // 3 + 7):
        whole = Rehearsal(row, case.arms, horizon=case.horizon, seed=SEED)
        play(whole, 0, stop)
        saved = json.loads(json.dumps(whole.to_dict()))
        again = Rehearsal.from_dict(saved, None if row.recipe else row)
        if play(again, stop, rounds) != play(whole, stop, rounds):
            raise AssertionError(f"a rehearsal saved after {stop} rounds went on differently")
