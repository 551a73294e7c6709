"""Storms of kill -9 on trials that several processes share; `make storms` has the long ones."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import storm
from live_cases import SECRET, SECRET_STEPS
from storm import Storm

from discreet.live import Trial
from discreet.live.stores import PostgresStore, SqliteStore
from discreet.live.stores._sql import SqlStore
from postgres import Postgres, needed, running

KILLS = int(os.environ.get("DISCREET_KILLS", "20"))
"""How many processes are killed on each store."""
CRASHES = KILLS // 20
"""How often the server is."""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9")


def raw_in(data: bytes) -> bool:
    marks = [str(SECRET).encode(), str(SECRET_STEPS).encode(), SECRET_STEPS.to_bytes(8, "big")]
    return any(mark in data for mark in marks)


@pytest.mark.usefixtures("own_noise")
def test_a_file_survives_a_storm(tmp_path: Path) -> None:
    path, diaries = tmp_path / "trial.db", tmp_path / "diaries"
    diaries.mkdir()

    def open_store(releases_here: bool) -> SqlStore:
        return SqliteStore(path, releases_here=releases_here)

    storm.new_trial(open_store(True))
    blowing = Storm(open_store, diaries, 1)
    blowing.blow(KILLS)
    witness = Path(f"{path}.witness")

    def lines() -> list[str]:
        return [line.partition(" ")[2] for line in witness.read_text().splitlines()[1:]]

    found = storm.check(open_store, diaries, lines)
    print(f"sqlite: {blowing.kills} kills, {found}")
    assert found.releases >= 3
    with Trial.load(path) as trial:
        trial.backup(tmp_path / "backup.db")
    for name in ("trial.db", "trial.db-wal", "trial.db.witness", "backup.db"):
        if (tmp_path / name).exists():
            assert not raw_in((tmp_path / name).read_bytes()), name


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server that may be killed."""
    needed()
    with running() as own:
        yield own


@pytest.mark.usefixtures("own_noise")
def test_a_database_survives_a_storm_and_its_own_crashes(server: Postgres, tmp_path: Path) -> None:
    url, crashes = server.database(), [0]

    def open_store(releases_here: bool) -> SqlStore:
        return PostgresStore(url, "storm", releases_here=releases_here)

    storm.new_trial(open_store(True))

    def crash(kills: int) -> None:
        if kills * (CRASHES + 1) >= (crashes[0] + 1) * KILLS and crashes[0] < CRASHES:
            server.stop("kill" if crashes[0] % 2 else "immediate")
            server.start()
            crashes[0] += 1

    blowing = Storm(open_store, tmp_path, 2)
    blowing.blow(KILLS, crash)

    def lines() -> list[str]:
        with psycopg.connect(url) as connection:
            query = "SELECT text FROM discreet_witness.lines ORDER BY number"
            return [text for (text,) in connection.execute(query).fetchall()]

    found = storm.check(open_store, tmp_path, lines)
    print(f"postgres: {blowing.kills} kills, {crashes[0]} crashes of the server, {found}")
    assert found.releases >= 3
    assert crashes[0] == CRASHES
    with suppress(OSError):
        for path in (server.folder / "pg_wal").iterdir():
            assert not (path.is_file() and raw_in(path.read_bytes())), path
