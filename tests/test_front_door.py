"""One front door: what each function does with a row of each kind, and what it says otherwise."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
from discreet.audit import audit
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.identify import Identifier, identify
from discreet.linear import LinearProblem
from discreet.live._arguments import grouped
from discreet.policies._fingerprints import fingerprint
from discreet.policies._registry import GOALS, KINDS, Entry, catalogue, row_from_recipe

LINES = [line for kind in KINDS for line in catalogue(kind).values()]
ENVIRONMENT = discreet.Bernoulli([0.7, 0.5])
PROBLEM = LinearProblem.random(arms=3, dimension=2, contexts="fixed", seed=1)
STUDY: dict[str, Any] = {"horizon": 20, "runs": 1, "seed": 1, "progress": False}


def named(line: Entry[Any]) -> str:
    return f"{line.kind}-{line.name}"


@pytest.mark.parametrize("line", LINES, ids=named)
def test_every_row_comes_through_the_front_door_and_back_from_its_recipe(line: Entry[Any]) -> None:
    (goal,) = [goal for goal, kinds in GOALS.items() if line.kind in kinds]
    row = discreet.policy(line.name, budget=line.example_budget, goal=goal)
    assert fingerprint(row) == fingerprint(line.example())
    saved = json.loads(json.dumps(row.to_dict()))
    assert saved["name"] == line.name
    assert fingerprint(row_from_recipe(saved["recipe"])) == fingerprint(row)
    assert row.guarantee.is_private is bool(line.budgets)
    if not getattr(row, "fixed_size", False):  # those wait for the number of participants
        assert row.proved(horizon=20).holds is not False


def in_a_trial(row: Identifier) -> dict[str, Any]:
    if row.fixed_size:
        return {"policy": row.among(60)}
    return {"policy": row, "risk": 0.1}


@pytest.mark.parametrize(
    "line",
    [line for line in catalogue("identify").values() if line.budgets],
    ids=named,
)
def test_a_trial_of_every_identifying_row_is_loaded_without_its_policy(
    line: Entry[Identifier], tmp_path: Path
) -> None:
    path = tmp_path / "trial"
    settings = in_a_trial(line.example())
    with (
        warnings.catch_warnings(),
        discreet.Trial(arms=["a", "b"], path=path, **grouped(settings)) as trial,
    ):
        warnings.simplefilter("error")
        for unit in range(12):
            trial.assign(unit)
            trial.record(unit, 1.0)
        before = str(trial)
    with discreet.Trial.load(path) as again:
        assert str(again) == before
        again.assign(99)


@pytest.mark.parametrize("row", [discreet.policy("dp-tt", epsilon=1.0).at(0.1)])
def test_a_row_that_decides_once_a_batch_says_so_in_its_recipe(row: Identifier) -> None:
    batched = row.batched()
    assert batched.recipe == {**row.recipe, "mixed": False}
    assert fingerprint(row_from_recipe(batched.recipe)) == fingerprint(batched)
    assert fingerprint(row_from_recipe(row.recipe)) == fingerprint(row) != fingerprint(batched)


FINITE = discreet.policy("adap-ucb", epsilon=1.0)
IDENTIFY = discreet.policy("adap-tt", epsilon=1.0)
SIZE = discreet.policy("halving", epsilon=1.0, goal="identify")
LINEAR = discreet.policy("adac-oful", rho=0.5)
PHASED = discreet.policy("adac-gope", rho=0.5)

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "simulate an identifying row": (
        lambda: discreet.simulate(IDENTIFY.at(0.1), ENVIRONMENT, **STUDY),
        r"policy must be a row that runs to a horizon, got 'adap-tt, which is identifying'",
    ),
    "simulate a linear row with late outcomes on a law": (
        lambda: discreet.simulate(LINEAR, ENVIRONMENT, horizon=20, arrivals=5.0),
        r"problem must be a LinearProblem",
    ),
    "simulate a finite row on a linear problem": (
        lambda: discreet.simulate(FINITE, PROBLEM, **STUDY),
        r"environment must be an environment with finite arms, got 'a LinearProblem'"
        r".*linear policies",
    ),
    "simulate a linear row on a law": (
        lambda: discreet.simulate(LINEAR, ENVIRONMENT, **STUDY),
        r"problem must be a LinearProblem",
    ),
    "identify on a linear problem": (
        lambda: identify(IDENTIFY, PROBLEM, risk=0.1),  # type: ignore[call-overload]
        r"environment must be an environment with finite arms, got 'a LinearProblem'",
    ),
    "sweep an identifying row over a linear problem": (
        lambda: discreet.sweep(IDENTIFY, PROBLEM, risk=0.1, runs=1),
        r"environment must be an environment with finite arms, got 'a LinearProblem'",
    ),
    "compare rows of two kinds": (
        lambda: discreet.compare([FINITE, LINEAR], PROBLEM, **STUDY),
        r"linear row for a linear problem, got 'adap-ucb, which is finite-armed'",
    ),
    "audit an identifying row without its risk": (
        lambda: audit(IDENTIFY, transcripts=10),
        r"risk must be set for adap-tt, which stops with an answer.*policy.at\(0.05\)",
    ),
    "audit a row of a fixed size without its size": (
        lambda: audit(SIZE, transcripts=10),
        r"participants must be given",
    ),
    "audit a phased row": (lambda: audit(PHASED, transcripts=10), r"adac-gope"),
    "rehearse an identifying row without its risk": (
        lambda: discreet.Rehearsal(IDENTIFY, 2),
        r"risk must be set for adap-tt.*policy.at\(0.05\)",
    ),
    "a trial of an identifying policy without its risk": (
        lambda: discreet.Trial(IDENTIFY, 2),
        r"risk must be a finite number.*such as risk=0.05",
    ),
    "a trial of a finite policy with a risk": (
        lambda: discreet.Trial(FINITE, 2, risk=0.1),
        r"risk must be left out for .*, which stops with no answer",
    ),
    "a trial of a phased row": (
        lambda: discreet.Trial(PHASED, 2, horizon=64, features=discreet.Features(dimension=2)),
        r"adac-gope.*policies you can use: adac-oful",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_function_cannot_serve_it_refuses_by_name(what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises(InvalidArgument, match=message):
        call()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("audit adap-ucb --epsilon 1 --risk .1", 2, "does not stop at one"),
        (
            "audit adap-tt --epsilon 1 --risk 2",
            2,
            "risk must be a finite number strictly between 0 and 1",
        ),
        ("verify adap-tt --epsilon 1 --horizon 20", 0, "the claim holds"),
        ("verify evidence-tt --rho .5 --horizon 20", 0, "the claim holds"),
        ("verify ADAC-OFUL --rho .5 --horizon 20", 0, "the claim holds"),
        ("verify adap-t --epsilon 1", 2, "did you mean adap-tt"),
        ("simulate adap-tt --epsilon 1 --means .7,.5", 2, "`discreet identify`"),
        ("show adap-tt", 0, "AdaP-TT"),
        ("show adac-oful", 0, "AdaC-OFUL"),
        ("cite adap-tt", 0, "@article{azize2026"),
    ],
)
def test_commands_serve_every_kind_or_say_what_to_do(words: str, code: int, said: str) -> None:
    result = CliRunner().invoke(app, words.split())
    assert (result.exit_code, result.exception is None or result.exit_code == 2) == (code, True)
    assert said in " ".join(result.output.split())
