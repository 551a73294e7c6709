"""Evidence about means from noisy batches: mixtures of exponential martingales.

A batch of arm a has a public size b and is released as x = (sum of b rewards in [0, 1]) + Y, Y
independent noise with log-moment κ(l) = κ(-l). For an effect θ_j and its tilt l = l_j(b)

    up_j(u)   = Σ over batches  l x - κ(l) - b log(1 - u + u e^l)      against mean <= u
    down_j(u) = Σ over batches -l x - κ(l) - b log(1 - u + u e^-l)     against mean >= u
    U(u) = Σ_j w_j e^{up_j(u)}, D(u) likewise, w_j ∝ 1/(j+4)
    E_{a,c}(u; d) = Σ_ij P_ij e^{up_i^a(u+d) + down_j^c(u)},  P_ij ∝ 1/[((i+j)/2+4)(1+|i-j|)²]

Theorem. If sizes and tilts are functions of earlier releases, then U(u) where mean <= u, D(u) where
mean >= u and E_{a,c}(u; d) where μ_a <= u+d and μ_c >= u are non-negative supermartingales over the
releases that start at 1, so each is ever 1/α or more with probability at most α (Ville).
Proof. e^{lx} <= 1 - x + x e^l on [0, 1], for e^{lx} is convex in x. So a reward of conditional mean
μ has E e^{lx} <= 1 - μ + μe^l, a batch the b-th power of it, and its noise, which is independent,
the factor e^{κ(l)}. A release therefore multiplies e^{up_j(u)} by a factor of conditional mean at
most [(1-μ+μe^l)/(1-u+ue^l)]^b <= 1 where μ <= u; down mirrors it. A release of arm a or of c
multiplies one of the two factors of a term of E, and a mixture of supermartingales is one. ∎
Nothing else is used: rewards need not be Bernoulli, sizes need not be fixed, nor is there a union
over phases. Nothing may be read inside a batch whose size or tilt follows from what was read there.
If the tilt l is fixed before the batch begins, something may be, and the size b may even depend on
it: e^{lΣx} / (1-μ+μe^l)^b is then a supermartingale reward by reward, in what the curator knows,
so its mean when the batch ends is at most 1 whenever that is, and the noise comes after it
(`enter_as`; counters that run on while other arms are played).

θ_j = 2·1.5^-j is a half gap in log-odds. The tilt solves κ'(l) = b v (θ_j - l), v = 0.2: it is θ_j
where the batch outweighs its noise and small where the noise does, so noisy small batches cost
little. It is taken at the middle of the batch's size class, half an octave wide: any function of
the size is allowed, and batches of one class then share their logarithms.

log E is convex in u (each -log(affine) is, and log-sum-exp keeps it), so tangents bound its minimum
from below: that bound is what decides.

Robbins (1970); Kaufmann & Koolen (2021); Howard et al. (2021); Waudby-Smith & Ramdas (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .._checks import count
from ..policies.releases._entries import NONE, Noise

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from .._compiled import Floats, Integers

EFFECTS = 20
"""θ_19 = 9e-4: gaps down to about 2e-4 are met; smaller ones want more effects."""
LARGEST, RATIO = 2.0, 1.5
PER_OCTAVE = 2
OCTAVES = 60
STEPS = 100
"""More than any minimum needs: it is found in four to eight, in 50 where means are 0 or 1."""
TOLERANCE = 1e-3
"""How far below the minimum of log E its bound may lie."""


Table: TypeAlias = "NDArray[float64] | tuple[float, ...]"
"""Constants: arrays for compiled kernels, tuples for interpreted ones."""


class Books(NamedTuple):
    """The evidence of every arm, flat, and what was built from it last: all of it from releases."""

    size: Integers
    """rewards behind what is in the books"""
    total: Floats
    """sum of the releases"""
    batches: Integers
    """how many there were"""
    up: Floats
    """Σ l x - κ(l), by arm and effect"""
    down: Floats
    """Σ -l x - κ(l)"""
    used: Integers
    """how many size classes an arm has met"""
    which: Integers
    """these classes, by arm"""
    weight: Floats
    """rewards in batches of that class"""
    a: Floats
    """scratch of one reckoning, by effect, as are b, c and d"""
    b: Floats
    c: Floats
    d: Floats
    known: Integers
    """1 while the next three are of the books as they stand"""
    challenger: Integers
    cost: Floats
    """W_C"""
    log: Floats
    """log E_{L,C}"""
    length: Integers


class Tilts(NamedTuple):
    """By size class and effect, flat: l, κ(l) of a batch, e^l - 1 and e^-l - 1; and the mixture."""

    effects: int
    classes: int
    tilt: Table
    moment: Table
    """κ(l) of a whole batch; of one reward where noise is added to each"""
    each: int
    rise: Table
    fall: Table
    joint: Table
    """P_ij, flat"""
    single: Table
    """w_j"""


@lru_cache(maxsize=64)
def _tables(noise: Noise, effects: int) -> tuple[tuple[float, ...], ...]:
    # noise on every reward grows with the batch, so that its tilts do not depend on the size
    alike = noise.kind == NONE or noise.scale == 0.0 or noise.each
    classes = 1 if alike else PER_OCTAVE * OCTAVES
    tilts, moments = [], []
    for number in range(classes):
        size = 2.0 ** ((number + 0.5) / PER_OCTAVE)
        for j in range(effects):
            tilt = noise.tilt(LARGEST * RATIO**-j, size)
            tilts.append(tilt)
            moments.append(noise.log_moment(tilt))
    joint = [
        1.0 / (((i + j) / 2.0 + 4.0) * (1.0 + abs(i - j)) ** 2)
        for i in range(effects)
        for j in range(effects)
    ]
    single = [1.0 / (j + 4.0) for j in range(effects)]
    whole, part = math.fsum(joint), math.fsum(single)
    return (
        tuple(tilts),
        tuple(moments),
        tuple(math.expm1(tilt) for tilt in tilts),
        tuple(math.expm1(-tilt) for tilt in tilts),
        tuple(weight / whole for weight in joint),
        tuple(weight / part for weight in single),
    )


def tilts_for(noise: Noise, effects: int = EFFECTS, *, interpreted: bool = False) -> Tilts:
    """The tables for a noise: arrays for compiled kernels, tuples for interpreted ones."""
    effects = count("effects", effects, least=2, most=200, fix=f"use effects={EFFECTS}")
    tables: Sequence[Table] = _tables(noise, effects)
    classes = len(tables[0]) // effects
    if not interpreted:
        import numpy as np

        tables = tuple(np.array(table) for table in tables)
    tilt, moment, rise, fall, joint, single = tables
    return Tilts(effects, classes, tilt, moment, int(noise.each), rise, fall, joint, single)


def fresh_books(arms: int, effects: int, classes: int, *, interpreted: bool = False) -> Books:
    """Nothing is known yet: arrays for compiled kernels, lists for interpreted ones."""
    import numpy as np

    def whole(entries: int) -> Integers:
        return [0] * entries if interpreted else np.zeros(entries, np.int64)

    def real(entries: int) -> Floats:
        return [0.0] * entries if interpreted else np.zeros(entries)

    return Books(
        size=whole(arms), total=real(arms), batches=whole(arms),
        up=real(arms * effects), down=real(arms * effects),
        used=whole(arms), which=whole(arms * classes), weight=real(arms * classes),
        a=real(effects), b=real(effects), c=real(effects), d=real(effects),
        known=whole(1), challenger=whole(1), cost=real(1), log=real(1), length=whole(1),
    )  # fmt: skip


def class_of(tilts: Tilts, size: int) -> int:
    """The size class of a batch."""
    if tilts.classes == 1:
        return 0
    return int(min(math.floor(PER_OCTAVE * math.log2(size)), tilts.classes - 1))


def enter(tilts: Tilts, books: Books, arm: int, size: int, x: float) -> None:
    """A batch of b rewards, released as x: O(effects)."""
    times = float(size) if tilts.each == 1 else 1.0
    enter_as(tilts, books, arm, class_of(tilts, size), size, x, times)
    books.batches[arm] += 1


def enter_as(
    tilts: Tilts, books: Books, arm: int, number: int, size: int, x: float, times: float
) -> None:
    """Rewards that are released as x with the tilts of a size class; `times`: the noises in x."""
    at, last = arm * tilts.classes, books.used[arm]
    place = 0
    while place < last and books.which[at + place] != number:
        place += 1
    if place == last:
        books.which[at + place] = number
        books.used[arm] += 1
    books.weight[at + place] += size
    for j in range(tilts.effects):
        entry = number * tilts.effects + j
        tilt, moment = tilts.tilt[entry], times * tilts.moment[entry]
        books.up[arm * tilts.effects + j] += tilt * x - moment
        books.down[arm * tilts.effects + j] += -tilt * x - moment
    books.size[arm] += size
    books.total[arm] += x


def fill_side(
    tilts: Tilts, books: Books, arm: int, u: float, upwards: bool, logs: Floats, slopes: Floats
) -> float:
    """up_j(u) or down_j(u) of all effects, with their slopes in u; the largest of them."""
    effects = tilts.effects
    at = arm * tilts.classes
    largest = -math.inf
    for j in range(effects):
        value = books.up[arm * effects + j] if upwards else books.down[arm * effects + j]
        slope = 0.0
        for place in range(books.used[arm]):
            entry = books.which[at + place] * effects + j
            growth = tilts.rise[entry] if upwards else tilts.fall[entry]
            mean = 1.0 + u * growth
            weight = books.weight[at + place]
            value -= weight * math.log(mean)
            slope -= weight * growth / mean
        logs[j] = value
        slopes[j] = slope
        largest = max(largest, value)
    return largest


def log_pair(
    tilts: Tilts, books: Books, better: int, worse: int, u: float, shift: float
) -> tuple[float, float]:
    """log E_{a,c}(u; d) and its slope in u."""
    effects = tilts.effects
    ups, up_slopes, downs, down_slopes = books.a, books.b, books.c, books.d
    top = fill_side(tilts, books, better, u + shift, True, ups, up_slopes)
    top_down = fill_side(tilts, books, worse, u, False, downs, down_slopes)
    # a term below e^-700 of the largest is dropped: less evidence, never more
    for j in range(effects):
        downs[j] = math.exp(downs[j] - top_down)
    total, slope = 0.0, 0.0
    for i in range(effects):
        up = math.exp(ups[i] - top)
        part, part_slope = 0.0, 0.0
        for j in range(effects):
            term = tilts.joint[i * effects + j] * downs[j]
            part += term
            part_slope += term * down_slopes[j]
        total += up * part
        slope += up * (part_slope + part * up_slopes[i])
    return top + top_down + math.log(total), slope / total


def least_pair(
    tilts: Tilts, books: Books, better: int, worse: int, shift: float, start: float, needed: float
) -> float:
    """min over u of log E_{a,c}(u; d), from below by tangents.

    Returns early, with a value of log E, once one is below `needed`: the minimum then is too.
    """
    low, high = max(0.0, -shift), min(1.0, 1.0 - shift)
    at_low, at_high = -math.inf, -math.inf  # log E there, once it is known
    slope_low, slope_high = 0.0, 0.0
    u = min(max(start, low), high)
    bend = 4.0 * (books.size[better] + books.size[worse])
    bound, width = -1e300, math.inf
    for _ in range(STEPS):
        value, slope = log_pair(tilts, books, better, worse, u, shift)
        if value < needed:
            return value
        if slope < 0.0:
            if u >= high:
                return value
            low, at_low, slope_low = u, value, slope
        else:
            if u <= low and at_low == -math.inf:
                return value
            high, at_high, slope_high = u, value, slope
        if at_low > -math.inf and at_high > -math.inf:
            # the tangents meet at `low + step`, below the minimum
            step = (at_high - at_low - slope_high * (high - low)) / (slope_low - slope_high)
            bound = at_low + slope_low * min(max(step, 0.0), high - low)
            if min(at_low, at_high) - bound <= TOLERANCE:
                return bound
            u = low - slope_low * (high - low) / (slope_high - slope_low)
            inside = 1e-3 * (high - low)
            u = min(max(u, low + inside), high - inside)
            if high - low > 0.5 * width:  # one end stands still: means near 0 or 1
                u = 0.5 * (low + high)
            width = high - low
        elif at_low > -math.inf:
            if -slope_low * (high - low) <= TOLERANCE:
                return at_low + slope_low * (high - low)
            u = min(high, low - 1.5 * slope_low / bend + 1e-9)
            bend *= 0.5
        else:
            if slope_high * (high - low) <= TOLERANCE:
                return at_high - slope_high * (high - low)
            u = max(low, high - 1.5 * slope_high / bend - 1e-9)
            bend *= 0.5
    return bound


def log_single(tilts: Tilts, books: Books, arm: int, u: float, upwards: bool) -> float:
    """log U(u), or log D(u)."""
    effects = tilts.effects
    logs = books.a
    top = fill_side(tilts, books, arm, u, upwards, logs, books.b)
    total = 0.0
    for j in range(effects):
        total += tilts.single[j] * math.exp(logs[j] - top)
    return top + math.log(total)
