"""Lower bounds on the regret of linear bandits with Gaussian noise of sd 1.

Minimax over actions [-1, 1]^d: max(e^-2 d sqrt T/8, e^-1 d/(4ε)) for ε-view DP, and
max(e^-2 d sqrt T/8, e^-2.25 d/(4 sqrt ρ)) for ρ-zCDP.

Per log T, for given actions and θ: min Σ α_a Δ_a such that ||a||²_{H^-1} <= c_a for all a with
Δ_a > 0, H = Σ α_a aa', c_a = min(Δ_a²/2, ε ρ_a Δ_a/2), ρ_a = Σ_j |a_j'(a-a*)|/||a_j||².
The best action is free (Δ = 0), so its weight goes to infinity and H^-1 keeps only what is
orthogonal to a*: with P that projection, x_a = Pa/sqrt(Δ_a), y_a = Pa/sqrt(c_a) and u_a = α_aΔ_a,
    min Σ u_a  such that  y_a' (Σ u_b x_b x_b')^-1 y_a <= 1,
which is convex. Both sides scale, so a linear program over dual weights certifies the value.
Azize 2024, Theorems 4.17, 4.18 and 4.21.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import count, horizon_of, positive
from ..errors import DiscreetError, InvalidArgument
from ._bound import LOG, ROUNDS, bound
from ._regret_lower import VERSIONS, check_version

if TYPE_CHECKING:
    from .._types import Floats

CERTIFIED = 1e-4
"""The certified relative distance between the value and the optimum."""


class LinearProgramme(NamedTuple):
    """What `linear_programme` finds: the value, from below, and the pulls of every action.

    Pulls are per log T; the best action has infinitely many. `gap` is the certified relative
    distance to the optimum.

    Example:
        >>> from discreet import theory
        >>> found = theory.linear_programme([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.5])
        >>> round(found.value, 2), found.gap < 0.01
        (4.0, True)
    """

    value: float
    pulls: tuple[float, ...]
    gap: float


@bound(
    "lower", "regret", ROUNDS,
    domain="the worst θ for actions [-1, 1]^d, Gaussian noise of sd 1; ε-view DP",
    reference="azize2022", statement="Theorem 4, with the constants of the thesis of 2024",
)  # fmt: skip
def linear_minimax_pure(
    dimension: int, horizon: float, epsilon: float, version: str = "2024"
) -> float:
    """max(e^-2 d sqrt T/8, e^-1 d/(4ε)); version "2022" has exp(-6εd sqrt T) d sqrt T/8 second.

    For some parameter θ every ε-DP policy of a linear bandit has at least this regret after T
    rounds.

    Args:
        dimension: The number of features d.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        version: Which printed version of the theorem.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.linear_minimax_pure(3, 1e6, 1.0), 3)
        50.751
    """
    d = count("dimension", dimension, fix="use for example dimension=3")
    epsilon = positive("epsilon", epsilon, infinite=True)
    if check_version(version) == "2022":
        root = d * math.sqrt(horizon_of(horizon))
        return max(_linear_open(d, horizon), math.exp(-6.0 * epsilon * root) * root / 8.0)
    return max(_linear_open(d, horizon), math.exp(-1.0) * d / (4.0 * epsilon))


@bound(
    "lower", "regret", ROUNDS,
    domain="the worst θ for actions [-1, 1]^d, Gaussian noise of sd 1; ρ-interactive zCDP, ρ > 0",
    reference="azize2024thesis", statement="Theorem 4.21",
)  # fmt: skip
def linear_minimax_zcdp(dimension: int, horizon: float, rho: float) -> float:
    """max(e^-2 d sqrt T/8, e^-2.25 d/(4 sqrt ρ)); for ρ > 1 e^-(1.25 + sqrt ρ) for e^-2.25.

    For some parameter θ every ρ-zCDP policy of a linear bandit has at least this regret after T
    rounds.

    The theorem prints no condition on ρ, but the last step of its proof bounds sqrt ρ by 1. From
    T = 3 on it makes no difference: for ρ > 1 the first term is then the larger.

    Args:
        dimension: The number of features d.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.linear_minimax_zcdp(3, 1e6, 0.5), 3)
        50.751
    """
    d = count("dimension", dimension, fix="use for example dimension=3")
    root = math.sqrt(positive("rho", rho, infinite=True))
    return max(_linear_open(d, horizon), math.exp(-1.25 - max(1.0, root)) * d / (4.0 * root))


@bound(
    "lower", "regret", LOG,
    domain="consistent policies with ε-view DP; actions that span R^d, one of them best",
    reference="azize2022", statement="Theorem 5, with the constants of the thesis of 2024",
)  # fmt: skip
def linear_private(
    actions: Sequence[Sequence[float]],
    theta: Sequence[float],
    epsilon: float = math.inf,
    version: str = "2024",
) -> float:
    """min Σ α_a Δ_a s.t. ||a||²_{H^-1} <= min(Δ²/2, ε ρ_a Δ/2): regret per log T; version "2022"
    has 3ε for ε/2.

    No consistent ε-DP policy of a linear bandit has less regret, per log T, as T grows.

    Args:
        actions: The actions, one vector each.
        theta: The unknown parameter θ.
        epsilon: The privacy budget ε.
        version: Which printed version of the theorem.

    Returns:
        The lower bound.

    Example:
        >>> from discreet import theory
        >>> round(theory.linear_private([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.1], 1.0), 3)
        2.5
    """
    return linear_programme(actions, theta, epsilon, version).value


def linear_programme(
    actions: Sequence[Sequence[float]],
    theta: Sequence[float],
    epsilon: float = math.inf,
    version: str = "2024",
) -> LinearProgramme:
    """The convex program with its optimal pulls, certified to `CERTIFIED`.

    Args:
        actions: The actions, one vector each.
        theta: The unknown parameter θ.
        epsilon: The privacy budget ε.
        version: Which printed version of the theorem.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.linear_programme([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.1], 1.0).value, 3)
        2.5
    """
    import numpy as np

    # 3ε for ε/2: the factor 6 of VERSIONS
    factor = VERSIONS[check_version(version)][0]
    epsilon = positive("epsilon", epsilon, infinite=True)
    points, gaps, limits = _problem(actions, theta, factor * epsilon)
    best = int(np.argmin(gaps))
    pulls = np.zeros(len(gaps))
    pulls[best] = math.inf
    flat = _orthogonal_to(points[best], points)
    # actions along a* cost nothing to know once a* is played for ever
    needed = np.flatnonzero((np.linalg.norm(flat, axis=1) > 1e-12) & (gaps > 0.0))
    if not needed.size:
        return LinearProgramme(0.0, tuple(pulls), 0.0)
    basis = np.linalg.svd(flat[needed], full_matrices=False)[2][: _rank(flat[needed])]
    flat = flat[needed] @ basis.T
    x = flat / np.sqrt(gaps[needed])[:, None]
    y = flat / np.sqrt(limits[needed])[:, None]
    weights = _solve(x, y)
    upper, lower = _value(x, y, weights), _certificate(x, y, weights)
    if not upper - lower <= CERTIFIED * upper:
        raise DiscreetError(
            f"the convex program of linear_private was solved to {(upper - lower) / upper:.1e} "
            f"only, not to {CERTIFIED:.0e}; rescale the actions, or drop near duplicates"
        )
    pulls[needed] = upper * weights / gaps[needed]
    return LinearProgramme(float(lower), tuple(pulls), float((upper - lower) / upper))


def _problem(
    actions: Sequence[Sequence[float]], theta: Sequence[float], epsilon: float
) -> tuple[Floats, Floats, Floats]:
    """Actions, their gaps, and the limits c_a of their squared norms."""
    import numpy as np

    try:
        points, parameter = np.asarray(actions, float), np.asarray(theta, float)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "actions", "be vectors of one length", actions, "use for example [[1, 0], [0, 1]]"
        ) from None
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():
        raise InvalidArgument("actions", "be two or more finite vectors", actions, "add a vector")
    if parameter.shape != points.shape[1:] or not np.isfinite(parameter).all():
        raise InvalidArgument(
            "theta", f"have {points.shape[1]} finite entries", theta, "match the actions"
        )
    if _rank(points) < points.shape[1]:
        raise InvalidArgument("actions", "span the space", actions, "work in their span")
    values = points @ parameter
    gaps = values.max() - values
    if (gaps == 0.0).sum() > 1:
        raise InvalidArgument("theta", "have one best action", theta, "the bound needs only one")
    squares = (points**2).sum(axis=1)
    real = squares > 0.0
    away = points - points[int(np.argmin(gaps))]
    spread = (np.abs(points[real] @ away.T) / squares[real][:, None]).sum(axis=0)
    with np.errstate(invalid="ignore"):  # infinite ε times the 0 of a*
        private = np.where(spread > 0.0, 0.5 * epsilon * spread * gaps, np.inf)
    return points, gaps, np.minimum(0.5 * gaps**2, private)


def _orthogonal_to(direction: Floats, points: Floats) -> Floats:
    square = float(direction @ direction)
    return points - points @ direction[:, None] / square * direction if square else points.copy()


def _rank(points: Floats) -> int:
    import numpy as np

    return int(np.linalg.matrix_rank(points))


def _costs(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """y_a' H^-1 y_a, and (x_b' H^-1 y_a)² for all a and b."""
    import numpy as np

    inverse = np.linalg.inv((x * weights[:, None]).T @ x)
    return np.einsum("ai,ij,aj->a", y, inverse, y), (y @ inverse @ x.T) ** 2


def _value(x: Floats, y: Floats, weights: Floats) -> float:
    """Σ u for weights on the simplex, scaled until the worst constraint holds."""
    return float(_costs(x, y, weights)[0].max())


def _solve(x: Floats, y: Floats) -> Floats:
    """Weights on the simplex that make the largest y_a' H^-1 y_a least, by SLSQP."""
    import numpy as np
    from scipy.optimize import minimize

    n = len(x)
    weights = np.full(n, 1.0 / n)
    scale = _value(x, y, weights)
    small = 1e-9

    def room(z: Floats) -> Floats:
        return np.asarray(z[n] - _costs(x, y, z[:n])[0] / scale)

    def slopes(z: Floats) -> Floats:
        return np.hstack([_costs(x, y, z[:n])[1] / scale, np.ones((n, 1))])

    last = np.append(np.zeros(n), 1.0)
    sums = np.append(np.ones(n), 0.0)
    constraints = [
        {"type": "ineq", "fun": room, "jac": slopes},
        {"type": "eq", "fun": lambda z: float(z[:n].sum() - 1.0), "jac": lambda z: sums},
    ]
    solve: Any = minimize  # its stubs know no jacobian of a constraint
    found = solve(
        lambda z: float(z[n]), np.append(weights, 1.0), jac=lambda z: last, method="SLSQP",
        bounds=[(small, 1.0)] * n + [(0.0, math.inf)], constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    weights = np.maximum(found.x[:n], small)
    return np.asarray(weights / weights.sum())


def _certificate(x: Floats, y: Floats, weights: Floats) -> float:
    """A proved lower bound: for λ on the simplex, min_w Σλ_a y_a'H_w^-1 y_a is at least
    2 Σλ_a F_a - max_b Σ_a λ_a G_ab by convexity, and the best such λ is a linear program."""
    import numpy as np
    from scipy.optimize import linprog

    values, squares = _costs(x, y, weights)
    n = len(values)
    found = linprog(
        np.append(-2.0 * values, 1.0),
        A_ub=np.hstack([squares.T, -np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (n + 1),
    )
    return -float(found.fun) if found.fun is not None else -math.inf


def _linear_open(dimension: int, horizon: float) -> float:
    return math.exp(-2.0) * dimension * math.sqrt(horizon_of(horizon)) / 8.0
