"""The table of policies: schedules, releases, rules, and the catalogue of published rows."""

from .adac import AdaCUCB
from .adap import AdaPKLUCB, AdaPUCB
from .catalogue import CATALOGUE, Row, policy, policy_from_recipe
from .elimination import SuccessiveElimination
from .imed import IMED
from .klucb import KLUCB
from .local import LDPUCBL
from .perturbed import ExactBits, PerturbedLeader
from .policy import Policy
from .private_kl import DPIMED, DPKLUCB
from .releases import (
    Exact,
    ForgetGaussian,
    ForgetLaplace,
    LocalBernoulli,
    LocalLaplace,
    PureRelease,
    Release,
    RememberLaplace,
    RunningLaplace,
    Tree,
)
from .rules import Rule
from .schedules import Doubling, EachRound, Geometric, Phases, Schedule
from .thompson import Thompson
from .tree_ucb import DPUCB
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
    "Doubling",
    "EachRound",
    "Exact",
    "ExactBits",
    "ForgetGaussian",
    "ForgetLaplace",
    "Geometric",
    "LocalBernoulli",
    "LocalLaplace",
    "PerturbedLeader",
    "Phases",
    "Policy",
    "PureRelease",
    "Release",
    "RememberLaplace",
    "Row",
    "Rule",
    "RunningLaplace",
    "Schedule",
    "Setting",
    "SuccessiveElimination",
    "Thompson",
    "Tree",
    "View",
    "policy",
    "policy_from_recipe",
]
