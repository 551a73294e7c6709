"""Games on gradients: what figures 7.1 and 7.2 share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._base import Panel
from .._measures import Measure
from ._played import Played, games_of, panel

if TYPE_CHECKING:
    from ...membership import Scores


def panel_of(setting: str, scores: Mapping[str, Scores], **values: float) -> Panel:
    """A panel of attacks by name."""
    return panel(setting, [Played(name, found) for name, found in scores.items()], **values)


def scores_in(found: Panel) -> dict[str, Scores]:
    """The scores of every attack in a panel."""
    return {name: game.scores for name, game in games_of(found).items()}


def auc_of(scores: Scores) -> Measure:
    """The AUC with DeLong's standard error: from the share of the other side that each beats."""
    import numpy as np

    shares = []
    for own, other in ((scores.members, scores.nonmembers), (scores.nonmembers, scores.members)):
        ranked = np.sort(other)
        below = np.searchsorted(ranked, own, side="left")
        upto = np.searchsorted(ranked, own, side="right")
        shares.append((below + upto) / (2.0 * len(ranked)))
    error = float(np.sqrt(sum(np.var(share, ddof=1) / len(share) for share in shares)))
    return Measure(scores.auc, error)
