"""Laws with their truth by another route, and a compiled way to draw from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import integrate, stats

from discreet.arms import (
    Bernoulli,
    Beta,
    Clipped,
    Environment,
    Gaussian,
    Mixed,
    Sampler,
    TwoPoint,
    Uniform,
)


class Case(NamedTuple):
    """A law and, for every arm, one reward's distribution (`mean`, `var`)."""

    environment: Environment
    twins: tuple[Any, ...]


class Pair:
    """Two values."""

    def __init__(self, low: float, high: float, p: float) -> None:
        self.low, self.high, self.p = low, high, p

    def mean(self) -> float:
        return self.low * (1 - self.p) + self.high * self.p

    def var(self) -> float:
        return (self.high - self.low) ** 2 * self.p * (1 - self.p)


class ClippedTwin:
    """Moments of min(max(X, low), high), by quadrature of the density or by summation."""

    def __init__(self, twin: Any, low: float, high: float) -> None:
        self.twin, self.low, self.high = twin, low, high

    def moment(self, power: int) -> float:
        if hasattr(self.twin, "pmf"):
            points = np.arange(0, 200)
            clipped = np.clip(points, self.low, self.high)
            return float(np.sum(clipped**power * self.twin.pmf(points)))
        inside, _ = integrate.quad(lambda x: x**power * self.twin.pdf(x), self.low, self.high)
        below, above = self.twin.cdf(self.low), self.twin.sf(self.high)
        return float(inside + self.low**power * below + self.high**power * above)

    def mean(self) -> float:
        return self.moment(1)

    def var(self) -> float:
        return self.moment(2) - self.moment(1) ** 2


def clip(twins: tuple[Any, ...], low: float, high: float) -> tuple[ClippedTwin, ...]:
    return tuple(ClippedTwin(twin, low, high) for twin in twins)


GAUSS = (stats.norm(0.5, 1.0), stats.norm(-0.3, 0.2), stats.norm(2.0, 0.5))
SAMPLED = (stats.gamma(2.0), stats.poisson(3), stats.norm(0, 1))
CASES = {
    "bernoulli": Case(Bernoulli([0.1, 0.5, 0.97]), tuple(map(stats.bernoulli, (0.1, 0.5, 0.97)))),
    "gaussian": Case(Gaussian([-1, 2], [0.5, 3]), (stats.norm(-1, 0.5), stats.norm(2, 3))),
    "beta": Case(Beta([4, 0.5], [1, 0.5]), (stats.beta(4, 1), stats.beta(0.5, 0.5))),
    "two-point": Case(
        TwoPoint([0.4, -1], [1, 3], [0.5, 0.1]), (Pair(0.4, 1, 0.5), Pair(-1, 3, 0.1))
    ),
    "uniform": Case(Uniform([0, -2], [1, 5]), (stats.uniform(), stats.uniform(-2, 7))),
    "mixed": Case(
        Mixed([Bernoulli(0.9), Beta(4, 1), TwoPoint(0.4, 1), Uniform(0.2, 1), Gaussian(2, 0.3)]),
        (
            stats.bernoulli(0.9),
            stats.beta(4, 1),
            Pair(0.4, 1, 0.5),
            stats.uniform(0.2, 0.8),
            stats.norm(2, 0.3),
        ),
    ),
    "clipped-gaussian": Case(
        Clipped(Gaussian([0.5, -0.3, 2.0], [1.0, 0.2, 0.5])), clip(GAUSS, 0.0, 1.0)
    ),
    "clipped-mixed": Case(
        Clipped(Mixed([TwoPoint(-1, 2, 0.3), Beta(2, 3), Uniform(-1, 2)]), 0.2, 0.7),
        (Pair(0.2, 0.7, 0.3), *clip((stats.beta(2, 3), stats.uniform(-1, 3)), 0.2, 0.7)),
    ),
    "sampler": Case(Sampler(SAMPLED), SAMPLED),
    "clipped-sampler": Case(Clipped(Sampler(SAMPLED), 0.5, 2.5), clip(SAMPLED, 0.5, 2.5)),
}
PAIRS = [(name, arm) for name, case in CASES.items() for arm in range(case.environment.arms)]

_COMPILED: dict[Any, Any] = {}


def compiled(environment: Environment) -> Any:
    """The law's kernel, compiled once."""
    if environment.draw not in _COMPILED:
        _COMPILED[environment.draw] = njit(nogil=True)(environment.draw)
    return _COMPILED[environment.draw]


def serve(
    draw: Callable[..., Any],
    environment: Environment,
    state: Any,
    arm: int,
    rounds: int,
    rng: Any,
    t: int = 0,
) -> tuple[float, int]:
    """What a loop does: ask, refill, ask for the rest, until served or nothing is left."""
    total, done = 0.0, 0
    while True:
        part, served = draw(state, arm, rounds - done, t + done, rng)
        total, done = total + part, done + served
        if done == rounds or not environment.refill(state, rng):
            return total, done


@njit
def _fill(draw, state, arm, rounds, rng, out, first):  # type: ignore[no-untyped-def]
    for i in range(first, out.size):
        out[i], served = draw(state, arm, rounds, 0, rng)
        if served < rounds:
            return i, served
    return out.size, 0


def totals(
    environment: Environment, arm: int, rounds: int, times: int, rng: np.random.Generator
) -> Any:
    """Sums of `rounds` rewards, drawn by the compiled kernel, with refills."""
    draw, state = compiled(environment), environment.start(rng)
    out = np.empty(times)
    i, served = _fill(draw, state, arm, rounds, rng, out, 0)
    while i < times:
        assert environment.refill(state, rng)
        rest, done = serve(draw, environment, state, arm, rounds - served, rng)
        assert done == rounds - served
        out[i] += rest
        i, served = _fill(draw, state, arm, rounds, rng, out, i + 1)
    return out


def check_moments(sample: Any, mean: float, variance: float, limit: float = 6.5) -> None:
    """Sample mean and variance within `limit` standard errors (1e-10 each, two-sided, at 6.5)."""
    centred = sample - mean
    z = centred.mean() / math.sqrt(variance / sample.size)
    assert abs(z) < limit, f"mean is off by {z:.1f} standard errors"
    # The floor serves a fair pair of points, where every square is the variance.
    error = max((centred**2).std(), 1e-6 * variance) / math.sqrt(sample.size)
    z = ((centred**2).mean() - variance) / error
    assert abs(z) < limit, f"variance is off by {z:.1f} standard errors"
