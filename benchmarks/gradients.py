"""Speeds of white-box audits: `python benchmarks/gradients.py [--full]`.

Gradients per point of the NumPy net beside JAX's in the same run, at batch 512, and seconds of one
game of an epoch; with --full on Fashion-MNIST itself, the covariance of 20,000 references included.
Start it with OMP_NUM_THREADS=1 for figures of one core.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from discreet.membership.gradients import ConvNet, fashion_experiment, sample_experiment
from discreet.membership.gradients.epochs import attacker, scores_of

BATCH = 512
LEAST_SHARE = 0.8
"""Of JAX's speed that ours must reach."""
MOST_SECONDS = 0.3
"""A game of an epoch of Fashion-MNIST, trained and attacked."""
MOST_REFERENCES = 300.0


def best(
    work: Callable[[], object],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The shortest time of several repeats."""
    times = []
    for _ in range(repeats):
        started = clock()
        work()
        times.append(clock() - started)
    return min(times)


def against_jax() -> None:
    """Per-point gradients of the same net, ours and JAX's."""
    net, rng = ConvNet(), np.random.default_rng(1)
    theta = net.start(rng)
    x, y = rng.random((BATCH, 32, 32, 3), np.float32), rng.integers(0, 10, BATCH)
    net.gradients(theta, x, y)
    ours = best(lambda: net.gradients(theta, x, y))
    try:
        from discreet.membership.gradients.models.jax_model import conv_loss, per_sample_gradients

        gradients = per_sample_gradients(conv_loss(net), BATCH)
    except Exception as error:
        print(f"gradients per point, batch {BATCH}: NumPy {ours:.3f} s; {error}")
        return
    gradients(theta, x, y)
    theirs = best(lambda: gradients(theta, x, y))
    ours = min(ours, best(lambda: net.gradients(theta, x, y)))
    print(
        f"gradients per point, batch {BATCH}: NumPy {ours:.3f} s, JAX {theirs:.3f} s, "
        f"speed {theirs / ours:.2f} of JAX's (to reach: {LEAST_SHARE})"
    )


def games(full: bool) -> None:
    """Training and attacking one epoch."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        experiment = fashion_experiment(cache=folder) if full else sample_experiment()
    once = time.perf_counter() - started
    limit = f" (at most {MOST_REFERENCES:.0f})" if full else ""
    print(f"{experiment.name}: references, factor and targets {once:.1f} s{limit}")
    rng = np.random.default_rng(1)
    attack = attacker(
        experiment.references, experiment.model, *experiment.targets["median"],
        experiment.game.batch, experiment.fresh,
    )  # fmt: skip
    # seconds of one core: other work on the machine does not count
    trained = best(lambda: experiment.game.run(rng), clock=time.process_time)
    trace = experiment.game.run(rng)
    scored = best(lambda: scores_of(attack, trace), clock=time.process_time)
    limit = f" (at most {MOST_SECONDS})" if full else ""
    print(
        f"{experiment.name}: a game of {experiment.game.steps} steps {trained + scored:.3f} CPU s, "
        f"{trained:.3f} to train and {scored:.3f} to attack{limit}"
    )


if __name__ == "__main__":
    against_jax()
    games("--full" in sys.argv[1:])
