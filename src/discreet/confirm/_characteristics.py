"""Operating characteristics: what designs do over a grid of scenarios, the null among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._checks import count, number, numbers
from ..errors import InvalidArgument
from ._adaptive import EpochDesign
from ._designs import Design
from ._several import SeveralDesign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AnyDesign = Design | EpochDesign | SeveralDesign


@dataclass(frozen=True)
class Scenario:
    """A design at a pair of rates.

    `rejected`: P(a difference is shown), the type I error where rates are equal; `right` and
    `wrong`: of it, the better arm is shown to be better, or worse. `participants` is the mean
    number, `on_worse` the mean number of them on a worse arm. `exact`, or simulated.
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

    @property
    def is_null(self) -> bool:
        """Whether the arms are equal."""
        return self.treatment == self.control


@dataclass(frozen=True)
class Characteristics:
    """Scenarios of every design, as table and picture."""

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
    runs: int = 20_000,
    seed: int = 1,
) -> Characteristics:
    """Operating characteristics: how designs behave at treatment rates control + effect.

    Tests of two arms at planned looks, and of treatments against a control, are exact. Trials in
    epochs are simulated.

    Args:
        designs: Designs by name, or one, from `discreet.confirm`.
        control: The rate of the control.
        effects: The effects to show; 0 is always among them. Of several treatments the first has
            the effect and the others none.
        runs: Simulated trials of each scenario, for epochs.
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
    runs = count("runs", runs, fix="use runs=20_000")
    found = []
    for name, each in named.items():
        if not isinstance(each, AnyDesign):
            raise InvalidArgument(
                "designs", "be designs of discreet.confirm by name", type(each).__name__,
                "use discreet.confirm.design(800, epsilon=1.0)",
            )  # fmt: skip
        for gap in wanted:
            p1 = round(p0 + gap, 12)
            if not 0.0 <= p1 <= 1.0:
                raise InvalidArgument(
                    "effects", f"leave rates in [0, 1] with a control of {p0:g}", gap,
                    "use smaller effects",
                )  # fmt: skip
            found.append(_scenario(name, each, (p1, p0), runs, seed))
    return Characteristics(tuple(found))


def _name(design: object) -> str:
    return getattr(design, "boundary", "epochs")


def _scenario(
    name: str, design: AnyDesign, rates: tuple[float, float], runs: int, seed: int
) -> Scenario:
    p1, p0 = rates
    if isinstance(design, SeveralDesign):
        family = design.operating((p1, *(p0,) * (design.treatments - 1)), p0)
        n1 = design.sizes[-1][0]
        worse = design.participants - n1 if p1 > p0 else n1
        shown = family.rejected if p1 == p0 else family.each[0]
        n = float(design.participants)
        return Scenario(name, p1, p0, shown, shown, 0.0, n, float(worse), True)
    if isinstance(design, EpochDesign):
        course = design.operating(p1, p0, runs=runs, seed=seed)
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
    return Scenario(name, p1, p0, up + down, right, wrong, mean, worse_mean, exactly)
