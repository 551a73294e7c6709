"""Designs of a trial beside each other: how well they treat, and how often they conclude.

Tests are computed without late or missing outcomes; the race and the adaptive trial are those of
the plan. Of more than two arms the one with the lowest rate is the control, and the best one is to
be shown better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidArgument

if TYPE_CHECKING:
    from ...confirm._characteristics import AnyDesign
    from ...policies import Policy
    from ._calendar import TrialLine

LARGEST_TEST, LARGEST_EPOCHS = 20_000, 5000
"""Participants of tests and of epochs that are calibrated while a plan is made; trials that are
larger are not played again for intervals either."""
CERTIFIED, PLAYED, READ = 5000, 4000, 40
"""Trials at every rate of the certificate of epochs; of a scenario of them; and those whose
intervals are read."""
NEAR = 0.05
"""By how much less power a design may have than the most powerful one, to be taken for both."""
TEST, AFTER, EPOCHS, STRATA, INDEX, RACE = (
    "test", "test, then the winner", "epochs with a test", "test by stratum", "adaptive", "race",
)  # fmt: skip


@dataclass(frozen=True)
class DesignLine:
    """One design.

    `power`: P(the best arm is shown to be better), and `error`: P(any difference is shown) where
    arms are equal; None where it was not simulated. `bound`: of the error, proved, in epochs with
    confidence 0.999; None for an adaptive trial, whose intervals hold at their level. `on_worse`:
    of all participants, those on a worse arm.
    """

    name: str
    what: str
    power: float | None
    error: float | None
    bound: float | None
    participants: float
    on_worse: float
    exact: bool

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self)


class Wanted(NamedTuple):
    """What a trial is to compare, and with how many participants."""

    means: Sequence[float]
    horizon: int
    epsilon: float
    risk: float
    seed: int
    strata: tuple[float, ...] = ()
    """shares of strata that release their own sums, if there are any"""


def design_lines(
    asked: Wanted, row: Policy, line: TrialLine, still: bool
) -> tuple[DesignLine, ...]:
    """What can be run with so many participants; what does not fit is left out. `line` has the
    adaptive trial and the race, `row` is the policy of the former; `still` if rates do not drift,
    so that it has intervals of means."""
    power, error = None, None
    if still and len(asked.means) == 2 and asked.horizon <= LARGEST_TEST:
        power, error = _by_intervals(asked, row)
    adaptive = DesignLine(
        INDEX, f"{row.name}, intervals at level {1.0 - asked.risk:g}", power, error, None,
        float(asked.horizon), line.worse.mean, exact=False,
    )  # fmt: skip
    return *_tests(asked), _raced(asked, line), adaptive


def _tests(asked: Wanted) -> Iterator[DesignLine]:
    from ...confirm import operating

    means, horizon, epsilon, risk, seed, shares = asked
    high, low = max(means), min(means)
    names = (TEST, AFTER, EPOCHS, *((STRATA,) if shares else ())) if len(means) == 2 else (TEST,)
    for name in names:
        try:
            if name == STRATA:
                found = _by_stratum(horizon, shares, epsilon, risk)
            else:
                found = _planned(name, horizon, len(means), epsilon, risk)
        except InvalidArgument:  # too few participants, or risks that no design takes
            continue
        if found is None:
            continue
        null, shown = operating(found, low, (high - low,), runs=PLAYED, seed=seed).scenarios
        worse = shown.on_worse
        if name != AFTER:  # nobody says what the rest gets: every arm equally often
            worse += (horizon - shown.participants) * _worse_share(means)
        inner = getattr(found, "design", found)
        yield DesignLine(
            name, str(inner), shown.right, null.rejected, _bound(inner), shown.participants, worse,
            shown.exact,
        )  # fmt: skip


def _worse_share(means: Sequence[float]) -> float:
    return sum(mean < max(means) for mean in means) / len(means)


def _raced(asked: Wanted, line: TrialLine) -> DesignLine:
    """The race: its winners are wrong with probability at most the risk, proved."""
    assert line.declared is not None
    assert line.false_winners is not None
    assert line.race_participants is not None
    return DesignLine(
        RACE, "permuted blocks until a winner is declared", float(line.declared),
        float(line.false_winners), asked.risk, line.race_participants.mean,
        asked.horizon * _worse_share(asked.means), exact=False,
    )  # fmt: skip


def _by_intervals(asked: Wanted, row: Policy) -> tuple[float, float]:
    """How often the interval of the difference excludes 0, and with equal arms."""
    from ...confirm import operating

    low, high = min(asked.means), max(asked.means)
    null, shown = operating(
        row, low, (high - low,), participants=asked.horizon, risk=asked.risk, runs=READ, read=READ,
        seed=asked.seed,
    ).scenarios  # fmt: skip
    return shown.right, null.rejected


def _bound(design: object) -> float:
    """Of the type I error, over all common rates."""
    found = getattr(design, "bound", None)
    if found is None:
        found = design.certificate.bound  # type: ignore[attr-defined]
    return float(found)


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
    if name == AFTER:
        test = _planned(TEST, horizon, arms, epsilon, risk)
        return then_winner(test, horizon)  # type: ignore[arg-type]
    return design(horizon, looks=3, epsilon=epsilon, risk=risk)


@lru_cache(maxsize=8)
def _by_stratum(
    horizon: int, shares: tuple[float, ...], epsilon: float, risk: float
) -> AnyDesign | None:
    """A test whose strata release their own sums, for a forest plot."""
    from ...confirm import strata

    if horizon > LARGEST_EPOCHS:
        return None
    parts = [max(2, round(horizon * share)) for share in shares]
    return strata(parts, epsilon=epsilon, risk=risk, runs=CERTIFIED)


def chosen(lines: Sequence[DesignLine]) -> dict[str, str]:
    """Which design to take, by what is wanted: fewest on a worse arm; most power; and of those
    with nearly as much power the one that treats best. The last two only among tests."""
    best = {"treat well": min(lines, key=lambda line: line.on_worse).name}
    tests = {line.name: line.power for line in lines if line.name in (TEST, AFTER, EPOCHS, STRATA)}
    powers = {name: power for name, power in tests.items() if power is not None}
    if powers:
        worse = {line.name: line.on_worse for line in lines}
        best["conclude"] = max(powers, key=lambda name: powers[name])  # the first of equals
        near = [name for name in powers if powers[name] >= max(powers.values()) - NEAR]
        best["both"] = min(near, key=lambda name: worse[name])
    return best
