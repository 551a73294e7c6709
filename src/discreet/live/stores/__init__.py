"""Where trials are stored: in memory, in a SQLite file, in PostgreSQL, or in your own store
(`Store`)."""

from ._base import Block, Store
from ._memory import MemoryStore
from ._postgres import PostgresStore, grant_roles
from ._sqlite import SqliteStore

__all__ = ["Block", "MemoryStore", "PostgresStore", "SqliteStore", "Store", "grant_roles"]
