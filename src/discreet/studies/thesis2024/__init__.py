"""Azize (2024), the thesis: bandits under privacy, and attacks on means and on gradients."""

from .._registry import collected as _collected

STUDY = _collected(
    __name__,
    "Azize (2024), Privacy-Utility Trade-offs in Sequential Decision-Making under Uncertainty",
    "figure2_1", "figure5_2", "figure5_3", "figure5_4", "figure5_5", "figure5_6", "figure5_7",
    "figure5_7_local", "figure_c1", "table6_1", "figure6_2", "figure7_1", "figure7_2",
)  # fmt: skip

__all__ = ["STUDY"]
