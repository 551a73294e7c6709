"""Linear policies verified by execution: their own kernels on symbols, given public actions."""

from ._verify import verify

__all__ = ["verify"]
