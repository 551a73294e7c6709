"""Private experiments over HTTP: `discreet serve`, an extra (`pip install "discreet[serve]"`).

    discreet serve

`create_app` is the same service as an ASGI application, for servers of your own; `running` is a
service in a process of its own, for tests and notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._extras import require as _require
from .._lazy import lazily

_require("serve", "starlette", "uvicorn", "msgspec", "prometheus_client")

if TYPE_CHECKING:
    from ._app import create_app
    from ._play import running
    from ._service import Settings

__all__ = ["Settings", "create_app", "running"]
__getattr__, __dir__ = lazily(
    __name__, {"_app": ("create_app",), "_play": ("running",), "_service": ("Settings",)}, *__all__
)
