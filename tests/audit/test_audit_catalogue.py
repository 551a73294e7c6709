"""The intact catalogue passes: every private row with its example budget, confidence 1 - 1e-6.

By construction a false alarm has probability at most 1e-6 a row; seeds are fixed.
"""

from __future__ import annotations

import pytest

import discreet
from discreet.audit import Identifications, TrialRuns, attack, audit, candidates
from discreet.audit.table import page
from discreet.identify import identifier
from discreet.policies import CATALOGUE
from discreet.privacy.guarantees import Definition

SURE = 1.0 - 1e-6
ROWS = [name for name, row in CATALOGUE.items() if row.example().is_private]
MORE = {"dp-ucb-td": 80_000, "dp-ucb-int": 80_000}
"""Transcripts for rows that spread their budget over many releases, or hardly spend it at first."""


@pytest.mark.parametrize("name", ROWS)
def test_no_violation_in_an_intact_row(name: str) -> None:
    policy = CATALOGUE[name].example()
    inputs, transcripts = None, 200_000
    if policy.guarantee.definition is not Definition.INSTANTANEOUS:
        inputs, transcripts = candidates(policy, feeding=False), MORE.get(name, 40_000)
    result = audit(policy, inputs=inputs, transcripts=transcripts, confidence=SURE, seed=1)
    assert not result.is_violation, result
    assert result.transcripts <= transcripts
    # an audit that sees nothing would pass everything
    assert result.epsilon_lower > 0.1, result
    assert name in page([result], seconds=1.0, seed=1, confidence=SURE)


def test_trees_behind_a_start_phase() -> None:
    row = discreet.policy("private-thompson", epsilon=1.0, gap_estimation=False, fill=3)
    inputs = candidates(row, horizon=10, feeding=False)
    result = audit(row, inputs=inputs, transcripts=60_000, confidence=SURE, seed=1)
    assert not result.is_violation, result


@pytest.mark.parametrize("name", ["adap-tt", "adap-tt-star", "ctb-tt", "dp-se"])
def test_no_violation_in_an_intact_identifier(name: str) -> None:
    row = identifier(name, epsilon=2.0)
    limit = 64 if name == "ctb-tt" else 2048
    subjects = [
        Identifications(row, base, pull=pull, limit=limit)
        for base in ((1.0, 0.0), (0.0, 0.0))
        for pull in (0, 1)
    ]
    result = attack(subjects, row.guarantee, transcripts=40_000, confidence=SURE, seed=1)
    assert not result.is_violation, result
    assert result.epsilon_lower > 1.0, result


def test_no_violation_in_evidence() -> None:
    row = identifier("evidence-tt", epsilon=2.0)
    subjects = [Identifications(row, (1.0, 0.0), pull=pull, limit=256) for pull in (0, 20)]
    result = attack(subjects, row.guarantee, transcripts=16_000, confidence=SURE, seed=1)
    assert not result.is_violation, result
    assert result.epsilon_lower > 0.5, result


@pytest.mark.parametrize(
    ("first", "second", "deadline"),
    [((0.0, 0.0), (1.0, 0.0), None), ((None, 0.0), (1.0, 0.0), 5.0)],
    ids=["outcome", "whether somebody answers"],
)
def test_live_trials_keep_their_claim(first: tuple, second: tuple, deadline: float | None) -> None:
    row = discreet.policy("adap-klucb", epsilon=1.0)
    runs = TrialRuns(row, first, second, deadline=deadline)
    result = attack([runs], row.guarantee, transcripts=1_600, confidence=SURE, seed=1)
    # what it could prove varies, for live noise has no seed; that it can find a leak is shown by
    # the trial that redraws, among the mutants
    assert not result.is_violation, result
    assert result.transcripts >= 1_600
