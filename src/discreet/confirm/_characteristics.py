"""Operating characteristics: what designs do over a grid of scenarios, the null among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._checks import count, number, numbers
from ..errors import InvalidArgument
from ..policies import Policy
from ._adaptive import EpochDesign
from ._designs import Design, check_risk
from ._several import SeveralDesign
from ._strata import StrataDesign
from ._winner import ThenWinner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AnyDesign = Design | EpochDesign | SeveralDesign | StrataDesign | ThenWinner | Policy
"""Whatever a `Trial`, or `Strata`, plays with finite arms."""
READ = 200
"""Trials of a policy whose intervals are read, by default."""


@dataclass(frozen=True)
class Scenario:
    """A design at a pair of rates.

    `rejected`: P(a difference is shown), the type I error where rates are equal; `right` and
    `wrong`: of it, the better arm is shown to be better, or worse. `participants` is the mean
    number, `on_worse` the mean number of them on a worse arm. `exact`, or from `runs` simulated
    trials.

    Example:
        >>> import discreet
        >>> design = discreet.confirm.design(60, looks=1, epsilon=1.0)
        >>> null, effect = discreet.operating(design, control=0.3, effects=[0.3]).scenarios
        >>> null.is_null, round(null.rejected, 3), round(effect.right, 3)
        (True, 0.046, 0.553)
    """

    design: str
    treatment: float
    control: float
    rejected: float
    right: float
    wrong: float
    participants: float
    on_worse: float
    exact: bool
    runs: int = 0

    @property
    def is_null(self) -> bool:
        """Whether the arms are equal."""
        return self.treatment == self.control


@dataclass(frozen=True)
class Characteristics:
    """How designs behave at chosen rates, as table and picture; from `operating`.

    Example:
        >>> import discreet
        >>> design = discreet.confirm.design(60, looks=1, epsilon=1.0)
        >>> print(discreet.operating({"one look": design}, control=0.3, effects=[0.3]))
        design    treatment  control                P(shown)  participants  on worse arm  by
        one look  0.3        0.3      type I error  0.0461    60                          exact
        one look  0.6        0.3      power         0.5529    60            30            exact
    """

    scenarios: tuple[Scenario, ...]

    def of(self, design: str) -> tuple[Scenario, ...]:
        """Those of one design."""
        return tuple(each for each in self.scenarios if each.design == design)

    @property
    def designs(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(dict.fromkeys(each.design for each in self.scenarios))

    def rows(self) -> list[tuple[str, ...]]:
        """For a table: design, rates, what is shown, participants."""
        found: list[tuple[str, ...]] = []
        for each in self.scenarios:
            what = "type I error" if each.is_null else "power"
            share = each.rejected if each.is_null else each.right
            found.append((
                each.design, f"{each.treatment:g}", f"{each.control:g}", what, f"{share:.4f}",
                f"{each.participants:.0f}", "" if each.is_null else f"{each.on_worse:.0f}",
                "exact" if each.exact else "simulated",
            ))  # fmt: skip
        return found

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {"scenarios": [asdict(each) for each in self.scenarios]}

    def __str__(self) -> str:
        head = (
            "design", "treatment", "control", "", "P(shown)", "participants", "on worse arm", "by"
        )  # fmt: skip
        rows = [head, *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Figure:
        """P(shown) and mean participants over the effect, a curve for each design."""
        from ._pictures import plot_characteristics

        return plot_characteristics(self, path)


def operating(
    designs: Mapping[str, AnyDesign] | AnyDesign,
    control: float,
    effects: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.2),
    *,
    participants: float | None = None,
    risk: float = 0.05,
    runs: int = 20_000,
    read: int = READ,
    seed: int = 1,
) -> Characteristics:
    """Operating characteristics: how designs behave at treatment rates control + effect.

    Tests of two arms at planned looks, and of treatments against a control, are exact. Trials in
    epochs, by stratum and of policies are simulated. A policy that stops with an answer shows a
    difference when it does. Any other shows one if the interval at the end excludes 0.

    Args:
        designs: Designs by name, or one, from `discreet.confirm`; policies of any goal too.
        control: The rate of the control.
        effects: The effects to show; 0 is always among them. Of several treatments the first has
            the effect and the others none. Strata all have the same rates.
        participants: Of policies, at most. Default: as many as the largest design has.
        risk: Of policies: their risk, or 1 - the level of their intervals.
        runs: Simulated trials of each scenario, where it is not exact.
        read: Of a policy with intervals: how many of them are read.
        seed: Random seed, for reproducible results.

    Returns:
        The scenarios: how often the test rejects, and its participants.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> design = discreet.confirm.design(200, looks=1, epsilon=1.0)
        >>> found = discreet.operating(design, control=0.3, effects=[0.2])
        >>> len(found.scenarios)
        2
    """
    named: Mapping[str, AnyDesign]
    named = designs if isinstance(designs, Mapping) else {_name(designs): designs}
    p0 = number("control", control, low=0.0, high=1.0, fix="use control=0.35")
    gaps = numbers("effects", effects, low=-1.0, high=1.0, fix="use effects=(0.0, 0.1)")
    wanted = sorted({0.0, *gaps})
    play = Play(
        _most(named, participants), check_risk(risk), count("runs", runs, fix="use runs=20_000"),
        count("read", read, fix=f"use read={READ}"), seed,
    )  # fmt: skip
    found = []
    for name, each in named.items():
        for gap in wanted:
            p1 = round(p0 + gap, 12)
            if not 0.0 <= p1 <= 1.0:
                raise InvalidArgument(
                    "effects", f"leave rates in [0, 1] with a control of {p0:g}", gap,
                    "use smaller effects",
                )  # fmt: skip
            found.append(_scenario(name, each, (p1, p0), play))
    return Characteristics(tuple(found))


class Play(NamedTuple):
    """How what is not exact is simulated."""

    participants: int
    risk: float
    runs: int
    read: int
    seed: int


def _most(named: Mapping[str, AnyDesign], participants: float | None) -> int:
    """Participants of a policy."""
    for each in named.values():
        if not isinstance(each, AnyDesign):
            raise InvalidArgument(
                "designs", "be designs of discreet.confirm, or policies, by name",
                type(each).__name__, "use discreet.confirm.design(800, epsilon=1.0)",
            )  # fmt: skip
    if participants is not None:
        return count("participants", participants, least=2, fix="use participants=800")
    own = [each.participants for each in named.values() if not isinstance(each, Policy)]
    if not own:
        raise InvalidArgument(
            "participants", "be given where there are policies alone", None, "use participants=800"
        )
    return max(own)


def _name(design: object) -> str:
    return str(getattr(design, "boundary", None) or getattr(design, "name", "epochs"))


def _scenario(name: str, design: AnyDesign, rates: tuple[float, float], play: Play) -> Scenario:
    p1, p0 = rates
    if isinstance(design, Policy):
        from ._policies import concluded

        seen = concluded(
            design, rates, play.participants, play.risk, play.runs, play.read, play.seed
        )
        right, wrong = (seen.better, seen.worse) if p1 >= p0 else (seen.worse, seen.better)
        return Scenario(
            name, p1, p0, right + wrong, right, wrong, seen.participants, seen.on_worse, False,
            seen.runs,
        )  # fmt: skip
    if isinstance(design, ThenWinner):
        test = _scenario(name, design.design, rates, play)
        given = design.operating(p1, p0)
        worse = design.participants * (1.0 - given.on_better)
        return replace(test, participants=float(design.participants), on_worse=worse)
    if isinstance(design, StrataDesign):
        return _over_strata(name, design, rates, play)
    if isinstance(design, SeveralDesign):
        family = design.operating((p1, *(p0,) * (design.treatments - 1)), p0)
        n1 = design.sizes[-1][0]
        worse = design.participants - n1 if p1 > p0 else n1
        shown = family.rejected if p1 == p0 else family.each[0]
        n = float(design.participants)
        return Scenario(name, p1, p0, shown, shown, 0.0, n, float(worse), True)
    if isinstance(design, EpochDesign):
        course = design.operating(p1, p0, runs=play.runs, seed=play.seed)
        up, down = sum(course.above), sum(course.below)
        mean, worse_mean = course.participants, course.participants * (1.0 - course.in_trial)
    else:
        exact = design.operating(p1, p0)
        up, down, mean = sum(exact.above), sum(exact.below), exact.participants
        arm = np.array([size[1 if p1 >= p0 else 0] for size in design.sizes], float)
        stops = np.array(exact.above) + exact.below + exact.futile
        stops[-1] = 1.0 - stops[:-1].sum()
        worse_mean = float(stops @ arm)
    right, wrong = (up, down) if p1 >= p0 else (down, up)
    exactly = isinstance(design, Design)
    return Scenario(
        name,
        p1,
        p0,
        up + down,
        right,
        wrong,
        mean,
        worse_mean,
        exactly,
        0 if exactly else play.runs,
    )


def _over_strata(
    name: str, design: StrataDesign, rates: tuple[float, float], play: Play
) -> Scenario:
    """All strata have the same rates."""
    p1, p0 = rates
    strata, looks = len(design.sizes), len(design.sizes[0])
    stops = design.stops((p1,) * strata, (p0,) * strata, runs=play.runs, seed=play.seed)
    arm = 1 if p1 >= p0 else 0
    worse = [sum(each[look][arm] for each in design.sizes) for look in range(looks)]
    total = [sum(sum(each[look]) for each in design.sizes) for look in range(looks)]
    up, down = sum(stops.above), sum(stops.below)
    at = [a + b for a, b in zip(stops.above, stops.below, strict=True)]
    at[-1] += 1.0 - sum(at)
    right, wrong = (up, down) if p1 >= p0 else (down, up)
    return Scenario(
        name, p1, p0, up + down, right, wrong,
        sum(share * n for share, n in zip(at, total, strict=True)),
        sum(share * n for share, n in zip(at, worse, strict=True)), False, play.runs,
    )  # fmt: skip
