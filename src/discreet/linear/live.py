"""Live trials with contexts: what is best for whom, with noise that nobody can replay.

>>> import discreet.linear as linear
>>> row = linear.policy("adac-oful", rho=0.5, low=0.0)
>>> trial = linear.Trial(row, arms=["A", "B"], dimension=4, horizon=1000)
>>> patient = [0.6, -0.3]
>>> arm = trial.assign("patient-1", linear.blocks(patient, arms=2))
>>> trial.record("patient-1", 1.0)
>>> print(trial.guarantee.short())
ρ = 0.5 (interactive)

Features and rewards are whole numbers inside (`grid`), so that what is summed and hidden is exact.
With public contexts the features of the arms that were given are kept, as public; with private
ones they are forgotten with the outcomes, and no count of any arm is shown: joint privacy covers
what all others see of a participant, and a count would show the participant's own arm.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from ..errors import InvalidArgument, UnsupportedBudget
from ..live.arguments import Name, Unshown, check_count, check_horizon, check_number
from ..live.chance import SystemChance
from ..live.experiment import Experiment
from ..privacy.guarantees import Definition
from .catalogue import CATALOGUE
from .releases import RoundRelease
from .row import LinearPolicy, RoundPolicy
from .stepwise import ContextRun
from .view import Setting

Rows = Any
"""One row of features an arm: nested lists of numbers, or an array."""
SLACK = 1e-9
"""By how much an action may be longer than declared, for its length is rounded."""


def blocks(features: Sequence[float], arms: int) -> list[list[float]]:
    """Actions for one parameter vector an arm: the features in block k for arm k, else zeros.

    >>> blocks([0.5, 1.0], arms=2)
    [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0]]
    """
    row, arms = [float(feature) for feature in features], check_count("arms", arms, "give 2")
    empty = [0.0] * len(row)
    return [[x for k in range(arms) for x in (row if k == arm else empty)] for arm in range(arms)]


def rows_of(actions: Rows) -> list[list[float]] | None:
    """Nested lists or an array as rows of finite floats; None if it is something else."""
    nested = actions.tolist() if hasattr(actions, "tolist") else actions
    try:
        rows = [[float(feature) for feature in row] for row in nested]
    except (TypeError, ValueError, OverflowError):
        return None
    return rows if all(math.isfinite(x) for row in rows for x in row) else None


def serves(policy: LinearPolicy) -> bool:
    """Whether a live trial can run a row: private, soundly, one context after the other."""
    return isinstance(policy, RoundPolicy) and policy.release.is_live


class Trial(Experiment[ContextRun]):
    """An adaptive experiment with features that keeps the outcomes of its units private.

    `assign(unit, actions)` takes one row of features an arm and says which arm the unit gets;
    `record(unit, outcome)` hands in what came of it. Units that arrive while a batch settles get
    the arm that is best for them so far, and their outcomes are not used.

    - `dimension`: features an arm has. `horizon`: how many assignments are used at most.
    - `longest`: a bound on the length of the actions; with private contexts, longer ones than 1
      are scaled to 1, and their outcomes with them.
    - `batch`: members a release, for rows with trees; the others make their own batches.
    - `deadline`, `default`, `contributions`, `path`, `clock`: as for `discreet.Trial`.

    Outcomes lie in the range that the row clips to: `low` and `high` of adac-oful, else [-1, 1].
    """

    policy: LinearPolicy
    _kind: ClassVar[type] = LinearPolicy
    _range_fix: ClassVar[str] = (
        "record what was measured, scaled to the range; adac-oful takes low=..., high=..."
    )

    def __init__(
        self,
        policy: LinearPolicy,
        arms: int | Sequence[Name],
        dimension: int,
        horizon: float,
        *,
        longest: float = 1.0,
        batch: int = 1,
        deadline: float | None = None,
        default: float = 0.0,
        contributions: int = 1,
        path: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        release = served_release(policy)
        grid = release.grid(1.0)
        super().__init__(
            policy, arms, outcome_range=(grid.low, grid.high), deadline=deadline, default=default,
            contributions=contributions, clock=clock,
        )  # fmt: skip
        self._dimension = check_count("dimension", dimension, "give the number of features")
        rounds = check_horizon(horizon)
        if rounds is None:
            raise InvalidArgument(
                "horizon", "be given for a trial with contexts", None, "use for example 10_000"
            )
        self._longest = check_number(
            "longest", longest, "be a number above 0", 0.0, "give a bound on the actions' length"
        )
        self._members = check_count("batch", batch, "use 1, or the members of a release")
        if self._members > 1 and not release.each_alone:
            raise InvalidArgument(
                "batch", "be left out for a row that makes its own batches", batch, "leave it out"
            )
        self._grid = release.grid(self._longest)
        setting = Setting(len(self._arms), self._dimension, rounds, self._grid)
        run = ContextRun(policy, setting, self._members, SystemChance())
        self._open(policy.release.guarantee(self._dimension), run, path)

    def assign(self, unit: Name, actions: Rows = None) -> Name:
        """The arm of a unit, given one row of features an arm; asking again gives the same one,
        and then the features are not needed."""
        return self._assign(unit, actions)

    def _checked(self, context: Any) -> list[float]:
        """The features as a flat list of multiples of the grid's unit."""
        private, arms, d = self.policy.release.private_contexts, len(self._arms), self._dimension
        rule = f"be {arms} rows of {d} finite features, one row an arm"
        fix = "pass nested lists or an array; linear.blocks makes one from a unit's features"
        if context is None:
            raise InvalidArgument("actions", f"{rule}, for a unit without an arm", None, fix)
        rows = rows_of(context)
        if rows is None or [len(row) for row in rows] != [d] * arms:
            shown = Unshown(type(context).__name__, "contexts") if private else context
            raise InvalidArgument("actions", rule, shown, fix)
        longest = max(math.hypot(*row) for row in rows)
        if not longest <= self._longest * (1.0 + SLACK):
            raise InvalidArgument(
                "actions", f"be no longer than longest = {self._longest:g}",
                Unshown("length", "contexts") if private else longest,
                "scale the features, or declare another bound when the trial is planned",
            )  # fmt: skip
        grid = self._grid
        return grid.plain(grid.features(feature for row in rows for feature in row))

    def _scaled(self, outcome: float) -> int:
        return self._grid.reward(outcome)

    def _settings(self) -> dict[str, Any]:
        return {"dimension": self._dimension, "longest": self._longest, "batch": self._members}

    @classmethod
    def _from_settings(cls, policy: LinearPolicy, state: Any, clock: Callable[[], float]) -> Self:
        return cls(
            policy, state["arms"], state["dimension"], state["horizon"], longest=state["longest"],
            batch=state["batch"], deadline=state["deadline"], default=state["default"],
            contributions=state["contributions"], clock=clock,
        )  # fmt: skip

    def _report(self) -> dict[str, Any]:
        run, view = self._batch.protocol, self._batch.protocol.view
        released = run.releases[0] > 0
        arms: list[dict[str, Any]] | None = None
        if self.guarantee.definition is not Definition.JOINT:
            arms = [
                {"arm": arm, "assigned": count}
                for arm, count in zip(self._arms, self._assigned, strict=True)
            ]
        return {
            "policy": str(self.policy),
            "guarantee": str(self.guarantee),
            "budget": self.guarantee.to_dict(),
            "status": self.status,
            "rounds": self.rounds,
            "horizon": run.horizon,
            "assigned": sum(self._assigned),
            "releases": run.releases[0],
            "estimate": view.estimate.copy() if released else None,
            "radius": view.width[0] if released else None,
            "arms": arms,
            "batch": {"filled": len(self._batch.units), "due": self._batch.due},
        }

    def estimates(self, actions: Rows) -> list[dict[str, Any]]:
        """For features as `assign` takes them: the estimated mean outcome of every arm, and how far
        the truth may be from it if the row's assumptions hold. Made of releases alone."""
        from .algebra import dot, squared_norm

        with self._lock:
            self._settle_if_due()
            context, view, d = self._checked(actions), self._batch.protocol.view, self._dimension
            return [
                {
                    "arm": name,
                    "mean": dot(context, arm * d, view.estimate, d),
                    "width": view.width[0]
                    * math.sqrt(max(squared_norm(context, arm * d, view.inverse, d), 0.0)),
                }
                for arm, name in enumerate(self._arms)
            ]

    def __str__(self) -> str:
        with self._lock:
            report = self._report()
        estimate = report["estimate"]
        shown = "none yet" if estimate is None else ", ".join(f"{x:.4g}" for x in estimate)
        lines = [
            f"Trial of {report['policy']}",
            f"{report['status']}: {report['assigned']} assigned, {report['rounds']} used, "
            f"{report['releases']} releases",
            f"estimate: {shown}",
        ]
        for row in report["arms"] or ():
            lines.append(f"{row['arm']!s:<16}{row['assigned']:>10} assigned")
        return "\n".join([*lines, report["guarantee"]])


def served_release(policy: object) -> RoundRelease:
    """The release of a row that a live trial with contexts can run; others are refused."""
    fix = f"rows that serve: {', '.join(name for name in CATALOGUE if serves(_example(name)))}"
    if not isinstance(policy, LinearPolicy):
        raise InvalidArgument(
            "policy", "be a linear row", str(policy), f"{fix}; discreet.Trial takes finite arms"
        )
    if not serves(policy) or not isinstance(policy, RoundPolicy):
        raise UnsupportedBudget(
            "policy", "be private whatever the contexts and outcomes are, one after the other",
            f"{policy.name}: {policy.guarantee.short()}", fix,
        )  # fmt: skip
    return policy.release


def _example(name: str) -> LinearPolicy:
    return CATALOGUE[name].example()
