"""What a reproduced figure is: a published picture, its statements, and what a run makes of them.

A figure is a frozen object of a subclass of `Figure` that says three things: what to simulate
(`panels`), how to draw it (`draw`), and what was found of each published statement (`judge`).

>>> from discreet.studies import figure
>>> done = figure("azize2022", "2").run("quick", seed=1)
>>> [finding.verdict for finding in done.findings]            # doctest: +SKIP
[<Verdict.REPRODUCED: 'reproduced'>, ...]

To add one: `studies/<study>/figure<number>.py` with a `FIGURE`, named in the `STUDY` of
`studies/<study>/__init__.py`; a new study is one more line in `studies/registry.py`.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from ..errors import InvalidArgument
from ._cache import CACHE
from ._measures import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ..arms import Environment
    from ..linear import LinearPolicy, LinearProblem
    from ..policies import Policy
    from ..policies._policy import BasePolicy
    from ..simulator import Comparison, Result
    from ._files import Findings, Judged

SCALES = ("full", "quick")
PIECES = 16
"""Pieces that a curve is cut into, where they are kept."""


class Verdict(StrEnum):
    """What became of a published statement.

    Example:
        >>> from discreet.studies import Verdict
        >>> print(Verdict.of(True), Verdict.of(False), Verdict.of(False, partly=True))
        reproduced not reproduced differs
    """

    REPRODUCED = "reproduced"
    """the statement holds in our runs: an order by two standard errors, a number within the
    tolerance that the finding states"""
    DIFFERS = "differs"
    """the direction is as published, but not the size, or only in half of the settings or more"""
    NOT_REPRODUCED = "not reproduced"
    """our runs contradict the statement, a reversed order among them, or it holds in fewer than
    half of the settings"""
    CANNOT_TELL = "cannot tell"
    """undecided: runs of this size might not have shown the statement if it held"""

    @classmethod
    def of(cls, holds: bool, partly: bool = False) -> Verdict:
        """Reproduced if the statement holds; if it does not, whether a part of it does decides."""
        if holds:
            return cls.REPRODUCED
        return cls.DIFFERS if partly else cls.NOT_REPRODUCED


class Mark(StrEnum):
    """What a reader must know of a verdict beside it: how its terms came about."""

    FITTED = "fitted"
    """a horizon or a round that the source does not print was chosen to meet its numbers"""
    AFTER = "tolerance after a look"
    """the tolerance or the interval was set when first runs had been seen"""


@dataclass(frozen=True)
class Statement:
    """A published claim in our words, and where it is printed.

    Example:
        >>> from discreet.studies import Statement
        >>> Statement("privacy is free for large ε", "figure 2").where
        'figure 2'
    """

    claim: str
    where: str


@dataclass(frozen=True)
class Finding:
    """A statement, what was measured of it, and what follows.

    Example:
        >>> from discreet.studies import Finding, Statement, Verdict
        >>> claim = Statement("privacy is free for large ε", "figure 2")
        >>> found = Finding(claim, Verdict.of(True), {}, "both curves end within 1 %")
        >>> print(found.verdict, found.statement.where)
        reproduced figure 2
    """

    statement: Statement
    verdict: Verdict
    measured: Mapping[str, Measure]
    why: str
    marks: tuple[Mark, ...] = ()

    def to_dict(self) -> Judged:
        """JSON-ready."""
        return {
            "claim": self.statement.claim,
            "where": self.statement.where,
            "verdict": self.verdict.value,
            "measured": [
                {"name": name, **measure.to_dict()} for name, measure in self.measured.items()
            ],
            "why": self.why,
            "marks": [mark.value for mark in self.marks],
        }


@dataclass(frozen=True)
class Size:
    """How much is simulated: rounds, runs, and points of a curve.

    The first points of a curve do not depend on their number.

    Example:
        >>> from discreet.studies import Size
        >>> Size(horizon=1_000, runs=20).to_dict()
        {'horizon': 1000, 'runs': 20, 'points': 100}
    """

    horizon: int
    runs: int
    points: int = 100

    def to_dict(self) -> dict[str, int]:
        """JSON-ready."""
        return {"horizon": self.horizon, "runs": self.runs, "points": self.points}


@dataclass(frozen=True, eq=False)
class Panel:
    """The runs of one setting: its name, its parameters, and the results by the curves' labels.

    Example:
        >>> import discreet
        >>> from discreet.studies import Panel
        >>> found = discreet.compare(
        ...     [discreet.policy("dp-imed", epsilon=1.0)], discreet.Bernoulli([0.7, 0.4]),
        ...     horizon=200, runs=2, seed=1, threads=1,
        ... )
        >>> Panel("two arms", found).labels
        ['dp-imed']
    """

    setting: str
    comparison: Comparison
    values: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, label: str) -> Result:
        for result in self.comparison:
            if result.name == label:
                return result
        raise KeyError(label)

    @property
    def labels(self) -> list[str]:
        """The curves, in the order they were run."""
        return [result.name for result in self.comparison]


@dataclass(frozen=True)
class Lab:
    """Where a figure's simulations are run: the size asked for, the seed, the threads.

    Example:
        >>> import discreet
        >>> from discreet.studies import Lab, Size
        >>> lab = Lab(Size(horizon=200, runs=2), seed=1, threads=1, progress=False)
        >>> policies = {"private": discreet.policy("dp-imed", epsilon=1.0)}
        >>> panel = lab.compare("two arms", policies, discreet.Bernoulli([0.7, 0.4]))
        >>> panel.labels
        ['private']
    """

    size: Size
    seed: int = 1
    threads: int | None = None
    progress: bool | None = None
    pieces: Path | None = None
    """where finished runs are kept, so that a restart plays only what is missing; else nowhere"""

    def compare(
        self,
        setting: str,
        curves: Mapping[str, Policy],
        environment: Environment,
        *,
        horizon: int | None = None,
        runs: int | None = None,
        **values: float,
    ) -> Panel:
        """Run labelled policies on an environment; Ctrl-C is raised, so that nothing half-done is
        judged."""
        from ..simulator import compare

        size = replace(self.size, horizon=horizon or self.size.horizon, runs=runs or self.size.runs)
        # the papers list their arms in an order, and so do these runs
        listed = partial(compare, shuffle=False)
        return Panel(setting, self.compared(listed, curves, environment, size), values)

    def compared(
        self,
        compare: Callable[..., Comparison],
        curves: Mapping[str, Policy] | Mapping[str, LinearPolicy],
        environment: Environment | LinearProblem,
        size: Size,
    ) -> Comparison:
        """Labelled policies on an environment, or linear ones on a problem; curves run before are
        reused."""
        from ..simulator import Comparison

        def run(missing: list[int]) -> Comparison:
            wanted = [rows[place] for place in missing]
            if self.pieces is None:
                comparison = compare(
                    wanted, environment, horizon=size.horizon, runs=size.runs, seed=self.seed,
                    threads=self.threads, points=size.points, progress=self.progress,
                )  # fmt: skip
            else:
                comparison = self.swept(
                    wanted, environment, runs=size.runs, horizon=size.horizon, points=size.points,
                    shuffle=False,
                )  # fmt: skip
            if not comparison.complete:
                raise KeyboardInterrupt
            return comparison

        rows = [replace(policy, name=label) for label, policy in curves.items()]
        about = json.dumps(environment.to_dict(), sort_keys=True)
        keys = [(row, about, size, self.seed) for row in rows]
        return Comparison(CACHE.filled(keys, run))

    def swept(
        self,
        rows: Sequence[BasePolicy[Never]],
        environment: Environment | LinearProblem,
        *,
        runs: int,
        **study: Any,
    ) -> Any:
        """The same runs, each curve in pieces that are kept as soon as they are finished."""
        from ..sweeps import sweep

        return sweep(
            rows,
            environment,
            runs=runs,
            seed=self.seed,
            threads=self.threads,
            progress=self.progress,
            folder=self.pieces,
            piece=-(-runs // PIECES),
            **study,
        )


@dataclass(frozen=True, kw_only=True)
class Figure(ABC):
    """A published figure that can be run again.

    `full` is the paper's size, `quick` one for a first look.

    Example:
        >>> from discreet.studies import figure
        >>> found = figure("azize2022", "2")
        >>> found.study, found.number
        ('azize2022', '2')
        >>> found.size("quick") == found.quick
        True
    """

    study: str
    """the study's key, such as "azize2022" """
    number: str
    """as printed: "2" or "5.4" """
    title: str
    reference: str
    """key of the paper in `discreet.references` """
    full: Size
    quick: Size
    note: str = ""
    """what a reader must know of how it was run, such as a choice that the paper leaves open"""

    @property
    def name(self) -> str:
        """ "azize2022 figure 2"."""
        return f"{self.study} figure {self.number}"

    @abstractmethod
    def panels(self, lab: Lab) -> list[Panel]:
        """Run everything that the figure shows."""

    @abstractmethod
    def draw(self, panels: Sequence[Panel]) -> Picture:
        """The picture."""

    @abstractmethod
    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        """What was found of every published statement."""

    def size(self, scale: str | Size) -> Size:
        """The size of a scale."""
        if isinstance(scale, Size):
            return scale
        if scale not in SCALES:
            raise InvalidArgument("scale", f"be {' or '.join(SCALES)}", scale, "use scale='quick'")
        return self.full if scale == "full" else self.quick

    def run(
        self,
        scale: str | Size = "full",
        *,
        seed: int = 1,
        threads: int | None = None,
        progress: bool | None = None,
        pieces: Path | None = None,
    ) -> Reproduction:
        """Simulate and judge; nothing is written but the runs themselves, to `pieces`."""
        size = self.size(scale)
        started = time.perf_counter()
        panels = self.panels(Lab(size, seed, threads, progress, pieces))
        findings = self.judge(panels)
        return Reproduction(
            figure=self,
            scale=scale if isinstance(scale, str) else "other",
            size=size,
            seed=seed,
            panels=tuple(panels),
            findings=tuple(findings),
            seconds=time.perf_counter() - started,
        )


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A figure that was run: its panels and its findings; what `Figure.run` returns.

    `discreet.studies._files.save` keeps it.

    Example:
        >>> from discreet.studies import Reproduction, Size, figure
        >>> planned = figure("azize2022", "2")  # planned.run("quick") fills panels and findings
        >>> found = Reproduction(planned, "quick", Size(100, 2), 1, (), (), seconds=0.0)
        >>> found.figure.name, found.size.runs
        ('azize2022 figure 2', 2)
    """

    figure: Figure
    scale: str
    size: Size
    seed: int
    panels: tuple[Panel, ...]
    findings: tuple[Finding, ...]
    seconds: float

    def picture(self) -> Picture:
        """The figure, drawn."""
        return self.figure.draw(self.panels)

    def to_dict(self) -> Findings:
        """Everything but the data, ready for JSON."""
        from .._version import __version__
        from ..references import REFERENCES

        figure = self.figure
        return {
            "format": 1,
            "version": __version__,
            "study": figure.study,
            "figure": figure.number,
            "title": figure.title,
            "reference": {
                "key": figure.reference,
                "short": REFERENCES[figure.reference].short(),
            },
            "note": figure.note,
            "scale": self.scale,
            "size": self.size.to_dict(),
            "published_size": figure.full.to_dict(),
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "findings": [finding.to_dict() for finding in self.findings],
        }
