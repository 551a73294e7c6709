"""Releases: how a batch of rewards becomes a public number."""

from .base import PureRelease, Release
from .counting import DividedTree, Hybrid, IdleHybrid, Tree
from .exact import Exact
from .forgetting import (
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
)
from .local import LocalBernoulli, LocalLaplace, SquashedBernoulli, SquashedLaplace
from .remembering import RememberLaplace, RunningGaussian, RunningLaplace, ShrinkingLaplace
from .secure_sum import SecureSum, SkellamSum

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
