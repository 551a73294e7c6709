"""Audits of training: any framework's, by what its models say of canaries.

>>> import numpy as np, discreet
>>> def train(included, seed):  # released: a noisy sum of what was included
...     rng = np.random.default_rng(seed)
...     return np.sum(included, axis=0) + rng.normal(0.0, 1.0, 200)
>>> found = discreet.audit_training(
...     train, canaries=list(np.eye(200)), score=np.dot, claimed=discreet.GaussianDP(1.0),
...     delta=1e-5, seed=1,
... )
>>> found.is_violation
False

`train(included, seed)` trains on your own data and the canaries that it is given, and returns what
is released: a model, its parameters, predictions. `score(released, canary)` is a number that is
larger where the canary seems to have been included: its negative loss, say, or the inner product of
the parameters with its gradient.

- several canaries, `runs=1`: each is included with its own fair coin, the highest scores are
  guessed to have been included and the lowest not (Steinke, Nasr & Jagielski 2023). Canaries must
  not crowd each other out.
- one canary, several `runs`: half of them with it. Half of the runs of each side choose the
  threshold, the others are counted (Clopper & Pearson's limits).

Both bound add-or-remove privacy, with the stated confidence, whatever `train` and `score` do
inside, if every run draws its randomness anew. A bound above the claim refutes it; one below proves
nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._checks import check_seed, count
from ..audit._counts import Claim, check_confidence, settled_delta
from ..audit._one_run import one_run, one_run_gaussian
from ..audit._result import Audit
from ..errors import InvalidArgument
from ..privacy._guarantees import Guarantee
from ..privacy.budgets import GaussianDP
from ._result import Scores

NAME = "training"
LEAST_RUNS = 8
INPUTS = "training with and without the canary, all other data the same"

C = TypeVar("C")
M = TypeVar("M")


def audit_training(
    train: Callable[[list[C], int], M],
    *,
    canaries: Sequence[C],
    score: Callable[[M, C], float],
    delta: float = 0.0,
    runs: int = 1,
    guesses: int | None = None,
    confidence: float = 0.95,
    claimed: Claim = None,
    seed: int = 1,
) -> Audit:
    """A lower bound on what a training function reveals about canaries: a proved bound on ε(δ).

    Args:
        train: `train(included, seed)` trains with the canaries to include; the seed differs from
            run to run.
        canaries: The records whose membership is guessed.
        score: `score(released, canary)`, larger where the canary seems to have been included.
        delta: The δ at which ε is bounded.
        runs: Training runs. In one run many canaries are guessed; with more, one is enough.
        guesses: Canaries that are guessed in a single run, fixed in advance. Default: half of them.
        confidence: The probability that the bound holds.
        claimed: The budget to hold the bound against; a Gaussian one is held against its curve.
        seed: Random seed, for reproducible results.

    Returns:
        The audit: its bound, and whether the claim is violated.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import random
        >>> import discreet
        >>> def train(included, seed):
        ...     return sum(included) + random.Random(seed).gauss(0.0, 5.0)
        >>> found = discreet.audit_training(
        ...     train, canaries=[1.0], score=lambda total, canary: total, runs=200, seed=1)
        >>> found.is_violation
        False
    """
    known = list(canaries)
    runs = count("runs", runs, fix="use runs=1 with many canaries, or runs=1000 with one")
    asked = Question(settled_delta(delta, claimed), check_confidence(confidence), claimed)
    rng = np.random.default_rng(check_seed(seed))
    started = time.perf_counter()
    if runs == 1:
        found = _guessed(train, score, known, guesses, asked, rng)
    else:
        found = _counted(train, score, known, runs, asked, rng)
    return replace(found, policy=NAME, seed=int(seed), seconds=time.perf_counter() - started)


class Question(NamedTuple):
    """At which δ, how sure, and against which claim."""

    delta: float
    confidence: float
    claimed: Claim


def _guessed(
    train: Callable[[list[C], int], M], score: Callable[[M, C], float], canaries: list[C],
    guesses: int | None, asked: Question, rng: np.random.Generator,
) -> Audit:  # fmt: skip
    """One run with a coin a canary."""
    if len(canaries) < 2:
        raise InvalidArgument(
            "canaries", "be several for a single run", len(canaries),
            "use many canaries, or runs=1000 with one",
        )  # fmt: skip
    made = len(canaries) // 2 if guesses is None else guesses
    made = count("guesses", made, most=len(canaries), fix="leave guesses out")
    included = rng.random(len(canaries)) < 0.5
    model = train([c for c, sent in zip(canaries, included, strict=True) if sent], _seed(rng))
    scores = np.array([_number(score(model, canary)) for canary in canaries])
    order = np.argsort(scores, kind="stable")
    out = made // 2
    right = int((~included[order[:out]]).sum() + included[order[len(order) - (made - out) :]].sum())
    claim = asked.claimed
    budget = claim.budget if isinstance(claim, Guarantee) else claim
    bound = one_run_gaussian if isinstance(budget, GaussianDP) else one_run
    return bound(len(canaries), made, right, **asked._asdict())


def _counted(
    train: Callable[[list[C], int], M], score: Callable[[M, C], float], canaries: list[C],
    runs: int, asked: Question, rng: np.random.Generator,
) -> Audit:  # fmt: skip
    """One canary, in every other run."""
    if len(canaries) != 1:
        raise InvalidArgument(
            "canaries", "be one for several runs", len(canaries), "use canaries=[one], or runs=1"
        )
    if runs < LEAST_RUNS:
        raise InvalidArgument("runs", f"be 1, or at least {LEAST_RUNS}", runs, "use runs=1000")
    sides: tuple[list[float], list[float]] = ([], [])
    for run in range(runs):
        sent = run % 2 == 1
        model = train(list(canaries) if sent else [], _seed(rng))
        sides[sent].append(_number(score(model, canaries[0])))
    settings = {"mechanism": NAME}
    scores = Scores(np.array(sides[1]), np.array(sides[0]), name="score", settings=settings)
    return replace(scores.audit(**asked._asdict()), inputs=INPUTS, runs="training runs")


def _seed(rng: np.random.Generator) -> int:
    """One that any framework takes."""
    return int(rng.integers(2**31))


def _number(score: Any) -> float:
    """A score as a number: arrays of one entry are taken too, NaN is refused."""
    try:
        found = float(score)
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        raise InvalidArgument(
            "score", "return a number", type(score).__name__, "return float(-loss)"
        )
    return found
