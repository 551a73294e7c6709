"""Results for others: LaTeX, xarray, and ± in one line. The results are made by hand."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import discreet
from discreet.identify import identifier
from discreet.simulator._exports import escaped, parts
from discreet.simulator._record import mean_and_error

ENVIRONMENT = discreet.Bernoulli([0.7, 0.5])


def made(epsilon: float, regret: list[list[float]], t: list[int]) -> discreet.Result:
    curves = np.array(regret)
    return discreet.Result(
        policy=discreet.policy("dp-imed", epsilon=epsilon).to_dict(),
        environment=ENVIRONMENT.to_dict(),
        means=(0.7, 0.5),
        seed=1,
        complete=True,
        seconds=1.0,
        run=np.arange(len(curves)),
        counted=np.ones((*curves.shape, 2), np.int64),
        horizon=t[-1],
        t=np.array(t),
        regret=curves,
    )


def identified(risk: float) -> discreet.Result:
    return discreet.Result(
        policy=identifier("adap-tt", epsilon=1.0).at(risk).to_dict(),
        environment=ENVIRONMENT.to_dict(),
        means=(0.7, 0.5),
        seed=1,
        complete=True,
        seconds=1.0,
        run=np.arange(3),
        counted=np.full((3, 1, 2), 7),
        horizon=1000,
        t=np.array([1000]),
        regret=np.full((3, 1), 1.4),
        more={
            "stopping_time": np.array([1000, 1200, 1400]),
            "stopped": np.array([True, True, False]),
            "recommendation": np.array([0, 0, 1]),
        },
    )


@pytest.fixture
def both() -> discreet.Comparison:
    first = made(0.1, [[1.0, 3.0], [2.0, 5.0]], [10, 100])
    return discreet.Comparison((first, made(1.0, [[1.0, 2.0, 4.0]], [10, 50, 200])))


def test_one_line_says_how_sure_the_mean_is(both: discreet.Comparison) -> None:
    assert "regret 4 ± 1 at 100 rounds" in repr(both[0])  # sd sqrt(2), over sqrt(2) runs
    assert "regret 4 at 200 rounds" in repr(both[1])  # one run says nothing about its error
    assert "1200 ± 115 samples" in repr(identified(0.1))
    assert "±" in repr(both)
    assert mean_and_error(np.array([1.0, 1.0])) == "1 ± 0"
    assert mean_and_error(np.array([12345.0, 12345.6])) == "12,345 ± 0.3"
    assert mean_and_error(np.array([4e9, 4e9])) == "4e+09 ± 0"


def test_a_notebook_shows_no_error_of_a_single_run(both: discreet.Comparison) -> None:
    assert "<td>4</td><td>1</td><td>4</td>" in both[0]._repr_html_()
    assert "<td>4</td><td>–</td><td>4</td>" in both[1]._repr_html_()


def test_a_table_for_latex(both: discreet.Comparison) -> None:
    lines = both.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrl}"
    assert lines[1::2][:2] == [r"\toprule", r"\midrule"]
    assert lines[2] == r"policy & horizon & runs & mean regret & median & guarantee \\"
    assert lines[4] == (
        r"dp-imed \(\varepsilon\)=0.1 & 100 & 2 & \(4\) \(\pm\) \(1\) & \(4\) & "
        r"\(\varepsilon\) = 0.1 (interactive) \\"
    )
    assert r" & 200 & 1 & \(4\) & \(4\) & " in lines[5]
    assert lines[6:] == [r"\bottomrule", r"\end{tabular}"]
    assert "horizon" not in both[0].to_latex()


def test_a_table_for_latex_without_a_run(both: discreet.Comparison) -> None:
    none = {name: getattr(both[0], name)[:0] for name in ("run", "regret", "counted")}
    assert " & 0 & -- & -- & " in replace(both[0], complete=False, **none).to_latex()


def test_identifications_have_their_risk_in_the_table() -> None:
    table = discreet.Comparison((identified(0.1), identified(0.01))).to_latex()
    assert "risk & runs & mean samples" in table
    assert r"& 0.01 & 3 & \(1200\) \(\pm\) \(115\) &" in table


def test_whatever_a_label_holds_latex_prints() -> None:
    assert escaped("a_b & 5% {x}") == r"a\_b \& 5\% \{x\}"
    assert escaped("\\~^$#") == (r"\textbackslash{}\textasciitilde{}\textasciicircum{}\$\#")
    bare = re.sub(r"\\[\\{}$&#%_()]|\\[a-z]+(\{\})?", "", escaped("\\{}$&#%_^~<>|\nεδρμ±×∞≤≥−–"))
    assert not set(bare) & set("\\{}$&#%_^~")


def test_arrays_of_different_lengths_are_joined(both: discreet.Comparison) -> None:
    variables, coordinates = parts(both.results)
    dimensions, regret = variables["regret"]
    assert dimensions == ("result", "run", "t")
    nan = math.nan
    wanted = [[[1, nan, 3, nan], [2, nan, 5, nan]], [[1, 2, nan, 4], [nan] * 4]]
    np.testing.assert_array_equal(regret, wanted)
    assert variables["pulls"][1].shape == (2, 2, 4, 2)
    assert coordinates["t"][1].tolist() == [10, 50, 100, 200]
    assert coordinates["epsilon"][0] == ("result",)
    assert coordinates["epsilon"][1].tolist() == [0.1, 1.0]
    assert coordinates["policy"][1].tolist() == both.labels


def test_arrays_of_one_shape_keep_their_types(both: discreet.Comparison) -> None:
    variables, _ = parts((both[0], both[0]))
    assert variables["pulls"][1].dtype == np.int64
    variables, coordinates = parts((identified(0.1),))
    assert variables["stopped"][1].dtype == np.bool_
    assert variables["stopping_time"][1].tolist() == [[1000, 1200, 1400]]
    assert variables["pulls"][0] == ("result", "run", "t", "arm")
    assert coordinates["risk"][1].tolist() == [0.1]


def test_settings_that_a_row_lacks_are_nan(both: discreet.Comparison) -> None:
    plain = replace(both[0], policy=discreet.policy("imed").to_dict())
    _, coordinates = parts(discreet.Comparison((plain, both[1])).results)
    np.testing.assert_array_equal(coordinates["epsilon"][1], [math.nan, 1.0])


def test_xarray_is_given_the_arrays(
    both: discreet.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = ModuleType("xarray")
    fake.__dict__["Dataset"] = lambda variables, coordinates: SimpleNamespace(
        variables=variables, coordinates=coordinates
    )
    monkeypatch.setitem(sys.modules, "xarray", fake)
    found = both.to_xarray()
    assert set(found.variables) == {"regret", "pulls"}
    assert found.coordinates["run"][0] == ("run",)


def test_xarray_takes_them(both: discreet.Comparison) -> None:
    pytest.importorskip("xarray")
    found = both.to_xarray()
    assert dict(found.sizes) == {"result": 2, "run": 2, "t": 4, "arm": 2}
    assert found.regret.sel(run=1, t=100).isel(result=0) == 5.0
    assert found.regret.where(found.epsilon == 1.0, drop=True).sizes["result"] == 1
