"""Guarantees: a budget, the definition of privacy it is stated in, and whose data it covers.

    LOCAL ──> INTERACTIVE ──> TABLE ──> VIEW          pure budgets only: VIEW ──> TABLE ──> ADAPTIVE
      └─────> ADAPTIVE ─────────^

References: Azize 2024, chapter 3 (view, table, interactive); Jain et al. 2023 (adaptive continual
release); Wang & Zhu 2024 (instantaneous, global); Shariff & Sheffet 2018 (joint).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, cast

from discreet.errors import InvalidArgument, NoConversion

from .._checks import count, probability
from .._notebooks import card
from .budgets import Approximate, Budget, Pure, budget_from_dict

if TYPE_CHECKING:
    from ._tradeoff import Tradeoff


PUBLIC_STRATUM = "everyone belongs to one stratum, which is public"
"""What the guarantee of trials by stratum rests on."""


class Definition(Enum):
    """Who sees what, and what is allowed to change: the definition that a budget is stated in.

    Example:
        >>> import discreet
        >>> discreet.policy("dp-imed", epsilon=1.0).guarantee.definition
        <Definition.INTERACTIVE: 'interactive'>
    """

    LOCAL = "local"
    INTERACTIVE = "interactive"
    ADAPTIVE = "adaptive"
    TABLE = "table"
    VIEW = "view"
    JOINT = "joint"
    INSTANTANEOUS = "instantaneous"
    GLOBAL = "global"
    NONE = "none"


_WEAKER = {
    Definition.LOCAL: (Definition.INTERACTIVE, Definition.ADAPTIVE),
    Definition.INTERACTIVE: (Definition.TABLE,),
    Definition.ADAPTIVE: (Definition.TABLE,),
    Definition.TABLE: (Definition.VIEW,),
}
_WEAKER_PURE = _WEAKER | {
    Definition.TABLE: (Definition.VIEW, Definition.ADAPTIVE),
    Definition.VIEW: (Definition.TABLE,),
}

_SETTING = {
    Definition.LOCAL: "Anyone who collects the data, ",
    Definition.INTERACTIVE: "Whatever the other participants do, ",
    Definition.ADAPTIVE: "Even if someone picks every other outcome as the trial runs, ",
    Definition.TABLE: "Whatever each participant would have answered to each arm, ",
    Definition.VIEW: "Given the outcomes of all other participants, ",
    Definition.JOINT: "Even if all other participants pool what they saw, ",
    Definition.INSTANTANEOUS: "Given everything that happened before, ",
    Definition.GLOBAL: "On average over the outcomes of the other participants, ",
}
_KIND = {
    "pure": "pure",
    "approximate": "approximate",
    "zcdp": "zCDP",
    "renyi": "Rényi",
    "gaussian": "Gaussian",
}
_SEEN = {
    Definition.LOCAL: "any report that leaves the participant's hands",
    Definition.INTERACTIVE: "any sequence of assignments",
    Definition.ADAPTIVE: "any sequence of assignments",
    Definition.TABLE: "any sequence of assignments",
    Definition.VIEW: "any sequence of assignments",
    Definition.JOINT: "any sequence of later assignments to others",
    Definition.INSTANTANEOUS: "any one next assignment",
    Definition.GLOBAL: "any sequence of assignments",
}


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a policy promises: a budget, its definition, who is covered, and the conditions.

    Args:
        budget: The budget.
        definition: Who sees what, and what may change.
        unit: The number of outcomes of one participant that are protected together.
        conditions: Assumptions, in plain words, without which the guarantee is void.
        keeps: A budget of another kind that was asked for, and that `budget` implies.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> discreet.policy("dp-imed", epsilon=1.0).guarantee.short()
        'ε = 1 (interactive)'
    """

    budget: Budget
    definition: Definition
    unit: int = 1
    conditions: tuple[str, ...] = ()
    keeps: Budget | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise InvalidArgument("budget", "be a Budget", self.budget, "use for example Pure(1.0)")
        if not isinstance(self.definition, Definition):
            raise InvalidArgument(
                "definition", "be a Definition", self.definition, "use for example Definition.VIEW"
            )
        if self.definition is Definition.NONE and self.budget.is_finite:
            raise InvalidArgument(
                "definition", "say who is protected", self.definition, "use Guarantee.none()"
            )
        object.__setattr__(self, "unit", count("unit", self.unit, fix="use 1 for one outcome each"))
        given: object = self.conditions
        if not isinstance(given, tuple | list) or not all(isinstance(c, str) for c in given):
            raise InvalidArgument("conditions", "be a tuple of sentences", given, "write ('...',)")
        object.__setattr__(self, "conditions", tuple(given))
        if self.keeps is not None and not self.budget.implies(self.keeps):
            raise InvalidArgument(
                "keeps", f"be a budget that {self.budget} implies", self.keeps, "leave it out"
            )

    @classmethod
    def none(cls) -> Guarantee:
        """The guarantee of a policy that is not private."""
        return cls(Pure(math.inf), Definition.NONE)

    @property
    def is_private(self) -> bool:
        """False when the budget is infinite: nothing is promised to anyone."""
        return self.budget.is_finite

    def _repr_html_(self) -> str:
        """For notebooks."""
        said = {"in one sentence": str(self), "under the conditions": self.conditions}
        return card(self.short(), said)

    def implies(self, other: Guarantee) -> bool:
        """Whether this promise is proved to contain the other.

        Conditions are not compared: the other promise holds under this one's conditions, which
        anyone who uses the answer has to carry along.
        """
        if not other.is_private:
            return True
        if not self.is_private or self.unit < other.unit:
            return False
        return self.budget.implies(other.budget) and other.definition in self._definitions()

    def _definitions(self) -> set[Definition]:
        try:
            self.budget.to_pure()
            weaker = _WEAKER_PURE
        except NoConversion:
            weaker = _WEAKER
        reached, todo = set(), [self.definition]
        while todo:
            definition = todo.pop()
            if definition not in reached:
                reached.add(definition)
                todo.extend(weaker.get(definition, ()))
        return reached

    def over_run(self, rounds: int, delta: float | None = None) -> Guarantee:
        """The promise for a whole run: itself, except that an instantaneous one pays every round.

        Composition over T rounds gives view DP: (Tε, Tδ), or with a target δ the numerical
        composition of `accounting` when that is tighter. A run for which nothing is proved
        (Tδ >= 1) has an infinite budget.
        """
        rounds = count("rounds", rounds, fix="give the length of the run")
        if self.definition is not Definition.INSTANTANEOUS:
            return self
        whole = replace(self, definition=Definition.VIEW, keeps=None)
        try:
            basic: Budget = self.budget.times(rounds)
        except NoConversion:
            basic = Pure(math.inf)
        if delta is None or not self.is_private:
            return replace(whole, budget=basic)
        delta = probability("delta", delta, fix="choose a small number such as 1e-6")
        try:
            best = basic.to_approximate(delta)
        except NoConversion:
            best = Approximate(math.inf, delta)
        if delta > 0 and isinstance(self.budget, Pure | Approximate):
            from ._accounting import composed_epsilon

            epsilon = composed_epsilon([(self.budget, rounds)], delta)
            best = Approximate(min(best.epsilon, epsilon), delta)
        return replace(whole, budget=best)

    def for_user(self, m: int) -> Guarantee:
        """The promise to a user who contributes m times as many outcomes: group privacy."""
        m = count("m", m, fix="give the number of contributions of one user")
        if self.definition is Definition.GLOBAL and m > 1 and self.is_private:
            raise NoConversion(
                "m", "be 1 for global DP, whose average is over single outcomes", m, "use view DP"
            )
        if m == 1:
            return self
        return replace(self, budget=self.budget.group(m), unit=self.unit * m, keeps=None)

    def as_approximate(self, delta: float) -> Guarantee:
        """The same promise stated as (ε, δ)-DP."""
        return replace(self, budget=self.budget.to_approximate(delta), keeps=None)

    def tradeoff(self) -> Tradeoff:
        """What the promise means to a person: the power of the best attacker at every level.

        That of an instantaneous promise is about one assignment: see `over_run`.
        """
        from ._tradeoff import Tradeoff

        return Tradeoff(self.budget)

    def view_to_table(self, arms: int, rounds: int) -> Guarantee:
        """View DP as table DP: pure as it is, (ε, δ) as (ε, K^T δ) (Azize 2024)."""
        arms = count("arms", arms, fix="give the number of arms")
        rounds = count("rounds", rounds, fix="give the length of the run")
        if self.definition is not Definition.VIEW:
            raise InvalidArgument(
                "definition", "be VIEW", self.definition.name, "use implies() for the others"
            )
        if not self.is_private or self._definitions() >= {Definition.TABLE}:
            return replace(self, definition=Definition.TABLE)
        if not isinstance(self.budget, Approximate):
            raise NoConversion(
                "budget", "be pure or approximate", str(self.budget), "use as_approximate(delta)"
            )
        log_delta = math.log(self.budget.delta) + rounds * math.log(arms)
        delta = math.exp(log_delta) * (1.0 + 1e-9) if log_delta < 0 else 1.0
        if delta >= 1:
            raise NoConversion("delta", "keep K^T δ below 1", self.budget.delta, "lower delta")
        budget = Approximate(self.budget.epsilon, max(delta, self.budget.delta))
        return replace(self, budget=budget, definition=Definition.TABLE, keeps=None)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        said: dict[str, object] = {
            "budget": self.budget.to_dict(),
            "definition": self.definition.value,
            "unit": self.unit,
            "conditions": list(self.conditions),
        }
        return said if self.keeps is None else {**said, "keeps": self.keeps.to_dict()}

    def short(self) -> str:
        """For a table: "ε = 1 (interactive)", or "ε = 0.806 (interactive; keeps μ = 1)"."""
        if not self.is_private:
            return "not private"
        unit = "" if self.unit == 1 else f", {self.unit} outcomes each"
        kept = "" if self.keeps is None else f"; keeps {self.keeps}"
        return f"{self.budget} ({self.definition.value}{unit}{kept})"

    def __str__(self) -> str:
        """One sentence for a reader who has never met differential privacy."""
        if not self.is_private:
            return (
                "Protects no one: the assignments may reveal any participant's outcome "
                "to anyone who sees them."
            )
        one = "outcome" if self.definition is not Definition.JOINT else "outcome and description"
        changed = (
            f"changing one participant's {one}"
            if self.unit == 1
            else f"changing up to {self.unit} of one participant's outcomes"
        )
        kept = "" if self.keeps is None else f", which keeps {self.keeps}"
        label = f"({self.budget}, {_KIND[self.budget.kind]}, {self.definition.value} DP{kept})"
        parts = [_SETTING[self.definition], changed, " ", self._effect(), " ", label]
        if self.definition is Definition.INSTANTANEOUS:
            parts.append("; the whole run costs more, because every round pays again")
        if len(self.conditions) > 1:  # one of them may hold an "or" or an "and" itself
            numbered = (f"({n}) {text}" for n, text in enumerate(self.conditions, 1))
            parts += [", provided that ", "; ".join(numbered)]
        elif self.conditions:
            parts += [", provided ", self.conditions[0]]
        return "".join(parts) + "."

    def _effect(self) -> str:
        seen = _SEEN[self.definition]
        budget = self.budget
        if budget.is_perfect:
            return f"changes nothing about {seen}"
        if isinstance(budget, Pure | Approximate):
            e = budget.epsilon
            factor = f"e^{e:.6g}" + (f" = {math.exp(e):.3g}" if e < 50 else "")
            extra = ""
            if isinstance(budget, Approximate) and budget.delta > 0:
                extra = f", plus at most {budget.delta:.3g}"
            return f"changes the probability of {seen} by at most a factor {factor}{extra}"
        right = 50.0 * (1.0 + min(1.0, budget.attacker_advantage()))
        if right > 99.9:
            return f"changes {seen} by no more than the budget allows"
        return (
            f"changes {seen} so little that someone who guesses between two outcomes from it "
            f"is right at most {right:.1f} % of the time instead of 50 %"
        )


def guarantee_from_dict(data: Mapping[str, object]) -> Guarantee:
    """The guarantee that to_dict() wrote.

    Args:
        data: What `to_dict` gave.

    Returns:
        The guarantee.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> from discreet.privacy import guarantee_from_dict
        >>> guarantee = discreet.policy('dp-imed', epsilon=1.0).guarantee
        >>> guarantee_from_dict(guarantee.to_dict()) == guarantee
        True
    """
    keys = {"budget", "definition", "unit", "conditions"}
    if not isinstance(data, Mapping) or set(data) - {"keeps"} != keys:
        raise InvalidArgument(
            "guarantee", f"have exactly the keys {', '.join(sorted(keys))}", data, "see to_dict()"
        )
    known = [d.value for d in Definition]
    if data["definition"] not in known:
        raise InvalidArgument(
            "definition", f"be one of {', '.join(known)}", data["definition"], "see Definition"
        )
    conditions = data["conditions"]
    if not isinstance(conditions, list | tuple):
        raise InvalidArgument("conditions", "be a list of sentences", conditions, "see to_dict()")
    keeps = data.get("keeps")
    return Guarantee(
        budget_from_dict(cast("Mapping[str, object]", data["budget"])),
        Definition(data["definition"]),
        cast("int", data["unit"]),
        tuple(conditions),
        None if keeps is None else budget_from_dict(cast("Mapping[str, object]", keeps)),
    )
