"""Privacy budgets: what they mean, which implies which, how they add up.

    Budget
    ├── Pure(epsilon)                  ε-DP
    ├── Approximate(epsilon, delta)    (ε, δ)-DP
    ├── ZCDP(rho)                      ρ-zero-concentrated DP
    ├── Renyi(alpha, epsilon)          (α, ε)-Rényi DP
    └── GaussianDP(mu)                 μ-Gaussian DP

`a <= b` means "a is at least as strong as b", that is a.implies(b): whatever satisfies a is proved
to satisfy b. This is a partial order up to equivalence (Pure(1) and Approximate(1, 0) imply each
other), not a total one: both `a <= b` and `b <= a` can be False. An infinite parameter means no
privacy; zero means perfect privacy.

References: Dwork & Roth 2014; Bun & Steinke 2016; Mironov 2017; Kairouz, Oh & Viswanath 2015;
Canonne, Kamath & Steinke 2020; Dong, Roth & Su 2022.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from discreet.errors import InvalidArgument, NoConversion

from . import curves
from ._checks import count, number, probability


class Budget:
    """Base of all budgets."""

    __slots__ = ()
    kind: ClassVar[str] = "budget"

    @property
    def is_finite(self) -> bool:
        """False when the budget promises nothing."""
        raise NotImplementedError

    @property
    def is_perfect(self) -> bool:
        """True when the output may not depend on the protected outcome at all."""
        return self.delta_at(0.0) == 0.0

    def delta_at(self, epsilon: float) -> float:
        """Smallest δ for which this budget is proved to imply (ε, δ)-DP; 1 means nothing."""
        raise NotImplementedError

    def to_pure(self) -> Pure:
        """The pure budget that this one implies."""
        if self.is_perfect:
            return Pure(0.0)
        if not self.is_finite:
            return Pure(math.inf)
        raise NoConversion(
            "budget", "bound the privacy loss surely", self, "use to_approximate(delta) instead"
        )

    def to_approximate(self, delta: float) -> Approximate:
        """The smallest ε with which this budget implies (ε, δ)-DP."""
        delta = probability("delta", delta, fix="choose a small number such as 1e-6")
        if not self.is_finite:
            return Approximate(math.inf, delta)
        if self.is_perfect:
            return Approximate(0.0, delta)
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
        if self.is_perfect:
            return ZCDP(0.0)
        if not self.is_finite:
            return ZCDP(math.inf)
        raise NoConversion(
            "budget", "bound the Rényi divergence of every order", self, "compose it by itself"
        )

    def to_renyi(self, alpha: float) -> Renyi:
        """The Rényi budget of order α that this one implies."""
        return Renyi(alpha, self.to_zcdp().rho * _order(alpha))

    def implies(self, other: Budget) -> bool:
        """Whether everything that satisfies this budget is proved to satisfy the other.

        False means "not by the formulas of this module".
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
        if not isinstance(other, Budget):
            return NotImplemented
        return other.implies(self) and not self.implies(other)

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
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {
            name: "infinity" if math.isinf(value) else value for name, value in values.items()
        }


@dataclass(frozen=True, slots=True)
class Pure(Budget):
    """ε-DP: P(S) <= e^ε P'(S) for every event S and neighbouring data."""

    epsilon: float
    kind: ClassVar[str] = "pure"

    def __post_init__(self) -> None:
        _set(self, epsilon=number("epsilon", self.epsilon, fix="use a value such as 1.0"))

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.epsilon)

    def delta_at(self, epsilon: float) -> float:
        return curves.pure_delta(self.epsilon, _at(epsilon))

    def _epsilon_at(self, delta: float) -> float:
        return _pure_epsilon(self.epsilon, delta)

    def to_pure(self) -> Pure:
        return self

    def to_zcdp(self) -> ZCDP:
        """ρ = ε²/2 (Bun & Steinke 2016, Proposition 1.4)."""
        return ZCDP(self.epsilon * self.epsilon / 2.0)

    def to_renyi(self, alpha: float) -> Renyi:
        """The divergence of randomised response, the worst ε-DP mechanism at every order."""
        alpha = _order(alpha)
        e = self.epsilon
        if e == 0 or math.isinf(e):
            return Renyi(alpha, e)
        # log(p^α q^(1-α) + q^α p^(1-α)) with p = 1/(1+e^-ε), q = p e^-ε: ratio of the terms first
        log_sum = (alpha - 1.0) * e + math.log1p(math.exp((1.0 - 2.0 * alpha) * e))
        divergence = (log_sum - math.log1p(math.exp(-e))) / (alpha - 1.0)
        return Renyi(alpha, min(e, alpha * e * e / 2.0, max(0.0, divergence * (1.0 + 1e-12))))

    def group(self, m: int) -> Pure:
        return Pure(_m(m) * self.epsilon)

    def times(self, k: int) -> Pure:
        return Pure(_k(k) * self.epsilon)

    def split(self, k: int) -> Pure:
        return Pure(self.epsilon / _k(k))

    def __str__(self) -> str:
        return f"ε = {_g(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class Approximate(Budget):
    """(ε, δ)-DP: P(S) <= e^ε P'(S) + δ."""

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        _set(
            self,
            epsilon=number("epsilon", self.epsilon, fix="use a value such as 1.0"),
            delta=probability("delta", self.delta, fix="choose a small number such as 1e-6"),
        )

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.epsilon)

    def delta_at(self, epsilon: float) -> float:
        """δ + (1-δ)(e^ε - e^ε')/(1 + e^ε): the worst case leaks with probability δ and otherwise
        answers by randomised response (Kairouz, Oh & Viswanath 2015)."""
        rest = curves.pure_delta(self.epsilon, _at(epsilon))
        return min(1.0, self.delta + (1.0 - self.delta) * rest)

    def _epsilon_at(self, delta: float) -> float:
        if delta < self.delta:
            raise NoConversion(
                "delta", f"be at least the budget's own {self.delta:g}", delta, "raise delta"
            )
        return _pure_epsilon(self.epsilon, (delta - self.delta) / (1.0 - self.delta))

    def to_pure(self) -> Pure:
        if self.delta == 0:
            return Pure(self.epsilon)
        return Budget.to_pure(self)

    def to_zcdp(self) -> ZCDP:
        if self.delta == 0:
            return self.to_pure().to_zcdp()
        return Budget.to_zcdp(self)

    def to_renyi(self, alpha: float) -> Renyi:
        if self.delta == 0:
            return self.to_pure().to_renyi(alpha)
        return Budget.to_renyi(self, _order(alpha))

    def group(self, m: int) -> Approximate:
        """(mε, δ(1 + e^ε + ... + e^((m-1)ε)))."""
        m = _m(m)
        if self.delta == 0 or not self.is_finite:
            return Approximate(m * self.epsilon, self.delta)
        e = self.epsilon
        # expm1(mε)/expm1(ε) without overflow
        log_factor = (
            math.log(m)
            if e * m < 1e-15
            else (m - 1) * e + math.log(-math.expm1(-m * e)) - math.log(-math.expm1(-e))
        )
        log_delta = math.log(self.delta) + log_factor
        if log_delta >= 0:
            raise NoConversion(
                "m", "keep δ(e^(mε)-1)/(e^ε-1) below 1", m, "use a smaller group, ε or δ"
            )
        delta = math.exp(log_delta) * (1.0 + 1e-12) if m > 1 else self.delta
        return Approximate(m * e, min(delta, math.nextafter(1.0, 0.0)))

    def times(self, k: int) -> Approximate:
        """Basic composition, (kε, kδ); `accounting` composes more tightly."""
        k = _k(k)
        if k * self.delta >= 1:
            raise NoConversion("k", "keep kδ below 1", k, "use a smaller δ or fewer uses")
        return Approximate(k * self.epsilon, k * self.delta)

    def split(self, k: int) -> Approximate:
        return Approximate(self.epsilon / _k(k), self.delta / k)

    def __str__(self) -> str:
        return f"ε = {_g(self.epsilon)}, δ = {_g(self.delta)}"


@dataclass(frozen=True, slots=True)
class ZCDP(Budget):
    """ρ-zCDP: the Rényi divergence of every order α > 1 is at most αρ."""

    rho: float
    kind: ClassVar[str] = "zcdp"

    def __post_init__(self) -> None:
        _set(self, rho=number("rho", self.rho, fix="use a value such as 0.1"))

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.rho)

    def delta_at(self, epsilon: float) -> float:
        if math.isinf(epsilon):
            return 0.0
        return 1.0 if math.isinf(self.rho) else curves.zcdp_delta(self.rho, _at(epsilon))

    def _epsilon_at(self, delta: float) -> float:
        return curves.zcdp_epsilon(self.rho, _positive_delta(self, delta))

    def to_zcdp(self) -> ZCDP:
        return self

    def to_renyi(self, alpha: float) -> Renyi:
        return Renyi(_order(alpha), alpha * self.rho)

    def group(self, m: int) -> ZCDP:
        return ZCDP(_m(m) ** 2 * self.rho)

    def times(self, k: int) -> ZCDP:
        return ZCDP(_k(k) * self.rho)

    def split(self, k: int) -> ZCDP:
        return ZCDP(self.rho / _k(k))

    def __str__(self) -> str:
        return f"ρ = {_g(self.rho)}"


@dataclass(frozen=True, slots=True)
class Renyi(Budget):
    """(α, ε)-Rényi DP: the Rényi divergence of order α (and of every lower order) is at most ε."""

    alpha: float
    epsilon: float
    kind: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        _set(
            self,
            alpha=_order(self.alpha),
            epsilon=number("epsilon", self.epsilon, fix="use a value such as 1.0"),
        )

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.epsilon)

    def delta_at(self, epsilon: float) -> float:
        if math.isinf(epsilon):
            return 0.0
        if math.isinf(self.epsilon):
            return 1.0
        return curves.renyi_delta(self.alpha, self.epsilon, _at(epsilon))

    def _epsilon_at(self, delta: float) -> float:
        delta = _positive_delta(self, delta)
        x = math.log(self.alpha - 1.0)
        at_order = self.epsilon + (
            curves.renyi_log_delta(x, 0.0, 0.0) - math.log(delta)
        ) * math.exp(-x)
        # at a lower order with log(1 - 1/α') = ε' - ε the formula reduces to δ = 1/α'
        at_lower = self.epsilon + math.log1p(-delta) if 1.0 / delta <= self.alpha else math.inf
        return max(0.0, min(at_order, at_lower))

    def to_renyi(self, alpha: float) -> Renyi:
        if _order(alpha) > self.alpha and self.is_finite and self.epsilon > 0:
            raise NoConversion(
                "alpha", f"be at most the budget's own {self.alpha:g}", alpha, "lower alpha"
            )
        return Renyi(alpha, self.epsilon)

    def group(self, m: int) -> Renyi:
        """(α/2^c, 3^c ε) for m <= 2^c, if α >= 2^(c+1) (Mironov 2017, Proposition 2)."""
        c = (_m(m) - 1).bit_length()
        if self.alpha < 2.0 ** (c + 1) and c > 0:
            raise NoConversion(
                "m", f"be at most α/2 = {self.alpha / 2:g}", m, "use a higher order alpha"
            )
        return Renyi(self.alpha / 2**c, 3**c * self.epsilon)

    def times(self, k: int) -> Renyi:
        return Renyi(self.alpha, _k(k) * self.epsilon)

    def split(self, k: int) -> Renyi:
        return Renyi(self.alpha, self.epsilon / _k(k))

    def __str__(self) -> str:
        return f"(α, ε) = ({_g(self.alpha)}, {_g(self.epsilon)})"


@dataclass(frozen=True, slots=True)
class GaussianDP(Budget):
    """μ-Gaussian DP: no easier to tell apart than N(0, 1) and N(μ, 1)."""

    mu: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _set(self, mu=number("mu", self.mu, fix="use a value such as 0.5"))

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.mu)

    def delta_at(self, epsilon: float) -> float:
        return curves.gaussian_delta(self.mu, _at(epsilon))

    def _epsilon_at(self, delta: float) -> float:
        return curves.gaussian_epsilon(self.mu, _positive_delta(self, delta))

    def to_zcdp(self) -> ZCDP:
        return ZCDP(self.mu * self.mu / 2.0)

    def _implies(self, other: Budget) -> bool:
        if isinstance(other, GaussianDP):
            return self.mu <= other.mu
        return Budget._implies(self, other)

    def group(self, m: int) -> GaussianDP:
        return GaussianDP(_m(m) * self.mu)

    def times(self, k: int) -> GaussianDP:
        return GaussianDP(math.sqrt(_k(k)) * self.mu)

    def split(self, k: int) -> GaussianDP:
        return GaussianDP(self.mu / math.sqrt(_k(k)))

    def __str__(self) -> str:
        return f"μ = {_g(self.mu)}"


def compose(*budgets: Budget) -> Budget:
    """Sequential composition: the releases read the same records. None given costs nothing.

    Pure and pure stay pure; with zCDP or Gaussian they become zCDP; Gaussian alone adds μ²; with a
    Rényi budget all become Rényi at its order; pure and approximate become approximate.
    """
    match _promoted(budgets):
        case []:
            return Pure(0.0)
        case [Pure(), *_] as all_pure:
            return Pure(math.fsum(_field(b, "epsilon") for b in all_pure))
        case [ZCDP(), *_] as all_zcdp:
            return ZCDP(math.fsum(_field(b, "rho") for b in all_zcdp))
        case [GaussianDP(), *_] as all_gaussian:
            return GaussianDP(math.hypot(*(_field(b, "mu") for b in all_gaussian)))
        case [Renyi(alpha=alpha), *_] as all_renyi:
            return Renyi(alpha, math.fsum(_field(b, "epsilon") for b in all_renyi))
        case rest:
            delta = math.fsum(_field(b, "delta") for b in rest)
            if delta >= 1:
                raise NoConversion("delta", "add up to less than 1", delta, "use smaller deltas")
            return Approximate(math.fsum(_field(b, "epsilon") for b in rest), delta)


def parallel(*budgets: Budget) -> Budget:
    """Parallel composition: each record enters one release only, so the worst budget counts."""
    match _promoted(budgets):
        case []:
            return Pure(0.0)
        case [Approximate(), *_] as rest:
            return Approximate(
                max(_field(b, "epsilon") for b in rest), max(_field(b, "delta") for b in rest)
            )
        case [ZCDP(), *_] as all_zcdp:
            return ZCDP(max(_field(b, "rho") for b in all_zcdp))
        case [GaussianDP(), *_] as all_gaussian:
            return GaussianDP(max(_field(b, "mu") for b in all_gaussian))
        case [Renyi(alpha=alpha), *_] as all_renyi:
            return Renyi(alpha, max(_field(b, "epsilon") for b in all_renyi))
        case all_pure:
            return Pure(max(_field(b, "epsilon") for b in all_pure))


def _promoted(budgets: tuple[Budget, ...]) -> list[Budget]:
    """The budgets turned into one common kind."""
    for budget in budgets:
        if not isinstance(budget, Budget):
            raise InvalidArgument("budget", "be a Budget", budget, "build one, e.g. Pure(1.0)")
    if all(isinstance(b, GaussianDP) for b in budgets):
        return list(budgets)
    orders = {b.alpha for b in budgets if isinstance(b, Renyi)}
    concentrated = orders or any(isinstance(b, ZCDP | GaussianDP) for b in budgets)
    loose = [b for b in budgets if isinstance(b, Approximate) and b.delta > 0]
    if concentrated and loose:
        raise NoConversion(
            "budgets",
            "not mix approximate DP with zCDP, Rényi or Gaussian DP",
            str(loose[0]),
            "call to_approximate(delta) on the others first",
        )
    if len(orders) > 1:
        raise NoConversion(
            "alpha", "be the same in all Rényi budgets", sorted(orders), "use to_renyi(alpha) first"
        )
    if orders:
        (order,) = orders
        return [b.to_renyi(order) for b in budgets]
    if concentrated:
        return [b.to_zcdp() for b in budgets]
    if any(isinstance(b, Approximate) for b in budgets):
        return [b if isinstance(b, Approximate) else b.to_approximate(0.0) for b in budgets]
    return list(budgets)


def budget_from(
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    renyi_alpha: float | None = None,
    mu: float | None = None,
) -> Budget | None:
    """The budget that keyword arguments ask for, None if none is given.

    epsilon -> Pure; epsilon and delta -> Approximate (Pure when delta is 0); rho -> ZCDP;
    epsilon and renyi_alpha -> Renyi; mu -> GaussianDP. A requested budget is positive.
    """
    given = {
        name
        for name, value in (
            ("epsilon", epsilon),
            ("delta", delta),
            ("rho", rho),
            ("renyi_alpha", renyi_alpha),
            ("mu", mu),
        )
        if value is not None
    }
    if not given:
        return None
    allowed = ({"epsilon"}, {"epsilon", "delta"}, {"rho"}, {"epsilon", "renyi_alpha"}, {"mu"})
    if given not in allowed:
        raise InvalidArgument(
            " and ".join(sorted(given)),
            "name one kind of budget",
            {"epsilon": epsilon, "delta": delta, "rho": rho, "renyi_alpha": renyi_alpha, "mu": mu},
            "give epsilon; epsilon and delta; rho; epsilon and renyi_alpha; or mu",
        )
    if rho is not None:
        return ZCDP(number("rho", rho, zero=False, fix="use a value such as 0.1"))
    if mu is not None:
        return GaussianDP(number("mu", mu, zero=False, fix="use a value such as 0.5"))
    epsilon = number("epsilon", epsilon, zero=False, fix="use a value such as 1.0")
    if renyi_alpha is not None:
        return Renyi(_order(renyi_alpha, "renyi_alpha"), epsilon)
    if delta is not None:
        delta = probability("delta", delta, fix="choose a small number such as 1e-6")
        return Approximate(epsilon, delta) if delta > 0 else Pure(epsilon)
    return Pure(epsilon)


def budget_from_dict(data: Mapping[str, object]) -> Budget:
    """The budget that to_dict() wrote."""
    kinds: dict[str, type[Budget]] = {
        c.kind: c for c in (Pure, Approximate, ZCDP, Renyi, GaussianDP)
    }
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidArgument("kind", f"be one of {', '.join(kinds)}", kind, "see Budget.to_dict()")
    names = [f.name for f in fields(kinds[kind])]  # type: ignore[arg-type]
    if set(data) != {"kind", *names}:
        raise InvalidArgument(
            "budget", f"have exactly the keys kind, {', '.join(names)}", dict(data), "add or drop"
        )
    values = {n: math.inf if data[n] == "infinity" else data[n] for n in names}
    return kinds[kind](**values)


def _set(budget: Budget, **values: float) -> None:
    for name, value in values.items():
        object.__setattr__(budget, name, value)


def _field(budget: Budget, name: str) -> float:
    value = getattr(budget, name)
    assert isinstance(value, float)
    return value


def _at(epsilon: float) -> float:
    return number("epsilon", epsilon, fix="use a value such as 1.0")


def _m(m: int) -> int:
    return count("m", m, fix="give the number of records of one user")


def _k(k: int) -> int:
    return count("k", k, fix="give the number of uses")


def _order(alpha: object, argument: str = "alpha") -> float:
    fix = "use an order such as 2 (an infinite order is Pure)"
    order = number(argument, alpha, infinite=False, zero=False, fix=fix)
    if order <= 1:
        raise InvalidArgument(argument, "be greater than 1", alpha, fix)
    return order


def _positive_delta(budget: Budget, delta: float) -> float:
    if delta == 0:
        raise NoConversion(
            "delta", f"be positive for a {budget.kind} budget", delta, "use a value such as 1e-6"
        )
    return delta


def _pure_epsilon(epsilon: float, delta: float) -> float:
    """Smallest ε' at which ε-DP is (ε', δ)-DP: e^ε' = e^ε - δ(1 + e^ε)."""
    left = 1.0 - delta * (1.0 + math.exp(-epsilon))
    return max(0.0, epsilon + math.log(left)) if left > 0 else 0.0


def _g(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.6g}"
