"""Public contexts: which action is played is public, so Σ a r is affine in the rewards.

Its coefficients are the features, and an episode brings a noise for each of its numbers, as in
`privacy.verification.shifts`. Clipping is a fixed map of one reward into its range, before anything
is summed, so what is summed is again one reward. Walked are actions of the greatest length (one
alone, several, with shorter ones among them), with the policy's own schedule: exact on those, and
since noise is fresh in every episode and grows with the longest action of it, no reward can cost
more than that of the longest action, as is seen. Blocks with public contexts (`LaplaceBlocks`) are
walked as episodes are, with each action in a block.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from ..._compiled import Kernel
from ...policies._verification import MOST_NUMBERS
from ...privacy.budgets import Budget
from ...privacy.verification import (
    Form,
    NotAffine,
    PublicCells,
    RewardForm,
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
from ...privacy.verification._result import main_number
from .._row import RoundPolicy
from .._view import LinearSetting

if TYPE_CHECKING:
    from .._batches import LaplaceBlocks
    from .._releases import NoisySum


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


def verify_episodes(
    policy: RoundPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    found, walked = list[tuple[Budget, Worst]](), 0
    exact = True
    if policy.release.shape == "blocks":
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
        covered=0 if walked else setting.horizon,
    )  # fmt: skip


def walk(policy: RoundPolicy, setting: LinearSetting, path: Actions) -> Tape:
    """One public path of actions, with the policy's own kernels."""
    release, rule = cast("NoisySum | LaplaceBlocks", policy.release), policy.rule
    d, grid = setting.dimension, setting.grid
    source = symbolic(setting.source)
    tape = Tape(None, MOST_NUMBERS)
    taken = Kernel(release.kernel(release.collect, source), clipped=symbolic_clipped)
    collect = taken.interpreted()
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


def _action_paths(dimension: int, seed: int) -> list[Actions]:
    """Actions in the unit ball, of length 1 among them."""

    def direction(rng: random.Random) -> list[float]:
        drawn = [rng.gauss(0.0, 1.0) for _ in range(dimension)]
        length = math.hypot(*drawn)
        return [x / length for x in drawn]

    def one() -> Iterator[list[float]]:
        return itertools.repeat([1.0] + [0.0] * (dimension - 1))

    def basis() -> Iterator[list[float]]:
        for place in itertools.cycle(range(dimension)):
            yield [1.0 if i == place else 0.0 for i in range(dimension)]

    def several() -> Iterator[list[float]]:
        rng = random.Random(seed)
        while True:
            yield direction(rng)

    def mixed() -> Iterator[list[float]]:
        rng = random.Random(seed + 1)
        while True:
            shorter = 1.0 if rng.random() < 0.3 else rng.random()
            yield [shorter * x for x in direction(rng)]

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
