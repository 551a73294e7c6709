"""Policies that a release would refuse, for anyone who must show that refusing them is right."""

from __future__ import annotations

from ..policies._policy import Policy
from ..policies._rules import Rule
from ..policies._schedules import Schedule
from ..policies.releases import Release


def unchecked_policy(name: str, schedule: Schedule, release: Release, rule: Rule) -> Policy:
    """A policy whose parts were not asked whether they go together. Never for anyone's data.

    Args:
        name: What the policy is called.
        schedule: Its schedule.
        release: Its release.
        rule: Its rule.

    Returns:
        The policy.

    Example:
        >>> import discreet
        >>> from discreet.testing import unchecked_policy
        >>> known = discreet.policy("dp-imed", epsilon=1.0)
        >>> unchecked_policy("mine", known.schedule, known.release, known.rule).name
        'mine'
    """
    row: Policy = object.__new__(Policy)
    parts = {
        "name": name, "schedule": schedule, "release": release, "rule": rule, "reference": "",
        "recipe": {},
    }  # fmt: skip
    for field, value in parts.items():
        object.__setattr__(row, field, value)
    return row
