"""The gallery is written from the saved findings, and only if they are whole."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from discreet.errors import DamagedFile, InvalidArgument
from discreet.studies import Reproduction
from discreet.studies._gallery import (
    MOST_BYTES,
    gallery_page,
    main,
    measured_tables,
    small_png,
    updated_page,
    write_gallery,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_says_what_the_json_says(results: Path, tmp_path: Path) -> None:
    page = write_gallery(results, tmp_path / "docs").read_text(encoding="utf-8")
    found = json.loads((results / "azize2022/figure8/findings.json").read_text(encoding="utf-8"))
    (finding,) = found["findings"]
    assert finding["claim"] in page
    assert f"**{finding['verdict']}**. {finding['why']}" in page
    assert finding["measured"][0]["name"] in page
    assert "20,000 rounds, 6 runs (published: 10,000,000 rounds, 20 runs)" in page
    assert "[azize2022 8](#azize2022-figure-8) | 1 |" in page
    picture = tmp_path / "docs/gallery/azize2022-figure8.png"
    assert f"gallery/{picture.name}" in page
    assert 1_000 < picture.stat().st_size < MOST_BYTES


def test_another_finding_makes_another_page(done: Reproduction) -> None:
    found = done.to_dict()
    page = gallery_page([found])
    found["findings"][0] |= {
        "verdict": "not reproduced", "why": "why not",
        "marks": ["fitted", "tolerance after a look"],
        "measured": [{"name": "a | b", "value": 2.0, "standard_error": None}],
    }  # fmt: skip
    changed = gallery_page([found])
    assert changed != page
    assert "**not reproduced**, *fitted*, *tolerance after a look*. why not" in changed
    assert "[azize2022 8](#azize2022-figure-8) |  |  | 0 + 1 |  |" in changed
    assert "   | a \\| b | 2 |" in changed
    del found["findings"][0]["marks"]  # results of older versions have none
    assert "**not reproduced**. why not" in gallery_page([found])
    found["findings"][0]["verdict"] = "wonderful"
    with pytest.raises(DamagedFile, match="wonderful"):
        gallery_page([found])


def test_some_figures_alone_are_written_anew(done: Reproduction) -> None:
    found = done.to_dict()
    other = json.loads(json.dumps(found)) | {"figure": "2", "title": "Another one"}
    page = gallery_page([other, found])
    assert updated_page(page, [found]) == page
    found["findings"][0] |= {"verdict": "not reproduced", "why": "why not"}
    changed = updated_page(page, [found])
    assert changed == gallery_page([other, found])
    assert updated_page(gallery_page([found, other]), [found]) == gallery_page([found, other])
    found["figure"] = "9"
    with pytest.raises(InvalidArgument, match="azize2022 figure 9"):
        updated_page(page, [found])


def test_a_second_seed_is_compared(results: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    shutil.copytree(results, second)
    path = second / "azize2022/figure8/findings.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(InvalidArgument, match="another seed"):
        write_gallery(results, tmp_path / "docs", second)
    first = found["seed"]
    path.write_text(json.dumps(found | {"seed": first + 1}), encoding="utf-8")
    page = write_gallery(results, tmp_path / "docs", second).read_text(encoding="utf-8")
    assert f" With seed {first + 1}, every verdict is the same.\n" in page
    found["findings"][0]["verdict"] = "cannot tell"
    path.write_text(json.dumps(found | {"seed": first + 1}), encoding="utf-8")
    page = write_gallery(results, tmp_path / "docs", second).read_text(encoding="utf-8")
    assert f" With seed {first + 1}, statement 1 is *cannot tell*.\n" in page
    assert "With seed" not in write_gallery(results, tmp_path / "docs").read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", ["no json", "cut", "later", "lacking", "no picture"])
def test_damaged_results_leave_nothing(results: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    path = folder / "azize2022/figure8/findings.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    if damage == "no json":
        path.unlink()
    elif damage == "cut":
        path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    elif damage == "later":
        path.write_text(json.dumps(found | {"format": 2}), encoding="utf-8")
    elif damage == "lacking":
        path.write_text(json.dumps({"format": 1, "study": "azize2022"}), encoding="utf-8")
    else:
        path.with_name("figure.png").write_text("no picture")
    with pytest.raises(DamagedFile, match="run it again"):
        write_gallery(folder, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidArgument, match="folder must hold reproduced figures"):
        write_gallery(tmp_path, tmp_path / "docs")
    assert main([str(tmp_path), "--docs", str(tmp_path / "docs")]) == 2
    assert "run discreet reproduce all" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_large_picture_is_reduced(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, (360, 480, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    assert (tmp_path / "noise.png").stat().st_size > MOST_BYTES
    assert len(small_png(tmp_path / "noise.png")) < MOST_BYTES


def test_the_pictures_of_the_published_gallery_exist() -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\((gallery/[^)]+\.png)\)", page)
    assert len(shown) == len(re.findall(r"^### ", page, re.M)) > 0
    for name in shown:
        assert (DOCS / name).stat().st_size < MOST_BYTES


def named(*names: str) -> list[dict[str, object]]:
    return [{"name": n, "value": float(i), "standard_error": 0.5} for i, n in enumerate(names)]


def test_numbers_are_in_tables_by_setting() -> None:
    grid, rest = measured_tables(named("ε = 1: x", "ε = 1: y", "(a) x", "expected"))
    assert grid.splitlines() == [
        "| setting | x | y |", "| --- | ---: | ---: |", "| ε = 1 | 0 ± 0.5 | 1 ± 0.5 |",
        "| (a) | 2 ± 0.5 |  |",
    ]  # fmt: skip
    assert rest.splitlines()[2:] == ["| expected | 3 ± 0.5 |"]
    (alone,) = measured_tables(named("ε = 1: x", "ε = 1: y"))
    assert alone.splitlines()[2:] == ["| ε = 1: x | 0 ± 0.5 |", "| ε = 1: y | 1 ± 0.5 |"]


def test_no_cell_of_the_published_gallery_holds_several_numbers() -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert "<br>" not in page
    assert max(line.count(" ± ") for line in page.splitlines()) <= 5
