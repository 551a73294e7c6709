"""Audits of policies: the worst neighbouring inputs are looked for, then tested.

>>> import discreet
>>> from discreet.audit import audit
>>> result = audit(discreet.policy("adap-ucb", epsilon=1.0), transcripts=400_000, seed=1)
>>> result.is_violation, result.epsilon_lower > 0.8
(False, True)

What is searched: `candidates`, and `streams` for linear policies. Instantaneous claims are audited
choice by choice, given histories. With `live`, whole lives of live trials are attacked instead
(`lives`), whose noise is real and has no seed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._checks import count, one_of
from ..errors import InvalidArgument
from ..linear._row import LinearPolicy
from ..policies import Policy
from ..privacy._guarantees import Definition, Guarantee
from ._adversaries import Adversary
from ._attack import attack
from ._candidates import candidates, histories
from ._contexts import streams
from ._lives import life_runs
from ._result import Audit
from ._streams import Streams, can_stream
from ._transcripts import Runs, Subject


def audit(
    policy: Policy | LinearPolicy,
    *,
    inputs: Sequence[Adversary] | None = None,
    live: bool = False,
    sees: str | None = None,
    contributions: int = 1,
    arms: int | None = None,
    horizon: int | None = None,
    decisions: int | None = None,
    late: int | None = None,
    delta: float | None = None,
    confidence: float = 0.99,
    transcripts: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Attack the guarantee of a policy, for so many transcripts or seconds.

    `inputs` are adversaries to use instead of the search; `contributions` how many outcomes of one
    user change together; `sees` is "releases" (all that is public) or "actions". `arms`, `horizon`
    and `decisions` fix what the search varies otherwise. Instantaneous claims take `arms` alone of
    these: one choice is all that is seen. `live` attacks live trials of 2 arms and 8 participants,
    or `arms` and `horizon`, by all that they report.

    Args:
        policy: The policy, linear ones included.
        inputs: Adversaries to use instead of the search.
        live: Attack whole live trials of 2 arms and 8 participants, by all that they
            report.
        sees: "releases" (all that is public) or "actions".
        contributions: How many outcomes of one participant change together.
        arms: Number of arms; default: varied.
        horizon: Rounds of a transcript; default: varied.
        decisions: Decisions of a transcript, at most; default: varied.
        late: Play the policy as a trial does: a block is released that many participants
            after its last.
        delta: The δ to bound ε at; default: that of the claim.
        confidence: Probability with which the bound holds.
        transcripts: How many transcripts, instead of a time.
        seconds: How long, without compilation.
        seed: Random seed, for reproducible results.
        progress: Show a bar; default: on a terminal.

    Returns:
        The audit: a lower bound on ε, and what proves it.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> policy = discreet.policy('adap-ucb', epsilon=1.0)
        >>> found = discreet.audit(policy, transcripts=20_000, seed=1, progress=False)
        >>> found.is_violation
        False
    """
    subjects: Sequence[Subject]
    guarantee = _checked(policy, contributions, arms, horizon, decisions, sees)
    given = {"inputs": inputs, "sees": sees, "decisions": decisions, "late": late}
    if live:
        more = {"contributions": None if contributions == 1 else contributions}
        for argument, value in (given | more).items():
            if value is not None:
                raise InvalidArgument(
                    argument, "be left out for live trials, which show all that they report", value,
                    "leave it out, or leave out live",
                )  # fmt: skip
        if not isinstance(policy, Policy):
            raise InvalidArgument(
                "live", f"be left out for the linear policy {policy.name}", live,
                "leave it out: lives are those of trials with finite arms",
            )  # fmt: skip
        runs = life_runs(policy, arms, horizon)
        subjects, guarantee = runs, policy.guarantee_at(runs[0].participants)
    elif isinstance(policy, LinearPolicy):
        for argument, value in (given | {"arms": arms}).items():
            if value is not None:
                raise InvalidArgument(
                    argument, f"be left out for the linear policy {policy.name}", value,
                    "its streams are fixed: see discreet.audit.LinearRuns",
                )  # fmt: skip
        subjects = streams(policy, horizon)
    elif guarantee.definition is Definition.INSTANTANEOUS:
        more = {"horizon": horizon, "contributions": None if contributions == 1 else contributions}
        for argument, value in (given | more).items():
            if value is not None:
                raise InvalidArgument(
                    argument, f"be left out for {policy.name}, whose claim is instantaneous", value,
                    "its inputs are histories: attack([Choices(policy, pulls, successes)], ...)",
                )  # fmt: skip
        subjects = histories(policy, arms or 2)
    else:
        adversaries = inputs
        if adversaries is None:
            adversaries = candidates(policy, arms, horizon, contributions, decisions=decisions)
            if late is not None:
                adversaries = [each for each in adversaries if can_stream(each)]
        for adversary in adversaries:
            if adversary.unit > guarantee.unit:
                raise InvalidArgument(
                    "inputs", f"differ in at most {guarantee.unit} outcomes", adversary.unit,
                    "raise contributions: the claim is then that for a user with so many",
                )  # fmt: skip
        if not adversaries:
            raise InvalidArgument("inputs", "hold at least one adversary", inputs, "add one")
        if late is None:
            subjects = [
                Runs(policy, adversary, sees or "releases", decisions) for adversary in adversaries
            ]
        else:
            subjects = [
                Streams(policy, adversary, late, sees=sees or "releases")
                for adversary in adversaries
            ]
    return attack(
        subjects, guarantee, name=policy.name, delta=delta, confidence=confidence,
        transcripts=transcripts, seconds=seconds, seed=seed, progress=progress,
    )  # fmt: skip


def _checked(
    policy: object, contributions: int, arms: int | None, horizon: int | None,
    decisions: int | None, sees: str | None,
) -> Guarantee:  # fmt: skip
    """The claim to attack; whatever is wrong is refused before anything is compiled."""
    if not isinstance(policy, Policy | LinearPolicy):
        fix = (
            "pass discreet.policy(name, epsilon=1.0), or attack([subject], claim) for anything else"
        )
        if isinstance(policy, str):
            fix = f"pass discreet.policy({policy!r}, epsilon=1.0), say, and not its name alone"
        raise InvalidArgument("policy", "be a policy", policy, fix)
    guarantee = policy.guarantee
    if not guarantee.is_private:
        raise InvalidArgument(
            "policy", "be private", policy.name, "it promises nothing that could be attacked"
        )
    count("contributions", contributions, fix="use 1, or the outcomes of one user")
    if contributions > 1 and isinstance(policy, LinearPolicy):
        raise InvalidArgument(
            "contributions", f"be 1 for the linear policy {policy.name}", contributions,
            "leave it out: its streams differ in one participant",
        )  # fmt: skip
    least = 1 if isinstance(policy, LinearPolicy) else max(arms or 2, contributions)
    for argument, value, from_, fix in (
        ("arms", arms, 2, "arms=2"),
        ("decisions", decisions, 1, "decisions=12"),
        ("horizon", horizon, least, "horizon=8; every arm is played once"),
    ):
        if value is not None:
            count(argument, value, least=from_, fix=f"leave it out, or use {fix}")
    if sees is not None:
        one_of("sees", sees, "releases", "actions")
    return guarantee if contributions == 1 else guarantee.for_user(contributions)
