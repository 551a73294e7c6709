"""The likelihood-ratio attack of `make timing`, on durations that are made up.

Noise of a known law, and a draw of so many steps that takes as long as they do, or that does not
depend on them. False alarms at most 1e-6 a test; what it finds it finds with a seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import timing_ratios as ratios
from scipy.stats import beta
from timing_ratios import BITS, GAUSSIAN, LAPLACE, Law, Sides, Transcripts, proved

SURE = 1.0 - 1e-6
TRIALS = 40_000
SIGMA = 4.224678970203522
"""In outcomes, for (1, 1e-6)."""
FLIPS = 1.0 / (1.0 + np.exp(2.0))


def transcripts(law: str, step: float, known: bool = False, seed: int = 5) -> tuple[Sides, Law]:
    """Both sides; a step of the sampler takes so many nanoseconds."""
    rng = np.random.default_rng(seed)
    laws = {"laplace": LAPLACE, "gaussian": GAUSSIAN, "bits": BITS}
    sides = []
    for side in (0, 1):
        sizes = noises(law, side, rng)
        other = np.abs(rng.laplace(size=TRIALS)) if known else np.zeros(TRIALS)
        rows = Transcripts(sizes, other, np.empty((TRIALS, 2)))
        steps = rows.steps(laws[law])[side]
        # a draw is quick, or is held up for a while, and a second clock sees nothing at all
        rows.durations[:, 0] = 70_000.0 + step * steps + rng.exponential(4_000.0, TRIALS)
        rows.durations[:, 1] = rng.exponential(4_000.0, TRIALS)
        sides.append(rows)
    return (sides[0], sides[1]), laws[law]


def noises(law: str, side: int, rng: Any) -> Any:
    """Sizes of the noise in scales, if the outcome was 0 and if it was 1, on one side."""
    if law == "bits":
        wrong = rng.random(TRIALS) < FLIPS
        return 2.0 * np.column_stack([wrong, ~wrong] if side == 0 else [~wrong, wrong])
    scale = SIGMA if law == "gaussian" else 1.0
    drawn = rng.normal(size=TRIALS) if law == "gaussian" else rng.laplace(size=TRIALS)
    value = side + scale * drawn
    return np.column_stack([np.abs(value), np.abs(value - 1.0)]) / scale


CLAIMS = {"laplace": 1.0, "gaussian": 1.0, "bits": 2.0}


@pytest.mark.parametrize(
    ("law", "known"),
    [("laplace", False), ("laplace", True), ("gaussian", False), ("bits", False)],
)
def test_steps_that_take_time_prove_more_than_the_claim(law: str, known: bool) -> None:
    sides, of = transcripts(law, 2_000.0, known)
    assert proved(sides, of, SURE) > CLAIMS[law]


@pytest.mark.parametrize("law", CLAIMS)
@pytest.mark.parametrize("seed", range(5))
def test_durations_that_tell_nothing_prove_what_values_do(law: str, seed: int) -> None:
    """And nearly all of that: of the Gaussian value, what (ε, δ) with another δ leaves."""
    sides, of = transcripts(law, 0.0, seed=seed)
    found = proved(sides, of, SURE)
    assert found <= CLAIMS[law]
    assert found > {"laplace": 0.8, "bits": 1.8, "gaussian": 0.1}[law]


def test_what_the_attack_is_told_of_the_law_cannot_prove_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong law makes it weaker: the event is tested on other trials than those it came from."""
    sides, _ = transcripts("laplace", 0.0)
    assert proved(sides, GAUSSIAN._replace(delta=0.0), SURE) <= 1.0
    monkeypatch.setattr(ratios, "RARE", 1)
    monkeypatch.setattr(ratios, "CELLS", 20_000)
    assert proved(sides, LAPLACE, SURE) <= 1.0


def test_a_delta_is_taken_off() -> None:
    low, high = beta.ppf(5e-7, 100, 901), beta.ppf(1.0 - 5e-7, 1, 1000)
    hits, none = np.array([100]), np.array([0])
    assert ratios.worth(hits, none, 1000, 0.0, SURE)[0] == pytest.approx(np.log(low / high))
    assert ratios.worth(hits, none, 1000, 0.01, SURE)[0] == pytest.approx(
        np.log((low - 0.01) / high)
    )
    assert ratios.worth(np.array([3]), np.array([900]), 1000, 0.0, SURE)[0] == 0.0
