"""The kinds of budget that convert into one another: pure, approximate, concentrated, Rényi.

    ε-DP  ->  ρ-zCDP with ρ = ε tanh(ε/2)  ->  (α, αρ)-Rényi DP  ->  (ε', δ)-DP

>>> round(Pure(1.0).to_zcdp().rho, 4)
0.4621
>>> ZCDP(0.5) <= Approximate(6.0, 1e-6), ZCDP(0.5) <= Pure(100.0)
(True, False)

A conversion is a proved formula, rounded to the safe side; `NoConversion` where there is none.
References: Bun & Steinke 2016; Mironov 2017; Kairouz, Oh & Viswanath 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar

from discreet.errors import InvalidArgument, NoConversion

from .. import _curves as curves
from . import _formulas as formulas
from ._parameters import parameter, records, shown, uses


class Budget:
    """Base of all budgets: a read-only record of checked numbers.

    Budgets are compared by what they are proved to imply, and converted by proved formulas.

    Example:
        >>> import discreet
        >>> discreet.Pure(1.0) <= discreet.ZCDP(0.5)
        True
    """

    __slots__ = ()
    kind: ClassVar[str] = "budget"

    def __post_init__(self) -> None:
        for name, value in self.numbers().items():
            object.__setattr__(self, name, parameter(name, value))

    @classmethod
    def names(cls) -> list[str]:
        """What its numbers are called."""
        return [f.name for f in fields(cls)]  # type: ignore[arg-type]  # every kind is a dataclass

    def numbers(self) -> dict[str, float]:
        """Its numbers by name."""
        return {name: getattr(self, name) for name in self.names()}

    @property
    def is_finite(self) -> bool:
        """False when the budget promises nothing."""
        return all(math.isfinite(value) for value in self.numbers().values())

    @property
    def is_perfect(self) -> bool:
        """True when the output may not depend on the protected outcome at all."""
        return self.delta_at(0.0) == 0.0

    def delta_at(self, epsilon: float) -> float:
        """Smallest δ for which this budget is proved to imply (ε, δ)-DP; 1 means nothing."""
        raise NotImplementedError

    def to_pure(self) -> Pure:
        """The pure budget that this one implies."""
        extreme = self._extreme()
        if extreme is not None:
            return Pure(extreme)
        raise NoConversion(
            "budget", "bound the privacy loss surely", self, "use to_approximate(delta) instead"
        )

    def to_approximate(self, delta: float) -> Approximate:
        """The smallest ε with which this budget implies (ε, δ)-DP."""
        delta = parameter("delta", delta)
        extreme = self._extreme()
        if extreme is not None:
            return Approximate(extreme, delta)
        epsilon = self._epsilon_at(delta)
        step = 1e-15 * max(epsilon, 1e-290)
        while self.delta_at(epsilon) > delta:  # the formula rounded the wrong way
            epsilon += step
            step *= 2.0
        return Approximate(epsilon, delta)

    def _epsilon_at(self, delta: float) -> float:
        raise NotImplementedError

    def to_zcdp(self) -> ZCDP:
        """The zCDP budget that this one implies."""
        extreme = self._extreme()
        if extreme is not None:
            return ZCDP(extreme)
        raise NoConversion(
            "budget", "bound the Rényi divergence of every order", self, "compose it by itself"
        )

    def to_renyi(self, alpha: float) -> Renyi:
        """The Rényi budget of order α that this one implies."""
        return Renyi(alpha, self.to_zcdp().rho * parameter("alpha", alpha))

    def _extreme(self) -> float | None:
        """Infinity for no privacy, 0 for perfect privacy: they are the same in every kind."""
        if not self.is_finite:
            return math.inf
        return 0.0 if self.is_perfect else None

    def implies(self, other: Budget) -> bool:
        """Whether everything that satisfies this budget is proved to satisfy the other.

        False means "not by the formulas of this folder".
        """
        if not isinstance(other, Budget):
            raise InvalidArgument("other", "be a Budget", other, "build one, e.g. Pure(1.0)")
        if not other.is_finite or self.is_perfect:
            return True
        if not self.is_finite:
            return False
        try:
            return self._implies(other)
        except NoConversion:
            return False

    def _implies(self, other: Budget) -> bool:
        match other:
            case Pure():
                return self.to_pure().epsilon <= other.epsilon
            case Approximate():
                return self.delta_at(other.epsilon) <= other.delta
            case ZCDP():
                return self.to_zcdp().rho <= other.rho
            case Renyi():
                return self.to_renyi(other.alpha).epsilon <= other.epsilon
            case _:
                return other._implied_by(self)

    def _implied_by(self, other: Budget) -> bool:
        """For kinds that are defined on top of these."""
        return False

    def __le__(self, other: Budget) -> bool:
        return self.implies(other) if isinstance(other, Budget) else NotImplemented

    def __ge__(self, other: Budget) -> bool:
        return other.implies(self) if isinstance(other, Budget) else NotImplemented

    def __lt__(self, other: Budget) -> bool:
        if not isinstance(other, Budget):
            return NotImplemented
        return self.implies(other) and not other.implies(self)

    def __gt__(self, other: Budget) -> bool:
        return other < self if isinstance(other, Budget) else NotImplemented

    def group(self, m: int) -> Budget:
        """What the same mechanism promises when m protected records change together."""
        raise NotImplementedError

    def times(self, k: int) -> Budget:
        """The budget of k uses on the same records, each chosen after seeing the previous ones."""
        raise NotImplementedError

    def split(self, k: int) -> Budget:
        """One of k equal parts: split(k).times(k) is this budget."""
        raise NotImplementedError

    def attacker_advantage(self) -> float:
        """Largest gain of an attacker who must tell two values of one outcome apart:

        true positive rate - false positive rate = δ(0); for (ε, δ) it is (e^ε - 1 + 2δ)/(e^ε + 1).
        """
        return self.delta_at(0.0)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready; infinity is the string "infinity"."""
        return {"kind": self.kind} | {
            name: "infinity" if math.isinf(value) else value
            for name, value in self.numbers().items()
        }


@dataclass(frozen=True, slots=True)
class Pure(Budget):
    """ε-DP: P(S) <= e^ε P'(S) for every event S and neighbouring data.

    Args:
        epsilon: ε, from 0; infinity promises nothing.

    Raises:
        InvalidArgument: If ε is not such a number.

    Example:
        >>> import discreet
        >>> round(discreet.Pure(1.0).attacker_advantage(), 3)
        0.462
    """

    epsilon: float
    kind: ClassVar[str] = "pure"

    def delta_at(self, epsilon: float) -> float:
        return curves.pure_delta(self.epsilon, parameter("epsilon", epsilon))

    def _epsilon_at(self, delta: float) -> float:
        return formulas.pure_epsilon(self.epsilon, delta)

    def to_pure(self) -> Pure:
        return self

    def to_zcdp(self) -> ZCDP:
        """ρ = ε tanh(ε/2): the least there is, and below the ε²/2 of Bun & Steinke 2016.

        Randomised response is the worst ε-DP mechanism. Its divergences, with u = α - 1/2, are
        (α-1) D_α = log cosh(uε) - log cosh(ε/2) = f(u²) - f(1/4), f(w) = log cosh(ε sqrt(w)), and
        f is concave, since f'(w) = (ε²/2) tanh(x)/x falls with x = ε sqrt(w). So
        (α-1) D_α <= f'(1/4) (u² - 1/4) = ε tanh(ε/2) α(α-1), with equality as α falls to 1.
        """
        if not self.is_finite:
            return ZCDP(self.epsilon)
        return ZCDP(formulas.pure_rho(self.epsilon))

    def to_renyi(self, alpha: float) -> Renyi:
        """The divergence of randomised response, the worst ε-DP mechanism at every order."""
        alpha = parameter("alpha", alpha)
        if self.epsilon == 0 or not self.is_finite:
            return Renyi(alpha, self.epsilon)
        return Renyi(alpha, formulas.pure_divergence(self.epsilon, alpha))

    def group(self, m: int) -> Pure:
        return Pure(records(m) * self.epsilon)

    def times(self, k: int) -> Pure:
        return Pure(uses(k) * self.epsilon)

    def split(self, k: int) -> Pure:
        return Pure(self.epsilon / uses(k))

    def __str__(self) -> str:
        return f"ε = {shown(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class Approximate(Budget):
    """(ε, δ)-DP: P(S) <= e^ε P'(S) + δ for every event S and neighbouring data.

    Args:
        epsilon: ε, from 0.
        delta: δ, from 0, below 1.

    Raises:
        InvalidArgument: If a number is outside of its range.

    Example:
        >>> import discreet
        >>> print(discreet.Approximate(1.0, 1e-6))
        ε = 1, δ = 1e-06
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def delta_at(self, epsilon: float) -> float:
        """δ + (1-δ)(e^ε - e^ε')/(1 + e^ε): the worst case leaks with probability δ and otherwise
        answers by randomised response (Kairouz, Oh & Viswanath 2015)."""
        rest = curves.pure_delta(self.epsilon, parameter("epsilon", epsilon))
        return min(1.0, self.delta + (1.0 - self.delta) * rest)

    def _epsilon_at(self, delta: float) -> float:
        if delta < self.delta:
            raise NoConversion(
                "delta", f"be at least the budget's own {self.delta:g}", delta, "raise delta"
            )
        return formulas.pure_epsilon(self.epsilon, (delta - self.delta) / (1.0 - self.delta))

    def to_pure(self) -> Pure:
        return Pure(self.epsilon) if self.delta == 0 else Budget.to_pure(self)

    def to_zcdp(self) -> ZCDP:
        return self.to_pure().to_zcdp() if self.delta == 0 else Budget.to_zcdp(self)

    def to_renyi(self, alpha: float) -> Renyi:
        alpha = parameter("alpha", alpha)
        return self.to_pure().to_renyi(alpha) if self.delta == 0 else Budget.to_renyi(self, alpha)

    def group(self, m: int) -> Approximate:
        """(mε, δ(1 + e^ε + ... + e^((m-1)ε)))."""
        m = records(m)
        if self.delta == 0 or not self.is_finite:
            return Approximate(m * self.epsilon, self.delta)
        log_delta = formulas.log_group_delta(self.epsilon, self.delta, m)
        if log_delta >= 0:
            raise NoConversion(
                "m", "keep δ(e^(mε)-1)/(e^ε-1) below 1", m, "use a smaller group, ε or δ"
            )
        delta = math.exp(log_delta) * (1.0 + 1e-12) if m > 1 else self.delta
        return Approximate(m * self.epsilon, min(delta, math.nextafter(1.0, 0.0)))

    def times(self, k: int) -> Approximate:
        """Basic composition, (kε, kδ); `accounting` composes more tightly."""
        k = uses(k)
        if k * self.delta >= 1:
            raise NoConversion("k", "keep kδ below 1", k, "use a smaller δ or fewer uses")
        return Approximate(k * self.epsilon, k * self.delta)

    def split(self, k: int) -> Approximate:
        return Approximate(self.epsilon / uses(k), self.delta / k)

    def __str__(self) -> str:
        return f"ε = {shown(self.epsilon)}, δ = {shown(self.delta)}"


@dataclass(frozen=True, slots=True)
class ZCDP(Budget):
    """ρ-zCDP: the Rényi divergence of every order α > 1 is at most αρ.

    Args:
        rho: ρ, from 0.

    Raises:
        InvalidArgument: If ρ is not such a number.

    Example:
        >>> import discreet
        >>> round(discreet.ZCDP(0.5).to_approximate(1e-6).epsilon, 2)
        5.22
    """

    rho: float
    kind: ClassVar[str] = "zcdp"

    def delta_at(self, epsilon: float) -> float:
        epsilon = parameter("epsilon", epsilon)
        if math.isinf(epsilon):
            return 0.0
        return 1.0 if math.isinf(self.rho) else curves.zcdp_delta(self.rho, epsilon)

    def _epsilon_at(self, delta: float) -> float:
        return curves.zcdp_epsilon(self.rho, positive_delta(self, delta))

    def to_zcdp(self) -> ZCDP:
        return self

    def to_renyi(self, alpha: float) -> Renyi:
        return Renyi(parameter("alpha", alpha), alpha * self.rho)

    def group(self, m: int) -> ZCDP:
        return ZCDP(records(m) ** 2 * self.rho)

    def times(self, k: int) -> ZCDP:
        return ZCDP(uses(k) * self.rho)

    def split(self, k: int) -> ZCDP:
        return ZCDP(self.rho / uses(k))

    def __str__(self) -> str:
        return f"ρ = {shown(self.rho)}"


@dataclass(frozen=True, slots=True)
class Renyi(Budget):
    """(α, ε)-Rényi DP: the Rényi divergence of order α (and of every lower order) is at most ε.

    Args:
        alpha: α, above 1.
        epsilon: ε, from 0.

    Raises:
        InvalidArgument: If a number is outside of its range.

    Example:
        >>> import discreet
        >>> discreet.ZCDP(0.5).to_renyi(4.0)
        Renyi(alpha=4.0, epsilon=2.0)
    """

    alpha: float
    epsilon: float
    kind: ClassVar[str] = "renyi"

    def delta_at(self, epsilon: float) -> float:
        epsilon = parameter("epsilon", epsilon)
        if math.isinf(epsilon):
            return 0.0
        if math.isinf(self.epsilon):
            return 1.0
        return curves.renyi_delta(self.alpha, self.epsilon, epsilon)

    def _epsilon_at(self, delta: float) -> float:
        return formulas.renyi_epsilon(self.alpha, self.epsilon, positive_delta(self, delta))

    def to_renyi(self, alpha: float) -> Renyi:
        if parameter("alpha", alpha) > self.alpha and self.is_finite and self.epsilon > 0:
            raise NoConversion(
                "alpha", f"be at most the budget's own {self.alpha:g}", alpha, "lower alpha"
            )
        return Renyi(alpha, self.epsilon)

    def group(self, m: int) -> Renyi:
        """(α/2^c, 3^c ε) for m <= 2^c, if α >= 2^(c+1) (Mironov 2017, Proposition 2)."""
        c = (records(m) - 1).bit_length()
        if self.alpha < 2.0 ** (c + 1) and c > 0:
            raise NoConversion(
                "m", f"be at most α/2 = {self.alpha / 2:g}", m, "use a higher order alpha"
            )
        return Renyi(self.alpha / 2**c, 3**c * self.epsilon)

    def times(self, k: int) -> Renyi:
        return Renyi(self.alpha, uses(k) * self.epsilon)

    def split(self, k: int) -> Renyi:
        return Renyi(self.alpha, self.epsilon / uses(k))

    def __str__(self) -> str:
        return f"(α, ε) = ({shown(self.alpha)}, {shown(self.epsilon)})"


def positive_delta(budget: Budget, delta: float) -> float:
    """The δ of a conversion from a kind that never has δ = 0."""
    if delta == 0:
        raise NoConversion(
            "delta", f"be positive for a {budget.kind} budget", delta, "use a value such as 1e-6"
        )
    return delta
