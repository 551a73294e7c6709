"""A client of `discreet serve`, with the names of `Trial` (`pip install "discreet[client]"`).

with Client("http://127.0.0.1:8000", KEY, "checkout", fallback="A") as trial:
    arm = trial.assign("visitor-1")
    trial.record("visitor-1", 1.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._extras import require as _require
from .._lazy import lazily

_require("client", "httpx")

if TYPE_CHECKING:
    from ._client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
__getattr__, __dir__ = lazily(__name__, {"_client": ("AsyncClient", "Client")})
