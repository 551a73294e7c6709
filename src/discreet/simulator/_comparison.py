"""Results together: distinct labels, tidy columns for any library of tables, one Parquet file.

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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from .._notebooks import table
from .._version import __version__
from ..errors import InvalidArgument
from ._files import damage_named, digest, numbers, open_table, save_table, settings_in, stamped
from ._labels import labelled, settings_columns
from ._record import RECORDS, Tidy, finite, pulls_from, short, standard_error
from ._results import MOVING, Result

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from .._types import Array, Floats, Ints
    from ._plots import Look

FORMAT = 1
MOST_LINES = 20
"""Results that a printed collection shows."""
TIDY = ("run", "t", "regret")
"""The columns of every result, beside settings and pulls."""


@dataclass(frozen=True, eq=False)
class Comparison(Tidy, Sequence[Result]):
    """The results of several policies, in one environment or several: a sequence of `Result`.

    Distinct policies have distinct labels.

    Example:
        >>> import discreet
        >>> rows = [discreet.policy("ucb1"), discreet.policy("imed")]
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> found = discreet.compare(rows, arms, horizon=100, runs=3, seed=1)
        >>> len(found), found[1].name
        (2, 'imed')
    """

    results: tuple[Result, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", labelled(tuple(self.results)))

    @overload
    def __getitem__(self, key: int | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Result | tuple[Result, ...]:
        """By place, or the first of a label."""
        if not isinstance(key, str):
            return self.results[key]
        for result in self.results:
            if result.label == key:
                return result
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        """One line per result, twenty at most."""
        several = len({result.problem for result in self.results}) > 1
        lines = [
            f"  {result!r}{f' on {result.problem}' if several else ''}"
            for result in self.results[:MOST_LINES]
        ]
        more = len(self) - MOST_LINES
        return "\n".join(
            [f"{type(self).__name__} of", *lines, *([f"  … and {more} more"] if more > 0 else [])]
        )

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        return html_table(self.results)

    def records(self) -> Sequence[Result]:
        """The results."""
        return self.results

    @property
    def labels(self) -> list[str]:
        """What the policies are called."""
        return list(dict.fromkeys(result.label for result in self.results))

    @property
    def complete(self) -> bool:
        """Whether all runs were finished."""
        return all(result.complete for result in self.results)

    def summary(self) -> list[dict[str, Any]]:
        """The figures of every result and, of several, its differences to the others, for JSON."""
        if len(self) == 1:
            return [result.summary() for result in self]
        return [
            result.summary() | {"differences": list(self._differences(result))} for result in self
        ]

    def differences(self, to: str | None = None) -> list[dict[str, object]]:
        """The value of every policy's runs, less that of the same runs of another policy.

        Run i of all policies has one seed, and one order of the arms if they were shuffled, so the
        standard error is that of paired differences. `to` names the other policy; default: the
        first.
        """
        base = self.labels[0] if to is None else to
        if base not in self.labels:
            raise InvalidArgument("to", f"be one of {', '.join(self.labels)}", to, "name a label")
        return [
            {"policy": result.label, "problem": result.problem, "horizon": result.horizon} | found
            for result in self.results
            for found in self._differences(result)
            if found["to"] == base
        ]

    def _differences(self, result: Result) -> Iterator[dict[str, object]]:
        import numpy as np

        place = _place(result)
        for other in self.results:
            if other is result or place != _place(other):
                continue
            _, mine, theirs = np.intersect1d(result.run, other.run, return_indices=True)
            paired = result.outcome[1][mine] - other.outcome[1][theirs]
            yield {
                "to": other.label,
                "mean": finite(float(paired.mean()) if len(paired) else math.nan),
                "error": finite(standard_error(paired)),
                "runs": len(paired),
            }

    def table(self) -> pa.Table:
        """Tidy columns: policy, row, its budget and options, environment, problem, arms, horizon,
        run, t, regret, pulls_0, pulls_1, …; moving_regret where means move; of searches and with
        arrivals what else there is of every run, the same at all its points."""
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
        columns |= more_columns(results)
        pulls = pulls_columns(results)
        settings = settings_arrays(results, [r.regret.size for r in results], [*columns, *pulls])
        entry: dict[str, object] = {
            "format": FORMAT,
            "version": __version__,
            "columns": [*TIDY, *more_columns(results), *pulls],
            "results": [settings_of(r) for r in results],
        }
        table = stamped({**settings, **columns, **pulls}, entry)
        checksum = digest(entry, numbers(table, _columns_in(entry)))
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
        """Curves of regret with error bands; of searches their mean samples; or either against a
        setting: see `discreet.simulator._plots.Look`."""
        from ._plots import plot_regret, plot_setting

        if all(result.is_search for result in self):
            return plot_setting(self.results, **options)
        return plot_regret(self, **options)


def _place(result: Result) -> tuple[object, ...]:
    """Results that are compared share it."""
    return result.problem, result.horizon, result.seed, result.risk, result.is_search


def settings_arrays(
    results: Sequence[Result], lengths: Sequence[int], fixed: Sequence[str]
) -> dict[str, pa.Array]:
    """The settings of every result, repeated for each of its lines."""
    import numpy as np
    import pyarrow as pa

    places = pa.array(np.repeat(np.arange(len(results), dtype=np.int32), lengths))
    columns = {}
    for name, values in settings_columns(results, fixed).items():
        column = pa.array(values)
        if pa.types.is_string(column.type):
            column = column.dictionary_encode()
        columns[name] = column.take(places)
    return columns


def pulls_columns(results: Sequence[Result]) -> dict[str, pa.Array]:
    """pulls_0, pulls_1, …; null for arms that a problem does not have, or whose pulls were not
    kept."""
    import numpy as np
    import pyarrow as pa

    flat = [
        r.counted.reshape(int(np.prod(r.counted.shape[:-1])), r.counted.shape[-1]) for r in results
    ]
    columns = {}
    for arm in range(max((pulls.shape[1] for pulls in flat), default=0)):
        has = np.concatenate([np.full(len(pulls), arm < pulls.shape[1]) for pulls in flat])
        values = np.concatenate(
            [p[:, arm] if arm < p.shape[1] else np.zeros(len(p), np.int64) for p in flat]
        )
        columns[f"pulls_{arm}"] = pa.array(values, mask=None if has.all() else ~has)
    return columns


def settings_of(result: Result) -> dict[str, object]:
    """What a file keeps of a result beside the columns."""
    names = (
        "policy", "environment", "means", "seed", "complete", "seconds", "problem", "horizon",
        "shuffle", "plan", "runs", "kept",
    )  # fmt: skip
    late = {} if result.calendar is None else {"calendar": result.calendar.to_dict()}
    return {
        **{name: getattr(result, name) for name in names},
        **late,
        "points": len(result.t),
        "more": {name: values.dtype.str for name, values in result.more.items()},
    }


def more_columns(results: Sequence[Result]) -> dict[str, pa.Array]:
    """What else there is of every run, repeated for all its points; null where a result has none.
    What has a value for every arm has a column for each."""
    import numpy as np
    import pyarrow as pa

    flat = [dict(_flat(result.more)) for result in results]
    columns = {}
    for name in dict.fromkeys(name for own in flat for name in own):
        parts = [
            np.repeat(own.get(name, np.zeros(r.runs)), len(r.t))
            for own, r in zip(flat, results, strict=True)
        ]
        kind = np.result_type(*(own[name] for own in flat if name in own))
        has = np.concatenate(
            [np.full(r.regret.size, name in own) for own, r in zip(flat, results, strict=True)]
        )
        values = np.concatenate([part.astype(kind) for part in parts])
        columns[name] = pa.array(values, mask=None if has.all() else ~has)
    return columns


def _flat(more: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """Columns of one number a run each."""
    for name, values in more.items():
        if values.ndim == 1:
            yield name, values
        else:
            yield from ((f"{name}_{arm}", values[:, arm]) for arm in range(values.shape[1]))


def html_table(results: Sequence[Result]) -> str:
    """The figures of results as an HTML table."""
    risky = any(result.risk is not None for result in results)
    what = f"mean {results[0].outcome[0]}" if results else ""
    heads = [
        "policy", "problem", "horizon", *(["risk"] if risky else []), "runs", what,
        "standard error", "median", "guarantee",
    ]  # fmt: skip
    lines = []
    for result in results:
        values = result.outcome[1]
        error = standard_error(values)
        shown = "–" if math.isnan(error) else short(error, 2)
        figures = ["–"] * 3
        if result.runs:
            figures = [short(values.mean(), 4), shown, short(_median(values), 4)]
        cells = [
            result.label, result.problem, f"{result.horizon:,}",
            *([("–" if result.risk is None else f"{result.risk:g}")] if risky else []),
            f"{result.runs}", *figures, result.guarantee.short(),
        ]  # fmt: skip
        lines.append(cells)
    return table(heads, lines)


def _median(values: Floats | Ints) -> float:
    import numpy as np

    return float(np.median(values))


def from_table(table: pa.Table) -> Comparison:
    """The results that a table holds; ValueError and its like if it does not fit its settings."""
    entry = settings_in(table)
    columns = numbers(table, _columns_in(entry))
    if entry.pop("digest") != digest(entry, columns):
        raise ValueError("they were changed after they were written")
    return Comparison(tuple(_unpacked(columns, table.num_rows, entry["results"])))


def _columns_in(entry: Mapping[str, Any]) -> list[str]:
    """The columns of numbers that results are built from, by the settings of their table."""
    return list(entry["columns"])


def load(path: str | Path) -> Comparison:
    """Read what `save` wrote.

    Args:
        path: The Parquet file.

    Returns:
        The results.

    Raises:
        DamagedFile: If the file is damaged, foreign or of a later format.

    Example:
        >>> import os, tempfile
        >>> import discreet
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> found = discreet.compare([discreet.policy("ucb1")], arms, horizon=100, runs=2, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = found.save(os.path.join(folder, "runs.parquet"))
        ...     again = discreet.load(os.path.join(folder, "runs.parquet"))
        >>> again[0].name
        'ucb1'
    """
    with damage_named(path, "result"):
        table, _ = open_table(path, "result", newest=FORMAT)
        return from_table(table)


def _unpacked(
    columns: dict[str, Array], length: int, settings: list[dict[str, Any]]
) -> Iterator[Result]:
    import numpy as np

    start = 0
    for given in settings:
        entry = dict(given)
        runs, points = entry.pop("runs"), entry.pop("points")
        rows = slice(start, start + runs * points)
        start = rows.stop
        if start > length:
            raise ValueError("too few rows")
        means = tuple(entry.pop("means"))
        kept = len(means) if entry.pop("kept") == RECORDS[0] else 0
        more: dict[str, Array] = {}
        for name, kind in entry.pop("more").items():
            names = [name] if name in columns else [f"{name}_{arm}" for arm in range(len(means))]
            parts = [columns[n][rows].reshape(runs, points)[:, 0] for n in names]
            values = parts[0] if names == [name] else np.stack(parts, axis=1)
            more[name] = values.astype(kind)
        if "calendar" in entry:
            from .calendar._setting import calendar_from_dict

            entry["calendar"] = calendar_from_dict(entry["calendar"])
        yield Result(
            **entry,
            more=more,
            means=means,
            run=columns["run"][rows].reshape(runs, points)[:, 0],
            t=columns["t"][rows].reshape(runs, points)[0] if runs else columns["t"][rows],
            regret=columns["regret"][rows].reshape(runs, points),
            counted=pulls_from(columns, kept, rows).reshape(runs, points, kept),
        )
    if start != length:
        raise ValueError("too many rows")
