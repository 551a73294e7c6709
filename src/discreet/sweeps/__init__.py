"""Sweeps: a grid of policies, problems and settings, on one machine or on a cluster."""

from ._pool import WorkerLost
from ._sweep import sweep

__all__ = ["WorkerLost", "sweep"]
