"""An attack on the real sampler: durations and releases of live trials together (`make timing`).

Prints the ε that is proved for every kind of release, with confidence 99.9 %, beside the claim,
with draws as they are and, for comparison, with draws that are not padded. A proof above the
claim, of padded draws, ends with exit code 1. Best on a quiet machine: a busy one blurs it all.
Of a race, of top two and of an epoch one call draws for two arms: there the attacker first fits how
long the sampler takes, in trials of their own, and the trials a side are a fifth.

    python benchmarks/timing.py [TRIALS A SIDE]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "live"))

import timing_cases as cases
from timing_attack import Timed, epsilon_lower, sampled, timed_units
from timing_looks import LOOKS, fitted, timed_looks

from discreet.privacy import secure

CONFIDENCE = 0.999


FITTED = 2_000
"""Trials by which an attacker learns the sampler."""


def attacked_units(name: str) -> Callable[[], Timed]:
    """Releases of one outcome each."""
    return lambda: timed_units(cases.trial_of(name))


def attacked_looks(name: str) -> Callable[[], Timed]:
    """Two arms released in one call."""
    return lambda: timed_looks(name, fitted(name, FITTED))


def main(trials: int) -> int:
    """The exit code."""
    padded, broken = secure.padded, 0
    kinds = {
        name: (attacked_units(name), cases.CLAIMS[name], trials)
        for name in ("laplace", "gaussian", "local laplace", "local bits")
    } | {name: (attacked_looks(name), 1.0, trials // 5) for name in LOOKS}
    print(f"{trials:,} trials a side, confidence {CONFIDENCE:.1%}")
    print(f"{'release':<16}{'claimed':>9}{'padded':>9}{'not padded':>12}")
    for name, (attacked, claim, size) in kinds.items():
        found = []
        for draw in (padded, lambda law, draw, value: secure._drawn(draw, value)):
            secure.padded = draw
            play = attacked()
            for _ in range(200):
                play(0.0)
            found.append(epsilon_lower(sampled(play, size), CONFIDENCE))
        secure.padded = padded
        broken += found[0] > claim
        print(f"{name:<16}{claim:>9.3g}{found[0]:>9.3f}{found[1]:>12.3f}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000))
