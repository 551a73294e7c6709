"""How wide the intervals of a planned trial will be: simulated trials, and what they release.

>>> import discreet
>>> from discreet.theory.planning.widths import interval_widths
>>> row = discreet.policy("dp-imed", epsilon=1.0)
>>> found = interval_widths(row, [0.6, 0.4], 500, trials=3, seed=1)
>>> found.kind, len(found.widths)
('looks', 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...checks import means_of
from ...errors import InvalidArgument
from ...inference import intervals
from ...policies import Policy


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
    """Simulate trials with Bernoulli outcomes of these means, and average what `intervals` says."""
    import numpy as np

    from ...live import Rehearsal

    clean = means_of(means)
    total = np.zeros(len(clean))
    for number in range(trials):
        rehearsal = Rehearsal(policy, len(clean), horizon=horizon, seed=seed + number)
        rewards = np.random.default_rng([seed, number])
        while rehearsal.remaining:
            arm, size = int(rehearsal.select()), rehearsal.remaining
            rehearsal.update_many(arm, (rewards.random(size) < clean[arm]).astype(float))
        record = rehearsal.public_record(binary)
        if record is None:
            raise InvalidArgument(
                "policy", "release what speaks of mean outcomes", policy.name,
                "use for example dp-imed",
            )  # fmt: skip
        found = intervals(record, level, kind)
        total += [row.width for row in found]
    return Widths(found.kind, level, tuple(float(w) for w in total / trials), trials)
