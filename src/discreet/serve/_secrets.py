"""Secrets of the service, in one file that lies outside of its databases and their backups.

The service's own secret makes keys worthless to anyone who reads the register alone, and chains
the audit. Every tenant has another one: participants are stored by a pseudonym under it, so that
no table holds an identifier. Whoever deletes a tenant's secret unlinks its pseudonyms for good.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from pathlib import Path

import msgspec

from ..errors import DamagedFile

OWNER_ONLY = 0o600
NAME = "service.secret"


class Secrets:
    """The file, read once and written when a tenant is added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.service, self._tenants = self._read() if self.path.exists() else self._new()

    def tenant(self, name: str) -> bytes:
        """The secret of a tenant; another process may have added it."""
        if name not in self._tenants:
            self._tenants = self._read()[1]
        return self._tenants[name]

    def add_tenant(self, name: str) -> None:
        """A secret for a new tenant, on disk before it is used."""
        self._tenants = self._read()[1]
        if name not in self._tenants:
            self._tenants[name] = secrets.token_bytes(32)
            self._write()

    def pseudonym(self, tenant: str, *parts: object) -> str:
        """What stands for a participant of a tenant; 1 and "1" are different ones."""
        return hmac.digest(self.tenant(tenant), msgspec.json.encode(parts), "sha256").hex()

    def mac(self, *parts: str) -> str:
        """A code that only this service can make."""
        return hmac.digest(self.service, msgspec.json.encode(parts), "sha256").hex()

    def _new(self) -> tuple[bytes, dict[str, bytes]]:
        self.service, self._tenants = secrets.token_bytes(32), {}
        self._write()
        return self.service, self._tenants

    def _read(self) -> tuple[bytes, dict[str, bytes]]:
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            raise DamagedFile(f"{self.path} can be read by others; run: chmod 600 {self.path}")
        try:
            found = json.loads(self.path.read_text(encoding="ascii"))
            tenants = {name: bytes.fromhex(secret) for name, secret in found["tenants"].items()}
            return bytes.fromhex(found["service"]), tenants
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise DamagedFile(f"{self.path} is not the file of this service's secrets; put it back")

    def _write(self) -> None:
        """Whole or not at all: without it, keys and pseudonyms are lost."""
        found = {name: secret.hex() for name, secret in sorted(self._tenants.items())}
        text = json.dumps({"service": self.service.hex(), "tenants": found})
        new = self.path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(new, self.path)
