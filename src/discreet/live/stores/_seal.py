"""Private numbers on disk, sealed: once their key is overwritten, no copy of them can be read.

A database that deletes a row overwrites it, but not the copies of it that moving rows from page to
page has left behind. So whatever is private is stored under a key of its block. Keys have a table
of their own, whose rows never move: they are overwritten where they are. Forgetting a block is
forgetting its key.

A sealed text is a fresh nonce, and the text added to the bytes of SHA-256(key, nonce, 0),
SHA-256(key, nonce, 1), ... It has the length of the text, so texts are of one length whatever they
say. PostgreSQL knows this hash: there a function of the database tells an outcome from silence, for
workers that must not read either.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from hashlib import sha256

from .._rules import Action
from ._base import Json

KEY, NONCE = 32, 12
"""Bytes of a key and of a nonce."""
ROOM = 24
"""Characters of a feature, a count of assignments or a number of the ledger."""
FIRST, SHORT = bytes(4), 32
"""The number of the first part of the stream that is added to a text; bytes of a part."""
NO_KEY = bytes(KEY)
"""In place of a key that was overwritten."""
SILENT, ANSWERED = b"\0", b"\1"


def new_key() -> bytes:
    """Random bytes, of the system."""
    return secrets.token_bytes(KEY)


def sealed(key: bytes, text: bytes) -> bytes:
    """A text under a key."""
    nonce = secrets.token_bytes(NONCE)
    return nonce + _added(key, nonce, text)


def sealed_many(key: bytes, texts: Sequence[bytes]) -> list[bytes]:
    """Several short texts of one length, each with another nonce."""
    random = secrets.token_bytes(NONCE * len(texts))
    nonces = [random[at : at + NONCE] for at in range(0, len(random), NONCE)]
    hidden = _added_many(key, nonces, texts)
    return [nonce + text for nonce, text in zip(nonces, hidden, strict=True)]


def opened_many(key: bytes, found: Sequence[bytes]) -> list[bytes]:
    """Several short texts of one length again."""
    return _added_many(key, [each[:NONCE] for each in found], [each[NONCE:] for each in found])


def opened(key: bytes, found: bytes) -> bytes:
    """The text again."""
    return _added(key, found[:NONCE], found[NONCE:])


def _added(key: bytes, nonce: bytes, text: bytes) -> bytes:
    size, start = len(text), key + nonce
    stream = sha256(start + FIRST).digest()
    if size > len(stream):
        parts = range(1, -(-size // len(stream)))
        stream += b"".join(sha256(start + n.to_bytes(4, "big")).digest() for n in parts)
    pad = int.from_bytes(stream[:size], "big")
    return (int.from_bytes(text, "big") ^ pad).to_bytes(size, "big")


def _added_many(key: bytes, nonces: Sequence[bytes], texts: Sequence[bytes]) -> list[bytes]:
    """The same for texts that one part of the stream covers: they are added all at once."""
    size = len(texts[0]) if texts else 0
    assert size <= SHORT
    pads = b"".join([sha256(key + nonce + FIRST).digest()[:size] for nonce in nonces])
    pad, text = int.from_bytes(pads, "big"), int.from_bytes(b"".join(texts), "big")
    found = (pad ^ text).to_bytes(len(pads), "big")
    return [found[at : at + size] for at in range(0, len(found), size or 1)]


def outcome_text(value: int | None) -> bytes:
    """An outcome, or that there is none: of one length."""
    if value is None:
        return SILENT + bytes(8)
    return ANSWERED + value.to_bytes(8, "big", signed=True)


def outcome_in(text: bytes) -> int | None:
    """What `outcome_text` was built from."""
    return int.from_bytes(text[1:], "big", signed=True) if text[:1] == ANSWERED else None


def count_text(count: int) -> bytes:
    """A count, of one length."""
    return count.to_bytes(8, "big")


def count_in(text: bytes) -> int:
    """That count."""
    return int.from_bytes(text, "big")


def action_text(action: Action) -> bytes:
    """Features, of one length whatever they are."""
    return f"[{','.join(f'{feature:>{ROOM}}' for feature in action)}]".encode()


def blank_action(old: bytes, key: bytes, found: bytes) -> bytes:
    """As many features as were sealed under an old key, all of them 0, under another."""
    return sealed(key, action_text([0] * len(json.loads(opened(old, found)))))


def padded(data: Json) -> bytes:
    """A document of numbers, of one length whatever they are."""
    text = json.dumps(data, separators=(",", ":"))
    fields = [value if type(value) is list else [value] for value in data.values()]
    short = sum(max(0, ROOM - len(json.dumps(number))) for field in fields for number in field)
    return (text + " " * short).encode()
