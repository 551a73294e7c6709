"""All routes of the API, in one table: paths, who may ask, what goes in and what comes out.

Starlette's routes, the description at /v1/openapi.json and the test of roles are made of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.responses import Response

from . import _api as api
from . import _messages as m
from . import _ofrep as ofrep
from ._keys import ROLES, Role
from ._service import PARTS, Part

Handler = Callable[[api.Call], Awaitable[Response]]
SITE: tuple[Role, ...] = ("site",)
FLAGS: tuple[Role, ...] = ("site", "device")
RECORDS: tuple[Role, ...] = ("site", "nurse")
READS: tuple[Role, ...] = ("admin", "statistician", "monitor")
DECIDES: tuple[Part, ...] = ("all", "curator")
SERVES: tuple[Part, ...] = ("all", "web")
OPEN = None
"""No key is needed."""


class Endpoint(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    roles: tuple[Role, ...] | None
    takes: type[Any] | None
    gives: dict[int, type[Any] | str]
    """what comes back if all is well, by status: a type, or a media type"""
    problems: tuple[int, ...] = ()
    records: bool = False
    """whether it says that somebody has answered: such requests are in no log"""

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.handler.__name__

    @property
    def parts(self) -> tuple[Part, ...]:
        """Which processes of several do this: participants are served by some, decisions are made
        by others, and all of them show what there is."""
        if self.takes in (None, m.NewKey, m.Rotation):
            return PARTS
        return DECIDES if self.roles == ("admin",) else SERVES


E = "/v1/experiments/{experiment}"
CHANGE = (409,)
ENDPOINTS = (
    Endpoint("POST", f"{E}/assign", api.assign, RECORDS, m.Assign, {200: m.Assigned}, (409,)),
    Endpoint("POST", f"{E}/outcomes", api.outcomes, RECORDS, m.Outcome, {202: m.Accepted},
             records=True),
    Endpoint("POST", f"{E}/assign/batch", api.assign_many, RECORDS, m.AssignMany,
             {200: m.AssignedMany}, (409,)),
    Endpoint("POST", f"{E}/outcomes/batch", api.outcomes_many, RECORDS, m.OutcomeMany,
             {202: m.Accepted}, records=True),
    Endpoint("POST", f"{E}/withdrawals", api.withdrawals, RECORDS, m.Withdrawal, {202: m.Accepted},
             records=True),
    Endpoint("POST", f"{E}/corrections", api.corrections, RECORDS, m.Outcome, {202: m.Accepted},
             records=True),
    Endpoint("POST", f"{E}/exposures", api.exposures, SITE, m.Exposures, {202: m.Accepted},
             (409,), records=True),
    Endpoint("POST", "/ofrep/v1/evaluate/flags/{experiment}", ofrep.evaluate, FLAGS, m.Evaluation,
             {200: m.Evaluated, 400: m.NotEvaluated, 404: m.NotEvaluated}, (409,)),
    Endpoint("POST", "/ofrep/v1/evaluate/flags", ofrep.evaluate_many, FLAGS, m.Evaluation,
             {200: m.EvaluatedMany, 304: "", 400: m.BadEvaluation}),
    Endpoint("POST", "/v1/experiments", api.create, ("admin",), m.NewExperiment,
             {201: m.Experiment}, (409,)),
    Endpoint("GET", "/v1/experiments", api.experiments, (*READS, *RECORDS), None,
             {200: m.Experiments}),
    Endpoint("GET", E, api.experiment, (*READS, *RECORDS), None, {200: m.Experiment}),
    Endpoint("POST", f"{E}/start", api.start, ("admin",), m.Start, {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/stop", api.stop, ("admin",), m.Stop, {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/drop", api.drop, ("admin",), m.OneArm, {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/add", api.add, ("admin",), m.OneArm, {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/finish", api.finish, ("admin",), m.Finish, {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/confirm-clock", api.confirm_clock, ("admin",), m.Start,
             {200: m.Experiment}, CHANGE),
    Endpoint("POST", f"{E}/fence", api.fence, ("admin",), m.Start, {200: m.Experiment}, CHANGE),
    Endpoint("GET", f"{E}/weights", api.weights, ("admin", "statistician"), None,
             {200: m.Weights}, (409,)),
    Endpoint("GET", f"{E}/report", api.report, READS, None, {200: dict[str, Any]}),
    Endpoint("GET", f"{E}/releases", api.releases, READS, None, {200: m.Releases}),
    Endpoint("GET", f"{E}/events", api.events, READS, None, {200: "text/event-stream"}),
    Endpoint("GET", "/v1/audit", api.audit, ("admin", "monitor"), None, {200: m.Audit}),
    Endpoint("POST", "/v1/keys", api.make_key, ("admin",), m.NewKey, {201: m.MadeKey}),
    Endpoint("GET", "/v1/keys", api.keys, ("admin",), None, {200: m.Keys}),
    Endpoint("POST", "/v1/keys/{key}/rotate", api.rotate_key, ("admin",), m.Rotation,
             {201: m.MadeKey}, CHANGE),
    Endpoint("DELETE", "/v1/keys/{key}", api.revoke_key, ("admin",), None, {200: m.Key}),
    Endpoint("GET", "/v1/device/{experiment}", api.device, ("device",), None, {200: m.Device}),
    Endpoint("POST", "/v1/device/reports", api.device_report, ("device",), m.DeviceReport,
             {202: m.Accepted}, (404, 409), records=True),
    Endpoint("GET", "/healthz", api.health, OPEN, None, {200: m.Health}),
    Endpoint("GET", "/readyz", api.ready, OPEN, None, {200: m.Health}),
    Endpoint("GET", "/metrics", api.metrics, OPEN, None, {200: "text/plain"}, (401,)),
    Endpoint("GET", "/v1/openapi.json", api.openapi, OPEN, None, {200: dict[str, Any]}),
)  # fmt: skip
assert all(role in ROLES for one in ENDPOINTS for role in one.roles or ())


def statuses(one: Endpoint) -> dict[int, type[Any] | str]:
    """All answers of an endpoint: what it gives, and the problems it may have."""
    problems = {*one.problems, 503}
    if one.parts != PARTS:
        problems |= {421}
    if one.roles is not None:
        problems |= {401, 403, 429}
    if "{" in one.path:
        problems |= {404}
    if one.takes is not None:
        problems |= {400, 413, 422}
    if one.handler in (api.audit,):
        problems |= {422}
    return {**dict.fromkeys(sorted(problems), "problem"), **one.gives}
