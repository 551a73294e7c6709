"""Nothing raw is kept or shown, and no noise that can be replayed is within reach of a trial."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

import pytest
from live_cases import (
    ROWS,
    SECRET,
    SECRET_STEPS,
    Clock,
    CountedNoise,
    batch_trial,
    fill,
    functions_in,
    klucb_trial,
    open_block,
    short_row,
    units_in,
    values_in,
    values_in_memory,
    values_on_disk,
)

import discreet.live
from discreet import Assignment
from discreet.errors import DiscreetError, InvalidArgument
from discreet.linear import _grid as grid
from discreet.live import Rehearsal, Trial
from discreet.live._batches import BatchRun
from discreet.live._randomness import SystemRandomness
from discreet.live._stream_run import device_of, steps_of
from discreet.live.stores import SqliteStore
from discreet.policies import CATALOGUE, ForgetLaplace, Geometric, Policy, policy
from discreet.policies._thompson import Thompson
from discreet.privacy import _noise as simulated_noise
from discreet.privacy import _secure as secure
from discreet.privacy import _source as source
from discreet.privacy._source import SECURE, SIMULATED
from discreet.protocol import Playing

# --- only secure noise ---------------------------------------------------------------------------


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Everything that is drawn from OpenDP."""
    drawn: list[tuple[str, Any]] = []
    for name in ("laplace", "gaussian", "randomised_response"):
        real = getattr(secure, name)

        def spy(*args: Any, _name: str = name, _real: Any = real) -> Any:
            if _name != "randomised_response":
                assert args[1:] in ((), (None,)), "live noise was handed a generator"
            value = _real(*args)
            drawn.append((_name, value))
            return value

        monkeypatch.setattr(secure, name, spy)
    return drawn


@pytest.mark.usefixtures("only_secure")
@pytest.mark.parametrize("name", ROWS)
def test_a_trial_runs_where_seedable_noise_is_mined(
    name: str, draws: list[tuple[str, Any]]
) -> None:
    rounds = 3000 if name == "dp-se" else 40
    trial = batch_trial(short_row(name), 2, horizon=rounds)
    for unit in range(rounds):
        trial.assign(unit)
        trial.record(unit, 0.5)
    assert trial.report()["releases"] >= 1
    assert len(draws) >= trial.report()["releases"]
    assert {type(value) for _, value in draws} == {int}


@pytest.mark.usefixtures("only_secure")
def test_the_mines_would_go_off() -> None:
    with pytest.raises(AssertionError, match="seedable"):
        Rehearsal(policy("adap-klucb", epsilon=1.0), 2)


@pytest.mark.usefixtures("only_secure")
def test_rules_that_sample_draw_on_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for name in ("random", "beta", "standard_normal", "standard_exponential"):
        real = getattr(SystemRandomness, name)

        def spy(self: Any, *args: float, _name: str = name, _real: Any = real) -> float:
            asked.append(_name)
            return float(_real(self, *args))

        monkeypatch.setattr(SystemRandomness, name, spy)
    trial = batch_trial(Policy("lazy", Geometric(2.0), ForgetLaplace(1.0), Thompson()), 3)
    for unit in range(50):
        trial.assign(unit)
        trial.record(unit, 0.5)
    assert "beta" in asked
    assert set(asked) <= {"beta", "random"}


def test_the_systems_chance_has_the_laws_that_rules_expect() -> None:
    """Means of 20,000 draws within 5.5 standard errors: 4e-8 each, 2e-7 in all."""
    chance, n = SystemRandomness(), 20_000
    cases = [
        ([chance.random() for _ in range(n)], 0.5, 1 / 12),
        ([chance.beta(2.0, 3.0) for _ in range(n)], 0.4, 0.04),
        ([chance.standard_normal() for _ in range(n)], 0.0, 1.0),
        ([x * x for x in (chance.standard_normal() for _ in range(n))], 1.0, 2.0),
        ([chance.standard_exponential() for _ in range(n)], 1.0, 1.0),
    ]
    for sample, mean, variance in cases:
        assert abs(sum(sample) / n - mean) < 5.5 * math.sqrt(variance / n)


@pytest.mark.parametrize("name", ROWS)
def test_the_linked_noise_is_the_secure_one(name: str) -> None:
    secure_names = {kernel.__name__ for kernel in SECURE.kernels.values()}
    row, terms = CATALOGUE[name].example(), Playing("one batch")
    inside: dict[int, Any] = {}
    for kernel in (steps_of(row, terms, SECURE).release, device_of(row, SECURE)):
        if kernel is not None:
            functions_in(kernel, inside)
    assert not [f for f in inside.values() if f.__module__ == simulated_noise.__name__]
    linked = [f for f in inside.values() if f.__module__ == source.__name__]
    assert linked
    assert {f.__name__ for f in linked} <= secure_names
    for function in linked:
        assert function.__code__.co_code == getattr(source, function.__name__).__code__.co_code
    simulated = device_of(row, SIMULATED) or steps_of(row, terms, SIMULATED).release
    inside = functions_in(simulated, {})
    assert [f for f in inside.values() if f.__module__ == simulated_noise.__name__]


def trial_modules() -> list[Path]:
    """The modules of discreet.live that a trial is made of, by following imports."""
    folder = Path(discreet.live.__file__).parent
    todo, found = [folder / "_trial.py"], {folder / "_trial.py"}
    while todo:
        for node in ast.walk(ast.parse(todo.pop().read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                paths = {folder / f"{name}.py" for name in names if "stores" not in name} - found
                found |= paths
                todo += paths
    return sorted(found)


def seedable_names(text: str) -> set[str]:
    """Names in a module that smell of seeds."""
    bad = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            bad |= {a.name for a in node.names if a.name.split(".")[0] in ("numpy", "random")}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] == "numpy" or module.endswith(("noise", "rehearsal")):
                bad.add(module)
            if module == "random":
                bad |= {a.name for a in node.names if a.name != "SystemRandom"}
        elif isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in ("default_rng", "Generator", "seed", "RandomState", "Random"):
                bad.add(name)
    return bad


def test_the_code_of_trials_names_no_seedable_randomness() -> None:
    folder = Path(discreet.live.__file__).parent
    modules = [*trial_modules(), *(folder / "stores").glob("*.py")]
    assert {"_trial.py", "_run.py", "_rules.py", "_setup.py", "_randomness.py", "_contexts.py"} <= {
        p.name for p in modules
    }
    assert "_rehearsal.py" not in {p.name for p in modules}
    assert {p.name: seedable_names(p.read_text()) for p in modules} == {
        p.name: set() for p in modules
    }
    # arrays, and nothing that draws
    assert seedable_names(Path(grid.__file__ or "").read_text()) <= {"numpy"}
    assert seedable_names((folder / "_rehearsal.py").read_text()), "the search finds nothing"
    assert seedable_names("from random import Random") == {"Random"}


def test_a_trial_takes_no_seed() -> None:
    with pytest.raises(TypeError):
        klucb_trial(seed=1)


def test_the_first_outcome_of_an_arm_is_released_with_noise() -> None:
    """Ten trials; noise is 0 in all of them with probability below (5e-7)^10."""
    means = set()
    for _ in range(10):
        trial = klucb_trial()
        trial.assign("x")
        trial.record("x", 1.0)
        means.add(trial.report()["arms"][0]["mean"])
    assert means != {1.0}
    assert len(means) > 1


def test_every_release_is_drawn_once(noise: CountedNoise) -> None:
    trial = klucb_trial()
    for unit in range(200):
        trial.assign(unit)
        trial.record(unit, 0.5)
        for _ in range(2):
            trial.report()
            trial.settle()
            str(trial)
    assert len(noise.drawn) == trial.report()["releases"]


# --- nothing raw is kept -------------------------------------------------------------------------


def reveals(values: list[Any]) -> bool:
    return any(value in (SECRET, SECRET_STEPS, str(SECRET), str(SECRET_STEPS)) for value in values)


@pytest.mark.usefixtures("no_sync", "noise")
def test_raw_outcomes_are_erased_at_the_release(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        number = 0
        while (trial.report()["batch"]["size"] or 0) < 4:
            trial.assign(number)
            trial.record(number, 0.5)
            number += 1
        units = ["a", "b", "c", "d"]
        for unit in units:
            trial.assign(unit)
        trial.record("a", SECRET)
        assert reveals(values_on_disk(tmp_path)), "the search must be able to find it"
        for unit in units[1:]:
            trial.record(unit, 1.0)
        assert trial.status == "collecting"
        assert not reveals(values_on_disk(tmp_path))
        assert not reveals(values_in_memory(trial))


def ledger_in(trial: Trial) -> set[Any]:
    """All numbers in what a trial keeps for later releases, in memory and in its store."""
    ledgers = trial._run.secret(), trial._store.state["protocol"]["ledger"]
    return {value for ledger in ledgers for value in values_in(list(ledger.values()))}


@pytest.mark.usefixtures("no_sync", "noise")
@pytest.mark.parametrize("how", ["horizon", "finish", "finish(discard)", "single batches"])
@pytest.mark.parametrize("name", ["dp-ucb", "dp-ucb-td", "dp-ts"])
def test_exact_sums_are_erased_when_nothing_more_is_released(
    name: str, how: str, tmp_path: Path
) -> None:
    """Trees go on needing exact sums, of a single outcome at times; at the end nobody does."""
    streams = False if how == "single batches" else None
    path, row = tmp_path / "trial.db", short_row(name)
    trial = Trial(row, 2, horizon=9, path=path, assignment=Assignment(streams=streams))
    for unit in range(9 if streams is False or how == "horizon" else 5):
        assert ledger_in(trial) != {0} or unit == 0, "the search must be able to find them"
        trial.assign(unit)
        trial.record(unit, SECRET)
    if how.startswith("finish"):
        trial.assign("last")
        trial.finish(discard="discard" in how)
        assert ledger_in(trial) != {0}, "a block waits"
        trial.record("last", SECRET)
    shown = trial.report()
    assert shown["status"] == "finished"
    assert ledger_in(trial) == {0}
    assert not reveals(values_on_disk(tmp_path))
    trial.close()
    with Trial.load(path) as loaded:
        assert loaded.report() == shown


@pytest.mark.usefixtures("noise")
def test_closing_a_trial_in_memory_leaves_no_exact_sums_there(clock: Clock) -> None:
    trial = Trial(policy("dp-ucb", epsilon=1.0), 2, horizon=50, clock=clock)
    trial.assign("x")
    trial.record("x", SECRET)
    assert reveals(values_in_memory(trial)), "the search must be able to find it"
    trial.close()
    assert not reveals(values_in_memory(trial))
    with pytest.raises(DiscreetError):
        Trial.load(trial._store)


@pytest.mark.usefixtures("no_sync", "noise")
def test_dropped_outcomes_are_not_kept(tmp_path: Path, clock: Clock) -> None:
    with klucb_trial(path=tmp_path / "t.db", deadline=5.0, clock=clock, horizon=7) as trial:
        trial.assign("x")
        trial.assign("visitor")
        trial.record("visitor", SECRET)
        clock.now += 5.0
        trial.record("x", SECRET)
        assert trial.report()["releases"] == 1
        while not trial._run.is_cut_off:
            fill(trial, f"t{trial.rounds}")
            clock.now += 5.0
            trial.settle()
        trial.assign("last")
        trial.record("last", SECRET)
        assert "last" in units_in(trial)
        assert not reveals(values_on_disk(tmp_path))
        assert not reveals(values_in_memory(trial))


@pytest.mark.usefixtures("no_sync", "noise")
@pytest.mark.parametrize("name", ["ldp-ucb-b", "ldp-ucb-l"])
def test_a_local_row_never_keeps_a_raw_outcome(name: str, tmp_path: Path, clock: Clock) -> None:
    with batch_trial(
        policy(name, epsilon=1.0), 2, path=tmp_path / "t.db", deadline=5.0, clock=clock
    ) as trial:
        trial.assign("x")
        trial.record("x", SECRET)
        kept = dict(open_block(trial).outcomes)
        assert list(kept) == [0]
        assert not reveals(values_on_disk(tmp_path))
        assert not reveals(values_in_memory(trial))
        trial.record("x", 0.9)  # the first answer stands
        assert open_block(trial).outcomes == kept
        clock.now += 5.0
        assert trial.settle()


def test_a_missing_answer_of_a_local_row_is_randomised_too(clock: Clock) -> None:
    """400 missing answers as fair bits at ε ~ 0: all equal with probability 2^-399."""
    trial = batch_trial(policy("ldp-ucb-b", epsilon=1e-6), 2, deadline=1.0, clock=clock)
    sums = set()
    for unit in range(400):
        arm = trial.assign(unit)
        before = trial._run.view.value[trial.arms.index(arm)]
        clock.now += 1.0
        trial.settle()
        sums.add(before <= trial._run.view.value[trial.arms.index(arm)])
    assert sums == {True, False}


# --- nothing raw is shown ------------------------------------------------------------------------


def all_that_is_shown(trial: Trial) -> str:
    return json.dumps(trial.report()) + repr(trial) + str(trial)


def test_error_messages_show_no_outcome() -> None:
    trial = klucb_trial(arms=["A", "B"], outcome_range=(0.0, 0.5))
    while (trial.report()["batch"]["size"] or 0) < 2:
        unit = f"filler {trial.rounds}"
        trial.assign(unit)
        trial.record(unit, 0.5)
    trial.assign("x")
    trial.record("x", SECRET)
    attempts = [("x", 0.4321), ("x", 0.98765), ("x", "0.98765"), ("x", math.nan), ("z", 0.4321)]
    for unit, outcome in attempts:
        with pytest.raises(DiscreetError) as refusal:
            trial.record(unit, outcome)  # type: ignore[arg-type]
        text = "".join(map(str, (refusal.value, *refusal.value.args, repr(refusal.value))))
        if isinstance(refusal.value, InvalidArgument):
            text += repr(refusal.value.value)
        for private in (str(SECRET), str(SECRET_STEPS), "0.4321", "0.98765", "nan"):
            assert private not in text
        assert refusal.value.__cause__ is None
    assert not any(text in all_that_is_shown(trial) for text in (str(SECRET), str(SECRET_STEPS)))


@pytest.mark.usefixtures("no_sync")
def test_neighbouring_trials_that_release_the_same_look_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trials differ in one outcome; their noise makes up for it. Nobody can tell them apart."""

    def story(folder: Path, private: float) -> tuple[list[str], Any]:
        trial = klucb_trial(arms=["A", "B"], path=folder / "trial.db")
        shown, shift = [], 0
        monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 12_345 + shift)
        for unit in range(40):
            shift = -round(private * SECURE.resolution) if unit_is_last(trial, 17) else 0
            shown.append(str(trial.assign(unit)))
            trial.record(unit, private if unit == 17 else 0.25)
            shown.append(all_that_is_shown(trial))
        trial.close()
        store = SqliteStore(folder / "trial.db")
        store.load()
        state = store.state
        store.close()
        return shown, state

    def unit_is_last(trial: Trial, unit: int) -> bool:
        """Whether the batch that is being filled ends with the next unit and holds that one."""
        holds = unit in units_in(trial) or trial.rounds == unit
        run = trial._run
        return holds and isinstance(run, BatchRun) and len(units_in(trial)) + 1 == run.rounds

    for name in "ab":
        (tmp_path / name).mkdir()
    assert story(tmp_path / "a", 0.0) == story(tmp_path / "b", 1.0)


def test_the_report_of_random_bits_is_about_outcomes() -> None:
    """The mean of the answers of 4,000 units who all say 1, within 5.5 standard errors (4e-8)."""
    trial = batch_trial(policy("ldp-ucb-b", epsilon=1.0), 2, outcome_range=(0.0, 10.0))
    for unit in range(4000):
        trial.assign(unit)
        trial.record(unit, 10.0)
    row = max(trial.report()["arms"] or (), key=lambda row: int(row["size"]))
    spread = 10.0 * math.sqrt(0.731 * 0.269 / row["size"]) / math.tanh(0.5)
    assert row["mean"] is not None
    assert abs(row["mean"] - 10.0) < 5.5 * spread < 3.0
