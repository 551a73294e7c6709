"""Figure 6: regret against δ at (a) ε = 0 and (b) ε = 0.1, T = 1e6.

The printed start phase of DP-FTPL-Gauss is 1/(4πδ²) pulls of every arm, at ε = 0.1 at most
100 log(e/(4πδ²)): at ε = 0 it fills T = 1e6 for δ < 0.00085. δ from 0.9 (1 is no budget) to 1e-4.
Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from ._questions import LITTLE, Change, Lower, Slope, Smoother, ThreeParts
from ._setting import GAUSS, NEW
from ._sweep import Part, sweep

DELTAS = (
    0.9, 0.5, 0.2, 0.1, 0.05, 0.03, 0.02, 0.015, 0.012, 0.01, 0.007, 0.005, 0.004, 0.003, 0.002,
    0.001, 0.0005, 0.0002, 0.0001,
)  # fmt: skip

FIGURE = sweep(
    "6",
    "Regret against δ",
    (Part("a", "epsilon", 0.0, DELTAS), Part("b", "epsilon", 0.1, DELTAS)),
    (
        Change(
            "a",
            "at ε = 0 both regrets grow little while δ falls from 1 to 0.01 (here: by less than a "
            f"factor of {LITTLE:g})",
            (NEW, GAUSS), 0.9, 0.01, LITTLE,
            "At δ = 0.01 the start phase takes 796 pulls of every arm.",
        ),
        Slope(
            "a", "at ε = 0 and δ < 0.01 DP-FTPL-Gauss grows as 1/δ²", GAUSS, -2.0, 0.001, 0.01,
            "Below δ = 0.00085 its start phase outlasts the horizon, and the regret stays.",
        ),
        Slope(
            "a", "at ε = 0 and δ < 0.01 DP-FTPL-New grows as 1/δ", NEW, -1.0, 0.001, 0.01,
            "Further down it nears the regret of a policy that learns nothing by T.",
        ),
        ThreeParts(
            "b",
            "at ε = 0.1 DP-FTPL-Gauss has three parts: constant down to δ = 0.02, steep (1/δ²) to "
            "0.01, then much slower",
            GAUSS, (0.01, 0.02), (0.0001, 0.007),
            "The printed minimum passes to log(1/δ)/ε² at δ = 0.011.",
        ),
        Lower("b"),
        Smoother("b"),
    ),
)  # fmt: skip
