"""Files that survive a crash: what these functions have written is on disk when they return."""

from __future__ import annotations

import os
from pathlib import Path

OWNER_ONLY = 0o600
_BINARY = getattr(os, "O_BINARY", 0)


def open_log(path: Path, *, new: bool) -> int:
    """A descriptor that appends to an existing log, or to a new, empty one."""
    flags = os.O_RDWR | os.O_APPEND | _BINARY
    return os.open(path, flags | (os.O_CREAT | os.O_TRUNC if new else 0), OWNER_ONLY)


def append(descriptor: int, data: bytes) -> None:
    """Add to the end of a log."""
    _write(descriptor, data)
    os.fsync(descriptor)


def replace(path: Path, data: bytes) -> None:
    """Put a file in place of another: at any moment one of the two is there, whole."""
    fresh = temporary(path)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, OWNER_ONLY)
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(fresh, path)
    sync_folder(path.parent)


def temporary(path: Path) -> Path:
    """Where a file is written before it takes the other's place."""
    return path.with_name(path.name + ".new")


def remove(paths: list[Path]) -> None:
    """Remove files of one folder."""
    for path in paths:
        os.unlink(path)
    if paths:
        sync_folder(paths[0].parent)


def shorten(descriptor: int, length: int) -> None:
    """Cut a log off after so many bytes."""
    os.ftruncate(descriptor, length)
    os.fsync(descriptor)


def sync(descriptor: int) -> None:
    """Make sure of what somebody else may have left in memory only."""
    os.fsync(descriptor)


def sync_file(path: Path) -> None:
    """The same, by name."""
    descriptor = os.open(path, os.O_RDWR | _BINARY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """The same for the names in a folder."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
