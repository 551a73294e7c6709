"""Figure 5: the four algorithms on C2 at four budgets: see `environments`."""

from ._environments import environment

FIGURE = environment("5", "C2")
