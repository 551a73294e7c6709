"""A digest of a row's parts and all their settings: rows of one fingerprint are the same row."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING, Never

if TYPE_CHECKING:
    from ._policy import BasePolicy


def fingerprint(policy: BasePolicy[Never]) -> str:
    """A digest of the row's parts and all their settings."""
    described = [_described(getattr(policy, part)) for part in policy.made_of]
    if policy.kind == "identify":
        asked = (f"{name}={getattr(policy, name)}" for name in ("risk", "mixed"))
        described.append(", ".join(asked))
    return hashlib.sha256("\n".join(described).encode()).hexdigest()


def _described(part: object) -> str:
    kind = f"{type(part).__module__}.{type(part).__qualname__}"
    # the default repr holds an address, which no other process would see again
    settings = repr(part) if dataclasses.is_dataclass(part) else repr(sorted(vars(part).items()))
    return f"{kind}: {settings}"
