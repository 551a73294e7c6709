"""Privacy: budgets, guarantees, mechanisms, counters, and noise for simulation and for real."""

from ._guarantees import Definition, Guarantee, guarantee_from_dict
from ._mechanisms import Gaussian, Laplace, Mechanism, RandomisedResponse, TruncatedLaplace
from ._moments import JointSums
from ._shares import SecureBatch
from .budgets import (
    ZCDP,
    Approximate,
    Budget,
    GaussianDP,
    Pure,
    Renyi,
    budget_from,
    budget_from_dict,
    compose,
    parallel,
)

__all__ = [
    "ZCDP",
    "Approximate",
    "Budget",
    "Definition",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "JointSums",
    "Laplace",
    "Mechanism",
    "Pure",
    "RandomisedResponse",
    "Renyi",
    "SecureBatch",
    "TruncatedLaplace",
    "budget_from",
    "budget_from_dict",
    "compose",
    "guarantee_from_dict",
    "parallel",
]
