"""The cells of a sweep: every policy with every setting that it takes, on every problem.

>>> import discreet
>>> easy, hard = discreet.Bernoulli([0.7, 0.3]), discreet.Bernoulli([0.7, 0.6])
>>> rows = built(["ucb1", "dp-imed"], {"epsilon": [0.1, 1.0]})
>>> cells = cells_of(rows, labelled([easy, hard]), [10_000])
>>> [cell.policy.name for cell in cells]
['ucb1', 'ucb1', 'dp-imed', 'dp-imed', 'dp-imed', 'dp-imed']

A setting goes to the policies that take it: UCB1 knows no ε, so it is played once a problem, not
once an ε. One that nobody takes is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

from ..arms import Environment
from ..errors import InvalidArgument, UnsupportedBudget
from ..identify._runs import prepared
from ..linear._problem import LinearProblem
from ..linear._runs import check_problem, fitted
from ..policies._policy import BasePolicy
from ..policies._registry import ARGUMENTS, NUMBERS, WORDS, Entry, entry
from ..simulator._labels import problem_of
from ..simulator._runs import check_environment, check_horizon

Problem = Environment | LinearProblem
Problems = Problem | Sequence[Problem] | Mapping[str, Problem]
Policies = str | BasePolicy[Never] | Sequence[str | BasePolicy[Never]]


@dataclass(frozen=True)
class Cell:
    """One policy on one problem, up to a horizon; an identifying one has its risk inside."""

    policy: Any
    problem: Any
    name: str
    """what the problem is called"""
    horizon: int


def values_of(name: str, given: object) -> list[Any]:
    """A setting as the list of its values; a single value is a list of one."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if not values:
        raise InvalidArgument(name, "have at least one value", values, f"leave {name} out")
    if len({repr(value) for value in values}) < len(values):
        raise InvalidArgument(name, "list every value once", values, "drop the repeated ones")
    return values


def labelled(problems: Problems) -> dict[str, Problem]:
    """Problems by label: a mapping has its own, others are called after their law and arms."""
    if isinstance(problems, Mapping):
        found = {str(label): problem for label, problem in problems.items()}
        for problem in found.values():
            _called(problem)
    else:
        several = problems if isinstance(problems, Sequence) else [problems]
        names = [_called(problem) for problem in several]
        found = {
            name if names.count(name) == 1 else f"{name} ({place + 1})": problem
            for place, (name, problem) in enumerate(zip(names, several, strict=True))
        }
    if not found:
        raise InvalidArgument("problems", "name at least one problem", problems, "add a law")
    return found


def _called(problem: Problem) -> str:
    if not hasattr(problem, "arms") or not hasattr(problem, "to_dict"):
        raise InvalidArgument(
            "problems", "be laws of rewards or linear problems", problem,
            "for example discreet.Bernoulli([0.7, 0.5])",
        )  # fmt: skip
    return problem_of(problem.to_dict(), problem.means)


def built(
    policies: Policies, grid: Mapping[str, Sequence[Any]], goal: str | None = None
) -> list[BasePolicy[Never]]:
    """Every policy with every setting that it takes; rows that are given as such have theirs."""
    if isinstance(policies, str | BasePolicy) or not isinstance(policies, Iterable):
        policies = [policies]
    several = list(policies)
    if not several:
        raise InvalidArgument("policies", "name at least one policy", several, "add one")
    rows: list[BasePolicy[Never]] = []
    untaken = set(grid)
    for row in several:
        if isinstance(row, BasePolicy):
            rows.append(row)
            continue
        if not isinstance(row, str):
            raise InvalidArgument(
                "policies", "be names or rows", row,
                "for objects with select() and update() use discreet.compare",
            )  # fmt: skip
        line = entry(row, goal)
        taken = [*_budget_names(line, grid), *(name for name in grid if name in line.options)]
        untaken -= set(taken)
        for values in itertools.product(*(grid[name] for name in taken)):
            rows.append(line.asked(**dict(zip(taken, values, strict=True))))
    for name in sorted(untaken):
        raise InvalidArgument(
            name, "be a setting of at least one of the policies", list(grid[name]),
            "drop it, or name a policy that takes it",
        )  # fmt: skip
    kinds = list(dict.fromkeys(row.kind for row in rows))
    if len(kinds) > 1:
        first, second = (next(row for row in rows if row.kind == kind) for kind in kinds[:2])
        raise InvalidArgument(
            "policies", "be of one kind",
            f"{first.name}, which is {WORDS[kinds[0]]}, and {second.name}, which is "
            f"{WORDS[kinds[1]]}", "sweep each kind by itself",
        )  # fmt: skip
    return rows


def _budget_names(line: Entry[BasePolicy[Never]], grid: Mapping[str, object]) -> list[str]:
    """The numbers of the budget that a policy is given: of all kinds that it serves and that the
    grid can state, the one that uses most of what was said."""
    given = {name for name in NUMBERS if name in grid}
    stated = [ARGUMENTS[kind].split(" and ") for kind in line.budgets]
    served = [names for names in stated if given.issuperset(names)]
    if served:
        return max(served, key=len)
    if line.budgets and not (line.optional and not given):
        raise UnsupportedBudget(
            "budget", f"be given: {line.name} is private", sorted(given) or None, line.fix
        )
    return []


def cells_of(
    rows: Sequence[Any],
    problems: Mapping[str, Any],
    horizons: Sequence[float] | None = None,
    risks: Sequence[float | None] = (None,),
    max_samples: float = 1e8,
) -> list[Cell]:
    """All cells, policies outermost, each checked and listed once."""
    cells: list[Cell] = []
    for row, (name, problem) in itertools.product(rows, problems.items()):
        if row.kind == "identify":
            for risk in risks:
                asked = None if getattr(row, "fixed_size", False) else risk
                one, limit = prepared(row, problem, asked, None, max_samples)
                cells.append(Cell(one, problem, name, limit))
            continue
        if not horizons or risks != (None,):
            given, rule, value = "horizon", "be given", None
            if horizons:
                given, rule, value = "risk", "be left out", list(risks)
            raise InvalidArgument(
                given, f"{rule} for {row.name}, which runs to a horizon", value,
                "name identifying rows, or use horizon=[1e6]",
            )  # fmt: skip
        fitting: Any = row
        if isinstance(problem, LinearProblem) or row.kind == "linear":
            _check_linear(row, problem)
            fitting = fitted(row, problem)
            check_problem(fitting, problem)
        else:
            check_environment(row, problem)
        cells += [
            Cell(fitting, problem, name, check_horizon(horizon, problem)) for horizon in horizons
        ]
    return list(dict(_keyed(cells)).values())


def _keyed(cells: Iterable[Cell]) -> Iterable[tuple[Hashable, Cell]]:
    """A fixed-size row has no risk, so it would be listed once a risk."""
    for cell in cells:
        yield (repr(cell.policy), cell.policy.label, cell.name, cell.horizon), cell


def _check_linear(row: BasePolicy[Never], problem: Problem) -> None:
    if isinstance(problem, LinearProblem) and row.kind == "linear":
        return
    raise InvalidArgument(
        "problems", f"suit {row.name}, which is {WORDS[row.kind]}", type(problem).__name__,
        "linear rows need a LinearProblem, the others a law such as discreet.Bernoulli",
    )  # fmt: skip
