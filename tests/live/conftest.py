from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from live_cases import Clock, CountedNoise, Keys

from discreet.live._contexts import secure_steps
from discreet.live._stream_run import device_of, steps_of
from discreet.live.stores import _database as database
from discreet.live.stores import _seal as seal
from discreet.live.stores import _server
from discreet.privacy import _noise as simulated_noise
from postgres import postgres, url

__all__ = ["postgres", "url"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> CountedNoise:
    """Noise that is known to the test."""
    counted = CountedNoise()
    monkeypatch.setattr("discreet.privacy._secure.laplace", counted)
    return counted


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    """Every key of outcomes and ledgers that is made."""
    made = Keys()
    monkeypatch.setattr(seal, "new_key", made)
    return made


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the waiting for the disk where no crash is tested."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(database, "SYNCHRONOUS", "OFF")


@pytest.fixture
def own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a storm changes in this process is put back."""
    from discreet.live import _course, _curator
    from discreet.privacy import _secure as secure

    for module, names in (
        (secure, ("laplace", "padded", "AHEAD")), (_course, ("MOST",)), (_curator, ("PATIENCE",)),
        (_server, ("PATIENCE",)),
    ):  # fmt: skip
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))


def forbidden(*args: Any, **options: Any) -> Any:
    raise AssertionError("a seedable or simulated source was reached")


@pytest.fixture
def only_secure(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every way to seedable randomness is mined."""
    for name in ("default_rng", "Generator", "PCG64", "SFC64", "RandomState", "SeedSequence"):
        monkeypatch.setattr(np.random, name, forbidden)
    for name in ("random", "seed", "gauss", "betavariate", "Random", "getrandbits"):
        monkeypatch.setattr(random, name, forbidden)
    for name in ("laplace", "gaussian", "randomised_response", "truncated_laplace"):
        function = getattr(simulated_noise, name)
        monkeypatch.setattr(function, "__code__", forbidden.__code__)
    for linked in (device_of, steps_of, secure_steps):
        linked.cache_clear()
    yield
    for linked in (device_of, steps_of, secure_steps):
        linked.cache_clear()
