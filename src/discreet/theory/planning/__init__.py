"""The planner: which row, at which price, before the trial starts."""

from .calendar import TrialPlan, plan_trial
from .candidates import Candidate, candidates
from .plan import Free, Plan, Prediction, plan
from .question import Question, question

__all__ = [
    "Candidate",
    "Free",
    "Plan",
    "Prediction",
    "Question",
    "TrialPlan",
    "candidates",
    "plan",
    "plan_trial",
    "question",
]
