"""How strong a budget is, in words that do not need differential privacy.

- An attacker who must tell two values of one participant's outcome apart, whatever else he knows,
  gains at most (e^ε-1+2δ)/(e^ε+1) (true minus false positive rate) over a blind guess.
- The odds that he gives to one of the two change by at most a factor e^ε (up to δ).

>>> round(strength(1.0).advantage, 3), round(strength(1.0).odds, 2)
(0.462, 2.72)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from .._checks import positive
from ..privacy.budgets import Approximate, Pure

WORDS = ((0.1, "very strong"), (0.5, "strong"), (1.5, "moderate"), (4.0, "weak"))
"""The largest ε that each word is used for; beyond, "hardly any"."""
SUSPICION = 0.1
"""The example: an attacker who was this sure before."""


@dataclass(frozen=True)
class Strength:
    """What an (ε, δ) allows an attacker, as numbers and in a sentence; from `strength`.

    Example:
        >>> from discreet import theory
        >>> found = theory.strength(1.0)
        >>> found.word, round(found.advantage, 3), round(found.suspicion_after, 3)
        ('moderate', 0.462, 0.232)
    """

    epsilon: float
    delta: float
    word: str
    advantage: float
    right: float
    odds: float
    suspicion_after: float
    sentence: str

    def to_dict(self) -> dict[str, object]:
        """JSON-ready; an infinite factor is null."""
        return asdict(self) | {"odds": self.odds if math.isfinite(self.odds) else None}


def strength(epsilon: float, delta: float = 0.0) -> Strength:
    """The strength of an (ε, δ) budget.

    Args:
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.

    Returns:
        The strength, as numbers and in a sentence.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> theory.strength(1.0).word
        'moderate'
    """
    epsilon = positive("epsilon", epsilon)
    budget = Approximate(epsilon, delta) if delta else Pure(epsilon)
    advantage = budget.attacker_advantage()
    odds = math.exp(epsilon) if epsilon < 700.0 else math.inf
    word = next((word for most, word in WORDS if epsilon <= most), "hardly any")
    right = 0.5 * (1.0 + advantage)
    prior = SUSPICION / (1.0 - SUSPICION)
    after = 1.0 / (1.0 + 1.0 / (prior * odds))  # posterior odds are at most e^ε times prior odds
    leak = f", except with probability {delta:.3g}" if delta else ""
    sentence = (
        f"ε = {epsilon:g} ({word}): a guess between two outcomes is right at most "
        f"{100.0 * right:.1f} % of the time, not 50 %; odds change by a factor of at most "
        f"{odds:.3g}{leak}."
    )
    return Strength(epsilon, float(delta), word, advantage, right, odds, after, sentence)
