"""Trials with contexts: a linear row being stepped, and the features that units bring.

With public contexts a block is an episode: the actions of its members make the determinant of the
design matrix grow, and the member whose action completes the growth is its last, whatever anybody
responds. With trees over private contexts a block has a fixed number of members, each a leaf; other
rows of private contexts have blocks that end at rounds fixed beforehand.

Features and rewards are whole numbers inside (`Grid`), so that what is summed and hidden is exact.
With public contexts the features of the arms that were given are stored, as public; with private
ones they are erased with the outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

from .._checks import Unshown, count
from .._compiled import Function
from ..errors import DamagedFile, InvalidArgument, UnsupportedBudget
from ..linear._algebra import dot, squared_norm
from ..linear._catalogue import CATALOGUE
from ..linear._grid import Grid
from ..linear._releases import RoundRelease
from ..linear._row import LinearPolicy, RoundPolicy
from ..linear._view import LinearSetting
from ..privacy._secure import prepare
from ..privacy._source import SECURE
from ._lists import as_lists
from ._rules import Action
from ._run import Context, OneBlock, Outcomes

if TYPE_CHECKING:
    from .._types import Json, Nested
    from ._randomness import Draws

Features: TypeAlias = "Nested | None"
"""The features of every arm: nested lists of numbers, or an array."""
SLACK = 1e-9
"""By how much an action may be longer than declared, for its length is rounded."""


def blocks(features: Sequence[float], arms: int) -> list[list[float]]:
    """Actions for one parameter vector per arm: the features in block k for arm k, else zeros.

    >>> blocks([0.5, 1.0], arms=2)
    [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]
    """
    own, arms = [float(feature) for feature in features], count("arms", arms, fix="give 2")
    empty = [0.0] * len(own)
    return [[x for k in range(arms) for x in (own if k == arm else empty)] for arm in range(arms)]


class Kernels(NamedTuple):
    """The functions of a linear row, with secure noise filled in."""

    choose: Function
    follow: Function
    collect: Function
    publish: Function
    update: Function


class ContextRun(OneBlock):
    """A run of a linear row in a live trial, `batch` members per release if contexts are private.

    Actions are no longer than `longest`.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("view", "ledger")
    BEGUN: ClassVar[tuple[str, ...]] = ("view", "closed")
    MOVED: ClassVar[tuple[str, ...]] = ("cut", "view", "closed")

    closed: bool
    """whether the open block has all its members"""

    def __init__(
        self,
        policy: LinearPolicy,
        setting: LinearSetting,
        batch: int,
        longest: float,
        random: Draws,
    ) -> None:
        self.kernels: Kernels = secure_kernels(policy)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.arms, self.dimension, self.horizon = setting.arms, setting.dimension, setting.horizon
        self.grid: Grid = setting.grid
        self.random, self.noise, self.batch, self.longest = random, None, batch, longest
        self.private = policy.release.private_contexts
        release = served_release(policy)
        self.alone, self.needs = release.each_alone, release.needs
        self.view = as_lists(policy.rule.first_view(setting))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.releases = [0]
        self.t, self.closed, self.cut, self.answer, self.begun = 0, False, False, None, True

    def context(self, actions: Features) -> list[float]:
        """The features as a flat list of multiples of the grid's unit, if they are well formed."""
        d = self.dimension
        rule = f"be {self.arms} lists of {d} finite features, one per arm"
        fix = "pass nested lists or an array; linear.blocks makes one from a unit's features"
        if actions is None:
            raise InvalidArgument("actions", f"{rule}, for a unit without an arm", None, fix)
        shown = Unshown(type(actions).__name__, "contexts") if self.private else actions
        each = _lists_of_features(actions)
        if self.private:
            del actions
        if each is None or [len(features) for features in each] != [d] * self.arms:
            del each
            raise InvalidArgument("actions", rule, shown, fix)
        longest = max(math.hypot(*features) for features in each)
        if not longest <= self.longest * (1.0 + SLACK):
            length = Unshown("length", "contexts") if self.private else longest
            del each, longest
            raise InvalidArgument(
                "actions", f"be no longer than longest = {self.longest:g}", length,
                "scale the features, or declare another bound when the trial is planned",
            )  # fmt: skip
        grid = self.grid
        return grid.plain(grid.features(feature for features in each for feature in features))

    def choice(self, context: Context) -> tuple[int, Action | None]:
        assert context is not None  # `context` refuses a unit without
        arm: int = self.kernels.choose(
            self.rule, self.view, context, self.arms, self.dimension, self.random
        )
        start = arm * self.dimension
        return arm, self.grid.features(context[start : start + self.dimension])

    def joined(self, action: Action | None, slot: int) -> Self:
        fits = isinstance(action, list) and len(action) == self.dimension
        if not fits or not all(type(feature) is int for feature in action or ()):
            raise DamagedFile("an assignment since the last release lacks its features")
        assert action is not None
        run = self.copy()
        features = self.grid.plain(action)
        due = self.kernels.follow(self.schedule, run.view, features, 0, self.dimension)
        run.closed = slot + 1 >= self.batch if self.alone else due
        if not run.closed and self.horizon is not None and self.t + slot + 1 >= self.horizon:
            run.closed = run.cut = True
        return run

    def is_full(self, filled: int) -> bool:
        return self.closed

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        kernels, d = self.kernels, self.dimension
        for action, outcome in zip(actions, outcomes, strict=True):
            kernels.collect(self.release, self.ledger, action, 0, outcome, d)
            if self.alone:  # every member is a leaf
                self._hide()
        if not self.alone:
            self._hide()
        self.releases[0] += 1
        self.t += len(outcomes)
        self.closed, self.begun = True, False

    def _hide(self) -> None:
        """One release, whose noise is drawn before it in one window."""
        d = self.dimension
        prepare(self.needs(self.release, self.ledger, d))
        self.kernels.publish(self.release, self.ledger, self.view, d, self.noise)

    def begin(self) -> None:
        self.kernels.update(self.rule, self.view, self.dimension)
        self.closed = self.cut = self.horizon is not None and self.t >= self.horizon
        self.begun = True

    def abandon(self, filled: int) -> None:
        self.t += filled

    def public(self) -> dict[str, object]:
        return super().public() | {"closed": self.closed}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        closed = data.get("closed")
        if type(closed) is not bool:
            raise DamagedFile("the state of the run has no open block")
        self.closed = closed

    def estimates(self, actions: Features) -> list[tuple[float, float]]:
        """For every arm the estimated mean outcome, and how far the truth may be from it."""
        context, view, d = self.context(actions), self.view, self.dimension
        return [
            (
                dot(context, arm * d, view.estimate, d),
                view.width[0] * math.sqrt(max(squared_norm(context, arm * d, view.inverse, d), 0)),
            )
            for arm in range(self.arms)
        ]


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


def serves(policy: LinearPolicy) -> bool:
    """Whether a live trial can run a row: private, soundly, one context after the other."""
    return isinstance(policy, RoundPolicy) and policy.release.is_live


def served_release(policy: LinearPolicy) -> RoundRelease:
    """The release of a row that a live trial with contexts can run; others are refused."""
    if not serves(policy) or not isinstance(policy, RoundPolicy):
        served = ", ".join(name for name, row in CATALOGUE.items() if serves(row.example()))
        raise UnsupportedBudget(
            "policy", "be private whatever the contexts and outcomes are, one after the other",
            f"{policy.name}: {policy.guarantee.short()}", f"policies you can use: {served}",
        )  # fmt: skip
    return policy.release


def _lists_of_features(actions: Features) -> list[list[float]] | None:
    """Nested lists or an array as lists of finite floats; None if it is something else."""
    nested: Any = actions
    if hasattr(nested, "tolist"):
        nested = nested.tolist()
    try:
        each = [[float(feature) for feature in features] for features in nested]
    except (TypeError, ValueError, OverflowError):
        return None
    return each if all(math.isfinite(x) for features in each for x in features) else None
