"""Commands of the README and of the docs run as printed, or smaller; docs/cli.md has its own test.

What takes minutes or wants data that are not shipped is parsed alone, which finds an option or an
argument that is not there.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import app
from test_docs import PAGES, ROOT, blocks

SMALLER = [
    ("--seconds 30", "--seconds 1"),
    ("--horizon 1e7", "--horizon 1e4"),
    ("--horizon 1e6", "--horizon 1e4"),
    ("--horizon 1e5", "--horizon 1e3"),
    ("--horizon 2e4", "--horizon 1e3"),
    ("--horizon 3000", "--horizon 300"),
    ("--horizon 600", "--horizon 300"),
    ('--deadlines "3 days,7 days,14 days,21 days,35 days"', '--deadlines "7 days,14 days"'),
    ("--days 90", "--days 20"),
    ("--runs 200 ", "--runs 20 "),
]
UNPLAYED = ("--data fashion-mnist", "--data cifar-10", "--scale full", "reproduce ", "serve")
"""In commands that are parsed and no more."""
OWN = "def noisy_count(side, rng):\n    return side + rng.laplace()\n"
"""A mechanism of one's own, for the commands that attack one."""


ELSEWHERE = {
    "recipes.md": ("py", "sh", "r"), "stores.md": ("py", "sh"),
    "serve.md": ("ini", "yaml"), "device.md": ("js",),
}  # fmt: skip
"""Languages of blocks that tests/live/test_live_recipes.py runs; of R the steps are compared. A
unit of systemd and a Compose file are marked on their page as not tried; scripts of devices are run
by tests/serve/test_serve_device.py."""


def commands(page: Path) -> list[str]:
    """Lines behind a prompt, without comments; a line that ends in a backslash goes on."""
    text = "".join(blocks(page, "console")).replace("\\\n", " ")
    found = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    return [re.sub(r"  +#.*", "", line).strip() for line in found]


WITH_COMMANDS = [page for page in PAGES if commands(page)]


def parsed(words: list[str]) -> None:
    """Refuse what the command line would refuse before it does anything."""
    command: Any = typer.main.get_command(app)
    name, context = "discreet", None
    while True:
        context = command.make_context(name, list(words), parent=context)
        if not hasattr(command, "get_command"):
            return
        rest: list[str] = list(context._protected_args) + list(context.args)
        if not rest:  # a group that does something by itself
            return
        name, words = rest[0], rest[1:]
        command = command.get_command(context, name)
        assert command is not None, name


def stage(folder: Path, page: Path) -> None:
    """The files that commands of the docs speak of."""
    for plan in blocks(page, "toml"):
        (folder / "plan.toml").write_text(plan)
    rng = np.random.default_rng(1)
    for name, size in (("references", 80), ("canary", 5), ("updates", 5), ("theta", 6)):
        np.save(folder / f"{name}.npy", rng.normal(size=(size, 3)))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stage(tmp_path, page)
    mine = types.ModuleType("mine")
    exec(OWN, mine.__dict__)
    monkeypatch.setitem(sys.modules, "mine", mine)
    for line in commands(page):
        if line.startswith("make "):
            assert f"\n{line.split()[1]}:" in (ROOT / "Makefile").read_text()
            continue
        if line.startswith("pip install "):
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            extras = re.findall(r"[a-z]+", " ".join(re.findall(r"\[(.*?)\]", line)))
            assert set(extras) <= set(known["optional-dependencies"])
            continue
        given, _, told = line.rpartition(" | ")
        words = shlex.split(told)
        assert words[0] == "discreet", line
        parsed(words[1:])
        if any(part in line for part in UNPLAYED):
            continue
        for large, small in SMALLER:
            told = told.replace(large, small)
        said = " ".join(shlex.split(given)[1:]) or None  # echo '...'
        done = CliRunner().invoke(app, shlex.split(told)[1:], input=said, prog_name="discreet")
        assert done.exit_code == 0, f"{line}: {done.stderr}"


def test_files_of_sweeps_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (study,) = blocks(ROOT / "docs" / "sweeps.md", "toml")
    late = 'arrivals = 12\nmissing = 0.1\n{}\n[delay]\ndeadline = "14 days"\n'
    for text in (study, late.format(study)):
        Path("study.toml").write_text(text.replace("1e3, 1e4", "200, 400"))
        done = CliRunner().invoke(app, ["sweep", "--file", "study.toml", "--runs", "4", "--json"])
        assert done.exit_code == 0, done.stderr


def test_steps_in_r_are_those_of_the_shell() -> None:
    page = ROOT / "docs" / "recipes.md"
    (code,) = blocks(page, "r")
    called = [re.findall(r'"([^"]*)"', line) for line in code.splitlines()]
    steps = [line[0] for line, words in zip(called, code.splitlines(), strict=True)
             if words.startswith("trial(")]  # fmt: skip
    typed = [shlex.split(line.rpartition(" | ")[2]) for line in commands(page)]
    shell = [words[2] for words in typed if words[:2] == ["discreet", "trial"]]
    assert steps == shell
    assert len(steps) == 4


def test_no_block_of_code_is_left_out() -> None:
    """Blocks that no test reads: of another language, or indented commands."""
    for page in PAGES:
        text = page.read_text()
        read = {"python", "console", "toml", *ELSEWHERE.get(page.name, ())}
        assert set(re.findall(r"^```(\w+)$", text, re.MULTILINE)) <= read
        if page.name != "cli.md":
            outside = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
            assert not re.search(r"^    (discreet|from|import|\$|echo) ", outside, re.MULTILINE)
