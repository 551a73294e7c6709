"""What an earlier version has left is opened by this one; secrets and keys are changed in time."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from served import E, Served, serving

from discreet.errors import DamagedFile, InvalidArgument
from discreet.serve._register import Register
from discreet.serve._secrets import Secrets
from discreet.serve._tables import APPLICATION, schema, statements

FIRST = """
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
"""The register as the first version made it."""


def as_the_first_version(data: Path) -> None:
    """Put a folder back to the formats of the first version."""
    new, old = data / "service.db", data / "first.db"
    with sqlite3.connect(old) as base:
        base.executescript(FIRST)
        base.execute("ATTACH ? AS new", (str(new),))
        for table in ("tenants", "keys", "repeated", "audit"):
            base.execute(f"INSERT INTO {table} SELECT * FROM new.{table}")
        base.execute(
            "INSERT INTO experiments SELECT tenant, id, title, settings, state, simulated, created "
            "FROM new.experiments"
        )
        base.execute(f"PRAGMA application_id = {APPLICATION}")
        base.execute("PRAGMA user_version = 1")
    for end in ("-wal", "-shm"):
        Path(f"{new}{end}").unlink(missing_ok=True)
    old.replace(new)
    new.chmod(0o600)
    path = data / "service.secret"
    found = json.loads(path.read_text())
    found["tenants"] = {name: own["1"] for name, own in found["tenants"].items()}
    path.write_text(json.dumps(found))


def test_a_service_of_the_first_version_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as before:
        before.plan(deadline="1 day")
        arms = {unit: before.assign(unit) for unit in ("a", "b", "c")}
        audit = before.get("/v1/audit")["entries"]
        site = before.site
    as_the_first_version(data)
    with serving(data) as after:
        after.site = site  # the key still opens everything
        assert {unit: after.assign(unit) for unit in arms} == arms
        found = after.get("/v1/audit")
        assert found["whole"] is True
        assert found["entries"][: len(audit)] == audit
    with sqlite3.connect(data / "service.db") as base:
        assert base.execute("PRAGMA user_version").fetchone() == (schema()[-1][0],)


def test_the_first_file_is_what_the_first_version_made() -> None:
    assert [" ".join(one.split()).rstrip(";") for one in statements(schema()[0][1])] == [
        " ".join(one.split()).rstrip(";") for one in statements(FIRST)
    ]


def test_a_later_register_is_refused_and_stays(tmp_path: Path) -> None:
    Register(tmp_path, Secrets(tmp_path)).close()
    with sqlite3.connect(tmp_path / "service.db") as base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(DamagedFile, match="later version"):
        Register(tmp_path, Secrets(tmp_path))
    with sqlite3.connect(tmp_path / "service.db") as base:
        assert base.execute("PRAGMA user_version").fetchone() == (99,)


def test_secrets_of_pseudonyms_have_numbers(served: Served) -> None:
    """An experiment keeps its own; it can go once its experiments are finished."""
    service = served.service
    served.plan(deadline="1 day")
    arms = [served.assign(unit) for unit in ("a", "b", "c")]
    assert service.register.new_secret("default", "test") == 2
    second = served.plan(id="second", deadline="1 day")
    served.assign("a", second)
    assert [served.assign(unit) for unit in ("a", "b", "c")] == arms
    for name, number in (("exp", 1), ("second", 2)):
        row = service.row("default", name)
        assert row.secret == number
        pseudonym = service.secrets.pseudonym("default", "a", number=number)
        trial: Any = service.engine._open["default", name]
        assert pseudonym in trial
    with pytest.raises(InvalidArgument, match="all finished"):
        service.register.forget_secret("default", 1, "test")
    served.post(f"{E}/finish", {"discard": True})
    service.register.forget_secret("default", 1, "test")
    assert service.secrets.numbers("default") == [2]
    with pytest.raises(InvalidArgument, match="newer one"):
        service.register.forget_secret("default", 2, "test")
    actions = [one["action"] for one in served.get("/v1/audit")["entries"]]
    assert actions.count("secret made") == actions.count("secret deleted") == 1


def test_two_keys_are_valid_at_once(served: Served) -> None:
    served.plan()
    old = served.post("/v1/keys", {"role": "site", "label": "north"})
    new = served.post(f"/v1/keys/{old['id']}/rotate", {"hours": 1})
    assert (new["role"], new["label"]) == ("site", "north")
    for key in (old["key"], new["key"]):
        assert served.call("POST", f"{E}/assign", key, {"unit": "p"}).status_code == 200
    last = served.post(f"/v1/keys/{new['id']}/rotate", {"hours": 0})
    assert served.call("POST", f"{E}/assign", new["key"], {"unit": "p"}).status_code == 401
    assert served.call("POST", f"{E}/assign", last["key"], {"unit": "p"}).status_code == 200
    again = served.call("POST", f"/v1/keys/{new['id']}/rotate", "", {})
    assert again.status_code == 409


def test_rotation_from_the_command_line(tmp_path: Path) -> None:
    def command(*words: str) -> dict[str, object]:
        line = [sys.executable, "-m", "discreet", "serve", "keys", *words, "--json"]
        done = subprocess.run(
            [*line, "--data", str(tmp_path / "data")], capture_output=True, check=True, timeout=60
        )
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    made = command("new", "--role", "site")
    assert command("rotate", str(made["id"]), "--overlap", "2 h")["replaces"] == made["id"]
    assert command("secret")["made"] == 2
    assert command("secret", "--forget", "1")["deleted"] == 1
