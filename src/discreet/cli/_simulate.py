"""`discreet simulate`: many runs of one policy."""

from __future__ import annotations

from typing import Annotated

from ._late import Late
from ._options import RiskOfAnswers, Study, argument, spread
from ._study import run

NAME = "simulate"
EXAMPLE = (
    "discreet simulate adap-klucb --means .75,.625,.5,.375,.25 --epsilon 1 --alpha 3.1 "
    "--horizon 1e7 --runs 200 --seed 1 --json"
)


@spread
def command(
    name: Annotated[str, argument("A policy of `discreet policies`.", "NAME")],
    study: Study,
    late: Late,
    risk: RiskOfAnswers = None,
) -> None:
    """Run one policy and report its regret.

    Rewards have the given means, or come from the data of a real trial. No real
    person takes part, so the noise is fast and can be seeded. With --arrivals outcomes come late,
    and arms are played concurrently.
    """
    run([name], study, late, risk, one=True)
