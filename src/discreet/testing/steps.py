"""Steps: what a rule, a schedule and a release may do in one decision, and what the horizon cuts.

A decision names an arm and a number of rounds and leaves the view as it is; a release writes the
arm's value and size, and nothing else; a batch that the horizon cuts off is never released.
"""

from __future__ import annotations

from ..policies.decisions import check_decisions, contents
from ..policies.policy import Policy
from .case import SEED, Case
from .walk import Walk


def check_steps(row: Policy, case: Case) -> None:
    """Decisions, interpreted, one at a time (compiled code would not notice a wrong index)."""
    check_decisions(row, case.arms, case.horizon)
    _check_cut_batches(row, case)


def _check_cut_batches(row: Policy, case: Case) -> None:
    """The loop: pulls add up to t, and what the horizon cuts off is not released."""
    for horizon in (case.horizon, case.horizon - 1, max(case.arms, case.horizon // 3)):
        walk = Walk(row, case.law(), horizon, seed=SEED)
        before, t, stuck = contents(walk.view), 0, 0
        while not walk.go(1):
            before = contents(walk.view)
            stuck = stuck + 1 if walk.course.t[0] == t else 0
            t = int(walk.course.t[0])
            if stuck > 1:
                raise AssertionError(f"the schedule plays no round after round {t}: length below 1")
            if sum(walk.view.pulls) != t:
                raise AssertionError(f"pulls add up to {sum(walk.view.pulls)} after {t} rounds")
        sums = walk.curve.pulls.sum(axis=1)
        if not (sums == walk.curve.grid).all():
            raise AssertionError("recorded pulls do not add up to the rounds")
        if walk.course.rounds[0] == 0 and contents(walk.view)[:2] != before[:2]:
            raise AssertionError("a batch that the horizon cut off was released")
