"""Windows of live noise, sizes of files, and how deep a draw lies.

`test_live_timing_attack` attacks the durations themselves.
"""

from __future__ import annotations

import ast
import gc
import math
import os
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from live_cases import Clock, batch_trial
from timing_attack import epsilon_lower
from timing_cases import RELEASES, First, trial_of

from discreet import Assignment, Trial, policy
from discreet.policies import Policy
from discreet.policies._schedules import EachRound
from discreet.privacy import _secure as secure


@pytest.fixture(autouse=True)
def padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here time is measured, so draws are padded as in life."""
    monkeypatch.setattr(secure, "padded", getattr(secure.padded, "padded", secure.padded))


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
    drawn: list[int] = []

    def draw(number: int) -> list[int]:
        drawn.append(len(drawn))
        return drawn[-1:]

    assert secure.padded("laplace", draw, 1) == [2 * secure._DUMMIES]
    assert secure.padded("laplace", draw, 1) == [2 * secure._DUMMIES + 1]


def test_a_window_is_four_times_what_nine_in_ten_draws_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Draw number k takes k milliseconds, of which the first half is there to get warm."""
    passed = [0]

    def draw(number: int) -> list[int]:
        passed.append(passed[-1] + 1_000_000 * len(passed))
        return [0]

    monkeypatch.setattr(secure, "_windows", {})
    monkeypatch.setattr(secure, "_spent", lambda: passed[-1])
    expected = 4 * 1_000_000 * (secure._DUMMIES * 19 // 10 + 1)
    assert secure._measured("laplace", draw, 1) == secure._windows["laplace"] == expected
    assert len(passed) == 2 * secure._DUMMIES + 1


def test_no_result_is_handed_out_before_its_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_windows", {"laplace": 2_000_000})
    for _ in range(20):
        begun = time.perf_counter_ns()
        secure.laplace(1.0)
        assert time.perf_counter_ns() - begun >= 2_000_000


class Scripted:
    """A clock that a look moves by a microsecond, and draws by what the script says; and the sleep
    of the machine, which comes at some looks."""

    def __init__(self, *durations: int, sleeps: dict[int, int] | None = None) -> None:
        self.now, self.looks, self.drawn = 0, 0, 0
        self.durations, self.sleeps = durations, sleeps or {}

    def __call__(self) -> int:
        self.looks += 1
        self.now += 1_000 + self.sleeps.get(self.looks, 0)
        return self.now

    def draw(self, number: int) -> list[int]:
        self.now += self.durations[self.drawn]
        self.drawn += 1
        return [100 * self.drawn + place for place in range(number)]

    def install(self, monkeypatch: pytest.MonkeyPatch, window: int = 1_000_000) -> Scripted:
        monkeypatch.setattr(secure, "_windows", {"laplace": window})
        monkeypatch.setattr(secure, "perf_counter_ns", self)
        monkeypatch.setattr(secure, "_spent", lambda: 0)
        return self


@pytest.mark.parametrize(
    ("took", "windows"), [(0, 1), (900_000, 1), (1_100_000, 2), (2_500_000, 3), (80_000_000, 81)]
)
def test_a_draw_that_misses_its_window_is_kept_for_the_next(
    took: int, windows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is handed out at a multiple of the window, and never drawn anew: else short ones would be
    preferred."""
    script = Scripted(took).install(monkeypatch)
    assert secure.padded("laplace", script.draw, 3) == [100, 101, 102]
    assert script.drawn == 1
    assert windows * 1_000_000 <= script.now < windows * 1_000_000 + 10_000


def test_an_end_that_is_missed_while_nothing_is_drawn_is_waited_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = Scripted(100_000, sleeps={500: 3_300_000}).install(monkeypatch)
    assert secure.padded("laplace", script.draw, 1) == [100]
    assert 4_000_000 <= script.now < 4_010_000


def test_the_law_is_that_of_one_draw_whatever_the_windows_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A neighbour on the core makes every second draw miss its window: all that is drawn is used
    once, in order."""
    script = Scripted(*[5_000_000 * (turn % 2) for turn in range(40)]).install(monkeypatch)
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 4)
    monkeypatch.setattr(secure, "_sampler", lambda environment, scale: script.draw)
    found = [secure.laplace(7.0) for _ in range(160)]
    assert found == [100 * turn + place for turn in range(1, 41) for place in range(4)]
    assert script.drawn == 40


def test_draws_are_not_starved_by_a_machine_that_is_never_calm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whenever it looks at the clock, five milliseconds have passed, as beside busy threads: so
    many looks, and no more."""
    sleeps = dict.fromkeys(range(2, 10_000), 5_000_000)
    script = Scripted(*[100_000] * 50, sleeps=sleeps).install(monkeypatch)
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 32)
    monkeypatch.setattr(secure, "_sampler", lambda environment, scale: script.draw)
    for _ in range(32 * 50):
        secure.laplace(7.0)
    assert script.drawn == 50
    assert script.looks <= 50 * (2 + 2 * secure._ENDS)


def test_noise_is_drawn_ahead_and_each_law_and_scale_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, float, int]] = []

    def sampler(environment: str, scale: float) -> Any:
        def draw(number: int) -> list[int]:
            asked.append((environment, scale, number))
            return [len(asked)] * number

        return draw

    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 3)
    monkeypatch.setattr(secure, "_windows", dict.fromkeys(("laplace", "gaussian", "response"), 1))
    monkeypatch.setattr(secure, "_sampler", sampler)
    assert [secure.laplace(7.0) for _ in range(4)] == [1, 1, 1, 2]
    assert secure.laplace(8.0) == 3
    assert secure.gaussian(7.0) == 4
    assert [secure.randomised_response(bit, 1, 7.0) for bit in (0, 1)] == [5, 4]  # 5 ^ 0, 5 ^ 1
    assert secure.laplace(7.0) == 2
    assert asked == [
        ("laplace", 7.0, 3), ("laplace", 7.0, 3), ("laplace", 8.0, 3), ("gaussian", 7.0, 3),
        ("response", 7.0, 3),
    ]  # fmt: skip
    for scale in range(1, 200):
        secure.laplace(float(scale))
    assert len(secure._ahead) == secure.MOST_LAWS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_has_none_of_the_noise_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 8)
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    secure.laplace(2.0**40)
    reading, writing = os.pipe()
    held = threading.Event()

    def hold() -> None:
        with secure._lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of several threads
        child = os.fork()
    if child == 0:
        found = [secure.laplace(2.0**40) for _ in range(7)] if not secure._ahead else []
        os.write(writing, repr(found).encode())
        os._exit(0)
    thread.join()
    os.waitpid(child, 0)
    other = set(ast.literal_eval(os.read(reading, 10_000).decode()))
    os.close(reading)
    os.close(writing)
    mine = {secure.laplace(2.0**40) for _ in range(7)}
    assert len(other) == len(mine) == 7  # two of these are the same with probability below 1e-9
    assert not other & mine


def test_an_interrupt_takes_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that was taken out is used or lost, and never found by another call."""
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 4)
    numbers = iter(range(1000))
    monkeypatch.setattr(
        secure,
        "_sampler",
        lambda environment, scale: lambda many: [next(numbers) for _ in range(many)],
    )
    monkeypatch.setattr(secure, "padded", lambda environment, draw, number: draw(number))
    used: list[int] = []
    for at in range(1, 60):
        lines = iter(range(1, 10_000))

        def trace(frame: Any, event: str, value: Any, lines: Any = lines, at: int = at) -> Any:
            if frame.f_code not in (secure._next.__code__, secure._taken.__code__):
                return None
            if event in ("line", "return") and next(lines) == at:
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            used.append(secure.laplace(3.0))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
    assert len(used) > 30
    assert used == sorted(set(used))


def test_a_draw_that_outlasts_its_window_makes_later_ones_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secure, "_windows", {"laplace": 1_000_000})

    def draw(number: int) -> list[int]:
        work(0.003)
        return [7]

    assert secure.padded("laplace", draw, 1) == [7]
    assert secure._windows["laplace"] == 2_000_000


def test_a_draw_in_the_middle_of_another_has_numbers_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a signal handler may make it; it must not wait for ever either."""
    monkeypatch.setattr(secure, "_windows", {"laplace": 2_000_000})
    monkeypatch.setattr(secure, "_ahead", {})
    monkeypatch.setattr(secure, "AHEAD", 2)
    drawn: list[list[int]] = []
    inner: list[int] = []
    outer: list[int] = []

    def draw(number: int) -> list[int]:
        drawn.append([10 * len(drawn), 10 * len(drawn) + 1])
        mine = drawn[-1]
        if len(drawn) == 1:
            inner.append(secure.laplace(1.0))
        return mine

    monkeypatch.setattr(secure, "_sampler", lambda environment, scale: draw)
    worker = threading.Thread(
        target=lambda: outer.extend(secure.laplace(1.0) for _ in range(3)), daemon=True
    )
    worker.start()
    worker.join(60.0)
    assert not worker.is_alive()
    assert sorted(inner + outer) == [0, 1, 10, 11]


def test_windows_of_responses_cover_flipped_bits_however_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a flip would show in how many windows its draw took."""
    monkeypatch.setattr(secure, "_windows", {})
    sampler = secure._sampler

    def slow(environment: str, parameter: float) -> Any:
        draw = sampler(environment, parameter)

        def slowed(number: int) -> list[int]:
            answers = draw(number)
            work(2e-3 * sum(answers))
            return answers

        return slowed

    monkeypatch.setattr(secure, "_sampler", slow)
    monkeypatch.setattr(secure, "AHEAD", 8)
    monkeypatch.setattr(secure, "_ahead", {})
    secure.randomised_response(0, 1, 9.0)  # flips one bit in 8,100
    # nine in ten of 20 draws with fewer than two flips of 8 fair coins: probability below 1e-9
    assert secure._windows["response"] >= 4 * 2_000_000


@pytest.mark.parametrize("enabled", [True, False])
def test_collecting_garbage_makes_no_windows_longer(
    enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in the middle of a draw, as soon as enough was allocated, and takes as long as there
    are objects: far longer than a window in a process that has many."""
    monkeypatch.setattr(secure, "_windows", {"laplace": 2_000_000})
    before = gc.isenabled()

    def slowly(phase: str, info: Any) -> None:
        work(0.01)

    def draw(number: int) -> list[int]:
        return [len([[] for _ in range(3 * gc.get_threshold()[0])])]

    gc.callbacks.append(slowly)
    try:
        gc.enable() if enabled else gc.disable()
        secure.padded("laplace", draw, 1)
        assert secure._windows["laplace"] == 2_000_000
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
            secure.padded("laplace", lambda number: [0], 1)
        assert gc.isenabled()
    finally:
        gc.enable() if before else gc.disable()


def test_a_draw_that_waits_for_another_does_not_show_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lock is held until the window ends, not until the draw does."""
    monkeypatch.setattr(secure, "_windows", {"laplace": 200_000_000})
    inside = threading.Event()

    def draw(number: int) -> list[int]:
        inside.set()
        return [0]

    thread = threading.Thread(target=secure.padded, args=("laplace", draw, 1))
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
        with batch_trial(row, 2, horizon=50, path=path / "t.db", deadline=1.0, clock=clock) as t:
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
    "top two": lambda: Trial(policy("evidence-tt", epsilon=1.0), 2, risk=0.1),
    "epochs": lambda: Trial(policy("dp-imed", epsilon=1.0), 2, assignment=Assignment(trend=True)),
}


@pytest.mark.parametrize("kind", LIVE)
def test_from_record_to_the_noise_there_are_at_most_seven_frames(
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
    assert max(map(len, depths)) + 1 <= 7, depths


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
