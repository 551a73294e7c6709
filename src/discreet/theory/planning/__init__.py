"""The planner: which row, at which price, before the trial starts."""

from .candidates import Candidate, candidates
from .plan import Free, Plan, Prediction, plan
from .question import Question, question

__all__ = [
    "Candidate",
    "Free",
    "Plan",
    "Prediction",
    "Question",
    "candidates",
    "plan",
    "question",
]
