"""Adaptive experiments that keep their participants' secrets.

>>> import discreet
>>> row = discreet.policy("adap-klucb", epsilon=1.0)
>>> result = discreet.simulate(row, discreet.Bernoulli([0.7, 0.5]), horizon=1e5, runs=20, seed=1)
>>> result.guarantee.short()
'ε = 1 (interactive)'

Names are loaded when they are first used, so importing the package is cheap.
"""

from __future__ import annotations

from ._lazy import lazily
from ._version import __version__

TYPE_CHECKING = False  # type checkers take it for True; typing itself would be most of the import

if TYPE_CHECKING:
    from ._front import cite, policy, verify
    from .arms import (
        Bernoulli,
        Beta,
        Capped,
        Clipped,
        Delayed,
        Drifting,
        Environment,
        FunctionEnvironment,
        Gaussian,
        Mixed,
        RewardList,
        RewardTable,
        Sampler,
        Switching,
        TwoPoint,
        Uniform,
        actg175,
        environment,
    )
    from .confirm import operating, size
    from .errors import DiscreetError, InvalidArgument
    from .live import Assignment, Features, Ledger, Outcomes, Rehearsal, Strata, Trial
    from .logs import evaluate, logged, problem
    from .membership import audit_training
    from .policies import CATALOGUE, Policy
    from .privacy import (
        ZCDP,
        Approximate,
        Budget,
        Definition,
        GaussianDP,
        Guarantee,
        Pure,
        Renyi,
        compose,
        parallel,
    )
    from .simulator import Comparison, Result, compare, simulate, simulate_strata
    from .simulator._comparison import load
    from .sweeps import sweep
    from .theory import bounds, cost, plan, plan_trial

_HOMES = {
    "arms": (
        "Bernoulli", "Beta", "Capped", "Clipped", "Delayed", "Drifting", "Environment",
        "FunctionEnvironment", "Gaussian", "Mixed", "RewardList", "RewardTable", "Sampler",
        "Switching", "TwoPoint", "Uniform", "actg175", "environment",
    ),
    "confirm": ("operating", "size"),
    "errors": ("DiscreetError", "InvalidArgument"),
    "live": ("Assignment", "Features", "Ledger", "Outcomes", "Rehearsal", "Strata", "Trial"),
    "_front": ("cite", "policy", "verify"),
    "logs": ("evaluate", "logged", "problem"),
    "membership": ("audit_training",),
    "policies": ("CATALOGUE", "Policy"),
    "privacy": (
        "ZCDP", "Approximate", "Budget", "Definition", "GaussianDP", "Guarantee", "Pure", "Renyi",
        "compose", "parallel",
    ),
    "simulator": ("Comparison", "Result", "compare", "simulate", "simulate_strata"),
    "simulator._comparison": ("load",),
    "sweeps": ("sweep",),
    "theory": ("bounds", "cost", "plan", "plan_trial"),
}  # fmt: skip

__all__ = [
    "CATALOGUE",
    "ZCDP",
    "Approximate",
    "Assignment",
    "Bernoulli",
    "Beta",
    "Budget",
    "Capped",
    "Clipped",
    "Comparison",
    "Definition",
    "Delayed",
    "DiscreetError",
    "Drifting",
    "Environment",
    "Features",
    "FunctionEnvironment",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "InvalidArgument",
    "Ledger",
    "Mixed",
    "Outcomes",
    "Policy",
    "Pure",
    "Rehearsal",
    "Renyi",
    "Result",
    "RewardList",
    "RewardTable",
    "Sampler",
    "Strata",
    "Switching",
    "Trial",
    "TwoPoint",
    "Uniform",
    "__version__",
    "actg175",
    "audit_training",
    "bounds",
    "cite",
    "compare",
    "compose",
    "cost",
    "environment",
    "evaluate",
    "load",
    "logged",
    "operating",
    "parallel",
    "plan",
    "plan_trial",
    "policy",
    "problem",
    "simulate",
    "simulate_strata",
    "size",
    "sweep",
    "verify",
]


PACKAGES = (
    "arms", "audit", "client", "confirm", "errors", "identify", "inference", "linear", "live",
    "logs", "membership", "openfeature", "policies", "privacy", "references", "report", "serve",
    "simulator", "studies", "sweeps", "testing", "theory",
)  # fmt: skip
"""What stands behind the names above, for `discreet.identify.identify` and its like."""

__getattr__, __dir__ = lazily(__name__, _HOMES, "__version__", packages=PACKAGES)
