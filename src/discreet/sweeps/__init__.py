"""Sweeps: a grid of policies, problems and settings, on one machine or on a cluster."""

from .pool import WorkerLost
from .sweep import sweep

__all__ = ["WorkerLost", "sweep"]
