"""What a verification found: claimed, computed, who pays most, and how far the answer reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from ..._notebooks import card
from .._curves import lattice_delta, least
from .._guarantees import Definition
from ..budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from ._shifts import Loss

ROUNDING = 1e-9
"""Computed and claimed may differ by so much, relatively, through rounding of the scales."""

UNSEEN = 1e-6
"""A smaller unspent share is that of whole numbers, or of rounding."""


@dataclass(frozen=True)
class Worst:
    """The reward that pays most: its arm, its batch, and the path on which it does.

    Example:
        >>> import discreet
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = discreet.verify(policy, arms=2, horizon=50)
        >>> found.worst.noises >= 1  # so many noises hide it
        True
    """

    arm: int
    """whose reward it is; -1 where arms play no part"""
    first: int
    """the first round of its batch, from 1"""
    rounds: int
    """rounds of the batch, whose rewards all pay the same"""
    noises: int
    """how many noises had to move to hide it"""
    path: str

    def __str__(self) -> str:
        last = self.first + self.rounds - 1
        where = f"round {self.first}" if self.rounds == 1 else f"rounds {self.first} to {last}"
        whose = "a reward" if self.arm < 0 else f"a reward of arm {self.arm}"
        number = "1 noise" if self.noises == 1 else f"{self.noises} noises"
        hidden = f"hidden by {number}" if self.noises else "hidden by no noise"
        return f"{whose} in {where}, {hidden}, on the path {self.path!r}"


@dataclass(frozen=True)
class Verification:
    """A claim beside what the policy's own kernels spend, computed on symbols.

    `holds` is True only where every public path was covered up to the horizon. It is None where
    nothing could be computed (`reason` then says why), and where walks ended sooner: `holds_for`
    says how far the claim is known to hold.

    Example:
        >>> import discreet
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = discreet.verify(policy, arms=2, horizon=50)
        >>> found.holds, found.computed, found.exact
        (True, Pure(epsilon=1.0), True)
    """

    policy: str
    claimed: Budget
    definition: Definition
    computed: Budget | None
    exact: bool
    """whether `computed` is the cost on the paths walked, and not an upper bound of it"""
    scope: str
    """what the answer covers: which public paths, and by which argument"""
    arms: int
    horizon: int
    source: str
    """simulated or secure (live) noise"""
    paths: int
    """how many paths were walked"""
    numbers: int
    """published numbers on all of them"""
    worst: Worst | None = None
    reason: str = ""
    """why nothing could be computed"""
    breach: str = ""
    """what is broken whatever it costs: a kernel that reaches outside of its ledger, refuses a
    batch, or writes where it may not"""
    conditions: tuple[str, ...] = ()
    covered: int | None = None
    """rounds up to which every public path was covered; None: up to the horizon"""

    @property
    def holds(self) -> bool | None:
        """Whether the claim covers what is spent; None if that is not known."""
        if self.computed is None:
            return None
        if self.breach or not within(self.computed, self.claimed):
            return False
        return True if self.holds_for == self.horizon else None

    @property
    def holds_for(self) -> int | None:
        """Rounds for which the claim is known to hold, on every public path; None if for none."""
        if self.computed is None or self.breach or not within(self.computed, self.claimed):
            return None
        covered = self.horizon if self.covered is None else min(self.covered, self.horizon)
        return covered or None

    @property
    def unspent(self) -> float | None:
        """The share of the claimed budget that no reward ever costs; negative if exceeded."""
        if self.computed is None:
            return None
        spent, claimed = main_number(self.computed), main_number(self.claimed)
        if claimed == 0.0:  # (0, δ): the δ is all there is to spend
            spent, claimed = self.computed.delta_at(0.0), self.claimed.delta_at(0.0)
        if claimed == 0.0:
            return 0.0 if spent == 0.0 else -math.inf
        share = 1.0 - spent / claimed
        return 0.0 if abs(share) < UNSEEN else share

    @property
    def verdict(self) -> str:
        """One line."""
        if self.computed is None:
            return "not computed"
        if not within(self.computed, self.claimed):
            return "the claim is exceeded"
        if self.breach:
            return "broken"
        if self.holds is None:
            if self.holds_for:
                return f"the claim holds for {self.holds_for:,} rounds; later ones are not covered"
            return "the claim holds on the paths walked; others are not covered"
        return "the claim holds" + (", exactly" if self.exact and self.unspent == 0.0 else "")

    def _repr_html_(self) -> str:
        """For notebooks."""
        unspent = self.unspent
        entries: dict[str, object] = {
            "claimed": str(self.claimed),
            "computed": None if self.computed is None else str(self.computed),
            "unspent": None if not unspent else f"{100.0 * unspent:.3g} %",
            "covers": self.scope,
            "walked": f"{self.paths:,} paths, {self.numbers:,} published numbers",
            "setting": f"{self.arms} arms, {self.horizon:,} rounds, {self.source} noise",
            "worst": None if self.worst is None else str(self.worst),
            "not computed because": self.reason,
            "broken": self.breach,
            "conditions": self.conditions,
        }
        return card(f"{self.policy}: {self.verdict}", entries)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "policy": self.policy,
            "holds": self.holds,
            "holds_for": self.holds_for,
            "claimed": self.claimed.to_dict(),
            "definition": self.definition.value,
            "computed": None if self.computed is None else self.computed.to_dict(),
            "unspent": self.unspent if self.unspent is None or math.isfinite(self.unspent) else
            "-infinity",
            "exact": self.exact,
            "scope": self.scope,
            "arms": self.arms,
            "horizon": self.horizon,
            "noise": self.source,
            "paths": self.paths,
            "numbers": self.numbers,
            "worst": None if self.worst is None else vars(self.worst).copy(),
            "reason": self.reason,
            "breach": self.breach,
            "conditions": list(self.conditions),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.policy}: {self.verdict}"]
        lines.append(f"claimed   {self.claimed} ({self.definition.value})")
        if self.computed is not None:
            how = "exact" if self.exact else "an upper bound"
            lines.append(f"computed  {self.computed}, {how}")
            if self.unspent:
                share = abs(self.unspent)
                what = "of the budget unspent" if self.unspent > 0.0 else "more than claimed"
                lines.append(f"share     {100.0 * share:.3g} % {what}")
        if self.reason:
            lines.append(f"reason    {self.reason}")
        if self.breach:
            lines.append(f"breach    {self.breach}")
        if self.worst is not None:
            lines.append(f"worst     {self.worst}")
        lines.append(f"scope     {self.scope}")
        size = f"{self.arms} arms, {self.horizon} rounds" if self.arms else "one response"
        lines.append(
            f"walked    {self.paths} paths, {self.numbers} numbers; {size}, {self.source} noise"
        )
        if self.conditions:
            lines.append(f"assumed   {'; '.join(self.conditions)}")
        return "\n".join(lines)


def main_number(budget: Budget) -> float:
    """The number that a budget is known by: its ε, ρ or μ.

    Args:
        budget: The budget.

    Returns:
        The number.

    Example:
        >>> from discreet import ZCDP
        >>> from discreet.privacy.verification import main_number
        >>> main_number(ZCDP(0.5))
        0.5
    """
    match budget:
        case ZCDP(rho=rho):
            return rho
        case GaussianDP(mu=mu):
            return mu
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon) | Renyi(epsilon=epsilon):
            return epsilon
    raise TypeError(f"no number of {budget!r}")


def within(computed: Budget, claimed: Budget) -> bool:
    """Whether a budget of the same kind is at most another, up to rounding.

    Args:
        computed: What is spent.
        claimed: What was claimed.

    Returns:
        Whether the claim covers it.

    Example:
        >>> from discreet import Pure
        >>> from discreet.privacy.verification import within
        >>> within(Pure(0.9), Pure(1.0)), within(Pure(1.1), Pure(1.0))
        (True, False)
    """
    if isinstance(computed, Approximate) and isinstance(claimed, Approximate):
        if computed.delta > claimed.delta * (1.0 + ROUNDING):
            return False
        if computed.epsilon <= claimed.epsilon * (1.0 + ROUNDING):
            return True
        # at small ε a rounding of δ moves ε by more: compare on the δ side as well
        return computed.delta_at(claimed.epsilon) <= claimed.delta * (1.0 + ROUNDING)
    return main_number(computed) <= main_number(claimed) * (1.0 + ROUNDING)


def spent(loss: Loss, claimed: Budget, whole: bool = False) -> Budget:
    """A loss in the kind of budget that was claimed.

    Args:
        loss: What one reward costs.
        claimed: The claim.
        whole: Whether the noise is in whole numbers.

    Returns:
        A budget of the same kind as the claim; at least what is spent.

    Example:
        >>> from discreet import Pure
        >>> from discreet.privacy.verification import Loss, spent
        >>> spent(Loss(laplace=0.5, numbers=1), Pure(1.0))
        Pure(epsilon=0.5)
    """
    pure = loss.laplace + loss.truncated[0] + loss.response
    epsilon, delta = loss.truncated
    squares = loss.laplace_squares + loss.response_squares + epsilon * epsilon / 2.0
    rho = math.inf if delta > 0.0 else squares + loss.gaussian
    match claimed:
        case Pure():
            return Pure(math.inf if loss.gaussian > 0.0 or delta > 0.0 else pure)
        case ZCDP():
            return ZCDP(rho)
        case Renyi(alpha=alpha):
            return Renyi(alpha, alpha * rho)
        case GaussianDP():
            mixed = pure > 0.0 or delta > 0.0 or whole
            return GaussianDP(math.inf if mixed else math.sqrt(2.0 * loss.gaussian))
        case Approximate(delta=at):
            return _approximate(loss, Approximate(claimed.epsilon, at), pure, rho, whole)
    raise TypeError(f"no way to compare with {claimed!r}")


def is_tight(loss: Loss, claimed: Budget, whole: bool = False) -> bool:
    """Whether `spent` says exactly what a loss comes to, and not more.

    Laplace noise counted as zCDP is bounded by ε²/2, and discrete Gaussian noise by the formulas of
    the continuous one; two truncated noises are composed by adding up.

    Args:
        loss: What one reward costs.
        claimed: The claim.
        whole: Whether the noise is in whole numbers.

    Returns:
        Whether there is nothing to gain.

    Args:
        loss: What one reward costs.
        claimed: The claim.
        whole: Whether the noise is in whole numbers.

    Returns:
        Whether there is nothing to gain.

    Example:
        >>> from discreet import ZCDP, Pure
        >>> from discreet.privacy.verification import Loss, is_tight
        >>> loss = Loss(laplace=0.5, laplace_squares=0.125, numbers=1)
        >>> is_tight(loss, Pure(1.0)), is_tight(loss, ZCDP(1.0))
        (True, False)
    """
    if isinstance(claimed, Pure) or loss == Loss():
        return True
    if loss.laplace == loss.response == 0.0 and loss.truncated == (0.0, 0.0):
        return not whole
    return loss.truncated[0] > 0.0 and loss.numbers == 1 and isinstance(claimed, Approximate)


def _approximate(
    loss: Loss, claimed: Approximate, pure: float, rho: float, whole: bool
) -> Approximate:
    """The best of the ways that are proved: as it is, on the Gaussian curve, through zCDP."""
    delta = loss.truncated[1]
    if loss.gaussian == 0.0 and delta > claimed.delta:
        return Approximate(pure, min(delta, math.nextafter(1.0, 0.0)))
    found = [math.inf]
    if loss.gaussian == 0.0 and math.isfinite(pure):
        found.append(Approximate(pure, delta).to_approximate(claimed.delta).epsilon)
    if claimed.delta > 0.0 and math.isfinite(rho):
        found.append(ZCDP(rho).to_approximate(claimed.delta).epsilon)
        if pure == 0.0 and not whole:
            mu = math.sqrt(2.0 * loss.gaussian)
            found.append(GaussianDP(mu).to_approximate(claimed.delta).epsilon)
        if pure == 0.0 and whole and len(loss.moves) == 1:
            found.append(_lattice_epsilon(*loss.moves[0], claimed))
    return Approximate(min(found), claimed.delta)


def _lattice_epsilon(move: float, scale: float, claimed: Approximate) -> float:
    """The ε at which discrete Gaussian noise keeps the claimed δ, by the proved bound."""
    delta = partial(lattice_delta, scale, round(move))
    low, high = 0.0, claimed.epsilon
    while delta(high) > claimed.delta:
        low, high = high, 2.0 * high + 1e-6
        if high > 1e6:
            return math.inf
    if high == claimed.epsilon and delta(high * 0.999) > claimed.delta:
        low = high * 0.999
    return least(lambda epsilon: delta(epsilon) <= claimed.delta, low, high, halvings=40)
