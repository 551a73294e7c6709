"""A trial in a database, SQLite or PostgreSQL, which several processes may use at once.

Every call of a trial is one transaction, or a few one after the other: anyone who has the home
reads where the trial stands, decides, and writes. A version counts the public steps. If it is not
the one that this object knows, someone else continued, or a write of this object was interrupted;
then what is stored is read again. So whatever happens, object and database agree before anything
is decided.

Nothing is read that is not needed: a trial is opened by its settings, its run and its open blocks.

Whatever is private (outcomes, private features, exact sums) is sealed under a key, and the key is
overwritten at the release (`seal`). Every place has its row of `pending` from the beginning, so
that neither rows nor their lengths tell who has answered. The foreign key erases all that is
pending in a block with it, and refuses what comes later; no block is in `releases` twice.

A release is in the `witness` before it is stored. Whenever database and witness may have moved
apart they are compared, before anything else: a release whose commit was lost is adopted, and an
old copy is fenced.

A worker that does not release (`releases_here=False`) reads neither outcomes nor the ledger, and
writes no state: it seats newcomers, and hands outcomes in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar, overload

from ..._checks import Name
from ...errors import DamagedFile, InvalidArgument, TrialError
from .._rules import VOID, Action, Member, Place, is_void
from . import _seal as seal
from ._base import Json, Moved, name_text, unheld
from ._copies import write_backup
from ._memory import HeldBlock, MemoryStore
from ._people import HeldPeople, SqlPeople
from ._transactions import ROOM_FOR_TRIALS, Transactions
from ._witness import Line, changed, changes

T = TypeVar("T")
NOT_HERE = (
    "this worker does not release (releases_here=False): it assigns and records; releases, and "
    "changes of the trial, are made by a process that does, for example one that runs "
    "discreet.live.curate"
)
TRIES = 100
"""How often an outcome is sealed under the key of its block, while others change that."""
UNKNOWN = -1
"""The version of what is not known to agree with the file."""
SEAT = """
SELECT unit, arm, due, NULL, 0, at, number, slot FROM places WHERE trial = ? AND block = ?"""
"""A place, for those who do not release: without features."""
PLACE = """
SELECT p.unit, p.arm, p.due, q.action, q.private, p.at, p.number, p.slot, q.outcome
FROM places p JOIN pending q USING (trial, block, slot) WHERE p.trial = ? AND p.block = ?"""


class Batch:
    """Of writes that are stored together: what waits to be written, and what was read for all of
    them at once."""

    __slots__ = (
        "answered", "by_seat", "members", "outcomes", "places", "rows", "seats", "values",
    )  # fmt: skip

    def __init__(self) -> None:
        self.places: list[tuple[object, ...]] = []
        self.seats: list[tuple[int, str, int, bytes | None, int]] = []
        """what waits for `places`, and for `pending`, whose outcomes are silent"""
        self.rows: set[str] = set()
        """blocks whose rows have changed"""
        self.values: dict[tuple[str, int], int] = {}
        """outcomes that wait"""
        self.answered: dict[str, int] = {}
        """how many have come, of blocks where that has changed"""
        self.members: dict[Name, Member | None] = {}
        self.by_seat: dict[tuple[str, int], Place] = {}
        self.outcomes: dict[tuple[str, int], int | None] = {}


class Row(NamedTuple):
    """What is known of an open block without looking into it."""

    key: bytes
    filled: int
    at: float | None
    """when its last place was taken"""
    due: float | None


class Places(Sequence[Place]):
    """The places of a block, read when they are asked for."""

    def __init__(self, store: SqlStore, block: str) -> None:
        self._store, self._block = store, block

    def __len__(self) -> int:
        return self._store.row(self._block).filled

    @overload
    def __getitem__(self, slot: int) -> Place: ...
    @overload
    def __getitem__(self, slot: slice) -> list[Place]: ...
    def __getitem__(self, slot: int | slice) -> Place | list[Place]:
        if isinstance(slot, slice):
            return list(self)[slot]
        filled = len(self)
        number = slot + filled if slot < 0 else slot
        if not 0 <= number < filled:
            raise IndexError("no such place")
        return self._store.place_at(self._block, number)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._store.whole(self._block).places)

    def __eq__(self, other: object) -> bool:
        return list(self) == other

    __hash__ = None  # type: ignore[assignment]


class Outcomes(Mapping[int, int]):
    """The outcomes of a block, likewise."""

    def __init__(self, store: SqlStore, block: str) -> None:
        self._store, self._block = store, block

    def __getitem__(self, slot: int) -> int:
        value = self._store.outcome_at(self._block, slot)
        if value is None:
            raise KeyError("no outcome yet")
        return value

    def get(self, slot: int, default: Any = None) -> Any:
        """The same, without an error on the way: asked of every outcome that comes."""
        value = self._store.outcome_at(self._block, slot)
        return default if value is None else value

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.whole(self._block).outcomes)

    def __len__(self) -> int:
        return self._store.answered(self._block)

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    __hash__ = None  # type: ignore[assignment]


class StoredBlock(NamedTuple):
    """A block of the file."""

    places: Places
    outcomes: Outcomes
    due: float | None
    latest: float | None


class Blocks(Mapping[str, StoredBlock]):
    """The open blocks of a trial."""

    def __init__(self, store: SqlStore, rows: Mapping[str, Row]) -> None:
        self._store, self._rows = store, rows

    def __getitem__(self, key: str) -> StoredBlock:
        row = self._rows[key]
        return StoredBlock(Places(self._store, key), Outcomes(self._store, key), row.due, row.at)

    def get(self, key: str, default: Any = None) -> Any:
        """The same, without an error on the way."""
        return self[key] if key in self._rows else default

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class SqlStore:
    """A trial in its own home; in that of a trial by stratum, one of several."""

    def __init__(self, base: Transactions, trial: int = 1, releases_here: bool = True) -> None:
        self._base = base
        self._base.users += 1
        self._number, self._closed = trial, False
        self.releases_here = releases_here
        self._base.releases_here = releases_here
        self._version, self._next, self._generation = UNKNOWN, 0, UNKNOWN
        self._settings: Json = {}
        self._public: Json = {}
        self._secret: Json = {}
        self._key = 0
        """of the ledger"""
        self._moved: Json = {}
        self._asked: Moved | None = None
        """what has moved, if it was not asked for yet"""
        self._assigned: list[int] = []
        self._taken = 0
        """places that were taken"""
        self._rows: dict[str, Row] = {}
        self._last: dict[str, Place] = {}
        """the last places of blocks, as far as they are known"""
        self._batch = Batch()
        self.people = SqlPeople(self)
        self._void: dict[str, list[Name]] = {}
        """who has withdrawn, of a block that was read to be released"""

    def beside(self, trial: int) -> SqlStore:
        """The trial of another stratum, in the same home."""
        return SqlStore(self._base, trial, self.releases_here)

    def again(self) -> SqlStore:
        """Another user of the same trial, with its own connection."""
        raise NotImplementedError

    @property
    def _trial(self) -> int:
        return self._base.home * ROOM_FOR_TRIALS + self._number

    @property
    def trial(self) -> int:
        """The number that its rows have."""
        return self._trial

    @property
    def base(self) -> Transactions:
        """Where they are."""
        return self._base

    @property
    def lock(self) -> Any:
        return self._base.lock

    @property
    def place(self) -> str:
        return self._base.name

    def moment(self) -> float:
        """The time, by the clock of the database; while it is held, of two users the one that comes
        later reads a later time."""
        return self._base.moment()

    # --- a call of the trial ----------------------------------------------------------------------

    def ready(self, alone: bool = True) -> bool:
        self._check_open()
        self._base.begin(alone)
        self.people.waiting, self._void = [], {}
        found = self._base.one(
            "SELECT h.version, w.fence FROM heads h JOIN witness w ON w.home = ? WHERE h.trial = ?",
            (self._base.home, self._trial),
        )
        if found is None:
            raise DamagedFile(f"{self.place} holds no trial")
        self._base.hear(found[1])
        watched = self._base.is_watched
        if found[0] == self._version and watched:
            return False
        known = (self._version, self._generation)
        self._read()
        while not self._base.is_alone and not self._is_current():
            self._read()  # others continued in between
        if not watched or known[0] == UNKNOWN or known[1] != self._generation:
            line = self._base.look()
            if line is not None and self.releases_here:
                self._adopt(line)
            elif line is not None and not self._fits(json.loads(line.text)):
                self._base.fence_off(1)  # else it waits for someone who releases
            if self._base.tell():
                self._base.begin()
                self._read()
        return known[0] != self._version

    def _is_current(self) -> bool:
        head = self._base.one("SELECT version FROM heads WHERE trial = ?", (self._trial,))
        return head == (self._version,)

    @property
    def fenced(self) -> str:
        """Why nothing must be released, if so."""
        return self._base.fence

    def _adopt(self, line: Line) -> None:
        """A release was drawn, and its commit was lost: store it now, as it was drawn."""
        found = json.loads(line.text)
        number = found.get("number")
        if number != self._number and self._base.one(
            "SELECT 1 FROM heads WHERE trial = ?", (self._base.first + number,)
        ):
            other = self.beside(number)
            try:
                other._read()
                other._adopt(line)
            finally:
                other._closed = True
                self._base.users -= 1
        elif not self._fits(found):
            self._base.fence_off(1)
            return
        else:
            self._take(found, line)
        self._base.begin()
        self._read()

    def _fits(self, found: Json) -> bool:
        """Whether a release was drawn from just what is stored here."""
        block = found.get("block")
        if found.get("number") != self._number or block not in self._rows:
            return False
        return hmac.compare_digest(str(found.get("before")), self._standing(block))

    @unheld
    def _take(self, found: Json, line: Line) -> None:
        block, key = found["block"], self._rows[found["block"]].key
        secret = self._parsed(seal.opened(key, bytes.fromhex(found["ledger"])), dict)
        settings, public = changed([self._settings, self._public], found["change"])
        with self._step():
            self._replace(block, {**settings, "protocol": {**public, "ledger": secret}},
                          found["opens"])  # fmt: skip
            self.people.waiting = list(found["noted"])
            self._base.note(line)
        self._base.soiled = True
        self._base.clean()

    def _standing(self, block: str) -> str:
        """All that a release goes by but for outcomes, in a hash under the key of its block: two
        files that have it in common are one and the same up to here."""
        head = self._base.one(
            "SELECT version, generation, moved, assigned FROM heads WHERE trial = ?",
            (self._trial,),
        )
        places = self._base.run(
            "SELECT unit, slot, at FROM places WHERE trial = ? AND block = ? ORDER BY slot",
            (self._trial, block),
        ).fetchall()
        text = json.dumps([self._number, block, head, places], default=list).encode()
        return hmac.new(self._rows[block].key, text, hashlib.sha256).hexdigest()

    def held(self) -> AbstractContextManager[object]:
        return _Held(self._base)

    @contextmanager
    def together(self) -> Iterator[None]:
        before = self._version
        try:
            with self._base.gathered():
                yield
                self._flush()
                if self._version == UNKNOWN and before != UNKNOWN:
                    self._write_head()
        except BaseException:
            self._version, self._batch = UNKNOWN, Batch()
            self._base.let_go()
            raise
        if self._version == UNKNOWN and before != UNKNOWN:
            self._version = self._next

    def _read(self) -> None:
        """All that is known here, from the file."""
        base, trial = self._base, (self._trial,)
        head = base.one(
            "SELECT version, generation, moved, assigned, taken FROM heads WHERE trial = ?", trial
        )
        assert head is not None
        version, generation, moved, assigned, self._taken = head
        self._moved, self._assigned = self._parsed(moved, dict), self._parsed(assigned, list)
        if generation != self._generation or self._version == UNKNOWN:
            self._read_document()  # a write that was cut short may have left half of another here
        self._asked, self._last, self.people.known = None, {}, None
        self._rows = {
            block: Row(key, *row)
            for block, key, *row in base.run(
                "SELECT block, key, filled, at, due FROM block_keys WHERE trial = ?", trial
            )
        }  # fmt: skip
        if self._generation not in (UNKNOWN, generation):
            base.soiled = True  # someone has released, and may have died of it
        self._generation, self._next, self._version = generation, version, version

    def _parsed(self, text: str | bytes, kind: type[T]) -> T:
        """A stored document; an error of the parser would hold the whole text."""
        found: object = None
        with suppress(ValueError, TypeError):
            found = json.loads(text)
        if not isinstance(found, kind):
            raise DamagedFile(f"{self.place}: the settings or the state of the run are damaged")
        return found

    @unheld
    def _read_document(self) -> None:
        if not self.releases_here:
            self._read_public()
            return
        found = self._base.one(
            "SELECT t.settings, t.public, t.secret, t.key, k.key FROM trials t "
            "JOIN keys k ON k.id = t.key WHERE t.trial = ?",
            (self._trial,),
        )
        if found is None:
            raise DamagedFile(f"{self.place} holds no trial")
        settings, public, secret, self._key, key = found
        self._settings, self._public = self._parsed(settings, dict), self._parsed(public, dict)
        self._secret = self._parsed(seal.opened(key, secret), dict)

    def _read_public(self) -> None:
        """All but the ledger."""
        found = self._base.one(
            "SELECT settings, public FROM trials WHERE trial = ?", (self._trial,)
        )
        if found is None:
            raise DamagedFile(f"{self.place} holds no trial")
        self._settings, self._public = (self._parsed(text, dict) for text in found)

    # --- what is stored ---------------------------------------------------------------------------

    @property
    def state(self) -> Json:
        if not self._settings:
            return {}
        moved = self._moved if self._asked is None else self._asked()
        ledger = {"ledger": self._secret} if self.releases_here else {}
        return {**self._settings, "protocol": {**self._public, **moved, **ledger}}

    @property
    def assigned(self) -> list[int]:
        return self._assigned

    @property
    def taken_in_all(self) -> int:
        """Places that were taken, in all strata."""
        found = self._base.one(
            "SELECT COALESCE(SUM(taken), 0) FROM heads WHERE trial <> ? AND trial BETWEEN ? AND ?",
            (self._trial, *self._base.trials),
        )
        return self._taken + int(found[0] if found else 0)

    @property
    def blocks(self) -> Blocks:
        return Blocks(self, self._rows)

    def row(self, block: str) -> Row:
        """What is known of an open block."""
        return self._rows[block]

    def expect(self, units: Sequence[Name]) -> None:
        """Read at once what is known of units that a batch is about."""
        if not self._base.is_gathering:
            return
        self._flush()
        batch, rows = self._batch, dict[Name, Any]()
        texts = {name_text(unit): unit for unit in units}
        for text, *row in self._base.run(
            "SELECT unit, arm, turn, block, slot, due, at, number, share FROM places "
            f"WHERE trial = ? AND unit {self._base.AMONG} ORDER BY turn",
            (self._trial, self._base.several(list(texts))),
        ).fetchall():
            rows[texts[text]] = row
        for unit in units:
            batch.members[unit] = None
        seats: list[tuple[str, int]] = []
        for unit, (arm, turn, block, slot, due, at, number, share) in rows.items():
            chosen = int.from_bytes(arm, "big")
            if block is None:
                batch.members[unit] = Member(chosen, turn)
                continue
            batch.members[unit] = Member(chosen, turn, block, slot, share)
            if block in self._rows:
                batch.by_seat[block, slot] = Place(unit, chosen, due, None, False, at, number)
                seats.append((block, slot))
        if self.releases_here and seats:
            self._expect_outcomes(seats)

    @unheld
    def _expect_outcomes(self, seats: Sequence[tuple[str, int]]) -> None:
        batch, found = self._batch, dict[str, list[tuple[int, bytes]]]()
        for block, slot, sealed in self._base.run(
            f"SELECT block, slot, outcome FROM pending WHERE trial = ? AND block "
            f"{self._base.AMONG} AND slot {self._base.AMONG_NUMBERS}{self._base.AND_HOLD}",
            (
                self._trial,
                self._base.several(list(dict.fromkeys(block for block, _ in seats))),
                self._base.several([slot for _, slot in seats]),
            ),
        ).fetchall():
            found.setdefault(block, []).append((slot, sealed))
        for block, own in found.items():
            texts = seal.opened_many(self._rows[block].key, [sealed for _, sealed in own])
            for (slot, _), text in zip(own, texts, strict=True):
                batch.outcomes[block, slot] = seal.outcome_in(text)

    def flush_if_any(self) -> None:
        """Before something is read that was not expected, what waits is written."""
        batch = self._batch
        if batch.places or batch.values or batch.rows:
            self._flush()

    @unheld
    def _flush(self) -> None:
        """Write what waits."""
        batch, self._batch = self._batch, Batch()
        base, trial = self._base, self._trial
        if batch.places:
            base.run_many("INSERT INTO places VALUES", batch.places)
        if batch.seats:
            base.run_many("INSERT INTO pending VALUES", self._silent(batch.seats))
        for block in batch.rows:
            row = self._rows[block]
            base.run(
                "UPDATE open_blocks SET filled = ?, at = ?, due = ? WHERE trial = ? AND block = ?",
                (row.filled, row.at, row.due, trial, block),
            )
        if batch.values:
            values = self._sealed(batch.values)
            if base.set_outcomes(values) != len(values):
                raise DamagedFile(f"{self.place}: an outcome has no place")
        for block, count in batch.answered.items():
            base.run(
                "UPDATE open_blocks SET answered = ? WHERE trial = ? AND block = ?",
                (seal.sealed(self._rows[block].key, seal.count_text(count)), trial, block),
            )

    def _silent(
        self, seats: Sequence[tuple[int, str, int, bytes | None, int]]
    ) -> list[tuple[object, ...]]:
        """New places of `pending`."""
        rows: list[tuple[object, ...]] = []
        for block in dict.fromkeys(seat[1] for seat in seats):
            own = [seat for seat in seats if seat[1] == block]
            texts = seal.sealed_many(self._rows[block].key, [seal.outcome_text(None)] * len(own))
            rows += [(*seat[:3], text, *seat[3:]) for seat, text in zip(own, texts, strict=True)]
        return rows

    @unheld
    def _sealed(self, values: Mapping[tuple[str, int], int]) -> list[tuple[object, ...]]:
        """Outcomes by trial, block and slot."""
        rows: list[tuple[object, ...]] = []
        for block in dict.fromkeys(block for block, _ in values):
            own = [slot for of, slot in values if of == block]
            texts = [seal.outcome_text(values[block, slot]) for slot in own]
            sealed = seal.sealed_many(self._rows[block].key, texts)
            rows += [
                (self._trial, block, slot, text) for slot, text in zip(own, sealed, strict=True)
            ]
        return rows

    def member(self, unit: Name) -> Member | None:
        if unit in self._batch.members:
            return self._batch.members[unit]
        self.flush_if_any()
        found = self._base.one(
            "SELECT arm, turn, block, slot, share FROM places WHERE unit = ? AND trial = ? "
            "ORDER BY turn DESC LIMIT 1",
            (name_text(unit), self._trial),
        )
        if found is None:
            return None
        arm, turn, block, slot, share = found
        number = int.from_bytes(arm, "big")
        if block is None:
            return Member(number, turn)
        return Member(number, turn, block, slot, share)

    def place_at(self, block: str, slot: int) -> Place:
        """One place; of the last one it is asked again and again when it was taken."""
        last = slot == self._rows[block].filled - 1
        if last and block in self._last:
            return self._last[block]
        known = self._batch.by_seat.get((block, slot))
        if known is not None and known.action is None:
            return known
        self.flush_if_any()
        asked = f"{PLACE} AND p.slot = ?" if self.releases_here else f"{SEAT} AND slot = ?"
        found = self._base.one(asked, (self._trial, block, slot))
        if found is None:
            raise DamagedFile(f"{self.place}: a block lacks one of its places")
        place = self._place(found, self._rows[block].key)
        if last:
            self._last[block] = place
        return place

    def _place(self, found: Sequence[Any], key: bytes) -> Place:
        unit, arm, due, hidden, private, at, number, *_ = found
        action: Action | None = None
        if hidden is not None:
            action = json.loads(seal.opened(key, hidden) if private else hidden)
        number_of_arm = int.from_bytes(arm, "big")
        return Place(json.loads(unit), number_of_arm, due, action, bool(private), at, number)

    def outcome_at(self, block: str, slot: int) -> int | None:
        """One outcome, if it has come; to those who do not release, none has."""
        if not self.releases_here:
            return None
        if (block, slot) in self._batch.outcomes:
            return self._batch.outcomes[block, slot]
        self.flush_if_any()
        found = self._base.one(
            "SELECT outcome FROM pending WHERE trial = ? AND block = ? AND slot = ?"
            f"{self._base.AND_HOLD}",
            (self._trial, block, slot),
        )
        if found is None:
            return None
        return seal.outcome_in(seal.opened(self._rows[block].key, found[0]))

    def answered(self, block: str) -> int:
        """How many outcomes of a block have come."""
        if block in self._batch.answered:
            return self._batch.answered[block]
        found = self._base.one(
            "SELECT answered FROM open_blocks WHERE trial = ? AND block = ?", (self._trial, block)
        )
        return 0 if found is None else seal.count_in(seal.opened(self._rows[block].key, found[0]))

    @unheld
    def whole(self, key: str) -> HeldBlock:
        if not self.releases_here:
            raise TrialError(NOT_HERE)
        block, row = HeldBlock(), self._rows[key]
        self.flush_if_any()
        self._base.lock_block(self._trial, key)
        for found in self._base.run(f"{PLACE} ORDER BY p.slot", (self._trial, key)):
            slot = len(block.places)
            if found[7] != slot:
                break
            block.places.append(self._place(found, row.key))
            value = seal.outcome_in(seal.opened(row.key, found[8]))
            if value is not None:
                block.outcomes[slot] = value
        self._void[key] = [
            place.unit for slot, place in enumerate(block.places)
            if is_void(block.outcomes.get(slot, 0))
        ]  # fmt: skip
        if len(block.places) != row.filled:
            raise DamagedFile(f"{self.place}: a block lacks one of its places")
        return block

    # --- new files --------------------------------------------------------------------------------

    def load(self) -> None:
        """Open the file of a saved trial."""
        try:
            if not self._base.is_open:
                self._base.open()
            with self.held():
                self.ready()
        except BaseException:
            self.close()
            raise

    def create(self, state: Json, arms: int, block: str | None) -> None:
        self._check_open()
        if self._settings:
            raise InvalidArgument(
                "store", "be empty for a new trial", f"the store of one, in {self.place}",
                "go on with it by Trial.load(store)",
            )  # fmt: skip
        blocks = {} if block is None else {block: HeldBlock()}
        self._write_all(state, [0] * arms, blocks, {})

    @unheld
    def adopt(self, other: MemoryStore, settings: Json) -> None:
        """Continue in a file with what a store in memory holds, and leave nothing there: of two,
        each could release the same block. Should it fail, the other has lost nothing."""
        blocks = {key: block.copy() for key, block in other.blocks.items()}
        self._write_all(
            {**settings, **other.state}, other._assigned, blocks, other._members, other.people
        )
        other._now, other._members = ({}, {}), {}

    @property
    def is_read(self) -> bool:
        """Whether anything is known here."""
        return bool(self._settings)

    @property
    def is_whole(self) -> bool:
        """Whether the file can be loaded, as far as this object has written it."""
        if not self._base.is_open:
            return False
        with self.held():
            if not self._base.has_tables:
                return False
            return self._base.one("SELECT 1 FROM heads WHERE trial = ?", (self._trial,)) is not None

    def _write_all(
        self, state: Json, assigned: Sequence[int], blocks: Mapping[str, HeldBlock],
        members: Mapping[Name, Member], people: HeldPeople | None = None,
    ) -> None:  # fmt: skip
        made = not self._base.is_open
        if made:
            self._base.make()
        try:
            self._base.begin()
            self._key = self._base.add_key(seal.new_key())
            self._base.run(
                "INSERT INTO trials VALUES (?, '', '', ?, ?)", (self._trial, b"", self._key)
            )
            self._base.run("INSERT INTO heads VALUES (?, 0, 0, '', '', 0)", (self._trial,))
            self._base.run("INSERT INTO beats VALUES (?, 0)", (self._trial,))
            self.people.begin(people)
            self._assigned, self._generation, self._next = list(assigned), 0, 0
            self._taken = sum(member.used for member in members.values())
            turns = _turns(blocks, members)
            for key, block in blocks.items():
                self._open_block(key)
                for slot, place in enumerate(block.places):
                    entry = Member(place.arm, turns[key, slot], key, slot)
                    if members[place.unit][:4] == entry[:4]:
                        entry = members[place.unit]
                    self._seat(place.unit, entry, place)
                for slot, value in block.outcomes.items():
                    self._note(key, slot, value)
            for unit, member in members.items():
                if member.block not in blocks:
                    self._enter(unit, member, None)
            self.flush_if_any()
            self._put(state)
            self._write_head()
            self._base.commit()
            self._version = self._next
        except BaseException:
            self._version = UNKNOWN
            if made and not self._is_stored():
                self._base.discard()
            raise

    def _is_stored(self) -> bool:
        """Whether the trial is in the file, and not in a transaction that ends with an error."""
        self._base.let_go()
        return self._base.is_open and self.is_whole

    # --- every day --------------------------------------------------------------------------------

    @unheld
    def assign(self, unit: Name, member: Member, place: Place | None, moved: Moved) -> None:
        with self._step():
            self._check_stratum(unit)
            if place is None:
                self._enter(unit, member, None)
            else:
                if member.block not in self._rows:
                    self._open_block(member.block)
                self._seat(unit, member, place)
                self._asked = moved
                self._taken += 1
            self._assigned = [n + (arm == member.arm) for arm, n in enumerate(self._assigned)]

    @unheld
    def record(self, block: str, slot: int, value: int) -> None:
        self._hand_in(block, slot, value, corrects=False)

    @unheld
    def correct(self, block: str, slot: int, value: int) -> None:
        """An outcome in place of the one that has come, or of none."""
        self._hand_in(block, slot, value, corrects=True)

    @unheld
    def _hand_in(self, block: str, slot: int, value: int, corrects: bool) -> None:
        self._check_held()
        before = self._version
        self._version = UNKNOWN
        if self.releases_here:
            self._note(block, slot, value)
        else:
            self.flush_if_any()
            where, text = (self._trial, block, slot), seal.outcome_text(value)
            for _ in range(TRIES):
                key = self._rows[block].key
                if self._base.hand_in(where, key, seal.sealed(key, text), corrects):
                    break
                self._read()  # someone has withdrawn, and it has another key
                before = self._version = UNKNOWN
                if block not in self._rows:
                    break
            else:
                raise TrialError(
                    f"{self.place}: others change it meanwhile; nothing changed: try again"
                )
        self._base.commit()
        self._version = before  # no public step: no one is told that it came

    @unheld
    def void(self, block: str, slot: int) -> None:
        with self._step():  # others must learn the new key
            self.flush_if_any()
            self._base.lock_block(self._trial, block)
            old, key = self._rows[block].key, seal.new_key()
            text = seal.sealed(key, seal.outcome_text(VOID))
            if self.releases_here:
                self._count(block, slot)
            self._base.take_back((self._trial, block, slot), old, key, text)
            self._rows[block] = self._rows[block]._replace(key=key)
        self._base.soiled = True  # the log may hold the key that was overwritten

    @unheld
    def go_with(self, block: str, slot: int, other: tuple[str, int]) -> None:
        """By a worker: a place is withdrawn if another one was."""
        with self._step():
            self.flush_if_any()
            self._base.lock_block(self._trial, other[0])
            text = seal.sealed(self._rows[block].key, seal.outcome_text(VOID))
            old = self._rows[other[0]].key
            self._base.go_with((self._trial, block, slot), other, old, text)

    def noted(self) -> None:
        with self._step():
            pass

    def forget_copies(self) -> None:
        self._base.let_go()
        self._base.rewrite()

    @unheld
    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        self._check_held()
        self._check_releases()
        witness: Json | None = None
        if block is not None and not self._base.is_gathering:  # what is gathered is never drawn
            if block not in self._rows:
                raise DamagedFile(f"{self.place}: a block that is released is not there")
            before = json.loads(json.dumps([self._settings, self._public]))
            key = self._rows[block].key
            witness = {"number": self._number, "block": block, "before": self._standing(block)}
        with self._step():
            self._replace(block, state, opens)
            if witness is not None:
                after = json.loads(json.dumps([self._settings, self._public]))
                ledger = seal.sealed(key, seal.padded(self._secret))
                noted = self.people.waiting_ahead()
                witness |= {"opens": opens, "change": changes(before, after)}
                witness |= {"noted": self.people.waiting, "trail": noted[-1].chain if noted else ""}
                self._base.testify(json.dumps({**witness, "ledger": ledger.hex()}))
        self._base.soiled = True
        self._base.clean()

    def _replace(self, block: str | None, state: Json, opens: str | None) -> None:
        """A block by the state that its release has led to."""
        self.flush_if_any()
        if block is not None:
            self._forget(block)
            self._erase(block)
            self._base.run(
                "INSERT INTO releases VALUES (?, ?, ?)", (self._trial, self._generation + 1, block)
            )
        if opens is not None:
            self._open_block(opens)
        self._assigned = self._assigned + [0] * (len(state.get("arms", ())) - len(self._assigned))
        self._put(state)

    def _forget(self, block: str) -> None:
        """Anyone who has withdrawn from a block that is released."""
        if block not in self._void:
            self.whole(block)
        for unit in self._void.pop(block):
            self.people.forget(unit)

    @unheld
    def begin(self, block: str, run: Json) -> None:
        self._check_releases()
        state = self.state
        with self._step():
            self._put({**state, "protocol": {**state["protocol"], **run}})

    @unheld
    def silence(self, state: Json) -> None:
        """Put a last state in place, and erase all outcomes; the places stay."""
        self._check_releases()
        with self._step():
            self.flush_if_any()
            for block, row in self._rows.items():
                key, place = seal.new_key(), (self._trial, block)
                for slot, action, private in self._base.run(
                    "SELECT slot, action, private FROM pending WHERE trial = ? AND block = ?", place
                ).fetchall():
                    blank = seal.blank_action(row.key, key, action) if private else action
                    silent = seal.sealed(key, seal.outcome_text(None))
                    self._base.run(
                        "UPDATE pending SET outcome = ?, action = ? "
                        "WHERE trial = ? AND block = ? AND slot = ?",
                        (silent, blank, *place, slot),
                    )
                self._base.run(
                    "UPDATE open_blocks SET answered = ? WHERE trial = ? AND block = ?",
                    (seal.sealed(key, seal.count_text(0)), *place),
                )
                self._base.run(
                    "UPDATE keys SET key = ? WHERE id = "
                    "(SELECT key FROM open_blocks WHERE trial = ? AND block = ?)",
                    (key, *place),
                )
            self._secret = {}  # so that its key is renewed too
            self._put(state)
        self._version = UNKNOWN  # the keys of the blocks are others now
        self._base.soiled = True
        self._base.clean()

    @unheld
    def charge(self, state: Json, fences: int) -> None:
        """Continue from an old copy: put a state in place, and erase all blocks. Who had a place in
        them keeps the arm, and has none any more."""
        self._check_releases()
        with self._step():
            self.flush_if_any()
            for block in list(self._rows):
                self._forget(block)
                self._erase(block)
                self._base.run(
                    "UPDATE places SET block = NULL, slot = NULL WHERE trial = ? AND block = ?",
                    (self._trial, block),
                )
            self._put(state)
            noted = self.people.waiting_ahead()
            self._base.overtake(
                {"number": self._number, "fences": fences, "trail": noted[-1].chain}
            )
        self._version = UNKNOWN
        self._base.soiled = True
        self._base.clean()

    def touch(self) -> None:
        """Write something, so that a commit takes its time whatever is stored by it. Something
        else than what is there: SQLite writes nothing where nothing changes."""
        self._check_held()
        self._base.run("UPDATE beats SET number = number + 1 WHERE trial = ?", (self._trial,))

    def back_up(self, to: Path, ledgers: Mapping[int, Json]) -> None:
        """All that is public, in another file: see `copies`."""
        write_backup(self._base, to, ledgers)

    @property
    def number(self) -> int:
        """Which of the trials of its home it is."""
        return self._number

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._secret, self._asked, self._moved, self._last = {}, None, {}, {}
        self._rows = {block: row._replace(key=seal.NO_KEY) for block, row in self._rows.items()}
        if self._base.users == 1:
            self._base.let_go()
        self._base.leave()

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "the store of a trial must not be copied or pickled; open its file again by "
            "Trial.load(path)"
        )

    # --- in a transaction -------------------------------------------------------------------------

    def _step(self) -> _Step:
        """A public step. Until it is stored, what is known here is not known to be in the file."""
        self._check_held()
        if not self._base.is_alone:
            raise TrialError(f"{self.place}: others go on meanwhile; call ready() before a step")
        self._version = UNKNOWN
        return _Step(self)

    def stepped(self) -> None:
        """It is written: store it, unless it is gathered; then the last of several writes the
        head."""
        if self._base.is_gathering:
            return
        self._write_head()
        self._base.commit()
        self._version = self._next

    def _write_head(self) -> None:
        self.people.flush()
        if self._asked is not None:
            self._moved, self._asked = self._asked(), None
        written = self._base.run(
            "UPDATE heads SET version = ?, moved = ?, assigned = ?, taken = ? "
            "WHERE trial = ? AND version = ?",
            (
                self._next + 1, json.dumps(self._moved, separators=(",", ":")),
                f"[{','.join(f'{number:>{seal.ROOM}}' for number in self._assigned)}]",
                self._taken, self._trial, self._next,
            ),
        )  # fmt: skip
        if written.rowcount != 1:
            raise TrialError(f"{self.place}: somebody else went on; nothing changed: try again")
        self._next += 1

    def _put(self, state: Json) -> None:
        """The state is that of now: what moved before is in it."""
        run = dict(state["protocol"])
        secret = run.pop("ledger")
        settings = {name: part for name, part in state.items() if name != "protocol"}
        self._base.run(
            "UPDATE trials SET settings = ?, public = ? WHERE trial = ?",
            (json.dumps(settings), json.dumps(run), self._trial),
        )
        if secret != self._secret or not self._generation:
            key = seal.new_key()
            self._base.run("UPDATE keys SET key = ? WHERE id = ?", (key, self._key))
            self._base.run(
                "UPDATE trials SET secret = ? WHERE trial = ?",
                (seal.sealed(key, seal.padded(secret)), self._trial),
            )
        self._settings, self._public, self._secret = settings, run, secret
        self._moved, self._asked = {}, None
        self._generation += 1
        self._base.run(
            "UPDATE heads SET generation = ? WHERE trial = ?", (self._generation, self._trial)
        )

    def _open_block(self, block: str) -> None:
        key = seal.new_key()
        self._base.run(
            "INSERT INTO open_blocks VALUES (?, ?, ?, 0, NULL, NULL, ?)",
            (self._trial, block, self._base.add_key(key), seal.sealed(key, seal.count_text(0))),
        )
        self._rows = {**self._rows, block: Row(key, 0, None, None)}

    def _erase(self, block: str) -> None:
        """All that is known of a block but for who had which place."""
        base, place = self._base, (self._trial, block)
        found = base.one("SELECT key FROM open_blocks WHERE trial = ? AND block = ?", place)
        if found is None:
            raise DamagedFile(f"{self.place}: a block that is released is not there")
        base.forget_key(int(found[0]))
        base.run("DELETE FROM open_blocks WHERE trial = ? AND block = ?", place)
        self._rows = {key: row for key, row in self._rows.items() if key != block}
        self._last.pop(block, None)

    def _enter(self, unit: Name, member: Member, place: Place | None) -> None:
        at, number, due = (None, None, None) if place is None else (
            place.at, place.number, place.due,
        )  # fmt: skip
        here = (None, None) if member.slot < 0 else (member.block, member.slot)
        row = (
            name_text(unit), self._trial, member.used, member.arm.to_bytes(4, "big"), *here, at,
            number, due, member.share,
        )  # fmt: skip
        if self._base.is_gathering:
            self._batch.places.append(row)
            self._batch.members[unit] = member
        else:
            self._base.run("INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _seat(self, unit: Name, member: Member, place: Place) -> None:
        row, action = self._rows[member.block], None
        if row.filled != member.slot:
            raise DamagedFile(f"{self.place}: the places of a block are out of order")
        if place.action is not None:
            text = seal.action_text(place.action)
            action = seal.sealed(row.key, text) if place.private else text
        self._enter(unit, member, place)
        seat = (self._trial, member.block, member.slot, action, int(place.private))
        row = Row(row.key, member.slot + 1, place.at, place.due)
        if self._base.is_gathering:
            self._batch.seats.append(seat)
            self._batch.rows.add(member.block)
        else:
            self._base.run_many("INSERT INTO pending VALUES", self._silent([seat]))
            self._base.run(
                "UPDATE open_blocks SET filled = ?, at = ?, due = ? WHERE trial = ? AND block = ?",
                (row.filled, row.at, row.due, self._trial, member.block),
            )
        self._rows[member.block], self._last[member.block] = row, place

    def _note(self, block: str, slot: int, value: int) -> None:
        key, batch = self._rows[block].key, self._batch
        if self._base.is_gathering and (block, slot) in batch.outcomes:
            batch.answered[block] = self._counted(block, slot)
            batch.values[block, slot] = batch.outcomes[block, slot] = value
            return
        self._count(block, slot)
        sealed = seal.sealed(key, seal.outcome_text(value))
        if self._base.set_outcomes([(self._trial, block, slot, sealed)]) != 1:
            raise DamagedFile(f"{self.place}: an outcome has no place")

    def _counted(self, block: str, slot: int) -> int:
        """How many have come of a block, with that one."""
        return self.answered(block) + (self.outcome_at(block, slot) is None)

    def _count(self, block: str, slot: int) -> None:
        """Store that, before that one is stored."""
        text = seal.count_text(self._counted(block, slot))
        self._base.run(
            "UPDATE open_blocks SET answered = ? WHERE trial = ? AND block = ?",
            (seal.sealed(self._rows[block].key, text), self._trial, block),
        )

    # --- refusals ---------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise TrialError("the trial is closed; go on with Trial.load(path)")

    def _check_held(self) -> None:
        """A write without `ready` would be decided on what may not be true any more."""
        self._check_open()
        if not self._base.in_transaction or (
            self._version == UNKNOWN and not self._base.is_gathering
        ):
            raise TrialError(f"{self.place} is not held: call ready() before a write")

    def _check_releases(self) -> None:
        if not self.releases_here:
            raise TrialError(NOT_HERE)

    def _check_stratum(self, unit: Name) -> None:
        if "stratum" not in self._settings:
            return
        other = self._base.one(
            "SELECT 1 FROM places WHERE unit = ? AND trial <> ? AND trial BETWEEN ? AND ? LIMIT 1",
            (name_text(unit), self._trial, *self._base.trials),
        )
        if other is None:  # perhaps one that has withdrawn there
            numbers = self._base.run(
                "SELECT trial - ? FROM trials WHERE trial <> ? AND trial BETWEEN ? AND ?",
                (self._base.first, self._trial, *self._base.trials),
            ).fetchall()
            other = next((n for n in numbers if self._has_forgotten(unit, *n)), None)
        if other is not None:
            raise TrialError(
                f"unit {unit!r} has an arm in another stratum, and everybody belongs to one: were "
                "it two, outcomes would be used twice; give the stratum that it was assigned in"
            )

    def _has_forgotten(self, unit: Name, number: int) -> bool:
        """Whether someone of that name has withdrawn in another stratum."""
        other = self.beside(number)
        try:
            return other.people.is_forgotten(unit)
        finally:
            other._closed = True
            self._base.users -= 1


def _turns(
    blocks: Mapping[str, HeldBlock], members: Mapping[Name, Member]
) -> dict[tuple[str, int], int]:
    """Which of its places a unit has in an open block, by block and slot: counted back from its
    latest."""
    seats: dict[Name, list[tuple[int, str, int]]] = {}
    for key, block in blocks.items():
        for slot, place in enumerate(block.places):
            seats.setdefault(place.unit, []).append((place.number or 0, key, slot))
    found = {}
    for unit, own in seats.items():
        member = members[unit]
        turn = member.used - (member.block not in blocks)
        for back, (_, key, slot) in enumerate(sorted(own, reverse=True)):
            found[key, slot] = turn - back
    return found


class _Step:
    """A public step, stored at its end."""

    __slots__ = ("_store",)

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self._store.stepped()


class _Held:
    """A call: what it did not commit is forgotten, and what was erased leaves the log."""

    __slots__ = ("_base",)

    def __init__(self, base: Transactions) -> None:
        self._base = base

    def __enter__(self) -> None:
        self._base.let_go()  # what an interrupt may have left

    def __exit__(self, *error: object) -> None:
        self._base.let_go()
        self._base.clean()
