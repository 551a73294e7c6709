"""A trial with late outcomes, participant by participant, in obvious Python; and a plain race."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.policies._epochs import Cells, EpochPlan, Room, difference, plan_epoch


def bernoulli_kl(p: float, q: float) -> float:
    total = 0.0
    if p > 0:
        total += math.inf if q == 0 else p * math.log(p / q)
    if p < 1:
        total += math.inf if q == 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return total


def d_epsilon(x: float, y: float, epsilon: float) -> float:
    """inf over z in [x, y] of ε(z - x) + kl(z, y), on the closed form of its minimum."""
    if x >= y:
        return 0.0
    z = y * math.exp(-epsilon) / (1 - y + y * math.exp(-epsilon))
    z = min(max(z, x), y)
    return epsilon * (z - x) + bernoulli_kl(z, y)


def naive_trial(
    rates: list[float], answered: list[float], horizon: int, arrivals: float, deadline: float,
    epsilon: float, first: int, ratio: float, default: float | None, rng: Any,
) -> tuple[list[int], float, int]:  # fmt: skip
    """Places of every arm, the day of the last assignment, the arm named."""
    arms = range(len(rates))
    outcomes: list[list[float | None]] = [[] for _ in rates]  # of all places, None if missing
    mark = [first for _ in rates]
    closed = [0 for _ in rates]
    blocks: list[tuple[float, int, int, int]] = []  # due, arm, from place, to place
    total, answers, places = [0.0 for _ in rates], [0.0 for _ in rates], [0 for _ in rates]

    def release(arm: int, start: int, stop: int) -> None:
        block = outcomes[arm][start:stop]
        heard = [y for y in block if y is not None]
        if default is None:
            total[arm] += sum(y - 0.5 for y in heard) + rng.laplace(0.0, 1 / epsilon)
            answers[arm] += len(heard) + rng.laplace(0.0, 2 / epsilon)
        else:
            filled = sum(default if y is None else y for y in block)
            total[arm] += filled + rng.laplace(0.0, 1 / epsilon)
        places[arm] += len(block)

    def believed(arm: int) -> float:
        if default is None:
            return 0.5 + total[arm] / min(max(answers[arm], 1), places[arm])
        return total[arm] / places[arm]

    def score(arm: int) -> float:
        means = [min(max(believed(other), 0.0), 1.0) for other in arms]
        evidence = float(closed[arm])
        if default is None:
            evidence *= min(max(answers[arm], 1), places[arm]) / places[arm]
        return evidence * d_epsilon(means[arm], max(means), epsilon) + math.log(len(outcomes[arm]))

    now = 0.0
    for _ in range(horizon):
        now += rng.exponential(1 / arrivals)
        while blocks and min(blocks)[0] <= now:
            block = min(blocks)
            blocks.remove(block)
            release(*block[1:])
        blind = [arm for arm in arms if places[arm] == 0]
        arm = min(blind, key=lambda a: len(outcomes[a])) if blind else min(arms, key=score)
        answer = float(rng.random() < rates[arm]) if rng.random() < answered[arm] else None
        outcomes[arm].append(answer)
        if len(outcomes[arm]) == mark[arm]:
            blocks.append((now + deadline, arm, closed[arm], mark[arm]))
            closed[arm] = mark[arm]
            mark[arm] += max(1, math.ceil((ratio - 1) * mark[arm]))
    for _, arm, start, stop in sorted(blocks):
        release(arm, start, stop)
    for arm in arms:
        if len(outcomes[arm]) > closed[arm]:
            release(arm, closed[arm], len(outcomes[arm]))
    named = max((arm for arm in arms if places[arm]), key=believed)
    return [len(own) for own in outcomes], now, named


def ks_distance(a: Any, b: Any) -> float:
    """The largest difference of two empirical distribution functions."""
    a, b = np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))
    points = np.concatenate([a, b])
    below = np.searchsorted(a, points, "right") / len(a)
    return float(np.abs(below - np.searchsorted(b, points, "right") / len(b)).max())


def ks_limit(n: int, m: int, alarm: float = 1e-7) -> float:
    """The Dvoretzky-Kiefer-Wolfowitz bound for each sample at half the alarm: exact for all n."""
    return math.sqrt(math.log(4 / alarm) / (2 * n)) + math.sqrt(math.log(4 / alarm) / (2 * m))


def naive_epochs(
    rates: list[float], answered: list[float], horizon: int, arrivals: float, deadline: float,
    rule: EpochPlan, share: float, rng: Any,
) -> tuple[list[int], float, float]:  # fmt: skip
    """A trial in epochs, participant by participant: places, the last day, m_0 - m_1 adjusted.

    The rule itself has a twin of its own; what happens when is written down here again."""
    arms = len(rates)
    people: list[tuple[float, int, int, float]] = []  # day, epoch, arm, outcome with 0 for missing
    ends: list[float] = []
    noises: dict[tuple[int, int], float] = {}

    def cells(upto: int, day: float) -> Cells:
        """What an onlooker knows of the first epochs on a day."""
        known = Cells([], [], [])
        for epoch in range(upto):
            for arm in range(arms):
                mine = [y for _, e, a, y in people if (e, a) == (epoch, arm)]
                out = bool(mine) and ends[epoch] + deadline <= day
                if out and (epoch, arm) not in noises:
                    noises[epoch, arm] = rng.laplace(0.0, 1.0 / rule.epsilon)
                known.places.append(len(mine))
                known.total.append(sum(mine) + noises[epoch, arm] if out else 0.0)
                known.released.append(int(out))
        return known

    day, wanted, epoch = 0.0, [0] * arms, -1
    for taken in range(horizon):
        day += rng.exponential(1.0 / arrivals)
        if sum(wanted) == 0:
            epoch += 1
            ends.append(day)
            grown = math.ceil((rule.ratio - 1.0) * taken)
            size = min(max(arms * rule.first, min(grown, rule.most)), horizon - taken)
            room = Room([0] * arms, [0] * arms, [0.0] * arms, [0.0] * arms)
            least = [math.ceil(share * size)] * arms
            plan_epoch(rule, cells(epoch, day), epoch, [1] * arms, least, size, room)
            wanted = list(room.wanted)
        arm = int(rng.choice([a for a in range(arms) for _ in range(wanted[a])]))
        wanted[arm] -= 1
        heard = rng.random() < answered[arm]
        people.append((day, epoch, arm, float(heard and rng.random() < rates[arm])))
        ends[epoch] = day
    last = cells(epoch + 1, math.inf)
    ahead, _ = difference(rule, last, epoch + 1, arms, 0, 1)
    return [sum(a == arm for _, _, a, _ in people) for arm in range(arms)], day, ahead
