"""What a policy sees, and the setting in which a row of the table is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Floats, Integers, read_only
from ..errors import InvalidArgument
from ..privacy.budgets import Pure

if TYPE_CHECKING:
    from ..privacy._source import Source
    from ._schedules import Schedule
    from .releases import Release


class View(NamedTuple):
    """All that a rule ever sees of the rewards: releases and counts, one entry an arm."""

    value: Floats
    """the released mean"""
    size: Integers
    """how many rewards stand behind it; 0 before the first release"""
    pulls: Integers
    """how often the arm was ever played"""


def shown(view: View) -> View:
    """The view as rules and schedules see it. One that wrote there could have batches counted anew,
    and outcomes released again."""
    return View(read_only(view.value), read_only(view.size), read_only(view.pulls))


class Empty(NamedTuple):
    """No parameters, or no memory."""

    unused: int = 0


@dataclass(frozen=True)
class Setting:
    """Where a row is put to work: how many arms, for how long, with which noise."""

    arms: int
    horizon: int | None
    source: Source
    schedule: Schedule
    release: Release

    def needs_horizon(self, who: str) -> int:
        """The horizon, for parts that are calibrated to it."""
        if self.horizon is None:
            raise InvalidArgument(
                "horizon", f"be given for {who}", None, "say how many rounds at most will be played"
            )
        return self.horizon

    def pure_epsilon(self, who: str) -> float:
        """The ε that the release keeps, for indices that make up for its noise."""
        guarantee = self.release.guarantee(self.schedule, self.horizon)
        if not isinstance(guarantee.budget, Pure):
            raise InvalidArgument(
                "release", f"keep a pure budget for the rule {who!r}", str(self.release),
                "compose the rule with a Laplace release, or take the rule of adac-ucb",
            )  # fmt: skip
        return guarantee.budget.epsilon


def counts(entries: int = 1) -> Integers:
    """Whole numbers for kernels to count in, all 0; a single one is an array of one entry, which
    they can write."""
    import numpy as np

    return np.zeros(entries, np.int64)


def fresh_view(arms: int) -> View:
    """The view before anything was released."""
    import numpy as np

    return View(np.zeros(arms), counts(arms), counts(arms))
