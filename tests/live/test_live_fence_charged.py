"""An old copy that goes on at a price: what waits is void for ever, and the guarantee says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock, CountedNoise
from trial_commands import call, told

import discreet
from discreet.errors import Fenced, TrialError
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live.stores import PostgresStore, SqliteStore
from discreet.live.stores._sql import SqlStore
from postgres import Postgres

pytestmark = pytest.mark.usefixtures("no_sync")
FENCED = {"by": "Dr. Weber", "reason": "the disk was lost"}


def planned(path: Any, clock: Clock | None, name: str = "dp-imed", **options: Any) -> Trial:
    settings: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "window": 2} | options
    row: dict[str, Any] = {"first": 4, "ratio": 1.5} if name == "dp-imed" else {}
    policy = discreet.policy(name, epsilon=1.0, **row)
    return Trial(policy, 2, path=path, clock=clock, **grouped(settings))


class Home:
    """Where a trial is, of which there are copies."""

    def __init__(self, store: Callable[[], SqlStore], copy: Any, put_back: Any) -> None:
        self.store, self.copy, self.put_back = store, copy, put_back


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    if request.param == "sqlite":
        path = tmp_path / "t.db"

        def copy(name: str) -> None:
            shutil.copyfile(path, tmp_path / name)

        def put_back(name: str) -> None:
            path.unlink()
            shutil.copyfile(tmp_path / name, path)

        return Home(lambda: SqliteStore(path), copy, put_back)
    server: Postgres = request.getfixturevalue("postgres")
    url, witness = request.getfixturevalue("url"), tmp_path / "witness"
    now = [url]

    def copied(name: str, of: str) -> str:
        database = url.partition("?")[0].rpartition("/")[2]
        source = of.partition("?")[0].rpartition("/")[2]
        with server.connected() as other:
            other.execute(f"CREATE DATABASE {database}_{name} TEMPLATE {source}")
        return str(url.replace(f"/{database}?", f"/{database}_{name}?"))

    copies: dict[str, str] = {}

    def dump(name: str) -> None:
        copies[name] = copied(name, now[0])

    def back(name: str) -> None:
        now[0] = copied(f"{name}_{len(copies)}", copies[name])
        copies[f"{name} again"] = now[0]

    def store() -> SqlStore:
        return PostgresStore(now[0], "t", witness=witness)

    return Home(store, dump, back)


def come(trial: Trial, clock: Clock, names: str, outcome: float) -> None:
    """People come and answer; what is full is released."""
    for number in range(12):
        trial.assign(f"{names}-{number}")
        trial.record(f"{names}-{number}", outcome)
    clock.now += 5.0
    trial.settle()


def total(trial: Trial, noise: list[int]) -> float:
    """The sum of all outcomes that were released here, and how many places that was."""
    report = trial.report()
    found = sum((arm["mean"] or 0.0) * arm["size"] for arm in report["arms"] or ())
    assert len(report["course"] or ()) == len(noise)
    return found - sum(noise) / 2**20


def test_a_copy_goes_on_at_a_price(home: Home, clock: Clock, noise: CountedNoise) -> None:
    with planned(home.store(), clock) as trial:
        come(trial, clock, "first", 1.0)
        released, known = len(noise.drawn), sum(noise.drawn)
        before = total(trial, noise.drawn)
        sizes = sum(arm["size"] for arm in trial.report()["arms"] or ())
        assert released >= 2
        assert before == pytest.approx(sizes)
        trial.assign("waits")
        trial.record("waits", 1.0)
    home.copy("old")
    with Trial.load(home.store(), clock=clock) as trial:
        for names in ("second", "third"):
            come(trial, clock, names, 1.0)
        assert len(noise.drawn) >= released + 2
    home.copy("newest")
    home.put_back("old")
    with Trial.load(home.store(), clock=clock) as trial:
        assert trial.status == "fenced"
        arm = trial.assign("waits")
        trial.fence(charge=True, **FENCED)
        assert trial.status == "collecting"
        assert trial.guarantee.budget == discreet.Pure(2.0)
        assert trial.guarantee.unit == 2
        assert "fence" not in trial.report()
        assert trial.report()["rounds"] == sizes
        assert trial.assign("waits") == arm  # who had a place keeps the arm
        trial.record("waits", 1.0)
        assert not trial.settle()
        drawn = len(noise.drawn)
        come(trial, clock, "second", 0.0)  # strangers here, and so they contribute once more
        mine = noise.drawn[:released] + noise.drawn[drawn:]
        assert len(mine) > released
        assert total(trial, mine) == pytest.approx(before)  # nothing of those who waited
        assert known == sum(mine[:released])
        (entry,) = [e for e in trial.log(verify=True) if e["what"] == "continued behind a fence"]
        assert {name: entry[name] for name in FENCED} == FENCED
        assert entry["fences"] == 1
        with pytest.raises(TrialError, match="not fenced"):
            trial.fence(charge=True)
    with Trial.load(home.store(), clock=clock) as again:
        assert again.guarantee.budget == discreet.Pure(2.0)
        assert "ε = 2" in again.report()["guarantee"]
        again.log(verify=True)
    for name, price in (("newest", 3.0), ("old", 4.0)):  # of others, each is counted too
        home.put_back(name)
        with Trial.load(home.store(), clock=clock) as other:
            with pytest.raises(Fenced):
                other.assign("newcomer")
            other.fence(charge=True)
            assert other.guarantee.budget == discreet.Pure(price)
            come(other, clock, "fourth", 0.0)
            other.log(verify=True)


def test_what_is_not_sound_is_refused(tmp_path: Path, clock: Clock, noise: CountedNoise) -> None:
    """Exact sums would be released again; others than an index, likewise what was promised to a
    ledger or by a kit."""
    kits = {arm: [f"K{arm}{number}" for number in range(1000)] for arm in range(2)}
    for number, (options, why) in enumerate(
        (
            ({"name": "dp-ucb", "horizon": 1000}, "exact sums"),
            ({"name": "dp-tsallis", "horizon": 1000, "window": None}, "not played by an index"),
            ({"kits": kits}, "kits"),
            ({"ledger": discreet.Ledger(tmp_path / "budgets.db", cap=discreet.Pure(9.0))}, "ledg"),
        )
    ):
        path, old = tmp_path / f"{number}.db", tmp_path / f"{number}.old"
        with planned(path, clock, **options) as trial:
            trial.assign("x")
        shutil.copyfile(path, old)
        with Trial.load(path, clock=clock) as trial:
            for people in range(100):
                if trial.report()["releases"] >= 2:
                    break
                come(trial, clock, f"p{people}", 1.0)
        path.unlink()
        shutil.copyfile(old, path)
        with Trial.load(path, clock=clock) as trial:
            assert trial.status == "fenced"
            with pytest.raises(TrialError, match=rf"{why}.*nothing changed.*--stop"):
                trial.fence(charge=True)
            assert trial.status == "fenced"
            trial.fence()
            assert trial.status == "finished"


def test_without_its_witness_a_copy_is_ended_and_not_charged(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    with planned(path, clock) as trial:
        come(trial, clock, "x", 1.0)
    Path(f"{path}.witness").unlink()
    with Trial.load(path, clock=clock) as trial:
        with pytest.raises(TrialError, match="its witness does not tell"):
            trial.fence(charge=True)
        assert trial.status == "fenced"


def test_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.db"
    with planned(path, None, deadline=None, missing=None) as trial:
        trial.assign("x")
    shutil.copyfile(path, tmp_path / "old")
    with Trial.load(path) as trial:
        for number in range(20):
            trial.assign(number)
            trial.record(number, 1.0)
        trial.record("x", 1.0)
        assert trial.report()["releases"] >= 2
    path.unlink()
    shutil.copyfile(tmp_path / "old", path)
    assert told("fence", "t.db")["status"] == "fenced"
    call("fence", "t.db", "--stop", "--charge", code=2)
    shown = told("fence", "t.db", "--charge", "--by", "Dr. Weber")
    assert (shown["status"], shown["fence"]) == ("collecting", "")
    assert "changing up to 2 of one participant's outcomes" in shown["guarantee"]
    assert "ε = 2" in shown["guarantee"]
    assert told("assign", "t.db", "y")["arm"] in (0, 1)
