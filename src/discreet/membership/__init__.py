"""Membership games: how well can an attacker tell whether a target was in the data?

>>> from discreet import membership
>>> columns = membership.Bernoulli([0.1, 0.5, 0.9] * 100)
>>> leak = membership.leakage(columns, n=100, target=columns.easiest())
>>> game = membership.Game(membership.Mean(columns, n=100), columns.easiest())
>>> result = game.play(membership.LikelihoodRatio(), rounds=1000, seed=1)
>>> abs(result.auc - leak.auc) < 0.01
True
"""

from ..audit._counts import bayesian, from_errors, from_hits
from ..audit._one_run import one_run, one_run_gaussian
from ..audit._wagers import Wager, wagers
from ._attacks import (
    EmpiricalRatio,
    LikelihoodRatio,
    LinearRatio,
    PlugInRatio,
    PrintedSubsampling,
    ScalarProduct,
    score_targets,
)
from ._curve import Curve
from ._games import Adversary, Game
from ._laws import Bernoulli, Gaussian, Independent, Law
from ._leakage import (
    Leakage,
    Ranking,
    fitted,
    leakage,
    onion,
    plain_advantage,
    printed_subsampling,
)
from ._mechanisms import Mean, Mechanism, Release
from ._result import Scores, load
from ._training import audit_training
from ._trials import Learned, Participant

__all__ = [
    "Adversary",
    "Bernoulli",
    "Curve",
    "EmpiricalRatio",
    "Game",
    "Gaussian",
    "Independent",
    "Law",
    "Leakage",
    "Learned",
    "LikelihoodRatio",
    "LinearRatio",
    "Mean",
    "Mechanism",
    "Participant",
    "PlugInRatio",
    "PrintedSubsampling",
    "Ranking",
    "Release",
    "ScalarProduct",
    "Scores",
    "Wager",
    "audit_training",
    "bayesian",
    "fitted",
    "from_errors",
    "from_hits",
    "leakage",
    "load",
    "one_run",
    "one_run_gaussian",
    "onion",
    "plain_advantage",
    "printed_subsampling",
    "score_targets",
    "wagers",
]
