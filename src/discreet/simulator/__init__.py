"""The simulator: one compiled loop, many runs in threads, tidy results, pictures."""

from ._comparison import Comparison
from ._results import Result
from ._runs import compare, simulate
from ._strata import simulate_strata

__all__ = ["Comparison", "Result", "compare", "simulate", "simulate_strata"]
