"""A log: who was offered what, with which probability, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._checks import number
from ..errors import InvalidArgument
from ._tables import columns_of, features_of, finite, picked

if TYPE_CHECKING:
    from .._types import Floats, Ints


LEAST = 1e-12
"""Of propensities: weights stay numbers that can be counted with."""


@dataclass(frozen=True, eq=False)
class Log:
    """One row per participant. Its repr says how many they are and nothing of what came of it."""

    arms: tuple[object, ...]
    """what arms are called; rows name them by their place"""
    action: Ints
    reward: Floats
    propensity: Floats
    """the probability with which the action was taken"""
    context: Floats
    """features, no columns if there are none"""
    bounds: tuple[float, float]
    """the range that every reward lies in, known in advance"""

    def __len__(self) -> int:
        return len(self.action)

    def of(self, place: int) -> Log:
        """One participant alone."""
        rows = slice(place, place + 1)
        return replace(
            self, action=self.action[rows], reward=self.reward[rows],
            propensity=self.propensity[rows], context=self.context[rows],
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Log({len(self):,} participants, {len(self.arms)} arms, rewards in {self.bounds})"


def logged(
    frame: object,
    *,
    action: str,
    reward: str,
    propensity: str | float,
    context: str | Sequence[str] = (),
    bounds: tuple[float, float] = (0.0, 1.0),
    arms: Sequence[object] | None = None,
) -> Log:
    """A log from a data frame (pandas, polars, Arrow), a dictionary of columns, or a file.

    Args:
        frame: The data.
        action: The column of the arm that was chosen.
        reward: The column of the reward.
        propensity: The column of the probability of that choice, or one number for all.
        context: The columns of features.
        bounds: The range of the rewards. State it from what is measured, not from the data.
        arms: The names of the arms. Default: those that occur.

    Returns:
        The log.

    Raises:
        InvalidArgument: If a column is missing, or a value breaks its rule.

    Example:
        >>> import discreet
        >>> rows = {"arm": ["a", "b"], "won": [1.0, 0.0]}
        >>> len(discreet.logged(rows, action="arm", reward="won", propensity=0.5))
        2
    """
    import numpy as np

    columns = columns_of(frame)
    taken = picked(columns, "action", action)
    rewards = finite("reward", picked(columns, "reward", reward))[:, 0]
    names = tuple(np.unique(taken).tolist()) if arms is None else tuple(arms)
    places = {name: place for place, name in enumerate(names)}
    if len(places) < 2:
        raise InvalidArgument("arms", "be two different ones at least", names, "pass arms=[...]")
    if set(taken.tolist()) - set(places):
        raise InvalidArgument("arms", "hold every action of the log", names, "add what is missing")
    low, high = number("bounds", bounds[0]), number("bounds", bounds[1])
    if not low < high:
        raise InvalidArgument("bounds", "be two numbers that rise", bounds, "use bounds=(0.0, 1.0)")
    if ((rewards < low) | (rewards > high)).any():
        raise InvalidArgument(
            "reward", f"lie in [{low:g}, {high:g}]", "a value beyond", "pass other bounds"
        )
    if isinstance(propensity, str):
        shares = finite("propensity", picked(columns, "propensity", propensity))[:, 0]
    else:
        shares = np.full(len(rewards), number("propensity", propensity))
    if ((shares < LEAST) | (shares > 1.0)).any():
        raise InvalidArgument(
            "propensity", f"lie in [{LEAST:g}, 1]", "a value beyond",
            "pass the probability with which the action was taken",
        )  # fmt: skip
    wanted = [context] if isinstance(context, str) else list(context)
    features = features_of(columns, wanted) if wanted else np.zeros((len(rewards), 0))
    codes = np.array([places[name] for name in taken.tolist()], np.int64)
    return Log(names, codes, rewards, shares, features, (low, high))
