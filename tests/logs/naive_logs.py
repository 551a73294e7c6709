"""Off-policy estimators, one participant after the other, from the papers' formulas.

IPW: Horvitz & Thompson (1952). SNIPS: Swaminathan & Joachims (2015). DM and DR: Dudík, Langford
& Li (2011). Switch-DR: Wang, Agarwal & Dudík (2017), with DR for the actions of small weight.
"""

from __future__ import annotations

from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def weights(shares: Rows, action: Sequence[int], p: Sequence[float]) -> list[float]:
    return [shares[i][a] / p[i] for i, a in enumerate(action)]


def ipw(w: Sequence[float], r: Sequence[float]) -> float:
    return sum(wi * ri for wi, ri in zip(w, r, strict=True)) / len(r)


def snips(w: Sequence[float], r: Sequence[float]) -> float:
    return sum(wi * ri for wi, ri in zip(w, r, strict=True)) / sum(w)


def dm(shares: Rows, q: Rows) -> float:
    total = 0.0
    for pi, qi in zip(shares, q, strict=True):
        total += sum(a * b for a, b in zip(pi, qi, strict=True))
    return total / len(q)


def switch_dr(
    shares: Rows, q: Rows, w: Sequence[float], r: Sequence[float], action: Sequence[int],
    threshold: float,
) -> float:  # fmt: skip
    total = dm(shares, q) * len(r)
    for i, a in enumerate(action):
        if w[i] <= threshold:
            total += w[i] * (r[i] - q[i][a])
    return total / len(r)
