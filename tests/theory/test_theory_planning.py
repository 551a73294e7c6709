"""The planner: what it is asked, who can serve, what it predicts, what it recommends."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import theory
from discreet.errors import InvalidArgument
from discreet.policies._schedules import growth_of
from discreet.theory.planning import Candidate, Plan, Prediction, candidates, plan, question
from discreet.theory.planning import _race as racing
from discreet.theory.planning._plan import _free, _why, is_safe, serving_and_refused
from discreet.theory.planning._progress import Steps
from discreet.theory.planning._race import Runs, finalists, selected, still_possible
from discreet.theory.planning._regret import binding, lower_bound

MEANS = [0.7, 0.5, 0.4]


@pytest.fixture(scope="module")
def served() -> Plan:
    """A plan with a trusted server, at two ε."""
    return plan(MEANS, horizon=3000, epsilon=1.0, epsilons=[0.3], seed=7, progress=False)


@pytest.fixture(scope="module")
def local() -> Plan:
    """A plan without trust."""
    return plan(MEANS, horizon=2000, epsilon=2.0, epsilons=[2.0], trust="none", progress=False)


def test_the_recommendation_is_the_best_of_its_own_predictions(served: Plan) -> None:
    assert served.epsilons == (0.3, 1.0)
    assert served.complete
    own = served.at(1.0)
    followed = [p.mean for p in own if p.until == 3000 and p.safe]
    assert served.recommended.mean == min(followed)
    assert {p.row for p in own} == set(served.serving)
    best = served.recommended
    assert best.low <= best.mean <= best.high
    assert best.usual[0] < best.mean < best.usual[1]
    assert best.runs >= 1600
    assert served.best(0.3).mean > best.mean
    with pytest.raises(InvalidArgument, match="plan's"):
        served.best(0.7)


def test_predictions_hold_on_fresh_simulations(served: Plan) -> None:
    best = served.recommended
    fresh = discreet.simulate(
        served.policy,
        discreet.Bernoulli(MEANS),
        horizon=3000,
        runs=1500,
        seed=99,
        points=2,
        shuffle=True,
    ).final_regret
    error = math.hypot((best.high - best.low) / 4, float(fresh.std()) / math.sqrt(1500))
    # 6 standard errors of a mean of >= 1500 runs: false alarm about 1e-8 under normality, and the
    # seed is fixed
    assert abs(best.mean - float(fresh.mean())) < 6 * error


def test_bounds_and_strengths(served: Plan) -> None:
    for prediction in served.predictions:
        expected = theory.private_bernoulli(MEANS, prediction.epsilon) * math.log(3000)
        assert lower_bound(served.question, prediction.epsilon) == pytest.approx(expected)
        reached = min(p.mean for p in served.at(prediction.epsilon) if p.until == 3000)
        assert prediction.bound == pytest.approx(
            expected if expected <= reached else math.nan, nan_ok=True
        )
    assert served.free.theory == pytest.approx(theory.free_epsilon(MEANS))
    assert [s.epsilon for s in served.strengths] == [0.3, 1.0]
    assert served.open is not None
    assert served.open.mean < served.recommended.mean


def test_who_cannot_serve(served: Plan, local: Plan) -> None:
    assert served.refused["ucb1"] == "not private"
    assert served.refused["adac-ucb"] == "needs δ > 0"
    assert "each single choice" in served.refused["dp-ftpl-new"]
    assert "needs a server" in local.refused["dp-imed"]
    assert set(local.serving) == {"ldp-ucb-b", "ldp-ucb-l", "ldp-ucb-bs", "ldp-ucb-ls"}
    assert not set(served.serving) & set(served.refused)
    assert set(served.serving) | set(served.refused) == set(discreet.CATALOGUE)


def test_who_is_simulated(served: Plan) -> None:
    """The field where it was measured; everybody else on request, or where it was not."""
    assert set(served.serving) == {"dp-imed", "laplace-imed", "dp-klucb", "adap-klucb"}
    assert "all_policies=True" in served.refused["private-thompson"]
    usual = question(MEANS, horizon=3000)
    assert "private-thompson" in serving_and_refused(usual, True)[1]
    for unlike in (question(MEANS, horizon=90), question([0.5, *[0.4] * 16], horizon=3000)):
        assert "private-thompson" in serving_and_refused(unlike, False)[1]
    with pytest.raises(InvalidArgument, match="all_policies"):
        plan(MEANS, horizon=3000, all_policies=1)  # type: ignore[arg-type]


def test_first_batches_are_tuned() -> None:
    """The row's own, two and four times that, and a larger part of a short trial; each once."""
    asked = question([0.5, 0.45, 0.4, 0.35], horizon=50_000, epsilon=0.05)
    found = [c for c in candidates(asked)[0] if c.row == "dp-imed" and "ratio" not in c.options]
    assert [c.times for c in found] == [None, 2, 4]
    assert found[2].settings(0.05, 0.0) == {"first": 1600, "portion": 3}
    assert found[2].settings(0.1, 0.0)["first"] == 800
    assert found[2].label == "dp-imed (first batch × 4)"
    assert found[2].policy(0.05, 0.0).guarantee.budget == discreet.Pure(0.05)
    short = question([0.9, 0.8], horizon=500, epsilon=0.1)
    own = [c for c in candidates(short)[0] if c.row == "dp-imed" and "ratio" not in c.options]
    assert [c.times for c in own] == [None, 1]  # a sixth of the trial whatever the length
    longer = own[1].policy(0.1, 0.0)
    growth = growth_of(longer.schedule, longer.setting(2, 500))
    assert growth is not None
    assert growth.first == 83


def test_without_trust(local: Plan) -> None:
    assert local.recommended.row == "ldp-ucb-b"
    assert local.policy.guarantee.definition is discreet.Definition.LOCAL
    assert "without one privacy always costs" in local.text()


def test_with_delta_more_rows_serve() -> None:
    asked = question(MEANS, horizon=1000, delta=1e-5)
    serving = {candidate.row for candidate in candidates(asked)[0]}
    assert {"adac-ucb", "dp-ucb-int", "dp-imed"} <= serving
    wanted = discreet.Guarantee(discreet.Approximate(1.0, 1e-5), discreet.Definition.VIEW)
    for candidate in candidates(asked)[0]:
        assert candidate.policy(1.0, 1e-5).guarantee.implies(wanted)


@pytest.mark.parametrize("trust", ["server", "none"])
def test_every_candidate_keeps_the_promise(trust: str) -> None:
    asked = question(MEANS, horizon=1000, epsilon=0.7, trust=trust)
    definition = discreet.Definition.LOCAL if trust == "none" else discreet.Definition.VIEW
    wanted = discreet.Guarantee(discreet.Pure(0.7), definition)
    for candidate in candidates(asked)[0]:
        assert candidate.policy(0.7, 0.0).guarantee.implies(wanted)


def test_text_page_and_json(served: Plan, tmp_path: Path) -> None:
    shown = served.text()
    for part in (
        "RECOMMENDED",
        "COST BY ε",
        "CANDIDATES AT",
        "WHAT EACH ε MEANS",
        "POLICIES LEFT OUT",
    ):
        assert part in shown
    assert max(len(line) for line in shown.splitlines()) <= 120
    assert shown.count("\n") < 70  # one page
    call = shown.partition("discreet.policy(")[2].partition(")")[0]
    assert eval(f"discreet.policy({call})", {"discreet": discreet}) == served.policy
    data = json.loads(json.dumps(served.to_dict(), allow_nan=False))
    assert data["recommended"]["row"] == served.recommended.row
    assert data["free_epsilon"]["theory"] == pytest.approx(served.free.theory)
    assert len(data["predictions"]) == len(served.predictions)
    written = served.write(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "What each ε means" in written
    assert served.recommended.label in written
    partial = replace(served, complete=False)
    assert "Interrupted" in partial.text()
    assert "interrupted" in partial.page().html()


def test_a_seed_fixes_every_number(local: Plan) -> None:
    again = plan(MEANS, horizon=2000, epsilon=2.0, epsilons=[2.0], trust="none", threads=1)
    assert again.to_dict() == local.to_dict()


def test_arms_as_a_gap_or_a_range() -> None:
    gap = question(arms=4, gap=0.1, horizon=1000)
    assert gap.scenarios == ((0.55, 0.45, 0.45, 0.45),)
    low = question(arms=2, gap=0.02, rates=(0.0, 0.1), horizon=1000)
    assert low.scenarios[0] == pytest.approx((0.06, 0.04))
    drawn = question(arms=3, rates=(0.2, 0.4), horizon=1000)
    assert len(drawn.scenarios) == 5
    for means in drawn.scenarios:
        assert 0.2 <= min(means) <= max(means) <= 0.4
        assert sorted(means, reverse=True)[1] < max(means)
    assert drawn == question(arms=3, rates=(0.2, 0.4), horizon=1000)
    assert drawn.uniform == pytest.approx(
        float(np.mean([max(m) - np.mean(m) for m in drawn.scenarios]))
    )


def test_a_range_is_averaged() -> None:
    found = plan(
        arms=2, rates=(0.2, 0.8), horizon=1000, trust="none", epsilons=[1.0], progress=False
    )
    scale = math.log(1000) / 5
    expected = scale * sum(theory.best_lower(m, 1.0, local=True) for m in found.question.scenarios)
    assert lower_bound(found.question, 1.0) == pytest.approx(expected)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "means"),
    ({"means": [0.5]}, "means"),
    ({"means": [0.5, 0.5]}, "means"),
    ({"means": [0.5, 2.0]}, "means"),
    ({"means": MEANS, "gap": 0.1}, "means"),
    ({"means": MEANS, "arms": 2}, "arms"),
    ({"arms": 3}, "means"),
    ({"arms": 1, "gap": 0.1}, "arms"),
    ({"arms": 3, "gap": 1.0}, "gap"),
    ({"arms": 3, "rates": (0.5, 0.2)}, "rates"),
    ({"arms": 3, "rates": (0.5,)}, "rates"),
    ({"means": MEANS, "horizon": None}, "horizon"),
    ({"means": MEANS, "horizon": 2}, "horizon"),
    ({"means": MEANS, "goal": "profit"}, "goal"),
    ({"means": MEANS, "trust": "me"}, "trust"),
    ({"means": MEANS, "epsilon": 0.0}, "epsilon"),
    ({"means": MEANS, "epsilons": [-1.0]}, "epsilons"),
    ({"means": MEANS, "epsilons": []}, "epsilons"),
    ({"means": MEANS, "delta": 1.0}, "delta"),
    ({"means": MEANS, "goal": "identify", "risk": 0.5}, "risk"),
    ({"means": [0.7, 0.7, 0.5], "goal": "identify"}, "means"),
    ({"means": MEANS, "seed": -1}, "seed"),
]


@pytest.mark.parametrize(("arguments", "argument"), WRONG)
def test_wrong_questions(arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        plan(**({"horizon": 1000} | arguments))
    assert error.value.argument == argument


def runs(row: str, mean: float, spread: float, until: int = 100) -> Runs:
    values = np.array([mean - spread, mean + spread] * 50)
    return Runs(Candidate(row), 1.0, until, [values])


def test_racing_keeps_what_may_still_win() -> None:
    near, far = runs("a", 100, 20), runs("b", 150, 20)
    close = runs("a", 104, 20)
    assert still_possible([far, close, near]) == [near, close]
    assert selected([far, close, near], 2) == [near, close, far]  # and the best of a second row
    assert selected([near, close], 1) == [near]
    kept = finalists([near, far, runs("c", 600, 1), runs("d", 50, 1, until=10)], 100)
    assert [candidate.row for candidate in kept] == ["a", "b"]
    alone = finalists([near, runs("c", 600, 1)], 100)
    assert [candidate.row for candidate in alone] == ["a", "c"]


def test_ctrl_c_keeps_what_was_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    real = racing.Race.run
    seen = []

    def second_time(race: Any, *arguments: Any) -> Any:
        seen.append(race.epsilon)
        if len(seen) > 1:
            raise racing.Interrupted
        return real(race, *arguments)

    monkeypatch.setattr(racing.Race, "run", second_time)
    found = plan(MEANS, horizon=500, epsilon=2.0, epsilons=[1.0], trust="none", progress=False)
    assert seen == [2.0, 1.0]  # the ε that was asked for comes first
    assert not found.complete
    assert found.epsilons == (2.0,)
    assert found.recommended.row == "ldp-ucb-b"
    monkeypatch.setattr(racing.Race, "run", lambda *_: (_ for _ in ()).throw(racing.Interrupted))
    with pytest.raises(KeyboardInterrupt):
        plan(MEANS, horizon=500, trust="none", progress=False)


def test_identification() -> None:
    found = plan(
        [0.9, 0.5], goal="identify", risk=0.05, epsilon=2.0, epsilons=[0.5], progress=False
    )
    published = {"adap-tt", "adap-tt-star", "ctb-tt", "dp-se", "race"}
    assert {p.row for p in found.at(2.0)} == published | {"evidence-tt", "local-evidence-tt"}
    assert found.recommended.row == "evidence-tt"
    for p in found.predictions:
        assert p.bound == pytest.approx(theory.identification_samples([0.9, 0.5], 0.05, p.epsilon))
        assert p.mean > p.bound
        assert p.wrong is not None
        assert p.wrong <= 0.05
    assert found.recommended.mean == min(p.mean for p in found.at(2.0))
    assert found.free.theory == pytest.approx(theory.free_epsilon_identification([0.9, 0.5]))
    assert "number of samples" in found.why[0]
    assert "(samples; the best candidate at each ε)" in found.text()
    assert "Predicted samples" in found.page().html()
    json.dumps(found.to_dict(), allow_nan=False)
    assert (found.policy.name, found.policy.guarantee.budget) == ("evidence-tt", discreet.Pure(2.0))


def test_a_bound_that_a_short_trial_cannot_reach_is_not_shown() -> None:
    found = plan([0.6, 0.5], horizon=60, epsilon=0.5, epsilons=[0.5], trust="none", progress=False)
    assert theory.private_bernoulli([0.6, 0.5], 0.5) * math.log(60) > 3.0  # all that can be lost
    assert math.isnan(found.recommended.bound)
    json.dumps(found.to_dict(), allow_nan=False)
    small = replace(found.recommended, mean=1.0, low=0.9, high=1.1)
    assert any("larger trials" in reason for reason in _why(found.question, [small], None))


def test_with_delta_only_the_bound_without_privacy_is_claimed() -> None:
    for trust in ("server", "none"):
        asked = question(MEANS, horizon=1e5, epsilon=0.1, delta=1e-5, trust=trust)
        assert lower_bound(asked, 0.1) == pytest.approx(theory.lai_robbins(MEANS) * math.log(1e5))


def cut_off(name: str, mean: float, until: int | None) -> Prediction:
    usual = (0.5 * mean, 2.0 * mean)
    return Prediction(1.0, name, {}, name, mean, mean, mean, usual, 9, until, 10.0, 0.0)


def test_what_was_cut_off_is_a_least_value() -> None:
    asked = question([0.9, 0.5], goal="identify", horizon=100, epsilons=[1.0])
    opened = cut_off("ttucb", 100.0, None)
    own = (cut_off("dp-se", 300.0, None), cut_off("ctb-tt", 90.0, 20_000_000))
    free = _free(asked, own, opened)
    assert free.practice is None  # 90 is not within a tenth of 100: it was cut off
    strengths = (theory.strength(1.0),)
    shown = Plan(
        asked, ("dp-se", "ctb-tt"), {}, own, opened, free, strengths, _why(asked, own, opened), True
    )
    assert "> 90  cut off after 20,000,000 samples" in " ".join(shown.text().split(" ")).replace(
        "   ", "  "
    )
    assert "at least 90" in shown.text()
    assert any("without an answer" in reason for reason in shown.why)
    alone = _why(asked, own[1:], opened)
    assert alone[0].startswith("No candidate ends for sure within 20,000,000 samples")


def printed_calls(text: str) -> list[str]:
    """Every call of the library in a plan's text, with its lines joined."""
    return re.findall(r"discreet\.[\w.]+\([^()]*\)", " ".join(text.split()))


@pytest.mark.parametrize(
    "asked",
    [
        {"horizon": 500},
        {"horizon": 500, "delta": 1e-3, "epsilon": 0.7},
        {"horizon": 500, "delta": 0.2},
        {"horizon": 500, "trust": "none"},
        {"horizon": 200_000},
        {"goal": "identify", "epsilon": 3.0},
        {"goal": "identify", "epsilon": 3.0, "trust": "none"},
    ],
    ids=str,
)
def test_every_call_that_is_printed_runs(asked: dict[str, Any]) -> None:
    epsilon = asked.get("epsilon", 1.0)
    found = plan([0.95, 0.2], epsilons=[epsilon], progress=False, **asked)
    made = [eval(call, {"discreet": discreet}) for call in printed_calls(found.text())]
    assert made
    for row in made:
        assert row.name == found.recommended.row
        assert row.guarantee.budget == found.policy.guarantee.budget


def test_a_row_that_can_lose_a_run_is_not_recommended() -> None:
    """Unless the trial is so small that nobody can regret 20 times the median."""
    small, large = question(MEANS, horizon=1000), question(MEANS, horizon=100_000)
    row, cautious = Candidate("dp-imed"), Candidate("laplace-imed", {"caution": 0.5})
    for asked, median, safe in ((small, 15.0, True), (small, 14.9, False), (large, 15.0, False)):
        assert is_safe(asked, row, median) is safe  # at most 300 or 30,000 can be lost
        assert is_safe(asked, cautious, median)
    assert not is_safe(large, Candidate("laplace-imed"), 15.0)
    assert is_safe(large, Candidate("ldp-ucb-b"), 15.0)
    cheap, sure = cut_off("dp-imed", 9.0, 100_000), cut_off("laplace-imed", 10.0, 100_000)
    own = (replace(cheap, safe=False), sure)
    asked = question([0.6, 0.5], horizon=100_000, epsilons=[1.0])
    free, strengths = _free(asked, own, None), (theory.strength(1.0),)
    shown = Plan(
        asked, ("dp-imed", "laplace-imed"), {}, own, None, free, strengths, _why(asked, own, None),
        True,
    )  # fmt: skip
    assert shown.recommended.row == "laplace-imed"
    assert "regret more than 20 times the median" in shown.why[0]
    assert "dp-imed has 9" in shown.why[0]


def test_a_bound_is_shown_where_no_candidate_is_below_it() -> None:
    asked = question([0.6, 0.5], horizon=100, epsilons=[1.0])
    above, below = cut_off("dp-imed", 10.5, 100), cut_off("dp-imed", 9.5, 100)
    early = cut_off("dp-ucb", 1.0, 50)  # a least value says nothing
    assert [p.bound for p in binding([above, early], asked)] == [10.0, 10.0]
    assert all(math.isnan(p.bound) for p in binding([above, below, early], asked))


def test_a_row_that_decides_each_round_leaves_at_three_standard_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind by 2.9 of them after the first look it is followed to the end, by 3.1 it is not."""
    asked = question([0.6, 0.5], horizon=20_000, epsilons=[1.0])
    seen: list[tuple[str, int]] = []

    def more(race: Any, entry: Runs, runs: int, stage: int, until: int) -> None:
        seen.append((entry.candidate.row, until))
        entry.until = until
        behind = {"dp-ucb": 2.9, "private-ucb": 3.1}[entry.candidate.row]
        values = np.array([-1.0, 1.0] * 50)
        error = float(values.std(ddof=1)) / 10.0
        entry.values = [100.0 + behind * error + values]

    monkeypatch.setattr(racing.Race, "_more", more)
    slow = [Runs(Candidate(name), 1.0, 20_000) for name in ("dp-ucb", "private-ucb")]
    with Steps(1, "x", False) as steps:
        racing.Race(asked, 1.0, 1, steps)._each_round(slow, 100.0)
    assert racing.STRETCH == 10_000
    assert seen[:2] == [("dp-ucb", 10_000), ("private-ucb", 10_000)]
    assert {row for row, until in seen if until == 20_000} == {"dp-ucb"}
    assert [entry.until for entry in slow] == [20_000, 10_000]


@pytest.mark.parametrize(("mean", "practice"), [(110.0, 1.0), (110.1, None)])
def test_privacy_is_free_in_practice_within_a_tenth(mean: float, practice: float | None) -> None:
    asked = question([0.6, 0.5], horizon=100, epsilons=[1.0])
    opened = cut_off("imed", 100.0, 100)
    assert _free(asked, (cut_off("dp-imed", mean, 100),), opened).practice == practice


def test_the_other_thresholds() -> None:
    """Figures that decide who is simulated how often, and who is out."""
    assert (racing.STAGES, racing.KEPT, racing.WITHIN) == ((100, 400, 1200), (4, 2), 5.0)
    near, at, beyond = runs("a", 100, 1), runs("b", 500, 1), runs("c", 501, 1)
    assert [c.row for c in finalists([near, at, beyond], 100)] == ["a", "b"]
    error = runs("a", 100, 10).error
    assert still_possible([runs("a", 100, 10), runs("b", 100 + 4.2 * error, 10)])[1:]
    assert not still_possible([runs("a", 100, 10), runs("b", 100 + 4.3 * error, 10)])[1:]


def test_a_policy_that_never_moves_regrets_what_it_should() -> None:
    """Each arm is the first in as many runs as any other: the mean is that of equal allocation, to
    the last digit. Orders at random gave 22 for 25 here."""
    found = plan(
        [0.6, 0.5, 0.4, 0.3, 0.2], horizon=125, epsilons=[1.0], progress=False, all_policies=True
    )
    stays = next(p for p in found.at(1.0) if p.row == "private-thompson")
    assert stays.runs % 5 == 0
    assert stays.mean == pytest.approx(found.equal, abs=1e-9) == pytest.approx(25.0)


def test_predictions_are_json_ready() -> None:
    odd = Prediction(math.inf, "imed", {}, "imed", 1.0, 0.0, math.inf, (0.0, math.inf), 1, 10, 0.5)
    assert odd.to_dict()["high"] is None
    assert odd.to_dict()["usual"] == [0.0, None]


def test_no_policy_wins_by_the_order_of_the_list() -> None:
    """In 300 rounds private Thompson sampling never leaves the first arm it meets."""
    found = plan([0.7, 0.5], horizon=300, epsilons=[1.0], progress=False, all_policies=True)
    stays = next(p for p in found.at(1.0) if p.row == "private-thompson")
    # half of the runs stay with the best arm and lose nothing, half lose 60
    assert stays.usual == pytest.approx((0.0, 60.0))
    assert found.recommended.row != "private-thompson"
    assert found.recommended.mean > 3.0
    assert found.helps
    assert found.to_dict()["helps"] is True
    assert found.to_dict()["equal_allocation"] == pytest.approx(30.0)


def test_it_says_so_when_no_private_policy_helps() -> None:
    arguments: dict[str, Any] = {"trust": "none", "epsilon": 0.05, "epsilons": [0.05]}
    found = plan([0.6, 0.5], horizon=100, progress=False, **arguments)
    assert found.helps is False
    assert found.equal == pytest.approx(5.0)
    assert "RECOMMENDED  equal allocation" in found.text()
    assert found.why[0].startswith("No private policy helps at this size")
    assert len(found.why) == 2
    assert "Equal allocation: no private policy helps" in found.page().html()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["helps"] is False
    assert data["equal_allocation"] == pytest.approx(5.0)
    assert repr(found).endswith("no private policy helps)")


@pytest.mark.parametrize(
    ("mean", "half", "helps"), [(4.0, 0.4, True), (4.0, 0.6, False), (5.5, 0.1, False)]
)
def test_a_policy_helps_if_it_is_clearly_below_equal_allocation(
    mean: float, half: float, helps: bool
) -> None:
    asked = question([0.6, 0.5], horizon=100, epsilons=[1.0])  # equal allocation: 5
    one = replace(cut_off("dp-imed", mean, 100), low=mean - half, high=mean + half)
    strengths = (theory.strength(1.0),)
    free = _free(asked, [one], None)
    shown = Plan(
        asked, ("dp-imed",), {}, (one,), None, free, strengths, _why(asked, [one], None), True
    )
    assert shown.helps is helps
    assert ("equal allocation" in shown.why[0]) is not helps


def test_a_lucky_leader_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs that all met the best arm first must not decide."""
    asked = question([0.6, 0.5], horizon=100, epsilons=[1.0])
    lucky = Runs(Candidate("dp-ucb"), 1.0, 100, [np.zeros(3)])
    steady = Runs(Candidate("dp-imed"), 1.0, 100, [np.full(1700, 4.0)])
    seen = []

    def rerun(race: Any, entry: Runs, runs: int, stage: int, until: int) -> None:
        seen.append((entry.candidate.row, runs))
        entry.values.append(np.full(runs, 5.0))

    monkeypatch.setattr(racing.Race, "_more", rerun)
    with Steps(1, "x", False) as steps:
        racing.Race(asked, 1.0, 1, steps)._confirm([lucky, steady], 1700)
    assert seen == [("dp-ucb", racing.MANY - 3)]
    assert min([lucky, steady], key=lambda entry: entry.mean) is steady


def test_the_former_name_of_the_goal() -> None:
    assert question([0.9, 0.5], goal="identification").goal == "identify"
    assert question([0.9, 0.5], goal="identify").to_dict()["goal"] == "identify"
    with pytest.raises(InvalidArgument, match="'regret' or 'identify'"):
        question([0.9, 0.5], goal="identity")


def test_identification_is_simulated_in_several_orders() -> None:
    from discreet.theory.planning._samples import orders

    asked = question([0.9, 0.5, 0.4], goal="identify", seed=3)
    found = orders(asked)
    assert len(found) == 10
    assert {tuple(sorted(means)) for means in found} == {(0.4, 0.5, 0.9)}
    assert len({means.index(0.9) for means in found}) == 3
    assert orders(asked) == found


def test_the_catalogue_says_what_to_try_beside_the_published_options() -> None:
    from discreet.theory.planning import candidates as module

    assert discreet.CATALOGUE["dp-imed"].offered == ({"ratio": 1.5}, {"ratio": 1.25})
    source = Path(module.__code__.co_filename).read_text(encoding="utf-8")
    assert not [name for name in discreet.CATALOGUE if f'"{name}"' in source]
