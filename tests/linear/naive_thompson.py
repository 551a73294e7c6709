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


def weighted(
    releases: list[tuple[np.ndarray, np.ndarray, float, float]], *, ridge: float, norm: float,
    sd: float, weight: float,
) -> tuple[np.ndarray, np.ndarray, float, float]:  # fmt: skip
    """Matrix, vector, and variances q and w of their noise, from (matrix, vector, q, w) a batch."""
    traces = [max(float(np.trace(matrix)), ridge) for matrix, *_ in releases]
    size = len(releases[0][1])
    counts = [
        sd**2 * t / size / (sd**2 * t / size + weight * (q + norm**2 * w))
        for t, (_, _, q, w) in zip(traces, releases, strict=True)
    ]
    mean = sum(g * g * t for g, t in zip(counts, traces, strict=True))
    mean /= sum(g * t for g, t in zip(counts, traces, strict=True))
    counts = [g / mean for g in counts]
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    variance = spread = 0.0
    for g, (noisy, moment, q, w) in zip(counts, releases, strict=True):
        matrix, vector = matrix + g * noisy, vector + g * moment
        variance, spread = variance + g * g * q, spread + g * g * w
    return matrix, vector, variance, spread
