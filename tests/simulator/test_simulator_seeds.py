"""Runs that are seeded together have the random numbers that NumPy gives them one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import discreet
from discreet._compiled import kinds_of
from discreet._draws import Draws
from discreet.arms._bernoulli import BernoulliState
from discreet.simulator import _seeds as seeds
from discreet.simulator._seeds import FEW, LARGEST, TOGETHER, Stream
from discreet.simulator._work import Work

ENTROPIES = [0, 1, 2**32 - 1, 2**32, 2**96 + 5, 2**128 - 1, 2**128, 2**200 + 7]
"""From no word to seven; the pool of a SeedSequence has four."""


def numpys(entropy: int, number: int) -> Any:
    child = np.random.SeedSequence(entropy, spawn_key=(number,))
    return np.random.SFC64(child).state


def same(one: Any, other: Any) -> bool:
    parts = ("has_uint32", "uinteger")
    words = (one["state"]["state"] == other["state"]["state"]).all()
    return bool(words) and all(one[part] == other[part] for part in parts)


@pytest.mark.parametrize("entropy", ENTROPIES)
@pytest.mark.parametrize("first", [0, 70_000])
def test_the_states_are_numpys(entropy: int, first: int) -> None:
    stream = Stream(entropy, first, 3 * TOGETHER)
    for number in (0, 1, 7, TOGETHER - 1, TOGETHER, 2 * TOGETHER + 5, 3, 3 * TOGETHER - 1):
        rng = stream.at(number)
        assert same(rng.bit_generator.state, numpys(entropy, first + number))
        rng.integers(0, 10, dtype=np.uint32)  # half a word is kept, and must not be in the next run


def test_a_thread_has_one_generator() -> None:
    stream = Stream(1, 0, 100)
    assert stream.at(0) is stream.at(1)
    assert isinstance(stream.at(2), Draws)


@pytest.mark.parametrize(("first", "runs"), [(0, FEW - 1), (LARGEST - 20, 40)])
def test_few_runs_and_large_numbers_are_left_to_numpy(first: int, runs: int) -> None:
    stream = Stream(1, first, runs)
    for number in (0, runs - 1):
        assert same(stream.at(number).bit_generator.state, numpys(1, first + number))
    assert stream.states is None


def test_numpy_is_asked_where_the_first_state_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "MULT_B", seeds.MULT_B + 2)
    stream = Stream(1, 0, 100)
    assert same(stream.at(5).bit_generator.state, numpys(1, 5))
    assert stream.states is None


def test_works_hand_out_the_same_numbers_either_way() -> None:
    work = Work("any", 50, 3)
    work.first = 10
    stream = work.stream()
    for number in (0, 49):
        assert stream.at(number).random() == work.generator(number).random()


@dataclass(frozen=True, init=False)
class Restless(discreet.Bernoulli):
    """Probabilities now in an array of their own, now in every second place of one, now sealed."""

    kinds: list[object] = field(default_factory=list, compare=False)

    def __init__(self, means: list[float]) -> None:
        super().__init__(means)
        self._set(kinds=[])

    def start(self, rng: Any) -> BernoulliState:
        p = np.array(self.means)
        sealed = p.copy()
        sealed.flags.writeable = False
        state = BernoulliState((p, np.repeat(p, 2)[::2], sealed)[len(self.kinds) % 3])
        self.kinds.append(kinds_of(state))
        return state


def test_a_law_may_change_the_kind_of_its_state_from_run_to_run() -> None:
    """Machine code is called without a look at what it is given: other kinds have their own."""
    environment, plain = Restless([0.7, 0.4]), discreet.Bernoulli([0.7, 0.4])
    row = discreet.policy("ucb1")
    size: dict[str, Any] = {"horizon": 300, "runs": 30, "seed": 1, "threads": 1}
    result = discreet.simulate(row, environment, **size)
    assert len(set(environment.kinds)) == 3
    assert (result.regret == discreet.simulate(row, plain, **size).regret).all()
