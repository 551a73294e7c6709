"""What the results of all studies have in common: one row, one law, many runs."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from ..errors import DiscreetError, InvalidArgument
from ..privacy._guarantees import Guarantee, guarantee_from_dict
from ._labels import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from .._types import Array, Flags, Floats, Ints

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

    def records(self) -> Sequence[Record]:
        """The results that it is made of."""
        raise NotImplementedError


def needed(library: str) -> Any:
    """A library that discreet itself does without."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise DiscreetError(
            f"{library} is not installed; install it, or use to_arrow(), which needs nothing more"
        ) from None


@dataclass(frozen=True, eq=False)
class Record(Tidy):
    """The runs of one row on one law, with all settings; `run` numbers those that were finished."""

    policy: dict[str, Any]
    environment: dict[str, object]
    means: tuple[float, ...]
    seed: int
    complete: bool
    seconds: float
    run: Ints
    counted: Ints
    """Pulls of every arm; of no arm at all if they were not kept."""
    problem: str = field(default="", kw_only=True)
    """What the problem is called; default: its law and means."""

    def __post_init__(self) -> None:
        if not self.problem:
            object.__setattr__(self, "problem", problem_of(self.environment, self.means))

    @property
    def name(self) -> str:
        """The row's name."""
        return str(self.policy["name"])

    @property
    def label(self) -> str:
        """What tables and pictures call it: unique among the rows of a comparison."""
        return str(self.policy.get("label") or self.policy["name"])

    def called(self, label: str, problem: str) -> Self:
        """The same under a label."""
        if (label, problem) == (self.label, self.problem):
            return self
        own = self.policy.get("label")
        given = {"given_label": own} if own and "given_label" not in self.policy else {}
        return replace(self, policy=self.policy | {"label": label} | given, problem=problem)

    @property
    def guarantee(self) -> Guarantee:
        """What the row promised."""
        return guarantee_from_dict(self.policy["guarantee"])

    @property
    def runs(self) -> int:
        """Runs that were finished."""
        return len(self.run)

    @property
    def kept(self) -> str:
        """What was kept of every run: "pulls", or "regret" alone."""
        return RECORDS[0] if self.counted.shape[-1] else RECORDS[1]

    @property
    def pulls(self) -> Ints:
        """Pulls of every arm; refused if they were not kept."""
        if self.kept != RECORDS[0]:
            raise InvalidArgument(
                "record", "be \"pulls\" for results that are asked for pulls", self.kept,
                'run it again with record="pulls": a seed fixes every number',
            )  # fmt: skip
        return self.counted

    if TYPE_CHECKING:  # a property of this class would be the default of a field below it

        @property
        def horizon(self) -> int:
            """The most rounds of a run."""

        @property
        def stopping_time(self) -> Ints:
            """Participants of every run when it ended."""

        @property
        def stopped(self) -> Flags:
            """Whether a run ended with an answer."""

        @property
        def recommendation(self) -> Ints:
            """The answer of every run."""

    @property
    def delta_correct(self) -> bool:
        """Whether a wrong answer is proved to have at most the probability `risk`."""
        return bool(self.policy.get("delta_correct", False))

    @property
    def unfinished(self) -> int:
        """Runs that came to their end without an answer."""
        return int((~self.stopped).sum())

    @property
    def wrong(self) -> int:
        """Runs that stopped with an arm that is not best; of a row with `xi`, not within xi of it,
        but for rounding."""
        import numpy as np

        means, margin = np.array(self.means), float(self.policy.get("xi") or 0.0)
        worse = means.max() - means[self.recommendation]
        return int((self.stopped & (worse > margin * (1.0 + 1e-9))).sum())

    @property
    def error_rate(self) -> float:
        """Share of runs that stopped with a wrong arm."""
        return self.wrong / self.runs if self.runs else math.nan

    @property
    def recommendations(self) -> list[int]:
        """How often every arm was the answer of a run that stopped."""
        import numpy as np

        answers = self.recommendation[self.stopped]
        return [int(count) for count in np.bincount(answers, minlength=len(self.means))]

    @property
    def risk(self) -> float | None:
        """The risk of a wrong answer that was asked for; None if the row gives none."""
        return None

    @property
    def outcome(self) -> tuple[str, Floats | Ints]:
        """What a study is about, and its value in every run."""
        raise NotImplementedError

    def records(self) -> Sequence[Record]:
        """Itself alone."""
        return (self,)

    def axes(self) -> dict[str, Array]:
        """The places of its arrays: runs and arms, and what else a study has."""
        import numpy as np

        return {"run": np.asarray(self.run), "arm": np.arange(len(self.means))}

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Its arrays by name, each with the names of its axes."""
        raise NotImplementedError

    def settings(self, *more: str) -> dict[str, object]:
        """What a file keeps beside the columns."""
        names = ["policy", "environment", "seed", "complete", "seconds", "problem", *more]
        if self.kept != RECORDS[0]:
            names.append("kept")
        return {name: getattr(self, name) for name in names} | {"means": list(self.means)}

    def circumstances(self) -> dict[str, object]:
        """What every summary ends with."""
        return {
            "problem": self.problem,
            "guarantee": self.guarantee.to_dict() | {"sentence": str(self.guarantee)},
            "seconds": finite(self.seconds),
            "seed": self.seed,
            "complete": self.complete,
        }


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
    """The columns pulls_0, pulls_1, … side by side; without arms if they were not kept."""
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
