"""Attacks on our own claims: lower bounds on the budget that a policy really spends."""

from .adversaries import Adversary, Echo, Steady, Tables, lists
from .attack import attack
from .candidates import candidates
from .choices import Choices
from .contexts import LinearRuns
from .identification import Identifications
from .lives import LifeRuns, life_runs
from .own import Each, agents, played
from .plain import Plain
from .result import Audit, Proof
from .search import audit
from .traces import Timing, grid_traces, release_timing
from .transcripts import Runs, Subject, Transcripts
from .trials import TrialRuns

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
