"""The program as a process: what it imports, prints and answers to signals."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from discreet.cli import main

HEAVY = ("numpy", "numba", "scipy", "matplotlib", "pyarrow", "pandas", "opendp")
SMALL = "--means .7,.5 --horizon 1e3 --runs 8 --seed 1 --json"
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""Where what is printed is written in the end, if it can be."""

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
    what = ("-m", "discreet") if code is None else ("-c", code)
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
    assert all(line.startswith("compiling ") for line in done.stderr.splitlines())
    assert [one["policy"] for one in json.loads(done.stdout)] == ["ucb1", "adap-ucb"]


def test_errors_of_the_process() -> None:
    done = process("simulate", "ucb2", *SMALL.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(
        "error: policy must be a policy of the catalogue, got 'ucb2'; did"
    )
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
    assert "(epsilon = 1, pure, interactive DP)" in done.stdout


def test_console_script() -> None:
    (script,) = entry_points(group="console_scripts", name="discreet")
    assert script.load() is main


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
@pytest.mark.parametrize("arguments", ["policies", "--version", "--help", "cite ucb1 --json"])
def test_a_full_disk(arguments: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "discreet", *arguments.split()],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
            env=BUFFERED,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output could not be written")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ")
@pytest.mark.parametrize("arguments", ["policies", "--version", "--help", "show adap-ucb --json"])
def test_a_reader_that_has_gone(arguments: str) -> None:
    """As in `discreet policies | head -1`: quiet, with the code of a program that SIGPIPE ended."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *arguments.split()],
        stdout=writing, stderr=subprocess.PIPE, text=True, timeout=100, check=False,
        env=BUFFERED,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(sys.platform == "win32", reason="shells differ")
def test_closed_streams() -> None:
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        command = f"{sys.executable} -m discreet {line}"
        return subprocess.run(
            ["sh", "-c", command],
            capture_output=True, text=True, timeout=100, check=False, env=BUFFERED,
        )  # fmt: skip

    closed = shell("policies >&-")
    assert closed.returncode == 2
    assert closed.stderr.startswith("error: standard output must be open")
    assert shell("cite ucb1 2>&-").returncode == 0
    assert shell("cite ucb7 2>&-").returncode == 2


def test_saved_although_nobody_reads(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    target = tmp_path / "all.parquet"
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "simulate", "ucb1", *SMALL.split(), "--output", target],
        stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
        env=BUFFERED,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 141
    assert target.is_file()


@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LANG": "C", "LC_ALL": "C"}]
)
def test_ascii(environment: dict[str, str]) -> None:
    env = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""} | environment
    done = process("bounds", "--means", ".7,.5", "--epsilon", "1", "--horizon", "1e4", **env)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "?" not in done.stdout
    assert "epsilon" in done.stdout
    assert "-----" in done.stdout


REFUSALS = """
import sys
from discreet.cli import main
try:
    main()
except SystemExit as end:
    print(end.code, *(name for name in ("numba",) if name in sys.modules))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate ucb1 --means .7,.5 --output nowhere/x.parquet",
        "simulate dp-imed --means .7,.5 --epsilon 1 --ratio 1e30",
        "compare ucb1 dp-imed --means .7,.5 --epsilon 1 --runs 1e30",
        "plan --means .7,.5 --horizon 1000 --html nowhere/x.html",
        "plan --means .7,.5 --horizon 1000 --threads 0",
        "identify adap-tt --means .7,.5 --epsilon 1 --output nowhere/x.parquet",
        "bounds --means .7,.5 --risk 2",
    ],
)
def test_refused_before_anything_is_compiled(arguments: str) -> None:
    done = process(*arguments.split(), code=REFUSALS)
    assert done.stdout.split() == ["2"]
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


COMPILES = """
import sys, time
from discreet import _compiled as compiled, _progress as progress
progress.PATIENCE = 0.01
from discreet.simulator import _work as work
real = work.compile_for
work.compile_for = lambda *given: (time.sleep(0.5), real(*given))[1]
from discreet.cli import main
main()
"""


def test_compiling_is_said_and_not_counted() -> None:
    done = process("simulate", "ucb1", *SMALL.split(), "--threads", "1", code=COMPILES)
    assert done.returncode == 0
    assert done.stderr == "compiling ucb1 ...\n"
    assert json.loads(done.stdout)["seconds"] < 0.4


@pytest.mark.skipif(sys.platform == "win32", reason="terminals differ")
def test_compiling_is_said_on_a_terminal_too() -> None:
    """Of the second policy above the bar that shows the first."""
    reading, terminal = os.openpty()
    words = ("compare", "ucb1", "adap-ucb", "--epsilon", "1", *SMALL.split(), "--threads", "1")
    done = subprocess.run(
        [sys.executable, "-c", COMPILES, *words],
        stdout=subprocess.PIPE, stderr=terminal, timeout=300, check=False,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):  # how a terminal that nobody holds ends
        while part := os.read(reading, 1 << 16):
            said += part
    os.close(reading)
    assert done.returncode == 0
    assert b"compiling ucb1 ..." in said
    assert b"compiling adap-ucb ..." in said
