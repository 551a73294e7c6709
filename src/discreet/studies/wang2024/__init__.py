"""Wang & Zhu (2024): perturbed leaders, private in every choice, against private indices."""

from ..registry import Study
from . import figure4, figure5, figure6, figure7

STUDY = Study(
    "wang2024",
    "Wang & Zhu (2024), Optimal Learning Policies for Differential Privacy in Multi-armed Bandits",
    tuple(m.FIGURE for m in (figure4, figure5, figure6, figure7)),
)
