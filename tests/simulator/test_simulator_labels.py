"""Labels, settings as columns, summaries: results that are grouped and read without guessing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import DiscreetError, InvalidArgument
from discreet.policies import IMED, Doubling, Exact, Policy

TWO = discreet.Bernoulli([0.75, 0.5])
THREE = discreet.Bernoulli([0.75, 0.5, 0.25])


@pytest.fixture(scope="module")
def study() -> discreet.Comparison:
    rows = [
        discreet.policy("imed"),
        discreet.policy("dp-imed", epsilon=0.1),
        discreet.policy("dp-imed", epsilon=1.0),
        discreet.policy("dp-imed", epsilon=1.0, ratio=1.5),
        discreet.policy("dp-imed", epsilon=1.0, ratio=3.0, label="ours"),
    ]
    return discreet.compare(rows, TWO, horizon=500, runs=6, seed=4, points=10)


def test_distinct_rows_never_share_a_label(study: discreet.Comparison) -> None:
    assert study.labels == [
        "imed", "dp-imed ε=0.1", "dp-imed ε=1", "dp-imed ε=1, ratio=1.5", "ours",
    ]  # fmt: skip
    assert [result.name for result in study] == ["imed", *["dp-imed"] * 4]
    assert study["ours"] is study[4]
    with pytest.raises(KeyError):
        study["theirs"]
    table = study.table()
    assert set(table.column("policy").to_pylist()) == set(study.labels)
    assert set(table.column("row").to_pylist()) == {"imed", "dp-imed"}


def test_labels_that_clash_and_composed_rows_are_told_apart(study: discreet.Comparison) -> None:
    same = [
        replace(study[1], policy=study[1].policy | {"label": "x"}),
        replace(study[2], policy=study[2].policy | {"label": "x"}),
    ]
    assert discreet.Comparison(tuple(same)).labels == ["x ε=0.1", "x ε=1"]
    assert discreet.Comparison((study[0], study[0])).labels == ["imed", "imed (2)"]
    mine = [
        Policy("mine", Doubling(), Exact(), IMED()),
        Policy("mine", Doubling(), Exact(), Other()),
    ]
    labels = discreet.compare(mine, TWO, horizon=100, runs=1, seed=1).labels
    assert len(set(labels)) == 2


class Other(IMED):
    """Another rule of the same kernel."""

    def __str__(self) -> str:
        return "other"


@pytest.mark.parametrize("label", [" x", 3])
def test_labels_are_text(label: Any) -> None:
    with pytest.raises(InvalidArgument, match="label must be text"):
        discreet.policy("ucb1", label=label)


def test_labels_do_not_change_a_row() -> None:
    row = discreet.policy("adap-tt", epsilon=1.0, label="mine")
    assert row == discreet.policy("adap-tt", epsilon=1.0)
    assert row.at(0.1).label == "mine"
    assert "label" not in row.recipe
    assert discreet.policy("adac-oful", rho=1.0, label="mine").label == "mine"


def test_settings_are_columns(study: discreet.Comparison) -> None:
    lines = study.table().select(["policy", "epsilon", "ratio", "environment", "arms", "horizon"])
    first = {line["policy"]: line for line in reversed(lines.to_pylist())}
    assert first["imed"]["epsilon"] is None
    assert first["imed"]["ratio"] is None
    assert first["dp-imed ε=0.1"] == {
        "policy": "dp-imed ε=0.1",
        "epsilon": 0.1,
        "ratio": 2.0,
        "environment": "bernoulli",
        "arms": 2,
        "horizon": 500,
    }
    assert first["ours"]["ratio"] == 3.0


def test_problems_with_two_and_three_arms_are_saved_and_loaded(tmp_path: Path) -> None:
    rows = [discreet.policy("ucb1")]
    both = discreet.Comparison(
        tuple(
            discreet.compare(rows, environment, horizon=h, runs=3, seed=1, points=5)[0]
            for environment, h in ((TWO, 100), (THREE, 200))
        )
    )
    assert both.labels == ["ucb1"]
    table = both.table()
    lines = table.to_pylist()
    assert {line["problem"] for line in lines} == {
        "bernoulli(0.75, 0.5)", "bernoulli(0.75, 0.5, 0.25)",
    }  # fmt: skip
    assert {(line["arms"], line["pulls_2"] is None) for line in lines} == {(2, True), (3, False)}
    back = discreet.load(both.save(tmp_path / "both.parquet"))
    for one, other in zip(both, back, strict=True):
        assert np.array_equal(one.pulls, other.pulls)
        assert np.array_equal(one.regret, other.regret)
        assert one.summary() == other.summary()
    (legend,) = both.plot().legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(set(labels)) == 2


def test_what_cannot_be_loaded_is_refused_before_it_is_written(
    study: discreet.Comparison, tmp_path: Path
) -> None:
    torn = replace(study[0], regret=study[0].regret[:, :-1])
    with pytest.raises((InvalidArgument, pa.ArrowInvalid)):
        discreet.Comparison((torn, study[1])).save(tmp_path / "torn.parquet")
    with pytest.raises(InvalidArgument, match="at least one"):
        discreet.Comparison(()).save(tmp_path / "none.parquet")
    uneven = replace(study[0], run=np.repeat(study[0].run, 2)[: study[0].runs])
    discreet.Comparison((uneven,)).save(tmp_path / "even.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["even.parquet"]


def test_summaries_have_errors_quantiles_and_paired_differences(
    study: discreet.Comparison,
) -> None:
    summary = json.loads(json.dumps(study.summary(), allow_nan=False))
    final = study[1].final_regret
    figures = summary[1]["regret"]
    assert figures["error"] == pytest.approx(final.std(ddof=1) / 6**0.5)
    assert figures["quantiles"]["0.5"] == pytest.approx(np.median(final))
    paired = final - study[0].final_regret
    (found,) = [d for d in summary[1]["differences"] if d["to"] == "imed"]
    assert found["mean"] == pytest.approx(paired.mean())
    assert found["error"] == pytest.approx(paired.std(ddof=1) / 6**0.5)
    assert [d["policy"] for d in study.differences()] == study.labels[1:]
    assert [d["policy"] for d in study.differences(to="ours")] == study.labels[:-1]
    with pytest.raises(InvalidArgument, match="to must be one of imed"):
        study.differences(to="theirs")


def test_differences_pair_runs_of_one_number(study: discreet.Comparison) -> None:
    some = np.array([0, 2, 5])
    part = replace(study[1], run=some, regret=study[1].regret[some], counted=study[1].pulls[some])
    (found,) = discreet.Comparison((study[0], part)).differences()
    assert found["runs"] == 3
    assert found["mean"] == pytest.approx(
        (study[1].final_regret - study[0].final_regret)[some].mean()
    )


def test_printed_results_are_short(study: discreet.Comparison) -> None:
    assert len(repr(study)) < 700
    many = discreet.Comparison(study.results * 10)
    assert len(repr(many).splitlines()) == 22
    assert "30 more" in repr(many)
    page = study._repr_html_()
    assert page.count("<tr>") == 6
    assert "dp-imed ε=0.1" in page
    assert "<table>" in study[0]._repr_html_()
    unsafe = replace(study[0], policy=study[0].policy | {"label": "<b>"})
    assert "&lt;b&gt;" in unsafe._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_missing_libraries_are_named(
    study: discreet.Comparison, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DiscreetError, match=f"{library} is not installed; .*to_arrow"):
        getattr(study, f"to_{library}")()
    assert study.to_arrow().equals(study.table())


def test_data_frames_group_without_guessing(study: discreet.Comparison) -> None:
    pandas = pytest.importorskip("pandas")
    frame = study.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame.groupby("policy", observed=True)["regret"].mean()) == 5


def test_quantile_bands_and_bounds_can_be_told_apart(study: discreet.Comparison) -> None:
    bounds = {f"bound {k}": (lambda t, k=k: k * np.log(t)) for k in range(1, 7)}
    (axes,) = study.plot(band="quantiles", bounds=bounds).axes
    assert len(axes.collections) == 2 * len(study)
    looks = {(str(line._dash_pattern), line.get_color()) for line in axes.lines[5:]}
    assert len(looks) == 6
