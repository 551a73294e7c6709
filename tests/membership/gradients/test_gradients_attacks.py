"""Attacks against naive twins, and against what theory says they reach."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_gradients import covariance_scores, gaussian_ratio, left_out_distance

from discreet.errors import DamagedFile, InvalidArgument
from discreet.membership.gradients import (
    References,
    Shuffled,
    SoftmaxRegression,
    SoftmaxTarget,
    Steps,
    Trace,
    Trainer,
    covariance_steps,
    fashion_mnist_sample,
    glir_steps,
    references_at,
    scalar_steps,
)
from discreet.membership.gradients._attacks import log_noncentral_chi2
from discreet.membership.gradients._references import contrasts


@pytest.fixture
def made(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    mixing = rng.normal(size=(6, 6))
    return (
        rng.normal(size=(400, 6)) @ mixing + 1.0,
        rng.normal(size=(9, 6)),
        rng.normal(size=(9, 6)),
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_the_covariance_attack_is_its_formula(made: tuple[Any, Any, Any]) -> None:
    ordinary, canary, updates = made
    steps = covariance_steps(References.of(ordinary, ridge=0.3), canary, updates, 16)
    assert np.allclose(steps.scores, covariance_scores(ordinary, canary, updates, 16, 0.3))
    fixed = covariance_steps(References.of(ordinary, ridge=0.3), canary[0], updates, 16)
    twin = covariance_scores(ordinary, [canary[0]] * 9, updates, 16, 0.3)
    assert np.allclose(fixed.scores, twin)
    assert np.allclose(scalar_steps(canary, updates), (canary * updates).sum(axis=1))
    # frozen: the first canary throughout, and the constant of its shift left out
    assert steps.combined("frozen sum") == pytest.approx(fixed.combined("centred sum"), rel=1e-12)
    assert steps.frozen is not None
    assert np.allclose(steps.frozen.centred(), fixed.centred())
    assert fixed.combined("frozen log-mean-exp") == pytest.approx(fixed.combined("log-mean-exp"))
    assert steps.combined("frozen sum") != pytest.approx(steps.combined("centred sum"))


def test_the_sign_of_updates_follows_descent() -> None:
    """θ' = θ - η g: with the printed sign every attack would be its mirror image."""
    model = SoftmaxRegression(4, 3)
    rng = np.random.default_rng(1)
    x, y = rng.random((64, 4)), rng.integers(0, 3, 64)
    trace = Trainer(Shuffled(16), rate=0.1).train(model, x, y, model.start(rng).astype(float), rng)
    seen = Trace.of(trace.parameters, 0.1)
    assert np.allclose(seen.updates, trace.updates)
    rates = np.full(4, 0.1)
    assert np.allclose(Trace.of(trace.parameters, rates).updates, trace.updates)


def test_means_estimated_again_replace_the_stale_one(made: tuple[Any, Any, Any]) -> None:
    ordinary, canary, updates = made
    known = References.of(ordinary, ridge=0.3)
    fresh = np.tile(known.mean, (9, 1))
    one = covariance_steps(known, canary, updates, 16)
    two = covariance_steps(known, canary, updates, 16, means=fresh)
    assert np.allclose(one.scores, two.scores)
    moved = covariance_steps(known, canary, updates + 5.0, 16, means=fresh + 5.0)
    assert not np.allclose(moved.scores, one.scores)  # the canary did not move
    assert np.allclose(
        moved.scores + moved.shift / 2, one.scores + one.shift / 2
    )  # what is observed is centred


def test_leaving_one_out_is_exact(rng: np.random.Generator) -> None:
    ordinary = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    known = References.of(ordinary, ridge=0.0)
    found = known.mahalanobis(ordinary, among=True)
    for place in range(40):
        assert found[place] == pytest.approx(left_out_distance(ordinary, place), rel=1e-9)
    inside = known.mahalanobis(ordinary)
    assert (inside < found).all()
    v = ordinary[0] - known.mean
    assert inside[0] == pytest.approx(v @ np.linalg.solve(np.cov(ordinary, rowvar=False), v))


def test_contrasts_lose_nothing_of_a_softmax_layer(rng: np.random.Generator) -> None:
    basis = contrasts(10)
    assert np.allclose(basis.T @ basis, np.eye(9))
    assert np.allclose(basis.sum(axis=0), 0.0)
    model = SoftmaxRegression(3, 4)
    theta = model.start(rng).astype(float)
    x, y = rng.random((200, 3)), rng.integers(0, 4, 200)
    factors = model.layer(theta, x, y)
    known = References.of(factors, ridge=1e-3)
    dense = References.of(factors.dense(), ridge=1e-3)
    assert known.factor.shape == (12, 12)
    v = factors.dense()[:5]
    # the ridge acts in directions that no gradient has: distances agree
    assert np.allclose(known.distances(v), dense.distances(v))
    assert np.allclose(References.of(v, ridge=1e-3, classes=4).size, 16)
    common = np.tile(rng.normal(size=4), 4)
    assert np.allclose(known.solve(common), 0.0, atol=1e-9)


def test_a_singular_covariance_is_refused_with_the_fix(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidArgument, match="references must be more than 6, the dimension"):
        References.of(rng.normal(size=(6, 6)), ridge=0.0)
    flat = np.repeat(rng.normal(size=(40, 1)), 3, axis=1)
    with pytest.raises(InvalidArgument, match="ridge must make the covariance"):
        References.of(flat, ridge=0.0)
    with pytest.raises(InvalidArgument, match="ridge must be a finite number of at least 0"):
        References.of(flat, ridge=-1.0)
    with pytest.raises(InvalidArgument, match="references must be finite"):
        References.of(np.full((5, 2), np.nan), ridge=1.0)
    with pytest.raises(InvalidArgument, match="classes must divide the 3 values"):
        References.of(flat, classes=2)


def test_bad_arrays_are_refused(made: tuple[Any, Any, Any]) -> None:
    ordinary, canary, updates = made
    known = References.of(ordinary)
    with pytest.raises(InvalidArgument, match="updates must be one row of 6 finite numbers"):
        covariance_steps(known, canary, updates[:, :5], 16)
    with pytest.raises(InvalidArgument, match="canary must be 6 finite numbers"):
        covariance_steps(known, canary[:4], updates, 16)
    with pytest.raises(InvalidArgument, match="updates must be"):
        covariance_steps(known, canary, np.full_like(updates, np.nan), 16)
    with pytest.raises(InvalidArgument, match="parameters must be at least two rows"):
        Trace.of(np.zeros((1, 3)), 0.1)
    with pytest.raises(InvalidArgument, match="rates must be positive"):
        Trace.of(np.zeros((3, 3)), [0.1, 0.0])
    with pytest.raises(InvalidArgument, match="rates must be one number, or one for each of the 2"):
        Trace.of(np.zeros((3, 3)), [0.1, 0.1, 0.1])
    with pytest.raises(InvalidArgument, match="means must be 6 finite numbers per step"):
        covariance_steps(known, canary, updates, 16, means=np.zeros((2, 6)))
    with pytest.raises(InvalidArgument, match="batch must be a whole number from 1"):
        covariance_steps(known, canary, updates, 0)


def test_a_run_by_hand_in_plain_lists() -> None:
    """Six steps of four points, the canary in the third; rates differ, θ' = θ - η g."""
    rng = np.random.default_rng(0)
    known = References.of(rng.normal(size=(500, 3)).tolist(), ridge=0.0)
    batches = rng.normal(size=(6, 4, 3))
    canary = [5.0, 0.0, 0.0]
    batches[2, 0] = canary
    seen, rates = batches.mean(axis=1), [0.1, 0.2, 0.1, 0.05, 0.1, 0.1]
    parameters = [[0.0, 0.0, 0.0]]
    for gradient, rate in zip(seen, rates, strict=True):
        parameters.append([p - rate * g for p, g in zip(parameters[-1], gradient, strict=True)])
    trace = Trace.of(np.array(parameters), np.array(rates))
    assert np.allclose(trace.updates, seen)
    assert covariance_steps(known, np.array(canary), trace.updates, 4).scores.argmax() == 2
    assert scalar_steps(np.array(canary), trace.updates).argmax() == 2
    assert glir_steps(known, np.array(canary), trace.updates, 4).argmax() == 2


def test_glir_is_the_gaussian_ratio_reversed_and_affine(rng: np.random.Generator) -> None:
    """S is affine in the exact ratio, so the score orders runs as the ratio does."""
    ordinary = rng.normal(size=(3000, 8))
    known = References.of(ordinary, ridge=0.0)
    target, updates = 2.0 * rng.normal(size=8), rng.normal(size=(60, 8)) / 4.0
    found = glir_steps(known, target, updates, 16)
    ratios = [
        gaussian_ratio(target, known.mean, np.cov(ordinary, rowvar=False), o, 16) for o in updates
    ]
    assert np.array_equal(np.argsort(found), np.argsort(ratios))


def log_law_by_mixture(x: float, degrees: int, centre: float) -> float:
    """log Σ_j Poisson(j; λ/2) P(d/2 + j, x/2), the gamma by its series, all in logs."""

    def log_gamma_ratio(a: float) -> float:
        ratios = (x / 2) / (a + np.arange(1, 20_000))
        series = 1.0 + np.cumprod(ratios).sum()
        return float(a * math.log(x / 2) - x / 2 - math.lgamma(a + 1) + math.log(series))

    half = centre / 2
    middle = half * 2 * x / (degrees + math.sqrt(degrees**2 + 4 * x * centre))
    low = max(0, int(middle - 12 * math.sqrt(middle) - 40))
    places = range(low, int(middle + 12 * math.sqrt(middle) + 40))
    terms = [
        j * math.log(half) - half - math.lgamma(j + 1) + log_gamma_ratio(degrees / 2 + j)
        for j in places
    ]
    return float(np.logaddexp.reduce(terms))


@pytest.mark.parametrize("degrees", [7, 60, 785])
def test_the_noncentral_law_where_it_underflows_and_where_not(degrees: int) -> None:
    """Against the Poisson mixture, in the middle and in tails of e^-1000."""
    for centre in (40.0, 3000.0):
        mean, sd = degrees + centre, math.sqrt(2 * (degrees + 2 * centre))
        for x in (mean + sd, mean - 2 * sd, 0.4 * mean, 0.05 * mean, 0.001 * mean):
            if x <= 0:
                continue
            expected = log_law_by_mixture(x, degrees, centre)
            found = log_noncentral_chi2(np.array([x]), degrees, np.array([centre]))
            assert found[0] == pytest.approx(expected, rel=1e-10, abs=1e-5)
    far = log_noncentral_chi2(np.array([0.0, 10.0, 20.0]), 5000, np.full(3, 4e4))
    assert far[0] == -math.inf < far[1] < far[2] < -1000.0


def test_combinations() -> None:
    steps = Steps(np.array([1.0, -2.0, 0.5]), np.array([2.0, 2.0, 2.0]))
    assert steps.combined("sum") == pytest.approx(-0.5)
    assert steps.combined("centred sum") == pytest.approx(2.5)  # half of each shift of 2 back
    twin = math.log((math.exp(1.0) + math.exp(-2.0) + math.exp(0.5)) / 3)
    assert steps.combined("log-mean-exp") == pytest.approx(twin)
    assert steps.combined("max") == 1.0
    poisson = sum(math.log(0.9 + 0.1 * math.exp(s)) for s in (1.0, -2.0, 0.5))
    assert steps.combined("poisson", sampling=0.1) == pytest.approx(poisson)
    assert steps.combined("poisson", sampling=1.0) == pytest.approx(-0.5)
    with pytest.raises(InvalidArgument, match="how must be one of sum"):
        steps.combined("mean")
    with pytest.raises(InvalidArgument, match="sampling must be the rate"):
        steps.combined("poisson")
    with pytest.raises(InvalidArgument, match="frozen must be known"):
        steps.combined("frozen sum")


def test_the_empirical_law_of_scores_withstands_far_steps() -> None:
    """Scores with the tails of a t law of 3 degrees, the canary in one of 200 steps: a normal ratio
    is led astray by far steps, one with the law of the scores themselves is not."""
    rng, steps, moved = np.random.default_rng(5), 200, 6.0
    found: dict[str, list[list[float]]] = {"empirical": [[], []], "log-mean-exp": [[], []]}
    for side in (0, 1):
        for _ in range(120):
            noise = rng.standard_t(3, steps)
            noise[rng.integers(steps)] += side * moved
            run = Steps(noise - moved / 2, np.full(steps, moved), np.ones(steps))
            for how, sides in found.items():
                sides[side].append(run.combined(how))
    auc = {
        how: float((np.array(member)[:, None] > np.array(other)).mean())
        for how, (other, member) in found.items()
    }
    assert auc["empirical"] > auc["log-mean-exp"] + 0.05
    single = Steps(noise, np.full(steps, moved)).empirical()
    assert single.max() <= math.log(steps) + 1e-9  # its own kernel is one of T
    still = Steps(np.zeros(5), np.zeros(5))
    assert still.combined("empirical") == pytest.approx(0.0)


def test_references_about_zero_by_an_update(rng: np.random.Generator) -> None:
    """(n-1)/n Ĉ + ūū' is Σ uu'/n, whatever the basis."""
    ordinary = rng.normal(0.7, 1.0, (300, 6))
    updated = References.of(ordinary, ridge=0.0).uncentred()
    printed = References.of(ordinary, ridge=0.0, centred=False)
    assert np.allclose(updated.factor, printed.factor)
    assert updated.uncentred() is updated
    layer = rng.normal(size=(300, 4, 3))
    layer -= layer.mean(axis=1, keepdims=True)
    flat = layer.reshape(300, 12) + np.repeat([0.5, -0.25, -0.25, 0.0], 3)
    one = References.of(flat, ridge=0.0, classes=4).uncentred()
    two = References.of(flat, ridge=0.0, classes=4, centred=False)
    assert np.allclose(one.distances(flat[:5]), two.distances(flat[:5]))


def test_recalibration_gives_the_ratio_of_two_normals() -> None:
    """s ~ N(-Δ/2, V) without and N(Δ/2, V) with: ℓ has mean ∓Δ²/(2V)."""
    steps = Steps(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([4.0, 4.0]))
    ratio = [(-((s - 0.5) ** 2) + (s + 0.5) ** 2) / 8.0 for s in (0.0, 1.0)]
    assert np.allclose(steps.recalibrated(), ratio)


def frozen(steps: Steps) -> Any:
    assert steps.frozen is not None
    return np.array([steps.frozen.scores, steps.frozen.shift])


def sample_run() -> tuple[Any, Any, Any, Any, Any]:
    images = fashion_mnist_sample()
    x, y = images.features(7), images.labels
    model, rng = SoftmaxRegression(16), np.random.default_rng(3)
    start = model.start(rng)
    trace = Trainer(Shuffled(16), 1e-2).train(model, x[1200:1520], y[1200:1520], start, rng)
    return model, x, y, start, trace


def test_the_quick_attack_on_softmax_regression_is_the_general_one() -> None:
    model, x, y, start, trace = sample_run()
    known = references_at(model, start, x[:1000], y[:1000], ridge=1e-3)
    canary = np.concatenate(
        [model.gradients(theta, x[1200:1201], y[1200:1201]) for theta in trace.parameters[:-1]]
    )
    quick = SoftmaxTarget(known, model, x[1200], int(y[1200]), 16)
    slow = covariance_steps(known, canary, trace.updates, 16)
    assert np.allclose(quick.steps(trace).scores, slow.scores, rtol=2e-3, atol=2e-3)
    assert np.allclose(frozen(quick.steps(trace)), frozen(slow), rtol=2e-3, atol=2e-3)
    assert np.allclose(
        quick.scalar(trace), scalar_steps(canary, trace.updates), rtol=1e-4, atol=1e-5
    )
    # with means estimated again: the direction keeps the mean of the start
    fresh = x[1000:1100], y[1000:1100]
    own = SoftmaxTarget(known, model, x[1200], int(y[1200]), 16, fresh).steps(trace)
    means = np.array(
        [model.gradients(theta, *fresh).mean(axis=0) for theta in trace.parameters[:-1]]
    )
    twin = covariance_steps(known, canary, trace.updates, 16, means)
    assert np.allclose(own.scores, twin.scores, rtol=2e-3, atol=2e-3)
    assert np.allclose(frozen(own), frozen(twin), rtol=2e-3, atol=2e-3)
    direction = known.solve(canary - known.mean)
    at = [
        model.gradients(theta, *fresh) @ w
        for theta, w in zip(trace.parameters, direction, strict=False)
    ]
    assert own.variance is not None
    assert np.allclose(own.variance, [a.var(ddof=1) / 16 for a in at], rtol=2e-3)


def test_references_are_kept_on_disk_under_a_digest(tmp_path: Path) -> None:
    model, x, y, start, _ = sample_run()
    first = references_at(model, start, x[:300], y[:300], cache=tmp_path)
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    again = references_at(model, start, x[:300], y[:300], cache=tmp_path)
    assert file.stat().st_mtime_ns == stamp
    assert np.array_equal(first.factor, again.factor)
    assert np.array_equal(first.mean, again.mean)
    assert again.count == 300
    assert again.basis is not None
    references_at(model, start, x[:301], y[:301], cache=tmp_path)
    references_at(model, start, x[:300], y[:300], ridge=1e-2, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    file.write_bytes(b"rubbish")
    with pytest.raises(DamagedFile, match="must hold references"):
        references_at(model, start, x[:300], y[:300], cache=tmp_path)


def test_the_user_cache_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    model, x, y, start, _ = sample_run()
    references_at(model, start, x[:100], y[:100], cache=True)
    assert len(list((tmp_path / "references").iterdir())) == 1
