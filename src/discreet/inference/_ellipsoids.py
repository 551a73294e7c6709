"""Linear policies: the ellipsoid that the parameter lies in, of the noisy estimate.

    {θ : ||θ - θ~||_{V_τ} <= β~},  <a, θ> in <a, θ~> ± β~ ||a||_{V_τ^-1}

with β~ of `discreet.linear._rules`: regularisation, rewards (self-normalised, Abbasi-Yadkori et al.
2011: at all times at once, with probability 1 - δ) and noise (a chi-square bound at δ/(2T) for each
of at most T releases), so that it holds throughout with probability 1 - 3δ/2. It needs public
contexts, ||θ|| <= `norm`, and rewards that are linear in the features with errors that are
`sd`-subgaussian. A function of releases and of public actions, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._checks import Name
from ..errors import InvalidArgument
from ._intervals import Interval


@dataclass(frozen=True)
class Ellipsoid:
    """Centre θ~, the inverse of V_τ by policies, radius β~, and the level at which it holds."""

    centre: tuple[float, ...]
    inverse: tuple[tuple[float, ...], ...]
    radius: float
    level: float

    def interval(self, features: Sequence[float], name: Name | None = None) -> Interval:
        """<a, θ> for features a; all directions hold at once."""
        if len(features) != len(self.centre):
            raise InvalidArgument(
                "features", f"have {len(self.centre)} entries", len(features), "as in assign"
            )
        mean = math.fsum(a * c for a, c in zip(features, self.centre, strict=True))
        square = math.fsum(
            a * b * entry
            for a, row in zip(features, self.inverse, strict=True)
            for b, entry in zip(features, row, strict=True)
        )
        reach = self.radius * math.sqrt(max(square, 0.0))
        return Interval(name, mean, mean - reach, mean + reach, 0)


def ellipsoid(source: Any) -> Ellipsoid:
    """The ellipsoid of a linear trial with public contexts, or of its report."""
    report = source if isinstance(source, Mapping) else source.report()
    found = report.get("ellipsoid")
    if found is None:
        raise InvalidArgument(
            "source", "be a linear trial of an optimistic row with public contexts and a release",
            str(report.get("policy")), "use for example adac-oful",
        )  # fmt: skip
    d = len(found["centre"])
    rows = tuple(tuple(found["inverse"][i * d : (i + 1) * d]) for i in range(d))
    return Ellipsoid(tuple(found["centre"]), rows, found["radius"], found["level"])
