"""A safety alarm: a second 0/1 outcome ("harm") with a budget of its own, watched look by look.

Blocks of the watched arm are released with noise as any others; the alarm goes off at the first
look with S_l >= τ_l. Null: the rate of harm is at most p₀. Crossing is an upper set of the sums and
the noise is independent, so its probability grows in the rate: the error is exact, at p₀. τ_l is
the least number with P(alarm by look l) <= αl/L, found one look after the other.

With the trial's own outcome it costs ε + ε_h in all. No private alarm sees single events: whoever
must act on one harm looks at raw records, outside of the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import Unshown, count, number, real, share
from ..errors import InvalidArgument
from ..privacy.budgets import Budget, budget_from_dict
from ._designs import GO_ON, check_budget, check_risk
from ._lattice import block_law
from ._noises import Noise, noise_of

if TYPE_CHECKING:
    from .._types import Floats

MOST_LOOKS = 200


@dataclass(frozen=True)
class AlarmState:
    """Where a watch stands, from what was released so far; from `Alarm.state`.

    `decision`: `"go on"`, `"alarm"` or `"no alarm"`; `look` so far, or at which it went off;
    `total`, the noisy sum of harms by then; `participants` watched by that look, or to the end.

    >>> import discreet
    >>> watch = discreet.confirm.alarm(40, 0.05, looks=4, epsilon=2.0)
    >>> print(watch.state([7]))
    look 1: alarm; about 7 harms among 10 participants, noise included
    """

    decision: str
    look: int
    total: float
    participants: int

    def __str__(self) -> str:
        if self.decision == GO_ON:
            return f"look {self.look}: go on"
        return (
            f"look {self.look}: {self.decision}; about {self.total:.0f} harms among "
            f"{self.participants} participants, noise included"
        )


@dataclass(frozen=True)
class Alarm:
    """Thresholds of a safety alarm, fixed before the first outcome; from `alarm`.

    `sizes` are cumulative. `error` is P(alarm) at `rate`, the largest rate of harm that is
    acceptable, and so at most that for any smaller one.

    Example:
        >>> import discreet
        >>> watch = discreet.confirm.alarm(200, 0.05, looks=4, epsilon=1.0)
        >>> watch.error <= 0.05, watch.participants
        (True, 200)
        >>> print(watch.state([3, 5]))  # released counts of harm, look by look
        look 2: go on
    """

    rate: float
    sizes: tuple[int, ...]
    budget: Budget
    risk: float
    thresholds: tuple[int, ...]
    error: float

    @cached_property
    def noise(self) -> Noise:
        """On each block's sum."""
        return noise_of(self.budget)

    @property
    def participants(self) -> int:
        """Who is watched, at most."""
        return self.sizes[-1]

    def state(self, sums: Sequence[float]) -> AlarmState:
        """Where a watch stands, from the noisy sums of new outcomes at each look so far."""
        look, given = self.verdict(sums), len(sums)
        if look is None:
            last = given == len(self.sizes)
            return AlarmState("no alarm" if last else GO_ON, given, sum(sums), self.sizes[-1])
        return AlarmState("alarm", look, sum(sums[:look]), self.sizes[look - 1])

    def operating(self, rate: float) -> tuple[float, ...]:
        """P(the alarm goes off at look l) if harm has that rate; exact."""
        p = number("rate", rate, low=0.0, high=1.0, fix="use rate=0.06")
        return tuple(walk(self.sizes, self.noise, p, self.thresholds)[0])

    def power(self, rate: float) -> float:
        """P(the alarm ever goes off); exact."""
        return sum(self.operating(rate))

    def verdict(self, sums: Sequence[float]) -> int | None:
        """The look (1, 2, ...) at which the alarm went off, from the noisy sums of new outcomes at
        each look so far; None if it did not."""
        rule = f"hold 1 to {len(self.sizes)} whole numbers, one a look"
        fix = "pass the released sums, for example sums=[3, 5]"
        rows = list(sums) if isinstance(sums, Sequence | np.ndarray) else []
        fits = 1 <= len(rows) <= len(self.sizes) and all(real(x).is_integer() for x in rows)
        if not fits:
            raise InvalidArgument("sums", rule, Unshown(type(sums).__name__), fix)
        total = 0.0
        for look, (new, limit) in enumerate(zip(rows, self.thresholds, strict=False), 1):
            total += real(new)
            if total >= limit:
                return look
        return None

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "rate": self.rate,
            "sizes": list(self.sizes),
            "budget": self.budget.to_dict(),
            "noise": {"kind": self.noise.kind, "scale": self.noise.scale},
            "risk": self.risk,
            "thresholds": list(self.thresholds),
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Alarm:
        """The inverse of `to_dict`; the error is computed again, and another one refused."""
        found = cls(
            data["rate"], tuple(data["sizes"]), budget_from_dict(data["budget"]), data["risk"],
            tuple(data["thresholds"]), data["error"],
        )  # fmt: skip
        if not math.isclose(error_of(found), found.error, rel_tol=1e-9):
            raise InvalidArgument(
                "error", "be that of its thresholds", found.error, "pass it as it was made"
            )
        return found

    def __str__(self) -> str:
        limits = ", ".join(map(str, self.thresholds))
        looks = ", ".join(map(str, self.sizes))
        return (
            f"alarm at sums of {limits} among {looks}, {self.budget}: goes off with probability "
            f"{self.error:.4f} at a rate of {self.rate:g}"
        )


def walk(
    sizes: Sequence[int], noise: Noise, rate: float, thresholds: Sequence[int]
) -> tuple[list[float], tuple[int, Floats]]:
    """P(cross) at each look, and the law of the sum among those that go on."""
    low, cells = 0, np.ones(1)
    crossed = []
    for (before, after), limit in zip(pairwise((0, *sizes)), thresholds, strict=False):
        first, step = block_law(after - before, rate, noise)
        low, cells = low + first, np.convolve(cells, step)
        cut = min(max(limit - low, 0), len(cells))
        crossed.append(float(cells[cut:].sum()))
        cells = cells[:cut] if cut else np.zeros(1)
    return crossed, (low, cells)


def error_of(alarm: Alarm) -> float:
    """P(alarm) at the acceptable rate; what the laws left out counts as crossing."""
    _, (_, left) = walk(alarm.sizes, noise_of(alarm.budget), alarm.rate, alarm.thresholds)
    return 1.0 - float(left.sum())


def alarm(
    participants: int,
    rate: float,
    *,
    looks: int = 8,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    risk: float = 0.05,
) -> Alarm:
    """A private safety alarm: it watches one arm and goes off when harm is too frequent.

    It goes off with probability `risk` at most while harm has the given rate or a smaller one.

    Args:
        participants: How many are watched, at most.
        rate: The largest rate of harm that is acceptable.
        looks: How often it is looked at, at equal distances.
        epsilon: The budget ε, with Laplace noise; `math.inf` is no privacy.
        delta: With epsilon: an (ε, δ) budget, with Gaussian noise.
        rho: A zCDP budget, with Gaussian noise.
        budget: Instead of these numbers, a budget. One of them is needed. It is paid in addition to
            that of a trial of the same participants.
        risk: The probability of a false alarm, at all looks together.

    Returns:
        The alarm: thresholds, its power, and its verdict from releases.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> watch = discreet.confirm.alarm(200, 0.05, looks=4, epsilon=1.0)
        >>> watch.sizes, watch.thresholds
        ((50, 100, 150, 200), (9, 12, 15, 19))
        >>> round(watch.power(0.1), 2)  # if harm has rate 0.1
        0.67
    """
    total = count("participants", participants, fix="use participants=400")
    number_of = count("looks", looks, most=min(MOST_LOOKS, total), fix="use looks=4")
    p = share("rate", rate, fix="use rate=0.02")
    asked = check_budget(epsilon, delta, rho, budget)
    risk, noise = check_risk(risk), noise_of(asked)
    sizes = tuple(total * (look + 1) // number_of for look in range(number_of))
    thresholds: list[int] = []
    for look in range(number_of):
        # a threshold out of reach, to see the law of the sum at this look
        _, (low, cells) = walk(sizes[: look + 1], noise, p, [*thresholds, 2**40])
        spare = risk * (look + 1) / number_of - (1.0 - float(cells.sum()))
        tail = np.cumsum(cells[::-1])[::-1]
        thresholds.append(low + int((tail > spare).sum()))
    made = Alarm(p, sizes, asked, risk, tuple(thresholds), 0.0)
    return Alarm(p, sizes, asked, risk, tuple(thresholds), error_of(made))
