"""Pictures: one curve a policy, one band each, bounds under their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.simulator._plots import BANDS, COLOURS

ENVIRONMENT = discreet.Bernoulli([0.75, 0.5])


@pytest.fixture(scope="module")
def study() -> discreet.Comparison:
    rows = [discreet.policy("ucb1"), discreet.policy("dp-imed", epsilon=1.0)]
    return discreet.compare(rows, ENVIRONMENT, horizon=1000, runs=6, seed=4, points=20)


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("log", [True, False])
def test_a_curve_and_a_band_for_every_policy(
    study: discreet.Comparison, band: str, log: bool
) -> None:
    figure = study.plot(band=band, log=log, title="regret")
    (axes,) = figure.axes
    assert len(axes.lines) == 2
    assert len(axes.collections) == (4 if band == "quantiles" else 2)
    for line, result in zip(axes.lines, study, strict=True):
        assert np.array_equal(line.get_ydata(), result.mean_regret)
        assert np.array_equal(line.get_xdata(), result.t)
        assert line.get_label() == f"{result.name} ({result.guarantee.short()})"
    assert axes.get_xscale() == ("log" if log else "linear")
    assert axes.get_title() == "regret"
    figure.canvas.draw()


def test_bands_are_what_they_say(study: discreet.Comparison) -> None:
    result = study[1]
    spread = result.regret.std(axis=0, ddof=1)
    halves = {"sd": spread, "error": 2.0 * spread / np.sqrt(result.runs)}
    for band in BANDS:
        (axes,) = result.plot(band=band).axes
        heights = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
        if band == "range":
            low, high = result.regret.min(), result.regret.max()
        elif band == "quantiles":
            levels = np.quantile(result.regret, (0.05, 0.95), axis=0)
            low, high = levels[0].min(), levels[1].max()
        else:
            low = (result.mean_regret - halves[band]).min()
            high = (result.mean_regret + halves[band]).max()
        assert heights.max() == pytest.approx(high)
        assert heights.min() == pytest.approx(low)


def test_bounds_are_drawn_under_their_names(study: discreet.Comparison) -> None:
    seen: list[Any] = []

    def lower(t: Any) -> Any:
        seen.append(t)
        return 3.0 * np.log(t)

    (axes,) = study.plot(bounds={"lower bound": lower, "upper bound": lambda t: 9.0 * t}).axes
    assert len(axes.lines) == 4
    drawn = {line.get_label(): line for line in axes.lines}
    assert np.array_equal(drawn["lower bound"].get_ydata(), 3.0 * np.log(study[0].t))
    assert drawn["lower bound"].get_linestyle() == "--"
    assert np.array_equal(seen[0], study[0].t)
    (legend,) = axes.figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[-2:] == ["lower bound", "upper bound"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_path_saves_the_figure(study: discreet.Comparison, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"regret.{ending}"
    study.plot(path=path)
    assert path.stat().st_size > 2000


def test_an_unknown_band_is_refused(study: discreet.Comparison) -> None:
    with pytest.raises(
        InvalidArgument, match="band must be one of sd, error, range, quantiles, got 'wide'"
    ):
        study.plot(band="wide")


def test_many_policies_can_be_told_apart(study: discreet.Comparison) -> None:
    many = discreet.Comparison(study.results * 5)
    (axes,) = many.plot().axes
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 10 > len(COLOURS)


def test_a_study_without_runs_has_no_curve(study: discreet.Comparison) -> None:
    none = {name: getattr(study[0], name)[:0] for name in ("run", "regret", "counted")}
    empty = discreet.Result(**{**vars(study[0]), **none, "complete": False})
    (axes,) = discreet.Comparison((empty, study[1])).plot().axes
    assert len(axes.lines) == 1
