"""Policies for rewards that move: a window, a discount, an alarm; and Exp3.

An arm is played for batches of n rounds, and of every batch one noisy mean is released. What these
rules make of the releases of earlier batches (adding up those of a window, weighing them down,
comparing old ones with new ones) is post-processing: an outcome is in one release however many
windows that release is in, so the policy costs ε once. With v the variance of a batch's noise
(2/ε² for Laplace), B the batches and N = Bn the rewards of an arm that count:

    window    m + sqrt(ξ log(min(t, W)) (N + 4vB)) / N            the last W rounds count
    discount  m + 2 sqrt(ξ log(ΣN) (N + 4vQ)) / N                 weights γ^age, Q the sum of their
                                                                  squares over batches
    alarm     m + sqrt(2 log(t - r) (N + 4vB)) / N                all since the last alarm r count

Without noise and with n = 1 the first two are SW-UCB and D-UCB (Garivier & Moulines 2008), and the
last is M-UCB (Cao, Wen, Kveton & Xie 2019) with another threshold. With noise they widen as if it
were Gaussian of the same variance, and no bound on the regret is proved; dp-d-ucb takes ξ/4, which
takes the factor 2 away.

The alarm. The w latest batches of an arm are halved, and the sums of both halves compared. If the
means do not move, the difference D has a log-moment of at most l²V/2 for |l| <= 1/(b√2), V = wn/4 +
4wb² (Hoeffding's lemma, and -log(1 - b²l²) <= 2b²l² for Lap(b) noise), so that Chernoff's bound
gives P(|D| > x) <= 2e^-L at x = max(sqrt(2VL), 2b√2 L). With L = log(2K m(m + 1)/α) in the m-th
batch, a union bound over arms and windows makes the probability of any false alarm at most α
before the means have moved. Gaussian noise: V = wn/4 + wσ², b = 0. After an alarm all arms begin
anew; a share of the batches goes to all arms in turn, so that no change is overlooked for good.

Exp3: probabilities proportional to exp(-η L), η = sqrt(log K/(K t)), L the sum of losses over their
probabilities (Bubeck & Cesa-Bianchi 2012, Theorem 3.1). Not private; dp-tsallis is its like.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import amount, count, share
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ._rules import Rule
from ._schedules import LONGEST, even_batches
from ._view import Setting, View, counts
from .releases._base import NEWEST, Release

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers

XI = 0.6
"""ξ: above 1/2, as Theorems 1 and 2 of Garivier & Moulines ask."""
BATCH = 10.0
"""Rounds of a batch, times ε."""
MOST_BATCHES = 1 << 22
"""Of a window: it is kept in memory."""


class Batch(NamedTuple):
    """Rounds of a batch, the variance of its noise, and the scale of Laplace noise (else 0)."""

    rounds: int
    variance: float
    scale: float


def batch_of(setting: Setting, who: str) -> Batch:
    """Of batches that are all equally long, and released by themselves."""
    schedule, release = setting.schedule, setting.release
    rounds, noise = even_batches(schedule), release.batch_noise
    if rounds is None:
        raise InvalidArgument(
            "schedule", f"have batches of one length for {who}", str(schedule),
            "compose it with Regular(10) or EachRound()",
        )  # fmt: skip
    if noise is None or release.evidence != NEWEST:
        raise InvalidArgument(
            "release", f"release every batch by itself for {who}", str(release),
            "compose it with ForgetLaplace, ForgetGaussian or ForgetExact",
        )  # fmt: skip
    return Batch(rounds, *noise)


def moving_batch(epsilon: float) -> int:
    """ceil(10/ε)."""
    return max(1, math.ceil(min(BATCH / epsilon, LONGEST)))


def padded(mean: float, size: float, noise: float, level: float) -> float:
    """mean + sqrt(level (N + noise)) / N."""
    return mean + math.sqrt(level * (size + noise)) / size


class Window(NamedTuple):
    """ξ, 4v, rounds of a batch."""

    xi: float
    noise: float
    rounds: int


class Windowed(NamedTuple):
    """The batches of the window: of each its arm and sum, and of each arm how many and how much."""

    total: Floats
    batches: Integers
    arms: Integers
    sums: Floats
    arm: Integers
    """whom the batch under way was given; one entry"""
    batch: Integers
    """batches begun; one entry"""


def choose_window(rule: Window, memory: Windowed, view: View, t: int, rng: Generator) -> int:
    """Take in the last release, leave out the oldest; then argmax of the index."""
    begun, long = memory.batch[0], len(memory.sums)
    if begun > 0:
        last, place = memory.arm[0], (begun - 1) % long
        if begun > long:
            old = memory.arms[place]
            memory.total[old] -= memory.sums[place]
            memory.batches[old] -= 1
        total = view.value[last] * rule.rounds
        memory.arms[place], memory.sums[place] = last, total
        memory.total[last] += total
        memory.batches[last] += 1
    level = rule.xi * math.log(max(1, min(begun, long) * rule.rounds))
    best, largest = 0, -1e300
    for arm in range(len(memory.total)):
        batches = memory.batches[arm]
        if batches == 0:
            best = arm
            break
        size = float(batches * rule.rounds)
        value = padded(memory.total[arm] / size, size, rule.noise * batches, level)
        if value > largest:
            best, largest = arm, value
    if memory.batches[best] == 0:
        memory.total[best] = 0.0  # what rounding left
    memory.arm[0], memory.batch[0] = best, begun + 1
    return best


@dataclass(frozen=True)
class SlidingWindow(Rule):
    """m + sqrt(ξ log(min(t, W)) (N + 4vB)) / N over the last W rounds."""

    window: int = 1000
    xi: float = XI
    name: ClassVar[str] = "UCB index in a window"
    choose: ClassVar[Function | Kernel] = Kernel(choose_window)

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", count("window", self.window, fix="use window=1000"))
        amount("xi", self.xi, zero=False, infinite=False, fix="use xi=0.6")

    def parameters(self, setting: Setting) -> Window:
        batch = batch_of(setting, self.name)
        return Window(self.xi, 4.0 * batch.variance, batch.rounds)

    def memory(self, setting: Setting) -> Windowed:
        import numpy as np

        long = batches_in(self.window, batch_of(setting, self.name).rounds, "window")
        arms = setting.arms
        return Windowed(
            np.zeros(arms), counts(arms), counts(long), np.zeros(long), counts(), counts()
        )


def batches_in(window: int, rounds: int, argument: str) -> int:
    """Batches that a window of so many rounds has room for, one at least."""
    batches = max(1, window // rounds)
    if batches > MOST_BATCHES:
        raise InvalidArgument(
            argument, f"be at most {MOST_BATCHES:,} batches", window, f"use {argument}=1000"
        )
    return batches


class Discount(NamedTuple):
    """ξ, 4v, rounds of a batch, and what a batch is weighed down by with every further one."""

    xi: float
    noise: float
    rounds: int
    kept: float


class Discounted(NamedTuple):
    """Of each arm: weighed sums, numbers of rewards, and squared weights of batches."""

    total: Floats
    size: Floats
    squares: Floats
    arm: Integers
    batch: Integers


def choose_discounted(
    rule: Discount, memory: Discounted, view: View, t: int, rng: Generator
) -> int:
    """Weigh down what was, take in the last release; then argmax of the index."""
    begun, arms = memory.batch[0], len(memory.total)
    if begun > 0:
        last = memory.arm[0]
        for arm in range(arms):
            memory.total[arm] *= rule.kept
            memory.size[arm] *= rule.kept
            memory.squares[arm] *= rule.kept * rule.kept
        memory.total[last] += view.value[last] * rule.rounds
        memory.size[last] += rule.rounds
        memory.squares[last] += 1.0
    whole = 0.0
    for arm in range(arms):
        whole += memory.size[arm]
    level = 4.0 * rule.xi * math.log(max(1.0, whole))
    best, largest = 0, -1e300
    for arm in range(arms):
        size = memory.size[arm]
        if size < 1e-100:
            best = arm
            break
        value = padded(memory.total[arm] / size, size, rule.noise * memory.squares[arm], level)
        if value > largest:
            best, largest = arm, value
    memory.arm[0], memory.batch[0] = best, begun + 1
    return best


@dataclass(frozen=True)
class Discounting(Rule):
    """m + 2 sqrt(ξ log(ΣN) (N + 4vQ)) / N, every reward weighed by γ^age."""

    discount: float = 0.999
    """γ, for every round"""
    xi: float = XI
    name: ClassVar[str] = "UCB index, discounted"
    choose: ClassVar[Function | Kernel] = Kernel(choose_discounted)

    def __post_init__(self) -> None:
        share("discount", self.discount)
        amount("xi", self.xi, zero=False, infinite=False, fix="use xi=0.6")

    def parameters(self, setting: Setting) -> Discount:
        batch = batch_of(setting, self.name)
        kept = float(self.discount) ** batch.rounds
        return Discount(self.xi, 4.0 * batch.variance, batch.rounds, kept)

    def memory(self, setting: Setting) -> Discounted:
        import numpy as np

        arms = setting.arms
        return Discounted(np.zeros(arms), np.zeros(arms), np.zeros(arms), counts(), counts())


class Alarm(NamedTuple):
    """4v, rounds of a batch, V and b of the test, log(2K/α), and batches from turn to turn."""

    noise: float
    rounds: int
    variance: float
    scale: float
    level: float
    turn: int


class Watched(NamedTuple):
    """Since the last alarm: of each arm its sum, its batches, and the sums of the latest ones."""

    total: Floats
    batches: Integers
    latest: Floats
    """arm by arm, `window` places each"""
    since: Integers
    """batches since the last alarm; one entry"""
    alarms: Integers
    """one entry"""
    arm: Integers
    batch: Integers


def threshold(rule: Alarm, batch: int) -> float:
    """x = max(sqrt(2VL), 2b√2 L), L = log(2K m(m + 1)/α)."""
    level = rule.level + math.log(float(batch)) + math.log(batch + 1.0)
    return max(math.sqrt(2.0 * rule.variance * level), 2.0 * math.sqrt(2.0) * rule.scale * level)


def difference(memory: Watched, arm: int, window: int) -> float:
    """The sum of the later half of an arm's latest batches, less that of the earlier half."""
    newest, total = memory.batches[arm] - 1, 0.0
    for age in range(window):
        found = memory.latest[arm * window + (newest - age) % window]
        total += found if 2 * age < window else -found
    return float(total)


def choose_watching(rule: Alarm, memory: Watched, view: View, t: int, rng: Generator) -> int:
    """Take in the last release, begin anew if it alarms; then the arm whose turn it is, or argmax
    of the index."""
    begun, arms = memory.batch[0], len(memory.total)
    window = len(memory.latest) // arms
    if begun > 0:
        last, total = memory.arm[0], view.value[memory.arm[0]] * rule.rounds
        memory.latest[last * window + memory.batches[last] % window] = total
        memory.total[last] += total
        memory.batches[last] += 1
        memory.since[0] += 1
        if memory.batches[last] >= window and abs(difference(memory, last, window)) > threshold(
            rule, begun
        ):
            for arm in range(arms):
                memory.total[arm], memory.batches[arm] = 0.0, 0
            memory.since[0] = 0
            memory.alarms[0] += 1
    place = memory.since[0] % rule.turn
    best, largest = 0, -1e300
    level = 2.0 * math.log(max(1, memory.since[0] * rule.rounds))
    for arm in range(arms):
        batches = memory.batches[arm]
        if batches == 0 or place == arm:
            best = arm
            break
        size = float(batches * rule.rounds)
        value = padded(memory.total[arm] / size, size, rule.noise * batches, level)
        if value > largest:
            best, largest = arm, value
    memory.arm[0], memory.batch[0] = best, begun + 1
    return best


@dataclass(frozen=True)
class Watching(Rule):
    """m + sqrt(2 log(t - r) (N + 4vB)) / N since the last alarm r."""

    window: int = 1000
    """rewards of an arm that are halved and compared"""
    share: float = 0.03
    """of the batches that go to all arms in turn"""
    alarm: float = 0.05
    """the most that the probability of a false alarm may be before anything has moved"""
    name: ClassVar[str] = "UCB index since an alarm"
    choose: ClassVar[Function | Kernel] = Kernel(choose_watching)

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", count("window", self.window, fix="use window=1000"))
        share("share", self.share)
        share("alarm", self.alarm)

    def parameters(self, setting: Setting) -> Alarm:
        batch = batch_of(setting, self.name)
        window = self.batches(batch.rounds)
        noise = 4.0 * batch.scale**2 if batch.scale else batch.variance
        return Alarm(
            4.0 * batch.variance, batch.rounds, window * (batch.rounds / 4.0 + noise), batch.scale,
            math.log(2.0 * setting.arms / self.alarm),
            max(setting.arms, math.floor(setting.arms / self.share)),
        )  # fmt: skip

    def batches(self, rounds: int) -> int:
        """w: an even number, two at least."""
        return 2 * batches_in(max(1, self.window // 2), rounds, "window")

    def memory(self, setting: Setting) -> Watched:
        import numpy as np

        arms = setting.arms
        places = arms * self.batches(batch_of(setting, self.name).rounds)
        return Watched(
            np.zeros(arms), counts(arms), np.zeros(places), counts(), counts(), counts(), counts()
        )


class Losses(NamedTuple):
    """Sums of losses over their probabilities; the arm under way and its probability."""

    loss: Floats
    share: Floats
    arm: Integers
    batch: Integers


def choose_exp3(rule: object, memory: Losses, view: View, t: int, rng: Generator) -> int:
    """Take in the last reward, then draw an arm: exp(-η L)."""
    begun, arms = memory.batch[0], len(memory.loss)
    if begun > 0:
        memory.loss[memory.arm[0]] += (1.0 - view.value[memory.arm[0]]) / memory.share[0]
    rate = math.sqrt(math.log(arms) / (arms * (begun + 1.0)))
    least = memory.loss[0]
    for arm in range(1, arms):
        least = min(least, memory.loss[arm])
    whole = 0.0
    for arm in range(arms):
        whole += math.exp(-rate * (memory.loss[arm] - least))
    draw = rng.random() * whole
    chosen, weight = 0, 1.0
    for arm in range(arms):
        chosen, weight = arm, math.exp(-rate * (memory.loss[arm] - least))
        draw -= weight
        if draw < 0.0:
            break
    memory.arm[0], memory.batch[0], memory.share[0] = chosen, begun + 1, weight / whole
    return chosen


@dataclass(frozen=True)
class Exp3(Rule):
    """An arm drawn with probabilities proportional to exp(-η L)."""

    name: ClassVar[str] = "exponential weights"
    choose: ClassVar[Function | Kernel] = Kernel(choose_exp3)

    def check_release(self, release: Release) -> None:
        if release.batch_noise is None or release.batch_noise.variance:
            raise InvalidArgument(
                "rule", "be given exact rewards: its bound is for losses in [0, 1]", str(release),
                "use discreet.policy('dp-tsallis', epsilon=1.0), which bears noise",
            )  # fmt: skip

    def memory(self, setting: Setting) -> Losses:
        import numpy as np

        return Losses(np.zeros(setting.arms), np.zeros(1), counts(), counts())
