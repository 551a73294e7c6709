"""White-box audits: `python benchmarks/gradients.py [--full | --audits [RATE] | --seeds]`.

Gradients per point of the NumPy net beside JAX's in the same run, at batch 512, and seconds of one
game of an epoch; with --full on Fashion-MNIST itself, the covariance of 20,000 references included.
Start it with OMP_NUM_THREADS=1 for figures of one core.

With --audits instead: two hundred small audits of DP-SGD by every method, with the noise that is
claimed and with half of it; how many bounds were above the accountant's ε. A Poisson RATE below 1
takes some minutes.

With --seeds instead: figure 7.2 on Fashion-MNIST with other references, start, targets and pool for
each of eight seeds, 100 games a side each. One seed says what an attack reaches on one point; the
average over seeds says what it reaches on such points. Some three minutes of one core a seed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from discreet.membership.gradients import (
    DPSGD,
    ConvNet,
    SoftmaxRegression,
    audit_dpsgd,
    fashion_experiment,
    fashion_mnist_sample,
    sample_experiment,
)
from discreet.membership.gradients._epochs import attacker, scores_of

BATCH = 512
LEAST_SHARE = 0.8
"""Of JAX's speed that ours must reach."""
MOST_SECONDS = 0.3
"""A game of an epoch of Fashion-MNIST, trained and attacked."""
MOST_REFERENCES = 300.0
FIRST_SEED, SEEDS = 2101, 8
GAMES = 100
"""A side, for each seed."""
REPEATS = 200
"""Audits, each wrong with probability at most 1 - confidence = .05."""


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
        from discreet.membership.gradients.models._jax_model import conv_loss, per_sample_gradients

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


def seeds() -> None:
    """AUC of every attack by seed, and on average, beside what the sums should reach by theory."""
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        experiment = fashion_experiment(seed=seed, cache=False)
        targets = {name: experiment.targets[name] for name in ("easiest", "median")}
        experiment = replace(experiment, targets=targets)
        predicted = experiment.predicted(seed, frozen=True)
        aucs = {key: scores.auc for key, scores in experiment.play(GAMES, seed=seed).items()}
        aucs |= {
            (name, "frozen sum, by theory"): environment.auc
            for name, environment in predicted.items()
        }
        for key, auc in aucs.items():
            found.setdefault(key, []).append(auc)
        m = ", ".join(f"{name} {experiment.leakage[name]:.0f}" for name in targets)
        print(f"seed {seed}: m = {m}", flush=True)
        for (name, attack), auc in aucs.items():
            print(f"  {name:10s}{attack:34s}{auc:.3f}", flush=True)
    print(f"average of {SEEDS} seeds, {GAMES} games a side each")
    for (name, attack), values in found.items():
        error = np.std(values, ddof=1) / len(values) ** 0.5
        print(f"  {name:10s}{attack:34s}{np.mean(values):.3f} ± {error:.3f}")


def audits(sampling: float, seed: int = 1) -> None:
    """How often each method finds more than is claimed: with all of the noise, and with half."""
    images, model = fashion_mnist_sample()[:16], SoftmaxRegression(16)
    start = model.start(np.random.default_rng(seed))
    claimed = DPSGD(
        model, images.features(7), images.labels, start, noise=1.5, steps=2, sampling=sampling
    )
    for name, mechanism in (("all", claimed), ("half", claimed.with_noise(claimed.noise / 2))):
        print(f"sampling {sampling:g}, {name} of the noise: bounds above the claim in {REPEATS}")
        tables = [
            audit_dpsgd(mechanism, claimed=claimed, runs=200, canaries=120, seed=seed + repeat)
            for repeat in range(REPEATS)
        ]
        for place, line in enumerate(tables[0].lines):
            proved = [table.lines[place].proved for table in tables]
            above = sum(table.lines[place].is_violation for table in tables)
            print(
                f"  {line.by:40s} {above:3d}, proved {np.median(proved):.2f} (median), "
                f"{max(proved):.2f} (most), claimed {line.claimed:.2f}"
            )


if __name__ == "__main__":
    if "--audits" in sys.argv[1:]:
        audits(float((sys.argv[sys.argv.index("--audits") + 1 :] or ["1"])[0]))
    elif "--seeds" in sys.argv[1:]:
        seeds()
    else:
        against_jax()
        games("--full" in sys.argv[1:])
