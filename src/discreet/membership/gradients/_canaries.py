"""Canaries: the points or gradients whose membership is asked for, and how to choose them.

The Mahalanobis distance m = |g* - μ|²_{Ĉ⁻¹}/B says how much a gradient leaks from a batch, so it
ranks candidates: arg max is the easiest to trace, arg min the hardest (thesis, Algorithm 14).
Heuristics of the literature (blank, mislabelled, Dirac, random) are gradients with a large m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._checks import positive
from ...errors import InvalidArgument
from .models._base import Factors

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Array
    from ._references import References
    from .models._base import Model

CHUNK = 512
"""Unit vectors that are solved for at a time."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Candidates by how much they leak; from `rank`.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, rank
        >>> known = References.of(np.random.default_rng(1).normal(size=(200, 2)))
        >>> found = rank(known, np.array([[0.0, 0.1], [3.0, 3.0], [1.0, 0.0]]))
        >>> found.easiest, found.median, found.hardest
        (1, 2, 0)
    """

    distances: Array
    """|g - μ̂|² in Ĉ⁻¹ of every candidate; divided by B, the leakage of a batch"""

    def _at(self, place: int) -> int:
        return int(self.distances.argsort(kind="stable")[place])

    @property
    def easiest(self) -> int:
        """The candidate that leaks most."""
        return self._at(-1)

    @property
    def median(self) -> int:
        """The candidate in the middle."""
        return self._at(len(self.distances) // 2)

    @property
    def hardest(self) -> int:
        """The candidate that leaks least."""
        return self._at(0)


def rank(references: References, candidates: Array | Factors, *, among: bool = False) -> Ranking:
    """Rank candidates by how much they leak: by their Mahalanobis distance from ordinary gradients.

    Args:
        references: The ordinary gradients.
        candidates: Gradients to choose from, one per line, or the factors of a softmax layer.
        among: Whether each candidate is one of the references.

    Returns:
        The ranking.

    Raises:
        InvalidArgument: If there are no candidates.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, rank
        >>> known = References.of(np.random.default_rng(1).normal(size=(200, 2)))
        >>> rank(known, np.array([[0.0, 0.1], [3.0, 3.0]])).easiest
        1
    """
    if not len(candidates):
        raise InvalidArgument("candidates", "hold at least one", 0, "give gradients to choose from")
    return Ranking(references.mahalanobis(candidates, among=among))


def best_gradient(
    references: References, norm: float, *, rounds: int = 200, tolerance: float = 1e-6
) -> Array:
    """The gradient of at most this norm that is farthest from the references' mean.

    max |g - μ|²_A, A = (Ĉ + λI)⁻¹, |g| <= R, is convex, so g <- R A(g - μ)/|A(g - μ)| never lowers
    it; from the direction of least variance, with either sign. For μ = 0 that direction is the
    answer, m = R²/λ_min. Against DP-SGD let the ridge be γ²c²/B, the noise that hides the canary.

    Args:
        references: The ordinary gradients.
        norm: The largest norm, R.
        rounds: Steps of the iteration, at most.
        tolerance: It ends when the gradient moves by less.

    Returns:
        The gradient.

    Args:
        references: The ordinary gradients.
        norm: The largest norm, R.
        rounds: Steps of the iteration, at most.
        tolerance: It ends when the gradient moves by less.

    Returns:
        The gradient.

    Args:
        references: The ordinary gradients.
        norm: The largest norm, R.
        rounds: Steps of the iteration, at most.
        tolerance: It ends when the gradient moves by less.

    Returns:
        The gradient.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, best_gradient
        >>> ordinary = np.random.default_rng(1).normal(size=(400, 2)) * [5.0, 1.0]
        >>> found = best_gradient(References.of(ordinary), norm=2.0)
        >>> abs(found).round(1).tolist()  # where ordinary gradients vary least
        [0.0, 2.0]
    """
    positive("norm", norm)
    rng = np.random.default_rng(0)  # any start that is not orthogonal to the answer
    direction = rng.normal(size=references.size)
    for _ in range(rounds):
        last = direction
        direction = references.solve(direction)
        direction /= np.linalg.norm(direction)
        if abs(last @ direction) > 1.0 - tolerance:
            break
    best, farthest = direction, -math.inf
    for sign in (1.0, -1.0):
        gradient, before = sign * norm * direction, -math.inf
        for _ in range(rounds):
            step = references.solve(gradient - references.mean)
            value = float(step @ (gradient - references.mean))
            if value <= before * (1.0 + tolerance) and before > 0:
                break
            before = value
            gradient = norm * step / np.linalg.norm(step)
        value = float(references.distances(gradient - references.mean))
        if value > farthest:
            best, farthest = gradient, value
    return np.asarray(best)


def dirac(references: References, norm: float, *, coordinate: int | None = None) -> Array:
    """A gradient along one coordinate, R e_j: the usual canary.

    By default j is the coordinate with the largest |R e_j - μ̂|², which leaks most.

    Args:
        references: The ordinary gradients.
        norm: Its norm, R.
        coordinate: The coordinate j, if it is chosen.

    Returns:
        The gradient.

    Raises:
        InvalidArgument: If there is no such coordinate.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, dirac
        >>> ordinary = np.random.default_rng(1).normal(size=(400, 2)) * [5.0, 1.0]
        >>> dirac(References.of(ordinary), norm=2.0).tolist()
        [0.0, 2.0]
    """
    positive("norm", norm)
    if coordinate is None:
        coordinate = int(quiet_coordinates(references, norm)[0])
    if not 0 <= coordinate < references.size:
        raise InvalidArgument(
            "coordinate", f"lie in 0 … {references.size - 1}", coordinate, "leave it out"
        )
    out = np.zeros(references.size)
    out[coordinate] = norm
    return out


def quiet_coordinates(references: References, norm: float) -> Array:
    """All coordinates j by |R e_j - μ̂|² in Ĉ⁻¹, the largest first."""
    d = references.size
    found = []
    for at in range(0, d, CHUNK):
        basis = np.zeros((min(CHUNK, d - at), d))
        basis[np.arange(len(basis)), at + np.arange(len(basis))] = norm
        found.append(references.distances(basis - references.mean))
    return np.argsort(-np.concatenate(found), kind="stable")


def random_direction(size: int, norm: float, rng: Generator) -> Array:
    """A gradient of a given norm in a uniformly random direction.

    Args:
        size: How many entries it has.
        norm: Its norm.
        rng: The generator.

    Returns:
        The gradient.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import random_direction
        >>> found = random_direction(5, 2.0, np.random.default_rng(1))
        >>> round(float(np.linalg.norm(found)), 6)
        2.0
    """
    positive("norm", norm)
    direction = rng.normal(size=size)
    return norm * direction / np.linalg.norm(direction)


def blank(x: Array) -> Array:
    """An image of zeros: the simplest canary.

    Args:
        x: An image of the shape that is wanted.

    Returns:
        The image.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import blank
        >>> blank(np.ones((2, 2))).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """
    return np.zeros_like(x)


def mislabelled(model: Model, theta: Array, x: Array, y: int) -> int:
    """The label that the model finds least likely for an image, other than the true one.

    Args:
        model: The model.
        theta: Its parameters.
        x: The image.
        y: Its true label.

    Returns:
        The label.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import SoftmaxRegression, mislabelled
        >>> model = SoftmaxRegression(2, 3)
        >>> theta = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]).ravel()
        >>> mislabelled(model, theta, np.array([1.0, 0.0]), y=0)
        2
    """
    scores = model.logits(theta, x[None])[0].copy()
    scores[y] = math.inf
    return int(scores.argmin())


def canife(
    model: Model,
    theta: Array,
    known: Factors,
    x: Array,
    y: int,
    *,
    clip: float,
    steps: int = 100,
    box: tuple[float, float] = (0.0, 1.0),
) -> tuple[Array, list[float]]:
    """CANIFE (Maddock et al. 2022): make an image whose gradient few ordinary gradients resemble.

    It descends Σ_i <u_i, g*>² + max(c - |g*|, 0)² in the image.

    g* is the gradient in the softmax layer, u_i those of the references. Minimising g'Cg is not
    maximising g'C⁻¹g: (g'g)² <= (g'Cg)(g'C⁻¹g), so it raises a lower bound on the leakage, which it
    attains at eigenvectors only. Steps are halved until the loss falls, so it never rises; returns
    the image and the loss after every step.

    Args:
        model: The model.
        theta: Its parameters.
        known: The references, as factors of the softmax layer.
        x: The image to begin with.
        y: Its label.
        clip: The clip c.
        steps: Steps of the descent, at most.
        box: The range of a pixel.

    Returns:
        The image, and the loss after every step.

    Args:
        model: The model.
        theta: Its parameters.
        known: The references, as factors of the softmax layer.
        x: The image to begin with.
        y: Its label.
        clip: The clip c.
        steps: Steps of the descent, at most.
        box: The range of a pixel.

    Returns:
        The image, and the loss after every step.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import SoftmaxRegression, canife
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((20, 3)), np.arange(20) % 2
        >>> theta = model.start(rng)
        >>> known = model.layer(theta, x, y)
        >>> image, lost = canife(model, theta, known, np.full(3, 0.5), 0, clip=1.0, steps=5)
        >>> image.shape, lost[-1] <= lost[0]
        ((3,), True)
    """
    positive("clip", clip)
    image = np.array(x, float)
    parameters = np.asarray(theta, float)
    loss, slope = _canife_loss(model, parameters, known, image, y, clip)
    losses, size = [loss], 1.0 / max(float(np.abs(slope).max()), 1e-300)
    for _ in range(steps):
        for _ in range(40):
            trial = np.clip(image - size * slope, *box)
            new, new_slope = _canife_loss(model, parameters, known, trial, y, clip)
            if new < loss:
                break
            size /= 2.0
        else:
            break
        image, loss, slope = trial, new, new_slope
        size *= 2.0
        losses.append(loss)
    return image, losses


def _canife_loss(
    model: Model, theta: Array, known: Factors, image: Array, y: int, clip: float
) -> tuple[float, Array]:
    """The loss and its gradient in the image.

    With g* = r ⊗ f̃: <u_i, g*> = (r_i'r)(f̃_i'f̃) and |g*| = |r| |f̃|; r depends on f through the
    softmax, f on the image through the layers below.
    """
    own = model.layer(theta, image[None], np.array([y]))
    r, f = own.residuals[0], own.inputs[0]
    a, b = known.residuals @ r, known.inputs @ f + 1.0
    left, right = float(np.linalg.norm(r)), math.sqrt(float(f @ f) + 1.0)
    short = max(clip - left * right, 0.0)
    loss = float(np.sum((a * b) ** 2)) + short**2
    by_r = 2.0 * (a * b * b) @ known.residuals - 2.0 * short * right * r / max(left, 1e-300)
    by_f = 2.0 * (a * a * b) @ known.inputs - 2.0 * short * left * f / right
    rows = theta[-model.head :].reshape(model.classes, -1)
    p = r.copy()
    p[y] += 1.0
    by_f = by_f + (p * by_r - p * (p @ by_r)) @ rows[:, :-1]
    slope = model.input_gradient(theta, image[None], by_f[None])
    return loss, np.asarray(slope).reshape(image.shape)
