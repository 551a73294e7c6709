"""Games on the released means of a trial, and the study of the thesis' chapter 6, small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.membership import Game, Learned, Participant
from discreet.studies import Size, Verdict, figure
from discreet.studies._files import save

SURE = 1.0 - 1e-6


def test_power_against_a_private_row_stays_below_its_guarantee() -> None:
    """Lower limits at 1e-6 each; the first participant's batch is of size one, so the bound is
    nearly reached and an attacker who is no better than a coin would be noticed."""
    row = discreet.policy("adap-ucb", epsilon=2.0)
    game = Game(Participant(row, [0.1, 0.1], horizon=8), target=1)
    result = game.play(Learned(500), rounds=800, seed=1)
    promised = row.guarantee.tradeoff()
    for level in (0.01, 0.05, 0.2):
        assert result.power_limits(level, SURE)[0] <= promised.power(level)
    assert result.audit(confidence=SURE).epsilon_lower <= 2.0
    low, high = result.auc_limits(SURE)
    assert low > 0.55
    assert high < 1.0
    guarantee: Any = result.settings["guarantee"]
    assert guarantee["budget"] == {"kind": "pure", "epsilon": 2.0}


def test_average_outcomes_and_bad_input() -> None:
    row = discreet.policy("adap-ucb", epsilon=2.0)
    trial = Participant(row, [0.3, 0.3], horizon=8, place=3)
    result = Game(trial).play(Learned(200), rounds=200, seed=2)
    assert result.settings["game"] == "average target"
    assert 0.3 < result.auc < 0.8
    with pytest.raises(InvalidArgument, match="be an outcome, 0 or 1"):
        Game(trial, target=0.5)
    with pytest.raises(InvalidArgument, match="place must be below the horizon"):
        Participant(row, [0.3, 0.3], horizon=8, place=8)
    with pytest.raises(InvalidArgument, match="policy must be a Policy"):
        Participant("adap-ucb", [0.3, 0.3])  # type: ignore[arg-type]


def test_figure_6_2_and_table_6_1(tmp_path: Path) -> None:
    """600 rounds per side, n = 200: orders and the printed mistakes are visible already."""
    done = figure("thesis2024", "6.2").run(Size(600, 1, 2), seed=1)
    verdicts = {finding.statement.claim: finding.verdict for finding in done.findings}
    assert len(verdicts) == 7
    printed = next(claim for claim in verdicts if "ρm*" in claim)
    assert verdicts.pop(printed) is Verdict.NOT_REPRODUCED
    assert all(verdict is not Verdict.NOT_REPRODUCED for verdict in verdicts.values())
    measured = {
        name: measure.value
        for finding in done.findings
        if finding.statement.claim == printed
        for name, measure in finding.measured.items()
    }
    for share in ("0.5", "0.1"):
        gap = f"largest gap of power, ρ = {share}"
        assert measured[f"{gap}, corrected"] < 0.1 < measured[f"{gap}, as printed"]
        # the total variation is at most ρ; 5.2 standard errors of 600 rounds per side
        assert measured[f"advantage, ρ = {share}"] <= float(share) + 5.2 * 0.5 / np.sqrt(300)
    folder = save(done, tmp_path)
    table = pq.read_table(folder / "data.parquet")
    assert {"policy", "member", "run", "score"} <= set(table.column_names)
    assert json.loads((folder / "findings.json").read_text())["figure"] == "6.2"
    rows = figure("thesis2024", "T6.1").run(Size(600, 1, 2), seed=1)
    assert [finding.verdict for finding in rows.findings][:3] == [
        Verdict.REPRODUCED,
        Verdict.REPRODUCED,
        Verdict.NOT_REPRODUCED,
    ]
    save(rows, tmp_path)


def test_figure_2_1(tmp_path: Path) -> None:
    done = figure("thesis2024", "2.1").run(Size(4000, 1, 2), seed=1)
    assert [finding.verdict for finding in done.findings] == [Verdict.REPRODUCED] * 2
    save(done, tmp_path)
