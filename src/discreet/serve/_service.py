"""The service: data folder, register, engine and writer, and the words that the API uses for them.

Handlers ask for things by the id of an experiment; here it is decided which trial that is, under
which pseudonym a participant is stored, and what is noted in the audit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from .._plans import Planned, planned
from ..errors import AlreadyOpen, DiscreetError, InvalidArgument
from ._beat import Ask, Assign, Lookup, NotStored, Outcome, Quiet
from ._engine import MOST_CONNECTED, Engine, Files, Id, Rows, Standing
from ._keys import NAME, Buckets, Rate, holder, new_key, successor
from ._messages import Experiment, MadeKey
from ._problems import Refused, refusal
from ._register import ExperimentRow, KeyRow, Register
from ._secrets import OWNER_ONLY, Secrets
from ._writer import BEAT, Writer

if TYPE_CHECKING:
    from ..live import Strata, Trial

DEFAULT = "default"
"""The tenant of a service that serves only one."""
BLIND_BY_KITS = ("site", "nurse", "device")
"""Roles that meet participants."""
FOLLOW = 0.5
"""Seconds between two looks at what other processes have changed in the register."""
BY_HOSTS = 'deadline must be given: where several processes share the work, "answers" are private'
MOST_PARTICIPANTS = 10_000_000
"""Of a design: its boundaries take time that grows with it."""


Part = Literal["all", "web", "curator"]
"""Everything; or: assign and record, and read no outcome; or release, and decide."""
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Settings:
    """How a service runs."""

    data: Path
    database: str = ""
    """a PostgreSQL database, with what is else in files of the folder"""
    role: Part = "all"
    """what this process does of it"""
    witness: str = ""
    """another PostgreSQL database, where releases are noted first"""
    beat: float = BEAT
    body: int = 1 << 20
    """bytes of the largest body"""
    key_rate: Rate = field(default_factory=lambda: Rate(5_000.0, 10_000.0))
    """requests of one key"""
    address_rate: Rate = field(default_factory=lambda: Rate(5_000.0, 10_000.0))
    """requests of one address"""
    wrong_rate: Rate = field(default_factory=lambda: Rate(5.0, 50.0))
    """requests of one address with a wrong key"""
    streams: int = 256
    """open streams of events"""


class Service:
    """All that one process serves."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix" and settings.data.stat().st_mode & 0o077:
            settings.data.chmod(0o700)
        self._held = -1 if settings.database else held(settings.data)
        self.secrets = Secrets(settings.data)
        self.register = Register(settings.data, self.secrets, settings.database)
        self.register.add_tenant(DEFAULT)
        self.engine = _engine(settings)
        self.writer: Writer | None = None
        self.draining = False
        self.streams = 0
        self._loaded = False
        self._others: asyncio.Task[None] | None = None
        self._planning = asyncio.Lock()
        self._listeners: dict[Id, set[asyncio.Event]] = defaultdict(set)
        self.by_key, self.by_address, self.wrong = (
            Buckets(rate) for rate in (
                settings.key_rate, settings.address_rate, settings.wrong_rate,
            )
        )  # fmt: skip
        self._generations: dict[Id, int] = {}
        self._refreshed = 0.0

    # --- its life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open every experiment that was started, and release what is due."""
        self.writer = Writer(self.engine, self.settings.beat, self._released)
        self.writer.start()
        for row in self.register.experiments():
            await self.writer.call(partial(self.engine.settle, (row.tenant, row.id)))
        self._loaded = True
        if self.settings.database:
            self._others = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Hear of experiments and keys that other processes have made."""
        while True:
            await asyncio.sleep(FOLLOW)
            with contextlib.suppress(NotStored):  # until the server is back
                await asyncio.to_thread(self.register.refresh)
            for row in self.register.experiments():
                self.engine.standings.setdefault((row.tenant, row.id), Standing())

    async def stop(self) -> None:
        """Answer what waits, and close everything."""
        self.drain()
        if self._others is not None:
            self._others.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._others
        if self.writer is not None:
            await self.writer.stop()
        self.register.close()
        if self._held >= 0:
            os.close(self._held)

    def drain(self) -> None:
        """Take no new streams, end the open ones, and say that the service is not ready."""
        self.draining = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.set()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken, and the register is where it was."""
        if self.draining or not self._loaded:
            return False
        try:
            self.register.check()
        except NotStored:
            return False
        return True

    def _released(self, name: Id, standing: Standing) -> None:
        """A trial has released: the audit notes it, and those who listen hear of it."""
        if self.settings.role != "web" and standing.generation > self._generations.get(name, 0):
            self.register.note_release(*name, standing.generation)
            self._generations[name] = standing.generation
        for listener in self._listeners[name]:
            listener.set()

    def listen(self, name: Id) -> asyncio.Event:
        """An event that is set at every release."""
        event = asyncio.Event()
        self._listeners[name].add(event)
        return event

    def unlisten(self, name: Id, event: asyncio.Event) -> None:
        """Nobody waits for it any more."""
        self._listeners[name].discard(event)

    def generation(self, name: Id) -> int:
        """Releases of an experiment so far."""
        return self.engine.standings.get(name, Standing()).generation

    # --- who asks ---------------------------------------------------------------------------------

    def holder(self, header: str) -> KeyRow | None:
        """Whose key it is. A key that another process made is known at once, and one that it
        revoked opens nothing after a second."""
        now = time.monotonic()
        if now - self._refreshed > 1.0:
            self._refreshed = now
            if not self.settings.database:  # else `_follow` does
                self.register.refresh()
        found = holder(self.register, self.secrets, header)
        if found is None and self.register.refresh():
            found = holder(self.register, self.secrets, header)
        return found

    def first_key(self) -> str | None:
        """A key for the first administrator, if there is none yet."""
        if any(row.role == "admin" for row in self.register.keys(DEFAULT)):
            return None
        token, row = new_key(self.secrets, DEFAULT, "admin", label="first")
        self.register.add_key(row, "service")
        return token

    def make_key(
        self, tenant: str, role: str, actor: str, *, experiment: str | None = None,
        site: str | None = None, label: str = "", days: float | None = None,
    ) -> MadeKey:  # fmt: skip
        """A key, with its secret."""
        expires = None if days is None else time.time() + days * 86_400.0
        token, row = new_key(
            self.secrets, tenant, role, experiment=experiment, site=site, label=label,
            expires=expires,
        )  # fmt: skip
        self.register.add_key(row, actor)
        return MadeKey(**shown_key(row), key=token)

    def rotate_key(self, row: KeyRow, actor: str, hours: float) -> MadeKey:
        """Another key in place of one, which still opens everything for some hours."""
        token, new = successor(self.register, self.secrets, row, 3600.0 * hours, actor)
        return MadeKey(**shown_key(new), key=token)

    # --- experiments ------------------------------------------------------------------------------

    def row(self, tenant: str, name: str) -> ExperimentRow:
        """An experiment that there is."""
        known = partial(self.register.experiment, tenant, name)
        found = known() if NAME.fullmatch(name) else None
        waits = found is None or found.state == "planned"
        if self.settings.database and waits and self.register.refresh():
            found = known() if NAME.fullmatch(name) else None  # made or started by another process
        if found is None:
            raise Refused("not-found")
        return found

    async def plan(
        self, tenant: str, document: Mapping[str, Any], actor: str, *, simulated: bool = False,
        repeated: tuple[str, str] | None = None,
        answer: Callable[[Experiment], bytes] = lambda made: b"",
    ) -> bytes:  # fmt: skip
        """A new experiment, and the answer to whoever asked for it; the same one to a request that
        is repeated under its Idempotency-Key."""
        async with self._planning:
            if repeated is not None:
                known = self.register.repeated(tenant, repeated[0])
                if known is not None and known[0] != repeated[1]:
                    raise Refused("repeated")
                if known is not None:
                    return known[1]
            settings = dict(document)
            name, title = str(settings.pop("id")), str(settings.pop("title", ""))
            public = settings.pop("answers", "private") == "public"
            if not NAME.fullmatch(name):
                raise Refused("invalid", "id must be 1 to 64 of a-z, 0-9 and -", "id")
            if self.register.experiment(tenant, name) is not None:
                raise Refused("exists")
            if public and self.settings.role != "all":
                raise Refused("invalid", BY_HOSTS, "deadline")
            plan = await asyncio.to_thread(_planned, settings, public)
            await self._made((tenant, name), plan, document)
            kept = json.dumps(settings, sort_keys=True)
            newest = self.secrets.numbers(tenant)[-1]
            row = ExperimentRow(
                tenant, name, title, kept, "planned", simulated, time.time(), newest
            )
            body = answer(await self.shown(row))
            self.register.add_experiment(row, actor, repeated and (*repeated, body))
            return body

    async def _made(self, name: Id, plan: Planned, document: Mapping[str, Any]) -> None:
        if self.engine.has(name):
            raise Refused("exists", "A file of that name lies in the data folder.")
        found: object = await self._call(lambda: self.engine.make(name, plan))
        if isinstance(found, DiscreetError):
            raise refusal(found, document, "invalid")
        if isinstance(found, OSError):
            raise Refused("storage")
        if isinstance(found, Exception):
            raise Refused("invalid", "The settings do not make a trial.")

    async def shown(self, row: ExperimentRow) -> Experiment:
        """An experiment in the list."""

        def do(trial: Trial | Strata) -> Experiment:
            report = trial.report()
            one = report.get("strata", [report])[0]
            settings: dict[str, Any] = dict(one["settings"])
            state = "planned" if row.state == "planned" else report["status"]
            return Experiment(
                row.id, row.title, state, row.simulated, row.created,
                list(settings["arms"]),  # coded, where arms are hidden
                list(getattr(trial, "strata", ())), report["assigned"], report["releases"],
                report["next_release"], report["guarantee"], report["policy"],
                settings,
            )  # fmt: skip

        return await self.ask(row, do)  # type: ignore[no-any-return]

    async def shown_to(self, row: ExperimentRow, role: str) -> Experiment:
        """The same for one role: nurses are blind; where kits hide the arms, so are all roles that
        meet participants."""
        found = await self.shown(row)
        if role == "nurse" or (role in BLIND_BY_KITS and "kits" in json.loads(row.settings)):
            return msgspec.structs.replace(found, arms=[], settings={})
        return found

    async def ask(
        self, row: ExperimentRow, do: Callable[[Trial | Strata], object], given: Any = None
    ) -> Any:
        """Something about a trial, or a public decision."""
        found = await self._step((row.tenant, row.id), Ask(do))
        return _value(found, given)

    async def assign(
        self, row: ExperimentRow, key: KeyRow, unit: str | int, actions: Any, stratum: Any
    ) -> Any:
        """The arm of a participant, or the error that says why there is none."""
        unit_ = self.pseudonym(row, key, unit)
        if row.state == "planned":
            return Refused("not-started")
        return await self._step((row.tenant, row.id), Assign(unit_, actions, stratum))

    async def lookup(self, row: ExperimentRow, key: KeyRow, unit: str | int) -> Any:
        """The arm that a participant has already."""
        step = Lookup(self.pseudonym(row, key, unit))
        return _value(await self._step((row.tenant, row.id), step))

    async def record(
        self, row: ExperimentRow, key: KeyRow, outcomes: Sequence[tuple[str | int, float]]
    ) -> None:
        """Outcomes. The same comes back whatever becomes of them."""
        name = row.tenant, row.id
        steps = [self._step(name, Outcome(self.pseudonym(row, key, u), y)) for u, y in outcomes]
        for found in await asyncio.gather(*steps):
            _value(found)

    async def quietly(
        self,
        row: ExperimentRow,
        key: KeyRow,
        method: Literal["withdraw", "correct"],
        unit: str | int,
        *more: Any,
    ) -> None:
        """Another call about a participant, likewise."""
        step = Quiet(method, (self.pseudonym(row, key, unit), *more))
        _value(await self._step((row.tenant, row.id), step))

    def pseudonym(self, row: ExperimentRow, key: KeyRow, unit: str | int) -> str:
        """What a participant is stored by. A key of a site has names of its own."""
        parts = (unit,) if key.site is None else (unit, key.site)
        return self.secrets.pseudonym(row.tenant, *parts, number=row.secret)

    def decision(self, row: ExperimentRow, key: KeyRow, unit: str | int) -> str:
        """A receipt for a place, which tells nothing of who has it."""
        place = "decision", row.id, self.pseudonym(row, key, unit)
        return self.secrets.pseudonym(row.tenant, *place, number=row.secret)[:32]

    def _step(self, name: Id, step: Any) -> asyncio.Future[Any]:
        return self._working().step(name, step)

    def _call(self, do: Callable[[], Any]) -> asyncio.Future[Any]:
        return self._working().call(do)

    def _working(self) -> Writer:
        if self.writer is None or self.writer._stopping:
            raise Refused("not-ready")
        return self.writer


def _engine(settings: Settings) -> Engine:
    """Over files of the data folder, or over a database."""
    if not settings.database:
        return Engine(Files(settings.data))
    releases = settings.role != "web"
    return Engine(Rows(settings.database, settings.witness or None, releases), MOST_CONNECTED)


def held(folder: Path) -> int:
    """Hold a data folder: of two services on one, each would have its own idea of what is open."""
    descriptor = os.open(folder / "service.lock", os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    if os.name == "posix":
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
        raise AlreadyOpen(
            f"another service runs on {folder}; stop it first, or use another folder: --data DIR"
        )
    return descriptor


def _value(found: Any, given: Any = None) -> Any:
    """An answer, or the problem that it is."""
    if isinstance(found, Refused):
        raise found
    if isinstance(found, DiscreetError):
        raise refusal(found, given)
    if isinstance(found, Exception):
        raise Refused("internal")
    return found


def _planned(settings: dict[str, Any], public: bool) -> Planned:
    """What the settings ask for. Who may record must not find out by trying what was recorded, so
    conflicts are ignored, whatever they say."""
    settings = {**settings, "conflicts": "ignore"}
    if settings.get("deadline") is None and not public:
        raise Refused(
            "invalid",
            'deadline must be given, for example "28 days": without it everybody sees who has '
            'answered; or say "answers": "public"', "deadline",
        )  # fmt: skip
    design = settings.get("design")
    if isinstance(design, dict):
        asked = design.get("participants")
        if not isinstance(asked, int) or not 0 < asked <= MOST_PARTICIPANTS:
            raise Refused("invalid", "design.participants must be a whole number", "design")
    try:
        return planned(settings)
    except InvalidArgument as error:
        raise refusal(error, settings) from None
    except DiscreetError as error:
        raise refusal(error, settings, "invalid") from None
    except (TypeError, ValueError, ArithmeticError, KeyError, IndexError, AttributeError):
        raise Refused("invalid", "The settings do not make a trial.") from None


def shown_key(row: KeyRow) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "id": row.id, "role": row.role, "experiment": row.experiment, "site": row.site,
        "label": row.label, "created": row.created, "expires": row.expires,
        "revoked": row.revoked,
    }  # fmt: skip
