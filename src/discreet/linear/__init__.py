"""Linear and contextual bandits: actions are vectors, rewards linear in them.

>>> import discreet.linear as linear
>>> problem = linear.LinearProblem.random(arms=10, dimension=3, contexts="fixed", seed=1)
>>> row = linear.policy("adac-gope", rho=0.1)
>>> linear.simulate(row, problem, horizon=1e6, runs=2, seed=1).guarantee.short()
'ρ = 0.1 (interactive)'

Names are loaded when they are first used, so that listing the rows is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .catalogue import CATALOGUE, LinearRow, policy
    from .contexts import (
        Contexts,
        ContextSource,
        FixedActions,
        GaussianContexts,
        IIDContexts,
    )
    from .design import Design, NoDesign, optimal_design
    from .live import Trial, blocks
    from .problem import BitRewards, GaussianRewards, LinearProblem, Rewards, SignRewards
    from .row import LinearPolicy
    from .runs import compare, simulate
    from .trial import actg175

_HOMES = {
    "catalogue": ("CATALOGUE", "LinearRow", "policy"),
    "contexts": ("ContextSource", "Contexts", "FixedActions", "GaussianContexts", "IIDContexts"),
    "design": ("Design", "NoDesign", "optimal_design"),
    "live": ("Trial", "blocks"),
    "problem": ("BitRewards", "GaussianRewards", "LinearProblem", "Rewards", "SignRewards"),
    "row": ("LinearPolicy",),
    "runs": ("compare", "simulate"),
    "trial": ("actg175",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discreet.linear' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
