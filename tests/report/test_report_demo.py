"""The demonstration, in small: one self-contained file, repeatable where it can be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from test_report_page import Outline

import discreet
from discreet import demo
from discreet.report._live_page import LiveStory, add_live
from discreet.report._numbers import Estimate
from discreet.report._page import Page
from discreet.report._pictures import Price, _apart, price_picture, regret_picture, save_picture
from discreet.report._trial_page import Findings, price, price_in_words, trial_page, worse

SMALL = demo.Settings(
    seed=3, runs=((60, 6), (200, 6)), main=200, epsilons=(0.5, 1.0), live_patients=150
)
QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def findings() -> Findings:
    return demo.find(SMALL, QUIET)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    path = demo.write_report(folder / "r.html", SMALL, QUIET)
    assert list(folder.iterdir()) == [path]
    return path.read_text(encoding="utf-8")


def test_the_report_is_one_file_without_references(written: str) -> None:
    outline = Outline(written)
    for _, attributes in outline.tags:
        for name in ("src", "href"):
            target = attributes.get(name) or "#"
            assert target.startswith(("#", "data:image/svg+xml;base64,"))
    assert "script" not in {tag for tag, _ in outline.tags}
    assert len(outline.all("img")) == 4
    assert all(len(image["alt"] or "") > 40 for image in outline.all("img"))


def test_the_report_tells_what_it_must(written: str) -> None:
    words = " ".join("".join(Outline(written).words).split())
    for row in demo.compared():
        assert str(row.guarantee) in words
    for said in (
        "N Engl J Med 335 (1996) 1081",
        "no. 890",
        "CC BY 4.0",
        "medical advice",
        "Zidovudine + didanosine",
        "73.1 %",
        "46.2 %",
        "--seed 3",
        f"discreet {discreet.__version__}",
        "The public report of the trial",
        "has no seed",
    ):
        assert said in words, said


def test_the_simulated_part_is_repeatable(findings: Findings) -> None:
    again = demo.find(SMALL, QUIET)
    assert again.prices == findings.prices
    for horizon, results in findings.results.items():
        for one, other in zip(results, again.results[horizon], strict=True):
            np.testing.assert_array_equal(one.regret, other.regret)

    def without_live(found: Findings) -> str:
        return trial_page(Findings(**{**vars(found), "live": None})).html()

    assert without_live(findings) == without_live(again)


def test_another_seed_gives_other_numbers(findings: Findings) -> None:
    environment = discreet.actg175().resampled()
    row = discreet.policy("dp-imed", epsilon=1.0)
    one = demo._simulated(row, environment, 200, 6, seed=4)
    other = next(r for r in findings.results[200] if r.name == "dp-imed")
    assert not np.array_equal(one.regret, other.regret)


def test_prices_are_differences_run_by_run(findings: Findings) -> None:
    results = {r.name: r for r in findings.results[200]}
    private, twin = results["dp-imed"], results["imed"]
    found = price(private, twin, 1.0)
    best = int(np.argmax(private.means))
    extra = twin.pulls[:, -1, best] - private.pulls[:, -1, best]
    assert found.patients.mean == pytest.approx(extra.mean())
    assert found.patients.error == pytest.approx(extra.std(ddof=1) / np.sqrt(6))
    assert found.successes.mean == pytest.approx(
        private.final_regret.mean() - twin.final_regret.mean()
    )
    assert worse(twin).mean == pytest.approx(200 - twin.pulls[:, -1, best].mean())
    assert {(p.policy, p.epsilon) for p in findings.prices} == {
        (name, epsilon) for name in demo.PRICED for epsilon in SMALL.epsilons
    }


def test_prices_in_words() -> None:
    def said(mean: float) -> str:
        found = Price("dp-imed", "imed", 1.0, Estimate(mean, 10.0), Estimate(0.0, 1.0))
        return price_in_words(found, 10_000)

    assert said(178.0) == (
        "of 10,000 patients, 178 ± 10 more would have received a worse treatment than without "
        "privacy (IMED)."
    )
    assert "178 ± 10 fewer" in said(-178.0)
    assert "within chance" in said(15.0)


def test_the_live_trial_handles_what_life_brings(findings: Findings) -> None:
    story = demo.live_trial(findings.data, 600, seed=1)
    assert story.report["assigned"] == 600
    assert story.report["releases"] > 4
    arms = story.report["arms"] or []
    assert sum(arm["assigned"] for arm in arms) == 600
    happened = " ".join(story.events)
    for word in ("in time", "second time", "never came", "late", "out of range", "contradicted"):
        assert word in happened
    assert story.report["status"] == "finished"
    assert sum(arm["used"] for arm in arms) == 600  # nobody for nothing
    # six in a hundred do not answer in time; noise of some 130 has a probability below e^-50
    assert sum((arm["answered"] or 0.0) * arm["used"] for arm in arms) > 0.7 * 600
    page = add_live(Page("A story"), story).html()
    for words in ("Assignments over time", "Released means", "day 6"):
        assert words in page


def test_ctrl_c_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> Any:
        raise demo.Stopped

    monkeypatch.setattr(demo, "_simulated", interrupted)
    assert demo.main(["--output", str(tmp_path / "r.html")]) == 130
    assert "nothing was written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "place",
    [lambda folder: folder, lambda folder: folder / "no" / "r.html", lambda folder: "/dev/null"],
)
def test_a_bad_path_is_refused_before_any_work(
    place: Callable[[Path], Path | str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def working(*_: object, **__: object) -> Any:
        raise AssertionError("work began")

    monkeypatch.setattr(demo, "_simulated", working)
    for option in ("--output", "--picture"):
        assert demo.main([option, str(place(tmp_path))]) == 2
        assert f"error: {option[2:]} must" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments_end_with_2(tmp_path: Path) -> None:
    for arguments in (["--seed", "-1"], ["--seed", "x"], ["--nonsense"]):
        with pytest.raises(SystemExit) as caught:
            demo.main(arguments)
        assert caught.value.code == 2
    done = subprocess.run(
        [sys.executable, "-m", "discreet.demo", "--output", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "output must name a file" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_main_says_where_the_report_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def small(seed: int) -> demo.Settings:
        asked.append(seed)
        return SMALL

    monkeypatch.setattr(demo, "Settings", small)
    target = tmp_path / "a report [1].html"
    assert demo.main(["--output", str(target), "--seed", "7"]) == 0
    assert asked == [7]
    assert str(target) in capsys.readouterr().out
    assert target.is_file()


def test_a_horizon_that_is_not_simulated_is_refused() -> None:
    with pytest.raises(discreet.InvalidArgument, match="main must"):
        demo.find(demo.Settings(runs=((60, 2),), main=100), QUIET)


def test_a_story_is_escaped(findings: Findings) -> None:
    assert findings.live is not None
    nasty = LiveStory("<i>", 1, "<i>", {"<i>": 1}, {**findings.live.report, "policy": "<i>"})
    page = trial_page(Findings(**{**vars(findings), "live": nasty})).html()
    assert "i" not in {tag for tag, _ in Outline(page).tags}


def test_pictures_are_written(findings: Findings, tmp_path: Path) -> None:
    drawn = regret_picture(findings.results[200], heading="h", baseline=("equal", 0.1))
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")):
        assert save_picture(drawn, tmp_path / name).read_bytes().startswith(start)
    assert price_picture(findings.prices, up="u").get_axes()
    alone = [Price("x", "y", 1.0, Estimate(3.0, float("nan")), Estimate(1.0, float("nan")))]
    save_picture(price_picture(alone, up="u"), tmp_path / "b.svg")


def test_labels_keep_their_distance() -> None:
    places = _apart([0.1, 0.1, 0.11, 0.5, 0.9, 0.91])
    assert all(b - a > 0.05 for a, b in pairwise(places))
    assert places[3] == 0.5
    assert sum(places[:3]) == pytest.approx(0.31)
