"""What the centred sum of an epoch reaches, predicted from one run instead of many games.

A game puts n of the pool's N points into the B places of each of T batches. Write f_i(t) for
w_t'g_i(θ_t) less its mean over the pool, and f̄_i for its mean over the steps. Along a given run of
parameters the centred sum is (1/B) Σ f_i(t_i) over the points drawn, t_i the step of point i: the
sum of a random assignment, whose variance (Hoeffding 1951) is
    (T/B) (mean_t Var f(t) - (n/N) Var f̄).
The target adds Δ, the mean of w_t'(g*_t - μ_t)/B, so κ = Δ/sd and the AUC is Φ(κ/√2). Were the
gradients to stand still, f̄ = f, and with V = Var f/B
    κ² = Δ²/(T V (1 - n/N)):
drawing without replacement from a small pool sharpens the attack, and gradients that move blunt it.
With V = Δ = m and N → ∞ this is m/T, one release of the full batch. V exceeds m because Ĉ is
estimated, stale, and regularised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._checks import share
from ...errors import InvalidArgument
from ._epochs import attacker

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Array
    from ._epochs import Epoch
    from ._references import References

STEPS = 12
"""Steps of the run at which gradients are looked at."""
POINTS = 4_000
"""Points of the pool on which variances are estimated."""


@dataclass(frozen=True)
class Prediction:
    """The predicted distribution of a centred sum: how far a member moves it, and its deviation.

    Example:
        >>> from discreet.membership.gradients import Prediction
        >>> round(Prediction(shift=1.0, deviation=1.0).auc, 3)
        0.76
    """

    shift: float
    deviation: float

    @property
    def auc(self) -> float:
        """Φ(κ/√2).

        >>> Prediction(0.0, 1.0).auc
        0.5
        """
        return 0.5 * math.erfc(-self.shift / self.deviation / 2.0)


def predicted_sum(
    game: Epoch,
    target: tuple[Array, int],
    references: References,
    *,
    seed: int | Generator = 1,
    steps: int = STEPS,
    points: int = POINTS,
    frozen: bool = False,
) -> Prediction:
    """What the centred sum of an attack must reach for a target, from one run without it.

    Args:
        game: The game.
        target: The target's point and label.
        references: The ordinary gradients.
        seed: Random seed, or a generator.
        steps: Steps at which the deviation is estimated.
        points: Points by which it is.
        frozen: Whether it is about the frozen sum.

    Returns:
        Shift and deviation.

    Example:
        >>> import numpy as np
        >>> from discreet.membership import gradients
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = gradients.SoftmaxRegression(3, 2), rng.random((60, 3)), np.arange(60) % 2
        >>> start = model.start(rng)
        >>> game = gradients.Epoch(model, start, x[:20], y[:20], size=16, batch=4, rate=0.1)
        >>> known = gradients.references_at(model, start, x[20:], y[20:])
        >>> gradients.predicted_sum(game, (np.zeros(3), 0), known).auc > 0.5
        True
    """
    attack = attacker(references, game.model, *target, game.batch)
    rng = np.random.default_rng(seed)
    parameters = game.run(rng).parameters
    looked = np.unique(np.linspace(0, game.steps - 1, steps).astype(int))
    chosen = rng.permutation(len(game.x))[:points]
    f, canary = attack.projections(
        parameters[looked], game.x[chosen], game.y[chosen], frozen=frozen
    )
    mean = f.mean(axis=1, dtype=float)
    f = f - mean[:, None]
    drawn = game.size / len(game.x)
    variance = f.var(axis=1, ddof=1).mean() - drawn * f.mean(axis=0).var(ddof=1)
    return Prediction(
        float((canary - mean).mean()) / game.batch,
        math.sqrt(game.steps / game.batch * float(variance)),
    )


def games_needed(easier: float, harder: float, errors: float = 4.0) -> int:
    """Games a side after which the difference of two AUCs is so many standard errors: four come out
    above two with probability 0.98. Hanley & McNeil (1982), both AUCs taken as independent.

    >>> games_needed(0.72, 0.53)
    131
    """
    easier, harder = share("easier", easier), share("harder", harder)
    if easier <= harder:
        raise InvalidArgument(
            "easier", "be above the harder target's", easier, "no number of games tells them apart"
        )
    # the variance of an AUC a with n a side is at most (q1 + q2 - 2a²)/n, q1 and q2 those of
    # exponential scores
    total = sum(a / (2.0 - a) + 2.0 * a * a / (1.0 + a) - 2.0 * a * a for a in (easier, harder))
    return max(2, math.ceil(errors**2 * total / (easier - harder) ** 2))
