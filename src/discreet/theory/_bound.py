"""What a bound says about itself: side, quantity, form, where it holds, and who proved it.

A bound is a plain function; `@bound(...)` enters what it claims into `BOUNDS` under its name, so
that documentation, command line and tests read one list.

>>> from discreet.theory import BOUNDS, lai_robbins
>>> round(lai_robbins([0.75, 0.5]), 3), BOUNDS["lai_robbins"].form
(1.738, 'per log T')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, TypeVar

from ..references import REFERENCES

LOG = "per log T"
"""The bound is this number times log T, up to a share that vanishes as T grows."""
ROUNDS = "at T"
"""The bound holds for the T it was computed for."""
RISK = "per log 1/δ"
"""The bound is this number times log(1/δ), up to a share that vanishes as δ falls."""
SAMPLES = "at δ"
"""The bound holds for the δ it was computed for."""

Formula = TypeVar("Formula", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True)
class Bound:
    """The claim of one bound: what it bounds, where it holds, and where it is printed.

    Example:
        >>> from discreet import theory
        >>> bound = theory.BOUNDS["adap_ucb"]
        >>> bound.side, bound.quantity, bound.row
        ('upper', 'regret', 'adap-ucb')
        >>> print(bound.source)
        Azize & Basu (2022), Theorem 7, but for the last step of its proof
    """

    name: str
    formula: Callable[..., Any]
    side: str
    quantity: str
    form: str
    domain: str
    reference: str
    statement: str
    row: str = ""
    """The row of the catalogue that it is about."""
    tuned: bool = False
    """Whether the row is tuned to T: on the way there, the only bound is the one at T."""
    gap_free: bool = False
    """Whether it holds for all instances of so many arms: it takes their number for the means."""

    @property
    def source(self) -> str:
        """For a table: "Azize & Basu (2022), Theorem 3"."""
        return f"{REFERENCES[self.reference].short()}, {self.statement}"

    def given(self, numbers: Mapping[str, T]) -> dict[str, T]:
        """Those of the numbers that the formula takes."""
        return {
            name: numbers[name] for name in signature(self.formula).parameters if name in numbers
        }

    @property
    def budget(self) -> str:
        """The parameter that its budget is stated by: "rho", "epsilon" or none."""
        names = signature(self.formula).parameters
        return next((name for name in ("rho", "epsilon") if name in names), "")

    @property
    def needs_delta(self) -> bool:
        """Whether it is about budgets with a δ > 0 only."""
        delta = signature(self.formula).parameters.get("delta")
        return delta is not None and delta.default is Parameter.empty

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (self.formula.__doc__ or "").strip().splitlines()[0]


BOUNDS: dict[str, Bound] = {}
"""All bounds by name."""


def about(row: str) -> Bound | None:
    """The theorem about a row of the catalogue on given arms; its constants hold for that row's
    options only."""
    theorems = (entry for entry in BOUNDS.values() if row and entry.row == row)
    return next((entry for entry in theorems if not entry.gap_free), None)


def bound(
    side: str,
    quantity: str,
    form: str,
    *,
    domain: str,
    reference: str,
    statement: str,
    row: str = "",
    tuned: bool = False,
    gap_free: bool = False,
) -> Callable[[Formula], Formula]:
    """Enter a formula into the list."""

    def enter(formula: Formula) -> Formula:
        name = formula.__name__
        BOUNDS[name] = Bound(
            name, formula, side, quantity, form, domain, reference, statement, row, tuned, gap_free
        )
        return formula

    return enter
