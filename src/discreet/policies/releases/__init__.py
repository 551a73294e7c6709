"""Releases: how a batch of rewards becomes a public number."""

from ._base import PureRelease, Release
from ._counting import DividedTree, Hybrid, IdleHybrid, Tree
from ._exact import Exact
from ._forgetting import (
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
)
from ._local import LocalBernoulli, LocalLaplace, SquashedBernoulli, SquashedLaplace
from ._remembering import RememberLaplace, RunningGaussian, RunningLaplace, ShrinkingLaplace
from ._secure_sum import SecureSum, SkellamSum

__all__ = [
    "DividedTree",
    "Exact",
    "FillingLaplace",
    "ForgetExact",
    "ForgetGaussian",
    "ForgetLaplace",
    "ForgetTruncated",
    "Hybrid",
    "IdleHybrid",
    "LocalBernoulli",
    "LocalLaplace",
    "PureRelease",
    "Release",
    "RememberLaplace",
    "RunningGaussian",
    "RunningLaplace",
    "SecureSum",
    "ShrinkingLaplace",
    "SkellamSum",
    "SquashedBernoulli",
    "SquashedLaplace",
    "Tree",
]
