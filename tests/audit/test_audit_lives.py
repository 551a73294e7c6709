"""Audits of whole live trials: what is planted is found, what is intact is not.

Confidence 1 - 1e-6 each: that an intact trial is called a violation has at most that probability.
Live noise has no seed. But a bug here shows a number that no noise hides, in every transcript: in
36 runs the bound was 1.6 to 2.0 at 100 tested transcripts a side, where 0.5 is asked for.
"""

from __future__ import annotations

import json
from typing import Any

import live_mutants
import pytest
from typer.testing import CliRunner

import discreet
from discreet.audit import LifeRuns, attack, audit, life_runs
from discreet.audit._lives import PLANNED, Seen
from discreet.audit._transcripts import ABSENT
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.live import Trial
from discreet.live._lives import LIVES, verify_lives

SURE = 1.0 - 1e-6
EPSILON = 0.25
GAUSSIAN = ("adac-ucb", "dp-ucb-int")


def attacked(name: str, kind: str, silence: bool, transcripts: int = 500) -> Any:
    row = discreet.policy(name, epsilon=EPSILON)
    lives = [life for life in LIVES if kind in life.name]
    every = life_runs(row, participants=6, lives=lives)
    runs = [each for each in every if (None in each.change) == silence]
    claim = row.guarantee_at(6)
    return attack(runs, claim, name=name, transcripts=transcripts, confidence=SURE, seed=1)


@pytest.mark.parametrize("bug", live_mutants.AUDITED)
def test_what_no_noise_hides_is_caught_by_the_audit(
    bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, name, kind, silence = live_mutants.AUDITED[bug]
    plant(monkeypatch)
    result = attacked(name, kind, silence)
    assert result.is_violation, result
    assert result.epsilon_lower > 2 * EPSILON
    assert kind in result.inputs


@pytest.mark.parametrize(
    ("name", "kind", "silence"), sorted({rest[1:] for rest in live_mutants.AUDITED.values()})
)
def test_the_intact_trials_are_not(name: str, kind: str, silence: bool) -> None:
    result = attacked(name, kind, silence, transcripts=300)
    assert not result.is_violation, result


def test_a_quiet_third_arm_is_caught_by_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """By lives with three arms on symbols: noise that is there is too much for few transcripts."""
    row = discreet.policy("adap-klucb", epsilon=1.0)
    everybody = [life for life in LIVES if "everybody" in life.name]
    assert verify_lives(row, 3, participants=9, lives=everybody).holds
    live_mutants.quiet_third_arm(monkeypatch)
    assert verify_lives(row, 2, participants=9, lives=everybody).holds
    found = verify_lives(row, 3, participants=9, lives=everybody)
    assert not found.holds
    assert found.computed.epsilon == pytest.approx(10.0)


# --- transcripts --------------------------------------------------------------------------------


def test_every_number_of_the_report_has_a_place() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    life = next(life for life in LIVES if "estimated" in life.name)
    runs = LifeRuns(row, life, 3, (1.0, None))
    seen = runs.sample(0, 3, None)  # type: ignore[arg-type]
    there = {name for place, name in enumerate(runs.places) if seen.numbers[0, place] != ABSENT}
    for entry in ("rounds", "assigned", "arms, 0, mean", "arms, 0, interval, 0",
                  "arms, all, mean × size", "arms, 1, answered", "arms, 1, bounds, 1",
                  "record, history, 0, 0, 1",
                  "course, 0, mean", "course, 0, time"):  # fmt: skip
        assert f"step 18, report, {entry}" in there, entry
    assert "step 1" in there  # the arm of the first participant
    assert not any(planned in name for name in runs.places for planned in PLANNED)


def test_numbers_and_words_are_taken_apart() -> None:
    seen = Seen({"a": [1, 2.5, None], "b": {"mean": 0.5, "size": 4}, "c": "word", "d": True})
    assert seen.numbers == {
        "a, 0": 1.0, "a, 1": 2.5, "b, mean": 0.5, "b, size": 4.0, "b, mean × size": 2.0, "d": 1.0,
    }  # fmt: skip
    assert seen.words == {"a, 2": "None", "c": "word"}
    assert Seen({"e": [[[1, 2.0], [3, 4.0]], [[5, 6.0]]]}).numbers == {
        "e, 0, 0, 0": 1.0, "e, 0, 0, 1": 2.0, "e, 0, 1, 0": 3.0, "e, 0, 1, 1": 4.0,
        "e, 1, 0, 0": 5.0, "e, 1, 0, 1": 6.0, "e, all, all, 0": 9.0, "e, all, all, 1": 12.0,
    }  # fmt: skip


def test_that_a_trial_fails_is_seen() -> None:
    class Failing(Trial):
        def record(self, *arguments: Any, **options: Any) -> Any:
            if arguments[1] == 1.0:
                raise ZeroDivisionError
            return super().record(*arguments, **options)

    row = discreet.policy("adap-klucb", epsilon=EPSILON)
    life = next(life for life in LIVES if "board" in life.name)
    runs = LifeRuns(row, life, 0, (0.0, 1.0), participants=2, make=Failing)
    first, second = (runs.sample(side, 20, None) for side in (0, 1))  # type: ignore[arg-type]
    assert runs.known[frozenset({("failure", "ZeroDivisionError")})] == second.codes[0]
    assert second.codes[0] not in first.codes


def test_lives_that_a_policy_cannot_lead_are_left_out() -> None:
    pairs = life_runs(discreet.policy("dp-imed", epsilon=1.0))
    trees = life_runs(discreet.policy("dp-ucb", epsilon=1.0))
    of_tests = {life.name for life in LIVES if life.options.get("rounded")}
    assert {runs.life.name for runs in pairs} == {life.name for life in LIVES} - of_tests
    assert not any("estimated" in runs.life.name for runs in trees)
    assert {None in runs.change for runs in trees} == {True, False}
    assert all(runs.arms == 2 and runs.participants == 8 for runs in pairs + trees)


@pytest.mark.parametrize(
    "name", ["adac-ucb", "dp-ucb-int", "ldp-ucb-bs", "dp-se", "race", "evidence-tt", "halving"]
)
def test_no_life_of_an_intact_trial_fails(name: str) -> None:
    """Else an attack would take the failure for what is public, and see nothing."""
    budget: dict[str, Any] = {"rho": 0.5} if name in GAUSSIAN else {"epsilon": 1.0}
    if name == "halving":
        budget |= {"goal": "identify", "participants": 64}
    for runs in life_runs(discreet.policy(name, **budget)):
        seen = runs.sample(1, 1, None)  # type: ignore[arg-type]
        assert not any(name == "failure" for words in runs.known for name, _ in words)
        assert (seen.numbers > ABSENT).sum() > 50


def test_what_is_refused() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="contributions must be left out for live trials"):
        audit(row, live=True, contributions=2)
    with pytest.raises(InvalidArgument, match="sees must be left out for live trials"):
        audit(row, live=True, sees="actions")
    with pytest.raises(InvalidArgument, match="live must be left out for the linear policy"):
        audit(discreet.policy("adac-oful", rho=0.5), live=True)
    with pytest.raises(InvalidArgument, match="private over the whole run"):
        audit(discreet.policy("dp-ftpl-new", epsilon=1.0), live=True)


# --- the command --------------------------------------------------------------------------------


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["audit", *arguments], prog_name="discreet")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_command_attacks_live_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.audit._lives.LIVES", LIVES[:1])
    asked = ("adap-klucb", "--epsilon", "0.25", "--live", "--horizon", "6", "--seed", "1")
    limits = ("--transcripts", "400", "--confidence", "0.999999", "--fail")
    intact = call(*asked, *limits, "--json")
    assert intact.exit_code == 0
    told = json.loads(intact.stdout)
    assert told["transcripts"] <= 400
    assert told["inputs"].startswith("a live trial of 6 participants, 2 arms (everybody answers)")
    live_mutants.exact_record(monkeypatch)
    broken = call(*asked, *limits)
    assert broken.exit_code == 1
    assert "violation" in broken.stdout.splitlines()[0]


def test_a_mechanism_of_your_own_has_no_live_trials() -> None:
    result = call("mine:release", "--epsilon", "1", "--live")
    assert result.exit_code == 2
    assert "live must be left out" in result.stderr
