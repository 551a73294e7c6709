"""The table of policies: schedules, releases, rules, and the catalogue of published policies.

The package can be called, as a user would look for it: `discreet.policies(kind="linear")` lists
the published policies (`_listing.listed`).
"""

import sys
from types import ModuleType

from ._adac import AdaCUCB
from ._adap import AdaPKLUCB, AdaPUCB
from ._catalogue import CATALOGUE, Row, policy, policy_from_recipe
from ._elimination import LeadElimination, SuccessiveElimination
from ._imed import IMED
from ._klucb import KLUCB
from ._listing import Kind, Listing
from ._listing import listed as _listed
from ._local import LDPUCBL
from ._noisy_imed import NoisyIMED
from ._perturbed import BetaLeader, ExactBits, GaussianLeader, PerturbedLeader
from ._policy import Policy
from ._private_kl import DPIMED, DPKLUCB, first_batch
from ._private_thompson import GapThenTree, PrivateThompson
from ._rules import Rule
from ._schedules import Doubling, EachRound, Geometric, Phases, Regular, Schedule
from ._thompson import HybridThompson, LazyThompson, Thompson
from ._tree_ucb import DPUCB, DPUCBBound, ExperimentalUCB, IntervalUCB, PrivateUCB
from ._ucb import UCB1, AsymptoticUCB
from ._view import Setting, View
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
    "first_batch",
    "policy",
    "policy_from_recipe",
]


class _Package(ModuleType):
    """This package, which lists its policies when it is called."""

    def __call__(self, kind: Kind | None = None, private: bool | None = None) -> Listing:
        return _listed(kind, private)


sys.modules[__name__].__class__ = _Package
