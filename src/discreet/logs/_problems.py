"""Classification and regression as contextual problems: participants are real, means are lines.

Classification: a class is an arm, and the outcome of a participant under an arm is 1 if it is their
class. Regression: arms are so many values, the middles of equal parts of the participants, and the
outcome under a value v is 1 - |y - v| / (max y - min y). A table knows everyone's outcome under
every arm, which no trial does. To each arm a line in the features is fitted by least squares, and a
reward is 1 with the probability that the line gives. So participants, features and how well a line
tells the arms apart are those of the data; what a line cannot say is in the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._checks import count, one_of
from ..errors import InvalidArgument
from ._tables import columns_of, features_of, finite, picked

if TYPE_CHECKING:
    from .._types import Array, Floats
    from ..linear import LinearProblem

MOST_ARMS = 50
"""More different values of y are numbers, not classes; and lines are fitted to so many arms."""
RIDGE = 1e-6


def problem(
    X: object, y: object, *, kind: str | None = None, arms: int = 5, name: str = "data"
) -> LinearProblem:
    """A contextual problem for simulations, from features and what is to be predicted.

    Args:
        X: An array with one line per participant, a data frame, a dictionary of columns, or the
            path of a CSV or ARFF file.
        y: Values, or the name of a column of X.
        kind: "classification" or "regression". Default: words, and at most 50 whole numbers, are
            classes.
        arms: The number of arms that the values of a regression are cut into.
        name: What the problem is called.

    Returns:
        The problem, for `simulate` and `compare` with linear policies.

    Raises:
        InvalidArgument: If features and values do not fit together.

    Example:
        >>> import numpy as np
        >>> import discreet
        >>> X = np.random.default_rng(1).standard_normal((200, 3))
        >>> made = discreet.problem(X, X[:, 0] > 0)
        >>> made.contexts.arms, made.contexts.dimension
        (2, 8)
    """
    import numpy as np

    from ..linear._lines import problem_of_lines

    target: Array
    if isinstance(y, str):
        columns = columns_of(X)
        target = picked(columns, "y", y)
        points = features_of(columns, [column for column in columns if column != y])
    else:
        target, points = np.asarray(y), features_of(X)
    if target.ndim != 1 or len(target) != len(points):
        raise InvalidArgument(
            "y", "have one value per row of X", target.shape, "pass one value per participant"
        )
    kind = one_of("kind", kind, "classification", "regression") if kind else _kind(target)
    outcomes = _classes(target) if kind == "classification" else _values(target, arms)
    least = points.shape[1] + 2
    if len(points) < least:
        raise InvalidArgument("X", f"have at least {least} rows", len(points), "use fewer features")
    points = _centred(points)
    design = np.column_stack([np.ones(len(points)), points])
    square = design.T @ design + RIDGE * np.eye(design.shape[1])
    lines: Floats = np.asarray(np.linalg.solve(square, design.T @ outcomes), float)
    label = {"data": name, "kind": kind, "participants": len(points)}
    return problem_of_lines(points, np.clip(lines[0], 0.0, 1.0), lines[1:], label)


def _kind(target: Array) -> str:
    """Words and few whole numbers are classes."""
    import numpy as np

    if target.dtype.kind not in "f":
        return "classification"
    values = np.unique(target)
    few = len(values) <= MOST_ARMS and bool((values == np.round(values)).all())
    return "classification" if few else "regression"


def _classes(target: Array) -> Floats:
    """1 for everyone's own class."""
    import numpy as np

    classes, codes = np.unique(target, return_inverse=True)
    if not 2 <= len(classes) <= MOST_ARMS:
        raise InvalidArgument(
            "y", f"have 2 to {MOST_ARMS} classes", f"{len(classes)} classes",
            'use kind="regression" for numbers',
        )  # fmt: skip
    return np.eye(len(classes))[codes]


def _values(target: Array, arms: int) -> Floats:
    """How close everyone's number is to each of so many values, in [0, 1]."""
    import numpy as np

    size = count("arms", arms, least=2, most=MOST_ARMS, fix="use arms=5")
    numbers = finite("y", target)[:, 0]
    spread = float(numbers.max() - numbers.min())
    if spread == 0.0:
        raise InvalidArgument("y", "differ between participants", "one value", "check the column")
    values = np.quantile(numbers, (np.arange(size) + 0.5) / size)
    return np.asarray(1.0 - np.abs(numbers[:, None] - values[None, :]) / spread)


def _centred(points: Floats) -> Floats:
    """In standard deviations, two at most."""
    import numpy as np

    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0.0, 2.0 * spread, 1.0)
    scaled = np.clip(scaled, -1.0, 1.0)
    return np.asarray(scaled - scaled.mean(axis=0))
