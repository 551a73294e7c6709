"""What is said to the service and what its answers mean; how it is sent is left to the caller.

A conversation is a generator: it yields what to send, or how long to wait, and gets the reply. So
`Client` and `AsyncClient` say the same words.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from .._checks import Name, Unshown, check_unit, number, real
from ..errors import DiscreetError, Fenced, InvalidArgument, ServiceError, TrialError

T = TypeVar("T")
SAFE_TO_REPEAT = (429, 502, 503, 504)
FOR_GOOD = ("fenced",)
"""Problems that do not go away while one waits."""
MOST_QUEUED = 100_000
"""Outcomes that wait; a service that is away for so long loses what comes after."""
MOST_IN_ONE = 500
"""Outcomes of one request."""
MOST_REMEMBERED = 1_000_000
"""Participants who were shown the fallback."""
SWITCH = {"on": True, "true": True, "off": False, "false": False}
"""Arms of a flag that is a switch."""
PAUSE = 0.05
"""Seconds before the first retry; each later one waits twice as long."""


class Say(NamedTuple):
    """A request."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]
    within: float
    """seconds"""


class Wait(NamedTuple):
    """Nothing for so many seconds."""

    seconds: float


class Reply(NamedTuple):
    """What came back."""

    status: int
    data: Any
    retry_after: float


Conversation = Generator[Say | Wait, Reply | None, T]


class Talk:
    """The words, and what must be remembered between them."""

    def __init__(self, timeout: float) -> None:
        self.timeout = number("timeout", timeout, low=0.0, strict=True)
        self.queue: deque[tuple[str, str, Any]] = deque()
        """what was recorded and not sent yet: experiment, kind and body"""
        self._fallbacks: OrderedDict[tuple[str, Name], None] = OrderedDict()

    # --- asking -----------------------------------------------------------------------------------

    def ask(
        self, method: str, path: str, body: Any = None, *, again: bool = True,
        headers: dict[str, str] | None = None,
    ) -> Conversation[Any]:  # fmt: skip
        """A request that is repeated while the service is away, within the timeout."""
        until, pause = time.monotonic() + self.timeout, PAUSE
        while True:
            left = max(until - time.monotonic(), 0.001)
            reply = yield Say(method, path, body, headers or {}, left)
            if reply is not None and reply.status < 300:
                return reply.data
            kind = _kind(reply)
            if reply is not None and (reply.status not in SAFE_TO_REPEAT or kind in FOR_GOOD):
                raise problem(reply, kind)
            wait = max(pause, 0.0 if reply is None else min(reply.retry_after, 1.0))
            if not again or time.monotonic() + wait >= until:
                if reply is not None:
                    raise problem(reply, kind)
                raise ServiceError(
                    f"the service did not answer within {self.timeout:g} seconds; "
                    "check that it runs, or give a fallback"
                )
            yield Wait(wait)
            pause *= 2.0

    def assign(
        self, experiment: str, unit: Name, actions: Any, stratum: Name | None, fallback: Name | None
    ) -> Conversation[Name]:
        """The arm of a participant, or the fallback: then outcomes of theirs are not recorded, for
        they do not belong to an arm that the service gave."""
        unit = check_unit(unit)
        if (experiment, unit) in self._fallbacks and fallback is not None:
            return fallback
        body = {"unit": unit} | _given(actions=actions, stratum=stratum)
        path = f"{of(experiment)}/assign"
        try:
            found = yield from self.ask("POST", path, body)
        except InvalidArgument:
            raise
        except DiscreetError:
            if fallback is None:
                raise
            self.fall_back(experiment, unit)
            return fallback
        arm: Name = found["arm"]
        return arm

    def assign_many(self, experiment: str, units: Sequence[Name]) -> Conversation[list[Name]]:
        """The arms of several participants; an error if one of them has none."""
        entries = [{"unit": check_unit(unit)} for unit in units]
        found = yield from self.ask("POST", f"{of(experiment)}/assign/batch", {"units": entries})
        refused = next((one["problem"] for one in found["assigned"] if "problem" in one), None)
        if refused is not None:
            raise TrialError(
                f"the service gave a participant no arm: {refused}; the others have theirs, and "
                "asking again gives the same"
            )
        return [one["arm"] for one in found["assigned"]]

    def fall_back(self, experiment: str, unit: Name) -> None:
        """A participant was shown the fallback, and keeps it."""
        self._fallbacks[experiment, unit] = None
        if len(self._fallbacks) > MOST_REMEMBERED:
            self._fallbacks.popitem(last=False)

    def is_fallen_back(self, experiment: str, unit: Name) -> bool:
        """Whether they were."""
        return (experiment, unit) in self._fallbacks

    def create(self, plan: dict[str, Any]) -> Conversation[Any]:
        """A new experiment; a repeated request makes no second one."""
        headers = {"idempotency-key": str(uuid.uuid4())}
        return (yield from self.ask("POST", "/v1/experiments", plan, headers=headers))

    # --- recording --------------------------------------------------------------------------------

    def note(self, experiment: str, kind: str, unit: Name, outcome: object = None) -> bool:
        """Queue what was recorded of a participant; whether it is to be sent at all."""
        unit = check_unit(unit)
        body: dict[str, Any] = {"unit": unit}
        if kind != "withdrawals":
            body["outcome"] = _outcome(outcome)
        if self.is_fallen_back(experiment, unit):
            return False
        if len(self.queue) >= MOST_QUEUED:
            raise ServiceError(
                f"{MOST_QUEUED} entries wait, for the service is away; hand this one in later"
            )
        self.queue.append((experiment, kind, body))
        return True

    def send(self) -> Conversation[list[DiscreetError]]:
        """Send what is queued; what the service is away for stays. What it refused for good, which
        an outcome out of range is, is dropped."""
        refused: list[DiscreetError] = []
        while self.queue:
            taken, path, body = self._next()
            try:
                yield from self.ask("POST", path, body)
            except ServiceError as error:
                if error.status in (0, *SAFE_TO_REPEAT, 401):
                    return refused
                refused.append(error)
            except DiscreetError as error:
                if isinstance(error, Fenced):
                    return refused
                refused.append(error)
            for _ in range(taken):
                self.queue.popleft()
        return refused

    def _next(self) -> tuple[int, str, Any]:
        """How many entries come first that one request can have, its path and its body."""
        experiment, kind, body = self.queue[0]
        if kind != "outcomes":
            return 1, f"{of(experiment)}/{kind}", body
        batch: list[Any] = []
        for one in tuple(self.queue):  # to which another thread may add
            if one[:2] != (experiment, kind) or len(batch) == MOST_IN_ONE:
                break
            batch.append(one[2])
        return len(batch), f"{of(experiment)}/outcomes/batch", {"outcomes": batch}


def of(experiment: str) -> str:
    """The path of an experiment."""
    return f"/v1/experiments/{quote(experiment, safe='')}"


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _outcome(outcome: object) -> float:
    value = real(outcome, data=True)
    if not math.isfinite(value):
        raise InvalidArgument(
            "outcome", "be a finite number", Unshown(type(outcome).__name__), "record a number"
        )
    return value


def _kind(reply: Reply | None) -> str:
    found = reply.data if reply is not None and isinstance(reply.data, dict) else {}
    return str(found.get("type", "")).removeprefix("urn:discreet:")


def problem(reply: Reply, kind: str) -> DiscreetError:
    """What the service refused, as the error that a trial would raise."""
    found = reply.data if isinstance(reply.data, dict) else {}
    said = f"{found.get('title', 'the service refused')}: {found.get('detail', '')}".rstrip(": ")
    if kind == "fenced":
        return Fenced(said)
    if kind in ("not-started", "not-collecting", "refused", "exists"):
        return TrialError(said)
    if kind == "invalid":
        argument = str(found.get("argument", "")) or "request"
        return InvalidArgument(argument, "be as the service needs it", Sent(), said)
    return ServiceError(said, reply.status)


class Sent:
    """In place of a value that is not repeated."""

    def __repr__(self) -> str:
        return "what was sent"
