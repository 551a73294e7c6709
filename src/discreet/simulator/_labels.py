"""What each result of several is called, and the settings that set it apart from the others.

Distinct policies never share a label: where their names are the same, what differs is added.

    dp-imed ε=0.1     dp-imed ε=1     dp-imed ε=1, ratio=1.5

The same settings are columns of every saved table: a budget by its numbers (epsilon, delta, rho,
renyi_alpha, mu), options by their names, the reward distribution, the number of arms, the horizon.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import InvalidArgument
from ..policies._registry import NUMBERS, WORDS, entry

if TYPE_CHECKING:
    from .._types import Json
    from ._results import Result

SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "renyi_alpha": "order", "mu": "μ"}
"""How labels spell the numbers of a budget."""
NOT_OPTIONS = ("name", "budget", "goal", "risk", "delta", *NUMBERS)
"""Entries of a recipe that are columns of their own."""
PARTS = ("schedule", "release", "rule", "stopping", "recommendation", "mixed")
SHOWN_MEANS = 6
"""Means that the name of a problem spells out."""


def budget_of(policy: Mapping[str, object]) -> dict[str, float]:
    """The numbers of the budget that was asked for, as they are asked for."""
    recipe = _part(policy, "recipe")
    said: Any = recipe.get("budget")  # JSON: `budget_from_dict` reads it too
    if said is None and recipe.get("epsilon") is not None:
        said = {"kind": "pure", "epsilon": recipe["epsilon"]}
    if said is None:
        guarantee = _part(policy, "guarantee")
        said = guarantee.get("budget") or {}
        if guarantee.get("definition") == "none":
            return {}
    names = {"alpha": "renyi_alpha"} if said.get("kind") == "renyi" else {}
    found = {names.get(name, name): value for name, value in said.items() if name != "kind"}
    return {name: float(value) for name, value in found.items()}


def _part(policy: Json, name: str) -> Json:
    """The recipe or the guarantee of a policy, as `to_dict` gives it."""
    part = policy[name]
    assert isinstance(part, Mapping)
    return part


def options_of(policy: Mapping[str, object]) -> dict[str, object]:
    """The options that were given."""
    return {name: v for name, v in _part(policy, "recipe").items() if name not in NOT_OPTIONS}


def default_of(policy: Mapping[str, object], option: str) -> object:
    """What the catalogue takes for an option that was not given; None if the policy has none."""
    recipe = _part(policy, "recipe")
    try:
        goal = cast("str | None", recipe.get("goal"))  # `entry` refuses what is none
        return entry(str(recipe.get("name", "")), goal).options.get(option)
    except InvalidArgument:
        return None


def problem_of(environment: Mapping[str, object], means: Sequence[float]) -> str:
    """A short name of a problem: its environment, and its means or how many arms there are."""
    name = str(environment["environment"])
    if name in WORDS or len(means) > SHOWN_MEANS:
        return f"{name}, {len(means)} arms"
    return f"{name}({', '.join(f'{mean:.4g}' for mean in means)})"


R = TypeVar("R", bound="Result")


def labelled(records: Sequence[R]) -> tuple[R, ...]:
    """The results under labels that tell distinct policies apart, and problems that do."""
    problems = _numbered(
        [(r.problem or problem_of(r.environment, r.means), _said(r.environment)) for r in records]
    )
    labels = _told_apart(records)
    seen: dict[tuple[object, ...], int] = {}
    found = []
    for record, label, problem in zip(records, labels, problems, strict=True):
        place = (label, problem, record.horizon, str(record.seed), record.risk)
        seen[place] = seen.get(place, 0) + 1
        if seen[place] > 1:  # the same policy on the same problem, listed twice
            label = f"{label} ({seen[place]})"
        found.append(record.called(label, problem))
    return tuple(found)


def _told_apart(records: Sequence[R]) -> list[str]:
    """A label a record, from what differs between the policies of one name."""
    labels = [record.label for record in records]
    rows = [_said(_row_of(record.policy)) for record in records]
    for name in set(labels):
        distinct = {rows[i]: records[i].policy for i, other in enumerate(labels) if other == name}
        if len(distinct) == 1:
            continue
        texts = _differences(list(distinct.values()))
        said = dict(zip(distinct, texts, strict=True))
        for i, other in enumerate(list(labels)):
            if other == name:
                labels[i] = f"{name} {said[rows[i]]}".strip()
    return _numbered(list(zip(labels, rows, strict=True)))


def _differences(policies: Sequence[Mapping[str, object]]) -> list[str]:
    """What sets each of some policies apart from the others, in words; "" for what is usual."""
    settings: list[dict[str, object]] = [
        {SIGNS[n]: v for n, v in budget_of(p).items()} | options_of(p) for p in policies
    ]
    names = list(dict.fromkeys(name for given in settings for name in given))
    differing = [n for n in names if len({_said(given.get(n)) for given in settings}) > 1]
    texts = [
        ", ".join(f"{n}={_short(given[n])}" for n in differing if n in given) for given in settings
    ]
    if len(set(texts)) == len(texts):
        return texts
    parts = [part for part in PARTS if len({_said(p.get(part)) for p in policies}) > 1]
    return [
        ", ".join(filter(None, [text, *(f"{p.get(part)}" for part in parts)]))
        for text, p in zip(texts, policies, strict=True)
    ]


def _numbered(named: Sequence[tuple[str, str]]) -> list[str]:
    """Names, with a number where one name stands for several things."""
    things: dict[str, list[str]] = {}
    found = []
    for name, thing in named:
        known = things.setdefault(name, [])
        if thing not in known:
            known.append(thing)
        place = known.index(thing)
        found.append(name if place == 0 else f"{name} ({place + 1})")
    return found


def _row_of(policy: Mapping[str, object]) -> dict[str, object]:
    """What makes it the policy that it is: a label does not, and a risk is asked of it."""
    asked = ("label", "given_label", "risk", "delta")
    recipe = {name: value for name, value in _part(policy, "recipe").items() if name not in asked}
    return {n: v for n, v in policy.items() if n not in asked} | {"recipe": recipe}


def _said(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def settings_columns(records: Sequence[Result], fixed: Iterable[str]) -> dict[str, list[object]]:
    """A value a record of every setting: policy, budget, options, environment, problem, arms,
    horizon, risk.

    Options have a column if one of the policies was given them; where a policy was not, it is what
    the catalogue takes. A name that another column has is preceded by "option_".
    """
    policies = [record.policy for record in records]
    columns: dict[str, list[object]] = {
        "policy": [record.label for record in records],
        "row": [_part(policy, "recipe").get("name") or policy["name"] for policy in policies],
    }
    budgets = [budget_of(policy) for policy in policies]
    for name in NUMBERS:
        if any(name in budget for budget in budgets):
            columns[name] = [budget.get(name) for budget in budgets]
    columns |= {
        "environment": [str(record.environment["environment"]) for record in records],
        "problem": [record.problem for record in records],
        "arms": [len(record.means) for record in records],
        "horizon": [record.horizon for record in records],
    }
    if any(record.risk is not None for record in records):
        columns["risk"] = [record.risk for record in records]
    given = [options_of(policy) for policy in policies]
    taken = {*columns, *fixed}
    for name in dict.fromkeys(name for options in given for name in options):
        columns[f"option_{name}" if name in taken else name] = _of_one_type(
            [
                options[name] if name in options else default_of(policy, name)
                for options, policy in zip(given, policies, strict=True)
            ]
        )
    return columns


def _of_one_type(values: Sequence[object]) -> list[object]:
    """Numbers, truth values, or text: a column of a table has one type."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if isinstance(value, int | float)]
    if all(isinstance(value, bool) for value in known):
        return list(values)
    if len(numbers) == len(known) and not any(isinstance(value, bool) for value in known):
        each = iter(numbers)
        return [None if value is None else float(next(each)) for value in values]
    return [None if value is None else str(value) for value in values]
