"""What is handed over wrongly is refused by name, with the fix; results are short to print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.policies import AdaPUCB, Doubling, ForgetLaplace, Policy
from discreet.simulator import _work as work

ENVIRONMENT = discreet.Bernoulli([0.7, 0.5])
ROW = discreet.policy("adap-ucb", epsilon=1.0)
NAMES: list[Any] = ["ucb1"]


@pytest.mark.parametrize(
    ("build", "argument", "fix"),
    [
        (
            lambda: discreet.compare(ROW, ENVIRONMENT, horizon=10),
            "policies",
            "compare([policy], environment",
        ),
        (
            lambda: discreet.compare("ucb1", ENVIRONMENT, horizon=10),
            "policies",
            "compare([policy], environment",
        ),
        (
            lambda: discreet.compare(NAMES, ENVIRONMENT, horizon=10),
            "policy",
            'discreet.policy("ucb1")',
        ),
        (lambda: discreet.policy("dp-imed", epsilon=1.0, ratio="1"), "ratio", "ratio=2.0"),
        (lambda: discreet.policy("dp-imed", epsilon=1.0, first=2.5), "first", "first=None"),
        (lambda: discreet.policy("dp-imed", epsilon=1.0, ratio=True), "ratio", "ratio=2.0"),
        (lambda: discreet.policy("dp-imed", epsilon=1.0, ratio=1e30), "ratio", "ratio=2.0"),
        (lambda: discreet.policy("dp-imed", epsilon=1e-320), "epsilon", "epsilon=0.01"),
        (lambda: discreet.policy("adac-ucb", rho=1e-320), "rho", "rho=0.01"),
        (lambda: discreet.simulate(ROW, ENVIRONMENT, horizon=10, runs=10**30), "runs", "runs=2"),
        (
            lambda: discreet.simulate(ROW, ENVIRONMENT, horizon=10, points=10**30),
            "points",
            "points=2",
        ),
        (lambda: discreet.simulate(ROW, ENVIRONMENT, horizon=10, runs=10**8), "runs", "points=2"),
        (
            lambda: discreet.simulate(ROW, ENVIRONMENT, horizon=10, threads=10**6),
            "threads",
            "threads=2",
        ),
    ],
)
def test_refused_with_the_fix(build: Any, argument: str, fix: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        build()
    assert error.value.argument == argument
    assert fix in error.value.fix


def misspelt_field(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
    """A typo."""
    return int(view.pullz[0])


def misspelt_name(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
    """Another one."""
    return int(argmaxx(view.pulls))  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("typo", [misspelt_field, misspelt_name])
def test_a_typo_in_ones_own_kernel(typo: Any) -> None:
    class Mine(AdaPUCB):
        choose = staticmethod(typo)

    row = Policy("mine", Doubling(), ForgetLaplace(1.0), Mine(3.1))
    with pytest.raises(InvalidArgument, match="functions that numba can compile, got 'mine'") as e:
        discreet.simulate(row, ENVIRONMENT, horizon=100, runs=2, seed=1, threads=1)
    assert "pullz" in e.value.fix or "argmaxx" in e.value.fix
    assert "misspelt_name" in e.value.fix or Path(__file__).name in e.value.fix
    assert "\n" not in str(e.value)


def test_seconds_are_those_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    real = work.compile_for

    def slowly(*arguments: Any) -> Any:
        time.sleep(1.0)
        return real(*arguments)

    monkeypatch.setattr(work, "compile_for", slowly)
    started = time.perf_counter()
    result = discreet.simulate(
        ROW, ENVIRONMENT, horizon=100, runs=2, seed=1, threads=1, progress=False
    )
    assert time.perf_counter() - started > 1.0
    assert result.seconds < 0.9


def test_results_are_short_to_print() -> None:
    both = discreet.compare(
        [ROW, discreet.policy("ucb1")], ENVIRONMENT, horizon=1000, runs=5, seed=1
    )
    assert len(repr(both[0])) < 120
    assert repr(both[0]).startswith("Result(adap-ucb: regret ")
    assert len(repr(both).splitlines()) == 3
