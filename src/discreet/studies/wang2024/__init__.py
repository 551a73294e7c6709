"""Wang & Zhu (2024): perturbed leaders, private in every choice, against private indices."""

from ..registry import collected

STUDY = collected(
    __name__,
    "Wang & Zhu (2024), Optimal Learning Policies for Differential Privacy in Multi-armed Bandits",
    "figure4", "figure5", "figure6", "figure7",
)  # fmt: skip
