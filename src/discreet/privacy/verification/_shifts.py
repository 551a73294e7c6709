"""What one reward costs: the cheapest way in which noise can hide that it was another one.

On one public path the published numbers are Y = A r + B Z, r the rewards and Z independent noises.
Replacing reward i by r_i - Δ leaves all of Y as it is if the noise moves by Δs with

    B s = a_i,                  a_i the i-th column of A,

a shift. If there is none, some number gives the reward away: the loss is infinite.

**Laplace, pure.** The loss is exactly min { Σ_j |s_j|/b_j : B s = a_i }, a linear programme.
At most: P(Y in S) is P(Z in E) for one value and P(Z in E + Δs) for the other, and the density of Z
falls by at most exp(Σ|s_j|/b_j) under that shift. At least: with N(y) = min { Σ|z_j|/b_j : Bz = y }
the density f of BZ has log f(ty) = -t N(y) + o(t), so along y = a_i the ratios f(ka_i)/f((k+1)a_i)
multiply to exp(n N(a_i) - o(n)) over n steps, and one of them is as large as exp(N(a_i) - o(1)).
Paths may follow from earlier numbers, even if someone else chooses the arms: the transcripts
that follow one path are those whose Z lies in a set E as above, with that path's A and B, so the
bound holds for each path's transcripts, and for any set of transcripts as a union over paths. The
whole run costs the largest of the paths' losses.

**Gaussian.** Y is normal, its mean moves by a_i, and ρ = a_i'(B Σ B')^-1 a_i / 2 =
min { Σ s_j²/(2σ_j²) : B s = a_i }, least squares. Number after number, given the earlier ones, a
normal distribution moves by some d_t at variance v_t, and Σ d_t²/(2 v_t) is that ρ by the chain
rule. d_t and v_t follow from earlier numbers, so a sum that never exceeds ρ is ρ-zCDP and
sqrt(2ρ)-Gaussian DP, however the paths are chosen (Feldman & Zrnic 2021, theorem 3.1; Koskela,
Tobaben & Honkela 2023).

**Anything else** (several distributions, Laplace noise counted as zCDP, whole-numbered noise): if
every number brings one noise of its own, B is triangular and s is unique; it is found number by
number from what was published before, and each fresh noise is one mechanism of sensitivity |s_j|:
adaptive composition. Where numbers bring several, the cheapest of them is moved at once: an upper
bound, and said to be one.

Whole-numbered noise (discrete Laplace, discrete Gaussian) obeys the same formulas for whole s
(Ghosh, Roughgarden & Sundararajan 2012; Canonne, Kamath & Steinke 2020), which is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._forms import GAUSSIAN, LAPLACE, RESPONSE, REWARD, TRUNCATED, Form, Symbol, Tape

if TYPE_CHECKING:
    from ..._types import Flags, Floats

TINY = 1e-9
"""Relative to the coefficient of its own noise, less than this is rounding."""


@dataclass(frozen=True)
class Loss:
    """What one reward costs, by the distribution of the noise that hides it.

    Example:
        >>> from discreet.privacy.verification import Loss
        >>> Loss(laplace=0.5, numbers=1).is_finite
        True
    """

    laplace: float = 0.0
    """Σ |s|/b"""
    laplace_squares: float = 0.0
    """Σ (s/b)²/2: the same noise counted as zCDP"""
    gaussian: float = 0.0
    """Σ s²/(2σ²)"""
    truncated: tuple[float, float] = (0.0, 0.0)
    """(Σ ε, Σ δ) of truncated Laplace noise"""
    response: float = 0.0
    """Σ ε of randomised responses"""
    response_squares: float = 0.0
    numbers: int = 0
    """how many noises had to move"""
    moves: tuple[tuple[float, float], ...] = field(default=(), compare=False)
    """size and scale of every Gaussian move, for whole-numbered noise"""

    @property
    def columns(self) -> tuple[float, ...]:
        """All that a budget grows with."""
        return (
            self.laplace, self.laplace_squares, self.gaussian, *self.truncated, self.response,
            self.response_squares,
        )  # fmt: skip

    @property
    def is_finite(self) -> bool:
        """Whether noise hides the reward at all."""
        return math.isfinite(self.laplace)


UNHIDDEN = Loss(*(math.inf,) * 3)
"""Some number moves and no noise is left that could hide it."""


@dataclass(frozen=True)
class System:
    """The numbers of one path: A, B, what the columns stand for, and which numbers brought which.

    Example:
        >>> from discreet.privacy.verification import System, Tape
        >>> tape = Tape()
        >>> reward = tape.reward(1.0, 1.0, first=1, rounds=1)
        >>> _ = tape.publish(reward + tape.noise("laplace", 2.0), 0)
        >>> system = System.of(tape)
        >>> system.noises.tolist(), system.unique
        ([[1.0]], True)
    """

    rewards: Floats
    noises: Floats
    kinds: list[Symbol]
    """of the columns of B; identical columns are one noise"""
    reward_symbols: list[int]
    pivot_rows: list[int]
    pivots: list[int]
    unique: bool
    """whether every number with new noise has exactly one new one"""

    @classmethod
    def of(cls, tape: Tape) -> System:
        """The system of a walk."""
        length = len(tape.symbols)
        rows = np.array([number.padded(length) for number in tape.numbers]).reshape(
            len(tape.numbers), length
        )
        laws = np.array([symbol.law for symbol in tape.symbols], dtype=object)
        rewards = np.flatnonzero(laws == REWARD)
        noisy = np.flatnonzero((laws != REWARD) & (laws != RESPONSE))
        noisy = noisy[rows[:, noisy].any(axis=0)] if len(rows) else noisy[:0]
        # every number in units of its own largest noise, so that one tolerance serves all
        size = np.abs(rows[:, noisy]).max(axis=1, initial=0.0)
        rows = rows / np.where(size > 0.0, size, 1.0)[:, None]
        columns, kinds = _merged(rows[:, noisy], [tape.symbols[j] for j in noisy])
        pivot_rows, pivots, unique = _pivots(columns, kinds)
        return cls(
            rows[:, rewards], columns, kinds, rewards.tolist(), pivot_rows, pivots, unique
        )  # fmt: skip

    def shifts(self) -> tuple[Floats, Flags]:
        """A shift for every reward, number by number; and whether it hides the reward."""
        moved = np.zeros((self.noises.shape[1], self.rewards.shape[1]))
        left = np.zeros(self.rewards.shape[1])
        pivots = dict(zip(self.pivot_rows, self.pivots, strict=True))
        for row in range(self.noises.shape[0]):
            pivot = pivots.get(row)
            older = np.flatnonzero(self.noises[row])
            older = older[older != pivot]
            gap = self.rewards[row] - self.noises[row, older] @ moved[older]
            if pivot is None:  # no noise of its own: it must stay as it is by itself
                left = np.maximum(left, np.abs(gap))
            else:
                gap[np.abs(gap) <= 1e-12 * np.abs(self.rewards[row])] = 0.0
                moved[pivot] = gap / self.noises[row, pivot]
        large = np.abs(self.rewards).max(axis=0, initial=0.0)
        return moved, left <= TINY * np.maximum(1.0, large)

    def cheapest(self, reward: int) -> Floats | None:
        """min Σ|s_j|/b_j (Laplace) or Σ s_j²/σ_j² (Gaussian) over all shifts; None if mixed.

        `Unhidden` if there is no shift at all.
        """
        scales = np.array([kind.scale for kind in self.kinds])
        laws = {kind.law for kind in self.kinds}
        weighted, goal = self.noises * scales, self.rewards[:, reward]
        if laws == {GAUSSIAN}:
            shift = np.asarray(np.linalg.lstsq(weighted, goal, rcond=None)[0] * scales)
        elif laws == {LAPLACE}:
            shift = _least_sum(weighted, goal) * scales
        else:
            return None
        if not np.allclose(self.noises @ shift, goal, rtol=1e-7, atol=1e-7 * np.abs(goal).max()):
            raise Unhidden
        return np.asarray(shift)


class Unhidden(Exception):
    """No shift hides the reward."""


def _least_sum(matrix: Floats, goal: Floats) -> Floats:
    """min Σ|x_j| with M x = y, as a linear programme."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    sparse = csr_array(matrix)
    both: Any = hstack([sparse, -sparse])  # the stubs know no sparse A_eq
    solved = linprog(np.ones(2 * matrix.shape[1]), A_eq=both, b_eq=goal, method="highs")
    if not solved.success or solved.x is None:
        raise Unhidden
    positive, negative = np.split(solved.x, 2)
    return np.asarray(positive - negative)


def _merged(columns: Floats, kinds: list[Symbol]) -> tuple[Floats, list[Symbol]]:
    """Noises that are in the same numbers with the same coefficients are one.

    Laplace: anyone who hides something moves the widest, at b = max b_j. Gaussian: σ² = Σ σ_j².
    """
    groups: dict[tuple[str, bytes], list[int]] = {}
    by_noise = np.ascontiguousarray(columns.T)
    for j, kind in enumerate(kinds):
        groups.setdefault((kind.law, by_noise[j].tobytes()), []).append(j)
    merged = []
    for (law, _), members in groups.items():
        scales = [kinds[j].scale for j in members]
        scale = math.hypot(*scales) if law == GAUSSIAN else max(scales)
        widest = max(members, key=lambda j: kinds[j].scale)
        merged.append(Symbol(law, scale, delta=kinds[widest].delta))
    return columns[:, [members[0] for members in groups.values()]], merged


def _pivots(columns: Floats, kinds: list[Symbol]) -> tuple[list[int], list[int], bool]:
    """The noise that hides in each number: one that no earlier number had, the widest of them."""
    rows, pivots, unique = list[int](), list[int](), True
    seen = np.zeros(columns.shape[1], bool)
    for row in range(columns.shape[0]):
        here = np.abs(columns[row]) > TINY
        new = np.flatnonzero(here & ~seen)
        if len(new) == 0:
            continue
        unique &= len(new) == 1
        best = max(new.tolist(), key=lambda j: kinds[j].scale * abs(columns[row, j]))
        rows.append(row)
        pivots.append(best)
        seen |= here
    return rows, pivots, unique


@dataclass(frozen=True)
class Candidate:
    """A reward of a walk, what it costs at most, and whether that is the least.

    Example:
        >>> from discreet.privacy.verification import Tape, losses
        >>> tape = Tape()
        >>> _ = tape.publish(tape.reward(1.0, 1.0, first=1, rounds=1), 0)  # without noise
        >>> [each.loss.is_finite for each in losses(tape)[1]]
        [True, False]
    """

    loss: Loss
    symbol: int
    exact: bool


def losses(tape: Tape, whole: bool = False) -> tuple[System, list[Candidate]]:
    """What every reward of a walk costs, by shifts that are found number by number.

    Args:
        tape: The walk.
        whole: Whether the noise is in whole numbers.

    Returns:
        The numbers of the walk as a system, and a candidate for each reward.

    Example:
        >>> from discreet.privacy.verification import Tape, losses
        >>> tape = Tape()
        >>> reward = tape.reward(1.0, 1.0, first=1, rounds=1)
        >>> _ = tape.publish(reward + tape.noise("laplace", 2.0), 0)
        >>> system, candidates = losses(tape)
        >>> max(each.loss.laplace for each in candidates)  # ε = 1/b
        0.5
    """
    system = System.of(tape)
    shifts, hidden = system.shifts()
    responses: dict[int, list[float]] = {}
    for symbol in tape.symbols:
        if symbol.law == RESPONSE:
            responses.setdefault(symbol.of, []).append(symbol.scale)
    found = list[Candidate]()
    for place, number in enumerate(system.reward_symbols):
        shift = _widened(shifts[:, place], tape.symbols[number].scale)
        if not hidden[place]:
            # where noises could have been moved in other ways, that is not the last word
            found.append(Candidate(UNHIDDEN, number, system.unique))
        elif whole and not is_whole(shift):
            found.append(Candidate(UNHIDDEN, number, False))
        else:
            spent = responses.get(number, [])
            found.append(Candidate(cost(shift, system.kinds, spent), number, system.unique))
    return system, found


def sharpened(system: System, tape: Tape, candidate: Candidate, whole: bool = False) -> Candidate:
    """The same reward at its least cost, where several shifts hide it.

    Args:
        system: The numbers of the walk.
        tape: The walk.
        candidate: The reward, with an upper bound of its cost.
        whole: Whether the noise is in whole numbers.

    Returns:
        A candidate that costs no more; the given one where noises are of several kinds.

    Example:
        >>> from discreet.privacy.verification import Tape, losses, sharpened
        >>> tape = Tape()
        >>> reward = tape.reward(1.0, 1.0, first=1, rounds=1)
        >>> both = tape.noise("laplace", 2.0) + 2.0 * tape.noise("laplace", 2.0)
        >>> _ = tape.publish(reward + both, 0)
        >>> system, candidates = losses(tape)
        >>> [sharpened(system, tape, each).loss.laplace for each in candidates]
        [0.0, 0.25]
    """
    place = system.reward_symbols.index(candidate.symbol)
    try:
        shift = system.cheapest(place)
    except Unhidden:
        return Candidate(UNHIDDEN, candidate.symbol, True)
    if shift is None:
        return candidate
    shift = _widened(shift, tape.symbols[candidate.symbol].scale)
    if whole and not is_whole(shift):
        return candidate
    spent = [s.scale for s in tape.symbols if s.law == RESPONSE and s.of == candidate.symbol]
    loss = cost(shift, system.kinds, spent)
    if not candidate.loss.is_finite or loss.columns < candidate.loss.columns:
        return Candidate(loss, candidate.symbol, True)
    return Candidate(candidate.loss, candidate.symbol, True)


def _widened(shift: Floats, width: float) -> Floats:
    """The shift that a reward's whole range needs; what does not move at all needs none."""
    wide = np.zeros_like(shift)
    moved = shift != 0.0
    wide[moved] = shift[moved] * width  # a range may be infinite, and 0 times that is no number
    return wide


def is_whole(shift: Floats) -> bool:
    """Whether whole-numbered noise can move like that."""
    return bool(np.all(np.abs(shift - np.round(shift)) <= 1e-6 * np.maximum(1.0, np.abs(shift))))


def cost(shift: Floats, kinds: list[Symbol], responses: list[float]) -> Loss:
    """The loss of one shift."""
    laplace = laplace_squares = gaussian = epsilon = delta = 0.0
    moves = list[tuple[float, float]]()
    numbers = 0
    for j in np.flatnonzero(shift).tolist():
        move, kind = abs(float(shift[j])), kinds[j]
        numbers += 1
        ratio = move / kind.scale
        if kind.law == LAPLACE:
            laplace += ratio
            laplace_squares += ratio * ratio / 2.0
        elif kind.law == GAUSSIAN:
            gaussian += ratio * ratio / 2.0
            moves.append((move, kind.scale))
        else:
            epsilon += ratio
            delta += truncated_delta(move, kind)
    squares = math.fsum(e * e / 2.0 for e in responses)
    return Loss(
        laplace, laplace_squares, gaussian, (epsilon, delta), math.fsum(responses), squares,
        numbers + len(responses), tuple(moves),
    )  # fmt: skip


def truncated_delta(move: float, kind: Symbol) -> float:
    """The mass that a shift of truncated Laplace noise leaves uncovered.

    Noise for (ε, δ) has a density proportional to e^(-ε|x|) on |x| <= L, e^(εL) - 1 =
    (e^ε - 1)/(2δ); moved by s, the mass of (L - s, L] is δ (e^(εs) - 1)/(e^ε - 1), and that is
    δ e^(ε(s-1)) (1 - e^(-εs))/(1 - e^(-ε)), which overflows where the mass is all. ε = 0: sδ.
    """
    assert kind.law == TRUNCATED
    epsilon = 1.0 / kind.scale  # 0 for a scale that is infinite
    if epsilon == 0.0:
        return min(1.0, move * kind.delta)
    grown = math.exp(min(epsilon * (move - 1.0), 700.0))
    return min(1.0, kind.delta * grown * math.expm1(-epsilon * move) / math.expm1(-epsilon))


def undominated(candidates: list[Candidate]) -> Iterator[Candidate]:
    """The candidates that no other one exceeds in everything, and one of equals, the first.

    Args:
        candidates: Rewards with their costs.

    Returns:
        The most expensive of them, one after the other.

    Example:
        >>> from discreet.privacy.verification import Candidate, Loss, undominated
        >>> cheap, dear = (Candidate(Loss(laplace=e), 0, True) for e in (0.5, 1.0))
        >>> [each.loss.laplace for each in undominated([cheap, dear])]
        [1.0]
    """
    order = sorted(range(len(candidates)), key=lambda i: candidates[i].loss.columns, reverse=True)
    front = list[tuple[float, ...]]()
    for i in order:
        columns = candidates[i].loss.columns
        slack = tuple(c - 1e-12 * abs(c) if math.isfinite(c) else c for c in columns)
        if not any(all(x >= y for x, y in zip(f, slack, strict=True)) for f in front):
            front.append(columns)
            yield candidates[i]


def loss_between(first: list[Form], second: list[Form], kinds: list[Symbol]) -> Loss:
    """What hides which of two series of numbers, with the same whole-numbered noises, was released:
    the numbers beside the noises differ as if one reward had moved them."""
    if len(first) != len(second):
        return UNHIDDEN
    tape, length = Tape(), len(kinds)
    tape.symbols = [*kinds, Symbol(REWARD, 1.0, first=1, rounds=1)]
    for one, other in zip(first, second, strict=True):
        here, there = one.padded(length), other.padded(length)
        if not np.allclose(here, there, rtol=1e-12, atol=0.0):
            return UNHIDDEN
        tape.numbers.append(Form(np.append(here, one.constant - other.constant)))
    _, found = losses(tape, whole=True)
    return found[0].loss
