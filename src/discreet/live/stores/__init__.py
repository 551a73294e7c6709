"""Where trials are stored: in memory, in files, or in a store of your own (`Store`)."""

from .base import Block, Store
from .files import FileStore
from .memory import MemoryStore

__all__ = ["Block", "FileStore", "MemoryStore", "Store"]
