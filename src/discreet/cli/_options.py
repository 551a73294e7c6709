"""The options of the commands, and how text becomes numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from ..privacy.budgets import Budget


def flag(text: str, metavar: str, *names: str, **more: Any) -> Any:
    """An option with a value: its help, and what stands for the value."""
    return typer.Option(*names, help=text, metavar=metavar, **more)


def switch(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


def argument(text: str, metavar: str) -> Any:
    """What stands without a name."""
    return typer.Argument(help=text, metavar=metavar)


Json = Annotated[bool, switch("--json", "Print JSON and nothing else.")]
Epsilon = Annotated[float | None, flag("Budget ε; alone it is pure.", "NUMBER")]
Rho = Annotated[float | None, flag("A zero-concentrated (zCDP) budget.", "NUMBER")]
Option = Annotated[list[str] | None, flag("Any option of the policy; repeatable.", "NAME=VALUE")]
Runs = Annotated[str, flag("Number of runs.", "COUNT")]
Seed = Annotated[
    int | None, flag("Random seed, for reproducible results. Default: random.", "COUNT")
]
Threads = Annotated[
    int | None, flag("Number of threads; results do not depend on it. Default: all cores.", "COUNT")
]
RiskOfAnswers = Annotated[
    float | None,
    flag(
        "With --arrivals, for policies that identify: risk of a wrong answer; default: 0.05.",
        "NUMBER",
    ),
]
Output = Annotated[Path | None, flag("Save all runs as Parquet.", "FILE.parquet", readable=False)]


@dataclass(frozen=True)
class Asked:
    """The numbers of a budget."""

    epsilon: Epsilon = None
    delta: Annotated[float | None, flag("With --epsilon: an (ε, δ) budget.", "NUMBER")] = None
    rho: Rho = None
    renyi_alpha: Annotated[
        float | None, flag("With --epsilon: a Rényi budget of this order.", "NUMBER")
    ] = None
    mu: Annotated[float | None, flag("A Gaussian DP budget.", "NUMBER")] = None

    def budget(self) -> Budget | None:
        """The budget that was asked for."""
        from ..privacy.budgets import budget_from

        return budget_from(self.epsilon, self.delta, self.rho, self.renyi_alpha, self.mu)

    def needed(self) -> Budget:
        """The same, where there must be one."""
        budget = self.budget()
        if budget is None:
            raise InvalidArgument("budget", "be given", None, "use for example --epsilon 1")
        return budget


@dataclass(frozen=True)
class Rewards:
    """The reward distributions, or the trial that rewards come from."""

    means: Annotated[str | None, flag("Mean reward of every arm.", "M,M,...")] = None
    environment: Annotated[
        str | None,
        flag(
            "Reward distribution: bernoulli (default), gaussian, beta, two-point, uniform.", "NAME"
        ),
    ] = None
    environment_option: Annotated[
        list[str] | None,
        flag(
            "A parameter of the distribution (sd, concentration, half_width); repeatable.",
            "NAME=VALUE",
        ),
    ] = None
    clip: Annotated[bool, switch("--clip", "Clip every reward to [0, 1].")] = False
    data: Annotated[str | None, flag("A real trial instead: actg175.", "NAME")] = None
    outcome: Annotated[
        str | None, flag("Which outcome of the trial: cd4 (default) or event-free.", "NAME")
    ] = None


@dataclass(frozen=True)
class Study(Rewards):
    """The options of `simulate` and `compare`: rewards, budget, options, size, output."""

    replay: Annotated[
        bool,
        switch("--replay", "Replay the trial's own log instead of resampling outcomes from it."),
    ] = False
    dimension: Annotated[
        str | None, flag("Linear policies: features per action. Default: 3.", "COUNT")
    ] = None
    arms: Annotated[
        str | None, flag("Linear policies: number of actions. Default: 10.", "COUNT")
    ] = None
    contexts: Annotated[
        str | None,
        flag("Linear policies: fixed actions, or gaussian ones drawn anew each round.", "NAME"),
    ] = None
    rewards: Annotated[
        str | None,
        flag("Linear policies: gaussian (default), sign (-1 or 1) or bit (0 or 1).", "NAME"),
    ] = None
    instance_seed: Annotated[
        int | None,
        flag(
            "Linear policies: random seed of the actions and the parameter. Default: random.",
            "COUNT",
        ),
    ] = None
    asked: Asked = Asked()
    alpha: Annotated[float | None, flag("Policy option: exploration.", "NUMBER")] = None
    beta: Annotated[float | None, flag("Policy option: probability of failure.", "NUMBER")] = None
    calibration: Annotated[
        str | None, flag("Policy option: how Gaussian noise is scaled.", "NAME")
    ] = None
    ratio: Annotated[float | None, flag("Policy option: growth of batches.", "NUMBER")] = None
    first: Annotated[int | None, flag("Policy option: first batch.", "COUNT")] = None
    power: Annotated[float | None, flag("Policy option: error t^-power.", "NUMBER")] = None
    option: Annotated[list[str] | None, flag("Any policy option; repeatable.", "NAME=VALUE")] = None
    horizon: Annotated[
        str | None,
        flag("Rounds per run, such as 1e7. Default: 1e6, or all of a replayed log.", "COUNT"),
    ] = None
    runs: Runs = "100"
    seed: Seed = None
    threads: Threads = None
    points: Annotated[str, flag("Points of the regret curve.", "COUNT")] = "100"
    shuffle: Annotated[
        bool | None,
        switch(
            "--shuffle/--no-shuffle",
            "A random order of the arms in every run. Default: for compare, not for simulate.",
        ),
    ] = None
    json: Json = False
    output: Output = None
    plot: Annotated[
        Path | None, flag("Draw the regret: .png, .svg or .pdf.", "FILE.png", readable=False)
    ] = None

    bounds: Annotated[
        bool, switch("--bounds", "Add what theory says: to the output, the JSON and the plot.")
    ] = False

    def policy_options(self) -> dict[str, Any]:
        """Options of policies, whether they have a flag of their own or not."""
        named = ("alpha", "beta", "calibration", "ratio", "first", "power")
        options = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        for name, value in pairs("option", self.option).items():
            if name in options:
                raise InvalidArgument("option", f"give {name} once", value, f"drop --{name}")
            options[name] = value
        return options


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every field of its groups of options as an option of its own."""
    parameters = signature(command, eval_str=True).parameters

    def spread_out(**given: Any) -> None:
        command(**{name: _gathered(p.annotation, name, given) for name, p in parameters.items()})

    spread_out.__doc__ = command.__doc__
    spread_out.__signature__ = Signature(  # type: ignore[attr-defined]  # typer reads it
        [option for parameter in parameters.values() for option in _spread(parameter)]
    )
    return spread_out


def _spread(parameter: Parameter) -> list[Parameter]:
    """A parameter as it is, or one for each field of a group."""
    if not is_dataclass(parameter.annotation):
        return [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
    hints = get_type_hints(parameter.annotation, include_extras=True)
    inner = [
        parameter.replace(name=f.name, default=f.default, annotation=hints[f.name])
        for f in fields(parameter.annotation)
    ]
    return [option for each in inner for option in _spread(each)]


def _gathered(kind: Any, name: str, given: dict[str, Any]) -> Any:
    """What was given for a parameter, or the group that it is."""
    if not isinstance(kind, type) or not is_dataclass(kind):
        return given[name]
    hints = get_type_hints(kind)
    return kind(**{f.name: _gathered(hints[f.name], f.name, given) for f in fields(kind)})


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
