"""The study of figure 5.7 and its local counterpart, small."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet.studies import figure
from discreet.studies._base import Size
from discreet.studies._files import DATA, PNG, save


@pytest.mark.parametrize(("number", "claims"), [("5.7", 6), ("5.7-local", 2)])
def test_figure(number: str, claims: int, tmp_path: Path) -> None:
    entry = figure("thesis2024", number)
    assert (entry.full.runs, entry.quick.runs < entry.full.runs) == (1000, True)
    done = entry.run(Size(20_000, 2), seed=1)
    assert len(done.findings) == claims
    place = save(done, tmp_path)
    assert (place / PNG).stat().st_size > 10_000
    table = pq.read_table(place / DATA)
    assert {"epsilon", "policy", "t", "regret"} <= set(table.column_names)
    assert max(table.column("t").to_pylist()) <= 20_000
