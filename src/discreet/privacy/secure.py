"""Noise for real people, through OpenDP: integers, cryptographic randomness, no seed.

Sums are held in whole steps; `laplace` and `gaussian` draw discrete Laplace and discrete Gaussian
noise in the same steps, with the signature `noise(scale, rng)` of the kernels and no generator. The
scales come from OpenDP's own privacy map, rounded so that the map is at most the claimed budget.
How long OpenDP takes depends on the noise, so every draw is padded to a window (`padded`).

Noise is drawn as 64-bit integers, which OpenDP clamps; scales are kept so small that noise reaches
the clamp with probability below 1e-400, less than any δ that can be written down.

References: Canonne, Kamath & Steinke 2020; Ghosh, Roughgarden & Sundararajan 2012; Ren et al. 2020.
"""

from __future__ import annotations

import gc
import math
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from time import get_clock_info, perf_counter_ns, thread_time_ns
from types import ModuleType
from typing import NamedTuple, Protocol

from ..checks import amount, count
from ..errors import DiscreetError, InvalidArgument, UnsupportedBudget
from .budgets import ZCDP, Approximate, Budget, Renyi
from .mechanisms import Gaussian

LARGEST_SCALE = 2.0**53
MARGIN = 4
"""A window is so many times what nine in ten of the draws take that it is measured by."""
SHORTEST_WINDOW, LONGEST_WINDOW = 400_000, 50_000_000
"""Nanoseconds: what a window has at least, and what a busy machine may make of it, about."""
_DUMMIES = 50
_IN_A_ROW = 8
"""Windows that fail one after the other before they are made longer."""
_CALMER = 5
"""A window that held makes the next one shorter by one part in 2^5, down to its least."""
_FINE = get_clock_info("thread_time").resolution <= 1e-6
_lock = threading.RLock()
"""Of one draw at a time. A signal handler may come in the middle of one, and draw for another
trial: what is left of the window then fits it, or the window has failed."""


class Measurement(Protocol):
    """A measurement of OpenDP, which has no types."""

    def __call__(self, value: int) -> int:
        """A noisy number, or a random bit."""

    def map(self, distance: int) -> float:
        """The budget at which it protects such a distance."""


def laplace(scale: float, rng: None = None) -> int:
    """Discrete Laplace noise, P[k] proportional to exp(-|k|/b)."""
    _no_generator(rng)
    return padded("laplace", _measurement("laplace", check_scale(scale)), 0)


def gaussian(scale: float, rng: None = None) -> int:
    """Discrete Gaussian noise, P[k] proportional to exp(-k²/(2σ²))."""
    _no_generator(rng)
    return padded("gaussian", _measurement("gaussian", check_scale(scale)), 0)


def randomised_response(steps: int, resolution: int, epsilon: float) -> int:
    """CTB on the reward steps/resolution: a bit that is 1 with exactly that probability, then kept
    with probability e^ε/(1 + e^ε), rounded towards 1/2, and flipped otherwise."""
    resolution = count("resolution", resolution, fix="give the steps in a reward of 1")
    steps = count("steps", steps, least=0, fix="give the reward in whole steps")
    if steps > resolution:
        raise InvalidArgument("steps", f"be at most {resolution}", steps, "scale into [0, 1]")
    return padded("response", _response(_epsilon(epsilon)), (steps, resolution))


def padded(law: str, draw: Measurement, value: int | tuple[int, int]) -> int:
    """One draw inside a window of time that is fixed before it.

    OpenDP's sampler takes 2 to 5 µs longer for every multiple of the scale that the noise reaches:
    whoever sees that duration and the released value knows |noise|, and with it the sum. So the
    result is handed out when the window ends. Until then the processor is kept busy, for processor
    time can be seen like any other, and the lock is held, for else a draw that waits for this one
    would show how long it took.

    A window that does not end in time has failed, whether the draw took too long or the processor
    was taken away while it was padded: the noise is thrown away, unseen and unused, and drawn anew.
    So every duration that differs belongs to noise that nobody uses, and whether a window fails
    does not depend on the noise (a draw alone would be hit the likelier the longer it is). An
    undisturbed draw fits with `MARGIN` to spare: noise of 40 scales, probability e^-40. Should one
    outlast its window all the same, by the processor time that it took, later windows of that law
    are longer for good. Where window after window fails they are longer for some time: other
    threads of the process may take five milliseconds whenever OpenDP lets them in. But the longer a
    window, the likelier it loses the processor to other processes: so with every one that holds the
    next is shorter again, and where none does, the shortest is tried anew.
    """
    with _lock, _uncollected():
        (window, least), failed = _windows.get(law) or _measured(law, draw, value), 0
        while True:
            begun, end = _spent(), perf_counter_ns() + window
            drawn = _drawn(draw, value)
            now, taken = perf_counter_ns(), _spent() - begun
            if now < end:
                while now < end:
                    now = perf_counter_ns()
                if now - end < window >> 3:
                    _windows[law] = Window(max(least, window - (window >> _CALMER)), least)
                    return drawn
            failed += 1
            if taken >= window:
                window, least = 2 * window, 2 * least
            elif failed % _IN_A_ROW == 0:
                window = 2 * window if window < LONGEST_WINDOW else least
            _windows[law] = Window(window, least)


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


class Window(NamedTuple):
    """Nanoseconds: of the next draw, and of all as long as nothing disturbs them."""

    length: int
    least: int


_windows: dict[str, Window] = {}
"""By law; in each process measured once, by draws that nobody uses."""


def _drawn(draw: Measurement, value: int | tuple[int, int]) -> int:
    """Noise for a number, or a random bit that leans towards steps/resolution."""
    if isinstance(value, tuple):
        steps, resolution = value
        value = secrets.randbelow(resolution) < steps
    return int(draw(value))


def _measured(law: str, draw: Measurement, value: int | tuple[int, int]) -> Window:
    """The window of a law, from draws about nobody.

    Nine in ten of them count: the longest may have been disturbed. Responses are measured on
    both bits with a fair coin, for a draw that outlasts its window is drawn anew: were flipped bits
    rare and slow, they might all outlast a window that was measured on the others.
    """
    publics: tuple[int | tuple[int, int], ...] = (0,)
    if isinstance(value, tuple):
        draw, publics = _response(math.ulp(1.0)), ((0, 1), (1, 1))
    durations = []
    for turn in range(2 * _DUMMIES):
        begun = _spent()
        _drawn(draw, publics[turn % len(publics)])
        durations.append(_spent() - begun)
    warm = sorted(durations[_DUMMIES:])
    least = max(MARGIN * warm[9 * _DUMMIES // 10], SHORTEST_WINDOW)
    _windows[law] = window = Window(least, least)
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
    dp = _opendp()
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    while True:
        respond: Measurement = dp.m.make_randomized_response_bool(prob=max(0.5, truth))
        if truth <= 0.5 or respond.map(1) <= epsilon:
            return respond
        truth = math.nextafter(truth, 0.5)


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
