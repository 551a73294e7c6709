"""Bad input: the right status, nothing changed, nothing said of data."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from served import PLAN, E, Served, serving

from discreet.live import _curator as curator
from discreet.live.stores._database import Database

MARK = "73571.25"
"""A number that stands nowhere but in requests."""
BAD = [
    ("assign", b"", 422), ("assign", b"{", 400), ("assign", b"[]", 422), ("assign", b"null", 422),
    ("assign", b'{"unit": null}', 422), ("assign", b'{"unit": 73571.25}', 422),
    ("assign", b'{"unit": ""}', 422), ("assign", b'{"unit": true}', 422),
    ("assign", b'{"unit": "73571.25", "more": 1}', 422),
    ("assign", b'{"unit": "' + b"73571.25" * 40 + b'"}', 422),
    ("assign", b'{"unit": 735712500000000000000000000000}', 422),
    ("assign", b'{"unit": "\\ud800"}', 400), ("assign", b"\xff\xfe", 400),
    ("assign", b'{"unit": "new", "actions": [[73571.25]]}', 422),
    ("assign", b'{"unit": "p", "actions": []}', 422),
    ("assign", b'{"unit": "p", "stratum": "73571.25"}', 422),
    ("outcomes", b'{"unit": "p", "outcome": NaN}', 400),
    ("outcomes", b'{"unit": "p", "outcome": Infinity}', 400),
    ("outcomes", b'{"unit": "p", "outcome": -Infinity}', 400),
    ("outcomes", b'{"unit": "p", "outcome": 1e999}', 422),
    ("outcomes", b'{"unit": "p", "outcome": 1e301}', 422),
    ("outcomes", b'{"unit": "p", "outcome": 73571.25}', 422),
    ("outcomes", b'{"unit": "p", "outcome": -73571.25}', 422),
    ("outcomes", b'{"unit": "p", "outcome": "73571.25"}', 422),
    ("outcomes", b'{"unit": "p", "outcome": true}', 422),
    ("outcomes", b'{"unit": "p", "outcome": [73571.25]}', 422),
    ("outcomes", b'{"unit": "p"}', 422), ("outcomes", b'{"outcome": 73571.25}', 422),
    ("outcomes", b'{"73571.25": 1, "unit": "p", "outcome": 1}', 422),
    ("outcomes", b"[" * 100_000, 422),
    ("outcomes/batch", b'{"outcomes": []}', 422),
    ("outcomes/batch", b'{"outcomes": [{"unit": "p", "outcome": 73571.25}]}', 422),
    ("assign/batch", b'{"units": [' + b'{"unit": 1},' * 1000 + b'{"unit": 1}]}', 422),
    ("withdrawals", b'{"unit": {"73571.25": 1}}', 422),
    ("exposures", b'{"exposures": [{"unit": "73571.25"}]}', 422),
]  # fmt: skip


@pytest.fixture(scope="module")
def started(shared: Served) -> Served:
    shared.plan(deadline="1 day")
    shared.assign("p")
    return shared


@pytest.mark.parametrize(("path", "body", "status"), BAD, ids=range(len(BAD)))
def test_bad_bodies(started: Served, path: str, body: bytes, status: int) -> None:
    before = _standing(started)
    found = started.call("POST", f"{E}/{path}", started.site, content=body)
    assert found.status_code == status
    _says_nothing(found)
    assert _standing(started) == before


def _standing(served: Served) -> Any:
    report = served.get(f"{E}/report")
    return report["assigned"], report["releases"], report["status"]


def _says_nothing(found: httpx.Response) -> None:
    assert found.headers["content-type"] == "application/problem+json"
    problem = found.json()
    assert set(problem) <= {"type", "title", "status", "detail", "argument"}
    assert problem["status"] == found.status_code
    text = found.text + str(found.headers)
    assert not any(word in text for word in (MARK, "73571", "7357125"))


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"id": "UPPER"}, "id"), ({"id": "../up"}, "id"), ({"id": "a\n"}, "id"), ({"id": ""}, "id"),
        ({"id": "x" * 65}, "id"), ({"arms": ["A"]}, "arms"), ({"arms": 10**9}, "arms"),
        ({"arms": ["A", "A"]}, "arms"), ({"policy": "73571.25"}, None),
        ({"policy": None}, "settings"),
        ({"epsilon": -1.0}, "epsilon"), ({"epsilon": "73571.25"}, "epsilon"),
        ({"epsilon": None}, None), ({"deadline": "73571.25 blinks"}, "deadline"),
        ({"deadline": 28}, "deadline"), ({"missing": "73571.25"}, "missing"),
        ({"73571.25": 1}, None), ({"window": -1}, "window"), ({"horizon": [1]}, "horizon"),
        ({"share": {"A": 73571.25}}, None), ({"outcome_range": [73571.25]}, None),
        ({"design": {"participants": 10**12}}, None), ({"strata": []}, "strata"),
        ({"title": "x" * 300}, "title"), ({"answers": "73571.25"}, "answers"),
        ({"batch": {"a": 1}}, None), ({"ratio": "73571.25"}, None), ({"trend": "73571.25"}, None),
    ],
)  # fmt: skip
def test_bad_plans(started: Served, changes: dict[str, Any], argument: str | None) -> None:
    plan = {**PLAN, "id": "bad", **changes}
    found = started.call("POST", "/v1/experiments", "", plan)
    assert found.status_code == 422
    if argument is not None:
        assert found.json().get("argument", "") == argument
    if "73571.25" not in changes:
        _says_nothing(found)
    assert started.call("GET", "/v1/experiments/bad").status_code == 404
    assert not list(Path(started.service.settings.data).rglob("bad.db*"))


def test_bodies_have_a_limit(tmp_path: Path) -> None:
    with serving(tmp_path / "data", body=1000) as served:
        served.plan()
        body = b'{"unit": "' + b"x" * 2000 + b'"}'
        whole = served.call("POST", f"{E}/assign", served.site, content=body)
        parts = served.call("POST", f"{E}/assign", served.site, content=iter([body[:700], body]))
        assert (whole.status_code, parts.status_code) == (413, 413)
        assert served.get(f"{E}/report")["assigned"] == 0


@pytest.mark.parametrize("path", ["/nothing", "/v1/experiments/UPPER/report", "/v1/keys/x"])
def test_paths_that_lead_nowhere(started: Served, path: str) -> None:
    method = "DELETE" if "keys" in path else "GET"
    found = started.call(method, path)
    assert found.status_code == 404
    _says_nothing(found)


def test_methods_that_there_are_not(started: Served) -> None:
    found = started.call("PATCH", "/v1/keys")
    assert found.status_code == 405
    assert set(found.headers["allow"].split(", ")) >= {"GET", "POST"}


def test_a_fenced_experiment_takes_outcomes_and_nobody_new(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as first:
        first.plan(deadline="1 day")
        arm = first.assign("p")
    (data / "trials" / "default" / "exp.db.witness").unlink()
    with serving(data) as served:
        found = served.call("POST", f"{E}/assign", served.site, {"unit": "q"})
        assert (found.status_code, found.json()["type"]) == (503, "urn:discreet:fenced")
        assert served.assign("p") == arm
        served.post(f"{E}/outcomes", {"unit": "p", "outcome": 1}, served.site)
        assert served.get(E)["status"] == "fenced"
        assert served.post(f"{E}/fence", {})["status"] == "finished"


def test_the_data_folder_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        served.plan(deadline="1 day")
        served.assign("p")
        shutil.move(tmp_path / "data", tmp_path / "elsewhere")
        answers = [
            served.call("POST", f"{E}/assign", served.site, {"unit": "q"}),
            served.call("POST", f"{E}/outcomes", served.site, {"unit": "p", "outcome": 1}),
            served.call("POST", f"{E}/outcomes", served.site, {"unit": "nobody", "outcome": 1}),
            served.call("GET", f"{E}/report"),
            served.call("POST", "/v1/keys", "", {"role": "site"}),
            served.call("GET", "/readyz", None),
        ]  # fmt: skip
        assert [one.status_code for one in answers] == [503] * 6
        assert answers[1].content == answers[2].content
        assert all("retry-after" in one.headers for one in answers)
        assert str(tmp_path) not in "".join(one.text for one in answers)
        shutil.move(tmp_path / "elsewhere", tmp_path / "data")
        assert served.assign("q") in ("A", "B")
        assert served.call("GET", "/readyz", None).status_code == 200
        assert served.get(f"{E}/report")["assigned"] == 2


def test_the_clock_has_jumped(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.plan(deadline="1 hour")
    served.assign("p")
    trial = served.service.engine._open["default", "exp"]

    def ahead() -> float:
        return time.time() + 3 * 86_400.0

    monkeypatch.setattr(curator, "time", SimpleNamespace(time=ahead))
    monkeypatch.setattr(trial, "_clock", ahead)
    monkeypatch.setattr(Database, "moment", lambda self: ahead())
    for path, body in (("assign", {"unit": "q"}), ("outcomes", {"unit": "p", "outcome": 1})):
        found = served.call("POST", f"{E}/{path}", served.site, body)
        assert (found.status_code, found.json()["type"]) == (503, "urn:discreet:clock")
    served.post(f"{E}/confirm-clock", {})
    assert served.assign("q") in ("A", "B")
