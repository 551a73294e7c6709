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
    """Where the parameter of a linear policy lies: with probability `level`, at all releases.

    `centre` is θ~, `inverse` is V_τ^-1, `radius` is β~.

    Example:
        >>> from discreet.inference import Ellipsoid
        >>> found = Ellipsoid((0.5, 0.0), ((0.04, 0.0), (0.0, 0.04)), radius=1.0, level=0.95)
        >>> print(found.interval([1.0, 0.0], "drug"))
        drug: 0.5 in [0.3, 0.7]
    """

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
    """The set that contains the parameter of a linear trial; it gives intervals for all features.

    Args:
        source: A linear trial with public contexts, or its report.

    Returns:
        The ellipsoid.

    Raises:
        InvalidArgument: If it is no such trial, or nothing has been released.

    Example:
        >>> from discreet import Features, linear
        >>> from discreet.inference import ellipsoid
        >>> policy = linear.policy("adac-oful", rho=1.0)
        >>> with linear.Trial(policy, ["A", "B"], 30, features=Features(dimension=2)) as trial:
        ...     for participant in range(30):
        ...         arm = trial.assign(participant, [[0.6, 0.5], [0.5, -0.6]])
        ...         trial.record(participant, 1.0 if arm == "A" else -1.0)
        ...     found = ellipsoid(trial)
        >>> len(found.centre), found.level
        (2, 0.9985)
    """
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
