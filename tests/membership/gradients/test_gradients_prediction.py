"""The law of the centred sum: against a naive assignment, and against games."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from naive_gradients import assignment_variance

from discreet.membership.gradients import Epoch, predicted_sum, sample_experiment
from discreet.membership.gradients._epochs import HeadTarget, attacker
from discreet.membership.gradients._experiments import SAMPLE


def test_the_variance_is_that_of_a_random_assignment() -> None:
    experiment = sample_experiment(scale=replace(SAMPLE, size=24, batch=6))
    whole = experiment.game
    game = Epoch(whole.model, whole.start, whole.x[:40], whole.y[:40], 24, 6, 0.5)
    target = experiment.targets["median"]
    found = predicted_sum(game, target, experiment.references, seed=3, steps=4, points=40)
    # the same run once more, every gradient dense, one place of a batch after another
    parameters = game.run(np.random.default_rng(3)).parameters[:-1]
    known = experiment.references
    shifts, f = [], []
    for theta in parameters:
        canary = game.model.gradients(theta, target[0][None], np.array([target[1]]))[0]
        w = known.solve(canary.astype(float) - known.mean)
        each = game.model.gradients(theta, game.x, game.y).astype(float)
        f.append(each @ w)
        shifts.append(w @ (canary - each.mean(axis=0)))
    assert found.shift == pytest.approx(np.mean(shifts) / 6, rel=1e-4)
    variance = assignment_variance(np.array(f).T, batch=6)
    # estimated with n - 1 in both places
    assert found.deviation == pytest.approx(math.sqrt(variance), rel=1e-3)


@pytest.mark.parametrize("frozen", [False, True])
def test_both_kinds_of_attack_project_alike(frozen: bool) -> None:
    experiment = sample_experiment()
    known, model, (x, y) = experiment.references, experiment.model, experiment.targets["easiest"]
    game = experiment.game
    quick = attacker(known, model, x, y, game.batch)
    plain = HeadTarget(known, model, x, y, game.batch)
    parameters = game.run(np.random.default_rng(4)).parameters[::20]
    for one, other in zip(
        quick.projections(parameters, game.x[:50], game.y[:50], frozen),
        plain.projections(parameters, game.x[:50], game.y[:50], frozen),
        strict=True,
    ):
        assert np.allclose(one, other, rtol=1e-3, atol=1e-2 * np.abs(other).max())
    trace = game.run(np.random.default_rng(4))
    fast, slow = quick.both(trace)[0].frozen, plain.both(trace)[0].frozen
    assert fast is not None
    assert slow is not None
    assert np.allclose(fast.scores, slow.scores, rtol=1e-3, atol=1e-2 * np.ptp(slow.scores))
    theta = game.start
    first = quick.projections(np.stack([theta, theta]), game.x[:50], game.y[:50], frozen)[0]
    later = quick.projections(np.stack([theta, 0.9 * theta]), game.x[:50], game.y[:50], frozen)[0]
    assert np.array_equal(first[0], later[0])
    each = game.model.gradients(0.9 * theta, game.x[:50], game.y[:50]).astype(float)
    own = game.model.gradients(theta if frozen else 0.9 * theta, x[None], np.array([y]))[0]
    twin = each @ known.solve(own.astype(float) - known.mean)
    assert np.allclose(later[1], twin, rtol=1e-3, atol=1e-2 * np.abs(twin).max())


def test_games_vary_as_predicted() -> None:
    """300 games without the target: an estimated deviation is off by a factor e^±.25 with
    probability 1e-6 if sums are near normal; .3 leaves room for a run's own path."""
    experiment = sample_experiment()
    game, target = experiment.game, experiment.targets["median"]
    attack = attacker(
        experiment.references, experiment.model, *target, game.batch, experiment.fresh
    )
    runs = [attack.both(game.run(rng))[0] for rng in np.random.default_rng(6).spawn(300)]
    for how in ("centred sum", "frozen sum"):
        predicted = predicted_sum(
            game, target, experiment.references, seed=5, frozen=how == "frozen sum"
        )
        sums = [steps.combined(how) for steps in runs]
        assert abs(math.log(np.std(sums, ddof=1) / predicted.deviation)) < 0.3
    # without the pool's effect it would be off by log(2)/2 = .44 and more
    assert game.size / len(game.x) > 0.55
    assert 0.5 < predicted.auc < 1.0
