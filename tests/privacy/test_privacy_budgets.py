"""Budgets: order, conversion, composition, groups; checked against real pairs of distributions."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from discreet.errors import InvalidArgument, NoConversion
from discreet.privacy import (
    ZCDP,
    Approximate,
    Budget,
    GaussianDP,
    Pure,
    Renyi,
    budget_from,
    budget_from_dict,
    compose,
    parallel,
)

fixed = settings(derandomize=True, deadline=None, max_examples=60)

size = st.floats(1e-4, 20.0)
order = st.floats(1.01, 200.0)
small_delta = st.floats(1e-12, 0.5)
finite = st.one_of(
    size.map(Pure),
    st.builds(Approximate, size, small_delta),
    size.map(ZCDP),
    st.builds(Renyi, order, size),
    size.map(GaussianDP),
)
edge = st.sampled_from(
    [
        Pure(0),
        Pure(math.inf),
        Approximate(0, 0),
        Approximate(1, 0),
        ZCDP(0),
        ZCDP(math.inf),
        Renyi(2, 0),
        Renyi(2, math.inf),
        GaussianDP(0),
        GaussianDP(math.inf),
        Approximate(math.inf, 0.1),
    ]
)
budgets = st.one_of(finite, edge)


def looser(budget: Budget, by: float = 1e-9) -> Budget:
    match budget:
        case Pure(epsilon=e):
            return Pure(e * (1 + by))
        case Approximate(epsilon=e, delta=d):
            return Approximate(e * (1 + by), min(d * (1 + by), 1 - 1e-16))
        case ZCDP(rho=r):
            return ZCDP(r * (1 + by))
        case Renyi(alpha=a, epsilon=e):
            return Renyi(a, e * (1 + by))
        case GaussianDP(mu=m):
            return GaussianDP(m * (1 + by))
    raise AssertionError


def conversions(budget: Budget, delta: float, alpha: float) -> list[Budget]:
    out: list[Budget] = [budget]
    for convert in (
        budget.to_pure,
        budget.to_zcdp,
        lambda: budget.to_approximate(delta),
        lambda: budget.to_renyi(alpha),
    ):
        try:
            out.append(convert())
        except NoConversion:
            continue
    return out


@fixed
@given(budgets)
def test_order_is_reflexive(a: Budget) -> None:
    assert a <= a
    assert a >= a
    assert not a < a
    assert not a > a


@fixed
@given(budgets, small_delta, order)
def test_a_budget_implies_what_it_converts_to(a: Budget, delta: float, alpha: float) -> None:
    for b in conversions(a, delta, alpha):
        assert a <= looser(b, 1e-12)
        assert (a < b) == (not b <= a and a <= b)


@fixed
@given(
    budgets, st.lists(st.floats(1e-12, 0.01), min_size=2, max_size=2), st.lists(order, min_size=2)
)
def test_order_is_transitive_along_conversions(
    a: Budget, deltas: list[float], alphas: list[float]
) -> None:
    """For every δ that anybody would claim: near 1/2 the formula of one Rényi order is not the best
    that can be proved, and a detour through another δ proves more than the direct way."""
    for b in conversions(a, deltas[0], alphas[0]):
        for c in conversions(b, deltas[1], alphas[1]):
            assert a <= looser(c)


@fixed
@given(finite, finite)
def test_two_finite_budgets_of_one_kind_that_imply_each_other_are_equal(
    a: Budget, b: Budget
) -> None:
    if a.kind == b.kind and a <= b and b <= a:
        assert a == b
    assert not (a < b and b < a)


@fixed
@given(finite)
def test_a_weaker_budget_is_not_a_stronger_one(a: Budget) -> None:
    assert a < looser(a, 1e-3)
    assert not looser(a, 1e-3) <= a


def test_incomparable_budgets_exist() -> None:
    a, b = Approximate(0.1, 1e-3), Approximate(1.0, 1e-9)
    assert not a <= b
    assert not b <= a


def test_concentrated_budgets_are_never_pure_however_small_delta() -> None:
    for budget in (ZCDP(1e-3), GaussianDP(1e-3), Renyi(2, 1e-3)):
        assert budget.delta_at(1e6) > 0
        assert not budget <= Approximate(1e6, 0)
        assert not budget <= Pure(1e6)
        with pytest.raises(NoConversion):
            budget.to_pure()
        with pytest.raises(NoConversion):
            budget.to_approximate(0)
    with pytest.raises(NoConversion):
        Approximate(1, 1e-9).to_zcdp()
    with pytest.raises(NoConversion):
        Approximate(1, 1e-3).to_approximate(1e-4)
    with pytest.raises(NoConversion):
        Renyi(2, 1).to_renyi(3)


@pytest.mark.parametrize("extreme", [0.0, math.inf])
def test_no_and_perfect_privacy_are_the_same_in_every_kind(extreme: float) -> None:
    kinds = (Pure(extreme), Approximate(extreme, 0), ZCDP(extreme), Renyi(2, extreme))
    for budget in (*kinds, GaussianDP(extreme)):
        assert budget.to_pure() == Pure(extreme)
        assert budget.to_zcdp() == ZCDP(extreme)
        assert budget.to_approximate(0) == Approximate(extreme, 0)
        assert budget.to_renyi(2) == Renyi(2, extreme)


@fixed
@given(finite, small_delta)
def test_to_approximate_is_sound_and_least(a: Budget, delta: float) -> None:
    try:
        epsilon = a.to_approximate(delta).epsilon
    except NoConversion:
        assert isinstance(a, Approximate)
        return
    assert a.delta_at(epsilon) <= delta
    if epsilon > 1e-6:
        assert a.delta_at(epsilon * (1 - 1e-6)) > delta


# --- against real pairs of distributions: what a conversion promises must hold ---------------

weights = st.lists(st.floats(0.02, 1.0), min_size=3, max_size=3)


def hockey(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    one = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    two = np.maximum(q - math.exp(epsilon) * p, 0).sum()
    return float(max(one, two))


def divergence(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return max(
        float(logsumexp(alpha * np.log(a) + (1 - alpha) * np.log(b))) / (alpha - 1)
        for a, b in ((p, q), (q, p))
    )


@fixed
@given(weights, weights, st.floats(0, 3), st.floats(1.1, 30))
def test_conversions_hold_for_real_distributions(
    v: list[float], w: list[float], at: float, alpha: float
) -> None:
    p, q = np.array(v) / sum(v), np.array(w) / sum(w)
    loss = float(np.abs(np.log(p / q)).max())
    pure = Pure(loss)
    real = hockey(p, q, at) - 1e-12
    assert real <= pure.delta_at(at)
    assert divergence(p, q, alpha) <= pure.to_renyi(alpha).epsilon + 1e-9
    assert divergence(p, q, alpha) <= alpha * pure.to_zcdp().rho + 1e-9
    assert real <= Renyi(alpha, max(0.0, divergence(p, q, alpha))).delta_at(at)
    orders = 1 + np.logspace(-4, 4, 200)
    rho = max(min(divergence(p, q, a), loss) / a for a in orders)
    assert real <= ZCDP(max(0.0, rho) * 1.05 + 1e-12).delta_at(at)


@fixed
@given(weights, weights, weights, st.floats(0, 1))
def test_group_privacy_holds_for_real_chains(
    u: list[float], v: list[float], w: list[float], at: float
) -> None:
    chain = [np.array(x) / sum(x) for x in (u, v, w)]
    losses = [float(np.abs(np.log(p / q)).max()) for p, q in pairwise(chain)]
    far = float(np.abs(np.log(chain[0] / chain[2])).max())
    group = Pure(max(losses)).group(2)
    assert far <= group.epsilon + 1e-12
    step = max(hockey(p, q, at) for p, q in pairwise(chain))
    try:
        two = Approximate(at, step).group(2)
    except NoConversion:
        return
    assert hockey(chain[0], chain[2], two.epsilon) <= two.delta + 1e-12


def test_randomised_response_attains_the_pure_curve() -> None:
    p = np.array([1.0, math.e]) / (1 + math.e)
    for at in (0.0, 0.3, 0.9, 1.0, 2.0):
        assert Pure(1).delta_at(at) == pytest.approx(hockey(p, p[::-1], at), abs=1e-15)
    for alpha in (1.5, 2.0, 10.0):
        assert Pure(1).to_renyi(alpha).epsilon == pytest.approx(divergence(p, p[::-1], alpha))


def test_group_of_each_kind() -> None:
    assert Pure(0.5).group(3) == Pure(1.5)
    assert ZCDP(0.1).group(3).rho == pytest.approx(0.9)
    assert GaussianDP(0.5).group(3) == GaussianDP(1.5)
    assert Renyi(16, 0.1).group(3).alpha == 4
    assert Renyi(16, 0.1).group(3).epsilon == pytest.approx(0.9)
    e = math.e
    three = Approximate(1, 1e-6).group(3)
    assert three.epsilon == 3
    assert three.delta == pytest.approx(1e-6 * (1 + e + e * e), rel=1e-9)
    assert Approximate(0, 1e-6).group(3).delta == pytest.approx(3e-6, rel=1e-9)
    for epsilon in (1e-17, 1e-3, 0.1, 0.3):
        summed = 1e-6 * sum(math.exp(epsilon * i) for i in range(3))
        assert Approximate(epsilon, 1e-6).group(3).delta == pytest.approx(summed, rel=1e-9)
    assert Approximate(1, 1e-6).group(1) == Approximate(1, 1e-6)
    with pytest.raises(NoConversion):
        Approximate(1, 1e-3).group(10)
    with pytest.raises(NoConversion):
        Approximate(1, 1e-300).group(10**6)
    with pytest.raises(NoConversion):
        Renyi(4, 0.1).group(3)


@fixed
@given(finite, st.integers(1, 1000))
def test_split_undoes_times(a: Budget, k: int) -> None:
    whole = a.split(k).times(k)
    assert whole <= looser(a)
    assert a <= looser(whole)


@fixed
@given(st.lists(finite, min_size=1, max_size=4))
def test_composition_laws(parts: list[Budget]) -> None:
    try:
        total, worst = compose(*parts), parallel(*parts)
    except NoConversion:
        kinds = {b.kind for b in parts}
        assert "renyi" in kinds or "approximate" in kinds
        return
    for part in parts:
        assert part <= looser(worst)
    assert worst <= looser(total)
    again = compose(*reversed(parts))
    assert total <= looser(again)
    assert again <= looser(total)


@fixed
@given(finite, st.integers(1, 5))
def test_composing_copies_is_times(a: Budget, k: int) -> None:
    if isinstance(a, Approximate) and a.delta * k >= 1:
        return
    assert compose(*[a] * k) <= looser(a.times(k))
    assert a.times(k) <= looser(compose(*[a] * k))
    assert parallel(*[a] * k) == a


def test_promotion_of_mixed_kinds() -> None:
    assert compose() == Pure(0)
    assert parallel() == Pure(0)
    assert compose(Pure(1), Pure(2)) == Pure(3)
    one = Pure(1).to_zcdp().rho
    assert one == pytest.approx(math.tanh(0.5), rel=1e-9)
    assert compose(Pure(1), ZCDP(0.5)) == ZCDP(one + 0.5)
    assert compose(GaussianDP(3), GaussianDP(4)) == GaussianDP(5)
    assert compose(GaussianDP(1), ZCDP(0.5)) == ZCDP(1.0)
    assert compose(Pure(1), Approximate(1, 0.1)) == Approximate(2, 0.1)
    assert compose(Renyi(2, 1), ZCDP(0.5)) == Renyi(2, 2)
    assert compose(Approximate(1, 0), ZCDP(0.5)) == ZCDP(one + 0.5)
    assert parallel(Pure(1), Approximate(0.5, 0.1)) == Approximate(1, 0.1)
    assert parallel(Pure(1), ZCDP(0.1)) == ZCDP(one)
    for odd in (ZCDP(1), GaussianDP(1), Renyi(2, 1)):
        with pytest.raises(NoConversion, match="to_approximate"):
            compose(Approximate(1, 0.1), odd)
    with pytest.raises(NoConversion, match="alpha"):
        compose(Renyi(2, 1), Renyi(3, 1))
    with pytest.raises(NoConversion, match="delta"):
        compose(Approximate(1, 0.6), Approximate(1, 0.6))
    with pytest.raises(InvalidArgument, match="Budget"):
        compose(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Pure(-1),
        lambda: Pure(math.nan),
        lambda: Pure("1"),  # type: ignore[arg-type]
        lambda: Pure(True),
        lambda: Approximate(1, 1),
        lambda: Approximate(1, -0.1),
        lambda: Approximate(1, math.nan),
        lambda: ZCDP(-1),
        lambda: ZCDP(math.nan),
        lambda: Renyi(1, 1),
        lambda: Renyi(math.inf, 1),
        lambda: Renyi(2, -1),
        lambda: GaussianDP(-1),
        lambda: Pure(1).group(0),
        lambda: Pure(1).times(1.5),  # type: ignore[arg-type]
        lambda: Pure(1).to_approximate(1.0),
        lambda: Pure(1).delta_at(-1),
        lambda: ZCDP(math.inf).delta_at(-1),
        lambda: ZCDP(1).delta_at(None),  # type: ignore[arg-type]
        lambda: Renyi(2, 1).delta_at("1"),  # type: ignore[arg-type]
        lambda: Pure(1).implies(1),  # type: ignore[arg-type]
    ],
)
def test_bad_values_are_refused(build: object) -> None:
    with pytest.raises(InvalidArgument, match=r"must .*, got .*; "):
        build()  # type: ignore[operator]


def test_budget_from_keywords() -> None:
    assert budget_from() is None
    assert budget_from(epsilon=1) == Pure(1)
    assert budget_from(epsilon=1, delta=0) == Pure(1)
    assert budget_from(epsilon=1, delta=1e-6) == Approximate(1, 1e-6)
    assert budget_from(rho=0.1) == ZCDP(0.1)
    assert budget_from(epsilon=1, renyi_alpha=2) == Renyi(2, 1)
    assert budget_from(mu=1) == GaussianDP(1)
    assert budget_from(epsilon=math.inf) == Pure(math.inf)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"rho": 0}, "rho"),
        ({"mu": 0}, "mu"),
        ({"delta": 1e-6}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "rho": 1}, "epsilon and rho"),
        ({"epsilon": 1, "renyi_alpha": 1}, "renyi_alpha"),
        ({"renyi_alpha": 2}, "renyi_alpha"),
        ({"epsilon": 1, "delta": 0.1, "renyi_alpha": 2}, "delta"),
        ({"rho": 1, "mu": 1}, "mu and rho"),
    ],
)
def test_contradictory_requests_are_refused(arguments: dict[str, float], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        budget_from(**arguments)


@fixed
@given(budgets)
def test_json_round_trip(a: Budget) -> None:
    text = json.dumps(a.to_dict(), allow_nan=False)
    assert budget_from_dict(json.loads(text)) == a


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "pure"},
        {"kind": "odd"},
        {"kind": "pure", "epsilon": 1, "delta": 0},
        {"kind": "pure", "epsilon": None},
        {"kind": "pure", "epsilon": -1},
    ],
)
def test_foreign_dicts_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        budget_from_dict(data)


def test_text_and_advantage() -> None:
    assert str(Pure(1)) == "ε = 1"
    assert str(Approximate(1, 1e-6)) == "ε = 1, δ = 1e-06"
    assert str(ZCDP(0.1)) == "ρ = 0.1"
    assert str(Renyi(2, 1)) == "(α, ε) = (2, 1)"
    assert str(GaussianDP(0.5)) == "μ = 0.5"
    assert str(Pure(math.inf)) == "ε = ∞"
    e = math.e
    assert Pure(1).attacker_advantage() == pytest.approx((e - 1) / (e + 1))
    assert Approximate(1, 0.1).attacker_advantage() == pytest.approx((e - 1 + 0.2) / (e + 1))
    assert Pure(math.inf).attacker_advantage() == 1


def test_budgets_are_read_only_values() -> None:
    assert len({Pure(1), Pure(1.0), Approximate(1, 0)}) == 2
    with pytest.raises(AttributeError):
        Pure(1).epsilon = 2  # type: ignore[misc]
