"""A source whose noises are symbols, at the scales of the source that it stands for.

Randomised responses are taken as a whole: the kernel of the source is executed on both ends of
the range of rewards, and its ε is that of the two coins it then tosses. A sigmoid, or any other
fixed map of one reward into [0, 1], turns a reward into a reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, SupportsFloat, cast

import numpy as np

from .._noise import randomised_response as simulated_response
from .._source import SECURE, SIMULATED, Source
from ._forms import (
    GAUSSIAN,
    LAPLACE,
    RESPONSE,
    REWARD,
    TRUNCATED,
    Form,
    NotAffine,
    RewardForm,
    Symbol,
    Tape,
)

if TYPE_CHECKING:
    from numpy.random import Generator

FARTHEST = 700.0
"""Rewards of any size: a sigmoid is constant to the last digit beyond this."""


def symbolic_laplace(scale: SupportsFloat, tape: Tape) -> Form | float:
    """Lap(b)."""
    return tape.noise(LAPLACE, scale)


def symbolic_gaussian(scale: SupportsFloat, tape: Tape) -> Form | float:
    """N(0, σ²)."""
    return tape.noise(GAUSSIAN, scale)


def symbolic_truncated(epsilon: float, delta: float, tape: Tape) -> Form | float:
    """Truncated Laplace noise for (ε, δ) and sensitivity 1; without δ it is Laplace noise."""
    if delta == 0.0:
        return tape.noise(LAPLACE, 1.0 / epsilon)
    return tape.noise(TRUNCATED, math.inf if epsilon == 0.0 else 1.0 / epsilon, delta)


class _Coin:
    """A uniform number that reports the probability with which it lies below a threshold."""

    def __init__(self) -> None:
        self.threshold = math.nan

    def random(self) -> _Coin:
        return self

    def __lt__(self, threshold: float) -> bool:
        self.threshold = threshold
        return True


def response_epsilon(ends: tuple[float, float], epsilon: float) -> float:
    """The largest |log ratio| of a response's two answers, between the ends of the range."""
    thresholds = []
    for end in ends:
        coin = _Coin()
        simulated_response(end, epsilon, cast("Generator", coin))  # all that it draws
        thresholds.append(coin.threshold)
    low, high = thresholds
    if not (0.0 < low < 1.0 and 0.0 < high < 1.0):
        return 0.0 if low == high else math.inf
    return max(abs(math.log(high / low)), abs(math.log1p(-high) - math.log1p(-low)))


def _responded(reward: object, tape: Tape, resolution: int, epsilon: float) -> Form:
    """A new symbol for a random answer about one reward in [0, resolution]."""
    if not isinstance(reward, Form):
        return tape.symbol(Symbol(RESPONSE, 0.0))
    inside = np.flatnonzero(reward.coefficients)
    kinds = [tape.symbols[j] for j in inside]
    if any(kind.law != REWARD for kind in kinds):
        raise NotAffine("it randomises a number that is already noisy")
    if len(kinds) != 1 or kinds[0].rounds != 1:
        raise NotAffine("it randomises a sum of rewards, which need not lie in [0, 1]")
    width = abs(reward.coefficients[inside[0]]) * kinds[0].scale
    if width > resolution * (1.0 + 1e-12):
        raise NotAffine("it randomises a reward outside of [0, 1]")
    return tape.symbol(Symbol(RESPONSE, epsilon, of=int(inside[0])))


def symbolic_response(reward: object, epsilon: float, tape: Tape) -> Form:
    """A random bit, whose cost is that of the simulated kernel on both ends."""
    return _responded(reward, tape, 1, response_epsilon((0.0, 1.0), epsilon))


def symbolic_secure_response(reward: object, epsilon: float, tape: Tape) -> Form:
    """The same for the secure kernel, by OpenDP's own map."""
    from .. import _secure as secure

    # the bit that is kept or flipped is drawn from the reward in advance, which costs nothing
    proved = float(secure._response(float(epsilon)).map(1))
    return _responded(reward, tape, SECURE.resolution, proved)


def _squashed(reward: object, ends: tuple[float, float], resolution: int) -> Form:
    if not isinstance(reward, RewardForm):
        raise NotAffine("it squashes something else than one reward")
    if not 0.0 <= ends[0] <= ends[1] <= resolution:
        raise NotAffine(f"it maps rewards to {ends}, outside of [0, {resolution}]")
    return reward.mapped


def symbolic_squash(reward: object, resolution: int) -> Form:
    """A fixed map of one reward into [0, 1]: again a reward."""
    squash = SIMULATED.kernels["squash"]
    ends = squash(-FARTHEST, resolution), squash(FARTHEST, resolution)
    return _squashed(reward, ends, resolution)


def symbolic_secure_squash(reward: object, resolution: int) -> Form:
    """The same in whole steps."""
    squash = SECURE.kernels["squash"]
    far = int(FARTHEST) * resolution
    return _squashed(reward, (squash(-far, resolution), squash(far, resolution)), resolution)


def symbolic(source: Source) -> Source:
    """The source with symbols for noise: scales and steps as they are.

    Args:
        source: A source of noise, simulated or secure.

    Returns:
        The source whose noises are symbols on a `Tape`.

    Example:
        >>> import discreet
        >>> from discreet.privacy.verification import Tape, symbolic
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> source = symbolic(policy.setting(2, 100).source)
        >>> tape = Tape()
        >>> _ = source.kernels["laplace"](2.0, tape)
        >>> tape.symbols[0].law, tape.symbols[0].scale
        ('laplace', 2.0)
    """
    kernels: dict[str, Callable[..., Form | float]] = {
        "laplace": symbolic_laplace,
        "gaussian": symbolic_gaussian,
        "whole_laplace": symbolic_laplace,
        "whole_gaussian": symbolic_gaussian,
        "truncated": symbolic_truncated,
        "response": symbolic_secure_response if source.secure else symbolic_response,
        "squash": symbolic_secure_squash if source.secure else symbolic_squash,
    }
    known = {name: kernels[name] for name in source.kernels if name in kernels}
    # forms stand in for numbers
    return replace(source, kernels=cast("dict[str, Callable[..., float]]", known))
