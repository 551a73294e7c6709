"""The exact law of several arms against one control, at one look or two.

Z_a is made of arm a and the control alone (`lattice`). Given the control's sums x the arms are
independent, so with G_a(x) = P(arm a never crosses | x)

    P(some arm crosses) = 1 - E Π_a G_a(x)                       (Dunnett 1955, here exact).

With two looks x = (x₁, x₂), and G_a is a sum over the arm's first sum y₁ and its step: a product
of two matrices. More looks have too many paths.

Arms that have one rate have one G, and E G^m >= (E G)^m (Jensen): boundaries at which one arm
crosses with probability 1-(1-α)^(1/m) keep α for m of them, at any number of looks (Šidák 1967).
What the arms' laws leave out counts as crossing; what the control's leaves out is `lost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._lattice import TRIM, Rule, Sizes, block_law, by_total, cuts_of
from ._noises import Noise

if TYPE_CHECKING:
    from .._types import Floats

MOST_LOOKS = 2
"""Of paths of the control that can be listed."""


@dataclass(frozen=True)
class Crossings:
    """P(some arm crosses), P(arm a does) for each, and what was not followed."""

    rejected: float
    each: tuple[float, ...]
    lost: float


class Family:
    """The law of arms with `treatments` rates and a control, for any rule without futility."""

    def __init__(
        self,
        sizes: Sizes,
        noise: Noise,
        treatments: tuple[float, ...],
        control: float,
        trim: float = TRIM,
    ) -> None:
        self.sizes, self.noise, self.treatments = sizes, noise, treatments
        before = ((0, 0), *sizes[:-1])
        blocks = [(n[0] - m[0], n[1] - m[1]) for m, n in zip(before, sizes, strict=True)]
        self.arms = {
            rate: [block_law(m, rate, noise, trim) for m, _ in blocks] for rate in {*treatments}
        }
        self.control = [block_law(m, control, noise, trim) for _, m in blocks]
        widest = max(self.arms, key=lambda rate: len(self.arms[rate][0][1]))
        self.steps = list(zip(self.arms[widest], self.control, strict=True))

    def stops(self, rule: Rule) -> Crossings:
        """Whether an arm ever crosses."""
        paths = self.control[0][1]
        if len(self.sizes) == 2:
            paths = paths[:, None] * band(len(paths), self.control[1][1])
        stay = {rate: self._stay(rule, steps) for rate, steps in self.arms.items()}
        none = np.ones(paths.shape)
        for rate in self.treatments:
            none = none * stay[rate]
        each = tuple(float((paths * (1.0 - stay[rate])).sum()) for rate in self.treatments)
        lost = max(1.0 - float(paths.sum()), 0.0)
        return Crossings(float((paths * (1.0 - none)).sum()), each, lost)

    def _stay(self, rule: Rule, steps: list[tuple[int, Floats]]) -> Floats:
        """G, by the control's sum at the first look, and at the second."""
        (low1, first), (low0, control) = steps[0], self.control[0]
        inside = self._inside(rule, 0, (low1, len(first)), (low0, len(control)))
        if len(self.sizes) == 1:
            return np.asarray(first @ inside)
        step, control_step = steps[1], self.control[1]
        later = self._inside(
            rule, 1, (low1 + step[0], len(first) + len(step[1]) - 1),
            (low0 + control_step[0], len(control) + len(control_step[1]) - 1),
        )  # fmt: skip
        return np.asarray((first[:, None] * inside).T @ (band(len(first), step[1]) @ later))

    def _inside(
        self, rule: Rule, look: int, rows: tuple[int, int], columns: tuple[int, int]
    ) -> Floats:
        """1 where an arm (rows) and the control (columns) have a Z that does not cross."""
        cut = cuts_of(self.sizes, self.noise, rule, look)
        sums = np.arange(rows[0], rows[0] + rows[1])[:, None]
        shape = rows[1], columns[1]
        up = by_total(cut.first, rows[0] + columns[0], shape, cut.up)
        down = by_total(cut.first, rows[0] + columns[0], shape, cut.down)
        return ((sums < up) & (sums >= down)).astype(float)


def band(width: int, step: Floats) -> Floats:
    """step[j-i] at (i, j): what a first sum adds up to."""
    reach = len(step)
    padded = np.zeros(2 * width + reach - 2)
    padded[width - 1 : width - 1 + reach] = step[::-1]
    view = np.lib.stride_tricks.sliding_window_view(padded, width + reach - 1)
    return np.ascontiguousarray(view[:, ::-1])
