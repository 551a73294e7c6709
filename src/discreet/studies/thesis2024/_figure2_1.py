"""Figure 2.1: the errors that (ε, δ)-DP leaves to an attacker, and mechanisms that reach them.

The printed region is α + e^ε β >= 1 - δ and e^ε α + β >= 1 - δ. It is tight: the mechanism that
leaks with probability δ and otherwise answers by randomised response attains every corner. Laplace
noise stays inside. Azize (2024), section 2.3, after Kairouz, Oh & Viswanath (2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._measures import Measure
from .._pictures import canvas, colours, dress
from ._played import LEVELS, Played, games_of, panel, power_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from numpy.random import Generator

    from ..._types import Floats
    from ...privacy._tradeoff import Tradeoff

EPSILON, DELTA = 1.0, 0.1
LEAKY, LAPLACE = "leaky randomised response", "Laplace"
WHERE = "thesis, section 2.3, figure 2.1"


@dataclass(frozen=True, kw_only=True)
class Region(Figure):
    """Two mechanisms below the boundary."""

    def panels(self, lab: Lab) -> list[Panel]:
        import numpy as np

        from ...membership import Scores

        rng = np.random.default_rng(lab.seed)
        rounds = lab.size.horizon
        games = []
        for name, draw in ((LEAKY, _leaky), (LAPLACE, _laplace)):
            inside, outside = draw(rng, True, rounds), draw(rng, False, rounds)
            settings = {"mechanism": name, "epsilon": EPSILON, "delta": DELTA}
            games.append(
                Played(name, Scores(inside, outside, name=name, settings=settings, seed=lab.seed))
            )
        return [panel(f"ε = {EPSILON:g}, δ = {DELTA:g}", games)]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        import numpy as np

        games = games_of(panels[0])
        picture, (axes,) = canvas(1)
        level = np.linspace(0.0, 1.0, 401)
        boundary = [1.0 - _tradeoff().power(float(x)) for x in level]
        axes.plot(level, boundary, color="#555555", label=f"({EPSILON:g}, {DELTA:g})-DP")
        axes.fill_between(level, 0.0, boundary, color="#cccccc", alpha=0.4, linewidth=0)
        for (name, game), hue in zip(games.items(), colours(list(games)).values(), strict=True):
            curve = game.scores.curve()
            axes.plot(curve.level, 1.0 - curve.power, "--", color=hue, label=name)
        dress(axes, panels[0].setting, "false alarms", "missed detections")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        games = games_of(panels[0])
        tradeoff = _tradeoff()
        excess = {
            f"{name}: largest power above the boundary": max(
                (_above(game, tradeoff, level) for level in LEVELS), key=lambda gap: gap.value
            )
            for name, game in games.items()
        }
        inside = all(gap.value <= 4.0 * (gap.error or 0.0) for gap in excess.values())
        corner = (1.0 - DELTA) / (1.0 + math.exp(EPSILON))
        reached = power_at(games[LEAKY], corner)
        bound = tradeoff.power(corner)
        touches = abs(reached.value - bound) <= 4.0 * (reached.error or 0.0)
        return [
            Finding(
                Statement("no test has errors inside the shaded region", WHERE),
                Verdict.of(inside),
                excess,
                "Within four standard errors, at every level compared.",
            ),
            Finding(
                Statement("the region is tight: its corner is reached", WHERE),
                Verdict.of(touches),
                {"power at the corner": reached, "boundary": Measure(bound)},
                f"At false alarms (1-δ)/(1+e^ε) = {corner:.4g}, within four standard errors.",
            ),
        ]


def _tradeoff() -> Tradeoff:

    from ...privacy import Approximate
    from ...privacy._tradeoff import Tradeoff

    return Tradeoff(Approximate(EPSILON, DELTA))


def _above(game: Played, tradeoff: Tradeoff, level: float) -> Measure:
    found = power_at(game, level)
    return Measure(found.value - tradeoff.power(level), found.error)


def _leaky(rng: Generator, member: bool, rounds: int) -> Floats:
    """Says "in" or "out" surely with probability δ, else answers truly with odds e^ε."""
    import numpy as np

    true = rng.random(rounds) < 1.0 / (1.0 + math.exp(-EPSILON))
    answer = np.where(true == member, 1.0, -1.0)
    leaked = rng.random(rounds) < DELTA
    return np.where(leaked, 2.0 if member else -2.0, answer)


def _laplace(rng: Generator, member: bool, rounds: int) -> Floats:
    return rng.laplace(1.0 if member else 0.0, 1.0 / EPSILON, rounds)


FIGURE = Region(
    study="thesis2024",
    number="2.1",
    title="What differential privacy leaves to an attacker",
    reference="azize2024thesis",
    full=Size(200_000, 1, 2),
    quick=Size(20_000, 1, 2),
    note="The printed figure is a sketch; ε = 1 and δ = 0.1 are ours, and so are the mechanisms.",
)
