"""Releases of live trials with contexts, attacked: sound noise passes, too little is found out.

Secure noise is replaced by seeded draws of the same law, so the verdicts never change. A sound
release is called a violation with probability at most 1e-6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet.linear as linear
from discreet import Features
from discreet.audit import Audit, Plain, attack
from discreet.linear._trees import joint_sensitivity
from discreet.privacy import _secure as secure

CONFIDENCE = 1 - 1e-6
TRANSCRIPTS = 24_000


def audited(
    name: str, budget: dict[str, float], members: list[Any], share: float, monkeypatch: Any
) -> Audit:
    """An audit of the first release; `members` are the two sides, each an action and an outcome."""
    rng = np.random.default_rng(7)

    def gaussian(scale: float, none: None = None) -> int:
        return round(share * scale * rng.standard_normal())

    def laplace(scale: float, none: None = None) -> int:
        return round(share * scale * (rng.standard_exponential() - rng.standard_exponential()))

    monkeypatch.setattr(secure, "gaussian", gaussian)
    monkeypatch.setattr(secure, "laplace", laplace)
    trial = linear.Trial(
        linear.policy(name, **budget), 2, horizon=1, features=Features(dimension=2)
    )
    start: Any = trial._run

    def release(side: int, count: int, unused: Any) -> Any:
        features, outcome = members[side]
        action = start.grid.features(features)
        before = start.copy()
        before.steps.seat(before.design, before.head, [*start.grid.plain(action), 0, 0], 0, 0.0)
        assert before.waits
        assert not before.cut
        rows = []
        for _ in range(count):
            run = before.copy()
            run.publish([action], [start.grid.reward(outcome)])
            matrix = [run.view.matrix[i] for i in (0, 1, 3)] if run.private else []
            rows.append([*matrix, *run.view.noisy])
        return np.array(rows)

    numbers = 5 if start.private else 2
    subject = Plain(release, names=tuple(f"entry {i}" for i in range(numbers)))
    return attack(
        [subject], trial.guarantee, name=name, transcripts=TRANSCRIPTS, seed=1,
        confidence=CONFIDENCE,
    )  # fmt: skip


SAME_ACTION = [([0.6, 0.8], 1.0), ([0.6, 0.8], -1.0)]
"""Contexts are public: only the outcome changes."""
OTHER_PERSON = [([0.6, 0.8], 1.0), ([0.6, -0.8], -1.0)]
"""Contexts are private: everything changes."""
CASES: dict[str, tuple[dict[str, float], list[Any], float]] = {
    "adac-oful": ({"rho": 0.5}, SAME_ACTION, 1 / 3),
    "private-linucb": ({"epsilon": 1.0}, OTHER_PERSON, 1 / 8),
    "jdp-linucb": ({"rho": 0.5}, OTHER_PERSON, 1 / 3),
}
"""Budget, neighbours, and which part of the noise is too little to go unnoticed. These neighbours
move a third of what the Laplace trees reckon with, over five entries: less is noticed there."""


@pytest.mark.parametrize("name", CASES)
def test_releases_keep_what_is_claimed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    budget, members, _ = CASES[name]
    found = audited(name, budget, members, 1.0, monkeypatch)
    assert not found.is_violation
    assert found.tested > TRANSCRIPTS / 4


@pytest.mark.parametrize("name", CASES)
def test_too_little_noise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    budget, members, share = CASES[name]
    assert audited(name, budget, members, share, monkeypatch).is_violation


def test_the_other_person_moves_much_of_what_is_reckoned_with() -> None:
    """Else the attack on the trees would be too tame."""
    (z, r), (y, s) = OTHER_PERSON
    rows = [np.array([z[0] * z[0], z[0] * z[1], z[1] * z[1], z[0] * r, z[1] * r])]
    rows.append(np.array([y[0] * y[0], y[0] * y[1], y[1] * y[1], y[0] * s, y[1] * s]))
    assert np.abs(rows[0] - rows[1]).sum() > 0.35 * joint_sensitivity(2)
