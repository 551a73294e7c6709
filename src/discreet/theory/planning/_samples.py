"""Predicted sample size of every identifier for every ε, beside the lower bound T*(ε) log(1/(3δ)).

The runs are shared among random orders of the arms. An identification ends when its evidence is
enough; one that has not ended after `MOST` samples is cut off, and its mean is then a least value.
"""

from __future__ import annotations

import math

from ..._progress import Bar
from ...arms import Bernoulli
from ...identify import IDENTIFIERS, identifier, identify
from ...privacy._guarantees import Definition
from ...simulator._results import Result
from .._identification import identification_samples
from ._plan import Found, Prediction
from ._progress import Steps
from ._question import Question
from ._race import Interrupted
from ._regret import described

OPEN = "evidence-tt"
DOMINATED = dict.fromkeys(("chernoff-tt", "dp-tt"), "evidence-tt needs fewer samples")
MOST = 20_000_000
"""Samples after which a run is cut off."""
ORDERS = 10
"""Random orders of the arms."""
RUNS, SLOW_RUNS = 100, 20
"""Runs at one ε of rows that release in batches, and of those that decide each round."""


def predict_samples(asked: Question, threads: int | None, progress: bool | None) -> Found:
    """Run every identifier that can be used at every ε, the one asked for first."""
    serving, refused = _serving(asked)
    found: list[Prediction] = []
    opened, complete = None, True
    order = sorted(asked.epsilons, key=lambda e: (e != asked.epsilon, e))
    with Steps(len(order) * len(serving) + 1, "identifying", progress) as steps:
        try:
            bar = Bar(above=steps)
            opened = _predicted(asked, OPEN, None, threads, bar)
            for epsilon in order:
                own = []
                for name in serving:
                    own.append(_predicted(asked, name, epsilon, threads, bar))
                    steps.advance()
                found += sorted(own, key=lambda p: (p.until is not None, p.mean))
        except Interrupted:
            complete = False
    found.sort(key=lambda p: p.epsilon)
    return Found(tuple(serving), refused, tuple(found), opened, complete)


def _serving(asked: Question) -> tuple[list[str], dict[str, str]]:
    serving, refused = [], {}
    for name, row in IDENTIFIERS.items():
        if not row.private:
            refused[name] = "not private"
            continue
        if name in DOMINATED or "participants" in row.options:
            refused[name] = DOMINATED.get(name, "has a fixed size, and promises no risk")
            continue
        local = row.asked(epsilon=asked.epsilon).guarantee.definition is Definition.LOCAL
        if asked.trust == "none" and not local:
            refused[name] = "needs a server that sees true outcomes"
        else:
            serving.append(name)
    return serving, refused


def _predicted(
    asked: Question, name: str, epsilon: float | None, threads: int | None, bar: Bar
) -> Prediction:
    import numpy as np

    row = identifier(name, epsilon=epsilon)
    runs = SLOW_RUNS if row.schedule.each_round else RUNS
    results = []
    arranged = orders(asked)
    for place, means in enumerate(arranged):
        result = identify(
            row, Bernoulli(means), risk=asked.risk, runs=math.ceil(runs / len(arranged)),
            seed=asked.seed * 1_000_003 + place, threads=threads, max_samples=MOST, progress=bar,
        )  # fmt: skip
        if not result.complete:
            raise Interrupted
        results.append(result)
    times = np.concatenate([result.stopping_time for result in results])
    mean, low, high, usual = described(times)
    e = math.inf if epsilon is None else epsilon
    wrong = math.fsum(result.wrong for result in results) / len(times)
    return Prediction(
        e, name, {}, name, mean, low, high, usual, len(times), _cut(results),
        _bound(asked, e), wrong,
    )  # fmt: skip


def orders(asked: Question) -> list[tuple[float, ...]]:
    """Every scenario with its arms in random orders, the same for all rows."""
    import numpy as np

    rng = np.random.default_rng(np.random.SeedSequence(asked.seed, spawn_key=(2**20 + 1,)))
    each = math.ceil(ORDERS / len(asked.scenarios))
    return [
        tuple(means[arm] for arm in rng.permutation(len(means)))
        for means in asked.scenarios
        for _ in range(each)
    ]


def _cut(results: list[Result]) -> int | None:
    """Where runs were cut off, if any was."""
    return MOST if any(result.unfinished for result in results) else None


def _bound(asked: Question, epsilon: float) -> float:
    """The average over scenarios; with δ > 0 only the bound without privacy is proved."""
    e = math.inf if asked.delta else epsilon
    values = [identification_samples(means, asked.risk, e) for means in asked.scenarios]
    return math.fsum(values) / len(values)
