"""A result: the runs of one policy in one environment, with all settings.

>>> import discreet
>>> arms = discreet.Bernoulli([0.7, 0.5])
>>> result = discreet.simulate(
...     discreet.policy("dp-imed", epsilon=1.0), arms, horizon=1e4, runs=20, seed=1
... )
>>> result.final_regret.shape, result.pulls.shape[2]
((20,), 2)
>>> search = discreet.identify(
...     discreet.policy("adap-tt", epsilon=1.0), arms, risk=0.05, runs=20, seed=1
... )
>>> search.error_rate <= 0.05, search.stopping_time.shape
(True, (20,))

Every study ends in one: a simulation, a search for the best arm, either with outcomes that come
late. All of them have regret, pulls, `stopping_time` and `recommendation`; what only some have
(`days`, `used`) is refused of the others by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from ..errors import InvalidArgument
from ..privacy._guarantees import Guarantee, guarantee_from_dict
from ._labels import problem_of
from ._record import (
    RECORDS,
    Figure,
    Probability,
    Tidy,
    figure,
    figures_of,
    finite,
    mean_and_error,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure as Picture

    from .._types import Array, Flags, Floats, Ints
    from ._plots import Look
    from .calendar import Calendar

MOVING = ("switching", "drifting", "reward-table")
"""Environments whose best arm may change from round to round."""
SEARCHED = ("stopping_time", "stopped", "recommendation")
"""What a search adds to every run."""


@dataclass(frozen=True, eq=False)
class Result(Tidy):
    """The runs of one policy: its regret and pulls, and what else was seen of every run.

    Arrays are indexed by run, then point of the grid `t`, then arm. `run` numbers the runs that
    were finished. A run that its environment could not serve to the end (a replayed log) has NaN
    after its end.

    Example:
        >>> import discreet
        >>> row, arms = discreet.policy("ucb1"), discreet.Bernoulli([0.7, 0.5])
        >>> result = discreet.simulate(row, arms, horizon=100, runs=3, seed=1)
        >>> result.runs, result.pulls.shape[2]
        (3, 2)
    """

    policy: dict[str, Any]
    environment: dict[str, object]
    means: tuple[float, ...]
    seed: int
    complete: bool
    seconds: float
    run: Ints
    counted: Ints
    """Pulls of every arm; of no arm at all if they were not kept."""
    horizon: int
    """The most rounds of a run."""
    t: Ints
    regret: Floats
    shuffle: bool = False
    """Whether every run met the arms in its own random order."""
    more: Mapping[str, Array] = field(default_factory=dict, kw_only=True)
    """What else there is of every run, by the names of columns: of a search `SEARCHED`; with
    arrivals `days`, `used`, `named`, `recommendation`, and `estimates` and `looks` of every arm."""
    calendar: Calendar | None = field(default=None, kw_only=True)
    """How outcomes came late; None where they came at once."""
    plan: str = field(default="", kw_only=True)
    """With arrivals: how arms were played, a key of `discreet.protocol.PLANS`."""
    problem: str = field(default="", kw_only=True)
    """What the problem is called; default: its environment and means."""

    def __post_init__(self) -> None:
        if not self.problem:
            object.__setattr__(self, "problem", problem_of(self.environment, self.means))

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        seen = [*self._seen(), runs]
        if self.is_search and self.risk is not None:
            seen.append(f"risk {self.risk:g}")
        seen += [self.guarantee.short(), f"seed {self.seed}"]
        return f"Result({self.label}: {', '.join(seen)}{'' if self.complete else ', interrupted'})"

    def _seen(self) -> list[str]:
        """The figures of the line."""
        if not self.runs:
            return ["no finished run"]
        late = self.calendar is not None
        who = "participants" if late else "samples" if self.is_search else "rounds"
        if self.is_search:
            said = [f"{mean_and_error(self.stopping_time)} {who}"]
        else:
            said = [f"regret {mean_and_error(self.final_regret)} at {self.horizon:,} {who}"]
        if late:
            said.append(f"{mean_and_error(self.days)} days")
        if self.is_search:
            return [*said, f"error rate {self.error_rate:.3g}"]
        return [*said, f"best arm named {self.best_named:.3g}"] if late else said

    def _repr_html_(self) -> str:
        """A table of one line, for notebooks."""
        from ._comparison import html_table

        return html_table((self,))

    # --- what was run -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The policy's name."""
        return str(self.policy["name"])

    @property
    def label(self) -> str:
        """What tables and pictures call it: unique among the policies of a comparison."""
        return str(self.policy.get("label") or self.policy["name"])

    def called(self, label: str, problem: str) -> Self:
        """The same under a label."""
        if (label, problem) == (self.label, self.problem):
            return self
        own = self.policy.get("label")
        given = {"given_label": own} if own and "given_label" not in self.policy else {}
        return replace(self, policy=self.policy | {"label": label} | given, problem=problem)

    @property
    def guarantee(self) -> Guarantee:
        """What the policy promised."""
        return guarantee_from_dict(self.policy["guarantee"])

    @property
    def runs(self) -> int:
        """Runs that were finished."""
        return len(self.run)

    @property
    def is_search(self) -> bool:
        """Whether it was asked how long an answer takes (`discreet.identify`)."""
        return "stopping_time" in self.more

    @property
    def outcome(self) -> tuple[str, Floats | Ints]:
        """What the study is about, and its value in every run."""
        if self.is_search:
            return "samples", self.stopping_time
        return "regret", self.final_regret

    def as_search(self) -> Self:
        """The same as the answer to how long a search takes."""
        found = {name: getattr(self, name) for name in SEARCHED}
        return replace(self, more={**self.more, **found})

    # --- regret and pulls -------------------------------------------------------------------------

    @property
    def kept(self) -> str:
        """What was kept of every run: "pulls", or "regret" alone."""
        return RECORDS[0] if self.counted.shape[-1] else RECORDS[1]

    @property
    def pulls(self) -> Ints:
        """Pulls of every arm at every point of the grid; refused if they were not kept."""
        if self.kept != RECORDS[0]:
            raise InvalidArgument(
                "record", "be \"pulls\" for results that are asked for pulls", self.kept,
                'run it again with record="pulls": a seed fixes every number',
            )  # fmt: skip
        return self.counted

    @property
    def final_pulls(self) -> Ints:
        """Pulls of every arm at the end of every run."""
        import numpy as np

        return np.asarray(self.pulls.max(axis=1))

    @property
    def mean_pulls(self) -> Floats:
        """Mean pulls of every arm at the end."""
        import numpy as np

        return np.asarray(self.final_pulls.sum(axis=0) / max(self.runs, 1))

    @property
    def final_regret(self) -> Floats:
        """The last recorded regret of every run: at the horizon, unless it ended before."""
        import numpy as np

        last = np.isfinite(self.regret).sum(axis=1) - 1
        return np.asarray(self.regret[np.arange(self.runs), last])

    @property
    def moving_regret(self) -> Floats:
        """Regret against the best arm of every round, where means move; else the same as `regret`.

        `regret` itself is held against the best fixed arm. No policy changes the difference.
        """
        from ..arms._catalogue import environment_from_dict

        if self.environment["environment"] not in MOVING:
            return self.regret
        import numpy as np

        return np.asarray(
            self.regret + environment_from_dict(self.environment).ahead(self.t, self.horizon)
        )

    @property
    def mean_regret(self) -> Floats:
        """Mean over runs at every point of the grid, over the runs that got there."""
        return _over_runs("mean", self.regret)

    @property
    def sd_regret(self) -> Floats:
        """Standard deviation over runs at every point of the grid (0 for a single run)."""
        return _over_runs("std", self.regret)

    # --- answers ----------------------------------------------------------------------------------

    @property
    def risk(self) -> float | None:
        """The risk of a wrong answer that was asked for; None if the policy gives none."""
        return self.policy.get("risk")

    @property
    def delta_correct(self) -> bool:
        """Whether a wrong answer is proved to have at most the probability `risk`. What is proved
        speaks of means that stay, and of arms whose outcomes are missing alike."""
        late = self.calendar
        alike = late is None or (late.drift is None and len(set(late.missing)) == 1)
        return alike and bool(self.policy.get("delta_correct", False))

    @property
    def stopping_time(self) -> Ints:
        """Participants of every run: all of the horizon, unless it ended before with an answer, or
        because its environment had no more."""
        import numpy as np

        if "stopping_time" in self.more:
            return self.more["stopping_time"]
        if self.kept != RECORDS[0]:  # the last point of the grid that was reached
            reached = np.isfinite(self.regret).sum(axis=1)
            return np.asarray(np.concatenate([[0], self.t])[reached])
        return np.asarray(self.final_pulls.sum(axis=1))

    participants = stopping_time

    @property
    def stopped(self) -> Flags:
        """Whether a run ended with an answer. A search that did not has a stopping time that is a
        lower bound, and a recommendation that is only what it would have been."""
        if "stopped" in self.more:
            return self.more["stopped"]
        return self.recommendation >= 0

    @property
    def recommendation(self) -> Ints:
        """The answer of every run; -1 for none."""
        import numpy as np

        return self.more.get("recommendation", np.full(self.runs, -1))

    @property
    def unfinished(self) -> int:
        """Runs that came to their end without an answer."""
        return int((~self.stopped).sum())

    @property
    def wrong(self) -> int:
        """Runs that stopped with an arm that is not best; of a policy with `xi`, not within xi of
        it, but for rounding."""
        import numpy as np

        means, margin = np.array(self.means), float(self.policy.get("xi") or 0.0)
        worse = means.max() - means[self.recommendation]
        return int((self.stopped & (worse > margin * (1.0 + 1e-9))).sum())

    @property
    def error_rate(self) -> float:
        """Share of runs that stopped with a wrong arm."""
        return self.wrong / self.runs if self.runs else math.nan

    @property
    def recommendations(self) -> list[int]:
        """How often every arm was the answer of a run that stopped."""
        import numpy as np

        answers = self.recommendation[self.stopped]
        return [int(count) for count in np.bincount(answers, minlength=len(self.means))]

    @property
    def declared(self) -> Probability:
        """Share of runs that ended with an answer."""
        return Probability.of(int(self.stopped.sum()), self.runs)

    @property
    def false_winners(self) -> Probability:
        """Share of runs that recommend an arm which is not the only best: with equal arms, every
        answer."""
        best = self.gaps == 0.0
        if best.sum() > 1:
            best[:] = False
        return Probability.of(int((self.stopped & ~best[self.recommendation]).sum()), self.runs)

    @property
    def gaps(self) -> Floats:
        """How much worse than the best every arm is."""
        import numpy as np

        return max(self.means) - np.array(self.means)

    @property
    def worse(self) -> Ints:
        """Participants on arms that are not best, of every run."""
        import numpy as np

        return np.asarray(self.final_pulls[:, self.gaps > 0.0].sum(axis=1))

    # --- with arrivals ----------------------------------------------------------------------------

    def _late(self, name: str) -> Array:
        if name not in self.more:
            raise InvalidArgument(
                "arrivals", f"be given for results that are asked for {name}", None,
                "run it again with for example arrivals=12, delay=14",
            )  # fmt: skip
        return self.more[name]

    @property
    def days(self) -> Floats:
        """From the first day to the answer, or to the last release."""
        return self._late("days")

    @property
    def used(self) -> Floats:
        """Share of participants whose outcomes entered a release."""
        return self._late("used")

    @property
    def named(self) -> Ints:
        """The arm with the largest released mean at the end; -1 if nothing was released."""
        return self._late("named")

    @property
    def estimates(self) -> Floats:
        """Released means of every arm at the end."""
        return self._late("estimates")

    @property
    def looks(self) -> Ints:
        """Full blocks released, of every arm."""
        return self._late("looks")

    @property
    def best_named(self) -> Probability:
        """Share of runs that end with a best arm on top."""
        best = (self.named >= 0) & (self.gaps[self.named] == 0.0)
        return Probability.of(int(best.sum()), self.runs)

    def widths(self, risk: float = 0.05) -> tuple[float, ...]:
        """Mean widths of intervals that hold for all arms and looks together with 1 - risk, for a
        declared default or no missing outcomes; 1 before the first look."""
        return tuple(each.mean for each in self.width_figures(risk))

    def width_figures(self, risk: float = 0.05) -> tuple[Figure, ...]:
        """The same, each with its error and what nine of ten runs see."""
        import numpy as np

        from ..policies._races import half_width
        from ..policies._registry import row_from_recipe
        from ..policies._schedules import growth_of

        row: Any = row_from_recipe(self.policy["recipe"]) if self.policy["recipe"] else None
        arms, growth = len(self.means), None
        if row is not None and row.release.releases_cells:
            growth = growth_of(row.schedule, row.setting(arms, self.horizon))
        if growth is None:
            raise InvalidArgument(
                "policy", "release running sums with Laplace noise for widths by formula",
                self.name, "rehearse it: the report of discreet.Rehearsal(...) has intervals",
            )  # fmt: skip
        first, ratio = growth
        by_look, mark = [1.0], first
        while mark <= self.horizon:
            wide = 2.0 * half_width(mark, len(by_look), arms, row.release.epsilon, risk)
            by_look.append(min(1.0, wide))
            mark += max(1, math.ceil((ratio - 1.0) * mark))
        widths = np.array(by_look)[np.minimum(self.looks, len(by_look) - 1)]
        return tuple(figure(widths[:, arm]) for arm in range(arms))

    # --- for others -------------------------------------------------------------------------------

    def summary(self) -> dict[str, object]:
        """Figures for JSON: numbers that are not finite become null."""
        regret = figures_of(self.final_regret)
        if len(self.t) > 1:
            regret["curve"] = {
                "t": self.t.tolist(),
                "mean": [finite(x) for x in self.mean_regret],
                "sd": [finite(x) for x in self.sd_regret],
            }
        return {
            "policy": self.label,
            "horizon": self.horizon,
            "runs": self.runs,
            "regret": regret,
            "pulls": self.mean_pulls.tolist() if self.kept == RECORDS[0] else None,
            "shuffle": self.shuffle,
            **(self._answers() if self.is_search or self.calendar is not None else {}),
            **({} if self.calendar is None else self._trials(self.calendar)),
            "problem": self.problem,
            "guarantee": self.guarantee.to_dict() | {"sentence": str(self.guarantee)},
            "seconds": finite(self.seconds),
            "seed": self.seed,
            "complete": self.complete,
        }

    def _answers(self) -> dict[str, object]:
        return {
            "risk": self.risk,
            "delta_correct": self.delta_correct,
            "stopping_time": figures_of(self.stopping_time),
            "error_rate": finite(self.error_rate),
            "recommendations": self.recommendations,
            "unfinished": self.unfinished,
        }

    def _trials(self, calendar: Calendar) -> dict[str, object]:
        return {
            "calendar": calendar.to_dict(),
            "plan": self.plan,
            "worse": figure(self.worse).to_dict(),
            "days": figure(self.days).to_dict(),
            "participants": figure(self.participants).to_dict(),
            "best_named": self.best_named,
            "declared": self.declared,
            "used": float(self.used.mean()),
        }

    def records(self) -> Sequence[Result]:
        """Itself alone."""
        return (self,)

    def axes(self) -> dict[str, Array]:
        """The coordinates of its arrays."""
        import numpy as np

        return {"run": np.asarray(self.run), "arm": np.arange(len(self.means)), "t": self.t}

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Its arrays by name, each with the names of its axes."""
        found: dict[str, tuple[tuple[str, ...], Array]] = {"regret": (("run", "t"), self.regret)}
        if self.environment["environment"] in MOVING:
            found["moving_regret"] = (("run", "t"), self.moving_regret)
        if self.kept == RECORDS[0]:
            found["pulls"] = (("run", "t", "arm"), self.counted)
        return found | {
            name: (("run", "arm")[: values.ndim], values) for name, values in self.more.items()
        }

    def table(self) -> pa.Table:
        """Tidy columns: policy, its settings, run, t, regret, pulls_0, pulls_1, …; of a search also
        stopping_time, stopped and recommendation"""
        from ._comparison import Comparison

        return Comparison((self,)).table()

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all settings and the version inside, whole or not at all."""
        from ._comparison import Comparison

        return Comparison((self,)).save(path)

    def plot(self, **options: Unpack[Look]) -> Picture:
        """The curve of regret, or of a search its mean samples: see
        `discreet.simulator._plots.Look`."""
        from ._comparison import Comparison

        return Comparison((self,)).plot(**options)


def _over_runs(what: str, regret: Floats) -> Floats:
    import numpy as np

    reached = np.isfinite(regret)
    count = reached.sum(axis=0)
    filled = np.where(reached, regret, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / count
        if what == "mean":
            return np.asarray(mean)
        square = np.where(reached, (regret - mean) ** 2, 0.0).sum(axis=0)
        return np.asarray(np.sqrt(square / np.maximum(count - 1, 1)) + 0.0 / count)
