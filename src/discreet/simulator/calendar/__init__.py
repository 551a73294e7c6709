"""Trials on a calendar: arrivals, late and missing outcomes, drift; races in permuted blocks."""

from .results import RaceResult, TrialResult
from .runs import simulate_races, simulate_trials
from .setting import Calendar, Delay, Drift, calendar

__all__ = [
    "Calendar",
    "Delay",
    "Drift",
    "RaceResult",
    "TrialResult",
    "calendar",
    "simulate_races",
    "simulate_trials",
]
