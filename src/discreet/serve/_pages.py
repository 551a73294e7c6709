"""Pages for people. A route here is a path and a function from a request to a response.

Pages are HTML from the server: they work and print without scripts, and load nothing from anywhere
else. What they show of an experiment is made of its report (`_pages_view`) and drawn as SVG
(`_pages_svg`). Somebody who looks has begun a session with a key (`_pages_login`), and sees what
its role may see; sites and nurses, and anyone who adds `?blind`, see arms as codes and no means.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from .. import _durations
from .. import report as reports
from .._version import __version__
from ..errors import DiscreetError
from ..live import Strata, Trial
from ..report._numbers import count, decimal
from . import _pages_svg as svg
from . import _pages_view as view
from ._beat import Ask
from ._device import randomiser_of
from ._events import events_of
from ._keys import ROLES, is_valid
from ._pages_login import (
    BLINDED,
    COOKIE,
    admit,
    form_of,
    give_cookie,
    is_own,
    looking,
    sessions_of,
)
from ._problems import KINDS, Refused, refusal
from ._register import AuditRow, ExperimentRow, KeyRow
from ._service import Service

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin", "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}  # fmt: skip
HERE = Path(__file__).parent
STATIC = {
    "style.css": "text/css", "page.js": "text/javascript", "device.js": "text/javascript",
    "curator.js": "text/javascript", "openfeature.js": "text/javascript",
}  # fmt: skip
MEDIA = {"csv": "text/csv; charset=utf-8", "md": "text/markdown; charset=utf-8"}
READS = ("admin", "statistician", "monitor")
AUDITS = ("admin", "monitor")
AT_ONCE = 8
"""Reports that one page asks for in one beat: participants wait for it."""
LATEST = 200
"""Entries of the audit on its page."""
ACTIONS = ("start", "stop", "drop", "finish", "confirm-clock", "fence")
Page = Callable[[Request, KeyRow], Awaitable[Response]]


@cache
def templates() -> jinja2.Environment:
    """The templates, with what they call."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    found.globals.update(
        asset=asset, count=count, decimal=decimal, icon=svg.icon, meter=svg.meter,
        standing=svg.standing, means=svg.means, shares=svg.shares, stamp=view.stamp,
        day=view.day, lasting=view.lasting, version=__version__, READS=READS, AUDITS=AUDITS,
        STATUS=view.STATUS,
    )  # fmt: skip
    return found


@cache
def asset(name: str) -> str:
    """Where a file of the pages is; another version of it is elsewhere."""
    mark = hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={mark}"


async def static(request: Request) -> Response:
    """One of the few files that pages need."""
    name = request.path_params["name"]
    if name not in STATIC:
        return Refused("not-found").response()
    headers = {"cache-control": "max-age=86400", "x-content-type-options": "nosniff"}
    return Response((HERE / "static" / name).read_bytes(), 200, headers, STATIC[name])


def shown(
    request: Request, name: str, key: KeyRow | None, status: int = 200, /, **given: Any
) -> HTMLResponse:
    """A page."""
    here = {"here": "", "title": "discreet", "key": key, "now": time.time()}
    text = templates().get_template(f"{name}.html").render(here | given)
    return HTMLResponse(text, status, HEADERS)


def page(do: Page, roles: tuple[str, ...] = ROLES) -> Callable[[Request], Awaitable[Response]]:
    """A route for people who have begun a session, and have one of these roles."""

    async def handle(request: Request) -> Response:
        key = None
        try:
            key = looking(request)
            service: Service = request.app.state.service
            address = request.client.host if request.client else ""
            if wait := service.by_address.wait((address, False)):
                raise Refused("rate", retry=wait)
            if key is None:
                if request.method == "GET" and request.url.path != "/":
                    return _to(f"/?to={quote(request.url.path)}")
                return shown(request, "login", None, 200, why="", to="/")
            if key.role not in roles:
                raise Refused("role")
            return await do(request, key)
        except Refused as refused:
            return _refused(request, key, refused)
        except DiscreetError as error:
            return _refused(request, key, refusal(error))

    return handle


def _refused(request: Request, key: KeyRow | None, refused: Refused) -> Response:
    known = KINDS[refused.kind]
    said = refused.detail or known.detail
    found = shown(
        request, "problem", key, known.status, title=known.title, said=said, kind=refused.kind
    )
    for name, value in refused.response().headers.items():
        if name in ("retry-after",):
            found.headers[name] = value
    return found


def _to(place: str) -> Response:
    return RedirectResponse(place, 303, HEADERS)


# --- beginning and ending a session ---------------------------------------------------------------


async def home(request: Request) -> Response:
    """The experiments, or what runs here to whoever has shown no key."""
    if looking(request) is not None:
        return await page(experiments)(request)
    to = request.query_params.get("to", "/")
    return shown(request, "login", None, why="", to=_inside(to))


def _inside(place: str) -> str:
    """A place of this service, and of no other."""
    return place if place.startswith("/") and not place.startswith(("//", "/\\")) else "/"


async def login(request: Request) -> Response:
    """Begin a session."""
    to = "/"
    try:
        form = await form_of(request)
        to = _inside(form.get("to", "/"))
        secret = admit(request, form.get("key", ""))
    except Refused as refused:
        known = KINDS[refused.kind]
        why = known.title if refused.kind != "role" else "This key opens no pages"
        return shown(request, "login", None, known.status, why=why, to=to)
    found = _to(to)
    give_cookie(request, found, secret)
    return found


async def logout(request: Request) -> Response:
    """End it."""
    if not is_own(request):
        return Refused("role").response()
    sessions_of(request).end(request.cookies.get(COOKIE, ""))
    found = _to("/")
    give_cookie(request, found, "")
    return found


# --- what trials say ------------------------------------------------------------------------------


def rows_for(request: Request, key: KeyRow) -> list[ExperimentRow]:
    """The experiments that a key may see."""
    service: Service = request.app.state.service
    rows = service.register.experiments(key.tenant)
    return [row for row in rows if key.experiment in (None, row.id)]


def row_of(request: Request, key: KeyRow) -> ExperimentRow:
    """The experiment of the path. Of one that the key is not for there is no trace."""
    name = request.path_params["experiment"]
    if key.experiment not in (None, name):
        raise Refused("not-found")
    service: Service = request.app.state.service
    return service.row(key.tenant, name)


async def report_of(service: Service, row: ExperimentRow) -> dict[str, Any]:
    """A report; of an experiment that has not started, one that says so."""
    found: dict[str, Any] = await service.ask(row, lambda trial: trial.report())
    if row.state == "planned":
        found = {**found, "status": "planned"}
    return found


def deadline_of(row: ExperimentRow) -> float | None:
    """In seconds."""
    given = json.loads(row.settings).get("deadline")
    return None if given is None else _durations.seconds("deadline", given)


def is_blinded(request: Request, key: KeyRow) -> bool:
    """Whether arms are codes on this page."""
    return key.role in BLINDED or "blind" in request.query_params


def codes_of(service: Service, row: ExperimentRow, report: Mapping[str, Any]) -> list[str]:
    """The codes of the arms, in an order that tells nothing of them."""
    arms = report.get("strata", [report])[0]["settings"]["arms"]
    macs = [service.secrets.mac("blind", row.tenant, row.id, repr(arm)) for arm in arms]
    return sorted(f"{mac[:4]}".upper() for mac in macs)


async def experiments(request: Request, key: KeyRow) -> Response:
    """All experiments; `?wall`: for a screen that everybody sees."""
    service: Service = request.app.state.service
    rows, lines, now = rows_for(request, key), [], time.time()
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        lines += await asyncio.gather(*(_line(request, service, row, key, now) for row in some))
    lines.reverse()  # the newest first
    wall = "wall" in request.query_params
    title = "Experiments"
    blinded = is_blinded(request, key)
    return shown(
        request, "experiments", key, title=title, here="experiments", lines=lines, wall=wall,
        now=now, blinded=blinded,
    )  # fmt: skip


async def _line(
    request: Request, service: Service, row: ExperimentRow, key: KeyRow, now: float
) -> dict[str, Any]:
    """An experiment in the list. One whose file fails does not take the others with it."""
    found: dict[str, Any] = {
        "id": row.id, "title": row.title or row.id, "simulated": row.simulated, "status": row.state,
        "problem": "", "assigned": 0, "horizon": None, "releases": 0, "left": None, "next": None,
        "privacy": "", "leads": "", "late": False,
    }  # fmt: skip
    try:
        report = await report_of(service, row)
    except Refused as refused:
        return {**found, "problem": KINDS[refused.kind].title}
    whole = report.get("strata", [report])
    facts = [
        await asyncio.to_thread(view.facts, one, now, deadline_of(row), row.created)
        for one in whole
    ]
    nexts = [one["next"] for one in facts if one["next"]]
    lefts = [one["left"] for one in facts if one["left"] is not None]
    horizons = [one["horizon"] for one in facts]
    return {
        **found, "status": report["status"], "assigned": report["assigned"],
        "horizon": None if None in horizons else sum(horizons), "releases": report["releases"],
        "left": max(lefts, default=None), "next": min(nexts, key=lambda n: n["at"], default=None),
        "privacy": facts[0]["privacy"]["large"],
        "leads": "" if is_blinded(request, key) or len(facts) > 1 else _leads(facts[0]),
        "late": any(line["state"] == view.BAD for one in facts for line in one["checks"]),
    }  # fmt: skip


def _leads(facts: Mapping[str, Any]) -> str:
    """Who leads, in a few words."""
    if facts["test"] is not None:
        return "" if facts["blinded"] else str(facts["test"]["decision"])
    first = facts["leader"]
    if first is None:
        return ""
    sure = bool(facts["compared"]) and all(one["interval"][0] > 0.0 for one in facts["compared"])
    return f"{first['arm']} {'leads' if sure else 'leads so far'}"


async def experiment(request: Request, key: KeyRow) -> Response:
    """One experiment."""
    service: Service = request.app.state.service
    row, now = row_of(request, key), time.time()
    try:
        report = await report_of(service, row)
    except Refused as refused:
        if refused.kind != "clock":
            raise
        return shown(request, "clock", key, title=row.title or row.id, row=row, here="experiments")
    whole = report.get("strata", [report])
    common: dict[str, Any] = {
        "row": row,
        "title": row.title or row.id,
        "here": "experiments",
        "report": report,
    }
    if is_blinded(request, key):
        codes = codes_of(service, row, report)
        one = view.privacy(whole[0])
        return shown(request, "blinded", key, codes=codes, privacy=one, now=now, **common)
    facts = [
        await asyncio.to_thread(view.facts, one, now, deadline_of(row), row.created)
        for one in whole
    ]
    entries = []
    if key.role in AUDITS:
        entries = _audit(service, key.tenant, row.id)[-5:][::-1]
    test = None
    if "test" in report and "strata" in report:
        test = {**facts[0], "test": report["test"]}
        test = {**test, "sentence": [view._verdict(report["test"], facts[0])]}
    return shown(
        request, "experiment", key, parts=facts, entries=entries, now=now, common_test=test,
        deadline=deadline_of(row), watch=f"/e/{row.id}/events", generation=report["releases"],
        **common,
    )  # fmt: skip


async def plan(request: Request, key: KeyRow) -> Response:
    """What was planned before the first outcome."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    report = await report_of(service, row)
    one = report.get("strata", [report])[0]
    return shown(
        request, "plan", key, title=row.title or row.id, here="experiments", row=row,
        settings=view.settings_of(one), privacy=view.privacy(one),
        bits=await service.ask(row, randomiser_of) is not None,
        test=report.get("test") or one.get("test"), audits=key.role in AUDITS,
        strata=[part["stratum"] for part in report.get("strata", ())],
    )  # fmt: skip


async def papers(request: Request, key: KeyRow) -> Response:
    """The protocol, the analysis plan, the information for participants, and the checklist."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    text = await service.ask(row, lambda trial: reports.papers(trial).markdown())
    return _file(str(text), f"{row.id}-papers.md")


async def trail(request: Request, key: KeyRow) -> Response:
    """What the trial itself has noted: its plan, decisions and releases, each chained to the one
    before. Nothing of a participant."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    known = ("stratum", "number", "what", "at", "chain")
    told = {*known, "policy", "guarantee"}  # the page of the plan has them
    if "kits" in json.loads(row.settings):
        told.add("block")  # whose number would tell which arm a code stands for
    entries = [
        {**{name: one.get(name, "") for name in known},
         "detail": ", ".join(f"{name} {value}" for name, value in one.items()
                             if name not in told and value not in (None, ""))}
        for one in await service.ask(row, lambda trial: trial.log(verify=True))
    ]  # fmt: skip
    return shown(
        request, "trail", key, title=row.title or row.id, here="experiments", row=row,
        entries=entries[::-1][:LATEST], all=len(entries),
    )  # fmt: skip


async def releases(request: Request, key: KeyRow) -> Response:
    """The releases, for a spreadsheet."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    report = await report_of(service, row)
    service.register.note(row.tenant, row.id, key.id, "releases exported", {})
    return _file(_as_csv(view.rows_of(report)), f"{row.id}-releases.csv")


def _as_csv(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([[_plain(cell) for cell in row] for row in rows])
    return text.getvalue()


def _plain(cell: object) -> object:
    """A spreadsheet takes a name like =1+1 for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell


def _file(text: str, name: str) -> Response:
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, MEDIA[name.rpartition(".")[2]])


async def events(request: Request, key: KeyRow) -> Response:
    """Releases as they come, for the script of a page."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    if service.draining:
        raise Refused("not-ready")
    if service.streams >= service.settings.streams:
        raise Refused("rate", retry=10.0)

    def valid() -> bool:
        own = looking(request)
        return own is not None and is_valid(own, time.time())

    last = request.headers.get("last-event-id", "")
    since = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else None
    stream: AsyncIterator[bytes] = events_of(service, (row.tenant, row.id), since, valid)
    return StreamingResponse(stream, 200, HEADERS, "text/event-stream")


# --- deciding -------------------------------------------------------------------------------------


async def act(request: Request, key: KeyRow) -> Response:
    """A public decision of an administrator."""
    service: Service = request.app.state.service
    row, form = row_of(request, key), await form_of(request)
    what = request.path_params["action"]
    if what not in ACTIONS:
        raise Refused("not-found")
    if service.settings.role == "web":
        raise Refused("elsewhere")
    if what == "start":
        if row.state == "planned":
            await service.ask(row, lambda trial: trial.confirm_clock())
            service.register.started(row, key.id)
        return _to(f"/e/{row.id}")
    by, arm = form.get("by", "releases"), form.get("arm", "")
    if what == "stop" and by not in ("releases", "public", "board"):
        raise Refused("invalid")

    def do(trial: Trial | Strata) -> object:
        if what == "drop":
            named = next((one for one in trial.arms if str(one) == arm), None)
            if named is None or isinstance(trial, Strata):
                raise Refused("invalid", "arm must be one of the arms")
            trial.drop(named)
        elif what == "stop":
            trial.stop(by)
        elif what == "finish":
            trial.finish()
        elif what == "fence":
            trial.fence()
        else:
            trial.confirm_clock()
        return None

    found = await service._step((row.tenant, row.id), Ask(do))
    if isinstance(found, Refused):
        raise found
    if isinstance(found, DiscreetError):
        raise refusal(found, dict(form))
    if isinstance(found, Exception):
        raise Refused("internal")
    said = {"stop": "stopped", "drop": "arm dropped", "finish": "finished",
            "confirm-clock": "clock confirmed", "fence": "fence ended"}  # fmt: skip
    detail = {"stop": {"by": by}, "drop": {"arm": arm}}.get(what, {})
    service.register.note(row.tenant, row.id, key.id, said[what], detail)
    return _to(f"/e/{row.id}")


# --- people's rights ------------------------------------------------------------------------------


async def budgets(request: Request, key: KeyRow) -> Response:
    """What taking part costs, by experiment."""
    service: Service = request.app.state.service
    lines = []
    for row in rows_for(request, key):
        try:
            report = await report_of(service, row)
        except Refused:
            continue
        one = report.get("strata", [report])[0]
        lines.append({"id": row.id, "title": row.title or row.id, **view.privacy(one),
                      "unit": one["budget"].get("unit", 1)})  # fmt: skip
    return shown(request, "budgets", key, title="Budgets", here="budgets", lines=lines)


def _audit(service: Service, tenant: str, experiment: str | None) -> list[dict[str, Any]]:
    """The latest entries, oldest first, in words."""
    register, after = service.register, 0
    rows: list[AuditRow] = []
    while some := register.audit(tenant, experiment, after, 1_000):
        rows, after = [*rows, *some][-LATEST:], some[-1].number
    labels = {key.id: key.label or key.role for key in register.keys(tenant)}
    return [
        {
            "number": row.number, "at": row.at, "experiment": row.experiment or "",
            "actor": labels.get(row.actor, row.actor), "action": row.action,
            "detail": _detail(row.action, json.loads(row.detail)), "chain": row.chain,
        }
        for row in rows
    ]  # fmt: skip


def _detail(action: str, detail: Mapping[str, Any]) -> str:
    """What is worth a line; the plan has a page of its own."""
    if action == "planned":
        return ""
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value is not None)


async def audit(request: Request, key: KeyRow) -> Response:
    """Who decided what, and when; never who answered."""
    service: Service = request.app.state.service
    entries = _audit(service, key.tenant, key.experiment)[::-1]
    whole = await asyncio.to_thread(service.register.is_whole)
    return shown(
        request, "audit", key, title="Audit", here="audit", entries=entries, whole=whole,
        latest=LATEST,
    )  # fmt: skip


async def audit_csv(request: Request, key: KeyRow) -> Response:
    """All of it, for a spreadsheet."""
    service: Service = request.app.state.service
    rows: list[list[object]] = [
        ["number", "at", "experiment", "actor", "action", "detail", "chain"]
    ]
    after = 0
    while some := service.register.audit(key.tenant, key.experiment, after, 1_000):
        rows += [
            [r.number, r.at, r.experiment or "", r.actor, r.action, r.detail, r.chain] for r in some
        ]
        after = some[-1].number
    service.register.note(key.tenant, key.experiment, key.id, "audit exported", {})
    return _file(_as_csv(rows), "audit.csv")


async def keys(request: Request, key: KeyRow) -> Response:
    """The keys that this one may manage."""
    return _keys(request, key)


def _keys(request: Request, key: KeyRow, made: str = "", why: str = "") -> Response:
    service: Service = request.app.state.service
    rows = [
        row for row in service.register.keys(key.tenant) if key.experiment in (None, row.experiment)
    ]  # fmt: skip
    names = [row.id for row in rows_for(request, key)]
    return shown(
        request, "keys", key, 422 if why else 200, title="Keys", here="keys", rows=rows[::-1],
        made=made, why=why, names=names, roles=ROLES, valid=is_valid,
    )  # fmt: skip


async def make_key(request: Request, key: KeyRow) -> Response:
    """A new key, shown this once."""
    service: Service = request.app.state.service
    form = await form_of(request)
    role, label, days = form.get("role", ""), form.get("label", ""), form.get("days", "")
    name = key.experiment or form.get("experiment") or None
    known = {row.id for row in rows_for(request, key)}
    if role not in ROLES or (name is not None and name not in known) or len(label) > 100:
        return _keys(request, key, why="The role or the experiment is none of those listed.")
    lasts = None
    if days:
        if not (days.isascii() and days.isdigit() and 0 < int(days[:6]) <= 3650):
            return _keys(request, key, why="Days must be a whole number from 1 to 3650.")
        lasts = float(int(days))
    made = service.make_key(key.tenant, role, key.id, experiment=name, label=label, days=lasts)
    return _keys(request, key, made=made.key)


async def revoke(request: Request, key: KeyRow) -> Response:
    """A key that no longer opens anything."""
    service: Service = request.app.state.service
    await form_of(request)
    name = request.path_params["key"]
    row = service.register.key(name)
    if row is None or row.tenant != key.tenant or key.experiment not in (None, row.experiment):
        raise Refused("not-found")
    service.register.revoke(row, key.id)
    return _to("/keys")


async def why(request: Request, key: KeyRow) -> Response:
    """What is never shown, and why."""
    return shown(request, "why", key, title="What is never shown")


async def device(request: Request, key: KeyRow) -> Response:
    """A participant's own curator, to try."""
    service: Service = request.app.state.service
    row = row_of(request, key)
    if await service.ask(row, randomiser_of) is None:
        raise Refused("refused", "This experiment takes no bits from devices: see its policy.")
    return shown(request, "device", key, title="On the participant's device", row=row,
                 here="experiments")  # fmt: skip


ADMIN = ("admin",)
PAGES = [
    Route("/", home, methods=["GET"]),
    Route("/static/{name}", static, methods=["GET"]),
    Route("/login", login, methods=["POST"]),
    Route("/logout", logout, methods=["POST"]),
    Route("/why", page(why), methods=["GET"]),
    Route("/budgets", page(budgets, READS), methods=["GET"]),
    Route("/audit", page(audit, AUDITS), methods=["GET"]),
    Route("/audit.csv", page(audit_csv, AUDITS), methods=["GET"]),
    Route("/keys", page(keys, ADMIN), methods=["GET"]),
    Route("/keys/new", page(make_key, ADMIN), methods=["POST"]),
    Route("/keys/{key}/revoke", page(revoke, ADMIN), methods=["POST"]),
    Route("/e/{experiment}", page(experiment), methods=["GET"]),
    Route("/e/{experiment}/plan", page(plan, READS), methods=["GET"]),
    Route("/e/{experiment}/papers.md", page(papers, READS), methods=["GET"]),
    Route("/e/{experiment}/log", page(trail, AUDITS), methods=["GET"]),
    Route("/e/{experiment}/releases.csv", page(releases, READS), methods=["GET"]),
    Route("/e/{experiment}/events", page(events, READS), methods=["GET"]),
    Route("/e/{experiment}/device", page(device, ADMIN), methods=["GET"]),
    Route("/e/{experiment}/{action}", page(act, ADMIN), methods=["POST"]),
]
"""The table of pages."""
