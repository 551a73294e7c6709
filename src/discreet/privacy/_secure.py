"""Noise for real people, through OpenDP: integers, cryptographic randomness, no seed.

Sums are held in whole steps; `laplace` and `gaussian` draw discrete Laplace and discrete Gaussian
noise in the same steps, with the signature `noise(scale, rng)` of the kernels and no generator. The
scales come from OpenDP's own privacy map, rounded so that the map is at most the claimed budget.

Noise does not depend on any outcome, so it is drawn *ahead*: `AHEAD` numbers of one distribution
and scale at once, each of them used once, in order. How long OpenDP takes depends on the noise, so
these draws are padded to a window (`padded`); when one of them is used, nothing is drawn at all. A
release of a vector or a matrix says before it begins how many numbers of which distributions and
scales it takes (`prepare`): all that are not there yet are drawn in one window.

Noise is drawn as 64-bit integers, which OpenDP clamps; scales are kept so small that noise reaches
the clamp with probability below 1e-400, less than any δ that can be stored.

References: Canonne, Kamath & Steinke 2020; Ghosh, Roughgarden & Sundararajan 2012; Ren et al. 2020.
"""

from __future__ import annotations

import gc
import math
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from time import get_clock_info, perf_counter_ns, thread_time_ns
from types import ModuleType
from typing import NamedTuple, Protocol

from .._checks import amount, count
from ..errors import DiscreetError, InvalidArgument, UnsupportedBudget
from ._mechanisms import Gaussian
from .budgets import ZCDP, Approximate, Budget, Renyi

LARGEST_SCALE = 2.0**53
AHEAD = 32
"""Numbers that are drawn at once: other threads of the process may take the interpreter for
milliseconds whenever a call of OpenDP lets them in, which then is a few times for all of them."""
MOST_LAWS = 64
"""Distributions and scales of which numbers are kept; of others the oldest are thrown away,
unseen."""
REPEATED = 4
"""Releases that are drawn for at once, where a distribution and scale come again and again; fewer
where that would be more than `REPEATED` times `AHEAD` numbers."""
MARGIN = 4
"""A window is so many times what nine in ten of the draws take that it is measured by; of more
than `AHEAD` numbers half as many times that, and half as many times what `AHEAD` of them take."""
SHORTEST_WINDOW = 400_000
"""Nanoseconds."""
_DUMMIES = 20
_ENDS = 8
"""Ends of windows that may be missed while nothing is drawn any more."""
_FINE = get_clock_info("thread_time").resolution <= 1e-6
_lock = threading.RLock()
"""Of one draw at a time. A signal handler may come in the middle of one, and draw for another
trial."""
_ahead: dict[tuple[str, float], deque[int]] = {}
"""Noise that no one has used yet, as secret as outcomes: anyone who sees it learns what the
releases to come hide. It is in this process alone, and never stored."""
Draw = Callable[[int], list[int]]
"""Draws so many numbers."""


class Need(NamedTuple):
    """So many numbers of one distribution and scale."""

    law: str
    parameter: float
    number: int


class Measurement(Protocol):
    """A measurement of OpenDP, which has no types."""

    def __call__(self, value: int) -> int:
        """A noisy number, or a random bit."""

    def map(self, distance: int) -> float:
        """The budget at which it protects such a distance."""


def laplace(scale: float, rng: None = None) -> int:
    """Discrete Laplace noise, P[k] proportional to exp(-|k|/b)."""
    _no_generator(rng)
    return _next("laplace", check_scale(scale))


def gaussian(scale: float, rng: None = None) -> int:
    """Discrete Gaussian noise, P[k] proportional to exp(-k²/(2σ²))."""
    _no_generator(rng)
    return _next("gaussian", check_scale(scale))


def randomised_response(steps: int, resolution: int, epsilon: float) -> int:
    """CTB on the reward steps/resolution: a bit that is 1 with exactly that probability, then kept
    with probability e^ε/(1 + e^ε), rounded towards 1/2, and flipped otherwise. Whether it is
    flipped does not depend on it, so that is what is drawn ahead."""
    resolution = count("resolution", resolution, fix="give the steps in a reward of 1")
    steps = count("steps", steps, least=0, fix="give the reward in whole steps")
    if steps > resolution:
        raise InvalidArgument("steps", f"be at most {resolution}", steps, "scale into [0, 1]")
    return (secrets.randbelow(resolution) < steps) ^ _next("response", _epsilon(epsilon))


def _next(law: str, parameter: float) -> int:
    """The oldest number of that distribution and scale that was drawn ahead. It is taken out
    before it is used, so that no other call, thread or signal handler finds it."""
    with _lock:
        return _taken(law, parameter)


def _taken(law: str, parameter: float) -> int:
    """The same, with the lock held."""
    kept = _kept(law, parameter)
    while True:
        try:
            return kept.popleft()
        except IndexError:
            kept.extend(padded(law, _sampler(law, parameter), AHEAD))


def prepare(needs: Sequence[tuple[str, float, int]]) -> None:
    """Draw in one window all that a release lacks, so that the release itself draws nothing.

    How many numbers of which distributions and scales a release takes is public, and so is how
    many were taken before: what is drawn here, and the window, follow from public counts alone. A
    distribution and scale that was asked for before is drawn for `REPEATED` releases. Whatever is
    asked for here only decides how soon a number is drawn, never which release it enters or how
    often: numbers are handed out by `_next`, which draws what is missing all the same.
    """
    with _lock:
        lacking: list[Need] = []
        for law, parameter, number in _summed(needs):
            key = law, check_scale(parameter)
            if len(_ahead.get(key, ())) < number:
                times = max(1, min(REPEATED, REPEATED * AHEAD // number)) if key in _ahead else 1
                lacking.append(Need(*key, times * number))
        if not lacking or len(lacking) > MOST_LAWS // 2:
            return
        all_of_them = sum(need.number for need in lacking)
        numbers = iter(padded(_shape(lacking), _samplers(lacking), all_of_them))
        for law, parameter, number in lacking:
            _kept(law, parameter).extend(islice(numbers, number))


def _summed(needs: Sequence[tuple[str, float, int]]) -> list[Need]:
    """Each distribution and scale once."""
    found: dict[tuple[str, float], int] = {}
    for law, parameter, number in needs:
        found[law, parameter] = found.get((law, parameter), 0) + number
    return [Need(*key, number) for key, number in found.items() if number > 0]


def _shape(needs: Sequence[Need]) -> str:
    """What draws are measured by, and windows called after: distributions and how many of each."""
    return " + ".join(f"{need.number} {need.law}" for need in needs)


def _samplers(needs: Sequence[Need]) -> Draw:
    """One draw of all of them, in their order."""
    draws = [(_sampler(need.law, need.parameter), need.number) for need in needs]

    def drawn(number: int) -> list[int]:
        return [noise for draw, many in draws for noise in draw(many)]

    return drawn


def _kept(law: str, parameter: float) -> deque[int]:
    """The numbers of a distribution and scale that no one has used; of too many distributions the
    oldest go."""
    key = law, parameter
    if key not in _ahead:
        while len(_ahead) >= MOST_LAWS:
            del _ahead[next(iter(_ahead))]
        _ahead[key] = deque()
    return _ahead[key]


def forget() -> None:
    """Throw away what was drawn ahead. A fork begins so: of two processes with the same noise, each
    would give away what the other hides."""
    global _lock
    _lock = threading.RLock()  # another thread may have held it when the process was forked
    _ahead.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def padded(law: str, draw: Draw, number: int) -> list[int]:
    """Draws of one distribution inside a window of time that is fixed before them.

    OpenDP's sampler takes 2 to 5 µs longer for every multiple of the scale that the noise reaches:
    anyone who sees that duration and the released value knows |noise|, and with it the sum. So the
    numbers are handed out when the window ends. Until then the processor is kept busy, for
    processor time can be seen like any other, and the lock is held, for else a draw that waits for
    this one would show how long it took.

    **What was drawn is kept**, whatever the window does: were it drawn anew because it took long,
    short draws would be preferred and the distribution would be another. If the end is missed,
    because the draw outlasted it or because the processor was taken away, the numbers are handed
    out at the end of the next window, counted from the same beginning: a multiple of a public
    length, and the number of windows is what the machine made it. An undisturbed draw fits with
    `MARGIN` to spare: noise of 40 scales, probability e^-40. Should one outlast its window all the
    same, by the processor time that it took, later windows of that distribution are longer for
    good. Ends that are missed while nothing is drawn any more belong to no draw; after `_ENDS` of
    them waiting ends.
    """
    with _lock, _uncollected():
        window = _windows.get(law) or _measured(law, draw, number)
        begun, end = _spent(), perf_counter_ns() + window
        drawn = draw(number)
        if _spent() - begun >= window:
            _windows[law] = 2 * window
        now = perf_counter_ns()
        for _ in range(_ENDS):
            end += window * max(0, 1 + (now - end) // window)
            while now < end:
                now = perf_counter_ns()
            if now - end < window >> 3:
                break
        return drawn


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is collected in a window: that takes the longer the more objects there are, and as
    processor time of the draw it would make all later windows longer."""
    collects = gc.isenabled()
    try:
        gc.disable()  # inside: an interrupt that comes with its return finds the way back
        yield
    finally:
        if collects:
            gc.enable()


def _spent() -> int:
    """Nanoseconds of processor time, which a busy machine does not lengthen; of time, where a
    system counts the former coarsely."""
    return thread_time_ns() if _FINE else perf_counter_ns()


_windows: dict[str, int] = {}
"""Nanoseconds, by distribution or by distributions and counts; in each process measured once, by
draws that no one uses."""


def _measured(law: str, draw: Draw, number: int) -> int:
    """The window of a distribution, from draws about no one.

    Nine in ten of them count: the longest may have been disturbed. Responses are measured with a
    fair coin, so that windows are long enough however rare flipped bits are.
    """
    if law == "response":
        draw = _sampler(law, math.ulp(1.0))
    durations = []
    for _ in range(2 * _DUMMIES):
        begun = _spent()
        draw(number)
        durations.append(_spent() - begun)
    long = sorted(durations[_DUMMIES:])[9 * _DUMMIES // 10]
    margin = MARGIN * long
    if number > AHEAD:  # the longer a sum of durations, the less it varies for its length
        margin = MARGIN * (long + long * AHEAD // number) // 2
    _windows[law] = window = max(margin, SHORTEST_WINDOW)
    return window


def laplace_scale(epsilon: float, sensitivity: int) -> float:
    """The least scale, in steps, with which noise on a sum of that sensitivity is ε-DP."""
    epsilon = _epsilon(epsilon)
    sensitivity = count("sensitivity", sensitivity, fix="give it in whole steps")
    return _raised("laplace", sensitivity / epsilon, sensitivity, lambda spent: spent <= epsilon)


def gaussian_scale(budget: Budget, sensitivity: int) -> float:
    """The least scale, in steps, with which noise on a sum of that sensitivity keeps the budget.

    zCDP and Rényi by OpenDP's map ρ = Δ²/(2σ²), Rényi as αρ; approximate by the proved bound on
    discrete Gaussian noise, `curves.lattice_delta`. Discrete noise is not exactly Gaussian DP.
    """
    sensitivity = count("sensitivity", sensitivity, fix="give it in whole steps")
    if not isinstance(budget, ZCDP | Renyi | Approximate) or not budget.is_finite:
        raise UnsupportedBudget(
            "budget",
            "be a finite zCDP, Rényi or approximate one for discrete Gaussian noise",
            str(budget),
            "give rho, or epsilon and delta; mu corresponds to rho = mu²/2",
        )
    scale = Gaussian.calibrated(budget, lattice=sensitivity).scale

    def keeps(rho: float) -> bool:
        # a δ bound is proved for this scale and needs no map
        return isinstance(budget, Approximate) or ZCDP(rho).implies(budget)

    return _raised("gaussian", scale, sensitivity, keeps)


def vector_gaussian_scale(budget: Budget, sensitivity: int) -> float:
    """The least scale of independent noise on all entries of a vector of that sensitivity in the
    2-norm.

    A vector that moves by Δ costs Σ Δ_j²/(2σ²) = ||Δ||²/(2σ²) of zCDP (Canonne, Kamath & Steinke
    2020, theorem 14). An approximate budget is reached through zCDP, for the sharper bound on one
    entry does not speak of several.
    """
    if isinstance(budget, Approximate) and budget.is_finite:
        budget = _largest_zcdp(budget)
    return gaussian_scale(budget, sensitivity)


def _largest_zcdp(budget: Approximate) -> ZCDP:
    """The most zCDP that keeps an approximate budget, from below."""
    low = 1.0
    while not ZCDP(low).implies(budget):
        low /= 2.0
    high = 2.0 * low
    while ZCDP(high).implies(budget):
        low, high = high, 2.0 * high
    while (middle := 0.5 * (low + high)) not in (low, high) and high - low > 1e-12 * low:
        low, high = (middle, high) if ZCDP(middle).implies(budget) else (low, middle)
    return ZCDP(low)


def _raised(kind: str, scale: float, sensitivity: int, keeps: Callable[[float], bool]) -> float:
    """`scale`, or the next greater one at which OpenDP's map keeps the budget."""
    step = math.ulp(scale)
    while True:
        spent = float(_measurement(kind, check_scale(scale)).map(sensitivity))
        if keeps(spent):
            return scale
        scale += step
        step *= 2.0


@lru_cache(maxsize=1)
def _opendp() -> ModuleType:
    from importlib.metadata import version

    found = version("opendp")
    if tuple(int(part) for part in found.split(".")[:3] if part.isdigit()) < (0, 14, 2):
        raise DiscreetError(
            f"opendp must be at least 0.14.2, whose noise is unbiased, got {found}; "
            "run pip install -U opendp"
        )
    import opendp.prelude as dp

    dp.enable_features("contrib")
    opendp: ModuleType = dp
    return opendp


@lru_cache(maxsize=4096)
def _measurement(kind: str, scale: float) -> Measurement:
    dp = _opendp()
    # T=int would be 32 bits, within reach of the noise
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    make = dp.m.then_laplace if kind == "laplace" else dp.m.then_gaussian
    measurement: Measurement = space >> make(scale)
    return measurement


@lru_cache(maxsize=256)
def _response(epsilon: float) -> Measurement:
    """Randomised response, whose map proves ε."""
    dp = _opendp()
    response: Measurement = dp.m.make_randomized_response_bool(prob=_truth(epsilon))
    return response


@lru_cache(maxsize=256)
def _truth(epsilon: float) -> float:
    """The largest probability of the truth at which OpenDP's map is at most ε."""
    dp = _opendp()
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    while truth > 0.5 and dp.m.make_randomized_response_bool(prob=truth).map(1) > epsilon:
        truth = math.nextafter(truth, 0.5)
    return max(0.5, truth)


@lru_cache(maxsize=4096)
def _sampler(law: str, parameter: float) -> Draw:
    """Noise of that distribution and scale, or flips of a response at ε: as many numbers as are
    asked for by one call of OpenDP. Every entry of a vector gets the noise that `_measurement`
    adds to one number, and every bit of a vector is flipped with probability f/2."""
    dp = _opendp()
    if law == "response":
        flips = dp.m.make_randomized_response_bitvec(
            dp.bitvector_domain(max_weight=1), dp.discrete_distance(),
            f=2.0 * (1.0 - _truth(parameter)),
        )  # fmt: skip

        def flipped(number: int) -> list[int]:
            found = int.from_bytes(flips(bytes((number + 7) // 8)), "big")
            return [found >> place & 1 for place in range(number)]

        return flipped
    metric = dp.l1_distance(T="i64") if law == "laplace" else dp.l2_distance(T="f64")
    make = dp.m.then_laplace if law == "laplace" else dp.m.then_gaussian
    measurement = (dp.vector_domain(dp.atom_domain(T="i64")), metric) >> make(parameter)

    def drawn(number: int) -> list[int]:
        found: list[int] = measurement([0] * number)
        return found

    return drawn


def _no_generator(rng: object) -> None:
    if rng is not None:
        raise InvalidArgument(
            "rng", "be None: live noise takes no generator and no seed", rng, "leave it out"
        )


def check_scale(scale: float) -> float:
    """A scale that noise can be drawn with."""
    clean = amount("scale", scale, zero=False, infinite=False, fix="use laplace_scale(...)")
    if clean > LARGEST_SCALE:
        raise InvalidArgument(
            "scale", f"be at most {LARGEST_SCALE:g}", scale, "use a larger budget or coarser steps"
        )
    return clean


def _epsilon(epsilon: float) -> float:
    return amount("epsilon", epsilon, zero=False, infinite=False, fix="use a value such as 1.0")
