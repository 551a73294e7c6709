"""`discreet serve`: the service in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import cast

import uvicorn

from .._checks import Unshown, one_of
from ..errors import InvalidArgument
from ..live.stores._postgres import URLS
from ._app import create_app
from ._keys import is_loopback
from ._service import PARTS, Part, Service, Settings
from ._writer import BEAT, SERVER_BEAT

PATIENCE = 10
"""Seconds for requests that are under way when the service stops."""
DATA = "discreet-data"


class Server(uvicorn.Server):
    """Says first that it is not ready, and stops after a while."""

    def __init__(self, config: uvicorn.Config, service: Service, drain: float) -> None:
        super().__init__(config)
        self._service, self._drain = service, drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM, or Ctrl-C; a second one does not wait."""
        if self._service.draining or self._drain <= 0.0:
            self._service.drain()
            super().handle_exit(sig, frame)
            return
        self._service.drain()
        loop = asyncio.get_event_loop()
        loop.call_soon_threadsafe(
            lambda: loop.call_later(self._drain, super(Server, self).handle_exit, sig, frame)
        )


def check_host(host: str, behind_tls: bool) -> str:
    """Loopback, unless TLS is in front: keys and outcomes must not cross a network in clear."""
    if not is_loopback(host) and not behind_tls:
        raise InvalidArgument(
            "host", "be a loopback address, unless TLS is in front of the service", host,
            "leave it out; or, with a proxy that speaks TLS, add --behind-tls",
        )  # fmt: skip
    return host


def _settings(data: Path, database: str, role: str, witness: str) -> Settings:
    """What was asked for; addresses are not repeated, for they may hold a password."""
    for argument, given in (("database", database), ("witness", witness)):
        if given and not given.startswith(URLS):
            raise InvalidArgument(
                argument, "be the address of a PostgreSQL database", Unshown("another text"),
                f"use for example --{argument} postgresql://localhost/trials",
            )  # fmt: skip
    part = one_of("role", role, *PARTS)
    if not database and (part != "all" or witness):
        raise InvalidArgument(
            "witness" if part == "all" else "role", "be left out without a database",
            Unshown("one"), "add --database postgresql://localhost/trials",
        )  # fmt: skip
    beat = SERVER_BEAT if database else BEAT
    return Settings(data, database, cast("Part", part), witness, beat)


def listening(host: str, port: int) -> socket.socket:
    """A socket on that port; 0: on a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with its protocol named, asyncio does not let answers wait to be acknowledged (TCP_NODELAY)
    there = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        there.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        there.bind((host, port))
        there.listen(2048)
    except (OSError, OverflowError):
        there.close()
    else:
        return there
    raise InvalidArgument(
        "port", f"be free on {host}", port, "stop what listens there, or use for example --port 0"
    )


def serve(
    data: Path, host: str = "127.0.0.1", port: int = 8000, *, behind_tls: bool = False,
    demo: bool = False, drain: float = 0.0, database: str = "", role: str = "all",
    witness: str = "",
) -> None:  # fmt: skip
    """Serve until SIGTERM or Ctrl-C."""
    settings = _settings(data.absolute(), database, role, witness)
    if demo and settings.role != "all":
        raise InvalidArgument(
            "demo", "be left out where several processes share the work", settings.role,
            "use --role all",
        )  # fmt: skip
    tell = partial(print, flush=True)
    check_host(host, behind_tls)
    with listening(host, port) as there:
        app = create_app(settings, demo=demo)
        service: Service = app.state.service
        first = service.first_key()
        address = f"[{host}]" if ":" in host else host
        tell(f"data: {data.absolute()}" + (f", PostgreSQL, role {role}" if database else ""))
        if first is not None:
            tell(f"first admin key, shown this once: {first}")
        if demo:
            tell("demo: the experiment demo has simulated participants; its noise is secure")
        tell(f"page: http://{address}:{there.getsockname()[1]}/")
        log_to_stderr()
        config = uvicorn.Config(
            app, access_log=False, log_config=None, server_header=False, lifespan="on",
            proxy_headers=behind_tls, forwarded_allow_ips="127.0.0.1,::1",
            timeout_graceful_shutdown=PATIENCE, log_level="warning",
        )  # fmt: skip
        Server(config, service, drain).run(sockets=[there])


def log_to_stderr() -> None:
    """Lines of our own log; of the server's below, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("discreet.serve")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
