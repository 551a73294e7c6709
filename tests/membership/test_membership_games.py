"""Games against theory. Fixed seeds; a comparison allows 5.2 standard errors (2e-7 a side)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm

from discreet import membership
from discreet.errors import DamagedFile, InvalidArgument
from discreet.membership import Game, Mean, Scores, leakage

WIDE = 5.2
COLUMNS = membership.Bernoulli(np.repeat(np.arange(1, 10) / 10, 20))
ROUNDS = 4000


def agrees(scores: Scores, leak: Any, slack: float = 0.0) -> None:
    """Advantage at the score's own threshold, AUC and the power at 5 %."""
    rounds = scores.rounds[0]
    share = (1.0 + leak.advantage) / 2.0
    error = 2.0 * math.sqrt(share * (1.0 - share) / (2.0 * rounds))
    assert abs(scores.advantage - leak.advantage) <= WIDE * error + slack
    # the variance of the AUC is at most AUC(1-AUC)/min(m, n) (Birnbaum & Klose 1957)
    error = math.sqrt(leak.auc * (1.0 - leak.auc) / rounds)
    assert abs(scores.auc - leak.auc) <= WIDE * error + slack
    low, high = scores.power_limits(0.05, confidence=1.0 - 1e-6)
    assert low - slack <= leak.power(0.05) <= high + slack


@pytest.mark.parametrize("which", ["easiest", "hardest"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_likelihood_ratio_on_bernoulli_columns(which: str, share: float) -> None:
    target = getattr(COLUMNS, which)()
    scores = Game(Mean(COLUMNS, 100, subsample=share), target).play(
        membership.LikelihoodRatio(), ROUNDS, seed=1
    )
    agrees(scores, leakage(COLUMNS, 100, target, subsample=share, exact=True))


def test_gaussian_columns_exactly() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(12, 12))
    law = membership.Gaussian(rng.normal(size=12), covariance=a @ a.T / 12 + 0.3 * np.eye(12))
    target = law.draw(rng) + 1.0
    scores = Game(Mean(law, 8), target).play(membership.LikelihoodRatio(), ROUNDS, seed=1)
    agrees(scores, leakage(law, 8, target, exact=True), slack=1e-4)
    # linear scores of Gaussian data are normal at every n, with variances 1 and 1 - 1/n
    linear = Game(Mean(law, 8), target).play(membership.LinearRatio(), ROUNDS, seed=2)
    finite = leakage(law, 8, target, finite=True)
    assert abs(linear.auc - finite.auc) <= WIDE * 0.5 / math.sqrt(ROUNDS)
    low, high = linear.power_limits(0.05, confidence=1.0 - 1e-6)
    assert low <= finite.power(0.05) <= high


def test_the_exact_ratio_is_a_likelihood_ratio() -> None:
    """E_0 e^ℓ = 1 - P_in(not P_out), here 1: noise, covariance and sub-sampling included."""
    rng = np.random.default_rng(4)
    law = membership.Gaussian([0.0, 1.0, 2.0], sd=[1.0, 0.5, 2.0])
    target = law.draw(rng)
    for mean in (Mean(law, 10, noise=0.2), Mean(law, 10, subsample=0.5)):
        scores = Game(mean, target).play(membership.LikelihoodRatio(), 20_000, seed=5)
        ratio = np.exp(scores.nonmembers)
        assert abs(ratio.mean() - 1.0) <= WIDE * ratio.std() / math.sqrt(len(ratio))
    narrow = membership.Bernoulli([0.3, 0.6, 0.5])
    mean = Mean(narrow, 10, noise=0.2)
    scores = Game(mean, [1.0, 0.0, 1.0]).play(membership.LikelihoodRatio(), 20_000, seed=6)
    ratio = np.exp(scores.nonmembers)
    assert abs(ratio.mean() - 1.0) <= WIDE * ratio.std() / math.sqrt(len(ratio))


def test_denoised_ratio_against_the_sum_over_counts() -> None:
    law, n, noise = membership.Bernoulli([0.2, 0.7]), 30, 0.07
    outputs = np.random.default_rng(7).normal(0.4, 0.2, (40, 2))
    target = np.array([1.0, 0.0])
    score = membership.LikelihoodRatio().against(Mean(law, n, noise=noise))
    found = score(outputs, np.broadcast_to(target, outputs.shape), np.random.default_rng(0))
    expected = np.zeros(len(outputs))
    k = np.arange(n + 1)
    for column, (p, z) in enumerate(zip(law.mean, target, strict=True)):
        density = norm.pdf(outputs[:, column, None], k / n, noise)
        inside = density @ binom.pmf(k - z, n - 1, p)
        expected += np.log(inside / (density @ binom.pmf(k, n, p)))
    assert found == pytest.approx(expected, abs=2e-3)


def test_noise_lowers_power_as_theory_says() -> None:
    target = COLUMNS.hardest()
    for adversary in (membership.LinearRatio(), membership.LikelihoodRatio()):
        mean = Mean(COLUMNS, 100, noise=0.05)
        scores = Game(mean, target).play(adversary, ROUNDS, seed=8)
        agrees(scores, leakage(mean, target=target), slack=0.01)  # a limit in n and d


def test_ruled_out_targets_score_minus_infinity() -> None:
    law = membership.Bernoulli([0.02] * 5)
    scores = Game(Mean(law, 5), law.easiest()).play(membership.LikelihoodRatio(), 500, seed=9)
    assert np.isneginf(scores.nonmembers).any()
    assert np.isfinite(scores.members).all()
    assert scores.audit(delta=0.0).epsilon_lower > 3.0


def test_wrong_target_and_scalar_products() -> None:
    """κ of the lemma for any linear score, at 5 % false alarms; normal up to O(1/√n)."""
    rng = np.random.default_rng(10)
    target, guess = COLUMNS.easiest(), COLUMNS.draw(rng)
    guess[:90] = target[:90]
    v = target - COLUMNS.mean

    def check(adversary: Any, w: Any, kappa: float = math.nan) -> None:
        if w is not None:
            kappa = float(w @ v / math.sqrt(100 * (w * w) @ COLUMNS.spectrum))
        scores = Game(Mean(COLUMNS, 100), target).play(adversary, ROUNDS, seed=11)
        auc = norm.cdf(kappa / math.sqrt(2.0))
        assert abs(scores.auc - auc) <= WIDE * 0.5 / math.sqrt(ROUNDS)

    check(membership.LinearRatio(guess=guess), (guess - COLUMNS.mean) / COLUMNS.spectrum)
    check(membership.ScalarProduct(), target)
    check(membership.ScalarProduct("mean"), v)
    reference = COLUMNS.draw(rng)
    check(membership.ScalarProduct(reference), target - reference)
    fresh = Game(Mean(COLUMNS, 100), target).play(
        membership.ScalarProduct("drawn"), ROUNDS, seed=11
    )
    centred = Game(Mean(COLUMNS, 100), target).play(
        membership.ScalarProduct("mean"), ROUNDS, seed=11
    )
    assert fresh.auc < centred.auc - 0.05


def test_estimated_covariance_costs_its_share_and_must_be_centred() -> None:
    """E κ²/m* = (K-d+2)/(K+1) with K = n₀ - 1, exactly Beta(K-d+2, d-1)."""
    rng = np.random.default_rng(12)
    d, n, n_0 = 30, 40, 90
    law = membership.Gaussian(np.full(d, 1.0))
    target = law.mean + 3.0
    v = target - law.mean
    ratios: list[float] = []
    printed: list[float] = []
    for _ in range(25):
        references = law.draw(rng, n_0)
        for centred, kept in ((True, ratios), (False, printed)):
            adversary = membership.EmpiricalRatio(references, centred=centred)
            rotation = adversary.rotation
            assert rotation is not None
            w = rotation @ ((target - law.mean) @ rotation / adversary.spectrum)
            kept.append((w @ v) ** 2 / (w @ w) / (v @ v))
    k = n_0 - 1
    expected = (k - d + 2) / (k + 1)
    spread = math.sqrt(expected * (1 - expected) / (k + 2) / 25)
    assert abs(np.mean(ratios) - expected) <= WIDE * spread
    # all of v lies along μ here, which the printed covariance inflates: nothing is told apart
    assert np.mean(printed) < np.mean(ratios)
    scores = Game(Mean(law, n), target).play(adversary, 500, seed=1)
    assert 0.5 < scores.auc < leakage(law, n, target).auc + 0.05


def test_plug_in_and_diagonal_cost_little() -> None:
    references = COLUMNS.draw(np.random.default_rng(13), 2000)
    best = leakage(COLUMNS, 100, COLUMNS.hardest())
    for adversary in (
        membership.PlugInRatio(references),
        membership.EmpiricalRatio(references, diagonal=True),
    ):
        scores = Game(Mean(COLUMNS, 100), COLUMNS.hardest()).play(adversary, ROUNDS, seed=14)
        assert abs(scores.auc - best.auc) <= WIDE * 0.5 / math.sqrt(ROUNDS)


def test_printed_subsampling_score_ranks_alike() -> None:
    mean = Mean(COLUMNS, 100, subsample=0.5)
    exact = Game(mean, COLUMNS.hardest()).play(membership.LikelihoodRatio(), 1000, seed=15)
    printed = Game(mean, COLUMNS.hardest()).play(membership.PrintedSubsampling(), 1000, seed=15)
    order, other = np.argsort(exact.nonmembers), np.argsort(printed.nonmembers)
    assert np.corrcoef(np.argsort(order), np.argsort(other))[0, 1] > 0.98


def test_many_targets_against_one_output() -> None:
    rng = np.random.default_rng(16)
    mean = Mean(membership.Bernoulli([0.05] * 40), 20)
    output = mean.outputs(rng, np.ones((1, 40)), False)[0]
    targets = mean.law.draw(rng, 50)
    found = membership.score_targets(mean, output, targets)
    score = membership.LikelihoodRatio().against(mean)
    one_by_one = [score(output[None], target[None], rng)[0] for target in targets]
    assert np.isneginf(found).any()
    assert found == pytest.approx(one_by_one)
    noisy = Mean(mean.law, 20, noise=0.1, subsample=0.5)
    linear = membership.LinearRatio().against(noisy)
    expected = [linear(output[None], target[None], rng)[0] for target in targets]
    assert membership.score_targets(noisy, output, targets) == pytest.approx(expected)


def test_average_target_is_typical() -> None:
    """z* ~ D has m* near d/n; the AUC is the average of the fixed ones up to their curvature."""
    law = membership.Bernoulli(np.linspace(0.2, 0.8, 400))
    scores = Game(Mean(law, 100)).play(membership.LikelihoodRatio(), 2000, seed=17)
    typical = norm.cdf(math.sqrt(4.0) / math.sqrt(2.0))
    assert abs(scores.auc - typical) <= WIDE * 0.5 / math.sqrt(2000) + 0.01
    assert scores.settings["game"] == "average target"


def test_any_mechanism_and_any_law() -> None:
    def largest(data: Any, rng: Any) -> float:
        return float(data.max() + rng.laplace(0.0, 0.1))

    def law(rng: Any, rows: int) -> Any:
        return rng.uniform(0.0, 1.0, rows)

    release = membership.Release(largest, law, n=5)
    scores = Game(release, 3.0).play(lambda output, target: -abs(output - target), 300, seed=18)
    assert scores.auc > 0.999
    assert scores.settings == {"mechanism": "largest", "n": 5, "game": "fixed target"}
    plain = membership.Release(np.mean, law, n=5, name="mean of uniforms")
    # ½ lies 5.2 standard errors below an AUC of 0.56; theory says about 0.6
    assert Game(plain).play(lambda o, t: (o - 0.5) * (t - 0.5), 2000, seed=1).auc > 0.56


def test_a_seed_fixes_every_score_whatever_the_threads() -> None:
    mean = Mean(membership.Bernoulli([0.5] * 3000), 50)
    game = Game(mean, np.ones(3000))
    assert mean.block < 800  # several blocks
    one, two, other = (
        game.play(membership.ScalarProduct("drawn"), 800, seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    assert np.array_equal(one.members, two.members)
    assert np.array_equal(one.nonmembers, two.nonmembers)
    assert not np.array_equal(one.members, other.members)
    longer = game.play(membership.ScalarProduct("drawn"), 1000, seed=1, threads=2)
    assert np.array_equal(longer.members[: mean.block], one.members[: mean.block])


@pytest.mark.parametrize("n", [1, 7, 300])
def test_sums_of_coins_are_binomial(n: int) -> None:
    """χ² at a false-alarm rate of 1e-7 in each of four columns."""
    law = membership.Bernoulli([0.01, 0.3, 0.5, 0.995])
    drawn = law.sums(np.random.default_rng(19), n, 40_000)
    for column, p in enumerate(law.mean):
        counts = np.bincount(drawn[:, column].astype(int), minlength=n + 1)
        expected = binom.pmf(np.arange(n + 1), n, p) * len(drawn)
        kept = expected >= 8.0
        observed = np.append(counts[kept], counts[~kept].sum())
        wanted = np.append(expected[kept], expected[~kept].sum())
        if wanted[-1] < 1e-9:
            observed, wanted = observed[:-1], wanted[:-1]
        assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-7


def test_large_sums_use_the_other_generator() -> None:
    law = membership.Bernoulli([0.3, 0.6])
    n = 10**12
    drawn = law.sums(np.random.default_rng(20), n, 2000)
    z = (drawn - n * law.mean) / np.sqrt(n * law.spectrum)
    assert np.abs(z.mean(axis=0)).max() <= WIDE / math.sqrt(2000)


def test_sums_of_other_laws_are_sums_of_rows() -> None:
    law = membership.Independent(
        lambda rng, rows: rng.exponential(1.0, (rows, 2)), [1.0, 1.0], [1.0, 1.0]
    )
    drawn = law.sums(np.random.default_rng(21), 20, 3000)
    z = (drawn - 20.0) / math.sqrt(20.0)
    assert np.abs(z.mean(axis=0)).max() <= WIDE / math.sqrt(3000)
    assert np.abs(z.var(axis=0) - 1.0).max() <= 0.2


def test_saved_and_loaded_and_drawn(tmp_path: Any) -> None:
    scores = Game(Mean(COLUMNS, 100), COLUMNS.easiest()).play(
        membership.LikelihoodRatio(), 200, seed=22
    )
    path = scores.save(tmp_path / "game.parquet")
    again = membership.load(path)
    assert np.array_equal(again.members, scores.members)
    assert again.summary() == scores.summary()
    theory = leakage(COLUMNS, 100, COLUMNS.easiest()).curve()
    scores.plot(theory={"theory": theory}, path=tmp_path / "game.png")
    assert (tmp_path / "game.png").stat().st_size > 1000
    with pytest.raises(DamagedFile):
        membership.load(tmp_path / "game.png")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: membership.EmpiricalRatio(np.eye(5)), "references must be more than columns + 1"),
        (lambda: membership.EmpiricalRatio(np.ones((9, 2)), diagonal=True), "vary in every column"),
        (lambda: membership.EmpiricalRatio(np.ones((9, 2))), "positive definite"),
        (lambda: membership.EmpiricalRatio([[math.nan, 1.0], [1.0, 2.0]]), "finite rows"),
        (lambda: Scores([1.0, math.nan], [0.0, 0.0]), "members must hold no NaN"),
        (lambda: Scores([], [0.0]), "members must be one score per round"),
        (lambda: Scores([1.0], [0.0]).audit(), "leave rounds to count"),
        (lambda: Scores([1.0, 2.0], [0.0, 1.0]).audit(delta=1.0), "delta must be a number in"),
        (lambda: Scores([1.0, 2.0], [0.0, 1.0]).audit(confidence=1.0), "confidence must be a"),
        (lambda: Game("mean"), "mechanism must be a Mechanism"),  # type: ignore[arg-type]
        (lambda: Game(Mean(COLUMNS, 9), np.ones((2, 180))), "target must be one target"),
        (lambda: Game(Mean(COLUMNS, 9), np.full(180, 2.0)), "nothing but 0 and 1"),
        (lambda: Game(Mean(COLUMNS, 9)).play(3), "adversary must be"),  # type: ignore[arg-type]
        (lambda: Game(Mean(COLUMNS, 9)).play(lambda o, t: math.nan, 2), "hold no NaN"),
        (lambda: membership.ScalarProduct("median"), "reference must be"),
        (lambda: Mean("law", 9), "law must be a distribution of data"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        call()
    assert message in str(error.value)


def test_scores_of_a_mean_refuse_other_mechanisms() -> None:
    release = membership.Release(np.mean, COLUMNS, n=5)
    with pytest.raises(InvalidArgument, match="be made for this mechanism"):
        Game(release, COLUMNS.easiest()).play(membership.LikelihoodRatio(), 2)
    uniform = membership.Independent(lambda rng, rows: rng.random((rows, 1)), [0.5], 1 / 12)
    with pytest.raises(InvalidArgument, match="know the exact distribution"):
        Game(Mean(uniform, 5), [0.3]).play(membership.LikelihoodRatio(), 2)
