"""Every mutant is caught, its intact twin is not; confidence 1 - 1e-6 each, fixed seeds.

A false alarm on an intact twin has probability at most 1e-6 a test by construction of the bound.
These are bugs of releases and rules, and a trial that draws anew, all caught by audits. Bugs in
what a live trial does with an intact release are caught by audits of whole lives where no noise
hides them (`test_audit_lives`), else by lives on symbols: noise of a count that is too small by
half, a missing outcome that counts as the mean of its block, an answer that counts twice, a dropped
arm's block that is released twice, a block that stays (`tests/live/test_live_lives`). A sampler
that draws at another scale than its name says is caught in `tests/privacy/test_privacy_source`.
"""

from __future__ import annotations

from typing import Any

import audit_mutants as mutants
import pytest

import discreet
from discreet.audit import Identifications, Runs, TrialRuns, attack, audit, candidates, lists
from discreet.audit._candidates import short_horizon
from discreet.live import Trial
from discreet.policies import AdaPKLUCB, AdaPUCB, ForgetLaplace, Policy
from discreet.privacy import ZCDP, GaussianDP, Pure, Renyi

SURE = 1.0 - 1e-6


def found(policy: Policy, transcripts: int = 150_000, **options: Any) -> Any:
    inputs = candidates(policy, horizon=options.pop("horizon", 8), feeding=False)
    return audit(policy, inputs=inputs, transcripts=transcripts, confidence=SURE, seed=1, **options)


@pytest.mark.parametrize(
    "release",
    [
        mutants.QuietLaplace(1.0, 0.8),
        mutants.QuietLaplace(1.0, 0.5),
        mutants.Unforgetting(1.0),
        mutants.FirstRaw(1.0),
        mutants.SharedNoise(1.0),
        mutants.HalfSampler(1.0),
        mutants.OneSided(1.0),
        mutants.Evenly(1.0),
        mutants.DividedTwice(1.0),
        mutants.NothingToHide(1.0),
        mutants.Floored(1.0),
    ],
    ids=lambda release: f"{type(release).__name__} {getattr(release, 'factor', '')}",
)
def test_a_broken_release_is_caught(release: Any) -> None:
    mutant = mutants.with_release("adap-ucb", release, epsilon=1.0)
    assert mutant.guarantee == discreet.policy("adap-ucb", epsilon=1.0).guarantee
    result = found(mutant)
    assert result.is_violation, result
    assert result.verdict == "violation"
    assert result.epsilon_lower > 1.0
    assert result.proof.p > 2.7182818 * result.proof.q or (
        1 - result.proof.q > 2.7182818 * (1 - result.proof.p)
    )


@pytest.mark.parametrize("release", [mutants.ThirdRaw, mutants.WholeNoise, mutants.LongRaw])
def test_the_candidates_reach_third_arms_fractions_and_long_batches(release: Any) -> None:
    """By default: nobody tells the audit where to look."""
    mutant = mutants.with_release("adap-ucb", release(1.0), epsilon=1.0)
    result = audit(mutant, transcripts=120_000, confidence=SURE, seed=1)
    assert result.is_violation, result
    assert result.epsilon_lower > 4.0


@pytest.mark.parametrize("rule", [AdaPKLUCB(alpha=3.1), AdaPUCB(1.0)], ids=["klucb", "ucb"])
def test_a_composition_that_would_overclaim_is_caught_by_verification(rule: Any) -> None:
    """The tree refuses the batch that it has no leaves for: until then the claim holds, so the
    audit attacks what is released before, and finds nothing."""
    row = mutants.doubling_trees(1.0, rule)
    assert row.guarantee.budget == Pure(1.0)
    told = row.proved(horizon=16)
    assert told.holds is False
    assert "as many leaves as its levels hold" in str(told)
    assert short_horizon(row) == 8
    result = audit(row, transcripts=100_000, confidence=SURE, seed=1)
    assert not result.is_violation, result


def test_verification_does_not_vouch_for_a_sampler_that_it_does_not_know() -> None:
    for release in (mutants.HalfSampler(1.0), mutants.OneSided(1.0)):
        row = mutants.with_release("adap-ucb", release, epsilon=1.0)
        for live in (False, True):
            told = row.proved(live=live)
            assert told.holds is None
            assert "past the source of noise" in told.reason


def test_the_intact_release_is_not() -> None:
    result = found(mutants.with_release("adap-ucb", ForgetLaplace(1.0), epsilon=1.0))
    assert not result.is_violation
    assert result.verdict == "no violation found with 150,000 transcripts"


@pytest.mark.parametrize("budget", [GaussianDP(1.0), ZCDP(0.5), Renyi(2.0, 1.0)], ids=str)
@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_gaussian_noise_is_held_to_its_own_curve(budget: Any, factor: float) -> None:
    policy = mutants.quiet_gaussian(budget, factor)
    runs = Runs(policy, lists([0.0] + [1.0] * 7, [1.0] * 8, 2), decisions=2)
    result = attack([runs], policy.guarantee, transcripts=500_000, confidence=SURE, seed=1)
    assert result.is_violation == (factor < 1.0), result


def test_a_tree_whose_nodes_share_their_noise_is_caught() -> None:
    """Differences of prefixes with as many nodes have no noise at all."""
    result = found(mutants.with_release("dp-ucb", mutants.OneNoiseTree(1.0), epsilon=1.0))
    assert result.is_violation, result
    assert result.epsilon_lower > 4.0


@pytest.mark.parametrize(
    ("name", "release"), [("ldp-ucb-b", mutants.TooSure), ("ldp-ucb-ls", mutants.Unsquashed)]
)
def test_devices_that_say_too_much_are_caught(name: str, release: Any) -> None:
    mutant = mutants.with_release(name, release(1.0), epsilon=1.0)
    assert mutant.guarantee.budget == Pure(1.0)
    result = found(mutant)
    assert result.is_violation, result


def test_a_tree_without_the_noise_of_one_level_is_caught() -> None:
    result = found(mutants.with_release("dp-ucb", mutants.LeakyTree(1.0), epsilon=1.0))
    assert result.is_violation, result
    assert result.epsilon_lower > 2.0


@pytest.mark.parametrize(
    ("name", "release"), [("dp-ucb", mutants.LateRawTree), ("adap-ucb", mutants.LateRaw)]
)
def test_noise_that_is_missing_after_pull_2000_is_caught(name: str, release: Any) -> None:
    """Among those candidates of a long horizon that are soonest played; the audit finds it among
    all of them in seconds."""
    row = mutants.with_release(name, release(1.0), epsilon=1.0)
    inputs = [pair for pair in candidates(row, horizon=100_000) if 0 < pair.since < 16_000]
    assert len(inputs) >= 8
    result = audit(row, inputs=inputs, transcripts=2_400, confidence=SURE, seed=1)
    assert result.is_violation, result
    assert result.epsilon_lower > 2.0


def test_a_start_phase_that_is_too_short_is_caught() -> None:
    result = audit(mutants.hasty_leader(0.5, 1e-3), transcripts=200_000, confidence=SURE, seed=1)
    assert result.is_violation, result
    intact = discreet.policy("dp-ftpl-gauss", epsilon=0.5, delta=1e-3)
    result = audit(intact, transcripts=200_000, confidence=SURE, seed=1)
    assert not result.is_violation, result


def test_a_stopping_rule_that_reads_exact_means_is_caught() -> None:
    row = mutants.peeking_identifier(1.0)
    runs = Identifications(row, sees="answer", limit=64)
    result = attack([runs], row.guarantee, transcripts=20_000, confidence=SURE, seed=1)
    assert result.is_violation, result
    assert result.proof is not None
    assert "stopping time" in result.proof.event or "releases" in result.proof.event


@pytest.mark.parametrize("kind", [Trial, mutants.RedrawingTrial])
def test_a_trial_that_redraws_after_a_reload_is_caught(kind: type[Trial]) -> None:
    """Live noise has no seed: the mean of eight draws of one batch is 4 standard deviations apart
    on the two inputs, so that 400 tested transcripts per side do not miss it."""
    files = mutants.Reloaded(kind)
    row = discreet.policy("adap-klucb", epsilon=2.0)
    runs = TrialRuns(row, (0.0,), (1.0,), make=files.make, between=files.reload, repeats=7)
    result = attack([runs], row.guarantee, transcripts=1_600, confidence=SURE, seed=1)
    assert result.is_violation == (kind is mutants.RedrawingTrial), result
