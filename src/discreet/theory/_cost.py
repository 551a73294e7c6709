"""What would I lose? An equal split, a bandit and a private bandit, in people, outcomes and money.

>>> found = cost([0.6, 0.5], horizon=2_000, runs=40, value=12.5, unit="euro")
>>> [way.name for way in found.ways]
['equal split', 'IMED', 'DP-IMED, ε = 1']
>>> print(found.ways[0].people, found.ways[0].outcomes)
1,000 100.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._checks import MOST_RUNS, check_is, count, horizon_of, means_of, positive
from .._notebooks import plain
from .._plain import aligned, wrapped
from .._version import __version__
from ..arms import Bernoulli
from ..errors import InvalidArgument
from ..policies import CATALOGUE, Policy, policy
from ..report import Estimate, Page
from ..report import count as whole
from ..simulator import compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .._progress import Bar
    from .._types import Floats
    from ..simulator import Result

COLOURS = ("#8a94a0", "#0072b2", "#d55e00")
"""Of the three ways: grey, blue and orange, which differ in print and for colour-blind readers."""
HEADS = ("", "on a worse arm")


@dataclass(frozen=True)
class Way:
    """One way to allocate participants, and what it loses against the best arm.

    Example:
        >>> from discreet import theory
        >>> even = theory.cost([0.6, 0.5], horizon=300, runs=10).ways[0]
        >>> even.name, round(even.outcomes.mean, 3)
        ('equal split', 15.0)
    """

    name: str
    people: Estimate
    """Participants on a worse arm."""
    outcomes: Estimate
    """Expected outcomes lost."""

    def money(self, value: float) -> Estimate:
        """What the lost outcomes are worth."""
        return Estimate(self.outcomes.mean * value, self.outcomes.error * value)


@dataclass(frozen=True)
class Cost:
    """What three ways to run the same experiment lose, with standard errors; from `cost`.

    Example:
        >>> from discreet import theory
        >>> found = theory.cost([0.6, 0.5], horizon=300, runs=10)
        >>> [way.name for way in found.ways]
        ['equal split', 'IMED', 'DP-IMED, ε = 1']
    """

    means: tuple[float, ...]
    horizon: int
    ways: tuple[Way, ...]
    """Equal split, bandit, private bandit."""
    privacy: Way
    """What the private bandit loses beyond the bandit, run by run."""
    runs: int
    seed: int
    guarantee: str
    value: float | None = None
    unit: str = ""
    outcome: str = "outcomes"
    complete: bool = True

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words."""
        equal, _, private = self.ways
        price = self.privacy
        if abs(price.outcomes.mean) <= 2.0 * price.outcomes.error:
            first = (
                f"Privacy costs no more than chance can explain: {price.outcomes} {self.outcome} "
                f"({self._in_money(price)}{price.people} participants on a worse arm)."
            )
        else:
            first = (
                f"Privacy costs {price.outcomes} {self.outcome} of {whole(self.horizon)} "
                f"participants ({self._in_money(price)}{price.people} more participants on a "
                "worse arm)."
            )
        if private.outcomes.mean + 2.0 * private.outcomes.error < equal.outcomes.mean:
            saved = 1.0 - private.outcomes.mean / equal.outcomes.mean
            second = f"The private bandit loses {100 * saved:.0f} % less than an equal split."
        else:
            second = (
                "The private bandit is not clearly better than an equal split: split equally, or "
                "plan more participants or a larger ε."
            )
        return first, second

    def __str__(self) -> str:
        """The page of plain text."""
        return self.text()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return plain(self.text())

    def text(self, width: int = 100) -> str:
        """A table and two sentences, in lines of at most `width`."""
        heads, lines = self._table()
        return "\n".join(
            [
                *wrapped(self._asked(), width=width).splitlines(),
                "",
                *aligned(heads, [[str(cell) for cell in line] for line in lines], width=width),
                "",
                *(wrapped(said, width=width) for said in (*self.sentences, self._made())),
            ]
        )

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""

        def shown(way: Way) -> dict[str, object]:
            found: dict[str, object] = {
                "name": way.name,
                "people": _pair(way.people),
                "outcomes": _pair(way.outcomes),
            }
            return found if self.value is None else found | {"money": _pair(way.money(self.value))}

        return {
            "means": list(self.means),
            "horizon": self.horizon,
            "ways": [shown(way) for way in self.ways],
            "privacy": shown(self.privacy),
            "value": self.value,
            "unit": self.unit,
            "outcome": self.outcome,
            "guarantee": self.guarantee,
            "runs": self.runs,
            "seed": self.seed,
            "complete": self.complete,
        }

    def picture(self) -> Figure:
        """Three bars from zero, with their numbers beside them: no scale needs to be read."""
        from .._figures import Picture

        figure = Picture(figsize=(7.6, 2.6))
        figure.subplots_adjust(left=0.2, right=0.8, top=0.86, bottom=0.06)
        axes = figure.add_subplot()
        shown = [self._shown(way) for way in self.ways]
        for place, (way, estimate) in enumerate(zip(self.ways, shown, strict=True)):
            error = 2.0 * estimate.error if math.isfinite(estimate.error) else 0.0
            axes.barh(place, estimate.mean, 0.62, color=COLOURS[place], xerr=error or None)
            axes.annotate(
                f"{estimate} {self._what()}", (estimate.mean + error, place), (6, 0),
                textcoords="offset points", va="center", fontsize=10, annotation_clip=False,
            )  # fmt: skip
            axes.annotate(
                way.name, (0, place), (-6, 0), textcoords="offset points", ha="right",
                va="center", fontsize=10, annotation_clip=False,
            )  # fmt: skip
        axes.set_xlim(0.0, max(max(each.mean for each in shown), 1e-9))
        axes.invert_yaxis()
        axes.set_axis_off()
        heading = f"Lost against the best arm, of {whole(self.horizon)} participants"
        figure.text(0.02, 0.93, heading, fontsize=11, fontweight="bold", va="center")
        return figure

    def page(self) -> Page:
        """One page: answer, picture, table, settings."""
        heads, lines = self._table()
        said = "; ".join(f"{way.name}: {self._shown(way)} {self._what()}" for way in self.ways)
        page = Page("What would we lose?", subtitle=self._asked())
        if not self.complete:
            page.note("The simulation was interrupted: fewer trials are counted.", warning=True)
        return (
            page.section("Answer")
            .note(*self.sentences)
            .figure(
                self.picture(),
                caption="Shorter is better (lines: ± 2 standard errors of the simulation).",
                alt=f"Three bars. {said}.",
            )
            .table(
                heads,
                lines,
                caption="Lost against the best arm, ± standard error of the simulation.",
                numeric=range(1, len(heads)),
            )
            .section("What is guaranteed")
            .text(self.guarantee)
            .section("How this was computed")
            .text(self._made())
            .footer(f"Written by discreet {__version__}.")
        )

    def write(self, path: str | Path) -> Path:
        """Write the page whole or not at all: Markdown if the path ends with .md, else HTML."""
        return self.page().write(path)

    def _table(self) -> tuple[list[str], list[list[object]]]:
        heads = [*HEADS, f"{self.outcome} lost"]
        lines: list[list[object]] = [
            [way.name, way.people, way.outcomes] for way in (*self.ways, self.privacy)
        ]
        if self.value is not None:
            heads.append(self.unit or "value")
            for line, way in zip(lines, (*self.ways, self.privacy), strict=True):
                line.append(way.money(self.value))
        return heads, lines

    def _asked(self) -> str:
        rates = ", ".join(f"{mean:g}" for mean in self.means)
        amount = "" if self.value is None else f"{self.value:g} {self.unit}".rstrip()
        worth = f"; each of the {self.outcome} is worth {amount}" if amount else ""
        return f"{whole(self.horizon)} participants; arms with rates {rates}{worth}"

    def _made(self) -> str:
        return (
            f"Mean of {whole(self.runs)} simulated trials with seed {self.seed}; ± is one standard "
            "error. Outcomes are 0 or 1 and known before the next participant; the arms are in "
            "random order. The equal split is exact."
        )

    def _shown(self, way: Way) -> Estimate:
        return way.outcomes if self.value is None else way.money(self.value)

    def _what(self) -> str:
        return self.outcome if self.value is None else self.unit

    def _in_money(self, way: Way) -> str:
        return "" if self.value is None else f"{way.money(self.value)} {self.unit}, "


def cost(
    means: Sequence[float],
    *,
    horizon: float,
    epsilon: float = 1.0,
    private: Policy | str = "dp-imed",
    value: float | None = None,
    unit: str = "",
    outcome: str = "outcomes",
    runs: int = 200,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Bar | None = None,
) -> Cost:
    """What would I lose: with an equal split, a bandit, and a private bandit.

    Outcomes are 0 or 1. Losses are against an experiment that gives everyone the best arm.

    Args:
        means: The expected rate of every arm, between 0 and 1.
        horizon: The number of participants.
        epsilon: The budget of the private bandit, if that is given by its name.
        private: The private policy. Its counterpart without privacy is the bandit.
        value: What one outcome is worth, for amounts of money.
        unit: What `value` counts, such as "euro".
        outcome: What outcomes are called, such as "clicks".
        runs: Simulated trials of each policy.
        seed: Random seed, for reproducible results.
        threads: Number of threads; results do not depend on it. Default: all cores.
        progress: Whether to show a bar. Default: on a terminal.

    Returns:
        A `Cost`: `text()`, `page()`, `picture()` and `to_dict()` show it.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the policy has no counterpart.

    Example:
        >>> found = cost([0.6, 0.5], horizon=2_000, runs=40, outcome="clicks")
        >>> found.ways[2].outcomes.mean < found.ways[0].outcomes.mean
        True
    """
    rates = means_of(means)
    many = horizon_of(horizon, len(rates))
    if value is not None:
        positive("value", value, "use for example value=12.5")
    runs = count("runs", runs, least=2, most=MOST_RUNS)
    named = policy(private, epsilon=epsilon) if isinstance(private, str) else private
    row = check_is("private", named, Policy, 'use for example private="dp-imed"')
    twin = CATALOGUE[row.name].twin if row.name in CATALOGUE else ""
    if not twin:
        raise InvalidArgument(
            "private", "have a counterpart without privacy", row.name, 'use private="dp-imed"'
        )
    found = compare(
        [policy(twin), row], Bernoulli(rates), horizon=many, runs=runs, seed=seed,
        threads=threads, points=2, progress=progress,
    )  # fmt: skip
    finished = min(result.runs for result in found)
    if finished < 2:
        raise KeyboardInterrupt
    (plain_people, plain_lost), (people, lost) = (_lost(each, finished) for each in found)
    gaps = [max(rates) - rate for rate in rates]
    each = many / len(rates)
    titles = [CATALOGUE[name].title for name in (twin, row.name)]
    return Cost(
        rates,
        many,
        (
            _exactly("equal split", each * sum(gap > 0 for gap in gaps), each * math.fsum(gaps)),
            Way(titles[0], Estimate.of(plain_people), Estimate.of(plain_lost)),
            Way(f"{titles[1]}, {row.guarantee.budget}", Estimate.of(people), Estimate.of(lost)),
        ),
        Way("cost of privacy", Estimate.of(people - plain_people), Estimate.of(lost - plain_lost)),
        finished,
        seed,
        str(row.guarantee),
        value,
        unit,
        outcome,
        found.complete,
    )


def _lost(result: Result, runs: int) -> tuple[Floats, Floats]:
    """By run: participants on a worse arm, and outcomes lost."""
    import numpy as np

    best = np.array(result.means) >= max(result.means)
    last = result.pulls[:runs, -1, :]
    return last[:, ~best].sum(axis=1).astype(float), result.final_regret[:runs]


def _exactly(name: str, people: float, outcomes: float) -> Way:
    return Way(name, Estimate(people, 0.0), Estimate(outcomes, 0.0))


def _pair(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "error": estimate.error}
