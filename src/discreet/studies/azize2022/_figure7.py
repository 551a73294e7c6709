"""Figure 7: the four algorithms on C4 at four budgets: see `environments`."""

from ._environments import environment

FIGURE = environment("7", "C4")
