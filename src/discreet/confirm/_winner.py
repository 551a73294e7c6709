"""Test, then give the winner to the rest: a plan for all who come, not for those in the test alone.

After the verdict all who come up to the end get the treatment that was shown to be better, or the
control if none was. Their outcomes are not used, so they change neither the verdict nor what it
costs. Who comes while the last outcomes of the test are awaited gets the control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._checks import count, number
from ..errors import InvalidArgument
from ._adaptive import EpochDesign
from ._designs import Design
from ._several import SeveralDesign

Testing = Design | SeveralDesign | EpochDesign
KINDS: dict[str, Any] = {"design": Design, "several": SeveralDesign, "epochs": EpochDesign}


@dataclass(frozen=True)
class Given:
    """What all who come can expect, on average.

    `power`: P(the better arm is shown to be better). `in_test`: participants of the test.
    `on_better`: the share of all who get the better arm; 1 if the arms are equal. `exact`, or
    simulated.

    >>> import discreet
    >>> test = discreet.confirm.design(200, looks=1, epsilon=1.0)
    >>> found = discreet.confirm.then_winner(test, 1000).operating(0.6, 0.35)
    >>> found.power == test.power(0.6, 0.35), found.exact
    (True, True)
    """

    power: float
    in_test: float
    on_better: float
    exact: bool


@dataclass(frozen=True)
class ThenWinner:
    """A test, and who comes after it: `participants` in all.

    >>> import discreet
    >>> plan = discreet.confirm.then_winner(discreet.confirm.design(60, looks=1, epsilon=1.0), 100)
    >>> plan.design.participants, plan.participants
    (60, 100)
    """

    design: Testing
    participants: int

    def operating(self, treatment: float, control: float, *, waiting: int = 0) -> Given:
        """What becomes of all who come if two arms have these rates.

        `waiting`: how many come while the outcomes of a look are awaited. They take places of the
        next look, or get the control after the last one.
        """
        if isinstance(self.design, SeveralDesign):
            raise InvalidArgument(
                "design", "have two arms", str(self.design),
                "use discreet.operating, which has the power of every treatment",
            )  # fmt: skip
        p1, p0 = (
            number(name, rate, low=0.0, high=1.0, fix=f"use for example {name}=0.5")
            for name, rate in (("treatment", treatment), ("control", control))
        )
        late = count("waiting", waiting, least=0, fix="use waiting=0")
        if isinstance(self.design, EpochDesign):
            return self._in_epochs(self.design, p1, p0, late)
        found, sizes = self.design.operating(p1, p0), self.design.sizes
        stops = [sum(each) for each in zip(found.above, found.below, found.futile, strict=True)]
        stops[-1] = 1.0 - sum(stops[:-1])
        most, in_test, treated = sum(sizes[-1]), 0.0, 0.0
        for size, stop, above in zip(sizes, stops, found.above, strict=True):
            total = sum(size)
            more = min(late, most - total)
            of_them = more * (sizes[-1][0] - size[0]) / (most - total) if more else 0.0
            rest = self.participants - total - more
            after = min(late - more, rest)  # nobody else has a place in the test
            in_test += stop * (total + more)
            treated += stop * (size[0] + of_them) + above * (rest - after)
        return self._given(p1, p0, sum(found.above), sum(found.below), in_test, treated, True)

    def _in_epochs(self, design: EpochDesign, p1: float, p0: float, late: int) -> Given:
        if late:
            raise InvalidArgument(
                "waiting", "be 0 for a test in epochs", late,
                "leave it out: plan the design with lag=1 where epochs fill meanwhile",
            )  # fmt: skip
        course, taken, treated = design.operating(p1, p0), 0, 0.0
        for size, above in zip(design.sizes, course.above, strict=True):
            taken += size
            treated += above * (self.participants - taken)
        of_test = course.in_trial if p1 >= p0 else 1.0 - course.in_trial
        treated += of_test * course.participants
        return self._given(
            p1, p0, sum(course.above), sum(course.below), course.participants, treated, False
        )

    def _given(
        self, p1: float, p0: float, above: float, below: float, in_test: float, treated: float,
        exact: bool,
    ) -> Given:  # fmt: skip
        share = treated / self.participants
        better = 1.0 if p1 == p0 else share if p1 > p0 else 1.0 - share
        power = (above if p1 >= p0 else 0.0) + (below if p1 <= p0 else 0.0)
        return Given(power, in_test, better, exact)

    def verdict(self, sums: Sequence[Sequence[Any]]) -> Any:
        """That of its design, from the releases of the test."""
        return self.design.verdict(sums)

    def to_dict(self) -> dict[str, object]:
        """For JSON, certificate included."""
        kind = next(name for name, kind in KINDS.items() if isinstance(self.design, kind))
        return {kind: self.design.to_dict(), "participants": self.participants}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ThenWinner:
        """The inverse of `to_dict`."""
        kind = next(name for name in KINDS if name in data)
        return cls(KINDS[kind].from_dict(data[kind]), data["participants"])

    def __str__(self) -> str:
        return f"{self.design}; then the winner for the rest of {self.participants}"


def then_winner(design: Testing, participants: int | None = None) -> ThenWinner:
    """A test, after which all who come get the arm that it has shown to be better.

    Args:
        design: The test, from `discreet.confirm.design`, `several` or `epochs`.
        participants: All who come, the test's own included. Default: as many as the test has at
            most, so that an early verdict leaves places for the winner.

    Returns:
        The plan. A `Trial` takes it in place of a policy.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> test = discreet.confirm.design(200, looks=2, epsilon=1.0)
        >>> plan = discreet.confirm.then_winner(test, 1000)
        >>> round(plan.operating(0.6, 0.35).on_better, 2)
        0.84
    """
    if not isinstance(design, Testing):
        raise InvalidArgument(
            "design", "be a test of two arms, of several, or in epochs", type(design).__name__,
            "use for example discreet.confirm.design(800, epsilon=1.0)",
        )  # fmt: skip
    least = design.participants
    given = least if participants is None else participants
    total = count("participants", given, least=least, fix=f"use participants={least}")
    return ThenWinner(design, total)
