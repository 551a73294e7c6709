"""A figure end to end: simulation, picture, data, findings; settings as published."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError, InvalidArgument
from discreet.references import REFERENCES
from discreet.simulator._files import METADATA
from discreet.studies import (
    STUDIES,
    Figure,
    Lab,
    Panel,
    Reproduction,
    Size,
    Verdict,
    all_figures,
    figure,
    study,
)  # fmt: skip
from discreet.studies._cache import CACHE
from discreet.studies._files import check_folder, load_findings, save
from discreet.studies.azize2022._instances import EPSILONS, INSTANCES, bernoulli, published_curves

TINY = Size(horizon=20_000, runs=6, points=30)
FILES = ["data.parquet", "figure.png", "figure.svg", "findings.json"]


def test_a_saved_figure_is_whole(done: Reproduction, results: Path) -> None:
    folder = results / "azize2022" / "figure8"
    assert sorted(entry.name for entry in folder.iterdir()) == FILES
    assert [entry.name for entry in folder.parent.iterdir()] == ["figure8"]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "figure.svg").read_bytes()
    found = load_findings(folder)
    assert found == done.to_dict()
    assert found["size"] == {"horizon": 20_000, "runs": 6, "points": 30}
    assert found["published_size"]["horizon"] == 10**7
    assert found["reference"] == {"key": "azize2022", "short": "Azize & Basu (2022)"}
    for finding in found["findings"]:
        assert set(finding) == {
            "claim", "where", "verdict", "measured", "why", "marks",
        }  # fmt: skip
        assert finding["verdict"] in list(Verdict)
        assert all(set(m) == {"name", "value", "standard_error"} for m in finding["measured"])


def test_the_data_is_tidy_and_gives_the_measured_numbers(done: Reproduction, results: Path) -> None:
    table = pq.read_table(results / "azize2022" / "figure8" / "data.parquet")
    assert table.column_names == [
        "study", "figure", "setting", "epsilon", "policy", "run", "t", "regret",
    ]  # fmt: skip
    points = len(done.panels[0].comparison[0].t)
    assert table.num_rows == 4 * 6 * points
    settings = json.loads(table.schema.metadata[METADATA])
    recipes = [curve["policy"]["recipe"] for curve in settings["panels"][0]["curves"]]
    assert [recipe["alpha"] for recipe in recipes] == [1.0, 1.0, 3.1, 3.1]
    rows = [
        row["regret"]
        for row in table.to_pylist()
        if row["policy"] == "AdaP-KLUCB, α = 1" and row["t"] == 20_000
    ]
    measured = {m["name"]: m["value"] for m in settings["findings"][0]["measured"]}
    assert sum(rows) / 6 == pytest.approx(measured["regret of AdaP-KLUCB, α = 1"])


def test_a_seed_fixes_every_byte_whatever_the_threads(
    done: Reproduction, results: Path, tmp_path: Path
) -> None:
    CACHE.clear()
    again = figure("azize2022", "8").run(TINY, seed=1, threads=1)
    folder = save(again, tmp_path)
    for name in FILES[:3]:
        assert (folder / name).read_bytes() == (
            results / "azize2022" / "figure8" / name
        ).read_bytes()
    assert replace(again, seconds=0.0).to_dict() == replace(done, seconds=0.0).to_dict()
    other = figure("azize2022", "8").run(TINY, seed=2)
    assert other.to_dict()["findings"] != done.to_dict()["findings"]


@pytest.mark.parametrize("number", ["2", "3"])
def test_other_figures_run_and_draw(number: str, tmp_path: Path) -> None:
    small = figure("azize2022", number).run(Size(3_000, 3, 20), seed=1)
    assert len(small.findings) == 2
    assert sorted(e.name for e in save(small, tmp_path).iterdir()) == FILES


def test_environments_and_the_price_run_and_draw(tmp_path: Path) -> None:
    environment = figure("azize2022", "6").run(Size(3_000, 3, 20), seed=1)
    assert [panel.values["epsilon"] for panel in environment.panels] == list(EPSILONS)
    assert len(environment.findings) == 5
    save(environment, tmp_path)
    price = figure("thesis2024", "5.4").run(Size(3_000, 3, 20), seed=1)
    assert price.panels[1]["not private"].horizon == 3_000 * 10**8
    assert price.panels[1]["not private"].runs == 60
    save(price, tmp_path)
    assert load_findings(tmp_path / "thesis2024" / "figure5.4")["figure"] == "5.4"


def test_settings_are_the_published_ones() -> None:
    thesis = [figure("thesis2024", number) for number in ("5.2", "5.3", "5.4")]
    for entry in (*all_figures(["azize2022"]), *thesis):
        assert entry.full.horizon == 10**7
        assert entry.full.runs == (100 if entry.number == "5.4" else 20)
        assert entry.quick.horizon < entry.full.horizon
    for epsilon in EPSILONS:
        recipes: dict[str, Any] = {
            label: row.recipe for label, row in published_curves(epsilon).items()
        }
        assert all(recipe["budget"]["epsilon"] == epsilon for recipe in recipes.values())
        assert recipes["AdaP-UCB"]["alpha"] == recipes["AdaP-KLUCB"]["alpha"] == 3.1
        assert recipes["DP-UCB (as printed)"]["gamma"] == recipes["DP-UCB (tight)"]["gamma"] == 0.1
        assert recipes["DP-UCB (as printed)"]["calibration"] == "paper"
    assert INSTANCES["C3"] == (0.75, 0.53125, 0.375, 0.28125, 0.25)
    assert tuple(bernoulli(INSTANCES["C2"]).means) == (0.625, 0.5, 0.75, 0.375, 0.25)


def test_registry() -> None:
    for key in STUDIES:
        numbers = [entry.number for entry in study(key).figures]
        assert numbers
        assert len(set(numbers)) == len(numbers)
        for entry in study(key).figures:
            assert entry.study == key
            assert entry.reference in REFERENCES
            assert figure(key.upper(), f"figure {entry.number}") is entry


@pytest.mark.parametrize(
    ("key", "number", "fix"),
    [("azize2202", "2", "did you mean azize2022"), ("azize2022", "99", "it has 2, 3"),
     ("zzz", "2", "known: azize2022")],
)  # fmt: skip
def test_unknown_names(key: str, number: str, fix: str) -> None:
    with pytest.raises(InvalidArgument, match=fix):
        figure(key, number)


def test_unknown_scale() -> None:
    with pytest.raises(InvalidArgument, match="scale must be full or quick"):
        figure("azize2022", "8").run("huge")


class _Broken(Figure):
    """Runs, but cannot be drawn."""

    def panels(self, lab: Lab) -> list[Panel]:
        return figure("azize2022", "8").panels(lab)

    def draw(self, panels: Any) -> Any:
        class Canvas:
            def get_layout_engine(self) -> None:
                """Nothing to lay out."""

            def savefig(self, path: Path, **_: Any) -> None:
                path.write_text("half a picture")
                if path.suffix == ".svg":
                    raise OSError("no space left")

        return Canvas()

    def judge(self, panels: Any) -> list[Any]:
        return []


def test_nothing_half_written_and_the_older_run_kept(done: Reproduction, tmp_path: Path) -> None:
    broken = _Broken(
        study="azize2022", number="8", title="x", reference="azize2022", full=TINY, quick=TINY
    )
    failing = replace(done, figure=broken)
    with pytest.raises(DiscreetError, match="could not be saved: no space left"):
        save(failing, tmp_path)
    assert list((tmp_path / "azize2022").iterdir()) == []
    folder = save(done, tmp_path)
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    with pytest.raises(DiscreetError, match="no space left"):
        save(failing, tmp_path)
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before
    assert list((tmp_path / "azize2022").iterdir()) == [folder]


def test_a_run_replaces_an_older_one(done: Reproduction, tmp_path: Path) -> None:
    folder = save(done, tmp_path)
    (folder / "stale.txt").write_text("of an older version")
    save(done, tmp_path)
    assert sorted(entry.name for entry in folder.iterdir()) == FILES


def test_a_folder_below_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="output must be a folder that can be written to"):
        check_folder(tmp_path / "file" / "results")
    check_folder(tmp_path / "new" / "results")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_an_interrupted_comparison_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    import discreet.simulator
    from discreet.simulator import Comparison

    whole = discreet.simulator.compare

    def cut_short(*arguments: Any, **options: Any) -> Comparison:
        results = whole(*arguments, **options)
        return Comparison((replace(results[0], complete=False),))

    monkeypatch.setattr(discreet.simulator, "compare", cut_short)
    with pytest.raises(KeyboardInterrupt):
        figure("azize2022", "8").run(TINY, seed=1)
