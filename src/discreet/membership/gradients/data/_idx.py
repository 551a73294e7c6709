"""IDX files: the format of MNIST and Fashion-MNIST.

Two zero bytes, a type (8: unsigned bytes), the number of axes, each length as a big-endian 32-bit
number, then the bytes, last axis fastest.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....errors import DamagedFile
from ._files import read_bytes

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

UNSIGNED_BYTES = 8


def read_idx(path: Path) -> NDArray[uint8]:
    """The array in an IDX file of unsigned bytes, packed or not."""
    data = read_bytes(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != UNSIGNED_BYTES or not data[3]:
        raise DamagedFile(f"{path} must be an IDX file of unsigned bytes; fetch it again")
    axes = data[3]
    start = 4 + 4 * axes
    if len(data) < start:
        raise DamagedFile(f"{path} must hold {axes} lengths, got {len(data)} bytes; fetch it again")
    shape = struct.unpack(f">{axes}I", data[4:start])
    if len(data) - start != int(np.prod(shape, dtype=np.int64)):
        raise DamagedFile(
            f"{path} must hold {' × '.join(map(str, shape))} bytes, got {len(data) - start}; "
            "fetch it again"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
