"""A provider for OpenFeature (`pip install "discreet[openfeature]"`).

    from openfeature import api
    api.set_provider(DiscreetProvider("https://trials.example.org", KEY))

A flag is an experiment, the targeting key a participant, and the variant an arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._extras import require as _require
from .._lazy import lazily

_require("openfeature", "openfeature", "httpx")

if TYPE_CHECKING:
    from ._provider import DiscreetProvider

__all__ = ["DiscreetProvider"]
__getattr__, __dir__ = lazily(__name__, {"_provider": ("DiscreetProvider",)})
