"""The handlers of /v1. Each takes a `Call`: a checked key, a checked path, a checked body."""

from __future__ import annotations

import hashlib
import json
import time
from asyncio import gather
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .. import live
from ..errors import DiscreetError
from . import _messages as m
from ._beat import Bit
from ._device import randomiser_of
from ._events import events_of
from ._keys import is_loopback, is_valid
from ._metrics import MEDIA as METRICS_MEDIA
from ._metrics import text_of
from ._problems import Refused, refusal
from ._register import ExperimentRow, KeyRow
from ._service import Service, shown_key

if TYPE_CHECKING:
    from ..live import Strata, Trial

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
ACCEPTED = msgspec.json.encode(m.Accepted())
encode = msgspec.json.encode
BY_STRATUM = "An experiment by stratum has no weights: assign by calls."


class Call(NamedTuple):
    """A request whose key, path and body are known to be good."""

    service: Service
    request: Request
    key: KeyRow
    body: Any
    raw: bytes

    @property
    def row(self) -> ExperimentRow:
        """The experiment of the path. Of one that the key is not for there is no trace."""
        name = self.request.path_params["experiment"]
        if self.key.experiment not in (None, name):
            raise Refused("not-found")
        return self.service.row(self.key.tenant, name)


def answered(value: object, status: int = 200) -> Response:
    """A body as JSON."""
    return Response(encode(value), status, HEADERS, "application/json")


def accepted() -> Response:
    """The one answer to everything that is recorded."""
    return Response(ACCEPTED, 202, HEADERS, "application/json")


# --- experiments ----------------------------------------------------------------------------------


async def create(call: Call) -> Response:
    """Plan an experiment. It takes participants once it is started."""
    if call.key.experiment is not None:
        raise Refused("role")
    document = msgspec.json.decode(call.raw)
    name = call.request.headers.get("idempotency-key")
    repeated = None
    if name is not None:
        if not 0 < len(name) <= 255:
            raise Refused("invalid", "Idempotency-Key must have 1 to 255 characters")
        own = call.service.secrets.mac("repeated", call.key.id, name)
        repeated = own, hashlib.sha256(call.raw).hexdigest()
    body = await call.service.plan(
        call.key.tenant, document, call.key.id, repeated=repeated, answer=encode
    )
    return Response(body, 201, HEADERS, "application/json")


async def experiments(call: Call) -> Response:
    """All experiments that this key may see."""
    rows = [
        row for row in call.service.register.experiments(call.key.tenant)
        if call.key.experiment in (None, row.id)
    ]  # fmt: skip
    role = call.key.role
    return answered(m.Experiments([await call.service.shown_to(row, role) for row in rows]))


async def experiment(call: Call) -> Response:
    """One experiment: its plan in words, and where it stands."""
    return answered(await call.service.shown_to(call.row, call.key.role))


async def start(call: Call) -> Response:
    """Take participants from now on. Starting again changes nothing."""
    row = call.row
    if row.state == "planned":
        await call.service.ask(row, lambda trial: trial.confirm_clock())
        call.service.register.started(row, call.key.id)
    return answered(await call.service.shown(call.service.row(row.tenant, row.id)))


async def _decided(
    call: Call, action: str, do: Callable[[Trial | Strata], object], **detail: object
) -> Response:
    row = call.row
    await call.service.ask(row, do, detail)
    call.service.register.note(row.tenant, row.id, call.key.id, action, detail)
    return answered(await call.service.shown(row))


async def stop(call: Call) -> Response:
    """Take no more participants, and say why."""
    by = call.body.by
    return await _decided(call, "stopped", lambda trial: trial.stop(by), by=by)


async def drop(call: Call) -> Response:
    """Give an arm to nobody else."""
    arm, stratum = call.body.arm, call.body.stratum

    def do(trial: Trial | Strata) -> None:
        if stratum is None:
            trial.drop(arm)
        elif isinstance(trial, live.Strata):
            trial.drop(arm, stratum)
        else:
            raise Refused("invalid", "stratum must be left out: there are none", "stratum")

    return await _decided(call, "arm dropped", do, arm=arm)


async def add(call: Call) -> Response:
    """A new arm."""
    arm = call.body.arm

    def do(trial: Trial | Strata) -> None:
        method = getattr(trial, "add", None)
        if method is None or call.body.stratum is not None:
            raise Refused("refused", "Strata have the arms that were planned.")
        method(arm)

    return await _decided(call, "arm added", do, arm=arm)


async def finish(call: Call) -> Response:
    """Take no more participants; what is open is released when it is due, or erased."""
    discard = call.body.discard
    return await _decided(call, "finished", lambda trial: trial.finish(discard), discard=discard)


async def confirm_clock(call: Call) -> Response:
    """The clock is right, although it jumped."""
    return await _decided(call, "clock confirmed", lambda trial: trial.confirm_clock())


async def fence(call: Call) -> Response:
    """End a fenced experiment with what its file has released."""
    return await _decided(call, "fence ended", lambda trial: trial.fence())


# --- participants ---------------------------------------------------------------------------------


def _arm(call: Call, row: ExperimentRow, unit: str | int, found: object) -> m.Assigned:
    if isinstance(found, str | int) and not isinstance(found, bool):
        return m.Assigned(found, call.service.decision(row, call.key, unit))
    raise problem_of(found, call.body)


def problem_of(found: object, given: object = None) -> Refused:
    """Why a participant has no arm."""
    if isinstance(found, Refused):
        return found
    if isinstance(found, DiscreetError):
        return refusal(found, msgspec.to_builtins(given), "not-collecting")
    return Refused("internal")


def _may_assign(call: Call) -> None:
    """A nurse is blinded: what a trial with kits answers is the code of a kit, not an arm."""
    if call.key.role == "nurse" and "kits" not in msgspec.json.decode(call.row.settings):
        raise Refused("refused", "A blinded key gets kit codes, and this experiment has none.")


async def assign(call: Call) -> Response:
    """The arm of a participant; asking again gives the same one."""
    row, body = call.row, call.body
    _may_assign(call)
    found = await call.service.assign(row, call.key, body.unit, body.actions, body.stratum)
    return answered(_arm(call, row, body.unit, found))


async def assign_many(call: Call) -> Response:
    """The arms of several participants. Each stands by itself."""
    row = call.row
    _may_assign(call)
    found = await gather(
        *(
            call.service.assign(row, call.key, one.unit, one.actions, one.stratum)
            for one in call.body.units
        )
    )
    made: list[m.AssignedOne] = []
    for one, answer in zip(call.body.units, found, strict=True):
        try:
            got = _arm(call, row, one.unit, answer)
            made.append(m.AssignedOne(got.arm, got.decision))
        except Refused as refused:
            if refused.kind in ("storage", "clock", "internal"):
                raise
            made.append(m.AssignedOne(problem=refused.kind))
    return answered(m.AssignedMany(made))


async def outcomes(call: Call) -> Response:
    """What came of a participant. The answer does not tell whether it counts."""
    await call.service.record(call.row, call.key, [(call.body.unit, call.body.outcome)])
    return accepted()


async def outcomes_many(call: Call) -> Response:
    """What came of several participants."""
    given = [(one.unit, one.outcome) for one in call.body.outcomes]
    await call.service.record(call.row, call.key, given)
    return accepted()


async def withdrawals(call: Call) -> Response:
    """Do not use what came of a participant. The answer is that of an outcome."""
    await call.service.quietly(call.row, call.key, "withdraw", call.body.unit)
    return accepted()


async def corrections(call: Call) -> Response:
    """Another outcome in place of the first, where that is planned; likewise."""
    body = call.body
    await call.service.quietly(call.row, call.key, "correct", body.unit, body.outcome)
    return accepted()


async def exposures(call: Call) -> Response:
    """Participants who were shown an arm by weights; they are participants from now on."""
    shown = [(one.unit, one.arm, one.version) for one in call.body.exposures]
    as_known = partial(call.service.pseudonym, call.row, call.key)

    def hand_in(trial: Trial | Strata) -> None:
        if not hasattr(trial, "exposed"):
            raise Refused("refused", BY_STRATUM)
        trial.exposed(shown, as_known)  # how many are new is not told

    await call.service.ask(call.row, hand_in)
    return accepted()


# --- what is shown --------------------------------------------------------------------------------


async def weights(call: Call) -> Response:
    """The shares of the arms until the next release, to pick by without a call."""
    return answered(m.Weights(**await call.service.ask(call.row, _weights)))


def _weights(trial: Trial | Strata) -> dict[str, Any]:
    if not hasattr(trial, "weights"):
        raise Refused("refused", BY_STRATUM)
    return trial.weights().to_dict()


async def report(call: Call) -> Response:
    """Releases and public counts. Looking costs no privacy, however often."""
    return answered(await call.service.ask(call.row, lambda trial: trial.report()))


async def releases(call: Call) -> Response:
    """What was public at every release."""
    shown = await call.service.ask(call.row, lambda trial: trial.report())
    each = shown.get("strata", [shown])
    found = [
        m.Release(**entry, stratum=one.get("stratum"))
        for one in each for entry in one.get("course", ())
    ]  # fmt: skip
    found.sort(key=lambda entry: entry.time)
    return answered(m.Releases(shown["releases"], found))


async def events(call: Call) -> Response:
    """A stream that tells of every release. Its ids are numbers of releases: after a break, send
    the last one as Last-Event-ID."""
    row, service = call.row, call.service
    if service.draining:
        raise Refused("not-ready")
    if service.streams >= service.settings.streams:
        raise Refused("rate", retry=10.0)
    last = call.request.headers.get("last-event-id", "")
    since = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else None

    def valid() -> bool:
        return is_valid(service.register.key(call.key.id), time.time())

    stream: AsyncIterator[bytes] = events_of(service, (row.tenant, row.id), since, valid)
    return StreamingResponse(stream, 200, HEADERS, "text/event-stream")


async def audit(call: Call) -> Response:
    """Plans, decisions and keys, chained. Never who answered, or when: that is private."""
    query = call.request.query_params
    after = query.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) < 16):
        raise Refused("invalid", "after must be a whole number from 0", "after")
    register = call.service.register
    rows = register.audit(call.key.tenant, call.key.experiment, int(after), 1_000)
    entries = [
        m.AuditEntry(r.number, r.experiment, r.at, r.actor, r.action, json.loads(r.detail), r.chain)
        for r in rows
    ]
    return answered(m.Audit(register.is_whole(), entries))


# --- keys -----------------------------------------------------------------------------------------


async def make_key(call: Call) -> Response:
    """A new key. Its secret is shown this once."""
    body, key = call.body, call.key
    if key.experiment not in (None, body.experiment):
        raise Refused("role")
    made = call.service.make_key(
        key.tenant, body.role, key.id, experiment=body.experiment, site=body.site,
        label=body.label, days=body.days,
    )  # fmt: skip
    return answered(made, 201)


def _keys_of(call: Call) -> list[KeyRow]:
    mine = call.key.experiment
    rows = call.service.register.keys(call.key.tenant)
    return [row for row in rows if mine in (None, row.experiment)]


async def keys(call: Call) -> Response:
    """All keys that this one may manage, without their secrets."""
    return answered(m.Keys([m.Key(**shown_key(row)) for row in _keys_of(call)]))


def _key_of(call: Call) -> KeyRow:
    """The key of the path, if this one may manage it."""
    name = call.request.path_params["key"]
    row = next((row for row in _keys_of(call) if row.id == name), None)
    if row is None:
        raise Refused("not-found")
    return row


async def rotate_key(call: Call) -> Response:
    """A new key in place of another one, with its role. Both are valid for a while."""
    row = _key_of(call)
    if not is_valid(row, time.time()):
        raise Refused("refused", "That key opens nothing any more; make a new one.")
    return answered(call.service.rotate_key(row, call.key.id, call.body.hours), 201)


async def revoke_key(call: Call) -> Response:
    """A key that no longer opens anything."""
    row = _key_of(call)
    return answered(m.Key(**shown_key(call.service.register.revoke(row, call.key.id))))


# --- devices, and the service itself --------------------------------------------------------------


async def device(call: Call) -> Response:
    """What a participant's own device needs to know. The one path that other origins may read."""
    row = call.row
    shown = await call.service.shown_to(row, call.key.role)
    found = await call.service.ask(row, randomiser_of)
    curator = None if found is None else m.Curator(*found)
    return answered(m.Device(shown.id, shown.status, shown.arms, curator))


async def device_report(call: Call) -> Response:
    """One bit that a participant's own device made of the outcome. The first one stands."""
    service, body = call.service, call.body
    if call.key.experiment not in (None, body.experiment):
        raise Refused("not-found")
    row = service.row(call.key.tenant, body.experiment)
    if await service.ask(row, randomiser_of) is None:
        raise Refused("refused", "This experiment takes no bits from devices: see its policy.")
    unit = service.pseudonym(row, call.key, body.unit)
    found = await service._step((row.tenant, row.id), Bit(unit, body.bit))
    if isinstance(found, DiscreetError):
        raise refusal(found)
    return accepted()


async def health(call: Call) -> Response:
    """The process is up."""
    return answered(m.Health("up"))


async def ready(call: Call) -> Response:
    """The service takes requests."""
    if not call.service.is_ready:
        raise Refused("not-ready")
    return answered(m.Health("ready"))


async def metrics(call: Call) -> Response:
    """For Prometheus. Nothing in them depends on who has answered. From this host without a key."""
    asker = call.request.client
    if asker is None or not is_loopback(asker.host):
        key = call.service.holder(call.request.headers.get("authorization", ""))
        if key is None or key.experiment is not None or key.role not in ("admin", "monitor"):
            raise Refused("key")
    return Response(text_of(call.service), 200, HEADERS, METRICS_MEDIA)


async def openapi(call: Call) -> Response:
    """This description."""
    from ._openapi import description

    return Response(description(), 200, HEADERS, "application/json")
