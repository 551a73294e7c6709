"""Audits from counts: how often an event was seen, or how often an attacker was wrong.

Definition: an event E, fixed before counting, was hit h₀ and h₁ times in T₀ and T₁ runs on
neighbouring inputs. Then ε(δ) >= max{log((p₀-δ)/p₁), log((1-p₁-δ)/(1-p₀)), both with 0 and 1
exchanged}, numerators at lower limits, denominators at upper ones. Which input makes E likelier is
not known in advance, so there are four limits, each at a quarter of the error.

Game: an attacker falsely accused a fraction α of non-members and missed β of the members. Both
bounds fall in α and β, so two upper limits suffice, each at half of the error:
    ε(δ) >= max{log((1-δ-β)/α), log((1-δ-α)/β)},   μ >= Φ⁻¹(1-α) - Φ⁻¹(β).
One pair of limits bounds every δ, and μ, at once. μ is a bound on Gaussian DP (Nasr et al. 2023).

Bayes: with Jeffreys' priors the error rates are Beta(½ + wrong, ½ + right), and a quantile of
ε(δ) over them is a credible bound (Zanella-Béguelin et al. 2023). It is no confidence bound.

>>> round(from_hits((500, 100), 1000, confidence=0.95).epsilon_lower, 4)
1.3257
>>> found = from_errors((50, 300), 1000, confidence=0.95)
>>> round(found.epsilon_lower, 4), round(found.parameter[2], 4)
(2.3277, 1.9524)
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import numpy as np

from .._checks import check_seed, count, probability, share
from ..errors import InvalidArgument
from ..privacy._guarantees import Definition, Guarantee
from ..privacy.budgets import Budget, GaussianDP
from . import _limits as limits
from ._result import Audit, Proof

Claim = Guarantee | Budget | None
SHOWN_DELTAS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""The δ at which an audit's whole curve is shown."""


def from_hits(
    hits: tuple[int, int], runs: int | tuple[int, int], *, delta: float = 0.0,
    confidence: float = 0.95, claimed: Claim = None, event: str = "the event",
    name: str = "event counts",
) -> Audit:  # fmt: skip
    """What an event proves that was hit so often on two neighbouring inputs.

    The event must have been fixed before these runs; either input may be the likelier one.

    Args:
        hits: How often the event came, on each side.
        runs: Runs of each side.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.
        event: The event, in words.
        name: What the audit is called.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import from_hits
        >>> round(from_hits((10, 300), 1000).epsilon_lower, 2)
        2.61
    """
    hits, of = check_counts("hits", hits, runs)
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    bounds = [_event(hits, of, side, error / 4.0, delta) for side in (0, 1)]
    best, p, q, likelier = max(bounds)
    return audited(
        name, best, mu=float(limits.mu_bound(p, q)), claimed=claimed, delta=delta,
        confidence=confidence, runs=sum(of), inputs="two neighbouring inputs",
        by=Proof(event, likelier, p, q, hits, min(of)),
    )  # fmt: skip


def _event(
    hits: tuple[int, int], of: tuple[int, int], side: int, error: float, delta: float
) -> tuple[float, float, float, int]:
    p = float(limits.clopper_pearson_lower(hits[side], of[side], error))
    q = float(limits.clopper_pearson_upper(hits[1 - side], of[1 - side], error))
    return float(limits.epsilon_bound(p, q, delta)), p, q, side


def from_errors(
    errors: tuple[int, int], runs: int | tuple[int, int], *, delta: float = 0.0,
    confidence: float = 0.95, claimed: Claim = None, event: str = "the attacker's accusation",
    name: str = "membership game", played: int | None = None, inputs: str = "",
    seed: int = 0, seconds: float = 0.0,
) -> Audit:  # fmt: skip
    """What a game proves with so many false alarms among non-members and misses among members.

    The attacker's threshold must have been fixed before these rounds.

    Args:
        errors: False positives and false negatives that were counted.
        runs: Runs of each side.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.
        event: The event, in words.
        name: What the audit is called.
        played: Games that were played.
        inputs: The neighbouring inputs, in words.
        seed: Random seed, for reproducible results.
        seconds: How long it took.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import from_errors
        >>> round(from_errors((10, 700), 1000).epsilon_lower, 2)
        2.7
    """
    errors, of = check_counts("errors", errors, runs)
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    level = float(limits.clopper_pearson_upper(errors[0], of[0], error / 2.0))
    power = float(limits.clopper_pearson_lower(of[1] - errors[1], of[1], error / 2.0))
    return audited(
        name, float(limits.epsilon_bound(power, level, delta)),
        mu=float(limits.mu_bound(power, level)), claimed=claimed, delta=delta,
        confidence=confidence, runs=sum(of) if played is None else played, tested=sum(of),
        by=Proof(event, 1, power, level, (errors[0], of[1] - errors[1]), min(of)),
        inputs=inputs or "data sets without and with the target, which replaces another point",
        counted="rounds", seed=seed, seconds=seconds,
        curve={at: float(limits.epsilon_bound(power, level, at)) for at in SHOWN_DELTAS},
    )  # fmt: skip


def bayesian(
    errors: tuple[int, int], runs: int | tuple[int, int], *, delta: float = 0.0,
    confidence: float = 0.95, claimed: Claim = None, draws: int = 200_000, seed: int = 0,
) -> Audit:  # fmt: skip
    """The ε(δ) that is exceeded with posterior probability `confidence`: a credible bound.

    A quantile over draws of both error rates from their posteriors; the draws' own error is below
    sqrt(1/(4 draws)) in probability.

    Args:
        errors: False positives and false negatives that were counted.
        runs: Runs of each side.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.
        draws: Draws of the posterior.
        seed: Random seed, for reproducible results.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import bayesian
        >>> round(bayesian((10, 700), 1000).epsilon_lower, 1)
        2.9
    """
    errors, of = check_counts("errors", errors, runs)
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    rng = np.random.default_rng(check_seed(seed))
    level, miss = (
        rng.beta(0.5 + wrong, 0.5 + (trials - wrong), draws)
        for wrong, trials in zip(errors, of, strict=True)
    )
    epsilons = limits.epsilon_bound(1.0 - miss, level, delta)
    return audited(
        "membership game, Bayesian", float(np.quantile(epsilons, error)),
        mu=float(np.quantile(limits.mu_bound(1.0 - miss, level), error)), claimed=claimed,
        delta=delta, confidence=confidence, runs=sum(of), counted="rounds",
        inputs="Jeffreys' prior on both error rates; a credible bound, not a confidence bound",
    )  # fmt: skip


def audited(
    name: str, epsilon_lower: float, *, claimed: Claim, delta: float, confidence: float, runs: int,
    inputs: str, mu: float | None = None, by: Proof | None = None, tested: int | None = None,
    counted: str = "runs", seed: int = 0, seconds: float = 0.0,
    curve: dict[float, float] | None = None,
) -> Audit:  # fmt: skip
    """The one result type, with or without a claim to hold the bound against."""
    promise = guarantee_of(claimed)
    parameter = None
    if mu is not None:
        budget = promise.budget
        parameter = ("mu", budget.mu if isinstance(budget, GaussianDP) else float("inf"), mu)
    return Audit.of(
        name, promise, epsilon_lower, confidence=confidence, runs=runs, tested=tested,
        by=by, inputs=inputs, delta=delta, parameter=parameter,
        counted=counted, seed=seed, seconds=seconds, curve=curve,
    )  # fmt: skip


def guarantee_of(claimed: Claim) -> Guarantee:
    """A claim as a guarantee: none, or a budget over neighbours that differ in one record."""
    if claimed is None:
        return Guarantee.none()
    if isinstance(claimed, Guarantee):
        return claimed
    return Guarantee(claimed, Definition.VIEW)


def settled_delta(delta: object, claimed: Claim) -> float:
    """The δ to bound ε at: the one given, else the claim's own; bound and claim share one δ."""
    delta, promise = check_delta(delta), guarantee_of(claimed)
    return limits.delta_of(promise.budget, delta or None) if promise.is_private else delta


def check_counts(
    argument: str, counts: object, runs: object
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two counts, each of at most as many as its runs."""
    fix = f"give two whole numbers, for example {argument}=(50, 300)"
    first, second = _pair(argument, counts, fix)
    one, other = _pair("runs", (runs, runs) if isinstance(runs, Integral) else runs, "use 1000")
    of = count("runs", one, fix="use runs=1000"), count("runs", other, fix="use runs=1000")
    both = (
        count(argument, first, least=0, most=of[0], fix=fix),
        count(argument, second, least=0, most=of[1], fix=fix),
    )
    return both, of


def _pair(argument: str, values: object, fix: str) -> tuple[object, object]:
    pair: Iterable[object] = values if isinstance(values, Iterable) else ()
    try:
        first, second = pair
    except (TypeError, ValueError):
        raise InvalidArgument(argument, "be two whole numbers", values, fix) from None
    return first, second


def check_delta(delta: object) -> float:
    """δ in [0, 1)."""
    return probability("delta", delta, fix="use a value such as 1e-5")


def check_confidence(confidence: object) -> float:
    """A confidence strictly between 0 and 1."""
    return share("confidence", confidence, fix="use 0.95")
