"""Names of the arrays that kernels pass around; imported for annotations alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Array = NDArray[Any]
"""Of numbers of any kind: gradients are float32 or float64, as the model is."""
Nested = ArrayLike
"""Nested lists of numbers, or an array."""
Json = Mapping[str, object]
"""An object as JSON has it, before its contents are checked."""
