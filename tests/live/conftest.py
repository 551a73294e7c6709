from __future__ import annotations

import os

import pytest
from live_cases import Clock, CountedNoise


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> CountedNoise:
    """Noise that is known to the test."""
    counted = CountedNoise()
    monkeypatch.setattr("discreet.privacy.secure.laplace", counted)
    return counted


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the waiting for the disk where no crash is tested."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
