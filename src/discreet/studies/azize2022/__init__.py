"""Azize & Basu (2022): regret of ε-private policies that double and forget."""

from .._registry import collected as _collected

STUDY = _collected(
    __name__, "Azize & Basu (2022), When Privacy Meets Partial Information",
    "figure2", "figure3", "figure4", "figure5", "figure6", "figure7", "figure8",
)  # fmt: skip

__all__ = ["STUDY"]
