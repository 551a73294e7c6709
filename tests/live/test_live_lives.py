"""Live trials verified by paired lives, and bugs in what a trial makes of a release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import discreet
from discreet._compiled import Function
from discreet.errors import InvalidArgument
from discreet.live import _lives as lives
from discreet.live._lives import LIVES, Life, play, verify_lives
from discreet.live._pairs import PairRun
from discreet.live._stream_run import StreamRun
from discreet.policies import (
    UCB1,
    Doubling,
    EachRound,
    ForgetLaplace,
    Geometric,
    Policy,
    RememberLaplace,
)
from discreet.policies._private_kl import DPIMED
from discreet.policies._view import View
from discreet.policies.releases import _pairs as pairs
from discreet.policies.releases._base import noise
from discreet.privacy.verification import main_number
from discreet.protocol._state import WAITING

ROWS: list[tuple[str, dict[str, Any], float | None]] = [
    ("dp-imed", {"epsilon": 1.0}, 1.0),
    ("adap-klucb", {"epsilon": 1.0}, 1.0),
    ("gauss-imed", {"rho": 0.5}, 0.5),
    ("dp-ucb", {"epsilon": 1.0}, None),
    ("dp-ts", {"epsilon": 1.0}, None),
    ("dp-se", {"epsilon": 1.0}, None),
    ("race", {"epsilon": 1.0}, None),
    ("evidence-tt", {"epsilon": 1.0}, None),
]


@pytest.mark.parametrize(("name", "budget", "spent"), ROWS, ids=lambda value: str(value))
def test_no_life_of_the_catalogue_costs_more_than_claimed(
    name: str, budget: dict[str, Any], spent: float | None
) -> None:
    found = verify_lives(discreet.policy(name, **budget), participants=9)
    assert found.holds, str(found)
    assert len(found.kinds) >= 6
    assert found.blocks > 0
    assert found.pairs > 100
    if spent is not None:
        assert main_number(found.computed) == pytest.approx(spent)


def test_epochs_lead_lives_too() -> None:
    options = {"trend": True, "window": 6}
    life = Life("epochs", {"deadline": 3.0, "missing": 0.25, **options}, None, lives._finish)
    found = verify_lives(discreet.policy("dp-imed", epsilon=1.0), participants=14, lives=[life])
    assert found.holds, str(found)
    assert found.blocks > 0


def test_local_responses_are_verified_elsewhere() -> None:
    with pytest.raises(InvalidArgument, match="have a curator"):
        verify_lives(discreet.policy("ldp-ucb-b", epsilon=1.0))


def test_every_way_in_which_a_block_can_end_publishes_it_once() -> None:
    for name, budget, _ in ROWS:
        row = discreet.policy(name, **budget)
        for life in LIVES:
            try:
                shown = play(row, 3, life, lives.answers(row, 12, life))
            except InvalidArgument:
                continue
            assert len(set(shown.published)) == len(shown.published), (name, life.name)
            draws = len([kind for kind in shown.kinds if kind.law != "reward"])
            each = 2 if life.options.get("missing") == "estimate" else 1
            if name in ("dp-imed", "adap-klucb", "gauss-imed"):
                assert draws == each * len(shown.published), (name, life.name)


# --- planted bugs -------------------------------------------------------------------------------


def found_in(name: str, *kinds: str) -> lives.Lives:
    """What lives of these kinds say of a policy of the catalogue."""
    told = [life for life in LIVES if any(kind in life.name for kind in kinds)]
    assert told
    return verify_lives(discreet.policy(name, epsilon=1.0), 2, participants=12, lives=told)


def test_without_a_bug_these_lives_cost_what_is_claimed() -> None:
    for name in ("dp-imed", "adap-klucb"):
        found = found_in(name, "everybody", "estimated", "value", "dropped")
        assert found.holds, str(found)


def test_noise_of_a_count_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pairs.laplace_pair

    def quiet(*arguments: Any, **options: Any) -> pairs.PairScale:
        scale = real(*arguments, **options)
        return scale._replace(answers=scale.answers / 2.0)

    monkeypatch.setattr("discreet.policies.releases._remembering.laplace_pair", quiet)
    found = found_in("dp-imed", "estimated")
    assert not found.holds
    assert main_number(found.computed) == pytest.approx(1.5)
    assert "estimated" in found.worst


def test_a_record_of_raw_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        real(self, actions, outcomes)
        if self.history is not None and self.history[self.arm]:
            self.history[self.arm][-1][1] = float(outcomes[0])

    monkeypatch.setattr(StreamRun, "publish", publish)
    found = found_in("adap-klucb", "everybody")
    assert not found.holds
    assert main_number(found.computed) == math.inf


def test_a_course_of_raw_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    real_publish, real_course = StreamRun.publish, StreamRun.course_after

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        real_publish(self, actions, outcomes)
        self.raw = outcomes[0]

    def course_after(self: Any, course: Any, seen: Any) -> Any:
        after = real_course(self, course, seen)
        if after is not None:
            after[-1][3] = float(self.raw)
        return after

    monkeypatch.setattr(StreamRun, "publish", publish)
    monkeypatch.setattr(StreamRun, "course_after", course_after)
    assert not found_in("adap-klucb", "everybody").holds


def test_missing_outcomes_that_count_as_the_mean_of_their_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One outcome then counts for those that are missing too."""

    def completed(self: Any, block: Any, default: int | None) -> tuple[int, int]:
        known = list(block.outcomes.values())
        mean, places = sum(known) // len(known) if known else 0, len(block.places)
        return int(sum(block.outcomes.get(slot, mean) for slot in range(places))), places

    monkeypatch.setattr(StreamRun, "completed", completed)
    found = found_in("adap-klucb", "value")
    assert not found.holds
    assert main_number(found.computed) >= 2.0


def test_an_answer_that_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = PairRun.completed

    def completed(self: Any, block: Any, default: int | None) -> Any:
        total, answers = real(self, block, default)
        first = block.outcomes.get(0)
        return (total, answers) if first is None else (total + first, answers + 1)

    monkeypatch.setattr(PairRun, "completed", completed)
    found = found_in("dp-imed", "estimated")
    assert main_number(found.computed) == pytest.approx(2.0)


def test_the_block_of_a_dropped_arm_that_is_released_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        real(self, actions, outcomes)
        if not self.head.active[self.arm]:
            row = discreet.policy("dp-imed", epsilon=1.0)
            again = row.release.publish_kernel(lives.symbols()).interpreted()
            again(
                self.release, self.ledger, self.view, self.arm, len(actions), outcomes[0],
                self.noise,
            )  # fmt: skip

    monkeypatch.setattr(StreamRun, "publish", publish)
    found = found_in("dp-imed", "dropped, nobody")
    assert main_number(found.computed) == pytest.approx(2.0)


def test_a_block_that_stays_after_its_release(monkeypatch: pytest.MonkeyPatch) -> None:
    real = StreamRun.publish

    def publish(self: Any, actions: Any, outcomes: Any) -> None:
        before = self.head.released.copy()
        real(self, actions, outcomes)
        self.head = self.head._replace(released=before)  # it is due again
        self.head.at[WAITING] += 1
        self.steps.hasten(self.design, self.head)

    monkeypatch.setattr(StreamRun, "publish", publish)
    with pytest.raises((AssertionError, KeyError, discreet.errors.DiscreetError)):
        assert found_in("adap-klucb", "everybody").holds


def test_a_release_that_waits_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether somebody has answered moves when a block is released, and so who gets which arm."""
    real: Callable[..., Any] = StreamRun.next_due

    def next_due(self: Any, blocks: Any, terms: Any, now: float) -> Any:
        found = real(self, blocks, terms, now)
        if found is not None and not blocks[found.key].outcomes:
            return None
        return found

    monkeypatch.setattr(StreamRun, "next_due", next_due)
    assert not found_in("dp-imed", "estimated").holds


# --- policies of one's own ----------------------------------------------------------------------


def publish_twice_as_quiet(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(0.5 * release.scale, rng)
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class Quiet(ForgetLaplace):
    """Half of the noise that is paid for."""

    publish: ClassVar[Function] = staticmethod(publish_twice_as_quiet)


def publish_and_peek(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(release.scale, rng) if total * total >= 0.0 else 0.0
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class Opaque(ForgetLaplace):
    """Does what no symbol can follow."""

    publish: ClassVar[Function] = staticmethod(publish_and_peek)


def test_a_trial_refuses_a_policy_that_is_refuted() -> None:
    row = Policy("bug", Doubling(), Quiet(1.0), UCB1())
    with pytest.raises(InvalidArgument, match="keep its guarantee: ε = 2 in place of ε = 1"):
        discreet.Trial(row, 2)
    discreet.Rehearsal(row, 2, seed=1)  # which protects nobody


def test_what_was_not_verified_is_a_numbered_condition(tmp_path: Path) -> None:
    row, path = Policy("mine", Doubling(), Opaque(1.0), UCB1()), tmp_path / "trial.db"
    with discreet.Trial(row, 2, path=path) as trial:
        promised = str(trial.guarantee)
        assert "(1) the policy keeps its claim, which was not verified: " in promised
        trial.assign("x")
    with discreet.Trial.load(path, row) as again:
        assert str(again.guarantee) == promised
        assert again.report()["guarantee"] == promised


def test_composed_policies_that_are_proved_have_no_condition_more() -> None:
    for row in (
        Policy("mine", Geometric(2.0, 3), ForgetLaplace(1.0), DPIMED()),
        Policy("mine", Doubling(), RememberLaplace(1.0), UCB1()),
    ):
        trial = discreet.Trial(row, 2, horizon=200)
        assert not any("verified" in text for text in trial.guarantee.conditions)
    known = discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), 2)
    assert not any("verified" in text for text in known.guarantee.conditions)


@dataclass(frozen=True)
class Growing(ForgetLaplace):
    """Pays for fewer numbers than there are: what a reward costs grows with the horizon."""

    def touches(self, schedule: Any, horizon: int) -> int:
        return max(1, horizon.bit_length() - 1)

    def scale(self, schedule: Any, horizon: int | None, source: Any) -> float:
        return float(source.laplace_scale(self.epsilon))


def test_the_printed_guarantee_is_that_of_the_trial_s_horizon() -> None:
    row = Policy("mine", EachRound(), Growing(0.1), UCB1())
    assert main_number(row.guarantee_at(1 << 20).budget) == pytest.approx(2.0)
    assert main_number(row.guarantee_at(1 << 40).budget) == pytest.approx(4.0)
    with pytest.raises(InvalidArgument, match="horizon must be given for mine"):
        discreet.Trial(row, 2)
    trial = discreet.Trial(row, 2, horizon=1 << 40)
    assert main_number(trial.guarantee.budget) == pytest.approx(4.0)
    assert "ε = 4" in str(trial.guarantee)


def test_a_catalogue_policy_with_another_part_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    known = discreet.policy("adap-ucb", epsilon=1.0)
    changed = replace(known, release=Quiet(1.0))
    assert changed.recipe
    with pytest.raises(InvalidArgument, match="keep its guarantee"):
        discreet.Trial(changed, 2)
