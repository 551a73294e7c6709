"""What results are built from: tables for other libraries, and figures over runs."""

from __future__ import annotations

import importlib
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DiscreetError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from .._types import Floats, Ints
    from ._results import Result

RECORDS = ("pulls", "regret")
"""What can be kept of every run: regret with the pulls of every arm, or regret alone."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Those that summaries state."""


class Tidy:
    """What has tidy columns, for any library of tables."""

    def table(self) -> pa.Table:
        """The columns, all settings inside."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """The tidy columns as an Arrow table."""
        return self.table()

    def to_pandas(self) -> Any:
        """The tidy columns as a pandas data frame."""
        needed("pandas")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The tidy columns as a polars data frame."""
        return needed("polars").from_arrow(self.table())

    def to_xarray(self) -> Any:
        """The arrays as a dataset of xarray: run, t and arm are dimensions, and so is `result`,
        whose coordinates are the settings. NaN where a result has no run or round."""
        xarray = needed("xarray")
        from ._exports import parts

        found = parts(self.records())
        return xarray.Dataset(found.variables, found.coordinates)

    def to_latex(self) -> str:
        """A table for LaTeX (package booktabs), one line a result: mean ± standard error."""
        from ._exports import latex

        return latex(self.records())

    def records(self) -> Sequence[Result]:
        """The results that it is built from."""
        raise NotImplementedError


def needed(library: str) -> Any:
    """A library that discreet itself does without."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise DiscreetError(
            f"{library} is not installed; install it, or use to_arrow(), which needs nothing more"
        ) from None


@dataclass(frozen=True)
class Figure:
    """A mean with its standard error, and what nine of ten runs see."""

    mean: float
    error: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """JSON-ready."""
        return asdict(self)


class Probability(float):
    """A share of runs, and the 95 % interval of the probability behind it (Clopper & Pearson)."""

    low: float
    high: float

    @classmethod
    def of(cls, hits: int, runs: int) -> Probability:
        """From independent runs."""
        from scipy.special import betaincinv

        own = cls(hits / runs)
        own.low = float(betaincinv(hits, runs - hits + 1, 0.025)) if hits > 0 else 0.0
        own.high = float(betaincinv(hits + 1, runs - hits, 0.975)) if hits < runs else 1.0
        return own

    def to_dict(self) -> dict[str, float]:
        """JSON-ready."""
        return {"mean": float(self), "low": self.low, "high": self.high}


def figure(values: Floats | Ints) -> Figure:
    """Mean, standard error, 5 % and 95 % quantiles."""
    import numpy as np

    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    low, high = np.quantile(values, [0.05, 0.95])
    return Figure(float(values.mean()), error, float(low), float(high))


def figures_of(values: Floats | Ints) -> dict[str, object]:
    """Mean, standard deviation, standard error of the mean and quantiles over runs, for JSON."""
    import numpy as np

    some = len(values) > 0
    deviation = spread(values)
    quantiles = np.quantile(values, QUANTILES) if some else [math.nan] * len(QUANTILES)
    return {
        "mean": finite(float(values.mean()) if some else math.nan),
        "sd": finite(deviation),
        "error": finite(standard_error(values)),
        "quantiles": {f"{q:g}": finite(x) for q, x in zip(QUANTILES, quantiles, strict=True)},
    }


def pulls_from(columns: Mapping[str, Ints], arms: int, rows: slice = slice(None)) -> Ints:
    """The columns pulls_0, pulls_1, … next to each other; without arms if they were not kept."""
    import numpy as np

    if arms == 0:
        return np.zeros((len(columns["run"][rows]), 0), np.int64)
    return np.stack([columns[f"pulls_{arm}"][rows] for arm in range(arms)], axis=1)


def check_record(record: object) -> str:
    """What is to be kept of every run."""
    if record not in RECORDS:
        raise InvalidArgument(
            "record", 'be "pulls" or "regret"', record,
            'use record="regret" where the pulls of many arms would fill the memory',
        )  # fmt: skip
    return str(record)


def mean_of(values: Floats | Ints) -> float:
    """Mean over runs; NaN if there are none."""
    return float(values.mean()) if len(values) else math.nan


def spread(values: Floats | Ints) -> float:
    """Standard deviation over runs; 0 for a single one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def standard_error(values: Floats | Ints) -> float:
    """Of the mean over runs; NaN for fewer than two, which say nothing about it."""
    return spread(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def mean_and_error(values: Floats | Ints) -> str:
    """ "12.34 ± 0.56": a mean over runs and its standard error; the mean alone of a single run."""
    error = standard_error(values)
    return short(values.mean(), 4) + ("" if math.isnan(error) else f" ± {short(error, 2)}")


def short(value: float, digits: int) -> str:
    """A number with so many digits, or whole: 0.1234, 12,345; a power of ten from 1e9 on."""
    whole = 10**digits <= abs(value) < 1e9
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def finite(x: float) -> float | None:
    """For JSON, which has no infinity and no NaN."""
    return float(x) if math.isfinite(x) else None
