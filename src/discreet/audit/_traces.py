"""Side channels of a release: the float grid under its noise, and the time that it takes.

Grid. x + noise in floating point is rounded to a grid that depends on x, so the lowest bits of a
release betray x though its size does not (Mironov 2012). `grid_traces` hands the attack a release
and the exponent of its lowest bit: NumPy's noise, claimed at ε = 1, is found out at once; the live
source holds integers, whose lowest bits follow one distribution for all data.

Time. `release_timing` interleaves releases of two values and bounds what someone gains who sees
how long one release took and guesses by whether that is long: sup |F - G| of the two distributions
of the time, with Dvoretzky, Kiefer and Wolfowitz's inequality (Massart 1990).
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._checks import count
from ..policies import Policy
from ..policies._view import fresh_view
from ..privacy._source import SECURE, Source
from ._plain import Plain

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from .._types import Floats


def lowest_bit(values: ArrayLike) -> Floats:
    """The exponent of the lowest set bit: x is an odd multiple of 2^result. 0 for x = 0."""
    mantissa, exponent = np.frexp(np.asarray(values, float))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1))
    return np.where(whole == 0, 0.0, exponent - 53 + trailing)


def releaser(policy: Policy, source: Source) -> Callable[[float, Generator], float]:
    """`release(reward, rng)`: the noisy sum of a batch of one reward, from a fresh curator."""
    setting = policy.setting(2, 1 << 10, source)
    release = policy.release
    publish = release.publish_kernel(source).interpreted()
    kernel = release.respond_kernel(source)
    respond = None if kernel is None else kernel.interpreted()
    parameters = release.parameters(setting)

    def one(reward: float, rng: Generator) -> float:
        ledger, view = release.ledger(setting), fresh_view(2)
        view.pulls[0] = 1
        # the secure source counts in whole steps and takes no generator
        total: float = round(reward * source.resolution) if source.secure else reward
        drawn = None if source.secure else rng
        if respond is not None:
            total = respond(parameters, total, drawn)
        publish(parameters, ledger, view, 0, 1, total, drawn)
        return float(view.value[0])

    return one


def grid_traces(policy: Policy, source: Source, rewards: tuple[float, float] = (0.0, 1.0)) -> Plain:
    """A release of one of two rewards, and its lowest bit, as a subject for `attack`.

    Args:
        policy: The policy whose release is attacked.
        source: The noise: `discreet.privacy.SECURE` or `SIMULATED`.
        rewards: The two rewards to tell apart.

    Returns:
        A subject for `attack`.

    Raises:
        InvalidArgument: If an argument breaks its rule.
    """
    release = releaser(policy, source)

    def draw(side: int, count: int, rng: Generator) -> Floats:
        values = np.array([release(rewards[side], rng) for _ in range(count)])
        near = np.abs(values - 0.5) < 0.5  # where the two grids differ and both are likely
        return np.stack([values, lowest_bit(values), np.where(near, lowest_bit(values), 99)], 1)

    names = ("release", "lowest bit of the release", "lowest bit of a release in (0, 1)")
    return Plain(draw, names, f"a release of {rewards[0]:g} or {rewards[1]:g}")


@dataclass(frozen=True)
class Timing:
    """What the time of a release tells."""

    advantage: float
    """sup |F - G|, as measured: how much better than chance a threshold on one time can be"""
    advantage_upper: float
    """the bound on it, with `confidence`"""
    confidence: float
    medians: tuple[float, float]
    """seconds, for the two values"""
    releases: int


def release_timing(
    policy: Policy,
    source: Source = SECURE,
    rewards: tuple[float, float] = (0.0, 1.0),
    pairs: int = 2000,
    confidence: float = 0.99,
    release: Callable[[float, Generator], float] | None = None,
    seed: int | None = None,
) -> Timing:
    """Time releases of two rewards in random order; `release` replaces the policy's own."""
    pairs = count("pairs", pairs, least=10, fix="use pairs=2000")
    rng = np.random.Generator(np.random.SFC64(seed))
    timed = releaser(policy, source) if release is None else release
    for side in (0, 1):
        timed(rewards[side], rng)  # builds what is built once
    order = rng.permuted(np.tile([0, 1], (pairs, 1)), axis=1).ravel()
    taken = np.zeros(2 * pairs)
    was_on = gc.isenabled()
    gc.disable()
    try:
        for place, side in enumerate(order):
            begun = time.perf_counter_ns()
            timed(rewards[side], rng)
            taken[place] = time.perf_counter_ns() - begun
    finally:
        if was_on:
            gc.enable()
    sides = [np.sort(taken[order == side]) for side in (0, 1)]
    below = [np.searchsorted(side, taken, side="right") / pairs for side in sides]
    advantage = float(np.abs(below[0] - below[1]).max())
    slack = 2.0 * math.sqrt(math.log(4.0 / (1.0 - confidence)) / (2.0 * pairs))
    medians = float(np.median(sides[0])) / 1e9, float(np.median(sides[1])) / 1e9
    return Timing(advantage, min(1.0, advantage + slack), confidence, medians, 2 * pairs)
