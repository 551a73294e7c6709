"""Files that survive a crash: what these functions have written is on disk when they return.

All files of a trial lie in one folder, which is opened once: whatever happens to its name later, it
is the same folder. Files are created exclusively, links are never followed, and nobody but the
owner can read them, whatever the umask.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

OWNER_ONLY = 0o600
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Refused(OSError):
    """A name is there, but is no file that may be used."""


class Folder:
    """A folder, by its descriptor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = -1
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def create(self, name: str) -> int:
        """A descriptor that appends to a new, empty file."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _FLAGS
        descriptor = os.open(name, flags, OWNER_ONLY, dir_fd=self.descriptor)
        os.fchmod(descriptor, OWNER_ONLY)  # the umask may have taken away more
        return descriptor

    def open(self, name: str) -> int:
        """A descriptor that reads and appends to an existing file of ours."""
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_APPEND | _FLAGS, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError:
            raise Refused(f"{self.path / name} is a link, or may not be opened") from None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            os.close(descriptor)
            raise Refused(f"{self.path / name} is not a plain file of this user")
        if stat.S_IMODE(found.st_mode) != OWNER_ONLY:
            os.fchmod(descriptor, OWNER_ONLY)
        return descriptor

    def read(self, name: str) -> bytes:
        """All of a file, which is on disk when this returns."""
        descriptor = self.open(name)
        try:
            os.fsync(descriptor)
            return read(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, name: str, data: bytes) -> None:
        """Put a file in place of another: at any moment one of the two is there, whole."""
        fresh = temporary(name)
        descriptor = self.create(fresh)
        try:
            write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(fresh, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        self.sync()

    def remove(self, names: list[str], mark: bytes | None = None) -> None:
        """Remove files, and links by themselves. Files that begin with the mark are emptied first:
        one that has another name too, or that somebody has open, holds nothing then."""
        for name in names:
            if mark is not None:
                self._empty(name, mark)
            os.unlink(name, dir_fd=self.descriptor)
        if names:
            self.sync()

    def _empty(self, name: str, mark: bytes) -> None:
        with suppress(OSError):  # it is a link, say, and what that leads to is not ours
            descriptor = os.open(name, os.O_RDWR | _FLAGS, dir_fd=self.descriptor)
            try:
                if os.pread(descriptor, len(mark), 0) == mark:
                    os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)

    def has(self, name: str) -> bool:
        """Whether anything has that name."""
        return self.identity(name) is not None

    def identity(self, name: str) -> tuple[int, int] | None:
        """Which file has a name now; None if none has."""
        try:
            found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def names(self) -> list[str]:
        """What lies in the folder."""
        return os.listdir(self.descriptor)

    def sync(self) -> None:
        """Have the names on disk."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Let go of the folder."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def temporary(name: str) -> str:
    """Where a file is written before it takes the other's place."""
    return f"{name}.new"


def append(descriptor: int, data: bytes) -> None:
    """Add to the end of a file."""
    write(descriptor, data)
    os.fsync(descriptor)


def write(descriptor: int, data: bytes) -> None:
    """All of it; not yet on disk."""
    while data:
        data = data[os.write(descriptor, data) :]


def read(descriptor: int) -> bytes:
    """All of an open file."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def shorten(descriptor: int, length: int) -> None:
    """Cut a file off after so many bytes."""
    os.ftruncate(descriptor, length)
    os.fsync(descriptor)


def sync(descriptor: int) -> None:
    """Make sure of what somebody else may have left in memory only."""
    os.fsync(descriptor)


def closed(descriptor: int) -> int:
    """Close a descriptor, if it is one; what to remember in its place."""
    if descriptor >= 0:
        os.close(descriptor)
    return -1
