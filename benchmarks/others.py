"""UCB of other libraries, driven as their documentation does, for the same arms and rounds."""

from __future__ import annotations

import random
from collections.abc import Sequence


def river_ucb(means: Sequence[float], horizon: int, seed: int) -> str:
    """river's UCB with delta=1, which its documentation calls UCB1; returns its version."""
    import river
    from river import bandit

    rng = random.Random(seed)
    policy = bandit.UCB(delta=1, seed=seed)
    arms = list(range(len(means)))
    for _ in range(horizon):
        arm = policy.pull(arms)
        policy.update(arm, 1.0 if rng.random() < means[arm] else 0.0)
    return f"river {river.__version__}"


def pymab_ucb(means: Sequence[float], horizon: int, seed: int, backend: str) -> str:
    """pymab's UCB in its own experiment, with its Python or its Rust backend."""
    import numpy as np
    import pymab
    from pymab.policies import UCBPolicy

    environment = pymab.BanditEnvironment(
        means=np.array(means), reward_model=pymab.BernoulliReward()
    )
    config = pymab.ExperimentConfig(horizon=horizon, n_replicates=1, seed=seed, backend=backend)
    pymab.Experiment(
        environment=environment, policies={"ucb": UCBPolicy(n_arms=len(means))}, config=config
    ).run()
    return f"pymab, {backend} backend"
