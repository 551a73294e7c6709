"""The papers of a trial: numbers are the trial's own, and what is unknown stays blank."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import Assignment, Features, Strata, Trial, confirm
from discreet.errors import InvalidArgument
from discreet.report import Study, papers

DESIGN = confirm.design(200, looks=2, epsilon=1.0)
LATE: dict[str, Any] = {"deadline": "28 days", "missing": 0.0}
SECTIONS = [
    "Synopsis", "Protocol section: allocation, outcomes, looks", "Statistical analysis plan",
    "Information for participants", "Data-protection annex", "Checklist: CONSORT 2010 with ACE",
    "Flow of participants", "Software and references",
]  # fmt: skip


def rehearsed() -> Any:
    rehearsal = discreet.Rehearsal(
        DESIGN, ["drug", "placebo"], arrivals=6, delay="28 days", default=0, seed=1
    )
    rehearsal.play(discreet.Bernoulli([0.6, 0.3]))
    return rehearsal


KINDS: dict[str, Callable[[], Any]] = {
    "test": lambda: Trial(DESIGN, ["drug", "placebo"], **LATE),
    "one-sided": lambda: Trial(
        confirm.design(200, looks=3, rho=0.5, sides=1, risk=0.025), ["drug", "placebo"], **LATE
    ),
    "identify": lambda: Trial(
        discreet.policy("evidence-tt", epsilon=1.0), ["a", "b", "c"], risk=0.05, **LATE
    ),
    "index": lambda: Trial(
        discreet.policy("dp-imed", epsilon=1.0), ["a", "b"], 500, deadline="7 days",
        missing="estimate",
    ),
    "trend": lambda: Trial(
        discreet.policy("dp-imed", epsilon=1.0), ["a", "b"], **LATE,
        assignment=Assignment(trend=True, window=50, share={"a": 0.2, "b": 0.2}),
    ),
    "no deadline": lambda: Trial(discreet.policy("adap-ucb", epsilon=0.5), ["a", "b"]),
    "contexts": lambda: Trial(
        discreet.policy("adac-oful", rho=0.5), ["a", "b"], 1000, features=Features(3), **LATE
    ),
    "private contexts": lambda: Trial(
        discreet.policy("jdp-ts", rho=0.5), ["a", "b"], 1000, features=Features(4), **LATE
    ),
    "strata": lambda: Strata(
        discreet.policy("dp-imed", epsilon=1.0), ["north", "south"], ["drug", "placebo"],
        horizon=100, **LATE,
    ),
    "test over strata": lambda: Strata(
        confirm.strata({"north": 300, "south": 200}, looks=2, epsilon=1.0, runs=2000),
        ["north", "south"], ["drug", "placebo"], **LATE,
    ),
    "rehearsed": rehearsed,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_papers_of_every_design(kind: str, tmp_path: Path) -> None:
    trial = KINDS[kind]()
    page = papers(trial, Study(title="Tea & <milk>"))
    words = page.markdown()
    assert re.findall(r"^## (.*)$", words, flags=re.M) == SECTIONS
    assert words.startswith("# Tea & <milk>\n")
    assert "Tea &amp; &lt;milk&gt;" in page.html()
    assert "<milk>" not in page.html()
    assert not re.search(r"</?(p|td|strong|li)\b", words)
    assert "None" not in words
    assert "nan" not in re.findall(r"\bnan\b", words)
    assert str(trial.guarantee) in words
    right = 100.0 * trial.guarantee.tradeoff().accuracy
    assert f"at most {right:.1f} times in 100" in words
    assert discreet.__version__ in words
    for form in ("papers.md", "papers.html"):
        assert page.write(tmp_path / form).read_text()[:1] in "#<"


def test_a_test_has_its_boundaries_certificate_and_power() -> None:
    words = papers(KINDS["test"]()).markdown()
    for look, bound in enumerate(DESIGN.boundaries, 1):
        assert f"| {look} | {100 * look} | beyond ±{bound:.4f} |" in words
    assert str(DESIGN.certificate) in words
    assert f"| 0.5 | 0.35 | {DESIGN.power(0.5, 0.35):.3f} |" in words
    null = DESIGN.operating(0.5, 0.5)
    assert f"| 0.5 | 0.5 | {math.fsum((*null.above, *null.below)):.3f} |" in words
    one_sided = papers(KINDS["one-sided"]()).markdown()
    assert "drug is no better than placebo" in one_sided
    assert "beyond ±" not in one_sided


def test_no_mean_before_the_verdict_and_counts_alone() -> None:
    trial = KINDS["test"]()
    for number in range(20):
        trial.assign(f"patient-{number}")
        trial.record(f"patient-{number}", 1)
    words = papers(trial).markdown()
    assert "no decision yet" in words
    assert "| drug | 10 | 10 | 0 | – |" in words
    assert "patient-" not in words


def test_counts_of_private_contexts_stay_private() -> None:
    trial = KINDS["private contexts"]()
    trial.assign("p", [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    words = papers(trial).markdown()
    assert "Counts of arms are private" in words
    assert "or which treatment you got" not in words


def test_what_a_rehearsal_found_is_in_the_papers() -> None:
    rehearsal = rehearsed()
    words = papers(rehearsal).markdown()
    assert rehearsal.report()["test"]["sentence"] in words
    assert "written from a rehearsal" in words


def test_blanks_are_marked_and_filled() -> None:
    blank = papers(KINDS["index"]()).markdown()
    full = Study(**dict.fromkeys(Study.__dataclass_fields__, "known"))
    filled = papers(KINDS["index"](), full).markdown()
    assert blank.count("[to be completed]") > filled.count("[to be completed]") > 0
    with pytest.raises(InvalidArgument, match="sponsor must be text"):
        Study(sponsor=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="study must be a Study"):
        papers(KINDS["index"](), "title")  # type: ignore[arg-type]
