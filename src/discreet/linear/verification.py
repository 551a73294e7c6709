"""Linear rows verified by execution: their own kernels on symbols, given public actions.

**Public contexts** (`NoisySum`). Which action is played is public, so Σ a r is affine in the
rewards, its coefficients are the features, and an episode brings a noise for each of its numbers:
as in `privacy.verification.shifts`. Clipping is a fixed map of one reward into its range, before
anything is summed, so what is summed is again one reward. Walked are actions of the greatest length
(one alone, several, with shorter ones among them), with the row's own schedule: exact on those, and
since noise is fresh in every episode and grows with the longest action of it, no reward can cost
more than that of the longest action, as is seen.

**Private contexts** (trees). A participant's row (z, r) enters through the products z_i z_j and
z_i r, each a leaf of a tree of its own. Products of private numbers are not affine; what each of
them costs per unit of change is, and is computed by walking the trees with the products as
symbols. What a row can change in all of them at once is bounded by the lemma of `linear.trees`,
whose assumption, rows inside the unit ball, is checked by running the curator on rows of all sizes.

**Batches** (`BatchMatrices`). The same, without trees: the products are symbols, what each costs is
computed by walking the batches, and the lemma of `linear.batches` bounds what one participant
moves in all of them. **Blocks with public contexts** (`LaplaceBlocks`) are walked as episodes are,
with each action in a block; `dimension` then counts the features of one arm.

**Phases**. θ~ is an affine function of the sums and of the noise of the phase, read off by
executing `estimate` on unit vectors, and checked on random ones; each reward is in the sums of one
phase. Walked are optimal designs on random actions of length 1 and on subsets of them.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies.verification import MOST_NUMBERS, SEED, check_whole
from ..privacy.budgets import Budget
from ..privacy.source import RESOLUTION, SECURE, SIMULATED
from ..privacy.verification import (
    Form,
    Loss,
    NotAffine,
    PublicCells,
    RewardForm,
    Symbol,
    Tape,
    Verification,
    Worst,
    cells,
    is_tight,
    losses,
    spent,
    symbolic,
    undominated,
)
from ..privacy.verification.forms import REWARD
from ..privacy.verification.result import main_number
from .batches import BatchMatrices, BatchView, LaplaceBlocks, RangedRelease, add_row
from .design import optimal_design
from .grid import ENTRY
from .phases import Elimination, PhaseRelease
from .releases import GaussianRelease, NoisySum, RoundRelease
from .row import LinearPolicy, RoundPolicy
from .trees import LENGTH_SQUARED, GaussianTrees, TreeRelease, joint_sensitivity
from .view import LinearSetting

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..types import Floats, Ints
    from .grid import Grid
    from .view import LinearView


ROWS = 200
"""Rows, of all sizes, on which the curator of private contexts is tried."""


def verify(
    policy: LinearPolicy,
    arms: int = 10,
    horizon: int = 300,
    *,
    dimension: int = 3,
    live: bool = False,
    seed: int = SEED,
) -> Verification:
    """What a linear row's kernels spend, beside what it claims."""
    check_whole("arms", arms, 2, "use 10")
    check_whole("horizon", horizon, 1, "use for example horizon=300")
    check_whole("dimension", dimension, 1, "use for example dimension=3")
    claim = policy.release.guarantee(dimension)
    source = SECURE if live else SIMULATED
    result = Verification(
        policy.name, claim.budget, claim.definition, None, False, "none", arms, horizon,
        source.name, 0, 0, conditions=claim.conditions,
    )  # fmt: skip
    if not claim.is_private:
        return replace(result, reason="nothing is claimed: the row is not private")
    setting = LinearSetting(arms, dimension, horizon)
    if isinstance(policy.release, RangedRelease) and policy.release.blocks == "disjoint":
        setting = replace(setting, dimension=arms * dimension)
    if live:
        setting = replace(setting, grid=_grid(policy))
    try:
        if isinstance(policy.release, TreeRelease):
            return _trees(policy.release, setting, result, seed)
        if isinstance(policy.release, BatchMatrices):
            return _batches(policy, setting, result, seed)
        if isinstance(policy.release, PhaseRelease):
            return _phases(policy, setting, result, seed)
        return _episodes(policy, setting, result, seed)
    except NotAffine as stop:
        return replace(result, reason=f"the release is not affine: {stop}")


def _grid(policy: LinearPolicy) -> Grid:
    """Whole numbers, for the rows that live trials run."""
    release = policy.release
    if not isinstance(release, RoundRelease) or not release.is_live:
        raise InvalidArgument(
            "live", "be False for a row that live trials do not run", policy.name, "leave it out"
        )
    return release.grid(1.0)


# --- public contexts ----------------------------------------------------------------------------


def symbolic_clipped(reward: object, low: float, high: float) -> Form:
    """One reward moved into its range: again one reward, of that width."""
    if not isinstance(reward, RewardForm):
        raise NotAffine("it clips something else than one reward")
    if math.isinf(low) or math.isinf(high):
        return reward
    if high - low > reward.width * (1.0 + 1e-12):
        raise NotAffine("it clips to a range that is wider than declared")
    return reward.mapped


class Actions(NamedTuple):
    """A public path: which action is played in each round."""

    name: str
    order: Callable[[], Iterator[list[float]]]


def _episodes(
    policy: LinearPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    found, walked = list[tuple[Budget, Worst]](), 0
    exact = True
    if isinstance(policy.release, LaplaceBlocks):
        paths = _in_blocks(_action_paths(setting.dimension // setting.arms, seed), setting.arms)
    else:
        paths = _action_paths(setting.dimension, seed)
    for path in paths:
        tape = walk(policy, setting, path)
        walked += len(tape.numbers)
        _, candidates = losses(tape, whole=setting.source.secure)
        for each in undominated(candidates):
            symbol = tape.symbols[each.symbol]
            budget = spent(each.loss, result.claimed, setting.source.secure)
            worst = Worst(-1, symbol.first, 1, each.loss.numbers, path.name)
            found.append((budget, worst))
            exact &= each.exact and is_tight(each.loss, result.claimed, setting.source.secure)
    computed, worst = max(found, key=lambda pair: main_number(pair[0]))
    scope = (
        "the paths walked: actions of the greatest length, alone, several, and among shorter ones; "
        "noise is fresh in every episode and grows with its longest action"
    )
    return replace(
        result, computed=computed, exact=exact, worst=worst, paths=len(paths), numbers=walked,
        scope=scope if walked else f"nothing is released within {setting.horizon} rounds",
    )  # fmt: skip


def walk(policy: LinearPolicy, setting: LinearSetting, path: Actions) -> Tape:
    """One public path of actions, with the row's own kernels."""
    assert isinstance(policy, RoundPolicy)
    release, rule, d, grid = policy.release, policy.rule, setting.dimension, setting.grid
    assert isinstance(release, NoisySum | LaplaceBlocks)
    source = symbolic(setting.source)
    tape = Tape(None, MOST_NUMBERS)
    collect = _linked(release.kernel(release.collect, source))
    publish = release.kernel(release.publish, source).interpreted()
    follow, update = policy.schedule.follow, rule.update
    parameters, schedule = release.parameters(setting), policy.schedule.parameters(setting)
    constants = rule.parameters(setting)
    ledger = cells(tape, "ledger", release.ledger(setting))
    view = cells(tape, "view", rule.first_view(setting))
    view = view._replace(noisy=PublicCells(tape, "view.noisy", [0.0] * d))
    low, high = grid.reward(release.low), grid.reward(release.high)
    anything = float(high - low) if release.printed else math.inf
    for t, action in enumerate(itertools.islice(path.order(), setting.horizon)):
        if tape.is_full:
            break
        features = grid.features(action)
        reward = tape.reward(anything, 1.0, float(high - low), first=t + 1, rounds=1)
        collect(parameters, ledger, features, 0, reward, d)
        if follow(schedule, view, grid.plain(features), 0, d):
            publish(parameters, ledger, view, d, tape)
            update(constants, view, d)
    return tape


def _linked(kernel: Kernel) -> Function:
    return Kernel(kernel, clipped=symbolic_clipped).interpreted()


def _action_paths(dimension: int, seed: int) -> list[Actions]:
    """Actions in the unit ball, of length 1 among them."""

    def unit(chance: random.Random) -> list[float]:
        drawn = [chance.gauss(0.0, 1.0) for _ in range(dimension)]
        length = math.hypot(*drawn)
        return [x / length for x in drawn]

    def one() -> Iterator[list[float]]:
        return itertools.repeat([1.0] + [0.0] * (dimension - 1))

    def basis() -> Iterator[list[float]]:
        for place in itertools.cycle(range(dimension)):
            yield [1.0 if i == place else 0.0 for i in range(dimension)]

    def several() -> Iterator[list[float]]:
        chance = random.Random(seed)
        while True:
            yield unit(chance)

    def mixed() -> Iterator[list[float]]:
        chance = random.Random(seed + 1)
        while True:
            shorter = 1.0 if chance.random() < 0.3 else chance.random()
            yield [shorter * x for x in unit(chance)]

    return [
        Actions("one action", one),
        Actions("basis in turn", basis),
        Actions("random actions of length 1", several),
        Actions("random actions, some shorter", mixed),
    ]


def _in_blocks(paths: list[Actions], arms: int) -> list[Actions]:
    """The same features, for the arms in turn, each in its block."""

    def order(path: Actions) -> Callable[[], Iterator[list[float]]]:
        def walked() -> Iterator[list[float]]:
            for t, features in enumerate(path.order()):
                before, after = t % arms, arms - 1 - t % arms
                empty = [0.0] * len(features)
                yield [*(empty * before), *features, *(empty * after)]

        return walked

    return [Actions(f"{path.name}, arms in turn", order(path)) for path in paths]


# --- private contexts ---------------------------------------------------------------------------


class Feature:
    """An entry of a participant's private row; the product of two is a symbol."""

    __slots__ = ("entries", "place")

    def __init__(self, place: int, entries: dict[tuple[int, int], Form]) -> None:
        self.place, self.entries = place, entries

    def __mul__(self, other: object) -> Form:
        if not isinstance(other, Feature):
            raise NotAffine("it uses a private feature other than in a product with another")
        return self.entries[self.place, other.place]


def _trees(
    release: TreeRelease, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    """Costs of the entries by kind, from a walk in two dimensions at the scales of all of them."""
    whole = setting.source.secure
    source = symbolic(SECURE if whole else SIMULATED)
    check_ball(release, setting, seed)
    d = min(2, setting.dimension)
    small = replace(setting, dimension=d)
    tape = Tape(None, 2 * MOST_NUMBERS)  # a matrix shows its entries twice
    publish = release.kernel(release.publish, source).interpreted()
    parameters = release.parameters(setting)
    ledger = cells(tape, "ledger", release.ledger(small))
    view = _matrix_view(tape, d)
    unit = float(ENTRY if whole else 1)
    kinds: dict[int, str] = {}
    t = 0
    while t < setting.horizon and not tape.is_full:
        entries = dict[tuple[int, int], Form]()
        for i, j in itertools.combinations_with_replacement(range(d + 1), 2):
            if (i, j) != (d, d):  # r² is not released
                entries[i, j] = tape.symbol(Symbol(REWARD, 1.0, first=t + 1, rounds=1), unit)
                kind = "vector" if j == d else "diagonal" if i == j else "other"
                kinds[len(tape.symbols) - 1] = kind
        row = cast("list[Feature]", ledger.row)  # its cells take any symbol
        for i in range(d + 1):
            row[i] = Feature(i, entries)
        publish(parameters, ledger, view, d, tape)
        t += 1
    _, found = losses(tape, whole)
    worst = {kind: Loss() for kind in ("diagonal", "other", "vector")}
    first = 1
    for each in found:
        kind = kinds[each.symbol]
        if each.loss.columns > worst[kind].columns:
            worst[kind] = each.loss
            first = tape.symbols[each.symbol].first
    loss = row_loss(release, worst, setting.dimension)
    scope = (
        "every path: whoever comes is the next leaf of every tree. What an entry costs is exact, "
        "how far one participant moves all of them is bounded by the lemma of linear.trees"
    )
    if tape.is_full and t < setting.horizon:
        scope += f"; the first {t} rounds"
    noises = max(each.numbers for each in worst.values())
    return replace(
        result, computed=spent(loss, result.claimed, whole), exact=False, scope=scope,
        worst=Worst(-1, first, 1, noises, "any"), paths=1, numbers=len(tape.numbers),
        conditions=(*result.conditions, f"the curator keeps rows in the ball ({ROWS} rows tried)"),
    )  # fmt: skip


def _batches(
    policy: LinearPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    """Costs of the entries by kind, from a walk of the row's own batches."""
    release, rule = policy.release, policy.rule
    assert isinstance(policy, RoundPolicy)
    assert isinstance(release, BatchMatrices)
    whole = setting.source.secure
    check_batch_ball(release, setting, seed)
    source = symbolic(SECURE if whole else SIMULATED)
    publish = release.kernel(release.publish, source).interpreted()
    parameters, schedule = release.parameters(setting), policy.schedule.parameters(setting)
    tape = Tape(None, 2 * MOST_NUMBERS)
    ledger = cells(tape, "ledger", release.ledger(setting))
    view = cells(tape, "view", rule.first_view(setting))
    assert isinstance(view, BatchView)
    view = view._replace(
        matrix=PublicCells(tape, "view.matrix", [0.0] * len(view.matrix)),
        noisy=PublicCells(tape, "view.noisy", [0.0] * len(view.noisy)),
    )
    size, kinds, t = parameters.size, dict[int, str](), 0
    while t < setting.horizon and not tape.is_full:
        entries = dict[tuple[int, int], Form]()
        for i, j in itertools.combinations_with_replacement(range(size + 1), 2):
            if (i, j) != (size, size):
                unit = parameters.vector_unit if j == size else parameters.matrix_unit
                entries[i, j] = tape.symbol(Symbol(REWARD, 1.0, first=t + 1, rounds=1), unit)
                kind = "vector" if j == size else "diagonal" if i == j else "other"
                kinds[len(tape.symbols) - 1] = kind
        row = cast("list[Feature]", ledger.row)  # its cells take any symbol
        for i in range(size + 1):
            row[i] = Feature(i, entries)
        ledger.block[0] = t % parameters.blocks
        add_row(ledger, size)
        t += 1
        if policy.schedule.follow(schedule, view, [0.0] * setting.dimension, 0, setting.dimension):
            publish(parameters, ledger, view, setting.dimension, tape)
    _, found = losses(tape, whole)
    worst = {kind: Loss() for kind in ("diagonal", "other", "vector")}
    for each in found:
        kind = kinds[each.symbol]
        if each.loss.columns > worst[kind].columns:
            worst[kind] = each.loss
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
        numbers=len(tape.numbers),
        conditions=(*result.conditions, f"the curator keeps rows in the ball ({ROWS} rows tried)"),
    )  # fmt: skip


def batch_loss(matrix: float, vector: float, half: float) -> float:
    """The largest of  matrix (2 - 2c²) + vector (2h² + 2h²c)  over 0 <= c <= 1."""
    square = half * half
    c = 1.0 if matrix == 0.0 else min(1.0, vector * square / (2.0 * matrix))
    return matrix * (2.0 - 2.0 * c * c) + vector * 2.0 * square * (1.0 + c)


def check_batch_ball(release: BatchMatrices, setting: LinearSetting, seed: int) -> None:
    """Run the curator on rows of all sizes: ||x|| <= 1 and |r| <= h."""
    from .batches import take_row

    whole = setting.source.secure
    take = release.kernel(take_row, SECURE if whole else SIMULATED).interpreted()
    parameters, chance = release.parameters(setting), random.Random(seed)
    size, one = parameters.size, float(RESOLUTION if whole else 1)
    limit = max(parameters.high - parameters.centre, parameters.centre - parameters.low)
    for number in range(ROWS):
        much = 10.0 ** chance.uniform(-3.0, 4.0) if number % 2 else 1.0
        row: list[float] = [one * much * chance.gauss(0.0, 1.0) for _ in range(size + 1)]
        row = [round(x) for x in row] if whole else row
        ledger = release.ledger(setting)._replace(row=[0] * (size + 1))
        take(parameters, ledger, row[:size] + [0] * (setting.dimension - size), 0, row[size])
        kept = list(ledger.row)
        length = math.hypot(*kept[:size])
        if length > one * (1.0 + 1e-12) or abs(kept[size]) > limit * (1.0 + 1e-12):
            raise NotAffine(f"it keeps a row of length {length / one:g}, outside of the unit ball")


def _matrix_view(tape: Tape, d: int) -> LinearView:
    from .view import fresh_view

    view = cells(tape, "view", fresh_view(d, 1.0))
    found: LinearView = view._replace(
        matrix=PublicCells(tape, "view.matrix", [0.0] * (d * d)),
        noisy=PublicCells(tape, "view.noisy", [0.0] * d),
    )
    return found


def row_loss(release: TreeRelease, worst: dict[str, Loss], dimension: int) -> Loss:
    """A whole row from the costs of its entries, each for a change of 1.

    Laplace: the 1-norm of the change, or entry by entry (1, 1 and 2), whichever is less. Gaussian:
    Σ c_k Δ_k² with ||Δ||_F² = Σ Δ_ii² + 2 Σ_{i<j} Δ_ij² + 2 Σ Δ_ir² <= 2 L^4.
    """
    d = dimension
    if isinstance(release, GaussianTrees):
        c = [
            worst["diagonal"].gaussian, worst["other"].gaussian / 2, worst["vector"].gaussian / 2,
        ]  # fmt: skip
        return Loss(gaussian=2.0 * LENGTH_SQUARED**2 * max(c))
    a, b, v = (worst[kind].laplace for kind in ("diagonal", "other", "vector"))
    by_row = joint_sensitivity(d) * max(a, b, v)
    by_entry = d * a + d * (d - 1) / 2 * b + 2.0 * d * v
    epsilon = min(by_row, by_entry)
    return Loss(laplace=epsilon, laplace_squares=epsilon * epsilon / 2.0)


def check_ball(release: TreeRelease, setting: LinearSetting, seed: int) -> None:
    """Run the curator on rows of all sizes: they are kept in the unit ball, |r| <= 1."""
    whole = setting.source.secure
    collect = release.kernel(release.collect, SECURE if whole else SIMULATED).interpreted()
    chance, d = random.Random(seed), setting.dimension
    one = RESOLUTION if whole else 1.0
    for number in range(ROWS):
        size = 10.0 ** chance.uniform(-3.0, 4.0) if number % 2 else 1.0
        row: list[float] = [one * size * chance.gauss(0.0, 1.0) for _ in range(d + 1)]
        if whole:
            row = [round(x) for x in row]
        ledger = release.ledger(setting)
        ledger = ledger._replace(row=[0] * (d + 1))
        collect(None, ledger, row[:d], 0, row[d], d)
        kept = list(ledger.row)
        length = math.hypot(*kept[:d])
        if length > one * (1.0 + 1e-12) or abs(kept[d]) > one:
            raise NotAffine(f"it keeps a row of length {length / one:g}, outside of the unit ball")


# --- phases -------------------------------------------------------------------------------------


class _Normals:
    """A generator of given numbers."""

    def __init__(self, given: Callable[[int], Floats]) -> None:
        self.given, self.size = given, 0

    def standard_normal(self, size: int) -> Floats:
        self.size = size
        return self.given(size)


def affine_map(
    estimate: Callable[[Floats, _Normals], Floats], sums: int, seed: int
) -> tuple[Floats, Floats]:
    """A and B of an affine estimate(totals, rng) = A totals + B z + constant, by execution."""
    still = _Normals(np.zeros)
    constant = estimate(np.zeros(sums), still)

    def noisy(totals: Floats, z: Floats) -> Floats:
        return np.asarray(estimate(totals, _Normals(lambda size: z)) - constant)

    nothing = np.zeros(still.size)
    a = np.array([noisy(row, nothing) for row in np.eye(sums)]).T
    b = np.array([noisy(np.zeros(sums), row) for row in np.eye(still.size)]).T
    b = b.reshape(len(constant), still.size)
    chance = np.random.default_rng(seed)
    totals, z = chance.normal(size=sums), chance.normal(size=still.size)
    expected = a @ totals + b @ z
    if not np.allclose(noisy(totals, z), expected, rtol=1e-8, atol=1e-10):
        raise NotAffine("its estimate is no sum of rewards and noise")
    return a, b


def _phases(
    policy: LinearPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    release, rule = policy.release, policy.rule
    assert isinstance(release, PhaseRelease)
    assert isinstance(release, GaussianRelease)
    assert isinstance(rule, Elimination)
    points = np.random.default_rng(seed).normal(size=(setting.arms, setting.dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    best, worst = spent(Loss(), result.claimed), None
    phases = numbers = 0
    for phase, active in enumerate(_subsets(setting.arms, setting.dimension, seed), 1):
        design = optimal_design(points[active], rule.tolerance)
        c = rule.rounds(phase, setting.arms, design.rank, release.reward_variance)
        plays = np.ceil(c * design.weights[design.support])
        support = (points[active] @ design.basis)[design.support]

        def estimate(
            totals: Floats,
            rng: _Normals,
            support: Floats = support,
            plays: Floats = plays,
            c: float = c,
        ) -> Floats:
            drawn = cast("Generator", rng)  # all that a release asks of it
            return release.estimate(support, plays, totals, c, drawn)

        a, b = affine_map(estimate, len(plays), seed)
        phases, numbers = phases + 1, numbers + len(a)
        for k in range(a.shape[1]):
            shift = np.linalg.lstsq(b, a[:, k], rcond=None)[0] if b.size else np.zeros(0)
            hidden = b.size and np.allclose(b @ shift, a[:, k], rtol=1e-8, atol=1e-12)
            move = (release.high - release.low) * float(np.linalg.norm(shift))
            loss = Loss(gaussian=move * move / 2.0 if hidden else math.inf, numbers=len(shift))
            budget = spent(loss, result.claimed)
            if main_number(budget) > main_number(best):
                best = budget
                worst = Worst(int(active[design.support][k]), 1, int(plays[k]), len(shift),
                              f"phase {phase}")  # fmt: skip
    return replace(
        result, computed=best, exact=True, worst=worst, paths=phases, numbers=numbers,
        scope="the phases walked: optimal designs on random actions of length 1 and on subsets",
    )  # fmt: skip


def _subsets(arms: int, dimension: int, seed: int) -> Iterator[Ints]:
    """All actions, then ever fewer."""
    chance = random.Random(seed)
    left = list(range(arms))
    while len(left) > 1:
        yield np.array(left)
        chance.shuffle(left)
        left = sorted(left[: max(1, len(left) * 2 // 3)])
