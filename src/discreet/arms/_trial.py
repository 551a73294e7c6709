"""Real trials as environments: outcomes resampled within an arm, or the log replayed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from discreet._checks import count, numbers
from discreet.arms._base import Environment, taken
from discreet.arms._bernoulli import Bernoulli
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from .._types import Json


@dataclass(frozen=True, init=False)
class TrialData:
    """A finished trial: which arm every patient was given, and the outcome, 0 or 1."""

    name: str
    outcome: str
    arm_names: tuple[str, ...]
    assigned: tuple[int, ...] = field(repr=False)
    outcomes: tuple[float, ...] = field(repr=False)
    citation: str = field(repr=False)
    licence: str = field(repr=False)
    source: str = field(repr=False)

    def __init__(
        self,
        name: str,
        outcome: str,
        arm_names: Sequence[str],
        assigned: Sequence[int],
        outcomes: Sequence[float],
        citation: str = "",
        licence: str = "",
        source: str = "",
    ) -> None:
        values = numbers("outcomes", outcomes, low=0.0, high=1.0, fix="pass 0 or 1 per patient")
        arms = tuple(
            count(f"assigned[{i}]", arm, least=0, fix="pass the number of an arm, from 0")
            for i, arm in enumerate(assigned)
        )
        if len(arms) != len(values):
            rule, fix = f"have {len(values)} entries", "pass one arm and one outcome per patient"
            raise InvalidArgument("assigned", rule, f"{len(arms)} entries", fix)
        if any(value not in (0.0, 1.0) for value in values):
            bad = next(value for value in values if value not in (0.0, 1.0))
            raise InvalidArgument("outcomes", "be 0 or 1", bad, "pass 0 or 1 per patient")
        names = tuple(arm_names)
        if set(arms) != set(range(len(names))):
            rule = f"name every arm from 0 to {len(names) - 1} and no other"
            fix = "pass one name per arm that has patients"
            raise InvalidArgument("assigned", rule, sorted(set(arms)), fix)
        for key, value in {
            "name": name,
            "outcome": outcome,
            "arm_names": names,
            "assigned": arms,
            "outcomes": values,
            "citation": citation,
            "licence": licence,
            "source": source,
        }.items():
            object.__setattr__(self, key, value)

    @property
    def by_arm(self) -> tuple[tuple[float, ...], ...]:
        """Outcomes of every arm's patients."""
        pairs = list(zip(self.assigned, self.outcomes, strict=True))
        return tuple(
            tuple(outcome for arm, outcome in pairs if arm == k) for k in range(len(self.arm_names))
        )

    @property
    def rates(self) -> tuple[float, ...]:
        """Observed success rate of every arm."""
        return tuple(sum(outcomes) / len(outcomes) for outcomes in self.by_arm)

    def resampled(self) -> Bernoulli:
        """Outcomes drawn within an arm with replacement: Bernoulli with the observed rates."""
        return Bernoulli(self.rates)

    def replayed(self) -> Replay:
        """The log itself, by rejection."""
        return Replay(self)


class ReplayState(NamedTuple):
    """The log in this run's order, and how much of it is read."""

    assigned: NDArray[int64]
    outcomes: NDArray[float64]
    read: NDArray[int64]


def draw_replay(
    state: ReplayState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Read on; patients who were given another arm are passed over."""
    total, served, i = 0.0, 0, state.read[0]
    while served < rounds and i < state.assigned.size:
        if state.assigned[i] == arm:
            total += state.outcomes[i]
            served += 1
        i += 1
    state.read[0] = i
    return total, served


@dataclass(frozen=True, init=False)
class Replay(Environment):
    """Replay of a randomised trial by rejection (Li et al., WSDM 2011).

    Every run shuffles the patients; a round is the next patient whose recorded arm is the chosen
    one, and the run ends with the log, after about 1/K of the patients. The rewards of an arm are
    the outcomes of its patients in random order, without replacement.
    """

    name = "replay"
    draw = staticmethod(draw_replay)
    data: TrialData

    def __init__(self, data: TrialData) -> None:
        if not isinstance(data, TrialData):
            raise InvalidArgument("data", "be TrialData", data, "pass for instance actg175()")
        self._set(data=data, means=data.rates, bounds=(0.0, 1.0), limit=len(data.outcomes))

    def start(self, rng: Generator) -> ReplayState:
        """The log, shuffled."""
        import numpy as np

        order = rng.permutation(len(self.data.outcomes))
        assigned = np.array(self.data.assigned, dtype=np.int64)[order]
        return ReplayState(assigned, np.array(self.data.outcomes)[order], np.zeros(1, np.int64))

    def arranged(self, order: Sequence[int]) -> Replay:
        """The log with every patient's arm under its new number."""
        number = {arm: place for place, arm in enumerate(order)}
        data = copy.copy(self.data)
        object.__setattr__(data, "arm_names", taken(data.arm_names, order))
        object.__setattr__(data, "assigned", tuple(number[arm] for arm in data.assigned))
        return self._changed(data=data, means=taken(self.means, order))

    def to_dict(self) -> dict[str, object]:
        """The embedded trial by name, another one in full."""
        from discreet.arms._embedded import OUTCOMES, actg175

        data = self.data
        if data.outcome in OUTCOMES and data == actg175(data.outcome):
            return {"environment": self.name, "data": {"name": data.name, "outcome": data.outcome}}
        full = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in vars(data).items()
        }
        return {"environment": self.name, "data": full}

    @classmethod
    def from_settings(cls, settings: Json) -> Replay:
        """The environment with these settings."""
        from discreet.arms._embedded import NAME, actg175

        data = cast("dict[str, Any]", settings["data"])  # JSON; the constructors check it
        if set(data) == {"name", "outcome"} and data["name"] == NAME:
            return cls(actg175(data["outcome"]))
        return cls(TrialData(**data))


def resample(data: TrialData) -> Bernoulli:
    """Outcomes drawn within an arm with replacement; for horizons beyond the trial's size."""
    return data.resampled()


def replay(data: TrialData) -> Replay:
    """The trial's own log, replayed by rejection."""
    return data.replayed()
