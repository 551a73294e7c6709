"""Panels of made-up regrets: what a figure would judge if its runs had come out so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import discreet
from discreet.simulator import Comparison, Result
from discreet.studies import Panel

HORIZON = 10**7
GRID = np.array([10, 10**3, 10**5, HORIZON // 2, HORIZON])


def curve(
    label: str, final: float, *, shape: Sequence[float] = (0, 0.2, 0.6, 0.9, 1), spread: float = 0.1
) -> Result:
    """Ten runs that end around `final`, one part in `spread` apart, along a shape over GRID."""
    ends = final * (1.0 + spread * np.linspace(-0.5, 0.5, 10))
    row = discreet.policy("ucb1").to_dict() | {"name": label}
    return Result(
        policy=row,
        environment={"environment": "bernoulli"},
        means=(0.5, 0.4),
        horizon=HORIZON,
        seed=1,
        complete=True,
        seconds=0.0,
        run=np.arange(10),
        t=GRID,
        regret=ends[:, None] * np.array(shape)[None, :],
        counted=np.zeros((10, len(GRID), 2), np.int64),
    )


def panel(setting: str, finals: Mapping[str, float | Result], **values: float) -> Panel:
    """One setting, from final regrets or whole curves by label."""
    results = [
        made if isinstance(made, Result) else curve(label, made) for label, made in finals.items()
    ]
    return Panel(setting, Comparison(tuple(results)), values)
