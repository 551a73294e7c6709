"""What trials show is of the types that `discreet.live._documents` states."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import discreet
from discreet.live._arguments import grouped
from discreet.live._documents import ArmReport, Estimate, Report


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of a type, keys of its dictionaries included."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict) or not kind.__required_keys__ <= set(value) <= set(hints):
            return False
        return all(fits(entry, hints[name]) for name, entry in value.items())
    if get_origin(kind) in (Union, UnionType):
        return any(fits(value, one) for one in get_args(kind))
    if get_origin(kind) is list:
        return isinstance(value, list) and all(fits(entry, *get_args(kind)) for entry in value)
    if get_origin(kind) is dict:
        name, entry = get_args(kind)
        return isinstance(value, dict) and all(
            fits(k, name) and fits(v, entry) for k, v in value.items()
        )
    if kind is float:
        return type(value) in (int, float)
    return value is None if kind is NoneType else kind is object or type(value) is kind


def rehearsed(name: str, arms: int = 2, **options: Any) -> discreet.Rehearsal:
    row = discreet.policy(name, epsilon=1.0, goal="identify" if "risk" in options else None)
    options.setdefault("default", "estimate")
    return discreet.Rehearsal(row, arms, arrivals=20, delay=5.0, seed=1, **grouped(options))


REHEARSALS: dict[str, Any] = {
    "estimated": lambda: rehearsed("dp-imed", horizon=80, missing=0.2),
    "declared": lambda: rehearsed("dp-imed", horizon=80, default=0.0, window=6),
    "trend": lambda: rehearsed("dp-imed", 3, horizon=150, default=0.0, trend=True),
    "race": lambda: rehearsed("race", horizon=60, default=0.0, risk=0.1),
}


@pytest.mark.parametrize("kind", REHEARSALS)
def test_reports_of_streams(kind: str) -> None:
    rehearsal = REHEARSALS[kind]()
    assert fits(rehearsal.trial.report(), Report)
    assert fits(rehearsal.play(discreet.Bernoulli([0.8, 0.3, 0.2][: len(rehearsal.arms)])), Report)
    seen = {name for arm in rehearsal.trial.report()["arms"] for name in arm}
    assert {"mean", "waiting", "active"} <= seen <= set(get_type_hints(ArmReport))


def test_reports_of_single_batches_and_of_strata() -> None:
    row = discreet.policy("adap-klucb", epsilon=1.0)
    trial = discreet.Strata(
        row, ["one", "two"], ["A", "B"], assignment=discreet.Assignment(streams=False)
    )
    for unit in range(8):
        trial.assign(unit, "one")
        trial.record(unit, float(unit % 2))
    report = trial.report()
    assert fits(report, Report)
    assert report["strata"][0]["batch"]["arm"] in ("A", "B")


@pytest.mark.parametrize(("name", "shown"), [("adac-oful", True), ("jdp-linucb", False)])
def test_reports_of_contexts(name: str, shown: bool) -> None:
    trial = discreet.Trial(
        discreet.policy(name, rho=0.5), ["A", "B"], 50, features=discreet.Features(dimension=2)
    )
    for unit in range(6):
        trial.assign(unit, [[1.0, 0.0], [0.0, 1.0]])
        trial.record(unit, 0.5)
    report = trial.report()
    assert fits(report, Report)
    assert (report["arms"] is not None) is shown
    assert fits(trial.estimates([[1.0, 0.0], [0.0, 1.0]]), list[Estimate])


@pytest.mark.parametrize(
    "wrong",
    [{"policy": 1}, {"surprise": 1}, {"arms": [{"mean": "x"}]}, {"course": [{"time": 0.0}]}],
)
def test_what_is_of_another_type_does_not_fit(wrong: dict[str, object]) -> None:
    assert not fits(wrong, Report)
