"""What an error carries: neither outcomes nor private features, wherever it comes from.

Tools that report errors collect the frames that an error came through. An exception is raised at
every line that a call passes in the package, one line a run, and its frames are searched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_cases import Clock, CountedNoise, batch_trial
from test_live_interruptions import PACKAGE, Injector, Interrupt

import discreet
import discreet.linear as linear
from discreet import Features
from discreet.live import Strata, Trial
from discreet.live._arguments import grouped
from discreet.live.stores._database import Database
from discreet.policies import policy
from discreet.privacy import _secure as secure

SECRET = 0.123456
STEPS = round(SECRET * 2**20)
FEATURES = [[SECRET, 0.0], [0.0, SECRET]]


def numbers_in(thing: Any) -> Iterator[float]:
    """All numbers that its `repr` would show."""
    if isinstance(thing, int | float):
        yield thing
    elif isinstance(thing, bytes) and str(STEPS).encode() in thing:
        yield STEPS
    elif isinstance(thing, list | tuple | set):
        for each in thing:
            yield from numbers_in(each)
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from numbers_in(each)


def carried_by(error: BaseException | None) -> set[str]:
    """The variables of the package, in the frames of an error or of what led to it, that hold the
    secret. The first frame of all is the caller's own."""
    found: set[str] = set()
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_code.co_filename.startswith(PACKAGE):
                for name, value in frame.f_locals.items():
                    if any(abs(x) == STEPS or abs(x - SECRET) < 1e-6 for x in numbers_in(value)):
                        found.add(f"{frame.f_code.co_name}.{name}")
            trace = trace.tb_next
        error = error.__context__
    return found


def recorded(**options: Any) -> Any:
    trial = Trial(policy("adap-klucb", epsilon=1.0), 2, clock=Clock(), **grouped(options))
    trial.assign("x")
    return trial


def local() -> Any:
    trial = batch_trial(policy("ldp-ucb-l", epsilon=1.0), ["A", "B"])
    trial.assign("x")
    return trial


def private() -> Any:
    return linear.Trial(
        linear.policy("private-linucb", epsilon=1.0), 2, horizon=9, features=Features(dimension=2)
    )


def by_stratum() -> Any:
    row = linear.policy("private-linucb", epsilon=1.0)
    return Strata(row, ["a", "b"], 2, horizon=9, features=Features(dimension=2))


def seated() -> Any:
    trial = Strata(policy("adap-klucb", epsilon=1.0), ["a", "b"], 2)
    trial.assign("x", "a")
    return trial


CALLS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "record": (
        lambda: recorded(deadline=1.0, missing="estimate"),
        lambda trial: trial.record("x", SECRET),
    ),
    "record that releases": (recorded, lambda trial: trial.record("x", SECRET)),
    "local response": (local, lambda trial: trial.record("x", SECRET)),
    "record by stratum": (seated, lambda trial: trial.record("x", SECRET)),
    "private features": (private, lambda trial: trial.assign("x", FEATURES)),
    "private features by stratum": (by_stratum, lambda trial: trial.assign("x", "a", FEATURES)),
    "estimates": (private, lambda trial: trial.estimates(FEATURES)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_line_carries_nothing_private(
    name: str, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decorator's own lines are the one place where the call is not yet, or no longer, in its
    hands: it is the caller's frame in all but name, and the caller holds what it passed."""
    monkeypatch.setattr(secure, "gaussian", noise)
    make, call = CALLS[name]
    at, searched = 0, 0
    while True:
        trial, injector = make(), Injector(at)
        before = sys.gettrace()
        sys.settrace(injector)
        error: BaseException | None = None
        try:
            call(trial)
        except Interrupt as interrupt:
            error = interrupt
        finally:
            sys.settrace(before)
        if error is None:
            break
        if not injector.where.startswith("clean:"):
            assert not carried_by(error), injector.where
            searched += 1
        at += 1
    assert searched > 20


def refusing() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everyday refusals of somebody whose features are private."""
    short = linear.Trial(
        linear.policy("private-linucb", epsilon=1.0), 2, horizon=1, features=Features(dimension=2)
    )
    short.assign(1, [[0.5, 0.0], [0.0, 0.5]])
    short.record(1, 1.0)
    yield "the horizon is reached", lambda: short.assign("x", FEATURES)
    yield "no unit", lambda: private().assign(1.5, FEATURES)
    yield "too few arms", lambda: private().assign("x", FEATURES[:1])
    closed = private()
    closed.close()
    yield "closed", lambda: closed.assign("x", FEATURES)
    yield "closed, estimates", lambda: closed.estimates(FEATURES)
    yield "no stratum", lambda: by_stratum().assign("x", "c", FEATURES)
    strata = by_stratum()
    strata.assign("x", "a", [[0.5, 0.0], [0.0, 0.5]])
    yield "another stratum", lambda: strata.assign("x", "b", FEATURES)
    yield "a stranger", lambda: seated().record("y", SECRET)


def test_refusals_carry_no_private_features() -> None:
    for name, call in refusing():
        with pytest.raises(discreet.errors.DiscreetError) as refusal:
            call()
        assert not carried_by(refusal.value), name


def test_arguments_that_were_swapped_do_not_show_the_outcome() -> None:
    trial = recorded()
    swapped: tuple[Any, ...] = (
        SECRET, np.float32(SECRET), Fraction(SECRET), True, np.True_, Decimal(SECRET),
        np.array(SECRET), [SECRET], 1, str(SECRET),
    )  # fmt: skip
    strata = discreet.Strata(policy("adap-klucb", epsilon=1.0), ["a"], 2)
    for outcome in swapped:
        for record in (trial.record, strata.record):
            with pytest.raises(discreet.errors.DiscreetError, match="not shown") as refusal:
                record(outcome, "x")
            assert "0.12" not in str(refusal.value)
            assert "True" not in str(refusal.value)
            assert "got 1" not in str(refusal.value)
    with pytest.raises(discreet.errors.UnknownUnit, match="got 'stranger'"):
        trial.record("stranger", 1.0)


# --- disks that fail ------------------------------------------------------------------------------


def in_memory(path: Path) -> Trial:
    trial = Trial(policy("adap-klucb", epsilon=1.0), 2, deadline="9 s", missing=0.0)
    trial.assign("x")
    trial.record("x", SECRET)
    return trial


def with_trees(path: Path) -> Trial:
    """A row that goes on needing exact sums."""
    trial = Trial(policy("dp-ucb", epsilon=1.0), 2, horizon=50, path=path)
    trial.assign("x")
    trial.record("x", SECRET)
    assert trial.report()["releases"] == 1
    trial.assign("y")  # whose block is still to be released
    return trial


STORING: dict[str, tuple[Callable[[Path], Trial], Callable[[Trial, Path], Any]]] = {
    "save": (in_memory, lambda trial, path: trial.save(path)),
    "drop": (with_trees, lambda trial, path: trial.drop(0)),
    "stop": (with_trees, lambda trial, path: trial.stop()),
    "finish": (with_trees, lambda trial, path: trial.finish()),
}


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("name", STORING)
def test_a_full_disk_carries_neither_outcomes_nor_exact_sums(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, call = STORING[name]
    path, run = tmp_path / "t.db", Database.run
    trial = make(path)

    def full(base: Database, statement: str, values: Any = ()) -> Any:
        if statement.startswith(("UPDATE trials", "UPDATE pending")):
            raise OSError(28, "No space left on device")
        return run(base, statement, values)

    monkeypatch.setattr(Database, "run", full)
    with pytest.raises(OSError, match="No space") as failure:
        call(trial, path)
    assert not carried_by(failure.value)


def test_a_disk_that_fails_at_loading_carries_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, failures = tmp_path / "t.db", list[OSError]()
    with in_memory(path) as trial:
        trial.save(path)
    run, left = Database.run, [0]

    def failing(base: Database, statement: str, values: Any = ()) -> Any:
        left[0] -= 1
        if left[0] < 0 and statement != "ROLLBACK":
            raise OSError(5, "Input/output error")
        return run(base, statement, values)

    monkeypatch.setattr(Database, "run", failing)
    while True:
        left[0] = len(failures)
        try:
            Trial.load(path).close()
            break
        except OSError as failure:
            failures.append(failure)
    assert len(failures) > 2
    assert not any(map(carried_by, failures))
