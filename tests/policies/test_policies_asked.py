"""Ask the release: its estimate, its noise, whether it is live; and arguments that are refused.

Reported means are tested with fixed seeds; each comparison is off by chance with probability below
1e-9.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import discreet
from discreet._compiled import Function, Kernel
from discreet.errors import InvalidArgument
from discreet.policies import (
    CATALOGUE,
    UCB1,
    Doubling,
    EachRound,
    FillingLaplace,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
    GapThenTree,
    Geometric,
    Hybrid,
    IdleHybrid,
    LocalBernoulli,
    LocalLaplace,
    Phases,
    Policy,
    PrivateThompson,
    Regular,
    Release,
    RememberLaplace,
    RunningLaplace,
    ShrinkingLaplace,
    SquashedBernoulli,
    SquashedLaplace,
    SuccessiveElimination,
    Tree,
)
from discreet.policies.releases._base import noise
from discreet.policies.releases._noise_of_mean import MeanNoise, Part
from discreet.privacy._source import SECURE
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.testing import CHECKS, Case, check_policy

CASE = Case(3, 300)


def composed(release: Release) -> Policy:
    if isinstance(release, GapThenTree):
        return Policy("mine", Phases(), release, PrivateThompson(release.gap_estimation, fill=4))
    regular = isinstance(release, ShrinkingLaplace)
    return Policy("mine", Regular(2) if regular else EachRound(), release, UCB1())


RELEASES: list[Release] = [
    FillingLaplace(1.0), ForgetLaplace(0.5), ForgetGaussian(ZCDP(0.5)),
    ForgetTruncated(Approximate(1.0, 0.01)), Hybrid(1.0), IdleHybrid(2.0), LocalBernoulli(0.7),
    LocalLaplace(1.0), RememberLaplace(1.0), RunningLaplace(1.0), ShrinkingLaplace(1.2, ZCDP(0.5)),
    SquashedBernoulli(1.0), SquashedLaplace(1.0), Tree(1.0), GapThenTree(1.0, False),
    GapThenTree(1.0, True),
]  # fmt: skip


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_releases_say_what_is_true_of_them(release: Release) -> None:
    CHECKS["means"](composed(release), CASE)


def test_means_behind_released_values() -> None:
    assert ForgetLaplace(1.0).estimated_mean(0.3) == 0.3
    assert LocalLaplace(1.0).estimated_mean(0.3) == 0.3
    assert SquashedLaplace(1.0).estimated_mean(0.3) is None
    assert SquashedBernoulli(1.0).estimated_mean(0.3) is None
    truth = math.e / (1.0 + math.e)  # all rewards are 1: bits are 1 with this probability
    assert LocalBernoulli(1.0).estimated_mean(truth) == pytest.approx(1.0)
    assert LocalBernoulli(1.0).estimated_mean(1.0 - truth) == pytest.approx(0.0)


def test_the_noise_of_a_mean() -> None:
    def noise_of(release: Release, sizes: list[int], **more: Any) -> MeanNoise:
        found = release.mean_noise(composed(release).setting(2, 300), sizes, **more)
        assert found is not None
        return found

    assert noise_of(ForgetLaplace(0.5), [1, 2, 4]).parts == (Part("laplace", 0.5),)
    assert noise_of(RunningLaplace(1.0), [1, 1, 2]).parts == (Part("laplace", 0.25, 3),)
    assert noise_of(Tree(1.0), [1] * 7).sd == pytest.approx(math.sqrt(6) * 9 / 7)
    hybrid = noise_of(Hybrid(1.0), [1] * 7)  # powers 1, 2, 4, and 7 - 4 = 2 + 1
    assert hybrid.sd == pytest.approx(math.sqrt(2 * (3 * 2**2 + 2 * 4**2)) / 7)
    # the counter of an arm goes on in every step: 7 steps, 3 of them its own
    assert noise_of(IdleHybrid(1.0), [1] * 3, steps=7).sd == pytest.approx(7 / 3 * hybrid.sd)
    assert noise_of(Hybrid(1.0), [1] * 3, steps=7) == noise_of(Hybrid(1.0), [1] * 3)
    bits = noise_of(LocalBernoulli(1.0), [10, 15])
    assert bits.sd == pytest.approx(0.1 / math.tanh(0.5))
    truncated = noise_of(ForgetTruncated(Approximate(1.0, 0.01)), [4])
    assert 0.0 < truncated.sd < math.sqrt(2.0) / 4
    assert noise_of(ForgetGaussian(ZCDP(0.5)), [5]).sd == pytest.approx(0.2)
    assert "Laplace" in str(truncated)
    assert str(MeanNoise()) == "no noise"
    release = ForgetLaplace(1.0)
    assert release.mean_noise(composed(release).setting(2, 9), []) is None
    with pytest.raises(InvalidArgument, match="sizes"):
        release.mean_noise(composed(release).setting(2, 9), [0])
    with pytest.raises(InvalidArgument, match="steps"):
        noise_of(IdleHybrid(1.0), [1, 1], steps=1)
    live = Tree(1.0).mean_noise(composed(Tree(1.0)).setting(2, 300, SECURE), [1] * 7)
    assert live is not None
    assert live.sd == pytest.approx(math.sqrt(6) * 9 / 7)


def test_who_is_live() -> None:
    live = {name for name, entry in CATALOGUE.items() if entry.example().release.is_live}
    assert "gdp-elim-new" not in live
    assert "dp-ftpl-new" not in live
    assert {"adap-ucb", "adac-ucb", "ldp-ucb-bs", "dp-ucb-td"} <= live
    assert not ForgetGaussian(GaussianDP(1.0)).is_live


# --- mutants ------------------------------------------------------------------------------------


def respond_half(release: Any, reward: float, rng: Any) -> float:
    return 0.5 * reward + noise(release.scale, rng)


@dataclass(frozen=True)
class HalfReward(LocalLaplace):
    """Answers with half the reward, and says nothing of it."""

    name: ClassVar[str] = "half"
    respond: ClassVar[Function | None] = staticmethod(respond_half)


@dataclass(frozen=True)
class Undone(HalfReward):
    """The same, and undoes it."""

    def estimated_mean(self, value: float) -> float | None:
        return 2.0 * value

    def mean_noise(self, setting: Any, sizes: Any, steps: int | None = None) -> None:
        return None


@dataclass(frozen=True)
class Silent(HalfReward):
    """The same, and reports nothing."""

    def estimated_mean(self, value: float) -> float | None:
        return None


@dataclass(frozen=True)
class WrongNoise(ForgetLaplace):
    """Says that it adds half the noise."""

    def mean_noise(self, setting: Any, sizes: Any, steps: int | None = None) -> MeanNoise:
        return MeanNoise((Part("laplace", 0.5 / self.epsilon / sizes[-1]),))


@dataclass(frozen=True)
class WrongSize(ForgetLaplace):
    """Speaks of all rewards, and shows the newest."""

    evidence: ClassVar[str] = "closed"


class NotLive(ForgetLaplace):
    """Says that it has no secure noise."""

    secure_noise: ClassVar[bool] = False


@pytest.mark.parametrize(
    ("release", "says"),
    [
        (HalfReward(1.0), "undo"),
        (WrongNoise(1.0), "the kernel adds"),
        (WrongSize(1.0), r"after batches of \[1, 1, 1\] view.size is 1, .* 3 rewards"),
        (NotLive(1.0), "is_live"),
    ],
)
def test_a_release_that_says_something_else_breaks_the_contract(
    release: Release, says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        CHECKS["means"](composed(release), CASE)


def test_a_new_local_release_reports_nothing_until_it_says_how() -> None:
    class Mine(Release):
        respond: ClassVar[Function | None] = staticmethod(respond_half)

    assert Mine().estimated_mean(0.4) is None
    for release in (Undone(1.0), Silent(1.0)):
        CHECKS["means"](composed(release), CASE)


def test_the_contract_runs_both_checks() -> None:
    assert {"verified", "means"} <= set(CHECKS)
    with pytest.raises(AssertionError, match="at 'means'"):
        check_policy(composed(HalfReward(1.0)), arms=2, horizon=50)


# --- arguments ----------------------------------------------------------------------------------

NOT_WHOLE = [2.5, True, "3", math.nan, math.inf, 0, -1, 10**30, None]


@pytest.mark.parametrize("value", NOT_WHOLE)
def test_lengths_are_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="every must be"):
        Regular(value)
    with pytest.raises(InvalidArgument, match="first must be"):
        Geometric(2.0, value)
    if value is not None:
        with pytest.raises(InvalidArgument, match="fill must be"):
            PrivateThompson(fill=value)


@pytest.mark.parametrize("value", [1.0, 0.5, 1e30, math.inf, math.nan, "2", True, None])
def test_ratios_that_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="ratio must be"):
        Geometric(value)


@pytest.mark.parametrize("kind", [ForgetLaplace, RunningLaplace, Tree, Hybrid, LocalBernoulli])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, "1", True, None, 1e-320])
def test_epsilons_that_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be"):
        kind(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ShrinkingLaplace("1.1", ZCDP(1.0)),  # type: ignore[arg-type]
        lambda: ShrinkingLaplace(math.nan, ZCDP(1.0)),
        lambda: ShrinkingLaplace(1.1, Pure(1.0)),
        lambda: GapThenTree(1.0, "yes"),  # type: ignore[arg-type]
        lambda: GapThenTree(1.0, divided=1),  # type: ignore[arg-type]
        lambda: PrivateThompson(0),  # type: ignore[arg-type]
    ],
)
def test_other_arguments_that_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgument):
        make()


@pytest.mark.parametrize("ratio", [1.00009, 1.00005, 1.000001])
def test_slow_growth_is_bounded_and_never_undercounted(ratio: float) -> None:
    horizon, pulls, releases = 200_000, 1, 1
    while pulls < horizon:
        pulls += math.ceil((ratio - 1.0) * pulls)
        releases += 1
    assert releases <= Geometric(ratio).releases(horizon) <= min(horizon, 2 * releases + 10)
    assert Geometric(ratio).releases(10**15) < 10**8  # and at once


def test_every_kind_of_budget_serves_as_before() -> None:
    budgets: list[Budget] = [ZCDP(0.5), Approximate(1.0, 1e-6), Renyi(3.0, 0.5), GaussianDP(0.7)]
    for budget in budgets:
        assert discreet.policy("adac-ucb", budget=budget).is_private
    for schedule in (EachRound(), Doubling(), Geometric(1.5, 3), Regular(4)):
        assert Policy("mine", schedule, Tree(1.0), UCB1()).release.is_sound_for(schedule, UCB1())
    assert Tree(1.0).is_sound_for(Phases(), SuccessiveElimination())


# --- bounds of compiled code --------------------------------------------------------------------

CHECKED = """
import sys
from discreet.arms import Bernoulli
from discreet.policies import Doubling, GapThenTree, UCB1
from discreet.testing import Walk, unchecked_policy
row = unchecked_policy("mine", Doubling(), GapThenTree(1.0, gap_estimation=False), UCB1())
try:
    for number in range(40):
        Walk(row, Bernoulli([0.5, 0.5]), 300, seed=1, number=number, compiled=True).played()
except IndexError:
    sys.exit(7)
"""


def test_checked_code_has_a_digest_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet import _compiled as compiled

    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)  # as `make boundscheck` sets it
    assert compiled._bounds() == ""
    names = []
    for value in ("0", "1"):
        monkeypatch.setenv("NUMBA_BOUNDSCHECK", value)
        names.append(Kernel(composed).function.__name__ + compiled._bounds())
    assert names == ["composed", "composed bounds checked"]


def test_compiled_code_that_leaves_its_ledger_is_seen_when_bounds_are_checked(
    tmp_path: Path,
) -> None:
    """A small version of `make boundscheck`, on the composition that wrote over other memory."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "DISCREET_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CHECKED], env=environment, check=False)
    assert done.returncode == 7
