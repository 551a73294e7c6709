"""Runs that are shared between figures, and how much the quick scale asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.policies import EachRound
from discreet.studies import Lab, Panel, Size, all_figures, figure
from discreet.studies._cache import CACHE, Cache, bytes_of

TINY = Size(2_000, 2, 10)


@dataclass
class Made:
    """A result of some kilobytes."""

    name: str
    numbers: Any = field(default_factory=lambda: np.zeros(128))


def made(cache: Cache[Made], *keys: str) -> list[str]:
    """What had to be run."""
    ran: list[str] = []

    def run(missing: list[int]) -> list[Made]:
        ran.extend(keys[place] for place in missing)
        return [Made(keys[place]) for place in missing]

    results = cache.filled(keys, run)
    assert [result.name for result in results] == list(keys)
    return ran


def test_only_what_is_missing_is_run_and_the_order_is_kept() -> None:
    cache: Cache[Made] = Cache()
    assert made(cache, "a", "b") == ["a", "b"]
    assert made(cache, "c", "b", "d", "a") == ["c", "d"]
    assert made(cache, "a", "b", "c", "d") == []
    cache.clear()
    assert made(cache, "a") == ["a"]


def test_the_oldest_go_first_and_large_ones_are_not_kept() -> None:
    assert bytes_of(Made("a")) == 1024
    cache: Cache[Made] = Cache(most=2 * 1024)
    made(cache, "a", "b")
    made(cache, "a")
    made(cache, "c")
    assert len(cache) == 2
    assert made(cache, "a", "c") == []
    assert made(cache, "b") == ["b"]
    small: Cache[Made] = Cache(large=1023)
    assert made(small, "a") == made(small, "a") == ["a"]


def test_an_interrupted_run_leaves_nothing() -> None:
    cache: Cache[Made] = Cache()

    def stopped(missing: list[int]) -> Any:
        yield Made("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.filled(["a", "b"], stopped)
    assert len(cache) == 0


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all policies that are simulated from now on."""
    import discreet.linear
    import discreet.simulator

    names: list[str] = []
    for module in (discreet.simulator, discreet.linear):
        whole: Any = module.compare

        def noted(rows: Any, *arguments: Any, whole: Any = whole, **options: Any) -> Any:
            names.extend(row.name for row in rows)
            return whole(rows, *arguments, **options)

        monkeypatch.setattr(module, "compare", noted)
    return names


def test_figures_share_their_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = counted(monkeypatch)
    first = figure("azize2022", "2").run(TINY, seed=1, progress=False)
    assert len(names) == 5
    same = figure("thesis2024", "5.2").run(TINY, seed=1, progress=False)
    assert len(names) == 5
    assert same.panels[0]["DP-SE"] is first.panels[0]["DP-SE"]
    figure("azize2022", "5").run(TINY, seed=1, progress=False)
    assert len(names) == 5 + 15  # three budgets more
    names.clear()
    figure("thesis2024", "5.5").run(TINY, seed=1, progress=False)
    assert names.count("not private") == 1


def test_pieces_are_the_same_runs_and_are_played_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart plays only what is missing, and every number is the one without pieces."""
    from discreet.sweeps import _pool as pool

    whole = pool.play
    played: list[str] = []

    def noted(piece: Any, *more: Any) -> Any:
        played.append(piece.cell.policy.name)
        return whole(piece, *more)

    def again(pieces: Path | None) -> Any:
        CACHE.clear()
        played.clear()
        return figure("azize2022", "2").run(TINY, seed=1, threads=1, progress=False, pieces=pieces)

    monkeypatch.setattr(pool, "play", noted)
    plain, kept = again(None), again(tmp_path)
    assert len(played) == 5 * 2  # five curves of two runs each
    next(iter(sorted(tmp_path.glob("*.parquet")))).unlink()
    restarted = again(tmp_path)
    assert len(played) == 1
    for other in (kept, restarted):
        assert [f.to_dict() for f in other.findings] == [f.to_dict() for f in plain.findings]
        for curve in plain.panels[0].comparison:
            np.testing.assert_array_equal(curve.regret, other.panels[0][curve.name].regret)


def test_other_settings_are_other_runs() -> None:
    curves, environment = {"x": discreet.policy("ucb1")}, discreet.Bernoulli([0.4, 0.5])

    def result(
        size: Size = TINY, seed: int = 1, label: str = "x", environment: Any = environment
    ) -> Any:
        return Lab(size, seed, 1, False).compare("s", {label: curves["x"]}, environment)[label]

    base = result()
    assert result() is base
    others = [
        result(seed=2), result(label="y"), result(environment=discreet.Bernoulli([0.5, 0.4])),
        result(Size(2_001, 2, 10)), result(Size(2_000, 3, 10)), result(Size(2_000, 2, 11)),
    ]  # fmt: skip
    assert all(other is not base for other in others)
    assert len(CACHE) == 7
    assert others[1].name == "y"


@dataclass(frozen=True)
class Plan(Lab):
    """A lab that adds up arms × rounds × runs of the policies that decide every round."""

    work: Any = None

    def compare(self, setting: str, curves: Any, environment: Any, **options: Any) -> Panel:
        rounds = (options.get("horizon") or self.size.horizon) * environment.arms
        each = [row for row in curves.values() if isinstance(row.schedule, EachRound)]
        self.work.append(len(each) * rounds * (options.get("runs") or self.size.runs))
        return Panel(setting, discreet.simulator.Comparison(()), {})


REGRETS = ("azize2022", "ren2020", "wang2024")
"""Studies whose time is that of policies which decide every round."""


def planned(scale: str) -> float:
    work: list[float] = []
    for entry in all_figures(REGRETS):
        entry.panels(Plan(entry.size(scale), work=work))
    return sum(work)


def test_the_planned_work_of_a_scale() -> None:
    """Arm-rounds, of the order of 5 ns each: 4.8e9 and 4.6e11 when this was written."""
    assert planned("quick") < 5.5e9
    assert planned("full") < 5.5e11
