"""Which rows of the catalogue can serve, with which options, and why the others cannot.

A row serves if what it promises for the whole run implies view DP with the budget asked for (with
an untrusted server: if it is local). Beside its published options a row is offered with those that
play better in practice: α = 1 for the AdaP and AdaC families, batches that grow by 1.5 for DP-IMED
and DP-KLUCB, the experimental width for private UCB. None of them touches the promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...policies import CATALOGUE, EachRound, Policy
from ...policies.catalogue import Row
from ...privacy.budgets import Approximate, Budget, Pure
from ...privacy.guarantees import Definition, Guarantee
from .question import Question

OFFERED: dict[str, tuple[dict[str, Any], ...]] = {
    "adap-ucb": ({"alpha": 1.0},),
    "adap-klucb": ({"alpha": 1.0},),
    "adac-ucb": ({"alpha": 1.0},),
    "dp-imed": ({"ratio": 1.5},),
    "dp-klucb": ({"ratio": 1.5},),
    "private-ucb": ({"width": "experiment"},),
}
"""Options that are offered beside a row's own."""


@dataclass(frozen=True)
class Candidate:
    """A row with options."""

    row: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """ "adap-ucb (alpha = 1)"."""
        said = ", ".join(f"{name} = {_short(value)}" for name, value in self.options.items())
        return f"{self.row} ({said})" if said else self.row

    def policy(self, epsilon: float, delta: float) -> Policy:
        """The row for a budget of the kind that it serves."""
        budget = budget_for(CATALOGUE[self.row], epsilon, delta)
        assert budget is not None
        return CATALOGUE[self.row].policy(budget, **self.options)

    @property
    def each_round(self) -> bool:
        """Whether a simulated run costs time for every round."""
        return isinstance(CATALOGUE[self.row].example().schedule, EachRound)

    def __hash__(self) -> int:
        return hash(self.label)


def budget_for(row: Row, epsilon: float, delta: float) -> Budget | None:
    """The budget to calibrate a row to: pure if it can, (ε, δ) if it must and may."""
    if Pure in row.budgets:
        return Pure(epsilon)
    if delta > 0.0 and Approximate in row.budgets:
        return Approximate(epsilon, delta)
    return None


def candidates(asked: Question) -> tuple[list[Candidate], dict[str, str]]:
    """The rows that can serve, with their options; and the reason why each other cannot."""
    serving: list[Candidate] = []
    refused: dict[str, str] = {}
    for name, row in CATALOGUE.items():
        reason = refusal(row, asked)
        if reason:
            refused[name] = reason
        else:
            serving += [Candidate(name, options) for options in ({}, *OFFERED.get(name, ()))]
    return serving, refused


def refusal(row: Row, asked: Question) -> str:
    """Why a row cannot serve; empty if it can."""
    if not row.budgets:
        return "not private"
    budget = budget_for(row, asked.epsilon, asked.delta)
    if budget is None:
        if asked.delta:
            kinds = " or ".join(kind.kind for kind in row.budgets)
            return f"serves other kinds of budgets ({kinds})"
        return "needs δ > 0"
    guarantee = row.policy(budget).guarantee
    if guarantee.definition is Definition.INSTANTANEOUS:
        return "promises ε for each single choice; the whole run costs many times as much"
    if asked.trust == "none":
        local = guarantee.definition is Definition.LOCAL
        return "" if local else "needs a server that sees true outcomes"
    wanted: Budget = Approximate(asked.epsilon, asked.delta) if asked.delta else Pure(asked.epsilon)
    if not guarantee.implies(Guarantee(wanted, Definition.VIEW)):
        return f"promises something else: {guarantee.short()}"
    return ""


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
