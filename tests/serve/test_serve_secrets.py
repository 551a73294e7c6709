"""Keys, and what must not be seen: outcomes, and who has answered."""

from __future__ import annotations

import json
import logging
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from served import E, Served, serving

from discreet.errors import AlreadyOpen, DamagedFile
from discreet.serve import Settings
from discreet.serve._keys import Buckets, Rate
from discreet.serve._metrics import METRICS
from discreet.serve._secrets import Secrets
from discreet.serve._service import Service

MARKER = 0.7357125


def test_one_answer_to_everything_that_is_recorded(served: Served) -> None:
    """Unknown, first, repeated, another one, late, of a fenced trial: body and headers alike."""
    served.plan(deadline="1 s")
    served.assign("p")
    given: list[tuple[Any, float]] = [("p", 1.0), ("p", 1.0), ("p", 0.0), ("nobody", 0.5), (7, 1)]
    found = [
        served.call("POST", f"{E}/outcomes", served.site, {"unit": unit, "outcome": outcome})
        for unit, outcome in given
    ]
    time.sleep(1.1)
    found.append(served.call("POST", f"{E}/outcomes", served.site, {"unit": "p", "outcome": 1}))
    found.append(
        served.call("POST", f"{E}/outcomes/batch", served.site,
                    {"outcomes": [{"unit": "p", "outcome": 1}, {"unit": "nobody", "outcome": 0}]})
    )  # fmt: skip
    seen = {
        (one.status_code, one.content, str([h for h in one.headers.raw if h[0] != b"date"]))
        for one in found
    }
    assert len(seen) == 1


def test_an_outcome_is_seen_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []
    with caplog.at_level(logging.DEBUG), serving(tmp_path / "data") as served:
        served.plan(deadline="1 s")
        served.crowd(60)
        before = served.call("GET", "/metrics", None).text
        many = [{"unit": f"p{i}", "outcome": MARKER} for i in range(59)]
        for path, body in (
            ("outcomes", {"unit": "p59", "outcome": MARKER}),
            ("outcomes/batch", {"outcomes": many}),
            ("outcomes", {"unit": "p59", "outcome": MARKER, "more": 1}),
            ("corrections", {"unit": "p59", "outcome": MARKER}),
            ("assign", {"unit": "p59", "outcome": MARKER}),
        ):  # fmt: skip
            said.append(served.call("POST", f"{E}/{path}", served.site, body).text)
        after = served.call("GET", "/metrics", None).text
        assert _without(before) == _without(after)
        said += [after, served.call("GET", "/v1/audit").text]
        headers = {"authorization": f"Bearer {served.admin}"}
        with served.http.stream("GET", f"{E}/events", headers=headers) as stream:
            for line in stream.iter_lines():
                said.append(line)
                if line.startswith("id: 2"):
                    break
        said += [served.call("GET", path).text for path in (E, f"{E}/releases", f"{E}/report")]
        files = [file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert not any(b"7357125" in one for one in files)
    ours = [one for one in caplog.records if one.name.startswith(("discreet", "uvicorn"))]
    log = "\n".join(str(one.getMessage()) + str(one.exc_text) for one in ours)
    text = "\n".join(said) + log
    assert "7357125" not in text
    assert "p59" not in text
    assert "outcomes" not in log  # no line says that somebody has answered
    assert "/v1/experiments/{experiment}/assign 422" in log


def _without(metrics: str) -> list[str]:
    """But for what goes by the clock, and for releases that were due meanwhile."""
    moves = ("discreet_releases ", "discreet_release_late_seconds ")
    return [line for line in metrics.splitlines() if not line.startswith(moves)]


def test_metrics_are_those_that_are_documented(shared: Served) -> None:
    text = shared.call("GET", "/metrics", None).text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names == set(METRICS)
    page = Path(__file__).parents[2] / "docs" / "serve.md"
    assert all(f"`{name}`" in page.read_text(encoding="utf-8") for name in METRICS)


# --- keys -----------------------------------------------------------------------------------------


def test_keys_are_made_listed_and_revoked(served: Served) -> None:
    served.plan()
    made = served.post("/v1/keys", {"role": "site", "label": "ward 7", "days": 1})
    again = served.post("/v1/keys", {"role": "site", "label": "ward 7, next"})
    for key in (made["key"], again["key"]):  # both open, while one takes the place of the other
        served.post(f"{E}/assign", {"unit": "p"}, key)
    served.call("DELETE", f"/v1/keys/{made['id']}")
    assert served.call("POST", f"{E}/assign", made["key"], {"unit": "p"}).status_code == 401
    served.post(f"{E}/assign", {"unit": "p"}, again["key"])
    listed = {one["id"]: one for one in served.get("/v1/keys")["keys"]}
    assert listed[made["id"]]["revoked"] is not None
    assert listed[again["id"]]["revoked"] is None
    assert made["key"] not in json.dumps(list(listed.values()))


def test_an_expired_key_opens_nothing(served: Served) -> None:
    served.plan()
    key = served.key("site", days=0.5 / 86_400.0)
    time.sleep(0.6)
    found = served.call("POST", f"{E}/assign", key, {"unit": "p"})
    assert (found.status_code, found.json()["type"]) == (401, "urn:discreet:key")
    assert found.headers["www-authenticate"] == "Bearer"


def test_no_key_is_in_a_file(served: Served, tmp_path: Path) -> None:
    secret = served.site.rpartition("_")[2]
    for file in (tmp_path / "data").rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes()
            assert bytes.fromhex(secret) not in file.read_bytes()
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_sites_have_participants_of_their_own(served: Served) -> None:
    served.plan()
    north, south = served.key("site", site="north"), served.key("site", site="south")
    for key in (north, south, served.site):
        served.post(f"{E}/assign", {"unit": "patient-1"}, key)
    assert served.get(f"{E}/report")["assigned"] == 3


def test_tenants_do_not_share_pseudonyms(served: Served) -> None:
    served.service.register.add_tenant("other")
    names = [served.service.secrets.pseudonym(tenant, "p") for tenant in ("default", "other")]
    assert len({*names}) == 2


def test_limits_by_key_keep_answers_apart(tmp_path: Path) -> None:
    """Who shares a key must not see by running out that somebody has answered."""
    with serving(tmp_path / "data", key_rate=Rate(0.01, 5.0)) as served:
        served.post("/v1/experiments", {"id": "exp", "policy": "dp-imed", "epsilon": 1.0,
                    "arms": ["A", "B"], "deadline": "1 day", "missing": 0.0})  # fmt: skip
        served.post(f"{E}/start", {})
        outcome = {"unit": "p", "outcome": 1}
        found = [served.call("POST", f"{E}/outcomes", served.site, outcome) for _ in range(7)]
        assert [one.status_code for one in found] == [202] * 5 + [429] * 2
        assert int(found[-1].headers["retry-after"]) > 50
        assert served.assign("p") in ("A", "B")


def test_wrong_keys_are_slowed_down(tmp_path: Path) -> None:
    with serving(tmp_path / "data", wrong_rate=Rate(0.01, 3.0)) as served:
        found = [served.call("GET", "/v1/keys", "wrong").status_code for _ in range(5)]
        assert found == [401, 401, 401, 429, 429]
        served.get("/v1/keys")  # a right one is not


def test_buckets_fill_again() -> None:
    now = [0.0]
    buckets = Buckets(Rate(2.0, 2.0), clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.wait("b") == 0.0
    now[0] = 0.5
    assert buckets.wait("a") == 0.0


# --- files ----------------------------------------------------------------------------------------


def test_secrets_that_others_can_read_are_refused(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path)
    secrets.path.chmod(0o644)
    with pytest.raises(DamagedFile, match="chmod 600"):
        Secrets(tmp_path)
    secrets.path.chmod(0o600)
    secrets.path.write_text("{}")
    with pytest.raises(DamagedFile, match="put it back"):
        Secrets(tmp_path)


def test_one_service_a_folder(served: Served, tmp_path: Path) -> None:
    with pytest.raises(AlreadyOpen, match="another service runs"):
        Service(Settings(tmp_path / "data"))
