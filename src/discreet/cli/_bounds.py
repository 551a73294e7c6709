"""`discreet bounds`: what theory says about an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..errors import InvalidArgument
from ._options import Json, Rho, flag, numbers, whole
from ._output import print_json, print_table, print_text

if TYPE_CHECKING:
    from ..theory import Line

NAME = "bounds"
EXAMPLE = "discreet bounds --means .75,.625,.5 --epsilon .5 --horizon 1e6"


def command(
    means: Annotated[str | None, flag("Mean reward of every arm (Bernoulli).", "M,M,...")] = None,
    horizon: Annotated[str, flag("Rounds, such as 1e7.", "COUNT")] = "1e6",
    epsilon: Annotated[float | None, flag("Budget ε. Default: no privacy.", "NUMBER")] = None,
    delta: Annotated[float, flag("The δ of an (ε, δ) budget.", "NUMBER")] = 0.0,
    rho: Rho = None,
    risk: Annotated[
        float | None,
        flag(
            "Also bound the samples that identify the best arm, with this probability of a "
            "wrong answer.",
            "NUMBER",
        ),
    ] = None,
    dimension: Annotated[
        int | None, flag("Linear bandits in so many dimensions, instead of --means.", "COUNT")
    ] = None,
    actions: Annotated[
        int | None, flag("With --dimension: the number of fixed actions.", "COUNT")
    ] = None,
    eigenvalue: Annotated[
        float | None,
        flag("With --dimension: the least eigenvalue of random contexts' E[aa'].", "NUMBER"),
    ] = None,
    json: Json = False,
) -> None:
    """Print every bound on regret (and samples) that applies to these arms.

    Lower bounds hold for all policies of a kind of privacy, upper bounds for one policy with its
    published options. Those of linear bandits hold with probability 1 - risk (default: 0.001).
    """
    from ..theory import bounds, free_epsilon, linear_bounds

    if (means is None) == (dimension is None):
        raise InvalidArgument(
            "means or dimension", "be given, one of them", means, "use for example --means .7,.5"
        )
    if dimension is not None:
        rounds = whole("horizon", horizon)
        lines = linear_bounds(
            dimension, horizon=rounds, actions=actions, epsilon=epsilon, rho=rho,
            risk=1e-3 if risk is None else risk, eigenvalue=eigenvalue,
        )  # fmt: skip
        if json:
            print_json(
                {
                    "dimension": dimension,
                    "horizon": rounds,
                    "bounds": [line.to_dict() for line in lines],
                }
            )
            return
        print_text(f"linear bandits in {dimension} dimensions")
        _print(lines)
        return
    assert means is not None
    values = numbers("means", means)
    lines = bounds(
        values, horizon=whole("horizon", horizon), epsilon=epsilon, delta=delta, rho=rho,
        risk=risk,
    )  # fmt: skip
    free = free_epsilon(values)
    if json:
        print_json(
            {
                "means": values,
                "horizon": whole("horizon", horizon),
                "free_epsilon": free if free < float("inf") else None,
                "bounds": [line.to_dict() for line in lines],
            }
        )
        return
    print_text(f"Bernoulli rewards with means {', '.join(f'{m:g}' for m in values)}")
    _print(lines)
    print_text(
        f"privacy is free in the lower bound from ε = {free:.4g} on (largest log odds ratio)"
    )


def _print(lines: list[Line]) -> None:
    from ..theory import BOUNDS

    print_table(
        ["bound", "side", "form", "value", "formula", "source"],
        [
            [
                line.name if BOUNDS[line.name].gap_free else line.policy or line.name,
                f"{line.side}, {line.quantity}",
                line.form if line.coefficient is None else f"{line.coefficient:,.4g} {line.form}",
                "–" if line.value is None else f"{line.value:,.4g}",
                line.summary if not line.silent else f"silent: {line.silent}",
                line.source,
            ]
            for line in lines
        ],
        right=("value",),
    )
