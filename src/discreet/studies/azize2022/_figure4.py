"""Figure 4: the four algorithms on C1 at four budgets: see `environments`."""

from ._environments import environment

FIGURE = environment("4", "C1")
