"""Pictures against a setting: lines, panels, labels, legends beside the data. Made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import discreet
from discreet._figures import Picture
from discreet.errors import InvalidArgument
from discreet.identify import identifier

ENVIRONMENT = discreet.Bernoulli([0.7, 0.5])


def made(policy: Any, horizon: int, regret: list[float]) -> discreet.Result:
    final = np.array(regret)
    curves = np.stack([final / 2.0, final], axis=1)
    return discreet.Result(
        policy=policy.to_dict(),
        environment=ENVIRONMENT.to_dict(),
        means=ENVIRONMENT.means,
        seed=1,
        complete=True,
        seconds=1.0,
        run=np.arange(len(final)),
        counted=np.ones((*curves.shape, 2), np.int64),
        horizon=horizon,
        t=np.array([horizon // 2, horizon]),
        regret=curves,
    )


@pytest.fixture(scope="module")
def found() -> discreet.Comparison:
    results = []
    for horizon in (100, 1000):
        results.append(made(discreet.policy("imed"), horizon, [1.0, 3.0]))
        for epsilon in (1.0, 0.1):
            row = discreet.policy("dp-imed", epsilon=epsilon)
            results.append(made(row, horizon, [horizon * 0.1 / epsilon] * 4))
            ours = discreet.policy("dp-imed", epsilon=epsilon, ratio=1.5, label="ours")
            results.append(made(ours, horizon, [horizon * 0.2 / epsilon] * 4))
    return discreet.Comparison(tuple(results))


def identified(epsilon: float, risk: float) -> discreet.Result:
    return discreet.Result(
        policy=identifier("adap-tt", epsilon=epsilon).at(risk).to_dict(),
        environment=ENVIRONMENT.to_dict(),
        means=ENVIRONMENT.means, seed=1, complete=True, seconds=1.0, run=np.arange(3),
        counted=np.full((3, 1, 2), 7), horizon=1000, t=np.array([1000]), regret=np.ones((3, 1)),
        more={
            "stopping_time": np.array([1000, 1200, 1400]), "stopped": np.full(3, True),
            "recommendation": np.zeros(3, int),
        },
    )  # fmt: skip


def labels_in(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_a_line_a_policy_and_a_panel_a_horizon(found: discreet.Comparison) -> None:
    figure = found.plot(x="epsilon", hue="policy", col="horizon")
    left, right = figure.axes
    assert [left.get_title(), right.get_title()] == ["T = 100", "T = 1,000"]
    assert labels_in(figure) == ["imed", "dp-imed", "ours"]
    lines = {line.get_label(): line for line in right.lines}
    assert list(lines["dp-imed"].get_xdata()) == [0.1, 1.0]
    assert list(lines["dp-imed"].get_ydata()) == pytest.approx([1000.0, 100.0])
    assert list(lines["imed"].get_ydata()) == [2.0, 2.0]  # no ε: a level
    assert left.get_ylabel() == "mean regret"
    assert left.get_xlabel() == "ε"
    assert left.get_xscale() == "log"


def test_what_is_not_drawn_is_in_the_labels(found: discreet.Comparison) -> None:
    labels = labels_in(found.plot(x="epsilon"))
    assert "dp-imed, T=100" in labels
    assert "ours, T=1,000" in labels
    assert len(set(labels)) == 6


def test_hue_gives_one_colour_a_value(found: discreet.Comparison) -> None:
    (axes,) = found.plot(x="horizon", hue="epsilon").axes
    drawn = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len(drawn) == 5
    colours = {line.get_label(): line.get_color() for line in drawn}
    assert colours["dp-imed, ε=0.1"] == colours["ours, ε=0.1"] != colours["ours, ε=1"]
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == 5


def test_curves_take_hue_and_col_too(found: discreet.Comparison) -> None:
    figure = found.plot(col="policy", hue="epsilon")
    assert [axes.get_title() for axes in figure.axes] == ["imed", "dp-imed", "ours"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 4, 4]
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[1].lines}
    assert len(looks) == 4


def test_identifications_are_drawn_against_what_differs() -> None:
    several = discreet.Comparison(
        tuple(identified(epsilon, risk) for epsilon in (0.1, 1.0) for risk in (0.1, 0.01))
    )
    figure = several.plot()
    assert figure.axes[0].get_xlabel() == "ε"
    assert figure.axes[0].get_ylabel() == "mean samples"
    assert labels_in(figure) == ["adap-tt, risk=0.1", "adap-tt, risk=0.01"]
    assert several.plot(x="risk").axes[0].get_xlabel() == "risk"
    assert "<th>risk</th>" in several._repr_html_()
    (alone,) = several[0].plot().axes
    assert [tick.get_text() for tick in alone.get_xticklabels()] == ["adap-tt"]


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("look", [{}, {"x": "epsilon", "col": "horizon"}, {"col": "policy"}])
def test_no_legend_covers_data(
    found: discreet.Comparison, style: str, look: dict[str, str]
) -> None:
    figure = found.plot(style=style, **look)  # type: ignore[arg-type]
    figure.draw_without_rendering()
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert all(box.height > 40 for box in boxes)
    (legend,) = figure.legends
    assert not any(box.overlaps(legend.get_window_extent()) for box in boxes)


def test_axes_of_ones_own(found: discreet.Comparison) -> None:
    own = Figure(layout="constrained")
    pair = list(own.subplots(1, 2))
    assert found.plot(x="epsilon", col="horizon", ax=pair) is own
    own.draw_without_rendering()
    legend = pair[1].get_legend()
    assert legend is not None
    assert not pair[1].get_window_extent().overlaps(legend.get_window_extent())
    assert found.plot(ax=Figure().subplots()).axes
    with pytest.raises(InvalidArgument, match="ax must be as many axes as there are panels, 2"):
        found.plot(x="epsilon", col="horizon", ax=pair[0])


@pytest.mark.parametrize(
    ("look", "argument"),
    [
        ({"x": "rho"}, "x"),
        ({"hue": "size"}, "hue"),
        ({"col": "size"}, "col"),
        ({"style": "poster"}, "style"),
        ({"x": "epsilon", "band": "wide"}, "band"),
        ({"x": "epsilon", "bounds": {"log": np.log}}, "bounds"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    found: discreet.Comparison, look: dict[str, Any], argument: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found.plot(**look)
    assert caught.value.argument == argument


def test_a_refusal_leaves_the_style_of_others_alone(found: discreet.Comparison) -> None:
    import matplotlib

    before = matplotlib.rcParams["font.size"]
    with pytest.raises(InvalidArgument):
        found.plot(col="horizon", ax=Figure().subplots(), style="paper")
    found.plot(style="paper")
    assert matplotlib.rcParams["font.size"] == before


def test_pdfs_hold_true_type_fonts(found: discreet.Comparison, tmp_path: Path) -> None:
    for number, figure in enumerate((found.plot(), found.plot(x="epsilon", style="paper"))):
        path = tmp_path / f"{number}.pdf"
        figure.savefig(path)
        assert b"/FontFile2" in path.read_bytes()
        assert b"/Type3" not in path.read_bytes()
    own = Figure()
    found.plot(ax=own.subplots(), path=tmp_path / "own.pdf")
    assert b"/Type3" not in (tmp_path / "own.pdf").read_bytes()


def test_notebooks_show_figures_without_magic(found: discreet.Comparison) -> None:
    figure = found.plot()
    assert isinstance(figure, Picture)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_moving_regret_is_a_column_where_means_move(
    found: discreet.Comparison, tmp_path: Path
) -> None:
    assert "moving_regret" not in found.table().column_names
    moving = discreet.Switching([[0.9, 0.1], [0.1, 0.8]], at=[0, 50])
    played = discreet.simulate(
        discreet.policy("imed"), moving, horizon=100, runs=2, seed=1, points=5
    )
    column = played.table()["moving_regret"].to_numpy().reshape(played.regret.shape)
    np.testing.assert_array_equal(column, played.moving_regret)
    assert (column[:, -1] > played.regret[:, -1]).all()
    again: Any = discreet.load(played.save(tmp_path / "moving.parquet"))
    np.testing.assert_array_equal(again[0].moving_regret, played.moving_regret)
    both = discreet.Comparison((*found.results, played)).table()
    assert both["moving_regret"].null_count == 0
