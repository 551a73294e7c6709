"""`discreet explain`: what a budget means to a person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ._options import Asked, Json, flag, spread
from ._output import PICTURES, check_path, print_json, print_table, print_text, save_picture

NAME = "explain"
EXAMPLE = "discreet explain --epsilon 1"
LEVELS = (0.001, 0.01, 0.05, 0.1)


@spread
def command(
    asked: Asked,
    plot: Annotated[
        Path | None,
        flag("Draw the trade-off curve: .png, .svg or .pdf.", "FILE.png", readable=False),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a budget means: how many members the best attacker finds, and at what price.

    The bounds hold for every attacker and every mechanism with this budget. They are exact for
    pure, (ε, δ) and Gaussian budgets, and the best that can be said of a level for the others.
    """
    from ..privacy._tradeoff import Tradeoff

    budget = asked.needed()
    check_path("plot", plot, PICTURES)
    tradeoff = Tradeoff(budget)
    if plot is not None:
        from ..membership._plots import plot_tradeoffs

        save_picture(plot_tradeoffs({f"every mechanism with {budget}": tradeoff}), plot)
    if json:
        print_json(tradeoff.to_dict(LEVELS))
        return
    print_text(tradeoff.in_words())
    print_text(f"largest advantage (members found - innocents accused): {tradeoff.advantage:.4g}")
    print_table(
        ["innocents accused", "members found, at most"],
        [[f"{level:.1%}", f"{tradeoff.power(level):.2%}"] for level in LEVELS],
        right=("innocents accused", "members found, at most"),
    )
