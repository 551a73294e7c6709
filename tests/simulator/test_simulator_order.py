"""Arms in a random order: what a policy gains by the order of a list, it does not gain here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.arms import Beta, Environment, TwoPoint, Uniform
from discreet.errors import InvalidArgument
from discreet.simulator import _runs as running

MEANS = [0.7, 0.5]
STAYS = discreet.policy("private-thompson", epsilon=1.0)
"""In a trial of 300 it never leaves the arm that is listed first."""


def test_the_order_of_the_list_decides_nothing() -> None:
    listed = discreet.simulate(STAYS, discreet.Bernoulli(MEANS), horizon=300, runs=200, seed=1)
    assert listed.final_regret.max() == 0.0  # the best arm happens to be listed first
    assert listed.shuffle is False
    (drawn,) = discreet.compare([STAYS], discreet.Bernoulli(MEANS), horizon=300, runs=200, seed=1)
    assert drawn.shuffle is True
    first = int((drawn.pulls[:, -1, 0] == 300).sum())
    assert first + int((drawn.pulls[:, -1, 1] == 300).sum()) == 200
    # Binomial(200, 1/2) is outside with probability 1e-7 at most; the seed is fixed
    assert stats.binom.ppf(5e-8, 200, 0.5) <= first <= stats.binom.ppf(1 - 5e-8, 200, 0.5)


def test_regret_and_pulls_belong_to_the_same_arms() -> None:
    means = np.array([0.2, 0.9, 0.5, 0.4])
    row = discreet.policy("dp-imed", epsilon=1.0)
    result = discreet.simulate(
        row, discreet.Bernoulli(means), horizon=2000, runs=30, seed=3, points=12, shuffle=True
    )
    gaps = means.max() - means
    np.testing.assert_allclose(result.pulls @ gaps, result.regret, rtol=1e-12, atol=1e-9)
    assert int(result.mean_pulls.argmax()) == 1
    assert (result.pulls[:, -1].sum(axis=1) == 2000).all()


def test_one_seed_one_order_for_all_policies_and_threads() -> None:
    other = discreet.policy("private-thompson", epsilon=0.5)
    environment = discreet.Bernoulli([0.7, 0.5, 0.4])
    both = discreet.compare([STAYS, other], environment, horizon=200, runs=20, seed=5, threads=1)
    assert (both[0].pulls[:, -1] == both[1].pulls[:, -1]).all()
    assert len({tuple(pulls) for pulls in both[0].pulls[:, -1].tolist()}) == 3
    threaded = discreet.compare([STAYS], environment, horizon=200, runs=20, seed=5, threads=3)
    assert (threaded[0].pulls == both[0].pulls).all()


ENVIRONMENTS: list[Environment] = [
    discreet.Bernoulli([0.2, 0.5, 0.8]),
    discreet.Gaussian([0.2, 0.5, 0.8], sd=[0.1, 0.2, 0.3]),
    Beta([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
    TwoPoint([0.0, 0.1, 0.2], [1.0, 0.9, 0.8], [0.2, 0.5, 0.7]),
    Uniform([0.0, 0.1, 0.2], [0.3, 0.6, 1.0]),
    discreet.Mixed([discreet.Bernoulli([0.2, 0.4]), Beta(2.0, 1.0)]),
    discreet.Clipped(discreet.Gaussian([0.2, 0.5, 0.8])),
    discreet.Clipped(discreet.Sampler([stats.norm(0.1), stats.norm(0.5), stats.norm(0.9)])),
    discreet.Sampler([stats.beta(1, 3), stats.beta(2, 2), stats.beta(3, 1)], buffer=4),
    discreet.RewardTable([[0.1, 0.5, 0.9], [0.2, 0.6, 1.0]]),
    discreet.actg175().replayed(),
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_every_law_rearranged(environment: Environment) -> None:
    order = [2, 0, 1, 3][: environment.arms] if environment.arms == 4 else [2, 0, 1]
    new = environment.arranged(order)
    assert new.means == tuple(environment.means[arm] for arm in order)
    assert (new.bounds, new.limit, new.draw) == (
        environment.bounds,
        environment.limit,
        environment.draw,
    )
    back = new.arranged([order.index(arm) for arm in range(environment.arms)])
    assert back.means == environment.means
    for place, arm in enumerate(order):  # the same generator gives the same rewards
        if (
            environment.name in ("sampler", "clipped")
            and environment.draw.__name__ == "draw_buffer"
        ):
            continue  # buffers are filled in the order of the arms
        one, other = np.random.default_rng(7), np.random.default_rng(7)
        kept, moved = environment.start(one), new.start(other)
        drawn = environment.draw(kept, arm, 2, 0, one)
        assert new.draw(moved, place, 2, 0, other) == drawn


def test_samplers_follow_their_arms() -> None:
    constant = [lambda rng, size, value=value: np.full(size, value) for value in (0.1, 0.5, 0.9)]
    environment = discreet.Sampler(constant, means=[0.1, 0.5, 0.9], buffer=3)
    new, rng = environment.arranged([2, 0, 1]), np.random.default_rng(1)
    state = new.start(rng)
    for place, value in enumerate((0.9, 0.1, 0.5)):
        for _ in range(3):
            new.refill(state, rng)
            total, drawn = new.draw(state, place, 3, 0, rng)
            assert total == pytest.approx(3 * value)
            assert drawn == 3


class OwnState(NamedTuple):
    """Rewards of a law that knows nothing of other orders."""

    values: Any


def draw_own(state: OwnState, arm: int, rounds: int, t: int, rng: Any) -> tuple[float, int]:
    """A constant per arm."""
    return state.values[arm] * rounds, rounds


@dataclass(frozen=True, init=False)
class Own(Environment):
    """A law of a user's."""

    name = "own"
    draw = staticmethod(draw_own)
    means: tuple[float, ...]

    def __init__(self, means: tuple[float, ...]) -> None:
        self._set(means=means, bounds=(0.0, 1.0))

    def start(self, rng: np.random.Generator) -> OwnState:
        return OwnState(np.array(self.means))


def test_a_law_of_ones_own_is_shuffled_too() -> None:
    environment = Own((0.25, 0.75))
    result = discreet.simulate(STAYS, environment, horizon=64, runs=40, seed=1, shuffle=True)
    np.testing.assert_allclose(result.pulls @ np.array([0.5, 0.0]), result.regret)
    assert 0 < (result.final_regret == 0.0).sum() < 40
    again = environment.arranged([1, 0])
    assert again.to_dict() == {
        "environment": "arranged",
        "of": {"environment": "own", "means": [0.25, 0.75]},
        "order": [1, 0],
    }


def test_what_is_saved_says_whether_it_was_shuffled(tmp_path: Any) -> None:
    rows = [discreet.policy("adap-ucb", epsilon=1.0)]
    for shuffle in (True, False):
        done = discreet.compare(
            rows, discreet.Bernoulli(MEANS), horizon=100, runs=3, seed=1, shuffle=shuffle
        )
        assert done.summary()[0]["shuffle"] is shuffle
        again = discreet.load(done.save(tmp_path / "x.parquet"))
        assert isinstance(again, discreet.Comparison)
        assert again[0].shuffle is shuffle
    with pytest.raises(InvalidArgument, match="shuffle must be True or False"):
        discreet.compare(rows, discreet.Bernoulli(MEANS), horizon=100, shuffle="no")  # type: ignore[arg-type]


def test_published_studies_keep_the_order_of_their_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet import simulator
    from discreet.studies._base import Lab, Size

    seen: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.append(options.get("shuffle"))
        return running.compare(*arguments, **options)

    monkeypatch.setattr(simulator, "compare", watched)
    lab = Lab(Size(64, 3), seed=11, threads=1, progress=False)
    panel = lab.compare("s", {"x": STAYS}, discreet.Bernoulli(MEANS))
    assert seen == [False]
    assert panel["x"].final_regret.max() == 0.0
