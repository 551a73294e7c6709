"""Rights as a state machine: whatever is called in whatever order, in memory and in a file, what is
released is what the people in it have left there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from live_cases import Clock

import discreet
from discreet.errors import OverBudget, TrialError, UnknownUnit, Withdrawn
from discreet.live import Ledger, Trial
from discreet.live._randomness import SystemRandomness
from discreet.live._stream_run import StreamRun
from discreet.live.stores import MemoryStore
from discreet.live.stores import _database as database

DEADLINE, CAP, EPSILON = 10.0, 2.0, 0.9
UNITS = st.integers(0, 5).map(lambda number: f"person-{number:05}")
OUTCOMES = st.integers(0, 1 << 20)


class Rights(RuleBasedStateMachine):
    """A trial, and what it should do by a model of two dictionaries. The noise is 0."""

    IN_A_FILE = False

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock, self.sums, self.others = Clock(), list[tuple[str, int]](), list[Trial]()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(database, "SYNCHRONOUS", "OFF")
        self.patch.setattr("discreet.live.stores._witness.sync", lambda descriptor: None)
        self.patch.setattr("discreet.privacy._secure.laplace", lambda scale, rng: 0)
        coin = Random(1)
        self.patch.setattr(SystemRandomness, "below", lambda self, most: coin.randrange(most))
        self.patch.setattr(SystemRandomness, "random", lambda self: coin.random())
        publish, sums = StreamRun.publish, self.sums

        def watched(run: StreamRun, actions: Any, outcomes: Any) -> None:
            number = run.head.released[run.arm] + 1
            sums.append((f"{run.arm}-{number}", outcomes[0] if type(outcomes[0]) is int
                         else sum(outcomes[0])))  # fmt: skip
            publish(run, actions, outcomes)

        self.patch.setattr(StreamRun, "publish", watched)
        self.ledger = Ledger(Path(self.folder.name) / "budgets.db", cap=discreet.Pure(CAP))
        self.store: Any = MemoryStore()
        if self.IN_A_FILE:
            self.store = Path(self.folder.name) / "trial.db"
        self.trial = self.planned(self.store)
        self.places: dict[str, tuple[str, float]] = {}
        """the block of everybody, and when an outcome is late"""
        self.values: dict[str, int | None] = {}
        """the outcome that counts; None once somebody has withdrawn"""
        self.blocks: dict[str, list[str]] = {}
        self.gone: set[str] = set()
        self.paid = dict[str, int]()
        """how many trials have charged somebody"""
        self.checked = 0

    def planned(self, path: Any) -> Trial:
        return Trial(
            discreet.policy("dp-imed", epsilon=EPSILON, ratio=1.5, first=2), ["A", "B"],
            deadline=DEADLINE, missing=0.0, clock=self.clock, path=path,
            outcomes=discreet.Outcomes(
                range=(0, 1 << 20), corrections="deadline", conflicts="ignore"
            ),
            assignment=discreet.Assignment(ledger=self.ledger, window=2),
        )  # fmt: skip

    @rule(unit=UNITS)
    def assign(self, unit: str) -> None:
        known = unit in self.places
        try:
            self.trial.assign(unit)
        except Withdrawn:
            assert unit in self.gone
            assert not self.waits(unit)
            return
        except OverBudget:
            assert not known
            assert self.ledger.spent(unit)["epsilon"] > CAP - EPSILON
            return
        if not known:
            self.paid[unit] = self.paid.get(unit, 0) + 1
            member = self.member(unit)
            assert member is not None
            self.places[unit] = member.block, self.clock.now + DEADLINE
            self.blocks.setdefault(member.block, []).append(unit)

    def member(self, unit: str) -> Any:
        with self.trial._turn(), self.trial._store.held():
            self.trial._store.ready()
            return self.trial._store.member(unit)

    def waits(self, unit: str) -> bool:
        """Whether the block of a unit is not released."""
        return self.places[unit][0] not in {key for key, _ in self.sums}

    @rule(unit=UNITS, outcome=OUTCOMES)
    def record(self, unit: str, outcome: int) -> None:
        try:
            self.trial.record(unit, outcome)
        except UnknownUnit:
            assert unit not in self.places
            return
        if self.clock.now < self.places[unit][1]:
            self.values.setdefault(unit, outcome)

    @rule(unit=UNITS, outcome=OUTCOMES)
    def correct(self, unit: str, outcome: int) -> None:
        try:
            self.trial.correct(unit, outcome)
        except UnknownUnit:
            assert unit not in self.places
            return
        if self.clock.now < self.places[unit][1] and unit not in self.gone:
            self.values[unit] = outcome

    @rule(unit=UNITS)
    def withdraw(self, unit: str) -> None:
        try:
            said = self.trial.withdraw(unit)
        except UnknownUnit:
            assert unit not in self.places
            return
        assert said.released == (not self.waits(unit))
        self.gone.add(unit)
        if self.waits(unit):
            self.values[unit] = None

    @rule(unit=UNITS, outcome=OUTCOMES)
    def another_thought(self, unit: str, outcome: int) -> None:
        """After a withdrawal nothing counts."""
        if unit in self.places:
            self.withdraw(unit)
            self.correct(unit, outcome)

    @rule(lapse=st.sampled_from([0.5, 3.0, 10.0]))
    def later(self, lapse: float) -> None:
        self.clock.now += lapse

    @rule()
    def settle(self) -> None:
        self.trial.settle()

    @rule(unit=UNITS)
    def another_trial(self, unit: str) -> None:
        """Of the same ledger."""
        with self.planned(None) as other:
            before = self.ledger.spent(unit)["epsilon"]
            try:
                other.assign(unit)
                self.paid[unit] = self.paid.get(unit, 0) + 1
            except OverBudget:
                assert before > CAP - EPSILON
                assert unit not in other
                assert self.ledger.spent(unit)["epsilon"] == before

    @rule()
    def again(self) -> None:
        """Another process goes on."""
        if self.IN_A_FILE:
            self.trial.close()
        self.trial = Trial.load(
            self.store if self.IN_A_FILE else self.trial._store, clock=self.clock
        )

    @precondition(lambda self: len(self.places) > 5)
    @rule()
    def erase(self) -> None:
        self.trial.finish(by="machine")
        self.clock.now += DEADLINE
        self.trial.erase()
        assert not any(unit in self.trial for unit in self.places)
        for unit in self.places:
            try:
                self.trial.assign(unit)
            except TrialError:
                continue
            raise AssertionError("a participant was assigned after the end")
        self.check()
        self.teardown()
        self.start()

    @invariant()
    def check(self) -> None:
        """Everything that was published is the sum of what counts."""
        for key, total in self.sums[self.checked :]:
            assert total == sum(self.values.get(unit) or 0 for unit in self.blocks[key])
        self.checked = len(self.sums)
        for unit, trials in self.paid.items():
            assert trials * EPSILON <= CAP
            assert self.ledger.spent(unit)["epsilon"] == pytest.approx(trials * EPSILON)

    @invariant()
    def nothing_tells_of_single_people(self) -> None:
        text = str(self.trial.log(verify=True))
        assert "person-" not in text
        assert "withdr" not in text

    def teardown(self) -> None:
        if hasattr(self, "trial"):
            self.trial.close()
            self.ledger.close()
            self.patch.undo()
            self.folder.cleanup()


class RightsInAFile(Rights):
    IN_A_FILE = True


STEPS = settings(
    max_examples=40, stateful_step_count=50, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate],
)  # fmt: skip
TestInMemory = Rights.TestCase
TestInMemory.settings = STEPS
TestInAFile = RightsInAFile.TestCase
TestInAFile.settings = STEPS


def not_void(outcome: int) -> bool:
    return False


@pytest.mark.parametrize(
    ("where", "name", "bug"),
    [
        ("_rules", "is_void", not_void),  # what comes after a withdrawal counts
        ("_curator", "without_void", lambda block: block),  # nothing is taken out
        ("_ledger", "price_of", lambda budget: ("epsilon", 0)),  # nobody pays
    ],
)
def test_the_machine_finds_what_is_wrong(
    where: str, name: str, bug: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"discreet.live.{where}.{name}", bug)
    # who gets which arm is drawn, so a life that shows a bug need not do so the next time
    found = settings(STEPS, print_blob=False, max_examples=400)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Rights, settings=found)
