"""A trial from a flat document, as `discreet trial new` and the service take it.

>>> from discreet._plans import planned
>>> settings = {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"]}
>>> print(planned(settings).start(None).guarantee.short())
ε = 1 (interactive)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import InvalidArgument

if TYPE_CHECKING:
    from .live import Strata, Trial
    from .live.stores._sql import SqlStore

TRIAL_SETTINGS = (
    "horizon", "goal", "risk", "deadline", "missing", "outcome_range", "binary", "rounded",
    "intervals", "contributions", "conflicts", "corrections", "retention", "kits", "beyond",
    "streams", "window", "share", "trend", "dimension", "longest", "batch",
)  # fmt: skip
"""What a document may say beside its policy or design, arms and strata."""


class Planned(NamedTuple):
    """All that a trial needs but for the place where it is stored."""

    policy: Any
    """or a design"""
    arms: Any
    strata: Sequence[Any] | None
    options: dict[str, Any]
    """of `Trial`, by flat names"""

    def start(self, store: SqlStore | None, **more: Any) -> Trial | Strata:
        """The trial; None: in memory."""
        from .live import Strata, Trial
        from .live._arguments import grouped

        options = grouped({**self.options, **more})
        if self.strata is None:
            return Trial(self.policy, self.arms, path=store, **options)
        return Strata(self.policy, self.strata, self.arms, path=store, **options)


def planned(document: Mapping[str, Any]) -> Planned:
    """What a document asks for; nothing is made yet."""
    from ._front import policy as row_named

    settings = dict(document)
    given = sorted(settings)
    name, arms = settings.pop("policy", None), settings.pop("arms", None)
    design = settings.pop("design", None)
    if (design is None and not isinstance(name, str)) or arms is None or "name" in settings:
        raise InvalidArgument(
            "settings", 'have "policy", a name, and "arms"', given,
            'for example {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"]}',
        )  # fmt: skip
    options = {key: settings.pop(key) for key in TRIAL_SETTINGS if key in settings}
    if isinstance(options.get("outcome_range"), list):
        options["outcome_range"] = tuple(options["outcome_range"])
    strata = settings.pop("strata", None)
    try:
        if design is None:
            row = row_named(name, goal=options.pop("goal", None), **settings)
        else:
            row = _design_of(design, name, settings)
    except InvalidArgument as error:
        if error.argument not in settings or "an option of" not in error.rule:
            raise
        rule = f"{error.rule}, or a setting of a trial"
        fix = f"{error.fix}; settings: {', '.join(TRIAL_SETTINGS)}, strata"
        raise InvalidArgument(error.argument, rule, error.value, fix) from None
    return Planned(row, arms, strata, options)


DESIGNS = {"treatments": "several", "epochs": "epochs", "rate": "alarm"}
"""Which design is meant, by what it alone takes; else a test of two arms, or over strata."""


def _design_of(design: object, policy: object, others: dict[str, Any]) -> Any:
    """The test that the settings describe."""
    from . import confirm

    if policy is not None or others:
        raise InvalidArgument(
            "settings", "have a design or a policy, and nothing else beside what a trial takes",
            sorted([*others, *(["policy"] * (policy is not None))]),
            'put what the design takes into it: {"design": {"participants": 800, "epsilon": 1}}',
        )  # fmt: skip
    given = dict(design) if isinstance(design, dict) else {}
    kind = next((DESIGNS[name] for name in DESIGNS if name in given), "design")
    if isinstance(given.get("participants"), dict | list):
        kind = "strata"
    made = getattr(confirm, kind)
    known = [name for name in signature(made).parameters if name != "budget"]
    rest = given.pop("then_winner", None)
    if not isinstance(design, dict) or "participants" not in given or set(given) - set(known):
        raise InvalidArgument(
            "design", f"have participants, a budget and what else a design takes: {known}",
            sorted(design) if isinstance(design, dict) else design,
            'for example "design": {"participants": 800, "looks": 3, "epsilon": 1}',
        )  # fmt: skip
    test = made(**given)
    return test if rest is None else confirm.then_winner(test, rest)
