"""Finding data files, reading them compressed or not, and checking that they are what they claim.

A set is looked for at the path that is given, in the folder of that set under `DISCREET_DATA`, or
in `DISCREET_DATA` itself. Nothing is downloaded, and nothing is written: files of a tar archive are
read where they are.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....errors import DamagedFile, InvalidArgument, NoData

if TYPE_CHECKING:
    from ...._types import Array

VARIABLE = "DISCREET_DATA"
PACKED = (".gz", ".xz")
LARGEST = 1 << 28
"""Bytes of a file in an archive that are read: no published one comes near."""


def folder_of(
    path: str | Path | None,
    name: str,
    usual: Iterable[str],
    where: str,
    holds: Callable[[Path], bool],
) -> Path:
    """Where a set is: at `path`, in DISCREET_DATA/name, DISCREET_DATA, or one of the `usual` places
    that hold it. `NoData` if no one named a place; a place that was named and lacks it is wrong."""
    if path is not None:
        given = Path(path)
        if not given.exists():
            raise InvalidArgument("path", f"be the folder of {name}", str(path), where)
        return given
    root = os.environ.get(VARIABLE)
    places = [Path(root) / name, Path(root)] if root else []
    for place in (*places, *(Path(one) for one in usual)):
        if place.is_dir() and holds(place):
            return place
    fix = f"{where}; then set {VARIABLE} to the folder above it or pass path="
    if root:
        rule = f"be given: {VARIABLE} ({root}) does not hold {name}"
        raise InvalidArgument("path", rule, path, f"{fix}; or unset {VARIABLE}")
    raise NoData("path", f"be given, or {VARIABLE} set, to read {name}", path, fix)


class Files:
    """The files of a folder, packed or not, or of a tar archive, by their names.

    An archive is gone through once, for the files that are `wanted`; the folders in it are ignored.
    """

    def __init__(self, place: Path, wanted: Collection[str]) -> None:
        self.place = place
        self._inside = _archived(place, wanted) if place.is_file() else None

    def __contains__(self, name: str) -> bool:
        if self._inside is not None:
            return name in self._inside
        return first_of(self.place, (name,)) is not None

    def read(self, name: str, fix: str) -> bytes:
        """The contents of a file; `fix` says what to do if it is not there."""
        if self._inside is not None and name in self._inside:
            return self._inside[name]
        file = None if self._inside is not None else first_of(self.place, (name,))
        if file is None:
            raise DamagedFile(f"{self.place} must hold {name}; {fix}")
        return read_bytes(file)


def _archived(archive: Path, wanted: Collection[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.rpartition("/")[2]
                if name in wanted and member.isfile():
                    if name in found or member.size > LARGEST:
                        raise tarfile.TarError(f"{name} twice, or of {member.size} bytes")
                    contents = tar.extractfile(member)
                    assert contents is not None
                    found[name] = contents.read()
    except (OSError, EOFError, lzma.LZMAError, zlib.error, tarfile.TarError) as error:
        raise DamagedFile(
            f"{archive} must be a folder or a tar archive, got {error}; fetch it again"
        ) from None
    return found


def read_bytes(path: Path) -> bytes:
    """The contents of a file, unpacked if its name says that it is packed."""
    try:
        data = _unpack(path)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DamagedFile(f"{path} must be readable, got {error}; fetch it again") from None
    return data


def _unpack(path: Path) -> bytes:
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            return packed.read()
    if path.suffix == ".xz":
        with lzma.open(path) as packed:
            return packed.read()
    return path.read_bytes()


def first_of(folder: Path, names: Iterable[str]) -> Path | None:
    """The first file of these names, packed or not."""
    for name in names:
        for ending in ("", *PACKED):
            if (folder / (name + ending)).is_file():
                return folder / (name + ending)
    return None


def digest_of(*arrays: Array) -> str:
    """SHA-256 of arrays' bytes, one after the other."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def check_digest(what: str, found: str, expected: str, fix: str) -> None:
    """Refuse contents that are not the published ones."""
    if found != expected:
        raise DamagedFile(
            f"{what} must have the SHA-256 digest {expected[:12]}…, got {found[:12]}…; {fix}"
        )
