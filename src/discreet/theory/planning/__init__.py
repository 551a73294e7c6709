"""The planner: which row, at which price, before the trial starts."""

from .candidates import OFFERED, Candidate, candidates
from .plan import Free, Plan, Prediction, plan
from .question import Question, question

__all__ = [
    "OFFERED",
    "Candidate",
    "Free",
    "Plan",
    "Prediction",
    "Question",
    "candidates",
    "plan",
    "question",
]
