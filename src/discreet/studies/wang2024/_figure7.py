"""Figure 7: regret against ε at (a) δ = 1e-10 and (b) δ = 0.001, T = 1e6.

The printed start phase of DP-FTPL-Gauss is log(e/(4πδ²))/ε² pulls of every arm, (a) 44.5/ε², which
fills T = 1e6 for ε < 0.02, (b) 12.3/ε², but never more than 1/(4πδ²) = 79578, which ends before T.
Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from ._questions import FLAT, LITTLE, Change, Slope, Smoother
from ._setting import GAUSS, NEW
from ._sweep import Part, sweep

EPSILONS = (
    5.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005,
)  # fmt: skip
SMALLER = (0.001, 1e-4, 1e-5)
"""Further ε of (b), where δ takes over."""

FIGURE = sweep(
    "7",
    "Regret against ε",
    (Part("a", "delta", 1e-10, EPSILONS), Part("b", "delta", 0.001, (*EPSILONS, *SMALLER))),
    (
        Change(
            "a",
            "at δ = 1e-10 both regrets grow little at first (here: by less than a factor of "
            f"{LITTLE:g} from ε = 5 to 0.5)",
            (NEW, GAUSS), 5.0, 0.5, LITTLE,
            "At ε = 0.5 the start phase takes 179 pulls of every arm.",
        ),
        Slope(
            "a", "at δ = 1e-10 DP-FTPL-Gauss grows as 1/ε²", GAUSS, -2.0, 0.03, 0.2,
            "Below ε = 0.02 its start phase outlasts the horizon.",
        ),
        Slope(
            "a", "at δ = 1e-10 DP-FTPL-New grows as 1/ε", NEW, -1.0, 0.02, 0.2,
            "The text names DP-FTPL-Gauss twice; the second is DP-FTPL-New by its bound.",
        ),
        Slope(
            "b", "at δ = 0.001 the second part of DP-FTPL-Gauss grows as 1/ε²", GAUSS, -2.0,
            0.02, 0.1, "At ε = 0.0124 the printed minimum passes to 1/(4πδ²).",
        ),
        Change(
            "b", "at δ = 0.001 DP-FTPL-Gauss does not increase at all in its third part",
            (GAUSS,), 0.01, 1e-5, FLAT,
            "Within a factor of 1.1. The printed minimum passes to 1/(4πδ²) = 79578 pulls of every "
            "arm at ε = 0.0124: 716,202 rounds, which 1e6 has room for, and 1e5 has not.",
        ),
        Change(
            "b", "at δ = 0.001 DP-FTPL-New almost stops increasing for ε < 1e-4",
            (NEW,), 1e-4, 1e-5, FLAT, "Within a factor of 1.1.",
        ),
        Smoother("b"),
    ),
)  # fmt: skip
