"""What identifications came to: stopping times, answers, pulls, with all settings.

>>> import discreet
>>> from discreet.identify import identifier, identify
>>> result = identify(
...     identifier("adap-tt", epsilon=1.0), discreet.Bernoulli([0.9, 0.5]), risk=0.05, runs=50,
...     seed=1,
... )
>>> result.error_rate <= 0.05
True
>>> result.table().column_names[:8]
['policy', 'row', 'epsilon', 'environment', 'problem', 'arms', 'horizon', 'risk']
>>> result.table().column_names[8:]
['run', 'stopping_time', 'stopped', 'recommendation', 'pulls_0', 'pulls_1']
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from .._version import __version__
from ..errors import InvalidArgument
from ..simulator._collection import Collection, html_table, pulls_columns, settings_arrays
from ..simulator._files import damage_named, numbers, open_table, save_table, settings_in, stamped
from ..simulator._record import (
    RECORDS,
    Record,
    figures_of,
    finite,
    mean_and_error,
    pulls_from,
    spread,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from .._types import Array, Flags, Floats, Ints
    from ..simulator._plots import Look

FORMAT = 2
"""2 holds several results, with settings as columns; 1 holds one."""
KIND = "identification"
COLUMNS = ("run", "stopping_time", "stopped", "recommendation")


def lost_in(pulls: Ints, gaps: Floats) -> Floats:
    """Pseudo-regret of every run, to the last bit the same however many are asked about at once
    (a product of matrices would not be)."""
    return np.asarray((pulls * gaps).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class IdentifyResult(Record):
    """The runs of one row; arrays have an entry a run, `pulls` a column an arm.

    A run that reached `max_samples` before its evidence was enough has `stopped` False: its
    stopping time is a lower bound and its recommendation only what it would have been.
    """

    delta: float
    max_samples: int
    stopping_time: Ints
    stopped: Flags
    recommendation: Ints
    lost: Floats | None = field(default=None, kw_only=True)
    """Regret of every run, where pulls were not kept."""

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        found = "no finished run"
        if self.runs:
            found = (
                f"{mean_and_error(self.stopping_time)} samples, error rate {self.error_rate:.3g}"
            )
        sure = "" if self.risk is None else f", risk {self.risk:g}"
        return (
            f"IdentifyResult({self.label}: {found}, {self.runs} runs{sure}, "
            f"{self.guarantee.short()}, seed {self.seed}"
            f"{'' if self.complete else ', interrupted'})"
        )

    def _repr_html_(self) -> str:
        """A table of one line, for notebooks."""
        return html_table((self,))

    @property
    def outcome(self) -> tuple[str, Floats | Ints]:
        return "samples", self.stopping_time

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        found: dict[str, tuple[tuple[str, ...], Array]] = {
            name: (("run",), getattr(self, name)) for name in COLUMNS[1:]
        }
        if self.lost is not None:
            return found | {"regret": (("run",), self.lost)}
        return found | {"pulls": (("run", "arm"), self.pulls)}

    @property
    def risk(self) -> float | None:
        """The probability of a wrong answer that was asked for; None for a fixed size."""
        return None if math.isnan(self.delta) else self.delta

    @property
    def horizon(self) -> int:
        """The most rounds of a run, under the simulator's name."""
        return self.max_samples

    @property
    def regret(self) -> Floats:
        """Pseudo-regret of every run when it ended: what the search cost its participants."""
        if self.lost is not None:
            return self.lost
        means = np.array(self.means)
        return lost_in(self.pulls, means.max() - means)

    @property
    def final_regret(self) -> Floats:
        """The same, under the simulator's name."""
        return self.regret

    @property
    def mean(self) -> float:
        """Mean stopping time; a lower bound if a run was unfinished."""
        return float(self.stopping_time.mean()) if self.runs else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation of the stopping time."""
        return spread(self.stopping_time)

    def summary(self) -> dict[str, object]:
        """Figures for JSON."""
        some = self.runs > 0
        return {
            "policy": self.label,
            "risk": self.risk,
            "delta_correct": self.delta_correct,
            "runs": self.runs,
            "stopping_time": figures_of(self.stopping_time),
            "error_rate": self.error_rate if some else None,
            "recommendations": self.recommendations,
            "unfinished": self.unfinished,
            "max_samples": self.max_samples,
            "pulls": self._mean_pulls(),
            "samples_per_second": finite(self.stopping_time.sum() / max(self.seconds, 1e-9)),
            **self.circumstances(),
        }

    def _mean_pulls(self) -> list[float] | None:
        if self.kept != RECORDS[0]:
            return None
        found: list[float] = self.pulls.sum(axis=0).tolist()
        return [pulls / max(self.runs, 1) for pulls in found]

    def table(self) -> pa.Table:
        """Tidy columns: policy, its settings, run, stopping_time, stopped, recommendation, …"""
        return Identifications((self,)).table()

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        return Identifications((self,)).save(path)

    def plot(self, **options: Unpack[Look]) -> Figure:
        """Mean samples: see `discreet.simulator._plots.Look`."""
        return Identifications((self,)).plot(**options)


class Identifications(Collection[IdentifyResult]):
    """Identifications by several rows, on one problem or several."""

    def _figures(self) -> list[dict[str, object]]:
        return [result.summary() for result in self.results]

    def table(self) -> pa.Table:
        """Tidy columns: policy, row, its settings, run, stopping_time, stopped, recommendation,
        pulls_0, pulls_1, …; regret where pulls were not kept"""
        results = self.results
        if not results:
            raise InvalidArgument("results", "hold at least one", results, "run a policy first")
        columns = {name: np.concatenate([getattr(r, name) for r in results]) for name in COLUMNS}
        if any(r.lost is not None for r in results):
            columns["regret"] = np.concatenate([r.regret for r in results])
        pulls = pulls_columns(results)
        settings = settings_arrays(results, [r.runs for r in results], [*columns, *pulls])
        entry = {
            "format": FORMAT,
            "version": __version__,
            "kind": KIND,
            "results": [r.settings("delta", "max_samples") | {"runs": r.runs} for r in results],
        }
        return stamped({**settings, **columns, **pulls}, entry)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        return save_table(self.table(), path)

    def plot(self, **options: Unpack[Look]) -> Figure:
        """Mean samples against a setting, by default the first of budget and risk that differs: see
        `discreet.simulator._plots.Look`."""
        from ..simulator._plots import plot_setting

        return plot_setting(self.results, **options)


def from_table(table: pa.Table) -> Identifications:
    """The results that a table holds, of any format."""
    entry = settings_in(table)
    each = entry["results"] if entry["format"] > 1 else [entry["settings"]]
    known = (*COLUMNS, "regret")
    names = [n for n in table.column_names if n in known or n.startswith("pulls_")]
    columns = numbers(table, names)
    results, start = [], 0
    for given in each:
        settings = dict(given)
        means = tuple(settings.pop("means"))
        rows = slice(start, start + settings.pop("runs", table.num_rows))
        if rows.stop > table.num_rows:
            raise ValueError("too few rows")
        start = rows.stop
        arrays = {name: columns[name][rows] for name in COLUMNS}
        kept = settings.pop("kept", RECORDS[0]) == RECORDS[0]
        counted = pulls_from(columns, len(means) if kept else 0, rows)
        lost = None if kept else columns["regret"][rows]
        results.append(
            IdentifyResult(**settings, means=means, **arrays, counted=counted, lost=lost)
        )
    if start != table.num_rows:
        raise ValueError("too many rows")
    return Identifications(tuple(results))


def load_all(path: str | Path) -> Identifications:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    with damage_named(path, KIND):
        table, _ = open_table(path, KIND, newest=FORMAT, kind=KIND)
        return from_table(table)


def load(path: str | Path) -> IdentifyResult:
    """The one result of a file; `load_all` reads those of several rows."""
    found = load_all(path)
    if len(found) != 1:
        raise InvalidArgument(
            "path", "hold one identification", f"{len(found)} of them",
            "read it with discreet.identify.load_all",
        )  # fmt: skip
    return found[0]
