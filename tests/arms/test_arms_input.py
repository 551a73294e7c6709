"""Bad input is refused with the argument, the rule, the value and the fix; settings round trip."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_cases import CASES
from scipy import stats

from discreet.arms import (
    ENVIRONMENTS,
    Bernoulli,
    Beta,
    Clipped,
    Drifting,
    Gaussian,
    Mixed,
    Replay,
    RewardList,
    RewardTable,
    Sampler,
    Switching,
    TrialData,
    TwoPoint,
    Uniform,
    actg175,
    environment,
    environment_from_dict,
)
from discreet.errors import InvalidArgument

NAN, INF = float("nan"), float("inf")


def start(made: Any) -> None:
    made.start(np.random.default_rng(0))


def returns(value: object, **options: Any) -> Sampler:
    return Sampler([lambda rng, size: value], means=0.5, buffer=3, **options)


TURN = [[0.9, 0.1], [0.1, 0.9]]
BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: Bernoulli([0.5, NAN]), "means[1] must be a finite number from 0 to 1, got nan; pass"),
    (lambda: Bernoulli([1.5]), "means[0] must be a finite number from 0 to 1, got 1.5"),
    (lambda: Bernoulli(-0.1), "means must be a finite number from 0 to 1, got -0.1"),
    (lambda: Bernoulli([]), "means must hold at least one number, got []"),
    (lambda: Bernoulli("ab"), "means must be a number or a sequence of numbers, got 'ab'"),
    (lambda: Bernoulli(None), "means must be a number or a sequence"),
    (lambda: Bernoulli(["0.5"]), "means[0] must be a finite number from 0 to 1, got '0.5'"),
    (lambda: Bernoulli([[0.5]]), "means[0] must be a finite number"),
    (lambda: Gaussian([0, INF]), "means[1] must be a finite number, got inf"),
    (lambda: Gaussian([10**400]), "means[0] must be a finite number, got 1000"),
    (lambda: Gaussian([0, 1], 0), "sd must be a finite number above 0, got 0; pass a positive"),
    (lambda: Gaussian([0, 1, 2], [1, 1]), "sd must have 1 or 3 entries, got (1.0, 1.0)"),
    (lambda: Beta([1, 0], 1), "a[1] must be a finite number above 0, got 0"),
    (lambda: Beta(1, NAN), "b must be a finite number above 0, got nan"),
    (lambda: Beta.of_means([0.5, 1]), "means[1] must be a finite number strictly between 0 and 1"),
    (lambda: Beta.of_means(0.5, 0), "concentration must be a finite number above 0, got 0"),
    (lambda: TwoPoint(1, 0), "low[0] must be at most high[0] = 0.0, got 1.0; swap"),
    (lambda: TwoPoint(0, 1, 1.1), "probability must be a finite number from 0 to 1, got 1.1"),
    (lambda: TwoPoint.of_means(2), "means must be a finite number from 0 to 1, got 2"),
    (lambda: Uniform([0, 3], [1, 2]), "low[1] must be at most high[1] = 2.0, got 3.0"),
    (lambda: Uniform.of_means(0.5, -1), "half_width must be a finite number of at least 0, got -1"),
    (lambda: Mixed([]), "environments must hold at least one environment"),
    (lambda: Mixed(3), "environments must be a sequence of parametric environments, got 3"),
    (
        lambda: Mixed([Bernoulli(0.5), 0.5]),
        "environments[1] must be a parametric environment, got 0.5",
    ),
    (lambda: Clipped(Gaussian(0), 1, 1), "low must be below high = 1.0, got 1.0"),
    (lambda: Clipped(Gaussian(0), NAN), "low must be a finite number, got nan"),
    (lambda: Clipped(3), "environment must be an environment whose rewards are not late"),  # type: ignore[arg-type]
    (lambda: Clipped(returns(0)), "samplers[0] must be a frozen distribution if it is to be clip"),
    (lambda: Sampler([]), "samplers must hold at least one sampler"),
    (lambda: Sampler(7), "samplers must be a sequence of samplers, got 7"),
    (lambda: Sampler([7]), "samplers[0] must be a frozen distribution or a function f(rng, size)"),
    (lambda: Sampler([max]), "samplers[0] must have a known mean"),
    (lambda: Sampler([stats.beta]), "samplers[0] must have a known mean"),
    (lambda: Sampler([stats.cauchy()]), "mean of samplers[0] must be a finite number, got"),
    (lambda: Sampler([max], means=[1, 2]), "means must have 1 entries, got [1, 2]"),
    (lambda: Sampler([max], 0, bounds=(1, 0)), "bounds must be a pair (low, high) with low < high"),
    (lambda: Sampler([max], 0, bounds=(1,)), "bounds must be a pair (low, high)"),
    (lambda: Sampler([max], 0, buffer=0), "buffer must be a whole number from 1, got 0"),
    (lambda: start(returns([0, 1])), "samplers[0] must return 3 finite numbers, got 'shape (2,)'"),
    (lambda: start(returns([0, NAN, 1])), "samplers[0] must return 3 finite numbers, got nan"),
    (lambda: start(returns("abc")), "samplers[0] must return 3 finite numbers, got 'abc'"),
    (
        lambda: start(returns([0, 1, 1.1], bounds=(0, 1))),
        "samplers[0] must stay within bounds = (0.0, 1.0), got 1.1; widen bounds, or clip",
    ),
    (lambda: RewardList([], 2), "rewards must be a list of finite numbers, got 'shape (0,)'"),
    (lambda: RewardList([0, NAN], 2), "rewards[1] must be a list of finite numbers, got nan"),
    (lambda: RewardList([0, 2], 2), "rewards[1] must stay within bounds = (0.0, 1.0), got 2.0"),
    (lambda: RewardList(["x"], 2), "rewards must be a list of finite numbers, got ['x']"),
    (lambda: RewardList([0], 0), "arms must be a whole number from 1, got 0"),
    (lambda: RewardList([0], True), "arms must be a whole number from 1, got True"),
    (lambda: RewardTable([0, 1]), "table must be a table (rounds × arms) of finite numbers"),
    (lambda: RewardTable([[0, 1], [0]]), "table must be a table (rounds × arms)"),
    (lambda: RewardTable([[0, 1], [0, -1]]), "table[1, 1] must stay within bounds"),
    (lambda: Switching(TURN, at=[0, 10.7]), "at must be a whole number from 0, got 10.7"),
    (lambda: Switching(TURN, at=[0, "x"]), "at[1] must be a finite number of at least 0, got 'x'"),
    (lambda: Switching(TURN, at=5), "at must name the first round of each stretch"),
    (lambda: Drifting([0.1], [0.2], "x"), "rounds must be a whole number from 1, got 'x'"),
    (lambda: Drifting([0.1], [0.2], INF), "rounds must be a whole number from 1, got inf"),
    (lambda: actg175("death"), "outcome must be cd4 or event-free, got 'death'"),
    (lambda: Replay(3), "data must be TrialData, got 3; pass for instance actg175()"),
    (lambda: TrialData("x", "y", ["a"], [0, 0], [1]), "assigned must have 1 entries"),
    (lambda: TrialData("x", "y", ["a"], [0], [0.5]), "outcomes must be 0 or 1, got 0.5"),
    (lambda: TrialData("x", "y", ["a"], [0.5], [1]), "assigned[0] must be a whole number"),
    (lambda: TrialData("x", "y", ["a", "b"], [0], [1]), "assigned must name every arm from 0 to 1"),
    (
        lambda: environment("bernouli", [0, 1]),
        "name must be the name of an environment, got 'bernouli'; did you",
    ),
    (lambda: environment("zzz", [0, 1]), "known: bernoulli, gaussian, beta, two-point, uniform"),
    (lambda: environment("bernoulli", [0.5]), "means must name at least two arms, got [0.5]"),
    (
        lambda: environment("beta", [0.5, 0]),
        "means[1] must be a finite number strictly between 0 and 1",
    ),
    (lambda: environment("uniform", [0.5, NAN]), "means[1] must be a finite number, got nan"),
    (
        lambda: environment("bernoulli", [0, 1], sd=1),
        "option must be one of the bernoulli environment's, got 'sd'",
    ),
    (
        lambda: environment_from_dict({"environment": "betta"}),
        "environment must be the name of an environment, got 'betta'; did",
    ),
    (
        lambda: environment_from_dict({"means": [1]}),
        "settings must be a mapping with a key 'environment'",
    ),
    (
        lambda: environment_from_dict({"environment": "beta", "c": 1}),
        "settings must hold the settings of Beta",
    ),
    (
        lambda: environment_from_dict(returns(0).to_dict()),
        "sampler must be a scipy distribution, got",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    "made",
    [
        *(case.environment for name, case in CASES.items() if "sampler" not in name),
        RewardList([0, 0.5], 3),
        RewardTable([[0, 1], [-1, 2]], bounds=(-1, 2)),
        actg175("event-free").replayed(),
        Replay(TrialData("tiny", "cured", ["a", "b"], [0, 1], [1, 0])),
    ],
    ids=lambda made: made.name,
)
def test_settings_round_trip(made: Any) -> None:
    again = environment_from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert (again.means, again.bounds, again.limit) == (made.means, made.bounds, made.limit)
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("name", ["sampler", "clipped-sampler"])
def test_settings_of_scipy_distributions_round_trip(name: str) -> None:
    made = CASES[name].environment
    again = environment_from_dict(json.loads(json.dumps(made.to_dict())))
    assert again.to_dict() == made.to_dict()
    states = [each.start(np.random.default_rng(1)) for each in (made, again)]
    assert (states[0].values == states[1].values).all()


def test_the_embedded_trial_is_stored_by_name() -> None:
    stored = actg175().replayed().to_dict()
    assert stored == {"environment": "replay", "data": {"name": "actg175", "outcome": "cd4"}}


def test_laws_differ_by_their_settings() -> None:
    assert Bernoulli([0.1, 0.2]) != Bernoulli([0.1, 0.3])
    assert RewardList([0, 1], 2) != RewardList([1, 0], 2)
    assert RewardList([0, 1], 2) != RewardList([0, 1], 3)
    assert Gaussian([0, 1]) != Gaussian([0, 1], 2)
    assert Bernoulli(np.array([0.1, 0.2])) == Bernoulli((0.1, 0.2))


@given(
    name=st.sampled_from(ENVIRONMENTS),
    means=st.lists(st.floats(0.001, 0.999), min_size=2, max_size=5),
)
def test_laws_by_name_have_the_means_and_the_unit_range(name: str, means: list[float]) -> None:
    made = environment(name, means)
    assert made.name == name
    assert made.means == pytest.approx(means, abs=1e-12)
    if name == "gaussian":
        assert made.bounds is None
    else:
        assert made.bounds is not None
        assert 0.0 <= made.bounds[0] <= made.bounds[1] <= 1.0


def test_documented_choices_of_laws_by_name() -> None:
    assert environment("beta", [0.5, 0.25]) == Beta([1.0, 0.5], [1.0, 1.5])
    assert environment("Two_Point", [0.25, 0.75]) == TwoPoint([0.0, 0.5], [0.5, 1.0], 0.5)
    assert environment("uniform", [0.5, 0.25], half_width=0.3) == Uniform([0.2, 0.0], [0.8, 0.5])
    assert environment("gaussian", [0, 3], sd=2) == Gaussian([0, 3], [2, 2])


@pytest.mark.parametrize(
    ("mean", "sd", "low", "high", "clipped"),
    [
        (0.0, 1.0, -2.0, 2.0, 0.0),  # by symmetry
        (0.0, 1.0, 0.0, 1e9, 1 / np.sqrt(2 * np.pi)),  # E max(Z, 0)
        (1e6, 1.0, 0.0, 1.0, 1.0),
        (-1e6, 1.0, 0.0, 1.0, 0.0),
        (0.3, 1e-9, 0.0, 1.0, 0.3),
    ],
)
def test_mean_of_a_clipped_gaussian(
    mean: float, sd: float, low: float, high: float, clipped: float
) -> None:
    assert Clipped(Gaussian(mean, sd), low, high).means[0] == pytest.approx(clipped, abs=1e-7)


def test_a_clipped_constant_stays_one() -> None:
    assert Clipped(Uniform([3, 0.5], [3, 0.5])).means == (1.0, 0.5)


def test_a_narrow_sampler_in_a_wide_range_is_not_overlooked() -> None:
    narrow = Clipped(Sampler([stats.norm(1234.5, 0.01)]), -1e6, 1e6)
    assert narrow.means[0] == pytest.approx(1234.5, abs=1e-6)


def test_import_is_light() -> None:
    heavy = "[m for m in ('numba', 'scipy', 'numpy') if m in sys.modules]"
    code = f"import sys, discreet.arms; print({heavy})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
