"""Steps: what a rule, a schedule and a release may do in one decision, and what the horizon cuts.

A decision names an arm and a number of rounds and leaves the view as it is; a release writes the
arm's value and size, and nothing else; a batch that the horizon cuts off is never released.
"""

from __future__ import annotations

from ..policies._policy import Policy
from ..policies._step import fresh_state, interpreted_steps, parts_of
from ..policies._view import View
from ..privacy._source import SIMULATED
from ._case import SEED, Case, generator
from ._walk import Walk


def check_steps(row: Policy, case: Case) -> None:
    """Check decisions one at a time, interpreted: compiled code would not notice a wrong index.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If a decision breaks a rule.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_steps
        >>> check_steps(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    _check_decisions(row, case.arms, case.horizon)
    _check_cut_batches(row, case)


def _check_cut_batches(row: Policy, case: Case) -> None:
    """The loop: pulls add up to t, and what the horizon cuts off is not released."""
    for horizon in (case.horizon, case.horizon - 1, max(case.arms, case.horizon // 3)):
        walk = Walk(row, case.environment(), horizon, seed=SEED)
        before, t, stuck = _contents(walk.view), 0, 0
        while not walk.go(1):
            before = _contents(walk.view)
            stuck = stuck + 1 if walk.course.t[0] == t else 0
            t = int(walk.course.t[0])
            if stuck > 1:
                raise AssertionError(f"the schedule plays no round after round {t}: length below 1")
            if sum(walk.view.pulls) != t:
                raise AssertionError(f"pulls add up to {sum(walk.view.pulls)} after {t} rounds")
        sums = walk.curve.pulls.sum(axis=1)
        if not (sums == walk.curve.grid).all():
            raise AssertionError("recorded pulls do not add up to the rounds")
        if walk.course.rounds[0] == 0 and _contents(walk.view)[:2] != before[:2]:
            raise AssertionError("a batch that the horizon cut off was released")


def _check_decisions(row: Policy, arms: int, horizon: int) -> None:
    """Every decision of a run, interpreted, one at a time; `AssertionError` at the first that is
    none."""
    setting = row.setting(arms, horizon)
    parts, state = parts_of(row, setting), fresh_state(row, setting)
    view, steps = state.public, interpreted_steps(row, SIMULATED)
    assert isinstance(view, View)
    rng, t = generator(SEED), 0
    while t < horizon:
        before = _contents(view)
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
        if _contents(view) != before:
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


def _contents(view: View) -> tuple[list[float], list[int], list[int]]:
    """A copy of all that is in a view."""
    return list(view.value), list(view.size), list(view.pulls)
