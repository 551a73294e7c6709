"""What identifications came to: stopping times, answers, pulls, with all settings.

>>> import discreet
>>> from discreet.identify import identifier, identify
>>> result = identify(
...     identifier("adap-tt", epsilon=1.0), discreet.Bernoulli([0.9, 0.5]), delta=0.05, runs=50,
...     seed=1,
... )
>>> result.error_rate <= 0.05
True
>>> result.table().column_names
['policy', 'run', 'stopping_time', 'stopped', 'recommendation', 'pulls_0', 'pulls_1']
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DamagedFile
from ..privacy.guarantees import Guarantee, guarantee_from_dict
from ..simulator.results import METADATA, written_whole
from ..version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

FORMAT = 1
KIND = "identification"


@dataclass(frozen=True, eq=False)
class IdentifyResult:
    """The runs of one row; arrays have an entry a run, `pulls` a column an arm.

    A run that reached `max_samples` before its evidence was enough has `stopped` False: its
    stopping time is a lower bound and its recommendation only what it would have been.
    """

    policy: dict[str, Any]
    law: dict[str, Any]
    means: tuple[float, ...]
    delta: float
    max_samples: int
    seed: int
    complete: bool
    seconds: float
    run: NDArray[Any]
    stopping_time: NDArray[Any]
    stopped: NDArray[Any]
    recommendation: NDArray[Any]
    pulls: NDArray[Any]

    @property
    def name(self) -> str:
        """The row's name."""
        return str(self.policy["name"])

    @property
    def guarantee(self) -> Guarantee:
        """What the row promised; stopping time and recommendation are covered."""
        return guarantee_from_dict(self.policy["guarantee"])

    @property
    def delta_correct(self) -> bool:
        """Whether a wrong answer is proved to have probability at most δ."""
        return bool(self.policy["delta_correct"])

    @property
    def runs(self) -> int:
        """Runs that were done."""
        return len(self.run)

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
        return float(self.stopping_time.std(ddof=1)) if self.runs > 1 else 0.0

    def summary(self) -> dict[str, Any]:
        """Figures for JSON."""
        some = self.runs > 0
        return {
            "policy": self.name,
            "delta": self.delta,
            "delta_correct": self.delta_correct,
            "runs": self.runs,
            "stopping_time": {"mean": self.mean if some else None, "sd": self.sd},
            "error_rate": self.error_rate if some else None,
            "recommendations": self.recommendations,
            "unfinished": self.unfinished,
            "max_samples": self.max_samples,
            "pulls": (self.pulls.mean(axis=0) if some else self.pulls.sum(axis=0)).tolist(),
            "guarantee": self.guarantee.to_dict() | {"sentence": str(self.guarantee)},
            "seconds": self.seconds,
            "samples_per_second": float(self.stopping_time.sum()) / max(self.seconds, 1e-9),
            "seed": self.seed,
            "complete": self.complete,
        }

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, stopping_time, stopped, recommendation, pulls_0, …"""
        import pyarrow as pa

        columns = {
            "policy": pa.array([self.name] * self.runs, pa.string()).dictionary_encode(),
            "run": self.run,
            "stopping_time": self.stopping_time,
            "stopped": self.stopped,
            "recommendation": self.recommendation,
        }
        for arm in range(len(self.means)):
            columns[f"pulls_{arm}"] = self.pulls[:, arm]
        fields = ("policy", "law", "delta", "max_samples", "seed", "complete", "seconds")
        settings = {name: getattr(self, name) for name in fields} | {"means": list(self.means)}
        entry = {"format": FORMAT, "version": __version__, "kind": KIND, "settings": settings}
        metadata = {METADATA: json.dumps(entry).encode()}
        return pa.table(columns).replace_schema_metadata(metadata)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        import pyarrow.parquet as pq

        path, table = Path(path), self.table()
        with written_whole(path) as temporary:
            pq.write_table(table, temporary)
        return path


def load(path: str | Path) -> IdentifyResult:
    """What `save` wrote; refuses files that are damaged, foreign or of a later format."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    if not path.is_file():
        raise DamagedFile(f"path must name a saved identification, got {str(path)!r}; no such file")
    try:
        table = pq.read_table(path)
        entry = json.loads((table.schema.metadata or {})[METADATA])
        if entry.get("kind") != KIND:
            raise DamagedFile(
                f"path must name a saved identification, got {str(path)!r}, which holds "
                "something else; read it with discreet.load"
            )
        if entry["format"] > FORMAT:
            raise DamagedFile(
                f"path must hold format {FORMAT} or older, got format {entry['format']} of "
                f"discreet {entry['version']} in {str(path)!r}; upgrade discreet"
            )
        settings = dict(entry["settings"])
        means = tuple(settings.pop("means"))
        names = ("run", "stopping_time", "stopped", "recommendation")
        arrays = {name: table.column(name).to_numpy() for name in names}
        pulls = [table.column(f"pulls_{arm}").to_numpy() for arm in range(len(means))]
        return IdentifyResult(**settings, means=means, **arrays, pulls=np.stack(pulls, axis=1))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(
            f"path must name a whole identification saved by discreet, got {str(path)!r}; "
            f"it is damaged or of another program, save the result again ({error})"
        ) from None
