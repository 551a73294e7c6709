"""Tests of two arms over strata (sites, sexes, ...), with one effect and a forest plot.

Participants are randomised within strata. Two ways to release:

*Totals*, look by arm, over all strata: `design` as it is. Under the null var(S₁-S₀) = Σ2n_h p_h q_h
<= 2n p̄ q̄, so its Z is conservative where rates differ; `totals_law` is the exact law there.

*By stratum*, look by arm by stratum, for a forest plot: an outcome is in one block still, so it
costs the same budget, but H strata have H times the noise (Mantel & Haenszel 1959):

    D = Σw_h d_h / Σw_h,  w = n₁n₀/(n₁+n₀),  d = S₁/n₁ - S₀/n₀
    Z = Σw_h d_h / sqrt(Σw_h² [p̂_h(1-p̂_h)(1/n₁+1/n₀) + lv(1/n₁²+1/n₀²)])

with p̂_h pooled over arms and shrunk by κ; after stopping m̃_h by arm in its place. Heterogeneity is
Cochran's Q = Σ(d_h - d̄)²/s_h² with inverse-variance weights, χ² with H-1 degrees of freedom.

The factor c is certified by simulation (`simulated`) for one rate in all strata. Where rates differ
between strata the test is near its level by the normal law, and that is all that is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri
from scipy.stats import binom

from .._checks import Unshown, check_seed, count, numbers, one_of, real
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from_dict
from ._designs import GO_ON, KINDS, check_budget, check_risk, sizes_of
from ._lattice import TRIM, Law, Sizes, kept
from ._noises import Noise, noise_of
from ._normal import boundaries
from ._simulated import Simulated, Sums, Trials, certify

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .._types import Floats

MOST_STRATA = 200


class Stops(NamedTuple):
    """Shares of trials that stop at each look with the treatment shown to be better, or worse."""

    above: tuple[float, ...]
    below: tuple[float, ...]


@dataclass(frozen=True)
class Effect:
    """A difference treatment - control with its standard error and interval.

    Example:
        >>> import discreet
        >>> sites = {"north": 120, "south": 80}
        >>> plan = discreet.confirm.strata(sites, looks=1, epsilon=2.0, runs=1_000)
        >>> north = plan.forest([[(38, 20), (25, 16)]]).strata[0]
        >>> north.name, north.participants, round(north.difference, 3)
        ('north', 120, 0.3)
    """

    name: str
    participants: int
    difference: float
    se: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Forest:
    """The effect in every stratum, the common one, and whether they differ more than by chance.

    Intervals are for one number each, at `level`, by the normal law; `q` is Cochran's.

    Example:
        >>> import discreet
        >>> sites = {"north": 120, "south": 80}
        >>> plan = discreet.confirm.strata(sites, looks=1, epsilon=2.0, runs=1_000)
        >>> found = plan.forest([[(38, 20), (25, 16)]])  # one look; sums of both sites
        >>> round(found.total.difference, 3), round(found.p_heterogeneity, 2)
        (0.27, 0.6)
    """

    strata: tuple[Effect, ...]
    total: Effect
    level: float
    q: float
    p_heterogeneity: float

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        width = max(len(each.name) for each in (*self.strata, self.total))
        lines = [
            f"{each.name:<{width}}  {each.participants:>7}  {each.difference:+.3f}  "
            f"({each.interval[0]:+.3f} to {each.interval[1]:+.3f})"
            for each in (*self.strata, self.total)
        ]
        lines.append(f"heterogeneity: Q = {self.q:.2f}, p = {self.p_heterogeneity:.2g}")
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Figure:
        """A forest plot: a square for each stratum, its area the stratum's size; a diamond for the
        common effect. Saved if a path is given."""
        from ._pictures import plot_forest

        return plot_forest(self, path)


@dataclass(frozen=True)
class StrataVerdict:
    """What the releases of a test over strata say so far; `decision` as of a `Verdict`.

    `common` is None until the trial stops. `repeated` holds at every look.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.strata([120, 80], looks=1, epsilon=2.0, runs=1_000)
        >>> found = plan.verdict([[(38, 20), (25, 16)]])
        >>> found.decision, round(found.common.difference, 3)
        ('better', 0.27)
    """

    decision: str
    look: int
    z: tuple[float, ...]
    level: float
    repeated: tuple[float, float]
    common: Effect | None = None

    def __str__(self) -> str:
        if self.common is None:
            return f"look {self.look}: go on"
        low, high = self.repeated
        return (
            f"look {self.look}: {self.decision}; common difference {self.common.difference:.3f}, "
            f"{100 * self.level:g} % interval {low:.3f} to {high:.3f}"
        )


@dataclass(frozen=True)
class StrataDesign:
    """A test over strata, fixed before the first outcome: `sizes` by stratum.

    Example:
        >>> import discreet
        >>> sites = {"north": 120, "south": 80}
        >>> plan = discreet.confirm.strata(sites, looks=1, epsilon=2.0, runs=1_000)
        >>> plan.sizes  # of each site and look: (treatment, control)
        (((60, 60),), ((40, 40),))
        >>> print(plan.verdict([[(38, 20), (25, 16)]]))
        look 1: better; common difference 0.270, 95 % interval 0.101 to 0.439
    """

    names: tuple[str, ...]
    sizes: tuple[Sizes, ...]
    budget: Budget
    boundary: str
    risk: float
    sides: int
    certificate: Simulated

    @cached_property
    def noise(self) -> Noise:
        """On each block's sum."""
        return noise_of(self.budget)

    @property
    def participants(self) -> int:
        """At most, all strata."""
        return sum(sum(each[-1]) for each in self.sizes)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Reject at look l where |Z| (one-sided: Z) is above the l-th."""
        return tuple(self.certificate.factor * b for b in self.certificate.boundaries)

    def operating(
        self,
        treatment: Sequence[float],
        control: Sequence[float],
        *,
        runs: int = 20_000,
        seed: int | None = 1,
    ) -> tuple[float, float]:
        """P(shown better), P(shown worse) at rates of every stratum: simulated."""
        found = self.stops(treatment, control, runs=runs, seed=seed)
        return sum(found.above), sum(found.below)

    def stops(
        self,
        treatment: Sequence[float],
        control: Sequence[float],
        *,
        runs: int = 20_000,
        seed: int | None = 1,
    ) -> Stops:
        """Where trials stop at rates of every stratum, look by look: simulated."""
        rates = [
            numbers(name, given, low=0.0, high=1.0, fix="give one rate for each stratum")
            for name, given in (("treatment", treatment), ("control", control))
        ]
        for name, given in zip(("treatment", "control"), rates, strict=True):
            if len(given) != len(self.sizes):
                raise InvalidArgument(
                    name, f"have {len(self.sizes)} rates", len(given), "give one for each stratum"
                )
        runs = count("runs", runs, fix="use runs=20_000")
        pairs = list(zip(*rates, strict=True))
        z = play(self.sizes, self.noise, pairs, runs, np.random.default_rng(check_seed(seed)))
        bounds = np.array(self.boundaries)[:, None]
        up, down = z > bounds, (z < -bounds) & (self.sides == 2)
        first = (up | down).argmax(0)
        looks = range(len(z))
        return Stops(
            tuple(float((up[look] & (first == look)).mean()) for look in looks),
            tuple(float((down[look] & (first == look)).mean()) for look in looks),
        )

    def verdict(self, sums: Sequence[Sequence[Sequence[float]]]) -> StrataVerdict:
        """From the releases: per look, per stratum, the noisy sums (treatment, control) of that
        look's blocks."""
        totals = np.cumsum(self._check(sums), axis=0)
        z = tuple(
            float(mantel_haenszel(self._n(look), totals[look].T, look + 1, self.noise))
            for look in range(len(totals))
        )
        bounds = self.boundaries
        low = [-b if self.sides == 2 else -math.inf for b in bounds]
        crossed = [k for k in range(len(z)) if z[k] > bounds[k] or z[k] < low[k]]
        look = crossed[0] if crossed else len(z) - 1
        if crossed:
            decision = "better" if z[look] > 0.0 else "worse"
        else:
            decision = "no difference shown" if len(z) == len(bounds) else GO_ON
        now = self._common(totals[-1], len(z), bounds[len(z) - 1])
        level = 1.0 - 2.0 * self.risk / self.sides
        plain = float(-ndtri(self.risk / self.sides))
        common = None if decision == GO_ON else self._common(totals[look], look + 1, plain)
        return StrataVerdict(decision, look + 1, z, level, now.interval, common)

    def forest(self, sums: Sequence[Sequence[Sequence[float]]]) -> Forest:
        """The effect in each stratum and in all, from the releases so far."""
        totals = np.cumsum(self._check(sums), axis=0)[-1]
        look, risk = len(sums), 2.0 * self.risk / self.sides
        reach = float(-ndtri(0.5 * risk))
        n = self._n(look - 1)
        gaps, spreads = _gaps(n, totals.T), _own_spreads(n, totals.T, look, self.noise)
        rows = tuple(
            _effect(name, int(n[:, h].sum()), float(gaps[h]), math.sqrt(spreads[h]), reach)
            for h, name in enumerate(self.names)
        )
        weight = 1.0 / spreads
        q = float((weight * (gaps - (weight * gaps).sum() / weight.sum()) ** 2).sum())
        p = float(chdtrc(len(rows) - 1, q)) if len(rows) > 1 else 1.0
        return Forest(rows, self._common(totals, look, reach), 1.0 - risk, q, p)

    def _n(self, look: int) -> Floats:
        """Arms by strata."""
        return np.array([each[look] for each in self.sizes], float).T

    def _common(self, total: Floats, look: int, reach: float) -> Effect:
        n = self._n(look - 1)
        w = n.prod(0) / n.sum(0)
        spread = _own_spreads(n, total.T, look, self.noise)
        gap = float((w * _gaps(n, total.T)).sum() / w.sum())
        se = math.sqrt(float((w**2 * spread).sum())) / float(w.sum())
        return _effect("all", int(n.sum()), gap, se, reach)

    def _check(self, sums: Sequence[Sequence[Sequence[float]]]) -> Floats:
        """Looks by strata by arms. None is shown: someone may have passed outcomes."""
        looks, strata = len(self.sizes[0]), len(self.sizes)
        rule = f"hold, for 1 to {looks} looks, {strata} pairs of whole numbers (treatment, control)"
        fix = f"pass the released sums, for example sums=[{[(70, 44)] * strata}]"
        wrong = InvalidArgument("sums", rule, Unshown(type(sums).__name__), fix)
        kinds = (Sequence, np.ndarray)
        if not isinstance(sums, kinds) or not 1 <= len(sums) <= looks:
            raise wrong
        for row in sums:
            if not isinstance(row, kinds) or len(row) != strata:
                raise wrong
            for pair in row:
                if not isinstance(pair, kinds) or len(pair) != 2:
                    raise wrong
                if not all(real(x).is_integer() for x in pair):
                    raise wrong
        return np.array([[[real(x) for x in pair] for pair in row] for row in sums])

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificate included."""
        return {
            "names": list(self.names),
            "sizes": [[list(size) for size in each] for each in self.sizes],
            "budget": self.budget.to_dict(),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "boundary": self.boundary,
            "risk": self.risk,
            "sides": self.sides,
            "certificate": self.certificate.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StrataDesign:
        """The inverse of `to_dict`."""
        sizes = tuple(tuple((int(a), int(b)) for a, b in each) for each in data["sizes"])
        return cls(
            tuple(data["names"]), sizes, budget_from_dict(data["budget"]), data["boundary"],
            data["risk"], data["sides"], Simulated.from_dict(data["certificate"]),
        )  # fmt: skip

    def __str__(self) -> str:
        bounds = ", ".join(f"{bound:.3f}" for bound in self.boundaries)
        return (
            f"{self.boundary} over {len(self.names)} strata, {self.participants} participants, "
            f"{self.budget}: reject beyond {bounds}"
        )


def _effect(name: str, n: int, gap: float, se: float, reach: float) -> Effect:
    return Effect(name, n, gap, se, (max(gap - reach * se, -1.0), min(gap + reach * se, 1.0)))


def _gaps(n: Floats, total: Floats) -> Floats:
    return np.asarray(total[0] / n[0] - total[1] / n[1])


def _own_spreads(n: Floats, total: Floats, look: int, noise: Noise) -> Floats:
    """Of d_h, each arm with its rate."""
    shrink = max(noise.shrinkage, 1.0)
    m = np.clip((total + 0.5 * shrink) / (n + shrink), 0.0, 1.0)
    return np.asarray((m * (1.0 - m) / n + look * noise.variance / n**2).sum(0))


def mantel_haenszel(n: Floats, total: Floats, look: int, noise: Noise) -> Floats:
    """Z, from places and sums: arms by strata, by trials if there is a third axis."""
    n = n.reshape(n.shape + (1,) * (total.ndim - n.ndim))
    shrink = noise.shrinkage
    rate = np.clip((total.sum(0) + shrink) / (n.sum(0) + 2.0 * shrink), 0.0, 1.0)
    w = n.prod(0) / n.sum(0)
    noisy = look * noise.variance * (1.0 / n**2).sum(0)
    spread = (w**2 * (rate * (1.0 - rate) * (1.0 / n).sum(0) + noisy)).sum(0)
    gap = (w * (total[0] / n[0] - total[1] / n[1])).sum(0)
    return np.asarray(gap / np.sqrt(np.where(spread > 0.0, spread, 1.0)))


def play(
    sizes: tuple[Sizes, ...],
    noise: Noise,
    rates: Sequence[tuple[float, float]],
    runs: int,
    rng: np.random.Generator,
) -> Floats:
    """Z at each look, of simulated trials; `rates` of treatment and control by stratum."""
    sums_of, looks = Sums(noise), len(sizes[0])
    total = np.zeros((2, len(sizes), runs))
    z = np.zeros((looks, runs))
    for look in range(looks):
        for h, each in enumerate(sizes):
            for arm in (0, 1):
                new = each[look][arm] - (each[look - 1][arm] if look else 0)
                total[arm, h] += sums_of.draw(new, rates[h][arm], runs, rng)
        n = np.array([each[look] for each in sizes], float).T
        z[look] = mantel_haenszel(n, total, look + 1, noise)
    return z


def totals_law(sizes: tuple[Sizes, ...], noise: Noise, rates: Sequence[tuple[float, float]]) -> Law:
    """The exact law of totals over strata, released look by arm, at rates by stratum."""
    looks = len(sizes[0])
    whole = tuple(
        (sum(each[look][0] for each in sizes), sum(each[look][1] for each in sizes))
        for look in range(looks)
    )
    law = Law(whole, noise, 0.5, 0.5)
    steps = []
    for look in range(looks):
        arms = []
        for arm in (0, 1):
            masses = noise.masses
            for each, pair in zip(sizes, rates, strict=True):
                new = each[look][arm] - (each[look - 1][arm] if look else 0)
                masses = np.convolve(masses, binom.pmf(np.arange(new + 1), new, pair[arm]))
            first, last = kept(masses, TRIM)
            arms.append((first - len(noise.masses) // 2, masses[first:last]))
        steps.append((arms[0], arms[1]))
    law.steps = steps
    return law


def strata(
    participants: Mapping[str, int] | Sequence[int],
    *,
    looks: int | Sequence[int] = 3,
    treated: float = 0.5,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    boundary: str = "obrien-fleming",
    risk: float = 0.05,
    sides: int = 2,
    runs: int = 100_000,
    seed: int | None = 1,
) -> StrataDesign:
    """A private test over strata (sites, age groups), where each stratum's sums are released.

    For a test without a forest plot release totals, with `design`: it has less noise. The risk is
    certified by simulation, not by a proof.

    Args:
        participants: Of each stratum: by name, or in order.
        looks: Their number, equally spaced; or how many participants there are at each.
        treated: The treatment's share of each look.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed.
        boundary: The shape of the boundary, as in `design`.
        risk: The type I error, of both sides together if `sides` is 2.
        sides: 2, or 1 for "the treatment is better".
        runs: Trials that are simulated at each rate of a grid.
        seed: Random seed of that simulation.

    Returns:
        The design, with the certificate of its simulation.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> sites = {"north": 120, "south": 80}
        >>> plan = discreet.confirm.strata(sites, looks=1, epsilon=2.0, runs=1_000)
        >>> plan.names, plan.participants
        (('north', 'south'), 200)
    """
    named = dict(participants) if isinstance(participants, Mapping) else None
    listed: object = participants if named is None else list(named.values())
    if not isinstance(listed, list | tuple) or not 2 <= len(listed) <= MOST_STRATA:
        raise InvalidArgument(
            "participants", f"have 2 to {MOST_STRATA} strata", type(participants).__name__,
            "use for example participants=[400, 240, 160]",
        )  # fmt: skip
    names = tuple(map(str, named or range(1, len(listed) + 1)))
    if not isinstance(looks, int):
        raise InvalidArgument("looks", "be a number of looks", looks, "use for example looks=3")
    sizes = tuple(sizes_of(n, looks, treated) for n in listed)
    if treated != 0.5 and sides == 1:
        raise InvalidArgument("treated", "be 0.5 for one side", treated, "use treated=0.5")
    asked = check_budget(epsilon, delta, rho, budget)
    one_of("boundary", boundary, *KINDS)
    risk, sides = check_risk(risk), count("sides", sides, most=2)
    noise = noise_of(asked)
    clock = tuple(float(sum(sum(each[look]) for each in sizes)) for look in range(len(sizes[0])))
    runs = count("runs", runs, fix="use runs=100_000")

    def at(rate: float, rng: np.random.Generator) -> Floats:
        return play(sizes, noise, [(rate, rate)] * len(sizes), runs, rng)

    total, bounds = int(clock[-1]), boundaries(boundary, clock, risk, sides)
    found = certify(Trials(at, total, bounds, sides, runs), risk, check_seed(seed))
    return StrataDesign(names, sizes, asked, boundary, risk, sides, found)
