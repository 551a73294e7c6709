"""Trials on a calendar: arrivals, late and missing outcomes, drift."""

from ._runs import TrialWork
from ._setting import Calendar, Delay, Drift, calendar

__all__ = ["Calendar", "Delay", "Drift", "TrialWork", "calendar"]
