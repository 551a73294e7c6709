"""Results: what was simulated, with all settings, as tidy columns in one Parquet file.

>>> import discreet
>>> results = discreet.compare(
...     [discreet.policy("ucb1"), discreet.policy("dp-imed", epsilon=1.0)],
...     discreet.Bernoulli([0.7, 0.5]), horizon=1e4, runs=20, seed=1,
... )
>>> results.table().column_names
['policy', 'run', 't', 'regret', 'pulls_0', 'pulls_1']
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..version import __version__
from .files import (
    METADATA,
    damage_named,
    digest,
    numbers,
    open_table,
    save_table,
    stamped,
    written_whole,
)
from .record import Record, finite, pulls_from, spread

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["FORMAT", "METADATA", "Comparison", "Result", "load", "written_whole"]

FORMAT = 2
"""2 says whether the arms were shuffled; files of format 1 were not."""


@dataclass(frozen=True, eq=False)
class Result(Record):
    """The runs of one policy. Arrays are indexed run, then point of the grid `t`, then arm.

    A run that its law could not serve to the end (a replayed log) has NaN where it was over.
    """

    horizon: int
    t: NDArray[Any]
    regret: NDArray[Any]
    shuffle: bool = False
    """Whether every run met the arms in a random order of its own."""

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        regret = "no finished run"
        if self.runs:
            regret = f"regret {self.final_regret.mean():.4g} at {self.horizon:,} rounds"
        return (
            f"Result({self.name}: {regret}, {self.runs} runs, {self.guarantee.short()}, "
            f"seed {self.seed}{'' if self.complete else ', interrupted'})"
        )

    @property
    def final_regret(self) -> NDArray[Any]:
        """The last recorded regret of every run: at the horizon, unless the law ran out."""
        import numpy as np

        last = np.isfinite(self.regret).sum(axis=1) - 1
        return np.asarray(self.regret[np.arange(self.runs), last])

    @property
    def mean_regret(self) -> NDArray[Any]:
        """Mean over runs at every point of the grid, over the runs that got there."""
        return _over_runs("mean", self.regret)

    @property
    def sd_regret(self) -> NDArray[Any]:
        """Standard deviation over runs at every point of the grid (0 for a single run)."""
        return _over_runs("std", self.regret)

    @property
    def mean_pulls(self) -> NDArray[Any]:
        """Mean pulls of every arm at the end."""
        import numpy as np

        return np.asarray(self.pulls.max(axis=1).sum(axis=0) / max(self.runs, 1))

    def summary(self) -> dict[str, Any]:
        """Figures for JSON: numbers that are not finite become null."""
        final = self.final_regret
        return {
            "policy": self.name,
            "horizon": self.horizon,
            "runs": self.runs,
            "regret": {
                "mean": finite(final.mean() if self.runs else math.nan),
                "sd": finite(spread(final)),
                "curve": {
                    "t": self.t.tolist(),
                    "mean": [finite(x) for x in self.mean_regret],
                    "sd": [finite(x) for x in self.sd_regret],
                },
            },
            "pulls": self.mean_pulls.tolist(),
            "shuffle": self.shuffle,
            **self.circumstances(),
        }

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, t, regret, pulls_0, pulls_1, …"""
        return Comparison((self,)).table()

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside."""
        return Comparison((self,)).save(path)

    def plot(self, **options: Any) -> Figure:
        """The regret curve: see `discreet.simulator.plots.plot_regret`."""
        return Comparison((self,)).plot(**options)


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[Result]):
    """Results of several policies on one law."""

    results: tuple[Result, ...]

    def __repr__(self) -> str:
        """One line per policy."""
        return "\n".join(["Comparison of", *(f"  {result!r}" for result in self.results)])

    @overload
    def __getitem__(self, key: int) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, key: int | slice) -> Result | tuple[Result, ...]:
        return self.results[key]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def complete(self) -> bool:
        """Whether all runs of all policies were finished."""
        return all(result.complete for result in self.results)

    def summary(self) -> list[dict[str, Any]]:
        """The figures of every policy, for JSON."""
        return [result.summary() for result in self.results]

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, t, regret, pulls_0, pulls_1, …"""
        import numpy as np
        import pyarrow as pa

        def stacked(columns: list[Any]) -> Any:
            return np.concatenate(columns)

        results = self.results
        names = pa.array([r.name for r in results for _ in range(r.regret.size)])
        columns = {
            "policy": names.dictionary_encode(),
            "run": stacked([np.repeat(r.run, len(r.t)) for r in results]),
            "t": stacked([np.tile(r.t, r.runs) for r in results]),
            "regret": stacked([r.regret.ravel() for r in results]),
        }
        for arm in range(len(results[0].means)):
            columns[f"pulls_{arm}"] = stacked([r.pulls[:, :, arm].ravel() for r in results])
        entry: dict[str, Any] = {
            "format": FORMAT,
            "version": __version__,
            "results": [
                r.settings("horizon", "shuffle") | {"runs": r.runs, "points": len(r.t)}
                for r in results
            ],
        }
        return stamped(columns, entry | {"digest": digest(entry, columns)})

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        return save_table(self.table(), path)

    def plot(self, **options: Any) -> Figure:
        """Regret curves with error bands: see `discreet.simulator.plots.plot_regret`."""
        from .plots import plot_regret

        return plot_regret(self, **options)


def load(path: str | Path) -> Comparison:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    with damage_named(path, "result"):
        table, entry = open_table(path, "result", newest=FORMAT)
        columns = numbers(table)
        if entry.pop("digest") != digest(entry, columns):
            raise ValueError("they were changed after they were written")
        return Comparison(tuple(_unpacked(columns, table.num_rows, entry["results"])))


def _unpacked(
    columns: dict[str, Any], length: int, settings: list[dict[str, Any]]
) -> Iterator[Result]:
    start = 0
    for entry in settings:
        entry = dict(entry)
        runs, points = entry.pop("runs"), entry.pop("points")
        rows = slice(start, start + runs * points)
        start = rows.stop
        if start > length:
            raise ValueError("too few rows")
        means = tuple(entry.pop("means"))
        yield Result(
            **entry,
            means=means,
            run=columns["run"][rows].reshape(runs, points)[:, 0],
            t=columns["t"][rows].reshape(runs, points)[0] if runs else columns["t"][rows],
            regret=columns["regret"][rows].reshape(runs, points),
            pulls=pulls_from(columns, len(means), rows).reshape(runs, points, len(means)),
        )
    if start != length:
        raise ValueError("too many rows")


def _over_runs(what: str, regret: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    reached = np.isfinite(regret)
    count = reached.sum(axis=0)
    filled = np.where(reached, regret, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / count
        if what == "mean":
            return np.asarray(mean)
        square = np.where(reached, (regret - mean) ** 2, 0.0).sum(axis=0)
        return np.asarray(np.sqrt(square / np.maximum(count - 1, 1)) + 0.0 / count)
