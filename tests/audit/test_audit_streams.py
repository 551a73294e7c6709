"""The adversary as the world of the protocol; the loop of audits is a shortcut of it."""

from __future__ import annotations

from typing import Any

import audit_mutants as mutants
import numpy as np
import pytest

import discreet
from discreet.audit import Adversary, Echo, Runs, Streams, audit, lists
from discreet.audit import _streams as streams
from discreet.audit import _transcripts as transcripts
from discreet.audit._candidates import walk
from discreet.errors import InvalidArgument
from discreet.policies import CATALOGUE, Policy

SURE = 1.0 - 1e-6
ROUNDS, LONG, TRANSCRIPTS = 12, 4096, 4


def adversaries(rounds: int) -> dict[str, Adversary]:
    first = ([0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1] * rounds)[:rounds]
    second = [1, *first[1:]]
    return {
        "lists": lists(first, second, arms=2),
        "forced": lists(first, second, arms=2, forced=[0, 1] * (rounds // 2)),
        "echo": Echo(1, arms=2, horizon=rounds),
    }


ADVERSARIES = adversaries(ROUNDS)


@pytest.fixture
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (streams, transcripts):
        monkeypatch.setattr(
            module, "linked_for", lambda policy, adversary, kernel, arguments: kernel.interpreted()
        )


def coins(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def is_played(policy: Any) -> bool:
    return isinstance(policy, Policy) and policy.kind == "finite" and policy.guarantee.is_private


PRIVATE = [name for name in CATALOGUE if is_played(CATALOGUE[name].example())]


@pytest.mark.usefixtures("_interpreted")
@pytest.mark.parametrize("against", ADVERSARIES)
@pytest.mark.parametrize("name", PRIVATE)
def test_the_loop_of_audits_is_the_protocol_bit_by_bit(name: str, against: str) -> None:
    """Same coins, same releases, whoever chooses the arms."""
    policy = CATALOGUE[name].example()
    adversary = adversaries(ROUNDS if walk(policy, 2, ROUNDS) else LONG)[against]
    with np.errstate(all="ignore"):
        by_loop = Runs(policy, adversary, decisions=12).sample(1, TRANSCRIPTS, coins(7))
        by_steps = Streams(policy, adversary, plan="one batch").sample(1, TRANSCRIPTS, coins(7))
    assert np.array_equal(by_loop.numbers, by_steps.numbers, equal_nan=True)
    assert (by_steps.numbers != transcripts.ABSENT).any()


@pytest.mark.usefixtures("_interpreted")
def test_blocks_of_both_arms_wait_together() -> None:
    """Arm by arm at first, though nothing is released: in single batches no one would come."""
    policy = discreet.policy("dp-imed", epsilon=1.0, first=3)
    runs = Streams(policy, ADVERSARIES["lists"], late=20)
    assert runs.plan == "index"
    seen = runs.sample(0, 1, coins(1))
    arms = np.base_repr(int(seen.codes[0]), 3)[:6]
    assert {"1", "2"} == set(arms)
    assert (seen.numbers != transcripts.ABSENT).sum() >= 2


def test_a_mistake_in_streams_is_caught() -> None:
    """Noise of .5 where 1 is claimed, in blocks that wait together; what is right is not accused.
    Confidence 1 - 1e-6 each."""
    right = discreet.policy("adap-ucb", epsilon=1.0)
    wrong = mutants.with_release("adap-ucb", mutants.QuietLaplace(1.0, 0.5), epsilon=1.0)
    inputs = [ADVERSARIES["lists"]]
    told: dict[str, Any] = {"transcripts": 200_000, "confidence": SURE, "seed": 1, "late": 3}
    assert audit(wrong, inputs=inputs, **told).is_violation
    found = audit(right, inputs=inputs, **told)
    assert not found.is_violation
    assert found.epsilon_lower > 0.7


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"late": -1}, "late"),
        ({"window": 0}, "window"),
        ({"plan": "top two"}, "plan"),
        ({"sees": "all"}, "sees"),
        ({"adversary": ADVERSARIES["forced"]}, "adversary"),
        ({"adversary": lists([0] * 5000, [1] + [0] * 4999, arms=2)}, "adversary"),
    ],
)
def test_refusals(given: dict[str, Any], argument: str) -> None:
    told = {"adversary": ADVERSARIES["lists"], **given}
    with pytest.raises(InvalidArgument, match=argument):
        Streams(discreet.policy("dp-imed", epsilon=1.0), **told)


def test_live_trials_are_late_by_themselves() -> None:
    policy = discreet.policy("dp-imed", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="late must be left out for live trials"):
        audit(policy, live=True, late=3, transcripts=100)
