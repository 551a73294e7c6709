"""`discreet operating`: what private tests do over a grid of effects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import InvalidArgument
from ._options import Epsilon, Json, Rho, flag, numbers, whole
from ._output import check_path, print_json, print_text, save_picture

if TYPE_CHECKING:
    from ..confirm._characteristics import AnyDesign

NAME = "operating"
EXAMPLE = "discreet operating --participants 400 --control .35 --effects .1,.2 --epsilon 1"

ONE, EPOCHS, AFTER = "one-look", "epochs", "then-winner"


def command(
    participants: Annotated[str, flag("Participants, both arms.", "COUNT")],
    control: Annotated[float, flag("Rate of the control.", "NUMBER")],
    effects: Annotated[
        str, flag("Treatment minus control; 0 is always among them.", "D,...")
    ] = ".05,.1,.15,.2",
    designs: Annotated[
        str,
        flag(
            "Any of one-look, obrien-fleming, pocock, lan-demets, lan-demets-pocock, epochs, "
            "then-winner, and policies such as race or dp-imed.",
            "NAME,...",
        ),
    ] = "one-look,obrien-fleming,pocock",
    epsilon: Epsilon = None,
    delta: Annotated[float | None, flag("With --epsilon: an (ε, δ) budget.", "NUMBER")] = None,
    rho: Rho = None,
    looks: Annotated[int, flag("Looks, or epochs.", "COUNT")] = 3,
    least: Annotated[float, flag("With epochs: the least share of an arm.", "NUMBER")] = 0.3,
    risk: Annotated[float, flag("Type I error.", "NUMBER")] = 0.05,
    sides: Annotated[int, flag("1 (the treatment is better) or 2.", "COUNT")] = 2,
    runs: Annotated[
        str, flag("With epochs: simulated trials at each rate of the certificate.", "COUNT")
    ] = "100000",
    plot: Annotated[Path | None, flag("Also save a picture.", "FILE", readable=False)] = None,
    json: Json = False,
) -> None:
    """Compare private tests of two arms: type I error, power, participants, those on a worse arm.

    Designs at planned looks are exact. Epochs (adaptive shares) and policies are simulated. After
    an early verdict then-winner gives the rest of the participants the better arm. A policy that
    does not stop with an answer shows a difference where its interval at the end excludes 0.
    """
    check_path("plot", plot, (".png", ".svg", ".pdf"))
    total, gaps = whole("participants", participants), numbers("effects", effects)
    from .._front import policy
    from ..confirm import design, epochs, operating, then_winner
    from ..identify import IDENTIFIERS
    from ..policies import CATALOGUE

    made: dict[str, AnyDesign] = {}
    for name in (each.strip() for each in designs.split(",")):
        if name == EPOCHS:
            made[name] = epochs(
                total, epochs=looks, least=least, epsilon=epsilon, delta=delta, rho=rho,
                risk=risk, sides=sides, runs=whole("runs", runs),
            )  # fmt: skip
            continue
        if name in CATALOGUE or name in IDENTIFIERS:
            made[name] = policy(name, epsilon=epsilon, delta=delta, rho=rho)
            continue
        if name == AFTER:
            test = design(
                total, looks=looks, epsilon=epsilon, delta=delta, rho=rho, risk=risk, sides=sides
            )
            made[name] = then_winner(test)
            continue
        if not name:
            raise InvalidArgument("designs", "be names", designs, "use --designs pocock")
        made[name] = design(
            total, looks=1 if name == ONE else looks, epsilon=epsilon, delta=delta, rho=rho,
            boundary="obrien-fleming" if name == ONE else name, risk=risk, sides=sides,
        )  # fmt: skip
    found = operating(made, control, gaps, participants=total, risk=risk)
    if plot is not None:
        save_picture(found.plot(), plot)
    if json:
        print_json(found.to_dict())
    else:
        print_text(str(found))
