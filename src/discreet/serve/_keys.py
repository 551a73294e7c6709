"""Keys: who may ask for what.

A key is 256 random bits behind a public name: `dk_<name>_<secret>`. The register keeps a code of it
under the service's secret, so that neither the register nor that file alone opens anything. Every
key has one role, for one experiment or for all of a tenant. Nobody reads outcomes.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets as random
import time
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from ._register import KeyRow, Register
from ._secrets import Secrets

Role = Literal["admin", "site", "nurse", "statistician", "monitor", "device"]
ROLES: tuple[Role, ...] = get_args(Role)
NAME = re.compile(r"[a-z0-9-]{1,64}")
"""What tenants, experiments and sites are called."""
TOKEN = re.compile(r"dk_([0-9a-f]{16})_([0-9a-f]{64})")


def new_key(
    secrets: Secrets, tenant: str, role: str, *, experiment: str | None = None,
    site: str | None = None, label: str = "", expires: float | None = None,
) -> tuple[str, KeyRow]:  # fmt: skip
    """A key as its holder gets it, once; and as the register keeps it."""
    name, secret = random.token_hex(8), random.token_hex(32)
    row = KeyRow(
        name, tenant, role, experiment, site, label, secrets.mac("key", name, secret), time.time(),
        expires, None,
    )  # fmt: skip
    return f"dk_{name}_{secret}", row


def successor(
    register: Register, secrets: Secrets, row: KeyRow, lasts: float, actor: str
) -> tuple[str, KeyRow]:
    """Another key in place of one, which still opens everything for so many seconds."""
    token, made = new_key(
        secrets, row.tenant, row.role, experiment=row.experiment, site=row.site, label=row.label,
        expires=row.expires,
    )  # fmt: skip
    register.add_key(made, actor)
    register.end_key(row, time.time() + lasts, actor, made)
    return token, made


def is_valid(row: KeyRow | None, now: float) -> bool:
    """Whether a key opens anything at that moment."""
    return row is not None and row.revoked is None and (row.expires is None or now < row.expires)


def holder(register: Register, secrets: Secrets, header: str) -> KeyRow | None:
    """Whose key it is; None if it is nobody's. All wrong ones are found wrong by the same steps."""
    kind, _, token = header.partition(" ")
    found = TOKEN.fullmatch(token) if kind.lower() == "bearer" else None
    name, secret = found.groups() if found else ("", "")
    row = register.key(name)
    known = row.mac if row is not None else "0" * 64
    same = hmac.compare_digest(known, secrets.mac("key", name, secret))
    return row if same and is_valid(row, time.time()) else None


def is_loopback(host: str) -> bool:
    """Whether an address is of this host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Rate(NamedTuple):
    """So many requests a second, and so many at once."""

    rate: float
    burst: float


class Buckets:
    """A bucket for every name: it fills at a rate, and every request takes one out of it."""

    MOST = 100_000

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left: dict[object, tuple[float, float]] = {}

    def wait(self, name: object) -> float:
        """Take one; how many seconds to wait if there is none, else 0."""
        now = self._clock()
        left, since = self._left.get(name, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - since) * self._rate.rate)
        if left < 1.0:
            self._left[name] = left, now
            return (1.0 - left) / self._rate.rate
        if len(self._left) >= self.MOST:
            self._left.clear()  # full buckets are not kept: at worst everybody has a full one
        self._left[name] = left - 1.0, now
        return 0.0
