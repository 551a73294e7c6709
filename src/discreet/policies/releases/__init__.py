"""Releases: how a batch of rewards becomes a public number."""

from .base import PureRelease, Release
from .counting import Tree
from .exact import Exact
from .forgetting import ForgetGaussian, ForgetLaplace
from .local import LocalBernoulli, LocalLaplace
from .remembering import RememberLaplace, RunningLaplace

__all__ = [
    "Exact",
    "ForgetGaussian",
    "ForgetLaplace",
    "LocalBernoulli",
    "LocalLaplace",
    "PureRelease",
    "Release",
    "RememberLaplace",
    "RunningLaplace",
    "Tree",
]
