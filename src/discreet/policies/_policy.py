"""A policy is one line of one table: schedule × release × rule.

>>> from discreet.policies import AdaPKLUCB, ForgetLaplace, Geometric, Policy
>>> mine = Policy("mine", Geometric(ratio=1.5), ForgetLaplace(epsilon=0.5), AdaPKLUCB(alpha=1.0))
>>> print(mine.guarantee.short())
ε = 0.5 (interactive)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Never, TypeVar

from .._checks import check_is, count
from .._compiled import Function, Kernel
from .._notebooks import card
from ..errors import InvalidArgument
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._source import SIMULATED, Source
from ..privacy.budgets import Budget
from ._parts import ReleasePart, RulePart, SchedulePart
from ._registry import WORDS
from ._rules import Rule
from ._schedules import Schedule
from ._view import Empty, Setting
from .releases import Release

if TYPE_CHECKING:
    from ..privacy.verification import Verification

S = TypeVar("S", contravariant=True)

ONE_BATCH = "one batch"
"""The plan of policies whose arms cannot be played concurrently."""


@dataclass(frozen=True)
class BasePolicy(Generic[S]):
    """What policies of every kind are: a name, three parts, where it was published, how it was
    made.

    `recipe` is the call of `discreet.policy` that made a policy of the catalogue; `reference` its
    key in `discreet.references`.
    """

    name: str
    schedule: SchedulePart[S]
    release: ReleasePart[S]
    rule: RulePart[S]
    reference: str = ""
    recipe: Mapping[str, object] = field(default_factory=dict, compare=False)
    label: str = field(default="", compare=False, kw_only=True)
    """What results, tables and pictures call it; default: its name, and what sets it apart."""
    keeps: Budget | None = field(default=None, compare=False, kw_only=True)
    """A budget of another kind that was asked for; what the policy guarantees must imply it."""
    why: tuple[str, ...] = field(default=(), compare=False, kw_only=True, repr=False)
    """Why this policy, where `discreet.policy` was asked for a budget and no name."""
    kind: ClassVar[str]
    """"finite", "identify" or "linear": a key of `discreet.policies._registry.KINDS`."""
    made_of: ClassVar[dict[str, type]]
    """What each part must be."""

    def __post_init__(self) -> None:
        for argument, kind in self.made_of.items():
            check_is(argument, getattr(self, argument), kind, "see docs/extending.md for examples")
        if not self.name or not isinstance(self.name, str):
            raise InvalidArgument("name", "be a non-empty string", self.name, "give the row a name")
        if not isinstance(self.label, str) or self.label != self.label.strip():
            raise InvalidArgument(
                "label", "be text without spaces around it", self.label, 'for example label="ours"'
            )
        if self.keeps is not None:
            self.stated(self.guarantee)  # a budget that is not kept is refused

    def stated(self, derived: Guarantee) -> Guarantee:
        """A derived guarantee, with the budget that was asked for where that is of another kind."""
        return derived if self.keeps is None else replace(derived, keeps=self.keeps)

    @property
    def guarantee(self) -> Guarantee:
        """What the policy promises, derived from its parts."""
        raise NotImplementedError

    @property
    def is_private(self) -> bool:
        """Whether anything at all is promised."""
        return self.guarantee.is_private

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The range that rewards must lie in; None for any."""
        return None

    def compared(self, rows: Sequence[object], place: object, **study: object) -> object:
        """Runs of policies of a kind that the simulator of finite arms leaves to itself."""
        raise InvalidArgument(
            "policy", "be a row that runs to a horizon",
            f"{self.name}, which is {WORDS[self.kind]}",
            "use discreet.identify.identify, or `discreet identify` on the command line",
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Everything a reader needs to know about the policy, ready for JSON."""
        return {
            "name": self.name,
            "label": self.label,
            "schedule": str(self.schedule),
            "release": str(self.release),
            "rule": str(self.rule),
            "guarantee": self.guarantee.to_dict(),
            "bounds": None if self.bounds is None else list(self.bounds),
            "reference": self.reference,
            "recipe": dict(self.recipe),
        }

    def __str__(self) -> str:
        return f"{self.name} = {self.schedule} × {self.release} × {self.rule}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        entries = {
            "schedule": str(self.schedule), "release": str(self.release), "rule": str(self.rule),
            "guarantee": str(self.guarantee), "rewards": self._range(),
            "reference": self.reference, "chosen because": self.why,
        }  # fmt: skip
        return card(self.label or self.name, entries)

    def _range(self) -> str:
        return "" if self.bounds is None else f"in [{self.bounds[0]:g}, {self.bounds[1]:g}]"


@dataclass(frozen=True)
class Policy(BasePolicy[Setting]):
    """A policy for finite arms: when to release, how to release, and what to make of it.

    Its guarantee is derived from these three parts. `discreet.policy` makes published ones by name.

    Args:
        name: What it is called.
        schedule: When a batch of outcomes is released.
        release: How it is released, with which noise.
        rule: Which arm is played next, from releases alone.
        reference: The key of its paper in `discreet.references`.
        recipe: The call of `discreet.policy` that made it.
        label: What results call it. Default: its name.
        keeps: A budget of another kind that was asked for; the guarantee must imply it.
        why: Reasons for this policy, where it was chosen by its budget.

    Raises:
        InvalidArgument: If the parts do not fit together.

    Example:
        >>> import discreet
        >>> row = discreet.policy("dp-imed", epsilon=1.0)
        >>> print(row.schedule)
        geometric
    """

    schedule: Schedule
    release: Release
    rule: Rule
    kind: ClassVar[str] = "finite"
    made_of: ClassVar[dict[str, type]] = {"schedule": Schedule, "release": Release, "rule": Rule}

    def __post_init__(self) -> None:
        super().__post_init__()
        phases, set_by_rule = self.schedule.set_by_rule, self.rule.sets_phases
        if phases and not set_by_rule:
            raise InvalidArgument(
                "schedule", "be set by the rule where it is Phases", str(self.rule),
                "use an eliminating rule, or the schedules EachRound, Doubling or Geometric",
            )  # fmt: skip
        if set_by_rule and not phases and not self.rule.takes_any_schedule:
            raise InvalidArgument(
                "schedule", f"be Phases for {self.rule}, which sets the length of its phases",
                str(self.schedule), "use the schedule Phases()",
            )  # fmt: skip
        self.release.check_composition(self.schedule, self.rule)
        self.rule.check_release(self.release)

    @property
    def guarantee(self) -> Guarantee:
        """A rule that only sees private releases is post-processing. A rule that is handed exact
        means and randomises the choice pays for every choice: instantaneous privacy.
        """
        return self.guarantee_at(None)

    def guarantee_at(self, horizon: int | None) -> Guarantee:
        """The same for runs of so many rounds, where more of them cost more."""
        released = self.release.guarantee(self.schedule, horizon)
        if not released.is_private and self.rule.budget is not None:
            conditions = ("rewards lie in [0, 1]",)
            released = Guarantee(self.rule.budget, Definition.INSTANTANEOUS, conditions=conditions)
        return self.stated(released)

    def proved(self, arms: int = 3, horizon: int = 300, *, live: bool = False) -> Verification:
        """The claim beside what the policy's own kernels spend, found by running them on symbols.

        `discreet.verify` does this and plays a whole trial as well. `live`: with the whole-numbered
        noise of live trials. See `policies.verification`.
        """
        from ._verification import verify

        return verify(self, arms, horizon, live=live)

    @property
    def bounds(self) -> tuple[float, float] | None:
        return self.release.bounds or self.rule.bounds

    def setting(self, arms: int, horizon: int | None = None, source: Source = SIMULATED) -> Setting:
        """The policy put to work; checks that every part can be."""
        arms = check_size(arms, horizon)
        setting = Setting(arms, horizon, source, self.schedule, self.release)
        for part in (self.schedule, self.release, self.rule):
            part.parameters(setting)
        return setting

    def plan(self, setting: Setting) -> str:
        """How arms are played concurrently: a key of `discreet.protocol.PLANS`. "one batch" where
        the release pays for batches of lengths that are fixed in advance, or where the rule notes
        every batch in its turn and decides after it."""
        if not self.release.takes_any_block:
            return ONE_BATCH
        if self.rule.compares == "index":
            alone = type(self.rule.memory(setting)) is Empty
            return "index" if self.schedule.fixed_sizes and alone else ONE_BATCH
        if self.rule.compares == "looks":
            return "looks" if self.schedule.set_by_rule else ONE_BATCH
        return ONE_BATCH

    @property
    def kernels(self) -> dict[str, Function | Kernel]:
        """What it fills in of the steps of a trial, but for the release, whose noise has a
        source."""
        return {"choose": self.choose_kernel, "length": self.length_kernel}

    def stopping_parameters(self, setting: Setting) -> NamedTuple:
        """Of the rule that ends a trial with an answer; nothing for policies that play on."""
        return Empty()

    @property
    def has_epochs(self) -> bool:
        """Whether there is an index for differences within epochs: DP-IMED's."""
        return self.rule.within_epochs and self.schedule.grows and self.release.releases_cells

    @property
    def has_fixed_size(self) -> bool:
        """Whether it ends after a number of participants that is fixed in advance."""
        return False

    @property
    def choose_kernel(self) -> Kernel:
        """The rule's kernel."""
        return Kernel(self.rule.choose)

    @property
    def length_kernel(self) -> Kernel:
        """The schedule's kernel."""
        return Kernel(self.schedule.length)


def check_size(arms: int, horizon: int | None, least: int = 2) -> int:
    """Two arms or more, and a round for each of them."""
    arms = count("arms", arms, least=least, fix="a choice needs two arms")
    if horizon is not None and horizon < arms:
        raise InvalidArgument(
            "horizon", f"be at least the number of arms ({arms})", horizon,
            f"every arm must be played once: use horizon={arms} or more",
        )  # fmt: skip
    return arms


P = TypeVar("P", bound=BasePolicy[Never])


def served(policy: object, who: str, kind: type[P], *kinds: str, fix: str) -> P:
    """A policy that `who` can serve: of a class, and of one of some kinds. Others are refused."""
    if isinstance(policy, kind) and policy.kind in kinds:
        return policy
    rule = f"be a {' or '.join(WORDS[kind] for kind in kinds)} row for {who}"
    what = policy
    if isinstance(policy, BasePolicy):
        what = f"{policy.name}, which is {WORDS[policy.kind]}"
    raise InvalidArgument("policy", rule, what, fix)
