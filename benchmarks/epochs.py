"""Trials in epochs under drift: regret, and the bias of the difference.

    python benchmarks/epochs.py [--runs 1000] [--seed 5]

dp-imed at ε = 1, 12 arrivals a day (Poisson), answers count for 14 days, 10 % are missing and
counted as 0; two arms of rates .5 and .4, 5,000 participants. Differences are of rates times .9.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import numpy as np

from discreet.compiled import Kernel
from discreet.policies.epochs import (
    Cells,
    EpochPlan,
    Room,
    difference,
    epoch_size,
    plan_epoch,
)
from discreet.privacy.noise import laplace
from discreet.simulator.calendar.blocks import World, rate_at

HORIZON = 5_000
DRIFTS = {
    "none": (0, 0.0, 1.0),
    "+.2 linear": (1, 0.2, 1.0),
    "-.2 linear": (1, -0.2, 1.0),
    "±.1, 180 d": (2, 0.1, 180.0),
}


class Book(NamedTuple):
    """Room for one trial."""

    cells: Cells
    room: Room
    active: Any
    least: Any
    due: Any


def release_epoch(plan: EpochPlan, cells: Cells, epoch: int, arms: int, rng: Any) -> None:
    """Every cell of an epoch, once."""
    for cell in range(epoch * arms, (epoch + 1) * arms):
        if cells.places[cell] > 0:
            cells.total[cell] += laplace(1.0 / plan.epsilon, rng)
            cells.released[cell] = 1


def trial(
    plan: EpochPlan, world: World, horizon: int, share: float, book: Book, rng: Any
) -> tuple[int, float]:
    """Participants on the second arm, and the difference of the first two."""
    cells, room = book.cells, book.room
    arms, length = len(world.rates), horizon / world.arrivals
    cells.places[:] = 0
    cells.total[:] = 0.0
    cells.released[:] = 0
    now, taken, epochs, done, worse = 0.0, 0, 0, 0, 0
    while taken < horizon:
        now += rng.standard_exponential() / world.arrivals
        while done < epochs and book.due[done] <= now:
            release_epoch(plan, cells, done, arms, rng)
            done += 1
        size = min(epoch_size(plan, taken, arms), horizon - taken)
        for arm in range(arms):
            book.least[arm] = math.ceil(share * size)
        plan_epoch(plan, cells, epochs, book.active, book.least, size, room)
        for arm in range(arms):
            cells.places[epochs * arms + arm] = room.wanted[arm]
        for left in range(size, 0, -1):
            if left < size:
                now += rng.standard_exponential() / world.arrivals
            place, arm = int(rng.random() * left), 0
            while place >= room.wanted[arm]:
                place -= room.wanted[arm]
                arm += 1
            room.wanted[arm] -= 1
            taken += 1
            worse += arm == 1
            if rng.random() < world.answered[arm] and rng.random() < rate_at(
                world, arm, now, length
            ):
                cells.total[epochs * arms + arm] += 1.0
        book.due[epochs] = now + world.deadline
        epochs += 1
    for epoch in range(done, epochs):
        release_epoch(plan, cells, epoch, arms, rng)
    return worse, difference(plan, cells, epochs, arms, 0, 1)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=5)
    asked = parser.parse_args()
    rng = np.random.Generator(np.random.SFC64(asked.seed))
    plan, most = EpochPlan(1.0, 20, 1.5, 12 * 14), HORIZON // 20

    def whole(length: int) -> Any:
        return np.zeros(length, np.int64)

    book = Book(
        Cells(whole(most), np.zeros(most), whole(most)),
        Room(whole(2), whole(2), np.zeros(2), np.zeros(2)), np.ones(2, np.int64), whole(2),
        np.zeros(most),
    )  # fmt: skip
    play = Kernel(trial).compiled()
    print(f"{asked.runs} trials a line, seed {asked.seed}; ± one standard error")
    for share in (0.0, 0.1):
        for name, (kind, size, period) in DRIFTS.items():
            world = World(
                np.array([0.5, 0.4]), np.array([0.9, 0.9]), 12.0, 14.0, kind, size, period
            )
            found = np.array(
                [play(plan, world, HORIZON, share, book, rng) for _ in range(asked.runs)]
            )
            regret, bias = 0.1 * found[:, 0], found[:, 1] - 0.09
            error = [each.std() / math.sqrt(asked.runs) for each in (regret, bias)]
            print(
                f"share {share:3.1f}  {name:<12} regret {regret.mean():5.1f} ± {error[0]:.1f}   "
                f"bias {bias.mean():+.4f} ± {error[1]:.4f}"
            )


if __name__ == "__main__":
    main()
