"""Shared by the tests of live trials with contexts: short trials, and people who come to them."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet.linear as linear
from discreet.live._arguments import grouped
from discreet.privacy._source import RESOLUTION

BUDGETS: dict[str, dict[str, float]] = {
    "adac-oful": {"rho": 0.5},
    "private-linucb": {"epsilon": 1.0},
    "private-lints": {"epsilon": 1.0},
    "jdp-linucb": {"epsilon": 1.0, "delta": 1e-6},
}
PRIVATE = [name for name in BUDGETS if name != "adac-oful"]
SECRET = 0.123456
SECRET_STEPS = round(SECRET * RESOLUTION)
MARK = 0.0703125
"""A feature with 7 decimals, exact on the grid: as a number of steps it is 73728."""


def trial_of(name: str = "adac-oful", **options: Any) -> linear.Trial:
    """A short trial with two arms and three features."""
    row = linear.policy(name, **BUDGETS[name])
    settings: dict[str, Any] = {"arms": ["A", "B"], "dimension": 3, "horizon": 64}
    return linear.Trial(row, **grouped(settings | options))


def offers(count: int, seed: int, longest: float = 1.0) -> Any:
    """Actions inside the ball, on the grid."""
    points = np.random.default_rng(seed).standard_normal((count, 2, 3))
    points *= 0.9 * longest / np.linalg.norm(points, axis=2).max()
    return np.round(points * 1024) / 1024


def play(trial: linear.Trial, actions: Any, start: int = 0) -> list[Any]:
    """Units that answer at once; their arms."""
    given = []
    for number, rows in enumerate(actions, start):
        arm = trial.assign(number, rows)
        trial.record(number, 0.5 if arm == "A" else -0.25)
        given.append(arm)
    return given
