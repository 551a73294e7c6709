"""One choice given the history: what instantaneous privacy is about.

Perturbed leaders hold exact sums and randomise the choice, so their claim is about the next arm,
given everything before. The histories are counts N and successes R of every arm, put into the
policy's view by its own release; the two sides differ in one success of arm 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .._compiled import Kernel
from ..errors import InvalidArgument
from ..policies import Policy
from ..policies._step import choose
from ..policies._view import View, fresh_view, shown
from ..privacy._source import SIMULATED
from ._transcripts import Transcripts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Ints


def choose_often(
    rule: object, memory: object, view: View, t: int, codes: Ints, rng: Generator
) -> None:
    """The next arm, again and again from the same history."""
    seen = shown(view)
    for number in range(len(codes)):
        codes[number] = choose(rule, memory, seen, t, rng)


@lru_cache(maxsize=256)
def choice_kernel(policy: Policy) -> Kernel:
    """The loop above with a rule filled in."""
    return Kernel(choose_often, choose=policy.choose_kernel)


@dataclass(frozen=True)
class Choices:
    """The arm that a policy plays after a history of so many pulls and successes of every arm.

    On side 1 arm 0 has one success more.
    """

    policy: Policy
    pulls: tuple[int, ...]
    successes: tuple[int, ...]
    horizon: int = 1000
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.pulls) != len(self.successes) or min(self.pulls) < 1:
            raise InvalidArgument("pulls", "be at least 1 for every arm", self.pulls, "add pulls")
        if any(not 0 <= r <= n for r, n in zip(self.successes, self.pulls, strict=True)):
            raise InvalidArgument(
                "successes", "lie between 0 and the pulls", self.successes, "lower them"
            )
        if self.successes[0] >= self.pulls[0]:
            raise InvalidArgument(
                "successes", "leave room for one more of arm 0", self.successes, "lower the first"
            )

    @property
    def codes(self) -> int:
        return len(self.pulls)

    @property
    def inputs(self) -> str:
        return (
            f"the next arm after pulls {list(self.pulls)} with successes {list(self.successes)}, "
            "or one success more of arm 0"
        )

    def view(self, side: int) -> View:
        """What the policy's own release makes of the history."""
        setting = self.policy.setting(len(self.pulls), self.horizon)
        release, ledger = self.policy.release, self.policy.release.ledger(setting)
        publish = release.publish_kernel(SIMULATED).interpreted()
        view = fresh_view(len(self.pulls))
        for arm, (pulls, total) in enumerate(zip(self.pulls, self.successes, strict=True)):
            rewards = float(total + (side if arm == 0 else 0))
            view.pulls[arm] += pulls
            publish(release.parameters(setting), ledger, view, arm, pulls, rewards, None)
        return view

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        codes = np.zeros(count, np.int64)
        setting = self.policy.setting(len(self.pulls), self.horizon)
        rule, memory = self.policy.rule.parameters(setting), self.policy.rule.memory(setting)
        arguments = (rule, memory, self.view(side), sum(self.pulls), codes, rng)
        choice_kernel(self.policy).cached(*arguments)(*arguments)
        return Transcripts(codes, np.zeros((count, 0)))
