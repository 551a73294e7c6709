"""Live trials with contexts against the naive twins, decision by decision, from the same draws."""

from __future__ import annotations

from typing import Any

import naive_linear as naive
import numpy as np
import pytest

import discreet.linear as linear
from discreet.linear._trees import joint_sensitivity
from discreet.live._arguments import grouped
from discreet.privacy import _secure as secure
from discreet.privacy._counters import tree_levels


def trial_of(name: str, budget: dict[str, float], **options: Any) -> linear.Trial:
    return linear.Trial(
        linear.policy(name, **budget), ["A", "B"], **grouped(dict(dimension=3, **options))
    )


def offers(count: int, seed: int, longest: float = 1.0) -> Any:
    """Actions up to nearly a length, on a grid of 1/1024."""
    points = np.random.default_rng(seed).standard_normal((count, 2, 3))
    points *= 0.9 * longest / np.linalg.norm(points, axis=2).max()
    return np.round(points * 1024) / 1024


class Replayed:
    """Stands for OpenDP: draws that a twin with the same generator draws as well."""

    def __init__(self, kind: str, monkeypatch: pytest.MonkeyPatch, seed: int = 5) -> None:
        self.rng = np.random.default_rng(seed)
        self.scales: list[float] = []
        monkeypatch.setattr(secure, kind, getattr(self, kind))

    def gaussian(self, scale: float, rng: None = None) -> int:
        assert rng is None
        self.scales.append(scale)
        return round(scale * self.rng.standard_normal())

    def laplace(self, scale: float, rng: None = None) -> int:
        assert rng is None
        self.scales.append(scale)
        return round(scale * (self.rng.standard_exponential() - self.rng.standard_exponential()))


def test_adac_oful_follows_its_naive_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Replayed("gaussian", monkeypatch)
    trial, actions = trial_of("adac-oful", {"rho": 0.5}, horizon=400), offers(400, seed=3)
    twin = naive.AdaCOFUL(3, 400, np.random.default_rng(5), rho=0.5)
    for number, rows in enumerate(actions):
        arm = twin.choose(rows)
        assert trial.assign(number, rows) == "AB"[arm], number
        reward = 0.5 if arm == 0 else -0.25
        trial.record(number, reward)
        twin.record(rows[arm], reward)
    report = trial.report()
    assert report["releases"] >= 15
    assert len(drawn.scales) == 3 * report["releases"]
    assert report["estimate"] == pytest.approx(twin.theta.tolist(), rel=1e-4, abs=1e-5)
    assert report["radius"] == pytest.approx(twin.beta, rel=1e-5)


@pytest.mark.parametrize("batch", [1, 5])
def test_private_linucb_follows_its_naive_twin(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Replayed("laplace", monkeypatch)
    rounds = 60
    actions = offers(rounds, seed=4, longest=1.5)  # some are scaled into the ball
    trial = trial_of("private-linucb", {"epsilon": 1.0}, horizon=rounds, longest=1.5, batch=batch)
    scale = tree_levels(rounds) * joint_sensitivity(3)
    twin = naive.TreeLinUCB(3, rounds, np.random.default_rng(5), scale)
    for start in range(0, rounds, batch):
        members = range(start, start + batch)
        arms = [twin.choose(actions[number]) for number in members]
        assert [trial.assign(number, actions[number]) for number in members] == [
            "AB"[arm] for arm in arms
        ]
        for number, arm in zip(members, arms, strict=True):
            trial.record(number, 0.5 if arm == 0 else -0.25)
            twin.record(actions[number][arm], 0.5 if arm == 0 else -0.25)
    report = trial.report()
    assert report["releases"] == rounds // batch
    assert len(drawn.scales) == 9 * rounds
    assert report["estimate"] == pytest.approx(
        np.linalg.solve(twin.A, twin.b).tolist(), rel=1e-3, abs=1e-4
    )
