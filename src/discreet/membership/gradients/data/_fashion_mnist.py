"""Fashion-MNIST: 60,000 + 10,000 grey 28 × 28 images of ten kinds of clothes; a sample is shipped.

Reference: Xiao, Rasul & Vollgraf (2017). Licence: MIT, Zalando SE.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ....errors import DamagedFile, InvalidArgument
from ._files import check_digest, digest_of, first_of, folder_of
from ._idx import read_idx
from ._images import Images

NAMES = (
    "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip
WHERE = (
    "install the Debian package dataset-fashion-mnist, or fetch the four IDX files of "
    "github.com/zalandoresearch/fashion-mnist"
)
USUAL = ("/usr/share/datasets/fashion-mnist",)
"""Where Debian puts it."""
PARTS = {
    "train": ("train", 60_000, "16d82e2b505296aa2b78bd5ea0992634f30419a4c97def7c907d154a35ac6157"),
    "test": ("t10k", 10_000, "9f1ec356a747bfe4ebab3cfb722d3694c9ca737e2570f6f90cf31d7b6fd689d4"),
}
SAMPLE = Path(__file__).parent / "fashion_mnist_sample"


def fashion_mnist(
    path: str | Path | None = None, *, part: str = "train", check: bool = True
) -> Images:
    """Fashion-MNIST: the images of a part, "train" or "test", from IDX files, packed or not.

    Args:
        path: The folder. Default: where it is looked for unasked.
        part: "train" or "test".
        check: False accepts other contents of the same shape, such as MNIST itself.

    Returns:
        The images.

    Raises:
        NoData: If it is not on this machine.
        DamagedFile: If a file is missing, or not what it should be.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from discreet.errors import DiscreetError
        >>> from discreet.membership.gradients import fashion_mnist
        >>> with TemporaryDirectory() as folder:
        ...     try:
        ...         fashion_mnist(folder)  # where nothing is
        ...     except DiscreetError as error:
        ...         print(type(error).__name__)
        DamagedFile
    """
    if part not in PARTS:
        raise InvalidArgument("part", "be train or test", part, "use part='train'")
    prefix, count, digest = PARTS[part]
    folder = folder_of(path, "fashion-mnist", USUAL, WHERE, _holds)
    found = _read(folder, prefix, f"fashion-mnist {part}")
    if found.pixels.shape != (count, 28, 28):
        raise DamagedFile(
            f"{folder} must hold {count} images of 28 × 28, got {found.pixels.shape}; {WHERE}"
        )
    if check:
        check_digest(
            f"{part} of {folder}", digest_of(found.pixels, found.labels.astype("u1")), digest, WHERE
        )
    return found


@lru_cache(maxsize=1)
def fashion_mnist_sample() -> Images:
    """2,500 images that come with the package, 250 of every kind: nothing to download.

    >>> from discreet.membership.gradients import fashion_mnist_sample
    >>> len(fashion_mnist_sample())
    2500
    """
    found = _read(SAMPLE, "sample", "fashion-mnist sample")
    for array in (found.pixels, found.labels):
        array.flags.writeable = False
    return found


def _holds(folder: Path) -> bool:
    return any(_file(folder, prefix, "images-idx3") for prefix, _, _ in PARTS.values())


def _file(folder: Path, prefix: str, kind: str) -> Path | None:
    return first_of(folder, (f"{prefix}-{kind}-ubyte", f"{prefix}-{kind}.ubyte"))


def _read(folder: Path, prefix: str, source: str) -> Images:
    files = []
    for kind in ("images-idx3", "labels-idx1"):
        file = _file(folder, prefix, kind)
        if file is None:
            raise DamagedFile(f"{folder} must hold {prefix}-{kind}-ubyte; {WHERE}")
        files.append(read_idx(file))
    pixels, labels = files
    if pixels.ndim != 3 or labels.shape != pixels.shape[:1] or labels.max(initial=0) > 9:
        raise DamagedFile(
            f"{folder} must hold one label from 0 to 9 for each image, got shapes "
            f"{pixels.shape} and {labels.shape}; {WHERE}"
        )
    return Images(pixels, labels.astype(int), NAMES, source)
