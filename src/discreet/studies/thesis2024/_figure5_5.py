"""Figure 5.5: AdaC-GOPE under ρ-zCDP against GOPE.

Published: K = 10 actions and θ uniform on the unit sphere in three dimensions, N(0, 1) noise,
δ = 0.001, T = 1e7, 100 runs. Azize (2024), section 5.5.2.
"""

from __future__ import annotations

from .._base import Size
from ._linear_price import LinearPrice

FIGURE = LinearPrice(
    study="thesis2024",
    number="5.5",
    title="Linear bandits under ρ-zCDP: the price of privacy",
    reference="azize2024",
    full=Size(10**7, 100),
    quick=Size(10**6, 20),
    private="adac-gope",
    twin="gope",
    contexts="fixed",
    note="The budgets ρ and the instance (seed 1) are ours: the text prints neither. Gaussian "
    "rewards are unbounded, so the printed runs promise nothing; the sound ones clip rewards to "
    "[-3, 3] and compute the noise from that.",
)
