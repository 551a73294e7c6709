"""Samplers keep what their names say: verification takes noise by name and scale, so here is that a
kernel called laplace, gaussian or response hands OpenDP the very scale that it is given, and that
what comes back has that law.

Live draws cannot be seeded: every statistical threshold is a false-alarm probability of 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.live._arguments import grouped
from discreet.privacy import _secure as secure
from discreet.privacy._source import REHEARSED, RESOLUTION, SECURE, SIMULATED, Source

ALARM = 1e-6
DRAWS = 6_000
SCALE = 2.5 * RESOLUTION
EPSILON = 0.8


class Spy:
    """OpenDP's constructors, and what they are called with."""

    def __init__(self, dp: Any) -> None:
        self._dp = dp
        self.asked: list[tuple[str, float]] = []
        self.m = SimpleNamespace(
            then_laplace=self._noting("laplace", dp.m.then_laplace),
            then_gaussian=self._noting("gaussian", dp.m.then_gaussian),
            make_randomized_response_bool=dp.m.make_randomized_response_bool,
            make_randomized_response_bitvec=self._noting(
                "response", dp.m.make_randomized_response_bitvec
            ),
        )

    def _noting(self, name: str, make: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            self.asked.append((name, options.get("f", arguments[0] if arguments else None)))
            return make(*arguments, **options)

        return noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dp, name)


@pytest.fixture
def fresh() -> Iterator[None]:
    """No sampler is left from before, and none from here is left behind."""
    real = secure._sampler
    secure.forget()
    real.cache_clear()
    yield
    secure.forget()
    real.cache_clear()


@pytest.fixture
def spy(fresh: None, monkeypatch: pytest.MonkeyPatch) -> Spy:
    watching = Spy(secure._opendp())
    monkeypatch.setattr(secure, "_opendp", lambda: watching)
    return watching


def drawn(source: Source, law: str) -> np.ndarray:
    """Numbers of a source's kernel, at the scale or ε that is declared here."""
    rng: Any = None if source is SECURE else np.random.default_rng(4)
    kernel = source.kernels[law]
    if law == "response":
        one = 1 if source is SIMULATED else RESOLUTION
        return np.array([kernel(one, EPSILON, rng) for _ in range(DRAWS)], float)
    return np.array([kernel(SCALE, rng) for _ in range(DRAWS)], float)


def fit(law: str, numbers: np.ndarray) -> float:
    """The p-value of the declared law."""
    if law == "response":
        truth = 1.0 / (1.0 + math.exp(-EPSILON))
        return float(stats.binomtest(int(numbers.sum()), DRAWS, truth).pvalue)
    declared = stats.laplace(scale=SCALE) if law == "laplace" else stats.norm(scale=SCALE)
    return float(stats.kstest(numbers, declared.cdf).pvalue)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1.0, 12.5, SCALE, 2.0**40 + 0.5])
def test_opendp_is_handed_the_very_scale(spy: Spy, law: str, scale: float) -> None:
    SECURE.kernels[law](scale, None)
    assert spy.asked == [(law, scale)]
    # what OpenDP proves of noise at that scale, for a reward of 1
    proved = secure._measurement(law, scale).map(RESOLUTION)
    ratio = RESOLUTION / scale
    assert proved == pytest.approx(ratio if law == "laplace" else 0.5 * ratio**2, rel=1e-12)


def test_opendp_is_handed_the_very_epsilon(spy: Spy) -> None:
    SECURE.kernels["response"](RESOLUTION, EPSILON, None)
    ((law, flips),) = spy.asked
    assert law == "response"
    assert flips == pytest.approx(2.0 / (1.0 + math.exp(EPSILON)), rel=1e-12)
    # a bit that is flipped with probability f/2 costs log((1 - f/2)/(f/2))
    assert math.log((2.0 - flips) / flips) <= EPSILON * (1.0 + 1e-15)


@pytest.mark.parametrize(
    ("name", "budget"), [("dp-imed", {"epsilon": 0.7}), ("gauss-imed", {"rho": 0.3})]
)
@pytest.mark.parametrize("late", [{}, {"deadline": 1.0, "missing": "estimate"}])
def test_a_trial_draws_at_the_scales_that_keep_its_budget(
    spy: Spy, name: str, budget: dict[str, Any], late: dict[str, Any]
) -> None:
    row, now = discreet.policy(name, **budget), [0.0]
    with discreet.Trial(row, 2, horizon=6, clock=lambda: now[0], **grouped(late)) as trial:
        for unit in range(6):
            trial.assign(unit)
            trial.record(unit, 1.0)
        trial.finish()
        now[0] = 2.0
        trial.settle()
    pair: Any = row.release.pair_scale(SECURE)
    alone: Any = row.release.parameters(row.setting(2, 6, SECURE))
    scales = {pair.total, pair.answers} if late else {alone.scale}
    assert set(secure._ahead) == {(row.release.noise, scale) for scale in scales}
    assert set(secure._ahead) <= set(spy.asked)


@pytest.mark.parametrize("law", ["laplace", "gaussian", "response"])
@pytest.mark.parametrize("source", [SECURE, SIMULATED, REHEARSED], ids=lambda source: source.name)
def test_samplers_have_the_law_that_they_are_called_by(source: Source, law: str) -> None:
    assert fit(law, drawn(source, law)) > ALARM


@pytest.mark.parametrize("law", ["laplace", "gaussian", "response"])
def test_a_sampler_of_half_the_scale_is_noticed(
    fresh: None, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the same name, as it would be filled in; a response with twice the ε."""
    real = secure._sampler
    factor = 2.0 if law == "response" else 0.5
    monkeypatch.setattr(secure, "_sampler", lambda kind, scale: real(kind, factor * scale))
    assert fit(law, drawn(SECURE, law)) < ALARM
