"""The two clients: one for threads, one for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from .._checks import Name, number
from ..errors import DiscreetError
from ._talk import Conversation, Reply, Say, Talk, Wait, of

if TYPE_CHECKING:
    from ..live import Weights

T = TypeVar("T")
LOG = logging.getLogger("discreet.client")


class _Shared:
    """What both clients have."""

    def __init__(
        self, url: str, key: str, experiment: str = "", *, fallback: Name | None = None,
        timeout: float = 5.0, every: float = 1.0,
    ) -> None:  # fmt: skip
        self.experiment, self.fallback = experiment, fallback
        self._every = number("every", every, low=0.0, strict=True)
        self._talk = Talk(timeout)
        self._options: dict[str, Any] = {
            "base_url": url, "headers": {"authorization": f"Bearer {key}"}, "trust_env": False,
        }  # fmt: skip

    def _until_next(self) -> float:
        """Seconds until the next moment at which outcomes are sent. These moments are fixed by the
        clock: when a participant answered is not seen from when a request comes."""
        now = time.time()
        return (now // self._every + 1.0) * self._every - now

    @staticmethod
    def _tell(refused: Sequence[DiscreetError]) -> None:
        for error in refused:
            LOG.error("the service refused what was recorded: %s", error)

    def _change(self, action: str, body: dict[str, Any]) -> Conversation[Any]:
        again = action != "add"  # a second one would be refused
        path = f"{of(self.experiment)}/{action}"
        return self._talk.ask("POST", path, body, again=again)

    def _look(self, what: str = "") -> Conversation[Any]:
        return self._talk.ask("GET", f"{of(self.experiment)}{what}")


def _reply(response: httpx.Response) -> Reply:
    data: Any = None
    with contextlib.suppress(ValueError):
        data = json.loads(response.content)
    seconds = response.headers.get("retry-after", "")
    return Reply(response.status_code, data, float(seconds) if seconds.isdecimal() else 0.0)


def _request(say: Say) -> dict[str, Any]:
    found: dict[str, Any] = {"headers": say.headers, "timeout": say.within}
    if say.body is not None:
        found["json"] = say.body
    return found


def _event(lines: list[str]) -> int | None:
    """The release that an event tells of."""
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return int(json.loads("".join(data))["generation"]) if data else None


class Client(_Shared):
    """An experiment of a service, with the names of `Trial`.

    Args:
        url: Where the service is, "https://trials.example.org".
        key: A key for it.
        experiment: The id of the experiment.
        fallback: The arm to show if the service is away, or takes no more participants. Whoever
            was shown it keeps it as long as this object lives, and their outcomes are not recorded.
        timeout: Seconds for a call, with all its retries.
        every: Seconds between the moments at which outcomes are sent.

    `record` and its like only queue; they are sent at fixed moments, and again until the service
    has them. `flush` and `close` send at once. Whatever is repeated is safe: an assignment is
    sticky, and of two outcomes of a participant the first stands.
    """

    def __init__(
        self, url: str, key: str, experiment: str = "", *, fallback: Name | None = None,
        timeout: float = 5.0, every: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(url, key, experiment, fallback=fallback, timeout=timeout, every=every)
        self._http = httpx.Client(**self._options)
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._sender: threading.Thread | None = None

    def _run(self, talk: Conversation[T]) -> T:
        answer: Reply | None = None
        while True:
            try:
                said = talk.send(answer)
            except StopIteration as end:
                found: T = end.value
                return found
            answer = None
            if isinstance(said, Wait):
                time.sleep(said.seconds)
                continue
            with contextlib.suppress(httpx.TransportError):
                answer = _reply(self._http.request(said.method, said.path, **_request(said)))

    # --- every day --------------------------------------------------------------------------------

    def assign(self, unit: Name, actions: Any = None, stratum: Name | None = None) -> Name:
        """The arm of a participant; asking again gives the same one."""
        talk = self._talk.assign(self.experiment, unit, actions, stratum, self.fallback)
        return self._run(talk)

    def assign_many(self, units: Sequence[Name]) -> list[Name]:
        """The arms of several participants, in their order."""
        return self._run(self._talk.assign_many(self.experiment, units))

    def record(self, unit: Name, outcome: float) -> None:
        """Queue the outcome of a participant."""
        self._note(self.experiment, "outcomes", unit, outcome)

    def record_many(self, outcomes: Sequence[tuple[Name, float]]) -> None:
        """Queue several outcomes."""
        for unit, outcome in outcomes:
            self.record(unit, outcome)

    def withdraw(self, unit: Name) -> None:
        """Queue that the outcome of a participant must not be used."""
        self._note(self.experiment, "withdrawals", unit)

    def correct(self, unit: Name, outcome: float) -> None:
        """Queue another outcome in place of the first."""
        self._note(self.experiment, "corrections", unit, outcome)

    def exposed(self, shown: Sequence[tuple[Name, Name, int]]) -> None:
        """Hand in who was shown which arm by weights of which version: see `Trial.exposed`."""
        self._run(self._change("exposures", _exposures(shown)))

    def _note(self, experiment: str, kind: str, unit: Name, outcome: object = None) -> None:
        if self._talk.note(experiment, kind, unit, outcome) and self._sender is None:
            self._sender = threading.Thread(target=self._send_on_time, daemon=True)
            self._sender.start()

    def _send_on_time(self) -> None:
        while not self._closed.wait(self._until_next()):
            self.flush()

    def flush(self) -> None:
        """Send what is queued now; what the service is away for stays queued."""
        with self._sending:
            self._tell(self._run(self._talk.send()))

    @property
    def waiting(self) -> int:
        """How many entries wait to be sent."""
        return len(self._talk.queue)

    # --- what is shown, and the life of an experiment ---------------------------------------------

    def report(self) -> dict[str, Any]:
        """Releases and public counts."""
        found: dict[str, Any] = self._run(self._look("/report"))
        return found

    def releases(self) -> list[dict[str, Any]]:
        """What was public at every release."""
        found: list[dict[str, Any]] = self._run(self._look("/releases"))["releases"]
        return found

    def weights(self) -> Weights:
        """The shares of the arms until the next release: `weights().pick(visitor)`."""
        from ..live import Weights

        return Weights.from_dict(self._run(self._look("/weights")))

    def shown(self) -> dict[str, Any]:
        """The plan in words, and where the experiment stands."""
        found: dict[str, Any] = self._run(self._look())
        return found

    @property
    def status(self) -> str:
        """As `Trial.status`; "planned" before it was started."""
        return str(self.shown()["status"])

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms."""
        return tuple(self.shown()["arms"])

    def create(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Plan this experiment, as `discreet trial new` takes it."""
        found: dict[str, Any] = self._run(self._talk.create({"id": self.experiment, **plan}))
        return found

    def start(self) -> None:
        """Take participants from now on."""
        self._run(self._change("start", {}))

    def stop(self, by: str = "releases") -> None:
        """Take no more participants, and say why: see `Trial.stop`."""
        self._run(self._change("stop", {"by": by}))

    def finish(self, discard: bool = False) -> None:
        """Take no more participants: see `Trial.finish`."""
        self._run(self._change("finish", {"discard": discard}))

    def drop(self, arm: Name) -> None:
        """Give an arm to nobody else."""
        self._run(self._change("drop", {"arm": arm}))

    def add(self, arm: Name) -> None:
        """A new arm."""
        self._run(self._change("add", {"arm": arm}))

    def events(self, since: int | None = None) -> Generator[int]:
        """The numbers of releases as they come, over restarts of the service."""
        while not self._closed.is_set():
            headers = {} if since is None else {"last-event-id": str(since)}
            path = f"{of(self.experiment)}/events"
            with (
                contextlib.suppress(httpx.TransportError),
                self._http.stream("GET", path, headers=headers, timeout=60.0) as response,
            ):
                if response.status_code in (401, 403, 404):
                    response.read()
                    self._run(self._look())  # which says why
                lines: list[str] = []
                for line in response.iter_lines():
                    lines = [*lines, line] if line else lines
                    found = None if line else _event(lines)
                    if not line:
                        lines = []
                    if found is not None:
                        since = found
                        yield found
            self._closed.wait(0.5)

    def close(self) -> None:
        """Send what is queued, and end the use of this object."""
        self._closed.set()
        try:
            self.flush()
            if self.waiting:
                LOG.error("%d entries were not sent: the service is away", self.waiting)
        finally:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Shared):
    """The same for asyncio; see `Client`. `record` and its like queue, and need no await."""

    def __init__(
        self, url: str, key: str, experiment: str = "", *, fallback: Name | None = None,
        timeout: float = 5.0, every: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(url, key, experiment, fallback=fallback, timeout=timeout, every=every)
        limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
        self._http = httpx.AsyncClient(**self._options, limits=limits)
        self._sending = asyncio.Lock()
        self._closed = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None

    async def _run(self, talk: Conversation[T]) -> T:
        answer: Reply | None = None
        while True:
            try:
                said = talk.send(answer)
            except StopIteration as end:
                found: T = end.value
                return found
            answer = None
            if isinstance(said, Wait):
                await asyncio.sleep(said.seconds)
                continue
            with contextlib.suppress(httpx.TransportError):
                response = await self._http.request(said.method, said.path, **_request(said))
                answer = _reply(response)

    async def assign(self, unit: Name, actions: Any = None, stratum: Name | None = None) -> Name:
        """The arm of a participant; asking again gives the same one."""
        talk = self._talk.assign(self.experiment, unit, actions, stratum, self.fallback)
        return await self._run(talk)

    async def assign_many(self, units: Sequence[Name]) -> list[Name]:
        """The arms of several participants, in their order."""
        return await self._run(self._talk.assign_many(self.experiment, units))

    def record(self, unit: Name, outcome: float) -> None:
        """Queue the outcome of a participant."""
        self._note("outcomes", unit, outcome)

    def record_many(self, outcomes: Sequence[tuple[Name, float]]) -> None:
        """Queue several outcomes."""
        for unit, outcome in outcomes:
            self.record(unit, outcome)

    def withdraw(self, unit: Name) -> None:
        """Queue that the outcome of a participant must not be used."""
        self._note("withdrawals", unit)

    def correct(self, unit: Name, outcome: float) -> None:
        """Queue another outcome in place of the first."""
        self._note("corrections", unit, outcome)

    async def exposed(self, shown: Sequence[tuple[Name, Name, int]]) -> None:
        """Hand in who was shown which arm by weights of which version: see `Trial.exposed`."""
        await self._run(self._change("exposures", _exposures(shown)))

    def _note(self, kind: str, unit: Name, outcome: object = None) -> None:
        if self._talk.note(self.experiment, kind, unit, outcome) and self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_on_time())

    async def _send_on_time(self) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._until_next())
            await self.flush()

    async def flush(self) -> None:
        """Send what is queued now; what the service is away for stays queued."""
        async with self._sending:
            self._tell(await self._run(self._talk.send()))

    @property
    def waiting(self) -> int:
        """How many entries wait to be sent."""
        return len(self._talk.queue)

    async def report(self) -> dict[str, Any]:
        """Releases and public counts."""
        found: dict[str, Any] = await self._run(self._look("/report"))
        return found

    async def releases(self) -> list[dict[str, Any]]:
        """What was public at every release."""
        found: list[dict[str, Any]] = (await self._run(self._look("/releases")))["releases"]
        return found

    async def weights(self) -> Weights:
        """The shares of the arms until the next release: `weights().pick(visitor)`."""
        from ..live import Weights

        return Weights.from_dict(await self._run(self._look("/weights")))

    async def shown(self) -> dict[str, Any]:
        """The plan in words, and where the experiment stands, `status` and `arms` among it."""
        found: dict[str, Any] = await self._run(self._look())
        return found

    async def create(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Plan this experiment, as `discreet trial new` takes it."""
        found: dict[str, Any] = await self._run(self._talk.create({"id": self.experiment, **plan}))
        return found

    async def start(self) -> None:
        """Take participants from now on."""
        await self._run(self._change("start", {}))

    async def stop(self, by: str = "releases") -> None:
        """Take no more participants, and say why: see `Trial.stop`."""
        await self._run(self._change("stop", {"by": by}))

    async def finish(self, discard: bool = False) -> None:
        """Take no more participants: see `Trial.finish`."""
        await self._run(self._change("finish", {"discard": discard}))

    async def drop(self, arm: Name) -> None:
        """Give an arm to nobody else."""
        await self._run(self._change("drop", {"arm": arm}))

    async def add(self, arm: Name) -> None:
        """A new arm."""
        await self._run(self._change("add", {"arm": arm}))

    async def events(self, since: int | None = None) -> AsyncGenerator[int]:
        """The numbers of releases as they come, over restarts of the service."""
        while True:
            headers = {} if since is None else {"last-event-id": str(since)}
            path = f"{of(self.experiment)}/events"
            with contextlib.suppress(httpx.TransportError):
                async with self._http.stream(
                    "GET", path, headers=headers, timeout=60.0
                ) as response:
                    if response.status_code in (401, 403, 404):
                        await response.aread()
                        await self._run(self._look())  # which says why
                    lines: list[str] = []
                    async for line in response.aiter_lines():
                        lines = [*lines, line] if line else lines
                        found = None if line else _event(lines)
                        if not line:
                            lines = []
                        if found is not None:
                            since = found
                            yield found
            await asyncio.sleep(0.5)

    async def close(self) -> None:
        """Send what is queued, and end the use of this object."""
        self._closed.set()
        try:
            if self._sender is not None:
                await self._sender  # which sends what waits; nothing is cut short on its way
            await self.flush()
            if self.waiting:
                LOG.error("%d entries were not sent: the service is away", self.waiting)
        finally:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _exposures(shown: Sequence[tuple[Name, Name, int]]) -> dict[str, Any]:
    """As the service takes them."""
    return {
        "exposures": [
            {"unit": unit, "arm": arm, "version": version} for unit, arm, version in shown
        ]
    }
