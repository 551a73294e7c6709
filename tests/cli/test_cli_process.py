"""The program as a process: what it imports, prints and answers to signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from discreet.cli import main

HEAVY = ("numpy", "numba", "scipy", "matplotlib", "pyarrow", "pandas", "opendp")
SMALL = "--means .7,.5 --horizon 1e3 --runs 8 --seed 1 --json"

IMPORTS = f"""
import sys
from discreet.cli import main
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""

INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
import discreet
from discreet.cli import main
start, count = discreet.Bernoulli.start, iter(range(100))
def start_or_stop(law, rng):
    if next(count) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return start(law, rng)
discreet.Bernoulli.start = start_or_stop
main()
"""


def process(
    *arguments: str, code: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    what = ("-m", "discreet.cli") if code is None else ("-c", code)
    return subprocess.run(
        [sys.executable, "-W", "error", *what, *arguments],
        capture_output=True, text=True, encoding="utf-8", timeout=300, check=False,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments", ["policies", "policies --json", "--help", "simulate --help", "cite ucb1"]
)
def test_quick_commands_import_nothing_heavy(arguments: str) -> None:
    done = process(*arguments.split(), code=IMPORTS)
    assert done.returncode == 0
    assert done.stdout
    assert done.stderr.split() == []


def test_the_check_of_imports_can_fail() -> None:
    done = process("simulate", "ucb1", *SMALL.split(), code=IMPORTS)
    assert {"numpy", "numba"} <= set(done.stderr.split())


def test_stdout_is_json_only() -> None:
    done = process("compare", "ucb1", "adap-ucb", "--epsilon", "1", *SMALL.split())
    assert done.returncode == 0
    assert done.stderr == ""
    assert [one["policy"] for one in json.loads(done.stdout)] == ["ucb1", "adap-ucb"]


def test_errors_of_the_process() -> None:
    done = process("simulate", "ucb2", *SMALL.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: policy must be a row of the catalogue, got 'ucb2'; did")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_control_c_keeps_what_was_finished() -> None:
    done = process("simulate", "ucb1", *SMALL.split(), "--threads", "1", code=INTERRUPTED)
    assert done.returncode == 130
    found = json.loads(done.stdout)
    assert found["complete"] is False
    assert found["runs"] == 3
    whole = json.loads(process("simulate", "ucb1", *SMALL.split(), "--runs", "3").stdout)
    assert found["regret"] == whole["regret"]


def test_a_terminal_without_greek() -> None:
    done = process("show", "adap-ucb", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "(? = 1, pure, interactive DP)" in done.stdout


def test_console_script() -> None:
    (script,) = entry_points(group="console_scripts", name="discreet")
    assert script.load() is main
