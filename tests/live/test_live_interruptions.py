"""Whatever is raised wherever, by a rule or by Ctrl-C: nothing is drawn twice, nothing is torn.

An exception is raised at every line that a release passes in the package, one line a run. After it
the object stands where a reload would stand, or refuses to go on; and no batch has two values.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_cases import (
    Clock,
    CountedNoise,
    batch_trial,
    damaged,
    klucb_trial,
    open_block,
)
from live_disk import THOROUGH
from test_live_crashes import is_a_trial

import discreet
import discreet.linear as linear
from discreet import Assignment, Features
from discreet._compiled import Function
from discreet.errors import TrialError
from discreet.identify import identifier
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live.stores import MemoryStore
from discreet.live.stores._database import Database
from discreet.live.stores._memory import HeldBlock
from discreet.policies import BetaLeader, Doubling, ForgetLaplace, Policy, policy
from discreet.policies._rules import Rule
from discreet.privacy import Approximate
from discreet.privacy import _secure as secure
from discreet.testing import unchecked_policy

PACKAGE = str(Path(discreet.__file__).parent)


class Interrupt(BaseException):
    """Ctrl-C."""


class Injector:
    """Raises at the k-th line of the package that is passed."""

    def __init__(self, at: int) -> None:
        self.at, self.passed, self.where = at, 0, ""

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            if self.passed == self.at:
                self.passed += 1
                self.where = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise Interrupt
            self.passed += 1
        return self

    def run(self, step: Callable[[], Any]) -> bool:
        """Whether it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            step()
        except Interrupt:
            return True
        finally:
            sys.settrace(before)
        return False


class Handler(Injector):
    """Acts at the k-th line instead, as a signal handler does."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        super().__init__(at)
        self.act = act

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        try:
            return super().__call__(frame, event, argument)
        except Interrupt:
            self.act()  # untraced, as all that a tracer calls
            return self


def stand(trial: Trial) -> str:
    """All that is shown, and all that is stored."""
    shown = trial.report()
    with trial._store.held():
        trial._store.ready()
        block = open_block(trial)
        stored = [*block.places], sorted(block.outcomes.items()), trial._store.state["protocol"]
    return json.dumps([shown, stored], default=str)


STEPS: dict[str, tuple[Callable[..., Trial], Callable[[Trial], Any]]] = {
    "record that releases": (klucb_trial, lambda trial: trial.record("x", 1.0)),
    "assign": (klucb_trial, lambda trial: trial.assign("y")),
    "assign that releases": (
        lambda **options: klucb_trial(deadline=1.0, **options), lambda trial: trial.assign("y"),
    ),
    "local response": (
        lambda **options: batch_trial(policy("ldp-ucb-l", epsilon=1.0), ["A", "B"], **options),
        lambda trial: trial.record("x", 1.0),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("stored", ["memory", "files"])
@pytest.mark.parametrize("case", STEPS)
def test_an_interrupt_at_any_line_tears_nothing_and_redraws_nothing(
    case: str, stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, step = STEPS[case]
    at, refused, went_on = 0, 0, 0
    while True:
        noise, clock = CountedNoise(), Clock()
        monkeypatch.setattr(secure, "laplace", noise)
        path = tmp_path / str(at)
        path.mkdir()
        options: dict[str, Any] = {"clock": clock}
        if stored == "files":
            options["path"] = path / "trial.db"
        trial = make(**options)
        trial.assign("x")
        clock.now += 5.0
        injector = Injector(at)
        interrupted = injector.run(lambda trial=trial: step(trial))
        drawn = len(noise.drawn)
        shown = ""
        try:
            shown = stand(trial)
            step(trial)
            went_on += 1
            assert drawn + 1 >= len(noise.drawn) >= drawn
            if drawn:
                assert len(noise.drawn) == 1, f"drawn again after {injector.where}"
        except TrialError:
            shown = ""
        if not shown:
            assert interrupted
            refused += 1
            assert len(noise.drawn) == drawn, f"drawn again after {injector.where}"
        trial.close()
        if stored == "files":
            with Trial.load(path / "trial.db", clock=clock) as again:
                if shown:
                    releases = json.loads(shown)[0]["releases"]
                    assert again.report()["releases"] >= releases, injector.where
                step(again)
        if not interrupted:
            break
        at += 1 if THOROUGH else 3 if stored == "memory" else 29
    assert at > 40
    assert went_on > refused / 4, "it refuses too easily"


@pytest.mark.usefixtures("no_sync")
def test_what_is_in_memory_is_what_a_reload_would_give(tmp_path: Path, noise: CountedNoise) -> None:
    """After an interrupt the object shows what is on disk, or refuses."""
    at = 0
    while True:
        path = tmp_path / f"{at}.db"
        trial = klucb_trial(path=path)
        trial.assign("x")
        injector = Injector(at)
        interrupted = injector.run(lambda trial=trial: trial.record("x", 1.0))
        try:
            shown: Any = trial.report()
        except TrialError:
            shown = None
        trial.close()
        with Trial.load(path) as again:
            assert shown in (None, again.report()), injector.where
        if not interrupted:
            break
        at += 1 if THOROUGH else 13


ROW = policy("adap-klucb", epsilon=1.0)
UNIFORM = identifier("uniform", epsilon=1.0, participants=4)
KINDS: dict[str, tuple[int, Callable[..., Trial]]] = {
    "pairs": (
        2,
        lambda **options: Trial(ROW, 2, missing="estimate", **grouped(dict(window=1, **options))),
    ),
    "looks": (1, lambda **options: Trial(UNIFORM, 2, missing=0.0, **grouped(options))),
}
"""Noisy numbers of a release, and the trial."""


@pytest.mark.parametrize("stored", ["memory", "files"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("no_sync")
def test_no_block_is_drawn_twice_wherever_the_end_of_a_trial_is_interrupted(
    kind: str, stored: str, tmp_path: Path, noise: CountedNoise
) -> None:
    """At one in 13 lines of a call that closes all blocks and of the one that releases them (in
    files at fewer: `make crashes` has these)."""
    numbers, make = KINDS[kind]
    at, refused, went_on = 0, 0, 0
    while True:
        noise.drawn.clear()
        clock, path = Clock(), tmp_path / f"{at}.db"
        trial = make(deadline=1.0, clock=clock, **({"path": path} if stored == "files" else {}))
        for unit in range(4):
            trial.assign(unit)
            trial.record(unit, 1.0)

        def finish(trial: Trial = trial, clock: Clock = clock) -> None:
            if trial.status == "collecting":
                trial.finish()
            clock.now = 2000.0
            trial.settle()

        injector = Injector(at)
        interrupted = injector.run(finish)
        clock.now, drawn = 2000.0, len(noise.drawn)
        try:
            finish()
            releases = trial.report()["releases"]
            assert len(noise.drawn) == numbers * releases > 0, injector.where
            went_on += 1
        except TrialError:
            assert interrupted
            assert len(noise.drawn) == drawn, f"drawn again after {injector.where}"
            refused, releases = refused + 1, None
        trial.close()
        if stored == "files":
            with Trial.load(path, clock=clock) as again:
                assert releases in (None, again.report()["releases"]), injector.where
        if not interrupted:
            break
        at += 13 if stored == "memory" else 61
    assert went_on > refused / 4 > 0


@pytest.mark.parametrize("kind", ["streams", "batches"])
def test_a_call_from_within_a_call_is_refused(kind: str, noise: CountedNoise) -> None:
    """A signal handler may look at the trial at any moment: it must not release what is being
    released."""
    options: dict[str, Any] = {"window": 1} if kind == "streams" else {"streams": False}
    at, refused = 0, 0
    while True:
        noise.drawn.clear()
        trial = Trial(ROW, 2, **grouped(options))
        trial.assign("x")
        looks: list[str] = []

        def look(trial: Trial = trial, looks: list[str] = looks) -> None:
            assert "adap-klucb" in repr(trial)
            try:
                looks.append(trial.status)
            except TrialError as refusal:
                looks.append(str(refusal))

        handler = Handler(at, look)
        handler.run(lambda trial=trial: trial.record("x", 1.0))
        assert trial.report()["releases"] == len(noise.drawn) == 1, handler.where
        if not looks:
            break
        refused += "in the middle of another call" in looks[0]
        at += 1
    assert refused > 40


def test_a_trial_that_cannot_be_saved_has_lost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of it is left on disk, where its outcomes would be for ever."""
    trial = Trial(ROW, 2, deadline="9 s", missing="estimate", assignment=Assignment(window=1))
    trial.assign("x")
    trial.record("x", SECRET)
    (tmp_path / "taken.json").write_text("{}")
    with pytest.raises(discreet.errors.InvalidArgument, match="be a new file"):
        trial.save(tmp_path / "taken.json")

    def full(self: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("discreet.live.stores._database.Database.commit", full)
        with pytest.raises(OSError, match="No space"):
            trial.save(tmp_path / "t.db")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.json"]
    (block,) = trial._store.blocks.values()
    assert block.outcomes == {0: UNITS}
    trial.save(tmp_path / "t.db")
    trial.close()
    with Trial.load(tmp_path / "t.db") as again:
        (block,) = again._store.blocks.values()
        assert block.outcomes == {0: UNITS}


@pytest.mark.usefixtures("no_sync")
def test_of_a_trial_and_its_file_one_goes_on_wherever_saving_is_interrupted(
    tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "__del__", lambda self: None)  # Python swallows what it raises
    at, ends = 0, set()
    while True:
        path = tmp_path / str(at) / "t.db"
        path.parent.mkdir()
        trial = Trial(ROW, 2, deadline="9 s", missing="estimate", assignment=Assignment(window=1))
        trial.assign("x")
        trial.record("x", 1.0)
        injector = Injector(at)
        interrupted = injector.run(lambda trial=trial, path=path: trial.save(path))
        try:
            trial.report()
            goes_on = True
        except TrialError:
            goes_on = False
        moved = trial._store.place == str(path)
        trial.close()
        assert is_a_trial(path) == (moved or not goes_on), injector.where
        ends.add((goes_on, moved))
        if not interrupted:
            break
        at += 1 if THOROUGH else 3
    assert (True, False) in ends
    assert (True, True) in ends
    assert (False, False) in ends


# --- rules that fail ------------------------------------------------------------------------------


def choose_by_root(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
    """Takes the root of what noise may have made negative."""
    return int(view.value[0] ** 0.5 > 0.5) if view.size[0] else 0


@dataclass(frozen=True)
class Root(Rule):
    name: ClassVar[str] = "root"
    choose: ClassVar[Function] = staticmethod(choose_by_root)


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("stored", ["memory", "files", "store"])
def test_a_rule_that_fails_leaves_a_trial_that_says_so(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def negative(scale: float, rng: None = None) -> int:
        drawn.append(-3 * 2**20)
        return drawn[-1]

    monkeypatch.setattr(secure, "laplace", negative)
    row = Policy("root", Doubling(), ForgetLaplace(1.0), Root())
    path, store = tmp_path / "t.db", MemoryStore()
    kinds: dict[str, dict[str, Any]] = {"files": {"path": path}, "store": {"path": store}}
    options = kinds.get(stored, {})
    trial = batch_trial(row, ["A", "B"], **options)
    trial.assign("x")
    trial.record("x", 1.0)
    for again in range(3):
        report = trial.report()
        assert trial.status == report["status"] == "stuck"
        assert "TypeError" in report["failure"]
        assert "TypeError" in str(trial)
        assert "stuck" in repr(trial)
        assert report["arms"][0]["mean"] == pytest.approx(-2.0)
        assert trial.assign("x") == "A"
        trial.record("x", 0.5)
        with pytest.raises(TrialError, match=r"rule of the policy fails.*nothing is drawn again"):
            trial.assign(f"new {again}")
        if stored == "files":
            trial.close()
            trial = Trial.load(path, policy=row)
        elif stored == "store":
            trial = Trial.load(store, policy=row)
    assert len(drawn) == 1


def test_a_leader_of_beta_draws_on_noisy_means_never_has_a_batch_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts of the library that fail together: negative counts of a beta law."""
    drawn: list[int] = []

    def negative(scale: float, rng: None = None) -> int:
        drawn.append(-10 * 2**20)
        return drawn[-1]

    monkeypatch.setattr(secure, "laplace", negative)
    leader = BetaLeader(Approximate(5.0, 0.5))
    row = unchecked_policy("leader", Doubling(), ForgetLaplace(1.0), leader)
    trial = batch_trial(row, 2)
    unit = 0
    while trial.status != "stuck":
        trial.assign(unit)
        trial.record(unit, 1.0)
        unit += 1
    for _ in range(3):
        with pytest.raises(TrialError, match="ValueError"):
            trial.assign("another")
    assert len(drawn) == trial.report()["releases"]


def test_a_linear_rule_that_fails_redraws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def gaussian(scale: float, rng: None = None) -> int:
        drawn.append(0)
        return 0

    monkeypatch.setattr(secure, "gaussian", gaussian)
    trial = linear.Trial(
        linear.policy("adac-oful", rho=0.5), 2, horizon=50, features=Features(dimension=2)
    )
    steps: Any = trial._plan.run.steps
    broken = steps._replace(update=lambda *arguments: 1 / 0)
    trial._plan.run.steps = broken
    trial._stale = True
    trial.assign("x", [[0.9, 0.0], [0.0, 0.9]])
    trial.record("x", 1.0)
    assert trial.status == "stuck"
    assert trial.status == "stuck"
    assert len(drawn) == 2
    trial._plan.run.steps = steps
    trial._stale = True
    assert trial.status == "collecting"
    assert len(drawn) == 2


# --- what errors carry ----------------------------------------------------------------------------


def locals_of(error: BaseException) -> list[Any]:
    """Everything in the frames of the package that an error, or what led to it, came through."""
    found: list[Any] = []
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None:
            continue
        todo += [one.__cause__, one.__context__]
        found += [one.args, getattr(one, "doc", None)]
        trace = one.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
                found += trace.tb_frame.f_locals.values()
            trace = trace.tb_next
    return found


SECRET = 0.123456
UNITS = round(SECRET * 2**20)
IN_UNITS = (UNITS, round(SECRET * 2**21))
"""Of an outcome up to 1, and of one up to 0.5."""


def carries(error: BaseException) -> bool:
    plain = [
        [value.places, value.outcomes] if isinstance(value, HeldBlock) else value
        for value in locals_of(error)
    ]
    return any(
        value == SECRET or any(str(secret) in repr(value) for secret in (SECRET, *IN_UNITS))
        for value in plain
        if isinstance(value, int | float | str | bytes | list | tuple | dict)
    )


def test_refusals_carry_no_outcome_in_any_frame(noise: CountedNoise) -> None:
    trial = klucb_trial(outcome_range=(0.0, 0.5), contributions=5)
    while (trial.report()["batch"]["size"] or 0) < 2:
        unit = f"filler {trial.rounds}"
        trial.assign(unit)
        trial.record(unit, 0.5)
    trial.assign("x")
    trial.record("x", 0.25)
    small = klucb_trial(outcome_range=(0.0, 0.1))
    small.assign("x")
    closed = klucb_trial()
    closed.close()
    units: list[tuple[Trial, Any]] = [
        (trial, "x"), (trial, "stranger"), (trial, 1.5), (small, "x"), (closed, "x"),
    ]  # fmt: skip
    for refusing, unit in units:
        with pytest.raises(discreet.errors.DiscreetError) as refusal:
            refusing.record(unit, SECRET)
        assert not carries(refusal.value)


@pytest.mark.parametrize("broken", ["record", "release"])
def test_failures_of_the_store_carry_no_outcome(
    broken: str, monkeypatch: pytest.MonkeyPatch, noise: CountedNoise
) -> None:
    def full(self: Any, *arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    trial = klucb_trial(path=MemoryStore())
    trial.assign("x")
    monkeypatch.setattr(MemoryStore, broken, full)
    with pytest.raises(OSError, match="No space") as failure:
        trial.record("x", SECRET)
    assert not carries(failure.value)


def test_a_batch_that_is_given_up_is_erased_with_its_last_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The horizon cuts it off; an interrupt comes between knowing that and erasing it."""
    row = linear.policy("private-linucb", epsilon=1.0)
    trial = linear.Trial(row, 2, horizon=2, features=Features(dimension=1, batch=4))
    trial.assign("x", [[0.5], [0.5]])

    def interrupted(self: Any, run: Any, key: str) -> None:
        raise Interrupt

    with monkeypatch.context() as patched:
        patched.setattr(Trial, "_abandon", interrupted)
        with pytest.raises(Interrupt):
            trial.assign("y", [[0.5], [0.5]])
    assert len(open_block(trial).places) == 1, "it happened or it did not"
    assert trial.status == "collecting"
    trial.assign("y", [[0.5], [0.5]])
    assert trial.status == "finished"
    assert not open_block(trial).places


def test_failures_of_the_store_carry_no_private_context(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, *arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    row = linear.policy("private-linucb", epsilon=1.0)
    trial = linear.Trial(row, 2, horizon=8, features=Features(dimension=1))
    steps = linear_grid_steps(trial)
    monkeypatch.setattr(MemoryStore, "assign", full)
    with pytest.raises(OSError, match="No space") as failure:
        trial.assign("x", [[SECRET], [SECRET]])
    shown = [repr(value) for value in locals_of(failure.value)]
    assert not [text for text in shown if str(SECRET) in text or str(steps) in text]


def linear_grid_steps(trial: Trial) -> int:
    """A feature in whole steps."""
    run: Any = trial._run
    (steps,) = run.grid.features([SECRET])
    return int(steps)


@pytest.mark.usefixtures("no_sync")
def test_damaged_files_are_refused_without_their_contents(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with klucb_trial(path=path, deadline=9.0) as trial:
        trial.assign("x")
        trial.record("x", SECRET)
    for damage in (
        "UPDATE trials SET public = '{' || public", "UPDATE trials SET secret = x'00'",
        "UPDATE heads SET moved = '['", "DELETE FROM heads",
    ):  # fmt: skip
        other = tmp_path / "other.db"
        other.write_bytes(path.read_bytes())
        damaged(other, damage)
        with pytest.raises(discreet.errors.DamagedFile) as refusal:
            Trial.load(other)
        assert not carries(refusal.value)
        other.unlink()
