"""What a trial that tests may say: its design's verdict, read off the releases.

`discreet.confirm` needs numpy, which a trial of another kind does without: it is imported late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import TrialError
from ..policies._policy import BasePolicy
from ._looks import LookRun

if TYPE_CHECKING:
    from ..confirm import Verdict
    from ..confirm._played import Tested


def is_test(policy: object) -> TypeGuard[Tested]:
    """Whether a trial of that policy tests."""
    return getattr(policy, "goal", "") == "test"


def as_policy(given: object, goal: str) -> tuple[Any, str]:
    """A design as the policy that plays it, with its goal unless another was asked for; whatever
    else is given as it is."""
    if isinstance(given, BasePolicy):
        return given, goal
    from ..confirm import Design
    from ..confirm._played import played

    if not isinstance(given, Design):
        return given, goal
    return played(given), "test" if goal == "regret" else goal


def sums_of(run: object) -> list[tuple[float, float]]:
    """The noisy sums (treatment, control) of every look that the trial has had."""
    assert isinstance(run, LookRun)
    memory = run.memory
    looks = int(memory.epoch[0])
    return [(memory.sums[2 * look], memory.sums[2 * look + 1]) for look in range(looks)]


def verdict_of(policy: object, run: object) -> Verdict | None:
    """What the design says of them; None before the first look."""
    if not is_test(policy):
        raise TrialError(
            "verdict() is for trials that test: plan one with a design, "
            "discreet.Trial(discreet.confirm.design(800, epsilon=1.0), ['drug', 'placebo'])"
        )
    sums = sums_of(run)
    return policy.design.verdict(sums) if sums else None
