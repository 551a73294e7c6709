"""Linear and contextual bandits: actions are vectors, rewards linear in them.

>>> import discreet.linear as linear
>>> problem = linear.LinearProblem.random(arms=10, dimension=3, contexts="fixed", seed=1)
>>> row = linear.policy("adac-gope", rho=0.1)
>>> linear.simulate(row, problem, horizon=1e6, runs=2, seed=1).guarantee.short()
'ρ = 0.1 (interactive)'
"""

from .catalogue import CATALOGUE, LinearRow, policy
from .contexts import (
    Contexts,
    ContextSource,
    FixedActions,
    GaussianContexts,
    IIDContexts,
)
from .design import Design, NoDesign, optimal_design
from .policy import LinearPolicy
from .problem import BitRewards, GaussianRewards, LinearProblem, Rewards, SignRewards
from .runs import compare, simulate
from .trial import actg175

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
    "actg175",
    "compare",
    "optimal_design",
    "policy",
    "simulate",
]
