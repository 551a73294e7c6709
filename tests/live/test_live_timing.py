"""Windows of live noise, sizes of files, and how deep a draw lies.

`test_live_timing_attack` attacks the durations themselves.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from live_cases import Clock, batch_trial
from timing_attack import epsilon_lower
from timing_cases import RELEASES, First, trial_of

from discreet import Trial, policy
from discreet.policies import Policy
from discreet.policies.schedules import EachRound
from discreet.privacy import secure


@pytest.fixture(autouse=True)
def padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here time is measured, so draws are padded as in life."""
    monkeypatch.setattr(secure, "padded", getattr(secure.padded, "padded", secure.padded))


def window(nanoseconds: int) -> secure.Window:
    """One that nothing has disturbed."""
    return secure.Window(nanoseconds, nanoseconds)


def wait(seconds: float) -> None:
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        pass


def work(seconds: float) -> None:
    """The same in processor time, which a busy machine does not shorten."""
    begun = time.thread_time()
    while time.thread_time() - begun < seconds:
        pass


# --- windows --------------------------------------------------------------------------------------


def test_a_window_is_measured_once_by_draws_about_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_windows", {})
    seen: list[Any] = []

    def draw(value: Any) -> int:
        seen.append(value)
        return 0

    secure.padded("laplace", draw, 77)
    assert seen.count(77) >= 1
    assert set(seen) == {0, 77}
    assert seen.index(77) == 2 * secure._DUMMIES
    before = len(seen)
    secure.padded("laplace", draw, 78)
    assert 0 not in seen[before:]


def test_a_window_is_four_times_what_nine_in_ten_draws_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Draw number k takes k milliseconds, of which the first half is there to get warm."""
    passed = [0]

    def draw(value: Any) -> int:
        passed.append(passed[-1] + 1_000_000 * len(passed))
        return 0

    monkeypatch.setattr(secure, "_windows", {})
    monkeypatch.setattr(secure, "_spent", lambda: passed[-1])
    expected = window(4 * 1_000_000 * (secure._DUMMIES * 19 // 10 + 1))
    assert secure._measured("laplace", draw, 0) == secure._windows["laplace"] == expected
    assert len(passed) == 2 * secure._DUMMIES + 1


def test_no_result_is_handed_out_before_its_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_windows", {"laplace": window(2_000_000)})
    for _ in range(20):
        begun = time.perf_counter_ns()
        secure.laplace(1.0)
        assert time.perf_counter_ns() - begun >= 2_000_000


def test_a_draw_that_outlasts_its_window_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_windows", {"laplace": window(1_000_000)})
    drawn: list[int] = []

    def draw(value: Any) -> int:
        drawn.append(len(drawn))
        work(0.003 if len(drawn) == 1 else 0.0)
        return drawn[-1]

    assert secure.padded("laplace", draw, 0) == drawn[-1] >= 1
    assert secure._windows["laplace"].least == 2_000_000  # later windows are longer


def test_a_draw_in_the_middle_of_another_spoils_that_ones_window_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a signal handler may make it; it must not wait for ever either."""
    monkeypatch.setattr(secure, "_windows", {"laplace": window(2_000_000)})
    drawn: list[int] = []

    def draw(value: Any) -> int:
        drawn.append(value)
        if len(drawn) == 1:
            secure.padded("laplace", draw, 5)
        return len(drawn)

    worker = threading.Thread(target=secure.padded, args=("laplace", draw, 1), daemon=True)
    worker.start()
    worker.join(20.0)
    assert not worker.is_alive()
    assert drawn[0] == drawn[-1] == 1
    assert drawn[1] == 5


def test_windows_of_responses_cover_flipped_bits_however_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were they drawn anew for taking long, no bit would ever be flipped."""
    monkeypatch.setattr(secure, "_windows", {})
    respond = secure._response

    def response(epsilon: float) -> Any:
        draw = respond(epsilon)

        def slowed(bit: bool) -> bool:
            answer = bool(draw(bit))
            wait(2e-3 * (answer is not bit))
            return answer

        return slowed

    monkeypatch.setattr(secure, "_response", response)
    secure.randomised_response(0, 1, 9.0)  # flips one bit in 8,100
    # of 50 fair coins five or fewer flip with probability 2e-9
    assert secure._windows["response"].least >= 4 * 2_000_000


def test_a_window_that_is_disturbed_while_it_is_padded_fails_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a draw would be the likelier to fail the longer it is, and failures would select."""
    monkeypatch.setattr(secure, "_windows", {"laplace": window(1_000_000)})
    ticks = iter([0, 100, 5_000_000, 5_000_000, 5_000_100, 6_000_000])
    monkeypatch.setattr(secure, "perf_counter_ns", lambda: next(ticks))
    drawn = iter([1, 2])
    assert secure.padded("laplace", lambda value: next(drawn), 0) == 2


@pytest.mark.parametrize(
    ("lost", "before", "after"),
    [
        (3, 1_000_000, 1_000_000),
        (7, 1_000_000, 1_000_000),
        (8, 1_000_000, 2_000_000),
        (16, 1_000_000, 4_000_000),
        (7, 64_000_000, 64_000_000),
        (8, 64_000_000, 1_000_000),
    ],
)
def test_a_busy_machine_makes_few_windows_longer(
    lost: int, before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draw that loses the processor is drawn anew in a window of the same length; one whose
    windows fail time after time gets a longer one, or it might never end; and where that does not
    help either, because long windows are interrupted more than short ones, a short one again. Calm
    ones that follow are shorter, one after the other."""
    monkeypatch.setattr(secure, "_windows", {"laplace": secure.Window(before, 1_000_000)})
    now, drawn = [0], 0

    def clock() -> int:
        now[0] += 1_000
        return now[0]

    def draw(value: Any) -> int:
        nonlocal drawn
        drawn += 1
        now[0] += 80_000_000 if drawn <= lost else 100_000
        return drawn

    monkeypatch.setattr(secure, "perf_counter_ns", clock)
    monkeypatch.setattr(secure, "_spent", lambda: 0)
    begun = now[0]
    assert secure.padded("laplace", draw, 0) == lost + 1
    lasted = now[0] - begun - lost * 80_000_000
    assert after <= lasted < after + 1_000_000
    lengths = [secure._windows["laplace"].length]
    assert lengths[0] == max(1_000_000, after - after // 32)
    for _ in range(150):
        secure.padded("laplace", draw, 0)
        lengths.append(secure._windows["laplace"].length)
    assert lengths == sorted(lengths, reverse=True)
    assert secure._windows["laplace"] == window(1_000_000)


@pytest.mark.parametrize("enabled", [True, False])
def test_collecting_garbage_makes_no_windows_longer(
    enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in the middle of a draw, as soon as enough was allocated, and takes as long as there
    are objects: far longer than a window in a process that has many."""
    monkeypatch.setattr(secure, "_windows", {"laplace": window(2_000_000)})
    before = gc.isenabled()

    def slowly(phase: str, info: Any) -> None:
        work(0.01)

    def draw(value: Any) -> int:
        return len([[] for _ in range(3 * gc.get_threshold()[0])])

    gc.callbacks.append(slowly)
    try:
        gc.enable() if enabled else gc.disable()
        secure.padded("laplace", draw, 0)
        assert secure._windows["laplace"].least == 2_000_000
        assert gc.isenabled() is enabled
    finally:
        gc.callbacks.remove(slowly)
        gc.enable() if before else gc.disable()


def test_an_interrupt_leaves_collection_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that comes as soon as it is off, before anything else is done."""

    class Interrupted:
        isenabled, enable = staticmethod(gc.isenabled), staticmethod(gc.enable)

        @staticmethod
        def disable() -> None:
            gc.disable()
            raise KeyboardInterrupt

    before = gc.isenabled()
    monkeypatch.setattr(secure, "gc", Interrupted)
    try:
        gc.enable()
        with pytest.raises(KeyboardInterrupt):
            secure.padded("laplace", lambda value: 0, 0)
        assert gc.isenabled()
    finally:
        gc.enable() if before else gc.disable()


def test_a_draw_that_waits_for_another_does_not_show_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lock is held until the window ends, not until the draw does."""
    monkeypatch.setattr(secure, "_windows", {"laplace": window(200_000_000)})
    inside = threading.Event()

    def draw(value: Any) -> int:
        inside.set()
        return 0

    thread = threading.Thread(target=secure.padded, args=("laplace", draw, 0))
    begun = time.perf_counter()
    thread.start()
    inside.wait()
    with secure._lock:
        waited = time.perf_counter() - begun
    thread.join()
    assert waited > 0.19


# --- sizes of files, and how deep it is -----------------------------------------------------------


@pytest.mark.parametrize("name", ["laplace", "tree"])
def test_files_have_the_same_size_whatever_was_recorded(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise makes up for the outcomes, so that all that is public is the same."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    sizes = []
    for outcome in (0.0, 1.0, 0.123456):
        units = round(outcome * 2**20)
        monkeypatch.setattr(secure, "laplace", lambda scale, rng=None, u=units: 5_000_000 - u)
        row = Policy("attacked", EachRound(), RELEASES[name], First())
        path = tmp_path / str(outcome)
        path.mkdir()
        clock = Clock()
        with batch_trial(row, 2, horizon=50, path=path / "t.json", deadline=1.0, clock=clock) as t:
            t.assign("x")
            t.record("x", outcome)
            before = sorted((p.name, p.stat().st_size) for p in path.iterdir())
            clock.now += 2.0
            assert t.settle()
            after = sorted((p.name, p.stat().st_size) for p in path.iterdir())
        sizes.append((before, after))
    assert sizes[0] == sizes[1] == sizes[2]


LIVE = {
    "a single batch": lambda: trial_of("laplace"),
    "streams": lambda: Trial(policy("adap-klucb", epsilon=1.0), 2),
    "looks": lambda: Trial(policy("dp-se", epsilon=5.0, beta=0.2), 2),
    "top two": lambda: Trial(policy("evidence-tt", epsilon=1.0), 2, goal="identify", risk=0.1),
    "epochs": lambda: Trial(policy("dp-imed", epsilon=1.0), 2, trend=True),
}


@pytest.mark.parametrize("kind", LIVE)
def test_from_record_to_the_noise_there_are_at_most_five_frames(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths: list[list[str]] = []

    def laplace(scale: float, rng: None = None) -> int:
        names = []
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name != "record":
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        depths.append(names)
        return 0

    monkeypatch.setattr(secure, "laplace", laplace)
    trial = LIVE[kind]()
    for unit in range(5_000):
        trial.assign(unit)
        trial.record(unit, 1.0)
        if depths:
            break
    assert depths
    assert max(map(len, depths)) + 1 <= 5, depths


def test_the_bound_itself_is_right() -> None:
    """Randomised bits of a known ε: the bound stays below it, and comes near."""
    rng = np.random.default_rng(1)
    epsilon = 2.0
    truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    n = 20_000
    sides = tuple(
        np.column_stack([(rng.random(n) < p).astype(float), rng.random(n)])
        for p in (1.0 - truth, truth)
    )
    assert 1.6 < epsilon_lower(sides, 1.0 - 1e-6) <= epsilon  # type: ignore[arg-type]
