"""The planner: which row, at which price, before the trial starts."""

from ._calendar import TrialPlan, plan_trial
from ._candidates import Candidate, candidates
from ._plan import Free, Plan, Prediction, plan
from ._question import Question, question

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
