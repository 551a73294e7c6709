"""A service over real HTTP, in a thread of the test's process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from discreet.serve import Settings, _events, create_app
from discreet.serve._run import listening
from discreet.serve._service import DEFAULT, Service

_events.ALIVE = 0.3  # so that a test of a stream notices soon that nothing comes
PLAN: dict[str, Any] = {
    "id": "exp", "policy": "dp-imed", "epsilon": 1.0, "ratio": 1.5, "arms": ["A", "B"],
    "deadline": "1 s", "missing": 0.0,
}  # fmt: skip
E = "/v1/experiments/exp"


class Served:
    """A running service, and a client for it."""

    def __init__(self, service: Service, url: str) -> None:
        self.service, self.url = service, url
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=30.0)
        self.admin = self.key("admin")
        self.site = self.key("site")

    def key(self, role: str, tenant: str = DEFAULT, **options: Any) -> str:
        """A key of a role."""
        self.service.register.add_tenant(tenant)
        return self.service.make_key(tenant, role, "test", **options).key

    def call(
        self, method: str, path: str, key: str | None = "", json: Any = None, **options: Any
    ) -> httpx.Response:
        """A request; by the administrator, unless a key is given."""
        headers = dict(options.pop("headers", {}))
        if key is not None:
            headers["authorization"] = f"Bearer {key or self.admin}"
        more = {} if json is None else {"json": json}
        return self.http.request(method, path, headers=headers, **more, **options)

    def post(self, path: str, json: Any, key: str = "") -> Any:
        """A request that is answered well."""
        found = self.call("POST", path, key, json)
        assert found.status_code < 300, found.text
        return found.json()

    def get(self, path: str, key: str = "") -> Any:
        """Likewise."""
        found = self.call("GET", path, key)
        assert found.status_code == 200, found.text
        return found.json()

    def plan(self, **changes: Any) -> str:
        """An experiment that takes participants; its path."""
        made = self.post("/v1/experiments", {**PLAN, **changes})
        path = f"/v1/experiments/{made['id']}"
        self.post(f"{path}/start", {})
        return path

    def assign(self, unit: str | int, path: str = E, **more: Any) -> Any:
        """The arm of a participant."""
        return self.post(f"{path}/assign", {"unit": unit, **more}, self.site)["arm"]

    def crowd(self, size: int, path: str = E) -> list[Any]:
        """The arms of p0, p1, ... in one request."""
        units = [{"unit": f"p{i}"} for i in range(size)]
        found = self.post(f"{path}/assign/batch", {"units": units}, self.site)
        return [one["arm"] for one in found["assigned"]]

    def answered(self, name: str = "exp") -> int:
        """How many outcomes wait in an experiment: what nobody may see."""
        trial: Any = self.service.engine._open["default", name]
        return sum(len(block.outcomes) for block in trial._store.blocks.values())

    def until(self, holds: Callable[[], bool], seconds: float = 300.0) -> None:
        """Wait for something that must come; so long that only a test which fails ends by it."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it did not come"
            time.sleep(0.02)


@contextmanager
def serving(folder: Path, port: int = 0, **options: Any) -> Iterator[Served]:
    """A service on a folder."""
    demo = options.pop("demo", False)
    app = create_app(Settings(folder, **{"beat": 0.005, **options}), demo=demo)
    there = listening("127.0.0.1", port)
    config = uvicorn.Config(
        app, access_log=False, log_config=None, server_header=False, lifespan="on",
        log_level="error", timeout_graceful_shutdown=3,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [there]})
    thread.start()
    served = Served(app.state.service, f"http://127.0.0.1:{there.getsockname()[1]}")
    try:
        served.until(lambda: server.started)
        yield served
    finally:
        served.http.close()
        app.state.service.draining = True
        server.should_exit = True
        thread.join(20.0)
        there.close()
        assert not thread.is_alive()
