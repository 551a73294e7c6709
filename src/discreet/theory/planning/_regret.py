"""Predicted regret of every candidate for every ε, beside the lower bound and an open policy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..._progress import Bar
from ...policies import policy
from .._summary import best_lower
from ._candidates import Candidate
from ._plan import Found, Prediction, is_safe, serving_and_refused
from ._progress import Steps
from ._question import Question
from ._race import CAP, FEW, MANY, ROUNDS, STAGES, Interrupted, Race, Runs, finalists, regrets

if TYPE_CHECKING:
    from ..._types import Floats

OPEN = "imed"
"""The policy without privacy that regrets least on Bernoulli arms."""


def predict_regret(
    asked: Question, threads: int | None, progress: bool | None, all_policies: bool = False
) -> Found:
    """Race the candidates at every ε, the one asked for first."""
    entrants, serving, refused = serving_and_refused(asked, all_policies)
    found: list[Prediction] = []
    opened, complete = None, True
    order = sorted(asked.epsilons, key=lambda e: (e != asked.epsilon, e))
    with Steps(3 * len(order) + 1, "simulating", progress) as steps:
        try:
            for place, epsilon in enumerate(order if entrants else ()):
                stages = STAGES if place == 0 else STAGES[:2]
                raced = Race(asked, epsilon, threads, steps).run(entrants, stages)
                found += binding([predicted(asked, runs) for runs in raced], asked)
                if place == 0:
                    assert asked.horizon is not None
                    entrants = finalists(raced, asked.horizon)
            opened = _open(asked, threads, Bar(above=steps))
        except Interrupted:
            complete = False
    found.sort(key=lambda p: p.epsilon)  # stable: best first at every ε
    return Found(serving, refused, tuple(found), opened, complete)


def binding(own: list[Prediction], asked: Question) -> list[Prediction]:
    """The predictions at one ε, without the lower bound if a candidate stays below it: the bound is
    about T → ∞, and so short a trial is none of its business."""
    reached = min((p.mean for p in own if p.until == asked.horizon), default=math.inf)
    return [replace(p, bound=math.nan) if p.bound > reached else p for p in own]


def predicted(asked: Question, runs: Runs) -> Prediction:
    """Mean, its interval, the range of single trials, and the bound."""
    candidate = runs.candidate
    mean, low, high, usual = described(runs.pooled)
    safe = is_safe(asked, candidate, runs.median)
    options = {} if math.isinf(runs.epsilon) else candidate.settings(runs.epsilon, asked.delta)
    return Prediction(
        runs.epsilon, candidate.row, options, candidate.label, mean, low, high,
        usual, len(runs.pooled), runs.until, lower_bound(asked, runs.epsilon), safe=safe,
    )  # fmt: skip


def described(values: Floats) -> tuple[float, float, float, tuple[float, float]]:
    """Mean, its 95 % interval by Student's t, and the 5 % and 95 % quantiles."""
    import numpy as np
    from scipy.special import stdtrit

    n, mean = len(values), float(np.mean(values))
    half = math.inf
    if n > 1:
        half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))
    quantiles = np.quantile(values, [0.05, 0.95])
    return mean, max(0.0, mean - half), mean + half, (float(quantiles[0]), float(quantiles[1]))


def lower_bound(asked: Question, epsilon: float) -> float:
    """The average over scenarios of the best lower bound at the horizon; pure budgets only.

    NaN where it is above what equal allocation regrets: so short a trial is none of its business.
    """
    assert asked.horizon is not None
    local = asked.trust == "none"
    scale = math.log(asked.horizon) / len(asked.scenarios)
    # with δ > 0 only the bound without privacy is proved for one instance
    e = math.inf if asked.delta else epsilon
    value = scale * math.fsum(best_lower(means, e, local=local) for means in asked.scenarios)
    return value if value < asked.uniform * asked.horizon else math.nan


def _open(asked: Question, threads: int | None, bar: Bar) -> Prediction | None:
    """What the same trial would regret without privacy; None where that takes too long."""
    assert asked.horizon is not None
    if asked.horizon > CAP:
        return None
    runs = min(max(ROUNDS // asked.horizon, FEW), MANY)
    pooled = Runs(Candidate(OPEN), math.inf, asked.horizon)
    pooled.values += regrets(
        asked, policy(OPEN), asked.horizon, runs, len(STAGES) + 2, threads, bar
    )
    return predicted(asked, pooled)
