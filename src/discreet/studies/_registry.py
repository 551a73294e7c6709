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
    """A paper and those of its figures that can be run again.

    Example:
        >>> from discreet.studies import study
        >>> found = study("azize2022")
        >>> found.key, len(found.figures) > 0
        ('azize2022', True)
    """

    key: str
    title: str
    figures: tuple[Figure, ...]


def collected(package: str, title: str, *modules: str) -> Study:
    """The study of a package, of whose modules each has a `FIGURE`."""
    figures = (importlib.import_module(f"._{name}", package).FIGURE for name in modules)
    return Study(package.rpartition(".")[2], title, tuple(figures))


def study(key: StudyName | str) -> Study:
    """A published paper whose figures can be run again.

    Args:
        key: Its key, such as "azize2022".

    Returns:
        The study.

    Raises:
        InvalidArgument: If there is none of that key; the message suggests the nearest.

    Example:
        >>> from discreet.studies import study
        >>> found = study("ren2020")
        >>> [figure.number for figure in found.figures]
        ['1', 's2']
    """
    spelled = str(key).strip().lower()
    if spelled not in STUDIES:
        raise InvalidArgument("study", "be one of those known", key, _nearest(spelled, STUDIES))
    found = importlib.import_module(f".{spelled}", __package__).STUDY
    assert isinstance(found, Study)
    return found


def figure(key: StudyName | str, number: str) -> Figure:
    """A published figure that can be run again.

    Args:
        key: The key of its study, such as "azize2022".
        number: Its number as printed, with or without the word "figure".

    Returns:
        The figure; `run("quick")` plays it.

    Raises:
        InvalidArgument: If there is none; the message suggests the nearest.

    Example:
        >>> from discreet.studies import figure
        >>> found = figure("azize2022", "Figure 2")
        >>> found.name, found.quick.runs < found.full.runs
        ('azize2022 figure 2', True)
    """
    figures = {entry.number.lower(): entry for entry in study(key).figures}
    spelled = str(number).strip().lower().removeprefix("figure").strip()
    if spelled not in figures:
        known = f"it has {', '.join(figures)}"
        raise InvalidArgument("figure", f"be a figure of {key}", number, known)
    return figures[spelled]


def all_figures(keys: Sequence[str] = STUDIES) -> list[Figure]:
    """Every figure of some studies, in order.

    Args:
        keys: The keys of the studies. Default: all of them.

    Returns:
        The figures.

    Example:
        >>> from discreet.studies import all_figures
        >>> len(all_figures(["ren2020"]))
        2
    """
    return [entry for key in keys for entry in study(key).figures]


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = get_close_matches(name, [*known, "all"], n=3, cutoff=0.4)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}, or all"
