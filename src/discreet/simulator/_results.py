"""Results: what was simulated, with all settings, as tidy columns in one Parquet file.

>>> import discreet
>>> results = discreet.compare(
...     [discreet.policy("ucb1"), discreet.policy("dp-imed", epsilon=1.0)],
...     discreet.Bernoulli([0.7, 0.5]), horizon=1e4, runs=20, seed=1,
... )
>>> results.table().column_names[:8]
['policy', 'row', 'epsilon', 'environment', 'problem', 'arms', 'horizon', 'run']
>>> results.table().column_names[8:]
['t', 'regret', 'pulls_0', 'pulls_1']
>>> [round(found["mean"], 1) for found in results.differences(to="ucb1")]  # doctest: +SKIP
[173.1]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from .._version import __version__
from ..errors import InvalidArgument
from ._collection import Collection, html_table, pulls_columns, settings_arrays
from ._files import (
    METADATA,
    damage_named,
    digest,
    numbers,
    open_table,
    save_table,
    settings_in,
    stamped,
    written_whole,
)
from ._record import RECORDS, Record, figures_of, finite, mean_and_error, pulls_from

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from .._types import Array, Flags, Floats, Ints
    from ._plots import Look

__all__ = ["FORMAT", "METADATA", "Comparison", "Result", "load", "written_whole"]

FORMAT = 3
"""3 has settings as columns, and problems with different numbers of arms; 2 says whether the arms
were shuffled; those of format 1 were not."""
MOVING = ("switching", "drifting", "reward-table")
"""Laws whose best arm may change from round to round."""
TIDY = ("run", "t", "regret")
"""The columns beside settings and pulls."""


@dataclass(frozen=True, eq=False)
class Result(Record):
    """The runs of one policy: its regret and pulls.

    Arrays are indexed by run, then point of the grid `t`, then arm. A run that its environment
    could not serve to the end (a replayed log) has NaN after its end.

    Example:
        >>> import discreet
        >>> row, arms = discreet.policy("ucb1"), discreet.Bernoulli([0.7, 0.5])
        >>> result = discreet.simulate(row, arms, horizon=100, runs=3, seed=1)
        >>> result.runs, result.pulls.shape[2]
        (3, 2)
    """

    horizon: int
    t: Ints
    regret: Floats
    shuffle: bool = False
    """Whether every run met the arms in a random order of its own."""

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        regret = "no finished run"
        if self.runs:
            regret = f"regret {mean_and_error(self.final_regret)} at {self.horizon:,} rounds"
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return (
            f"Result({self.label}: {regret}, {runs}, {self.guarantee.short()}, "
            f"seed {self.seed}{'' if self.complete else ', interrupted'})"
        )

    def _repr_html_(self) -> str:
        """A table of one line, for notebooks."""
        return html_table((self,))

    def more(self) -> dict[str, object]:
        """Further settings, for files."""
        return {}

    @property
    def trial(self) -> dict[str, Floats | Ints]:
        """Further columns of every run: of trials."""
        return {}

    @property
    def outcome(self) -> tuple[str, Floats]:
        return "regret", self.final_regret

    def axes(self) -> dict[str, Array]:
        return super().axes() | {"t": self.t}

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        found: dict[str, tuple[tuple[str, ...], Array]] = {"regret": (("run", "t"), self.regret)}
        if self.environment["environment"] in MOVING:
            found["moving_regret"] = (("run", "t"), self.moving_regret)
        if self.kept == RECORDS[0]:
            found["pulls"] = (("run", "t", "arm"), self.counted)
        return found | {name: (("run",), values) for name, values in self.trial.items()}

    @property
    def final_regret(self) -> Floats:
        """The last recorded regret of every run: at the horizon, unless the law ran out."""
        import numpy as np

        last = np.isfinite(self.regret).sum(axis=1) - 1
        return np.asarray(self.regret[np.arange(self.runs), last])

    @property
    def stopping_time(self) -> Ints:
        """Participants of every run: all of the horizon, unless the law ran out or, in a trial, an
        answer was given before."""
        import numpy as np

        if self.kept != RECORDS[0]:  # the last point of the grid that was reached
            reached = np.isfinite(self.regret).sum(axis=1)
            return np.asarray(np.concatenate([[0], self.t])[reached])
        return np.asarray(self.pulls.max(axis=1).sum(axis=1))

    @property
    def stopped(self) -> Flags:
        """Whether a run ended with an answer."""
        return self.recommendation >= 0

    @property
    def recommendation(self) -> Ints:
        """The answer of every run; -1 for none."""
        import numpy as np

        return np.full(self.runs, -1)

    @property
    def moving_regret(self) -> Floats:
        """Regret against the best arm of every round, where means move; else the same as `regret`.

        `regret` itself is held against the best fixed arm. No policy changes the difference.
        """
        from ..arms._catalogue import environment_from_dict

        if self.environment["environment"] not in MOVING:
            return self.regret
        import numpy as np

        return np.asarray(
            self.regret + environment_from_dict(self.environment).ahead(self.t, self.horizon)
        )

    @property
    def mean_regret(self) -> Floats:
        """Mean over runs at every point of the grid, over the runs that got there."""
        return _over_runs("mean", self.regret)

    @property
    def sd_regret(self) -> Floats:
        """Standard deviation over runs at every point of the grid (0 for a single run)."""
        return _over_runs("std", self.regret)

    @property
    def mean_pulls(self) -> Floats:
        """Mean pulls of every arm at the end."""
        import numpy as np

        return np.asarray(self.pulls.max(axis=1).sum(axis=0) / max(self.runs, 1))

    def summary(self) -> dict[str, object]:
        """Figures for JSON: numbers that are not finite become null."""
        return {
            "policy": self.label,
            "horizon": self.horizon,
            "runs": self.runs,
            "regret": {
                **figures_of(self.final_regret),
                "curve": {
                    "t": self.t.tolist(),
                    "mean": [finite(x) for x in self.mean_regret],
                    "sd": [finite(x) for x in self.sd_regret],
                },
            },
            "pulls": self.mean_pulls.tolist() if self.kept == RECORDS[0] else None,
            "shuffle": self.shuffle,
            **self.circumstances(),
        }

    def table(self) -> pa.Table:
        """Tidy columns: policy, its settings, run, t, regret, pulls_0, pulls_1, …"""
        return Comparison((self,)).table()

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside."""
        return Comparison((self,)).save(path)

    def plot(self, **options: Unpack[Look]) -> Figure:
        """The regret curve: see `discreet.simulator._plots.Look`."""
        return Comparison((self,)).plot(**options)


class Comparison(Collection[Result]):
    """The results of several policies, in one environment or several: a sequence of `Result`.

    Example:
        >>> import discreet
        >>> rows = [discreet.policy("ucb1"), discreet.policy("imed")]
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> found = discreet.compare(rows, arms, horizon=100, runs=3, seed=1)
        >>> len(found), found[1].name
        (2, 'imed')
    """

    def _figures(self) -> list[dict[str, object]]:
        return [result.summary() for result in self.results]

    def table(self) -> pa.Table:
        """Tidy columns: policy, row, its budget and options, environment, problem, arms, horizon,
        run, t, regret, pulls_0, pulls_1, …; moving_regret where means move."""
        import numpy as np

        results = self.results
        if not results:
            raise InvalidArgument("results", "hold at least one", results, "run a policy first")
        columns: dict[str, object] = {
            "run": np.concatenate([np.repeat(r.run, len(r.t)) for r in results]),
            "t": np.concatenate([np.tile(r.t, r.runs) for r in results]),
            "regret": np.concatenate([r.regret.ravel() for r in results]),
        }
        if any(r.environment["environment"] in MOVING for r in results):
            columns["moving_regret"] = np.concatenate([r.moving_regret.ravel() for r in results])
        columns |= trial_columns(results)
        pulls = pulls_columns(results)
        settings = settings_arrays(results, [r.regret.size for r in results], [*columns, *pulls])
        entry: dict[str, object] = {
            "format": FORMAT,
            "version": __version__,
            "results": [
                r.settings("horizon", "shuffle") | {"runs": r.runs, "points": len(r.t)} | r.more()
                for r in results
            ],
        }
        table = stamped({**settings, **columns, **pulls}, entry)
        checksum = digest(entry, numbers(table, _tidy(table)))
        return stamped(table, entry | {"digest": checksum})

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all.

        What could not be loaded again is refused before anything is written.
        """
        table = self.table()
        try:
            from_table(table)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(
                "results", "be such that they can be loaded again", f"{error}",
                "save the results of each study by itself",
            ) from None  # fmt: skip
        return save_table(table, path)

    def plot(self, **options: Unpack[Look]) -> Figure:
        """Regret curves with error bands: or final regret against a setting: see
        `discreet.simulator._plots.Look`."""
        from ._plots import plot_regret

        return plot_regret(self, **options)


def trial_columns(results: Sequence[Result]) -> dict[str, object]:
    """What only trials have, the same at every point of a run; NaN for other results."""
    import numpy as np

    names = dict.fromkeys(name for result in results for name in result.trial)
    return {
        name: np.concatenate(
            [
                np.repeat(r.trial.get(name, np.full(r.runs, np.nan)).astype(float), len(r.t))
                for r in results
            ]
        )
        for name in names
    }


def trial_parts(
    entry: dict[str, Any], columns: dict[str, Array], rows: slice, shape: tuple[int, int], arms: int
) -> tuple[type[Result], dict[str, Any]]:
    """The class of a trial's result, and what it has beside others."""
    import numpy as np

    from .calendar import TrialResult
    from .calendar._setting import calendar_from_dict

    def column(name: str, kind: type) -> Array:
        found: Array = columns[name][rows].reshape(shape)[:, 0].astype(kind)
        return found

    def each(name: str, kind: type) -> Array:
        return np.stack([column(f"{name}_{arm}", kind) for arm in range(arms)], axis=1)

    trial = {
        "calendar": calendar_from_dict(entry.pop("calendar")), "plan": entry.pop("plan"),
        "estimates": each("estimate", float), "looks": each("looks", np.int64),
        "days": column("days", float), "named": column("named", np.int64),
        "used": column("used", float), "answer": column("answer", np.int64),
    }  # fmt: skip
    return TrialResult, trial


def _tidy(table: pa.Table) -> list[str]:
    """The columns of numbers that a result is made of."""
    known = (*TIDY, "days", "named", "used", "answer")
    starts = ("pulls_", "estimate_", "looks_")
    return [n for n in table.column_names if n in known or n.startswith(starts)]


def from_table(table: pa.Table) -> Comparison:
    """The results that a table holds; ValueError and its like if it does not fit its settings."""
    entry = settings_in(table)
    columns = numbers(table, _tidy(table))
    if entry.pop("digest") != digest(entry, columns):
        raise ValueError("they were changed after they were written")
    return Comparison(tuple(_unpacked(columns, table.num_rows, entry["results"])))


def load(path: str | Path) -> Comparison:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    with damage_named(path, "result"):
        table, _ = open_table(path, "result", newest=FORMAT)
        return from_table(table)


def _unpacked(
    columns: dict[str, Array], length: int, settings: list[dict[str, Any]]
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
        kept = len(means) if entry.pop("kept", RECORDS[0]) == RECORDS[0] else 0
        kind: type[Result] = Result
        trial: dict[str, Any] = {}
        if "calendar" in entry:
            kind, trial = trial_parts(entry, columns, rows, (runs, points), len(means))
        yield kind(
            **entry,
            **trial,
            means=means,
            run=columns["run"][rows].reshape(runs, points)[:, 0],
            t=columns["t"][rows].reshape(runs, points)[0] if runs else columns["t"][rows],
            regret=columns["regret"][rows].reshape(runs, points),
            counted=pulls_from(columns, kept, rows).reshape(runs, points, kept),
        )
    if start != length:
        raise ValueError("too many rows")


def _over_runs(what: str, regret: Floats) -> Floats:
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
