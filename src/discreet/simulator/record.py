"""What the results of all studies have in common: one row, one law, many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..privacy.guarantees import Guarantee, guarantee_from_dict

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Record:
    """The runs of one row on one law, with all settings; `run` numbers those that were finished."""

    policy: dict[str, Any]
    law: dict[str, Any]
    means: tuple[float, ...]
    seed: int
    complete: bool
    seconds: float
    run: NDArray[Any]
    pulls: NDArray[Any]

    @property
    def name(self) -> str:
        """The row's name."""
        return str(self.policy["name"])

    @property
    def guarantee(self) -> Guarantee:
        """What the row promised."""
        return guarantee_from_dict(self.policy["guarantee"])

    @property
    def runs(self) -> int:
        """Runs that were finished."""
        return len(self.run)

    def settings(self, *more: str) -> dict[str, Any]:
        """What a file keeps beside the columns."""
        names = ("policy", "law", "seed", "complete", "seconds", *more)
        return {name: getattr(self, name) for name in names} | {"means": list(self.means)}

    def circumstances(self) -> dict[str, Any]:
        """What every summary ends with."""
        return {
            "guarantee": self.guarantee.to_dict() | {"sentence": str(self.guarantee)},
            "seconds": self.seconds,
            "seed": self.seed,
            "complete": self.complete,
        }


def pulls_from(columns: dict[str, Any], arms: int, rows: slice = slice(None)) -> NDArray[Any]:
    """The columns pulls_0, pulls_1, … side by side."""
    import numpy as np

    return np.stack([columns[f"pulls_{arm}"][rows] for arm in range(arms)], axis=1)


def spread(values: NDArray[Any]) -> float:
    """Standard deviation over runs; 0 for a single one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def finite(x: float) -> float | None:
    """For JSON, which has no infinity and no NaN."""
    return float(x) if math.isfinite(x) else None
