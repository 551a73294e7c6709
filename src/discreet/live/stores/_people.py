"""What a store knows of people beside their places: who is forgotten, and what was decided.

    names      a place keeps its unit's name until that unit is forgotten. Then a random token is in
               its place, and an HMAC of the name says that it was here if it comes again
    the trail  decisions and releases, append-only, each with an HMAC over it and those before it

Nothing here says who has answered or withdrawn before the release of a block: outcomes, withdrawals
and corrections change what is there, in place and of the same length, and are not in the trail.

Statements are those that SQLite and PostgreSQL have in common.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..._checks import Name
from ._base import name_text

if TYPE_CHECKING:
    from ._base import Json
    from ._memory import MemoryStore
    from ._sql import SqlStore
    from ._transactions import Transactions

START = "0" * 64
"""What stands in place of the hash before the first entry."""
ERASED = "0" * 64
"""In place of a secret that was overwritten."""
TABLES = {
    "names": "trial - ?, secret, trail, number, chain",
    "forgotten": "trial - ?, token",
    "trail": "trial - ?, number, entry, chain",
    "issued": "trial - ?, version, shares",
    "kits": "trial - ?, arm, number, code, unit",
}
"""All of them, and their columns; a backup has them as they are."""


class Entry(NamedTuple):
    """One entry of the trail, and the HMAC over it and all before."""

    number: int
    text: str
    chain: str


class Trail(NamedTuple):
    """The trail as it is stored, with what is needed to verify it."""

    key: str
    entries: list[Entry]
    number: int
    """how many there should be"""
    chain: str
    """and the HMAC of the last of them"""


def new_secret() -> str:
    """For HMACs of names, and for the trail."""
    return secrets.token_hex(32)


def new_token(unit: Name) -> str:
    """In place of a name that is forgotten. Random, and as long: files do not grow by it, if names
    have twelve characters at least."""
    return f"~{secrets.token_urlsafe(max(12, len(str(unit))))}"[: max(12, len(str(unit)))]


def token_of(secret: str, unit: Name) -> str:
    """By what a forgotten unit is known if it comes again."""
    return hmac.new(bytes.fromhex(secret), name_text(unit).encode(), hashlib.sha256).hexdigest()


def chained(key: str, before: str, text: str) -> str:
    """The HMAC of an entry and of all before it."""
    return hmac.new(bytes.fromhex(key), f"{before} {text}".encode(), hashlib.sha256).hexdigest()


class People(Protocol):
    """What a trial asks of its store. Writes are stored with the next step of the store."""

    def is_forgotten(self, unit: Name) -> bool:
        """Whether a unit of that name has withdrawn, and its name was overwritten."""

    def seats(self, unit: Name) -> list[tuple[str, int]]:
        """Its places in blocks that are not yet released."""

    def forget(self, unit: Name) -> None:
        """Overwrite a name by a token; what it has of places stays."""

    def erase(self) -> None:
        """Overwrite all names, and the secret by which they would be known again."""

    def note(self, entry: Json) -> None:
        """An entry of the trail, which is stored with the next step."""

    def trail(self) -> Trail:
        """All entries."""

    def witnessed(self) -> list[str] | None:
        """The HMACs that the witness knows, in their order; None where there is none."""

    def issued(self, version: int) -> Json | None:
        """The shares that were issued under that number; 0 for the last ones."""

    def issue(self, shares: Json) -> int:
        """Issue other ones; their number."""

    def supply(self, kits: Mapping[int, Sequence[str]]) -> None:
        """Kits of a new trial, by the number of their arm: stored with the next step."""

    def stock(self, kits: Mapping[int, Sequence[str]]) -> None:
        """More of them, at once."""

    def left(self, arm: int) -> int:
        """How many are left."""

    def codes(self) -> set[str]:
        """All of them, used or not."""

    def kit_of(self, unit: Name) -> str | None:
        """The last one that a unit got."""

    def hand_out(self, unit: Name, arm: int) -> str:
        """The next kit of an arm."""


class Notes:
    """Entries that wait for the next step."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.supplied: Mapping[int, Sequence[str]] = {}

    def supply(self, kits: Mapping[int, Sequence[str]]) -> None:
        self.supplied = kits

    def note(self, entry: Json) -> None:
        self.waiting.append(json.dumps(entry))

    def ahead(self, key: str, number: int, chain: str) -> list[Entry]:
        """What they will be in the trail, after an entry of that number."""
        found = []
        for step, text in enumerate(self.waiting, 1):
            chain = chained(key, chain, text)
            found.append(Entry(number + step, text, chain))
        return found


class HeldPeople(Notes):
    """In memory."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self.store = store
        self.secret, self.key = new_secret(), new_secret()
        self.tokens: set[str] = set()
        self.entries: list[Entry] = []
        self.shares: list[Json] = []
        self.kits: dict[int, list[str]] = {}
        self.taken: dict[int, list[Name]] = {}

    def is_forgotten(self, unit: Name) -> bool:
        return self.secret != ERASED and token_of(self.secret, unit) in self.tokens

    def seats(self, unit: Name) -> list[tuple[str, int]]:
        return [
            (key, slot)
            for key, block in self.store.blocks.items()
            for slot, place in enumerate(block.places)
            if place.unit == unit and type(place.unit) is type(unit)
        ]

    def forget(self, unit: Name) -> None:
        self.tokens.add(token_of(self.secret, unit))
        self._rename(unit)

    def _rename(self, unit: Name) -> None:
        token = new_token(unit)
        for key, slot in self.seats(unit):
            places = self.store.blocks[key].places
            places[slot] = places[slot]._replace(unit=token)
        members = self.store._members
        if unit in members:
            members[token] = members.pop(unit)
        for units in self.taken.values():
            units[:] = [token if known == unit else known for known in units]

    def erase(self) -> None:
        for unit in list(self.store._members):
            self._rename(unit)
        self.tokens.clear()
        self.secret = ERASED

    def flush(self) -> None:
        """Waiting entries are part of the trail from now on."""
        number, chain = self._last()
        self.entries += self.ahead(self.key, number, chain)
        self.waiting = []
        self.stock(self.supplied)
        self.supplied = {}

    def _last(self) -> tuple[int, str]:
        return (self.entries[-1].number, self.entries[-1].chain) if self.entries else (0, START)

    def trail(self) -> Trail:
        return Trail(self.key, self.entries.copy(), *self._last())

    def witnessed(self) -> list[str] | None:
        return None

    def issued(self, version: int) -> Json | None:
        if not version:
            return self.shares[-1] if self.shares else None
        return self.shares[version - 1] if version <= len(self.shares) else None

    def issue(self, shares: Json) -> int:
        self.shares.append({**shares, "version": len(self.shares) + 1})
        return len(self.shares)

    def stock(self, kits: Mapping[int, Sequence[str]]) -> None:
        for arm, codes in kits.items():
            self.kits.setdefault(arm, []).extend(codes)
            self.taken.setdefault(arm, [])

    def left(self, arm: int) -> int:
        return len(self.kits.get(arm, ())) - len(self.taken.get(arm, ()))

    def codes(self) -> set[str]:
        return {code for codes in self.kits.values() for code in codes}

    def kit_of(self, unit: Name) -> str | None:
        for arm, units in self.taken.items():
            for number in range(len(units) - 1, -1, -1):
                if units[number] == unit and type(units[number]) is type(unit):
                    return self.kits[arm][number]
        return None

    def hand_out(self, unit: Name, arm: int) -> str:
        self.taken[arm].append(unit)
        return self.kits[arm][len(self.taken[arm]) - 1]


class SqlPeople(Notes):
    """In the tables above."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__()
        self.store: SqlStore = weakref.proxy(store)  # which must go when no one uses it
        self.known: str | None = None
        """the secret of the names, as far as it is known; it changes with a public step alone"""
        self.anyone = True
        """whether someone may be forgotten; likewise"""

    @property
    def base(self) -> Transactions:
        """The database, with all that a batch has gathered for it."""
        self.store.flush_if_any()
        return self.store.base

    @property
    def trial(self) -> int:
        """The number that its rows have."""
        return self.store.trial

    def begin(self, other: HeldPeople | None = None) -> None:
        """Of a new trial; or of one that was in memory until now."""
        secret, key = (other.secret, other.key) if other else (new_secret(), new_secret())
        self.base.run("INSERT INTO names VALUES (?, ?, ?, 0, ?)", (self.trial, secret, key, START))
        if other is None:
            return
        for token in sorted(other.tokens):
            self.base.run("INSERT INTO forgotten VALUES (?, ?)", (self.trial, token))
        for shares in other.shares:
            self.issue(shares)
        self.stock(other.kits)
        for arm, units in other.taken.items():
            for unit in units:
                self.hand_out(unit, arm)
        self.waiting = [entry.text for entry in other.entries] + self.waiting

    # --- names ------------------------------------------------------------------------------------

    def _known_secret(self) -> str:
        if self.known is None:
            found = self.store.base.one("SELECT secret FROM names WHERE trial = ?", (self.trial,))
            self.known = ERASED if found is None else str(found[0])
        return self.known

    def is_forgotten(self, unit: Name) -> bool:
        base, trial = self.store.base, self.trial  # what a batch has gathered is about other tables
        if self.known is None:
            found = base.one("SELECT 1 FROM forgotten WHERE trial = ? LIMIT 1", (trial,))
            self.anyone = found is not None
        if not self.anyone and self._known_secret():
            return False
        secret = self._known_secret()
        return secret != ERASED and base.one(
            "SELECT 1 FROM forgotten WHERE trial = ? AND token = ?",
            (trial, token_of(secret, unit)),
        ) is not None  # fmt: skip

    def seats(self, unit: Name) -> list[tuple[str, int]]:
        return [
            (block, slot)
            for block, slot in self.base.run(
                "SELECT p.block, p.slot FROM places p "
                "JOIN open_blocks b ON b.trial = p.trial AND b.block = p.block "
                "WHERE p.unit = ? AND p.trial = ? ORDER BY p.turn",
                (name_text(unit), self.trial),
            ).fetchall()
        ]

    def forget(self, unit: Name) -> None:
        self.anyone = True
        self.base.run(
            "INSERT INTO forgotten VALUES (?, ?) ON CONFLICT DO NOTHING",
            (self.trial, token_of(self._known_secret(), unit)),
        )
        self._rename(name_text(unit))

    def _rename(self, text: str) -> None:
        token = json.dumps(new_token(json.loads(text)))
        for table in ("places", "kits"):
            self.base.run(
                f"UPDATE {table} SET unit = ? WHERE unit = ? AND trial = ?",
                (token, text, self.trial),
            )

    def erase(self) -> None:
        rows = self.base.run("SELECT DISTINCT unit FROM places WHERE trial = ?", (self.trial,))
        for (text,) in rows.fetchall():
            self._rename(text)
        self.base.run("DELETE FROM forgotten WHERE trial = ?", (self.trial,))
        self.base.run("UPDATE names SET secret = ? WHERE trial = ?", (ERASED, self.trial))
        self.known = None

    # --- the trail --------------------------------------------------------------------------------

    def waiting_ahead(self) -> list[Entry]:
        """What waits, as it will be in the trail."""
        if not self.waiting:
            return []
        found = self.base.one(
            "SELECT trail, number, chain FROM names WHERE trial = ?", (self.trial,)
        )
        assert found is not None
        return self.ahead(*found)

    def flush(self) -> None:
        """Store what waits."""
        ahead = self.waiting_ahead()
        for entry in ahead:
            self.base.run("INSERT INTO trail VALUES (?, ?, ?, ?)", (self.trial, *entry))
        if ahead:
            last = ahead[-1]
            self.base.run(
                "UPDATE names SET number = ?, chain = ? WHERE trial = ?",
                (last.number, last.chain, self.trial),
            )
        self.waiting = []
        self.stock(self.supplied)
        self.supplied = {}

    def trail(self) -> Trail:
        found = self.base.one(
            "SELECT trail, number, chain FROM names WHERE trial = ?", (self.trial,)
        )
        assert found is not None
        rows = self.base.run(
            "SELECT number, entry, chain FROM trail WHERE trial = ? ORDER BY number", (self.trial,)
        )
        return Trail(found[0], [Entry(*row) for row in rows.fetchall()], *found[1:])

    def witnessed(self) -> list[str] | None:
        texts = self.base.witnessed()
        if texts is None:
            return None
        lines = [json.loads(text) for text in texts]
        return [line["trail"] for line in lines if line.get("number") == self.store.number]

    # --- shares and kits --------------------------------------------------------------------------

    def issued(self, version: int) -> Json | None:
        where = ("AND version = ?", (self.trial, version)) if version else ("", (self.trial,))
        found = self.base.one(
            f"SELECT shares FROM issued WHERE trial = ? {where[0]} ORDER BY version DESC LIMIT 1",
            where[1],
        )
        if found is None:
            return None
        shares: Json = json.loads(found[0])
        return shares

    def issue(self, shares: Json) -> int:
        found = self.base.one(
            "SELECT COALESCE(MAX(version), 0) + 1 FROM issued WHERE trial = ?", (self.trial,)
        )
        assert found is not None
        text = json.dumps({**shares, "version": found[0]})
        self.base.run("INSERT INTO issued VALUES (?, ?, ?)", (self.trial, *found, text))
        return int(found[0])

    def stock(self, kits: Mapping[int, Sequence[str]]) -> None:
        for arm, codes in kits.items():
            known = self.base.one(
                "SELECT count(*) FROM kits WHERE trial = ? AND arm = ?", (self.trial, arm)
            )
            for number, code in enumerate(codes, known[0] if known else 0):
                self.base.run(
                    "INSERT INTO kits VALUES (?, ?, ?, ?, NULL)", (self.trial, arm, number, code)
                )

    def left(self, arm: int) -> int:
        found = self.base.one(
            "SELECT count(*) FROM kits WHERE trial = ? AND arm = ? AND unit IS NULL",
            (self.trial, arm),
        )
        return 0 if found is None else int(found[0])

    def codes(self) -> set[str]:
        rows = self.base.run("SELECT code FROM kits WHERE trial = ?", (self.trial,))
        return {code for (code,) in rows.fetchall()}

    def kit_of(self, unit: Name) -> str | None:
        found = self.base.one(
            "SELECT k.code FROM kits k WHERE k.trial = ? AND k.unit = ? "
            "ORDER BY k.number DESC LIMIT 1",
            (self.trial, name_text(unit)),
        )
        return None if found is None else str(found[0])

    def hand_out(self, unit: Name, arm: int) -> str:
        found = self.base.one(
            "SELECT number, code FROM kits WHERE trial = ? AND arm = ? AND unit IS NULL "
            "ORDER BY number LIMIT 1",
            (self.trial, arm),
        )
        assert found is not None
        self.base.run(
            "UPDATE kits SET unit = ? WHERE trial = ? AND arm = ? AND number = ?",
            (name_text(unit), self.trial, arm, found[0]),
        )
        return str(found[1])
