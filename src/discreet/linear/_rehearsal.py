"""A policy with contexts to play with, one participant at a time, in any loop.

>>> import discreet.linear as linear
>>> rehearsal = linear.Rehearsal(
...     linear.policy("adac-oful", rho=0.5), ["A", "B"], dimension=2, horizon=100, seed=1
... )
>>> arm = rehearsal.select([[1.0, 0.0], [0.0, 1.0]])
>>> rehearsal.update(arm, 1.0)

It takes the steps of the loop of `simulate`, interpreted, with simulated noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._checks import Name, check_arms, check_horizon, count
from .._compiled import Kernel
from ..errors import InvalidArgument, TrialError
from ..policies._step import fresh_state, parts_of
from ..privacy._guarantees import Guarantee
from ._loop import slots_of
from ._row import LinearPolicy, RoundPolicy
from ._view import LinearSetting

if TYPE_CHECKING:
    from .._types import Nested

CAVEAT = "a live trial draws the noise: that of a rehearsal can be replayed and protects no one"


class Rehearsal:
    """A policy with contexts, stepped by hand. It protects no one: its noise can be replayed.

    `select(actions)` says which arm a participant gets, from the features of every arm;
    `update(arm, reward)` what it brought. Rewards count at once.

    Args:
        policy: A policy with contexts, from `discreet.policy` or `discreet.linear.policy`.
        arms: Their names, or how many there are.
        dimension: How many features an arm has.
        horizon: How many participants there are at most.
        seed: Random seed, for reproducible results.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the policy plays fixed arms in phases.

    Example:
        >>> import discreet.linear as linear
        >>> row = linear.policy("blocks-ts", epsilon=1.0)
        >>> rehearsal = linear.Rehearsal(row, 2, dimension=4, horizon=50, seed=1)
        >>> rehearsal.select(linear.blocks([0.5, 1.0], arms=2)) in rehearsal.arms
        True
    """

    def __init__(
        self,
        policy: LinearPolicy,
        arms: int | Sequence[Name],
        dimension: int,
        *,
        horizon: float,
        seed: int | None = None,
    ) -> None:
        import numpy as np

        if not isinstance(policy, RoundPolicy):
            raise InvalidArgument(
                "policy", "be a policy that takes one context after the other",
                getattr(policy, "name", policy),
                'use for example discreet.policy("adac-oful", rho=0.5); discreet.Rehearsal plays '
                "policies without contexts",
            )  # fmt: skip
        if seed is not None:
            seed = count("seed", seed, least=0, fix="use for example seed=1")
        self.arms: tuple[Name, ...] = check_arms(arms)
        """The names of the arms."""
        self.policy = policy
        fix = "say how many features an arm has"
        self._dimension = count("dimension", dimension, fix=fix)
        rounds = check_horizon(horizon)
        if rounds is None:
            raise InvalidArgument("horizon", "be given", None, "use for example horizon=1000")
        self._horizon = rounds
        setting = LinearSetting(len(self.arms), self._dimension, rounds)
        self._parts, state = parts_of(policy, setting), fresh_state(policy, setting)
        self._ledger: Any = state.ledger
        self._view: Any = state.public
        self._steps = {name: Kernel(each).interpreted() for name, each in self._kernels().items()}
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._open: tuple[int, list[float]] | None = None
        self._played = [0] * len(self.arms)

    def _kernels(self) -> dict[str, Any]:
        return {"choose": self.policy.rule.choose, **slots_of(self.policy)}

    def select(self, actions: Nested) -> Name:
        """The arm of the next participant, from one list of features per arm. Asking again before
        `update` starts afresh, with other features."""
        if self.rounds >= self._horizon:
            raise TrialError(
                f"the horizon of {self._horizon} rounds is over, so no arm is selected; start "
                "another rehearsal, with a longer horizon"
            )
        flat = self._flat(actions)
        arm = self._chosen(flat)
        self._open = arm, flat
        return self.arms[arm]

    def _chosen(self, flat: list[float]) -> int:
        arm = self._steps["choose"](
            self._parts.rule, self._view, flat, len(self.arms), self._dimension, self._rng
        )
        return int(arm)

    def update(self, arm: Name, reward: float) -> None:
        """The reward that the selected arm brought."""
        if self._open is None or arm != self.arms[self._open[0]]:
            said = "none: call select first" if self._open is None else self.arms[self._open[0]]
            raise InvalidArgument(
                "arm", f"be the selected one, {said!r}", arm, "play the arm that select() returns"
            )
        try:
            value = float(reward)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise InvalidArgument("reward", "be a finite number", reward, "scale or clip it before")
        (number, flat), self._open = self._open, None
        d, parts, view = self._dimension, self._parts, self._view
        self._steps["collect"](parts.release, self._ledger, flat, number * d, value, d)
        if self._steps["follow"](parts.schedule, view, flat, number * d, d):
            self._steps["publish"](parts.release, self._ledger, view, d, self._rng)
            self._steps["update"](parts.rule, view, d)
        self._played[number] += 1

    def propensities(self, actions: Nested, draws: int = 1000) -> dict[Name, float]:
        """The probability of each arm for a participant with these features, given all releases.

        Exact for policies that draw nothing, for blocks, and for two arms; else the share of
        `draws` choices, with a standard error of sqrt(p(1 - p)/draws).
        """
        import numpy as np

        draws = count("draws", draws, fix="use for example draws=1000")
        flat, arms = self._flat(actions), len(self.arms)
        exact = None
        if not self.policy.rule.steady:
            exact = self.policy.rule.propensities(self._view, flat, arms)
        else:
            draws = 1
        if exact is None:
            mine, self._rng = self._rng, np.random.Generator(np.random.PCG64(0))
            try:
                chosen = [self._chosen(flat) for _ in range(draws)]
            finally:
                self._rng = mine
            exact = [chosen.count(arm) / draws for arm in range(arms)]
        return dict(zip(self.arms, exact, strict=True))

    def _flat(self, actions: Nested) -> list[float]:
        import numpy as np

        shape = (len(self.arms), self._dimension)
        try:
            found = np.asarray(actions, float)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape != shape or not np.isfinite(found).all():
            raise InvalidArgument(
                "actions", f"be {shape[0]} lists of {shape[1]} finite features, one per arm",
                actions, "discreet.linear.blocks makes one from the features of a participant",
            )  # fmt: skip
        flat: list[float] = found.ravel().tolist()
        return flat

    @property
    def rounds(self) -> int:
        """Rewards given so far."""
        return sum(self._played)

    @property
    def played(self) -> dict[Name, int]:
        """How often each arm was played."""
        return dict(zip(self.arms, self._played, strict=True))

    @property
    def guarantee(self) -> Guarantee:
        """What a live trial of this policy would promise. The rehearsal itself protects no one."""
        promised = self.policy.guarantee
        return replace(promised, conditions=(*promised.conditions, CAVEAT))

    def __repr__(self) -> str:
        return (
            f"<Rehearsal of {self.policy.name}, {len(self.arms)} arms, {self.rounds} rounds: "
            "simulated noise, protects no one>"
        )
