"""The rule of epochs against a naive twin, written from its formulas."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from discreet.policies._epochs import (
    Cells,
    EpochPlan,
    Room,
    cell_weight,
    difference,
    epoch_leader,
    epoch_size,
    overlap,
    plan_epoch,
)


def kl(p: Any, q: Any) -> Any:
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def d_eps(x: Any, y: Any, eps: Any) -> Any:
    """inf over z of ε|z - x| + kl(z, y), for x <= y, on a fine grid between them."""
    if x >= y:
        return 0.0
    grid = [x + (y - x) * i / 4000 for i in range(4001)]
    return min(eps * (z - x) + kl(z, y) for z in grid)


class Twin:
    """Epochs as a list of {arm: (places, noisy sum or None)}."""

    def __init__(self, eps: Any, first: Any, ratio: Any, most: Any) -> None:
        self.eps, self.first, self.ratio, self.most = eps, first, ratio, most

    def delta(self, epochs: Any, b: Any, a: Any) -> Any:
        above = below = 0.0
        for cells in epochs:
            (n, s), (m, r) = cells.get(b, (0, None)), cells.get(a, (0, None))
            if s is not None and r is not None:
                w = 1 / (0.25 * (1 / n + 1 / m) + 2 / self.eps**2 * (1 / n**2 + 1 / m**2))
                above, below = above + w * (s / n - r / m), below + w
        return None if below == 0 else above / below

    def pooled(self, epochs: Any, a: Any) -> Any:
        seen = [cells[a] for cells in epochs if cells.get(a, (0, None))[1] is not None]
        return sum(s for _, s in seen) / sum(n for n, _ in seen) if seen else None

    def plan(self, epochs: Any, arms: Any, size: Any, least: Any) -> Any:
        seen = [a for a in range(arms) if self.pooled(epochs, a) is not None]
        wanted = [size // arms + (a < size % arms) for a in range(arms)]
        if seen:
            gaps = {b: [self.delta(epochs, b, a) for a in range(arms) if a != b] for b in seen}
            b = max(seen, key=lambda b: min([g for g in gaps[b] if g is not None], default=-9e9))
            mean = min(max(self.pooled(epochs, b), 0.0), 1.0)
            deltas = {a: 0.0 if a == b else self.delta(epochs, b, a) for a in range(arms)}
            v = {a: 0 if deltas[a] is not None else wanted[a] for a in range(arms)}
            compared = [a for a in range(arms) if deltas[a] is not None]

            costs = {
                a: d_eps(min(max(mean - deltas[a], 0.0), 1.0), mean, self.eps) for a in compared
            }

            def index(a: Any) -> Any:
                pairs = [(c.get(a, (0,))[0], c.get(b, (0,))[0]) for c in epochs]
                worth = sum(n * m / (n + m) for n, m in pairs if n and m) + v[a]
                return worth * costs[a] + math.log(max(sum(n for n, _ in pairs), 1) + v[a])

            for _ in range(size - sum(v.values())):
                v[min(compared, key=index)] += 1
            for a in range(arms):
                if a != b:
                    v[a] = 0 if v[a] < self.first / 2 else max(v[a], self.first)
                    v[a] = min(v[a], size // arms)
            v[b] = size - sum(v[a] for a in range(arms) if a != b)
            wanted = [v[a] for a in range(arms)]
        for a in range(arms):
            while wanted[a] < least[a]:
                spare = [wanted[o] - least[o] for o in range(arms)]
                giver = spare.index(max(spare))
                wanted[giver] -= 1
                wanted[a] += 1
        return wanted


def flat(epochs: Any, arms: Any) -> Any:
    """The same epochs for the kernels."""
    cells = Cells([], [], [])
    for epoch in epochs:
        for arm in range(arms):
            places, total = epoch.get(arm, (0, None))
            cells.places.append(places)
            cells.total.append(0.0 if total is None else total)
            cells.released.append(int(total is not None))
    return cells


def some_epochs(world: Any, arms: Any, released: Any) -> Any:
    epochs = []
    for number in range(world.randrange(1, 6)):
        epoch = {}
        for arm in range(arms):
            places = world.choice([0, 5, 20, 40]) if number else 20
            if places:
                total = places * world.uniform(0.1, 0.9) + world.gauss(0, 1)
                epoch[arm] = (places, total if number < released else None)
        epochs.append(epoch)
    return epochs


def room_for(arms: Any) -> Any:
    return Room([0] * arms, [0] * arms, [0.0] * arms, [0.0] * arms)


@pytest.mark.parametrize("case", range(40))
def test_an_epoch_is_planned_as_the_formulas_say(case: Any) -> None:
    world = Random(case)
    arms, released = world.choice([2, 3, 4]), world.randrange(0, 5)
    epochs = some_epochs(world, arms, released)
    twin = Twin(eps := world.choice([0.3, 1.0, 4.0]), 10, 1.5, 100)
    plan, size = EpochPlan(eps, 10, 1.5, 100), world.choice([40, 97])
    least = [world.choice([0, 0, 6]) for _ in range(arms)]
    cells, room = flat(epochs, arms), room_for(arms)
    for b in range(arms):
        for a in range(arms):
            if a != b:
                found, weights = difference(plan, cells, len(epochs), arms, b, a)
                wanted = twin.delta(epochs, b, a)
                assert (weights == 0.0) == (wanted is None)
                assert wanted is None or found == pytest.approx(wanted, abs=1e-12)
    plan_epoch(plan, cells, len(epochs), [1] * arms, least, size, room)
    assert sum(room.wanted) == size
    expected = twin.plan(epochs, arms, size, least)
    # the twin's divergence is on a grid: a tie in the index may fall either way
    assert all(abs(a - b) <= 1 for a, b in zip(room.wanted, expected, strict=True)), case


def test_by_hand() -> None:
    plan = EpochPlan(1.0, 20, 1.5, 168)
    assert [epoch_size(plan, taken, 2) for taken in (0, 40, 100, 200, 5000)] == [
        40, 40, 50, 100, 168,
    ]  # fmt: skip
    assert cell_weight(20.0, 20.0, 1.0) == pytest.approx(1 / (0.025 + 0.01))
    cells = Cells([20, 20, 30, 10], [10.0, 6.0, 0.0, 0.0], [1, 1, 0, 0])
    assert difference(plan, cells, 2, 2, 0, 1)[0] == pytest.approx(0.2)
    assert overlap(cells, 2, 2, 0, 1) == pytest.approx(10.0 + 7.5)


def test_a_shared_trend_leaves_the_difference_alone() -> None:
    """Cells far apart in time, means moved by .5 for all arms: pooled means disagree by .3, the
    difference within epochs is what it was."""
    plan = EpochPlan(1.0, 20, 1.5, 168)
    cells = Cells([100, 20, 20, 100], [30.0, 4.0, 16.0, 70.0], [1, 1, 1, 1])
    assert difference(plan, cells, 2, 2, 0, 1)[0] == pytest.approx(0.1)
    assert epoch_leader(plan, cells, 2, 2, [1, 1]) == 0  # though it has 46/120, the other 74/120


def test_arms_that_are_out_get_nothing_and_newcomers_one_of_as_many() -> None:
    plan, room = EpochPlan(1.0, 10, 1.5, 100), room_for(3)
    cells = Cells([40, 40, 0], [20.0, 10.0, 0.0], [1, 1, 0])
    assert plan_epoch(plan, cells, 1, [1, 1, 1], [0, 0, 0], 60, room) == 0
    assert room.wanted[2] == 20
    plan_epoch(plan, cells, 1, [1, 0, 1], [0, 0, 0], 60, room)
    assert room.wanted[1] == 0
    assert sum(room.wanted) == 60
