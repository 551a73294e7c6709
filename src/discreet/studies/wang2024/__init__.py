"""Wang & Zhu (2024): perturbed leaders, private in every choice, against private indices."""

from .._registry import collected as _collected

STUDY = _collected(
    __name__,
    "Wang & Zhu (2024), Optimal Learning Policies for Differential Privacy in Multi-armed Bandits",
    "figure4", "figure5", "figure6", "figure7",
)  # fmt: skip

__all__ = ["STUDY"]
