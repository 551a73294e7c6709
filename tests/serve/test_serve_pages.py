"""Pages: who sees which, where every number comes from, and what is in none of them."""

from __future__ import annotations

import html
import json
import logging
import math
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from grown import DEVICES, serving_grown
from served import PLAN, E, Served

from discreet.inference import Record, differences
from discreet.serve import _pages, _pages_svg, _pages_view
from discreet.serve._keys import ROLES
from discreet.serve._pages_login import COOKIE

PATHS = {
    "/": "admin statistician monitor site nurse",
    "/why": "admin statistician monitor site nurse",
    "/budgets": "admin statistician monitor",
    "/audit": "admin monitor",
    "/audit.csv": "admin monitor",
    "/keys": "admin",
    "/e/exp": "admin statistician monitor site nurse",
    "/e/exp/plan": "admin statistician monitor",
    "/e/exp/releases.csv": "admin statistician monitor",
    "/e/exp/papers.md": "admin statistician monitor",
    "/e/exp/log": "admin monitor",
}
"""By hand, so that a page that is opened to somebody is opened here too."""
MOST = 60_000
"""Bytes of a page."""


class Looker:
    """A browser without scripts: it keeps the cookie, and says where its forms come from."""

    def __init__(self, served: Served, key: str) -> None:
        limits = httpx.Limits(max_keepalive_connections=0)  # nothing is left open
        self.http = httpx.Client(base_url=served.url, trust_env=False, timeout=30.0, limits=limits)
        self.url = served.url
        self.entered = self.post("/login", key=key)

    def post(self, path: str, origin: str | None = "", **form: str) -> httpx.Response:
        """A form that is sent; by a page of the service, unless another origin is given."""
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if origin is not None:
            headers["origin"] = origin or self.url
        return self.http.post(path, content=urlencode(form), headers=headers)

    def get(self, path: str) -> httpx.Response:
        """A page."""
        return self.http.get(path)

    def see(self, path: str) -> str:
        """A page that is there."""
        found = self.get(path)
        assert found.status_code == 200, found.text
        return found.text


def looker(served: Served, role: str = "admin", **options: Any) -> Looker:
    return Looker(served, served.key(role, **options))


def words(page: str) -> str:
    """What is read on a page, without the ticks of axes."""
    main = page.partition("<main")[2].partition("</main>")[0]
    main = re.sub(r'<text class="tick".*?</text>', " ", main)
    main = re.sub(r"<(title|desc|select)\b.*?</\1>", " ", main, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())


# --- sessions -------------------------------------------------------------------------------------


def test_a_session_begins_with_a_key_and_ends(served: Served) -> None:
    served.plan()
    admin = looker(served)
    cookie = admin.entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert served.admin not in cookie
    assert admin.entered.status_code == 303
    assert "exp" in admin.see("/")
    secret = admin.http.cookies[COOKIE]
    for header in (f"Bearer {secret}", secret):  # it is no key
        found = served.http.get("/v1/experiments", headers={"authorization": header})
        assert found.status_code == 401
    assert admin.http.get("/v1/experiments").status_code == 401  # nor opens the API as a cookie
    assert admin.post("/logout").status_code == 303
    admin.http.cookies.set(COOKIE, secret)
    assert 'id="key"' in admin.see("/")
    assert admin.get("/e/exp").status_code == 303


@pytest.mark.parametrize("key", ["", "nonsense", f"dk_{'0' * 16}_{'0' * 64}", "<b>&\"'"])
def test_wrong_keys_begin_none(served: Served, key: str) -> None:
    found = Looker(served, key)
    assert found.entered.status_code == 401
    assert COOKIE not in found.http.cookies
    assert "<b>&" not in found.entered.text


def test_many_wrong_keys_are_too_many(served: Served) -> None:
    found = [Looker(served, f"dk_{'0' * 16}_{'0' * 64}").entered.status_code for _ in range(120)]
    assert found[0] == 401
    assert 429 in found[50:]


def test_devices_look_at_nothing(served: Served) -> None:
    assert looker(served, "device").entered.status_code == 403


def test_a_session_ends_with_its_key(served: Served) -> None:
    made = served.post("/v1/keys", {"role": "monitor"})
    found = Looker(served, made["key"])
    assert found.get("/audit").status_code == 200
    served.call("DELETE", f"/v1/keys/{made['id']}")
    assert found.get("/audit").status_code == 303


@pytest.mark.parametrize("to", ["//evil.example/", "https://evil.example/", "/\\evil.example", ""])
def test_a_session_begins_nowhere_else(served: Served, to: str) -> None:
    browser = Looker(served, "")
    assert browser.post("/login", key=served.admin, to=to).headers["location"] == "/"
    assert browser.post("/login", key=served.admin, to="/keys").headers["location"] == "/keys"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None])
def test_other_origins_decide_nothing(served: Served, origin: str | None) -> None:
    served.plan()
    admin = looker(served)
    keys = len(served.get("/v1/keys")["keys"])
    for path, form in (
        ("/e/exp/stop", {"by": "releases"}), ("/keys/new", {"role": "admin"}), ("/login", {}),
        ("/logout", {}),
    ):  # fmt: skip
        assert admin.post(path, origin, **form).status_code == 403
    assert served.get(E)["status"] == "collecting"
    assert len(served.get("/v1/keys")["keys"]) == keys
    assert admin.get("/keys").status_code == 200


# --- who sees what --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def several(shared: Served) -> Served:
    shared.plan(title="A title")
    shared.crowd(30)
    return shared


def test_the_table_of_pages_is_whole() -> None:
    known = {route.path.replace("{experiment}", "exp") for route in _pages.PAGES}
    others = {"/static/{name}", "/login", "/logout", "/keys/new", "/keys/{key}/revoke",
              "/e/exp/events", "/e/exp/device", "/e/exp/{action}"}  # fmt: skip
    assert known == set(PATHS) | others


@pytest.mark.parametrize("role", [role for role in ROLES if role != "device"])
def test_pages_by_role(several: Served, role: str) -> None:
    found = looker(several, role)
    for path, roles in PATHS.items():
        assert found.get(path).status_code == (200 if role in roles.split() else 403), path
    for path in ("/e/exp/stop", "/keys/new", "/e/exp/drop"):
        if role != "admin":
            assert found.post(path, by="releases", role="site", arm="A").status_code == 403
    here = found.see("/")
    assert ('href="/keys"' in here) == (role == "admin")
    assert ('href="/audit"' in here) == (role in ("admin", "monitor"))


def test_of_other_experiments_and_tenants_there_is_no_trace(several: Served) -> None:
    for options in ({"tenant": "other"}, {"experiment": "another"}):
        found = looker(several, "statistician", **options)
        assert "A title" not in found.see("/")
        there, none = found.get("/e/exp"), found.get("/e/nothing")
        assert there.status_code == none.status_code == 404
        assert there.text == none.text


@pytest.mark.parametrize("role", ["site", "nurse", "admin"])
def test_a_blinded_page_has_codes_alone(old: Served, role: str) -> None:
    found = looker(old, role)
    page = found.see("/e/reminders" + ("?blind" if role == "admin" else ""))
    report = old.get("/v1/experiments/reminders/report")
    text = words(page)
    for arm in report["arms"]:
        assert str(arm["arm"]) not in page
        assert f"{100 * arm['mean']:.0f} %" not in text
        assert f"{100 * arm['mean']:.1f}" not in text
        assert f" {arm['assigned']} " not in text
    assert len(re.findall(r"<code>[0-9A-F]{4}</code>", page)) == 3
    assert not re.search("leads (with|so far)", text)
    overview = words(found.see("/" + ("?blind" if role == "admin" else "")))
    assert "leads" not in overview
    assert "Text message" not in overview


# --- what is on them ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_grown(tmp_path_factory.mktemp("old") / "data") as served:
        yield served


EVERY = ("/", "/?wall", "/why", "/budgets", "/audit", "/keys", "/e/reminders", "/e/leaflet",
         "/e/survey", "/e/reminders/plan", "/e/leaflet/plan", "/e/survey/device",
         "/e/reminders?blind")  # fmt: skip


@pytest.mark.parametrize("path", EVERY)
def test_pages_are_strict_and_small(old: Served, path: str) -> None:
    found = looker(old).get(path)
    assert found.status_code == 200
    assert len(found.content) <= MOST
    policy = found.headers["content-security-policy"]
    for part in (
        "default-src 'none'", "style-src 'self'", "script-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "frame-ancestors 'none'",
    ):  # fmt: skip
        assert part in policy
    assert "unsafe" not in policy
    page = found.text
    assert not re.search(r"<[^>]*\sstyle=", page)
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)", page)
    assert not re.search(r"(?:src|href|action)=\"(?!/|#|data:,)", page)
    assert found.headers["cache-control"] == "no-store"


def test_static_files_are_few(old: Served) -> None:
    sizes = 0
    for name, media in _pages.STATIC.items():
        found = old.http.get(f"/static/{name}")
        assert found.headers["content-type"].startswith(media)
        sizes += len(found.content) if name in ("style.css", "page.js") else 0
    assert sizes < 30_000
    for name in ("nothing.js", "..%2f_pages.py", "%2e%2e/_pages.py"):
        assert old.http.get(f"/static/{name}").status_code == 404


MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
DATE = re.compile(rf"\b\d{{1,2}} (?:{MONTHS})(?: \d{{4}})?(?:, \d\d:\d\d(?::\d\d)? UTC)?"
                  r"|\b\d\d:\d\d(?::\d\d)? UTC")  # fmt: skip
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def leaves(value: Any) -> Iterator[float]:
    """All numbers in a report."""
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(one.replace(",", "")) for one in NUMBER.findall(value))


def written(value: float) -> set[str]:
    """All ways in which a page may write a number: as it is, or as a percentage."""
    value = abs(value)
    if value > 1e9:
        return set()  # a moment
    return {f"{value:,.0f}", f"{value:.3f}", f"{100 * value:.0f}", f"{100 * value:.1f}"}


def dates(moment: float) -> set[str]:
    at = datetime.fromtimestamp(moment, UTC)
    day, year, clock = f"{at.day} {at:%b}", f"{at.year}", f"{at:%H:%M}"
    return {
        day, f"{day} {year}", f"{day}, {clock} UTC", f"{day} {year}, {clock} UTC", f"{clock} UTC",
        f"{clock}:{at:%S} UTC",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["reminders", "leaflet", "survey"])
def test_every_number_comes_from_the_report(old: Served, name: str) -> None:
    """A walk over all numbers that are read on the page: each is an entry of the report, or one of
    the sums and differences that are reckoned here once more, by other code."""
    report = old.get(f"/v1/experiments/{name}/report")
    text = words(looker(old).see(f"/e/{name}")).partition("Latest in the audit")[0]
    row = old.service.row("default", name)
    now, deadline = time.time(), json.loads(row.settings)["deadline"]
    wait = float(deadline.split()[0]) * 86_400.0
    known, moments = set[str](), {now, row.created}
    for value in leaves({**report, "record": None, "course": None}):
        known |= written(value)
        if value > 1e9:
            moments.add(value)
    known |= set(NUMBER.findall(report["meaning"]))
    arms = report["arms"]
    known |= {f"{100 * arm['answered']:.0f}" for arm in arms if arm.get("answered")}
    known |= {f"{len(report['test']['looks'])}"} if "test" in report else set()
    known |= {str(int(wait / 86_400.0)), "50"}  # "after 14 days"; "instead of 50 %"
    since = [(row.created, dict.fromkeys((a["arm"] for a in arms), 0))]
    since += [(entry["time"], entry["assigned"]) for entry in report["course"]]
    begin = ([one for one in since if one[0] <= now - 28 * 86_400.0] or since[:1])[-1]
    pace = {a["arm"]: (a["assigned"] - begin[1].get(a["arm"], 0)) / (now - begin[0]) for a in arms}
    end = now + (report["horizon"] - report["assigned"]) / sum(pace.values()) + wait
    moments.add(end)
    known |= written(round((end - now) / 86_400.0))
    for block in report["blocks"]:
        if block["due"] is None and pace[block["arm"]] > 0:
            full = now + (block["size"] - block["filled"]) / pace[block["arm"]]
            moments |= {full, full + wait}
    if report["record"] is not None:
        record = Record.from_dict(report["record"])
        for one in differences(record):
            known |= written(one.low) | written(one.high)
        means = [arm["mean"] for arm in arms]
        used = [arm["used"] for arm in arms]
        if None not in means:
            even = sum(used) * sum(means) / len(means)
            known |= written(sum(n * m for n, m in zip(used, means, strict=True)) - even)
            known |= written(sum(used))
        if record.recorded.kind == "pair":
            known |= written(cost(record)) | written(sum(arm["size"] for arm in arms))
    allowed = set().union(*(dates(at + slack) for at in moments for slack in (0.0, -60.0, -90.0)))
    for date in DATE.findall(text):
        assert date in allowed, f"{date} is no moment of the report: {text}"
    text = DATE.sub(" ", text)
    found = NUMBER.findall(text)
    assert len(found) > 20
    assert [number for number in found if number.rstrip(",") not in known] == []


def cost(record: Record) -> float:
    """How many participants the noise costs, from the definitions: the share of the variance."""
    lost = 0.0
    count = record.recorded.count
    assert count is not None
    for history in record.history:
        answers = math.fsum(entry[2] for entry in history)
        off = math.fsum(entry[1] for entry in history) / answers
        draws = sum(entry[3] if len(entry) > 3 else 1 for entry in history)
        noise = 2.0 * draws * (record.recorded.noise.scale**2 + (count.scale * off) ** 2)
        lost += sum(entry[0] for entry in history) * noise / (noise + answers * (0.25 - off**2))
    return lost


def test_a_walk_notices_a_number_from_elsewhere(old: Served) -> None:
    """The walk above can fail: a count of outcomes would be seen."""
    report = old.get("/v1/experiments/leaflet/report")
    known = set().union(*(written(value) for value in leaves({**report, "course": None})))
    assert f"{old.answered('leaflet'):,}" not in known


def test_a_page_does_not_change_with_an_answer(old: Served) -> None:
    statistician = looker(old, "statistician")
    old.assign("the-last-one", "/v1/experiments/reminders")
    for _ in range(3):
        before = {path: statistician.see(path) for path in ("/", "/e/reminders", "/budgets")}
        waiting = old.answered("reminders")
        body = {"unit": "the-last-one", "outcome": 1.0}
        old.post("/v1/experiments/reminders/outcomes", body, old.site)
        after = {path: statistician.see(path) for path in before}
        assert old.answered("reminders") in (waiting, waiting + 1)
        if all("as of" not in page or _minute(page) == _minute(after[path])
               for path, page in before.items()):  # fmt: skip
            assert before == after
            return
    pytest.fail("the minute changed three times")


def _minute(page: str) -> str:
    return page.partition("as of")[2][:30]


def test_before_the_verdict_no_mean_is_shown(old: Served) -> None:
    page = words(looker(old).see("/e/leaflet"))
    assert "the test goes on" in page
    assert "not yet" in page
    for gone in ("leads", "Where the arms stand", "Released means over time", "earned"):
        assert gone not in page


def test_a_manager_reads_who_leads(old: Served) -> None:
    text = words(looker(old).see("/e/reminders"))
    report = old.get("/v1/experiments/reminders/report")
    best = max(report["arms"], key=lambda arm: arm["mean"])
    ahead = differences(Record.from_dict(report["record"]))
    word = "leads with" if all(one.high < 0.0 for one in ahead) else "leads so far, with"
    assert f"{best['arm']} {word} {100 * best['mean']:.0f} % of those who answered" in text
    assert "than an even split of the arms would have" in text
    assert "Privacy cost about as much certainty as" in text
    assert "Not shown to anybody" in text
    for line in ("Assigned as planned", "by arm", "Releases on time", "Witness in step", "Backup"):
        assert line in text


# --- checks ---------------------------------------------------------------------------------------


def report_with(**changes: Any) -> dict[str, Any]:
    arms = [
        {"arm": name, "assigned": 50, "used": 50, "size": 40, "waiting": 10, "active": True,
         "mean": 0.5, "releases": 3, "answered": 0.8}
        for name in ("A", "B")
    ]  # fmt: skip
    return {
        "policy": "p", "assigned": 100, "arms": arms, "status": "collecting", "releases": 6,
        "settings": {"window": "4 assignments in a random order", "share": {"A": 0.3}},
        "next_release": None, "record": None,
    } | changes  # fmt: skip


def state(line: dict[str, Any]) -> str:
    return str(line["state"])


def test_checks_see_what_is_wrong() -> None:
    assert state(_pages_view.as_planned(report_with())) == "ok"
    assert state(_pages_view.as_planned(report_with(assigned=101))) == "bad"
    few = report_with()
    few["arms"][0] |= {"assigned": 20, "used": 20, "waiting": -20}
    few["arms"][1] |= {"assigned": 80, "used": 80, "waiting": 40}
    assert "share" in _pages_view.as_planned(few)["text"]
    lost = report_with()
    lost["arms"][1]["waiting"] = 9
    assert "no block" in _pages_view.as_planned(lost)["text"]
    test = report_with(test={"decision": "go on"})
    assert state(_pages_view.as_planned(test)) == "ok"
    test["arms"][0] |= {"assigned": 53, "used": 53, "waiting": 13}
    test["arms"][1] |= {"assigned": 47, "used": 47, "waiting": 7}
    assert state(_pages_view.as_planned(test)) == "bad"
    assert state(_pages_view.answers_by_arm(report_with())) == "ok"
    apart = report_with()
    apart["arms"][0]["answered"] = 0.3
    assert state(_pages_view.answers_by_arm(apart)) == "warn"
    now = 1_000_000.0
    assert state(_pages_view.on_time(report_with(next_release=now + 60.0), now)) == "ok"
    assert state(_pages_view.on_time(report_with(next_release=now - 60.0), now)) == "bad"
    fenced = _pages_view.checks(report_with(status="fenced"), {}, now)
    assert any(line["state"] == "bad" and "fenced" in line["text"] for line in fenced)


# --- deciding -------------------------------------------------------------------------------------


def test_an_administrator_decides(served: Served) -> None:
    served.post("/v1/experiments", {**PLAN, "arms": ["A", "B", "C"]})
    admin = looker(served)
    assert "has not started" in words(admin.see("/e/exp"))
    assert admin.post("/e/exp/start").status_code == 303
    assert admin.post("/e/exp/drop", arm="nobody").status_code == 422
    assert admin.post("/e/exp/drop", arm="C").status_code == 303
    assert admin.post("/e/exp/stop", by="whim").status_code == 422
    assert admin.post("/e/exp/nothing").status_code == 404
    assert admin.post("/e/exp/stop", by="public").status_code == 303
    assert served.get(E)["status"] in ("settling", "finished")
    actions = [entry["action"] for entry in served.get("/v1/audit")["entries"]]
    assert [one for one in actions if one in ("started", "arm dropped", "stopped")] == [
        "started", "arm dropped", "stopped",
    ]  # fmt: skip
    seen = admin.see("/audit")
    assert "the chain is whole" in seen
    assert "arm C" in seen


def test_keys_are_made_and_revoked_on_a_page(served: Served) -> None:
    served.plan()
    admin = looker(served)
    made = admin.post("/keys/new", role="site", experiment="exp", label="North", days="30")
    key = re.search(r"dk_[0-9a-f]{16}_[0-9a-f]{64}", made.text)
    assert key is not None
    assert served.call("POST", f"{E}/assign", key[0], {"unit": "p"}).status_code == 200
    assert key[0] not in admin.see("/keys")
    for wrong in ({"role": "king"}, {"role": "site", "experiment": "nothing"},
                  {"role": "site", "days": "-1"}, {"role": "site", "days": "1e9"}):  # fmt: skip
        assert admin.post("/keys/new", **wrong).status_code == 422
    assert admin.post(f"/keys/{key[0][3:19]}/revoke").status_code == 303
    assert served.call("POST", f"{E}/assign", key[0], {"unit": "p"}).status_code == 401
    assert admin.post(f"/keys/{'0' * 16}/revoke").status_code == 404
    other = looker(served, tenant="other")
    assert other.post(f"/keys/{key[0][3:19]}/revoke").status_code == 404
    assert "North" not in other.see("/keys")


# --- secrets --------------------------------------------------------------------------------------


def test_a_marked_outcome_is_on_no_page(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """An outcome and an identifier that are recognised, in a trial whose releases show them to
    nobody: not in pages, files, events, errors, logs or metrics."""
    caplog.set_level(logging.DEBUG)
    served.plan(title="Marked")
    units = [f"marker-unit-{k}" for k in range(120)]
    asked = {"units": [{"unit": unit} for unit in units]}
    served.post(f"{E}/assign/batch", asked, served.site)
    marked = [{"unit": unit, "outcome": 0.7318281828} for unit in units]
    served.post(f"{E}/outcomes/batch", {"outcomes": marked}, served.site)
    served.until(lambda: served.get(f"{E}/report")["releases"] > 0)
    admin, seen = looker(served), []
    with admin.http.stream("GET", "/e/exp/events", timeout=20.0) as stream:
        for line in stream.iter_lines():
            seen.append(line)
            if line.startswith("id: ") and int(line[4:]) > 0:
                break
    for path in PATHS:
        seen.append(admin.see(path))
    bad = admin.post("/e/exp/drop", arm="0.7318281828 marker-unit-1")
    seen += [bad.text, admin.get("/e/marker-unit-1-731828").text, admin.see("/?blind")]
    seen.append(served.http.get("/metrics").text)
    ours = [one for one in caplog.records if one.name.startswith(("discreet", "uvicorn"))]
    assert ours
    seen += [one.getMessage() for one in ours]
    everything = "\n".join(seen)
    assert len(everything) > 10_000
    assert "731828" not in everything
    assert "marker-unit" not in everything
    for unit in units:
        assert served.service.secrets.pseudonym("default", unit) not in everything


# --- other kinds of trials ------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "strata": {"strata": ["men", "women"]},
    "names": {"arms": ["<b>A</b>", "=1+1 & \"co\"'"], "title": "<script>alert(1)</script>"},
    "many": {"arms": [f"arm {k}" for k in range(60)]},
    "open": {"deadline": None, "missing": None, "answers": "public"},
    "batches": {"policy": "adap-ucb", "ratio": None, "horizon": 500},
    "contexts": {"policy": "adac-oful", "epsilon": None, "rho": 0.5, "ratio": None,
                 "dimension": 2, "missing": 0.0, "arms": ["A", "B"], "horizon": 100},
    "test": {"policy": None, "epsilon": None, "ratio": None,
             "design": {"participants": 200, "epsilon": 2.0}},
    "identify": {"policy": "dp-tt", "ratio": None, "risk": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_trial_has_its_pages(shared: Served, kind: str) -> None:
    document = {**PLAN, **KINDS[kind], "id": f"kind-{kind}"}
    document = {name: value for name, value in document.items() if value is not None}
    made = shared.call("POST", "/v1/experiments", "", document)
    assert made.status_code == 201, made.text
    admin = looker(shared)
    for state in ("planned", "started"):
        for path in ("", "/plan", "/releases.csv", "?blind"):
            page = admin.get(f"/e/kind-{kind}{path}")
            assert page.status_code == 200, (state, path, page.text)
            assert len(page.content) <= MOST
            assert "<b>A" not in page.text
            assert "<script>alert" not in page.text
        if state == "planned":
            shared.post(f"/v1/experiments/kind-{kind}/start", {})
            if kind not in ("strata", "contexts"):
                shared.crowd(12, f"/v1/experiments/kind-{kind}")
    assert admin.get("/").status_code == 200
    assert admin.get("/budgets").status_code == 200


def test_the_largest_page_is_small() -> None:
    """Six arms in pictures, forty in the table, and as many releases as a trial keeps."""
    arms = [
        {"arm": f"An arm with quite a long name, number {k}", "assigned": 1000 + k, "used": 1000,
         "size": 900, "waiting": 100, "active": True, "mean": 0.3 + 0.005 * k, "releases": 60,
         "interval": [0.2, 0.5], "interval_of_all": [0.1, 0.7], "answered": 0.8, "place": k}
        for k in range(60)
    ]  # fmt: skip
    course = [
        {"time": 1.79e9 + 40_000.0 * k, "arm": arms[k % 6]["arm"], "size": k, "mean": 0.4,
         "assigned": {arm["arm"]: 2 * k for arm in arms[:6]}}
        for k in range(400)
    ]  # fmt: skip
    scale, now = _pages_view.Scale(True), 1.81e9
    pictures = [
        _pages_svg.means("m", arms, course, scale, now, {}),
        _pages_svg.standing("f", arms, arms[5], scale),
        _pages_svg.shares("s", arms[:6], course, now),
    ]
    assert all(pictures)
    assert sum(len(one.encode()) for one in pictures) < 42_000


def test_a_stopped_clock_has_a_page(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.serve._problems import Refused

    served.plan()
    admin = looker(served)

    async def jumped(*given: Any) -> Any:
        raise Refused("clock")

    monkeypatch.setattr(_pages, "report_of", jumped)
    assert "The clock has jumped" in admin.see("/e/exp")
    assert "The clock has jumped" in admin.see("/")


def test_files_are_no_formulas() -> None:
    rows: list[list[object]] = [["=1+1", "+1", "-a", "@b", "plain", -0.5]]
    assert _pages._as_csv(rows) == "'=1+1,'+1,'-a,'@b,plain,-0.5\r\n"


def test_the_page_of_devices_is_for_policies_of_devices(old: Served) -> None:
    admin = looker(old)
    assert admin.get("/e/survey/device").status_code == 200
    assert admin.get("/e/reminders/device").status_code == 409
    assert DEVICES["policy"] == "ldp-ucb-b"


def test_the_log_of_a_trial_says_what_the_trial_noted(served: Served) -> None:
    """Entry by entry; where arms are coded, no number of an arm."""
    served.plan(deadline="0.3 s", first=2)
    served.crowd(8)
    served.until(lambda: served.get("/v1/experiments/exp/report")["releases"] > 0)
    here = looker(served, "monitor").see("/e/exp/log")
    trial: Any = served.service.engine._open["default", "exp"]
    for entry in trial.log(verify=True)[:4]:
        assert f"<code>{entry['chain'][:8]}</code>" in here
        assert entry["what"] in here
    assert "block 0-1" in here or "block 1-1" in here
    kits = {arm: [f"{arm}{number:03}" for number in range(40)] for arm in ("A", "B")}
    served.plan(id="coded", kits=kits, deadline="0.3 s", first=2)
    served.crowd(8, "/v1/experiments/coded")
    served.until(lambda: served.get("/v1/experiments/coded/report")["releases"] > 0)
    coded = looker(served, "monitor").see("/e/coded/log")
    assert "release" in coded
    assert "block" not in coded
