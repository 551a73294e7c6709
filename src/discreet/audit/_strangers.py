"""Trials of strangers: rewards drawn anew for every transcript, but for what an attacker knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .._compiled import Function
from ._adversaries import OWN_CHOICE, Adversary, Plan, feed_plan, steer_plan

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Strangers(Adversary):
    """One table of rewards, rounds × arms, which its owner refills before each transcript."""

    feed: ClassVar[Function] = staticmethod(feed_plan)
    steer: ClassVar[Function] = staticmethod(steer_plan)

    def __init__(self, arms: int, horizon: int) -> None:
        self.arms, self.horizon = arms, horizon
        self.rewards: NDArray[float64] = np.zeros((horizon, arms))
        self._plan = Plan(self.rewards, np.full(horizon, OWN_CHOICE, np.int64))

    def state(self, side: int) -> Plan:
        return self._plan

    def __str__(self) -> str:
        return f"{self.horizon} rewards of strangers"
