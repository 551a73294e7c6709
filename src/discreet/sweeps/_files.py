"""A sweep as a TOML file: what `discreet.sweep` is called with.

    policies = ["imed", "dp-imed"]
    epsilon = [0.1, 1.0]
    horizon = [1e4, 1e5]
    runs = 50
    seed = 1

    [problems.easy]
    means = [0.7, 0.3]

    [problems.skewed]
    environment = "beta"
    means = [0.7, 0.6]

    [problems.linear]
    dimension = 3
    arms = 10
    contexts = "fixed"
    seed = 1

Problems are environments by their means, or random linear problems by their dimension. Every other
entry is an argument of `sweep`: settings of the grid are values or lists. How outcomes come late
is said likewise, a `Delay` or a `Drift` by a table of its arguments:

    arrivals = 12
    missing = 0.1
    drift = {kind = "linear", size = 0.1}

    [delay]
    deadline = "14 days"
    environment = "exponential"
    mean = "5 days"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from .._checks import check_flag
from ..arms import Clipped, environment
from ..errors import InvalidArgument
from ..linear._problem import LinearProblem
from ..simulator.calendar import Delay, Drift
from ._grid import Problem


def read_study(path: str | Path) -> dict[str, Any]:
    """The arguments of `sweep` that a file holds."""
    try:
        study = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(
            "file", "be a readable TOML file", str(path), f"correct this: {error}"
        ) from None
    for name in sorted({"executor", "progress"} & set(study)):
        raise InvalidArgument(name, "be no setting of a file", study[name], "leave it out")
    for name, kind in (("delay", Delay), ("drift", Drift)):
        if isinstance(study.get(name), Mapping):
            study[name] = _made(name, kind, study[name])
    problems = study.get("problems")
    if problems is not None:
        if not isinstance(problems, Mapping):
            raise InvalidArgument(
                "problems", "be tables", problems, "write [problems.easy] and means = [0.7, 0.3]"
            )
        study["problems"] = {name: problem(name, given) for name, given in problems.items()}
    return study


def _made(name: str, kind: type[Delay | Drift], table: Mapping[str, Any]) -> Delay | Drift:
    """A `Delay` or a `Drift` from a table of its arguments."""
    known = {each.name: each for each in fields(kind)}
    for unknown in sorted(set(table) - set(known)):
        raise InvalidArgument(
            f"{name}.{unknown}", "be a setting of it", table[unknown],
            f"known: {', '.join(known)}",
        )  # fmt: skip
    for needed, each in known.items():
        if needed not in table and each.default is MISSING:
            raise InvalidArgument(name, f"have {needed}", dict(table), f"add {needed}")
    return kind(**table)


def problem(name: str, given: object) -> Problem:
    """An environment, or a random linear problem."""
    if not isinstance(given, Mapping):
        raise InvalidArgument(name, "be a table", given, "write means = [0.7, 0.3] below its name")
    settings = dict(given)
    if "dimension" in settings:
        known = {"arms", "dimension", "contexts", "rewards", "ball", "seed"}
        for unknown in sorted(set(settings) - known):
            raise InvalidArgument(
                unknown, "be a setting of a linear problem", settings[unknown],
                f"known: {', '.join(sorted(known))}",
            )  # fmt: skip
        return LinearProblem.random(**settings)
    if "means" not in settings:
        raise InvalidArgument(name, "have means", list(settings), "write means = [0.7, 0.3]")
    if "name" in settings:
        raise InvalidArgument(
            "name", "be left out: a problem has the name of its table", settings["name"],
            'write law = "beta" for its reward distribution',
        )  # fmt: skip
    clip = check_flag("clip", settings.pop("clip", False))
    found = environment(settings.pop("environment", "bernoulli"), settings.pop("means"), **settings)
    return Clipped(found) if clip else found
