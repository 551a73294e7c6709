"""Mechanisms of one's own: NaN, exceptions, words, arms; objects with select and update.

Verdicts at confidence 1 - 1e-6, fixed seeds; nothing is compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit import Each, Plain, agents, attack, audit, played
from discreet.privacy import Pure

SURE = 1.0 - 1e-6
ODDS = (0.5, 0.9)
"""How often each side does what must be seen: log(0.5/0.1) = 1.6 is more than is claimed."""


def found(subject: Any, claim: float = 1.0) -> Any:
    return attack([subject], Pure(claim), transcripts=20_000, confidence=SURE, seed=1)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf], ids=str)
def test_what_is_not_a_number_is_an_event_of_its_own(odd: float) -> None:
    def draw(side: int, count: int, rng: Any) -> Any:
        drawn = rng.laplace(0.0, 10.0, (count, 1))
        drawn[rng.random(count) < ODDS[side]] = odd
        return drawn

    result = found(Plain(draw))
    assert result.is_violation, result
    assert not found(Plain(draw), claim=math.log(5.0)).is_violation


def test_nan_and_infinity_are_told_apart() -> None:
    def draw(side: int, count: int, rng: Any) -> Any:
        return np.where(rng.random((count, 1)) < ODDS[side], math.nan, math.inf)

    assert found(Plain(draw)).is_violation


@pytest.mark.parametrize("kind", ["exception", "none", "word", "length"])
def test_whatever_comes_out_is_seen(kind: str) -> None:
    def run(side: int, rng: Any) -> object:
        if rng.random() >= ODDS[side]:
            return 1.0
        if kind == "exception":
            raise ArithmeticError
        return {"none": None, "word": "refused", "length": [1.0, 1.0]}[kind]

    result = found(Each(run))
    assert result.is_violation, result
    assert not found(Each(run), claim=math.log(5.0)).is_violation


def test_which_exception_is_seen() -> None:
    def run(side: int, rng: Any) -> object:
        raise KeyError if rng.random() < ODDS[side] else ValueError

    assert found(Each(run)).is_violation


def test_discrete_outputs_have_no_order() -> None:
    """The middle one of three tells: no half-line does so as well."""

    def draw(side: int, count: int, rng: Any) -> Any:
        middle = rng.random(count) < (0.1, 0.5)[side]
        return np.where(middle, 1, 2 * rng.integers(0, 2, count))

    result = found(Plain(draw, names=(), codes=3))
    assert result.is_violation
    assert "discrete outputs" in result.proof.event
    with_number = Plain(lambda *a: (draw(*a), np.zeros((a[1], 1))), ("nothing",), codes=3)
    assert found(with_number).is_violation


@pytest.mark.parametrize("bad", [[0.5], [3], [-1], [0, 1]], ids=str)
def test_bad_discrete_outputs_are_refused(bad: list[float]) -> None:
    subject = Plain(lambda side, count, rng: np.array(bad), names=(), codes=3)
    with pytest.raises(discreet.InvalidArgument, match="draw must give"):
        subject.sample(0, 1, np.random.default_rng(1))


class Raw:
    """Plays arm 1 if the first reward was large: no privacy at all."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng
        self.first: float | None = None

    def select(self) -> int:
        return int((self.first or 0.0) > 0.5)

    def update(self, arm: int, reward: float) -> None:
        self.first = reward if self.first is None else self.first


class Flipped(Raw):
    """The same, with a randomised first reward."""

    def update(self, arm: int, reward: float) -> None:
        if self.first is None:
            truth = self.rng.random() < 1.0 / (1.0 + math.exp(-0.9))
            self.first = reward if truth else 1.0 - reward


class Stumbling(Raw):
    """Fails on a large first reward, and says nothing otherwise."""

    def select(self) -> int:
        if (self.first or 0.0) > 0.5:
            raise ArithmeticError
        return 0


@pytest.mark.parametrize(("kind", "caught"), [(Raw, True), (Flipped, False), (Stumbling, True)])
def test_objects_with_select_and_update(kind: Any, caught: bool) -> None:
    result = attack(agents(kind, 3), Pure(1.0), transcripts=12_000, confidence=SURE, seed=1)
    assert result.is_violation is caught, result


def test_what_an_object_shows_is_seen() -> None:
    def shown(agent: Any) -> list[float]:
        return [agent.first]

    subject = played(Flipped, [0.0, 0.0], [1.0, 0.0], shows=shown)
    hidden = played(lambda rng: Flipped(rng), [0.0], [1.0])
    assert found(subject).epsilon_lower > 0.7
    assert found(hidden).epsilon_lower < 0.1  # the only arm was chosen before


@pytest.mark.parametrize(
    "call",
    [
        lambda: audit("adap-ucb"),
        lambda: audit(discreet.policy("adap-ucb", epsilon=1.0), horizon=0),
        lambda: audit(discreet.policy("adap-ucb", epsilon=1.0), contributions=0),
        lambda: audit(discreet.policy("adap-ucb", epsilon=1.0), decisions=0),
        lambda: played(Raw, [0.0], [0.0]),
        lambda: agents(Raw, 0),
        lambda: Each(3),  # type: ignore[arg-type]
    ],
    ids=["a name", "horizon", "contributions", "decisions", "equal", "rounds", "no function"],
)
def test_bad_input_is_refused_by_name(call: Any, request: pytest.FixtureRequest) -> None:
    argument = {
        "a name": "policy", "equal": "second", "rounds": "horizon", "no function": "run",
    }.get(request.node.callspec.id, request.node.callspec.id)  # fmt: skip
    with pytest.raises(discreet.InvalidArgument, match=f"^{argument} must"):
        call()
