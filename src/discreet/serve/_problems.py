"""Everything that can go wrong with a request, as `application/problem+json`.

No problem repeats a value of its request: a body may hold an outcome, a path an identifier, and
answers end up in logs. What an argument must be is told where that says nothing of the value.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from ..errors import AlreadyOpen, ClockJumped, DiscreetError, Fenced, InvalidArgument, TrialBusy
from ..policies._registry import every_entry
from ._beat import NotStored

MEDIA = "application/problem+json"


class Problem(msgspec.Struct, omit_defaults=True):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    argument: str = ""
    """which part of the request it was, if that is known"""


class Kind(NamedTuple):
    """One thing that can go wrong."""

    status: int
    title: str
    detail: str


KINDS = {
    "malformed": Kind(400, "The body cannot be read",
                      "Send JSON as the schema at /v1/openapi.json describes it."),
    "key": Kind(401, "A valid key is needed",
                "Send the header Authorization: Bearer KEY, with a key that has not expired."),
    "role": Kind(403, "This key may not do that", "Use a key of another role."),
    "not-found": Kind(404, "There is no such thing", "Check the path and the experiment's id."),
    "method": Kind(405, "This path has no such method", "See the header Allow."),
    "exists": Kind(409, "That id is taken", "Choose another id for the experiment."),
    "not-started": Kind(409, "The experiment has not started", "An administrator starts it."),
    "not-collecting": Kind(409, "The experiment takes no more participants",
                           "Decide by its report. Participants who have an arm keep it."),
    "refused": Kind(409, "The experiment refuses that", "See its plan and its report."),
    "too-large": Kind(413, "The body is too large", "Send fewer entries at a time."),
    "invalid": Kind(422, "A part of the request breaks a rule",
                    "See the schema at /v1/openapi.json."),
    "repeated": Kind(422, "That Idempotency-Key was used for another request",
                     "Use a new one for every new request."),
    "rate": Kind(429, "Too many requests", "Wait for as long as the header Retry-After says."),
    "internal": Kind(500, "The service failed", "What was sent is repeated nowhere."),
    "fenced": Kind(503, "The experiment is fenced",
                   "Its file is not known to be the newest; see the page on running the service."),
    "clock": Kind(503, "The clock has jumped",
                  "An administrator sets it right, or confirms it: POST .../confirm-clock."),
    "storage": Kind(503, "The store failed", "Nothing changed; try again."),
    "elsewhere": Kind(421, "Another process of this service does that",
                      "Processes with --role web assign and record; those with --role curator "
                      "plan, decide and release."),
    "busy": Kind(503, "A block is due, and newcomers wait until it is released",
                 "Nothing changed; try again. A process with --role curator must be running."),
    "not-ready": Kind(503, "The service is starting or stopping", "Try again soon."),
}  # fmt: skip
RETRY = {"storage": "1", "busy": "2", "not-ready": "1", "clock": "60"}


class Refused(DiscreetError):
    """A request ends with a problem."""

    def __init__(self, kind: str, detail: str = "", argument: str = "", retry: float = 0.0) -> None:
        super().__init__(kind)
        self.kind, self.detail, self.argument, self.retry = kind, detail, argument, retry

    def response(self) -> Response:
        """The answer."""
        return answer(self.kind, self.detail, self.argument, self.retry)


def answer(kind: str, detail: str = "", argument: str = "", retry: float = 0.0) -> Response:
    """A problem as a response."""
    known = KINDS[kind]
    body = Problem(
        f"urn:discreet:{kind}", known.title, known.status, detail or known.detail, argument
    )
    headers = {"cache-control": "no-store"}
    if kind in RETRY:
        headers["retry-after"] = RETRY[kind]
    if retry:
        headers["retry-after"] = str(max(1, round(retry + 0.5)))
    if kind == "key":
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(body), known.status, headers, MEDIA)


def refusal(error: DiscreetError, given: Any = None, otherwise: str = "refused") -> Refused:
    """What the library refused, without the values that it names. `given`: the body, of which
    nothing may be repeated."""
    if isinstance(error, InvalidArgument):
        words = told(error, given)
        return Refused("invalid", words, error.argument if words else "")
    for kind, name in (
        (Fenced, "fenced"), (ClockJumped, "clock"), (AlreadyOpen, "storage"),
        (TrialBusy, "busy"), (NotStored, "storage"),
    ):  # fmt: skip
        if isinstance(error, kind):
            return Refused(name)
    return Refused(otherwise)


def told(error: InvalidArgument, given: Any) -> str:
    """Which argument must be what; nothing if these words would repeat a value."""
    words = f"{error.argument} must {error.rule}"
    if error.argument == "outcome":  # its fix is for whoever plans, in Python
        return words
    fuller = f"{words}; {error.fix}"
    values = set(_leaves(given)) - set(every_entry())
    for text in (fuller, words):
        if not any(re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text) for v in values):
            return text
    return ""


def _leaves(given: Any) -> list[str]:
    """The values in a document that would be recognised: names and texts, and long numbers."""
    if isinstance(given, dict):
        own = [key for key in given if isinstance(key, str) and len(key) > 40]
        return [*own, *(leaf for value in given.values() for leaf in _leaves(value))]
    if isinstance(given, list | tuple):
        return [leaf for value in given for leaf in _leaves(value)]
    if given is None or isinstance(given, bool):
        return []
    text = str(given)
    return [text] if len(text) > 2 else []
