"""An attack on the real sampler: durations and releases of live trials together (`make timing`).

Prints the ε that is proved for every kind of release, with confidence 99.9 %, beside the claim:
with draws as they are (padded), and with as many that are not. A proof above the claim, of padded
draws, ends with exit code 1. Where draws that are not padded prove no more than the claim, the
attack sees too little in the durations of that kind, its silence about padded ones says nothing,
and the line says "no power". Why is told by two columns, in nanoseconds, of draws that are not
padded: what a step of the sampler takes, and how far apart the quartiles of everything else are.
Best on a quiet machine: a busy one blurs it all. What is guessed, and why the bound holds whatever
the machine does: `tests/live/timing_ratios.py`.

Nothing is drawn ahead here, so that every duration is that of the noise which is released with it:
windows alone must hide it. Of a *draw* the noise by itself is timed, as nobody can who sees only
calls; the other kinds time every call of a trial that releases outcomes one by one. Of a race, of
top two and of an epoch one call draws for two arms. Bits claim 5.5: at that ε a flipped bit is one
that took a second byte.
Gaussian noise claims (1, 1e-4): of a smaller δ its scale is larger, and one outcome seldom makes
the difference of a step.

    python benchmarks/timing.py [--size 1.0] [KIND ...]

`--size` is the share of the trials that are made by default. Kinds by name, such as local-bits, so
that the work can be split; without any, all of them, in half an hour.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "live"))

import timing_cases as cases
from live_cases import Clock
from timing_attack import CLOCKS, begin_anew, timed, timed_units
from timing_looks import KNOWN, LOOKS, scale_of, timed_looks, trial_of_looks
from timing_ratios import BITS, GAUSSIAN, LAPLACE, Environment, Transcripts, clearest, proved
from timing_streams import Sampler

from discreet.policies import ForgetGaussian, ForgetLaplace, Release
from discreet.policies.releases import LocalBernoulli, LocalLaplace
from discreet.privacy import Approximate
from discreet.privacy import _secure as secure
from discreet.privacy._source import SECURE

CONFIDENCE = 0.999
WARM = 300
"""Trials beforehand, by which the time of all is estimated."""
CLEAN = 5_000
"""Trials after which garbage is collected: not in the middle of one."""
TOGETHER = 100
"""Units of one trial: a trial of many is slow in its own ways."""
OFTEN = 20.0
"""Seconds between two words on progress."""

TITLES = ("trials", "claimed", "padded", "not padded", "step", "spread", "seconds")

Row = tuple[float, float, float, list[int]]
"""Sizes of the noise if the outcome was 0 or 1, of other noise that is known; all durations."""
Play = Callable[[float], Row]


class Kind(NamedTuple):
    """What is attacked."""

    play: Callable[[], Play]
    environment: Environment
    claim: float
    trials: int
    """of both outcomes together"""


def drawn(draw: Callable[[float], int], scale: float) -> Callable[[], Play]:
    """Noise by itself, and the sum that it makes with an outcome: in whole steps, for of sums of
    floating-point numbers the last digits tell what was added."""

    def play(side: float) -> Row:
        noise, durations = timed(draw, scale)
        value = noise + round(side) * SECURE.resolution
        return abs(value) / scale, abs(value - SECURE.resolution) / scale, 0.0, durations

    return lambda: play


def answered(epsilon: float) -> Callable[[], Play]:
    """A random bit by itself."""

    def play(side: float) -> Row:
        answer, durations = timed(secure.randomised_response, int(side), 1, epsilon)
        return epsilon * (answer != 0), epsilon * (answer != 1), 0.0, durations

    return lambda: play


def units(release: Release, size: Callable[[float, float], float]) -> Callable[[], Play]:
    """Every call of a trial that releases the outcome of every unit by itself; `size` is that of
    the noise, in scales, of a value that was released for an outcome."""

    def made() -> Play:
        trial = cases.trial_with(release)
        beginning, unit, turns = trial._document(trial._plan.run), timed_units(trial), count()

        def play(side: float) -> Row:
            if next(turns) % TOGETHER == 0:
                begin_anew(trial, beginning)
            value, durations = unit(side)
            return size(value, 0.0), size(value, 1.0), 0.0, durations

        return play

    return made


def looks(name: str) -> Callable[[], Play]:
    """Every call of a trial of which one call releases two arms."""
    known, before = round(KNOWN * SECURE.resolution), 5 * len(CLOCKS)

    def made() -> Play:
        look = timed_looks(name, Sampler(1.0, 0, 0))
        scale = scale_of(trial_of_looks(name, Clock()))

        def play(side: float) -> Row:
            value, found = look(side)
            other = abs(found[before] - known) / scale
            durations = found[:before] + found[before + 2 :]
            return abs(value) / scale, abs(value - SECURE.resolution) / scale, other, durations

        return play

    return made


BUDGET = Approximate(1.0, GAUSSIAN.delta)
SIGMA = SECURE.gaussian_scale(BUDGET) / SECURE.resolution
SECOND = 255 / 256 + 2.0**-16
"""The probability of the truth: the first byte says so, or all depends on the second."""
MANY = math.log(SECOND / (1.0 - SECOND))


def off(scale: float) -> Callable[[float, float], float]:
    """How many scales a value is off."""
    return lambda value, outcome: abs(value - outcome) / scale


def wrong(value: float, outcome: float) -> float:
    """Of a random bit."""
    return MANY * (round(value) != round(outcome))


KINDS = {
    "laplace-draw": Kind(drawn(secure.laplace, SECURE.resolution), LAPLACE, 1.0, 40_000),
    "gaussian-draw": Kind(
        drawn(secure.gaussian, SIGMA * SECURE.resolution), GAUSSIAN, 1.0, 100_000
    ),
    "bits-draw": Kind(answered(MANY), BITS, MANY, 500_000),
    "laplace": Kind(units(ForgetLaplace(1.0), off(1.0)), LAPLACE, 1.0, 60_000),
    "gaussian": Kind(units(ForgetGaussian(BUDGET), off(SIGMA)), GAUSSIAN, 1.0, 400_000),
    "local-laplace": Kind(units(LocalLaplace(1.0), off(1.0)), LAPLACE, 1.0, 60_000),
    "local-bits": Kind(units(LocalBernoulli(MANY), wrong), BITS, MANY, 600_000),
} | {name.replace(" ", "-"): Kind(looks(name), LAPLACE, 1.0, 80_000) for name in LOOKS}
PADDED = secure.padded


def bare(environment: str, draw: secure.Draw, number: int) -> list[int]:
    """A draw without its window."""
    return draw(number)


DRAWS: tuple[Callable[..., list[int]], ...] = (PADDED, bare)


class Progress:
    """A word on standard error, now and then: how far, and how long it will take."""

    def __init__(self) -> None:
        self.left = 0.0
        """seconds of what has not begun"""
        self.said = time.monotonic()

    def tell(self, what: str, done: float, begun: float) -> None:
        now = time.monotonic()
        if now - self.said < OFTEN or done == 0.0:
            return
        self.said = now
        left = self.left + (now - begun) * (1.0 / done - 1.0)
        print(
            f"  {what}: {done:.0%}, all in {left / 60.0:.1f} minutes", file=sys.stderr, flush=True
        )


def sampled(play: Play, size: int, what: str, progress: Progress) -> Transcripts:
    """Trials whose outcomes are fair coins, so that the machine cannot treat them unlike."""
    calls = len(play(0.0)[3]) // len(CLOCKS)
    rows = Transcripts(
        np.random.default_rng().integers(0, 2, size),
        np.empty((size, 2)),
        np.empty(size),
        np.empty((size, calls, len(CLOCKS))),
    )
    begun = time.monotonic()
    for number, coin in enumerate(rows.coins):
        if number % CLEAN == 0:
            gc.collect()
            progress.tell(what, number / size, begun)
        zero, one, rows.known[number], durations = play(float(coin))
        rows.sizes[number] = zero, one
        rows.durations[number] = np.reshape(durations, (calls, -1))
    return rows


def seconds_of(kind: Kind) -> dict[Callable[..., list[int]], float]:
    """What one trial takes, padded and not."""
    found = {}
    for draw in DRAWS:
        secure.padded = draw
        play = kind.play()
        for _ in range(WARM):
            play(0.0)
        begun = time.perf_counter()
        for number in range(WARM):
            play(float(number % 2))
        found[draw] = (time.perf_counter() - begun) / WARM
    return found


def main(names: list[str], share: float) -> int:
    """The exit code."""
    chosen = {name: KINDS[name] for name in names or KINDS}
    sizes = {name: max(400, round(share * kind.trials)) for name, kind in chosen.items()}
    gc.disable()
    secure.AHEAD = 1
    cost = {name: seconds_of(kind) for name, kind in chosen.items()}
    progress, broken = Progress(), 0
    progress.left = sum(sizes[name] * sum(cost[name].values()) for name in chosen)
    print(f"confidence {CONFIDENCE:.1%}; about {progress.left / 60.0:.0f} minutes", flush=True)
    print(f"{'release':<14}" + "".join(f"{title:>12}" for title in TITLES), flush=True)
    for name, kind in chosen.items():
        found, begun = [], time.monotonic()
        for draw in DRAWS:
            secure.padded = draw
            secure._windows.clear()  # one that was made longer would slow all that follow
            secure.forget()
            progress.left -= sizes[name] * cost[name][draw]
            what = f"{name}, {'padded' if draw is PADDED else 'not padded'}"
            rows = sampled(kind.play(), sizes[name], what, progress)
            found.append(proved(rows, kind.law, CONFIDENCE))
        secure.padded = PADDED
        step, spread = clearest(rows, kind.law)
        figures = (
            f"{sizes[name]:,}",
            *(f"{epsilon:.3f}" for epsilon in (kind.claim, *found)),
            *(f"{figure:,.0f}" for figure in (step, spread, time.monotonic() - begun)),
        )
        power = "" if found[1] > kind.claim else "  no power"
        print(f"{name:<14}" + "".join(f"{figure:>12}" for figure in figures) + power, flush=True)
        broken += found[0] > kind.claim
    return 1 if broken else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--size", type=float, default=1.0, help="share of the trials")
    options = parser.parse_args()
    if unknown := [name for name in options.kinds if name not in KINDS]:
        parser.error(f"kinds must be among {', '.join(KINDS)}, got {', '.join(unknown)}")
    sys.exit(main(options.kinds, options.size))
