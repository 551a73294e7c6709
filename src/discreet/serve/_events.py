"""Server-sent events: one for every release, whose id is its number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from ._engine import Id

if TYPE_CHECKING:
    from ._service import Service

ALIVE = 15.0
"""Seconds after which a line is sent in any case, and the key is looked at again."""
MOST_MISSED = 1_000
"""Releases that are told of one by one after a break; of more, the last ones."""


async def events_of(
    service: Service, name: Id, since: int | None, valid: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Releases after `since`; None: where the experiment stands, and releases from now on."""
    listener = service.listen(name)
    service.streams += 1
    try:
        now = service.generation(name)
        sent = now - 1 if since is None else since
        yield b"retry: 2000\n\n"
        while valid():
            listener.clear()
            now = service.generation(name)
            for number in range(max(sent + 1, now - MOST_MISSED, 0), now + 1):
                text = json.dumps({"generation": number})
                yield f"id: {number}\nevent: release\ndata: {text}\n\n".encode()
                sent = number
            if service.draining:
                return
            try:
                await asyncio.wait_for(listener.wait(), ALIVE)
            except TimeoutError:
                yield b": alive\n\n"
    finally:
        service.streams -= 1
        service.unlisten(name, listener)
