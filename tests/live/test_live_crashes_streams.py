"""A crash at any operation on files, in trials whose blocks fill and wait side by side.

Whole lives of trials: answers that come late or never, pairs, deadlines, arms that are added and
dropped, every kind of end. The process dies at one operation, in one of the worlds of `live_disk`;
the trial is loaded, checked, and lives on from the call that was cut short. Noise is a multiple of
2^40, another one in every draw: what is shown twice must be the same, and what is left of the
released sums modulo 2^40 is exactly what was recorded. `make crashes` leaves no operation out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_cases import Clock, Keys, keys_in_use, keys_on_disk, run_of
from live_disk import THOROUGH, WORLDS, Crash, Disk, off_disk, on_disk
from test_live_crashes import is_a_trial

from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live._run import Run
from discreet.policies import policy
from discreet.privacy import _secure as secure
from discreet.privacy._source import SECURE

DEADLINE = 14.0
STEP = 1 << 40
"""More than all outcomes together."""


@dataclass(frozen=True, eq=False)
class Story:
    """What is planned, and what happens between two units, by how many came before."""

    row: Any
    options: dict[str, Any]
    turns: dict[int, Callable[[Trial], None]] = field(default_factory=dict)
    end: Callable[[Trial], None] | None = None
    units: int = 10


def imed() -> Any:
    return policy("dp-imed", epsilon=1.0, ratio=1.5, first=1)


def add(trial: Trial) -> None:
    if "C" not in trial.arms:
        trial.add("C")


def drop(trial: Trial) -> None:
    trial.drop("B")


STORIES: dict[str, Story] = {
    "late": Story(imed(), {"missing": 0.0}, {4: add, 7: drop}, Trial.finish),
    "pairs": Story(
        imed(),
        {"missing": "estimate"},
        {3: drop, 6: add},
        lambda trial: trial.stop(because="board"),
    ),
    "gaussian pairs": Story(policy("adac-ucb", rho=0.5), {"missing": "estimate", "horizon": 8}),
    "discard": Story(
        imed(), {"missing": 0.0}, {5: add}, lambda trial: trial.finish(discard=True), units=7
    ),
    "twice": Story(imed(), {"missing": 0.0, "contributions": 2}, {5: drop}, Trial.finish),
    "tree": Story(policy("dp-ucb", epsilon=1.0), {"missing": 0.0, "horizon": 8}),
    "local": Story(policy("ldp-ucb-l", epsilon=1.0), {"missing": 0.0, "horizon": 6}),
    "everybody": Story(
        imed(), {"deadline": None, "missing": None}, {4: add}, Trial.finish, units=8
    ),
}


class Noise:
    """Multiples of 2^40, each of them drawn once."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self, scale: float, rng: None = None) -> int:
        self.drawn += 1
        return self.drawn * STEP


class Life:
    """A trial call by call; whatever was acknowledged or shown is noted."""

    sums: ClassVar[list[int]] = []
    """that the trial has forgotten in the end"""

    def __init__(self, path: Path, story: Story, keys: Keys) -> None:
        Life.sums, self.keys = [], keys
        self.path, self.story, self.clock = path, story, Clock()
        self.calls: list[tuple[float, Callable[[Trial], Any]]] = []
        now = self.clock.now
        for seconds, call in self.all_calls():
            now += seconds
            self.calls.append((now, call))
        self.done = 0
        self.arms: dict[int, list[Any]] = {}
        self.outcomes: dict[int, int] = {}
        self.shown: dict[tuple[Any, int], Any] = {}
        self.most = 0

    def all_calls(self) -> Iterator[tuple[float, Callable[[Trial], Any]]]:
        """(seconds to pass, a call); every third unit never answers, others soon or late."""
        waits = self.story.options.get("deadline", DEADLINE) is not None
        answers: list[tuple[int, int]] = []
        units = min(self.story.units, self.story.options.get("horizon", self.story.units))
        for unit in range(units):
            if unit in self.story.turns:
                yield 0.0, self.story.turns[unit]
            yield 5.0, lambda trial, unit=unit: self.assign(trial, unit)
            if unit % 3 != 2 or not waits:
                answers.append((unit + unit % 2, unit))
            for moment, who in answers:
                if moment == unit:
                    yield 0.0, lambda trial, who=who: self.record(trial, who)
        for moment, who in answers:
            if moment >= units:
                yield 0.0, lambda trial, who=who: self.record(trial, who)
        if "contributions" in self.story.options:
            yield DEADLINE, lambda trial: self.assign(trial, 0)
            yield 0.0, lambda trial: self.record(trial, 0)
        if self.story.end is not None:
            yield 0.0, self.story.end
        yield DEADLINE, Trial.settle

    def assign(self, trial: Trial, unit: int) -> None:
        before, arm = self.arms.get(unit, []), trial.assign(unit)
        if len(before) < self.story.options.get("contributions", 1):
            self.arms[unit] = [*before, arm]
        else:
            assert arm == before[-1], "an assignment was lost"

    def record(self, trial: Trial, unit: int) -> None:
        outcome = round((0.1 + 0.01 * unit) * SECURE.resolution)
        trial.record(unit, outcome / SECURE.resolution)
        self.outcomes[unit] = outcome

    def run(self) -> None:
        """From wherever the trial stands to its end; the call that was cut short is repeated."""
        options = {"deadline": DEADLINE, "missing": "estimate", **self.story.options}
        if is_a_trial(self.path):
            trial = Trial.load(self.path, clock=self.clock)
        else:
            assert not self.done, "the trial is gone"
            trial = Trial(
                self.story.row,
                ["A", "B"],
                clock=self.clock,
                path=self.path,
                **grouped(dict(window=2, **options)),
            )
        with trial:
            self.check(trial)
            for now, call in self.calls[self.done :]:
                self.clock.now = now
                call(trial)
                self.done += 1
                self.look(trial)
            assert trial.status == "finished"
            self.check_sums(trial)

    def look(self, trial: Trial) -> None:
        """What is shown once must never be shown otherwise, nor be forgotten."""
        self.most = max(self.most, len(trial._store.blocks))
        for row in trial.report()["arms"]:
            numbers = row["mean"], row.get("answered"), row.get("bounds"), row["size"]
            seen = self.shown.setdefault((row["arm"], row["releases"]), numbers)
            assert seen == numbers, "a block was released twice"
            known = [number for arm, number in self.shown if arm == row["arm"]]
            assert row["releases"] == max(known), "a release was forgotten"

    def check(self, trial: Trial) -> None:
        """Just loaded: everything acknowledged is there, and nothing that must not be."""
        store = trial._store
        for unit, arms in self.arms.items():
            member = store.member(unit)
            assert member is not None
            if member.used > len(arms):  # stored, and the call never returned
                assert member.used == len(arms) + 1
                continue
            assert trial.arms[member.arm] == arms[-1], "an assignment was lost"
            block = store.blocks.get(member.block)
            if block is not None and unit in self.outcomes and len(arms) == 1:
                assert member.slot in block.outcomes, "an outcome was lost"
                if not trial._terms.local:
                    assert block.outcomes[member.slot] == self.outcomes[unit]
        used = keys_in_use(self.path)
        assert len(used) == len(store.blocks) + 1, "a block was left behind, or the ledger is gone"
        left = set(keys_on_disk(self.path.parent, self.keys.made))
        assert left <= used, "outcomes that were released can still be read"
        self.look(trial)

    def check_sums(self, trial: Trial) -> None:
        """What was released is the noise and every outcome, once."""
        run, recorded = run_of(trial), list(self.outcomes.values())
        if self.story is STORIES["twice"]:
            recorded += [recorded[0]]
        if hasattr(run, "pairs") and run.pair.kept:
            one = SECURE.resolution
            assert sum(run.pairs.count) % STEP == one * len(recorded)
            assert (sum(run.pairs.total) - sum(y - one // 2 for y in recorded)) % STEP == 0
        elif hasattr(run.ledger, "noisy"):
            assert not any(run.ledger.noisy), "sums are kept though nothing more is released"
            if self.story is not STORIES["discard"]:
                assert sum(Life.sums) % STEP == sum(recorded), "an outcome was lost or doubled"


def crashes(life: Life, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Live on that disk; whether it crashed."""
    on_disk(monkeypatch, disk)
    try:
        life.run()
    except Crash:
        pass
    finally:
        off_disk(monkeypatch)
    return disk.crashed


@pytest.fixture(autouse=True)
def _noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise()
    monkeypatch.setattr(secure, "laplace", noise)
    monkeypatch.setattr(secure, "gaussian", noise)


CASES = [
    (story, world) for story in STORIES for world in WORLDS
    if THOROUGH or world == "plug" or story in ("late", "pairs")
]  # fmt: skip


@pytest.mark.parametrize(("story", "world"), CASES)
def test_a_crash_at_any_operation_draws_nothing_twice_and_loses_nothing(
    story: str, world: str, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = Run.forget

    def noted(run: Run) -> None:
        sums = getattr(run.ledger, "noisy", [])
        if any(sums):
            Life.sums = [*sums]
        forget(run)

    monkeypatch.setattr(Run, "forget", noted)
    crash_at, most = WORLDS.index(world), 0
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        life, disk = Life(folder / "t.db", STORIES[story], keys), Disk(folder, crash_at)
        crashed = crashes(life, disk, monkeypatch)
        most = max(most, life.most)
        if not crashed:
            break
        disk.after_crash(world)
        assert not crashes(life, Disk(folder), monkeypatch)
        crash_at += 1 if THOROUGH else 37
    assert crash_at > 60, "the life has too few operations to be a test"
    assert most >= 2, "there were never several blocks"


@pytest.mark.parametrize(("first", "second"), [("kill", "plug"), ("plug", "kill")])
def test_a_crash_while_loading_after_a_crash(
    first: str, second: str, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    for crash_at in range(10, 10_000, 4 if THOROUGH else 89):
        for again_at in range(0, 30, 1 if THOROUGH else 7):
            folder = tmp_path / f"{crash_at}-{again_at}"
            folder.mkdir()
            life, disk = Life(folder / "t.db", STORIES["pairs"], keys), Disk(folder, crash_at)
            if not crashes(life, disk, monkeypatch):
                return
            disk.after_crash(first)
            again = Disk(folder, again_at, disk if first == "kill" else None)
            if not crashes(life, again, monkeypatch):
                continue  # the trial ended before so many operations
            again.after_crash(second)
            assert not crashes(life, Disk(folder), monkeypatch)
