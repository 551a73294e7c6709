"""Workers that assign and record, and processes that release: on a file, and in PostgreSQL."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from live_cases import Clock, CountedNoise

from discreet import Assignment, Outcomes
from discreet.errors import InvalidArgument, TrialBusy, TrialError, Withdrawn
from discreet.live import Beat, Strata, Trial, _curator, curate
from discreet.live.stores import PostgresStore, SqliteStore, grant_roles
from discreet.live.stores._server import Server
from discreet.live.stores._sql import SqlStore
from discreet.policies import policy
from discreet.testing._stores import check_workers

pytestmark = pytest.mark.usefixtures("no_sync")
Make = Callable[..., SqlStore]


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Stores of one new trial, of either kind."""
    if request.param == "sqlite":
        return lambda name="t", **options: SqliteStore(tmp_path / f"{name}.db", **options)
    url = request.getfixturevalue("url")
    return lambda name="t", **options: PostgresStore(url, name, **options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_curator, "PATIENCE", 0.05)


def planned(store: SqlStore, clock: Any = None, **options: Any) -> Trial:
    options = {"deadline": 5.0, "missing": 0.0, **options}
    row = policy("dp-imed", epsilon=1.0, first=options.pop("first", 1))
    options.setdefault("assignment", Assignment(window=1))
    return Trial(row, ["A", "B"], path=store, clock=clock, **options)


def test_every_plan_runs_with_workers_and_curators(make: Make) -> None:
    number = itertools.count()

    def new() -> Any:
        return make(f"t{next(number)}")

    def again(store: Any, releases_here: bool) -> Any:
        other = store.again()
        other.releases_here = other._base.releases_here = releases_here
        return other

    check_workers(new, again)


def test_a_newcomer_waits_while_a_block_is_due_and_nobody_else(
    make: Make, clock: Clock, impatient: None
) -> None:
    curator = planned(make(), clock)
    worker = Trial.load(make(releases_here=False), clock=clock)
    arm = worker.assign("x")
    worker.record("x", 1.0)
    clock.now += 5.0
    assert not worker.settle(), "a worker does not release"
    with pytest.raises(TrialBusy, match=r"newcomers wait.*curate"):
        worker.assign("y")
    with pytest.raises(TrialBusy):
        worker.assign_many(["x", "y"])
    assert worker.assign("x") == arm
    worker.record("x", 1.0)
    assert "y" not in worker
    assert curator.settle()
    assert worker.assign("y") in ("A", "B")
    assert worker.report() == curator.report()
    worker.close()
    curator.close()


def test_a_newcomer_gets_an_arm_once_it_is_released_and_not_before(
    make: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what happens after what, and not by how long it takes."""
    monkeypatch.setattr(_curator, "PATIENCE", 300.0)
    curator = planned(make(), clock)
    worker = Trial.load(make(releases_here=False), clock=clock)
    worker.assign("x")
    clock.now += 5.0
    looks, found = threading.Semaphore(0), list[object]()
    is_due = type(worker)._is_due

    def looked(self: Trial, now: float) -> bool:
        looks.release()
        return is_due(self, now)

    monkeypatch.setattr(Trial, "_is_due", looked)
    waiting = threading.Thread(target=lambda: found.append(worker.assign("y")))
    waiting.start()
    for _ in range(3):  # it has looked, waited, and looked again
        assert looks.acquire(timeout=300.0)
    assert not found
    curator.settle()
    waiting.join(300.0)
    assert found == [worker.assign("y")]
    worker.close()
    curator.close()


def test_workers_change_nothing_but_places_and_outcomes(make: Make, clock: Clock) -> None:
    curator = planned(make(), clock)
    worker = Trial.load(make(releases_here=False), clock=clock)
    worker.assign("x")
    for refused in (
        lambda: worker.drop("A"),
        lambda: worker.add("C"),
        lambda: worker.stop(),
        lambda: worker.finish(),
        lambda: worker.confirm_clock(),
        lambda: worker.backup("no.db"),
    ):
        with pytest.raises(TrialError, match="does not release"):
            refused()
    assert worker.report() == curator.report()
    worker.record("x", 1.0)
    assert not worker._store.blocks["0-1"].outcomes, "a worker sees no outcome"
    assert worker._store.state["protocol"].get("ledger") is None
    worker.close()
    curator.close()


def test_the_first_outcome_stands_and_nobody_is_told(
    make: Make, clock: Clock, noise: CountedNoise
) -> None:
    curator = planned(make(), clock)
    worker = Trial.load(make(releases_here=False), clock=clock)
    worker.assign("x")
    worker.record("x", 1.0)
    worker.record("x", 0.0)  # no ConflictingOutcome: that would tell
    clock.now += 5.0
    worker.record("x", 0.0)  # late
    (row, *_) = [row for row in curator.report()["arms"] or () if row["releases"]]
    assert row["mean"] == pytest.approx(1.0 + noise.drawn[0] / 2**20, rel=1e-12)
    worker.record("x", 0.0)  # released
    worker.close()
    curator.close()


def test_a_trial_without_a_deadline_has_no_workers(make: Make) -> None:
    Trial(policy("dp-imed", epsilon=1.0), 2, path=make()).close()
    with pytest.raises(InvalidArgument, match="releases_here must be True"):
        Trial.load(make(releases_here=False))


def test_a_process_that_releases(make: Make) -> None:
    curator = planned(make(), deadline="1 s", outcomes=Outcomes(conflicts="ignore"))
    curator.close()
    ended = threading.Event()
    process = threading.Thread(
        target=curate, args=([make()],), kwargs={"every": 0.02, "until": ended.is_set}
    )
    process.start()
    try:
        with Trial.load(make(releases_here=False)) as worker:
            for unit in range(3):
                worker.assign(unit)
                worker.record(unit, 1.0)
            until = time.monotonic() + 20.0
            while worker.report()["releases"] < 2 and time.monotonic() < until:
                time.sleep(0.05)
            assert worker.report()["releases"] >= 2
    finally:
        ended.set()
        process.join()


def test_strata_have_workers_too(make: Make, clock: Clock) -> None:
    strata = Strata(
        policy("dp-imed", epsilon=1.0, first=1), ["men", "women"], ["A", "B"], path=make(),
        deadline=5.0, missing=0.0, clock=clock,
    )  # fmt: skip
    workers = Strata.load(make(releases_here=False), clock=clock)
    arm = workers.assign("x", "women")
    assert strata.assign("x", "women") == arm
    with pytest.raises(InvalidArgument, match="everybody belongs to one"):
        workers.assign("x", "men")
    workers.record("x", 1.0)
    clock.now += 60.0
    assert strata.settle() or True
    assert workers.report()["strata"] == strata.report()["strata"]
    workers.close()
    strata.close()


def test_a_beat_answers_everybody(make: Make, clock: Clock) -> None:
    trial = planned(make(), clock, horizon=4)
    with Beat(trial, 0.01) as beat:
        arms = {unit: beat.assign(unit) for unit in "xy"}
        assert {unit: beat.assign(unit) for unit in "xy"} == arms
        beat.record("x", 0.5)
        with pytest.raises(InvalidArgument):
            beat.record("y", 7.0)
        with pytest.raises(TrialError, match="another one"):
            beat.record("x", 0.25)
        beat.record("y", 0.5)
    with pytest.raises(TrialError, match="ended"):
        beat.assign("z")
    assert trial.report()["assigned"] == 2
    with Trial.load(make(), clock=clock) as stored:
        assert stored.report() == trial.report()
    trial.close()


def test_a_batch_that_cannot_be_stored_leaves_nothing(
    make: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = planned(make(), clock)
    before = trial.report()

    def fails(store: SqlStore) -> None:
        raise TrialError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "touch", fails)
        with Beat(trial, 0.01) as beat, pytest.raises(TrialError, match="no room"):
            beat.assign("x")
    assert trial.report() == before
    assert "x" not in trial
    trial.close()


# --- roles of PostgreSQL --------------------------------------------------------------------------


@pytest.fixture
def roles(url: str) -> Iterator[dict[str, str]]:
    """Two real roles, and how they connect."""
    database = url.partition("?")[0].rpartition("/")[2]
    names = {kind: f"{kind}_{database}" for kind in ("web", "curator")}
    with psycopg.connect(url, autocommit=True) as owner:
        for name in names.values():
            owner.execute(f"CREATE ROLE {name} LOGIN")
    yield {kind: url.replace("postgres:@", f"{name}:@", 1) for kind, name in names.items()}
    with psycopg.connect(url, autocommit=True) as owner:
        for name in names.values():
            owner.execute(f"DROP OWNED BY {name}")
            owner.execute(f"DROP ROLE {name}")


def test_the_role_of_workers_writes_outcomes_and_reads_none(
    url: str, roles: dict[str, str], clock: Clock, noise: CountedNoise
) -> None:
    planned(PostgresStore(url, "first"), clock).close()
    names = {kind: to.partition("://")[2].partition(":")[0] for kind, to in roles.items()}
    grant_roles(url, web=names["web"], curator=names["curator"])
    curator = planned(PostgresStore(roles["curator"], "t"), clock)
    worker = Trial.load(PostgresStore(roles["web"], "t", releases_here=False), clock=clock)
    for unit in "tuvxyz":
        worker.assign(unit)
        worker.record(unit, 1.0)
        clock.now += 5.0
        curator.settle()
    assert worker.report() == curator.report()
    assert worker.report()["releases"] >= 2
    worker.assign("w")
    worker.record("w", 1.0)
    refused = [
        "SELECT outcome FROM pending", "SELECT count(*) FROM pending", "DELETE FROM pending",
        "UPDATE pending SET outcome = outcome", "UPDATE pending SET outcome = '\\x00'",
        "INSERT INTO pending VALUES (1, '1', 0, '\\x00', NULL, 0) RETURNING outcome",
        "SELECT answered FROM open_blocks", "DELETE FROM open_blocks",
        "UPDATE open_blocks SET answered = '\\x00'", "UPDATE open_blocks SET key = 1",
        "SELECT secret FROM trials", "SELECT * FROM trials", "UPDATE trials SET public = ''",
        "UPDATE heads SET generation = 0", "DELETE FROM heads", "DELETE FROM places",
        "UPDATE places SET turn = 7", "SELECT key FROM keys", "UPDATE keys SET key = '\\x00'",
        "DELETE FROM keys", "INSERT INTO releases VALUES (1, 1, '1')", "SELECT * FROM releases",
        "UPDATE witness SET size = 0", "SELECT chain FROM witness", "DROP TABLE pending",
        "SELECT * FROM discreet_witness.lines",
    ]  # fmt: skip
    with psycopg.connect(roles["web"], autocommit=True) as web:
        web.execute("SET search_path = discreet")
        for statement in refused:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                web.execute(statement)
    with pytest.raises(TrialError, match="must not do that"):
        Trial.load(PostgresStore(roles["web"], "t"), clock=clock)
    worker.close()
    curator.close()


# --- rights, where outcomes are not read ----------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgres", "postgres as web"])
def pair(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> Iterator[Callable[..., tuple[Trial, Trial]]]:
    """A curator and a worker of one new trial; in PostgreSQL by their own roles, too."""
    made, number = list[Trial](), itertools.count()

    def make(**options: Any) -> tuple[Trial, Trial]:
        name, opened = f"t{next(number)}", dict[bool, SqlStore]()
        for here in (True, False):
            if request.param == "sqlite":
                opened[here] = SqliteStore(tmp_path / f"{name}.db", releases_here=here)
                continue
            to = request.getfixturevalue("url")
            if request.param == "postgres as web" and not here:
                roles = request.getfixturevalue("roles")
                grant_roles(to, web=roles["web"].partition("://")[2].partition(":")[0])
                to = roles["web"]
            opened[here] = PostgresStore(to, name, releases_here=here)
            if here:
                made.append(planned(opened[True], clock, **options))
        if request.param == "sqlite":
            made.append(planned(opened[True], clock, **options))
        made.append(Trial.load(opened[False], clock=clock))
        return made[-2], made[-1]

    yield make
    for trial in made:
        trial.close()


CORRECTED = Outcomes(corrections="deadline", conflicts="ignore")


def counted(curator: Trial, noise: CountedNoise) -> dict[Any, float]:
    """The sum of each release, without its noise."""
    report = curator.report()
    assert len(report["course"] or ()) == len(noise.drawn)
    return {
        (entry["arm"], entry["size"]): (entry["mean"] or 0.0) * entry["size"] - drawn / 2**20
        for entry, drawn in zip(report["course"] or (), noise.drawn, strict=True)
    }


def test_a_worker_withdraws_with_the_same_result(
    pair: Any, clock: Clock, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.live._randomness.SystemRandomness.below", lambda self, most: 0)
    shown = []
    for who in (0, 1):
        users = pair(assignment=Assignment(window=2), outcomes=CORRECTED)
        curator, worker = users
        noise.drawn.clear()
        for unit in ("u-one-of-them", "v-one-of-them"):
            worker.assign(unit)
            worker.record(unit, 1.0)
        before = worker.report()
        remains = [users[who].withdraw("u-one-of-them")]
        assert worker.report() == curator.report() == before
        worker.record("u-one-of-them", 1.0)  # nothing of it counts
        worker.correct("u-one-of-them", 1.0)
        assert worker.assign("u-one-of-them") == curator.assign("u-one-of-them")
        clock.now += 5.0
        curator.settle()
        remains += [users[who].withdraw(unit) for unit in ("u-one-of-them", "v-one-of-them")]
        for user in users:
            with pytest.raises(Withdrawn):
                user.assign("v-one-of-them")
        sums = counted(curator, noise)
        assert sorted(round(found, 6) for found in sums.values()) == [0.0, 1.0]
        trail = [(entry["number"], entry["what"]) for entry in curator.log(verify=True)]
        shown.append((remains, sums, trail))
    assert shown[0] == shown[1]


def test_a_worker_corrects_until_the_deadline(pair: Any, clock: Clock, noise: CountedNoise) -> None:
    curator, worker = pair(outcomes=CORRECTED, assignment=Assignment(window=2))
    for unit, outcomes in (("x", [1.0, 0.5, 0.25]), ("y", [0.5, 1.0])):
        worker.assign(unit)
        worker.record(unit, outcomes[0])
        worker.record(unit, 0.75)  # the first one stands
        for outcome in outcomes[1:]:
            worker.correct(unit, outcome)
    clock.now += 5.0
    for unit in "xy":
        worker.correct(unit, 0.125)  # late
    curator.settle()
    assert sorted(round(found, 6) for found in counted(curator, noise).values()) == [0.25, 1.0]


@pytest.mark.parametrize("gone", [True, False])
def test_the_next_place_of_whoever_has_withdrawn_does_not_count_either(
    pair: Any, clock: Clock, noise: CountedNoise, gone: bool
) -> None:
    """A worker reads no outcomes, and does not learn who has withdrawn."""
    curator, worker = pair(
        first=4, outcomes=Outcomes(contributions=2, conflicts="ignore"),
        assignment=Assignment(window=2),
    )  # fmt: skip
    worker.assign("x")
    if gone:
        curator.withdraw("x")
    clock.now += 5.0  # the place is settled, its block is open
    worker.assign("x")
    assert worker.report()["assigned"] == curator.report()["assigned"] == 2
    worker.record("x", 1.0)
    curator.finish()
    clock.now += 5.0
    curator.settle()
    found = sum(counted(curator, noise).values())
    assert round(found, 6) == (0.0 if gone else 1.0)


@pytest.mark.parametrize("planted", [False, True])
def test_an_outcome_that_meets_a_withdrawal_is_sealed_under_the_new_key(
    url: str, clock: Clock, planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that hands in holds no head, so another key may come between its look and its
    write. What it had sealed under the old one nobody could read."""
    curator = planned(PostgresStore(url, "t"), clock, first=8)
    worker = Trial.load(PostgresStore(url, "t", releases_here=False), clock=clock)
    arms: dict[Any, list[str]] = {}
    for unit in "abc":  # of three, two are in one block
        arms.setdefault(worker.assign(unit), []).append(unit)
    x, y, *_ = max(arms.values(), key=len)
    hand_in = Server.hand_in

    def meets(base: Server, place: Any, key: bytes, sealed: bytes, corrects: bool) -> bool:
        monkeypatch.setattr(Server, "hand_in", hand_in)
        curator.withdraw(y)
        if planted:
            store: Any = curator._store
            key = store.row(place[1]).key
        return hand_in(base, place, key, sealed, corrects)

    monkeypatch.setattr(Server, "hand_in", meets)
    worker.record(x, 1.0)
    with curator._turn(), curator._store.held():
        curator._stand()
        member = curator._store.member(x)
        assert member is not None
        outcomes = dict(curator._store.whole(member.block).outcomes)
    assert (outcomes.get(member.slot) == 1 << 20) is not planted
    worker.assign("z")  # it goes on
    assert worker.report() == curator.report()
    worker.close()
    curator.close()
