"""Tables, problems and logs of one's own; estimators beside twins, truth, coverage and privacy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import naive_logs as naive
import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.audit import Each, attack
from discreet.errors import InvalidArgument
from discreet.logs import Log
from discreet.logs._estimators import terms
from discreet.logs._evaluation import MEAN_SHARE, METHODS, _own_scores, released
from discreet.logs._tables import columns_of
from discreet.policies import ForgetLaplace, Policy, Regular
from discreet.policies._ucb import UCB1
from discreet.privacy import Pure
from discreet.privacy._source import SIMULATED

COLUMNS = {
    "arm": ["a", "b", "c", "a"],
    "outcome": [1.0, 0.0, 0.5, 1.0],
    "p": [0.5, 0.25, 0.25, 0.5],
    "age": [30, 40, 50, 60],
    "place": ["x", "y", "x", "z"],
}


class Frame:
    """What is used of a frame of pandas or polars."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.inside, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> Any:
        class Series:
            def __init__(self, values: list[Any]) -> None:
                self.values = values

            def to_numpy(self) -> Any:
                return np.array(self.values, dtype=object)

        return Series(self.inside[name])


def csv_file(folder: Path) -> Path:
    lines = [
        ",".join(COLUMNS),
        *(",".join(map(str, row)) for row in zip(*COLUMNS.values(), strict=True)),
    ]
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    return folder / "log.csv"


def arff_file(folder: Path) -> Path:
    kinds = {"arm": "{a,b,c}", "place": "{x,y,z}"}
    head = [f"@attribute {name} {kinds.get(name, 'numeric')}" for name in COLUMNS]
    rows = [",".join(map(str, row)) for row in zip(*COLUMNS.values(), strict=True)]
    (folder / "log.arff").write_text("\n".join(["@relation log", *head, "@data", *rows]) + "\n")
    return folder / "log.arff"


@pytest.mark.parametrize("kind", ["dictionary", "frame", "arrow", "csv", "arff"])
def test_the_same_log_from_every_table(kind: str, tmp_path: Path) -> None:
    tables: dict[str, Any] = {
        "dictionary": COLUMNS, "frame": Frame(COLUMNS), "arrow": pa.table(COLUMNS),
        "csv": csv_file(tmp_path), "arff": str(arff_file(tmp_path)),
    }  # fmt: skip
    log = discreet.logged(
        tables[kind], action="arm", reward="outcome", propensity="p", context=["age", "place"]
    )
    assert list(columns_of(tables[kind])) == list(COLUMNS)
    assert log.arms == ("a", "b", "c")
    assert log.action.tolist() == [0, 1, 2, 0]
    assert log.reward.tolist() == COLUMNS["outcome"]
    assert log.context.tolist() == [[30, 0, 0], [40, 1, 0], [50, 0, 0], [60, 0, 1]]
    assert "0.5" not in repr(log)


def test_what_is_no_log() -> None:
    def made(**changed: Any) -> Log:
        said: dict[str, Any] = {"action": "arm", "reward": "outcome", "propensity": "p"}
        table = changed.pop("table", COLUMNS)
        return discreet.logged(table, **(said | changed))

    for wrong, argument in (
        ({"action": "nobody"}, "action"),
        ({"arms": ["a", "b"]}, "arms"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"bounds": (0.0, 0.7)}, "reward"),
        ({"propensity": 0.0}, "propensity"),
        ({"table": COLUMNS | {"outcome": [1.0, math.nan, 0.0, 0.0]}}, "reward"),
        ({"table": 3}, "frame"),
        ({"table": "nowhere.csv"}, "frame"),
    ):
        with pytest.raises(InvalidArgument) as refused:
            made(**wrong)
        assert refused.value.argument == argument


def test_classes_become_arms() -> None:
    """The line that tells two groups apart favours each group's own arm."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 600)
    X = np.eye(3)[y] + 0.3 * rng.standard_normal((600, 3))
    made = discreet.problem(X, y)
    means = made.contexts.sets @ made.theta  # type: ignore[attr-defined]
    assert means.shape == (600, 3)
    assert means.min() >= -1e-9
    assert means.max() <= 1.0 + 1e-9
    assert (means.argmax(axis=1) == y).mean() > 0.9
    assert made.label["kind"] == "classification"
    assert made.contexts.longest <= 1.0 + 1e-12


def test_numbers_become_values() -> None:
    """The best of five values is nearest to what a line predicts."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, 400)
    table = {
        "x": x,
        "word": np.where(x > 0, "up", "down"),
        "y": x + 0.05 * rng.standard_normal(400),
    }
    made = discreet.problem(table, "y", arms=4)
    means = made.contexts.sets @ made.theta  # type: ignore[attr-defined]
    assert means.shape == (400, 4)
    best = means.argmax(axis=1)
    assert best[x < -0.8].mean() < 0.5
    assert best[x > 0.8].mean() > 2.5
    assert made.label["kind"] == "regression"


def test_what_is_no_problem() -> None:
    X = np.zeros((5, 2))
    for y, argument in (([1, 2], "y"), ([1, 1, 1, 1, 1], "y"), ([0.5] * 5, "y")):
        with pytest.raises(InvalidArgument) as refused:
            discreet.problem(X, y)
        assert refused.value.argument == argument


# logs with a known truth: one feature, three arms, rewards 0 or 1

SLOPES = np.array([[0.5, 0.1], [0.4, -0.2], [0.3, 0.25]])


def target(context: Any) -> Any:
    """The policy that is evaluated: mostly arm 2 for a large feature, else arm 0."""
    large = context[:, 0] > 0
    return np.where(large[:, None], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1])


def drawn(size: int, rng: np.random.Generator) -> tuple[Log, float]:
    """A log, and what the policy earns on average over everybody that could have come."""
    x = rng.uniform(-1.0, 1.0, size)
    shares = np.column_stack([0.5 - 0.2 * x, np.full(size, 0.2), 0.3 + 0.2 * x])
    action = (rng.random(size)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    means = SLOPES[:, 0] + x[:, None] * SLOPES[:, 1]
    reward = (rng.random(size) < means[np.arange(size), action]).astype(float)
    table = {"a": action, "r": reward, "p": shares[np.arange(size), action], "x": x}
    log = discreet.logged(
        table, action="a", reward="r", propensity="p", context="x", arms=[0, 1, 2]
    )
    grid = np.array([-0.5, 0.5])  # the mean of a line over half of the range is its middle
    truth = (target(grid[:, None]) * (SLOPES[:, 0] + grid[:, None] * SLOPES[:, 1])).sum(axis=1)
    return log, float(truth.mean())


def known(context: Any) -> Any:
    return SLOPES[:, 0] + context[:, :1] * SLOPES[:, 1]


@pytest.mark.parametrize("threshold", [1.5, 100.0])
def test_estimates_are_those_of_the_papers(threshold: float) -> None:
    log, _ = drawn(200, np.random.default_rng(3))
    shares, q = target(log.context).tolist(), known(log.context).tolist()
    action, r = log.action.tolist(), log.reward.tolist()
    w = naive.weights(shares, action, log.propensity.tolist())
    twins = {
        "ipw": naive.ipw(w, r),
        "snips": naive.snips(w, r),
        "dm": naive.dm(shares, q),
        "dr": naive.switch_dr(shares, q, w, r, action, math.inf),
        "switch": naive.switch_dr(shares, q, w, r, action, threshold),
    }
    assert set(twins) == set(METHODS)
    for method, value in twins.items():
        found = discreet.evaluate(target, log, method=method, model=known, threshold=threshold)
        assert found.value == pytest.approx(value, abs=1e-12)
    assert min(w) < 1.5 < max(w)  # so that the threshold parts them


def test_policies_in_every_form() -> None:
    log, _ = drawn(300, np.random.default_rng(4))
    chosen = np.where(log.context[:, 0] > 0, 2, 0)
    forms = [chosen, lambda context: np.where(context[:, 0] > 0, 2, 0), np.eye(3)[chosen]]
    values = [discreet.evaluate(form, log, method="ipw").value for form in forms]
    assert values[0] == values[1] == values[2]
    one = discreet.evaluate(1, log, method="snips").value
    assert one == discreet.evaluate({1: 1.0}, log, method="snips").value
    for wrong in (7, {"x": 1.0}, np.ones((300, 3)), np.ones((3, 3)), discreet.policy("ucb1")):
        with pytest.raises(InvalidArgument, match="policy must"):
            discreet.evaluate(wrong, log)


REPEATS = 400
LEAST_COVERED = 354
"""Of 400 intervals that cover with 95 %, fewer do so with probability 7.2e-8; 4e-7 for any of five
kinds."""


def test_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(5)
    covered = dict.fromkeys(METHODS, 0)
    widths = dict.fromkeys(METHODS, 0.0)
    for _ in range(REPEATS):
        log, truth = drawn(2000, rng)
        for method in METHODS:
            low, high = discreet.evaluate(target, log, method=method).interval(0.95)
            covered[method] += low <= truth <= high
            widths[method] += (high - low) / REPEATS
    assert min(covered.values()) >= LEAST_COVERED, covered
    assert max(covered.values()) <= 0.998 * REPEATS, covered  # and they are no wider than needed
    assert widths["dr"] < widths["ipw"]


@pytest.mark.parametrize("method", ["dr", "ipw", "switch"])
def test_private_intervals_cover_the_truth(method: str) -> None:
    """Simulated noise of the same release; clip=8 is above every weight, so that nothing bends."""
    rng, covered, width = np.random.default_rng(6), 0, 0.0
    for _ in range(REPEATS):
        log, truth = drawn(400, rng)
        scores = _own_scores(method, log, terms(log, target(log.context)), None, 10.0)
        low, high = released(scores, log, 2.0, 8.0, SIMULATED, rng).interval(0.95)
        covered += low <= truth <= high
        width += (high - low) / REPEATS
    assert covered >= LEAST_COVERED
    assert width < 0.5


def test_secure_noise_has_the_scale_that_is_said() -> None:
    """300 releases of one log: the mean of |noise|/b is Gamma(300)/300, which leaves [.74, 1.312]
    with probability 8e-7; half or twice the scale is found."""
    log, _ = drawn(50, np.random.default_rng(7))
    exact = discreet.evaluate(1, log, method="ipw").value
    found = [discreet.evaluate(1, log, method="ipw", epsilon=0.5, clip=8.0) for _ in range(300)]
    assert found[0].noise == pytest.approx(8.0 / (50 * 0.5 * MEAN_SHARE), rel=1e-5)
    ratio = float(np.mean([abs(one.value - exact) / one.noise for one in found]))
    assert 0.74 < ratio < 1.312


def test_the_guarantee_is_that_of_two_verified_releases() -> None:
    log, _ = drawn(30, np.random.default_rng(8))
    found = discreet.evaluate(0, log, epsilon=0.8)
    assert found.guarantee.budget == Pure(0.8)
    spent = 0.0
    for part in (MEAN_SHARE, 1.0 - MEAN_SHARE):
        row = Policy("one release", Regular(30), ForgetLaplace(part * 0.8), UCB1())
        checked = row.proved(arms=2, horizon=60, live=True)
        assert checked.holds
        assert isinstance(checked.computed, Pure)
        spent += checked.computed.epsilon
    assert spent <= 0.8 * (1 + 1e-9)
    assert "ε = 0.8" in str(found)


def neighbours() -> tuple[Log, Log]:
    """Twelve participants, of whom one is replaced by the opposite: a huge weight and reward."""
    table: dict[str, list[Any]] = {"a": [0, 1] * 6, "r": [0.0] * 12, "p": [0.5] * 12}
    other = {name: list(values) for name, values in table.items()}
    table["a"][0], table["r"][0], table["p"][0] = 1, 1.0, 1e-6
    other["a"][0], other["r"][0], other["p"][0] = 1, 0.0, 1e-6
    first, second = (
        discreet.logged(one, action="a", reward="r", propensity="p") for one in (table, other)
    )
    return first, second


@pytest.mark.parametrize(("factor", "found_out"), [(1.0, False), (3.0, True)])
def test_an_audit_finds_no_more_than_is_claimed(factor: float, found_out: bool) -> None:
    """Value and error together; noise for three times the budget is found out, and right noise is
    blamed with probability below 1e-6."""
    sides = neighbours()

    def run(side: int, rng: Any) -> tuple[float, float]:
        log = sides[side]
        scores = np.where(log.action == 1, log.reward / log.propensity, 0.0)
        found = released(scores, log, factor, 2.0, SIMULATED, rng)
        return found.value, found.error

    audited = attack([Each(run)], Pure(1.0), transcripts=8_000, seed=1, confidence=1.0 - 1e-6)
    assert (audited.verdict == "violation") == found_out


def test_a_function_sees_one_participant_at_a_time() -> None:
    log, _ = drawn(20, np.random.default_rng(9))
    seen: list[int] = []

    def mine(context: Any) -> Any:
        seen.append(len(context))
        return target(context)

    discreet.evaluate(mine, log, epsilon=1.0, model=known)
    assert seen == [1] * 20


def test_a_score_that_is_no_number_raises_nothing() -> None:
    """An exception, or a warning, would tell of whoever it belongs to."""
    log, _ = drawn(20, np.random.default_rng(11))
    for scores in (np.full(20, np.nan), np.full(20, np.inf), np.full(20, -np.inf)):
        found = released(scores, log, 1e6, 2.0, SIMULATED, np.random.default_rng(1))
        assert abs(found.value - 0.5) <= 1.0 + 1e-3
    huge = discreet.evaluate(
        0, log, epsilon=1.0, model=lambda context: np.full((len(context), 3), 1e308)
    )
    assert math.isfinite(huge.value)
    with pytest.raises(InvalidArgument, match="propensity must"):
        discreet.logged(
            {"a": [0, 1], "r": [0, 1], "p": [1e-300, 1.0]}, action="a", reward="r", propensity="p"
        )


def test_what_cannot_be_released() -> None:
    log, _ = drawn(20, np.random.default_rng(10))
    for method, argument in (("snips", "method"), ("dm", "model")):
        with pytest.raises(InvalidArgument) as refused:
            discreet.evaluate(0, log, method=method, epsilon=1.0)
        assert refused.value.argument == argument
    with pytest.raises(InvalidArgument, match="clip must"):
        discreet.evaluate(0, log, clip=0.5)
