"""Audits of policies: the worst neighbouring inputs are looked for, then tested.

>>> import discreet
>>> from discreet.audit import audit
>>> result = audit(discreet.policy("adap-ucb", epsilon=1.0), transcripts=200_000, seed=1)
>>> result.is_violation, result.epsilon_lower > 0.8
(False, True)

Candidates vary where in the stream the outcome changes, what all others are (extremes), whether an
adversary forces the arms or feeds the rewards, as far as the policy's definition of privacy covers
it. Instantaneous claims are audited choice by choice, given histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import InvalidArgument
from ..identify import Identifier
from ..policies import Policy
from ..policies.policy import served
from ..privacy.guarantees import Definition, Guarantee
from .adversaries import Adversary, Echo, lists
from .attack import attack
from .choices import Choices
from .identification import identifications
from .result import Audit
from .transcripts import Runs, Subject

LONGEST = 1 << 15
"""Horizons beyond this are not tried by themselves."""
EXTREME = 40.0
"""Stands for an unbounded reward: its sigmoid is 0 or 1 in double precision, nearly."""


def audit(
    policy: Policy,
    *,
    inputs: Sequence[Adversary] | None = None,
    sees: str | None = None,
    contributions: int = 1,
    arms: int = 2,
    horizon: int | None = None,
    delta: float | None = None,
    confidence: float = 0.99,
    transcripts: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Attack the guarantee of a policy, for so many transcripts or seconds.

    `inputs` are adversaries to use instead of the search; `contributions` how many outcomes of one
    user change together; `sees` is "releases" (all that is public) or "actions".
    """
    policy = served(
        policy, "an audit", Policy, "finite", "identify",
        fix="linear rows are attacked as live trials: see docs/audits.md",
    )  # fmt: skip
    guarantee = policy.guarantee
    if not guarantee.is_private:
        raise InvalidArgument(
            "policy", "be private", policy.name, "it promises nothing that could be attacked"
        )
    if contributions > 1:
        guarantee = guarantee.for_user(contributions)
    subjects: Sequence[Subject]
    if isinstance(policy, Identifier):
        subjects = [replace(each, sees=sees or "releases") for each in identifications(policy)]
    elif guarantee.definition is Definition.INSTANTANEOUS:
        if inputs is not None or contributions > 1:
            raise InvalidArgument(
                "inputs", "be left out for an instantaneous claim", policy.name,
                "its inputs are histories: attack([Choices(policy, pulls, successes)], ...)",
            )  # fmt: skip
        subjects = histories(policy, arms)
    else:
        adversaries = inputs
        if adversaries is None:
            adversaries = candidates(policy, arms, horizon, contributions)
        for adversary in adversaries:
            if adversary.unit > guarantee.unit:
                raise InvalidArgument(
                    "inputs", f"differ in at most {guarantee.unit} outcomes", adversary.unit,
                    "raise contributions: the claim is then that for a user with so many",
                )  # fmt: skip
        subjects = [Runs(policy, adversary, sees or "releases") for adversary in adversaries]
    return attack(
        subjects, guarantee, name=policy.name, delta=delta, confidence=confidence,
        transcripts=transcripts, seconds=seconds, seed=seed, progress=progress,
    )  # fmt: skip


def candidates(
    policy: Policy,
    arms: int = 2,
    horizon: int | None = None,
    contributions: int = 1,
    feeding: bool = True,
) -> list[Adversary]:
    """Neighbouring inputs that a policy must not tell apart."""
    rounds = short_horizon(policy, arms) if horizon is None else horizon
    low, high = policy.bounds or (-EXTREME, EXTREME)
    places = sorted({0, 1, 2, 3, arms, rounds // 4, rounds // 2})
    places = [place for place in places if place + contributions <= rounds]
    forced: list[tuple[int, ...]] = [()]
    if _covers(policy.guarantee, Definition.INTERACTIVE):
        forced += [(0,) * rounds, tuple(t % arms for t in range(rounds))]
    found: list[Adversary] = []
    for place in places:
        for rest in (low, high):
            changed = range(place, place + contributions)
            sides = [
                [value if t in changed else rest for t in range(rounds)] for value in (low, high)
            ]
            found += [lists(sides[0], sides[1], arms, plan, policy.bounds) for plan in forced]
    if feeding and contributions == 1 and _covers(policy.guarantee, Definition.ADAPTIVE):
        found += [Echo(place, arms, rounds, low, high) for place in places[:3]]
    return found


def _covers(guarantee: Guarantee, definition: Definition) -> bool:
    return guarantee.implies(replace(guarantee, definition=definition))


def short_horizon(policy: Policy, arms: int = 2) -> int:
    """The shortest power of two in which a few batches are released: 3 an arm, or 1 an arm if
    batches are long."""
    import numpy as np

    rounds = 8
    while rounds <= LONGEST:
        low, high = policy.bounds or (-EXTREME, EXTREME)
        pair = lists([low, *[high] * (rounds - 1)], [high] * rounds, arms, bounds=policy.bounds)
        runs = Runs(policy, pair, decisions=4 * arms)
        codes, sums = np.zeros(1, np.int64), np.zeros((1, runs.decisions, arms))
        runs.fill(0, codes, sums, np.random.Generator(np.random.SFC64(1)))
        released = int((sums != 0.0).any(axis=2).sum())
        if released >= 3 * arms or (rounds >= 2048 and released >= arms):
            return rounds
        rounds *= 2
    raise InvalidArgument(
        "horizon", f"be given: {policy.name} releases nothing within {LONGEST} rounds", None,
        "pass the horizon that it is meant for",
    )  # fmt: skip


def histories(policy: Policy, arms: int = 2) -> list[Choices]:
    """Histories after which one success more must not show: few pulls of one arm, extreme others.

    The others are known so well, or so badly, that what they draw hides arm 0 least.
    """
    setting = policy.setting(arms, 1000)
    start = int(getattr(policy.rule.parameters(setting), "start", 1))
    found = []
    for own in sorted({0, (start - 1) // 2, start - 1}):
        for others in (start, 64 * start + 1000):
            for success in (0.0, 0.5, 1.0):
                found.append(
                    Choices(
                        policy,
                        (start, *[others] * (arms - 1)),
                        (own, *[round(success * others)] * (arms - 1)),
                        max(1000, 2 * arms * others),
                    )
                )
    return found
