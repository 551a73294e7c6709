"""Simulated regret of all candidates at one ε, with most runs for those that may be the best.

Rows that release in batches cost about 0.1 ms a run whatever the horizon, so all of them are run;
those that could still be best after a stage get the runs of the next. Rows that decide each round
are first run over a short stretch: regret only grows, so one that is already worse there than the
best is at the end is out. Every run has a random order of the arms: a row that never leaves the
first one it tries must not win because the best is listed first. Every stage has its own seeds, the
same for all candidates. All of this
is done at the ε that was asked for; at the others only the finalists run: candidates within a
factor of the best, and never fewer than two rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..._progress import Bar
from ...policies import Policy
from ._candidates import Candidate
from ._plan import is_safe
from ._progress import Steps
from ._question import Question

if TYPE_CHECKING:
    from ..._types import Floats

STAGES = (100, 400, 1200)
"""Runs that every stage adds for candidates that release in batches."""
KEPT = (4, 2)
"""How many candidates may enter the second and the third stage, beside the best of another row."""
DOUBT = 3.0
"""Standard errors by which a candidate must be behind to leave."""
WITHIN = 5.0
"""Finalists have at most this multiple of the best regret."""
STRETCH = 10_000
"""Rounds of the first look at a row that decides each round."""
LOOKS, GLANCES, GLANCED = 3, 20, 60_000
"""Runs of that look: the least, the most, and the rounds that they may take together."""
ROUNDS = 4_000_000
"""Rounds at one ε that rows which decide each round may take together, after the looks."""
FEW, MANY = 6, 400
"""The least and the most runs that a later look at such a row adds."""
CAP = 1_000_000
"""Such a row is not followed beyond this many rounds while others are at hand."""


class Interrupted(Exception):
    """Ctrl-C: what is finished is kept."""


@dataclass(eq=False)
class Runs:
    """The regret of one candidate at one ε, pooled over stages and scenarios.

    `until` is the round up to which it was followed: before the horizon, the mean is a least value.
    """

    candidate: Candidate
    epsilon: float
    until: int
    values: list[Floats] = field(default_factory=list)

    @property
    def pooled(self) -> Floats:
        """All values."""
        import numpy as np

        return np.concatenate(self.values)

    @property
    def mean(self) -> float:
        """Mean regret; infinite before any run."""
        return float(self.pooled.mean()) if self.values else math.inf

    @property
    def median(self) -> float:
        """Median regret; infinite before any run."""
        import numpy as np

        return float(np.median(self.pooled)) if self.values else math.inf

    @property
    def error(self) -> float:
        """Its standard error."""
        values = self.pooled
        return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


class Race:
    """All candidates at one ε."""

    def __init__(self, asked: Question, epsilon: float, threads: int | None, steps: Steps) -> None:
        assert asked.horizon is not None
        self.asked, self.epsilon, self.threads, self.steps = asked, epsilon, threads, steps
        self.horizon: int = asked.horizon

    def run(self, entrants: Sequence[Candidate], stages: Sequence[int] = STAGES) -> list[Runs]:
        """Regret of every candidate, best first; rows not followed to the end come last."""
        batched = [self._start(entrant) for entrant in entrants if not entrant.each_round]
        slow = [self._start(entrant) for entrant in entrants if entrant.each_round]
        contenders = batched
        for stage, runs in enumerate(stages):
            if stage:
                contenders = selected(contenders, KEPT[stage - 1])
            for entry in contenders:
                self._more(entry, runs, stage, self.horizon)
            self.steps.advance()
        best = min((entry.mean for entry in batched), default=math.inf)
        self._each_round(slow, best)
        self._confirm(batched + slow, sum(stages))
        self._confirm([entry for entry in batched + slow if self.safe(entry)], sum(stages))
        self.steps.advance()
        return sorted(batched + slow, key=lambda r: (r.until < self.horizon, r.mean))

    def safe(self, entry: Runs) -> bool:
        """Whether a candidate may be recommended."""
        return is_safe(self.asked, entry.candidate, entry.median)

    def _confirm(self, entries: list[Runs], runs: int) -> None:
        """Few runs may all have met a kind order of the arms: the leader is run often enough.

        One that falls back leaves the lead to another, which is then run as often.
        """
        ended = [entry for entry in entries if entry.until == self.horizon]
        some = min(max(ROUNDS // self.horizon, 3 * FEW), MANY)
        for _ in ended:
            leader = min(ended, key=lambda entry: entry.mean)
            enough = some if leader.candidate.each_round else runs
            missing = enough - len(leader.pooled)
            if missing <= 0:
                return
            self._more(leader, missing, len(STAGES) + 3, self.horizon)

    def _each_round(self, slow: list[Runs], best: float) -> None:
        """First a look, then the whole way for those that may still win, then more runs."""
        if not slow:
            return
        stretch = min(self.horizon, STRETCH)
        looks = min(max(LOOKS, GLANCED // stretch), GLANCES)
        for entry in slow:
            self._more(entry, looks, len(STAGES), stretch)
        possible = [entry for entry in slow if entry.mean - DOUBT * entry.error <= best]
        if stretch < self.horizon:
            until = self.horizon if math.isinf(best) else min(self.horizon, CAP)
            for entry in possible:
                entry.values.clear()
                self._more(entry, LOOKS, len(STAGES), until)
        possible = [entry for entry in possible if entry.until == self.horizon]
        best = min([best, *(entry.mean for entry in possible)])
        for stage, wanted in enumerate((FEW, MANY), start=len(STAGES) + 1):
            possible = [entry for entry in possible if entry.mean - DOUBT * entry.error <= best]
            share = ROUNDS // (self.horizon * max(1, len(possible)))
            for entry in possible:
                self._more(entry, min(max(share, FEW), wanted), stage, self.horizon)
            best = min([best, *(entry.mean for entry in possible)])

    def _start(self, candidate: Candidate) -> Runs:
        return Runs(candidate, self.epsilon, self.horizon)

    def _more(self, entry: Runs, runs: int, stage: int, until: int) -> None:
        policy = entry.candidate.policy(self.epsilon, self.asked.delta)
        entry.until = until
        entry.values += regrets(
            self.asked, policy, until, runs, stage, self.threads, Bar(above=self.steps)
        )


def finalists(raced: Sequence[Runs], horizon: int) -> list[Candidate]:
    """The candidates that are worth running at another ε."""
    ended = [runs for runs in raced if runs.until == horizon] or list(raced)
    best = min(runs.mean for runs in ended)
    kept = [runs.candidate for runs in ended if runs.mean <= WITHIN * best]
    others = [runs for runs in raced if runs.candidate.row not in {c.row for c in kept}]
    if len({candidate.row for candidate in kept}) < 2 and others:
        kept.append(min(others, key=lambda runs: runs.mean).candidate)
    return kept


def still_possible(entries: Sequence[Runs]) -> list[Runs]:
    """Those whose mean is not clearly above the least, best first."""
    if not entries:
        return []
    leader = min(entries, key=lambda entry: entry.mean)
    ordered = sorted(entries, key=lambda entry: entry.mean)
    return [
        entry
        for entry in ordered
        if entry.mean - leader.mean <= DOUBT * math.hypot(entry.error, leader.error)
    ]


def selected(entries: Sequence[Runs], most: int) -> list[Runs]:
    """The possible ones, and the best of a second row: a heavy tail may not have shown itself."""
    kept = still_possible(entries)[:most]
    others = [entry for entry in entries if kept and entry.candidate.row != kept[0].candidate.row]
    if others:
        second = min(others, key=lambda entry: entry.mean)
        if second not in kept:
            kept.append(second)
    return kept


def regrets(
    asked: Question,
    policy: Policy,
    horizon: int,
    runs: int,
    stage: int,
    threads: int | None,
    bar: Bar,
) -> list[Floats]:
    """Final regret of the runs, shared evenly among the scenarios; every stage has its seed."""
    from ...arms import Bernoulli
    from ...simulator import simulate

    each = max(1, math.ceil(runs / len(asked.scenarios)))
    found = []
    for number, means in enumerate(asked.scenarios):
        seed = asked.seed * 1_000_003 + 101 * stage + number
        result = simulate(
            policy, Bernoulli(means), horizon=horizon, runs=each, seed=seed, threads=threads,
            points=2, shuffle=True, progress=bar,
        )  # fmt: skip
        if not result.complete:
            raise Interrupted
        found.append(result.final_regret)
    return found
