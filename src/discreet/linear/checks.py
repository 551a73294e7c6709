"""Actions and contexts as arrays, or what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def action_array(argument: str, values: ArrayLike, dimensions: int = 2) -> NDArray[Any]:
    """A copy as a finite float array: actions × features, or rounds × actions × features."""
    import numpy as np

    shape = {1: "features", 2: "actions × features", 3: "rounds × actions × features"}[dimensions]
    rule, fix = f"be finite numbers, {shape}", "pass a NumPy array or nested lists"
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidArgument(argument, rule, values, fix) from None
    if array.ndim != dimensions or array.size == 0:
        raise InvalidArgument(argument, rule, f"shape {array.shape}", fix)
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0].item()
        raise InvalidArgument(argument, rule, bad, "replace NaN and infinity")
    array.setflags(write=False)
    return array


def positive(argument: str, value: Any, fix: str, most: float | None = None) -> float:
    """A finite number above 0, and below `most` if that is given."""
    import math

    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf
    if not good or (most is not None and value >= most):
        rule = "be a number above 0" if most is None else f"lie strictly between 0 and {most:g}"
        raise InvalidArgument(argument, rule, value, fix)
    return float(value)
