"""The OpenFeature Remote Evaluation Protocol: teams that use feature flags need no new SDK.

A flag is an experiment, the targeting key a participant, the variant an arm. One flag that is asked
for by name takes a place. A bulk request, which web SDKs send when a page loads, does not: it gets
the arms that a participant has, and takes places only in the experiments that its context lists
under `enrol`. There is no tracking in the protocol; outcomes go to /v1, or through the provider.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from ..client._talk import SWITCH
from . import _messages as m
from ._problems import Refused
from ._register import ExperimentRow

if TYPE_CHECKING:
    from ._api import Call

KINDS_THAT_DEFAULT = ("not-started", "not-collecting", "fenced", "clock", "storage", "not-ready")
"""Problems at which the caller shows its default; no place was taken."""


class NotWell(Exception):
    """The context is not as it must be."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(code)
        self.code, self.details = code, details


async def evaluate(call: Call) -> Response:
    """What a flag is for a participant, who takes a place in its experiment."""
    from ._api import answered

    name = call.request.path_params["experiment"]
    try:
        unit, context = _participant(call.body)
        return answered(await _evaluated(call, call.row, unit, context))
    except NotWell as error:
        return answered(m.NotEvaluated(name, error.code, error.details), 400)
    except Refused as refused:
        if refused.kind == "not-found":
            found = m.NotEvaluated(name, "FLAG_NOT_FOUND", "there is no such experiment")
            return answered(found, 404)
        if refused.kind == "invalid":
            found = m.NotEvaluated(name, "INVALID_CONTEXT", refused.detail or "see the experiment")
            return answered(found, 400)
        raise


async def evaluate_many(call: Call) -> Response:
    """The arms that a participant has, and those of experiments that the context lists."""
    from ._api import HEADERS, answered

    try:
        unit, context = _participant(call.body)
        wanted = context.get("enrol", [])
        if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
            raise NotWell("INVALID_CONTEXT", "enrol must be a list of experiments")
    except NotWell as error:
        return answered(m.BadEvaluation(error.code, error.details), 400)
    flags: list[m.Flag] = []
    for row in call.service.register.experiments(call.key.tenant):
        if call.key.experiment not in (None, row.id):
            continue
        try:
            if row.id in wanted:
                found = await _evaluated(call, row, unit, context)
                flags.append(msgspec.convert(msgspec.to_builtins(found), m.Flag))
                continue
            arm = await call.service.lookup(row, call.key, unit)
            if arm is not None:
                found = _flag(call, row, unit, arm)
                flags.append(msgspec.convert(msgspec.to_builtins(found), m.Flag))
        except Refused as refused:
            if refused.kind == "invalid":
                code, why = "INVALID_CONTEXT", "see the experiment"
                flags.append(m.Flag(row.id, errorCode=code, errorDetails=why))
    body = msgspec.json.encode(m.EvaluatedMany(flags))
    mark = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**HEADERS, "etag": mark}
    if call.request.headers.get("if-none-match") == mark:
        return Response(None, 304, headers)
    return Response(body, 200, headers, "application/json")


async def _evaluated(
    call: Call, row: ExperimentRow, unit: str | int, context: dict[str, Any]
) -> m.Evaluated:
    from ._api import problem_of

    more = {name: context[name] for name in ("actions", "stratum") if name in context}
    try:
        given = msgspec.convert({"unit": unit} | more, m.Assign)
    except msgspec.ValidationError:
        raise Refused("invalid", "actions or stratum are not as the experiment needs") from None
    found = await call.service.assign(row, call.key, given.unit, given.actions, given.stratum)
    if isinstance(found, str | int):
        return _flag(call, row, unit, found)
    refused = problem_of(found)
    if refused.kind in KINDS_THAT_DEFAULT:
        return m.Evaluated(row.id, "DEFAULT", "", metadata={"why": refused.kind})
    raise refused


def _flag(call: Call, row: ExperimentRow, unit: str | int, arm: str | int) -> m.Evaluated:
    return m.Evaluated(
        row.id, "SPLIT", str(arm), value_of(arm),
        {"decision": call.service.decision(row, call.key, unit)},
    )  # fmt: skip


def value_of(arm: str | int) -> str | int | bool:
    """What a flag is; arms that are the two states of a switch are true and false."""
    return SWITCH.get(arm.lower(), arm) if isinstance(arm, str) else arm


def _participant(body: m.Evaluation) -> tuple[str | int, dict[str, Any]]:
    context = body.context or {}
    unit = context.get("targetingKey")
    if unit is None or unit == "":
        raise NotWell("TARGETING_KEY_MISSING", "the context needs a targetingKey")
    if not isinstance(unit, str) or len(unit) > 256:
        raise NotWell("INVALID_CONTEXT", "the targetingKey must be 1 to 256 characters")
    return unit, context
