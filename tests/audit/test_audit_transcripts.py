"""Transcripts: the same as the simulator's loop, and as a naive twin; adversaries; bad input."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import discreet
from discreet.audit import Adversary, Choices, Echo, Plain, Runs, Tables, attack, audit, lists
from discreet.audit._events import Partition
from discreet.audit._result import VIOLATION
from discreet.audit._transcripts import ABSENT, Transcripts
from discreet.live import Rehearsal
from discreet.privacy import ZCDP, Pure

work: Any = import_module("discreet.audit._attack")  # the package exports the function of that name


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
    arms: list[Any] = []
    sums: list[list[float]] = [[], []]
    t = 0
    # the rehearsal drew its first choice with another generator, which decides nothing
    while t < 8:
        arm, rounds = rehearsal.select(), rehearsal.remaining
        arms.append(arm)
        before = sum(rehearsal._run.releases)
        rehearsal.update_many(arm, rewards[t : t + rounds])
        if sum(rehearsal._run.releases) > before:
            view = rehearsal._run.view
            sums[int(arm)].append(view.value[arm] * view.size[arm])
        t += rounds
    played = [arm for arm in decoded(int(seen.codes[0]), 2, runs.digits) if arm >= 0]
    assert played == arms[: len(played)]
    assert len(played) == min(len(arms), runs.digits)
    numbers = seen.numbers[0].reshape(2, -1)
    for own, released in zip(numbers, sums, strict=True):
        assert np.allclose(own[: len(released)], released, rtol=1e-12)
        assert (own[len(released) :] == ABSENT).all()


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


class Slow:
    """A coin on either side whose first toss takes long, as if it were compiled."""

    names, codes = ("coin",), 1

    def __init__(self, inputs: str, chances: tuple[float, float], wait: float = 0.0) -> None:
        self.inputs, self.chances, self.wait = inputs, chances, wait

    def sample(self, side: int, count: int, rng: Any) -> Transcripts:
        time.sleep(self.wait)
        self.wait = 0.0
        tossed = (rng.random((count, 1)) < self.chances[side]).astype(float)
        return Transcripts(np.zeros(count, np.int64), tossed)


def test_time_counts_from_after_the_first_play_of_every_input() -> None:
    """Both inputs are searched though their first plays take as long as the audit may."""
    subjects = [Slow("blind", (0.5, 0.5), wait=1.0), Slow("leaky", (0.2, 0.8), wait=1.0)]
    result = attack(subjects, Pure(1.0), seconds=1.0, confidence=1 - 1e-6, seed=1)
    assert result.inputs == "leaky"
    assert result.tested >= 200
    assert result.epsilon_lower > 0.0


def test_the_clock_does_not_end_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many are tested as were planned before, though all of them turn out to be slow."""
    subject, planned = Slow("coin", (0.3, 0.4)), []
    real = work._Work._planned

    def recorded(own: Any) -> tuple[int, int]:
        left, block = real(own)
        planned.append(min(left, 2000))
        subject.wait = 0.3  # longer than the time that is left
        return planned[0], min(block, 500)

    monkeypatch.setattr(work._Work, "_planned", recorded)
    result = attack([subject], Pure(1.0), seconds=0.2, seed=1)
    assert result.tested == 2 * planned[0] >= 200
    assert result.complete


def test_what_was_learned_is_tested_though_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine search and learning may take all of it: a test of a few would be wasted."""
    subject, real = Slow("coin", (0.2, 0.8)), work._Work.learn

    def learn(own: Any, bar: Any) -> None:
        real(own, bar)
        own.limit.started -= 100.0

    monkeypatch.setattr(work._Work, "learn", learn)
    monkeypatch.setattr(work._Work, "_count", lambda own, share: 3000)
    result = attack([subject], Pure(2.0), seconds=0.2, seed=1)
    assert result.tested == 2 * 3000
    assert result.epsilon_lower > 1.0


@pytest.mark.parametrize("transcripts", [100, 500, 3000])
def test_few_transcripts_are_not_exceeded_and_a_good_part_is_tested(transcripts: int) -> None:
    subjects = [Slow(str(place), (0.1, 0.9)) for place in range(40)]
    result = attack(subjects, Pure(1.0), transcripts=transcripts, seed=1)
    assert result.transcripts <= transcripts
    assert 0.25 * transcripts < result.tested < transcripts
    assert result.is_violation or transcripts == 100  # too few to prove anything


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


@pytest.mark.parametrize("late", [5, 6, 7, 8, 9])
def test_ctrl_c_leaves_counts_that_belong_together(
    monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    """Wherever it comes, every tested transcript is in one part, on both sides."""
    calls, seen = 0, []
    counts, result_of = Partition.counts, work._Work.result

    def counted(own: Partition, transcripts: Transcripts) -> Any:
        nonlocal calls
        calls += 1
        if calls == late:
            raise KeyboardInterrupt
        return counts(own, transcripts)

    def kept(own: Any, *arguments: Any) -> Any:
        seen.append(own.counts)
        return result_of(own, *arguments)

    monkeypatch.setattr(Partition, "counts", counted)
    monkeypatch.setattr(work._Work, "result", kept)
    noise = Plain(lambda side, count, rng: side + rng.standard_normal((count, 1)))
    result = attack([noise], ZCDP(0.5), transcripts=800_000, seed=1)
    assert not result.complete
    assert seen[0].parts.sum(axis=1).tolist() == [seen[0].tested] * 2
    assert result.tested == 2 * seen[0].tested
    assert not result.is_violation


def test_bad_input_is_refused() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    pair = lists([0.0] * 8, [1.0] + [0.0] * 7, 2)
    refused: list[Callable[[], object]] = [
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
