"""Designs of a trial beside each other: how well they treat, and how often they conclude.

Tests are exact or certified, policies are simulated, all of them without late outcomes. Of more
than two arms the one with the lowest rate is the control, and the best one is to be shown better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ...errors import InvalidArgument

if TYPE_CHECKING:
    from ...confirm._characteristics import AnyDesign, Scenario
    from ...policies import Policy

LARGEST_TEST, LARGEST_EPOCHS = 20_000, 5000
"""Participants of tests and of epochs that are calibrated while a plan is made."""
CERTIFIED, PLAYED, READ = 5000, 1000, 100
"""Trials at every rate of the certificate of epochs; of a scenario; and of those whose intervals
are read."""
NEAR = 0.05
"""By how much less power a design may have than the most powerful one, to be taken for both."""
TEST, AFTER, EPOCHS, INDEX, RACE = (
    "test", "test, then the winner", "epochs with a test", "adaptive", "race",
)  # fmt: skip
AIMS = ("treat well", "conclude", "both")


@dataclass(frozen=True)
class DesignLine:
    """One design.

    `power`: P(the best arm is shown to be better). `error`: P(any difference is shown) if all arms
    have the control's rate; `bound`: at every common rate, proved or with confidence 0.999; None
    for the nominal risk of a policy. `on_worse`: of all participants, those on a worse arm, if
    those after the verdict get what is said.
    """

    name: str
    what: str
    power: float
    error: float
    bound: float | None
    participants: float
    on_worse: float
    exact: bool

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self)


def design_lines(
    means: Sequence[float], horizon: int, epsilon: float, risk: float, row: Policy, seed: int
) -> tuple[DesignLine, ...]:
    """What can be run with so many participants; what does not fit is left out."""
    from ...confirm import operating
    from ...identify import identifier

    high, low = max(means), min(means)
    many = len(means) > 2
    kinds: dict[str, tuple[str, AnyDesign]] = {}
    for name in (TEST, AFTER, EPOCHS):
        if many and name != TEST:
            continue
        try:
            found = _planned(name, horizon, len(means), epsilon, risk)
        except InvalidArgument:  # too few participants, or risks that no design takes
            continue
        if found is not None:
            kinds[name] = str(getattr(found, "design", found)), found
    if not many:
        kinds[RACE] = "permuted blocks until a winner", identifier("race", epsilon=epsilon)
        kinds[INDEX] = f"{row.name}, intervals at level {1.0 - risk:g}", row
    lines = []
    for name, (what, each) in kinds.items():
        null, alternative = operating(
            {name: each}, low, (high - low,), participants=horizon, risk=risk, runs=PLAYED,
            read=READ, seed=seed,
        ).scenarios  # fmt: skip
        lines.append(_line(name, what, each, (null, alternative), horizon))
    return tuple(lines)


def _line(
    name: str, what: str, design: AnyDesign, found: tuple[Scenario, Scenario], horizon: int
) -> DesignLine:
    null, alternative = found
    worse = alternative.on_worse
    if name in (TEST, RACE, EPOCHS):  # nobody says what the rest gets: half of it each
        worse += (horizon - alternative.participants) / 2.0
    return DesignLine(
        name, what, alternative.right, null.rejected, _bound(design), alternative.participants,
        worse, alternative.exact,
    )  # fmt: skip


def _bound(design: AnyDesign) -> float | None:
    """Of the type I error, over all common rates."""
    inner = getattr(design, "design", design)
    for owner, name in ((inner, "bound"), (getattr(inner, "certificate", None), "bound")):
        if isinstance(found := getattr(owner, name, None), float):
            return found
    return None


@lru_cache(maxsize=32)
def _planned(name: str, horizon: int, arms: int, epsilon: float, risk: float) -> AnyDesign | None:
    """A calibrated design; None if that would take long."""
    from ...confirm import design, epochs, several, then_winner

    if horizon > (LARGEST_EPOCHS if name == EPOCHS else LARGEST_TEST):
        return None
    if arms > 2:
        return several(horizon, arms - 1, looks=2, epsilon=epsilon, risk=risk)
    if name == EPOCHS:
        return epochs(horizon, epsilon=epsilon, risk=risk, runs=CERTIFIED)
    test = design(horizon, looks=3, epsilon=epsilon, risk=risk)
    return then_winner(test, horizon) if name == AFTER else test


def chosen(lines: Sequence[DesignLine]) -> dict[str, str]:
    """Which design to take, by what is wanted: fewest on a worse arm; most power; and of those
    with nearly as much power the one that treats best."""
    if not lines:
        return {}
    most = max(line.power for line in lines)
    near = [line for line in lines if line.power >= most - NEAR]
    best = {
        "treat well": min(lines, key=lambda line: line.on_worse),
        "conclude": max(lines, key=lambda line: (line.power, -line.participants)),
        "both": min(near, key=lambda line: line.on_worse),
    }
    return {aim: best[aim].name for aim in AIMS}
