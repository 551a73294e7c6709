"""The contract of stores: every store passes it, and it finds stores that do not do their part."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.live.stores import MemoryStore, PostgresStore, SqliteStore, Store
from discreet.testing import _stores as contract
from discreet.testing._stores import check_shared, check_store

pytestmark = pytest.mark.usefixtures("no_sync")


def reopened(store: Any) -> Store:
    again = SqliteStore(store.path)
    again.load()
    return again


def test_memory_keeps_the_contract() -> None:
    check_store(MemoryStore)


def test_files_keep_the_contract(tmp_path: Path) -> None:
    number = itertools.count()
    check_store(lambda: SqliteStore(tmp_path / f"{next(number)}.db"), reopened)


def beside(store: Any) -> Store:
    """Another user of the file that a store has open."""
    return reopened(store)


def test_files_can_be_shared(tmp_path: Path) -> None:
    number = itertools.count()
    check_shared(lambda: SqliteStore(tmp_path / f"{next(number)}.db"), beside)


def again(store: Any) -> Store:
    """Another user of the trial that a store has open."""
    other = PostgresStore(store._base.url, store._base.title)
    other.load()
    return other


def test_a_database_keeps_the_contract(url: str) -> None:
    number = itertools.count()
    check_store(lambda: PostgresStore(url, f"trial {next(number)}"), again)


def test_a_database_can_be_shared(url: str) -> None:
    number = itertools.count()
    check_shared(lambda: PostgresStore(url, f"trial {next(number)}"), again)


class Deaf(SqliteStore):
    """Does not hear of others."""

    def ready(self, alone: bool = True) -> bool:
        super().ready(alone)
        return False


@pytest.mark.parametrize("kind", [Deaf])
def test_the_contract_finds_stores_that_do_not_share(
    kind: type[SqliteStore], tmp_path: Path
) -> None:
    number = itertools.count()

    def again(store: Any) -> Store:
        other = kind(store.path)
        other.load()
        return other

    with pytest.raises((AssertionError, DiscreetError)):
        check_shared(lambda: kind(tmp_path / f"{next(number)}.db"), again)


class Forgetful(MemoryStore):
    """Loses outcomes."""

    def record(self, block: str, slot: int, value: int) -> None:
        """Not at all."""


class Hoarding(MemoryStore):
    """Keeps a block that was released."""

    def release(self, block: str | None, state: Any, opens: str | None) -> None:
        blocks = dict(self.blocks)
        super().release(block, state, opens)
        self._now = self.state, {**blocks, **self.blocks}


class Sweeping(MemoryStore):
    """Erases every block with one."""

    def release(self, block: str | None, state: Any, opens: str | None) -> None:
        for key in list(self.blocks):
            super().release(key, state, opens)


class Untyped(MemoryStore):
    """Cannot tell 7 from "7"."""

    def member(self, unit: Any) -> Any:
        return self._members.get(str(unit))

    def assign(self, unit: Any, member: Any, place: Any, moved: Any) -> None:
        super().assign(str(unit), member, place, moved)


class Stale(MemoryStore):
    """Leaves the state as it was."""

    def begin(self, block: str, run: Any) -> None:
        """Not at all."""


class Unmoved(MemoryStore):
    """Leaves the run where it was at the last release."""

    def assign(self, unit: Any, member: Any, place: Any, moved: Any) -> None:
        super().assign(unit, member, place, dict)


class Torn(MemoryStore):
    """Keeps the first of several writes that fail together."""

    def together(self) -> Any:
        return self.held()


class Replaceable(MemoryStore):
    """Lets another trial take the place of the one it holds."""

    def create(self, state: Any, arms: int, block: str | None) -> None:
        self._now = {}, {}
        super().create(state, arms, block)


@pytest.mark.parametrize(
    "kind", [Forgetful, Hoarding, Sweeping, Untyped, Stale, Unmoved, Torn, Replaceable]
)
def test_the_contract_finds_stores_that_do_not_do_their_part(kind: type[MemoryStore]) -> None:
    with pytest.raises((AssertionError, KeyError)):
        check_store(kind)


def test_every_check_is_part_of_the_contract() -> None:
    names = {name for name in vars(contract) if name.startswith("check_")}
    called = {*check_store.__code__.co_names, *check_shared.__code__.co_names, "check_workers"}
    assert len(names) > 10
    assert names - {"check_store", "check_shared"} <= called
