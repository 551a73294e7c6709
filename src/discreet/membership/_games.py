"""The game: a crafter plays data with or without the target, an adversary scores the output.

    fixed target:    z* is given; each round draws fresh data; z* replaces a record, or not.
    average target:  each round draws its own z* from the distribution of the data.
The adversary sees (z*, output). Rounds are played in blocks; block i draws from the i-th child of
one SeedSequence, so a seed fixes every score, whatever the number of threads.

>>> from discreet import membership
>>> columns = membership.Bernoulli([0.1, 0.5, 0.9] * 20)
>>> game = membership.Game(membership.Mean(columns, n=50), columns.easiest())
>>> game.play(membership.LikelihoodRatio(), rounds=2000, seed=1).auc > 0.8
True

Reference: Azize (2024), algorithms 4, 5, 11 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .._checks import count
from .._progress import Bar
from ..errors import InvalidArgument
from ..simulator._work import Player, Work, check_threads, entropy_of
from ._mechanisms import Mechanism
from ._result import Scores, check_scores

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from .._types import Array, Floats

Scorer = Callable[[Any, Any, "Generator"], "Floats"]
"""Scores of a block of rounds from its outputs and its targets, an array (rounds,).

The generator is for adversaries that toss coins of their own."""


@runtime_checkable
class Adversary(Protocol):
    """What a membership attacker has: it knows the mechanism, and scores outputs: high for members.

    Any function of one output and one target may stand in for it.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> isinstance(membership.LikelihoodRatio(), membership.Adversary)
        True
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> game.play(lambda output, target: output @ target, rounds=200, seed=1).rounds
        (200, 200)
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float | None:
        """Where it accuses, if that is known before the game."""

    def against(self, mechanism: Mechanism) -> Scorer:
        """How it scores this mechanism's outputs."""


class Game:
    """A membership game: a mechanism and a target, or with `target=None` one drawn anew each round.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> result = game.play(membership.LikelihoodRatio(), rounds=500, seed=1)
        >>> result.rounds  # with the target in the data, and without
        (500, 500)
    """

    def __init__(self, mechanism: Mechanism, target: ArrayLike | None = None) -> None:
        if not isinstance(mechanism, Mechanism):
            raise InvalidArgument(
                "mechanism", "be a Mechanism", type(mechanism).__name__,
                "use membership.Mean(law, n=100) or membership.Release(function, law, n=100)",
            )  # fmt: skip
        self.mechanism = mechanism
        self.target = None if target is None else mechanism.check_target(target)
        if self.target is not None and isinstance(self.target, np.ndarray) and self.target.ndim > 1:
            raise InvalidArgument(
                "target", "be one target", f"{len(self.target)} targets",
                "play one game a target, or use leakage(law, n, targets)",
            )  # fmt: skip

    def play(
        self,
        adversary: Adversary | Callable[[Any, Any], float],
        rounds: int = 10_000,
        *,
        seed: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Scores:
        """So many rounds with the target in the data, and as many without.

        An adversary is an `Adversary`, or any function of one output and one target. Ctrl-C ends
        the game early and returns the blocks that were finished.
        """
        rounds = count("rounds", rounds)
        workers, entropy = check_threads(threads), entropy_of(seed)
        work = Rounds(self, _known(adversary), rounds, entropy)
        with Bar(progress) as bar:
            work.do(workers, bar)
        return work.result()

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            **self.mechanism.to_dict(),
            "game": "average target" if self.target is None else "fixed target",
        }


class Rounds(Work):
    """All rounds of one game, in blocks."""

    def __init__(self, game: Game, adversary: Adversary, rounds: int, entropy: int) -> None:
        self.size = game.mechanism.block
        super().__init__(adversary.name, -(-rounds // self.size), entropy)
        self.game, self.adversary, self.rounds = game, adversary, rounds
        self.score = adversary.against(game.mechanism)
        self.members = np.full(rounds, np.nan)
        self.nonmembers = np.full(rounds, np.nan)

    def player(self) -> Player:
        return _BlockPlayer(self)

    def part(self, number: int) -> slice:
        """The rounds of a block."""
        return slice(number * self.size, min((number + 1) * self.size, self.rounds))

    def play_block(self, number: int) -> None:
        """One block, first without the target, then with it."""
        rng, part, game = self.generator(number), self.part(number), self.game
        count = part.stop - part.start
        for member, scores in ((False, self.nonmembers), (True, self.members)):
            if game.target is None:
                targets = game.mechanism.targets(rng, count)
            else:
                targets = np.broadcast_to(game.target, (count, *np.shape(game.target)))
            outputs = game.mechanism.outputs(rng, targets, member)
            found: NDArray[float64] = check_scores("score", self.score(outputs, targets, rng))
            if len(found) != count:
                raise InvalidArgument(
                    "score", "be one number per round", f"{len(found)} for {count} rounds",
                    "return an array (rounds,)",
                )  # fmt: skip
            scores[part] = found

    def result(self) -> Scores:
        """The rounds of the blocks that were finished."""
        played = np.zeros(self.rounds, bool)
        for number in self.done.nonzero()[0]:
            played[self.part(int(number))] = True
        if not played.any():
            raise KeyboardInterrupt
        return Scores(
            self.members[played], self.nonmembers[played], name=self.adversary.name,
            threshold=self.adversary.threshold, settings=self.game.to_dict(), seed=self.entropy,
            seconds=self.seconds, complete=self.complete,
        )  # fmt: skip


class _BlockPlayer(Player):
    """Plays one block after the other."""

    def __init__(self, rounds: Rounds) -> None:
        super().__init__()
        self.rounds = rounds

    def play(self, number: int) -> bool:
        self.rounds.play_block(number)
        return True


class _OneByOne:
    """A function of one output and one target, as an adversary."""

    threshold = None

    def __init__(self, function: Callable[[Any, Any], float]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "score")

    def against(self, mechanism: Mechanism) -> Scorer:
        def score(outputs: Iterable[object], targets: Array, rng: Generator) -> Floats:
            pairs = zip(outputs, targets, strict=True)
            return np.array([self.function(output, target) for output, target in pairs])

        return score


def _known(adversary: Adversary | Callable[[Any, Any], float]) -> Adversary:
    if isinstance(adversary, Adversary):
        return adversary
    if callable(adversary) and not isinstance(adversary, type):
        return _OneByOne(adversary)
    raise InvalidArgument(
        "adversary", "be an Adversary or a function of (output, target)", str(adversary),
        "use membership.LikelihoodRatio()",
    )  # fmt: skip
