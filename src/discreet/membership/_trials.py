"""Games on our own releases: was this outcome of this participant in the trial?

A bandit trial of `horizon` participants with Bernoulli outcomes; the attacker knows the policy, the
distribution of the outcomes, the arms and the place in which the target arrived, and sees every
released mean. With the target in the data, that participant's outcome is the target's; without, it
is drawn like everyone's. `Learned` is an attacker without formulas: it plays the game itself in
advance and learns what tells the two apart.

    row = discreet.policy("adap-ucb", epsilon=1.0)
    game = membership.Game(membership.Participant(row, [0.1, 0.1], horizon=16), target=1.0)
    result = game.play(membership.Learned(), rounds=4000, seed=1)
    result.power(0.05), row.guarantee.tradeoff().power(0.05)   # about 0.11, and at most 0.136
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import count
from ..arms import Bernoulli as BernoulliArms
from ..audit._scores import Score, learn
from ..audit._strangers import Strangers
from ..audit._transcripts import Runs, Transcripts
from ..errors import InvalidArgument
from ..policies import Policy
from ._mechanisms import Mechanism
from ._result import Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from ._games import Scorer

    Matrix = NDArray[float64]


class Participant(Mechanism):
    """The released means of a trial in which the target is the participant who came `place`-th.

    An output is a row: the code of the arms played, then what `audit.Runs` writes down of the
    released means. Targets are outcomes, 0 or 1.

    Example:
        >>> import discreet
        >>> from discreet import membership
        >>> policy = discreet.policy("adap-ucb", epsilon=1.0)
        >>> trial = membership.Participant(policy, means=[0.1, 0.1], horizon=8, place=2)
        >>> trial.n, trial.place, trial.name
        (8, 2, 'adap-ucb')
    """

    def __init__(
        self,
        policy: Policy,
        means: float | Sequence[float],
        *,
        horizon: int = 16,
        place: int = 0,
        decisions: int = 8,
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidArgument(
                "policy", "be a Policy", policy, 'build it: discreet.policy("ucb1")'
            )
        self.policy = policy
        self.means = np.array(BernoulliArms(means).means)
        self.n = count("horizon", horizon, least=len(self.means))
        self.place = count("place", place, least=0)
        if self.place >= self.n:
            raise InvalidArgument("place", f"be below the horizon {self.n}", place, "use place=0")
        self.name = policy.name
        self.decisions = count("decisions", decisions)

    @property
    def block(self) -> int:
        return 256

    def runs(self) -> Runs:
        """A trial of strangers, whose rewards are filled in round by round."""
        strangers = Strangers(len(self.means), self.n)
        return Runs(self.policy, strangers, decisions=self.decisions)

    def targets(self, rng: Generator, rounds: int) -> Matrix:
        """Outcomes of the first arm, as the trial would have drawn them."""
        return np.asarray(rng.random(rounds) < self.means[0], float)

    def check_target(self, target: Any) -> float:
        if isinstance(target, bool) or np.ndim(target) or target not in (0, 1):
            raise InvalidArgument("target", "be an outcome, 0 or 1", target, "use target=1.0")
        return float(target)

    def outputs(self, rng: Generator, targets: Matrix, member: bool) -> Matrix:
        runs = self.runs()
        strangers = runs.adversary
        assert isinstance(strangers, Strangers)
        seen = []
        for target in np.asarray(targets, float):
            strangers.rewards[:] = rng.random(strangers.rewards.shape) < self.means
            if member:
                strangers.rewards[self.place] = target
            transcript = runs.sample(0, 1, rng)
            seen.append(np.concatenate([transcript.codes.astype(float), transcript.numbers[0]]))
        return np.array(seen)

    def to_dict(self) -> dict[str, object]:
        return {
            "mechanism": self.name,
            "guarantee": self.policy.guarantee.to_dict(),
            "means": self.means.tolist(),
            "n": self.n,
            "place": self.place,
        }


class Learned:
    """An attacker who played the game in advance, on rounds of their own.

    Takes whichever score of `audit.scores` told members apart best in training, for the outcome 1,
    and its mirror image for the outcome 0.

    Example:
        >>> import discreet
        >>> from discreet import membership
        >>> policy = discreet.policy("adap-ucb", epsilon=1.0)
        >>> trial = membership.Participant(policy, means=[0.1, 0.1], horizon=4)
        >>> attack = membership.Learned(rounds=50)
        >>> membership.Game(trial, target=1).play(attack, rounds=50, seed=1).rounds
        (50, 50)
    """

    name = "learnt score"
    threshold = None

    def __init__(self, rounds: int = 2000, seed: int = 0) -> None:
        self.rounds, self.seed = count("rounds", rounds, least=2), seed

    def against(self, mechanism: Mechanism) -> Scorer:
        if not isinstance(mechanism, Participant):
            raise InvalidArgument(
                "adversary", "attack a trial", mechanism.name, "use membership.Participant(policy)"
            )
        rng = np.random.default_rng([self.seed, 0x1EA2])
        targets = np.ones(self.rounds)
        outside, inside = (
            _transcripts(mechanism.outputs(rng, targets, member)) for member in (False, True)
        )
        found = learn(mechanism.runs(), outside, inside)
        best = max(found, key=lambda score: Scores(score(inside), score(outside)).auc)
        return _mirrored(best)


def _mirrored(score: Score) -> Scorer:
    def scored(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
        values = score(_transcripts(outputs))
        return np.where(np.asarray(targets) == 1.0, values, -values)

    return scored


def _transcripts(outputs: Matrix) -> Transcripts:
    return Transcripts(outputs[:, 0].astype(np.int64), outputs[:, 1:])
