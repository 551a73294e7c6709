"""What trials and races on a calendar came to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ...errors import InvalidArgument
from .races import half_width
from .setting import Calendar

if TYPE_CHECKING:
    from ...types import Floats, Ints


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


@dataclass(frozen=True, eq=False)
class TrialResult:
    """Trials with late outcomes. Arrays are indexed trial, then arm."""

    policy: dict[str, object]
    law: dict[str, object]
    means: tuple[float, ...]
    calendar: Calendar
    horizon: int
    seed: int
    seconds: float
    flow: str
    epsilon: float
    marks: tuple[int, ...]
    pulls: Ints
    estimates: Floats
    """Released means at the end."""
    looks: Ints
    """Full blocks released."""
    days: Floats
    """From the first day to the last release."""
    named: Ints
    """The arm with the largest released mean at the end; -1 if nothing was released or seen."""
    used: Floats
    """Share of participants whose outcomes entered a release."""

    @property
    def name(self) -> str:
        """The row's name."""
        return str(self.policy["name"])

    @property
    def runs(self) -> int:
        """Trials."""
        return len(self.days)

    @property
    def gaps(self) -> Floats:
        """How much worse than the best every arm is."""
        import numpy as np

        return max(self.means) - np.array(self.means)

    @property
    def regret(self) -> Floats:
        """Expected outcomes lost in every trial."""
        import numpy as np

        return np.asarray(self.pulls @ self.gaps)

    @property
    def worse(self) -> Ints:
        """Participants on arms that are not best."""
        import numpy as np

        return np.asarray(self.pulls[:, self.gaps > 0.0].sum(axis=1))

    @property
    def best_named(self) -> Probability:
        """Share of trials that end with a best arm on top."""
        best = (self.named >= 0) & (self.gaps[self.named] == 0.0)
        return Probability.of(int(best.sum()), self.runs)

    def widths(self, risk: float = 0.05) -> tuple[float, ...]:
        """Mean widths of intervals that hold for all arms and looks together with 1 - risk, for a
        declared default or no missing outcomes; 1 before the first look."""
        return tuple(each.mean for each in self.width_figures(risk))

    def width_figures(self, risk: float = 0.05) -> tuple[Figure, ...]:
        """The same, each with its error and what nine of ten trials see."""
        if not self.marks:
            raise InvalidArgument(
                "policy", "release running sums with Laplace noise for widths by formula",
                self.name, "rehearse it: the report of discreet.Rehearsal(...) has intervals",
            )  # fmt: skip
        arms = len(self.means)
        by_look = [1.0]
        for look, mark in enumerate(self.marks, start=1):
            by_look.append(min(1.0, 2.0 * half_width(mark, look, arms, self.epsilon, risk)))
        import numpy as np

        widths = np.array(by_look)[np.minimum(self.looks, len(by_look) - 1)]
        return tuple(figure(widths[:, arm]) for arm in range(arms))

    def summary(self) -> dict[str, object]:
        """Figures for JSON."""
        return {
            "policy": self.name,
            "horizon": self.horizon,
            "runs": self.runs,
            "calendar": self.calendar.to_dict(),
            "flow": self.flow,
            "worse": figure(self.worse).to_dict(),
            "regret": figure(self.regret).to_dict(),
            "days": figure(self.days).to_dict(),
            "best_named": self.best_named,
            "used": float(self.used.mean()),
            "pulls": self.pulls.mean(axis=0).tolist(),
            "seconds": self.seconds,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        """One line."""
        return (
            f"TrialResult({self.name}: regret {self.regret.mean():.4g} of {self.horizon:,} "
            f"participants in {self.days.mean():.4g} days, best arm named {self.best_named:.3g}, "
            f"used {self.used.mean():.2g}, {self.runs} trials, seed {self.seed})"
        )


@dataclass(frozen=True, eq=False)
class RaceResult:
    """Races: `winner` is the arm that was left, -1 if the trial ended before."""

    means: tuple[float, ...]
    calendar: Calendar
    horizon: int
    epsilon: float
    risk: float
    seed: int
    seconds: float
    pulls: Ints
    days: Floats
    winner: Ints
    looks: Ints

    @property
    def runs(self) -> int:
        """Races."""
        return len(self.days)

    @property
    def participants(self) -> Ints:
        """Participants of every race."""
        import numpy as np

        return np.asarray(self.pulls.sum(axis=1))

    @property
    def declared(self) -> Probability:
        """Share of races with a winner."""
        return Probability.of(int((self.winner >= 0).sum()), self.runs)

    @property
    def false_winners(self) -> Probability:
        """Share of races won by an arm that is not the only best: with equal arms every winner."""
        import numpy as np

        best = np.array(self.means) == max(self.means)
        if best.sum() > 1:
            best[:] = False
        return Probability.of(int(((self.winner >= 0) & ~best[self.winner]).sum()), self.runs)

    def __repr__(self) -> str:
        """One line."""
        return (
            f"RaceResult(declared {self.declared:.3g}, {self.participants.mean():.4g} "
            f"participants, {self.days.mean():.4g} days, false winners {self.false_winners:.3g}, "
            f"{self.runs} races, seed {self.seed})"
        )
