"""Who looks at a page: a session, begun with a key and kept in a cookie that scripts cannot read.

The cookie holds random bits that are good for nothing else: not the key, which would open the API.
Sessions are in memory, so that stopping the service ends them. What changes anything is a POST from
a page of this service; others are refused by their Origin, whatever cookies they bring.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from ._keys import is_valid
from ._problems import Refused
from ._register import KeyRow
from ._service import Service

COOKIE = "discreet"
LASTS = 12 * 3600.0
"""Seconds."""
MOST = 10_000
"""Sessions; of more, the oldest end."""
MOST_FORM = 8_192
"""Bytes of a form."""
LOOKS = ("admin", "statistician", "monitor", "site", "nurse")
"""Roles that may look at pages; of these the last two do so blinded."""
BLINDED = ("site", "nurse")


class Session(NamedTuple):
    """Whose it is, and until when."""

    key: str
    until: float


class Sessions:
    """All of them, by the hash of their secret."""

    def __init__(self) -> None:
        self._all: dict[bytes, Session] = {}

    def begin(self, row: KeyRow) -> str:
        """A new one; its secret."""
        secret = secrets.token_urlsafe(32)
        while len(self._all) >= MOST:
            del self._all[next(iter(self._all))]
        self._all[_hash(secret)] = Session(row.id, time.time() + LASTS)
        return secret

    def end(self, secret: str) -> None:
        """It opens nothing any more."""
        self._all.pop(_hash(secret), None)

    def holder(self, service: Service, secret: str) -> KeyRow | None:
        """Whose it is, as long as the key that began it is good."""
        found = self._all.get(_hash(secret))
        if found is None or found.until < time.time():
            self.end(secret)
            return None
        row = service.register.key(found.key)
        return row if is_valid(row, time.time()) else None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def sessions_of(request: Request) -> Sessions:
    """Those of the service."""
    state = request.app.state
    if not hasattr(state, "sessions"):
        state.sessions = Sessions()
    found: Sessions = state.sessions
    return found


def looking(request: Request) -> KeyRow | None:
    """Who looks at a page."""
    secret = request.cookies.get(COOKIE, "")
    return sessions_of(request).holder(request.app.state.service, secret) if secret else None


def admit(request: Request, token: str) -> str:
    """Begin a session with a key; wrong ones are slowed down, by address."""
    service: Service = request.app.state.service
    address = request.client.host if request.client else ""
    row = service.holder(f"Bearer {token.strip()}")
    if row is None:
        wait = service.wrong.wait(address)
        raise Refused("rate", retry=wait) if wait else Refused("key")
    if row.role not in LOOKS:
        raise Refused("role")
    return sessions_of(request).begin(row)


def give_cookie(request: Request, response: Response, secret: str) -> None:
    """Let the browser keep it; an empty one is forgotten."""
    response.set_cookie(
        COOKIE, secret, max_age=int(LASTS) if secret else 0, path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form that was sent by a page of this service."""
    if not is_own(request):
        raise Refused("role")
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MOST_FORM:
            raise Refused("too-large")
    return dict(parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True))


def is_own(request: Request) -> bool:
    """Whether a page of this service sent it; a browser says so, and a page cannot lie."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    return urlsplit(origin).netloc == request.headers.get("host")
