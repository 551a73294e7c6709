"""Table 6.1: the leakage score of a target in four settings, row by row.

Each printed score is held against the score that a game shows: κ², the squared distance of the two
distributions of a linear score in standard deviations, which is the leakage score of the best
attacker. A sub-sampled mean has no such score (its distribution with the target is a mixture), so
its advantage is compared. The last row's printed score is m_scal; what the mistaken attacker
reaches is governed by m_scal²/m_targ = m* cos²θ. Azize (2024), table 6.1, theorems 6.3, 6.5, 6.6
and 6.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Statement, Verdict
from .._measures import Measure
from .._pictures import canvas, draw_measures, dress
from ._played import FULL, QUICK, Played, advantage, columns, games_of, panel, play

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MEAN, NOISY, SHARED, SIMILAR = "empirical mean", "Gaussian noise", "sub-sampling", "similar point"
NOISE, SHARE, CHANGED = 0.25, 0.5, 0.2
"""γ², ρ, and the share of columns in which the similar point differs."""
WHERE = "thesis, table 6.1"


@dataclass(frozen=True, kw_only=True)
class Scores(Figure):
    """Four games against the easiest target."""

    def panels(self, lab: Lab) -> list[Panel]:
        import numpy as np

        from ...membership import LikelihoodRatio, LinearRatio, Mean, leakage, printed_subsampling

        environment, n = columns(lab.size)
        target = environment.easiest()
        guess = target.copy()
        changed = np.random.default_rng(lab.seed).random(len(guess)) < CHANGED
        guess[changed] = 1.0 - guess[changed]
        noisy = Mean(environment, n, noise=math.sqrt(NOISE / n))
        shared = Mean(environment, n, subsample=SHARE)
        part = leakage(shared, target=target)
        whole = Mean(environment, n)
        return [
            panel(
                "settings",
                [
                    play(
                        lab,
                        MEAN,
                        whole,
                        target,
                        LinearRatio(),
                        leak=leakage(environment, n, target),
                    ),
                    play(
                        lab, NOISY, noisy, target, LinearRatio(), leak=leakage(noisy, target=target)
                    ),
                    play(
                        lab,
                        SHARED,
                        shared,
                        target,
                        LikelihoodRatio(),
                        leak=part,
                        printed=printed_subsampling(part),
                    ),
                    play(
                        lab,
                        SIMILAR,
                        whole,
                        target,
                        LinearRatio(guess=guess),
                        leak=leakage(environment, n, target, guess=guess),
                    ),
                ],
                m_targ=leakage(environment, n, guess).score,
            )
        ]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        games = games_of(panels[0])
        picture, (axes,) = canvas(1)
        found = [_kappa_square(games[name]) for name in (MEAN, NOISY, SIMILAR)]
        theory = [games[name].leak.score for name in (MEAN, NOISY, SIMILAR)]  # type: ignore[union-attr]
        draw_measures(axes, [0, 1, 2], found, "measured κ²", "#0072b2")
        axes.plot([0, 1, 2], theory, "x", color="#d55e00", label="score, corrected")
        axes.plot([2], [_scalar(panels[0])], "+", color="#999999", label="as printed")
        axes.set_xticks([0, 1, 2], [MEAN, NOISY, SIMILAR])
        dress(axes, "leakage scores of the easiest target", "setting", "score")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        games = games_of(panels[0])
        return [
            _row("empirical mean: ‖z - μ‖²/n in the metric C⁻¹", games[MEAN]),
            _row("Gaussian noise: the same in the metric (C + C_γ)⁻¹", games[NOISY]),
            _shared(games[SHARED]),
            _similar(games[SIMILAR], _scalar(panels[0])),
        ]


def _kappa_square(game: Played) -> Measure:
    """(E_1 - E_0)²/Var_0 of the score, with its error by the delta method."""
    inside, outside = game.scores.members, game.scores.nonmembers
    spread = float(outside.std(ddof=1))
    kappa = (float(inside.mean()) - float(outside.mean())) / spread
    error = math.sqrt(2.0 / len(inside) + kappa**2 / (2.0 * len(outside)))
    return Measure(kappa**2, 2.0 * abs(kappa) * error)


def _scalar(panel: Panel) -> float:
    """m_scal = κ·sqrt(m_targ) of the similar point."""
    leak = games_of(panel)[SIMILAR].leak
    assert leak is not None
    return leak.kappa * math.sqrt(panel.values["m_targ"])


def _row(claim: str, game: Played) -> Finding:
    assert game.leak is not None
    found = _kappa_square(game)
    holds = abs(found.value - game.leak.score) <= 4.0 * (found.error or 0.0)
    return Finding(
        Statement(claim, WHERE),
        Verdict.of(holds),
        {"score as printed": Measure(game.leak.score), "measured κ²": found},
        "Within four standard errors.",
    )


def _shared(game: Played) -> Finding:
    assert game.leak is not None
    assert game.printed is not None
    found = advantage(game)
    holds = abs(found.value - game.printed.advantage) <= 4.0 * (found.error or 0.0)
    return Finding(
        Statement("sub-sampling: ρ times the score of the empirical mean", WHERE),
        Verdict.of(holds),
        {
            "advantage": found,
            "advantage at ρm*, as printed": Measure(game.printed.advantage),
            "advantage, corrected": Measure(game.leak.advantage),
        },
        "ρm* would let the advantage go to 1; it is at most ρ, because the target is in the "
        "sub-sample with probability ρ only. Corrected: ρ(2Φ(sqrt(m*/ρ)/2) - 1).",
    )


def _similar(game: Played, scalar: float) -> Finding:
    assert game.leak is not None
    found = _kappa_square(game)
    error = 4.0 * (found.error or 0.0)
    return Finding(
        Statement("similar point: (z_targ - μ)'C⁻¹(z_true - μ)/n", WHERE),
        Verdict.of(abs(found.value - scalar) <= error),
        {
            "score as printed, m_scal": Measure(scalar),
            "measured κ²": found,
            "corrected, m_scal²/m_targ": Measure(game.leak.score),
        },
        "The shift m_scal is divided by the standard deviation sqrt(m_targ) of the mistaken "
        "score, so what counts is m_scal²/m_targ, the score m* times cos²θ.",
    )


FIGURE = Scores(
    study="thesis2024",
    number="T6.1",
    title="Table 6.1: leakage scores of a target in four settings",
    reference="azize2024thesis",
    full=FULL,
    quick=QUICK,
    note="Bernoulli columns with p even on [.1, .9], the easiest target, γ² = .25, ρ = .5; the "
    "similar point differs from the target in a fifth of its columns.",
)
