"""Linear and contextual bandits: actions are vectors, rewards linear in them.

>>> import discreet.linear as linear
>>> problem = linear.LinearProblem.random(arms=10, dimension=3, contexts="fixed", seed=1)
>>> row = linear.policy("adac-gope", rho=0.1)
>>> linear.simulate(row, problem, horizon=1e6, runs=2, seed=1).guarantee.short()
'ρ = 0.1 (interactive)'

Names are loaded when they are first used, so that listing the policies is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily

if TYPE_CHECKING:
    from ..live._contexts import blocks
    from ..live._trial import Trial
    from ._catalogue import CATALOGUE, LinearRow, policy
    from ._contexts import (
        Contexts,
        ContextSource,
        FixedActions,
        GaussianContexts,
        IIDContexts,
    )
    from ._design import Design, NoDesign, optimal_design
    from ._problem import BitRewards, GaussianRewards, LinearProblem, Rewards, SignRewards
    from ._rehearsal import Rehearsal
    from ._row import LinearPolicy
    from ._runs import compare, simulate
    from ._trial import actg175

_HOMES = {
    "_catalogue": ("CATALOGUE", "LinearRow", "policy"),
    "_contexts": ("ContextSource", "Contexts", "FixedActions", "GaussianContexts", "IIDContexts"),
    "_design": ("Design", "NoDesign", "optimal_design"),
    ".live._contexts": ("blocks",),
    ".live._trial": ("Trial",),
    "_problem": ("BitRewards", "GaussianRewards", "LinearProblem", "Rewards", "SignRewards"),
    "_rehearsal": ("Rehearsal",),
    "_row": ("LinearPolicy",),
    "_runs": ("compare", "simulate"),
    "_trial": ("actg175",),
}

__all__ = [
    "CATALOGUE",
    "BitRewards",
    "ContextSource",
    "Contexts",
    "Design",
    "FixedActions",
    "GaussianContexts",
    "GaussianRewards",
    "IIDContexts",
    "LinearPolicy",
    "LinearProblem",
    "LinearRow",
    "NoDesign",
    "Rehearsal",
    "Rewards",
    "SignRewards",
    "Trial",
    "actg175",
    "blocks",
    "compare",
    "optimal_design",
    "policy",
    "simulate",
]


__getattr__, __dir__ = lazily(__name__, _HOMES)
