"""Checks of arguments: what they return, and the one wording of what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet._checks import check_seed, rounds
from discreet.errors import InvalidArgument


@pytest.mark.parametrize("horizon", [1, 10**6, 2**60 + 1, 10**400, np.int64(2**60 + 1)])
def test_whole_numbers_stay_what_they_are(horizon: int) -> None:
    assert rounds(horizon) == int(horizon)


def test_floats_that_are_whole_count_as_rounds() -> None:
    assert rounds(1e6) == rounds(np.float32(1e6)) == 10**6
    for bad in (1.5, math.nan, math.inf, True, "1e6", None, 0):
        with pytest.raises(InvalidArgument, match="horizon must be a whole number from 1, got"):
            rounds(bad)


def test_seeds() -> None:
    assert check_seed(None) is None
    assert check_seed(np.int64(3)) == 3
    for bad in (-1, 1.0, "x", True, [1]):
        with pytest.raises(InvalidArgument, match="seed must be a whole number from 0, got"):
            check_seed(bad)
