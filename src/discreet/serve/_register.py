"""The register of a service: experiments, keys, tenants, repeated requests and the audit.

One SQLite file, `service.db`, beside the files of the trials. It holds nothing of a participant:
no outcome, no pseudonym, and nothing that says who has answered. Each call is one transaction.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DamagedFile
from ._beat import NotStored
from ._secrets import OWNER_ONLY, Secrets

NAME = "service.db"
APPLICATION, VERSION = 0x64697376, 1
DAY = 86_400.0
REPEATED = 2 * DAY
"""How long the answer to a request with an Idempotency-Key is kept, in seconds."""
SCHEMA = """
CREATE TABLE tenants(name TEXT PRIMARY KEY, created REAL NOT NULL);
CREATE TABLE keys(
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(name), role TEXT NOT NULL,
    experiment TEXT, site TEXT, label TEXT NOT NULL, mac TEXT NOT NULL UNIQUE,
    created REAL NOT NULL, expires REAL, revoked REAL);
CREATE TABLE experiments(
    tenant TEXT NOT NULL REFERENCES tenants(name), id TEXT NOT NULL, title TEXT NOT NULL,
    settings TEXT NOT NULL, state TEXT NOT NULL, simulated INTEGER NOT NULL,
    created REAL NOT NULL, PRIMARY KEY(tenant, id));
CREATE TABLE repeated(
    tenant TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, answer BLOB NOT NULL,
    at REAL NOT NULL, PRIMARY KEY(tenant, key));
CREATE TABLE audit(
    number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, experiment TEXT, at REAL NOT NULL,
    actor TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL, chain TEXT NOT NULL);
"""


class KeyRow(NamedTuple):
    """A key, without its secret."""

    id: str
    tenant: str
    role: str
    experiment: str | None
    """None: all of the tenant"""
    site: str | None
    """whose participants have names of their own; None: the tenant's"""
    label: str
    mac: str
    created: float
    expires: float | None
    revoked: float | None


class ExperimentRow(NamedTuple):
    """An experiment in the index."""

    tenant: str
    id: str
    title: str
    settings: str
    """the document that it was planned with, as JSON"""
    state: str
    """planned or started"""
    simulated: bool
    created: float


class AuditRow(NamedTuple):
    """An entry of the audit."""

    number: int
    tenant: str
    experiment: str | None
    at: float
    actor: str
    action: str
    detail: str
    chain: str


class Register:
    """The file, for one process; others may write to it too."""

    def __init__(self, folder: Path, secrets: Secrets) -> None:
        self.path, self._secrets = folder / NAME, secrets
        self._lock = threading.RLock()
        new = not self.path.exists()
        if new:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        self._connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=10.0
        )
        found = os.stat(self.path)
        self._identity = found.st_dev, found.st_ino
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._connection.execute(f"PRAGMA {setting}")
        if new:
            with self._step():
                for statement in SCHEMA.split(";\n"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._check_version()
        self._keys: dict[str, KeyRow] = {}
        self._experiments: dict[tuple[str, str], ExperimentRow] = {}
        self._seen = self._changes()
        self._load()

    def _check_version(self) -> None:
        marks = [
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        ]
        if marks != [APPLICATION, VERSION]:
            raise DamagedFile(
                f"{self.path} is not the register of a service, or of another version of it; "
                "use the version of discreet that wrote it"
            )

    # --- in memory --------------------------------------------------------------------------------

    def _changes(self) -> int:
        """A number that changes when another process has written."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def refresh(self) -> bool:
        """Read again what another process may have changed, keys that were made or revoked; whether
        there was anything."""
        with self._lock:
            seen = self._changes()
            if seen == self._seen:
                return False
            self._seen = seen
            self._load()
            return True

    def _load(self) -> None:
        run = self._connection.execute
        columns = "id, tenant, role, experiment, site, label, mac, created, expires, revoked"
        self._keys = {row[0]: KeyRow(*row) for row in run(f"SELECT {columns} FROM keys")}
        columns = "tenant, id, title, settings, state, simulated, created"
        rows = run(f"SELECT {columns} FROM experiments ORDER BY created, id").fetchall()
        made = [ExperimentRow(*row)._replace(simulated=bool(row[5])) for row in rows]
        self._experiments = {(row.tenant, row.id): row for row in made}

    def key(self, name: str) -> KeyRow | None:
        """A key by its public part."""
        return self._keys.get(name)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        """All keys of a tenant, or of all."""
        found = [row for row in self._keys.values() if tenant in (None, row.tenant)]
        return sorted(found, key=lambda row: (row.created, row.id))

    def experiment(self, tenant: str, name: str) -> ExperimentRow | None:
        """An experiment of a tenant; of another tenant's there is no trace."""
        return self._experiments.get((tenant, name))

    def experiments(self, tenant: str | None = None) -> list[ExperimentRow]:
        """All experiments of a tenant, or of all."""
        return [row for row in self._experiments.values() if tenant in (None, row.tenant)]

    # --- writing ----------------------------------------------------------------------------------

    @contextmanager
    def _step(self) -> Iterator[None]:
        """One transaction, in a file that is still where it was."""
        with self._lock:
            self.check()
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                refusal = NotStored(f"{self.path} could not be written: {type(error).__name__}")
            else:
                return
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise refusal

    def check(self) -> None:
        """Refuse a file that was moved, removed or replaced: others may go on with another."""
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise NotStored(f"{self.path} was moved, removed or replaced; put it back")

    def add_tenant(self, name: str) -> None:
        """A tenant, with a secret of its own, unless it is there."""
        self._secrets.add_tenant(name)
        with self._step():
            self._connection.execute(
                "INSERT OR IGNORE INTO tenants VALUES (?, ?)", (name, time.time())
            )

    def add_key(self, row: KeyRow, actor: str) -> None:
        """A key that was made."""
        with self._step():
            marks = ", ".join("?" * len(row))
            self._connection.execute(f"INSERT INTO keys VALUES ({marks})", row)
            detail = {"key": row.id, "role": row.role, "expires": row.expires}
            self._note(row.tenant, row.experiment, actor, "key made", detail)
        self._keys[row.id] = row

    def revoke(self, row: KeyRow, actor: str) -> KeyRow:
        """A key that no longer opens anything."""
        revoked = row._replace(revoked=time.time() if row.revoked is None else row.revoked)
        with self._step():
            self._connection.execute(
                "UPDATE keys SET revoked = ? WHERE id = ?", (revoked.revoked, row.id)
            )
            self._note(row.tenant, row.experiment, actor, "key revoked", {"key": row.id})
        self._keys[row.id] = revoked
        return revoked

    def add_experiment(
        self, row: ExperimentRow, actor: str, repeated: tuple[str, str, bytes] | None
    ) -> None:
        """An experiment that was planned, and the answer to the request that asked for it."""
        with self._step():
            self._connection.execute(
                "INSERT INTO experiments VALUES (?, ?, ?, ?, ?, ?, ?)", row._replace()
            )
            self._note(row.tenant, row.id, actor, "planned", json.loads(row.settings))
            if repeated is not None:
                now = time.time()
                self._connection.execute("DELETE FROM repeated WHERE at < ?", (now - REPEATED,))
                self._connection.execute(
                    "INSERT INTO repeated VALUES (?, ?, ?, ?, ?)", (row.tenant, *repeated, now)
                )
        self._experiments[row.tenant, row.id] = row

    def started(self, row: ExperimentRow, actor: str) -> None:
        """An experiment takes participants from now on."""
        with self._step():
            self._connection.execute(
                "UPDATE experiments SET state = 'started' WHERE tenant = ? AND id = ?",
                (row.tenant, row.id),
            )
            self._note(row.tenant, row.id, actor, "started", {})
        self._experiments[row.tenant, row.id] = row._replace(state="started")

    def repeated(self, tenant: str, key: str) -> tuple[str, bytes] | None:
        """A request that was answered under an Idempotency-Key, by its hash, and the answer."""
        with self._lock:
            found: tuple[str, bytes] | None = self._connection.execute(
                "SELECT request, answer FROM repeated WHERE tenant = ? AND key = ? AND at >= ?",
                (tenant, key, time.time() - REPEATED),
            ).fetchone()
        return found

    # --- the audit --------------------------------------------------------------------------------

    def note(
        self, tenant: str, experiment: str | None, actor: str, action: str,
        detail: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Something that an auditor wants to know; never that or when somebody answered."""
        with self._step():
            self._note(tenant, experiment, actor, action, detail)

    def _note(
        self, tenant: str, experiment: str | None, actor: str, action: str,
        detail: Mapping[str, Any],
    ) -> None:  # fmt: skip
        run = self._connection.execute
        last = run("SELECT number, chain FROM audit ORDER BY number DESC LIMIT 1").fetchone()
        number, before = (0, "") if last is None else last
        text = json.dumps(dict(detail), sort_keys=True)
        at = time.time()
        chain = self._chained(before, number + 1, tenant, experiment, at, actor, action, text)
        run(
            "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number + 1, tenant, experiment, at, actor, action, text, chain),
        )

    def _chained(self, before: str, *entry: object) -> str:
        return self._secrets.mac("audit", before, json.dumps(entry))

    def audit(self, tenant: str, experiment: str | None, after: int, most: int) -> list[AuditRow]:
        """The entries of a tenant, oldest first."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT * FROM audit WHERE tenant = ? AND number > ? "
                "AND (? IS NULL OR experiment = ?) ORDER BY number LIMIT ?",
                (tenant, after, experiment, experiment, most),
            ).fetchall()
        return [AuditRow(*row) for row in rows]

    def last_release(self, tenant: str, experiment: str) -> int:
        """The number of releases that the audit knows of."""
        with self._lock:
            found = self._connection.execute(
                "SELECT detail FROM audit WHERE tenant = ? AND experiment = ? "
                "AND action = 'released' ORDER BY number DESC LIMIT 1",
                (tenant, experiment),
            ).fetchone()
        return 0 if found is None else int(json.loads(found[0])["generation"])

    def is_whole(self) -> bool:
        """Whether no entry of the audit was changed, lost or put in between."""
        with self._lock:
            rows = self._connection.execute("SELECT * FROM audit ORDER BY number").fetchall()
        before = ""
        for place, row in enumerate(rows, 1):
            *entry, chain = row
            if entry[0] != place or chain != self._chained(before, *entry):
                return False
            before = chain
        return True

    def close(self) -> None:
        """End the use of this object."""
        with self._lock:
            self._connection.close()
