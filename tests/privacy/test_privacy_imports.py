"""The light modules must not load the heavy libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "numba", "scipy", "opendp", "dp_accounting")


@pytest.mark.parametrize(
    "module",
    [
        "",
        ".budgets",
        "._guarantees",
        "._mechanisms",
        "._noise",
        "._counters",
        "._curves",
        "._secure",
        "._accounting",
    ],
)
def test_import_is_light(module: str) -> None:
    code = f"import sys, discreet.privacy{module}; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
