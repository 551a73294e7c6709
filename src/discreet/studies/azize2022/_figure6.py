"""Figure 6: the four algorithms on C3 at four budgets: see `environments`."""

from ._environments import environment

FIGURE = environment("6", "C3")
