"""What policies conclude that no design has planned: simulated, without late outcomes.

A policy that stops with an answer shows a difference where it stops. Any other plays to the end,
and shows one where the interval of the difference excludes 0: of the kind that a trial of it would
have, at level 1 - risk. Such intervals hold at all looks, so they say less than a test of one.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from ..arms import Bernoulli
from ..errors import InvalidArgument
from ..identify import Identifier, identify
from ..identify._runs import EqualBestArms
from ..inference import differences
from ..policies import Policy
from ..simulator import simulate


class Concluded(NamedTuple):
    """Shares of trials that show the first arm to be better, or worse; means of participants, and
    of those on a worse arm; trials behind the shares."""

    better: float
    worse: float
    participants: float
    on_worse: float
    runs: int


def concluded(
    policy: Policy, rates: tuple[float, float], participants: int, risk: float, runs: int,
    read: int, seed: int,
) -> Concluded:  # fmt: skip
    """How trials of a policy go at two rates."""
    environment = Bernoulli(list(rates))
    if isinstance(policy, Identifier):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EqualBestArms)  # the null is asked for
            found = identify(
                policy, environment, risk=risk, max_samples=participants, runs=runs, seed=seed,
                progress=False,
            )  # fmt: skip
        answers = found.recommendation[found.stopped]
        return Concluded(
            float((answers == 0).sum() / runs), float((answers == 1).sum() / runs),
            float(found.participants.mean()), float(found.worse.mean()), runs,
        )  # fmt: skip
    played = simulate(
        policy, environment, horizon=participants, runs=runs, seed=seed, points=2, progress=False
    )
    seen = min(read, runs)
    try:
        shown = [
            differences(played, 1.0 - risk, against=1, together=False, run=run)[0]
            for run in range(seen)
        ]
    except InvalidArgument as error:
        raise InvalidArgument(
            "designs", "have intervals for their means, or stop with an answer", policy.name,
            f"leave it out: {error.value}",
        ) from None  # fmt: skip
    return Concluded(
        sum(each.low > 0.0 for each in shown) / seen, sum(each.high < 0.0 for each in shown) / seen,
        float(participants), float(played.worse.mean()), seen,
    )  # fmt: skip
