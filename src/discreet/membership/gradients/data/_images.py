"""Labelled images as arrays, and the features that models are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float32, int64, uint8
    from numpy.typing import NDArray

    from ...._types import Array


@dataclass(frozen=True, eq=False)
class Images:
    """Grey (n, h, w) or coloured (n, h, w, 3) images of bytes, and a label for each.

    Example:
        >>> from discreet.membership.gradients import fashion_mnist_sample
        >>> images = fashion_mnist_sample()
        >>> images.classes, images.pixels.shape[1:]
        (10, (28, 28))
    """

    pixels: NDArray[uint8]
    labels: NDArray[int64]
    names: tuple[str, ...]
    """what the labels 0, 1, ... stand for"""
    source: str

    def __repr__(self) -> str:
        """One line: the arrays would fill thousands."""
        size = " × ".join(map(str, self.pixels.shape[1:]))
        return f"Images({self.source}: {len(self):,} of {size}, {self.classes} classes)"

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, which: Array | slice) -> Images:
        return Images(self.pixels[which], self.labels[which], self.names, self.source)

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return len(self.names)

    def scaled(self) -> NDArray[float32]:
        """The images with values in [0, 1]."""
        return self.pixels.astype(np.float32) / np.float32(255.0)

    def features(self, pool: int = 1) -> NDArray[float32]:
        """One row of values in [0, 1] per image; `pool` averages squares of that many pixels."""
        images = self.scaled()
        n, high, wide = images.shape[:3]
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1 or high % pool:
            raise InvalidArgument(
                "pool", f"be a whole number that divides {high}", pool, "use pool=1 for all pixels"
            )
        if pool > 1:
            cells = images.reshape(n, high // pool, pool, wide // pool, pool, -1)
            images = cells.mean(axis=(2, 4), dtype=np.float32)
        return np.ascontiguousarray(images.reshape(n, -1))
