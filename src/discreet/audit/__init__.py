"""Attacks on our own claims: lower bounds on the budget that a policy really spends.

The package can be called as its main function: `discreet.audit(policy, seconds=10)`.
"""

from .._lazy import called_as
from ._adversaries import Adversary, Echo, Steady, Tables, lists
from ._attack import attack
from ._candidates import candidates
from ._choices import Choices
from ._contexts import LinearRuns
from ._identification import Identifications
from ._lives import LifeRuns, life_runs
from ._own import Each, agents, played
from ._plain import Plain
from ._result import Audit, Proof
from ._search import audit
from ._streams import Streams
from ._traces import Timing, grid_traces, release_timing
from ._transcripts import Runs, Subject, Transcripts
from ._trials import TrialRuns

__all__ = [
    "Adversary",
    "Audit",
    "Choices",
    "Each",
    "Echo",
    "Identifications",
    "LifeRuns",
    "LinearRuns",
    "Plain",
    "Proof",
    "Runs",
    "Steady",
    "Streams",
    "Subject",
    "Tables",
    "Timing",
    "Transcripts",
    "TrialRuns",
    "agents",
    "attack",
    "audit",
    "candidates",
    "grid_traces",
    "life_runs",
    "lists",
    "played",
    "release_timing",
]

called_as(__name__, "_search", "audit")
