"""Ren, Zhou, Liu & Shroff (2020): regret when every user randomises their own reward."""

from ..registry import collected

STUDY = collected(
    __name__, "Ren, Zhou, Liu & Shroff (2020), Multi-Armed Bandits with Local Differential Privacy",
    "figure1", "supplement2",
)  # fmt: skip
