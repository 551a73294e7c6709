"""Off-policy estimates beside the truth: bias, spread, and how often 95 % intervals cover.

    python benchmarks/logs.py

Logs of n participants with one feature and three arms, rewards 0 or 1, a logging policy that leans
on the feature; the policy that is evaluated takes mostly one arm above 0 and another below. The
private ones are released with simulated noise of the same scale as the secure one, clip=8.
"""

from __future__ import annotations

import numpy as np

import discreet
from discreet.logs._estimators import terms
from discreet.logs._evaluation import METHODS, _own_scores, released
from discreet.privacy._source import SIMULATED

SLOPES = np.array([[0.5, 0.1], [0.4, -0.2], [0.3, 0.25]])
REPEATS = 2000


def target(context: np.ndarray) -> np.ndarray:
    """Mostly arm 2 for a large feature, else arm 0."""
    return np.where(context[:, :1] > 0, [0.1, 0.1, 0.8], [0.8, 0.1, 0.1])


def drawn(size: int, rng: np.random.Generator) -> discreet.logs.Log:
    """A log."""
    x = rng.uniform(-1.0, 1.0, size)
    shares = np.column_stack([0.5 - 0.2 * x, np.full(size, 0.2), 0.3 + 0.2 * x])
    action = (rng.random(size)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    means = SLOPES[:, 0] + x[:, None] * SLOPES[:, 1]
    reward = (rng.random(size) < means[np.arange(size), action]).astype(float)
    table = {"a": action, "r": reward, "p": shares[np.arange(size), action], "x": x}
    names = {"action": "a", "reward": "r", "propensity": "p", "context": "x"}
    return discreet.logged(table, **names, arms=[0, 1, 2])


def main() -> None:
    """Print the table."""
    grid = np.array([[-0.5], [0.5]])
    truth = float((target(grid) * (SLOPES[:, 0] + grid * SLOPES[:, 1])).sum(axis=1).mean())
    print(f"{REPEATS} logs; truth {truth:.4f}")
    print(f"{'method':16s} {'n':>6s} {'bias':>8s} {'sd':>7s} {'covered':>8s} {'width':>7s}")
    for size in (400, 4000):
        ways = [(method, None) for method in METHODS] + [("dr", 1.0), ("dr", 0.1)]
        for method, epsilon in ways:
            rng, found = np.random.default_rng(1), []
            for _ in range(REPEATS):
                log = drawn(size, rng)
                if epsilon is None:
                    one = discreet.evaluate(target, log, method=method)
                else:
                    scores = _own_scores(method, log, terms(log, target(log.context)), None, 10.0)
                    one = released(scores, log, epsilon, 8.0, SIMULATED, rng)
                found.append((one.value, *one.interval()))
            value, low, high = np.array(found).T
            name = method if epsilon is None else f"{method}, ε = {epsilon:g}"
            covered = float(((low <= truth) & (truth <= high)).mean())
            print(
                f"{name:16s} {size:6d} {value.mean() - truth:8.4f} {value.std():7.4f} "
                f"{100 * covered:6.1f} % {(high - low).mean():7.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
