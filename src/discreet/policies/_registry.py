"""The one catalogue: every published row by name, of whatever kind.

    finite     arms without features: `discreet.policies._catalogue`
    identify   the same, with a rule that stops and recommends: `discreet.identify._catalogue`
    linear     arms with features: `discreet.linear._catalogue`

>>> entry("adac-oful").kind, entry("adap-tt").title
('linear', 'AdaP-TT')
>>> entry("dp-se").kind, entry("dp-se", goal="identify").kind
('finite', 'identify')

A line of a catalogue is a builder with a name, kinds of budget and a reference:

    class Row(PolicyEntry[Policy]):
        kind: ClassVar[str] = "finite"
        catalogue: ClassVar[dict[str, Row]] = {}

    @Row.enter("adap-ucb", Pure, reference="azize2022")
    def _adap_ucb(budget: Pure, alpha: float = 3.1) -> Parts:
        \"""AdaP-UCB\"""

A builder takes the budget first, if the line is private, and options with defaults; the first line
of its docstring is the title. `entry("adap-ucb").policy(Pure(1.0), alpha=1.0)` builds the row.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Never,
    Self,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

from .._checks import LEAST, one_of
from ..errors import InvalidArgument, UnknownPolicy, UnsupportedBudget
from ..privacy.budgets import (
    ZCDP,
    Approximate,
    Budget,
    GaussianDP,
    Pure,
    Renyi,
    budget_from,
    budget_from_dict,
)
from ..privacy.budgets._serving import equivalent_pure

if TYPE_CHECKING:
    from .._types import Json
    from ._policy import BasePolicy

KINDS = {
    "finite": "discreet.policies._catalogue",
    "identify": "discreet.identify._catalogue",
    "linear": "discreet.linear._catalogue",
}
"""Where the rows of each kind are entered. A home is imported when a name is looked for in it: the
kinds that are built on this package are known to it by name alone."""
GOALS = {"regret": ("finite", "linear"), "identify": ("identify",)}
"""The kinds that serve a goal."""
WORDS = {"finite": "finite-armed", "identify": "identifying", "linear": "linear"}
"""What rows of each kind are called in messages."""

Built = TypeVar("Built", bound="BasePolicy[Never]", covariant=True)
Made = TypeVar("Made", bound="BasePolicy[Never]")
Builder = TypeVar("Builder", bound=Callable[..., object])

EXAMPLES: tuple[Budget, ...] = (Pure(1.0), ZCDP(0.5), Approximate(1.0, 1e-6))
"""The budgets that the printed table shows a row with: the first kind that it serves."""
ARGUMENTS: dict[type[Budget], str] = {
    Pure: "epsilon",
    Approximate: "epsilon and delta",
    ZCDP: "rho",
    Renyi: "epsilon and renyi_alpha",
    GaussianDP: "mu",
}
"""How a budget of each kind is asked for."""


NUMBERS = ("epsilon", "delta", "rho", "renyi_alpha", "mu")
"""The numbers of budgets, as they are asked for."""

_catalogues: dict[str, Mapping[str, Entry[BasePolicy[Never]]]] = {}


@dataclass(frozen=True)
class Entry(Generic[Built]):
    """A line of the catalogue: how to build a row, for which budgets, after which paper."""

    name: str
    title: str
    build: Callable[..., Any]
    budgets: tuple[type[Budget], ...]
    reference: str
    twin: str = ""
    """The row without privacy whose rule a private one adapts."""
    offered: tuple[Mapping[str, object], ...] = ()
    """Options that the planner tries beside the published ones."""
    kind: ClassVar[str]
    """A key of `KINDS`."""
    catalogue: ClassVar[dict[str, Any]]
    """All lines of the kind by name, in the order of the table."""
    argument: ClassVar[str] = "budget"
    """What the builder calls the budget."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "catalogue" in vars(cls):
            _catalogues[cls.kind] = cls.catalogue

    @classmethod
    def enter(
        cls,
        name: str,
        *budgets: type[Budget],
        reference: str,
        twin: str = "",
        offered: tuple[Mapping[str, object], ...] = (),
    ) -> Callable[[Builder], Builder]:
        """Enter a builder into the catalogue; its docstring is the title."""

        def enter(build: Builder) -> Builder:
            title = inspect.getdoc(build) or name
            cls.catalogue[name] = cls(
                name, title.splitlines()[0], build, budgets, reference, twin, offered
            )
            return build

        return enter

    @classmethod
    def named(cls, name: str) -> Self:
        """The line of that name and this kind."""
        if name not in cls.catalogue:
            raise _unknown(name, cls.kind)
        found: Self = cls.catalogue[name]
        return found

    @classmethod
    def serving(cls, kind: type[Budget]) -> list[str]:
        """The lines that are calibrated to a kind of budget, without a conversion."""
        return [entry.name for entry in cls.catalogue.values() if kind in entry.budgets]

    @property
    def private(self) -> bool:
        """Whether it takes a budget."""
        return bool(self.budgets)

    @property
    def optional(self) -> bool:
        """Whether it also does without."""
        return False

    @property
    def options(self) -> dict[str, object]:
        """The options beside the budget, with their defaults."""
        parameters = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in parameters if p.name != self.argument}

    @property
    def kinds(self) -> dict[str, object]:
        """The annotated type of every option."""
        hints = get_type_hints(self.build)
        return {name: hints[name] for name in self.options}

    def policy(self, budget: Budget | None = None, **options: object) -> Built:
        """The row for a budget."""
        raise NotImplementedError

    def asked(self, *, budget: Budget | None = None, **given: object) -> Built:
        """The row for a budget that is given as such, or by its numbers; the rest are options."""
        numbers = (cast("float | None", given.pop(name, None)) for name in NUMBERS)
        asked = budget_from(*numbers)  # which checks them
        if budget is not None and asked is not None:
            raise InvalidArgument(
                "budget", "be the only budget", str(asked), "give either budget or its numbers"
            )
        label = cast("str | None", given.pop("label", None))  # the row checks it
        made = self.policy(asked if budget is None else budget, **given)
        if label is None:
            return made
        return replace(made, label=label)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, object]) -> Built:
        """The row that a saved recipe names."""
        raise NotImplementedError

    @property
    def example_budget(self) -> Budget | None:
        """The budget that the printed table shows it with."""
        return next((b for b in EXAMPLES if isinstance(b, self.budgets)), None)

    def example(self) -> Built:
        """The row as the printed table shows it."""
        return self.policy(self.example_budget)

    def check(self, budget: object, options: dict[str, object]) -> None:
        """Refuse unknown options, and a budget that is missing or has no use."""
        for option in sorted(set(options) - set(self.options)):
            raise InvalidArgument(
                option, f"be an option of {self.name}", options[option],
                f"its options: {', '.join(self.options) or 'none'}",
            )  # fmt: skip
        for option, value in options.items():
            check_kind(option, value, self.kinds[option], self.options[option])
        check_size(budget)
        if budget is None and self.budgets and not self.optional:
            raise UnsupportedBudget(
                self.argument, f"be given: {self.name} is private", None, self.fix
            )
        if budget is not None and not self.budgets:
            private = [entry.name for entry in self.catalogue.values() if entry.budgets]
            served = self.serving(type(budget)) if isinstance(budget, Budget) else private
            raise UnsupportedBudget(
                self.argument, f"be left out: {self.name} is not private", budget,
                f"private rows: {', '.join(served)}",
            )  # fmt: skip

    def served(self, budget: Budget) -> Budget:
        """A budget that the builder takes: the one asked for, or the pure one that keeps it."""
        if isinstance(budget, Approximate) and budget.delta == 0.0 and Pure in self.budgets:
            return budget.to_pure()
        if not isinstance(budget, self.budgets):
            if Pure in self.budgets and isinstance(budget, Budget):
                return equivalent_pure(budget)
            others = ", ".join(self.serving(type(budget)))
            raise UnsupportedBudget(
                "budget", f"be {' or '.join(kind.kind for kind in self.budgets)} for {self.name}",
                budget, f"{self.fix}; or take one of {others}" if others else self.fix,
            )  # fmt: skip
        return budget

    def stating(self, made: Made, budget: Budget | None) -> Made:
        """The row, with the budget that was asked for where it keeps that by another kind."""
        if budget is None or budget.implies(self.served(budget)):
            return made
        return replace(made, keeps=budget)

    @property
    def fix(self) -> str:
        """How to ask for a budget that it serves."""
        return f"give {' or '.join(ARGUMENTS[kind] for kind in self.budgets)}"


@dataclass(frozen=True)
class PolicyEntry(Entry[Built]):
    """A line whose builder takes a `Budget` and gives schedule, release and rule."""

    def policy(self, budget: Budget | None = None, **options: object) -> Built:
        self.check(budget, options)
        parts = (
            self.build(**options) if budget is None else self.build(self.served(budget), **options)
        )
        recipe = {"name": self.name, "budget": None if budget is None else budget.to_dict()}
        return self.stating(self.composed(parts, recipe | options), budget)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, object]) -> Built:
        options = dict(recipe)
        name, budget = options.pop("name"), options.pop("budget", None)
        return cls.named(str(name)).policy(
            None if budget is None else budget_from_dict(cast("Json", budget)), **options
        )

    def composed(self, parts: tuple[Never, Never, Never], recipe: dict[str, object]) -> Built:
        """Schedule, release and rule put together."""
        raise NotImplementedError


OPTION_KINDS: dict[object, tuple[type, str]] = {
    float: (Real, "a number"),
    int: (Integral, "a whole number"),
    str: (str, "a word"),
    bool: (bool, "True or False"),
    type(None): (type(None), "None"),
}


def check_kind(option: str, value: object, annotation: object, default: object) -> None:
    """A value of the type that the option has."""
    kinds = get_args(annotation) or (annotation,)
    allowed = [OPTION_KINDS[kind] for kind in kinds if kind in OPTION_KINDS]
    is_bool = isinstance(value, bool)
    if not allowed or any(
        isinstance(value, kind) and (kind is bool or not is_bool) for kind, _ in allowed
    ):
        return
    raise InvalidArgument(
        option, f"be {' or '.join(words for _, words in allowed)}", value,
        f"its default is {option}={default!r}",
    )  # fmt: skip


def check_size(budget: object) -> None:
    """A budget that noise can be computed for."""
    numbers: dict[str, object] = {"epsilon": budget} if isinstance(budget, float) else {}
    if isinstance(budget, Budget):
        numbers = {n: v for n, v in budget.to_dict().items() if n not in ("kind", "delta")}
    for name, value in numbers.items():
        if isinstance(value, float) and 0.0 < value < LEAST:
            raise InvalidArgument(
                name, f"be at least {LEAST:g}", value, f"use for example {name}=0.01"
            )


def catalogue(kind: str) -> Mapping[str, Entry[BasePolicy[Never]]]:
    """All rows of a kind by name, in the order of the table."""
    importlib.import_module(KINDS[kind])
    return _catalogues[kind]


def every_entry() -> dict[str, Entry[BasePolicy[Never]]]:
    """All rows by name, finite-armed ones first; of two with one name the first."""
    found: dict[str, Entry[BasePolicy[Never]]] = {}
    for kind in KINDS:
        for name, line in catalogue(kind).items():
            found.setdefault(name, line)
    return found


def entry(name: str, goal: str | None = None) -> Entry[BasePolicy[Never]]:
    """The row of that name, of whatever kind; the first that serves the goal, if one is given."""
    kinds = list(KINDS)
    if goal is not None:
        kinds = [*GOALS[one_of("goal", goal, *GOALS)]]
    for kind in kinds:
        if name in catalogue(kind):
            return catalogue(kind)[name]
    if name in every_entry():
        raise UnknownPolicy(
            "policy", f"be a row for the goal {goal!r}", name,
            f"rows: {', '.join(line for kind in kinds for line in catalogue(kind))}",
        )  # fmt: skip
    raise UnknownPolicy.near(str(name), every_entry())


def row_from_recipe(recipe: Json) -> Any:
    """The row, of whatever kind, that a saved recipe names."""
    goal = cast("str | None", recipe.get("goal"))  # `entry` refuses what is none
    return entry(str(recipe["name"]), goal).from_recipe(recipe)


def _unknown(name: object, kind: str) -> UnknownPolicy:
    """No row of that kind: of another perhaps, else nearly spelt."""
    if name in every_entry():
        other = every_entry()[str(name)].kind
        return UnknownPolicy(
            "policy", f"be a row of the {WORDS[kind]} catalogue", name,
            f"it is a row of the {WORDS[other]} one: use discreet.policy({name!r}, ...)",
        )  # fmt: skip
    return UnknownPolicy.near(str(name), every_entry())
