"""The cells of a sweep: every policy with every setting that it takes, on every problem.

>>> import discreet
>>> easy, hard = discreet.Bernoulli([0.7, 0.3]), discreet.Bernoulli([0.7, 0.6])
>>> rows = built(["ucb1", "dp-imed"], {"epsilon": [0.1, 1.0]})
>>> cells = cells_of(rows, labelled([easy, hard]), [10_000])
>>> [cell.policy.name for cell in cells]
['ucb1', 'ucb1', 'dp-imed', 'dp-imed', 'dp-imed', 'dp-imed']

A setting goes to the policies that take it: UCB1 knows no ε, so it is played once a problem, not
once an ε. One that no one takes is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from ..arms import Environment
from ..errors import InvalidArgument, UnsupportedBudget
from ..identify._runs import asked_for, prepared
from ..linear._late import check_calendar
from ..linear._problem import LinearProblem
from ..linear._runs import check_problem, fitted
from ..policies._policy import BasePolicy
from ..policies._registry import ARGUMENTS, NUMBERS, WORDS, Entry, entry
from ..simulator._labels import problem_of
from ..simulator._own import OwnPolicy, Row, is_agent, own
from ..simulator._runs import calendar_of, check_environment, check_horizon, check_is_environment
from ..simulator.calendar._own import check_calendar as check_own_calendar
from ..simulator.calendar._runs import checked_size
from ..simulator.calendar._runs import prepared as prepared_trial

if TYPE_CHECKING:
    from ..simulator.calendar import Calendar

Problem = Environment | LinearProblem
Problems = Problem | Sequence[Problem] | Mapping[str, Problem]
Policies: TypeAlias = "str | Row | Sequence[str | Row]"


@dataclass(frozen=True)
class Cell:
    """One policy on one problem, up to a horizon; an identifying one has its risk inside."""

    policy: Any
    problem: Any
    name: str
    """what the problem is called"""
    horizon: int
    calendar: Calendar | None = None
    """how late outcomes come; None: they are known at once"""


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
    """Problems by label: a mapping has its own, others are called after their environment and
    arms."""
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
        raise InvalidArgument(
            "problems", "name at least one problem", problems, "add an environment"
        )
    return found


def _called(problem: Problem) -> str:
    if not hasattr(problem, "arms") or not hasattr(problem, "to_dict"):
        raise InvalidArgument(
            "problems", "be environments or linear problems", problem,
            "for example discreet.Bernoulli([0.7, 0.5])",
        )  # fmt: skip
    return problem_of(problem.to_dict(), problem.means)


def built(
    policies: Policies,
    grid: Mapping[str, Sequence[Any]],
    goal: str | None = None,
    late: bool = False,
) -> list[Any]:
    """Every policy with every setting that it takes; policies that are given as such have theirs,
    and so have objects with `select` and `update`, or what makes them. On a calendar those that
    identify are played beside the others."""
    one = isinstance(policies, str | BasePolicy) or not isinstance(policies, Iterable)
    several: list[Any] = [policies] if one else list(policies)  # type: ignore[arg-type]
    if not several:
        raise InvalidArgument("policies", "name at least one policy", several, "add one")
    rows: list[Any] = []
    untaken = set(grid)
    for row in several:
        if isinstance(row, BasePolicy):
            rows.append(row)
            continue
        if not isinstance(row, str):
            mine = own(row)
            if mine is None or (isinstance(row, type) and not is_agent(row)):
                raise InvalidArgument(
                    "policies", "be names or policies", row,
                    "name a policy, or give an object with select() and update()",
                )  # fmt: skip
            rows.append(mine)
            continue
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
    if len(kinds) > 1 and not (late and "linear" not in kinds):
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
                "name identifying policies, or use horizon=[1e6]",
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


@dataclass(frozen=True)
class Days:
    """Outcomes that come late: arrivals a day, and what is said of delays."""

    arrivals: float | None
    late: Mapping[str, Any]

    def of(self, environment: Problem) -> Calendar:
        """The calendar of a problem."""
        found = calendar_of(environment, self.arrivals, dict(self.late))  # type: ignore[arg-type]
        assert found is not None
        return found


def late_cells(
    rows: Sequence[Any],
    problems: Mapping[str, Any],
    horizons: Sequence[float],
    risks: Sequence[float | None],
    days: Days,
) -> list[Cell]:
    """The cells of a sweep on a calendar: a policy that identifies has a horizon there, too."""
    if risks != (None,) and not any(row.kind == "identify" for row in rows):
        raise InvalidArgument(
            "risk", "be left out where no policy stops with an answer", list(risks), "leave it out"
        )
    cells: list[Cell] = []
    for row, (name, problem) in itertools.product(rows, problems.items()):
        if isinstance(problem, LinearProblem) or row.kind == "linear":
            cells += _late_linear(row, problem, name, horizons, days)
            continue
        environment = check_is_environment(problem)
        calendar = days.of(environment)
        asked = [row]
        if row.kind == "identify":
            each = (None,) if row.fixed_size else risks
            asked = [asked_for(row, row.risk if risk is None else risk, None) for risk in each]
        for one, horizon in itertools.product(asked, horizons):
            check_environment(one, environment)
            size = check_horizon(checked_size(horizon, environment.arms), environment)
            if isinstance(one, OwnPolicy):
                check_own_calendar(one, calendar)
            else:
                prepared_trial(one, environment, calendar, size)
            cells.append(Cell(one, environment, name, size, calendar))
    return list(dict(_keyed(cells)).values())


def _late_linear(
    row: Any, problem: Any, name: str, horizons: Sequence[float], days: Days
) -> list[Cell]:
    _check_linear(row, problem)
    fitting, calendar = fitted(row, problem), days.of(problem)
    check_problem(fitting, problem)
    check_calendar(fitting, calendar)
    sizes = [check_horizon(checked_size(each, problem.arms), problem) for each in horizons]
    return [Cell(fitting, problem, name, size, calendar) for size in sizes]


def _keyed(cells: Iterable[Cell]) -> Iterable[tuple[Hashable, Cell]]:
    """A fixed-size policy has no risk, so it would be listed once a risk."""
    for cell in cells:
        yield (repr(cell.policy), cell.policy.label, cell.name, cell.horizon), cell


def _check_linear(row: BasePolicy[Never], problem: Problem) -> None:
    if isinstance(problem, LinearProblem) and row.kind == "linear":
        return
    raise InvalidArgument(
        "problems", f"suit {row.name}, which is {WORDS[row.kind]}", type(problem).__name__,
        "linear policies need a LinearProblem, the others an environment, as discreet.Bernoulli",
    )  # fmt: skip
