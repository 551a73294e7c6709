"""What a trial is asked for, in groups: what belongs together travels together.

>>> import discreet
>>> trial = discreet.Trial(
...     discreet.policy("dp-imed", epsilon=1.0), ["A", "control"], deadline="14 days", missing=0.0,
...     outcomes=discreet.Outcomes(range=(0, 10)),
...     assignment=discreet.Assignment(window=12, share={"control": 0.2}),
... )

Files with settings are flat, with the same names: `grouped` makes one of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .._checks import Name, check_flag
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from ._ledger import Ledger

RENAMED = {"range": "outcome_range"}
"""Names that would say too little outside of their group."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What an outcome is, and how many of one participant are used.

    Args:
        range: The least and the largest outcome. Default: (0, 1).
        binary: Whether an outcome can only be one of these two.
        truncate: Whether an outcome beyond the range counts as the nearest end of it, and is not
            refused: for amounts without a largest one, such as revenue or minutes. Everything that
            is reported is then about truncated outcomes. `discreet.arms.clipping_level` finds a
            range, `discreet.arms.clipping_bias` says what it costs.
        rounded: For a test, whose sums are whole: when a block is released, every outcome y of it,
            scaled to [0, 1], becomes 1 with probability y, else 0. The test then compares means.
        contributions: How many outcomes of one participant may be used. The guarantee covers all of
            them together, and its budget grows with them.
        conflicts: "refuse" a second, different outcome of a participant with an error, or "ignore"
            it: then anyone who may record cannot find out by trying what was recorded before.
        corrections: "deadline" to let `Trial.correct` put another outcome in place of the first,
            until the outcome would be late. Default: the first one stands.
        retention: How long after the end of the trial the names of its participants are kept, such
            as "90 days". Default: until `Trial.erase`.

    >>> import discreet
    >>> discreet.Outcomes(range=(-1, 1), corrections="deadline").conflicts
    'refuse'
    """

    range: tuple[float, float] | None = None
    binary: bool = False
    truncate: bool = False
    rounded: bool = False
    contributions: int = 1
    conflicts: str = "refuse"
    corrections: str | None = None
    retention: str | timedelta | float | None = None

    def __post_init__(self) -> None:
        check_flag("binary", self.binary)
        check_flag("truncate", self.truncate)
        if self.truncate and self.binary:
            raise InvalidArgument(
                "truncate", "be left out for binary outcomes, which have two values", True,
                "use for example discreet.Outcomes(range=(0, 50), truncate=True)",
            )  # fmt: skip
        check_flag("rounded", self.rounded)


@dataclass(frozen=True, slots=True)
class Assignment:
    """How participants are assigned to arms.

    Args:
        window: How many assignments are planned at once and given out in a random order. Default:
            two per arm. A day's arrivals is a good choice.
        share: The least share of an arm in every window, by name: `{"control": 0.2}`.
        trend: Whether to compare arms within epochs of fixed shares, so that a trend that all arms
            share does not matter. For dp-imed. `window` is then the largest epoch, best as many as
            arrive within the deadline.
        streams: False to play single batches where the policy could do otherwise: participants who
            arrive while a batch waits get an arm, and their outcomes are not used.
        kits: Codes of numbered kits, by arm: `{"drug": ["K101", "K205"], "placebo": ["K102"]}`.
            `assign` then answers with a code, each used once, and reports show codes of arms
            instead of their names: see `Trial.unblind`.
        ledger: What trials may cost a person together, see `Ledger`. Everyone is charged the
            budget of this trial before their first place.
        beyond: The arm of anyone who cannot be charged any more; such participants have no place,
            and their outcomes are not used. Default: an error.

    >>> import discreet
    >>> discreet.Assignment(window=24).window
    24
    """

    window: int | None = None
    share: Mapping[Name, float] | None = None
    trend: bool = False
    streams: bool | None = None
    kits: Mapping[Name, Sequence[str]] | None = None
    ledger: Ledger | None = None
    beyond: Name | None = None

    def __post_init__(self) -> None:
        check_flag("trend", self.trend)
        if self.streams is not None:
            check_flag("streams", self.streams)


@dataclass(frozen=True, slots=True)
class Features:
    """What arms look like to a linear policy: every participant brings a list of features per arm.

    Args:
        dimension: How many features an arm has.
        longest: A bound on the length of such a list. Default: 1. Where contexts are private,
            longer ones than 1 are scaled to 1, and their outcomes with them.
        batch: Participants per release, for policies with trees. The others make their own batches.

    >>> import discreet
    >>> discreet.Features(5)
    Features(dimension=5, longest=None, batch=None)
    """

    dimension: int | None = None
    longest: float | None = None
    batch: int | None = None


GROUPS: dict[str, type[Outcomes] | type[Assignment] | type[Features]] = {
    "outcomes": Outcomes, "assignment": Assignment, "features": Features,
}  # fmt: skip


def group_of(name: str, given: object) -> dict[str, Any]:
    """The settings of a group, by their flat names."""
    kind = GROUPS[name]
    found = kind() if given is None else given
    if not isinstance(found, kind):
        raise InvalidArgument(
            name, f"be a discreet.{kind.__name__}", found, f"use {name}=discreet.{EXAMPLES[name]}"
        )
    return {RENAMED.get(one.name, one.name): getattr(found, one.name) for one in fields(kind)}


EXAMPLES = {
    "outcomes": "Outcomes(range=(0, 1))", "assignment": "Assignment(window=12)",
    "features": "Features(dimension=5)",
}  # fmt: skip
FLAT = {
    RENAMED.get(one.name, one.name): (group, one.name)
    for group, kind in GROUPS.items()
    for one in fields(kind)
}
"""The group and the name in it of every flat setting."""


PLAIN = {"deadline": None, "missing": None, "intervals": "auto"}
"""What is in no group, and the same for every stratum."""


def ungrouped(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `Trial` takes, by flat names; what it does not take is refused."""
    for name, value in options.items():
        if name not in PLAIN and name not in GROUPS:
            raise InvalidArgument(
                name, "be an argument of Trial", value, f"one of {[*PLAIN, *GROUPS]}"
            )
    found = {**PLAIN, **{name: value for name, value in options.items() if name in PLAIN}}
    for group in GROUPS:
        found |= group_of(group, options.get(group))
    return found


def grouped(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Flat settings as `Trial` takes them."""
    found: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        if name in FLAT:
            group, field = FLAT[name]
            inside.setdefault(group, {})[field] = value
        else:
            found[name] = value
    return found | {group: GROUPS[group](**values) for group, values in inside.items()}
