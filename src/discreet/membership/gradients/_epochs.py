"""Membership games on one epoch of training: was the target among the points of this run?

A game draws n points of a pool anew, without replacement, puts the target in place of one of them
if it is a member, shuffles, and trains for one epoch; the attacker sees every step. References, the
points that means are estimated on again, and the pool are disjoint.

Non-members' runs are shared by all targets, so the AUCs of different targets are dependent; each
has the distribution of its own game.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from ..._checks import count
from ..._progress import Bar
from ...errors import InvalidArgument
from ...simulator._work import check_threads
from ._attacks import SoftmaxTarget, Steps
from ._trainers import Shuffled, Trainer

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Array
    from .._result import Scores
    from ._references import References
    from ._trainers import Trace
    from .models._base import Model

SUM, CENTRED = "covariance, sum", "covariance, centred sum"
FROZEN, FROZEN_RATIO = "covariance, frozen sum", "covariance, frozen log-mean-exp"
LOG_MEAN_EXP, MAX = "covariance, log-mean-exp", "covariance, max"
EMPIRICAL, PRINTED = "covariance, empirical ratio", "covariance, as printed"
SCALAR, SCALAR_MAX = "scalar product, sum", "scalar product, max"
ATTACKS = (
    PRINTED, SUM, CENTRED, FROZEN, LOG_MEAN_EXP, EMPIRICAL, FROZEN_RATIO, MAX, SCALAR, SCALAR_MAX,
)  # fmt: skip
"""The attacks of an epoch. "covariance, as printed" and "scalar product, sum" are the thesis': the
covariance about 0, and the mean of θ_0 throughout; "covariance, sum" is about the mean, which is
estimated again as it moves."""
Pairs = dict[tuple[str, str], tuple[float, float]]
"""By target and attack, the scores of a member and of a non-member."""
REFRESH = 10
"""Steps of a net between two estimates of the mean."""


class Attacker(Protocol):
    """Scores a run's steps for one target."""

    def both(self, trace: Trace) -> tuple[Steps, Array]:
        """The covariance scores and the scalar products of every step."""

    def projections(
        self, parameters: Array, x: Array, y: Array, frozen: bool = False
    ) -> tuple[Array, Array]:
        """w_t'g_i(θ_t) of the points given, (T, n), and w_t'g*_t of the canary itself, (T,).

        `frozen`: along the direction of the first parameters throughout.
        """


@dataclass(frozen=True, eq=False)
class Epoch:
    """A game of one epoch: a model, where it starts, a pool of points, and how it is trained.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Epoch, SoftmaxRegression
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((20, 3)), np.arange(20) % 2
        >>> game = Epoch(model, model.start(rng), x, y, size=16, batch=4)
        >>> game.steps, game.run(rng).updates.shape
        (4, (4, 8))
    """

    model: Model
    start: Array
    x: Array
    y: Array
    """the pool"""
    size: int
    """points of a data set"""
    batch: int = 64
    rate: float = 1e-3

    def __post_init__(self) -> None:
        if not self.batch <= self.size < len(self.x):
            raise InvalidArgument(
                "size", f"lie between a batch and the {len(self.x)} points of the pool", self.size,
                "draw fewer points, or give a larger pool",
            )  # fmt: skip

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return self.size // self.batch

    def run(self, rng: Generator, target: tuple[Array, int] | None = None) -> Trace:
        """Train on its own data set, with the target in it if one is given."""
        drawn = rng.choice(len(self.x), self.size, replace=False)
        own = (None, None) if target is None else target
        x, y = _Drawn(self.x, drawn, own[0]), _Drawn(self.y, drawn, own[1])
        return Trainer(Shuffled(self.batch), self.rate).train(
            self.model, cast("Array", x), cast("Array", y), self.start, rng
        )


class _Drawn:
    """Rows of a pool, the first one replaced if told: a training set that is never copied."""

    def __init__(self, pool: Array, places: Array, first: Array | int | None = None) -> None:
        self.pool, self.places, self.first = pool, places, first

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, batch: Array) -> Array:
        rows = self.pool[self.places[batch]]
        if self.first is not None:
            rows[batch == 0] = self.first
        return rows


class HeadTarget:
    """Attacks on the softmax layer of a net for one target, whose features move as it trains.

    The canary's gradient is computed at every step; the mean of the references again every
    `REFRESH` steps on `fresh` ones.
    """

    def __init__(
        self, references: References, model: Model, x: Array, y: int, batch: int,
        fresh: tuple[Array, Array] | None = None,
    ) -> None:  # fmt: skip
        if references.size != model.head:
            raise InvalidArgument(
                "references", f"be of the {model.head} parameters of the last layer",
                references.size, "make them with references_at",
            )  # fmt: skip
        self.references, self.model, self.batch, self.fresh = references, model, batch, fresh
        self.x, self.y = np.asarray(x)[None], np.array([int(y)])

    def canary(self, parameters: Array) -> Array:
        """g*_t in the last layer: (T, d)."""
        layers = [self.model.layer(theta, self.x, self.y) for theta in parameters]
        return np.concatenate([layer.dense() for layer in layers]).astype(float)

    def projections(
        self, parameters: Array, x: Array, y: Array, frozen: bool = False
    ) -> tuple[Array, Array]:
        """w_t'g_i(θ_t) of the points given, (T, n), and w_t'g*_t of the canary itself, (T,)."""
        canary = self.canary(parameters)
        leading = np.repeat(canary[:1], len(canary), axis=0) if frozen else canary
        directions = self.references.solve(leading - self.references.mean)
        found = [
            self.model.layer(theta, x, y).along(direction)
            for theta, direction in zip(parameters, directions, strict=True)
        ]
        return np.array(found), np.einsum("ij,ij->i", directions, canary)

    def both(self, trace: Trace) -> tuple[Steps, Array]:
        """The covariance scores and the scalar products of every step."""
        canary = self.canary(trace.parameters[:-1])
        updates = trace.updates[:, -self.model.head :]
        direction = self.references.solve(canary - self.references.mean)
        known = None
        if self.fresh is not None:
            known = [
                self.model.layer(theta, *self.fresh).dense().astype(float)
                for theta in trace.parameters[: len(canary) : REFRESH]
            ]

        def by(direction: Array) -> Steps:
            mean, spread = direction @ self.references.mean, None
            if known is not None:
                spread = np.empty(len(canary))
                for place, each in enumerate(known):
                    some = slice(place * REFRESH, (place + 1) * REFRESH)
                    projected = direction[some] @ each.T
                    mean[some] = projected.mean(axis=1)
                    spread[some] = projected.var(axis=1, ddof=1) / self.batch
            shift = (np.einsum("ij,ij->i", direction, canary) - mean) / self.batch
            seen = np.einsum("ij,ij->i", direction, updates)
            return Steps(seen - mean - shift / 2.0, shift, spread)

        products = np.einsum("ij,ij->i", canary, updates)
        first = np.repeat(direction[:1], len(direction), axis=0)
        return replace(by(direction), frozen=by(first)), products


def places_of(x: Array, pool: Array) -> Array:
    """Where a pool holds a point."""
    same = pool.reshape(len(pool), -1) == np.asarray(x, pool.dtype).reshape(1, -1)
    return np.flatnonzero(same.all(axis=1))


def attacker(
    references: References, model: Model, x: Array, y: int, batch: int,
    fresh: tuple[Array, Array] | None = None,
) -> Attacker:  # fmt: skip
    """The quickest attack that fits: closed forms for softmax regression, else the last layer."""
    kind = SoftmaxTarget if model.head == model.size else HeadTarget
    return kind(references, model, x, y, batch, fresh)


def scores_of(attack: Attacker, printed: Attacker, trace: Trace) -> dict[str, float]:
    """One score per attack for a run; `printed` is Algorithm 13 as it stands."""
    steps, products = attack.both(trace)
    return {
        PRINTED: printed.both(trace)[0].combined("sum"),
        SUM: steps.combined("sum"),
        CENTRED: steps.combined("centred sum"),
        FROZEN: steps.combined("frozen sum"),
        LOG_MEAN_EXP: steps.combined("log-mean-exp"),
        EMPIRICAL: steps.combined("empirical"),
        FROZEN_RATIO: steps.combined("frozen log-mean-exp"),
        MAX: steps.combined("max"),
        SCALAR: float(products.sum()),
        SCALAR_MAX: float(products.max()),
    }


def _threads(threads: int | None) -> int:
    single = "1" in (os.environ.get("OMP_NUM_THREADS"), os.environ.get("OPENBLAS_NUM_THREADS"))
    return check_threads(1 if threads is None and not single else threads)


def play_epochs(
    game: Epoch,
    targets: Mapping[str, tuple[Array, int]],
    references: References,
    *,
    games: int = 100,
    fresh: tuple[Array, Array] | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = False,
) -> dict[tuple[str, str], Scores]:
    """Play a game of one epoch against every target; scores by target and attack.

    A seed fixes every number, whatever the number of threads.

    Args:
        game: The game.
        targets: Points and labels, by name; none of them in the pool.
        references: The ordinary gradients.
        games: Games a side.
        fresh: Points to estimate the mean at each step; not among the references.
        seed: Random seed.
        threads: Default: all cores where NumPy's own threads are off (OMP_NUM_THREADS=1), else one:
            the two kinds would slow each other down.
        progress: Whether to show a bar.

    Returns:
        The scores.

    Raises:
        InvalidArgument: If a target is in the pool.

    Example:
        >>> import numpy as np
        >>> from discreet.membership import gradients
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = gradients.SoftmaxRegression(3, 2), rng.random((60, 3)), np.arange(60) % 2
        >>> start = model.start(rng)
        >>> game = gradients.Epoch(model, start, x[:20], y[:20], size=16, batch=4, rate=0.1)
        >>> known = gradients.references_at(model, start, x[20:], y[20:])
        >>> targets = {"blank": (np.zeros(3), 0)}
        >>> found = gradients.play_epochs(game, targets, known, games=3)
        >>> next(iter(found.values())).rounds
        (3, 3)
    """
    from .._result import Scores

    games = count("games", games, least=2, fix="use games=100")
    for name, (x, _) in targets.items():
        if len(places_of(x, game.x)):
            raise InvalidArgument(
                "targets", "not be in the pool: non-members would hold them", name, "leave it out"
            )
    started = time.perf_counter()
    about_zero = references.uncentred()
    attacks = {
        name: (
            attacker(references, game.model, x, y, game.batch, fresh),
            attacker(about_zero, game.model, x, y, game.batch),
        )
        for name, (x, y) in targets.items()
    }

    def one(rng: Generator) -> Pairs:
        """Every target in its own run, and one run without any."""
        without, *others = rng.spawn(1 + len(targets))
        trace = game.run(without)
        scores: Pairs = {}
        for (name, attack), own in zip(attacks.items(), others, strict=True):
            absent = scores_of(*attack, trace)
            present = scores_of(*attack, game.run(own, targets[name]))
            scores |= {(name, kind): (present[kind], absent[kind]) for kind in ATTACKS}
        return scores

    found: list[Pairs] = []
    with Bar(progress) as bar, ThreadPoolExecutor(_threads(threads)) as pool:
        try:
            for scores in pool.map(one, np.random.default_rng(seed).spawn(games)):
                bar.show("epochs", len(found), games)
                found.append(scores)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    seconds = time.perf_counter() - started
    settings = {
        "mechanism": "one epoch of SGD", "points": game.size, "batch": game.batch,
        "rate": game.rate, "ridge": references.ridge, "references": references.count,
    }  # fmt: skip
    return {
        (name, kind): Scores(
            np.array([scores[name, kind][0] for scores in found]),
            np.array([scores[name, kind][1] for scores in found]),
            name=kind, seed=seed, seconds=seconds, settings=settings | {"target": name},
        )
        for name in targets
        for kind in ATTACKS
    }  # fmt: skip
