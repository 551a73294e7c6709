"""Withdrawal, correction and erasure: what counts, what stays, and what nobody sees."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from live_cases import SECRET, SECRET_STEPS, Clock, values_in_memory

import discreet
from discreet.errors import InvalidArgument, TrialError, UnknownUnit, Withdrawn
from discreet.live import Strata, Trial
from discreet.live._arguments import grouped
from discreet.live._pairs import PairRun
from discreet.live._run import Run
from discreet.live.stores import SqliteStore
from discreet.live.stores import _seal as seal
from discreet.live.stores._database import Database
from discreet.privacy._source import SECURE

pytestmark = pytest.mark.usefixtures("no_sync")
Make = Callable[..., Trial]


def made(name: str = "dp-imed", **options: Any) -> Make:
    settings: dict[str, Any] = {"deadline": 10.0, "missing": 0.0, "conflicts": "ignore"} | options
    row: dict[str, Any] = {"ratio": 1.5, "first": 4} if name == "dp-imed" else {}

    def make(**more: Any) -> Trial:
        return Trial(discreet.policy(name, epsilon=1.0, **row), 2, **grouped(settings | more))

    return make


KINDS: dict[str, Make] = {
    "declared": made(), "pairs": made(missing="estimate"), "window of one": made(window=1),
    "several outcomes": made(contributions=2), "epochs": made(trend=True, window=8),
    "single batches": made(streams=False),
}  # fmt: skip


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `completed` hands to every release: who has withdrawn is not in it."""
    seen: list[Any] = []
    completed = Run.completed

    def watched(self: Run, block: Any, default: int | None) -> Any:
        found = completed(self, block, default)
        seen.append(found)
        return found

    monkeypatch.setattr(Run, "completed", watched)
    return seen


def filled(trial: Trial, many: int = 16) -> list[str]:
    units = [f"participant-{number:04}" for number in range(many)]
    for unit in units:
        trial.assign(unit)
    return units


def remembered(path: Path) -> list[int]:
    """All outcomes that anybody can still read: every run of bytes of the file, its log and its
    witness, opened with every key that is left in it."""
    found: list[int] = []
    with closing(sqlite3.connect(path)) as file:
        keys = [key for (key,) in file.execute("SELECT key FROM keys")]
    size = seal.NONCE + len(seal.outcome_text(None))
    for ending in ("", "-wal", ".witness"):
        with suppress(FileNotFoundError):
            data = Path(f"{path}{ending}").read_bytes()
            whole = {data[start : start + size] for start in range(len(data) - size)}
            # texts of rows: none is made of few different bytes
            likely = [text for text in whole if len(set(text)) > 12 and not text.isascii()]
            found += [
                SECRET_STEPS
                for key in keys
                for text in likely
                if seal.outcome_in(seal.opened(key, text)) == SECRET_STEPS
            ]
    return found


# --- what counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_withdrawn_outcome_never_reaches_a_release(
    kind: str, where: str, published: list[Any], tmp_path: Path
) -> None:
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    with KINDS[kind](clock=clock, path=path) as trial:
        for unit in filled(trial):
            trial.record(unit, SECRET)
            said = trial.withdraw(unit)
            assert not said.released
            trial.record(unit, SECRET)  # later outcomes are not used
        clock.now += 10.0
        assert trial.report()["releases"] > 0
    values = [value for found in published for value in (found if type(found) is list else [])]
    assert SECRET_STEPS not in values
    assert published or kind == "pairs"


def test_who_withdraws_counts_like_who_never_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs count the others alone; declared values stand in place of who is missing."""
    pairs: list[tuple[int, int]] = []
    completed = PairRun.completed

    def watched(self: PairRun, block: Any, default: int | None) -> Any:
        pairs.append(completed(self, block, default))
        return pairs[-1]

    monkeypatch.setattr(PairRun, "completed", watched)
    clock = Clock()
    with made(missing="estimate", window=2)(clock=clock) as trial:
        units = filled(trial, 8)
        for unit in units:
            trial.record(unit, 1.0)
        for unit in units[::2]:
            trial.withdraw(unit)
        clock.now += 10.0
        trial.settle()
    assert sum(count for _, count in pairs) == 4
    assert sum(total for total, _ in pairs) == 4 * SECURE.resolution


def test_without_a_deadline_who_withdraws_counts_as_the_declared_value(
    published: list[Any],
) -> None:
    """It is public who has answered there, so a withdrawal may complete a block."""
    with made(deadline=None, missing=1.0, outcome_range=(0.0, 1.0))() as trial:
        units = filled(trial, 8)
        # whoever has answered withdraws before their block can be complete, whatever the arms
        for number in (2, 6, 0, 4, 1, 3, 5, 7):
            if number % 4:
                trial.record(units[number], 0.0)
            if number % 2 == 0:
                trial.withdraw(units[number])
        assert trial.report()["releases"] >= 1
        trial.finish()
        trial.settle()
    values = [value for found in published for value in found]
    assert len(values) == 8
    assert sum(values) == 4 * SECURE.resolution


def test_local_policies_forget_what_was_randomised(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with made("ldp-ucb-b")(clock=clock) as trial:
        (unit,) = filled(trial, 1)
        trial.record(unit, 1.0)
        trial.withdraw(unit)
        trial.record(unit, 1.0)
        clock.now += 10.0
        assert trial.report()["releases"] == 1


# --- corrections ----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["memory", "file"])
def test_the_last_correction_before_the_deadline_counts(
    where: str, published: list[Any], tmp_path: Path
) -> None:
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    with made(corrections="deadline", window=1)(clock=clock, path=path) as trial:
        (first, second) = filled(trial, 2)
        trial.record(first, 0.25)
        for outcome in (0.5, 0.75):
            trial.correct(first, outcome)
        trial.correct(second, 0.125)  # nothing was recorded: then it is the outcome
        trial.record(second, 1.0)  # the first one stands
        clock.now += 10.0
        trial.correct(first, 0.0)
        trial.correct(second, 0.0)
        trial.finish()
        trial.settle()
    one = SECURE.resolution // 8
    values = sorted(value for found in published for value in found)
    assert values == [one, 6 * one]


def test_corrections_are_planned(tmp_path: Path) -> None:
    clock = Clock()
    with made()(clock=clock) as trial:
        filled(trial, 1)
        with pytest.raises(TrialError, match="takes no corrections"):
            trial.correct("participant-0000", 1.0)
    with made(corrections="deadline")(clock=clock, path=tmp_path / "t.db") as trial:
        filled(trial, 1)
        with pytest.raises(InvalidArgument, match="outcome must be"):
            trial.correct("participant-0000", 7.0)
        with pytest.raises(UnknownUnit):
            trial.correct("nobody", 1.0)
        trial.withdraw("participant-0000")
        trial.correct("participant-0000", 1.0)
    with Trial.load(tmp_path / "t.db", clock=clock) as trial:
        trial.correct("participant-0000", 1.0)
        assert dict(trial.report()["settings"])["corrections"] == "until the outcome would be late"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"corrections": "always"}, 'be "deadline"'),
        ({"corrections": "deadline", "deadline": None, "missing": None}, "without a deadline"),
        ({"retention": "90"}, "in the unit of the clock"),
    ],
)
def test_plans_that_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        made(**options)(clock=Clock())
    with pytest.raises(InvalidArgument, match="local policy"):
        made("ldp-ucb-b", corrections="deadline")(clock=Clock())


# --- what stays of a person -----------------------------------------------------------------------


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_person_is_forgotten_at_the_release_and_comes_back_as_nobody_new(
    where: str, tmp_path: Path
) -> None:
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    trial = made()(clock=clock, path=path)
    units = filled(trial)
    arm = trial.assign(units[0])
    before = trial.report()
    said = trial.withdraw(units[0], by="nurse", reason="asked for it")
    assert str(said).startswith("Nothing of an outcome is left; the name is overwritten when")
    assert trial.withdraw(units[0]) == said
    assert trial.report() == before
    assert trial.assign(units[0]) == arm  # nobody can find out by asking
    clock.now += 10.0
    trial.settle()
    rounds = trial.rounds
    assert units[0] not in trial
    with pytest.raises(Withdrawn, match="would contribute twice"):
        trial.assign(units[0])
    with pytest.raises(Withdrawn):
        trial.assign_many(["somebody", units[0]])
    trial.record(units[0], 1.0)  # as for everybody whose block is released
    assert trial.withdraw(units[0]).forgotten
    late = trial.withdraw(units[1])
    assert (late.released, late.exact, late.forgotten) == (True, False, True)
    assert "noisy sum that was released, which stands" in str(late)
    assert trial.rounds == rounds
    with pytest.raises(UnknownUnit, match="before it withdraws"):
        trial.withdraw("nobody")
    if path is not None:
        trial.close()
        trial = Trial.load(path, clock=clock)
        with pytest.raises(Withdrawn):
            trial.assign(units[0])
        assert units[0].encode() not in b"".join(
            str(row).encode() for row in rows_of(path, "places") + rows_of(path, "forgotten")
        )
    trial.close()


def rows_of(path: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(f"SELECT * FROM {table}").fetchall()


def test_policies_with_exact_sums_say_so() -> None:
    clock = Clock()
    options = {"deadline": 10.0, "missing": 0.0, "horizon": 40, "clock": clock}
    with Trial(discreet.policy("dp-ucb", epsilon=1.0), 2, **options) as trial:  # type: ignore[arg-type]
        trial.assign("p")
        clock.now += 10.0
        trial.settle()
        said = trial.withdraw("p")
        assert said.exact
        assert "exact sum that the policy keeps until the trial is over" in str(said)
        trial.finish()
        assert not trial.withdraw("p").exact


def test_the_answer_does_not_say_whether_an_outcome_had_come() -> None:
    clock = Clock()
    with made()(clock=clock) as trial:
        one, other = filled(trial, 2)
        trial.record(one, 1.0)
        assert trial.withdraw(one) == trial.withdraw(other)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_later_turns_of_a_unit_that_has_withdrawn_do_not_count(
    where: str, published: list[Any], tmp_path: Path
) -> None:
    """It takes its next place, for a count would show it, and that is void from the start."""
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    with made(contributions=3, window=1)(clock=clock, path=path) as trial:
        trial.assign("participant-0001")
        trial.withdraw("participant-0001")
        clock.now += 10.0
        rounds = trial.rounds
        trial.assign("participant-0001")
        assert trial.rounds == rounds + 1
        trial.record("participant-0001", SECRET)
        clock.now += 10.0
        trial.finish()
        trial.settle()
    assert SECRET_STEPS not in [value for found in published for value in found]


def test_strata_know_who_has_withdrawn_elsewhere(tmp_path: Path) -> None:
    clock = Clock()
    row = discreet.policy("dp-imed", epsilon=1.0, first=1)
    settings: dict[str, Any] = {"deadline": 10.0, "missing": 0.0, "clock": clock}
    corrections = discreet.Outcomes(corrections="deadline")
    for path in (None, tmp_path / "s.db"):
        with Strata(
            row, ["men", "women"], ["A", "B"], path=path, outcomes=corrections, **settings
        ) as trial:
            trial.assign("p", "men")
            trial.correct("p", 1.0)
            assert not trial.withdraw("p").released
            clock.now += 10.0
            trial.settle()
            for stratum in ("men", "women"):
                with pytest.raises(Withdrawn):
                    trial.assign("p", stratum)
            trial.record("p", 1.0)
            with pytest.raises(TrialError, match="once all strata are finished"):
                trial.erase()
            trial.finish()
            trial.erase(by="me")
            whats = [entry["what"] for entry in trial.log(verify=True)]
            assert whats.count("names erased") == 2


# --- nothing is left ------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["curator", "worker"])
def test_nothing_of_an_outcome_is_left_in_the_files_after_its_withdrawal(
    who: str, tmp_path: Path
) -> None:
    """Every place where a sealed outcome may lie is opened with every key that is left; the same
    search finds what was not withdrawn."""
    clock, path = Clock(), tmp_path / "trial.db"
    with made(window=2)(clock=clock, path=path) as trial:
        units = filled(trial, 3)
        trial.record(units[1], SECRET)
        assert remembered(path), "the search finds nothing"
        with Trial.load(SqliteStore(path, releases_here=False), clock=clock) as worker:
            (worker if who == "worker" else trial).withdraw(units[1])
        assert not remembered(path)
        assert trial.status == "collecting"  # it has read where the trial stands
        assert SECRET_STEPS not in values_in_memory(trial._store)
        trial.record(units[1], SECRET)
        assert not remembered(path)
        trial.backup(tmp_path / "backup.db")
        assert not remembered(tmp_path / "backup.db")
        clock.now += 10.0
        trial.finish()
        trial.settle()
        assert not remembered(path)


def test_without_a_new_key_the_search_finds_what_was_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "clean", lambda self: None)
    clock, path = Clock(), tmp_path / "trial.db"
    with made(window=2)(clock=clock, path=path) as trial:
        units = filled(trial, 3)
        trial.record(units[1], SECRET)
        store: Any = trial._store
        with store.held():
            store.ready()
            key = store.row(store.member(units[1]).block).key
        monkeypatch.setattr(seal, "new_key", lambda: key)
        trial.withdraw(units[1])
        assert remembered(path)


def test_erased_names_are_in_no_byte_of_the_files(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "trial.db"
    with made(horizon=64)(clock=clock, path=path) as trial:
        units = filled(trial, 64)
        with pytest.raises(TrialError, match="once the trial is finished"):
            trial.erase()
        trial.withdraw(units[3])
        clock.now += 10.0
        assert trial.status == "finished"
        shown = trial.report()
        trial.erase(by="data office", reason="the law")
        trial.erase()
        assert trial.report() == shown
        data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert not [unit for unit in units if unit.encode() in data]
        assert units[0] not in trial
        with pytest.raises(TrialError, match="horizon of 64"):
            trial.assign(units[0])
    with Trial.load(path, clock=clock) as trial:
        assert trial.report() == shown
        assert [e["what"] for e in trial.log(verify=True)].count("names erased") == 1


@pytest.mark.parametrize("where", ["memory", "file"])
def test_names_are_erased_when_they_have_been_kept_long_enough(where: str, tmp_path: Path) -> None:
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    with made(horizon=8, retention=90.0)(clock=clock, path=path) as trial:
        units = filled(trial, 8)
        clock.now += 10.0
        assert trial.status == "finished"
        assert "90 of the trial's own clock" in str(trial.report()["settings"])
        clock.now += 89.0
        trial.settle()
        assert trial.report()["assigned"] == 8
        assert units[0] in trial
        clock.now += 1.0
        assert trial.report()["assigned"] == 8
        assert units[0] not in trial


def test_reasons_are_texts() -> None:
    with made()(clock=Clock()) as trial:
        with pytest.raises(InvalidArgument, match="by must be a text"):
            trial.finish(by=7)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="reason must be a text"):
            trial.drop(0, reason="x" * 501)
        assert trial.status == "collecting"
