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

import contextlib
import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..errors import DamagedFile
from ..privacy.guarantees import Guarantee, guarantee_from_dict
from ..version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

FORMAT = 1
METADATA = b"discreet"


@dataclass(frozen=True, eq=False)
class Result:
    """The runs of one policy. Arrays are indexed run, then point of the grid `t`, then arm.

    A run that its law could not serve to the end (a replayed log) has NaN where it was over.
    """

    policy: dict[str, Any]
    law: dict[str, Any]
    means: tuple[float, ...]
    horizon: int
    seed: int
    complete: bool
    seconds: float
    run: NDArray[Any]
    t: NDArray[Any]
    regret: NDArray[Any]
    pulls: NDArray[Any]

    @property
    def name(self) -> str:
        """The policy's name."""
        return str(self.policy["name"])

    @property
    def guarantee(self) -> Guarantee:
        """What the policy promised."""
        return guarantee_from_dict(self.policy["guarantee"])

    @property
    def runs(self) -> int:
        """Runs that were finished."""
        return len(self.run)

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
                "mean": _finite(final.mean() if self.runs else math.nan),
                "sd": _finite(_sd(final)),
                "curve": {
                    "t": self.t.tolist(),
                    "mean": [_finite(x) for x in self.mean_regret],
                    "sd": [_finite(x) for x in self.sd_regret],
                },
            },
            "pulls": self.mean_pulls.tolist(),
            "guarantee": self.guarantee.to_dict() | {"sentence": str(self.guarantee)},
            "seconds": self.seconds,
            "seed": self.seed,
            "complete": self.complete,
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

    def _settings(self) -> dict[str, Any]:
        fields = ("policy", "law", "horizon", "seed", "complete", "seconds")
        return {name: getattr(self, name) for name in fields} | {
            "means": list(self.means),
            "runs": self.runs,
            "points": len(self.t),
        }


@dataclass(frozen=True, eq=False)
class Comparison(Sequence[Result]):
    """Results of several policies on one law."""

    results: tuple[Result, ...]

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
        settings = {
            "format": FORMAT,
            "version": __version__,
            "results": [result._settings() for result in results],
        }
        settings["digest"] = _digest(settings, columns)
        metadata = {METADATA: json.dumps(settings).encode()}
        return pa.table(columns).replace_schema_metadata(metadata)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        import pyarrow.parquet as pq

        path = Path(path)
        table = self.table()
        with written_whole(path) as temporary:
            pq.write_table(table, temporary)
        return path

    def plot(self, **options: Any) -> Figure:
        """Regret curves with error bands: see `discreet.simulator.plots.plot_regret`."""
        from .plots import plot_regret

        return plot_regret(self, **options)


def load(path: str | Path) -> Comparison:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    if not path.is_file():
        raise DamagedFile(f"path must name a saved result, got {str(path)!r}; no such file")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(
            f"path must name a readable Parquet file, got {str(path)!r}; "
            f"it is damaged or something else, save the result again ({error})"
        ) from None
    metadata = table.schema.metadata or {}
    if METADATA not in metadata:
        raise DamagedFile(
            f"path must name a result saved by discreet, got {str(path)!r}; "
            "it is a Parquet file of another program"
        )
    try:
        settings = json.loads(metadata[METADATA])
        if settings["format"] > FORMAT:
            raise DamagedFile(
                f"path must hold format {FORMAT} or older, got format {settings['format']} of "
                f"discreet {settings['version']} in {str(path)!r}; upgrade discreet"
            )
        if settings.pop("digest") != _digest(settings, _columns(table)):
            raise ValueError("they were changed after they were written")
        return Comparison(tuple(_unpacked(table, settings["results"])))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(
            f"path must hold a whole result, got {str(path)!r} with settings that do not fit its "
            f"columns ({error}); save the result again"
        ) from None


def _unpacked(table: pa.Table, settings: list[dict[str, Any]]) -> Iterator[Result]:
    columns = _columns(table)
    start = 0
    for entry in settings:
        entry = dict(entry)
        runs, points = entry.pop("runs"), entry.pop("points")
        rows = slice(start, start + runs * points)
        start = rows.stop
        if start > table.num_rows:
            raise ValueError("too few rows")
        means = tuple(entry.pop("means"))
        pulls = [columns[f"pulls_{arm}"][rows] for arm in range(len(means))]
        import numpy as np

        yield Result(
            **entry,
            means=means,
            run=columns["run"][rows].reshape(runs, points)[:, 0],
            t=columns["t"][rows].reshape(runs, points)[0] if runs else columns["t"][rows],
            regret=columns["regret"][rows].reshape(runs, points),
            pulls=np.stack(pulls, axis=1).reshape(runs, points, len(means)),
        )
    if start != table.num_rows:
        raise ValueError("too many rows")


def _columns(table: pa.Table) -> dict[str, Any]:
    """The columns of numbers; the first, the policies' names, is also in the settings."""
    return {name: table.column(name).to_numpy() for name in table.column_names[1:]}


def _digest(settings: dict[str, Any], columns: dict[str, Any]) -> str:
    """A checksum against damage: Parquet would not notice a flipped bit."""
    import numpy as np

    seen = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name, column in columns.items():
        if name != "policy":
            seen.update(f"{name} {column.dtype}".encode())
            seen.update(np.ascontiguousarray(column).tobytes())
    return seen.hexdigest()


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary neighbour of `path` that takes its place if nothing fails meanwhile."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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


def _sd(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
