"""`discreet size`: participants for a power, or the power of participants."""

from __future__ import annotations

from typing import Annotated

from ..errors import InvalidArgument
from ._options import Epsilon, Json, Rho, flag, numbers, switch, whole
from ._output import print_json, print_text

NAME = "size"
EXAMPLE = "discreet size --rates .5,.35 --power .9 --epsilon 1"


def command(
    rates: Annotated[str, flag("Rates of treatment and control.", "P,P")],
    power: Annotated[
        float | None, flag("The power to reach. Default: 0.9, unless --participants.", "NUMBER")
    ] = None,
    participants: Annotated[
        str | None, flag("Instead of --power: say the power of so many.", "COUNT")
    ] = None,
    epsilon: Epsilon = None,
    delta: Annotated[float | None, flag("With --epsilon: an (ε, δ) budget.", "NUMBER")] = None,
    rho: Rho = None,
    looks: Annotated[int, flag("Looks, equally spaced.", "COUNT")] = 3,
    boundary: Annotated[
        str, flag("obrien-fleming, pocock, lan-demets or lan-demets-pocock.", "NAME")
    ] = "obrien-fleming",
    risk: Annotated[float, flag("Type I error.", "NUMBER")] = 0.05,
    sides: Annotated[int, flag("1 (the treatment is better) or 2.", "COUNT")] = 2,
    strata: Annotated[
        str, flag("Sites that release their own sums: how many, or their shares.", "COUNT|P,P,...")
    ] = "1",
    closed_form: Annotated[
        bool, switch("--closed-form", "The closed form alone: at once, for any size.")
    ] = False,
    json: Json = False,
) -> None:
    """Say how many participants a private test of two arms needs, and how many for privacy.

    With --participants it is the other way: the power that so many have. Powers and sizes are exact
    and of designs whose type I error is certified; --closed-form is an approximation.
    """
    from ..confirm import power_at, size

    pair = numbers("rates", rates)
    if len(pair) != 2:
        raise InvalidArgument("rates", "be two, treatment and control", rates, "use --rates .5,.35")
    if participants is not None:
        if power is not None or closed_form or strata != "1":
            raise InvalidArgument(
                "participants", "come without power, strata and closed-form", participants,
                "give one",
            )  # fmt: skip
        found = power_at(
            pair[0], pair[1], whole("participants", participants), looks=looks, epsilon=epsilon,
            delta=delta, rho=rho, boundary=boundary, risk=risk, sides=sides,
        )  # fmt: skip
        said: dict[str, object] = {
            "participants": found.participants, "power": found.power,
            "power_without_privacy": found.without_privacy, "design": found.design.to_dict(),
        }  # fmt: skip
        text = f"{found}\n{found.design}\n{found.design.certificate}"
    else:
        need = size(
            pair[0], pair[1], power=0.9 if power is None else power, looks=looks, epsilon=epsilon,
            delta=delta, rho=rho, boundary=boundary, risk=risk, sides=sides,
            strata=numbers("strata", strata) if "," in strata else whole("strata", strata),
            exact=not closed_form,
        )  # fmt: skip
        said = {
            "participants": need.participants, "without_privacy": need.without_privacy,
            "for_privacy": need.for_privacy, "closed_form": need.closed_form,
            "power": need.power,
            "design": None if need.design is None else need.design.to_dict(),
        }  # fmt: skip
        text = str(need)
        if need.design is not None:
            text += f"\n{need.design}\n{need.design.certificate}"
    if json:
        print_json(said)
    else:
        print_text(text)
