"""Budgets across trials: charged before the place, never given back, never beyond the cap."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock

import discreet
from discreet.errors import DamagedFile, InvalidArgument, OverBudget, TrialError
from discreet.live import Assignment, Ledger, Outcomes, Strata, Trial
from discreet.privacy import ZCDP, Pure

pytestmark = pytest.mark.usefixtures("no_sync")


def trial_of(ledger: Ledger, epsilon: float = 0.5, path: Any = None, **options: Any) -> Trial:
    row = discreet.policy("dp-imed", epsilon=epsilon, ratio=1.5, first=1)
    return Trial(
        row, ["A", "B"], deadline=10.0, missing=0.0, clock=Clock(), path=path,
        assignment=Assignment(ledger=ledger, beyond=options.pop("beyond", None)), **options,
    )  # fmt: skip


def test_prices_add_up_exactly_and_never_pass_the_cap(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(0.3))
    for _ in range(3):  # as floats 0.1 + 0.1 + 0.1 > 0.3
        assert trial_of(ledger, 0.1).assign("p") in ("A", "B")
    assert ledger.spent("p") == {"epsilon": 0.3}
    last = trial_of(ledger, 1e-6)
    with pytest.raises(OverBudget, match="nothing was charged"):
        last.assign("p")
    assert last.report()["assigned"] == 0
    assert "p" not in last
    assert last.assign("q") in ("A", "B")


def test_a_trial_is_paid_once_and_nothing_comes_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(2.0))
    with trial_of(ledger, 0.5, outcomes=Outcomes(contributions=3)) as trial:
        arm = trial.assign("p")
        assert trial.assign("p") == arm
        assert ledger.spent("p") == {"epsilon": 1.5}  # of all that it may contribute
        trial.withdraw("p")
        trial._clock.now += 10.0  # type: ignore[attr-defined]
        trial.assign("q")
        assert ledger.spent("p") == {"epsilon": 1.5}


def test_whoever_has_no_budget_left_may_get_an_arm_without_a_place(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(0.5))
    trial_of(ledger).assign("p")
    for path in (None, tmp_path / "t.db"):
        twice = Outcomes(contributions=2)
        with trial_of(ledger, 0.25, path=path, beyond="B", outcomes=twice) as trial:
            assert [trial.assign("p"), trial.assign("p")] == ["B", "B"]
            assert trial.rounds == 0
            trial.record("p", 1.0)  # not used
            assert ledger.spent("p") == {"epsilon": 0.5}
            assert not trial.withdraw("p").released
    with pytest.raises(InvalidArgument, match="beyond must be an arm"):
        trial_of(ledger, beyond="C")


def test_kinds_of_budgets_have_caps_of_their_own(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=[Pure(1.0), ZCDP(0.5)])
    row = discreet.policy("adac-ucb", rho=0.5)
    rho = Trial(row, 2, deadline=9.0, missing=0.0, clock=Clock(),
                assignment=Assignment(ledger=ledger))  # fmt: skip
    rho.assign("p")
    trial_of(ledger, 1.0).assign("p")
    assert ledger.spent("p") == {"epsilon": 1.0, "rho": 0.5}
    only = Ledger(tmp_path / "only.db", cap=Pure(1.0))
    for dear in (row, discreet.policy("dp-imed", epsilon=2.0)):
        with pytest.raises(InvalidArgument, match="have a cap"):
            Trial(dear, 2, assignment=Assignment(ledger=only))
    for wrong in (Pure(1e9), [Pure(1.0), Pure(2.0)], [], 3.0):
        with pytest.raises(InvalidArgument, match="cap must be"):
            Ledger(tmp_path / "wrong.db", cap=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "wrong.db").exists()


def test_the_file_of_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    with pytest.raises(InvalidArgument, match="cap must be given"):
        Ledger(path)
    ledger = Ledger(path, cap=Pure(1.0))
    trial_of(ledger).assign("patient-12345")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"patient-12345" not in path.read_bytes()
    assert Ledger(path).spent("patient-12345") == {"epsilon": 0.5}
    with pytest.raises(InvalidArgument, match="which was fixed"):
        Ledger(path, cap=Pure(2.0))
    (tmp_path / "other.db").write_bytes(b"something else" * 100)
    with pytest.raises(DamagedFile):
        Ledger(tmp_path / "other.db")
    assert {p.name for p in tmp_path.iterdir()} == {"b.db", "other.db"}


def test_a_trial_finds_its_ledger_again(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "b.db", cap=Pure(1.0))
    with trial_of(ledger, path=tmp_path / "t.db") as trial:
        trial.assign("p")
    with Trial.load(tmp_path / "t.db", clock=clock) as trial:
        trial.assign("q")
    ledger.close()
    (tmp_path / "b.db").rename(tmp_path / "moved.db")
    with Trial.load(tmp_path / "t.db", clock=clock) as trial:
        trial.assign("p")
        with pytest.raises(TrialError, match="ledger of this trial is not where it was"):
            trial.assign("r")
        assert trial.report()["assigned"] == 2
    moved = Ledger(tmp_path / "moved.db")
    with Trial.load(tmp_path / "t.db", clock=clock, ledger=moved) as trial:
        trial.assign("r")
        assert moved.spent("r") == {"epsilon": 0.5}
    other = Ledger(tmp_path / "other.db", cap=Pure(1.0))
    with pytest.raises(InvalidArgument, match="planned with"):
        Trial.load(tmp_path / "t.db", clock=clock, ledger=other)


def test_strata_are_one_trial_in_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(1.0))
    row = discreet.policy("dp-imed", epsilon=0.5)
    with Strata(row, ["men", "women"], 2, assignment=Assignment(ledger=ledger)) as trial:
        trial.assign("p", "men")
        assert ledger.spent("p") == {"epsilon": 0.5}
        names = {one._care.charged for one in trial._trials.values()}
        assert len(names) == 1


RACE = """
import sys
import discreet
from discreet.live import Assignment, Ledger, Trial
ledger = Ledger(sys.argv[1])
paid = 0
for number in range(40):
    row = discreet.policy("dp-imed", epsilon=0.5, ratio=1.5)
    trial = Trial(row, 2, assignment=Assignment(ledger=ledger))
    for unit in range(3):
        try:
            trial.assign(unit)
            paid += 1
        except discreet.errors.OverBudget:
            pass
print(paid)
"""


def test_two_processes_at_once_never_pass_the_cap(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(10.0))
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(ledger.path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    paid = [int(process.communicate(timeout=60)[0]) for process in racing]
    assert sum(paid) == 3 * 20
    assert [ledger.spent(unit)["epsilon"] for unit in range(3)] == [10.0] * 3


KILLED = """
import os, signal, sys
import discreet
from discreet.live import Trial
from discreet.live.stores import SqliteStore
trial = Trial.load(sys.argv[1])
SqliteStore.assign = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
trial.assign("p")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
def test_a_kill_between_charge_and_place_costs_a_charge_and_gives_no_place(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(1.0))
    row = discreet.policy("dp-imed", epsilon=0.5)
    assignment = Assignment(ledger=ledger)
    Trial(row, 2, path=tmp_path / "t.db", assignment=assignment).close()
    for _ in range(3):
        died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "t.db")], check=False)
        assert died.returncode == -signal.SIGKILL
        assert ledger.spent("p") == {"epsilon": 0.5}
    with Trial.load(tmp_path / "t.db") as trial:
        assert trial.report()["assigned"] == 0
        trial.assign("p")
        assert trial.report()["assigned"] == 1
    assert ledger.spent("p") == {"epsilon": 0.5}
    with closing(sqlite3.connect(tmp_path / "b.db")) as file:
        assert file.execute("SELECT count(*) FROM spent").fetchone() == (1,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_opens_the_ledger_itself(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", cap=Pure(1.0))
    ledger._process = -1
    with pytest.raises(TrialError, match="after the fork"):
        ledger.spent("p")
