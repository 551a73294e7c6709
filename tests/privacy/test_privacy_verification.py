"""Losses by algebra: forms, the cheapest shifts, and budgets made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.privacy._curves import lattice_delta
from discreet.privacy._guarantees import Definition
from discreet.privacy._mechanisms import TruncatedLaplace
from discreet.privacy._source import SECURE, SIMULATED
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.privacy.verification import (
    Cells,
    Form,
    Loss,
    NotAffine,
    PublicCells,
    Symbol,
    System,
    Tape,
    Verification,
    losses,
    sharpened,
    spent,
    symbolic,
    undominated,
    within,
)
from discreet.privacy.verification._forms import GAUSSIAN, LAPLACE, REWARD, TRUNCATED
from discreet.privacy.verification._result import is_tight
from discreet.privacy.verification._shifts import UNHIDDEN, truncated_delta
from discreet.privacy.verification._source import response_epsilon


def reward(tape: Tape) -> Form:
    return tape.symbol(Symbol(REWARD, 1.0, rounds=1))


def noisy(tape: Tape, scale: float) -> Form:
    found = tape.noise(LAPLACE, scale)
    assert isinstance(found, Form)
    return found


def least(tape: Tape, place: int = 0) -> Loss:
    """The least cost of a reward, whichever way it is found."""
    system, found = losses(tape)
    candidate = found[place]
    return (candidate if candidate.exact else sharpened(system, tape, candidate)).loss


# --- forms --------------------------------------------------------------------------------------


def test_forms_are_affine() -> None:
    tape = Tape()
    r, z = reward(tape), tape.noise(LAPLACE, 2.0)
    form = (3.0 * (r + 1) - z / 2 + 4 - r) * 0.5
    assert form.coefficients.tolist() == [1.0, -0.25]
    assert form.constant == 3.5
    assert (1 - r).coefficients.tolist() == [-1.0]
    assert (-r + np.float64(2.0)).constant == 2.0
    assert (np.float64(2.0) * r).coefficients.tolist() == [2.0]
    assert float(r - r + 7) == 7.0
    assert r - r + 7 > 6
    assert (r - r) == 0
    assert tape.noise(LAPLACE, 0.0) == 0.0


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (lambda r: r > 0.5, "compares"),
        (lambda r: r == 1.0, "compares"),
        (lambda r: 1.0 if r else 0.0, "branches"),
        (lambda r: math.exp(r), "other than by sums"),
        (lambda r: r * r, "multiplies two"),
        (lambda r: 1.0 / r, "other than by sums"),
        (lambda r: 1.0 + 2.0 / (r + 1.0), "other than by sums"),
        (lambda r: r / r, "divides"),
        (lambda r: int(r), "rounds"),
        (lambda r: round(r), "rounds"),
        (lambda r: abs(r), "size"),
        (lambda r: r**2, "power"),
        (lambda r: r // 2, "other than by sums"),
        (lambda r: max(0.0, r), "compares"),
    ],
)
def test_whatever_is_not_affine_says_so(does: Any, says: str) -> None:
    with pytest.raises(NotAffine, match=says):
        does(reward(Tape()))


def test_cells_note_what_was_used_and_refuse_what_is_outside() -> None:
    tape = Tape(lambda arm: 0.25 + arm)
    private, public = Cells(tape, "sum", [0.0, 0.0]), PublicCells(tape, "value", [0.0, 0.0])
    private[1] += reward(tape)
    assert tape.touched == {("sum", 1)}
    for place in (2, -1):  # compiled code would not notice
        with pytest.raises(IndexError, match="sum, which has 2"):
            private[place] = 1.0
    public[1] = private[1] + tape.noise(LAPLACE, 1.0)
    assert public[1] == 1.25  # what was published is a number
    assert len(tape.numbers) == 1
    public[0] = private[1] - private[1] + 3.0
    assert public[0] == 3.0
    assert len(tape.numbers) == 1  # a constant tells nothing


# --- shifts -------------------------------------------------------------------------------------


def test_one_noise_hides_one_reward() -> None:
    tape = Tape()
    tape.numbers.append((reward(tape) + tape.noise(LAPLACE, 4.0)) / 10)
    loss = least(tape)
    assert loss.laplace == pytest.approx(0.25)
    assert loss.laplace_squares == pytest.approx(0.25**2 / 2)
    assert loss.numbers == 1


def test_a_reward_in_two_numbers_costs_twice() -> None:
    tape = Tape()
    r = reward(tape)
    tape.numbers += [r + tape.noise(LAPLACE, 1.0), (2 * r + tape.noise(LAPLACE, 1.0)) / 5]
    assert least(tape).laplace == pytest.approx(3.0)


def test_a_number_without_noise_of_its_own_gives_a_reward_away() -> None:
    tape = Tape()
    first, second, z = reward(tape), reward(tape), tape.noise(LAPLACE, 1.0)
    tape.numbers += [first + z, second + z]
    _, found = losses(tape)
    assert [each.loss for each in found] == [UNHIDDEN, UNHIDDEN]
    assert spent(UNHIDDEN, Pure(1.0)) == Pure(math.inf)
    raw = Tape()
    raw.numbers.append(reward(raw) / 3)
    assert not least(raw).is_finite


def test_sums_of_published_numbers_are_free() -> None:
    tape = Tape()
    a = reward(tape) + tape.noise(LAPLACE, 1.0)
    b = reward(tape) + tape.noise(LAPLACE, 1.0)
    tape.numbers += [a, b, a + b, 2 * a - b]
    _, found = losses(tape)
    assert [each.loss.laplace for each in found] == pytest.approx([1.0, 1.0])
    assert all(each.exact for each in found)


def test_noises_that_stay_together_are_one() -> None:
    for law, expected in ((LAPLACE, 1 / 3), (GAUSSIAN, 0.5 / 25)):
        tape = Tape()
        scales = (1.0, 3.0) if law == LAPLACE else (3.0, 4.0)
        noisy = reward(tape) + tape.noise(law, scales[0]) + tape.noise(law, scales[1])
        tape.numbers += [noisy, noisy + tape.noise(law, 7.0)]
        loss = least(tape)
        assert loss.laplace + loss.gaussian == pytest.approx(expected)


def test_the_widest_of_two_laplace_noises_is_the_loss_of_their_sum() -> None:
    """The density of Z1 + Z2 in closed form: no ratio exceeds exp(1/max b), and it is reached."""
    b, c = 1.0, 3.0

    def density(x: float) -> float:
        y = abs(x)
        return (c * math.exp(-y / c) - b * math.exp(-y / b)) / (2 * (c * c - b * b))

    ratios = [math.log(density(x) / density(x + 1.0)) for x in np.linspace(-40.0, 40.0, 4001)]
    assert max(ratios) <= 1 / 3 + 1e-9
    assert max(ratios) >= 1 / 3 - 1e-6


@pytest.mark.parametrize(("scales", "expected"), [((1, 3, 4), 7 / 12), ((1, 1, 9), 1.0)])
def test_where_several_shifts_hide_a_reward_the_least_counts(
    scales: tuple[float, ...], expected: float
) -> None:
    """Y1 = r + Z1 + Z2, Y2 = Z2 + Z3: move Z1, or Z2 and with it Z3."""
    tape = Tape()
    r, z = reward(tape), [noisy(tape, scale) for scale in scales]
    tape.numbers += [r + z[0] + z[1], z[1] + z[2]]
    _, found = losses(tape)
    assert not found[0].exact
    assert least(tape).laplace == pytest.approx(expected)
    assert found[0].loss.laplace >= expected - 1e-12  # what is found number by number is a bound


def test_least_squares_are_the_gaussian_formula() -> None:
    chance = np.random.default_rng(5)
    for _ in range(20):
        numbers, noises = 4, 7
        a, b = chance.normal(size=numbers), chance.normal(size=(numbers, noises))
        sigma = chance.uniform(0.5, 2.0, noises)
        tape = Tape()
        r = reward(tape)
        z = [tape.noise(GAUSSIAN, s) for s in sigma]
        for i in range(numbers):
            tape.numbers.append(sum((b[i, j] * z[j] for j in range(noises)), a[i] * r))
        rho = 0.5 * a @ np.linalg.solve(b @ np.diag(sigma**2) @ b.T, a)
        assert least(tape).gaussian == pytest.approx(float(rho), rel=1e-8)


def test_random_triangular_systems_agree_with_plain_algebra() -> None:
    chance = np.random.default_rng(6)
    for _ in range(20):
        n = 12
        b = np.tril(chance.normal(size=(n, n)) * (chance.random((n, n)) < 0.4), -1)
        b += np.diag(chance.uniform(0.5, 2.0, n))
        a, scales = chance.normal(size=(n, 3)), chance.uniform(0.5, 3.0, n)
        tape = Tape()
        rewards, z = [reward(tape) for _ in range(3)], [tape.noise(LAPLACE, s) for s in scales]
        for i in range(n):
            parts = [b[i, j] * z[j] for j in range(n)] + [a[i, k] * rewards[k] for k in range(3)]
            tape.numbers.append(sum(parts[1:], parts[0]))
        system, found = losses(tape)
        assert system.unique
        naive = np.abs(np.linalg.solve(b, a)) / scales[:, None]
        assert [each.loss.laplace for each in found] == pytest.approx(naive.sum(axis=0).tolist())


def test_whole_noise_moves_by_whole_numbers() -> None:
    tape = Tape()
    tape.numbers.append(0.5 * reward(tape) + tape.noise(LAPLACE, 4.0))
    assert losses(tape)[1][0].loss.is_finite
    assert not losses(tape, whole=True)[1][0].loss.is_finite


def test_a_noise_that_moves_in_one_number_is_made_up_for_in_the_next() -> None:
    """Y2 = Z1 + Z2 says nothing of the reward by itself."""
    tape = Tape()
    r, z, other = reward(tape), noisy(tape, 4.0), noisy(tape, 2.0)
    tape.numbers += [r + z, z + other]
    loss = least(tape)
    assert loss.laplace == pytest.approx(1 / 4 + 1 / 2)
    assert loss.numbers == 2


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_the_last_word_on_a_reward_is_had_where_noises_can_move_in_many_ways(law: str) -> None:
    """Y1 = r + Z1 + Z2 and Y2 = r/2 + Z1 - Z2 have the one shift (3/4, 1/4), which is not found
    number by number; with Y3 = .9 r + Z1 + 2 Z2 (which would have to move by 5/4) there is none."""
    tape = Tape()
    r, one, two = reward(tape), tape.noise(law, 2.0), tape.noise(law, 1.0)
    tape.numbers += [r + one + two, 0.5 * r + one - two]
    system, (found,) = losses(tape)
    assert (found.loss, found.exact) == (UNHIDDEN, False)
    best = sharpened(system, tape, found)
    assert best.exact
    expected = 3 / 8 + 1 / 4 if law == LAPLACE else ((3 / 8) ** 2 + (1 / 4) ** 2) / 2
    assert best.loss.laplace + best.loss.gaussian == pytest.approx(expected)
    tape.numbers.append(0.9 * r + one + 2.0 * two)
    system, (found,) = losses(tape)
    best = sharpened(system, tape, found)
    assert (best.loss, best.exact) == (UNHIDDEN, True)


def test_a_cheaper_shift_replaces_the_first_that_was_found_and_no_other() -> None:
    tape = Tape()
    r, z = reward(tape), [noisy(tape, scale) for scale in (3.0, 4.0, 1.0)]
    tape.numbers += [r + z[0] + z[1], z[1] + z[2]]  # the widest is moved at once: 1/4 + 1
    system, (found,) = losses(tape)
    assert found.loss.laplace == pytest.approx(5 / 4)
    best = sharpened(system, tape, found)
    assert best.loss.laplace == pytest.approx(1 / 3)
    again = sharpened(system, tape, best)
    assert (again.loss, again.exact) == (best.loss, True)
    whole = sharpened(system, tape, found, whole=True)
    assert whole.loss == best.loss


def test_of_noises_of_several_laws_the_widest_in_its_number_moves() -> None:
    """A bound, and said to be one: .1 Z1 has a spread of .5, Z2 of 1."""
    tape = Tape()
    tape.numbers.append(reward(tape) + 0.1 * tape.noise(LAPLACE, 5.0) + tape.noise(GAUSSIAN, 1.0))
    system, (found,) = losses(tape)
    assert found.loss == Loss(gaussian=0.5, numbers=1)
    assert not found.exact
    assert sharpened(system, tape, found) is found


def test_answers_and_noises_about_one_reward_add_up() -> None:
    tape = Tape()
    r, other = reward(tape), reward(tape)
    one, two = noisy(tape, 4.0), noisy(tape, 4.0)
    response: Any = symbolic(SIMULATED).kernels["response"]
    answers = [
        response(about, epsilon, tape) for about, epsilon in ((r, 0.5), (r, 0.25), (other, 2.0))
    ]
    tape.numbers += [r + one + two, one - 0.5 * two, *answers]
    system, (found, second) = losses(tape)
    best = sharpened(system, tape, found)
    assert best.loss.response == pytest.approx(0.75)
    assert best.loss.response_squares == pytest.approx((0.5**2 + 0.25**2) / 2)
    assert best.loss.laplace == pytest.approx(1 / 4)
    assert best.loss.numbers == 4
    assert found.loss == UNHIDDEN
    assert second.loss.response_squares == pytest.approx(2.0)
    assert second.loss.numbers == 1


def test_whole_noise_that_would_have_to_move_by_halves_is_not_the_last_word() -> None:
    tape = Tape()
    r, one, two = reward(tape), tape.noise(LAPLACE, 4.0), tape.noise(LAPLACE, 4.0)
    tape.numbers += [r + one + two, 0.5 * r + one - two]
    system, (found,) = losses(tape, whole=True)
    assert (found.loss, found.exact) == (UNHIDDEN, False)
    assert sharpened(system, tape, found, whole=True) is found
    tape = Tape()
    tape.numbers.append(1.5 * reward(tape) + tape.noise(LAPLACE, 4.0))
    (found,) = losses(tape, whole=True)[1]
    assert (found.loss, found.exact) == (UNHIDDEN, False)


def test_a_reward_without_limits_costs_everything_where_it_is_and_nothing_elsewhere() -> None:
    tape = Tape()
    wide = tape.symbol(Symbol(REWARD, math.inf, rounds=1))
    tape.symbol(Symbol(REWARD, math.inf, rounds=1))
    tape.numbers += [wide + noisy(tape, 1.0), noisy(tape, 1.0)]
    first, second = losses(tape)[1]
    assert first.loss.laplace == math.inf
    assert first.loss.numbers == 1
    assert second.loss == Loss()


def test_an_empty_walk_costs_nothing() -> None:
    tape = Tape()
    reward(tape)
    assert losses(tape)[1][0].loss == Loss()
    assert System.of(Tape()).rewards.shape == (0, 0)


def test_undominated_losses_are_few_and_hold_the_largest() -> None:
    tape = Tape()
    for scale in (1.0, 2.0, 0.5, 0.5):
        tape.numbers.append(reward(tape) + tape.noise(LAPLACE, scale))
    _, found = losses(tape)
    (worst,) = undominated(found)
    assert worst.loss.laplace == pytest.approx(2.0)
    assert worst.symbol == found[2].symbol


# --- sources and budgets ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_a_response_costs_what_its_two_coins_say(epsilon: float) -> None:
    assert response_epsilon((0.0, 1.0), epsilon) == pytest.approx(epsilon)
    assert response_epsilon((0.25, 0.75), epsilon) < epsilon
    for source in (SIMULATED, SECURE):
        tape = Tape()
        steps = reward(tape) * source.resolution
        answer = symbolic(source).kernels["response"](steps, epsilon, tape)
        tape.numbers.append(answer)
        (found,) = losses(tape)[1]
        assert found.loss.response == pytest.approx(epsilon)
        assert found.loss.response <= epsilon * (1 + 1e-12)


def test_a_response_is_about_one_reward() -> None:
    kernels = symbolic(SIMULATED).kernels
    tape = Tape()
    with pytest.raises(NotAffine, match="sum of rewards"):
        kernels["response"](reward(tape) + reward(tape), 1.0, tape)
    with pytest.raises(NotAffine, match="already noisy"):
        kernels["response"](reward(tape) + tape.noise(LAPLACE, 1.0), 1.0, tape)
    with pytest.raises(NotAffine, match="outside"):
        kernels["response"](2.0 * reward(tape), 1.0, tape)
    with pytest.raises(NotAffine, match="squashes"):
        kernels["squash"](2.0 * reward(tape), 1)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (0.1, 0.01), (0.0, 0.2), (5.0, 1e-6)])
def test_truncated_noise_leaves_the_mass_of_an_integral(epsilon: float, delta: float) -> None:
    scale = math.inf if epsilon == 0.0 else 1.0 / epsilon
    kind = Symbol(TRUNCATED, scale, delta=delta)
    bound = TruncatedLaplace(epsilon, delta).bound
    x = np.linspace(-bound, bound, 2_000_001)
    density = np.exp(-epsilon * np.abs(x))
    density /= density.sum()
    for move in (0.3, 1.0):
        naive = float(density[x > bound - move].sum())
        assert truncated_delta(move, kind) == pytest.approx(naive, rel=1e-3)
    assert truncated_delta(1.0, kind) == pytest.approx(delta)


def test_the_mass_that_truncated_noise_leaves_does_not_overflow() -> None:
    """δ e^(ε(s-1)), and never more than all."""
    for epsilon in (40.0, 599.0, 601.0):
        kind = Symbol(TRUNCATED, 1.0 / epsilon, delta=1e-100)
        assert truncated_delta(0.5, kind) == pytest.approx(1e-100 * math.exp(-epsilon / 2.0))
        assert truncated_delta(1.25, kind) == pytest.approx(1e-100 * math.exp(epsilon / 4.0))
        assert truncated_delta(1.0 + 231.0 / epsilon, kind) == 1.0
        assert truncated_delta(50.0, kind) == 1.0
    tiny = Symbol(TRUNCATED, 1.0 / 500.0, delta=1e-300)
    assert truncated_delta(2.0, tiny) == pytest.approx(1e-300 * math.exp(500.0))
    flat = Symbol(TRUNCATED, math.inf, delta=0.4)
    assert [truncated_delta(move, flat) for move in (0.5, 2.0, 3.0)] == [0.2, 0.8, 1.0]


def test_losses_become_budgets_of_the_claimed_kind() -> None:
    gaussian, laplace = Loss(gaussian=0.125), Loss(laplace=0.5, laplace_squares=0.125)
    cases: list[tuple[Loss, Budget, Budget]] = [
        (laplace, Pure(1.0), Pure(0.5)),
        (gaussian, Pure(1.0), Pure(math.inf)),
        (gaussian, ZCDP(1.0), ZCDP(0.125)),
        (laplace, ZCDP(1.0), ZCDP(0.125)),
        (gaussian, Renyi(4.0, 1.0), Renyi(4.0, 0.5)),
        (gaussian, GaussianDP(1.0), GaussianDP(0.5)),
        (laplace, GaussianDP(1.0), GaussianDP(math.inf)),
        (Loss(truncated=(1.0, 0.01)), Approximate(1.0, 0.01), Approximate(1.0, 0.01)),
        (Loss(truncated=(1.0, 0.02)), Approximate(1.0, 0.01), Approximate(1.0, 0.02)),
        (Loss(response=0.5, response_squares=0.125), Pure(1.0), Pure(0.5)),
    ]
    for loss, claimed, expected in cases:
        assert spent(loss, claimed) == expected
        assert within(expected, claimed) is (expected.is_finite and loss.truncated[1] < 0.02)
    curve = spent(gaussian, Approximate(1.0, 1e-6))
    assert curve.epsilon == GaussianDP(0.5).to_approximate(1e-6).epsilon  # type: ignore[attr-defined]
    unit = 1 << 20
    loss = Loss(gaussian=0.125, moves=((float(unit), 2.0 * unit),))
    lattice = spent(loss, Approximate(2.2, 1e-6), whole=True)
    assert isinstance(lattice, Approximate)
    assert lattice_delta(2.0 * unit, unit, lattice.epsilon) <= 1e-6
    assert lattice.epsilon == pytest.approx(curve.epsilon, rel=1e-4)  # type: ignore[attr-defined]


TRUNCATED_ONCE = Loss(truncated=(1.0, 0.01), numbers=1)
LAPLACE_ONCE = Loss(laplace=1.0, laplace_squares=0.5, numbers=1)


@pytest.mark.parametrize(
    ("loss", "claimed", "expected"),
    [
        (TRUNCATED_ONCE, Pure(1.0), Pure(math.inf)),
        (TRUNCATED_ONCE, ZCDP(1.0), ZCDP(math.inf)),
        (TRUNCATED_ONCE, Renyi(2.0, 1.0), Renyi(2.0, math.inf)),
        (TRUNCATED_ONCE, GaussianDP(1.0), GaussianDP(math.inf)),
        (Loss(truncated=(1.0, 0.0)), ZCDP(1.0), ZCDP(0.5)),
        (Loss(truncated=(2.0, 0.0)), ZCDP(1.0), ZCDP(2.0)),
        (Loss(response=0.5, response_squares=0.125), ZCDP(1.0), ZCDP(0.125)),
        (Loss(response=0.5, response_squares=0.125), GaussianDP(1.0), GaussianDP(math.inf)),
        (Loss(truncated=(1.0, 1.0)), Approximate(1.0, 0.5), Approximate(1.0, 1.0 - 2.0**-53)),
        (Loss(laplace=0.5, truncated=(0.25, 0.01), response=0.125), Approximate(1.0, 0.01),
         Approximate(0.875, 0.01)),
        (Loss(laplace=0.5, laplace_squares=0.125), Approximate(1.0, 0.0), Approximate(0.5, 0.0)),
        (Loss(gaussian=0.125), Approximate(1.0, 0.0), Approximate(math.inf, 0.0)),
        (Loss(gaussian=0.125, truncated=(1.0, 0.02)), Approximate(1.0, 0.01),
         Approximate(math.inf, 0.01)),
    ],
)  # fmt: skip
def test_what_a_loss_comes_to(loss: Loss, claimed: Budget, expected: Budget) -> None:
    assert spent(loss, claimed) == expected


def test_several_noises_are_counted_through_zcdp_and_whole_ones_on_their_lattice() -> None:
    claimed, unit = Approximate(1.0, 1e-6), float(1 << 20)
    both = Loss(laplace=0.5, laplace_squares=0.125, gaussian=0.125)
    through = ZCDP(0.25).to_approximate(1e-6).epsilon
    assert spent(both, claimed) == Approximate(through, 1e-6)
    pure = Approximate(1.0, 0.0).to_approximate(1e-6).epsilon
    assert spent(LAPLACE_ONCE, claimed) == Approximate(pure, 1e-6)
    twice = Loss(gaussian=0.25, moves=((unit, 2.0 * unit),) * 2)
    assert spent(twice, claimed, whole=True) == Approximate(through, 1e-6)
    assert spent(Loss(gaussian=0.125), GaussianDP(1.0), whole=True) == GaussianDP(math.inf)


@pytest.mark.parametrize("claimed", [1e-3, 2.0, 2.3, 50.0])
def test_on_a_lattice_the_least_epsilon_is_found_wherever_one_looks_first(claimed: float) -> None:
    unit = 1 << 20
    loss = Loss(gaussian=0.125, moves=((float(unit), 2.0 * unit),))
    found = spent(loss, Approximate(claimed, 1e-6), whole=True)
    assert isinstance(found, Approximate)
    assert lattice_delta(2.0 * unit, unit, found.epsilon) <= 1e-6
    assert lattice_delta(2.0 * unit, unit, found.epsilon * (1.0 - 1e-6)) > 1e-6


@pytest.mark.parametrize(
    ("loss", "claimed", "whole", "tight"),
    [
        (LAPLACE_ONCE, Pure(1.0), True, True),
        (LAPLACE_ONCE, ZCDP(1.0), False, False),
        (LAPLACE_ONCE, Approximate(1.0, 1e-6), False, False),
        (Loss(), ZCDP(1.0), True, True),
        (Loss(gaussian=0.5, numbers=1), ZCDP(1.0), False, True),
        (Loss(gaussian=0.5, numbers=2), GaussianDP(1.0), False, True),
        (Loss(gaussian=0.5, numbers=1), ZCDP(1.0), True, False),
        (Loss(gaussian=0.5, response=0.5, numbers=2), ZCDP(1.0), False, False),
        (TRUNCATED_ONCE, Approximate(1.0, 0.01), False, True),
        (TRUNCATED_ONCE, ZCDP(1.0), False, False),
        (Loss(truncated=(1.0, 0.01), numbers=2), Approximate(1.0, 0.01), False, False),
    ],
)
def test_which_sums_say_exactly_what_is_spent(
    loss: Loss, claimed: Budget, whole: bool, tight: bool
) -> None:
    assert is_tight(loss, claimed, whole) is tight


def test_claims_are_compared_up_to_rounding() -> None:
    claimed = Approximate(1.0, 1e-6)
    assert within(Approximate(1.0 + 5e-10, 1e-6), claimed)
    assert within(Approximate(1.0, 1e-6 * (1.0 + 5e-10)), claimed)
    assert within(Approximate(0.5, 1e-7), claimed)
    assert not within(Approximate(1.0 + 1e-6, 1e-6), claimed)
    assert not within(Approximate(0.5, 1e-6 * (1.0 + 1e-8)), claimed)
    small = Approximate(1e-12, 1e-6)  # where a rounding of δ is worth more than all of ε
    assert within(Approximate(1e-12 * (1.0 + 1e-6), 1e-6), small)
    assert within(Pure(2.0 + 1e-9), Pure(2.0))
    assert not within(Pure(2.0 + 3e-9), Pure(2.0))


@pytest.mark.parametrize(
    ("computed", "exact", "breach", "holds", "unspent", "verdict"),
    [
        (None, True, "", None, None, "not computed"),
        (Pure(2.0), True, "", True, 0.0, "the claim holds, exactly"),
        (Pure(2.0), False, "", True, 0.0, "the claim holds"),
        (Pure(2.0 - 1e-7), True, "", True, 0.0, "the claim holds, exactly"),
        (Pure(1.5), True, "", True, 0.25, "the claim holds"),
        (Pure(2.5), True, "", False, -0.25, "the claim is exceeded"),
        (Pure(math.inf), True, "", False, -math.inf, "the claim is exceeded"),
        (Pure(2.0), True, "outside", False, 0.0, "broken"),
    ],
)
def test_what_a_verification_says(
    computed: Budget | None, exact: bool, breach: str, holds: bool | None,
    unspent: float | None, verdict: str,
) -> None:  # fmt: skip
    found = Verification(
        "row", Pure(2.0), Definition.VIEW, computed, exact, "all paths", 2, 10, "simulated", 3, 4,
        breach=breach,
    )  # fmt: skip
    assert found.holds is holds
    assert found.unspent == unspent
    assert found.verdict == verdict
    said = found.to_dict()
    assert said["unspent"] == ("-infinity" if unspent == -math.inf else unspent)
    assert (said["computed"] is None) == (computed is None)
    assert said["worst"] is None
