"""Results for others: a table for LaTeX, and labelled arrays for xarray.

>>> import discreet
>>> row = discreet.policy("dp-imed", epsilon=1.0)
>>> law = discreet.Bernoulli([0.7, 0.5])
>>> result = discreet.simulate(row, law, horizon=100, runs=3, seed=1)
>>> print(result.to_latex().splitlines()[2])
policy & runs & mean regret & median & guarantee \\\\
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ._labels import settings_columns
from ._record import short, standard_error

if TYPE_CHECKING:
    from .._types import Array
    from ._results import Result

SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\(<\)", ">": r"\(>\)", "|": r"\(|\)", "ε": r"\(\varepsilon\)", "δ": r"\(\delta\)",
    "ρ": r"\(\rho\)", "μ": r"\(\mu\)", "α": r"\(\alpha\)", "γ": r"\(\gamma\)", "β": r"\(\beta\)",
    "±": r"\(\pm\)", "×": r"\(\times\)", "∞": r"\(\infty\)", "≤": r"\(\le\)", "≥": r"\(\ge\)",
    "−": r"\(-\)", "–": "--", "\n": " ",
}  # fmt: skip
"""What LaTeX reads otherwise than it is meant. Other letters stay: LaTeX reads UTF-8."""


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(SIGNS.get(character, character) for character in text)


def latex(results: Sequence[Result]) -> str:
    """A table of booktabs, one line a result: the mean over runs ± its standard error.

    Problem, horizon and risk have a column where they differ between the results.
    """
    heads, lines = ["policy"], [[escaped(result.label)] for result in results]
    for name, values in _places(results).items():
        if len(set(values)) > 1:
            heads.append(name)
            for line, value in zip(lines, values, strict=True):
                line.append(escaped(value))
    what = dict.fromkeys(result.outcome[0] for result in results)
    heads += ["runs", f"mean {' or '.join(what)}".strip(), "median", "guarantee"]
    for line, result in zip(lines, results, strict=True):
        line += [f"{result.runs:,}", *_figures(result), escaped(result.guarantee.short())]
    numbers = {"horizon", "risk", "runs", "median"}
    columns = "".join("r" if h in numbers or h.startswith("mean") else "l" for h in heads)
    body = [" & ".join(line) + r" \\" for line in [heads, *lines]]
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule", *body[1:],
         r"\bottomrule", r"\end{tabular}", ""]
    )  # fmt: skip


def _places(results: Sequence[Result]) -> dict[str, list[str]]:
    """What results may differ in beside their policies, in words."""
    return {
        "problem": [result.problem for result in results],
        "horizon": [f"{result.horizon:,}" for result in results],
        "risk": ["–" if result.risk is None else f"{result.risk:g}" for result in results],
    }


def _figures(result: Result) -> list[str]:
    """Mean ± standard error, and median; dashes without a run."""
    import numpy as np

    values = result.outcome[1]
    if not len(values):
        return ["--", "--"]
    error = standard_error(values)
    shown = _maths(float(values.mean()), 4)
    if math.isfinite(error):
        shown += rf" \(\pm\) {_maths(error, 2)}"
    return [shown, _maths(float(np.median(values)), 4)]


def _maths(value: float, places: int) -> str:
    """A number in the words of LaTeX: powers of ten are spelled."""
    digits, _, power = short(value, places).partition("e")
    digits = digits.replace(",", "{,}")
    return rf"\({digits}\)" if not power else rf"\({digits} \times 10^{{{int(power)}}}\)"


class Parts(NamedTuple):
    """What a dataset of xarray is built from: names with their dimensions and arrays."""

    variables: dict[str, tuple[tuple[str, ...], Array]]
    coordinates: dict[str, tuple[tuple[str, ...], Array]]


def parts(results: Sequence[Result]) -> Parts:
    """The arrays of results next to each other, over all runs and rounds that one of them has.

    What a result lacks (runs that were not finished, rounds after its horizon, arms) is NaN.
    Settings are coordinates of the dimension `result`.
    """
    import numpy as np

    every = [result.arrays() for result in results]
    places = [result.axes() for result in results]
    names = list(dict.fromkeys(name for axes in places for name in axes))
    axes = {
        name: np.unique(np.concatenate([own[name] for own in places if name in own]))
        for name in names
    }
    variables: dict[str, tuple[tuple[str, ...], Array]] = {}
    for name in dict.fromkeys(name for own in every for name in own):
        dimensions = next(own[name][0] for own in every if name in own)
        sizes = tuple(len(axes[dimension]) for dimension in dimensions)
        whole = all(name in own and own[name][1].shape == sizes for own in every)
        kind = np.result_type(*(own[name][1] for own in every if name in own))
        joined: Array = np.full((len(results), *sizes), 0 if whole else np.nan)
        joined = joined.astype(kind) if whole else joined
        for number, (own, place) in enumerate(zip(every, places, strict=True)):
            if name in own:
                at = np.ix_(*(np.searchsorted(axes[d], place[d]) for d in dimensions))
                joined[number][at] = own[name][1]
        variables[name] = (("result", *dimensions), joined)
    coordinates: dict[str, tuple[tuple[str, ...], Array]] = {
        name: ((name,), values) for name, values in axes.items()
    }
    for name, values in settings_columns(results, [*names, *variables]).items():
        coordinates[name] = (("result",), _column(values))
    return Parts(variables, coordinates)


def _column(values: Sequence[object]) -> Array:
    """A setting of every result: NaN where a number is missing, "" where a word is."""
    import numpy as np

    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values])
    if any(value is None for value in values):
        return np.array([np.nan if value is None else value for value in values], float)
    return np.array(values)
