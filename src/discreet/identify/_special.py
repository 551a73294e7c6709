"""Special functions of the stopping thresholds, as kernels.

- log ζ(1 + u) for u in (0, 1], by the Laurent series ζ(1+u) = 1/u + Σ (-1)^n γ_n uⁿ/n!.
- C_G(x) = min over λ in (1/2, 1] of (g(λ) + x)/λ,
  g(λ) = 2λ - 2λ log 4λ + log ζ(2λ) - log(1-λ)/2  (Kaufmann & Koolen 2021).
- Wbar(x) = -W₋₁(-e^-x) for x >= 1: the w >= 1 with w - log w = x.
"""

from __future__ import annotations

import math

STEPS = 100
"""More than any argument needs: Newton's method stops by itself after three to eight."""
LAURENT = (
    0.5772156649015329, 0.07281584548367672, -0.00484518159643616, -0.00034230573671722,
    9.689041939447084e-05, -6.611031810842189e-06, -3.316240908752772e-07, 1.0462094584479187e-07,
    -8.733218100273797e-09, 9.478277782762359e-11, 5.6584219276087e-11, -6.7686898640e-12,
    3.4921159e-13, 4.4104e-15,
)  # fmt: skip
"""(-1)^n γ_n / n!, γ_n the Stieltjes constants."""


def log_zeta(u: float) -> tuple[float, float, float]:
    """log ζ(1 + u) and its first two derivatives in u, for 0 < u <= 1."""
    series, slope, bend = 0.0, 0.0, 0.0
    for n in range(len(LAURENT) - 1, -1, -1):
        bend = bend * u + 2.0 * slope
        slope = slope * u + series
        series = series * u + LAURENT[n]
    zeta = 1.0 / u + series
    first = (slope - 1.0 / (u * u)) / zeta
    second = (bend + 2.0 / (u * u * u)) / zeta - first * first
    return math.log(zeta), first, second


def calibration(x: float) -> float:
    """C_G(x): λ g'(λ) - g(λ) = x at the minimum, by Newton's method inside a shrinking bracket.

    A λ beside the minimum gives a larger value, so an inexact solution is on the safe side.
    """
    low, high = 0.5, 1.0
    at = 1.0 - 1.0 / (4.0 + 2.0 * x)
    best = math.inf
    for _ in range(STEPS):
        log, first, second = log_zeta(2.0 * at - 1.0)
        g = 2.0 * at - 2.0 * at * math.log(4.0 * at) + log - 0.5 * math.log(1.0 - at)
        best = min(best, (g + x) / at)
        slope = -2.0 * math.log(4.0 * at) + 2.0 * first + 0.5 / (1.0 - at)
        excess = at * slope - g - x
        if excess > 0.0:
            high = at
        else:
            low = at
        bend = -2.0 / at + 4.0 * second + 0.5 / (1.0 - at) ** 2
        step = at - excess / (at * bend)
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - at) <= 1e-9 * (1.0 - at):
            break
        at = step
    return best


def lambert_bar(x: float) -> float:
    """Wbar(x), by Newton's method from the right: the start x + log x + 1/2 is above the root."""
    w = x + math.log(x) + 0.5
    for _ in range(STEPS):
        if w <= 1.0:  # x = 1, where the two branches meet
            return 1.0
        step = (w - math.log(w) - x) * w / (w - 1.0)
        w -= step
        if step <= 1e-13 * w:
            break
    return w
