"""Private tests of two arms: planned with a certificate, sized, and read off their releases.

>>> import discreet
>>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
>>> print(plan)
obrien-fleming at 100, 200 participants, ε = 1: reject beyond 2.828, 2.000
>>> plan.certificate.bound <= 0.05  # at every common rate, proved
True
>>> round(plan.power(0.6, 0.35), 3)
0.904
>>> print(plan.verdict([(33, 14), (30, 18)]))  # noisy sums (treatment, control), look by look
look 1: better; difference 0.380, 95 % interval 0.183 to 0.577, p = 0.00016
>>> print(discreet.confirm.size(0.6, 0.35, power=0.8, looks=2, epsilon=1.0))
152 participants for a power of 0.802 (exact), 22 of them for privacy
"""

from ._adaptive import Course, EpochDesign, EpochVerdict, epochs
from ._after import Estimate
from ._alarm import Alarm, AlarmState, alarm
from ._certificates import Certificate
from ._characteristics import Characteristics, Scenario, operating
from ._designs import Design, Operating, Verdict, design
from ._final import Final
from ._moments import Arm, Spread, answered_z, difference_bounds, fractional_z, tipping
from ._noises import Noise
from ._several import Comparison, SeveralDesign, SeveralVerdict, several
from ._simulated import Simulated
from ._sizes import Power, Size, power_at, size
from ._strata import Effect, Forest, StrataDesign, StrataVerdict, strata
from ._unplanned import Unplanned, unplanned
from ._winner import Given, ThenWinner, then_winner

__all__ = [
    "Alarm",
    "AlarmState",
    "Arm",
    "Certificate",
    "Characteristics",
    "Comparison",
    "Course",
    "Design",
    "Effect",
    "EpochDesign",
    "EpochVerdict",
    "Estimate",
    "Final",
    "Forest",
    "Given",
    "Noise",
    "Operating",
    "Power",
    "Scenario",
    "SeveralDesign",
    "SeveralVerdict",
    "Simulated",
    "Size",
    "Spread",
    "StrataDesign",
    "StrataVerdict",
    "ThenWinner",
    "Unplanned",
    "Verdict",
    "alarm",
    "answered_z",
    "design",
    "difference_bounds",
    "epochs",
    "fractional_z",
    "operating",
    "power_at",
    "several",
    "size",
    "strata",
    "then_winner",
    "tipping",
    "unplanned",
]
