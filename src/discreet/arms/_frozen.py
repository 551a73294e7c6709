"""What `Sampler` asks of a scipy-like frozen distribution."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Protocol, TypeGuard, cast

from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from .._types import Json


class Frozen(Protocol):
    """A distribution as scipy freezes one; what clips it may ask for more, as scipy has it."""

    def rvs(self, *, size: int, random_state: Generator) -> object: ...
    def mean(self) -> float: ...
    def support(self) -> tuple[float, float]: ...
    def ppf(self, q: float) -> float: ...
    def sf(self, x: float) -> float: ...
    def expect(self, func: Callable[[float], float]) -> float: ...


def is_frozen(sampler: object) -> TypeGuard[Frozen]:
    """Has it `rvs`, `mean` and `support`?"""
    return all(callable(getattr(sampler, name, None)) for name in ("rvs", "mean", "support"))


def support(sampler: Frozen) -> tuple[float, float]:
    """Both ends of the support."""
    low, high = sampler.support()
    return float(low), float(high)


def clipped_mean(sampler: Frozen, low: float, high: float) -> float:
    """E min(max(X, low), high) = low + ∫ P(X > x) dx over [low, high].

    The integral is split at quantiles, so that a narrow distribution in a wide range is not
    overlooked; a distribution on a grid of points (one with `pmf`) is summed instead.
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


def to_dict(sampler: object) -> dict[str, object]:
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


def from_dict(settings: Json) -> Frozen:
    """The frozen scipy distribution with these settings."""
    import scipy.stats

    fix = "build the Sampler in Python: only scipy distributions can be read back"
    dist = getattr(scipy.stats, str(settings.get("scipy")), None)
    if not isinstance(dist, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        raise InvalidArgument("sampler", "be a scipy distribution", settings, fix)
    args, named = cast("list[float]", settings["args"]), cast("dict[str, float]", settings["kwds"])
    frozen: Frozen = dist(*args, **named)
    return frozen


def _plain(value: Real) -> float | int:
    return int(value) if isinstance(value, Integral) else float(value)
