"""Verdicts follow the numbers: every statement can be reproduced, and can fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up_panels import curve, panel

from discreet.studies import Panel, Verdict, figure
from discreet.studies._measures import (
    Measure,
    ascending,
    clearly_above,
    difference,
    final_regret,
    mean_of,
    ratio,
    regret_at,
    smallest_seen,
)
from discreet.studies.azize2022 import _figure3 as figure3
from discreet.studies.azize2022._instances import EPSILONS
from discreet.studies.thesis2024 import _figure5_4 as figure5_4
from discreet.studies.thesis2024 import _figure5_7 as figure5_7

YES, PARTLY, NO = Verdict.REPRODUCED, Verdict.DIFFERS, Verdict.NOT_REPRODUCED
FINE = {
    "AdaP-KLUCB": 100.0, "AdaP-UCB": 130.0, "DP-SE": 2000.0,
    "DP-UCB (tight)": 3000.0, "DP-UCB (as printed)": 9000.0,
}  # fmt: skip


def verdicts(study: str, number: str, *panels: Panel) -> list[Verdict]:
    return [finding.verdict for finding in figure(study, number).judge(panels)]


def test_measures_against_arithmetic() -> None:
    values = np.array([1.0, 2.0, 6.0])
    found = mean_of(values)
    assert found.value == 3.0
    assert found.error == pytest.approx(math.sqrt((4 + 1 + 9) / 2) / math.sqrt(3))
    assert mean_of(np.full(5, 0.1 + 0.2)).error == 0.0
    assert mean_of(np.array([4.0])) == Measure(4.0, math.inf)
    assert difference(Measure(5.0, 3.0), Measure(1.0, 4.0)) == Measure(4.0, 5.0)
    assert ratio(Measure(6.0, 0.6), Measure(2.0)) == Measure(3.0, pytest.approx(0.3))
    assert ratio(Measure(1.0, 0.1), Measure(0.0)).to_dict() == {
        "value": None, "standard_error": None,
    }  # fmt: skip


def test_ratio_error_against_simulation() -> None:
    """The delta method, 20,000 draws: the spread of their sd is 0.5 %, the tolerance 4 %."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(50.0, 2.0, 20_000), rng.normal(20.0, 0.4, 20_000)
    assert ratio(Measure(50.0, 2.0), Measure(20.0, 0.4)).error == pytest.approx(
        float((a / b).std()), rel=0.04
    )


def test_an_order_needs_two_standard_errors() -> None:
    assert clearly_above(Measure(3.0, 1.0), Measure(1.0))
    assert not clearly_above(Measure(2.9, 1.0), Measure(1.0))
    assert not clearly_above(Measure(1.0), Measure(1.0))
    assert not clearly_above(Measure(9.0, math.inf), Measure(1.0))
    assert ascending([Measure(1.0, 0.1), Measure(2.0, 0.1), Measure(3.0, 0.1)])
    assert not ascending([Measure(1.0, 0.1), Measure(3.0, 0.1), Measure(2.0, 0.1)])


def test_regret_is_read_at_the_last_recorded_round() -> None:
    made = curve("x", 100.0)
    assert regret_at(made, 10**5).value == pytest.approx(60.0)
    assert regret_at(made, 10**5 - 1).value == pytest.approx(20.0)
    assert final_regret(made).value == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [YES, YES]),
        ({"AdaP-UCB": 100.0}, [PARTLY, YES]),
        ({"DP-SE": 300.0}, [YES, PARTLY]),
        ({"DP-SE": 90.0}, [NO, NO]),
        ({"AdaP-KLUCB": 5000.0}, [NO, NO]),
    ],
)
def test_azize2022_figure2(changes: dict[str, float], expected: list[Verdict]) -> None:
    made = panel("C2, ε = 1", FINE | changes, epsilon=1.0)
    assert verdicts("azize2022", "2", made) == expected
    assert verdicts("thesis2024", "5.2", made) == expected


def regimes(*regrets: float) -> list[Panel]:
    """Below 0.3, from 0.3 to below 10, 10, and beyond."""

    def level(epsilon: float) -> float:
        return regrets[sum(epsilon >= edge for edge in (0.3, 10.0, 11.0))]

    return [
        panel(f"ε = {e:g}", {"AdaP-KLUCB": level(e)}, epsilon=e)
        for e in (*figure3.EPSILONS, *figure3.FURTHER)
    ]


@pytest.mark.parametrize(
    ("regrets", "expected"),
    [
        ((900.0, 300.0, 300.0, 300.0), [YES, YES]),
        ((300.0, 300.0, 300.0, 300.0), [NO, YES]),
        ((900.0, 300.0, 200.0, 200.0), [YES, PARTLY]),
        ((900.0, 300.0, 100.0, 100.0), [YES, NO]),
    ],
)
def test_azize2022_figure3(regrets: tuple[float, ...], expected: list[Verdict]) -> None:
    assert verdicts("azize2022", "3", *regimes(*regrets)) == expected


def test_where_the_regret_settles() -> None:
    low = figure("azize2022", "3").judge(regimes(900.0, 300.0, 100.0, 100.0))[1]
    settled = next(m for name, m in low.measured.items() if name.startswith("ε from which"))
    assert settled == Measure(10.0)


def test_lower_bounds_of_figure3() -> None:
    """Naive: four arms with gap 0.7 and kl(0.1, 0.8); drawn for T = 1e7."""
    kl = 0.1 * math.log(0.1 / 0.8) + 0.9 * math.log(0.9 / 0.2)
    assert figure3.bounds_part() == pytest.approx(kl / 4.2)
    (axes,) = figure("azize2022", "3").draw(regimes(900.0, 300.0, 300.0, 300.0)).axes
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    private = lines["lower bound, ε-DP"]
    naive = [
        4 * 0.7 / min(kl, 6 * epsilon * 0.7) * math.log(1e7)
        for epsilon in np.asarray(private.get_xdata())
    ]
    assert np.asarray(private.get_ydata()) == pytest.approx(naive)
    unaware = np.asarray(lines["lower bound without privacy"].get_ydata())
    assert unaware == pytest.approx([4 * 0.7 / kl * math.log(1e7)] * 2)


def budgets(**changes: dict[str, float]) -> list[Panel]:
    """Four settings of an environment: regret falls with ε, but not that of DP-SE, which commits.

    `changes` are finals by setting e0 ... e3.
    """
    panels = []
    for place, epsilon in enumerate(EPSILONS):
        finals = {
            label: final if label == "DP-SE" else final / (place + 1)
            for label, final in FINE.items()
        }
        finals |= changes.get(f"e{place}", {})
        committed = curve("DP-SE", finals.pop("DP-SE"), shape=(0, 0.5, 1, 1, 1))
        panels.append(panel(f"ε = {epsilon:g}", finals | {"DP-SE": committed}, epsilon=epsilon))
    return panels


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [YES, YES, YES, YES, YES]),
        ({"e0": {"DP-SE": 90.0}}, [PARTLY, YES, YES, NO, YES]),
        ({"e0": {"DP-SE": 2600.0}}, [YES, YES, YES, PARTLY, YES]),
        ({"e2": {"AdaP-UCB": FINE["AdaP-KLUCB"] / 3}}, [YES, PARTLY, YES, YES, YES]),
        ({"e2": {"AdaP-UCB": 10.0}}, [YES, NO, YES, YES, YES]),
        ({"e2": {"AdaP-UCB": 99.0}}, [YES, NO, YES, YES, YES]),
        ({"e3": {"AdaP-UCB": 120.0, "AdaP-KLUCB": 100.0}}, [YES, YES, PARTLY, YES, YES]),
    ],
)
def test_azize2022_environments(
    changes: dict[str, dict[str, float]], expected: list[Verdict]
) -> None:
    for number in ("4", "5", "6", "7"):
        assert verdicts("azize2022", number, *budgets(**changes)) == expected


def test_a_policy_that_does_not_commit_is_noticed() -> None:
    panels = budgets()
    exploring = panel("ε = 1", FINE, epsilon=1.0)
    assert verdicts("azize2022", "4", *panels[:3], exploring)[4] is PARTLY


@pytest.mark.parametrize(
    ("klucb", "ucb", "expected"), [(50.0, 60.0, YES), (150.0, 60.0, PARTLY), (150.0, 190.0, NO)]
)
def test_azize2022_figure8(klucb: float, ucb: float, expected: Verdict) -> None:
    finals = {
        "AdaP-KLUCB, α = 1": klucb, "AdaP-UCB, α = 1": ucb,
        "AdaP-KLUCB, α = 3.1": 120.0, "AdaP-UCB, α = 3.1": 160.0,
    }  # fmt: skip
    assert verdicts("azize2022", "8", panel("C1", finals)) == [expected]


def prices(at_horizon: dict[float, float], later: dict[float, float], peak: float) -> list[Panel]:
    """Prices at the horizon and after it; on the way the price peaks."""
    now = {"not private": 100.0} | {
        f"ρ = {rho:g}": 100.0 * (1.0 + at_horizon.get(rho, 0.0)) for rho in figure5_4.BUDGETS
    }
    then: dict[str, object] = {"not private": curve("not private", 100.0)}
    for rho in figure5_4.SHOWN:
        last = 1.0 + later.get(rho, 0.0)
        shape = (0, 0.2, 0.6 * (1.0 + peak) / last, 0.9, 1)
        then[f"ρ = {rho:g}"] = curve(f"ρ = {rho:g}", 100.0 * last, shape=shape)
    return [panel("the published horizon", now), panel("longer runs", then)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at_horizon", "later", "peak", "expected"),
    [
        ({0.001: 0.08}, {}, 1.0, [YES, YES]),
        ({0.001: 3.0}, {0.001: 0.5}, 4.0, [YES, PARTLY]),
        ({0.001: 3.0}, {0.001: 3.0}, 0.0, [YES, NO]),
        ({0.001: 3.0, 100.0: 1.0}, {}, 4.0, [PARTLY, PARTLY]),
        ({}, {}, 1.0, [NO, YES]),
    ],
)
def test_thesis2024_figure5_4(
    at_horizon: dict[float, float], later: dict[float, float], peak: float, expected: list[Verdict]
) -> None:
    assert verdicts("thesis2024", "5.4", *prices(at_horizon, later, peak)) == expected


def test_the_least_free_budget_is_the_end_of_an_unbroken_row() -> None:
    free = figure5_4._least_free
    none, some = Measure(1.0, 1.0), Measure(5.0, 1.0)
    assert free({0.1: none, 1.0: some, 10.0: none, 100.0: none}) == 10.0
    assert math.isnan(free({0.1: none, 1.0: some}))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({}, [YES, YES, YES]),
        # with the heuristic both orders are as published, in the theorems they are reversed
        ({"AdaP-TT": 300.0, "AdaP-TT*": 400.0}, [NO, NO, NO]),
        ({"AdaP-TT": 300.0}, [PARTLY, YES, NO]),
        ({"AdaP-TT*": 90.0}, [YES, NO, YES]),
        ({"AdaP-TT*, journal": 900.0}, [YES, YES, YES]),
    ],
)
def test_figure5_7_is_judged_by_the_thresholds_of_the_thesis(
    times: dict[str, float], expected: list[Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = {
        "DP-SE": 200.0, "AdaP-TT": 80.0, "AdaP-TT*": 65.0, "AdaP-TT*, journal": 60.0,
        "AdaP-TT, heuristic": 8.0, "AdaP-TT*, heuristic": 6.0,
    }  # fmt: skip
    made = fine | times
    monkeypatch.setattr(figure5_7, "_time", lambda p, i, label, e: Measure(made[label], 1.0))
    entry = figure5_7.FIGURE
    found = [entry._below_elimination([]), entry._starred([]), entry._alike([])]
    assert [finding.verdict for finding in found] == expected


def test_figure5_7_runs_the_factor_of_the_thesis() -> None:
    """(5.12) to (5.14) of the thesis print 3, the journal 1/2; both run under their names."""
    rows = figure5_7._private(0.1)
    versions = {label: row.recipe.get("version") for label, row in rows.items()}
    assert versions["AdaP-TT*"] == versions["AdaP-TT*, heuristic"] == "thesis-k2"
    assert versions["AdaP-TT*, journal"] == "jmlr"


def test_the_smallest_effect_that_would_be_seen() -> None:
    """4 standard errors come out above 2 with probability Φ(2); the rate by the binomial law."""
    from scipy.stats import binom

    assert smallest_seen(Measure(1.0, 3.0)) == Measure(12.0)
    rate = figure5_7._rate_seen(1000, 0.028)
    assert binom.sf(28, 1000, rate) == pytest.approx(0.98, abs=1e-9)


def test_what_was_fitted_is_marked() -> None:
    from discreet.studies._base import Mark
    from discreet.studies.ren2020 import _figure1 as figure1
    from discreet.studies.ren2020._setting import BERNOULLI, UCB, at

    made = {UCB: curve(UCB, 100.0), at(BERNOULLI, 2.0): curve("B", 160.0)}
    finding = figure1._ratio(made, BERNOULLI)
    assert finding.verdict is YES
    assert finding.marks == (Mark.FITTED,)
    assert finding.to_dict()["marks"] == ["fitted"]
