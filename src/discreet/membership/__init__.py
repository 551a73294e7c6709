"""Membership games: how well can an attacker tell whether a target was in the data?

>>> from discreet import membership
>>> columns = membership.Bernoulli([0.1, 0.5, 0.9] * 100)
>>> leak = membership.leakage(columns, n=100, target=columns.easiest())
>>> game = membership.Game(membership.Mean(columns, n=100), columns.easiest())
>>> result = game.play(membership.LikelihoodRatio(), rounds=1000, seed=1)
>>> abs(result.auc - leak.auc) < 0.01
True
"""

from ..audit.counts import bayesian, from_errors, from_hits
from ..audit.one_run import one_run, one_run_gaussian
from ..audit.wagers import Wager, wagers
from .attacks import (
    EmpiricalRatio,
    LikelihoodRatio,
    LinearRatio,
    PlugInRatio,
    PrintedSubsampling,
    ScalarProduct,
    score_targets,
)
from .curve import Curve
from .games import Adversary, Game
from .laws import Bernoulli, Gaussian, Independent, Law
from .leakage import (
    Leakage,
    Ranking,
    fitted,
    leakage,
    onion,
    plain_advantage,
    printed_subsampling,
)
from .mechanisms import Mean, Mechanism, Release
from .result import Scores, load
from .trials import Learned, Participant

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
