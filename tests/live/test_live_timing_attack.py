"""The attack of `timing_attack` by a clock of our own: exact, quick, and blind to a busy machine.

A draw moves the clock by what a slow sampler would take (500 µs for each multiple of the scale or a
flipped bit, a hundred times OpenDP's), a look at it by 50 µs, and nothing else does. What an
onlooker could time is then known to the nanosecond, so a leak shows in seconds that would take a
patient onlooker days. Nothing is drawn ahead here: windows alone must hide it. False alarms at most
1e-6 for each test.
"""

from __future__ import annotations

from typing import Any

import pytest
import timing_attack
from timing_attack import Timed, epsilon_lower, sampled, timed_firsts, timed_units
from timing_cases import CLAIMS, RELEASES, trial_of, trial_with
from timing_looks import LOOKS, timed_looks
from timing_streams import BLOCKS, Sampler, timed_blocks

from discreet.policies.releases import Tree
from discreet.privacy import _secure as secure

SURE = 1.0 - 1e-6
TRIALS, OF_BLOCKS, OF_LOOKS = 1500, 600, 400
"""A side."""
SAMPLER = Sampler(slowness=5e5, draw=60_000, look=50_000)


class Watch:
    """Nanoseconds that pass only when they are looked at or spent."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += SAMPLER.look
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    for name in RELEASES:
        trial_of(name)  # scales are proved by the real measurement
    watch = Watch()
    sampler = secure._sampler

    def slow_sampler(environment: str, parameter: float) -> Any:
        draw, scale = (
            sampler(environment, parameter),
            1.0 if environment == "response" else parameter,
        )

        def slowed(number: int) -> list[int]:
            drawn = draw(number)
            for noise in drawn:
                watch.now += SAMPLER.draw + round(SAMPLER.slowness * abs(noise) / scale)
            return drawn

        return slowed

    monkeypatch.setattr(secure, "_sampler", slow_sampler)
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "_raised", lambda kind, scale, sensitivity, keeps: scale)
    monkeypatch.setattr(secure, "_windows", {})
    monkeypatch.setattr(secure, "padded", getattr(secure.padded, "padded", secure.padded))
    monkeypatch.setattr(secure, "perf_counter_ns", watch)
    monkeypatch.setattr(secure, "_spent", watch)
    monkeypatch.setattr(timing_attack, "CLOCKS", (watch,))
    return watch


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", CLAIMS)
def test_durations_and_value_together_keep_the_claim(name: str) -> None:
    assert epsilon_lower(sampled(timed_units(trial_of(name)), TRIALS), SURE) <= CLAIMS[name]


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", ["laplace", "local laplace", "local bits", "gaussian"])
def test_the_attack_finds_a_draw_that_is_not_padded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    proved = epsilon_lower(sampled(timed_units(trial_of(name)), TRIALS), SURE)
    assert proved > CLAIMS[name]


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", ["laplace", "local bits"])
def test_the_attack_finds_windows_that_are_too_short(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long draws then take several windows, and each is of one release, for nothing is drawn ahead
    in these tests."""
    environment = "response" if name == "local bits" else name
    kept = {environment: 400_000}

    class Fixed(dict[str, int]):
        def __setitem__(self, key: str, value: int) -> None:
            pass

    monkeypatch.setattr(secure, "_windows", Fixed(kept))
    proved = epsilon_lower(sampled(timed_units(trial_of(name)), TRIALS), SURE)
    assert proved > CLAIMS[name]


def first_leaf() -> Timed:
    """Of a tree with two levels: its first prefix sum is one node, of half the budget."""
    return timed_firsts(trial_with(Tree(1.0), horizon=2))


@pytest.mark.usefixtures("watch")
def test_a_node_of_a_tree_keeps_the_claim() -> None:
    assert epsilon_lower(sampled(first_leaf(), TRIALS), SURE) <= 1.0


@pytest.mark.usefixtures("watch")
def test_the_attack_finds_a_node_that_is_not_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    assert epsilon_lower(sampled(first_leaf(), TRIALS), SURE) > 1.0


# --- streams: several blocks in flight, and pairs -------------------------------------------------


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_that_wait_side_by_side_keep_the_claim(name: str) -> None:
    assert epsilon_lower(sampled(timed_blocks(name, SAMPLER), OF_BLOCKS), SURE) <= 1.0


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", BLOCKS)
def test_the_attack_finds_blocks_whose_draws_are_not_padded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees every outcome of 1 (what it proves is limited by the 300 transcripts a side that are
    tested, to 2.8): to stay at 1 by chance, a third of the others would have to look like one."""
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    proved = epsilon_lower(sampled(timed_blocks(name, SAMPLER), OF_BLOCKS), SURE)
    assert proved > 1.0


# --- races, top two and epochs: the draws of two arms in one call ---------------------------------


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", LOOKS)
def test_arms_that_are_released_together_keep_the_claim(name: str) -> None:
    assert epsilon_lower(sampled(timed_looks(name, SAMPLER), OF_LOOKS), SURE) <= 1.0


@pytest.mark.usefixtures("watch")
@pytest.mark.parametrize("name", LOOKS)
def test_the_attack_finds_looks_whose_draws_are_not_padded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees every outcome of 1, as above (200 transcripts a side are tested: at most 2.3)."""
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    proved = epsilon_lower(sampled(timed_looks(name, SAMPLER), OF_LOOKS), SURE)
    assert proved > 1.0
