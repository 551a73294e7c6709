"""What identifications came to: stopping times, answers, pulls, with all settings.

>>> import discreet
>>> from discreet.identify import identifier, identify
>>> result = identify(
...     identifier("adap-tt", epsilon=1.0), discreet.Bernoulli([0.9, 0.5]), risk=0.05, runs=50,
...     seed=1,
... )
>>> result.error_rate <= 0.05
True
>>> result.table().column_names
['policy', 'run', 'stopping_time', 'stopped', 'recommendation', 'pulls_0', 'pulls_1']
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DamagedFile
from ..simulator.files import damage_named, numbers, open_table, save_table, stamped
from ..simulator.record import Record, pulls_from, spread
from ..version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

FORMAT = 1
KIND = "identification"
COLUMNS = ("run", "stopping_time", "stopped", "recommendation")


@dataclass(frozen=True, eq=False)
class IdentifyResult(Record):
    """The runs of one row; arrays have an entry a run, `pulls` a column an arm.

    A run that reached `max_samples` before its evidence was enough has `stopped` False: its
    stopping time is a lower bound and its recommendation only what it would have been.
    """

    delta: float
    max_samples: int
    stopping_time: NDArray[Any]
    stopped: NDArray[Any]
    recommendation: NDArray[Any]

    @property
    def risk(self) -> float | None:
        """The probability of a wrong answer that was asked for; None for a fixed size."""
        return None if math.isnan(self.delta) else self.delta

    @property
    def delta_correct(self) -> bool:
        """Whether a wrong answer is proved to have probability at most δ."""
        return bool(self.policy["delta_correct"])

    @property
    def horizon(self) -> int:
        """The most rounds of a run, under the simulator's name."""
        return self.max_samples

    @property
    def regret(self) -> NDArray[Any]:
        """Pseudo-regret of every run when it ended: what the search cost its participants."""
        import numpy as np

        means = np.array(self.means)
        return np.asarray(self.pulls @ (means.max() - means))

    @property
    def unfinished(self) -> int:
        """Runs that reached `max_samples` without an answer."""
        return int((~self.stopped).sum())

    @property
    def wrong(self) -> int:
        """Runs that stopped with an arm that is not best."""
        import numpy as np

        means = np.array(self.means)
        return int((self.stopped & (means[self.recommendation] < means.max())).sum())

    @property
    def error_rate(self) -> float:
        """Share of runs that stopped with an arm that is not best."""
        return self.wrong / self.runs if self.runs else math.nan

    @property
    def recommendations(self) -> list[int]:
        """How often every arm was the answer of a run that stopped."""
        import numpy as np

        answers = self.recommendation[self.stopped]
        return [int(count) for count in np.bincount(answers, minlength=len(self.means))]

    @property
    def mean(self) -> float:
        """Mean stopping time; a lower bound if a run was unfinished."""
        return float(self.stopping_time.mean()) if self.runs else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation of the stopping time."""
        return spread(self.stopping_time)

    def summary(self) -> dict[str, Any]:
        """Figures for JSON."""
        some = self.runs > 0
        return {
            "policy": self.name,
            "risk": self.risk,
            "delta": self.risk,
            "delta_correct": self.delta_correct,
            "runs": self.runs,
            "stopping_time": {"mean": self.mean if some else None, "sd": self.sd},
            "error_rate": self.error_rate if some else None,
            "recommendations": self.recommendations,
            "unfinished": self.unfinished,
            "max_samples": self.max_samples,
            "pulls": (self.pulls.mean(axis=0) if some else self.pulls.sum(axis=0)).tolist(),
            "samples_per_second": float(self.stopping_time.sum()) / max(self.seconds, 1e-9),
            **self.circumstances(),
        }

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, stopping_time, stopped, recommendation, pulls_0, …"""
        import pyarrow as pa

        names = pa.array([self.name] * self.runs, pa.string())
        columns = {"policy": names.dictionary_encode()}
        columns |= {name: getattr(self, name) for name in COLUMNS}
        columns |= {f"pulls_{arm}": self.pulls[:, arm] for arm in range(len(self.means))}
        settings = self.settings("delta", "max_samples")
        entry = {"format": FORMAT, "version": __version__, "kind": KIND, "settings": settings}
        return stamped(columns, entry)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        return save_table(self.table(), path)


def load(path: str | Path) -> IdentifyResult:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    with damage_named(path, KIND):
        table, entry = open_table(path, KIND, newest=FORMAT)
        if entry.get("kind") != KIND:
            raise DamagedFile(
                f"path must name a saved identification, got {str(path)!r}, which holds "
                "something else; read it with discreet.load"
            )
        settings = dict(entry["settings"])
        means = tuple(settings.pop("means"))
        columns = numbers(table)
        arrays = {name: columns[name] for name in COLUMNS}
        return IdentifyResult(
            **settings, means=means, **arrays, pulls=pulls_from(columns, len(means))
        )
