"""An attack on the real sampler: durations and releases of live trials together (`make timing`).

Prints the ε that is proved for every kind of release, with confidence 99.9 %, beside the claim,
with draws as they are and, for comparison, with draws that are not padded. A proof above the
claim, of padded draws, ends with exit code 1. Best on a quiet machine: a busy one blurs it all.

    python benchmarks/timing.py [TRIALS A SIDE]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "live"))

import timing_cases as cases
from timing_attack import epsilon_lower, sampled, timed_units

from discreet.privacy import secure

CONFIDENCE = 0.999


def main(trials: int) -> int:
    """The exit code."""
    padded, broken = secure.padded, 0
    print(f"{trials:,} trials a side, confidence {CONFIDENCE:.1%}")
    print(f"{'release':<16}{'claimed':>9}{'padded':>9}{'not padded':>12}")
    for name in ("laplace", "gaussian", "local laplace", "local bits"):
        found = []
        for draw in (padded, lambda law, draw, value: secure._drawn(draw, value)):
            secure.padded = draw
            play = timed_units(cases.trial_of(name))
            for _ in range(200):
                play(0.0)
            found.append(epsilon_lower(sampled(play, trials), CONFIDENCE))
        secure.padded = padded
        claim = cases.CLAIMS[name]
        broken += found[0] > claim
        print(f"{name:<16}{claim:>9.3g}{found[0]:>9.3f}{found[1]:>12.3f}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000))
