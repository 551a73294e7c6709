"""Trials in PostgreSQL: what is adopted, what is fenced, who waits for whom; and planted bugs, each
of which a test here finds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from live_cases import SECRET, SECRET_STEPS, Clock, CountedNoise

from discreet import Assignment
from discreet.errors import (
    AlreadyOpen,
    DiscreetError,
    Fenced,
    InvalidArgument,
    TrialBusy,
    TrialError,
)
from discreet.live import Strata, Trial, _curator
from discreet.live.stores import PostgresStore, SqliteStore
from discreet.live.stores import _server as server
from discreet.live.stores._server import Server
from discreet.live.stores._sql import SqlStore
from discreet.policies import policy
from discreet.testing._stores import check_shared
from postgres import Postgres

pytestmark = pytest.mark.usefixtures("no_sync")
ROW = policy("dp-imed", epsilon=1.0, first=1)


class Stop(BaseException):
    """The process ends here."""


def planned(store: SqlStore, clock: Any = None, **options: Any) -> Trial:
    within = "5 s" if clock is None else 5.0
    options = {"deadline": within, "missing": 0.0, "assignment": Assignment(window=1), **options}
    return Trial(ROW, ["A", "B"], path=store, clock=clock, **options)


def fill(trial: Trial, name: str) -> None:
    """People come, the first by that name, and answer, until a block waits for its release."""
    for number in range(100):
        unit = f"{name}-{number}" if number else name
        trial.assign(unit)
        trial.record(unit, 1.0)
        if trial.report()["next_release"] is not None:
            return
    raise AssertionError("no block is full")


def one_block(trial: Trial, clock: Clock, name: str) -> None:
    """The same, and it is released."""
    fill(trial, name)
    clock.now += 5.0
    assert trial.settle()


def course(trial: Trial) -> Any:
    return trial.report()["course"]


@contextmanager
def thread(call: Callable[[], Any]) -> Iterator[threading.Thread]:
    running = threading.Thread(target=call, daemon=True)
    running.start()
    yield running
    running.join(20.0)
    assert not running.is_alive()


# --- names and addresses --------------------------------------------------------------------------


def test_many_trials_live_in_one_database_by_name(url: str, clock: Clock) -> None:
    with (
        planned(PostgresStore(url, "one"), clock) as one,
        planned(PostgresStore(url, "two")) as two,
    ):
        one.assign("x")
        assert "x" not in two
        assert (one.report()["assigned"], two.report()["assigned"]) == (1, 0)
    with pytest.raises(InvalidArgument, match=r"name must be new .*Trial.load"):
        planned(PostgresStore(url, "one"))
    with pytest.raises(InvalidArgument, match="name must be that of a trial"):
        Trial.load(PostgresStore(url, "three"))
    for wrong in ("", 7, "a\0b"):
        with pytest.raises(InvalidArgument, match="name must be a text"):
            PostgresStore(url, wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="url must be"):
        PostgresStore(7, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="witness must be"):
        PostgresStore(url, "x", witness=7)  # type: ignore[arg-type]


def test_the_password_is_in_no_message(url: str) -> None:
    address = url.replace("postgres:@", "postgres:geheim@").replace("host=", "host=/nowhere")
    calls: list[Callable[[PostgresStore], object]] = [Trial.load, planned]
    for call in calls:
        with pytest.raises(TrialError, match="cannot be reached") as error:
            call(PostgresStore(address, "x"))
        assert "geheim" not in str(error.value)


def test_without_the_extra_it_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(TrialError, match=r"pip install 'discreet\[postgres\]'"):
        Trial.load(PostgresStore(url, "x"))


def test_a_backup_of_a_trial_in_postgresql_is_a_file(
    url: str, clock: Clock, tmp_path: Path
) -> None:
    planned(PostgresStore(url, "another"), clock).close()
    with planned(PostgresStore(url, "t"), clock) as trial:
        one_block(trial, clock, "x")
        arm = trial.assign("y")
        trial.record("y", 1.0)
        trial.backup(tmp_path / "b.db")
        shown = course(trial)
    with Trial.load(tmp_path / "b.db", clock=clock) as copy:
        assert (course(copy), copy.status, copy.assign("y")) == (shown, "fenced", arm)
        assert not any(block.outcomes for block in copy._store.blocks.values())


def test_a_trial_in_memory_goes_on_in_postgresql(url: str, clock: Clock) -> None:
    trial = Trial(ROW, ["A", "B"], clock=clock, deadline=5.0, missing=0.0)
    arm = trial.assign("x")
    trial.save(PostgresStore(url, "t"))
    trial.record("x", 1.0)
    trial.close()
    with Trial.load(PostgresStore(url, "t"), clock=clock) as again:
        assert again.assign("x") == arm


def test_strata_live_in_postgresql(url: str, clock: Clock) -> None:
    planned(PostgresStore(url, "another"), clock).close()
    options: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": clock}
    trial = Strata(ROW, ["men", "women"], ["A", "B"], path=PostgresStore(url, "t"), **options)
    arm = trial.assign("x", "women")
    with pytest.raises(InvalidArgument, match="everybody belongs to one"):
        trial.assign("x", "men")
    with Strata.load(PostgresStore(url, "t"), clock=clock) as again:
        assert again.assign("x", "women") == arm
        with pytest.raises(TrialError, match="another stratum"):
            again._trials["men"].assign("x")
    with pytest.raises(InvalidArgument, match="open all strata"):
        Trial.load(PostgresStore(url, "t"), clock=clock)
    trial.close()


# --- lost commits, lost answers -------------------------------------------------------------------


def kills(base: Server, text: str) -> None:
    raise Stop


def undoes(base: Server, text: str) -> None:
    base.run("ROLLBACK")
    raise base._refusal(psycopg.errors.SerializationFailure("planted"))


def loses(base: Server, text: str) -> None:
    base.run("COMMIT")
    base._drop()
    raise base._lost()


def breaks(base: Server, text: str) -> None:
    base._drop()
    raise base._lost()


@pytest.mark.parametrize("how", [kills, undoes, loses, breaks])
@pytest.mark.parametrize("again", ["same object", "loaded", "beside"])
@pytest.mark.parametrize("witness", ["here", "file", "database"])
def test_a_release_is_never_drawn_again(
    how: Any, again: str, witness: str, url: str, postgres: Postgres, clock: Clock,
    noise: CountedNoise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The commit after the draw is lost, or its answer is, or the server undoes it."""
    place: Any = {"here": None, "file": tmp_path / "w", "database": None}[witness]
    if witness == "database":
        place = postgres.database()
    store: Any = lambda: PostgresStore(url, "t", witness=place)  # noqa: E731
    trial = planned(store(), clock)
    beside = Trial.load(store(), clock=clock)
    one_block(trial, clock, "x")
    fill(trial, "y")
    clock.now += 5.0
    commit, testify = Server.commit, Server.testify
    armed: list[str] = []

    def noted(base: Server, text: str) -> None:
        testify(base, text)
        armed.append(text)

    def cut(base: Server) -> None:
        if armed:
            how(base, armed.pop())
        commit(base)

    with monkeypatch.context() as patch:
        patch.setattr(Server, "testify", noted)
        patch.setattr(Server, "commit", cut)
        with pytest.raises((Stop, TrialError)):
            trial.settle()
    assert len(noise.drawn) == 2
    if again == "loaded":
        trial.close()
        trial = Trial.load(store(), clock=clock)
    found = beside if again == "beside" else trial
    shown = course(found)
    assert len(shown) == 2
    assert len(noise.drawn) == 2, "it was drawn again"
    assert course(trial) == course(beside) == shown
    one_block(beside, clock, "z")
    assert course(trial) == course(beside)
    trial.close()
    beside.close()


def test_a_connection_that_is_lost_between_calls_is_opened_again(url: str, clock: Clock) -> None:
    with planned(PostgresStore(url, "t"), clock) as trial:
        trial.assign("x")
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert trial.assign("x") in ("A", "B")
        one_block(trial, clock, "y")


def test_whoever_holds_a_trial_and_hangs_is_thrown_out(
    url: str, clock: Clock, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curator that is paused after its draw: another one releases, and the first adopts that."""
    monkeypatch.setattr(server, "PATIENCE", 0.3)
    one = planned(PostgresStore(url, "t"), clock)
    other = Trial.load(PostgresStore(url, "t"), clock=clock)
    one.assign("x")
    clock.now += 5.0
    testify, paused = Server.testify, [True]

    def pauses(base: Server, text: str) -> None:
        if paused.pop() if paused else False:
            time.sleep(1.0)
        testify(base, text)

    monkeypatch.setattr(Server, "testify", pauses)
    with suppress(DiscreetError), thread(lambda: suppressed(one.settle)):
        time.sleep(0.6)
        assert other.settle()
    assert len(noise.drawn) == 2, "the first draw was never shown"
    assert course(other)[0]["mean"] == pytest.approx(noise.drawn[1] / 2**20, rel=1e-12)
    with Trial.load(PostgresStore(url, "t"), clock=clock) as third:
        assert course(third) == course(other)
    other.close()


def suppressed(call: Callable[[], Any]) -> None:
    with suppress(DiscreetError):
        call()


def test_a_planted_redraw_is_caught(
    url: str, clock: Clock, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = planned(PostgresStore(url, "t"), clock)
    trial.assign("x")
    clock.now += 5.0
    testify = Server.testify

    def dies(base: Server, text: str) -> None:
        testify(base, text)
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Server, "testify", dies)
        with pytest.raises(Stop):
            trial.settle()
    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "_adopt", lambda store, line: None)
        careless = Trial.load(PostgresStore(url, "t"), clock=clock)
        with pytest.raises(Fenced, match="knows of another release"):
            careless.settle()
    assert len(noise.drawn) == 2, "planted: it was drawn again, and the witness refused it"
    with Trial.load(PostgresStore(url, "t"), clock=clock) as good:
        assert course(good)[0]["mean"] == pytest.approx(noise.drawn[0] / 2**20, rel=1e-12)


def test_a_block_is_released_once_whatever_the_program_does(url: str, clock: Clock) -> None:
    """The second fence: keys of the table of releases."""
    with planned(PostgresStore(url, "t"), clock) as trial:
        one_block(trial, clock, "x")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SET search_path = discreet")
        trial_number, generation, block = other.execute("SELECT * FROM releases").fetchone() or ()
        for values in ((generation, "another"), (generation + 1, block)):
            with pytest.raises(psycopg.errors.UniqueViolation):
                other.execute("INSERT INTO releases VALUES (%s, %s, %s)", (trial_number, *values))


# --- databases that go back -----------------------------------------------------------------------


def copied(url: str, name: str) -> str:
    """A database as it is now, under another name: what a dump would bring back."""
    now = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url.replace(f"/{now}?", "/postgres?"), autocommit=True) as other:
        other.execute(f"CREATE DATABASE {now}_{name} TEMPLATE {now}")
    return url.replace(f"/{now}?", f"/{now}_{name}?")


def check_fenced(trial: Trial, noise: CountedNoise, known: Any) -> None:
    drawn = len(noise.drawn)
    assert trial.status == "fenced"
    assert not trial.settle()
    assert trial.assign(known) in trial.arms
    trial.record(known, 1.0)
    with pytest.raises(Fenced):
        trial.assign("newcomer")
    assert len(noise.drawn) == drawn


@pytest.fixture(params=["file", "database"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres) -> Any:
    return tmp_path / "w" if request.param == "file" else postgres.database()


def test_an_old_dump_is_fenced(url: str, elsewhere: Any, clock: Clock, noise: CountedNoise) -> None:
    with planned(PostgresStore(url, "t", witness=elsewhere), clock) as trial:
        one_block(trial, clock, "a")
        fill(trial, "x")
    old = copied(url, "old")
    with Trial.load(PostgresStore(url, "t", witness=elsewhere), clock=clock) as trial:
        clock.now += 5.0
        assert trial.settle()
        one_block(trial, clock, "b")
        newest = course(trial)
    worker = Trial.load(PostgresStore(old, "t", releases_here=False), clock=clock)
    with Trial.load(PostgresStore(old, "t", witness=elsewhere), clock=clock) as trial:
        check_fenced(trial, noise, "x")
        with pytest.raises(Fenced):  # whoever cannot see the witness is told
            worker.assign("newcomer")
        trial.fence()
        assert trial.status == "finished"
    worker.close()
    with Trial.load(PostgresStore(url, "t", witness=elsewhere), clock=clock) as trial:
        assert course(trial) == newest
        one_block(trial, clock, "on")


def test_a_dump_that_lacks_one_release_adopts_it(
    url: str, elsewhere: Any, clock: Clock, noise: CountedNoise
) -> None:
    with planned(PostgresStore(url, "t", witness=elsewhere), clock) as trial:
        one_block(trial, clock, "a")
        fill(trial, "x")
    old = copied(url, "old")
    clock.now += 5.0
    with Trial.load(PostgresStore(url, "t", witness=elsewhere), clock=clock) as trial:
        assert trial.settle()
        newest = course(trial)
    for _ in range(2):
        with Trial.load(PostgresStore(old, "t", witness=elsewhere), clock=clock) as trial:
            assert course(trial) == newest
    assert len(noise.drawn) == 2


def test_of_two_servers_that_think_they_are_the_only_one_one_releases(
    url: str, elsewhere: Any, clock: Clock, noise: CountedNoise
) -> None:
    with planned(PostgresStore(url, "t", witness=elsewhere), clock) as trial:
        one_block(trial, clock, "a")
    other = copied(url, "other")
    one = Trial.load(PostgresStore(url, "t", witness=elsewhere), clock=clock)
    two = Trial.load(PostgresStore(other, "t", witness=elsewhere), clock=clock)
    fill(one, "x")
    fill(two, "y")
    clock.now += 5.0
    assert one.settle()
    with suppress(Fenced):
        two.settle()
    two.close()  # it has drawn, and shows nothing of that
    noise.drawn[2:] = []
    two = Trial.load(PostgresStore(other, "t", witness=elsewhere), clock=clock)
    check_fenced(two, noise, "y")
    assert len(course(one)) == 2
    one.close()
    two.close()


def test_a_copy_that_is_restored_again_and_again_gives_one_release(
    url: str, elsewhere: Any, clock: Clock, noise: CountedNoise
) -> None:
    with planned(PostgresStore(url, "t", witness=elsewhere), clock) as trial:
        fill(trial, "x")
    copies = [copied(url, f"copy{n}") for n in range(3)]
    clock.now += 5.0
    seen = set()
    for copy in copies:
        with Trial.load(PostgresStore(copy, "t", witness=elsewhere), clock=clock) as trial:
            seen.add(str(course(trial)))
    assert len(seen) == len(noise.drawn) == 1


def test_another_server_or_timeline_is_fenced_unless_its_witness_is_elsewhere(
    url: str, elsewhere: Any, clock: Clock, noise: CountedNoise
) -> None:
    """A restored base backup, a promoted replica."""
    for name, witness in (("here", None), ("elsewhere", elsewhere)):
        with planned(PostgresStore(url, name, witness=witness), clock) as trial:
            one_block(trial, clock, "x")
    with psycopg.connect(url) as other:
        other.execute("UPDATE discreet.witness SET server = '123/00000001'")
    with Trial.load(PostgresStore(url, "here"), clock=clock) as trial:
        check_fenced(trial, noise, "x")
        assert "promoted" in trial.report()["fence"]
    with Trial.load(PostgresStore(url, "elsewhere", witness=elsewhere), clock=clock) as trial:
        one_block(trial, clock, "y")


def test_a_witness_that_is_changed_or_away_fences(
    url: str, postgres: Postgres, clock: Clock, noise: CountedNoise
) -> None:
    place = postgres.database()
    with planned(PostgresStore(url, "t", witness=place), clock) as trial:
        for name in "abc":
            one_block(trial, clock, name)
        trial.assign("x")
    with pytest.raises(InvalidArgument, match="witness must be given"):
        Trial.load(PostgresStore(url, "t"), clock=clock)
    with Trial.load(PostgresStore(url, "t", witness=postgres.database()), clock=clock) as trial:
        assert "another database" in trial.report()["fence"]
    with psycopg.connect(place, autocommit=True) as other:
        other.execute("DELETE FROM discreet_witness.lines WHERE number = 3")
    with Trial.load(PostgresStore(url, "t", witness=place), clock=clock) as trial:
        check_fenced(trial, noise, "x")


# --- who waits for whom: step by step, with connections of one's own -----------------------------


def in_flight(url: str, clock: Clock, noise: CountedNoise) -> float:
    """20 outcomes are handed in and acknowledged while a release begins; the sum that is
    released."""
    many = 20
    options: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": clock}
    row = policy("dp-imed", epsilon=1.0, first=many, ratio=2.0)
    trial = Trial(row, ["A", "B"], path=PostgresStore(url, "t"), **options)
    units: list[int] = []
    while not any(row_["places"] >= many for row_ in _filled(trial)):
        units.append(len(units))
        trial.assign(units[-1])
    (arm,) = [row_["arm"] for row_ in _filled(trial) if row_["places"] >= many]
    block = [unit for unit in units if trial.assign(unit) == arm][:many]
    flying = []
    for unit in block:  # before the deadline: handed in, and not committed yet
        store: Any = PostgresStore(url, "t", releases_here=False)
        store.load()
        store._base.begin(alone=False)
        member = store.member(unit)
        key = store.row(member.block).key
        from discreet.live.stores import _seal as seal

        sealed = seal.sealed(key, seal.outcome_text(1 << 20))
        store._base.hand_in((store._trial, member.block, member.slot), key, sealed, False)
        flying.append(store)
    clock.now += 5.0
    with thread(trial.settle):
        time.sleep(0.4)
        for store in flying:
            store._base.run("COMMIT")
            store.close()
    (entry,) = [e for e in course(trial) if e["arm"] == arm]
    trial.close()
    return float(entry["mean"] * entry["size"] - noise.drawn[0] / 2**20)


def _filled(trial: Trial) -> Any:
    blocks = trial.report()["blocks"] or []
    return [{"arm": block["arm"], "places": block["filled"]} for block in blocks]


def test_outcomes_in_flight_are_counted(url: str, clock: Clock, noise: CountedNoise) -> None:
    assert in_flight(url, clock, noise) == pytest.approx(20.0, abs=1e-6)


def test_planted_outcomes_are_read_before_their_block_is_locked(
    url: str, clock: Clock, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 20 were acknowledged, and would be erased uncounted."""
    monkeypatch.setattr(Server, "lock_block", lambda base, trial, block: None)
    assert in_flight(url, clock, noise) == pytest.approx(0.0, abs=1e-6)


def seated_while_held(url: str) -> bool:
    """Somebody has the trial from before a block is due until after; a newcomer who came before
    that gets a place."""
    curator = planned(PostgresStore(url, "t"), deadline="1 s")
    curator.assign("x")
    worker = Trial.load(PostgresStore(url, "t", releases_here=False))
    seated = []

    def come() -> None:
        with suppress(TrialBusy):
            seated.append(worker.assign("y"))

    with psycopg.connect(url) as holder:
        holder.execute("SELECT 1 FROM discreet.heads FOR UPDATE")
        with thread(come):
            time.sleep(1.3)
            holder.rollback()
    found = bool(seated)
    worker.close()
    curator.close()
    return found


def test_the_time_is_read_while_the_trial_is_held(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_curator, "PATIENCE", 0.0)
    assert not seated_while_held(url)


def test_planted_the_time_is_that_of_the_beginning(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`now()` is when the transaction began, before it waited: a newcomer gets a place in a trial
    that has a block due."""
    monkeypatch.setattr(_curator, "PATIENCE", 0.0)

    def began(base: Server) -> float:
        base._connected()
        found = base.one("SELECT extract(epoch FROM now())::DOUBLE PRECISION")
        return float((found or (0.0,))[0])

    monkeypatch.setattr(Server, "moment", began)
    assert seated_while_held(url)


def two_at_once(url: str, clock: Clock) -> str:
    """One reads, and takes its time; another one comes meanwhile. What goes wrong."""
    one = planned(PostgresStore(url, "t"), clock, deadline=500.0)
    other = Trial.load(PostgresStore(url, "t"), clock=clock)
    enter, said, pausing = SqlStore._enter, list[str](), threading.local()

    def slow(store: SqlStore, *arguments: Any) -> None:
        if getattr(pausing, "here", False):
            time.sleep(0.5)
        enter(store, *arguments)

    def come(trial: Trial, unit: str, pauses: bool) -> None:
        pausing.here = pauses
        try:
            trial.assign(unit)
        except DiscreetError as error:
            said.append(str(error))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlStore, "_enter", slow)
        with thread(lambda: come(one, "x", True)):
            time.sleep(0.15)
            come(other, "y", False)
    report = other.report()
    if report["assigned"] != 2:
        said.append(f"{report['assigned']} of 2 have an arm")
    one.close()
    other.close()
    return "; ".join(said)


def test_two_newcomers_at_once_both_get_a_place(url: str, clock: Clock) -> None:
    assert two_at_once(url, clock) == ""


def test_planted_nobody_locks_the_head(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second fence, keys and versions, lets neither of two have the other's place; but one is
    refused."""
    execute = Server._execute

    def unlocked(base: Server, text: str, values: Any, prepare: Any) -> Any:
        if text.startswith("BEGIN"):
            text = text.replace("FOR UPDATE", "")
        return execute(base, text, values, prepare)

    monkeypatch.setattr(Server, "_execute", unlocked)
    assert "1 of 2 have an arm" in two_at_once(url, clock)


def adopted_with_a_newcomer(make: Callable[..., SqlStore], clock: Clock) -> str:
    """A curator dies between witness and commit; then somebody comes; then a curator."""
    curator = planned(make(), clock)
    worker = Trial.load(make(releases_here=False), clock=clock)
    worker.assign("x")
    clock.now += 5.0
    testify = type(curator._store._base).testify  # type: ignore[attr-defined]

    def dies(base: Any, text: str) -> None:
        testify(base, text)
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(curator._store._base), "testify", dies)  # type: ignore[attr-defined]
        with pytest.raises(Stop):
            curator.settle()
    with suppress(TrialBusy):
        worker.assign("y")
    curator.close()
    worker.close()
    with Trial.load(make(), clock=clock) as again:
        return again.status


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_newcomer_while_a_block_is_due_would_make_its_release_foreign(
    planted: bool, kind: str, request: pytest.FixtureRequest, tmp_path: Path, clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(_curator, "PATIENCE", 0.05)
    if kind == "sqlite":
        make: Callable[..., SqlStore] = lambda **options: SqliteStore(tmp_path / "t.db", **options)  # noqa: E731
    else:
        url = request.getfixturevalue("url")
        make = lambda **options: PostgresStore(url, "t", **options)  # noqa: E731
    if planted:
        monkeypatch.setattr(_curator.Curator, "_is_due", lambda trial, now: False)
    assert adopted_with_a_newcomer(make, clock) == ("fenced" if planted else "collecting")


def test_planted_half_a_head_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a window is not stored."""
    import itertools

    from discreet.live._stream_run import StreamRun

    moved = StreamRun.moved

    def half(run: StreamRun) -> dict[str, Any]:
        found: Any = moved(run)
        left = [1] + [0] * (len(found["head"]["left"]) - 1)
        return {"head": {**found["head"], "left": left, "at": [*found["head"]["at"]]}}

    monkeypatch.setattr(StreamRun, "moved", half)
    number = itertools.count()
    with pytest.raises((AssertionError, DiscreetError)):
        check_shared(
            lambda: SqliteStore(tmp_path / f"{next(number)}.db"), lambda store: _loaded(store)
        )


def _loaded(store: Any) -> Any:
    other = store.again()
    other.load()
    return other


def test_the_trial_of_another_who_hangs_is_not_waited_for_for_ever(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    with planned(PostgresStore(url, "t"), clock) as trial:
        with psycopg.connect(url) as holder:
            holder.execute("SELECT 1 FROM discreet.heads FOR UPDATE")
            with pytest.raises(AlreadyOpen, match="has held 't' in PostgreSQL"):
                trial.assign("x")
        assert trial.assign("x") in ("A", "B")


# --- nothing raw is left --------------------------------------------------------------------------


def test_no_outcome_is_in_any_file_of_the_server(
    postgres: Postgres, url: str, clock: Clock, noise: CountedNoise
) -> None:
    """Neither before its release nor after it: not in tables, the log of the server, or a dump.
    (Keys of released blocks stay in dead rows until a vacuum, and in the log until it is
    recycled.)"""
    marks = [str(SECRET), str(SECRET_STEPS), SECRET_STEPS.to_bytes(8, "big").hex()]
    raw = [mark.encode() for mark in marks] + [SECRET_STEPS.to_bytes(8, "big")]

    def found() -> list[str]:
        postgres.run("psql", "-c", "CHECKPOINT", url)
        dump = postgres.run("pg_dump", url).encode()
        with psycopg.connect(url) as other:
            query = "SELECT oid FROM pg_database WHERE datname = current_database()"
            (oid,) = other.execute(query).fetchone() or ()
        folders = [postgres.folder / name for name in (f"base/{oid}", "global", "pg_wal", "log")]
        paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
        files = {str(path): path.read_bytes() for path in paths if path.is_file()}
        assert len(files) > 100
        return [
            name for name, data in {**files, "dump": dump}.items() if any(m in data for m in raw)
        ]

    before = found()
    trial = planned(PostgresStore(url, "t"), clock)
    worker = Trial.load(PostgresStore(url, "t", releases_here=False), clock=clock)
    for unit in "xyz":
        worker.assign(unit)
        worker.record(unit, SECRET)
    assert found() == before
    trial.finish()
    clock.now += 5.0
    assert trial.settle()
    assert found() == before
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute("SELECT count(*) FROM discreet.pending").fetchone() == (0,)
        assert other.execute("SELECT count(*) FROM discreet.keys").fetchone() == (
            1,
        )  # the ledger's
    worker.close()
    trial.close()
