"""Panels of stopping times: what figure 5.7 and its local counterpart share.

A panel's tidy table has the columns of every other: `t` is the round in which a run stopped, and
`regret` what it had lost by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from .._base import Lab, Panel
from .._cache import CACHE
from .._measures import Measure, mean_of

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from ...identify import Identifier
    from ...simulator import Comparison, Result

INSTANCES = {
    "instance 1": (0.95, 0.9, 0.9, 0.9, 0.5),
    "instance 2": (0.75, 0.7, 0.7, 0.7, 0.7),
}
DELTA = 0.01
TTUCB = "TTUCB"


@dataclass(frozen=True)
class Stops:
    """Identifications of several rows on one distribution, in the place of a comparison of
    regrets."""

    results: tuple[Result, ...]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, t, regret."""
        import numpy as np
        import pyarrow as pa

        names = pa.array([r.name for r in self.results for _ in range(r.runs)], pa.string())
        columns = {
            "policy": names.dictionary_encode(),
            "run": np.concatenate([r.run for r in self.results]),
            "t": np.concatenate([r.stopping_time for r in self.results]),
            "regret": np.concatenate([r.final_regret for r in self.results]),
        }
        return pa.table(columns)


def identified(lab: Lab, setting: str, curves: Mapping[str, Identifier], **values: float) -> Panel:
    """Run labelled identifiers on an instance; Ctrl-C is raised, so nothing half-done is judged."""
    from ...arms import Bernoulli
    from ...identify import identify

    rows = [replace(row, name=label) for label, row in curves.items()]
    means, size = INSTANCES[setting], lab.size

    def run(missing: list[int]) -> Iterator[Result]:
        if lab.pieces is not None:
            found = lab.swept(
                [rows[place] for place in missing], Bernoulli(means), runs=size.runs, risk=DELTA,
                max_samples=size.horizon,
            )  # fmt: skip
            if not all(result.complete for result in found):
                raise KeyboardInterrupt
            yield from found
            return
        for place in missing:
            result = identify(
                rows[place], Bernoulli(means), risk=DELTA, runs=size.runs, seed=lab.seed,
                threads=lab.threads, max_samples=size.horizon, progress=lab.progress,
            )  # fmt: skip
            if not result.complete:
                raise KeyboardInterrupt
            yield result

    results = CACHE.filled([(row, means, size, lab.seed) for row in rows], run)
    # the base draws, saves and looks up by name: all of it holds for stopping times
    return Panel(setting, cast("Comparison", Stops(results)), values)


def result_in(panels: list[Panel], label: str, epsilon: float | None = None) -> Result:
    """The runs of a curve at a budget, among the panels of one instance."""
    for panel in panels:
        if panel.values.get("epsilon") == epsilon and label in panel.labels:
            return panel[label]
    raise KeyError(label)


def stopping_time(panels: list[Panel], label: str, epsilon: float | None = None) -> Measure:
    """Mean stopping time of a curve at a budget."""
    return mean_of(result_in(panels, label, epsilon).stopping_time)


def draw_stops(
    axes: Axes, panels: list[Panel], label: str, budgets: tuple[float, ...], hue: str, dashed: bool
) -> None:
    """Mean ± standard deviation against ε."""
    import numpy as np

    from ...simulator._record import spread

    results = [result_in(panels, label, epsilon) for epsilon in budgets]
    mean = np.array([result.stopping_time.mean() for result in results])
    sd = np.array([spread(result.stopping_time) for result in results])
    line = "--" if dashed else "-"
    axes.plot(budgets, mean, line, color=hue, label=label, linewidth=1.7, marker="o", markersize=3)
    axes.fill_between(
        budgets, np.maximum(mean - sd, 1.0), mean + sd, color=hue, alpha=0.15, linewidth=0
    )


def worst_error(panels: list[Panel], labels: tuple[str, ...]) -> Measure:
    """The largest error rate of some curves."""
    rates = [
        result.error_rate
        for panel in panels
        for result in panel.comparison
        if result.name in labels
    ]
    return Measure(max(rates))
