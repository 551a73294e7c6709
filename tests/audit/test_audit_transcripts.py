"""Transcripts: the same as the simulator's loop, and as a naive twin; adversaries; bad input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import discreet
from discreet.audit import Adversary, Choices, Echo, Runs, Tables, attack, audit, lists
from discreet.audit.result import VIOLATION
from discreet.live import Rehearsal
from discreet.privacy import Pure


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def decoded(code: int, arms: int, digits: int) -> list[int]:
    found = []
    for _ in range(digits):
        found.append(code % (arms + 1) - 1)
        code //= arms + 1
    return found[::-1]


@pytest.mark.parametrize("name", ["adap-ucb", "dp-imed", "dp-ucb", "ldp-ucb-b"])
def test_a_transcript_is_a_rehearsal_from_the_same_generator(name: str) -> None:
    row = discreet.policy(name, epsilon=1.0)
    rewards = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]
    runs = Runs(row, lists(rewards, [1.0, *rewards[1:]], 2))
    rehearsal = Rehearsal(row, 2, horizon=8, seed=3)
    rehearsal._rng.bit_generator.state = np.random.PCG64(5).state
    seen = runs.sample(0, 1, np.random.Generator(np.random.PCG64(5)))
    arms, sums, t = [], [], 0
    # the rehearsal drew its first choice with another generator, which decides nothing
    while t < 8:
        arm, rounds = rehearsal.select(), rehearsal.remaining
        arms.append(arm)
        before = sum(rehearsal._protocol.releases)
        rehearsal.update_many(arm, rewards[t : t + rounds])
        if sum(rehearsal._protocol.releases) > before:
            view = rehearsal._protocol.view
            sums.append([view.value[a] * view.size[a] for a in range(2)])
        t += rounds
    played = [arm for arm in decoded(int(seen.codes[0]), 2, runs.digits) if arm >= 0]
    assert played == arms[: len(played)]
    assert len(played) == min(len(arms), runs.digits)
    numbers = seen.numbers[0, : 2 * runs.decisions].reshape(-1, 2)
    assert np.allclose(numbers[: len(sums)], sums, rtol=1e-12)
    assert not numbers[len(sums) :].any()


def test_every_transcript_starts_afresh() -> None:
    row = discreet.policy("dp-ucb", epsilon=1.0)
    runs = Runs(row, lists([0.0] * 8, [1.0] + [0.0] * 7, 2))
    many = runs.sample(0, 4000, generator())
    # of arm 0 the first release is one Laplace draw of scale 4: none of an earlier transcript
    first = many.numbers[:, 0]
    assert abs(np.mean(np.abs(first)) - 4.0) < 6 * 4.0 / np.sqrt(4000)
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 6 / np.sqrt(4000)


def test_sides_get_their_own_rewards() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    runs = Runs(row, lists([0.0] + [1.0] * 7, [1.0] * 8, 2))
    means = [runs.sample(side, 20_000, generator()).numbers[:, 0].mean() for side in (0, 1)]
    assert abs(means[0]) < 0.07
    assert abs(means[1] - 1.0) < 0.07


def test_forced_arms_are_played() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] * 8, [1.0] + [0.0] * 7, 2, forced=[1] * 8)
    runs = Runs(row, pair)
    codes = set(runs.sample(0, 100, generator()).codes.tolist())
    assert len(codes) == 1
    assert [a for a in decoded(codes.pop(), 2, runs.digits) if a >= 0] == [1, 1, 1, 1]
    assert "plays arm 1" in runs.inputs


class Copied(NamedTuple):
    side: int


def feed_copied(state: Copied, view: Any, arm: int, rounds: int, t: int) -> float:
    return float(state.side) if t == 0 else 0.0


@dataclass(frozen=True)
class Own(Adversary):
    """An adversary as a user would write it."""

    arms: int = 2
    horizon: int = 8
    feed: ClassVar[Any] = staticmethod(feed_copied)

    def state(self, side: int) -> Copied:
        return Copied(side)

    def __str__(self) -> str:
        return "mine"


def test_own_and_feeding_adversaries() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    for adversary in (Own(), Echo(0, 2, 8)):
        result = audit(row, inputs=[adversary], transcripts=40_000, confidence=1 - 1e-6, seed=1)
        assert 0.7 < result.epsilon_lower <= 1.0
        assert result.inputs == str(adversary)


def test_a_group_of_two_outcomes_costs_more_than_one_and_keeps_its_claim() -> None:
    row = discreet.policy("adap-ucb", epsilon=0.5)
    pair = lists([0.0, 0.0] + [0.0] * 6, [1.0, 1.0] + [0.0] * 6, 2)
    with pytest.raises(discreet.InvalidArgument, match="at most 1 outcomes"):
        audit(row, inputs=[pair], transcripts=1000)
    result = audit(
        row, inputs=[pair], contributions=2, transcripts=200_000, confidence=1 - 1e-6, seed=1
    )
    assert result.claimed_epsilon == 1.0
    assert 0.55 < result.epsilon_lower <= 1.0


def test_actions_alone_tell_less() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] + [1.0] * 7, [1.0] * 8, 2)
    bounds = [
        audit(row, inputs=[pair], sees=sees, transcripts=60_000, seed=1).epsilon_lower
        for sees in ("actions", "releases")
    ]
    assert 0.05 < bounds[0] < bounds[1]


def test_seed_fixes_every_number() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] + [1.0] * 7, [1.0] * 8, 2)
    one, other = (audit(row, inputs=[pair], transcripts=10_000, seed=7) for _ in range(2))
    assert one.to_dict() == other.to_dict()


def test_time_limit_is_kept() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] + [1.0] * 7, [1.0] * 8, 2)
    audit(row, inputs=[pair], transcripts=200, seed=1)  # compiles
    result = audit(row, inputs=[pair], seconds=0.5, seed=1)
    assert result.tested > 0
    assert result.seconds < 10.0


def test_ctrl_c_leaves_what_was_tested() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] + [1.0] * 7, [1.0] * 8, 2)

    class Interrupted(Runs):
        calls: ClassVar[int] = 0

        def sample(self, side: int, count: int, rng: Any) -> Any:
            Interrupted.calls += 1
            if Interrupted.calls > 7:
                raise KeyboardInterrupt
            return super().sample(side, count, rng)

    subject = Interrupted(row, pair)
    result = attack([subject], row.guarantee, transcripts=400_000, seed=1)
    assert not result.complete
    assert 0 < result.tested < 200_000
    assert result.verdict != VIOLATION


def test_bad_input_is_refused() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] * 8, [1.0] + [0.0] * 7, 2)
    refused = [
        lambda: audit(discreet.policy("ucb1")),
        lambda: audit(row, inputs=[pair], transcripts=10),
        lambda: audit(row, inputs=[pair], transcripts=1000, seconds=1.0),
        lambda: audit(row, inputs=[pair], seconds=-1.0),
        lambda: audit(row, inputs=[pair], confidence=1.0),
        lambda: audit(row, inputs=[pair], sees="thoughts"),
        lambda: audit(row, inputs=[]),
        lambda: lists([0.0], [0.0], 2),
        lambda: lists([0.0], [1.0, 0.0], 2),
        lambda: lists([0.0], [2.0], 2),
        lambda: Tables(pair.first, pair.second, forced=(7,) * 8),
        lambda: Echo(9, 2, 8),
        lambda: Choices(row, (1, 1), (1, 1)),
        lambda: attack([], Pure(1.0)),
    ]
    for call in refused:
        with pytest.raises(discreet.InvalidArgument):
            call()
