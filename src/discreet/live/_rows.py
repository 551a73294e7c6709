"""Policies in saved files: rows of the catalogue by their recipe, others by their fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never

from ..errors import DamagedFile, DiscreetError, InvalidArgument
from ..policies import CATALOGUE, Policy
from ..policies._fingerprints import fingerprint
from ..policies._registry import row_from_recipe as row_of_the_catalogue
from ..privacy._guarantees import Definition
from ..privacy._source import SECURE

if TYPE_CHECKING:
    from ..policies._policy import BasePolicy

NOMINAL_HORIZON = 10_000
"""Stands in for the horizon where it is only asked whether a row can be run at all."""
WHOLE_RUN = frozenset(
    {
        Definition.LOCAL,
        Definition.INTERACTIVE,
        Definition.ADAPTIVE,
        Definition.TABLE,
        Definition.VIEW,
    }
)
"""Definitions that cover all that is ever shown of a trial, for every participant."""


def protects_whole_run(policy: Policy) -> bool:
    """Whether what the row releases is private over the whole run, whatever its rule does."""
    released = policy.release.guarantee(policy.schedule)
    return released.is_private and released.definition in WHOLE_RUN


def serves_trials(policy: Policy) -> bool:
    """Whether it also has secure noise for that."""
    if not protects_whole_run(policy) or not policy.release.is_live:
        return False
    try:
        policy.setting(2, NOMINAL_HORIZON, SECURE)
    except InvalidArgument:
        return False
    return True


def rows_for_trials() -> list[str]:
    """The rows of the catalogue that serve."""
    return [row.name for row in CATALOGUE.values() if serves_trials(row.example())]


def row_from_recipe(recipe: Mapping[str, Any]) -> Any:
    """The row that a recipe names: of the catalogue, or a design that is tested by."""
    if recipe.get("goal") != "test":
        return row_of_the_catalogue(recipe)
    from ..confirm._played import played_from
    from ..confirm._played_alarm import played_alarm_from
    from ..confirm._played_epochs import played_epochs_from

    if "alarm" in recipe:
        return played_alarm_from(recipe)
    if "epochs" in recipe:
        return played_epochs_from(recipe)
    return played_from(recipe)


def row_to_dict(policy: BasePolicy[Never]) -> dict[str, object]:
    """What a file says of its row; `recipe` is None if the catalogue cannot build it."""
    mark = fingerprint(policy)
    recipe: dict[str, object] | None = dict(policy.recipe) or None
    if recipe is not None and fingerprint(row_from_recipe(recipe)) != mark:
        recipe = None  # a row of the catalogue in which a part was replaced
    return {"name": policy.name, "recipe": recipe, "fingerprint": mark}


def row_from_dict(data: object, given: BasePolicy[Never] | None, path: object) -> BasePolicy[Never]:
    """The row of a file: rebuilt, or the one given, if it is the same."""
    if not isinstance(data, Mapping) or not {"name", "recipe", "fingerprint"} <= set(data):
        raise DamagedFile(f"{path}: the entry of the policy is missing or damaged")
    if given is None:
        if data["recipe"] is None:
            raise InvalidArgument(
                "policy", f"be given: {data['name']!r} is not a row of the catalogue", None,
                "pass the same composed row: load(path, policy=...)",
            )  # fmt: skip
        try:
            given = row_from_recipe(data["recipe"])
        except (DiscreetError, TypeError, KeyError) as error:
            raise DamagedFile(f"{path}: the policy cannot be rebuilt: {error}") from None
        if fingerprint(given) != data["fingerprint"]:
            raise DamagedFile(
                f"{path}: this version builds another {data['name']!r} than made the file; "
                "use the version that made it"
            )
    elif fingerprint(given) != data["fingerprint"]:
        raise InvalidArgument(
            "policy", f"be the row {data['name']!r} that the file was made with", str(given),
            "pass the same schedule, release and rule, with the same settings",
        )  # fmt: skip
    return given
