"""Azize (2024), the thesis: bandits under privacy, and attacks on means and on gradients."""

from ..registry import Study
from . import (
    figure2_1,
    figure5_2,
    figure5_3,
    figure5_4,
    figure5_5,
    figure5_6,
    figure5_7,
    figure5_7_local,
    figure6_2,
    figure7_1,
    figure7_2,
    figure_c1,
    table6_1,
)

STUDY = Study(
    "thesis2024",
    "Azize (2024), Privacy-Utility Trade-offs in Sequential Decision-Making under Uncertainty",
    tuple(
        module.FIGURE
        for module in (
            figure2_1,
            figure5_2,
            figure5_3,
            figure5_4,
            figure5_5,
            figure5_6,
            figure5_7,
            figure5_7_local,
            figure_c1,
            table6_1,
            figure6_2,
            figure7_1,
            figure7_2,
        )
    ),
)
