"""The life of an experiment over HTTP."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from served import PLAN, E, Served, serving

from discreet.errors import InvalidArgument
from discreet.live._rules import is_void
from discreet.serve import Settings, create_app


def test_an_experiment_from_plan_to_releases(served: Served) -> None:
    made = served.post("/v1/experiments", PLAN)
    assert made["status"] == "planned"
    assert made["settings"]["deadline"] == "1 second after the assignment"
    early = served.call("POST", f"{E}/assign", served.site, {"unit": "p0"})
    assert early.status_code == 409
    assert early.json()["type"] == "urn:discreet:not-started"
    assert served.post(f"{E}/start", {})["status"] == "collecting"
    arms = served.crowd(60)
    assert set(arms) == {"A", "B"}
    assert [served.assign(f"p{i}") for i in range(5)] == arms[:5]
    assert served.crowd(60) == arms
    for i in range(5):
        served.post(f"{E}/outcomes", {"unit": f"p{i}", "outcome": i % 2}, served.site)
    served.until(lambda: served.get(f"{E}/report")["releases"] >= 2)
    shown = served.get(f"{E}/releases")
    assert shown["generation"] == len(shown["releases"])
    assert {one["arm"] for one in shown["releases"]} == {"A", "B"}
    assert served.get(f"{E}/report")["assigned"] == 60
    assert served.post(f"{E}/stop", {"by": "public"})["status"] in ("settling", "finished")
    late = served.call("POST", f"{E}/assign", served.site, {"unit": "p99"})
    assert late.json()["type"] == "urn:discreet:not-collecting"
    assert served.assign("p1") == arms[1]
    actions = [one["action"] for one in served.get("/v1/audit")["entries"]]
    assert [a for a in actions if a not in ("key made", "released")] == [
        "planned", "started", "stopped",
    ]  # fmt: skip
    assert "released" in actions


def test_names_are_kept_apart_and_nowhere_in_clear(served: Served, tmp_path: Path) -> None:
    served.plan()
    for unit in (1, "1", "someone@example.org"):
        served.assign(unit)
    assert served.get(f"{E}/report")["assigned"] == 3
    for file in (tmp_path / "data").rglob("*"):
        assert file.is_dir() or b"someone@example.org" not in file.read_bytes()


def test_a_receipt_is_the_same_whenever_one_asks(served: Served) -> None:
    served.plan()
    first, again, other = (
        served.post(f"{E}/assign", {"unit": unit}, served.site) for unit in ("p", "p", "q")
    )
    assert first == again
    assert first["decision"] != other["decision"]


def test_batches(served: Served) -> None:
    served.plan(horizon=10)
    units = [{"unit": f"p{i}"} for i in range(12)]
    found = served.post(f"{E}/assign/batch", {"units": units}, served.site)["assigned"]
    assert [set(one) for one in found] == [{"arm", "decision"}] * 10 + [{"problem"}] * 2
    outcomes = [{"unit": f"p{i}", "outcome": 1} for i in range(12)]
    said = served.call("POST", f"{E}/outcomes/batch", served.site, {"outcomes": outcomes})
    assert (said.status_code, said.json()) == (202, {"accepted": True})


def test_strata(served: Served) -> None:
    path = served.plan(id="strata", strata=["men", "women"])
    arm = served.assign("p", path, stratum="men")
    assert served.assign("p", path, stratum="men") == arm
    for stratum in ("women", "children", None):
        given = {"unit": "p"} | ({} if stratum is None else {"stratum": stratum})
        found = served.call("POST", f"{path}/assign", served.site, given)
        assert found.status_code == 422
        assert found.json()["argument"] == "stratum"
    both = [{"unit": "q", "stratum": "men"}, {"unit": "q", "stratum": "women"}]
    found = served.post(f"{path}/assign/batch", {"units": both}, served.site)["assigned"]
    assert [set(one) for one in found] == [{"arm", "decision"}, {"problem"}]
    served.post(f"{path}/outcomes", {"unit": "p", "outcome": 1}, served.site)
    assert [one["assigned"] for one in served.get(f"{path}/report")["strata"]] == [2, 0]
    served.post(f"{path}/finish", {})


def test_contexts(served: Served) -> None:
    plan = {"id": "linear", "policy": "adac-oful", "epsilon": None, "rho": 0.5, "ratio": None}
    plan |= {"dimension": 2, "horizon": 100, "low": 0.0, "high": 1.0}
    asked = {key: value for key, value in ({**PLAN, **plan}).items() if value is not None}
    served.post("/v1/experiments", asked)
    path = "/v1/experiments/linear"
    served.post(f"{path}/start", {})
    actions = [[0.5, 0.1], [0.1, 0.5]]
    assert served.assign("p", path, actions=actions) in ("A", "B")
    for bad in ([[0.5]], [[0.5, 0.1]], [[9.0, 9.0], [0.0, 0.0]]):
        found = served.call("POST", f"{path}/assign", served.site, {"unit": "q", "actions": bad})
        assert found.status_code == 422
        assert "9" not in found.text.replace("urn", "")


def test_a_request_that_is_repeated_has_one_effect(served: Served) -> None:
    headers = {"idempotency-key": "once"}
    found = [served.call("POST", "/v1/experiments", "", PLAN, headers=headers) for _ in range(3)]
    assert [one.status_code for one in found] == [201] * 3
    assert found[0].content == found[1].content == found[2].content
    other = served.call("POST", "/v1/experiments", "", {**PLAN, "epsilon": 2.0}, headers=headers)
    assert other.status_code == 422
    assert other.json()["type"] == "urn:discreet:repeated"
    assert served.call("POST", "/v1/experiments", "", PLAN).status_code == 409
    assert served.get("/v1/experiments")["experiments"][0]["settings"]


def test_arms_come_and_go(served: Served) -> None:
    served.plan()
    assert served.post(f"{E}/add", {"arm": "C"})["arms"] == ["A", "B", "C"]
    assert served.call("POST", f"{E}/add", "", {"arm": "C"}).status_code == 422
    served.post(f"{E}/drop", {"arm": "A"})
    for bad in ({"arm": "Z"}, {"arm": "B", "stratum": "men"}):
        assert served.call("POST", f"{E}/drop", "", bad).status_code == 422
    served.assign("p")
    served.post(f"{E}/finish", {"discard": True})
    served.post(f"{E}/confirm-clock", {})
    assert served.call("POST", f"{E}/fence", "", {}).status_code == 409


def test_a_service_goes_on_where_it_stopped(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as first:
        first.plan(deadline="1 hour")
        arms = {unit: first.assign(unit) for unit in ("p", "q", "r")}
        site, admin = first.site, first.admin
    with serving(data) as second:
        second.site, second.admin = site, admin
        assert {unit: second.assign(unit) for unit in arms} == arms
        assert second.get("/v1/audit")["whole"] is True


def test_without_a_deadline_answers_must_be_public(served: Served) -> None:
    plan = {key: value for key, value in PLAN.items() if key not in ("deadline", "missing")}
    refused = served.call("POST", "/v1/experiments", "", plan)
    assert refused.status_code == 422
    assert refused.json()["argument"] == "deadline"
    served.plan(answers="public", id="open", deadline=None, missing=None)
    path = "/v1/experiments/open"
    served.crowd(60, path)
    outcomes = [{"unit": f"p{i}", "outcome": 1} for i in range(60)]
    served.post(f"{path}/outcomes/batch", {"outcomes": outcomes}, served.site)
    served.until(lambda: served.get(f"{path}/report")["releases"] > 0)


def test_events_tell_of_releases_and_go_on_after_a_break(served: Served) -> None:
    served.plan()
    headers = {"authorization": f"Bearer {served.admin}"}
    served.crowd(100)
    seen = _events(served, headers, until=2)
    assert seen[:3] == [0, 1, 2]
    assert _events(served, {**headers, "last-event-id": "0"}, until=2)[:2] == [1, 2]


def _events(served: Served, headers: dict[str, str], until: int) -> list[int]:
    seen: list[int] = []
    end = time.monotonic() + 300.0  # so that a test which fails ends
    with served.http.stream("GET", f"{E}/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("data:"):
                seen.append(json.loads(line[5:])["generation"])
            if seen and seen[-1] >= until:
                break
            assert time.monotonic() < end, "it did not come"
    return seen


def test_a_stream_ends_with_the_service_and_with_its_key(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        served.plan()
        headers = {"authorization": f"Bearer {served.admin}"}
        with served.http.stream("GET", f"{E}/events", headers=headers) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            served.service.draining = True
            # a line comes every 0.3 s as long as it is open
            assert all(number < 100 for number, _ in enumerate(lines))


def test_the_audit_shows_what_was_changed_in_it(served: Served, tmp_path: Path) -> None:
    served.plan()
    assert served.get("/v1/audit")["whole"] is True
    with sqlite3.connect(tmp_path / "data" / "service.db") as base:
        base.execute("UPDATE audit SET detail = '{}' WHERE action = 'planned'")
    assert served.get("/v1/audit")["whole"] is False
    last = served.get("/v1/audit")["entries"][-1]["number"]
    assert served.get(f"/v1/audit?after={last}")["entries"] == []


def test_pages_and_devices(served: Served) -> None:
    served.plan()
    page = served.call("GET", "/", None)
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    asked = served.http.options("/v1/device/exp")
    assert asked.headers["access-control-allow-origin"] == "*"
    device = served.call("GET", "/v1/device/exp", served.key("device"))
    assert device.json() == {"experiment": "exp", "status": "collecting", "arms": ["A", "B"]}
    assert device.headers["access-control-allow-origin"] == "*"
    for path in (E, f"{E}/assign", "/metrics", "/v1/openapi.json"):
        assert "access-control-allow-origin" not in served.http.options(path).headers


def test_the_description_is_of_these_routes(served: Served) -> None:
    from discreet.serve._routes import ENDPOINTS

    found: dict[str, Any] = served.get("/v1/openapi.json")
    assert found["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, each in found["paths"].items() for method in each}
    assert described == {(one.method, one.path) for one in ENDPOINTS}
    names = set(found["components"]["schemas"])
    assert {ref.rpartition("/")[2] for ref in _references(found)} <= names
    assert all("summary" in one for each in found["paths"].values() for one in each.values())


def _references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {ref for one in value for ref in _references(one)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own | {ref for one in value.values() for ref in _references(one)}


@pytest.mark.parametrize("method", ["withdraw", "correct"])
def test_what_a_trial_can_do_is_used(
    served: Served, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet import Trial

    path = {"withdraw": "withdrawals", "correct": "corrections"}[method]
    body: dict[str, Any] = {"unit": "p"}
    body |= {"outcome": 1.0} if method == "correct" else {}
    served.plan()
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(Trial, method, lambda self, *given: calls.append(given), raising=False)
    said: httpx.Response = served.call("POST", f"{E}/{path}", served.site, body)
    assert (said.status_code, said.json()) == (202, {"accepted": True})
    assert len(calls) == 1
    assert "'p'" not in str(calls[0][0])  # a pseudonym
    monkeypatch.delattr(Trial, method)


def test_a_blinded_key_gets_the_codes_of_kits(served: Served) -> None:
    kits = {arm: [f"{arm}{number:03}" for number in range(40)] for arm in ("A", "B")}
    served.plan(kits=kits)
    nurse = served.key("nurse")
    found = served.post(f"{E}/assign", {"unit": "p"}, nurse)
    assert found["arm"] in kits["A"] + kits["B"]
    assert served.post(f"{E}/assign", {"unit": "p"}, nurse)["arm"] == found["arm"]
    shown = served.get(f"{E}/report", served.admin)
    assert [row["arm"] for row in shown["arms"]] != ["A", "B"]


def test_weights_pick_and_are_handed_in(served: Served) -> None:
    """Over the wire: arms without a call for every visitor, who then take places."""
    from discreet.client import Client

    served.plan()
    with (
        Client(served.url, served.admin, "exp") as admin,
        Client(served.url, served.site, "exp") as site,
    ):
        weights = admin.weights()
        shown = [(f"v{n}", weights.pick(f"v{n}"), weights.version) for n in range(30)]
        site.exposed(shown)
        site.exposed(shown)
        report = admin.report()
        assert report["assigned"] == 30
        assert [row["assigned"] for row in report["arms"]] == [
            sum(arm == name for _, arm, _ in shown) for name in ("A", "B")
        ]
        assert site.assign("v3") == shown[3][1]
        other = "B" if weights.pick("w") == "A" else "A"
        with pytest.raises(InvalidArgument):
            site.exposed([("w", other, weights.version)])
        assert admin.report()["assigned"] == 30


def test_what_was_withdrawn_and_corrected_counts_so(served: Served) -> None:
    served.plan(corrections="deadline")
    served.assign("p")
    for path, body in (
        ("outcomes", {"unit": "p", "outcome": 1.0}),
        ("corrections", {"unit": "p", "outcome": 0.0}),
        ("withdrawals", {"unit": "p"}),
    ):
        said = served.call("POST", f"{E}/{path}", served.site, body)
        assert (said.status_code, said.json()) == (202, {"accepted": True})
    trial = served.service.engine._open["default", "exp"]
    (block,) = trial._store.blocks.values()  # type: ignore[union-attr]
    assert [is_void(value) for value in block.outcomes.values()] == [True]


def test_metrics_are_for_this_host_or_for_keys(tmp_path: Path) -> None:
    app = create_app(Settings(tmp_path / "data"))
    service = app.state.service
    keys = {role: service.make_key("default", role, "test").key for role in ("monitor", "site")}

    async def asked(host: str, key: str = "") -> int:
        transport = httpx.ASGITransport(app, client=(host, 1))
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return (await http.get("/metrics", headers=headers)).status_code

    async def main() -> list[int]:
        far = [await asked("192.0.2.1", key) for key in ("", "wrong", *keys.values())]
        return [await asked("127.0.0.1"), await asked("::1"), *far]

    assert asyncio.run(main()) == [200, 200, 401, 401, 200, 401]
    asyncio.run(service.stop())
