"""What may be concluded from a trial: intervals, differences, evidence, the probability of best.

>>> import discreet
>>> from discreet.inference import intervals
>>> rehearsal = discreet.Rehearsal(
...     discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], horizon=500, seed=1
... )
>>> for _ in range(500):
...     arm = rehearsal.select()
...     rehearsal.update(arm, 1.0 if arm == "A" else 0.0)
>>> found = intervals(rehearsal, level=0.95)
>>> found.kind, 1.0 in found.of("A")
('looks', True)
"""

from typing import TYPE_CHECKING

from .._lazy import lazily
from ._best import probability_of_best
from ._comparisons import Evidence, differences, evidence
from ._ellipsoids import Ellipsoid, ellipsoid
from ._intervals import Interval, Intervals, intervals
from ._record import Record, Recording, record_of, recording
from ._within import EpochRecord, limits_within

if TYPE_CHECKING:
    from ._replay import replayed

__all__ = [
    "Ellipsoid",
    "EpochRecord",
    "Evidence",
    "Interval",
    "Intervals",
    "Record",
    "Recording",
    "differences",
    "ellipsoid",
    "evidence",
    "intervals",
    "limits_within",
    "probability_of_best",
    "record_of",
    "recording",
    "replayed",
]

__getattr__, __dir__ = lazily(__name__, {"_replay": ("replayed",)}, *__all__)
