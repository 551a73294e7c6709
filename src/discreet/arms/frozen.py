"""What `Sampler` asks of a scipy-like frozen distribution."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

from discreet.errors import InvalidArgument


def is_frozen(sampler: object) -> bool:
    """Has it `rvs`, `mean` and `support`?"""
    return all(callable(getattr(sampler, name, None)) for name in ("rvs", "mean", "support"))


def support(sampler: Any) -> tuple[float, float]:
    """Both ends of the support."""
    low, high = sampler.support()
    return float(low), float(high)


def clipped_mean(sampler: Any, low: float, high: float) -> float:
    """E min(max(X, low), high) = low + ∫ P(X > x) dx over [low, high].

    The integral is split at quantiles, so that a narrow law in a wide range is not overlooked;
    a law on a grid of points (one with `pmf`) is summed instead.
    """
    ends = support(sampler)
    if low <= ends[0] and ends[1] <= high:
        return float(sampler.mean())
    if hasattr(sampler, "pmf"):
        import numpy as np

        mean = float(sampler.expect(lambda x: np.clip(x, low, high)))
    else:
        from scipy.integrate import quad

        quantiles = (float(sampler.ppf(q)) for q in (1e-6, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-6))
        cuts = [low, *sorted({q for q in quantiles if low < q < high}), high]
        pieces = pairwise(cuts)
        mean = low + sum(float(quad(sampler.sf, x, y, epsabs=1e-12)[0]) for x, y in pieces)
    return min(max(mean, low), high)


def to_dict(sampler: Any) -> dict[str, Any]:
    """Name and parameters of a scipy distribution; of anything else, its repr."""
    dist = getattr(sampler, "dist", None)
    name, args, kwds = (
        getattr(dist, "name", None),
        getattr(sampler, "args", None),
        getattr(sampler, "kwds", None),
    )
    if isinstance(name, str) and isinstance(args, tuple) and isinstance(kwds, dict):
        values = [*args, *kwds.values()]
        if all(isinstance(value, Real) for value in values):
            return {
                "scipy": name,
                "args": [_plain(value) for value in args],
                "kwds": {key: _plain(value) for key, value in kwds.items()},
            }
    return {"opaque": repr(sampler)}


def from_dict(settings: dict[str, Any]) -> Any:
    """The frozen scipy distribution with these settings."""
    import scipy.stats

    fix = "build the Sampler in Python: only scipy distributions can be read back"
    dist = getattr(scipy.stats, str(settings.get("scipy")), None)
    if not isinstance(dist, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        raise InvalidArgument("sampler", "be a scipy distribution", settings, fix)
    return dist(*settings["args"], **settings["kwds"])


def _plain(value: Any) -> float | int:
    return int(value) if isinstance(value, Integral) else float(value)
