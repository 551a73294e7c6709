"""What a rule, a schedule and a release may do in one decision.

A decision names an arm and a number of rounds and leaves the view as it is; a release writes the
arm's value and size, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..privacy.source import SIMULATED
from .step import fresh_state, interpreted_steps, parts_of
from .view import View

if TYPE_CHECKING:
    from .policy import Policy

SEED = 20_260


def check_decisions(row: Policy, arms: int, horizon: int) -> None:
    """Every decision of a run, interpreted, one at a time; `AssertionError` at the first that is
    none."""
    import numpy as np

    setting = row.setting(arms, horizon)
    parts, state = parts_of(row, setting), fresh_state(row, setting)
    view, steps = state.public, interpreted_steps(row, SIMULATED)
    assert isinstance(view, View)
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(SEED, spawn_key=(0,))))
    t = 0
    while t < horizon:
        before = contents(view)
        try:
            arm, left, rounds = steps.open_batch(
                parts.schedule, parts.rule, state.memory, view, t, horizon, rng
            )
        except (IndexError, ValueError) as refusal:
            raise AssertionError(
                f"choose must name an arm from 0 to {arms - 1}, length a whole number of rounds "
                f"from 1, and neither may write into the view: {refusal}"
            ) from refusal
        if arm != int(arm):
            raise AssertionError(f"choose must name an arm from 0 to {arms - 1}, got {arm!r}")
        if left != int(left):
            raise AssertionError(f"length must be a whole number of rounds from 1, got {left!r}")
        if contents(view) != before:
            raise AssertionError("choose and length must leave the view as it is, they changed it")
        t += int(left)
        view.pulls[arm] += left
        pulls = list(view.pulls)
        steps.close_batch(
            parts.release, state.ledger, view, int(arm), int(rounds), 0.5 * rounds, rng
        )
        if list(view.pulls) != pulls:
            raise AssertionError("publish must not count pulls, which the loop does")
        sizes = [x for other, x in enumerate(view.size) if other != arm]
        if sizes != [x for other, x in enumerate(before[1]) if other != arm]:
            raise AssertionError(
                f"a batch of arm {arm} changed the size behind another arm's value"
            )
        if rounds > 0 and view.size[arm] < 1:
            raise AssertionError(f"publish must say how many rewards it rests on: arm {arm} has 0")


def contents(view: View) -> tuple[list[float], list[int], list[int]]:
    """A copy of all that is in a view."""
    return list(view.value), list(view.size), list(view.pulls)
