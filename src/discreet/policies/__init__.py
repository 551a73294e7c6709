"""The table of policies: schedules, releases, rules, and the catalogue of published rows.

The package can be called, as a user would look for it: `discreet.policies(kind="linear")` lists
the published policies (`listing.listed`).
"""

import sys
from types import ModuleType

from .adac import AdaCUCB
from .adap import AdaPKLUCB, AdaPUCB
from .catalogue import CATALOGUE, Row, policy, policy_from_recipe
from .elimination import LeadElimination, SuccessiveElimination
from .imed import IMED
from .klucb import KLUCB
from .listing import Kind, Listing, listed
from .local import LDPUCBL
from .noisy_imed import NoisyIMED
from .perturbed import BetaLeader, ExactBits, GaussianLeader, PerturbedLeader
from .policy import Policy
from .private_kl import DPIMED, DPKLUCB
from .private_thompson import GapThenTree, PrivateThompson
from .releases import (
    DividedTree,
    Exact,
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
    Hybrid,
    IdleHybrid,
    LocalBernoulli,
    LocalLaplace,
    PureRelease,
    Release,
    RememberLaplace,
    RunningGaussian,
    RunningLaplace,
    SecureSum,
    ShrinkingLaplace,
    SkellamSum,
    SquashedBernoulli,
    SquashedLaplace,
    Tree,
)
from .rules import Rule
from .schedules import Doubling, EachRound, Geometric, Phases, Regular, Schedule
from .thompson import HybridThompson, LazyThompson, Thompson
from .tree_ucb import DPUCB, DPUCBBound, ExperimentalUCB, IntervalUCB, PrivateUCB
from .ucb import UCB1, AsymptoticUCB
from .view import Setting, View

__all__ = [
    "CATALOGUE",
    "DPIMED",
    "DPKLUCB",
    "DPUCB",
    "IMED",
    "KLUCB",
    "LDPUCBL",
    "UCB1",
    "AdaCUCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "AsymptoticUCB",
    "BetaLeader",
    "DPUCBBound",
    "DividedTree",
    "Doubling",
    "EachRound",
    "Exact",
    "ExactBits",
    "ExperimentalUCB",
    "FillingLaplace",
    "ForgetExact",
    "ForgetGaussian",
    "ForgetLaplace",
    "ForgetTruncated",
    "GapThenTree",
    "GaussianLeader",
    "Geometric",
    "Hybrid",
    "HybridThompson",
    "IdleHybrid",
    "IntervalUCB",
    "LazyThompson",
    "LeadElimination",
    "Listing",
    "LocalBernoulli",
    "LocalLaplace",
    "NoisyIMED",
    "PerturbedLeader",
    "Phases",
    "Policy",
    "PrivateThompson",
    "PrivateUCB",
    "PureRelease",
    "Regular",
    "Release",
    "RememberLaplace",
    "Row",
    "Rule",
    "RunningGaussian",
    "RunningLaplace",
    "Schedule",
    "SecureSum",
    "Setting",
    "ShrinkingLaplace",
    "SkellamSum",
    "SquashedBernoulli",
    "SquashedLaplace",
    "SuccessiveElimination",
    "Thompson",
    "Tree",
    "View",
    "policy",
    "policy_from_recipe",
]


class _Package(ModuleType):
    """This package, which lists its policies when it is called."""

    def __call__(self, kind: Kind | None = None, private: bool | None = None) -> Listing:
        return listed(kind, private)


sys.modules[__name__].__class__ = _Package
