"""Membership games: how well can an attacker tell whether a target was in the data?"""

from .curve import Curve
from .result import Scores, load

__all__ = ["Curve", "Scores", "load"]
