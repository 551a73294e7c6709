"""How wide the intervals of a planned trial will be: simulated trials, and what they release.

>>> import discreet
>>> from discreet.theory.planning._widths import interval_widths
>>> row = discreet.policy("dp-imed", epsilon=1.0)
>>> found = interval_widths(row, [0.6, 0.4], 500, trials=3, seed=1)
>>> found.kind, len(found.widths)
('looks', 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._checks import means_of
from ...arms import Bernoulli
from ...identify import Identifier, identify
from ...inference import intervals
from ...inference._replay import replayed
from ...policies import Policy
from ...simulator import simulate


@dataclass(frozen=True)
class Widths:
    """Mean width of the interval of every arm, for outcomes in [0, 1]."""

    kind: str
    level: float
    widths: tuple[float, ...]
    trials: int


def interval_widths(
    policy: Policy,
    means: Sequence[float],
    horizon: int,
    *,
    level: float = 0.95,
    kind: str | None = None,
    binary: bool = True,
    trials: int = 20,
    seed: int = 1,
) -> Widths:
    """Simulate trials with Bernoulli outcomes of these means, and average what `intervals` says.

    `horizon` is the number of participants; of a policy that stops with an answer the most of them.
    """
    import numpy as np

    environment = Bernoulli(means_of(means))
    options: dict[str, Any] = {"runs": trials, "seed": seed, "progress": False}
    if isinstance(policy, Identifier):
        result = identify(policy, environment, risk=policy.risk, max_samples=horizon, **options)
    else:
        result = simulate(policy, environment, horizon=horizon, **options)
    total = np.zeros(environment.arms)
    for run in range(result.runs):
        record = replace(replayed(result, run, policy), binary=binary)
        found = intervals(record, level, kind)
        total += [row.width for row in found]
    return Widths(found.kind, level, tuple(float(w) for w in total / result.runs), result.runs)
