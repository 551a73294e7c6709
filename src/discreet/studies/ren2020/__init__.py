"""Ren, Zhou, Liu & Shroff (2020): regret when every user randomises their own reward."""

from ..registry import Study
from . import figure1, supplement2

STUDY = Study(
    "ren2020",
    "Ren, Zhou, Liu & Shroff (2020), Multi-Armed Bandits with Local Differential Privacy",
    (figure1.FIGURE, supplement2.FIGURE),
)
