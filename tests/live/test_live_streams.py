"""Streams: places, marks, blocks that wait side by side, and what the rule is shown."""

from __future__ import annotations

import itertools
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from live_cases import (
    Clock,
    CountedNoise,
    damaged,
    pending_in,
)
from live_disk import THOROUGH
from test_live_interruptions import Injector

import discreet
from discreet import Assignment
from discreet._compiled import Kernel
from discreet.errors import ConflictingOutcome, DamagedFile, InvalidArgument, TrialError
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live._stream_run import StreamRun, copied
from discreet.live._streams import key_of
from discreet.policies import CATALOGUE, Policy, policy
from discreet.privacy import _secure as secure
from discreet.privacy._source import SECURE
from discreet.protocol import Playing, slots
from discreet.protocol.plans._index import spread

DAY = 86_400.0
IN_STREAMS = {
    "adap-ucb", "adap-klucb", "adac-ucb", "dp-klucb", "dp-imed", "laplace-imed", "gauss-imed",
    "dp-ucb", "dp-ucb-td", "dp-ucb-bound", "private-ucb", "ldp-ucb-b", "ldp-ucb-l", "ldp-ucb-bs",
    "ldp-ucb-ls", "lazy-dp-ts", "dp-ts",
}  # fmt: skip


def stream_trial(**options: Any) -> Trial:
    row = policy("dp-imed", epsilon=1.0, ratio=1.5, first=options.pop("first", 4))
    options.setdefault("deadline", 14.0 if "clock" in options else "14 days")
    return Trial(
        row,
        options.pop("arms", ["A", "B"]),
        missing=options.pop("missing", 0.0),
        **grouped(options),
    )


def run_of(trial: Trial) -> StreamRun:
    assert isinstance(trial._run, StreamRun)
    return trial._run


def test_which_rows_are_played_in_streams() -> None:
    found = set()
    for name, row in CATALOGUE.items():
        try:
            trial = Trial(row.example(), 2, horizon=100)
        except InvalidArgument:
            continue
        assert isinstance(trial._run, StreamRun)
        if trial._run.CHANGES:
            found.add(name)
        else:
            with pytest.raises(InvalidArgument, match="streams"):
                Trial(row.example(), 2, horizon=100, assignment=Assignment(streams=True))
    assert found == IN_STREAMS | {"dp-se"}  # which compares its arms at looks


def test_nobody_is_treated_for_nothing(clock: Clock, noise: CountedNoise) -> None:
    """Blocks of both arms close and wait while others come; each is released once, in order."""
    trial = stream_trial(clock=clock, first=2, window=2)
    order: list[tuple[float, int]] = []
    real = run_of(trial).__class__.publish

    def spy(run: StreamRun, *block: Any) -> None:
        order.append((clock.now, run.arm))
        real(run, *block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamRun, "publish", spy)
        for unit in range(60):
            clock.now += 0.5
            trial.assign(unit)
            trial.record(unit, 1.0)
            report: Any = trial.report()
            assert report["rounds"] == unit + 1
            waiting = [block for block in report["blocks"] if block["due"] is not None]
            assert all(block["due"] > clock.now for block in waiting)
            assert report["next_release"] == min((b["due"] for b in waiting), default=None)
    assert order == sorted(order)
    assert len(order) == len(noise.drawn) == trial.report()["releases"]


def test_marks_are_fixed_by_the_schedule(clock: Clock, noise: CountedNoise) -> None:
    trial = stream_trial(clock=clock, horizon=400)
    ends: dict[int, list[int]] = {0: [0], 1: [0]}
    for unit in range(400):
        clock.now += 0.5
        arm = trial.arms.index(trial.assign(unit))
        run = run_of(trial)
        if run.head.closed[arm] != ends[arm][-1] and not run.has_ended:
            ends[arm].append(run.head.closed[arm])
    for marks in ends.values():
        assert marks[1] == 4
        for before, after in itertools.pairwise(marks[1:]):
            assert after == before + -(-before // 2)
    assert trial.status == "settling"
    clock.now += 14.0
    assert trial.status == "finished"
    report = trial.report()
    assert sum(row["size"] for row in report["arms"]) == 400, "all are used"
    with pytest.raises(TrialError, match="horizon"):
        trial.assign("late")
    assert trial.assign(0) in trial.arms


def test_an_outcome_counts_until_its_own_deadline(clock: Clock, noise: CountedNoise) -> None:
    trial = stream_trial(clock=clock, first=3, window=1)
    arms = {}
    for unit in range(6):
        arms[unit] = trial.assign(unit)
        clock.now += 1.0
    clock.now = 1000.0 + 14.0  # the deadline of the first is now, that of its block is later
    trial.record(0, 1.0)
    trial.record(2, 1.0)
    held = [len(block.outcomes) for block in trial._store.blocks.values()]
    assert sum(held) == 1
    clock.now += 10.0
    assert trial.settle()
    trial.record(2, 0.0)  # late: no error, and nothing changes
    assert len(noise.drawn) == 2
    total = sum(run_of(trial).ledger.noisy)
    assert total == SECURE.resolution + sum(noise.drawn)


def test_clocks_that_are_set_back_change_nothing(clock: Clock, noise: CountedNoise) -> None:
    trial = stream_trial(clock=clock, first=1, window=1)
    trial.assign("x")
    clock.now += 14.0
    assert trial.settle()
    seen = trial.report()["arms"]
    clock.now -= 100.0
    trial.assign("y")
    place = next(p for b in trial._store.blocks.values() for p in b.places if p.unit == "y")
    assert place.at == 1014.0
    assert trial.report()["arms"][0]["mean"] == seen[0]["mean"]


def test_the_rule_sees_closed_places_all_places_and_released_means(clock: Clock) -> None:
    trial = stream_trial(clock=clock, first=4, window=1)
    for unit in range(8):
        trial.assign(unit)
        trial.record(unit, 1.0)
    clock.now += 14.0
    unit = 8
    while unit < 15 or sum(run_of(trial).head.closed) == unit:
        trial.assign(unit)
        unit += 1
    run, seen = run_of(trial), []

    def ask(design: Any, head: Any, view: Any, t: int, *more: Any) -> tuple[int, int]:
        seen.append((deepcopy(view), t))
        return 0, 1

    assert isinstance(trial.policy, Policy)
    filled = slots(trial.policy, Playing("index"), SECURE)
    plan = Kernel(filled["plan"], **filled).interpreted()
    ask_for = plan.__globals__["ask_for"]
    ask_for.__globals__["ask"] = ask
    plan(run.design, copied(run.head), 1, run.random)
    view, t = seen[0]
    assert t == unit
    assert view.size == run.head.closed
    assert view.pulls == run.head.places
    assert view.value == list(run.view.value)
    assert sum(view.size) < sum(view.pulls)


def test_what_dp_imed_minimises(clock: Clock) -> None:
    """C d(m, m*) + log N, on numbers where N and C disagree on the choice."""
    from discreet.policies._private_kl import Epsilon, dp_imed_score
    from discreet.policies._view import View

    view = View([0.5, 0.5], [4, 4], [5, 4])
    scores = [dp_imed_score(Epsilon(1.0), view, arm, 9, 0.5) for arm in range(2)]
    assert scores[1] < scores[0]


def window(run: StreamRun) -> list[int]:
    """A window as it would be planned now."""
    other = run.copy()
    other.leave_window()
    arm, _ = other.steps.turn(other.design, other.head, 1, other.random)
    return [left + (arm == each) for each, left in enumerate(other.head.left)]


def test_an_arm_without_release_gets_its_share_and_shares_are_kept() -> None:
    """40 windows of 10 with a least share of 0.25, rounded at random: 100 places on average, and
    each window has 2 or 3, so 4,000 assignments are never needed to see it."""
    trial = stream_trial(arms=["A", "B", "control"], share={"control": 0.25}, window=10, first=1)
    run = run_of(trial)
    fifty: Any = [50, 50, 50]
    head = run.head._replace(value=[0.9, 0.1, 0.1], places=fifty, closed=fifty, mark=[99, 99, 99])
    run.head = head._replace(size=[50, 50, 50])
    plans = [window(run) for _ in range(40)]
    assert {plan[2] for plan in plans} <= {2, 3}
    assert all(sum(plan) == 10 for plan in plans)
    run.head.size[1] = 0  # blind: one in three
    plans = [window(run) for _ in range(40)]
    assert {plan[1] for plan in plans} <= {3, 4}
    run.head = run.head._replace(size=[0, 0, 0], places=[0, 0, 0])
    assert sorted(window(run)) == [3, 3, 4]
    for share in ({"X": 0.1}, {"A": 2.0}, {"A": 0.6, "B": 0.6}, {"A": True}):
        with pytest.raises(InvalidArgument, match="share"):
            stream_trial(share=share)


def test_spreading_rounds_and_keeps_sums() -> None:
    for start in (0.0, 0.3, 0.999999):
        found = [0, 0, 0]
        spread(1.0, [0.5, 1.5, 1.0], found, start)
        assert sum(found) == 3
        assert all(abs(x - y) < 1 for x, y in zip(found, [0.5, 1.5, 1.0], strict=True))


def test_windows_are_drawn_without_writing_down_who_comes_next(tmp_path: Path) -> None:
    """Both orders of a window of two are seen in 200 (each 1/2: missed with probability 2^-99),
    and the state holds counts of the window alone."""
    first = {"A": 0, "B": 0}
    for number in range(100):
        trial = stream_trial(window=2, first=100)
        first[str(trial.assign(number))] += 1
    assert min(first.values()) > 0
    with stream_trial(path=tmp_path / "t.db", window=8) as trial:
        trial.assign("x")
        with trial._store.held():
            trial._store.ready()
            assert sorted(trial._store.state["protocol"]["head"]["left"]) == [3, 4]


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("name", sorted(IN_STREAMS))
def test_every_row_goes_on_where_it_was(name: str, tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    trial = Trial(
        CATALOGUE[name].example(), ["A", "B", "C"], horizon=90, deadline=9.0, clock=clock,
        path=path, missing=0.0,
    )  # fmt: skip
    for unit in range(90):
        clock.now += 1.0
        arm = trial.assign(unit)
        if unit % 5:
            trial.record(unit, 0.5)
        if unit % 30 == 7:
            before = trial.report(), dict(trial._fixed), run_of(trial).to_dict()
            trial.close()
            trial = Trial.load(path, clock=clock)
            assert (trial.report(), dict(trial._fixed), run_of(trial).to_dict()) == before
            assert trial.assign(unit) == arm
    clock.now += 9.0
    assert trial.status == "finished"
    report = trial.report()
    assert sum(row["used"] for row in report["arms"]) == 90
    assert sum(run_of(trial).view.pulls) == 90
    assert not trial._store.blocks
    assert not pending_in(path)
    trial.close()


def test_without_a_deadline_a_block_waits_for_its_members(noise: CountedNoise) -> None:
    trial = stream_trial(deadline=None, first=2, window=2)
    arms = {unit: trial.assign(unit) for unit in range(8)}
    assert trial.report()["releases"] == 0
    for unit in reversed(range(8)):  # blocks of an arm are released in order all the same
        trial.record(unit, 0.5)
    report = trial.report()
    assert report["releases"] == len(noise.drawn) > 0
    assert "every participant responds" in str(trial.guarantee.conditions)
    assert arms[0] == trial.assign(0)
    trial = stream_trial(deadline=None, first=9)
    trial.assign("x")
    trial.record("x", 0.5)
    with pytest.raises(ConflictingOutcome):
        trial.record("x", 0.25)


def test_further_places_wait_for_the_units_own_deadline(clock: Clock) -> None:
    trial = stream_trial(clock=clock, contributions=2, first=50)
    trial.assign("x")
    trial.record("x", 1.0)
    trial.assign("x")
    assert trial.rounds == 1
    clock.now += 14.0
    trial.assign("x")
    assert trial.rounds == 2
    clock.now += 14.0
    trial.assign("x")
    assert trial.rounds == 2
    assert trial.guarantee.budget.epsilon == 2.0  # type: ignore[attr-defined]


# --- neighbours, crashes, interruptions ----------------------------------------------------------


def test_neighbours_with_the_same_releases_look_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trials differ in one outcome, whose block has noise that makes up for it; coins are
    fixed. Arms, blocks, due moments and reports are the same at every step."""
    from discreet.live._randomness import SystemRandomness

    def story(private: float | None) -> list[Any]:
        clock, shown = Clock(), []
        coins = iter(range(10_000))
        monkeypatch.setattr(SystemRandomness, "below", lambda self, n: next(coins) * 7 % n)
        monkeypatch.setattr(SystemRandomness, "random", lambda self: next(coins) * 0.37 % 1.0)
        trial = stream_trial(clock=clock, horizon=120)
        real = StreamRun.publish

        def publish(run: StreamRun, actions: Any, outcomes: Any) -> None:
            key = key_of(run.arm, run.head.released[run.arm] + 1)
            holds = any(place.unit == 17 for place in trial._store.blocks[key].places)
            shift = -round((private or 0.0) * SECURE.resolution) if holds else 0
            monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 777 + shift)
            real(run, actions, outcomes)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StreamRun, "publish", publish)
            for unit in range(120):
                clock.now += 0.7
                shown.append(trial.assign(unit))
                outcome = private if unit == 17 else 0.25
                if outcome is not None:
                    trial.record(unit, outcome)
                shown += [json.dumps(trial.report()), repr(trial), str(trial)]
            clock.now += 14.0
            shown.append(json.dumps(trial.report()))
        return shown

    assert story(0.0) == story(1.0) == story(None)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("stored", ["memory", "files"])
@pytest.mark.parametrize("step", ["assign", "record", "settle", "drop", "add", "finish"])
def test_an_interrupt_at_any_line_draws_nothing_twice(
    step: str, stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = 0
    while True:
        noise, clock = CountedNoise(), Clock()
        monkeypatch.setattr(secure, "laplace", noise)
        folder = tmp_path / str(at)
        folder.mkdir()
        options: dict[str, Any] = {"path": folder / "t.db"} if stored == "files" else {}
        trial = stream_trial(first=1, window=2, clock=clock, **options)
        for unit in range(4):
            trial.assign(unit)
        clock.now += 20.0
        calls = {
            "assign": lambda trial: trial.assign("y"), "record": lambda trial: trial.record(3, 1.0),
            "settle": lambda trial: trial.settle(), "drop": lambda trial: trial.drop("A"),
            "add": lambda trial: trial.add("C"), "finish": lambda trial: trial.finish(),
        }  # fmt: skip
        injector = Injector(at)
        interrupted = injector.run(lambda trial=trial, call=calls[step]: call(trial))
        try:
            report = trial.report()
            assert len(noise.drawn) == report["releases"], f"drawn again after {injector.where}"
        except TrialError:
            report = None
            assert interrupted
        trial.close()
        if stored == "files":
            with Trial.load(folder / "t.db", clock=clock) as again:
                shown = again.report()
                if report is not None:
                    assert shown == report, injector.where
        if not interrupted:
            break
        at += 1 if THOROUGH else max(17 if stored == "memory" else 37, at // 16)
    assert at > 40


# --- old files, damage, the life of a trial ------------------------------------------------------


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE heads SET moved = replace(moved, '\"places\"', '\"plac\"')",
        "UPDATE heads SET moved = '[]'",
        "UPDATE trials SET public = replace(public, '\"releases\"', '\"r\"')",
        "UPDATE open_blocks SET filled = filled + 1",
    ],
)
def test_damaged_streams_are_refused(damage: str, tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    with stream_trial(path=path, first=2, window=2, clock=clock) as trial:
        for unit in range(5):
            trial.assign(unit)
    damaged(path, damage)
    clock.now += 100.0
    with pytest.raises(DamagedFile), Trial.load(path, clock=clock) as trial:
        trial.settle()


def test_dropping_adding_stopping(clock: Clock, noise: CountedNoise) -> None:
    trial = stream_trial(clock=clock, first=3, window=3)
    for unit in range(5):
        trial.assign(unit)
    trial.drop("B")
    assert {trial.assign(f"after {n}") for n in range(4)} == {"A"}
    assert any(b["arm"] == "B" and b["due"] == 1014.0 for b in trial.report()["blocks"])
    with pytest.raises(TrialError, match="last arm"):
        trial.drop("A")
    trial.add("C")
    assert "C" in {trial.assign(f"then {n}") for n in range(6)}
    with pytest.raises(InvalidArgument, match="new"):
        trial.add("A")
    trial.stop(because="board")
    assert any("raw outcomes" in text for text in trial.guarantee.conditions)
    with pytest.raises(TrialError, match="ended"):
        trial.assign("late")
    assert trial.status == "settling"
    clock.now += 14.0
    report = trial.report()
    assert trial.status == report["status"] == "finished"
    assert report["ended"] == {"by": "board"}
    assert [row["size"] for row in report["arms"]] == run_of(trial).head.places
    assert len(noise.drawn) == report["releases"]
    with pytest.raises(InvalidArgument, match="because"):
        trial.stop(because="whim")


@pytest.mark.usefixtures("no_sync")
def test_discarding_erases_open_blocks_alone(tmp_path: Path, clock: Clock) -> None:
    with stream_trial(clock=clock, first=3, window=2, path=tmp_path / "t.db") as trial:
        for unit in range(8):
            trial.assign(unit)
            trial.record(unit, 0.5)
        trial.finish(discard=True)
        kept = set(trial._store.blocks)
        assert kept == {"0-1", "1-1"}
    with Trial.load(tmp_path / "t.db", clock=clock) as trial:
        assert set(trial._store.blocks) == kept
        clock.now += 14.0
        assert trial.status == "finished"
        assert [row["size"] for row in trial.report()["arms"]] == [3, 3]
    assert not pending_in(tmp_path / "t.db")


@pytest.mark.usefixtures("no_sync")
def test_changes_outlive_a_reload(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    with stream_trial(clock=clock, path=path, first=2, horizon=500) as trial:
        for unit in range(9):
            trial.assign(unit)
        trial.add("C")
        trial.drop("A")
        for unit in range(9, 30):
            trial.assign(unit)
        before = trial.report()
    with Trial.load(path, clock=clock) as trial:
        assert trial.report() == before
        assert trial.arms == ("A", "B", "C")
        trial.stop(because="board")
    with Trial.load(path, clock=clock) as trial:
        assert any("raw outcomes" in text for text in trial.guarantee.conditions)


def test_trees_take_no_further_arms() -> None:
    trial = discreet.Trial(policy("dp-ucb", epsilon=1.0), 2, horizon=50)
    with pytest.raises(TrialError, match="trees"):
        trial.add("new")


def test_what_was_thrown_away_is_not_used(clock: Clock) -> None:
    trial = stream_trial(first=4, window=1, clock=clock)
    for unit in range(11):  # six places and five; marks at 4 and 6
        trial.assign(unit)
    trial.finish(discard=True)
    report = trial.report()
    assert (report["assigned"], report["rounds"]) == (11, 10)
    assert [row["waiting"] for row in report["arms"]] == [6, 4]
    clock.now += 14.0
    report = trial.report()
    assert [row["waiting"] for row in report["arms"]] == [0, 0]
    assert sum(row["size"] for row in report["arms"]) == sum(row["used"] for row in report["arms"])


@pytest.mark.parametrize("responds", [False, True])
def test_who_responds_does_not_date_places_after_a_clock_is_set_back(
    responds: bool, clock: Clock
) -> None:
    """A block is due at 1014. Were it released by somebody who responds at 1020, the next place
    would be dated by that call."""
    trial = stream_trial(first=1, window=1, clock=clock)
    clock.now = 1000.0
    trial.assign("first")
    clock.now = 1010.0
    trial.assign("second")
    clock.now = 1020.0
    if responds:
        trial.record("second", 1.0)
    clock.now = 1005.0  # set back
    trial.assign("third")
    dues = sorted(block["due"] for block in trial.report()["blocks"] if block["due"] is not None)
    assert dues[-1] == 1010.0 + 14.0


@pytest.mark.parametrize("responds", [False, True])
def test_who_responds_does_not_end_a_batch_before_a_clock_is_set_back(
    responds: bool, clock: Clock
) -> None:
    """The same of a single batch, due at 1014: who comes at 1005 again is a visitor, and what came
    at 1020 was too late."""
    trial = stream_trial(first=2, streams=False, clock=clock)
    clock.now = 1000.0
    trial.assign("first")
    trial.assign("second")
    clock.now = 1020.0
    if responds:
        trial.record("second", 1.0)
    clock.now = 1005.0  # set back
    trial.assign("third")
    assert (trial.rounds, trial.status) == (2, "settling")
    assert not any(block.outcomes for block in trial._store.blocks.values())
    clock.now = 1014.0
    assert trial.report()["releases"] == 1
