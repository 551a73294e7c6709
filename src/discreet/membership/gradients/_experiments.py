"""Figure 7.2 of the thesis as an experiment on any labelled images.

    references -> (μ̂, Ĉ) at θ_0      candidates -> easiest, median, hardest      pool -> games

All three, and the points on which means are estimated again, are disjoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidArgument
from ._canaries import rank
from ._epochs import Epoch, places_of, play_epochs
from ._prediction import Prediction, predicted_sum
from ._references import RIDGE, References, references_at
from .data import cifar10, fashion_mnist, fashion_mnist_sample
from .models import ConvNet, SoftmaxRegression

if TYPE_CHECKING:
    from ..._types import Array
    from .._result import Scores
    from .data import Images
    from .models._base import Model

TARGETS = ("easiest", "median", "hardest")


@dataclass(frozen=True)
class Scale:
    """How much of the data plays which part."""

    references: int
    fresh: int
    candidates: int
    size: int
    """points of a data set"""
    games: int
    """a side"""
    batch: int = 64
    rate: float = 1e-3
    apart: bool = True
    """whether references, targets and pool are disjoint; else all points play every part, targets
    are the extremes of all of them, and the covariance is about 0: as the thesis prints it"""


FASHION = Scale(references=20_000, fresh=256, candidates=8_000, size=29_952, games=100)
"""Fashion-MNIST with the printed numbers: 20,000 references, batches of 64, one epoch at 1e-3."""
FASHION_PRINTED = Scale(
    references=20_000, fresh=256, candidates=60_000, size=59_968, games=100, apart=False
)
"""Fashion-MNIST as printed: references and targets among the 60,000 points that are trained on,
which are the same in every game but for 29 of them (937 whole batches)."""
CIFAR_FULL = Scale(references=20_000, fresh=256, candidates=8_000, size=22_272, games=50)
"""CIFAR-10, which has 10,000 points less, with as many references and the same share of the pool
drawn; half the games, because an epoch of the net takes twenty times as long."""
CIFAR = Scale(references=12_000, fresh=256, candidates=2_000, size=3_200, games=30)
"""CIFAR-10 in a few minutes: fifty steps instead of 468."""
SAMPLE = Scale(references=1_200, fresh=200, candidates=400, size=640, games=40, batch=16, rate=1e-2)
"""The shipped sample: forty steps."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything that a game of an epoch needs, and the targets with their leakage."""

    name: str
    model: Model
    game: Epoch
    references: References
    fresh: tuple[Array, Array]
    targets: dict[str, tuple[Array, int]]
    leakage: dict[str, float]
    """m of a batch, by target"""
    places: dict[str, int] = field(default_factory=dict)
    """where the targets stand in the images"""

    def play(
        self,
        games: int,
        *,
        seed: int = 1,
        threads: int | None = None,
        progress: bool | None = False,
    ) -> dict[tuple[str, str], Scores]:
        """Scores by target and attack."""
        return play_epochs(
            self.game, self.targets, self.references, games=games, fresh=self.fresh, seed=seed,
            threads=threads, progress=progress,
        )  # fmt: skip

    def predicted(self, seed: int = 1, *, frozen: bool = False) -> dict[str, Prediction]:
        """What the centred or frozen sum must reach, by target, without playing: a run for each."""
        streams = np.random.default_rng(seed).spawn(len(self.targets))
        return {
            name: predicted_sum(self.game, target, self.references, seed=stream, frozen=frozen)
            for (name, target), stream in zip(self.targets.items(), streams, strict=True)
        }


def prepare(
    images: Images,
    model: Model,
    features: Array,
    scale: Scale,
    *,
    seed: int = 1,
    ridge: float = RIDGE,
    cache: bool | str | Path = False,
) -> Experiment:
    """Split the images, estimate mean and covariance once, and choose the targets."""
    n = len(images)
    apart = scale.references + scale.fresh if scale.apart else 0
    if apart + max(scale.candidates * scale.apart, scale.size) + len(TARGETS) >= n:
        raise InvalidArgument(
            "scale", f"leave a pool among the {n} images", (apart, scale.size), "use a smaller one"
        )
    rng = np.random.default_rng(seed)
    order, start = rng.permutation(n), model.start(rng)
    known, fresh, pool = np.split(order, [scale.references, scale.references + scale.fresh])
    pool = pool if scale.apart else order
    labels = images.labels
    references = references_at(
        model, start, features[known], labels[known], ridge=ridge, cache=cache
    )
    candidates = pool[: scale.candidates]
    matrix = references if scale.apart else references.uncentred()
    ranking = rank(matrix, model.layer(start, features[candidates], labels[candidates]))
    chosen = {name: getattr(ranking, name) for name in TARGETS}
    places = {name: int(candidates[at]) for name, at in chosen.items()}
    # targets, and images equal to them, stay out of the pool
    own = [pool[places_of(features[at], features[pool])] for at in places.values()]
    rest = np.setdiff1d(pool, np.concatenate(own))
    game = Epoch(model, start, features[rest], labels[rest], scale.size, scale.batch, scale.rate)
    return Experiment(
        name=images.source,
        model=model,
        game=game,
        references=references,
        fresh=(features[fresh], labels[fresh]),
        targets={name: (features[at], int(labels[at])) for name, at in places.items()},
        leakage={name: float(ranking.distances[at]) / scale.batch for name, at in chosen.items()},
        places=places,
    )


def subject(data: str, path: str | Path | None = None) -> tuple[Images, Model, Array]:
    """The images of a set by name, the model that is trained on them, and what it is fed with.

    "fashion-mnist": softmax regression on all 784 pixels; "cifar-10": the small net; "sample", the
    shipped one: softmax regression on 7 × 7 averages; "sample-net": a tiny net on its images.
    """
    images: Images
    if data == "fashion-mnist":
        images = fashion_mnist(path)
        return images, SoftmaxRegression(784), images.features()
    if data == "cifar-10":
        images = cifar10(path)
        return images, ConvNet(), images.scaled()
    images = fashion_mnist_sample()
    if data == "sample-net":
        return images, ConvNet((28, 28, 1), (6, 8, 8)), images.scaled()[..., None]
    return images, SoftmaxRegression(49), images.features(4)


def fashion_experiment(
    path: str | Path | None = None,
    *,
    scale: Scale = FASHION,
    seed: int = 1,
    cache: bool | str | Path = True,
) -> Experiment:
    """Softmax regression on Fashion-MNIST, all 784 pixels, ready to be attacked.

    Args:
        path: The folder of the data. Default: where it is looked for unasked.
        scale: How much of the data plays which part.
        seed: Random seed.
        cache: Whether references are kept, or where; see `references_at`.

    Returns:
        The experiment; `play` attacks it.

    Raises:
        NoData: If the data are not on this machine.
    """
    return prepare(*subject("fashion-mnist", path), scale, seed=seed, cache=cache)


def cifar_experiment(
    path: str | Path | None = None,
    *,
    scale: Scale = CIFAR,
    seed: int = 1,
    cache: bool | str | Path = True,
) -> Experiment:
    """The small net on CIFAR-10, attacked through its last layer.

    Args:
        path: The folder of the data. Default: where it is looked for unasked.
        scale: How much of the data plays which part.
        seed: Random seed.
        cache: Whether references are kept, or where; see `references_at`.

    Returns:
        The experiment; `play` attacks it.

    Raises:
        NoData: If the data are not on this machine.
    """
    return prepare(*subject("cifar-10", path), scale, seed=seed, cache=cache)


def sample_experiment(*, scale: Scale = SAMPLE, seed: int = 1, net: bool = False) -> Experiment:
    """The shipped sample: softmax regression on 7 × 7 averages, or a tiny net on the images.

    Args:
        scale: How much of the data plays which part.
        seed: Random seed.
        net: Whether it is the net.

    Returns:
        The experiment; `play` attacks it.

    Example:
        >>> from discreet.membership.gradients import sample_experiment
        >>> found = sample_experiment()
        >>> sorted(found.targets)
        ['easiest', 'hardest', 'median']
    """
    return prepare(*subject("sample-net" if net else "sample"), scale, seed=seed)
