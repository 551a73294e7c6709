"""Privacy: budgets, guarantees, mechanisms, counters, and noise for simulation and for real."""

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
from .guarantees import Definition, Guarantee, guarantee_from_dict
from .mechanisms import Gaussian, Laplace, Mechanism, RandomisedResponse, TruncatedLaplace

__all__ = [
    "ZCDP",
    "Approximate",
    "Budget",
    "Definition",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "Laplace",
    "Mechanism",
    "Pure",
    "RandomisedResponse",
    "Renyi",
    "TruncatedLaplace",
    "budget_from",
    "budget_from_dict",
    "compose",
    "guarantee_from_dict",
    "parallel",
]
