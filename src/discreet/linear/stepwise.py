"""A linear run one unit at a time: the simulator's loop, interpreted, on plain lists.

With public contexts a batch is an episode: the actions of its members make the determinant of the
design matrix grow, and the member whose action completes the growth is its last, whatever anybody
answers. With trees over private contexts a batch has a fixed number of members, each a leaf; other
rows of private contexts have batches that end at rounds fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

from ..compiled import Function
from ..errors import DamagedFile
from ..live.run import Run, as_lists
from ..privacy.source import SECURE
from .grid import Grid
from .row import LinearPolicy, RoundPolicy
from .view import Setting


class Kernels(NamedTuple):
    """The functions of a row, with secure noise filled in."""

    choose: Function
    follow: Function
    collect: Function
    publish: Function
    update: Function


class ContextRun(Run):
    """A run of a linear row in a live trial, `batch` members a release if contexts are private."""

    __slots__ = ("_alone", "_private", "arms", "batch", "closed", "dimension", "grid")
    PARTS: ClassVar[tuple[str, ...]] = ("view", "ledger")

    closed: bool
    """whether the open batch has all its members"""

    def __init__(self, policy: LinearPolicy, setting: Setting, batch: int, chance: Any) -> None:
        self.kernels: Kernels = secure_kernels(policy)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.arms, self.dimension, self.horizon = setting.arms, setting.dimension, setting.horizon
        self.grid: Grid = setting.grid
        self.chance, self.noise, self.batch = chance, None, batch
        assert isinstance(policy, RoundPolicy)
        self._private, self._alone = policy.release.private_contexts, policy.release.each_alone
        self.view = as_lists(policy.rule.first_view(setting))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.releases = [0]
        self.t, self.closed, self.cut, self.answer = 0, False, False, None

    @property
    def private_contexts(self) -> bool:
        return self._private

    def arm_for(self, context: list[float]) -> int:
        arm: int = self.kernels.choose(
            self.rule, self.view, context, self.arms, self.dimension, self.chance
        )
        return arm

    def action_of(self, context: list[float], arm: int) -> list[int]:
        start = arm * self.dimension
        return self.grid.features(context[start : start + self.dimension])

    def joined(self, action: list[int] | None, slot: int) -> Self:
        fits = isinstance(action, list) and len(action) == self.dimension
        if not fits or not all(type(feature) is int for feature in action or ()):
            raise DamagedFile("an assignment since the last release lacks its features")
        assert action is not None
        run = self.copy()
        features = self.grid.plain(action)
        due = self.kernels.follow(self.schedule, run.view, features, 0, self.dimension)
        run.closed = slot + 1 >= self.batch if self._alone else due
        if not run.closed and self.horizon is not None and self.t + slot + 1 >= self.horizon:
            run.closed = run.cut = True
        return run

    def is_full(self, filled: int) -> bool:
        return self.closed

    def finish_batch(self, actions: Mapping[int, list[int]], outcomes: Sequence[int]) -> None:
        kernels, d = self.kernels, self.dimension
        for slot, outcome in enumerate(outcomes):
            kernels.collect(self.release, self.ledger, actions[slot], 0, outcome, d)
            if self._alone:  # every member is a leaf
                kernels.publish(self.release, self.ledger, self.view, d, self.noise)
        if not self._alone:
            kernels.publish(self.release, self.ledger, self.view, d, self.noise)
        kernels.update(self.rule, self.view, d)
        self.releases[0] += 1
        self.t += len(outcomes)
        self.closed = self.cut = self.horizon is not None and self.t >= self.horizon

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"closed": self.closed}

    def restore(self, data: Any) -> None:
        super().restore(data)
        if type(data.get("closed")) is not bool:
            raise DamagedFile("the state of the run has no open batch")
        self.closed = data["closed"]


@lru_cache(maxsize=64)
def secure_kernels(policy: LinearPolicy) -> Kernels:
    """A row's functions, interpreted, with secure noise."""
    assert isinstance(policy, RoundPolicy)  # the others are refused before
    release, rule = policy.release, policy.rule
    return Kernels(
        rule.choose,
        policy.schedule.follow,
        release.kernel(release.collect, SECURE).interpreted(),
        release.kernel(release.publish, SECURE).interpreted(),
        rule.update,
    )
