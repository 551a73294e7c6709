"""Where trials are stored: in memory, in a SQLite file, or in a store of your own (`Store`)."""

from ._base import Block, Store
from ._memory import MemoryStore
from ._sqlite import SqliteStore

__all__ = ["Block", "MemoryStore", "SqliteStore", "Store"]
