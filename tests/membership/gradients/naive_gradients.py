"""Twins written from the formulas, with full matrices and loops."""

from __future__ import annotations

from typing import Any

import numpy as np


def covariance_scores(
    references: Any, canary: Any, updates: Any, batch: int, ridge: float
) -> list[float]:
    """s_t = (g* - μ)'C⁻¹(o - μ) - |g* - μ|²/(2B), C centred, plus a ridge."""
    mean = references.mean(axis=0)
    centred = references - mean
    inverse = np.linalg.inv(centred.T @ centred / (len(references) - 1) + ridge * np.eye(len(mean)))
    return [
        float((g - mean) @ inverse @ (o - mean) - (g - mean) @ inverse @ (g - mean) / (2 * batch))
        for g, o in zip(canary, updates, strict=True)
    ]


def left_out_distance(references: Any, place: int) -> float:
    """The distance of a reference from the mean and covariance of all others."""
    others = np.delete(references, place, axis=0)
    v = references[place] - others.mean(axis=0)
    return float(v @ np.linalg.solve(np.cov(others, rowvar=False), v))


def gaussian_ratio(target: Any, mean: Any, covariance: Any, observed: Any, n: int) -> float:
    """The exact log ratio of a mean of n normal points with the target in it, against without."""
    inverse = np.linalg.inv(covariance)
    v, w = target - mean, observed - target
    d = len(mean)
    return float(
        d / 2 * np.log(n / (n - 1)) + v @ inverse @ v / 2 - n / (2 * (n - 1)) * w @ inverse @ w
    )


def dp_sum(gradients: Any, clip: float) -> Any:
    """Σ min{1, c/|g|} g."""
    total = np.zeros(gradients.shape[1])
    for g in gradients:
        total += min(1.0, clip / np.linalg.norm(g)) * g
    return total


def assignment_variance(f: Any, batch: int) -> float:
    """Var of (1/B) Σ f_i(t_i) where points are put into the B places of every step at random.

    Hoeffding: a matrix of points by places, empty places for those not drawn, each entry less its
    row's and its column's mean plus the mean of all; Σ d²/(N - 1).
    """
    points, steps = f.shape
    places = np.zeros((points, points))
    for t in range(steps):
        for b in range(batch):
            places[:, t * batch + b] = f[:, t] / batch
    centred = places - places.mean(axis=1)[:, None] - places.mean(axis=0)[None] + places.mean()
    return float((centred**2).sum() / (points - 1))
