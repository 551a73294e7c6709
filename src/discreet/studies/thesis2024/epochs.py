"""Panels of membership scores: what figures 7.1 and 7.2 share.

A panel's tidy table has the columns of every other: `policy` is the attack, `run` the game, `t` is
1 for members and 0 for non-members, and `regret` is the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..base import Panel
from ..measures import Measure

if TYPE_CHECKING:
    import pyarrow as pa

    from ...membership import Scores
    from ...simulator import Comparison


@dataclass(frozen=True, eq=False)
class Attack:
    """The scores of one attack in the place of a result: its settings for the saved file."""

    name: str
    scores: Scores
    horizon: int

    @property
    def policy(self) -> dict[str, Any]:
        """The attack, JSON-ready."""
        return {"attack": self.name}

    @property
    def law(self) -> dict[str, Any]:
        """The game, JSON-ready."""
        return dict(self.scores.settings)

    @property
    def runs(self) -> int:
        """Games a side."""
        return self.scores.rounds[0]

    @property
    def seed(self) -> int:
        """That of the games."""
        return self.scores.seed


@dataclass(frozen=True, eq=False)
class Attacks:
    """Attacks on one target, in the place of a comparison of regrets."""

    results: tuple[Attack, ...]

    def __iter__(self) -> Iterator[Attack]:
        return iter(self.results)

    def table(self) -> pa.Table:
        """Tidy columns: policy, run, t, regret."""
        import numpy as np
        import pyarrow as pa

        sides = [
            (attack.name, member, scores)
            for attack in self.results
            for member, scores in ((1, attack.scores.members), (0, attack.scores.nonmembers))
        ]
        names = [name for name, _, scores in sides for _ in scores]
        columns = {
            "policy": pa.array(names, pa.string()).dictionary_encode(),
            "run": np.concatenate([np.arange(len(scores)) for _, _, scores in sides]),
            "t": np.concatenate([np.full(len(scores), member) for _, member, scores in sides]),
            "regret": np.concatenate([scores for _, _, scores in sides]),
        }
        return pa.table(columns)


def panel_of(setting: str, scores: Mapping[str, Scores], horizon: int, **values: float) -> Panel:
    """A panel of attacks by name."""
    attacks = Attacks(tuple(Attack(name, found, horizon) for name, found in scores.items()))
    # the base draws, saves and looks up by name: all of it holds for scores
    return Panel(setting, cast("Comparison", attacks), values)


def scores_in(panel: Panel, attack: str) -> Scores:
    """The scores of an attack in a panel."""
    return cast("Attack", panel[attack]).scores


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


def draw_rocs(axes: Any, panel: Panel, attacks: Sequence[str], hues: Sequence[str]) -> None:
    """Trade-off curves on log axes, down to one false alarm."""
    import numpy as np

    least = 1.0
    for attack, hue in zip(attacks, hues, strict=True):
        scores = scores_in(panel, attack)
        curve = scores.curve()
        lowest = 1.0 / scores.rounds[1]
        least = min(least, lowest)
        axes.step(
            np.maximum(curve.level, lowest / 2.0), np.maximum(curve.power, lowest / 2.0),
            where="post", color=hue, label=f"{attack} ({scores.auc:.2f})", linewidth=1.4,
        )  # fmt: skip
    axes.plot([least, 1.0], [least, 1.0], color="#888888", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(least * 0.8, 1.05)
    axes.set_ylim(least * 0.8, 1.1)
