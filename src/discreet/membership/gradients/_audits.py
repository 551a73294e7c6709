"""Audits of DP-SGD: the accountant's claim, and beside it what attacks prove, by what, in how many
runs. A bound above the claim refutes it at the stated confidence; a bound below proves nothing.

- send or nothing: one coin per run decides whether the canary is sent at all; add-or-remove.
- game: the canary replaces a point; it bounds replace-one privacy, so the claim beside it is that.
- curve: the same game against the whole curve of the claim, not one (ε, δ) of it. Which multipliers
  do the counts rule out? The least private of them, as an ε(δ). For full batches the curve is
  Gaussian, μ >= Φ⁻¹(1-ᾱ) - Φ⁻¹(β̄) (Nasr et al. 2023); for Poisson ones it is the accountant's.
- one run: many orthogonal canaries, each sent with its own fair coin (Steinke et al. 2023;
  Mahloujifar et al. 2024 for the Gaussian curve).
- last iterate: only the last parameters are seen; beside it the heuristic for linear losses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..._checks import check_seed, count
from ...audit._counts import check_confidence, check_delta, from_errors
from ...audit._limits import claimed_epsilon
from ...audit._one_run import one_run, one_run_gaussian
from ...audit._result import Audit
from ...errors import InvalidArgument
from ...privacy._curves import gaussian_epsilon
from ...privacy.budgets import Budget
from ._accounting import REPLACE, last_iterate_epsilon, least_epsilon, most_power
from ._dpsgd import DPSGD, GradientCanaries, PointCanary
from .models._base import clipped

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Array
    from .._result import Scores

METHODS = ("send-or-nothing", "curve", "last-iterate", "game", "one-run", "one-run-gaussian")
CHUNK = 256
"""Runs that are trained at a time."""
WIDEST = 8.0
"""How far from the claimed multiplier, either way, the least one ruled out is searched for."""
BISECTIONS = 4
ADD_WORDS = "training with and without the canary, all other points known"
REPLACE_WORDS = "training with the canary in place of a known point, all other points known"


@dataclass(frozen=True)
class Line:
    """One line of the table: what is claimed, what was proved, by what, in how many runs.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, SoftmaxRegression, audit_dpsgd
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(8, 2), rng.random((20, 8)), np.arange(20) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng), noise=4.0, steps=4)
        >>> line = audit_dpsgd(mechanism, runs=50, canaries=10).lines[0]
        >>> line.proved <= line.claimed, line.is_violation
        (True, False)
    """

    by: str
    audit: Audit
    runs: int
    claimed: float
    proved: float
    note: str = ""
    assumes: bool = False
    """the bound rests on an assumption that the claim does not make: never a violation"""

    @property
    def is_violation(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.proved > self.claimed and not self.assumes

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "claimed": self.claimed,
            "proved": self.proved,
            "by": self.by,
            "runs": self.runs,
            "confidence": self.audit.confidence,
            "delta": self.audit.delta,
            "violation": self.is_violation,
            "note": self.note,
        }


@dataclass(frozen=True)
class AuditTable:
    """The lines of an audit of DP-SGD; from `audit_dpsgd`.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, SoftmaxRegression, audit_dpsgd
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(8, 2), rng.random((20, 8)), np.arange(20) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng), noise=4.0, steps=4)
        >>> found = audit_dpsgd(mechanism, runs=50, canaries=10)
        >>> len(found.lines) > 0, found.delta
        (True, 1e-05)
    """

    lines: tuple[Line, ...]
    delta: float
    confidence: float
    seed: int
    seconds: float

    @property
    def is_violation(self) -> bool:
        """Whether any line refutes the claim."""
        return any(line.is_violation for line in self.lines)

    def __getitem__(self, by: str) -> Line:
        for line in self.lines:
            if line.by == by:
                return line
        raise KeyError(by)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "delta": self.delta,
            "confidence": self.confidence,
            "seed": self.seed,
            "seconds": self.seconds,
            "violation": self.is_violation,
            "lines": [line.to_dict() for line in self.lines],
        }

    def __str__(self) -> str:
        head = ("claimed ε", "proved ε", "by", "runs", "")
        rows = [
            (f"{line.claimed:.3f}", f"{line.proved:.3f}", line.by, f"{line.runs:,}",
             "violation" if line.is_violation else line.note)
            for line in self.lines
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(4)]
        lines = [
            "  ".join(
                cell.rjust(widths[i]) if i in (0, 1, 3) else cell.ljust(widths[i])
                for i, cell in enumerate(row[:4])
            )
            + (f"  {row[4]}" if row[4] else "")
            for row in (head, *rows)
        ]
        return "\n".join(
            [*lines, f"at δ = {self.delta:g}, each with confidence {self.confidence:g}"]
        )


def audit_dpsgd(
    mechanism: DPSGD,
    *,
    canary: Array | None = None,
    point: tuple[Array, int] | None = None,
    methods: Sequence[str] = METHODS,
    runs: int = 500,
    canaries: int = 200,
    guesses: int | None = None,
    delta: float = 1e-5,
    confidence: float = 0.95,
    claimed: DPSGD | None = None,
    seed: int = 1,
) -> AuditTable:
    """Attack DP-SGD in several ways, to see whether it keeps its claim.

    Every line of the table has the stated confidence on its own.

    Args:
        mechanism: The mechanism that is run.
        canary: A gradient that is sent as it is. Default: the Dirac that the data touch least.
        point: A point that replaces the first. Default: a blank image labelled 0.
        methods: The attacks.
        runs: Runs a side of each game.
        canaries: Canaries of the audit in one run.
        guesses: How many of them are guessed. Default: half.
        delta: The δ at which ε is compared.
        confidence: The confidence of each line.
        claimed: The mechanism whose claim is audited, if the code is suspected to run another.
        seed: Random seed.

    Returns:
        The table; `is_violation` says whether any line refutes the claim.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, SoftmaxRegression, audit_dpsgd
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(8, 2), rng.random((20, 8)), np.arange(20) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng), noise=4.0, steps=4)
        >>> audit_dpsgd(mechanism, runs=50, canaries=10).is_violation
        False
    """
    from .._result import Scores

    delta, confidence = check_delta(delta), check_confidence(confidence)
    guesses = canaries // 2 if guesses is None else guesses
    _check(methods, runs, canaries, guesses, mechanism)
    promise = mechanism if claimed is None else claimed
    started = time.perf_counter()
    streams = dict(
        zip(METHODS, np.random.default_rng(check_seed(seed)).spawn(len(METHODS)), strict=True)
    )
    add = promise.claim(delta)
    quiet = np.zeros((max(canaries, 1), mechanism.model.size))
    diracs = quiet_coordinates(mechanism)[: len(quiet)]
    quiet[np.arange(len(diracs)), diracs] = mechanism.clip
    lines: list[Line] = []

    def line(
        by: str, audit: Audit, played: int, budget: Budget, note: str = "", assumes: bool = False
    ) -> None:
        at = claimed_epsilon(budget, delta)
        lines.append(Line(by, audit, played, at, audit.epsilon_lower, note, assumes))

    if {"send-or-nothing", "curve", "last-iterate"} & set(methods):
        gradient = quiet[:1] if canary is None else np.atleast_2d(canary)
        games = play(mechanism, GradientCanaries(gradient), runs, streams["send-or-nothing"])
        seen, last = (
            Scores(*sides, name=name, threshold=0.0, seed=seed, settings={"mechanism": "DP-SGD"})
            for name, sides in (("trace score", games[0]), ("last-iterate score", games[1]))
        )
        if "send-or-nothing" in methods:
            found = _audited(seen, delta, confidence, add, ADD_WORDS)
            line("send or nothing", found, 2 * runs, add)
        if "curve" in methods:
            found = curve_audit(seen, promise, delta, confidence)
            curve = "Gaussian" if promise.sampling == 1.0 else "accountant's curve"
            line(f"send or nothing, {curve}", found, 2 * runs, add)
        if "last-iterate" in methods:
            found = _audited(last, delta, confidence, add, ADD_WORDS)
            heuristic = last_iterate_epsilon(promise.noise, promise.steps, promise.sampling, delta)
            line("last iterate", found, 2 * runs, add, f"heuristic bound: {heuristic:.3f}")
    if "game" in methods:
        x, y = (np.zeros_like(mechanism.x[0]), 0) if point is None else point
        others = replace(mechanism, x=mechanism.x[1:], y=mechanism.y[1:])
        target = PointCanary(x, y, (mechanism.x[0], int(mechanism.y[0])))
        sides = play(others, target, runs, streams["game"])[0]
        scores = Scores(*sides, name="score", seed=seed, settings={"mechanism": "DP-SGD"})
        exchange = promise.claim(delta, REPLACE)
        found = _audited(scores, delta, confidence, exchange, REPLACE_WORDS)
        line("game (replace)", found, 2 * runs, exchange)
    if {"one-run", "one-run-gaussian"} & set(methods):
        right = guess(mechanism, quiet[:canaries], guesses, streams["one-run"])
        if "one-run" in methods:
            found = one_run(
                canaries, guesses, right, delta=delta, confidence=confidence, claimed=add
            )
            line("one run", found, 1, add, f"{right} of {guesses} guesses right")
        if "one-run-gaussian" in methods:
            found = one_run_gaussian(
                canaries, guesses, right, delta=delta, confidence=confidence, claimed=add
            )
            assumes = promise.sampling < 1.0
            note = "assumes a Gaussian curve" if assumes else ""
            line("one run, Gaussian", found, 1, add, note, assumes)
    seconds = time.perf_counter() - started
    return AuditTable(tuple(lines), delta, confidence, seed, seconds)


def play(
    mechanism: DPSGD, canary: GradientCanaries | PointCanary, runs: int, rng: Generator
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Scores of members and non-members, `runs` each: of the trace, and of the last iterate."""
    sent = np.arange(2 * runs)[:, None] % 2 == 1
    found = [mechanism.run(canary, sent[at : at + CHUNK], rng) for at in range(0, 2 * runs, CHUNK)]
    trace, last = (np.concatenate([part[i][:, 0] for part in found]) for i in (0, 1))
    return (trace[1::2], trace[::2]), (last[1::2], last[::2])


def guess(mechanism: DPSGD, canaries: Array, guesses: int, rng: Generator) -> int:
    """One run: each canary is sent with a fair coin; the highest scores are guessed to have been
    sent, the lowest not, as many of each; how many guesses are right."""
    sent = rng.random(len(canaries)) < 0.5
    scores = mechanism.run(GradientCanaries(canaries), sent[None], rng).trace[0]
    order = np.argsort(scores, kind="stable")
    out = guesses // 2
    return int((~sent[order[:out]]).sum() + sent[order[len(order) - (guesses - out) :]].sum())


def quiet_coordinates(mechanism: DPSGD) -> Array:
    """Coordinates by how little the points' clipped gradients move them at the start."""
    each = np.asarray(mechanism.model.gradients(mechanism.start, mechanism.x, mechanism.y), float)
    each = clipped(each, mechanism.clip)
    return np.argsort(np.einsum("ij,ij->j", each, each), kind="stable")


def curve_audit(scores: Scores, claimed: DPSGD, delta: float, confidence: float) -> Audit:
    """The game against the claim's whole curve: accuse where the likelihood ratio is above 1.

    That threshold is fixed before any run, so all runs count. A multiplier is ruled out if its
    curve does not allow the power and level at their limits; curves shrink as the multiplier grows,
    so the least multiplier ruled out gives the largest ε(δ).

    Args:
        scores: The scores of a game against the mechanism.
        claimed: The mechanism whose claim is audited.
        delta: The δ at which ε is given.
        confidence: The confidence of the limits.

    Returns:
        The audit.

    Args:
        scores: The scores of a game against the mechanism.
        claimed: The mechanism whose claim is audited.
        delta: The δ at which ε is given.
        confidence: The confidence of the limits.

    Returns:
        The audit.

    Example:
        >>> import numpy as np
        >>> from discreet.membership import Scores
        >>> from discreet.membership.gradients import DPSGD, SoftmaxRegression, curve_audit
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((8, 3)), np.arange(8) % 2
        >>> claimed = DPSGD(model, x, y, model.start(rng), noise=4.0, steps=4)
        >>> scores = Scores(rng.normal(3.0, 1.0, 500), rng.normal(-3.0, 1.0, 500))  # told apart
        >>> found = curve_audit(scores, claimed, delta=1e-5, confidence=0.95)
        >>> found.epsilon_lower > 1.0
        True
    """
    alarms = int((scores.nonmembers > 0.0).sum())
    misses = int((scores.members <= 0.0).sum())
    members, nonmembers = scores.rounds
    found = from_errors(
        (alarms, misses), (nonmembers, members), delta=delta, confidence=confidence,
        claimed=claimed.claim(delta), event="log-likelihood ratio > 0", name="DP-SGD",
        inputs=f"{ADD_WORDS}; ε on the curve of DP-SGD", seed=scores.seed,
    )  # fmt: skip
    assert found.proof is not None
    power, level = found.proof.p, found.proof.q
    if claimed.sampling == 1.0:
        mu = found.parameter[2]
        epsilon = gaussian_epsilon(mu, delta) if mu > 0.0 and delta > 0.0 else 0.0
    else:
        epsilon = _ruled_out(power, level, claimed, delta)
    return replace(found, epsilon_lower=epsilon, is_violation=epsilon > found.claimed_epsilon)


def _ruled_out(power: float, level: float, claimed: DPSGD, delta: float) -> float:
    """ε(δ) of the least multiplier whose curve does not allow these limits; 0 if all do."""

    def excluded(noise: float) -> bool:
        allowed = most_power(level, noise, claimed.steps, claimed.sampling)
        return power > allowed

    # from the claim outwards: distributions of small multipliers are wide, and slow
    low = high = claimed.noise
    while excluded(low) and low > claimed.noise / WIDEST:
        low, high = low / 2.0, low
    while not excluded(high):
        if high > claimed.noise * WIDEST:
            return 0.0
        low, high = high, high * 2.0
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        if excluded(middle):
            high = middle
        else:
            low = middle
    return least_epsilon(high, claimed.steps, claimed.sampling, delta)


def _audited(
    scores: Scores, delta: float, confidence: float, claimed: Budget, inputs: str
) -> Audit:
    return replace(scores.audit(delta=delta, confidence=confidence, claimed=claimed), inputs=inputs)


def _check(
    methods: Sequence[str], runs: int, canaries: int, guesses: int, mechanism: DPSGD
) -> None:
    for method in methods:
        if method not in METHODS:
            known = ", ".join(METHODS)
            raise InvalidArgument("methods", f"be among {known}", method, "leave it out for all")
    if not methods:
        raise InvalidArgument("methods", "name at least one", methods, "leave it out for all")
    count("runs", runs, least=4, fix="use runs=500")
    one_run_wanted = any(method.startswith("one-run") for method in methods)
    if one_run_wanted and not 1 <= guesses <= canaries <= mechanism.model.size:
        raise InvalidArgument(
            "canaries", f"be at most the {mechanism.model.size} parameters, and guesses fewer",
            (canaries, guesses), "use fewer canaries",
        )  # fmt: skip
    if len(mechanism.x) < 2:
        raise InvalidArgument("x", "hold at least two points", len(mechanism.x), "use more points")
