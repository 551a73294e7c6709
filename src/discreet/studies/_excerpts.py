"""Parts of a panel, and what several settings or rounds together say of one statement.

>>> from discreet.studies._excerpts import in_how_many
>>> in_how_many([True, False])
<Verdict.DIFFERS: 'differs'>
>>> in_how_many([True, False, False])
<Verdict.NOT_REPRODUCED: 'not reproduced'>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ._base import Panel, Verdict
from ._measures import Measure, clearly_above, mean_of, ratio

if TYPE_CHECKING:
    from .._types import Floats
    from ..simulator import Result


def in_how_many(holds: Iterable[bool]) -> Verdict:
    """A statement about several settings: reproduced in all, in at least half, in fewer of them."""
    found = list(holds)
    return Verdict.of(all(found), 2 * sum(found) >= len(found))


def as_far_as_told(holds: Iterable[bool | None]) -> Verdict:
    """The same where some settings are undecided (None): the verdict if it is the same however they
    had come out, else that it cannot be told.

    >>> as_far_as_told([True, None]), as_far_as_told([False, False, False, None])
    (<Verdict.CANNOT_TELL: 'cannot tell'>, <Verdict.NOT_REPRODUCED: 'not reproduced'>)
    """
    found = list(holds)
    best = in_how_many(held is not False for held in found)
    return best if best is in_how_many(held is True for held in found) else Verdict.CANNOT_TELL


def above(a: Measure, b: Measure) -> bool | None:
    """Whether a > b by two standard errors, or b > a; None if neither."""
    if clearly_above(a, b):
        return True
    return False if clearly_above(b, a) else None


def within(measure: Measure, published: float, tolerance: float) -> bool:
    """Whether a measure is within a share of a published number."""
    return abs(measure.value / published - 1.0) <= tolerance


def by_label(panels: Sequence[Panel]) -> dict[str, Result]:
    """The curves of several panels together."""
    return {result.name: result for panel in panels for result in panel.comparison}


def excerpt(title: str, curves: Mapping[str, Result], until: float | None = None) -> Panel:
    """Some curves under new labels, up to a round: for the axes of a picture."""
    from ..simulator import Comparison

    return Panel(title, Comparison(tuple(_cut(r, label, until) for label, r in curves.items())))


def _cut(result: Result, label: str, until: float | None) -> Result:
    shown = slice(None) if until is None else slice(0, max(int((result.t <= until).sum()), 1))
    return replace(
        result, policy=result.policy | {"name": label}, t=result.t[shown],
        regret=result.regret[:, shown], counted=result.counted[:, shown],
    )  # fmt: skip


def regret_near(result: Result, t: float) -> Measure:
    """Mean regret at round t, interpolated between the recorded ones."""
    return mean_of(regrets_near(result, t))


def regrets_near(result: Result, t: float) -> Floats:
    """The same for every run."""
    import numpy as np

    return np.array([np.interp(t, result.t, regret) for regret in result.regret])


def nearest_round(
    curves: Sequence[Result], base: Result, published: Sequence[float], since: int = 1000
) -> tuple[float, list[Measure]]:
    """The round t >= `since` at which the regrets over that of `base` come nearest to published
    ratios, by the largest relative deviation, and the ratios there."""
    import numpy as np

    means = [result.mean_regret / np.maximum(base.mean_regret, 1e-9) for result in curves]
    pairs = zip(means, published, strict=True)
    off = np.max([np.abs(np.log(np.maximum(mean, 1e-9) / p)) for mean, p in pairs], axis=0)
    place = int(np.where(base.t >= min(since, int(base.t[-1])), off, np.inf).argmin())
    below = mean_of(base.regret[:, place])
    return float(base.t[place]), [ratio(mean_of(r.regret[:, place]), below) for r in curves]
