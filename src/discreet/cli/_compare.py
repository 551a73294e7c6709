"""`discreet compare`: several policies on the same rewards."""

from __future__ import annotations

from typing import Annotated

from ._late import Late
from ._options import RiskOfAnswers, Study, argument, spread
from ._study import run

NAME = "compare"
EXAMPLE = (
    "discreet compare ucb1 adap-ucb adap-klucb --means .75,.5 --epsilon 1 --horizon 1e5 "
    "--runs 20 --seed 1"
)


@spread
def command(
    names: Annotated[list[str], argument("Policies of `discreet policies`.", "NAME...")],
    study: Study,
    late: Late,
    risk: RiskOfAnswers = None,
) -> None:
    """Run several policies in the same environment with the same seeds.

    The budget goes to the private ones and every option to those that take it. The regret of a
    private policy is also shown relative to the same policy without privacy, if that is named too.
    With --arrivals outcomes come late, and policies that identify are played beside the others.
    """
    run(names, study, late, risk)
