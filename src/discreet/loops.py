"""Other people's loops: gymnasium's environments, river's policies, and ours in theirs.

>>> import discreet
>>> from discreet.loops import BanditEnv, play
>>> env = BanditEnv(discreet.Bernoulli([0.9, 0.1]), horizon=200)
>>> played = play(discreet.policy("dp-imed", epsilon=1.0), env, seed=1)
>>> len(played.rewards), bool(played.arms.mean() < 0.5)
(200, True)

Nothing here imports gymnasium or river: an environment is what has `reset`, `step` and a discrete
`action_space`, a policy of river what has `pull` and `update`. Noise is simulated and seeded, as in
a rehearsal: it protects no one.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, Protocol, Self

from ._checks import check_seed, count
from ._compiled import Kernel
from .arms import Environment as Arms
from .errors import InvalidArgument
from .live import Rehearsal
from .policies._policy import BasePolicy

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._types import Floats, Ints
    from .simulator._own import Agent

__all__ = ["BanditEnv", "Gym", "Played", "RiverPolicy", "Space", "from_river", "play"]

NOTHING = 0
"""What a bandit shows before every choice."""


class Gym(Protocol):
    """What is asked of an environment of gymnasium."""

    action_space: Any

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""

    def step(self, action: Any, /) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """What an action brought: observation, reward, terminated, truncated, info."""


class Space:
    """{0, …, n - 1}, where gymnasium is not installed."""

    def __init__(self, n: int) -> None:
        self.n, self.start = n, 0

    def contains(self, action: object) -> bool:
        """Whether it is one of them."""
        return isinstance(action, int) and 0 <= action < self.n


def _space(n: int) -> Any:
    """gymnasium's, if it is installed."""
    try:
        return importlib.import_module("gymnasium").spaces.Discrete(n)
    except ImportError:
        return Space(n)


class BanditEnv:
    """A reward distribution as an environment of gymnasium, for agents that others wrote.

    An action is an arm, an episode `horizon` rounds. The observation is always 0; `info` has the
    pseudo-regret so far.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  gymnasium reads it so
    render_mode: str | None = None
    spec: Any = None

    def __init__(self, environment: Arms, horizon: int) -> None:
        if not isinstance(environment, Arms):
            raise InvalidArgument(
                "environment",
                "be a reward distribution",
                environment,
                "use discreet.Bernoulli([0.9, 0.1])",
            )
        self.environment = environment
        self.horizon = count("horizon", horizon, fix="use horizon=1000")
        self.action_space, self.observation_space = _space(environment.arms), _space(1)
        draw = environment.draw
        self._draw: Callable[..., tuple[float, int]] = (
            draw.interpreted() if isinstance(draw, Kernel) else draw
        )
        self._lost: Callable[..., float] = environment.lost
        self._standard = environment.standard(self.horizon)
        self._rng: Generator | None = None

    @property
    def unwrapped(self) -> Self:
        """Itself."""
        return self

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode; without a seed, the next one of the same generator."""
        import numpy as np

        if seed is not None or self._rng is None:
            self._rng = np.random.default_rng(None if seed is None else check_seed(seed))
        self._state, self._t, self._regret = self.environment.start(self._rng), 0, 0.0
        return NOTHING, {"regret": 0.0}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """The reward of an arm."""
        if self._rng is None or self._t >= self.horizon:
            raise InvalidArgument("action", "follow a reset", action, "call reset(seed=1)")
        arm = _arm(action, self.environment.arms)
        reward, served = self._draw(self._state, arm, 1, self._t, self._rng)
        if served == 0 and self.environment.refill(self._state, self._rng):
            reward, served = self._draw(self._state, arm, 1, self._t, self._rng)
        if served == 0:  # a list that is over
            return NOTHING, 0.0, True, False, {"regret": self._regret}
        self._regret += float(self._lost(self._standard, arm, self._t, 1))
        self._t += 1
        over = self._t >= self.horizon
        return NOTHING, float(reward), False, over, {"regret": self._regret}

    def render(self) -> None:
        """Nothing to see."""

    def close(self) -> None:
        """Nothing to close."""


def _arm(action: Any, arms: int) -> int:
    """A whole number, of any kind of integer."""
    try:
        arm = int(action)
    except (TypeError, ValueError):
        arm = -1
    if isinstance(action, float) or not 0 <= arm < arms:
        raise InvalidArgument("action", f"be an arm from 0 to {arms - 1}", action, "use 0")
    return arm


class Played:
    """What was played, and what it brought."""

    def __init__(self, arms: Ints, rewards: Floats) -> None:
        self.arms, self.rewards = arms, rewards

    def __repr__(self) -> str:
        return f"Played({len(self.rewards):,} rounds, mean reward {self.rewards.mean():.4g})"


def play(
    policy: BasePolicy[Never], env: Gym, *, horizon: int | None = None, seed: int = 1
) -> Played:
    """Play a policy in an environment of gymnasium, until it or the horizon ends.

    The actions are the arms, observations are not looked at: that is what a bandit is. Episodes
    that end are begun again, unless no horizon is given. Rewards must lie in the policy's range.
    """
    import numpy as np

    arms = getattr(env.action_space, "n", None)
    if arms is None:
        raise InvalidArgument(
            "env", "have a discrete action space", type(env).__name__, "wrap its action space"
        )
    most = None if horizon is None else count("horizon", horizon, fix="use horizon=1000")
    known = most if most is not None else getattr(env, "horizon", None)
    first = int(getattr(env.action_space, "start", 0))
    agent = Rehearsal(policy, int(arms), horizon=known, seed=check_seed(seed))
    env.reset(seed=int(seed))
    chosen: list[int] = []
    rewards: list[float] = []
    while most is None or len(chosen) < most:
        arm = int(agent.select())
        _, reward, terminated, truncated, _ = env.step(first + arm)
        agent.update(arm, float(reward))
        chosen.append(arm)
        rewards.append(float(reward))
        if terminated or truncated:
            if most is None:
                break
            env.reset()
    return Played(np.array(chosen, np.int64), np.array(rewards))


class RiverPolicy:
    """A policy of ours with the methods of river's: `pull(arm_ids)`, `update(arm, reward)`.

    >>> import discreet
    >>> policy = RiverPolicy(discreet.policy("dp-imed", epsilon=1.0), seed=1)
    >>> arm = policy.pull(["A", "B"])
    >>> policy.update(arm, 1.0)

    The arms are those of the first call, and stay the same.
    """

    def __init__(
        self, policy: BasePolicy[Never], *, horizon: int | None = None, seed: int = 1
    ) -> None:
        self.policy, self.horizon, self.seed = policy, horizon, seed
        self._agent: Rehearsal | None = None
        self._arms: list[Any] = []

    def pull(self, arm_ids: Sequence[Any]) -> Any:
        """The arm to play."""
        arms = list(arm_ids)
        if self._agent is None:
            self._arms = arms
            self._agent = Rehearsal(
                self.policy, len(arms), horizon=self.horizon, seed=check_seed(self.seed)
            )
        if arms != self._arms:
            raise InvalidArgument(
                "arm_ids", "stay the same", arms, "make a policy for every set of arms"
            )
        return self._arms[int(self._agent.select())]

    def update(self, arm_id: Any, reward: float) -> None:
        """What it brought."""
        if self._agent is None or arm_id not in self._arms:
            raise InvalidArgument("arm_id", "be the arm that was pulled", arm_id, "call pull first")
        self._agent.update(self._arms.index(arm_id), float(reward))

    def clone(self, new_params: dict[str, Any] | None = None) -> RiverPolicy:
        """A new one that has seen nothing, as river makes them."""
        own = {"policy": self.policy, "horizon": self.horizon, "seed": self.seed}
        return RiverPolicy(**(own | (new_params or {})))


class _River:
    """A policy of river as an agent."""

    def __init__(self, policy: Any, arms: int) -> None:
        self.policy, self.arms = policy, list(range(arms))

    def select(self) -> int:
        return int(self.policy.pull(self.arms))

    def update(self, arm: int, reward: float, /) -> None:
        self.policy.update(arm, reward)


def from_river(policy: Any, arms: int) -> Callable[[Generator], Agent]:
    """A policy of river for `discreet.simulate` and `compare`: every run has a new one, seeded if
    it takes a seed.

    discreet.compare([from_river(river.bandit.UCB(delta=1), 2), dp_imed], environment, horizon=1000)
    """
    for method in ("pull", "update"):
        if not callable(getattr(policy, method, None)):
            raise InvalidArgument(
                "policy", f"have {method}(), as river's policies have", type(policy).__name__,
                "give one of river.bandit",
            )  # fmt: skip
    arms = count("arms", arms, least=2, fix="use arms=2")

    def make(rng: Generator) -> Agent:
        fresh = copy.deepcopy(policy)
        if hasattr(policy, "clone"):
            seeded = {"seed": int(rng.integers(2**31))} if hasattr(policy, "seed") else {}
            fresh = policy.clone(seeded) if seeded else policy.clone()
        return _River(fresh, arms)

    make.__name__ = type(policy).__name__
    return make
