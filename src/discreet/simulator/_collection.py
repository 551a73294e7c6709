"""Several results in one: distinct labels, tidy columns for any library of tables, summaries.

results.to_pandas().groupby(["policy", "epsilon"])["regret"].mean()
results.differences()      # paired: run by run on the same seeds
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .._notebooks import table
from ..errors import InvalidArgument
from ._labels import labelled, settings_columns
from ._record import Record, Tidy, finite, short, standard_error

if TYPE_CHECKING:
    import pyarrow as pa

    from .._types import Floats, Ints

MOST_LINES = 20
"""Results that a printed collection shows."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False)
class Collection(Tidy, Sequence[R], Generic[R]):
    """Results of several rows, on one problem or several; distinct rows have distinct labels."""

    results: tuple[R, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", labelled(tuple(self.results)))

    @overload
    def __getitem__(self, key: int | str) -> R: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[R, ...]: ...
    def __getitem__(self, key: int | str | slice) -> R | tuple[R, ...]:
        """By place, or the first of a label."""
        if not isinstance(key, str):
            return self.results[key]
        for result in self.results:
            if result.label == key:
                return result
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[R]:
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

    def records(self) -> Sequence[R]:
        """The results."""
        return self.results

    @property
    def labels(self) -> list[str]:
        """What the rows are called."""
        return list(dict.fromkeys(result.label for result in self.results))

    @property
    def complete(self) -> bool:
        """Whether all runs were finished."""
        return all(result.complete for result in self.results)

    def summary(self) -> list[dict[str, Any]]:
        """The figures of every result and, of several, its differences to the others, for JSON."""
        if len(self) == 1:
            return self._figures()
        return [
            figures | {"differences": list(self._differences(result))}
            for result, figures in zip(self.results, self._figures(), strict=True)
        ]

    def _figures(self) -> list[dict[str, object]]:
        raise NotImplementedError

    def differences(self, to: str | None = None) -> list[dict[str, object]]:
        """What every row's runs came to, less what the same runs of another row came to.

        Run i of all rows has one seed, and one order of the arms if they were shuffled, so the
        standard error is that of paired differences. `to` names the other row; default: the first.
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

    def _differences(self, result: R) -> Iterator[dict[str, object]]:
        import numpy as np

        place = (result.problem, result.horizon, result.seed, result.risk)
        for other in self.results:
            if other is result or place != (other.problem, other.horizon, other.seed, other.risk):
                continue
            _, mine, theirs = np.intersect1d(result.run, other.run, return_indices=True)
            paired = result.outcome[1][mine] - other.outcome[1][theirs]
            yield {
                "to": other.label,
                "mean": finite(float(paired.mean()) if len(paired) else math.nan),
                "error": finite(standard_error(paired)),
                "runs": len(paired),
            }


def settings_arrays(
    results: Sequence[Record], lengths: Sequence[int], fixed: Sequence[str]
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


def pulls_columns(results: Sequence[Record]) -> dict[str, pa.Array]:
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


def html_table(results: Sequence[Record]) -> str:
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
