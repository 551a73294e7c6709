"""Sums without a trusted server: what each participant sends, and what the server makes of it.

A batch of n participants wants its sum known and nothing else. Each sends a whole number, secure
aggregation adds them modulo M, and only the sum is ever seen. Participant i holding x in [0, 1]
sends  y = floor(gx) + Bernoulli(frac gx) + η  mod M,  with g levels.

- Pólya shares, pure ε: η = P - P', both negative binomial of shape r = 1/n and weight p = e^(-ε/g),
  P[P = k] = Γ(r + k)/(Γ(r) k!) p^k (1 - p)^r. Shapes add up, so n shares make a difference of two
  geometric variables: discrete Laplace, P[k] proportional to p^|k|. One participant moves the sum
  by at most g, so it is ε-DP, exactly.
- Skellam shares, Rényi: η = P - P', both Poisson of mean v/(2n): n shares make Skellam noise of
  variance v, and the sum is (α, αg²/(2v) + min{((2α-1)g² + 6g)/(4v²), 3g/(2v)}) for whole α >= 2
  (Agarwal, Kairouz & Liu 2021).
- Shares that never come, or are not honest: with n(1-γ) in place of n the noise of the others
  suffices as long as n(1-γ) of them are there; more noise than that, which is independent, does no
  harm. With fewer the batch must be refused: `decode` does.
- M = ng + 2τ + 1, and a sum z > ng + τ stands for z - M. Noise beyond τ, of probability at most β,
  wraps: that costs accuracy and never privacy.

Everything is drawn exactly, with whole numbers and the system's randomness (`secrets`): nothing has
a seed and no float is near the noise. Geometric variables are drawn as by Canonne, Kamath & Steinke
(2020, algorithms 1 and 2). A Pólya variable of shape r <= 1 is a geometric one, k, kept with
probability Γ(r + k)/(Γ(r) k!) = Π_{i<k} (r + i)/(1 + i), a product of fractions; a Poisson variable
of mean 1 is k with probability 2^-(k+1), kept with probability 2^k/(2 k!), and one of mean m < 1
keeps each of its events with probability m. How long a draw takes depends on it, so a device should
send its share at a time fixed in advance.

Reference: Chowdhury & Zhou 2023.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .._checks import Unshown, count, number_of, probability, share
from ..errors import InvalidArgument
from .budgets import Budget, Pure, Renyi


@dataclass(frozen=True)
class SecureBatch:
    """The public settings of one batch: all that a device and the server must agree on.

    `members`: n. `levels`: g, 1 for outcomes that are 0 or 1. `dropout`: γ, the largest part of the
    batch that may be missing. `failure`: β, the probability that the sum wraps, at most.

    >>> batch = SecureBatch(Pure(1.0), members=50)
    >>> total = batch.add(batch.share(1.0) for _ in range(50))
    >>> batch.decode(total, arrived=50).denominator
    1
    """

    budget: Pure | Renyi
    members: int
    levels: int = 1
    dropout: float = 0.0
    failure: float = 1e-9

    def __post_init__(self) -> None:
        check_shares(self.budget, self.levels, self.dropout)
        count("members", self.members, fix="give the size of the batch")
        share("failure", self.failure, fix="use failure=1e-9")

    @property
    def fewest(self) -> int:
        """Shares without which the sum must not be opened."""
        return math.ceil(self.members * (1 - Fraction(str(float(self.dropout)))))

    @property
    def reach(self) -> int:
        """τ: noise stays within it with probability 1 - β."""
        spare = math.ceil(1.0 / (1.0 - self.dropout))  # so many sums' worth of noise at most
        log = math.log(2.0 * spare / self.failure)
        if isinstance(self.budget, Pure):
            return math.ceil(spare * self.levels * log / self.budget.epsilon) + 1
        # Poisson tails (Bernstein): |P - P'| <= sqrt(2vL) + L for L = log(2/β)
        variance = float(skellam_variance(self.budget, self.levels)) * spare
        return math.ceil(math.sqrt(2.0 * variance * log) + log) + 1

    @property
    def modulus(self) -> int:
        """M = ng + 2τ + 1."""
        return self.members * self.levels + 2 * self.reach + 1

    def share(self, outcome: float) -> int:
        """What a participant's own device sends: it alone sees the outcome."""
        value = number_of(outcome)
        if value is None or not 0.0 <= value <= 1.0:
            kind = type(outcome).__name__
            del outcome, value  # an error must not carry it
            raise InvalidArgument(
                "outcome", "be a number in [0, 1]", Unshown(kind), "scale it in advance"
            )
        exact = Fraction(value) * self.levels
        whole = exact.numerator // exact.denominator
        return (whole + bernoulli(exact - whole) + self.noise()) % self.modulus

    def noise(self) -> int:
        """One participant's part of the noise."""
        if isinstance(self.budget, Pure):
            shape = Fraction(1, self.fewest)
            weight = Fraction(self.budget.epsilon) / self.levels
            return polya(shape, weight) - polya(shape, weight)
        mean = skellam_variance(self.budget, self.levels) / (2 * self.fewest)
        return poisson(mean) - poisson(mean)

    def add(self, shares: Iterable[int]) -> int:
        """What secure aggregation computes. Anyone who sees single shares sees outcomes with
        next to no noise: this stands in for the protocol in simulations."""
        return sum(shares) % self.modulus

    def decode(self, total: int, arrived: int) -> Fraction:
        """The noisy sum of the outcomes of those who answered; refused if too few did."""
        if arrived < self.fewest or arrived > self.members:
            raise InvalidArgument(
                "arrived", f"lie between {self.fewest} and {self.members}: fewer shares carry too "
                "little noise", arrived, "discard the batch",
            )  # fmt: skip
        total = count("total", total, least=0, fix="give the sum modulo the modulus")
        if total >= self.modulus:
            raise InvalidArgument(
                "total", f"be below the modulus {self.modulus}", "a greater number", "reduce it"
            )
        wraps = total > self.members * self.levels + self.reach
        return Fraction(total - self.modulus if wraps else total, self.levels)


def check_shares(budget: Budget, levels: int, dropout: float) -> None:
    """A budget that shares can keep, and how they are made."""
    if not isinstance(budget, Pure | Renyi) or not 0.0 < budget.epsilon < math.inf:
        raise InvalidArgument(
            "budget", "be pure or Rényi, finite and above 0", str(budget), "use Pure(1.0)"
        )
    if isinstance(budget, Renyi) and not (budget.alpha >= 2 and float(budget.alpha).is_integer()):
        raise InvalidArgument(
            "renyi_alpha", "be a whole number from 2 for Skellam noise", budget.alpha, "use 8"
        )
    count("levels", levels, fix="use levels=1 for outcomes that are 0 or 1")
    probability("dropout", dropout, fix="use for example dropout=0.1")


def skellam_epsilon(variance: float, levels: int, alpha: float) -> float:
    """ε of Skellam noise on a sum that one participant moves by at most g."""
    g = float(levels)
    more = ((2.0 * alpha - 1.0) * g * g + 6.0 * g) / (4.0 * variance * variance)
    return alpha * g * g / (2.0 * variance) + min(more, 3.0 * g / (2.0 * variance))


def skellam_variance(budget: Renyi, levels: int) -> Fraction:
    """The least variance, to a millionth, that keeps a Rényi budget."""
    low = high = budget.alpha * levels * levels / (2.0 * budget.epsilon)
    while skellam_epsilon(high, levels, budget.alpha) > budget.epsilon:
        high *= 2.0
    while high - low > 1e-6 * low:
        middle = 0.5 * (low + high)
        if skellam_epsilon(middle, levels, budget.alpha) > budget.epsilon:
            low = middle
        else:
            high = middle
    return Fraction(high)


# --- exact draws --------------------------------------------------------------------------------


def bernoulli(p: Fraction) -> int:
    """1 with that probability."""
    return int(secrets.randbelow(p.denominator) < p.numerator)


def bernoulli_exp(x: Fraction) -> int:
    """1 with probability e^-x, 0 <= x <= 1."""
    k = 1
    while bernoulli(x / k):
        k += 1
    return k % 2


def geometric(x: Fraction) -> int:
    """k >= 0 with probability proportional to e^(-xk)."""
    s, t = x.numerator, x.denominator
    while True:
        u = secrets.randbelow(t)
        if bernoulli_exp(Fraction(u, t)):
            break
    v = 0
    while bernoulli_exp(Fraction(1)):
        v += 1
    return (u + t * v) // s


def polya(shape: Fraction, x: Fraction) -> int:
    """Negative binomial of a shape r <= 1 and weight e^-x."""
    while True:
        k = geometric(x)
        if all(bernoulli((shape + i) / (1 + i)) for i in range(k)):
            return k


def poisson(mean: Fraction) -> int:
    """Poisson: as many of mean 1 as there are whole ones, and a thinned one for the rest."""
    whole = mean.numerator // mean.denominator
    total = sum(_poisson_one() for _ in range(whole))
    return total + sum(bernoulli(mean - whole) for _ in range(_poisson_one()))


def _poisson_one() -> int:
    """k has probability 1/(e k!): proposed with 2^-(k+1), kept with 2^k/(2 k!)."""
    while True:
        k = 0
        while secrets.randbelow(2):
            k += 1
        if bernoulli(min(Fraction(1), Fraction(1 << k, 2 * math.factorial(k)))):
            return k
