"""The options of the commands, and how text becomes numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from ..privacy.budgets import Budget

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Epsilon = Annotated[
    float | None, typer.Option(help="Budget ε; alone it is pure.", metavar="NUMBER")
]
Delta = Annotated[
    float | None, typer.Option(help="With --epsilon: an (ε, δ) budget.", metavar="NUMBER")
]
Rho = Annotated[
    float | None, typer.Option(help="A zero-concentrated (zCDP) budget.", metavar="NUMBER")
]
RenyiAlpha = Annotated[
    float | None,
    typer.Option(help="With --epsilon: a Rényi budget of this order.", metavar="NUMBER"),
]
Mu = Annotated[float | None, typer.Option(help="A Gaussian DP budget.", metavar="NUMBER")]
Option = Annotated[
    list[str] | None,
    typer.Option(help="Any option of the policy; repeatable.", metavar="NAME=VALUE"),
]
Means = Annotated[str | None, typer.Option(help="Mean reward of every arm.", metavar="M,M,...")]
Law = Annotated[
    str | None,
    typer.Option(
        help="Law of the rewards: bernoulli (default), gaussian, beta, two-point, uniform.",
        metavar="NAME",
    ),
]
LawOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A parameter of the law (sd, concentration, half_width); repeatable.",
        metavar="NAME=VALUE",
    ),
]
Clip = Annotated[bool, typer.Option("--clip", help="Clip every reward to [0, 1].")]
Data = Annotated[
    str | None, typer.Option(help="A real trial instead of a law: actg175.", metavar="NAME")
]
Outcome = Annotated[
    str | None,
    typer.Option(help="Which outcome of the trial: cd4 (default) or event-free.", metavar="NAME"),
]
Runs = Annotated[str, typer.Option(help="Number of runs.", metavar="COUNT")]
Seed = Annotated[
    int | None,
    typer.Option(help="Random seed, for reproducible results. Default: random.", metavar="COUNT"),
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Number of threads; results do not depend on it. Default: all cores.", metavar="COUNT"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(help="Save all runs as Parquet.", metavar="FILE.parquet", readable=False),
]


@dataclass(frozen=True)
class Study:
    """The options of `simulate` and `compare`: rewards, budget, options, size, output."""

    means: Means = None
    law: Law = None
    law_option: LawOption = None
    clip: Clip = False
    data: Data = None
    outcome: Outcome = None
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Replay the trial's own log instead of resampling outcomes from it."
        ),
    ] = False
    dimension: Annotated[
        str | None,
        typer.Option(help="Linear policies: features per action. Default: 3.", metavar="COUNT"),
    ] = None
    arms: Annotated[
        str | None,
        typer.Option(help="Linear policies: number of actions. Default: 10.", metavar="COUNT"),
    ] = None
    contexts: Annotated[
        str | None,
        typer.Option(
            help="Linear policies: fixed actions, or gaussian ones drawn anew each round.",
            metavar="NAME",
        ),
    ] = None
    rewards: Annotated[
        str | None,
        typer.Option(
            help="Linear policies: gaussian (default), sign (-1 or 1) or bit (0 or 1).",
            metavar="NAME",
        ),
    ] = None
    instance_seed: Annotated[
        int | None,
        typer.Option(
            help="Linear policies: random seed of the actions and the parameter. Default: random.",
            metavar="COUNT",
        ),
    ] = None
    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    renyi_alpha: RenyiAlpha = None
    mu: Mu = None
    alpha: Annotated[
        float | None, typer.Option(help="Policy option: exploration.", metavar="NUMBER")
    ] = None
    beta: Annotated[
        float | None,
        typer.Option(help="Policy option: probability of failure.", metavar="NUMBER"),
    ] = None
    calibration: Annotated[
        str | None,
        typer.Option(help="Policy option: how Gaussian noise is scaled.", metavar="NAME"),
    ] = None
    ratio: Annotated[
        float | None, typer.Option(help="Policy option: growth of batches.", metavar="NUMBER")
    ] = None
    first: Annotated[
        int | None, typer.Option(help="Policy option: first batch.", metavar="COUNT")
    ] = None
    power: Annotated[
        float | None, typer.Option(help="Policy option: error t^-power.", metavar="NUMBER")
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any policy option; repeatable.", metavar="NAME=VALUE"),
    ] = None
    horizon: Annotated[
        str | None,
        typer.Option(
            help="Rounds per run, such as 1e7. Default: 1e6, or all of a replayed log.",
            metavar="COUNT",
        ),
    ] = None
    runs: Runs = "100"
    seed: Seed = None
    threads: Threads = None
    points: Annotated[str, typer.Option(help="Points of the regret curve.", metavar="COUNT")] = (
        "100"
    )
    shuffle: Annotated[
        bool | None,
        typer.Option(
            "--shuffle/--no-shuffle",
            help="A random order of the arms in every run. Default: for compare, not for simulate.",
        ),
    ] = None
    json: Json = False
    output: Output = None
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the regret: .png, .svg or .pdf.", metavar="FILE.png", readable=False
        ),
    ] = None

    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="Add what theory says: to the output, the JSON and the plot."
        ),
    ] = False

    def budget(self) -> Budget | None:
        """The budget that was asked for."""
        from ..privacy.budgets import budget_from

        return budget_from(self.epsilon, self.delta, self.rho, self.renyi_alpha, self.mu)

    def policy_options(self) -> dict[str, Any]:
        """Options of policies, whether they have a flag of their own or not."""
        named = ("alpha", "beta", "calibration", "ratio", "first", "power")
        options = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        for name, value in pairs("option", self.option).items():
            if name in options:
                raise InvalidArgument("option", f"give {name} once", value, f"drop --{name}")
            options[name] = value
        return options


def spread(command: Callable[[Any, Study], None]) -> Callable[..., None]:
    """The command with every field of its second argument as an option of its own."""
    hints = get_type_hints(Study, include_extras=True)
    what = next(iter(signature(command, eval_str=True).parameters.values()))
    options = [
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(Study)
    ]

    def spread_out(**given: Any) -> None:
        named = given.pop(what.name)
        command(named, Study(**given))

    spread_out.__doc__ = command.__doc__
    spread_out.__signature__ = Signature(  # type: ignore[attr-defined]  # typer reads it
        [what.replace(kind=Parameter.KEYWORD_ONLY), *options]
    )
    return spread_out


def pairs(argument: str, texts: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE, where values that look like numbers are numbers."""
    found: dict[str, object] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not name:
            raise InvalidArgument(argument, "be NAME=VALUE", text, "write for example alpha=3.1")
        if name in found:
            raise InvalidArgument(argument, f"give {name} once", text, "drop one of the two")
        found[name] = value_of(value.strip())
    return found


WORDS: dict[str, bool | None] = {"none": None, "true": True, "false": False}


def value_of(text: str) -> int | float | str | bool | None:
    """A number if it is one; None, True or False for these words; else the text itself."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def whole(argument: str, text: str) -> int:
    """A whole number, 1e7 included."""
    value = value_of(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(argument, "be a whole number", text, "write for example 1e6")
    return value


def numbers(argument: str, text: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument(
            argument, "be numbers between commas", text, f"write for example --{argument} .75,.5"
        ) from None
