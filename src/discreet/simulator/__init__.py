"""The simulator: one compiled loop, many runs in threads, tidy results, pictures."""

from .results import Comparison, Result, load
from .runs import compare, simulate
from .strata import simulate_strata

__all__ = ["Comparison", "Result", "compare", "load", "simulate", "simulate_strata"]
