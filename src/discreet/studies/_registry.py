"""The table of studies, and how a figure is found by name.

A study is a package here with a `STUDY`; this is the one place where it is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

from ..errors import InvalidArgument
from ._base import Figure

StudyName = Literal["azize2022", "ren2020", "wang2024", "thesis2024"]
"""Names that editors complete."""
STUDIES: tuple[str, ...] = get_args(StudyName)
"""Every study, in the order of the gallery."""


@dataclass(frozen=True)
class Study:
    """A paper and those of its figures that can be run again."""

    key: str
    title: str
    figures: tuple[Figure, ...]


def collected(package: str, title: str, *modules: str) -> Study:
    """The study of a package, of whose modules each has a `FIGURE`."""
    figures = (importlib.import_module(f"._{name}", package).FIGURE for name in modules)
    return Study(package.rpartition(".")[2], title, tuple(figures))


def study(key: StudyName | str) -> Study:
    """A study by its key."""
    spelled = str(key).strip().lower()
    if spelled not in STUDIES:
        raise InvalidArgument("study", "be one of those known", key, _nearest(spelled, STUDIES))
    found = importlib.import_module(f".{spelled}", __package__).STUDY
    assert isinstance(found, Study)
    return found


def figure(key: StudyName | str, number: str) -> Figure:
    """A figure by its study and its number as printed, with or without the word "figure"."""
    figures = {entry.number.lower(): entry for entry in study(key).figures}
    spelled = str(number).strip().lower().removeprefix("figure").strip()
    if spelled not in figures:
        known = f"it has {', '.join(figures)}"
        raise InvalidArgument("figure", f"be a figure of {key}", number, known)
    return figures[spelled]


def all_figures(keys: Sequence[str] = STUDIES) -> list[Figure]:
    """Every figure of some studies, in order."""
    return [entry for key in keys for entry in study(key).figures]


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = get_close_matches(name, [*known, "all"], n=3, cutoff=0.4)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}, or all"
