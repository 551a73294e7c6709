"""Pieces: the same numbers and the same bytes wherever and whenever they are played."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
import discreet.linear as linear
from discreet._progress import Bar
from discreet.errors import DiscreetError, InvalidArgument
from discreet.identify import identifier, identify
from discreet.policies._registry import KINDS, catalogue
from discreet.sweeps import WorkerLost
from discreet.sweeps import _pieces as pieces
from discreet.sweeps import _pool as pool
from discreet.sweeps._grid import Cell

ENVIRONMENTS = {"two": discreet.Bernoulli([0.7, 0.5]), "three": discreet.Bernoulli([0.7, 0.5, 0.3])}
STUDY: dict[str, Any] = {
    "epsilon": [0.1, 1.0], "horizon": [100, 1000], "runs": 12, "seed": 7, "points": 10, "piece": 5,
}  # fmt: skip


def swept(**changes: Any) -> Any:
    return discreet.sweep(["imed", "dp-imed"], ENVIRONMENTS, **(STUDY | changes))


@pytest.fixture(scope="module")
def whole() -> Any:
    return swept()


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.parquet")}


def saved(found: Any, path: Path) -> bytes:
    content: bytes = found.save(path).read_bytes()
    path.unlink()
    return content


class Here(Executor):
    """Plays in this thread; loses a worker at a piece, or is interrupted."""

    def __init__(self, fails: BaseException | None = None, after: int = 0) -> None:
        self.fails, self.after, self.played = fails, after, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.fails is not None and self.played >= self.after:
            if isinstance(self.fails, KeyboardInterrupt):
                raise self.fails
            future.set_exception(self.fails)
            return future
        self.played += 1
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Sent(Executor):
    """What every cluster does: the call and its result travel as bytes, and so do errors."""

    def submit(self, call: Any, /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        work, arguments = pickle.loads(pickle.dumps((call, given)))
        try:
            future.set_result(pickle.loads(pickle.dumps(work(*arguments, **named))))
        except Exception as error:
            future.set_exception(pickle.loads(pickle.dumps(error)))
        return future


def test_pieces_and_results_travel_as_bytes(whole: Any, tmp_path: Path) -> None:
    found = swept(executor=Sent(), folder=tmp_path)
    assert saved(found, tmp_path / "a.tmp.parquet") == saved(whole, tmp_path / "b.tmp.parquet")


def test_a_sweep_is_what_compare_finds(whole: Any) -> None:
    assert len(whole) == 3 * 2 * 2
    for name, environment in ENVIRONMENTS.items():
        for horizon in STUDY["horizon"]:
            rows = [discreet.policy("imed")]
            rows += [discreet.policy("dp-imed", epsilon=e) for e in STUDY["epsilon"]]
            alone = discreet.compare(rows, environment, horizon=horizon, runs=12, seed=7, points=10)
            cells = [r for r in whole if r.problem == name and r.horizon == horizon]
            assert [r.label for r in cells] == alone.labels
            for one, other in zip(cells, alone, strict=True):
                assert np.array_equal(one.regret, other.regret)
                assert np.array_equal(one.pulls, other.pulls)
                assert np.array_equal(one.run, other.run)
                assert one.complete


def test_the_grid_becomes_columns(whole: Any, tmp_path: Path) -> None:
    table = whole.table()
    assert set(table.column("epsilon").to_pylist()) == {None, 0.1, 1.0}
    assert set(table.column("problem").to_pylist()) == {"two", "three"}
    assert set(table.column("horizon").to_pylist()) == {100, 1000}
    back = discreet.load(whole.save(tmp_path / "sweep.parquet"))
    assert back.labels == whole.labels == ["imed", "dp-imed ε=0.1", "dp-imed ε=1"]
    assert back.summary() == whole.summary()


def test_pieces_do_not_show(whole: Any, tmp_path: Path) -> None:
    other = swept(piece=12, threads=1)
    assert saved(other, tmp_path / "a.parquet") == saved(whole, tmp_path / "b.parquet")


def test_a_restart_plays_only_what_is_missing(whole: Any, tmp_path: Path) -> None:
    folder = tmp_path / "pieces"
    first = swept(folder=folder)
    content = bytes_in(folder)
    assert len(content) == 3 * 2 * 2 * 3
    gone = sorted(content)[::4]
    for name in gone:
        (folder / name).unlink()
    (folder / sorted(content)[1]).write_bytes(b"damaged")
    here = Here()
    second = swept(folder=folder, executor=here)
    assert here.played == len(gone) + 1
    assert bytes_in(folder) == content
    for found in (first, second):
        assert saved(found, tmp_path / "a.parquet") == saved(whole, tmp_path / "b.parquet")


def test_a_longer_study_takes_over_a_shorter_one(tmp_path: Path) -> None:
    swept(folder=tmp_path, runs=10)
    here = Here()
    swept(folder=tmp_path, runs=12, executor=here)
    assert here.played == 3 * 2 * 2


def test_ctrl_c_keeps_what_is_finished(whole: Any, tmp_path: Path) -> None:
    part = swept(folder=tmp_path, executor=Here(KeyboardInterrupt(), after=5))
    assert not part.complete
    assert len(part) == len(whole)
    assert 0 < sum(result.runs for result in part) < sum(result.runs for result in whole)
    assert swept(folder=tmp_path).complete


@pytest.mark.parametrize(
    "error", [BrokenProcessPool("gone"), type("KilledWorker", (Exception,), {})()]
)
def test_a_lost_worker_costs_its_piece(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match="of 36 pieces are finished; call again"):
        swept(folder=tmp_path, executor=Here(error, after=4))
    kept = len(bytes_in(tmp_path))
    assert kept >= 1
    here = Here()
    assert swept(folder=tmp_path, executor=here).complete
    assert here.played == 36 - kept


def test_other_errors_are_raised_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError):
        swept(executor=Here(ZeroDivisionError()))


def test_processes_play_the_same(whole: Any, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as two:
        found = swept(executor=two)
    assert saved(found, tmp_path / "a.parquet") == saved(whole, tmp_path / "b.parquet")


def test_the_first_of_a_kind_is_played_before_the_others() -> None:
    order: list[Any] = []

    class Watching(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            order.append(args[0].kind)
            return super().submit(fn, *args, **kwargs)

    swept(executor=Watching())
    assert len(set(order[:2])) == 2 == len(set(order))


class Slow(Executor):
    """Plays nothing before it is told to, or has so many pieces."""

    def __init__(self, enough: int) -> None:
        self.enough, self.calls = enough, list[tuple[Future[Any], Any, Any]]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append((future, fn, args))
        if len(self.calls) == self.enough:
            self.play()
        return future

    def play(self) -> None:
        calls, self.calls = self.calls, []
        for future, fn, args in calls:
            future.set_result(fn(*args))


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), BrokenProcessPool("gone")])
def test_what_is_finished_while_pieces_are_handed_out_is_kept(
    ends: BaseException, whole: Any, tmp_path: Path
) -> None:
    class Ending(Slow):
        """Its workers finish seven pieces while the eighth is handed over, which fails."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if len(self.calls) == 7:
                self.play()
                raise ends
            return super().submit(fn, *args, **kwargs)

    if isinstance(ends, KeyboardInterrupt):
        part = swept(folder=tmp_path, executor=Ending(0))
        assert not part.complete
        assert sum(result.runs for result in part) > 0
    else:
        with pytest.raises(WorkerLost, match="7 of 36 pieces are finished; call again"):
            swept(folder=tmp_path, executor=Ending(0))
    assert len(bytes_in(tmp_path)) == 7
    here = Here()
    assert swept(folder=tmp_path, executor=here).complete
    assert here.played == 36 - 7


def test_no_worker_waits_for_the_first_of_a_kind_to_be_finished(whole: Any, tmp_path: Path) -> None:
    """36 pieces of two kinds; that one process compiles for all is up to their files."""
    found = swept(executor=Slow(36))
    assert saved(found, tmp_path / "a.parquet") == saved(whole, tmp_path / "b.parquet")


def test_where_files_cannot_be_locked_the_others_wait_for_the_first(
    whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOCKS", False)
    order: list[Any] = []
    slow = Slow(2)

    class Watching(Slow):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            order.append(args[0])
            slow.enough = 2 if len(order) <= 2 else 1
            return slow.submit(fn, *args, **kwargs)

    found = swept(executor=Watching(0))
    assert order[0].kind != order[1].kind
    assert len(order) == 36
    assert saved(found, tmp_path / "a.parquet") == saved(whole, tmp_path / "b.parquet")


def test_the_largest_are_played_first_and_small_ones_end_a_sweep() -> None:
    order: list[Any] = []

    class Watching(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            order.append(args[0])
            return super().submit(fn, *args, **kwargs)

    swept(executor=Watching())
    sizes = [piece.cell.horizon * piece.cell.problem.arms * (piece.last - piece.first)
             for piece in order[2:]]  # fmt: skip
    assert sizes == sorted(sizes, reverse=True)
    assert (max(sizes), min(sizes)) == (1000 * 3 * 5, 100 * 2 * 2)


FROM_NOTHING = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import discreet

if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as both:
        discreet.sweep("ucb1", discreet.Bernoulli([0.7, 0.5]), horizon=100, runs=8, piece=1, seed=1,
                       executor=both)
"""


def test_two_workers_that_begin_together_compile_once(tmp_path: Path) -> None:
    """Numba says of every kernel whether it was loaded or compiled, then saved."""
    script, cache = tmp_path / "study.py", tmp_path / "cache"
    script.write_text(FROM_NOTHING)
    said = subprocess.run(
        [sys.executable, str(script)], check=True, capture_output=True, text=True,
        env=os.environ | {"DISCREET_CACHE": str(cache), "NUMBA_DEBUG_CACHE": "1"},
    ).stdout  # fmt: skip
    saves = [line for line in said.splitlines() if "data saved to" in line]
    assert len(saves) == len(set(saves)) >= 1
    assert len(saves) == len(list(cache.rglob("*.nbc")))
    assert "data loaded from" in said


def test_identification_and_linear_rows_sweep_too(tmp_path: Path) -> None:
    environment = discreet.Bernoulli([0.9, 0.3])
    found = discreet.sweep(
        "adap-tt",
        environment,
        epsilon=[1.0, 5.0],
        risk=[0.1, 0.01],
        runs=4,
        seed=3,
        piece=2,
        folder=tmp_path,
    )
    assert all(result.is_search for result in found)
    assert found.labels == ["adap-tt ε=1", "adap-tt ε=5"]
    assert [result.risk for result in found] == [0.1, 0.01, 0.1, 0.01]
    alone = identify(identifier("adap-tt", epsilon=5.0), environment, risk=0.01, runs=4, seed=3)
    assert np.array_equal(found[3].stopping_time, alone.stopping_time)
    here = Here()
    again = discreet.sweep(
        "adap-tt",
        environment,
        epsilon=[1.0, 5.0],
        risk=[0.1, 0.01],
        runs=4,
        seed=3,
        piece=2,
        folder=tmp_path,
        executor=here,
    )
    assert here.played == 0
    assert again.table().equals(found.table())
    problem = linear.LinearProblem.random(arms=4, dimension=2, contexts="fixed", seed=1)
    rows = discreet.sweep(["oful"], problem, horizon=[200], runs=3, seed=1, piece=2)
    assert isinstance(rows, discreet.Comparison)
    assert np.array_equal(
        rows[0].regret,
        linear.simulate(linear.policy("oful"), problem, horizon=200, runs=3, seed=1).regret,
    )


# --- what names a piece -----------------------------------------------------------------------


def piece_of(**changes: Any) -> pieces.Piece:
    policy = discreet.policy("dp-imed", epsilon=1.0)
    cell = {"policy": policy, "problem": ENVIRONMENTS["two"], "name": "two", "horizon": 100}
    about = {"points": 10, "shuffle": True, "entropy": 1, "first": 0, "last": 5}
    return pieces.Piece(
        Cell(**(cell | {k: v for k, v in changes.items() if k in cell})),
        **(about | {k: v for k, v in changes.items() if k in about}),
    )


def test_digests_name_everything_that_numbers_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[dict[str, Any]] = [
        {"policy": discreet.policy("dp-imed", epsilon=2.0)},
        {"policy": discreet.policy("dp-imed", epsilon=1.0, ratio=3.0)},
        {"problem": ENVIRONMENTS["three"]}, {"horizon": 101}, {"points": 11}, {"shuffle": False},
        {"entropy": 2}, {"first": 1}, {"last": 6},
    ]  # fmt: skip
    digests = {piece_of(**change).digest for change in changes} | {piece_of().digest}
    assert len(digests) == len(changes) + 1
    named = discreet.policy("dp-imed", epsilon=1.0, label="ours")
    assert piece_of(policy=named, name="x").digest == piece_of().digest
    before = piece_of().digest
    monkeypatch.setattr(pieces, "source_digest", lambda: "another formula")
    assert piece_of().digest != before


def test_an_edited_rule_of_ones_own_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is none of ours, so no digest of ours knows of the edit."""
    from discreet.policies._ucb import UCB1

    def chosen(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
        return 0

    def edited(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
        return 1

    class Own(UCB1):
        choose = staticmethod(chosen)

    row = discreet.Policy("own", discreet.policy("ucb1").schedule,
                          discreet.policy("ucb1").release, Own())  # fmt: skip
    before = pieces.cell_digest(Cell(row, ENVIRONMENTS["two"], "two", 100))
    monkeypatch.setattr(Own, "choose", staticmethod(edited))
    pieces.loop_kernel.cache_clear()
    assert pieces.cell_digest(Cell(row, ENVIRONMENTS["two"], "two", 100)) != before


def test_so_have_edited_parts_of_identifying_and_linear_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def edited(*given: Any) -> bool:
        return True

    problem = linear.LinearProblem.random(arms=4, dimension=2, seed=1)
    for row, part, slot, place in (
        (identifier("adap-tt", epsilon=1.0).at(0.1), "stopping", "enough", ENVIRONMENTS["two"]),
        (linear.policy("oful"), "schedule", "follow", problem),
    ):
        ours = getattr(row, part)
        own: Any = type("Own", (type(ours),), {})
        mine = replace(row, **{part: own(**{f.name: getattr(ours, f.name) for f in fields(ours)})})
        cell = Cell(mine, place, "here", 100)
        before = pieces.cell_digest(cell)
        assert pieces.cell_digest(cell) == before
        monkeypatch.setattr(own, slot, staticmethod(edited))
        pieces.identifying_loop.cache_clear()
        pieces.linear_loop.cache_clear()
        assert pieces.cell_digest(cell) != before


def test_linear_problems_are_named_by_their_numbers() -> None:
    some = [linear.LinearProblem.random(arms=4, dimension=2, seed=seed) for seed in (1, 2)]
    row = linear.policy("oful")
    assert len({piece_of(policy=row, problem=problem).digest for problem in some}) == 2


def test_workers_with_other_code_refuse() -> None:
    with pytest.raises(DiscreetError, match="same version of discreet"):
        pieces.play(piece_of(), "another")


def test_a_stopped_piece_is_no_result() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(pieces.Stopped):
        pieces.play(piece_of(), pieces.source_digest(), stop)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_travels(kind: str) -> None:
    for line in catalogue(kind).values():
        row = line.example()
        assert pickle.loads(pickle.dumps(row)) == row


def test_what_cannot_travel_or_last_is_refused(tmp_path: Path) -> None:
    environment = discreet.Sampler([lambda rng, size: rng.random(size)] * 2, [0.5, 0.5], (0.0, 1.0))
    with pytest.raises(InvalidArgument, match="executor must be threads for"):
        discreet.sweep("imed", environment, horizon=10, runs=1, executor=Here())
    with pytest.raises(InvalidArgument, match="described by numbers"):
        discreet.sweep("imed", environment, horizon=10, runs=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="folder must be a folder"):
        swept(folder=tmp_path / "file")


def test_the_time_left_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pool.time, "perf_counter", lambda: clock[0])
    slow = piece_of(policy=discreet.policy("ucb1"))
    several = [piece_of(), piece_of(first=1), piece_of(first=2), slow]
    estimate = pool.Estimate(several)
    clock[0] = 4.0
    estimate.add(several[0], 4.0)
    assert estimate.said(2) == "sweep: 3 of 6 pieces, time left not known yet"
    clock[0] = 8.0  # two at once
    estimate.add(slow, 12.0)
    assert estimate.left() == pytest.approx(2 * 4.0 * 8.0 / 16.0)
    assert estimate.said(0) == "sweep: 2 of 4 pieces, about 4 s left"
    assert pool.in_words(600) == "10 min"
    assert pool.in_words(9000) == "2.5 h"
    assert Bar(False).estimates


# --- killed at any moment ---------------------------------------------------------------------

SCRIPT = """
import sys, discreet
discreet.sweep(
    ["imed", "dp-imed"], [discreet.Bernoulli([0.7, 0.5])], epsilon=[0.1, 1.0],
    horizon=[300_000, 400_000], runs=8, seed=7, points=10, piece=1, threads=2, folder=sys.argv[1],
    progress=False,
).save(sys.argv[2])
"""
KILLS = int(os.environ.get("DISCREET_KILLS", "2"))
"""`make storm-sweeps` asks for more."""


def test_killed_and_restarted_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    chance = random.Random(5)
    folder, result = tmp_path / "killed", tmp_path / "killed.parquet"
    command = [sys.executable, "-c", SCRIPT]
    for _ in range(KILLS):
        enough = len(bytes_in(folder)) + chance.randint(1, max(1, 40 // KILLS))
        process = subprocess.Popen([*command, str(folder), str(result)])
        while process.poll() is None and len(bytes_in(folder)) < enough:
            time.sleep(chance.uniform(0.0, 0.01))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, str(folder), str(result)], check=True)
    other, undisturbed = tmp_path / "undisturbed", tmp_path / "undisturbed.parquet"
    subprocess.run([*command, str(other), str(undisturbed)], check=True)
    assert bytes_in(folder) == bytes_in(other)
    assert len(bytes_in(other)) == 3 * 2 * 8
    assert result.read_bytes() == undisturbed.read_bytes()
