"""Which rows of the catalogue can be used, with which options, and why the others cannot.

A row can be used if what it guarantees for the whole run implies view DP with the budget asked for
(with an untrusted server: if it is local). Beside its published options a row is offered with those
that its entry in the catalogue names, which play better in practice: α = 1 for the AdaP and AdaC
families, batches that grow by 1.5 for DP-IMED and DP-KLUCB, the experimental width for private UCB.
None of them touches the guarantee.

Policies with a `portion` of the horizon for their first batches are tuned: also with first batches
of the usual length, twice and four times that, up to a third of the horizon in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...policies import CATALOGUE, Policy
from ...policies._catalogue import Row
from ...policies._schedules import growth_of
from ...privacy._guarantees import Definition, Guarantee
from ...privacy.budgets import Approximate, Budget, Pure
from ._question import Question

TIMES, WIDEST = (1, 2, 4), 3
"""First batches that policies are tuned by, and the `portion` that limits them."""


@dataclass(frozen=True)
class Candidate:
    """A policy with options, as `plan` compares them.

    Example:
        >>> from discreet.theory.planning import Candidate
        >>> candidate = Candidate('adap-ucb', {'alpha': 1.0})
        >>> candidate.label, candidate.policy(1.0, 0.0).guarantee.short()
        ('adap-ucb (alpha = 1)', 'ε = 1 (interactive)')
    """

    row: str
    options: Mapping[str, object] = field(default_factory=dict)
    times: int | None = None
    """The first batch, as a multiple of the usual one; None for that one, with its usual limit."""

    @property
    def label(self) -> str:
        """ "adap-ucb (alpha = 1)"."""
        said = [f"{name} = {_short(value)}" for name, value in self.options.items()]
        if self.times is not None:
            said.append(f"first batch × {self.times}")
        return f"{self.row} ({', '.join(said)})" if said else self.row

    def settings(self, epsilon: float, delta: float) -> dict[str, object]:
        """The options at a budget, that of the first batch among them."""
        if self.times is None:
            return dict(self.options)
        own = CATALOGUE[self.row].policy(self.budget(epsilon, delta), **self.options)
        growth = growth_of(own.schedule, own.setting(2))
        assert growth is not None
        return {**self.options, "first": self.times * growth.first, "portion": WIDEST}

    def budget(self, epsilon: float, delta: float) -> Budget:
        """The budget of a kind that the row takes."""
        budget = budget_for(CATALOGUE[self.row], epsilon, delta)
        assert budget is not None
        return budget

    def policy(self, epsilon: float, delta: float) -> Policy:
        """The row for that budget."""
        options = self.settings(epsilon, delta)
        return CATALOGUE[self.row].policy(self.budget(epsilon, delta), **options)

    @property
    def each_round(self) -> bool:
        """Whether a simulated run costs time for every round."""
        return CATALOGUE[self.row].example().schedule.each_round

    def __hash__(self) -> int:
        return hash(self.label)


def budget_for(row: Row, epsilon: float, delta: float) -> Budget | None:
    """The budget that was asked for, if the row can keep it: pure rows keep (ε, δ) too."""
    if delta > 0.0 and (Approximate in row.budgets or Pure in row.budgets):
        return Approximate(epsilon, delta)
    return Pure(epsilon) if Pure in row.budgets else None


def candidates(asked: Question) -> tuple[list[Candidate], dict[str, str]]:
    """The policies that can be used, with their options; and the reason why each other cannot.

    Args:
        asked: The question.

    Returns:
        The candidates, and the reasons by name.

    Example:
        >>> from discreet.theory.planning import candidates, question
        >>> serving, refused = candidates(question([0.7, 0.4], horizon=300))
        >>> len(serving) > 0, refused['ucb1']
        (True, 'not private')
    """
    serving: list[Candidate] = []
    refused: dict[str, str] = {}
    for name, row in CATALOGUE.items():
        reason = refusal(row, asked)
        if reason:
            refused[name] = reason
        else:
            own = [Candidate(name, options) for options in ({}, *row.offered)]
            serving += own
            if "portion" in row.options:
                serving += tuned(own, asked)
    return serving, refused


def tuned(own: Sequence[Candidate], asked: Question) -> list[Candidate]:
    """The same with other first batches, each length once."""
    arms = min(len(means) for means in asked.scenarios)
    found = []
    for candidate in own:
        lengths = set()
        for times in (None, *TIMES):
            longer = replace(candidate, times=times)
            policy = longer.policy(asked.epsilon, asked.delta)
            length = growth_of(policy.schedule, policy.setting(arms, asked.horizon))
            if length not in lengths and times is not None:
                found.append(longer)
            lengths.add(length)
    return found


def refusal(row: Row, asked: Question) -> str:
    """Why a row cannot be used; empty if it can."""
    if not row.budgets:
        return "not private"
    budget = budget_for(row, asked.epsilon, asked.delta)
    if budget is None:
        if asked.delta:
            kinds = " or ".join(kind.kind for kind in row.budgets)
            return f"takes other kinds of budget ({kinds})"
        return "needs δ > 0"
    guarantee = row.policy(budget).guarantee
    if guarantee.definition is Definition.INSTANTANEOUS:
        return "guarantees ε for each single choice; the whole run costs many times as much"
    if asked.trust == "none":
        local = guarantee.definition is Definition.LOCAL
        return "" if local else "needs a server that sees true outcomes"
    if not guarantee.implies(Guarantee(asked.budget, Definition.VIEW)):
        return f"guarantees something else: {guarantee.short()}"
    return ""


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
