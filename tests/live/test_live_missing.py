"""Missing outcomes: the pair costs what one sum cost, by algebra, by brute force and by attack."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from live_cases import Clock, CountedNoise

import discreet
from discreet import Assignment, Outcomes
from discreet.errors import InvalidArgument
from discreet.live import Rehearsal, Strata, Trial
from discreet.live._arguments import grouped
from discreet.live._pairs import PairRun
from discreet.policies import CATALOGUE, ForgetLaplace, Policy, Release, policy
from discreet.policies.releases._pairs import Pairs, PairScale, pair_scale_of, publish_pair
from discreet.privacy import _secure as secure
from discreet.privacy._source import SECURE, SIMULATED, Source
from discreet.privacy.verification import Tape, cells, losses, spent, symbolic
from discreet.privacy.verification._forms import PublicCells
from discreet.report._live_page import trial_report

ROWS = ["dp-imed", "dp-klucb", "adap-ucb", "adap-klucb", "adac-ucb", "laplace-imed", "gauss-imed"]
MOVES = [(1.0, 0.0), (0.5, 1.0), (-0.5, 1.0), (0.25, 1.0)]
"""What another answer, or answering at all, does to (Σ r (y - 1/2), Σ r)."""


def pair_trial(**options: Any) -> Trial:
    row = policy("dp-imed", epsilon=options.pop("epsilon", 1.0), first=options.pop("first", 4))
    return Trial(row, 2, deadline=14.0, missing="estimate", **grouped(options))


def scale_of(row: Policy, source: Source) -> PairScale:
    scale = pair_scale_of(row.release, source)
    assert scale is not None
    return scale


@dataclass(frozen=True)
class Inside(ForgetLaplace):
    """Publishes in a way of its own, of which nobody knows what a pair would be."""

    publish: ClassVar[Any] = staticmethod(lambda *given: None)


def test_which_rows_can_estimate() -> None:
    rows = {name: row.example().release for name, row in CATALOGUE.items()}
    assert [name for name, release in rows.items() if pair_scale_of(release, SECURE)] == [
        "adap-ucb", "adap-klucb", "adac-ucb", "dp-klucb", "dp-imed", "laplace-imed", "gauss-imed",
        "dp-se",
        "dp-tsallis", "dp-sw-ucb", "dp-d-ucb", "dp-m-ucb",
    ]  # fmt: skip
    assert pair_scale_of(ForgetLaplace(1.0), SECURE) is not None
    assert pair_scale_of(Inside(1.0), SECURE) is None
    for name in ROWS:
        trial = Trial(CATALOGUE[name].example(), 2, deadline="1 s", missing="estimate")
        assert isinstance(trial._run, PairRun), name
        assert "missing" not in str(trial.guarantee.conditions)
    options: dict[str, Any]
    for options in ({"deadline": "1 s", "missing": 0.5}, {}):
        trial = Trial(policy("dp-imed", epsilon=1.0), 2, **grouped(options))
        assert not isinstance(trial._run, PairRun)
    for options in (
        {"missing": "guess"},
        {"deadline": "1 s"},
        {"missing": "estimate"},
    ):
        with pytest.raises(InvalidArgument, match=r"missing|default"):
            Trial(policy("dp-imed", epsilon=1.0), 2, **grouped(options))
    for row, streams, why in (
        (policy("dp-ucb", epsilon=1.0), None, "does not release sums of blocks"),
        (policy("dp-imed", epsilon=1.0), False, "a sum without a count"),
    ):
        with pytest.raises(InvalidArgument, match=f"missing must be a value .*{why}"):
            Trial(
                row,
                2,
                horizon=9,
                deadline="1 s",
                missing="estimate",
                assignment=Assignment(streams=streams),
            )


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_the_pair_costs_the_rows_budget_by_execution(name: str, live: bool) -> None:
    """Its kernel on symbols, two blocks of an arm: the exact loss of every move of both numbers."""
    row, source = CATALOGUE[name].example(), SECURE if live else SIMULATED
    scale = scale_of(row, source)
    kernel = row.release.kernel(publish_pair, symbolic(source)).interpreted()
    found = []
    for total, answered in MOVES:
        tape = Tape()
        none = Pairs(np.zeros(1), np.zeros(1), np.zeros(1))
        pairs = cells(tape, "pairs", none, PublicCells)
        reward = tape.reward(1.0, source.resolution, arm=0, batch=0, first=1, rounds=1)
        # the kernel counts answers in steps; the symbol is in steps already
        kernel(scale._replace(resolution=1), pairs, 0, reward * total, reward * answered, tape)
        kernel(scale._replace(resolution=1), pairs, 0, 0.0, 0.0, tape)
        _, candidates = losses(tape, whole=source.secure)
        loss = max((each.loss for each in candidates), key=lambda loss: loss.columns)
        found.append(spent(loss, row.guarantee.budget, source.secure))
    for budget in found:
        assert budget.implies(row.guarantee.budget) or close(budget, row.guarantee.budget)
    tight = close(found[0], row.guarantee.budget)
    assert tight or name in ("adac-ucb", "gauss-imed"), "less noise would do"


def close(one: Any, other: Any) -> bool:
    numbers = [value for value in astuple(one) if isinstance(value, float)]
    others = [value for value in astuple(other) if isinstance(value, float)]
    return all(math.isclose(x, y, rel_tol=1e-6) for x, y in zip(numbers, others, strict=True))


def test_the_pair_costs_epsilon_by_brute_force() -> None:
    """All neighbours of a block of two with answers 0, 1/2, 1 or none, a coarse grid of both
    discrete Laplace laws: no event's probability changes by more than e^ε, and some by that."""
    steps, epsilon = 4, 0.8
    b_sum, b_count = steps / epsilon, 2 * steps / epsilon

    def log_law(shift: int, scale: float) -> float:
        return -abs(shift) / scale

    def pair(answers: tuple[float | None, ...]) -> tuple[int, int]:
        there = [y for y in answers if y is not None]
        return round(sum(steps * (y - 0.5) for y in there)), steps * len(there)

    values = (None, 0.0, 0.5, 1.0)
    worst = 0.0
    outputs = list(itertools.product(range(-12, 13, 2), range(-8, 20, 4)))
    for other in values:
        for one, two in itertools.permutations(values, 2):
            a, b = pair((one, other)), pair((two, other))
            for s, r in outputs:
                ratio = log_law(s - a[0], b_sum) + log_law(r - a[1], b_count)
                ratio -= log_law(s - b[0], b_sum) + log_law(r - b[1], b_count)
                worst = max(worst, ratio)
    assert worst == pytest.approx(epsilon)


def test_live_scales_cost_at_most_the_budget() -> None:
    """By OpenDP's own maps: both numbers together, for both kinds of moves."""
    for epsilon in (0.1, 1.0, 3.7):
        scale = scale_of(policy("dp-imed", epsilon=epsilon), SECURE)
        one = SECURE.resolution

        def cost(b: float, move: int) -> float:
            return float(secure._measurement("laplace", b).map(move))

        assert cost(scale.total, one) <= epsilon
        assert cost(scale.total, one // 2) + cost(scale.answers, one) <= epsilon * (1 + 1e-12)
    for budget in ({"rho": 0.3}, {"epsilon": 1.0, "delta": 1e-6}):
        row = policy("gauss-imed", **budget)
        scale = scale_of(row, SECURE)
        whole = one**2 / (2 * scale.total**2)
        parts = (one / 2) ** 2 / (2 * scale.total**2) + one**2 / (2 * scale.answers**2)
        assert parts <= whole * (1 + 1e-12)
        assert discreet.privacy.ZCDP(whole).implies(row.guarantee.budget)


def test_what_is_released_and_reported(clock: Clock, noise: CountedNoise) -> None:
    trial = pair_trial(clock=clock, outcome_range=(0.0, 10.0), window=2)
    answers: dict[Any, list[float | None]] = {0: [], 1: []}
    for unit in range(8):
        arm = trial.assign(unit)
        answer = None if unit % 4 == 3 else float(unit)
        answers[arm].append(answer)
        if answer is not None:
            trial.record(unit, answer)
    clock.now += 14.0
    report, one = trial.report(), SECURE.resolution
    assert len(noise.drawn) == 4
    drawn = iter(noise.drawn)
    for row in report["arms"]:
        there = [y / 10 for y in answers[row["arm"]] if y is not None]
        total = sum(round(y * one) - one // 2 for y in there) + next(drawn)
        noisy = (len(there) * one + next(drawn)) / one
        count = min(max(noisy, 1.0), 4.0)
        assert row["mean"] == pytest.approx(10 * (0.5 + total / one / count))
        assert row["answered"] == pytest.approx(count / 4)
        bounds = [10 * (total / one + count / 2 + d * (4 - count)) / 4 for d in (0, 1)]
        assert row["bounds"] == pytest.approx(bounds)
        history = report["record"]["history"][row["arm"]]
        assert history == [[4, pytest.approx(total / one), pytest.approx(noisy)]]
        for name in ("interval", "interval_of_all"):
            low, high = row[name]
            assert 0.0 <= low <= high <= 10.0
    assert report["intervals"] == {"kind": "anytime", "level": 0.95, "estimand": "responders"}
    json.dumps(report)


@pytest.mark.usefixtures("no_sync")
def test_every_block_has_its_own_numbers_in_the_record(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums run on from block to block; intervals are made of what each block has added."""
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    trial = pair_trial(first=2, clock=clock, window=2)
    for unit in range(24):
        trial.assign(unit)
        if unit % 3:
            trial.record(unit, 1.0 if unit % 2 else 0.25)
    trial.finish()
    clock.now += 20.0
    report, run = trial.report(), trial._run
    assert isinstance(run, PairRun)
    recorded: Any = run.recorded
    assert recorded.noise.scale == pytest.approx(1.0, rel=1e-5)  # 1/ε, and twice that: of outcomes
    assert recorded.count.scale == pytest.approx(2.0, rel=1e-5)
    for arm, row in enumerate(report["arms"]):
        assert row["waiting"] == 0
        history = report["record"]["history"][arm]
        assert len(history) > 1
        whole = sum(size for size, *_ in history)
        if whole == row["used"]:  # else the last block was cut off, and is not in the record
            one = run.pair.resolution
            assert sum(total for _, total, _ in history) == run.pairs.total[arm] / one
            assert sum(count for *_, count in history) == run.pairs.count[arm] / one
        assert all(0.0 <= count <= size for size, _, count in history)


def test_a_trial_that_estimates_goes_on_after_a_reload(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "t.db"
    trial = pair_trial(clock=clock, path=path)
    for unit in range(60):
        clock.now += 1.0
        trial.assign(unit)
        if unit % 3:
            trial.record(unit, 1.0)
        if unit % 20 == 11:
            trial.add(f"new {unit}")
            before = trial.report()
            trial.close()
            trial = Trial.load(path, clock=clock)
            assert trial.report() == before
            assert isinstance(trial._run, PairRun)
    trial.finish()
    clock.now += 14.0
    assert trial.status == "finished"
    assert sum(trial._run.pairs.places) == 60
    trial.close()


def test_estimates_are_unbiased_and_defaults_are_not() -> None:
    """2,000 blocks of 50 with 30 % missing and mean 0.6. Means within 5.5 standard errors (4e-8),
    the standard deviation of one at most 0.2 by the noise 1/ε and 2/ε on about 35 answers."""
    import random

    world, clock, means = random.Random(3), Clock(), []
    for _ in range(300):
        trial = pair_trial(clock=clock, first=50, window=2, epsilon=4.0)
        for unit in range(100):
            trial.assign(unit)
            if world.random() < 0.7:
                trial.record(unit, float(world.random() < 0.6))
        clock.now += 14.0
        means += [row["mean"] or 0.0 for row in trial.report()["arms"] or ()]
    spread = math.sqrt(sum((x - 0.6) ** 2 for x in means) / len(means))
    assert spread < 0.2
    assert abs(sum(means) / len(means) - 0.6) < 5.5 * spread / math.sqrt(len(means))


@pytest.mark.parametrize("answers", [(1.0, 0.0), (1.0, None), (0.0, None)])
def test_an_attack_on_the_pair_finds_no_more_than_epsilon(answers: Any) -> None:
    """Audit of live trials with blocks of one; a false alarm has probability 1e-6."""
    from discreet.audit import TrialRuns, attack

    def make(row: Any, arms: int, **options: Any) -> Trial:
        return Trial(row, arms, **grouped(dict(**options, window=1)))

    row = policy("dp-imed", epsilon=2.0, first=1)
    runs = TrialRuns(row, (answers[0], 1.0), (answers[1], 1.0), deadline=1.0, make=make)
    result = attack([runs], row.guarantee, transcripts=600, confidence=1.0 - 1e-6, seed=1)
    assert not result.is_violation, result
    assert (runs.sample(0, 1, np.random.default_rng(1)).numbers > -1e300).any()


def test_the_attack_finds_a_pair_that_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum with too little noise; means show it. (The count is clipped to the block there.)"""
    from discreet.audit import TrialRuns, attack
    from discreet.protocol import _begin as begin

    def too_little(release: Release, source: Source) -> PairScale | None:
        scale = pair_scale_of(release, source)
        return None if scale is None else scale._replace(total=1e-3)

    monkeypatch.setattr(begin, "pair_scale_of", too_little)
    row = policy("dp-imed", epsilon=0.5, first=1)
    runs = TrialRuns(row, (1.0,), (None,), deadline=1.0)
    result = attack([runs], row.guarantee, transcripts=600, confidence=1.0 - 1e-6, seed=1)
    assert result.is_violation, result


def test_with_a_deadline_it_must_be_said_what_silence_means() -> None:
    """Clicks are recorded, and that nobody clicked is not: any default is wrong for somebody."""
    row = policy("dp-imed", epsilon=1.0)
    for make in (
        lambda **options: Trial(row, 2, deadline="1 h", **grouped(options)),
        lambda **options: Strata(row, ["men", "women"], 2, deadline="1 h", **grouped(options)),
    ):
        with pytest.raises(
            InvalidArgument, match="missing must be said with a deadline"
        ) as refused:
            make()
        assert "silence means that outcome" in str(refused.value)
        assert "silence means that the outcome is unknown" in str(refused.value)
        assert str(refused.value).endswith('use missing=0, or missing="estimate"')
        make(missing=0)
        make(missing="estimate")
    with pytest.raises(InvalidArgument, match=r"use missing=1, or"):
        Trial(row, 2, deadline="1 h", outcomes=Outcomes(range=(1, 5)))
    with pytest.raises(InvalidArgument, match="default must be said with a deadline"):
        Rehearsal(row, 2, arrivals=12, delay="14 days")


@pytest.mark.parametrize(
    ("rate", "records", "warned"),
    [
        (0.05, (1.0,), True),  # clicks, but not that nobody clicked
        (0.05, (0.0, 1.0), False),
        (0.4, (0.0,), True),  # complaints alone
        (0.9, (1.0,), False),  # most answered
    ],
)
def test_the_report_warns_of_outcomes_of_one_kind(
    rate: float, records: tuple[float, ...], warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)  # who is warned is not for chance
    clock, world = Clock(), random.Random(3)
    row = policy("dp-imed", epsilon=2.0)
    trial = Trial(row, 2, horizon=2000, deadline=1.0, missing="estimate", clock=clock)
    assert "warnings" not in trial.report()
    for unit in range(2000):
        trial.assign(unit)
        outcome = float(world.random() < (rate if 1.0 in records else 1.0 - rate))
        if outcome in records:
            trial.record(unit, outcome)
    clock.now += 1.0
    report = trial.report()
    assert ("warnings" in report) is warned
    assert ("warning: few answered" in str(trial)) is warned
    assert ("Warning: few answered" in trial_report(report, clock="days").html()) is warned


def test_pairs_of_a_live_trial_are_whole_numbers() -> None:
    """A sum in floats is rounded beyond 2^53, and what is rounded is not what its noise hides."""
    trial = pair_trial(clock=Clock())
    for unit in range(40):
        trial.assign(unit)
        trial.record(unit, 1.0)
    trial._clock.now += 20.0  # type: ignore[attr-defined]
    trial.settle()
    run = trial._run
    assert isinstance(run, PairRun)
    assert sum(run.releases) > 0
    assert {type(x) for x in (*run.pairs.total, *run.pairs.count)} == {int}
