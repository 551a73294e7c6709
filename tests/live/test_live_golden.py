"""What trials of every kind show in scripted lives is what they always showed."""

from __future__ import annotations

import json

import pytest
from golden import LIVES, TRANSCRIPTS, transcript

KNOWN = json.loads(TRANSCRIPTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LIVES)
def test_a_scripted_life_is_lived_as_ever(name: str) -> None:
    found = transcript(name)
    assert found["arms"] == KNOWN[name]["arms"]
    assert found == KNOWN[name]
