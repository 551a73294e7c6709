"""Private contexts: what an entry costs by walking, what a row changes by a lemma.

**Trees**. A participant's row (z, r) enters through the products z_i z_j and z_i r, each a leaf of
a tree of its own. Products of private numbers are not affine; what each of them costs per unit of
change is, and is computed by walking the trees with the products as symbols. What a row can change
in all of them at once is bounded by the lemma of `linear.trees`, whose assumption, rows inside the
unit ball, is checked by running the curator on rows of all sizes.

**Batches** (`BatchMatrices`). The same, without trees: the lemma is that of `linear.batches`.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ...policies._verification import MOST_NUMBERS
from ...privacy._source import RESOLUTION, SECURE, SIMULATED
from ...privacy.verification import (
    Form,
    Loss,
    NotAffine,
    PublicCells,
    Symbol,
    Tape,
    Verification,
    Worst,
    cells,
    losses,
    spent,
    symbolic,
)
from ...privacy.verification._forms import REWARD
from .._batch_view import BatchView
from .._batches import BatchMatrices, add_row, take_row
from .._grid import ENTRY
from .._row import LinearPolicy, RoundPolicy
from .._trees import LENGTH_SQUARED, TreeRelease, joint_sensitivity
from .._view import LinearSetting, LinearView, fresh_view

if TYPE_CHECKING:
    from ..._compiled import Floats
    from ...privacy.verification._shifts import Candidate

ROWS = 200
"""Rows, of all sizes, on which the curator of private contexts is tried."""


class Feature:
    """An entry of a participant's private row; the product of two is a symbol."""

    __slots__ = ("entries", "place")

    def __init__(self, place: int, entries: dict[tuple[int, int], Form]) -> None:
        self.place, self.entries = place, entries

    def __mul__(self, other: object) -> Form:
        if not isinstance(other, Feature):
            raise NotAffine("it uses a private feature other than in a product with another")
        return self.entries[self.place, other.place]


class Products:
    """The products of the rows that are entered, as symbols of a tape, and their kinds."""

    def __init__(self, tape: Tape, size: int) -> None:
        self.tape, self.size = tape, size
        self.kinds: dict[int, str] = {}

    def enter(self, row: Floats, t: int, matrix: float, vector: float) -> None:
        """The row of the participant of round t: features, and the reward last. `matrix` and
        `vector` are the resolutions of products with a feature and with the reward."""
        tape, size = self.tape, self.size
        entries = dict[tuple[int, int], Form]()
        for i, j in itertools.combinations_with_replacement(range(size + 1), 2):
            if (i, j) != (size, size):  # r² is not released
                resolution = vector if j == size else matrix
                entries[i, j] = tape.symbol(Symbol(REWARD, 1.0, first=t + 1, rounds=1), resolution)
                kind = "vector" if j == size else "diagonal" if i == j else "other"
                self.kinds[len(tape.symbols) - 1] = kind
        features = cast("list[Feature]", row)  # its cells take any symbol
        for i in range(size + 1):
            features[i] = Feature(i, entries)

    def worst(self, found: Iterable[Candidate]) -> tuple[dict[str, Loss], int]:
        """What the dearest product of each kind costs, and the round of the last of these."""
        worst, first = {kind: Loss() for kind in ("diagonal", "other", "vector")}, 1
        for each in found:
            kind = self.kinds[each.symbol]
            if each.loss.columns > worst[kind].columns:
                worst[kind] = each.loss
                first = self.tape.symbols[each.symbol].first
        return worst, first


def verify_trees(
    policy: LinearPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    """Costs of the entries by kind, from a walk in two dimensions at the scales of all of them."""
    release, whole = cast("TreeRelease", policy.release), setting.source.secure
    source = symbolic(SECURE if whole else SIMULATED)
    check_ball(release, setting, seed)
    d = min(2, setting.dimension)
    small = replace(setting, dimension=d)
    tape = Tape(None, 2 * MOST_NUMBERS)  # a matrix shows its entries twice
    publish = release.kernel(release.publish, source).interpreted()
    parameters = release.parameters(setting)
    ledger = cells(tape, "ledger", release.ledger(small))
    view = _released(tape, fresh_view(d, 1.0))
    resolution = float(ENTRY if whole else 1)
    products, t = Products(tape, d), 0
    while t < setting.horizon and not tape.is_full:
        products.enter(ledger.row, t, resolution, resolution)
        publish(parameters, ledger, view, d, tape)
        t += 1
    worst, first = products.worst(losses(tape, whole)[1])
    loss = row_loss(release, worst, setting.dimension)
    scope = (
        "every path: whoever comes is the next leaf of every tree. What an entry costs is exact, "
        "how far one participant moves all of them is bounded by the lemma of linear.trees"
    )
    if t < setting.horizon:
        scope += f"; the first {t} rounds"
    noises = max(each.numbers for each in worst.values())
    return replace(
        result, computed=spent(loss, result.claimed, whole), exact=False, scope=scope,
        worst=Worst(-1, first, 1, noises, "any"), paths=1, numbers=len(tape.numbers), covered=t,
        conditions=(*result.conditions, f"the curator keeps rows in the ball ({ROWS} rows tried)"),
    )  # fmt: skip


def verify_batches(
    policy: RoundPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    """Costs of the entries by kind, from a walk of the row's own batches."""
    release, rule = cast("BatchMatrices", policy.release), policy.rule
    whole = setting.source.secure
    check_batch_ball(release, setting, seed)
    source = symbolic(SECURE if whole else SIMULATED)
    publish = release.kernel(release.publish, source).interpreted()
    parameters, schedule = release.parameters(setting), policy.schedule.parameters(setting)
    tape = Tape(None, 2 * MOST_NUMBERS)
    ledger = cells(tape, "ledger", release.ledger(setting))
    view = _released(tape, rule.first_view(setting))
    size, t = parameters.size, 0
    products = Products(tape, size)
    while t < setting.horizon and not tape.is_full:
        products.enter(ledger.row, t, parameters.matrix_resolution, parameters.vector_resolution)
        ledger.block[0] = t % parameters.blocks
        add_row(ledger, size)
        t += 1
        if policy.schedule.follow(schedule, view, [0.0] * setting.dimension, 0, setting.dimension):
            publish(parameters, ledger, view, setting.dimension, tape)
    worst, _ = products.worst(losses(tape, whole)[1])
    matrix = max(worst["diagonal"].gaussian, worst["other"].gaussian / 2.0)
    low, high, centre = parameters.low, parameters.high, parameters.centre
    half = max(high - centre, centre - low) * setting.grid.reward_step
    loss = Loss(gaussian=batch_loss(matrix, worst["vector"].gaussian, half))
    scope = (
        "every path: whoever comes is in the batch under way. What an entry costs is exact, how "
        "far one participant moves all of them is bounded by the lemma of linear.batches"
    )
    return replace(
        result, computed=spent(loss, result.claimed, whole), exact=False, paths=1,
        scope=scope if tape.numbers else f"nothing is released within {setting.horizon} rounds",
        worst=Worst(-1, 1, 1, max(each.numbers for each in worst.values()), "any"),
        numbers=len(tape.numbers), covered=t,
        conditions=(*result.conditions, f"the curator keeps rows in the ball ({ROWS} rows tried)"),
    )  # fmt: skip


def batch_loss(matrix: float, vector: float, half: float) -> float:
    """The largest of  matrix (2 - 2c²) + vector (2h² + 2h²c)  over 0 <= c <= 1."""
    square = half * half
    c = 1.0 if matrix == 0.0 else min(1.0, vector * square / (2.0 * matrix))
    return matrix * (2.0 - 2.0 * c * c) + vector * 2.0 * square * (1.0 + c)


def _released(tape: Tape, view: LinearView | BatchView) -> LinearView | BatchView:
    """A view whose released sums, at 0, are public when they are written."""
    zero = {name: [0.0] * len(getattr(view, name)) for name in ("matrix", "noisy")}
    public = {name: PublicCells(tape, f"view.{name}", cell) for name, cell in zero.items()}
    return cells(tape, "view", view)._replace(**public)


def row_loss(release: TreeRelease, worst: dict[str, Loss], dimension: int) -> Loss:
    """A whole row from the costs of its entries, each for a change of 1.

    Laplace: the 1-norm of the change, or entry by entry (1, 1 and 2), whichever is less. Gaussian:
    Σ c_k Δ_k² with ||Δ||_F² = Σ Δ_ii² + 2 Σ_{i<j} Δ_ij² + 2 Σ Δ_ir² <= 2 L^4.
    """
    d = dimension
    if release.noise == "gaussian":
        c = [
            worst["diagonal"].gaussian, worst["other"].gaussian / 2, worst["vector"].gaussian / 2,
        ]  # fmt: skip
        return Loss(gaussian=2.0 * LENGTH_SQUARED**2 * max(c))
    a, b, v = (worst[kind].laplace for kind in ("diagonal", "other", "vector"))
    by_row = joint_sensitivity(d) * max(a, b, v)
    by_entry = d * a + d * (d - 1) / 2 * b + 2.0 * d * v
    epsilon = min(by_row, by_entry)
    return Loss(laplace=epsilon, laplace_squares=epsilon * epsilon / 2.0)


# --- the assumption of both lemmas: rows are kept in the unit ball --------------------------------


def check_ball(release: TreeRelease, setting: LinearSetting, seed: int) -> None:
    """Run the curator on rows of all sizes: ||z|| <= 1 and |r| <= 1."""
    whole, d = setting.source.secure, setting.dimension
    collect = release.kernel(release.collect, SECURE if whole else SIMULATED).interpreted()

    def kept(row: list[float]) -> list[float]:
        ledger = release.ledger(setting)._replace(row=[0] * (d + 1))
        collect(None, ledger, row[:d], 0, row[d], d)
        return list(ledger.row)

    _check_rows(kept, d, whole, RESOLUTION if whole else 1.0, seed)


def check_batch_ball(release: BatchMatrices, setting: LinearSetting, seed: int) -> None:
    """Run the curator on rows of all sizes: ||x|| <= 1 and |r| <= h."""
    whole = setting.source.secure
    take = release.kernel(take_row, SECURE if whole else SIMULATED).interpreted()
    parameters = release.parameters(setting)
    size, centre = parameters.size, parameters.centre

    def kept(row: list[float]) -> list[float]:
        ledger = release.ledger(setting)._replace(row=[0] * (size + 1))
        take(parameters, ledger, row[:size] + [0] * (setting.dimension - size), 0, row[size])
        return list(ledger.row)

    limit = max(parameters.high - centre, centre - parameters.low) * (1.0 + 1e-12)
    _check_rows(kept, size, whole, limit, seed)


def _check_rows(
    kept: Callable[[list[float]], list[float]], size: int, whole: bool, limit: float, seed: int
) -> None:
    """Whether what is kept of rows of all sizes has a length of 1 at most, and a reward within
    the limit; in whole steps if `whole`."""
    rng, one = random.Random(seed), float(RESOLUTION if whole else 1)
    for number in range(ROWS):
        much = 10.0 ** rng.uniform(-3.0, 4.0) if number % 2 else 1.0
        row: list[float] = [one * much * rng.gauss(0.0, 1.0) for _ in range(size + 1)]
        found = kept([round(x) for x in row] if whole else row)
        length = math.hypot(*found[:size])
        if length > one * (1.0 + 1e-12) or abs(found[size]) > limit:
            raise NotAffine(f"it keeps a row of length {length / one:g}, outside of the unit ball")
