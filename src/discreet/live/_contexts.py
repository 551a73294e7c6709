"""Trials with contexts: a linear row being stepped, and the features that units bring.

With public contexts a block is an episode: the actions of its members make the determinant of the
design matrix grow, and the member whose action completes the growth is its last, whatever anyone
responds. With trees over private contexts a block has a fixed number of members, each a leaf; other
rows of private contexts have blocks that end at rounds fixed in advance.

Features and rewards are whole numbers inside (`Grid`), so that what is summed and hidden is exact.
With public contexts the features of the arms that were given are stored, as public; with private
ones they are erased with the outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from .._checks import Name, Unshown, count
from .._compiled import Function, Kernel
from ..errors import DamagedFile, InvalidArgument, UnsupportedBudget
from ..linear._algebra import dot, squared_norm
from ..linear._catalogue import CATALOGUE
from ..linear._grid import Grid
from ..linear._quick import QUICK
from ..linear._releases import RoundRelease
from ..linear._row import LinearPolicy, RoundPolicy
from ..linear._view import LinearSetting
from ..privacy._secure import prepare
from ..privacy._source import SECURE
from ..protocol._state import NEVER
from ..protocol.plans._contexts import (
    MEMBERS,
    OVER,
    RELEASED,
    TAKEN,
    WAITS,
    ContextDesign,
    ContextHead,
    ContextVault,
    answer_by_context,
    release_by_context,
    seat_by_context,
    turn_by_context,
)
from . import _rules as rules
from ._lists import as_lists, restored
from ._randomness import SeenDraws
from ._rules import Action, Admission, Effect, Member, Place, Terms
from ._run import Blocks, Context, Due, Outcomes, Run, Standing

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


class Steps(NamedTuple):
    """Steps of the protocol with the functions of a policy and secure noise, interpreted."""

    turn: Function
    seat: Function
    answer: Function
    release: Function
    update: Function


class ContextRun(Run):
    """A run of a linear policy in a live trial, `batch` members per release if contexts are
    private. The protocol plays it (`protocol.plans._contexts`).

    Actions are no longer than `longest`.
    """

    head: ContextHead
    """all that is public, in lists"""

    def __init__(
        self,
        policy: LinearPolicy,
        setting: LinearSetting,
        batch: int,
        longest: float,
        random: Draws,
    ) -> None:
        release, rule = served_release(policy), policy.rule.parameters(setting)
        self.steps, self.needs = secure_steps(policy), release.needs
        assert setting.horizon is not None
        self.design = ContextDesign(
            policy.schedule.parameters(setting), policy.release.parameters(setting), rule,
            setting.arms, setting.dimension, setting.horizon, 0.0, batch, int(release.each_alone),
            0.0,
        )  # fmt: skip
        self.horizon, self.rule, self.chooser = setting.horizon, rule, policy.rule
        self.grid: Grid = setting.grid
        self.random, self.noise, self.longest = random, None, longest
        self.private = policy.release.private_contexts
        self.head = ContextHead(as_lists(policy.rule.first_view(setting)), [0] * 6, [NEVER])
        self.ledger = as_lists(policy.release.ledger(setting))
        self.begun, self.releases = True, [0]

    # --- what is public ---------------------------------------------------------------------------

    @property
    def view(self) -> Any:
        """What is released."""
        return self.head.seen

    @property
    def waits(self) -> bool:
        """Whether the block has all its members."""
        return self.head.at[WAITS] == 1

    @property
    def is_over(self) -> bool:
        return self.head.at[OVER] == 1 and not self.waits

    @property
    def has_ended(self) -> bool:
        return self.head.at[OVER] == 1

    def ended(self) -> Self:
        other = self.copy()
        other.head.at[OVER] = 1
        return other

    @property
    def cut(self) -> bool:
        return self.is_over and self.head.at[MEMBERS] > 0

    @property
    def key(self) -> str:
        """The name of the block that is open or waits."""
        return str(self.head.at[RELEASED] + 1)

    def context(self, actions: Features) -> list[float]:
        """The features as a flat list of multiples of the grid's unit, if they are well formed."""
        d, arms = self.design.dimension, self.design.arms
        rule = f"be {arms} lists of {d} finite features, one per arm"
        fix = "pass nested lists or an array; linear.blocks makes one from a unit's features"
        if actions is None:
            raise InvalidArgument("actions", f"{rule}, for a unit without an arm", None, fix)
        shown = Unshown(type(actions).__name__, "contexts") if self.private else actions
        each = _lists_of_features(actions)
        if self.private:
            del actions
        if each is None or [len(features) for features in each] != [d] * arms:
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

    # --- who gets which place, and what becomes of an outcome -------------------------------------

    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        """With a deadline a place is settled when its block is released, for it is private whether
        a unit has responded; without one that is public, and a response settles it."""
        block, over = blocks.get(self.key), self.head.at[OVER] == 1
        answers = {} if block is None or terms.deadline is not None else block.outcomes
        settled = member is None or member.block != self.key or member.slot in answers
        return rules.admit(member, not self.waits and not over, settled, over, terms)

    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> tuple[Member, Place | None, Run]:  # fmt: skip
        assert context is not None  # `context` refuses a unit without
        d = self.design.dimension
        coins = SeenDraws(self.random)
        arm: int = self.steps.turn(self.design, self.head, context, coins)
        if self.waits:
            return Member(arm), None, self
        run = self.copy()
        slot: int = self.steps.seat(run.design, run.head, context, arm, now)
        action = self.grid.features(context[arm * d : (arm + 1) * d])
        due = rules.closes(terms, now) if run.waits else None
        used = 1 if member is None else member.used + 1
        place = Place(unit, arm, due, action, run.private)
        share = None if self.private or coins.drawn else 1.0
        if coins.drawn and not self.private:
            each = self.chooser.propensities(self.view, context, self.design.arms)
            share = None if each is None else each[arm]
        return Member(arm, used, self.key, slot, share), place, run

    @property
    def no_propensity(self) -> str:  # type: ignore[override]
        """Why the probability of an arm is not known."""
        if self.private:
            return "it follows from features that are private"
        return "with more than two arms, the policy's probabilities have no closed form"

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        block = blocks.get(member.block)
        if block is None or self.cut:
            return "dropped"
        due = None if terms.deadline is None else block.due
        return rules.accept(member, due, terms, block.outcomes, value, now)

    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        status = "collecting" if self.begun else "stuck"
        if self.begun and (self.waits or self.is_over):
            status = "finished" if self.is_over else "settling"
        block, at = blocks.get(self.key), self.head.at
        return Standing(status, at[TAKEN], None if block is None else block.due, at[MEMBERS])

    # --- what is released -------------------------------------------------------------------------

    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        block = blocks.get(self.key)
        if not self.waits or block is None:
            return None
        due = rules.due_at(len(block.places), block.outcomes, block.due, terms, now)
        return None if due is None or now < due else Due(self.key, now)

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release the block, with all its noise from one window. Nothing else looks at outcomes."""
        design, members = self.design, len(outcomes)
        none: Any = [0] * (design.alone * members)
        vault = ContextVault(self.ledger, none * design.dimension, none)
        for slot, (action, outcome) in enumerate(zip(actions, outcomes, strict=True)):
            self.steps.answer(design, vault, slot, action, 0, outcome)
        times = members if design.alone else 1
        prepare(self.needs(design.release, self.ledger, design.dimension) * times)
        self.steps.release(design, self.head, vault, self.noise)
        self.begun, self.releases = False, [self.head.at[RELEASED]]

    def begin(self) -> None:
        self.steps.update(self.rule, self.head.seen, self.design.dimension)
        self.begun = True

    def abandon(self) -> None:
        self.head.at[MEMBERS] = 0

    def estimates(self, actions: Features) -> list[tuple[float, float]]:
        """For every arm the estimated mean outcome, and how far the truth may be from it."""
        context, view, d = self.context(actions), self.view, self.design.dimension
        return [
            (
                dot(context, arm * d, view.estimate, d),
                view.width[0] * math.sqrt(max(squared_norm(context, arm * d, view.inverse, d), 0)),
            )
            for arm in range(self.design.arms)
        ]

    # --- as JSON, and back ------------------------------------------------------------------------

    def copy(self) -> Self:
        other, head = super().copy(), self.head
        other.head = ContextHead(head.seen.copy(), list(head.at), list(head.when))
        return other

    def public(self) -> dict[str, object]:
        head = self.head
        return {"begun": self.begun, "at": list(head.at), "view": head.seen.to_dict()}

    def moved(self) -> dict[str, object]:
        public = self.public()
        return {name: public[name] for name in ("at", "view")}

    def _restore(self, data: Json) -> None:
        view = restored("view", self.head.seen, data)
        ledger = restored("ledger", self.ledger, data)
        at, begun = data.get("at"), data.get("begun")
        if type(at) is not list or len(at) != len(self.head.at) or type(begun) is not bool:
            raise DamagedFile("the state of the run has no open block")
        if not all(type(value) is int and value >= 0 for value in at):
            raise DamagedFile("the state of the run has no open block")
        self.head, self.ledger = ContextHead(view, list(at), [NEVER]), ledger
        self.begun, self.releases = begun, [at[RELEASED]]


@lru_cache(maxsize=64)
def secure_steps(policy: LinearPolicy) -> Steps:
    """The steps of a policy, interpreted, with secure noise."""
    assert isinstance(policy, RoundPolicy)  # the others are refused before
    release, rule = policy.release, policy.rule
    # what is public alone has NumPy's algebra where there are many features
    choose, follow, update = (
        Kernel(each, **QUICK) for each in (rule.choose, policy.schedule.follow, rule.update)
    )
    filled: dict[str, Any] = {
        "choose": choose, "follow": follow,
        "collect": release.kernel(release.collect, SECURE),
        "publish": release.kernel(release.publish, SECURE), "update": update,
    }  # fmt: skip
    steps = (turn_by_context, seat_by_context, answer_by_context, release_by_context)
    turn, seat, answer, release_it = (Kernel(step, **filled).interpreted() for step in steps)
    return Steps(turn, seat, answer, release_it, update.interpreted())


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
