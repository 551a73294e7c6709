"""Best-arm identification: which arm is best, after how many samples, at what price of privacy.

What runs identifications is loaded when it is first used: a live trial needs the policies alone.
The package can be called as its main function: `discreet.identify(policy, law, risk=0.05)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import called_as, lazily
from ._catalogue import IDENTIFIERS, IdentifierRow, identifier, identifier_from_recipe
from ._chernoff import ChernoffTopTwo, EnoughChernoff, FixedBatches
from ._costs import GaussianCost, PrivateCost, UnitCost
from ._evidence_top_two import EnoughEvidence, EvidenceTopTwo, MissingEvidence
from ._halving import Halved, Halving, HalvingRounds, error_bound
from ._identifier import Identifier
from ._recommendation import BestActive, BestMean, MostPulled, Recommendation
from ._sampling import (
    BatchedTopTwo,
    Elimination,
    PrivateTopTwo,
    RandomTopTwo,
    SharedTopTwo,
    TopTwo,
)
from ._setting import RiskSetting
from ._stopping import Likelihood, OneLeft, Stopping
from ._thresholds import (
    GaussianThreshold,
    HeuristicThreshold,
    NoisyHeuristicThreshold,
    PrivateThreshold,
    PublicThreshold,
    StarredThreshold,
    Threshold,
)

if TYPE_CHECKING:
    from ._runs import EqualBestArms, identify

__all__ = [
    "IDENTIFIERS",
    "BatchedTopTwo",
    "BestActive",
    "BestMean",
    "ChernoffTopTwo",
    "Elimination",
    "EnoughChernoff",
    "EnoughEvidence",
    "EqualBestArms",
    "EvidenceTopTwo",
    "FixedBatches",
    "GaussianCost",
    "GaussianThreshold",
    "Halved",
    "Halving",
    "HalvingRounds",
    "HeuristicThreshold",
    "Identifier",
    "IdentifierRow",
    "Likelihood",
    "MissingEvidence",
    "MostPulled",
    "NoisyHeuristicThreshold",
    "OneLeft",
    "PrivateCost",
    "PrivateThreshold",
    "PrivateTopTwo",
    "PublicThreshold",
    "RandomTopTwo",
    "Recommendation",
    "RiskSetting",
    "SharedTopTwo",
    "StarredThreshold",
    "Stopping",
    "Threshold",
    "TopTwo",
    "UnitCost",
    "error_bound",
    "identifier",
    "identifier_from_recipe",
    "identify",
]

__getattr__, __dir__ = lazily(__name__, {"_runs": ("EqualBestArms", "identify")}, *__all__)
called_as(__name__, "_runs", "identify")
