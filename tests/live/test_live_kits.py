"""Kits: arms behind codes, each used once, opened by name and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock

import discreet
from discreet.errors import InvalidArgument, TrialError, UnknownUnit, Withdrawn
from discreet.live import Assignment, Strata, Trial

pytestmark = pytest.mark.usefixtures("no_sync")
KITS = {"drug": [f"K{n}" for n in range(100, 130)], "placebo": [f"K{n}" for n in range(200, 230)]}


def made(path: Any = None, clock: Clock | None = None, **options: Any) -> Trial:
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5, first=1)
    kits = options.pop("kits", KITS)
    return Trial(
        row, ["drug", "placebo"], deadline=10.0, missing=0.0, path=path, clock=clock or Clock(),
        assignment=Assignment(window=2, kits=kits), **options,
    )  # fmt: skip


@pytest.mark.parametrize("where", ["memory", "file"])
def test_every_unit_has_a_kit_of_its_own(where: str, tmp_path: Path) -> None:
    clock, path = Clock(), None if where == "memory" else tmp_path / "t.db"
    trial = made(path, clock)
    codes = [trial.assign(unit) for unit in range(20)]
    codes += trial.assign_many([20, 21])
    assert len(set(codes)) == 22
    assert {*codes} <= {code for kits in KITS.values() for code in kits}
    for unit in range(22):
        arm = trial.unblind(unit, by="Dr. Weber", reason="test")
        assert codes[unit] in KITS[str(arm)]
    if path is not None:
        trial.close()
        trial = Trial.load(path, clock=clock)
    assert [trial.assign(unit) for unit in range(22)] == codes
    with pytest.raises(InvalidArgument):
        trial.assign_many([22, 23, True])
    trial.close()


def test_reports_name_no_arm() -> None:
    clock = Clock()
    with made(clock=clock) as trial:
        for unit in range(12):
            trial.assign(unit)
            trial.record(unit, 1.0)
        clock.now += 10.0
        text = f"{trial.report()} {trial} {trial!r} {trial.public_record()}"
        assert "drug" not in text
        assert "placebo" not in text
        assert {row["arm"] for row in trial.report()["arms"] or ()} == {"arm 1", "arm 2"}
        trial.drop("arm 1", by="board")  # by its name in reports
        dropped = [row["arm"] for row in trial.report()["arms"] or () if not row["active"]]
        assert dropped == ["arm 1"]


def test_opening_a_code_needs_a_name_and_a_reason_and_is_in_the_trail() -> None:
    with made() as trial:
        code = trial.assign("p")
        before = len(trial.log())
        for by, reason in (("", "why"), ("who", "")):
            with pytest.raises(InvalidArgument, match="must be said"):
                trial.unblind("p", by=by, reason=reason)
        assert len(trial.log()) == before
        trial.unblind("p", by="Dr. Weber", reason="allergic reaction")
        entry = trial.log(verify=True)[-1]
        assert (entry["what"], entry["kit"], entry["by"]) == ("unblinded", code, "Dr. Weber")
        assert "'p'" not in str(entry)
        with pytest.raises(UnknownUnit):
            trial.unblind("q", by="x", reason="y")


@pytest.mark.parametrize("where", ["memory", "file"])
def test_an_empty_stock_is_an_error_before_a_place_is_taken(where: str, tmp_path: Path) -> None:
    """Whichever arm would be drawn: else asking again would draw another."""
    path = None if where == "memory" else tmp_path / "t.db"
    with made(path, kits={"drug": ["a", "b"], "placebo": ["c"]}) as trial:
        for unit in range(3):
            try:
                trial.assign(unit)
            except TrialError:
                break
        assigned = trial.report()["assigned"]
        for _ in range(20):
            with pytest.raises(TrialError, match="no kit left for 'arm"):
                trial.assign("new")
        with pytest.raises(TrialError):
            trial.assign_many(["new", "other"])
        assert trial.report()["assigned"] == assigned
        assert "new" not in trial
        with pytest.raises(InvalidArgument, match="every kit is used once"):
            trial.restock({"drug": ["c"]})
        trial.restock({"drug": ["d"], "placebo": ["e"]}, by="pharmacy")
        assert str(trial.assign("new")) in "abcde"
        assert trial.log(verify=True)[-1]["what"] == "kits added"


@pytest.mark.parametrize("where", ["memory", "file"])
def test_an_assignment_that_is_taken_back_uses_no_kit(where: str, tmp_path: Path) -> None:
    path = None if where == "memory" else tmp_path / "t.db"
    with made(path, horizon=3) as trial:
        with pytest.raises(TrialError, match="horizon"):
            trial.assign_many([1, 2, 3, 4])
        left = [trial._store.people.left(arm) for arm in range(2)]
        assert left == [30, 30]
        assert len({*trial.assign_many([1, 2, 3])}) == 3


def test_a_kit_does_not_keep_the_name_of_somebody_who_has_withdrawn(tmp_path: Path) -> None:
    clock = Clock()
    with made(tmp_path / "t.db", clock) as trial:
        trial.assign("participant-17")
        trial.withdraw("participant-17")
        clock.now += 10.0
        trial.settle()
        with pytest.raises(Withdrawn):
            trial.assign("participant-17")
        rows = trial._store.people.base.run("SELECT unit FROM kits").fetchall()  # type: ignore[attr-defined]
        assert not [unit for (unit,) in rows if unit and "participant" in unit]


def test_plans_that_are_refused() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="be left out by stratum"):
        Strata(row, ["men", "women"], ["drug", "placebo"], assignment=Assignment(kits=KITS))
    for wrong, words in (
        ({"drug": ["K1"], "placebo": ["K1"]}, "every code once"),
        ({"other": ["K1"]}, "codes for arms"),
        ({"drug": "K1"}, "lists of texts"),
        (["K1"], "codes for arms"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            made(kits=wrong)
    with made(kits=None) as plain:
        plain.assign("p")
        with pytest.raises(TrialError, match="has no kits"):
            plain.unblind("p", by="x", reason="y")
