"""Docstrings say what a name takes, and show it: all names at the top, more and more elsewhere.

Examples are run by tests/test_docs.py. A count below may only fall: lower it with what you write.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import pytest

import discreet
from test_public import MODULES, PACKAGES

WITHOUT_EXAMPLE = 220
WITHOUT_ARGS = 28
"""Public names of other packages: classes and functions, and functions with parameters."""
TOP = [name for name in discreet.__all__ if callable(getattr(discreet, name))]


def text(value: object) -> str:
    return inspect.getdoc(value) or ""


def parameters(value: object) -> list[str]:
    """As they are written in the section Args: with their stars."""
    if not inspect.isfunction(value):
        return []
    given = inspect.signature(value).parameters.values()
    return [str(each.replace(annotation=each.empty, default=each.empty)) for each in given]


def described(value: object) -> list[str]:
    """The names in the section Args."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)*)", text(value) + "\n", re.MULTILINE)
    return re.findall(r"^    (\*{0,2}\w+):", section[1], re.MULTILINE) if section else []


def elsewhere() -> Iterator[tuple[str, object]]:
    """Classes and functions of other packages that the top does not have, each once."""
    seen = {id(getattr(discreet, name)) for name in discreet.__all__}
    for module in sorted({*PACKAGES, *MODULES} - {"discreet", "discreet.demo"}):
        found = importlib.import_module(module)
        for name in found.__all__:
            value = getattr(found, name)
            if id(value) not in seen and (inspect.isclass(value) or inspect.isfunction(value)):
                seen.add(id(value))
                yield f"{module}.{name}", value


@pytest.mark.parametrize("name", TOP)
def test_names_at_the_top_have_a_line_and_an_example(name: str) -> None:
    said = text(getattr(discreet, name))
    first, _, rest = said.partition("\n")
    assert first.endswith((".", ":", "…")), first
    assert not rest or rest.startswith("\n"), "the first line stands alone"
    assert ">>>" in said


@pytest.mark.parametrize("name", TOP)
def test_functions_at_the_top_describe_every_parameter(name: str) -> None:
    value = getattr(discreet, name)
    assert not parameters(value) or described(value) == parameters(value)
    if inspect.isfunction(value):
        assert "\nReturns:\n" in text(value)
        assert "\nRaises:\n" in text(value)


def test_counts_of_the_other_packages_only_fall() -> None:
    values = [value for _, value in elsewhere()]
    assert sum(">>>" not in text(value) for value in values) <= WITHOUT_EXAMPLE
    assert sum(bool(parameters(v)) and not described(v) for v in values) <= WITHOUT_ARGS


def test_gaps_are_seen() -> None:
    def whole(a: int, *more: int, **rest: int) -> None:
        """One.

        Args:
            a: First,
                and more.
            *more: Others.
            **rest: By name.
        """

    def bare(a: int) -> None:
        """One."""

    assert described(whole) == parameters(whole) == ["a", "*more", "**rest"]
    assert described(bare) == []
    assert parameters(bare) == ["a"]
