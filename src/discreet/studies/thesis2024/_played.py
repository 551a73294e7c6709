"""Panels of membership games: what figures 2.1, 6.2 and table 6.1 share.

A panel's tidy table has a row a round: policy (the curve's label), member (1 or 0), run (the round)
and score. The data are Bernoulli columns with p even on [.1, .9]; the text leaves their
distribution open but for p in [0, 1], and for p uniform on [0, 1] the easiest target's score has
no finite mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .._base import Lab, Panel, Size
from .._measures import Measure

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from ...membership import Bernoulli, Leakage, Mean, Scores
    from ...membership._games import Adversary
    from ...simulator import Comparison

LEVELS = (0.001, 0.01, 0.05, 0.1, 0.3)
"""Where powers are compared."""
FULL, QUICK = Size(10_000, 1, 2), Size(2_000, 1, 2)
"""Rounds per side; n = 1000 from 10,000 rounds on, 200 below."""


@dataclass(frozen=True, eq=False)
class Played:
    """One game: its label, its scores, and what theory says of it."""

    name: str
    scores: Scores
    leak: Leakage | None = None
    printed: Leakage | None = None

    @property
    def policy(self) -> dict[str, object]:
        """What is kept with the data."""
        return {"name": self.name, "attack": self.scores.name}

    @property
    def environment(self) -> dict[str, object]:
        """The game's settings."""
        return dict(self.scores.settings)

    @property
    def horizon(self) -> int:
        """Rounds per side."""
        return self.scores.rounds[0]

    @property
    def runs(self) -> int:
        """One game."""
        return 1

    @property
    def seed(self) -> int:
        """The game's seed."""
        return self.scores.seed


@dataclass(frozen=True)
class Games:
    """Several games, in the place of a comparison of regrets."""

    results: tuple[Played, ...]
    tidy: tuple[str, ...] = ("policy", "member", "run", "score")

    def __iter__(self) -> Iterator[Played]:
        return iter(self.results)

    def table(self) -> pa.Table:
        """Tidy columns."""
        import numpy as np
        import pyarrow as pa

        sides = [(g.name, g.scores.members, 1) for g in self.results]
        sides += [(g.name, g.scores.nonmembers, 0) for g in self.results]
        names = pa.array([name for name, scores, _ in sides for _ in range(len(scores))])
        return pa.table(
            {
                "policy": names.dictionary_encode(),
                "member": np.concatenate([np.full(len(s), m, np.int8) for _, s, m in sides]),
                "run": np.concatenate([np.arange(len(s)) for _, s, _ in sides]),
                "score": np.concatenate([s for _, s, _ in sides]),
            }
        )


def panel(setting: str, games: Sequence[Played], **values: float) -> Panel:
    """A panel of games; the base saves and looks up by name, which holds for games too."""
    return Panel(setting, cast("Comparison", Games(tuple(games))), values)


def games_of(panel: Panel) -> dict[str, Played]:
    """The games of a panel by label."""
    return {game.name: game for game in cast("Iterator[Played]", iter(panel.comparison))}


def columns(size: Size) -> tuple[Bernoulli, int]:
    """The distribution of the data, and n: d = 5n."""
    import numpy as np

    from ...membership import Bernoulli

    n = 1000 if size.horizon >= FULL.horizon else 200
    return Bernoulli(np.linspace(0.1, 0.9, 5 * n)), n


def play(
    lab: Lab,
    label: str,
    mean: Mean,
    target: ArrayLike | None,
    adversary: Adversary,
    **theory: Leakage | None,
) -> Played:
    """Play one game; Ctrl-C is raised, so that nothing half-done is judged."""
    from ...membership import Game

    scores = Game(mean, target).play(
        adversary, lab.size.horizon, seed=lab.seed, threads=lab.threads, progress=lab.progress
    )
    if not scores.complete:
        raise KeyboardInterrupt
    return Played(label, scores, **theory)


def power_at(game: Played, level: float) -> Measure:
    """The measured power at a level; the error is that of members and of the threshold."""
    curve, rounds = game.scores.curve(), game.horizon
    power = curve.power_at(level)
    step = math.sqrt(level * (1.0 - level) / rounds)
    slope = curve.power_at(min(1.0, level + 2.0 * step)) - curve.power_at(max(0.0, level - step))
    return Measure(power, math.hypot(math.sqrt(power * (1.0 - power) / rounds), slope / 3.0))


def advantage(game: Played) -> Measure:
    """The measured advantage."""
    share = (1.0 + game.scores.advantage) / 2.0
    rounds = game.horizon if game.scores.threshold is not None else game.horizon / 2
    return Measure(game.scores.advantage, 2.0 * math.sqrt(share * (1.0 - share) / (2.0 * rounds)))


def widest_gap(game: Played, theory: Leakage) -> Measure:
    """The largest distance of the measured curve from theory at the levels compared."""
    found = {level: power_at(game, level) for level in LEVELS}
    gaps = [
        Measure(abs(measure.value - theory.power(level)), measure.error)
        for level, measure in found.items()
    ]
    return max(gaps, key=lambda gap: gap.value)


def fits(gap: Measure, tolerance: float) -> bool:
    """Whether a gap is within the tolerance, or within four standard errors."""
    return gap.value <= max(tolerance, 4.0 * (gap.error or 0.0))
