"""Whatever is typed: a result, or one line `error: ...` and code 2; no traceback and no hang.

Every option of every command gets every hostile value. Compiling is replaced by an exception, so a
value that is accepted ends there; what accepted extremes do to a run is tested at the end.
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import discreet
from discreet import _compiled as compiled
from discreet.cli import app
from discreet.simulator import _work as work
from discreet.studies import _base as studies

GROUP: Any = typer.main.get_command(app)
VALUES = (
    "", "0", "-1", "1e30", "1e-320", "-1e308", "nan", "inf", "1e20", "9" * 400, "1" * 5000, "abc",
    "1,2", "a=b", "ε", "\0", "a\nb", "none", "true", "/dev/full", "/proc/x.parquet", "[red]%s",
)  # fmt: skip
BASE = {
    "simulate": "adap-ucb --means .7,.5 --epsilon 1 --horizon 100 --runs 2",
    "compare": "ucb1 dp-imed --means .7,.5 --epsilon 1 --horizon 100 --runs 2",
    "identify": "adap-tt --means .9,.5 --epsilon 1 --runs 2",
    "bounds": "--means .7,.5 --epsilon 1",
    "plan": "--means .7,.5 --horizon 100",
    "reproduce": "azize2022 2",
    "policies": "",
    "show": "ucb1",
    "cite": "ucb1",
}
PATIENCE = 20
"""Seconds for one call, which takes milliseconds."""


class Accepted(BaseException):
    """It came to compiling: the arguments were taken."""


@pytest.fixture
def nothing_compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    def stop(*_: Any, **__: Any) -> Any:
        raise Accepted

    def hang(*_: Any) -> None:
        raise AssertionError("it hangs")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, "compile_for", stop)
    monkeypatch.setattr(compiled.Kernel, "cached", stop)
    monkeypatch.setattr(studies.Figure, "run", stop)
    if sys.platform == "win32":
        yield
        return
    before = signal.signal(signal.SIGALRM, hang)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def typed(words: list[str]) -> str:
    """What became of a command line: "accepted", "done" or "refused"; anything else fails."""
    if sys.platform != "win32":
        signal.alarm(PATIENCE)
    out, err, code = io.StringIO(), io.StringIO(), None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            GROUP.main(args=words, prog_name="discreet")
    except Accepted:
        return "accepted"
    except SystemExit as end:
        code = end.code
    said = err.getvalue()
    if code == 2:
        assert said.startswith("error: "), words
        assert said.count("\n") == 1, words
        assert out.getvalue() == "", words
        return "refused"
    assert code in (0, None), words
    return "done"


CASES = [
    (name, parameter.name, parameter)
    for name in BASE
    for parameter in GROUP.commands[name].params
    if parameter.param_type_name == "argument" or not parameter.is_flag
]


@pytest.mark.usefixtures("nothing_compiles")
@pytest.mark.parametrize(
    ("command", "name", "parameter"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
def test_hostile_values(command: str, name: str, parameter: Any) -> None:
    ends = set()
    for value in VALUES:
        rest = BASE[command].split()
        if parameter.param_type_name == "argument":
            words = [command, value, *rest[1:]]
        else:
            flag = parameter.opts[0]
            if flag in rest:
                place = rest.index(flag)
                del rest[place : place + 2]
            words = [command, *rest, f"{flag}={value}"]
        ends.add(typed(words))
    assert "refused" in ends  # of so many at least one is wrong for every option


def test_every_command_is_attacked() -> None:
    """`audit` and later commands have tests of their own."""
    assert set(BASE) <= set(GROUP.commands)
    assert len(CASES) > 80


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ("dp-imed", {"epsilon": 1e-100}),
        ("dp-imed", {"epsilon": 1e300}),
        ("dp-imed", {"epsilon": 1.0, "ratio": 1000.0}),
        ("dp-imed", {"epsilon": 1.0, "ratio": 1.0 + 1e-9}),
        ("dp-imed", {"epsilon": 1.0, "first": 10**15}),
        ("adap-ucb", {"epsilon": 1e-100}),
        ("adap-ucb", {"epsilon": 1.0, "alpha": 1e300}),
    ],
)
def test_accepted_extremes_end(row: str, options: dict[str, Any]) -> None:
    found = discreet.simulate(
        discreet.policy(row, **options), discreet.Bernoulli([0.7, 0.5]), horizon=500, runs=2, seed=1
    )
    assert (found.pulls[:, -1].sum(axis=1) == 500).all()


def test_the_steepest_growth_ends_at_the_longest_horizon() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=1000.0)
    found = discreet.simulate(row, discreet.Bernoulli([0.7, 0.5]), horizon=1e15, runs=2, seed=1)
    assert (found.pulls[:, -1].sum(axis=1) == 10**15).all()
