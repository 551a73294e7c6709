"""What an audit found: a lower bound on the budget, and the event that proves it.

Every attack of the package answers with an `Audit`: what is claimed, what was proved, with which
confidence, by what, from how many runs, and the verdict.

A bound above the claim is a violation, with the stated confidence. A bound below the claim proves
nothing about the claim: it is "no violation found with N transcripts".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .._notebooks import card
from ..privacy._guarantees import Guarantee
from ._limits import claimed_epsilon, delta_of

VIOLATION = "violation"
PASS = "A pass is no proof: another input or another event may reveal more."


@dataclass(frozen=True)
class Proof:
    """An event, and what the counts prove of its probability on the two inputs.

    With the audit's confidence it has at least probability `p` on one input (side `likelier`) and
    at most `q` on the other. `hits` of `of` tested transcripts were counted on sides 0 and 1.
    """

    event: str
    likelier: int
    p: float
    q: float
    hits: tuple[int, int]
    of: int

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "event": self.event,
            "likelier on": ("the first input", "the second input")[self.likelier],
            "p_at_least": self.p,
            "q_at_most": self.q,
            "hits": list(self.hits),
            "of": self.of,
        }

    def __str__(self) -> str:
        side = ("first", "second")[self.likelier]
        return (
            f"{self.event}: probability at least {self.p:.4g} on the {side} input, "
            f"at most {self.q:.4g} on the other"
        )


@dataclass(frozen=True)
class Audit:
    """The result of an audit: the one type for all attacks, on transcripts or on membership.

    `Audit.of` fills in what follows from the claim and the bound.
    """

    policy: str
    """what was attacked, by name"""
    claimed: Guarantee
    claimed_epsilon: float
    """what the claim says at `delta`"""
    epsilon_lower: float
    """what was proved at `delta`, with `confidence`"""
    delta: float
    confidence: float
    transcripts: int
    """all runs, on both sides: to search, to learn, and to test"""
    tested: int
    """those that the bound rests on"""
    inputs: str
    """the neighbouring inputs, or the game, in words"""
    proof: Proof | None
    """by what it was proved"""
    is_violation: bool
    parameter: tuple[str, float, float]
    """the number that the claim is stated by: its name, the claim, and the bound"""
    curve: dict[float, float] = field(default_factory=dict)
    """bounds on ε by δ, all at once with the same confidence"""
    seconds: float = 0.0
    seed: int = 0
    complete: bool = True
    """False if Ctrl-C ended it early"""
    runs: str = "transcripts"
    """what is counted: transcripts, games, …"""

    @classmethod
    def of(
        cls, policy: str, claimed: Guarantee, epsilon_lower: float, *, confidence: float,
        runs: int, by: Proof | None = None, inputs: str = "", tested: int | None = None,
        delta: float | None = None, parameter: tuple[str, float, float] | None = None,
        counted: str = "transcripts", seed: int = 0, seconds: float = 0.0,
        curve: dict[float, float] | None = None,
    ) -> Audit:  # fmt: skip
        """An audit from its bound: a violation where the bound exceeds the claim.

        `delta` is that of the claim, or 0 for a pure one, unless given; `parameter` is (name,
        claimed, bound) of what else the claim is stated by, such as μ.
        """
        at = delta_of(claimed.budget, delta)
        promised = claimed_epsilon(claimed.budget, at)
        own = ("epsilon", promised, epsilon_lower) if parameter is None else parameter
        return cls(
            policy=policy, claimed=claimed, claimed_epsilon=promised, epsilon_lower=epsilon_lower,
            delta=at, confidence=confidence, transcripts=runs,
            tested=runs if tested is None else tested, inputs=inputs, proof=by,
            is_violation=epsilon_lower > promised or own[2] > own[1], parameter=own, seed=seed,
            seconds=seconds, runs=counted, curve=curve or {},
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """ "violation", or what a pass is worth."""
        if self.is_violation:
            return VIOLATION
        if not self.claimed.is_private:
            return "nothing was claimed"
        return f"no violation found with {self.transcripts:,} {self.runs}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        at = f" at δ = {self.delta:g}" if self.delta else ""
        entries: dict[str, object] = {
            "claimed": self.claimed.short() if self.claimed.is_private else None,
            "proved": f"ε >= {self.epsilon_lower:.4g}{at}{_beside(self.claimed_epsilon)}",
            "confidence": f"{self.confidence:g}",
            "inputs": self.inputs,
            "event": None if self.proof is None else str(self.proof),
            "tested": f"{self.tested:,} of {self.transcripts:,} {self.runs}",
            "a pass": PASS if not self.is_violation and self.claimed.is_private else None,
        }
        return card(f"{self.policy}: {self.verdict}", entries)

    def to_dict(self) -> dict[str, object]:
        """What `discreet audit --json` prints."""
        name, claimed, lower = self.parameter
        return {
            "policy": self.policy,
            "claimed": None
            if not self.claimed.is_private
            else {
                **self.claimed.to_dict(),
                "sentence": str(self.claimed),
                "epsilon_at_delta": self.claimed_epsilon,
            },
            "epsilon_lower": self.epsilon_lower,
            "confidence": self.confidence,
            "delta": self.delta,
            "transcripts": self.transcripts,
            "tested": self.tested,
            "inputs": self.inputs,
            "event": None
            if self.proof is None
            else {
                **self.proof.to_dict(),
                "parameter": {
                    "name": name,
                    "claimed": None if math.isinf(claimed) else claimed,
                    "lower": lower,
                },
            },
            "verdict": self.verdict,
        }

    def __str__(self) -> str:
        name, claimed, lower = self.parameter
        at = f" at δ = {self.delta:g}" if self.delta else ""
        lines = [
            f"{self.policy}: {self.verdict}",
            *([f"claimed  {self.claimed.short()}"] if self.claimed.is_private else []),
            f"proved   ε >= {self.epsilon_lower:.4g}{at}, confidence {self.confidence:g}"
            + _beside(self.claimed_epsilon),
        ]
        if name != "epsilon":
            lines.append(f"         {name} >= {lower:.4g}{_beside(claimed)}")
        lines.append(f"inputs   {self.inputs}")
        if self.proof is not None:
            lines.append(f"event    {self.proof}")
        if not self.is_violation and self.claimed.is_private:
            lines.append(PASS)
        return "\n".join(lines)


def _beside(claimed: float) -> str:
    return "" if math.isinf(claimed) else f" (claimed: at most {claimed:.4g})"
