"""Ren, Zhou, Liu & Shroff (2020): regret when every user randomises their own reward."""

from .._registry import collected as _collected

STUDY = _collected(
    __name__, "Ren, Zhou, Liu & Shroff (2020), Multi-Armed Bandits with Local Differential Privacy",
    "figure1", "supplement2",
)  # fmt: skip

__all__ = ["STUDY"]
