"""Trials whose release is all that is attacked: see `timing_attack`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from live_cases import batch_trial
from timing_attack import begin_anew

from discreet._compiled import Function
from discreet.live import Trial
from discreet.policies import ForgetGaussian, ForgetLaplace, Policy, Release
from discreet.policies._rules import Rule
from discreet.policies._schedules import EachRound
from discreet.policies.releases import LocalBernoulli, LocalLaplace, Tree
from discreet.privacy import Approximate


def choose_first(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
    return 0


@dataclass(frozen=True)
class First(Rule):
    """Always the same arm: the release is what is attacked."""

    name: ClassVar[str] = "first"
    choose: ClassVar[Function] = staticmethod(choose_first)


RELEASES: dict[str, Any] = {
    "laplace": ForgetLaplace(1.0),
    "gaussian": ForgetGaussian(Approximate(1.0, 1e-6)),
    "tree": Tree(8.0),
    "local laplace": LocalLaplace(1.0),
    "local bits": LocalBernoulli(1.0),
}
CLAIMS = {name: 1.0 for name in RELEASES if name != "tree"}
"""Of one release; in a tree a unit is in several."""


def trial_of(name: str) -> Trial:
    return trial_with(RELEASES[name], horizon=20_000 if name == "tree" else None)


def trial_with(release: Release, horizon: int | None = None) -> Trial:
    row = Policy("attacked", EachRound(), release, First())
    trial = batch_trial(row, 2, horizon=horizon)
    for run in (trial._plan.run, trial._run):  # a record of thousands of releases takes its time
        run.recorded = run.history = None  # type: ignore[attr-defined]
    begin_anew(trial, trial._document(trial._run))
    return trial
