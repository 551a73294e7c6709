"""A disk that crashes when it is told to, and knows what was safe by then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORLDS = ["kill", "plug", "mixed"]
THOROUGH = os.environ.get("DISCREET_CRASHES") == "all"
"""Crash at every operation, where a test leaves some out: `make crashes`."""


class Crash(BaseException):
    """The process ends here."""


class Disk:
    """The `os` of the disk module, which crashes at the k-th operation and knows what is safe."""

    def __init__(
        self, folder: Path, crash_at: int | None = None, before: Disk | None = None
    ) -> None:
        self.folder, self.crash_at, self.operations = folder, crash_at, 0
        self.crashed = False
        self.opened: dict[int, int | None] = {}
        self.renamed: dict[str, int] = {}
        self.names: dict[str, int]
        self.written: dict[int, bytes]
        self.safe_names: dict[str, int]
        self.safe: dict[int, bytes]
        if before is not None:  # only the process died: what was not safe still is not
            self.names, self.written = dict(before.names), dict(before.written)
            self.safe_names, self.safe = dict(before.safe_names), dict(before.safe)
            self.renamed = dict(before.renamed)
            return
        self.names = {path.name: number for number, path in enumerate(sorted(folder.iterdir()))}
        self.written = {self.names[p.name]: p.read_bytes() for p in folder.iterdir()}
        self.safe_names, self.safe = dict(self.names), dict(self.written)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def step(self, tear: Callable[[], None] = lambda: None) -> None:
        if not self.crashed and self.operations == self.crash_at:
            self.crashed = True
            tear()
        if self.crashed:
            raise Crash
        self.operations += 1

    def open(
        self, path: Path | str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        self.step()
        descriptor = os.open(path, flags, mode, dir_fd=dir_fd)
        if dir_fd is None:
            assert path == self.folder
            self.opened[descriptor] = None
            return descriptor
        name = str(path)
        if name not in self.names:
            self.names[name] = max(self.written, default=-1) + 1
            self.written[self.names[name]] = b""
        self.opened[descriptor] = self.names[name]
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        half = len(data) // 2
        self.step(lambda: self._write(descriptor, data[:half]))
        # short writes happen, too
        return self._write(descriptor, data[: max(1, len(data) - 3)])

    def _write(self, descriptor: int, data: bytes) -> int:
        inode = self.opened[descriptor]
        assert inode is not None
        self.written[inode] += data
        return os.write(descriptor, data) if data else 0

    def fsync(self, descriptor: int) -> None:
        self.step()
        inode = self.opened[descriptor]
        if inode is None:
            self.safe_names = dict(self.names)
            self.renamed.clear()
        else:
            self.safe[inode] = self.written[inode]

    def ftruncate(self, descriptor: int, length: int) -> None:
        self.step()
        inode = self.opened[descriptor]
        assert inode is not None
        self.written[inode] = self.written[inode][:length]
        os.ftruncate(descriptor, length)

    def replace(self, source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self.step()
        os.replace(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self.names[target] = self.renamed[target] = self.names.pop(source)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self.step()
        os.unlink(name, dir_fd=dir_fd)
        del self.names[name]

    def after_crash(self, world: str) -> None:
        """What is left on the disk."""
        if world == "kill":
            return
        for path in self.folder.iterdir():
            path.unlink()
        names = self.safe_names | (self.renamed if world == "mixed" else {})
        for name, inode in names.items():
            (self.folder / name).write_bytes(self.safe.get(inode, b""))
