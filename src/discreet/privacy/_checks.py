"""Where `secure` imports its checks from."""

from ..checks import amount as number
from ..checks import count

__all__ = ["count", "number"]
