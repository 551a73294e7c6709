"""Figure 7.1: the white-box protocol of federated learning, run.

In every round the server sends θ_t, the clients answer with gradients, the auditor, one of them,
sends the canary's gradient with probability ½ and nothing otherwise, and the server descends along
the sum over B, the number of clients it expects. With N others the canary moves the sum by g*, not
by g* - μ, so the score of a round is, on the scale of the sum,
    s = w'(S - Nμ) - ½w'g*,   w = (N Ĉ + γ²c²I)⁻¹g*,   m = w'g*.
Every round has its own coin: each is a game.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._measures import Measure, clearly_above
from .._pictures import canvas, dress
from ._epochs import auc_of, panel_of, scores_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ..._types import Array
    from ...membership import Scores
    from ...membership.gradients.models._base import Model

WHERE = "thesis, section 7.1, figure 7.1"
CLIENTS = 64
REFERENCES = 1_200
CLIP = 1.0
RATE = 0.05
NOISES = (0.5, 2.0)
CANARIES = ("easiest point", "hardest point", "random direction", "quietest Dirac")


@dataclass(frozen=True, kw_only=True)
class Protocol(Figure):
    """The protocol with several canaries, at two noise multipliers."""

    def panels(self, lab: Lab) -> list[Panel]:
        return [
            panel_of(f"γ = {noise:g}", scores, noise=noise, **leakage)
            for noise in NOISES
            for scores, leakage in [play_protocol(noise, lab.size.horizon, lab.size.runs, lab.seed)]
        ]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        from ...membership.gradients._pictures import draw_roc

        picture, axes = canvas(len(panels))
        for ax, panel in zip(axes, panels, strict=True):
            draw_roc(ax, scores_in(panel), CANARIES)
            dress(ax, f"one round, {panel.setting}", "false alarms", "power")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        return [finding for panel in panels for finding in self._findings(panel)]

    def _findings(self, panel: Panel) -> list[Finding]:
        aucs = {name: auc_of(scores_in(panel)[name]) for name in CANARIES}
        predicted = {
            name: Measure(_normal(math.sqrt(panel.values[f"m, {name}"] / 2.0))) for name in CANARIES
        }
        near = all(
            abs(aucs[name].value - predicted[name].value) <= 4.0 * (aucs[name].error or 0.0) + 0.02
            for name in CANARIES
        )
        return [
            Finding(
                Statement(
                    f"a round tells whether the canary was sent, as a mean does; {panel.setting}",
                    WHERE,
                ),
                Verdict.REPRODUCED if near else Verdict.DIFFERS,
                {f"AUC, {name}": value for name, value in aucs.items()}
                | {f"Φ(√(m/2)), {name}": value for name, value in predicted.items()},
                "Reproduced means every AUC within four standard errors plus .02 of the formula.",
            ),
            Finding(
                Statement(
                    "the auditor needs a most-leaking sample: the easiest point beats the hardest; "
                    f"{panel.setting}",
                    WHERE,
                ),
                Verdict.of(clearly_above(aucs[CANARIES[0]], aucs[CANARIES[1]])),
                {f"AUC, {name}": aucs[name] for name in CANARIES[:2]},
                "Points by their clipped gradients; both have at most norm c.",
            ),
        ]


def play_protocol(
    noise: float, rounds: int, runs: int, seed: int
) -> tuple[dict[str, Scores], dict[str, float]]:
    """Scores by canary of `runs` runs of so many rounds, and every canary's mean m."""
    import numpy as np

    from ...membership import Scores
    from ...membership.gradients import SoftmaxRegression, fashion_mnist_sample
    from ...membership.gradients._canaries import random_direction

    images = fashion_mnist_sample()
    x, y = images.features(4), images.labels
    model = SoftmaxRegression(x.shape[1])
    rng = np.random.default_rng(seed)
    order, start = rng.permutation(len(x)), model.start(rng)
    known, others = order[:REFERENCES], order[REFERENCES:]
    inverse = _noisy_inverse(_clipped(model, start, x[known], y[known]), noise)
    leaks = _leaks(_clipped(model, start, x[others], y[others]), inverse)
    points = {CANARIES[0]: others[leaks.argmax()], CANARIES[1]: others[leaks.argmin()]}
    quiet = np.zeros(model.size)
    quiet[np.diag(inverse).argmax()] = CLIP
    fixed = {CANARIES[2]: random_direction(model.size, CLIP, rng), CANARIES[3]: quiet}
    pool = np.setdiff1d(others, list(points.values()))
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in CANARIES}
    leakage = {f"m, {name}": 0.0 for name in CANARIES}
    for name in CANARIES:
        for _ in range(runs):
            theta = start
            for _ in range(rounds):
                canary = (
                    fixed[name] if name in fixed
                    else _clipped(model, theta, x[points[name]][None], y[points[name]][None])[0]
                )  # fmt: skip
                chosen = rng.choice(pool, CLIENTS - 1, replace=False)
                total = _clipped(model, theta, x[chosen], y[chosen]).sum(axis=0)
                sent = bool(rng.random() < 0.5)
                total = total + sent * canary + rng.normal(0.0, noise * CLIP, model.size)
                direction = inverse @ canary
                middle = _clipped(model, theta, x[known[:256]], y[known[:256]]).mean(axis=0)
                score = direction @ (total - (CLIENTS - 1) * middle) - direction @ canary / 2.0
                found[name][0 if sent else 1].append(float(score))
                leakage[f"m, {name}"] += float(direction @ canary) / (runs * rounds)
                theta = (theta - RATE / CLIENTS * total).astype(np.float32)
    settings = {"mechanism": "federated learning", "clients": CLIENTS, "noise": noise}
    return {
        name: Scores(
            np.array(members), np.array(nonmembers), name=name, threshold=0.0, seed=seed,
            settings=settings,
        )
        for name, (members, nonmembers) in found.items()
    }, leakage  # fmt: skip


def _clipped(model: Model, theta: Array, x: Array, y: Array) -> Array:
    import numpy as np

    from ...membership.gradients.models._base import clip_factors

    layer = model.layer(theta, x, y)
    return np.asarray(layer.dense() * clip_factors(layer.norms(), CLIP)[:, None], float)


def _noisy_inverse(gradients: Array, noise: float) -> Array:
    """(N Ĉ + γ²c²I)⁻¹ of reference gradients."""
    import numpy as np

    covariance = (CLIENTS - 1) * np.cov(gradients, rowvar=False)
    covariance[np.diag_indices(len(covariance))] += (noise * CLIP) ** 2
    return np.asarray(np.linalg.inv(covariance))


def _leaks(gradients: Array, inverse: Array) -> Array:
    """m = g'(N Ĉ + γ²c²I)⁻¹g of every candidate."""
    import numpy as np

    return np.asarray(np.einsum("ij,ij->i", gradients @ inverse, gradients))


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


FIGURE = Protocol(
    study="thesis2024",
    number="7.1",
    title="The white-box protocol of federated learning, run with several canaries",
    reference="azize2024thesis",
    full=Size(50, 80),
    quick=Size(10, 20),
    note="Horizon: rounds of the protocol; runs: repetitions. The figure is a sketch without "
    "numbers; it is run on the shipped sample (7 × 7 averages, softmax regression, 64 clients, "
    "clip 1), the auditor sending the canary or nothing, and every round is a game.",
)
