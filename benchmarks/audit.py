"""Transcripts a second of an audit of AdaP-UCB at T = 8, beside a plain Python sampler of the same.

    python benchmarks/audit.py [--transcripts 4e6]

Processor time, the best of three repeats, compiled beforehand. "played" are transcripts alone, as
the plain sampler plays them; "audited" is everything: transcripts, scores, events, limits. The
plain sampler is handed to the same attack once, and must be found at a like ε, or it would not play
the same game.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet
from discreet.audit import Plain, Runs, attack, audit, lists
from discreet.audit._transcripts import ABSENT

EPSILON, ALPHA, ROUNDS, ARMS = 1.0, 3.1, 8, 2
SIDES = ([0.0] + [1.0] * (ROUNDS - 1), [1.0] * ROUNDS)
RELEASES = 8


def transcript(rewards: list[float], rng: random.Random) -> list[float]:
    """Noisy sums of either arm, release by release: doubling batches, fresh Laplace noise."""
    mean, size, pulls = [0.0] * ARMS, [0] * ARMS, [0] * ARMS
    seen: list[list[float]] = [[] for _ in range(ARMS)]
    t = 0
    while t < ROUNDS:
        arm = t
        if t >= ARMS:
            level = ALPHA * math.log(t + 1)
            index = [
                mean[a] + math.sqrt(level / (2 * size[a])) + level / (EPSILON * size[a])
                for a in range(ARMS)
            ]
            arm = index.index(max(index))
        rounds = max(1, pulls[arm])
        if t + rounds > ROUNDS:
            break
        noise = (rng.expovariate(1.0) - rng.expovariate(1.0)) / EPSILON
        mean[arm] = (sum(rewards[t : t + rounds]) + noise) / rounds
        size[arm], pulls[arm], t = rounds, pulls[arm] + rounds, t + rounds
        seen[arm].append(mean[arm] * size[arm])
    return [x for own in seen for x in own + [ABSENT] * (RELEASES - len(own))]


def played(side: int, count: int) -> list[list[float]]:
    """Many plain transcripts."""
    rng = random.Random(side)
    return [transcript(SIDES[side], rng) for _ in range(count)]


def speed(count: int, work: Callable[[], object]) -> float:
    """Transcripts a second of processor time."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return count / min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--transcripts", type=float, default=2e6)
    many = int(parser.parse_args().transcripts)
    row = discreet.policy("adap-ucb", epsilon=EPSILON)
    pair = lists(*SIDES, ARMS)
    options: dict[str, Any] = {"seed": 1, "confidence": 0.99}
    audit(row, inputs=[pair], transcripts=1000, **options)  # compiles
    found = audit(row, inputs=[pair], transcripts=40_000, **options)
    names = Runs(row, pair).names
    twin = Plain(lambda side, count, rng: played(side, count), names)
    naive = attack([twin], row.guarantee, transcripts=40_000, **options)
    print(f"proved with 40,000 transcripts: ε >= {found.epsilon_lower:.3f}, plain sampler "
          f"{naive.epsilon_lower:.3f}")  # fmt: skip
    few, more = 20_000, 200_000
    plain = speed(few, lambda: played(1, few))
    codes, sums = np.zeros(more, np.int64), np.zeros((more, ARMS, RELEASES))
    runs, rng = Runs(row, pair), np.random.Generator(np.random.SFC64(1))
    ours = speed(more, lambda: runs.fill(1, codes, sums, rng))
    whole = speed(many, lambda: audit(row, inputs=[pair], transcripts=many, **options))
    print(f"adap-ucb, T = {ROUNDS}, transcripts a second; plain Python plays {plain:,.0f}")
    for what, found_speed in (("played", ours), ("audited", whole)):
        print(f"  {what:8s} {found_speed:12,.0f}   {found_speed / plain:5.1f} times plain Python")


if __name__ == "__main__":
    main()
