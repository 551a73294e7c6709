"""Trials on a calendar: arrivals, late and missing outcomes, drift."""

from .results import TrialResult
from .runs import TrialWork
from .setting import Calendar, Delay, Drift, calendar

__all__ = ["Calendar", "Delay", "Drift", "TrialResult", "TrialWork", "calendar"]
