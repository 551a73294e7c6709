"""The price of privacy, (regret with - regret without)/(regret without): what figures 5.4 to 5.6
share. A panel has a private policy at several ρ, and its twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._base import Panel
from .._measures import Measure, difference, final_regret, ratio, regret_at

if TYPE_CHECKING:
    from ..._types import Floats

TWIN = "not private"
SMALL = 0.1
"""A price below this counts as near zero."""


def label(rho: float) -> str:
    """The name of a curve."""
    return f"ρ = {rho:g}"


def extra_regret(panel: Panel, budgets: Sequence[float]) -> dict[float, Measure]:
    """Private minus not private, at the horizon."""
    twin = final_regret(panel[TWIN])
    return {rho: difference(final_regret(panel[label(rho)]), twin) for rho in budgets}


def price_at(panel: Panel, rho: float, t: float) -> Measure:
    """The price at round t."""
    found = ratio(regret_at(panel[label(rho)], t), regret_at(panel[TWIN], t))
    return Measure(found.value - 1.0, found.error)


def price_curve(panel: Panel, rho: float) -> Floats:
    """The price at every point of the grid."""
    import numpy as np

    # in the first round neither may have lost anything
    return panel[label(rho)].mean_regret / np.maximum(panel[TWIN].mean_regret, 1e-9) - 1.0
