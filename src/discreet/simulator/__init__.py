"""The simulator: one compiled loop, many runs in threads, tidy results, pictures."""

from ._results import Comparison, Result, load
from ._runs import compare, simulate
from ._strata import simulate_strata

__all__ = ["Comparison", "Result", "compare", "load", "simulate", "simulate_strata"]
