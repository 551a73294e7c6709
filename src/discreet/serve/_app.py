"""The application: routes, keys, limits and the log around the handlers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import DiscreetError
from ._api import Call
from ._demo import play_for_ever, prepare
from ._pages import PAGES
from ._problems import Refused, answer, refusal
from ._register import KeyRow
from ._routes import ENDPOINTS, Endpoint
from ._service import Service, Settings

LOG = logging.getLogger("discreet.serve")
NOBODY = KeyRow("", "", "", None, None, "", "", 0.0, None, None)
ROUNDED = 0.05
"""Seconds to which durations in the log are rounded, upwards."""


def create_app(settings: Settings, *, demo: bool = False) -> Starlette:
    """A service on a data folder, as an ASGI application."""
    service = Service(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        if demo:
            await prepare(service)
        playing = asyncio.create_task(play_for_ever(service)) if demo else None
        try:
            yield
        finally:
            if playing is not None:
                playing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await playing
            await service.stop()

    routes = [
        Route(one.path, _endpoint(one, service), methods=[one.method]) for one in ENDPOINTS
    ]  # fmt: skip
    app = Starlette(
        routes=[*_together(routes), *PAGES], lifespan=lifespan,
        exception_handlers={HTTPException: _http_problem, Exception: _failed},
    )  # fmt: skip
    app.state.service = service
    app.add_middleware(Outside)
    return app


def _together(routes: list[Route]) -> list[Route]:
    """One route a path, which knows all of its methods: else a wrong one is told half of them."""
    known: dict[str, dict[str, Any]] = {}
    for route in routes:
        for method in (route.methods or set()) - {"HEAD"}:
            known.setdefault(route.path, {})[method] = route.endpoint
    return [
        Route(path, next(iter(each.values())) if len(each) == 1 else _choice(each),
              methods=list(each))
        for path, each in known.items()
    ]  # fmt: skip


def _choice(each: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    async def chosen(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        found: Response = await each[method](request)
        return found

    return chosen


def _endpoint(one: Endpoint, service: Service) -> Callable[[Request], Awaitable[Response]]:
    decoder = None if one.takes is None else msgspec.json.Decoder(one.takes)

    async def handle(request: Request) -> Response:
        request.scope["discreet.endpoint"] = one
        body, raw = None, b""
        try:
            key = NOBODY if one.roles is None else _admitted(one, service, request)
            if service.settings.role not in one.parts:
                raise Refused("elsewhere")
            if decoder is not None:
                raw = await _read(request, service.settings.body)
                body = _decoded(decoder, raw)
            return await one.handler(Call(service, request, key, body, raw))
        except Refused as refused:
            return refused.response()
        except DiscreetError as error:
            return refusal(error, msgspec.to_builtins(body)).response()
        except ClientDisconnect:
            return answer("malformed")
        except Exception as error:
            if LOG.isEnabledFor(logging.ERROR):
                LOG.error("%s %s failed: %s", one.method, one.path, type(error).__name__)
        return answer("internal")

    return handle


def _admitted(one: Endpoint, service: Service, request: Request) -> KeyRow:
    """Whose request it is. Requests that record have buckets of their own: else anyone who shares
    a key or an address would see, by running out, that somebody has answered."""
    address = request.client.host if request.client else ""
    key = service.holder(request.headers.get("authorization", ""))
    if key is None:
        wait = service.wrong.wait(address)
        raise Refused("rate", retry=wait) if wait else Refused("key")
    wait = service.by_key.wait((key.id, one.records))
    wait = wait or service.by_address.wait((address, one.records))
    if wait:
        raise Refused("rate", retry=wait)
    assert one.roles is not None
    if key.role not in one.roles:
        raise Refused("role")
    return key


async def _read(request: Request, most: int) -> bytes:
    """The body, up to a limit."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > most:
        raise Refused("too-large")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Refused("too-large")
        parts.append(part)
    return b"".join(parts)


def _decoded(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    """The body as its type. The words of the parser are not repeated: they may name a value."""
    kind, argument = "malformed", ""
    try:
        return decoder.decode(raw or b"{}")
    except msgspec.ValidationError as error:
        kind, argument = "invalid", _place_in(str(error))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    raise Refused(kind, argument=argument)


def _place_in(text: str) -> str:
    """Where in the body it was: a path of our own names, and of nothing that was sent."""
    path = text.rpartition(" - at `$.")[2] if " - at `$." in text else ""
    names = path.rstrip("`").replace("[...]", "").split(".")
    return ".".join(names) if names[0] and all(name in KNOWN for name in names) else ""


KNOWN = {
    field.name
    for one in ENDPOINTS if one.takes is not None
    for field in msgspec.structs.fields(one.takes)
} | {"unit", "outcome"}  # fmt: skip


async def _http_problem(request: Request, error: Exception) -> Response:
    """What no route takes."""
    assert isinstance(error, HTTPException)
    found = answer("method" if error.status_code == 405 else "not-found")
    for name, value in (error.headers or {}).items():
        found.headers[name] = value
    return found


async def _failed(request: Request, error: Exception) -> Response:
    return answer("internal")


# --- around everything ----------------------------------------------------------------------------


class Outside:
    """The log, and who may ask from another origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        for_devices = str(scope["path"]).startswith(FOR_DEVICES)
        if for_devices and scope["method"] == "OPTIONS":
            await _preflight()(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if for_devices:
                    message["headers"] = [*message["headers"], *CORS]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            self._log(scope, status, time.perf_counter() - begun)

    @staticmethod
    def _log(scope: Scope, status: int, seconds: float) -> None:
        """Method, the route's template, status and a rounded duration: nothing that was sent. What
        records is not in it, for a line would say that somebody has answered."""
        one: Endpoint | None = scope.get("discreet.endpoint")
        if not LOG.isEnabledFor(logging.INFO) or (one is not None and one.records):
            return
        path = "-" if one is None else one.path
        rounded = (seconds // ROUNDED + 1.0) * ROUNDED
        method = scope["method"] if scope["method"] in METHODS else "-"
        LOG.info("%s %s %d %.2f s", method, path, status, rounded)


FOR_DEVICES = ("/v1/device/", "/ofrep/v1/")
"""Paths that pages of other origins may ask, with a key in a header; never with a cookie."""
METHODS = ("GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
CORS = [
    (b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"etag"),
    (b"vary", b"origin"),
]  # fmt: skip


def _preflight() -> Response:
    """What a browser asks before a device's page may ask: no cookies, no other paths."""
    headers = {
        "access-control-allow-origin": "*", "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "authorization, content-type, if-none-match",
        "access-control-max-age": "600", "vary": "origin",
    }  # fmt: skip
    return Response(None, 204, headers)
