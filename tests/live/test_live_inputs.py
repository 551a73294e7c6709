"""What a trial is told: outcomes of two values, names that can be read, objects of other people's
classes. Whatever is refused changes nothing, and shows no outcome."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

import discreet
from discreet.errors import InvalidArgument, shown
from discreet.live._tables import as_csv
from discreet.report._live_page import trial_report


def row() -> discreet.Policy:
    made: discreet.Policy = discreet.policy("dp-imed", epsilon=1.0, first=1)
    return made


# --- outcomes of two values -----------------------------------------------------------------------


@pytest.mark.parametrize(("ends", "between"), [((0.0, 1.0), 0.5), ((-1.0, 3.0), 0.25)])
def test_binary_outcomes_are_the_ends_of_the_range(
    ends: tuple[float, float], between: float
) -> None:
    """Intervals rest on it."""
    with discreet.Trial(row(), 2, outcomes=discreet.Outcomes(binary=True, range=ends)) as trial:
        trial.assign("p")
        before = trial.report()
        for wrong in (between, ends[0] + 1e-12, 0.999_999_9):
            with pytest.raises(InvalidArgument, match=f"be {ends[0]:g} or {ends[1]:g}") as refused:
                trial.record("p", wrong)
            assert str(wrong) not in str(refused.value)
        assert trial.report() == before
        trial.record("p", ends[1])
        assert trial.report()["releases"] == 1
    with discreet.Trial(row(), 2, outcomes=discreet.Outcomes(range=ends)) as trial:
        trial.assign("p")
        trial.record("p", between)


def test_a_missing_binary_outcome_counts_as_one_of_the_two() -> None:
    for wrong in (0.5, 2.0):
        with pytest.raises(InvalidArgument, match="missing must be 0 or 1, like every outcome"):
            discreet.Trial(
                row(), 2, deadline="9 s", missing=wrong, outcomes=discreet.Outcomes(binary=True)
            )
    discreet.Trial(
        row(), 2, deadline="9 s", missing=1.0, outcomes=discreet.Outcomes(binary=True)
    ).close()


def test_binary_outcomes_are_refused_with_contexts() -> None:
    linear = discreet.policy("adac-oful", rho=0.5)
    with pytest.raises(InvalidArgument, match="binary must be left out with contexts"):
        discreet.Trial(
            linear,
            2,
            horizon=100,
            features=discreet.Features(dimension=2),
            outcomes=discreet.Outcomes(binary=True),
        )


# --- names ----------------------------------------------------------------------------------------

ILLEGIBLE = ["", "  ", "a\nb", "a\tb", "a\x00", "a\x1b[31m", "a\u2028b", "a\ud800", "\u0085"]


@pytest.mark.parametrize("name", ILLEGIBLE)
def test_names_that_cannot_be_read_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="arms must have names of one line") as refused:
        discreet.Trial(row(), ["A", name])
    str(refused.value).encode()  # the message itself can be written
    with pytest.raises(InvalidArgument, match="strata must have names of one line"):
        discreet.Strata(row(), ["men", name], 2)
    with discreet.Trial(row(), 2) as trial:
        with pytest.raises(InvalidArgument, match="arms must have names of one line"):
            trial.add(name)
        assert trial.arms == (0, 1)


def test_names_of_every_script_are_taken() -> None:
    with discreet.Trial(row(), ["Größe 1 µg", "プラセボ", "نص", "<b>&</b>"]) as trial:
        assert "&lt;b&gt;" in trial_report(trial.report()).html()


def test_no_cell_of_a_table_is_a_formula() -> None:
    names = ["=1+1", "+1", "-1", "@sum", "plain"]
    with discreet.Trial(row(), names, outcomes=discreet.Outcomes(range=(-1.0, 1.0))) as trial:
        for unit in range(20):
            trial.assign(unit)
            trial.record(unit, -1.0)
        report = trial.report()
    for table in ("arms", "releases"):
        for line in csv.DictReader(io.StringIO(as_csv(report, table))):
            assert line["arm"] in {"'=1+1", "'+1", "'-1", "'@sum", "plain"}
            float(line["mean"])  # numbers stay what they are, below 0 too


# --- objects of other people's classes ------------------------------------------------------------


class Answer:
    """What somebody's program holds of a participant."""

    def __repr__(self) -> str:
        return "Answer(outcome=0.123456)"


class Broken:
    """It cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("outcome=0.123456")


class Late(float):
    """A number with more to say."""

    def __repr__(self) -> str:
        return "Late(0.123456)"


@pytest.mark.parametrize("value", [Answer(), Broken(), Late(7.5), [Answer()], {"a": (Broken(),)}])
def test_of_a_foreign_object_the_type_alone_is_shown(value: Any) -> None:
    calls: list[Any] = [
        lambda: discreet.Trial(row(), value),
        lambda: discreet.Trial(row(), 2, outcomes=discreet.Outcomes(range=value)),
        lambda: discreet.Trial(row(), 2, horizon=value, deadline="9 s", missing=value),
        lambda: discreet.Trial(value, 2),
        lambda: discreet.Trial(row(), 2).drop(value),
        lambda: discreet.Trial(row(), 2).assign(value),
        lambda: discreet.Trial.load(value),
    ]
    for call in calls:
        with pytest.raises((InvalidArgument, discreet.errors.TrialError)) as refused:
            call()
        assert type(value).__name__ in str(refused.value)
        assert "0.123456" not in str(refused.value)


def test_what_is_known_is_shown_as_it_is() -> None:
    import numpy as np

    for value in (None, 1.5, "a", [1, "b"], {"a": (1, 2)}, np.float64(2.0), np.arange(2), row()):
        assert shown(value) == repr(value)
    assert shown(np.array([Answer()])) == "a value of type ndarray"
    deep: list[Any] = []
    deep.append(deep)
    assert shown(deep) == "a value of type list"
