"""The register of a service: experiments, keys, tenants, repeated requests and the audit.

A SQLite file, `service.db`, beside the files of the trials; or a schema of their PostgreSQL
database. It holds nothing of a participant: no outcome, no pseudonym, and nothing that says who has
answered. Each call is one transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DamagedFile, InvalidArgument
from ._secrets import Secrets
from ._tables import Database, File, Tables

NAME = "service.db"
DAY = 86_400.0
REPEATED = 2 * DAY
"""How long the answer to a request with an Idempotency-Key is kept, in seconds."""


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
    secret: int = 1
    """the number of the secret that its pseudonyms are made with"""


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
    """The tables, and what is in memory of them; other processes may write to them too.

    `url`: of a PostgreSQL database; without it they are in a file of the folder."""

    def __init__(self, folder: Path, secrets: Secrets, url: str = "") -> None:
        self._secrets = secrets
        self._tables: Tables = Database(url) if url else File(folder / NAME)
        self._lock, self._step, self._run = self._tables.lock, self._tables.step, self._tables.run
        self._keys: dict[str, KeyRow] = {}
        self._experiments: dict[tuple[str, str], ExperimentRow] = {}
        try:
            self._seen = self._tables.changes()
            self._load()
            self._marked("", 0)
        except BaseException:
            self._tables.close()
            raise

    def check(self) -> None:
        """Refuse to continue if the register is not where it was."""
        self._tables.check()

    def _marked(self, tenant: str, number: int) -> None:
        """Note by which mark a secret is known; refuse another one. The copy of the file on this
        host may be an old one, or of another service."""
        mark = self._secrets.mark(tenant, number)
        with self._step():
            self._run(
                "INSERT INTO secrets VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (tenant, number, mark),
            )
            found = self._run(
                "SELECT mark FROM secrets WHERE tenant = ? AND number = ?", (tenant, number)
            ).fetchone()
        if found != (mark,):
            raise DamagedFile(
                f"{self._secrets.path} is not the file of secrets that this register was made "
                "with; copy it from a host where the service runs"
            )

    # --- in memory --------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Read again what another process may have changed, keys that were made or revoked; whether
        there was anything."""
        with self._lock:
            seen = self._tables.changes()
            if seen == self._seen:
                return False
            self._seen = seen
            self._load()
            return True

    def _load(self) -> None:
        run = self._run
        columns = "id, tenant, role, experiment, site, label, mac, created, expires, revoked"
        self._keys = {row[0]: KeyRow(*row) for row in run(f"SELECT {columns} FROM keys")}
        columns = "tenant, id, title, settings, state, simulated, created, secret"
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

    def add_tenant(self, name: str) -> None:
        """A tenant, with a secret of its own, unless it is there."""
        known = self._run("SELECT 1 FROM tenants WHERE name = ?", (name,)).fetchone()
        if not self._secrets.numbers(name):
            if known is not None:
                raise DamagedFile(
                    f"{self._secrets.path} lacks the secrets of tenant {name!r}; copy the newest "
                    "file of that name from the host where they were made"
                )
            self._secrets.add(name)
        if known is None:
            with self._step():
                self._run(
                    "INSERT INTO tenants VALUES (?, ?) ON CONFLICT DO NOTHING", (name, time.time())
                )
        for number in self._secrets.numbers(name):
            self._marked(name, number)

    def new_secret(self, tenant: str, actor: str) -> int:
        """One more secret of a tenant, for the experiments that are planned from now on."""
        number = self._secrets.add(tenant)
        self._marked(tenant, number)
        self.note(tenant, None, actor, "secret made", {"number": number})
        return number

    def forget_secret(self, tenant: str, number: int, actor: str) -> None:
        """Delete a secret that no experiment needs any more."""
        rows = self._run(
            "SELECT id FROM experiments e WHERE tenant = ? AND secret = ? AND NOT EXISTS (SELECT 1 "
            "FROM audit a WHERE a.tenant = e.tenant AND a.experiment = e.id "
            "AND a.action = 'finished') ORDER BY id", (tenant, number),
        ).fetchall()  # fmt: skip
        own = self._secrets.numbers(tenant)
        if rows or own[-1:] == [number]:
            wait = [name for (name,) in rows] or "none, but new ones take it"
            raise InvalidArgument(
                "number", "be that of an old secret whose experiments are all finished", wait,
                "finish these experiments first; if it is the newest, make a newer one",
            )  # fmt: skip
        self._secrets.forget(tenant, number)
        self.note(tenant, None, actor, "secret deleted", {"number": number})

    def add_key(self, row: KeyRow, actor: str) -> None:
        """A key that was made."""
        with self._step():
            marks = ", ".join("?" * len(row))
            self._run(f"INSERT INTO keys VALUES ({marks})", row)
            detail = {"key": row.id, "role": row.role, "expires": row.expires}
            self._note(row.tenant, row.experiment, actor, "key made", detail)
        self._keys[row.id] = row

    def end_key(self, row: KeyRow, at: float, actor: str, successor: KeyRow) -> KeyRow:
        """A key that opens nothing after a moment, for another one took its place."""
        ended = row._replace(expires=at if row.expires is None else min(at, row.expires))
        with self._step():
            self._run("UPDATE keys SET expires = ? WHERE id = ?", (ended.expires, row.id))
            detail = {"key": row.id, "successor": successor.id, "expires": ended.expires}
            self._note(row.tenant, row.experiment, actor, "key rotated", detail)
        self._keys[row.id] = ended
        return ended

    def revoke(self, row: KeyRow, actor: str) -> KeyRow:
        """A key that no longer opens anything."""
        revoked = row._replace(revoked=time.time() if row.revoked is None else row.revoked)
        with self._step():
            self._run("UPDATE keys SET revoked = ? WHERE id = ?", (revoked.revoked, row.id))
            self._note(row.tenant, row.experiment, actor, "key revoked", {"key": row.id})
        self._keys[row.id] = revoked
        return revoked

    def add_experiment(
        self, row: ExperimentRow, actor: str, repeated: tuple[str, str, bytes] | None
    ) -> None:
        """An experiment that was planned, and the answer to the request that asked for it."""
        with self._step():
            self._run(
                "INSERT INTO experiments(tenant, id, title, settings, state, simulated, created, "
                "secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row._replace(simulated=int(row.simulated)),  # type: ignore[arg-type]
            )
            detail = json.loads(row.settings)
            if "kits" in detail:  # which code is of which arm is for nobody who reads this
                detail["kits"] = {arm: len(codes) for arm, codes in detail["kits"].items()}
            self._note(row.tenant, row.id, actor, "planned", detail)
            if repeated is not None:
                now = time.time()
                self._run("DELETE FROM repeated WHERE at < ?", (now - REPEATED,))
                self._run(
                    "INSERT INTO repeated VALUES (?, ?, ?, ?, ?)", (row.tenant, *repeated, now)
                )
        self._experiments[row.tenant, row.id] = row

    def started(self, row: ExperimentRow, actor: str) -> None:
        """An experiment takes participants from now on."""
        with self._step():
            self._run(
                "UPDATE experiments SET state = 'started' WHERE tenant = ? AND id = ?",
                (row.tenant, row.id),
            )
            self._note(row.tenant, row.id, actor, "started", {})
        self._experiments[row.tenant, row.id] = row._replace(state="started")

    def repeated(self, tenant: str, key: str) -> tuple[str, bytes] | None:
        """A request that was answered under an Idempotency-Key, by its hash, and the answer."""
        with self._lock:
            found: tuple[str, bytes] | None = self._run(
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
        run = self._run
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
            rows = self._run(
                "SELECT * FROM audit WHERE tenant = ? AND number > ? "
                "AND (CAST(? AS TEXT) IS NULL OR experiment = ?) ORDER BY number LIMIT ?",
                (tenant, after, experiment, experiment, most),
            ).fetchall()
        return [AuditRow(*row) for row in rows]

    def note_release(self, tenant: str, experiment: str, generation: int) -> bool:
        """Note releases, unless another process has noted them; whether there was anything."""
        with self._step():
            if self.last_release(tenant, experiment) >= generation:
                return False
            detail = {"generation": generation}
            self._note(tenant, experiment, "service", "released", detail)
        return True

    def last_release(self, tenant: str, experiment: str) -> int:
        """The number of releases that the audit knows of."""
        with self._lock:
            found = self._run(
                "SELECT detail FROM audit WHERE tenant = ? AND experiment = ? "
                "AND action = 'released' ORDER BY number DESC LIMIT 1",
                (tenant, experiment),
            ).fetchone()
        return 0 if found is None else int(json.loads(found[0])["generation"])

    def is_whole(self) -> bool:
        """Whether no entry of the audit was changed, lost or put in between."""
        with self._lock:
            rows = self._run("SELECT * FROM audit ORDER BY number").fetchall()
        before = ""
        for place, row in enumerate(rows, 1):
            *entry, chain = row
            if entry[0] != place or chain != self._chained(before, *entry):
                return False
            before = chain
        return True

    def close(self) -> None:
        """End the use of this object."""
        self._tables.close()
