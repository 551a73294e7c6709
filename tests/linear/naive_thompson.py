"""Naive twins of the batched Thompson rows, by numpy, written from the formulas."""

from __future__ import annotations

import math

import numpy as np


def ends(first: int, ratio: float, horizon: int) -> list[int]:
    """t_1, t_2 = ceil(ratio t_1), …"""
    found = [first]
    while found[-1] < horizon:
        found.append(math.ceil(ratio * found[-1]))
    return [end for end in found if end <= horizon]


def posterior(
    matrix: np.ndarray, vector: np.ndarray, *, ridge: float, lift: float, spread: float,
    variance: float, norm: float, sd: float, width: float, prior: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Mean and covariance of the sample."""
    size = len(vector)
    values, vectors = np.linalg.eigh(
        matrix + (ridge + lift * math.sqrt(spread * size)) * np.eye(size)
    )
    values = np.maximum(values, ridge)
    inverse = vectors @ np.diag(1.0 / values) @ vectors.T
    covariance = sd**2 * inverse + (variance + norm**2 * spread) * inverse @ inverse
    mean = inverse @ vector
    if math.isfinite(prior):
        shrunk = np.linalg.inv(np.eye(size) + covariance / prior**2)
        mean, covariance = shrunk @ mean, shrunk @ covariance
    return mean, width**2 * covariance
