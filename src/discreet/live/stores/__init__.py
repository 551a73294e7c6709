"""Where trials are stored: in memory, in files, or in a store of your own (`Store`)."""

from ._base import Block, Store
from ._files import FileStore
from ._memory import MemoryStore

__all__ = ["Block", "FileStore", "MemoryStore", "Store"]
