"""Azize & Basu (2022): regret of ε-private policies that double and forget."""

from ..registry import Study
from . import figure2, figure3, figure4, figure5, figure6, figure7, figure8

STUDY = Study(
    "azize2022",
    "Azize & Basu (2022), When Privacy Meets Partial Information",
    tuple(m.FIGURE for m in (figure2, figure3, figure4, figure5, figure6, figure7, figure8)),
)
