"""What trials and races on a calendar came to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InvalidArgument
from ...policies._races import half_width
from .._record import finite, mean_and_error
from .._results import Result
from ._setting import Calendar

if TYPE_CHECKING:
    from ..._types import Floats, Ints


@dataclass(frozen=True)
class Figure:
    """A mean with its standard error, and what nine of ten trials see."""

    mean: float
    error: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """JSON-ready."""
        return asdict(self)


class Probability(float):
    """A share of trials, and the 95 % interval of the probability behind it (Clopper & Pearson)."""

    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> Probability:
        """From independent trials."""
        from scipy.special import betaincinv

        own = cls(hits / trials)
        own.low = float(betaincinv(hits, trials - hits + 1, 0.025)) if hits > 0 else 0.0
        own.high = float(betaincinv(hits + 1, trials - hits, 0.975)) if hits < trials else 1.0
        return own

    def to_dict(self) -> dict[str, float]:
        """JSON-ready."""
        return {"mean": float(self), "low": self.low, "high": self.high}


def figure(values: Floats | Ints) -> Figure:
    """Mean, standard error, 5 % and 95 % quantiles."""
    import numpy as np

    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    low, high = np.quantile(values, [0.05, 0.95])
    return Figure(float(values.mean()), error, float(low), float(high))


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialResult(Result):
    """Trials with late outcomes: a `Result`, and what only a trial has. Arrays are indexed trial,
    then arm."""

    calendar: Calendar
    plan: str
    """How arms were played: a key of `discreet.protocol.PLANS`."""
    estimates: Floats
    """Released means at the end."""
    looks: Ints
    """Full blocks released."""
    days: Floats
    """From the first day to the answer, or to the last release."""
    named: Ints
    """The arm with the largest released mean at the end; -1 if nothing was released or seen."""
    used: Floats
    """Share of participants whose outcomes entered a release."""
    answer: Ints
    """The arm that was recommended; -1 if the trial ended before."""

    def more(self) -> dict[str, object]:
        return {"calendar": self.calendar.to_dict(), "plan": self.plan}

    @property
    def trial(self) -> dict[str, Floats | Ints]:
        arms = range(len(self.means))
        return {
            "days": self.days, "named": self.named, "used": self.used, "answer": self.answer,
            **{f"estimate_{arm}": self.estimates[:, arm] for arm in arms},
            **{f"looks_{arm}": self.looks[:, arm] for arm in arms},
        }  # fmt: skip

    @property
    def participants(self) -> Ints:
        """Participants of every trial."""
        return self.stopping_time

    @property
    def recommendation(self) -> Ints:
        return self.answer

    @property
    def risk(self) -> float | None:
        return self.policy.get("risk")

    @property
    def delta_correct(self) -> bool:
        """Whether a wrong answer is proved to have at most the probability `risk`. What is proved
        speaks of means that stay, and of arms whose outcomes are missing alike."""
        alike = self.calendar.drift is None and len(set(self.calendar.missing)) == 1
        return alike and super().delta_correct

    @property
    def gaps(self) -> Floats:
        """How much worse than the best every arm is."""
        import numpy as np

        return max(self.means) - np.array(self.means)

    @property
    def worse(self) -> Ints:
        """Participants on arms that are not best."""
        import numpy as np

        return np.asarray(self.pulls[:, -1, self.gaps > 0.0].sum(axis=1))

    @property
    def best_named(self) -> Probability:
        """Share of trials that end with a best arm on top."""
        best = (self.named >= 0) & (self.gaps[self.named] == 0.0)
        return Probability.of(int(best.sum()), self.runs)

    @property
    def declared(self) -> Probability:
        """Share of trials with an answer."""
        return Probability.of(int((self.answer >= 0).sum()), self.runs)

    @property
    def false_winners(self) -> Probability:
        """Share of trials that recommend an arm which is not the only best: with equal arms, every
        answer."""
        best = self.gaps == 0.0
        if best.sum() > 1:
            best[:] = False
        return Probability.of(int(((self.answer >= 0) & ~best[self.answer]).sum()), self.runs)

    def widths(self, risk: float = 0.05) -> tuple[float, ...]:
        """Mean widths of intervals that hold for all arms and looks together with 1 - risk, for a
        declared default or no missing outcomes; 1 before the first look."""
        return tuple(each.mean for each in self.width_figures(risk))

    def width_figures(self, risk: float = 0.05) -> tuple[Figure, ...]:
        """The same, each with its error and what nine of ten trials see."""
        import numpy as np

        from ...policies._registry import row_from_recipe
        from ...policies._schedules import growth_of

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

    def summary(self) -> dict[str, object]:
        """Figures for JSON."""
        return super().summary() | {
            "calendar": self.calendar.to_dict(),
            "plan": self.plan,
            "worse": figure(self.worse).to_dict(),
            "days": figure(self.days).to_dict(),
            "participants": figure(self.participants).to_dict(),
            "best_named": self.best_named,
            "declared": self.declared,
            "risk": self.risk,
            "delta_correct": self.delta_correct,
            "error_rate": finite(self.error_rate),
            "recommendations": self.recommendations,
            "used": float(self.used.mean()),
        }

    def __repr__(self) -> str:
        """One line."""
        return (
            f"TrialResult({self.label}: regret {mean_and_error(self.final_regret)} of "
            f"{self.horizon:,} participants in {mean_and_error(self.days)} days, "
            f"best arm named {self.best_named:.3g}, used {self.used.mean():.2g}, "
            f"{self.runs} trials, seed {self.seed})"
        )
