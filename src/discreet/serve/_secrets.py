"""Secrets of the service, in one file that lies outside of its databases and their backups.

The service's own secret makes keys worthless to anyone who reads the register alone, and chains
the audit. Every tenant has others: participants are stored by a pseudonym under one of them, so
that no table holds an identifier. They have numbers: an experiment keeps the one that was newest
when it was planned. Whoever deletes a secret unlinks its pseudonyms for good.

Of several hosts each has a copy of the file. The register has a mark of every secret, so that
another file is noticed.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..errors import DamagedFile, InvalidArgument

OWNER_ONLY = 0o600
NAME = "service.secret"
Tenants = dict[str, dict[int, bytes]]


class Secrets:
    """The file, read once and written when a tenant or a number is added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        with self._alone():
            self.service, self._tenants = self._read() if self.path.exists() else self._new()

    def tenant(self, name: str, number: int = 1) -> bytes:
        """A secret of a tenant; another process may have added it."""
        if number not in self._tenants.get(name, {}):
            self._tenants = self._read()[1]
        if number not in self._tenants.get(name, {}):
            raise DamagedFile(
                f"{self.path} lacks secret {number} of tenant {name!r}; copy the newest file of "
                "that name from the host where it was made"
            )
        return self._tenants[name][number]

    def numbers(self, name: str) -> list[int]:
        """Those of the secrets that a tenant has here, the newest last."""
        self._tenants = self._read()[1]
        return sorted(self._tenants.get(name, {}))

    def add(self, name: str) -> int:
        """One more secret of a tenant, on disk before it is used; its number."""
        with self._alone():
            self._tenants = self._read()[1]
            own = self._tenants.setdefault(name, {})
            number = max(own, default=0) + 1
            own[number] = secrets.token_bytes(32)
            self._write()
        return number

    def forget(self, name: str, number: int) -> None:
        """Delete a secret: no one can tell any more whom its pseudonyms stand for."""
        with self._alone():
            self._tenants = self._read()[1]
            if number not in self._tenants.get(name, {}):
                raise InvalidArgument(
                    "number", "be that of a secret of the tenant", number,
                    f"it has {sorted(self._tenants.get(name, {}))}",
                )  # fmt: skip
            del self._tenants[name][number]
            self._write()

    def mark(self, name: str = "", number: int = 0) -> str:
        """By which a secret is known again; without a name, the service's own."""
        secret = self.tenant(name, number) if name else self.service
        return hmac.digest(secret, b"mark", "sha256").hex()

    def pseudonym(self, tenant: str, *parts: object, number: int = 1) -> str:
        """What stands for a participant of a tenant; 1 and "1" are different ones."""
        secret = self.tenant(tenant, number)
        return hmac.digest(secret, msgspec.json.encode(parts), "sha256").hex()

    def mac(self, *parts: str) -> str:
        """A code that only this service can make."""
        return hmac.digest(self.service, msgspec.json.encode(parts), "sha256").hex()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process of this host changes the file meanwhile."""
        descriptor = os.open(
            self.path.with_suffix(".secret.lock"), os.O_RDWR | os.O_CREAT, OWNER_ONLY
        )
        try:
            if os.name == "posix":
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _new(self) -> tuple[bytes, Tenants]:
        self.service, self._tenants = secrets.token_bytes(32), {}
        self._write()
        return self.service, self._tenants

    def _read(self) -> tuple[bytes, Tenants]:
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise DamagedFile(f"{self.path} can be read by others; run: chmod 600 {self.path}")
        try:
            found = json.loads(self.path.read_text(encoding="ascii"))
            tenants = {name: _numbered(given) for name, given in found["tenants"].items()}
            return bytes.fromhex(found["service"]), tenants
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise DamagedFile(f"{self.path} is not the file of this service's secrets; put it back")

    def _write(self) -> None:
        """Whole or not at all: without it, keys and pseudonyms are lost."""
        tenants = {
            name: {str(number): secret.hex() for number, secret in sorted(own.items())}
            for name, own in sorted(self._tenants.items())
        }
        text = json.dumps({"service": self.service.hex(), "tenants": tenants})
        new = self.path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(new, self.path)


def _numbered(given: str | dict[str, str]) -> dict[int, bytes]:
    """The secrets of a tenant; the first version of the file had one of each."""
    if isinstance(given, str):
        given = {"1": given}
    return {int(number): bytes.fromhex(secret) for number, secret in given.items()}
