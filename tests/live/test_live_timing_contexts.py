"""Releases of vectors and matrices: one window each, attacked by the clock of
`test_live_timing_attack`. False alarms at most 1e-6 for each test.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import timing_attack
from test_live_timing_attack import SAMPLER, SURE, Watch
from timing_attack import Timed, begin_anew, epsilon_lower, sampled, timed

import discreet.linear as linear
from discreet import Features
from discreet.privacy import _secure as secure

ROWS: dict[str, dict[str, float]] = {
    "adac-oful": {"rho": 0.5},
    "private-linucb": {"epsilon": 1.0},
    "private-lints": {"epsilon": 1.0},
    "jdp-linucb": {"epsilon": 1.0, "delta": 1e-6},
    "adac-ts": {"rho": 0.5},
    "jdp-ts": {"epsilon": 1.0, "delta": 1e-6},
    "blocks-ts": {"epsilon": 1.0},
    "jdp-blocks-ts": {"epsilon": 1.0, "delta": 1e-6},
}
BATCHES = ("jdp-ts", "blocks-ts", "jdp-blocks-ts")
TRIALS = 1500
"""A side."""


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every window: what it was measured by, and how many numbers it held."""
    found: list[tuple[str, int]] = []

    def noted(law: str, draw: secure.Draw, number: int) -> list[int]:
        drawn = draw(number)
        assert len(drawn) == number
        found.append((law, number))
        return drawn

    monkeypatch.setattr(secure, "padded", noted)
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 32)
    return found


def trial_of(name: str, dimension: int = 4, horizon: int = 2000) -> linear.Trial:
    row = linear.policy(name, **ROWS[name])
    return linear.Trial(row, 2, horizon=horizon, features=Features(dimension=dimension))


def play(trial: linear.Trial, outcome: float, alike: bool, people: int) -> Any:
    """People with two features each, in a block of their own for either arm, or alike for both."""
    for number in range(people):
        own = [0.5, 0.125 * (number % 4)]
        actions = [[*own, 0.0, 0.0], [0.0, 0.0, *own]]
        trial.assign(number, [actions[0]] * 2 if alike else actions)
        trial.record(number, outcome)
    return trial.report()["releases"]


@pytest.mark.parametrize("name", ROWS)
def test_a_release_is_drawn_in_one_window_at_most(
    name: str, windows: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it beforehand: nothing is drawn while the numbers are added."""
    inside: list[bool] = []
    real = secure.prepare

    def watched(needs: Any) -> None:
        before = len(windows)
        real(needs)
        inside.append(len(windows) - before <= 1)
        expected.append(len(windows))

    expected: list[int] = []
    monkeypatch.setattr("discreet.live._contexts.prepare", watched)
    releases = play(trial_of(name), 0.5, False, 1200 if name in BATCHES else 40)
    assert len(expected) == releases >= 2
    assert all(inside)
    assert expected[-1] == len(windows)
    assert all(" " in law for law, _ in windows)  # none of a number by itself


@pytest.mark.parametrize("name", ROWS)
def test_windows_are_those_of_public_counts(name: str, windows: list[tuple[str, int]]) -> None:
    """The same contexts, all outcomes other ones: the same windows. Both arms have the same
    features, or the same in their own blocks, for arms follow from noise."""
    seen = []
    for outcome in (0.0, 1.0):
        secure._ahead.clear()
        windows.clear()
        play(trial_of(name), outcome, "blocks" not in name, 1200 if name in BATCHES else 40)
        seen.append(list(windows))
    assert seen[0] == seen[1]
    assert seen[0]


def test_numbers_are_handed_out_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepared or not: every number that is drawn enters at most one release."""
    numbers = count()
    monkeypatch.setattr(
        secure, "_sampler", lambda law, scale: lambda many: [next(numbers) for _ in range(many)]
    )
    monkeypatch.setattr(secure, "padded", lambda law, draw, number: draw(number))
    monkeypatch.setattr(secure, "_ahead", {})
    found: list[int] = []
    for turn in range(30):
        if turn % 3:
            secure.prepare([("gaussian", 7.0, 5), ("laplace", 3.0, 2), ("gaussian", 7.0, 1)])
        found += [secure.gaussian(7.0) for _ in range(6 if turn % 2 else 9)]
        found += [secure.laplace(3.0) for _ in range(2)]
    assert len(set(found)) == len(found)
    for kept in (found[0::8], found[6::8]):
        assert len(set(kept)) == len(kept)


def test_a_law_that_comes_again_is_drawn_for_several_releases(
    windows: list[tuple[str, int]],
) -> None:
    for _ in range(9):
        secure.prepare([("gaussian", 7.0, 5)])
        for _ in range(5):
            secure.gaussian(7.0)
    many = secure.REPEATED * secure.AHEAD
    for _ in range(2):
        secure.prepare([("laplace", 7.0, many)])
        for _ in range(many):
            secure.laplace(7.0)
    assert windows == [
        ("5 gaussian", 5), ("20 gaussian", 20), ("20 gaussian", 20),
        (f"{many} laplace", many), (f"{many} laplace", many),
    ]  # fmt: skip


def test_a_window_of_many_numbers_has_less_room_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 96 numbers twice what nine in ten draws take, and twice what 32 of them take."""
    passed = [0]

    def draw(number: int) -> list[int]:
        passed.append(passed[-1] + 3_000_000)
        return [0] * number

    monkeypatch.setattr(secure, "_windows", {})
    monkeypatch.setattr(secure, "_spent", lambda: passed[-1])
    assert secure._measured("96 laplace", draw, 3 * secure.AHEAD) == 2 * (3_000_000 + 1_000_000)
    assert secure._measured("32 laplace", draw, secure.AHEAD) == 4 * 3_000_000


# --- the attack -----------------------------------------------------------------------------------


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """A slow sampler, whose draws take longer the larger the noise is, by a clock of our own."""
    clock, sampler = Watch(), secure._sampler

    def slow(law: str, scale: float) -> secure.Draw:
        draw = sampler(law, scale)

        def slowed(number: int) -> list[int]:
            drawn = draw(number)
            for noise in drawn:
                clock.now += SAMPLER.draw + round(SAMPLER.slowness * abs(noise) / scale)
            return drawn

        return slowed

    monkeypatch.setattr(secure, "_sampler", slow)
    monkeypatch.setattr(secure, "REPEATED", 1)  # the two sides take turns, and so would draws
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "_windows", {})
    monkeypatch.setattr(secure, "padded", getattr(secure.padded, "padded", secure.padded))
    monkeypatch.setattr(secure, "perf_counter_ns", clock)
    monkeypatch.setattr(secure, "_spent", clock)
    monkeypatch.setattr(timing_attack, "CLOCKS", (clock,))
    return clock


def first_batch() -> Timed:
    """A batch of two, whose outcomes are 0 but for that of the last. Its noise is Laplace's, at a
    budget of 1, and the feature of both is 1: the entry of the last one's arm moves by 1.

    The attacker knows who had which arm and all other outcomes, and with them the noise in the
    entry of the other arm: what it took is subtracted from one more duration.
    """
    row, units = linear.policy("blocks-ts", epsilon=1.0, first=2), count()
    trial = linear.Trial(row, 2, horizon=2, features=Features(dimension=2))
    beginning = trial._document(trial._plan.run)

    def played(outcome: float) -> tuple[float, list[int]]:
        begin_anew(trial, beginning)
        centred, arm = [0.0, 0.0], 0
        for value in (0.0, outcome):
            unit = next(units)
            arm, durations = timed(trial.assign, unit, [[1.0, 0.0], [0.0, 1.0]])
            centred[arm] -= 0.5
            durations += timed(trial.record, unit, value)[1]
        assert trial._run.releases == [1]
        noisy = [seen - known for seen, known in zip(trial._run.view.noisy, centred, strict=True)]
        other = round(SAMPLER.slowness * abs(noisy[1 - arm]))
        return noisy[arm], [*durations, durations[-1] - other]

    return played


@pytest.mark.usefixtures("watch")
def test_durations_and_batch_together_keep_the_claim() -> None:
    assert epsilon_lower(sampled(first_batch(), TRIALS), SURE) <= 1.0


@pytest.mark.usefixtures("watch")
def test_the_attack_finds_a_batch_that_is_not_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "padded", lambda law, draw, number: draw(number))
    assert epsilon_lower(sampled(first_batch(), TRIALS), SURE) > 1.0


@pytest.mark.usefixtures("watch")
def test_the_attack_finds_a_batch_whose_window_is_too_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fixed(dict[str, int]):
        def get(self, key: str, other: Any = None) -> int:
            return 400_000

        def __setitem__(self, key: str, value: int) -> None:
            pass

    monkeypatch.setattr(secure, "_windows", Fixed())
    assert epsilon_lower(sampled(first_batch(), TRIALS), SURE) > 1.0
