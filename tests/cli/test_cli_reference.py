"""docs/cli.md is what the program says of itself, and its examples run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.cli import _gradients as gradients
from discreet.cli import _membership as membership
from discreet.cli._reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
EXAMPLES = re.findall(r"Example:\n\n    discreet (.+)\n", PAGE.read_text(encoding="utf-8"))


PLAN = """
arms = ["drug", "placebo"]
deadline = "28 days"
missing = 0.0
design = { participants = 200, looks = 2, epsilon = 1.0 }
"""


def test_the_page_is_up_to_date() -> None:
    fix = "run python -m discreet.cli._reference > docs/cli.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), fix


def test_every_command_has_its_page_and_json(call: Callable[..., Any]) -> None:
    listed = re.findall(r"^  (\w+)  +\w", call("--help").stdout.partition("Commands:")[2], re.M)
    assert listed == re.findall(r"^## discreet (\w+)$", reference(), re.M)
    games = [f"{membership.NAME} {name}" for name in membership.COMMANDS]
    games += [f"{membership.NAME} {gradients.NAME} {name}" for name in gradients.COMMANDS]
    commands = [name for name in listed if name not in (membership.NAME, "trial", "serve")] + games
    assert len(EXAMPLES) == len(commands)
    for name in commands:
        assert "--json" in call(*name.split(), "--help").stdout


def test_every_flag_is_on_the_page(call: Callable[..., Any]) -> None:
    flags = set(re.findall(r"^  (--[\w-]+)", call("simulate", "--help").stdout, re.M)) - {"--help"}
    section = reference().partition("## discreet simulate")[2].partition("\n## ")[0]
    assert flags == set(re.findall(r"^\| `(--[\w-]+)", section, re.M))
    assert len(flags) > 20


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(call: Callable[..., Any], example: str) -> None:
    for name in re.findall(r"\w+\.npy", example):  # gradients of three parameters, in that folder
        shape = (80, 3) if name == "references.npy" else (5, 3)
        np.save(name, np.random.default_rng(1).normal(size=shape))
    if "plan.toml" in example:
        Path("plan.toml").write_text(PLAN)
    result = call(*shlex.split(example.replace("--seconds 30", "--seconds 2")))
    assert result.exit_code == 0
    assert result.stdout
