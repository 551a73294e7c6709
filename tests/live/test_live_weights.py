"""Weights: public shares, a hash that picks by them, and visitors that are handed in later."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock

import discreet
from discreet.errors import InvalidArgument, TrialError
from discreet.live import Ledger, Trial, Weights
from discreet.live._arguments import grouped
from discreet.live._pairs import PairRun
from discreet.live._randomness import SystemRandomness
from discreet.live._run import Run
from discreet.privacy import Pure

pytestmark = pytest.mark.usefixtures("no_sync")


def made(**options: Any) -> Trial:
    name = options.pop("name", "dp-imed")
    row: dict[str, Any] = {"ratio": 1.5, "first": 2} if name == "dp-imed" else {}
    settings: dict[str, Any] = {"deadline": 10.0, "missing": 0.0, "clock": Clock()} | options
    return Trial(discreet.policy(name, epsilon=1.0, **row), ["A", "B", "C"], **grouped(settings))


def shown(weights: Weights, many: int, start: int = 0) -> list[tuple[str, Any, int]]:
    names = [f"visitor-{number}" for number in range(start, start + many)]
    return [(name, weights.pick(name), weights.version) for name in names]


def test_picks_are_in_proportion_to_the_parts() -> None:
    """Of 40,000 visitors, under a fixed key: no count is 5.5 standard deviations from its share,
    which happens to a right one with a probability of 2e-7 for all of them."""
    weights = Weights(1, ("A", "B", "C"), (1, 0, 3), "00" * 32)
    many = 40_000
    found = Counter(weights.pick(number) for number in range(many))
    assert found["B"] == 0
    for arm, share in (("A", 0.25), ("C", 0.75)):
        assert abs(found[arm] - share * many) < 5.5 * (many * share * (1 - share)) ** 0.5
    assert weights.pick("x") == weights.pick("x")
    assert [weights.pick(number) for number in range(30)] != [
        weights.pick(str(number)) for number in range(30)
    ]
    assert Weights.from_dict(json.loads(json.dumps(weights.to_dict()))) == weights


def test_thresholds_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last number below a threshold is on its side of it: no float is in between."""
    weights = Weights(1, ("A", "B"), (1, 2), "00" * 32)
    third = (1 << 256) // 3  # 2**256 = 3 * third + 1
    for number, arm in ((0, "A"), (third, "A"), (third + 1, "B"), ((1 << 256) - 1, "B")):

        class Digest:
            def digest(self, number: int = number) -> bytes:
                return number.to_bytes(32, "big")

        monkeypatch.setattr(
            "discreet.live._weights.hmac.new", lambda *given, digest=Digest: digest()
        )
        assert weights.pick("anybody") == arm


@pytest.mark.parametrize("where", ["memory", "file"])
def test_visitors_become_participants(where: str, tmp_path: Path) -> None:
    path = None if where == "memory" else tmp_path / "t.db"
    with made(path=path) as trial:
        weights = trial.weights()
        assert weights.shares == dict.fromkeys("ABC", pytest.approx(1 / 3))
        assert trial.weights() == weights
        seen = shown(weights, 60)
        assert trial.exposed(seen) == 60
        assert trial.exposed(seen) == 0  # handed in twice
        assert trial.rounds == 60
        assert trial.weights() == weights  # nothing was released
        for visitor, arm, _ in seen:
            assert trial.assign(visitor) == arm
            trial.record(visitor, float(arm == "C"))
        trial._clock.now += 10.0  # type: ignore[attr-defined]
        later = trial.weights()
        assert later.version == weights.version + 1
        assert sum(later.parts) == trial._run.window  # type: ignore[attr-defined]
        report = trial.report()
        assert report["releases"] > 0
        old = [(name, weights.pick(name), 1) for name in ("late-1", "late-2")]
        assert trial.exposed([*shown(later, 5, 60), *old]) == 7
        sticky = [(name, later.pick(name), 2) for name, *_ in seen]
        assert trial.exposed(sticky) == 0
        assert [trial.assign(name) for name, *_ in seen] == [arm for _, arm, _ in seen]
    if path is not None:
        with Trial.load(path, clock=Clock()) as again:
            assert again.weights() == later


def test_what_was_not_picked_is_refused_and_nothing_is_stored() -> None:
    with made() as trial:
        weights = trial.weights()
        (name, arm, version) = shown(weights, 1)[0]
        other = next(one for one in trial.arms if one != arm)
        good = shown(weights, 3, 10)
        for wrong, words in (
            ((name, other, version), "what weights.pick"),
            ((name, arm, 7), "one that weights"),
            ((name, arm, 0), "one that weights"),
            ((name, arm), "be .visitor, arm, version"),
            ((name, arm, "1"), "be .visitor, arm, version"),
        ):
            with pytest.raises(InvalidArgument, match=words):
                trial.exposed([*good, wrong])  # type: ignore[list-item]
        assert trial.rounds == 0
        assert good[0][0] not in trial


def test_arms_that_go_and_trials_that_end() -> None:
    with made() as trial:
        weights = trial.weights()
        trial.drop("B")
        after = trial.weights()
        assert after.version == 2
        assert after.shares["B"] == 0.0
        seen = shown(weights, 30)
        places = sum(arm != "B" for _, arm, _ in seen)
        assert trial.exposed(seen) == places
        assert trial.rounds == places
        assert trial.report()["assigned"] == 30
        trial.finish()
        with pytest.raises(TrialError, match="has ended"):
            trial.weights()
        assert trial.exposed(shown(after, 5, 100)) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"trend": True, "window": 12}, {"streams": False}, {"name": "dp-se", "horizon": 300},
        {"name": "race", "horizon": 600, "risk": 0.1}, {"name": "evidence-tt", "risk": 0.1},
        {"kits": {"A": ["1"], "B": ["2"], "C": ["3"]}},
    ],
)  # fmt: skip
def test_plans_that_shares_do_not_keep_are_refused(options: dict[str, Any]) -> None:
    with made(**options) as trial:
        with pytest.raises(TrialError, match=r"weights are for"):
            trial.weights()
        with pytest.raises(TrialError, match=r"weights are for"):
            trial.exposed([("x", "A", 1)])


def test_a_ledger_must_be_charged_before_an_arm_is_shown(tmp_path: Path) -> None:
    trial = made(ledger=Ledger(tmp_path / "b.db", cap=Pure(3.0)))
    with pytest.raises(TrialError, match="without a ledger"):
        trial.weights()


@pytest.mark.parametrize("estimate", [False, True])
@pytest.mark.parametrize("where", ["memory", "file"])
def test_other_people_with_the_same_releases_see_the_same(
    estimate: bool, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two worlds, alike but for what people answer, whether they do, and who withdraws: weights,
    arms, places, reports, draws and sizes of files are the same."""
    drawn: list[int] = []
    coin, keys = random.Random(), random.Random()

    def laplace(scale: float, rng: None) -> int:
        drawn.append(1)
        return 0

    monkeypatch.setattr("discreet.privacy._secure.laplace", laplace)
    monkeypatch.setattr(SystemRandomness, "below", lambda self, most: coin.randrange(most))
    monkeypatch.setattr(SystemRandomness, "random", lambda self: coin.random())
    monkeypatch.setattr("discreet.live._curator.new_key", lambda: keys.randbytes(32).hex())
    monkeypatch.setattr(Run, "completed", lambda self, block, default: [0] * len(block.places))
    monkeypatch.setattr(PairRun, "completed", lambda self, block, default: (0, 0))

    def world(people: int) -> list[Any]:
        coin.seed(1)
        keys.seed(2)
        drawn.clear()
        private, seen, clock = random.Random(people), list[Any](), Clock()
        path = None if where == "memory" else tmp_path / f"{people}-{estimate}.db"
        missing = "estimate" if estimate else 0.0
        corrects = {"conflicts": "ignore", "corrections": "deadline"}
        with made(clock=clock, path=path, missing=missing, **corrects) as trial:
            for step in range(12):
                weights = trial.weights()
                mine = shown(weights, 8, 8 * step)
                many = trial.exposed(mine)
                for name, *_ in mine:
                    for act in (trial.record, trial.correct):
                        if private.random() < 0.5:
                            act(name, private.random())
                    if private.random() < 0.3:
                        trial.withdraw(name)
                clock.now += 3.0
                seen.append((weights, many, trial.report(), str(trial), len(drawn)))
                if path is not None and step < 3:  # nothing is released yet
                    seen.append(sizes(path))
            seen.append([{**entry, "chain": ""} for entry in trial.log(verify=True)])
        return seen

    assert world(1) == world(2)
    assert drawn


def sizes(path: Path) -> dict[str, int]:
    """Rows of all tables, and pages."""
    with closing(sqlite3.connect(path)) as file:
        names = [
            name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        found = {name: file.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
        return found | {"pages": file.execute("PRAGMA page_count").fetchone()[0]}


def test_the_two_worlds_find_weights_that_look_at_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that follow raw outcomes differ between people."""
    from discreet.live import _curator as curator

    def leaking(run: Any) -> list[int]:
        return [1 + len(trial._store.blocks[key].outcomes) for key in sorted(trial._store.blocks)]

    monkeypatch.setattr(curator, "parts_of", leaking)
    monkeypatch.setattr(curator, "standing_of", lambda run: [object.__hash__(run), random.random()])
    found = []
    for answers in (False, True):
        with made() as trial:
            for unit in range(12):
                trial.assign(unit)
                if answers:
                    trial.record(unit, 1.0)
            found.append(trial.weights().parts)
    assert found[0] != found[1]
