"""Figure 5.6: AdaC-OFUL under ρ-zCDP against rarely switching OFUL, Gaussian contexts.

Published: K = 10, d = 3, contexts N(1/sqrt d, I/10), θ on the sphere, N(0, 1) noise, C = 1,
λ = 0.1, δ = 0.001, T = 1e7, 100 runs. Azize (2024), section 5.5.2.
"""

from __future__ import annotations

from .._base import Size
from ._linear_price import LinearPrice

FIGURE = LinearPrice(
    study="thesis2024",
    number="5.6",
    title="Contextual linear bandits under ρ-zCDP: the price of privacy",
    reference="azize2024",
    full=Size(10**7, 4),
    quick=Size(10**5, 5),
    private="adac-oful",
    twin="rs-oful",
    contexts="gaussian",
    note="Run to the published T = 1e7, 4 times instead of 100: with a decision every round, a "
    "run of the eleven curves takes about 20 seconds of processor time, and 100 of them half an "
    "hour. The budgets ρ and the parameter (seed 1) are ours: the text prints neither. Gaussian "
    "rewards are unbounded and contexts leave the unit ball, so the printed runs promise nothing; "
    "the sound ones clip rewards to [-3, 3] and scale the noise to the longest action played. The "
    "radius uses the computed least eigenvalue of V instead of a bound on it.",
)
