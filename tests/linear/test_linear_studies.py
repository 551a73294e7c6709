"""The studies of linear figures run and judge at a small size."""

from __future__ import annotations

import pytest

from discreet.studies import Size, figure


@pytest.mark.parametrize("number", ["5.5", "5.6", "c.1"])
def test_linear_figures_run_judge_and_draw(number: str) -> None:
    done = figure("thesis2024", number).run(Size(3_000, 3, 20), seed=1)
    assert done.findings
    assert all(finding.measured for finding in done.findings)
    assert done.picture().axes
    if number != "c.1":
        printed, sound = done.panels
        assert not printed["ρ = 1"].guarantee.is_private
        assert sound["ρ = 1"].guarantee.budget.to_dict() == {
            "kind": "zcdp",
            "rho": pytest.approx(1),
        }
        assert printed["not private"].regret.tolist() == sound["not private"].regret.tolist()
