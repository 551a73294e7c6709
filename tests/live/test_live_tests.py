"""Live trials that run a private test: what they release, where they stop, and what they say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet
from discreet.arms import Bernoulli
from discreet.cli._app import app
from discreet.confirm import Design
from discreet.confirm._played import played
from discreet.errors import InvalidArgument, TrialError
from discreet.live._arguments import grouped
from discreet.live._vetting import refuse_lives
from discreet.privacy import _secure as secure
from discreet.report._live_page import trial_report

PLAN = discreet.confirm.design(120, looks=3, epsilon=1.0)
FOUR = discreet.confirm.several(320, 3, looks=2, epsilon=1.0)
UNEVEN = discreet.confirm.several(300, 2, looks=3, control=0.5, epsilon=1.0)
ARMS = ["drug", "placebo"]


class World:
    """Participants who come one after the other, and a ledger of who got what."""

    def __init__(self, plan: Design = PLAN, **options: Any) -> None:
        self.now = 0.0
        self.seen: dict[str, list[float]] = {arm: [] for arm in ARMS}
        self.trial = discreet.Trial(
            plan, ARMS, deadline=10.0, missing=0.0, clock=lambda: self.now, **grouped(options)
        )

    def come(self, rates: tuple[float, float], most: int, seed: int = 1) -> int:
        """So many at most, one a unit of time, who answer at once; how many got an arm."""
        rng = np.random.default_rng(seed)
        for number in range(most):
            self.now += 1.0
            try:
                arm = self.trial.assign(f"p{number}-{self.now}")
            except TrialError:
                return number
            outcome = float(rng.random() < rates[ARMS.index(str(arm))])
            self.trial.record(f"p{number}-{self.now}", outcome)
            self.seen[str(arm)].append(outcome)
        return most

    def wait(self) -> None:
        """Until nothing is due any more."""
        self.now += 20.0


def naive(plan: Design, seen: dict[str, list[float]]) -> tuple[list[tuple[float, float]], int]:
    """By hand, without noise in the sums: the sums of every look until Z is beyond the boundary."""
    noise = 2.0 * math.exp(-1.0) / (1.0 - math.exp(-1.0)) ** 2  # of ε = 1
    sums: list[tuple[float, float]] = []
    for look, (n, _) in enumerate(plan.sizes, 1):
        before = plan.sizes[look - 2][0] if look > 1 else 0
        sums.append((sum(seen["drug"][before:n]), sum(seen["placebo"][before:n])))
        ones = [sum(pair[arm] for pair in sums) for arm in (0, 1)]
        p = min(max((sum(ones) + 2.0) / (2 * n + 4.0), 0.0), 1.0)
        spread = math.sqrt(p * (1 - p) * 2 / n + 2 * look * noise / n**2)
        if abs(ones[0] - ones[1]) / n / spread > plan.boundaries[look - 1]:
            return sums, look
    return sums, len(plan.sizes)


@pytest.mark.parametrize("rates", [(0.9, 0.2), (0.2, 0.9), (0.7, 0.4), (0.5, 0.5)])
def test_a_trial_stops_where_its_design_says(
    rates: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a replay by hand, with noise of 0 in place of the secure one."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = World()
    came = world.come(rates, 200)
    world.wait()
    sums, look = naive(PLAN, world.seen)
    assert world.trial.verdict() == PLAN.verdict(sums)
    assert world.trial.status == "finished"
    # the nine who came while the last of a look could still answer took places of the next one
    assert came == min(PLAN.sizes[look - 1][0] * 2 + 9, PLAN.participants)
    found = PLAN.verdict(sums).decision
    winner = {"better": "drug", "worse": "placebo"}.get(found)
    assert world.trial.recommendation == winner
    assert len(sums) == look


def test_the_cases_above_differ() -> None:
    """Both winners and none."""
    seen = {"drug": [1.0] * 60, "placebo": [0.0] * 60}
    assert naive(PLAN, seen)[1] == 1
    assert naive(PLAN, {"drug": [0.0, 1.0] * 30, "placebo": [1.0, 0.0] * 30})[1] == 3


def test_what_is_released_is_whole_and_near() -> None:
    """Secure noise of scale 1: beyond 40 with probability e^-40."""
    world = World()
    world.come((0.5, 0.5), 130)
    world.wait()
    verdict = world.trial.verdict()
    assert isinstance(verdict, discreet.confirm.Verdict)
    shown = world.trial.report()["test"]
    before = 0
    for look, (n, _) in zip(shown["looks"], PLAN.sizes, strict=True):
        if "sums" not in look:
            break
        for arm, total in zip(ARMS, look["sums"], strict=True):
            assert float(total).is_integer()
            assert abs(total - sum(world.seen[arm][before:n])) < 40
        before = n
    assert verdict == PLAN.verdict([look["sums"] for look in shown["looks"] if "sums" in look])


def test_nothing_but_go_on_is_shown_before_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither means nor Z, though they are released. All respond, so that Z is 0."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = World()
    assert world.trial.verdict() is None
    assert world.trial.report()["test"]["sentence"] == "no look yet: go on"
    world.come((1.0, 1.0), 55)
    shown = world.trial.report()
    assert shown["looks"] == shown["test"]["look"] == 1
    assert shown["test"]["decision"] == "go on"
    assert set(shown["test"]) == {"decision", "look", "sides", "looks", "sentence"}
    assert all(set(look) == {"participants", "boundary"} for look in shown["test"]["looks"])
    assert [row["mean"] for row in shown["arms"] or ()] == [None, None]
    assert [row["size"] for row in shown["arms"] or ()] == [20, 20]
    assert all(entry["mean"] is None for entry in shown["course"])
    assert shown["record"] is None
    assert "look 1: go on" in str(world.trial)
    world.come((1.0, 1.0), 200, seed=2)
    assert world.trial.status == "settling"  # all came, the last look is due: still nothing
    assert [row["mean"] for row in world.trial.report()["arms"] or ()] == [None, None]
    world.wait()
    shown = world.trial.report()
    json.dumps(shown, allow_nan=False)
    assert shown["test"]["decision"] == "no difference shown"
    assert world.trial.recommendation is None
    assert [row["size"] for row in shown["arms"] or ()] == [60, 60]
    total = sum(look["sums"][0] for look in shown["test"]["looks"])
    assert total == 60
    assert [row["mean"] for row in shown["arms"] or ()] == [1.0, 1.0]
    assert shown["test"]["sentence"] in str(world.trial)


def test_a_futile_test_ends_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    plan = discreet.confirm.design(
        120, looks=3, epsilon=1.0, sides=1, risk=0.05, futility=(0.0, 0.5)
    )
    world = World(plan)
    came = world.come((0.0, 1.0), 200)
    assert came == 49
    with pytest.raises(TrialError):
        world.trial.assign("late")
    world.wait()
    assert world.trial.status == "finished"
    assert world.trial.recommendation is None
    verdict = world.trial.verdict()
    assert isinstance(verdict, discreet.confirm.Verdict)
    assert (verdict.decision, verdict.look) == ("futile", 1)
    assert world.trial.report()["test"]["decision"] == "futile"


def test_a_stored_test_goes_on(tmp_path: Path) -> None:
    """Its design is in the file."""
    file = tmp_path / "trial.db"
    world = World(path=file)
    world.come((0.5, 0.5), 52)
    before, said = world.trial.verdict(), world.trial.report()
    world.trial.close()
    world.trial = discreet.Trial.load(file, clock=lambda: world.now)
    assert world.trial.verdict() == before
    assert world.trial.report() == said
    assert world.trial.policy == played(PLAN)
    world.come((0.5, 0.5), 200, seed=3)
    world.wait()
    verdict = world.trial.verdict()
    assert isinstance(verdict, discreet.confirm.Verdict)
    assert verdict.estimate is not None
    world.trial.close()


def test_a_rehearsal_is_the_trial() -> None:
    """The same rule, with noise that can be replayed."""
    options: dict[str, Any] = {"arrivals": 4.0, "delay": 5.0, "default": 0.0, "seed": 7}
    first = discreet.Rehearsal(PLAN, ARMS, **grouped(options))
    shown = first.play(Bernoulli([0.8, 0.3]))
    sums = [look["sums"] for look in shown["test"]["looks"] if "sums" in look]
    assert first.verdict() == PLAN.verdict(sums)
    assert all(float(x).is_integer() for pair in sums for x in pair)
    again = discreet.Rehearsal(PLAN, ARMS, **grouped(options))
    again.play(Bernoulli([0.8, 0.3]))
    assert again.verdict() == first.verdict()
    with pytest.raises(InvalidArgument, match="arrivals"):
        discreet.Rehearsal(PLAN, ARMS)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.5}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]
)
def test_the_guarantee_is_derived_and_holds(budget: dict[str, float], live: bool) -> None:
    row = played(discreet.confirm.design(40, looks=2, **budget))  # type: ignore[arg-type]
    assert row.guarantee.budget == row.design.budget
    found = row.proved(arms=2, horizon=40, live=live)
    assert found.holds
    assert found.scope.startswith("every public path")


def test_two_lives_that_differ_in_an_outcome_show_the_same() -> None:
    """Pairs of whole lives on symbols: nothing but releases reacts to an outcome."""
    assert refuse_lives(played(discreet.confirm.design(16, looks=2, epsilon=1.0)), 2)


def test_outcomes_between_0_and_1_never_get_in() -> None:
    """Whole noise would show their fractions."""
    world = World()
    arm = world.trial.assign("a")
    assert arm in ARMS
    with pytest.raises(InvalidArgument, match="0 or 1"):
        world.trial.record("a", 0.5)
    with pytest.raises(InvalidArgument, match="missing"):
        discreet.Trial(PLAN, ARMS, deadline="28 days", missing=0.5)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"risk": 0.05}, "risk"),
        ({"horizon": 100}, "horizon"),
        ({"streams": False}, "streams"),
        ({"contributions": 2}, "contributions"),
        ({"share": {"drug": 0.3}}, "share"),
        ({"trend": True}, "trend"),
        ({"deadline": "28 days", "missing": "estimate"}, "missing"),
    ],
)
def test_what_a_test_cannot_do_is_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        discreet.Trial(PLAN, ARMS, **grouped(options))
    assert error.value.argument == argument


def test_designs_that_no_trial_plays_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="arms"):
        discreet.Trial(PLAN, 3)
    with pytest.raises(InvalidArgument, match="be 4 for this test"):
        discreet.Trial(FOUR, ARMS)
    open_one = discreet.confirm.design(40, looks=1, epsilon=math.inf)
    with pytest.raises(InvalidArgument, match="private"):
        discreet.Trial(open_one, ARMS)
    with pytest.raises(TrialError, match="trials that test"):
        discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ARMS).verdict()


def test_arms_of_a_test_stay() -> None:
    world = World()
    with pytest.raises(TrialError, match="must stay"):
        world.trial.drop("placebo")
    with pytest.raises(TrialError, match="compared"):
        world.trial.add("third")


def test_a_test_that_is_ended_by_hand_has_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = World()
    world.come((1.0, 1.0), 55)
    world.trial.stop("public")
    world.wait()
    assert world.trial.status == "finished"
    verdict = world.trial.verdict()
    assert isinstance(verdict, discreet.confirm.Verdict)
    assert (verdict.decision, len(verdict.z)) == ("go on", 1)


TOLD = {
    "design": {"participants": 40, "looks": 2, "epsilon": 1.0}, "arms": ARMS, "deadline": "1 h",
    "missing": 0,
}  # fmt: skip


def command(*arguments: str, given: Any = None, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["trial", *arguments], input=json.dumps(given))
    assert result.exit_code == code, result.output
    return result.output


def test_a_test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    file, page = str(tmp_path / "trial.db"), tmp_path / "page.html"
    said = command("new", file, given=TOLD)
    assert "obrien-fleming at 20, 40 participants" in said
    assert command("verdict", file).strip() == "no look yet: go on"
    units = [{"unit": number} for number in range(20)]
    arms = json.loads(command("assign", file, "--json", given=units))
    outcomes = [{"unit": one["unit"], "outcome": int(one["arm"] == "drug")} for one in arms]
    command("record", file, given=outcomes)
    command("report", file, "--output", str(page))
    assert "No look yet: the trial goes on" in page.read_text()
    now[0] += 3601.0
    plan = discreet.confirm.design(40, looks=2, epsilon=1.0)
    wanted = plan.verdict([(10, 0)])
    assert wanted.decision == "better"
    assert wanted.estimate is not None
    assert command("verdict", file).strip() == str(wanted)
    told = json.loads(command("verdict", file, "--json"))
    assert told["p_value"] == wanted.estimate.p_value
    assert told["looks"][0]["sums"] == [10.0, 0.0]
    command("report", file, "--output", str(page))
    html = page.read_text()
    for words in (
        "drug is shown to be better than placebo, at look 1",
        f"{wanted.estimate.difference:.3f}", f"{wanted.z[0]:.3f}", f"{plan.boundaries[1]:.3f}",
    ):  # fmt: skip
        assert words in html
    assert "Released means" not in html


def test_designs_on_the_command_line_are_checked(tmp_path: Path) -> None:
    file = str(tmp_path / "trial.db")
    for wrong in ({"epsilon": 2.0}, {"policy": "dp-imed"}):
        assert "a design or a policy" in command("new", file, given={**TOLD, **wrong}, code=2)
    for design in ({"epsilon": 1.0}, 40, {"participants": 40, "epsilon": 1.0, "sizes": 3}):
        assert "design must have" in command("new", file, given={**TOLD, "design": design}, code=2)
    command("new", file, given={"policy": "dp-imed", "epsilon": 1.0, "arms": ARMS})
    assert "trials that test" in command("verdict", file, code=2)


def sites(looks: int = 2) -> discreet.confirm.StrataDesign:
    return discreet.confirm.strata({"north": 40, "south": 24}, looks=looks, epsilon=1.0, runs=2000)


class Sites:
    """Participants of two sites in turn, all of whom answer at once."""

    def __init__(self, **options: Any) -> None:
        self.now = 0.0
        self.seen: dict[tuple[str, str], list[float]] = {}
        self.trial = discreet.Strata(
            sites(),
            ["north", "south"],
            ARMS,
            deadline=5.0,
            missing=0.0,
            clock=lambda: self.now,
            **grouped(options),
        )

    def come(self, rates: tuple[float, float], most: int) -> int:
        """How many got an arm."""
        rng, took = np.random.default_rng(5), 0
        for number in range(most):
            self.now += 1.0
            unit, site = f"{number}-{self.now}", ("north", "north", "south")[number % 3]
            try:
                arm = str(self.trial.assign(unit, site))
            except TrialError:
                continue
            outcome = float(rng.random() < rates[ARMS.index(arm)])
            self.trial.record(unit, outcome)
            self.seen.setdefault((site, arm), []).append(outcome)
            took += 1
        self.now += 10.0
        return took

    def sums(self, looks: int) -> list[list[tuple[float, float]]]:
        """By hand, of every look and site."""
        found, plan = [], sites()
        for look in range(looks):
            row = []
            for site, sizes in zip(("north", "south"), plan.sizes, strict=True):
                before = sizes[look - 1][0] if look else 0
                parts = [self.seen[site, arm][before : sizes[look][0]] for arm in ARMS]
                row.append((sum(parts[0]), sum(parts[1])))
            found.append(row)
        return found


def test_a_test_over_strata_has_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sums, by hand; it stops everywhere once all sites have had the look that decides."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = Sites()
    assert world.trial.verdict() is None
    assert world.trial.report()["test"]["sentence"] == "no look yet: go on"
    took = world.come((1.0, 0.0), 120)
    verdict = world.trial.verdict()
    assert verdict == sites().verdict(world.sums(1))
    assert verdict is not None
    assert (verdict.decision, verdict.look) == ("better", 1)
    assert took < 64
    assert world.trial.status == "finished"
    shown = world.trial.report()
    json.dumps(shown, allow_nan=False)
    assert shown["test"]["decision"] == "better"
    forest = shown["test"]["forest"]
    assert forest == sites().forest(world.sums(1)).to_dict()
    html = trial_report(shown, clock="days").html()
    for words in ("drug is shown to be better than placebo, at look 1", "north", "Cochran"):
        assert words in html
    assert str(verdict) in str(world.trial)
    for one in shown["strata"]:
        assert one["test"]["decision"] == "go on"
        assert [row["mean"] for row in one["arms"] or ()] == [None, None]


def test_sites_without_a_difference_go_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    world = Sites()
    assert world.come((1.0, 1.0), 120) == 64
    verdict = world.trial.verdict()
    assert verdict == sites().verdict(world.sums(2))
    assert verdict is not None
    assert verdict.decision == "no difference shown"


def test_a_stored_test_over_strata_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "strata.db"
    world = Sites(path=file)
    world.come((0.5, 0.5), 40)
    before, said = world.trial.verdict(), world.trial.report()
    world.trial.close()
    world.trial = discreet.Strata.load(file, clock=lambda: world.now)
    assert world.trial.verdict() == before
    assert world.trial.report() == said
    assert world.trial.guarantee.budget == discreet.Pure(1.0)
    world.trial.close()


def test_designs_and_strata_must_fit() -> None:
    with pytest.raises(InvalidArgument, match="over strata"):
        discreet.Strata(PLAN, ["north", "south"], ARMS)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="in its order"):
        discreet.Strata(sites(), ["south", "north"], ARMS)
    with pytest.raises(InvalidArgument, match=r"discreet\.Strata"):
        discreet.Trial(sites(), ARMS)  # type: ignore[arg-type]
    with pytest.raises(TrialError, match="trials that test"):
        discreet.Strata(discreet.policy("dp-imed", epsilon=1.0), ["a", "b"], ARMS).verdict()


# --- fixed shares, and several treatments ---------------------------------------------------------


def test_fixed_shares_are_kept_and_looks_have_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thirds get the treatment: at any moment but within a block, exactly but for rounding."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    plan = discreet.confirm.design(180, looks=3, treated=2 / 3, epsilon=1.0)
    world = World(plan, window=6)
    drug = 0
    rng = np.random.default_rng(5)
    for number in range(180):
        world.now += 1.0
        arm = str(world.trial.assign(f"p{number}"))
        outcome = float(rng.random() < 0.5)
        world.trial.record(f"p{number}", outcome)
        world.seen[arm].append(outcome)
        drug += arm == "drug"
        if (number + 1) % 6 == 0:
            assert abs(drug - 2 * (number + 1) / 3) <= 1
    world.wait()
    sums, before = [], (0, 0)
    for size in plan.sizes:
        ends = [sum(world.seen[a][b:n]) for a, b, n in zip(ARMS, before, size, strict=True)]
        sums.append((ends[0], ends[1]))
        before = size
    verdict = world.trial.verdict()
    assert isinstance(verdict, discreet.confirm.Verdict)
    assert verdict == plan.verdict(sums[: len(verdict.z)])


def lived(
    plan: discreet.confirm.SeveralDesign, rates: tuple[float, ...], seed: int
) -> tuple[discreet.Trial, list[str], dict[str, list[float]]]:
    """One after the other, all answer at once."""
    now, arms = [0.0], [*"ABC"[: plan.treatments], "control"]
    trial = discreet.Trial(plan, arms, deadline=5.0, missing=0.0, clock=lambda: now[0])
    rng, seen = np.random.default_rng(seed), {arm: list[float]() for arm in arms}
    for number in range(2000):
        now[0] += 1.0
        try:
            arm = str(trial.assign(number))
        except TrialError:
            break
        seen[arm].append(float(rng.random() < rates[arms.index(arm)]))
        trial.record(number, seen[arm][-1])
    now[0] += 10.0
    return trial, arms, seen


@pytest.mark.parametrize("plan", [FOUR, UNEVEN])
@pytest.mark.parametrize("seed", range(6))
def test_several_treatments_are_decided_as_the_design_says(
    plan: discreet.confirm.SeveralDesign, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against `verdict` on sums by hand, look by look, from those who were there: a treatment that
    is decided at one look has no sum at the next."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    cases = [
        (0.9, 0.5, 0.4, 0.4), (0.1, 0.1, 0.1, 0.8), (0.5, 0.5, 0.5, 0.5), (0.8, 0.75, 0.2, 0.3),
        (0.1, 0.9, 0.5, 0.5), (0.6, 0.2, 0.9, 0.4),
    ]  # fmt: skip
    rates = (*cases[seed][: plan.treatments], cases[seed][-1])
    trial, arms, seen = lived(plan, rates, seed)
    sums: list[list[float | None]] = []
    gone: set[int] = set()
    before = (0, 0)
    for size in plan.sizes:
        row: list[float | None] = []
        for number, arm in enumerate(arms):
            last = number == len(arms) - 1
            row.append(None if number in gone else sum(seen[arm][before[last] : size[last]]))
        sums.append(row)
        found = plan.verdict(sums)
        gone = {n for n, each in enumerate(found.comparisons) if each.decision != "go on"}
        before = size
        if found.is_over:
            break
    verdict = trial.verdict()
    assert str(verdict) == str(found)
    assert trial.status == "finished"
    better = [n for n, each in enumerate(found.comparisons) if each.decision == "better"]
    worse = [n for n, each in enumerate(found.comparisons) if each.decision == "worse"]
    if better:
        assert trial.recommendation in [arms[n] for n in better]
    else:
        all_worse = len(worse) == plan.treatments
        assert trial.recommendation == ("control" if all_worse else None)
    shown = trial.report()["test"]
    assert shown["decision"] == "decided"
    json.dumps(shown, allow_nan=False)
    html = trial_report(trial.report()).html()
    for one in shown["comparisons"]:
        assert f"{one['difference']:.3f}".replace("-", "\N{MINUS SIGN}") in html
    for one, each in zip(shown["comparisons"], found.comparisons, strict=True):
        assert (one["decision"], one["look"]) == (each.decision, each.look)


def test_the_others_stay_hidden_when_a_treatment_is_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    now = [0.0]
    trial = discreet.Trial(
        FOUR, ["A", "B", "C", "control"], deadline=5.0, missing=0.0, clock=lambda: now[0]
    )
    number = 0
    while trial.report()["test"]["look"] < 1:
        now[0] += 1.0
        number += 1
        arm = trial.assign(number)
        trial.record(number, arm == "A")
    shown = trial.report()
    assert shown["test"]["comparisons"][0]["decision"] == "better"
    assert shown["test"]["decision"] == "go on"
    assert shown["test"]["comparisons"][1] == {"arm": "B", "decision": "go on"}
    assert all("sums" not in look for look in shown["test"]["looks"])
    assert [row["mean"] for row in shown["arms"] or ()] == [None] * 4
    assert [row["active"] for row in shown["arms"] or ()] == [False, True, True, True]


@pytest.mark.parametrize("plan", [FOUR, UNEVEN, discreet.confirm.design(60, treated=0.4, rho=0.5)])
def test_guarantees_of_fixed_shares_and_several_treatments(plan: Any) -> None:
    row = played(plan)
    arms = getattr(plan, "treatments", 1) + 1
    assert row.guarantee.budget == plan.budget
    assert row.proved(arms=arms, horizon=40).holds


def test_two_lives_of_several_treatments_show_the_same() -> None:
    small = discreet.confirm.several(24, 2, looks=2, epsilon=1.0)
    assert refuse_lives(played(small), 3)
    assert refuse_lives(played(discreet.confirm.design(18, looks=2, treated=2 / 3, epsilon=1.0)), 2)


def test_a_test_of_several_treatments_is_stored_and_rehearsed(tmp_path: Path) -> None:
    now = [0.0]
    arms = ["A", "B", "control"]
    trial = discreet.Trial(
        UNEVEN, arms, deadline=5.0, missing=0.0, path=tmp_path / "t.db", clock=lambda: now[0]
    )
    for number in range(120):
        now[0] += 1.0
        trial.assign(number)
        trial.record(number, number % 2)
    said = trial.report()
    trial.close()
    trial = discreet.Trial.load(tmp_path / "t.db", clock=lambda: now[0])
    assert trial.report() == said
    assert trial.policy == played(UNEVEN)
    trial.close()
    rehearsal = discreet.Rehearsal(UNEVEN, arms, arrivals=10.0, delay=5.0, default=0.0, seed=2)
    shown = rehearsal.play(Bernoulli([0.8, 0.3, 0.3]))
    sums = [look["sums"] for look in shown["test"]["looks"] if look.get("sums")]
    assert str(rehearsal.verdict()) == str(UNEVEN.verdict(sums))


def test_sums_that_lack_a_treatment_that_goes_on_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="every treatment that goes on"):
        FOUR.verdict([(20, 20, 20, 20), (None, 20, 20, 20)])


def test_fractions_are_rounded_with_one_draw_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes of .3 and .6 on average, without noise: sums have their binomial law (false alarm
    below 1e-6, at five standard errors), and are whole. As many draws as places, whatever came."""
    from discreet.live._randomness import SystemRandomness

    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    drawn, plain = [0], SystemRandomness.below

    def below(self: SystemRandomness, number: int) -> int:
        drawn[0] += number == 1 << 20
        return plain(self, number)

    monkeypatch.setattr(SystemRandomness, "below", below)
    plan = discreet.confirm.design(800, looks=2, epsilon=1.0, risk=1e-4)
    clock = [0.0]
    trial = discreet.Trial(
        plan, ARMS, deadline=10.0, missing=0.5, clock=lambda: clock[0],
        outcomes=discreet.Outcomes(range=(0, 10), rounded=True),
    )  # fmt: skip
    for number in range(400):
        arm = trial.assign(number)
        if number % 4:  # the others are missing, and count as .5 of 10
            trial.record(number, 3.0 + (number % 2) if arm == "drug" else 3.5)
    assert drawn == [0]
    clock[0] = 20.0
    found = trial.verdict()
    assert isinstance(found, discreet.confirm.Verdict)
    assert drawn == [400]
    from discreet.live._verdicts import sums_of

    (pair,) = sums_of(trial._run)
    for total in pair:
        assert float(total).is_integer()
        assert abs(total - 200 * (0.75 * 0.35 + 0.25 * 0.05)) < 5.0 * math.sqrt(200 * 0.25)
    assert "rounded" in trial.report()["settings"]


def test_rounding_is_for_tests_and_is_stored(tmp_path: Path) -> None:
    rounded = discreet.Outcomes(rounded=True)
    with pytest.raises(InvalidArgument, match="all but a test"):
        discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ARMS, outcomes=rounded)
    with pytest.raises(InvalidArgument, match="all but a test"):
        discreet.Trial(PLAN, ARMS, outcomes=discreet.Outcomes(binary=True, rounded=True))
    trial = discreet.Trial(PLAN, ARMS, outcomes=rounded, path=tmp_path / "trial.db")
    trial.assign("a")
    trial.close()
    with discreet.Trial.load(tmp_path / "trial.db") as trial:
        trial.record("a", 0.3)
        with pytest.raises(InvalidArgument, match="number from 0 to 1"):
            trial.record("a", 1.3)


def test_rounded_fractions_are_hidden_as_whole_outcomes_are() -> None:
    """Among the pairs of lives is one with fractions."""
    from discreet.live._lives import verify_lives

    found = verify_lives(played(discreet.confirm.design(16, looks=2, epsilon=1.0)), 2)
    assert found.holds
    assert "fractions are rounded" in found.kinds


def test_a_block_is_not_said_to_be_due_before_those_that_are_released_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A trial that is ended between two looks: the last block of an arm is due by itself, and waits
    for the look before it. A rehearsal waited for ever for the moment that was told."""
    from discreet.live._randomness import SystemRandomness

    monkeypatch.setattr(SystemRandomness, "below", lambda self, number: 0)
    plan, clock = discreet.confirm.design(6, looks=3, epsilon=8.0), [0.0]
    trial = discreet.Trial(plan, ARMS, deadline=10.0, missing=0.0, clock=lambda: clock[0])
    assert [trial.assign(number) for number in range(1)] == ["drug"]
    for number in (1, 2):
        clock[0] += 1.0
        trial.assign(number)
    trial.stop("public")
    shown = trial.report()
    dues = [(each["arm"], each["block"], each["due"]) for each in shown["blocks"] or ()]
    assert dues == [("drug", 1, 12.0), ("drug", 2, 12.0), ("placebo", 1, 12.0)]
    assert shown["next_release"] == 12.0
    clock[0] = 12.0
    assert trial.status == "finished"
