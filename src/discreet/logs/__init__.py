"""Data of one's own: a contextual problem from a table, and policies judged by a log.

>>> import discreet
>>> log = discreet.logged(
...     {"arm": ["a", "b", "a", "b"], "outcome": [1, 0, 1, 1], "p": [0.5, 0.5, 0.5, 0.5]},
...     action="arm", reward="outcome", propensity="p",
... )
>>> discreet.evaluate("a", log, method="ipw").value
1.0

`problem` makes a problem for simulations; `logged` reads a log; `evaluate` says what a policy would
have earned, and with `epsilon` keeps everyone in the log private.
"""

from __future__ import annotations

from .._lazy import lazily

TYPE_CHECKING = False  # type checkers take it for True

if TYPE_CHECKING:
    from ._evaluation import METHODS, Estimate, evaluate
    from ._log import Log, logged
    from ._problems import problem

__all__ = ["METHODS", "Estimate", "Log", "evaluate", "logged", "problem"]

_HOMES = {
    "_evaluation": ("METHODS", "Estimate", "evaluate"),
    "_log": ("Log", "logged"),
    "_problems": ("problem",),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
