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
from live_cases import Clock, CountedNoise, batch_trial, klucb_trial, open_block

import discreet
import discreet.linear as linear
from discreet.compiled import Function
from discreet.errors import TrialError
from discreet.live import Trial
from discreet.live.stores import MemoryStore
from discreet.policies import BetaLeader, Doubling, ForgetLaplace, Policy, policy
from discreet.policies.rules import Rule
from discreet.privacy import Approximate, secure
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


def stand(trial: Trial) -> str:
    """All that is shown, and all that is stored."""
    block = open_block(trial)
    stored = [block.places, sorted(block.outcomes.items()), trial._store.state["protocol"]]
    return json.dumps([trial.report(), stored], default=str)


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
            options["path"] = path / "trial.json"
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
            with Trial.load(path / "trial.json", clock=clock) as again:
                if shown:
                    releases = json.loads(shown)[0]["releases"]
                    assert again.report()["releases"] >= releases, injector.where
                step(again)
        if not interrupted:
            break
        at += 1 if stored == "memory" else 3
    assert at > 40
    assert went_on > refused / 4, "it refuses too easily"


@pytest.mark.usefixtures("no_sync")
def test_what_is_in_memory_is_what_a_reload_would_give(tmp_path: Path, noise: CountedNoise) -> None:
    """After an interrupt the object shows what is on disk, or refuses."""
    at = 0
    while True:
        path = tmp_path / f"{at}.json"
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
        at += 3


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
    path, store = tmp_path / "t.json", MemoryStore()
    kinds: dict[str, dict[str, Any]] = {"files": {"path": path}, "store": {"store": store}}
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
    trial = linear.Trial(linear.policy("adac-oful", rho=0.5), 2, dimension=2, horizon=50)
    kernels: Any = trial._plan.run.kernels
    broken = kernels._replace(update=lambda *arguments: 1 / 0)
    trial._plan.run.kernels = broken
    trial._stale = True
    trial.assign("x", [[0.9, 0.0], [0.0, 0.9]])
    trial.record("x", 1.0)
    assert trial.status == "stuck"
    assert trial.status == "stuck"
    assert len(drawn) == 2
    trial._plan.run.kernels = kernels
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


def carries(error: BaseException) -> bool:
    return any(
        value in (SECRET, UNITS) or str(UNITS) in repr(value) or str(SECRET) in repr(value)
        for value in locals_of(error)
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

    trial = klucb_trial(store=MemoryStore())
    trial.assign("x")
    monkeypatch.setattr(MemoryStore, broken, full)
    with pytest.raises(OSError, match="No space") as failure:
        trial.record("x", SECRET)
    assert not carries(failure.value)


@pytest.mark.usefixtures("no_sync")
def test_damaged_files_are_refused_without_their_contents(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with klucb_trial(path=path, deadline=9.0) as trial:
        trial.assign("x")
        trial.record("x", SECRET)
    log = next(tmp_path.glob("*.outcomes-*"))
    whole = log.read_text()
    for damage in (whole.replace("[0,", "(0,"), whole + "[5,7]\n", whole + whole):
        log.write_text(damage + "[1, 2]\n")
        with pytest.raises(discreet.errors.DamagedFile) as refusal:
            Trial.load(path)
        assert not carries(refusal.value)
