"""From the mean of sigmoids back to the mean: s = E σ(y), σ(y) = 1/(1+e^-y), y in [0, 1].

σ is concave from 0 on, so with c = σ(1) - 1/2

    s <= σ(E y)  (Jensen),   s >= 1/2 + c E y  (the chord),   hence   σ⁻¹(s) <= E y <= (s - 1/2)/c,

and E y = (s - 1/2)/c if y is 0 or 1. Two outcomes of one s differ by BEND at most. Without a range
of outcomes s says nothing of their mean: a rare and very large one moves the mean and not s.
"""

from __future__ import annotations

import math

SLOPE = 1.0 / (1.0 + math.exp(-1.0)) - 0.5
"""c"""


def inverse(s: float) -> float:
    """σ⁻¹(s), within [0, 1]."""
    if s <= 0.5:
        return 0.0
    return 1.0 if s >= 0.5 + SLOPE else math.log(s / (1.0 - s))


_steep = 0.5 + math.sqrt(0.25 - SLOPE)
"""σ where its slope σ(1 - σ) is c: there the chord is farthest"""
BEND = (_steep - 0.5) / SLOPE - inverse(_steep)
"""The largest (s - 1/2)/c - σ⁻¹(s), 0.03."""


def least_mean(s: float, binary: bool) -> float:
    """The least mean that outcomes in [0, 1] with this mean sigmoid can have."""
    return largest_mean(s) if binary else inverse(s)


def largest_mean(s: float) -> float:
    """The largest."""
    return (s - 0.5) / SLOPE
