"""Finding data files, reading them compressed or not, and checking that they are what they claim.

A set is looked for at the path that is given, in the folder of that set under `DISCREET_DATA`, or
in `DISCREET_DATA` itself. Nothing is downloaded.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import DamagedFile, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

VARIABLE = "DISCREET_DATA"
PACKED = (".gz", ".xz")


def folder_of(path: str | Path | None, name: str, usual: Iterable[str], where: str) -> Path:
    """The folder that holds a set: `path`, or DISCREET_DATA/name, or one of the `usual` ones."""
    if path is not None:
        given = Path(path)
        if not given.exists():
            raise InvalidArgument("path", f"be the folder of {name}", str(path), where)
        return given
    root = os.environ.get(VARIABLE)
    places = [Path(root) / name, Path(root)] if root else []
    for place in (*places, *(Path(one) for one in usual)):
        if place.is_dir() and any(place.iterdir()):
            return place
    raise InvalidArgument(
        "path", f"be given, or {VARIABLE} set, to read {name}", path, f"{where}; then set "
        f"{VARIABLE} to the folder above it or pass path=",
    )  # fmt: skip


def read_bytes(path: Path) -> bytes:
    """The contents of a file, unpacked if its name says that it is packed."""
    try:
        data = _unpack(path)
    except (OSError, EOFError, lzma.LZMAError) as error:
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


def digest_of(*arrays: NDArray[Any]) -> str:
    """SHA-256 of arrays' bytes, one after the other."""
    import numpy as np

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
