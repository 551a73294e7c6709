"""Arms side by side in live trials: races, elimination, top two, and epochs."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock, CountedNoise, pending_in
from live_disk import Crash, Disk, off_disk, on_disk
from scipy.stats import beta
from test_live_crashes import is_a_trial
from test_live_interruptions import Injector

from discreet import Assignment
from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.identify import IDENTIFIERS, identifier
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live._epochs import EpochRun
from discreet.live._looks import LookRun
from discreet.live._randomness import SystemRandomness
from discreet.live._stream_run import StreamRun
from discreet.live._streams import key_of
from discreet.live._top_two import TopTwoRun
from discreet.policies import policy
from discreet.policies._races import race_marks, threshold
from discreet.policies._schedules import LONGEST
from discreet.privacy import _secure as secure
from discreet.privacy._source import SECURE
from discreet.protocol._state import ANSWER, LOOKED
from discreet.protocol.plans import _looks as looks
from discreet.protocol.plans._top_two import still_in

IDENTIFY = {"risk": 0.1}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "race": (lambda: identifier("race", epsilon=1.0), {**IDENTIFY, "horizon": 24}),
    "adap-tt": (lambda: identifier("adap-tt", epsilon=1.0), {**IDENTIFY, "window": 2}),
    "epochs": (
        lambda: policy("dp-imed", epsilon=1.0, ratio=1.5, first=2), {"trend": True, "window": 6},
    ),
}  # fmt: skip
"""Small trials of every kind, with releases early on."""


def trial_of(kind: str, **options: Any) -> Trial:
    row, settings = KINDS[kind]
    settings = {"deadline": 14.0, "missing": 0.0, **settings, **options}
    return Trial(row(), settings.pop("arms", ["A", "B"]), **grouped(settings))


def run_of(trial: Trial) -> Any:
    assert isinstance(trial._run, StreamRun)
    return trial._run


def play(trial: Trial, clock: Clock, units: range, outcome: Any, step: float = 1.0) -> None:
    for unit in units:
        clock.now += step
        try:
            arm = trial.assign(unit)
        except TrialError:
            return
        value = outcome(unit, arm)
        if value is not None:
            trial.record(unit, value)


def test_which_identifying_rows_are_played_side_by_side() -> None:
    kinds = {}
    for name, entry in IDENTIFIERS.items():
        if not entry.private:
            continue
        size = {"participants": 60} if "halving" in name or name == "uniform" else {}
        risk = {} if size else {"risk": 0.1}
        row = identifier(name, epsilon=1.0, **size)
        trial = Trial(row, 4, **grouped(risk))
        kinds[name] = type(trial._run).__name__
        if not isinstance(trial._run, StreamRun):
            with pytest.raises(InvalidArgument, match=f"{name} has"):
                Trial(row, 4, **grouped(dict(streams=True, **risk)))
    assert kinds == {
        "race": "LookRun", "dp-se": "LookRun", "uniform": "LookRun", "halving": "BatchRun",
        "classical-halving": "BatchRun", "evidence-tt": "TopTwoRun", "chernoff-tt": "TopTwoRun",
        "local-evidence-tt": "TopTwoRun", "adap-tt": "TopTwoRun", "adap-tt-star": "TopTwoRun",
        "dp-tt": "TopTwoRun", "ctb-tt": "TopTwoRun",
    }  # fmt: skip
    dp_se = Trial(policy("dp-se", epsilon=1.0), 2, horizon=1000)
    assert isinstance(dp_se._run, LookRun)
    for wrong in ({"share": {0: 0.5}}, {"trend": True}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            Trial(policy("dp-se", epsilon=1.0), 2, horizon=1000, **grouped(wrong))  # type: ignore[arg-type]


# --- races and elimination -----------------------------------------------------------------------


def least_bound(mark: int, look: int, arms: int, eps: float, alpha: float) -> float:
    """x_j on a grid of θ: never below the minimum, and within a thousandth of it."""
    level = math.log(arms * (arms - 1) * look * (look + 1) / alpha)
    grid = [eps * i / 20_000 for i in range(1, 20_000)]
    return min(
        (t * t * mark / 4 - 2 * look * math.log(1 - t * t / eps**2) + level) / t for t in grid
    )


def test_the_limits_of_a_race_are_those_of_its_formula() -> None:
    run = Trial(identifier("race", epsilon=0.8), 3, horizon=900, **grouped(IDENTIFY))._run
    assert isinstance(run, LookRun)
    assert run.marks == race_marks(3, 900, 25)
    for look, (mark, limit) in enumerate(zip(run.marks, run.rule.limit, strict=True), start=1):
        assert limit == threshold(mark, look, 3, 0.8, 0.1)
        assert limit == pytest.approx(least_bound(mark, look, 3, 0.8, 0.1), rel=1e-3)


def test_a_race_in_permuted_blocks(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, A always 1, B always 0: looks are held when their last block is due, B falls
    at the first look where it is too far behind, and A is declared."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    trial = Trial(
        identifier("race", epsilon=5.0),
        ["A", "B", "C"],
        horizon=600,
        deadline=14.0,
        missing=0.0,
        clock=clock,
        **grouped(IDENTIFY),
    )
    run, rates = run_of(trial), {"A": 1.0, "B": 0.0, "C": 0.95}
    marks, seen = run.marks, []
    real = LookRun.publish

    def spy(run: LookRun, *block: Any) -> None:
        seen.append((clock.now, run.arm, run.head.released[run.arm] + 1))
        real(run, *block)

    monkeypatch.setattr(LookRun, "publish", spy)
    given: list[Any] = []
    for unit in range(600):
        clock.now += 0.25
        if trial.recommendation is not None:
            break
        given.append(arm := trial.assign(unit))
        trial.record(unit, rates[str(arm)])
        if sum(run_of(trial).head.active) == 3 and unit % 6 == 5:
            assert sorted(given[-6:]) == ["A", "A", "B", "B", "C", "C"]
    for look in range(1, run_of(trial).looked + 1):
        moments = {at for at, arm, number in seen if number == look and arm == 0}
        assert len(moments) == 1, "a look was held twice"
    limits = run.rule.limit
    falls = {
        arm: next(
            look
            for look, mark in enumerate(marks, 1)
            if mark * (1.0 - rates[arm]) > limits[look - 1]
        )
        for arm in ("B", "C")
        if any(mark * (1.0 - rates[arm]) > limits[i] for i, mark in enumerate(marks))
    }
    assert set(falls) >= {"B"}
    report = trial.report()
    rows = {row["arm"]: row for row in report["arms"]}
    assert not rows["B"]["active"]
    first = [at for at, arm, number in seen if number == falls["B"]]
    assert len(set(first)) == 1, "the arms of a look are released together"
    assert rows["A"]["mean"] == 1.0
    if "C" in falls:
        assert trial.recommendation == "A"


def test_who_arrives_between_two_phases_is_in_the_next(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elimination: the length of a phase is known once the last one was looked at. Everybody is
    used, and a phase that is already full by then closes with all it has."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    row = policy("dp-se", epsilon=5.0, beta=0.2)
    trial = Trial(row, ["A", "B"], deadline=14.0, missing=0.0, clock=clock)
    run = run_of(trial)
    first = int(run.memory.length[0])
    assert first % 2 == 0, "a permuted block would be cut"
    play(trial, clock, range(2 * first), lambda unit, arm: 0.5, step=0.0)
    assert [b["size"] for b in trial.report()["blocks"]] == [first, first]
    clock.now += 1.0
    play(trial, clock, range(2 * first, 20 * first), lambda unit, arm: 0.5, step=0.0)
    open_blocks = [b for b in trial.report()["blocks"] if b["due"] is None]
    assert [b["size"] for b in open_blocks] == [None, None]
    assert sum(b["filled"] for b in open_blocks) == 18 * first
    clock.now += 13.0
    report, second = trial.report(), int(run_of(trial).memory.length[0])
    assert report["releases"] == 2
    assert report["looks"] == 1
    assert second < 9 * first, "the case is too small"
    assert [(b["filled"], b["due"]) for b in report["blocks"]] == [(9 * first, clock.now + 1.0)] * 2
    clock.now += 1.0
    assert trial.report()["looks"] == 2
    trial.finish()
    assert trial.status == "finished"
    assert sum(row["size"] for row in trial.report()["arms"]) == 18 * first


def test_the_last_looks_of_a_race_are_held_after_its_end(clock: Clock) -> None:
    trial = trial_of("race", clock=clock, horizon=24)
    marks = run_of(trial).marks
    play(trial, clock, range(24), lambda unit, arm: 0.5, step=0.01)
    assert trial.status == "settling"
    assert run_of(trial).looked == 0
    with pytest.raises(TrialError, match="horizon"):
        trial.assign("late")
    clock.now += 14.0
    report = trial.report()
    assert report["looks"] == sum(mark <= 12 for mark in marks)
    assert sum(row["size"] for row in report["arms"]) == 24


def test_once_nobody_comes_any_more_full_blocks_alone_are_looked_at(clock: Clock) -> None:
    """Of an elimination, whose blocks close where the trial ends: one that was cut off says less
    than the rule counts on."""
    row = policy("dp-se", epsilon=1.0)
    run = run_of(Trial(row, 2, horizon=10_000, deadline=1.0, missing=0.0, clock=clock))
    phase = looks.phase(run.design, run.head)
    assert phase > 1

    def last_of(other: Any) -> int:
        return looks.last_look(other.design, other.head)

    def last(*places: int, looked: int = 0) -> int:
        other = run.copy()
        for arm, number in enumerate(places):
            for _ in range(number):
                other.steps.seat(other.design, other.head, arm, 1, 0.0)
                other._make_room()
        other.head.at[LOOKED] = looked
        return last_of(other.ended())

    assert last_of(run) == LONGEST

    assert last(0, 0) == last(phase - 1, phase) == last(phase, phase - 1) == 0
    assert last(phase + 1, phase - 1) == 0
    assert last(phase, phase) == last(phase + 1, phase + 1) == last(phase, phase + 1) == 1
    assert last(phase + 1, phase + 1, looked=1) == 1
    assert last(2 * phase, 2 * phase, looked=1) == 2
    answered = run.copy()
    answered.head.at[ANSWER], answered.head.at[LOOKED] = 0, 3
    assert last_of(answered) == 3
    race = run_of(trial_of("race", clock=clock))
    assert last_of(race) == LONGEST
    assert last_of(race.ended()) == 0


def test_arms_of_a_race_can_be_dropped_but_not_added(clock: Clock) -> None:
    trial = trial_of("race", arms=["A", "B", "C"], clock=clock, horizon=60)
    play(trial, clock, range(9), lambda unit, arm: 0.5)
    trial.drop("C")
    with pytest.raises(TrialError, match="last two"):
        trial.drop("B")
    with pytest.raises(TrialError, match="same participants"):
        trial.add("D")
    play(trial, clock, range(9, 60), lambda unit, arm: 0.5)
    clock.now += 14.0
    rows = trial.report()["arms"]
    assert trial.status == "finished"
    assert rows[2]["assigned"] == rows[2]["size"] <= 5


# --- top two --------------------------------------------------------------------------------------


def test_top_two_enters_every_release_by_itself(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The books of the evidence have one batch per release, however many blocks wait together:
    of two at once only one noise would be counted. The answer is wrong with probability 1e-6."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    trial = Trial(
        identifier("evidence-tt", epsilon=2.0),
        ["A", "B", "C"],
        deadline=14.0,
        missing=0.0,
        clock=clock,
        risk=1e-6,
    )
    rates, world = {"A": 0.9, "B": 0.4, "C": 0.2}, iter([0.37 * n % 1.0 for n in range(5000)])
    play(trial, clock, range(3000), lambda u, arm: float(next(world) < rates[str(arm)]), step=0.1)
    run = run_of(trial)
    assert isinstance(run, TopTwoRun)
    entered, released = list(run.memory.batches), list(run.releases)
    assert min(entered) >= 1
    clock.now += 20.0
    report = trial.report()
    for number, arm in enumerate(trial.arms):  # each with the size that it had when it came
        sizes = [entry["size"] for entry in report["course"] if entry["arm"] == arm]
        assert run.memory.size[number] == sizes[entered[number] - 1]
    assert sum(entered) <= sum(released), "blocks that were due with the last one come after it"
    assert report["recommendation"] == {"arm": "A", "confidence": 1.0 - 1e-6}
    assert sum(row["size"] for row in report["arms"]) == report["assigned"]
    assert report["releases"] > sum(released), "what was open is released in the end"
    assert run_of(trial).memory.batches == entered, "a verdict is given once"


@pytest.mark.parametrize("named", [(0, 1), (1, 0), (2, 1)])
def test_in_place_of_an_arm_that_was_dropped_another_one_is_compared(
    named: tuple[int, int], clock: Clock
) -> None:
    row = identifier("evidence-tt", epsilon=1.0)
    trial = Trial(row, ["A", "B", "C"], deadline=1.0, missing=0.0, clock=clock, **grouped(IDENTIFY))
    run: Any = run_of(trial).dropped(0)
    pair = still_in(run.head, *named)
    assert sorted(pair) == [1, 2]
    assert pair[0] == next(arm for arm in named if arm != 0)
    fixed = trial_of("adap-tt", arms=["A", "B", "C"], clock=clock)
    with pytest.raises(TrialError, match="would leave a batch of a size"):
        fixed.drop("A")


@pytest.mark.parametrize("by_hand", ["drop", "finish", "horizon"])
def test_a_block_that_was_cut_off_by_hand_is_no_evidence(by_hand: str, clock: Clock) -> None:
    """It is released, but neither in the books nor in the record: its size may follow from its
    outcomes. What the horizon cuts off counts."""
    trial = Trial(
        identifier("evidence-tt", epsilon=2.0),
        ["A", "B", "C"],
        deadline=14.0,
        missing=0.0,
        clock=clock,
        risk=1e-9,
        horizon=350,
    )
    play(trial, clock, range(300), lambda unit, arm: 0.5, step=0.0)
    clock.now += 14.0
    play(trial, clock, range(300, 330), lambda unit, arm: 0.5, step=0.0)
    run = run_of(trial)
    cut = [arm for arm in range(3) if run.head.places[arm] > run.head.closed[arm]]
    assert cut, "no block is open"
    if by_hand == "drop":
        cut = cut[:1]
        trial.drop(trial.arms[cut[0]])
    elif by_hand == "finish":
        trial.finish()
    else:
        play(trial, clock, range(330, 350), lambda unit, arm: 0.5, step=0.0)
    before = list(run.memory.batches)
    clock.now += 14.0
    report, run = trial.report(), run_of(trial)
    history = trial.public_record().history  # type: ignore[union-attr]
    for arm, row in enumerate(report["arms"]):
        entered = run.memory.batches[arm]
        assert entered == len(history[arm])
        assert run.memory.size[arm] == row["size"]
        if by_hand == "horizon":
            assert row["size"] == history[arm][-1][0]
        elif arm in cut:
            assert entered == before[arm]
            assert history[arm][-1][0] < row["size"] == row["assigned"]


@pytest.mark.parametrize("name", ["adap-tt", "evidence-tt"])
def test_top_two_gives_no_verdict_on_what_its_rule_has_not_seen(name: str, clock: Clock) -> None:
    trial = Trial(
        identifier(name, epsilon=9.0), 2, deadline=14.0, missing=0.0, clock=clock, risk=1e-6
    )
    play(trial, clock, range(40), lambda unit, arm: 1.0, step=0.1)
    run = run_of(trial)
    steps, books = run.steps, run.keeps_books

    def fails(*arguments: Any) -> int:
        raise ValueError("no")

    for one in (run, trial._plan.run):
        one.steps = steps._replace(follow=fails)
    clock.now += 14.0
    assert trial.status == "stuck"
    with pytest.raises(TrialError, match=r"ValueError: no|came before"):
        trial.assign("another")
    for one in (run_of(trial), trial._plan.run):
        one.steps = steps
    # a verdict on the view alone may be asked later; books that miss a release may not
    assert trial.status == ("stuck" if books else "collecting")


# --- epochs ---------------------------------------------------------------------------------------


def test_the_largest_epoch_has_four_first_blocks_of_every_arm(clock: Clock) -> None:
    row = policy("dp-imed", epsilon=1.0, first=3)
    trial = Trial(
        row, ["A", "B"], deadline=14.0, missing=0.0, clock=clock, assignment=Assignment(trend=True)
    )
    assert run_of(trial).window == 4 * 2 * 3


def test_the_cells_of_an_epoch_are_released_together(clock: Clock, noise: CountedNoise) -> None:
    trial = trial_of("epochs", clock=clock, share={"B": 0.3})
    play(trial, clock, range(40), lambda unit, arm: 0.5, step=3.0)
    run = run_of(trial)
    assert isinstance(run, EpochRun)
    sizes = [sum(places for places, _ in epoch) for epoch in run.cells]
    assert sizes[:3] == [4, 4, 4]
    assert max(sizes) <= 6
    for epoch in run.cells:
        shown = [total is not None for places, total in epoch if places]
        assert len(set(shown)) == 1
    report: Any = trial.report()
    assert report["trend"]["leader"] in ("A", "B")
    assert f"{report['trend']['leader']} leads within epochs" in str(trial)
    assert len(noise.drawn) == report["releases"]
    trial.drop("A")
    trial.add("C")
    play(trial, clock, range(40, 60), lambda unit, arm: 0.5, step=3.0)
    trial.finish()
    clock.now += 14.0
    report = trial.report()
    assert trial.status == "finished"
    assert [row["size"] for row in report["arms"]] == [row["used"] for row in report["arms"]]
    run = run_of(trial)
    cells = [sum(epoch[arm][0] for epoch in run.cells) for arm in range(3)]
    assert cells == run.head.places
    assert len(noise.drawn) == report["releases"]


def test_an_epoch_that_was_cut_short_stays_out_of_intervals(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with trial_of("epochs", clock=clock, path=path, outcome_range=(0.0, 10.0)) as trial:
        play(trial, clock, range(10), lambda unit, arm: 5.0)  # epochs of 4, 4 and 2 of 4
        trial.finish()
    with Trial.load(path, clock=clock) as trial:
        clock.now += 14.0
        epochs = trial.public_epochs()
        assert epochs is not None
        assert (len(epochs.cells), len(run_of(trial).cells)) == (2, 3)
        assert [sum(n for n, _ in epoch) for epoch in epochs.cells] == [4, 4]
        assert (epochs.arms, epochs.outcome_range) == (("A", "B"), (0.0, 10.0))
        assert epochs.noise.kind == "laplace"
        assert epochs.noise.scale == pytest.approx(1.0)
        assert epochs.noise.scale >= 1.0
        (behind,) = trial.report()["trend"]["behind"]
        assert behind["interval"] == [-10.0, 10.0]  # eight outcomes and their noise say nothing
        run, state = run_of(trial).copy(), run_of(trial).to_dict()
    assert state["shortened"] == [2]
    for damage in ([3], ["0"], [[0]], 0):
        with pytest.raises(DamagedFile, match="cells"):
            run.restore({**state, "shortened": damage})
    race = trial_of("race", clock=clock)
    assert race.public_epochs() is None


def test_discarding_erases_the_open_epoch(clock: Clock) -> None:
    """Cells of the epoch that are full wait for their release; the others are erased."""
    trial = trial_of("epochs", clock=clock)
    play(trial, clock, range(5), lambda unit, arm: 0.5)  # the fifth is alone in a cell of two
    trial.finish(discard=True)
    clock.now += 14.0
    assert trial.status == "finished"
    assert sum(row["size"] for row in trial.report()["arms"]) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_taken_while_blocks_are_thrown_away(kind: str, clock: Clock) -> None:
    """A crash in the middle of finish(discard=True) leaves one block erased and others open."""
    trial = trial_of(kind, clock=clock)
    found: list[int] = []
    while not found:
        trial.assign(trial.rounds)
        run = run_of(trial)
        keys = [run.open_key(arm) for arm in range(2)]
        found = [arm for arm in range(2) if keys[arm] in trial._store.blocks]
    arm = found[0]
    trial._change(run.without(arm), block=run.open_key(arm))
    with pytest.raises(TrialError, match="ended"):
        trial.assign("another")
    trial.finish(discard=True)
    clock.now += 14.0
    assert trial.status == "finished"


def test_only_dp_imed_has_epochs() -> None:
    for row in (policy("dp-klucb", epsilon=1.0), policy("adap-klucb", epsilon=1.0)):
        with pytest.raises(InvalidArgument, match=f"trend must be left out for {row.name}"):
            Trial(row, 2, assignment=Assignment(trend=True))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("race", "limits are proved for sums of equally many outcomes"),
        ("adap-tt", "risk is proved for sums in which every participant"),
        ("epochs", "no shared trend cancels in means over them"),
    ],
)
def test_why_missing_outcomes_are_not_estimated_side_by_side(kind: str, why: str) -> None:
    use = r"use missing=2 if a missing outcome is a failure, or missing=3, which"
    with pytest.raises(InvalidArgument, match=rf"missing must be a value .*{why}.*{use}"):
        trial_of(kind, missing="estimate", outcome_range=(2.0, 4.0), clock=Clock())
    run = run_of(trial_of(kind, missing=3.0, outcome_range=(2.0, 4.0), clock=Clock()))
    assert not hasattr(run, "pairs")


# --- all of them: execution, neighbours, reloads, crashes, an attack ------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "dp-se", "evidence-tt"])
def test_every_outcome_enters_one_release_and_every_release_has_one_noise(
    kind: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By execution: unit k answers 2^k units, so a released sum says exactly who is in it."""
    rows: dict[str, Any] = {
        "dp-se": (policy("dp-se", epsilon=9.0, beta=0.5), {}),
        "evidence-tt": (identifier("evidence-tt", epsilon=9.0), IDENTIFY),
    }
    scales: list[float] = []

    def noted(scale: float, rng: object = None) -> int:
        scales.append(scale)
        return 0

    monkeypatch.setattr(secure, "laplace", noted)
    if kind in rows:
        row, settings = rows[kind]
        trial = Trial(row, 2, deadline=14.0, missing=0.0, clock=clock, **grouped(settings))
        epsilon = 9.0
    else:
        trial, epsilon = trial_of(kind, clock=clock), 1.0
    totals: list[tuple[int, int, int]] = []
    steps = run_of(trial).steps

    def release(design: Any, head: Any, vault: Any, arm: int, rng: Any) -> None:
        slot = arm * design.depth + head.released[arm] % design.depth
        totals.append((arm, head.many[slot], vault.total[slot]))
        vault.total[slot] = 0
        spent = len(scales)
        steps.release(design, head, vault, arm, rng)
        assert len(scales) == spent + 1

    for run in (trial._plan.run, trial._run):
        run.steps = steps._replace(release=release)  # type: ignore[attr-defined]
    bits: dict[Any, int] = {}
    trial._plan = trial._plan._replace(steps=lambda unit: 1 << int(str(unit)))
    units = 24 if kind == "race" else 40 if kind in KINDS else 600
    for unit in range(units):
        clock.now += 2.0 if kind in KINDS else 0.2
        bits[unit] = trial.arms.index(trial.assign(unit))
        trial.record(unit, unit)
    if not run_of(trial).has_ended:
        trial.finish()
    clock.now += 14.0
    assert trial.status == "finished"
    assert sum(total for _, _, total in totals) == (1 << units) - 1
    for arm, rounds, total in totals:
        members = [unit for unit in range(units) if total >> unit & 1]
        assert len(members) == rounds
        assert {bits[unit] for unit in members} == {arm}
    assert len(totals) == len(scales)
    assert set(scales) == {SECURE.laplace_scale(epsilon)}


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_with_the_same_releases_look_the_same(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trials differ in one outcome, whose block has noise that makes up for it; coins are
    fixed. Arms, blocks, looks, due moments, verdicts and reports are the same at every step."""

    def story(private: float | None) -> list[Any]:
        clock, shown = Clock(), []
        coins = iter(range(10_000))
        monkeypatch.setattr(SystemRandomness, "below", lambda self, n: next(coins) * 7 % n)
        monkeypatch.setattr(SystemRandomness, "random", lambda self: next(coins) * 0.37 % 1.0)
        trial = trial_of(kind, clock=clock)
        real = StreamRun.publish

        def publish(run: StreamRun, actions: Any, outcomes: Any) -> None:
            key = key_of(run.arm, run.head.released[run.arm] + 1)
            holds = any(place.unit == 7 for place in trial._store.blocks[key].places)
            shift = -round((private or 0.0) * SECURE.resolution) if holds else 0
            monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 777 + shift)
            real(run, actions, outcomes)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StreamRun, "publish", publish)
            for unit in range(24):
                clock.now += 2.1
                try:
                    shown.append(trial.assign(unit))
                except TrialError as refusal:
                    shown.append(str(refusal))
                    continue
                outcome = private if unit == 7 else 0.25 * (unit % 4)
                if outcome is not None:
                    trial.record(unit, outcome)
                shown += [json.dumps(trial.report()), repr(trial), str(trial)]
            clock.now += 14.0
            shown.append(json.dumps(trial.report()))
        return shown

    assert story(0.0) == story(1.0) == story(None)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_goes_on_where_it_was(kind: str, tmp_path: Path, clock: Clock) -> None:
    """Loaded again after every unit, while blocks of several looks or epochs are in flight."""
    path = tmp_path / "t.db"
    trial_of(kind, clock=clock, path=path).close()
    for unit in range(24):
        clock.now += 3.0
        with Trial.load(path, clock=clock) as trial:
            try:
                arm = trial.assign(unit)
            except TrialError:
                break
            trial.record(unit, 0.5)
            before = trial.report(), run_of(trial).to_dict()
        with Trial.load(path, clock=clock) as trial:
            assert (trial.report(), run_of(trial).to_dict()) == before
            assert trial.assign(unit) == arm
    with Trial.load(path, clock=clock) as trial:
        if not run_of(trial).has_ended:
            trial.finish()
        clock.now += 14.0
        assert trial.status == "finished"
    assert not pending_in(path)


class Calls:
    """A trial call by call; whatever was acknowledged or shown is noted."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind, self.path, self.clock = kind, path, Clock()
        self.arms: dict[int, Any] = {}
        self.shown: dict[tuple[Any, int], float] = {}
        self.answers: set[Any] = set()

    def open(self) -> Trial:
        if is_a_trial(self.path):
            return Trial.load(self.path, clock=self.clock)
        assert not self.arms, "the trial is gone"
        return trial_of(self.kind, path=self.path, clock=self.clock, horizon=10)

    def run(self, trial: Trial) -> None:
        for unit in range(10):
            self.clock.now = 1000.0 + 5.0 * unit
            try:
                arm = trial.assign(unit)
            except TrialError:
                assert run_of(trial).answer is not None
                break
            assert self.arms.setdefault(unit, arm) == arm, "an assignment was lost"
            trial.record(unit, 0.1 + 0.01 * unit)
            self.look(trial)
        self.clock.now += 14.0
        self.look(trial)
        assert trial.status == "finished"
        assert not pending_in(self.path)

    def look(self, trial: Trial) -> None:
        report = trial.report()
        for row in report["arms"]:
            if row["releases"]:
                seen = self.shown.setdefault((row["arm"], row["releases"]), row["mean"])
                assert seen == row["mean"], "a block was released twice"
        if report["recommendation"] is not None:
            self.answers.add(report["recommendation"]["arm"])
        assert len(self.answers) <= 1, "another answer"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("world", "every"), [("kill", 29), ("plug", 37), ("mixed", 43)])
def test_a_crash_at_any_file_operation(
    world: str, every: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reload and go on: nothing is lost, drawn twice or looked at otherwise."""
    crash_at = len(kind) % every
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        monkeypatch.setattr(secure, "laplace", CountedNoise())
        calls, disk = Calls(kind, folder / "trial.db"), Disk(folder, crash_at)
        on_disk(monkeypatch, disk)
        trial = None
        try:
            trial = calls.open()
            calls.run(trial)
        except Crash:
            pass
        finally:
            off_disk(monkeypatch)
        with suppress(Crash):
            if trial is not None:
                trial.close()
        if not disk.crashed:
            break
        disk.after_crash(world)
        with calls.open() as again:
            calls.run(again)
        crash_at += every
    assert crash_at > 60, "too few operations to be a test"


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_at_any_line_draws_nothing_twice(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a look, a verdict or an epoch is released: it happened or it did not, or the
    trial refuses to go on."""
    at = 0
    while True:
        noise, clock = CountedNoise(), Clock()
        monkeypatch.setattr(secure, "laplace", noise)
        trial = trial_of(kind, clock=clock)
        play(trial, clock, range(8), lambda unit, arm: 0.5, step=0.0)
        clock.now += 20.0
        injector = Injector(at)
        interrupted = injector.run(trial.settle)
        try:
            report = trial.report()
            assert len(noise.drawn) == report["releases"], f"drawn again after {injector.where}"
        except TrialError:
            assert interrupted
        trial.close()
        if not interrupted:
            break
        at += 53 if kind == "adap-tt" else 23
    assert at > 100


@pytest.mark.parametrize(("kind", "times"), [("race", 1.0), ("race", 0.2), ("epochs", 0.2)])
def test_an_attack_on_live_trials(kind: str, times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first participant answers 0 or 1; blocks wait together; whoever reads the reports bets
    on the first released sum of that arm, and on it less the other arm's. With Clopper-Pearson
    limits that all hold but for a probability of 1e-6, the claim of 1 stands with the noise as it
    is, and is refuted with a fifth of it: sums above ½ have probability 1 - e^-2.5/2 = .959, or
    .041, and it would take 34 of 200 in place of 8 to miss that (probability below 1e-10).
    Windows of time are left out: they have tests of their own."""
    monkeypatch.setattr(secure, "padded", lambda name, draw, number: draw(number))
    real, many, levels = secure.laplace, 200, (0.25, 0.5, 0.75)
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: real(scale * times, rng))
    options = {"horizon": 4} if kind == "race" else {"horizon": 4, "window": 2}
    counts = {}
    for answer in (0.0, 1.0):
        seen = []
        for _ in range(many):
            clock = Clock()
            trial = trial_of(kind, clock=clock, **options)
            arms = []
            for unit in range(4):
                arms.append(trial.assign(unit))
                trial.record(unit, answer if unit == 0 else 0.0)
            clock.now += 14.0
            first: dict[Any, float] = {}
            for entry in trial.report()["course"]:
                first.setdefault(entry["arm"], (entry["mean"] or 0.0) * entry["size"])
            own = first.pop(arms[0])
            seen.append((own, own - sum(first.values())))
        counts[answer] = [sum(one[i] > level for one in seen) for level in levels for i in range(2)]
    share = 1e-6 / (2 * 2 * 2 * len(levels))
    best = 0.0
    for none, one in zip(counts[0.0], counts[1.0], strict=True):
        for above, below in ((one, none), (many - none, many - one)):
            low = float(beta.ppf(share, above, many - above + 1)) if above else 0.0
            high = float(beta.ppf(1 - share, below + 1, many - below)) if below < many else 1.0
            best = max(best, math.log(max(low, 1e-12) / high))
    assert (best <= 1.0) == (times == 1.0), best
