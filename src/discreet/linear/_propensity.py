"""The probability with which a policy with contexts chooses an arm, where it is known exactly.

- A choice that draws nothing has probability 1.
- Blocks: the sampled indices <θ_k, x> are independent, N(m_k, s_k²), so arm a is chosen with
  probability ∫ φ(z) Π over b of Φ((m_a + s_a z - m_b)/s_b) dz; before the first release all arms
  are equally likely.
- Two arms: <θ, x_1 - x_2> is one normal variable, whatever θ ~ N(θ~, R R') is.

All of it follows from releases and features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

REACH = 9.0
"""A standard normal variable is farther from 0 with a probability below 3e-19."""
ACCURACY = 1e-9


def normal(x: float) -> float:
    """Φ(x)."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def of_two(gap: Sequence[float], estimate: Sequence[float], root: Sequence[float]) -> float:
    """P(<θ, x_1 - x_2> >= 0) for θ ~ N(θ~, R R')."""
    d = len(gap)
    mean = sum(g * e for g, e in zip(gap, estimate, strict=True))
    square = 0.0
    for j in range(d):
        square += sum(gap[i] * root[i * d + j] for i in range(d)) ** 2
    return normal(mean / math.sqrt(square)) if square > 0.0 else float(mean >= 0.0)


def highest(means: Sequence[float], sds: Sequence[float], arm: int) -> float:
    """P(X_arm is the largest) for independent X_k ~ N(m_k, s_k²), the first of equals."""
    from scipy.integrate import quad

    others = [k for k in range(len(means)) if k != arm]

    def below(level: float, k: int) -> float:
        if sds[k] > 0.0:
            return normal((level - means[k]) / sds[k])
        return float(means[k] < level or (means[k] == level and k > arm))

    if sds[arm] == 0.0:
        return math.prod(below(means[arm], k) for k in others)

    def density(z: float) -> float:
        level = means[arm] + sds[arm] * z
        found = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        return found * math.prod(below(level, k) for k in others)

    turns = {-3.0, 0.0, 3.0}
    for k in others:  # where Φ rises, and how fast
        middle, width = (means[k] - means[arm]) / sds[arm], sds[k] / sds[arm]
        turns |= {middle - 4.0 * width, middle, middle + 4.0 * width}
    edges = sorted({-REACH, REACH, *(z for z in turns if -REACH < z < REACH)})
    pieces = (
        quad(density, low, high, epsabs=ACCURACY, epsrel=1e-12)[0] for low, high in pairwise(edges)
    )
    return min(max(math.fsum(pieces), 0.0), 1.0)
