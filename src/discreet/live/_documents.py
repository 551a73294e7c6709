"""What a trial shows and stores, as a type checker sees it; imported for annotations alone."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from .._checks import Name


class ArmReport(TypedDict, total=False):
    """One arm in a report; which entries it has depends on the kind of trial."""

    arm: Name
    assigned: int
    used: int
    releases: int
    size: int
    mean: float | None
    interval: list[float]
    interval_of_all: list[float]
    waiting: int
    active: bool
    answered: float | None
    bounds: list[float] | None


class BlockReport(TypedDict, total=False):
    """A block that is open or waits."""

    arm: Name
    block: int
    size: int | None
    filled: int
    due: float | None


class CourseEntry(TypedDict):
    """What was public at one release."""

    time: float
    arm: Name
    size: int
    mean: float | None
    assigned: dict[str, int]


class Recommendation(TypedDict):
    """The answer of a trial that identifies."""

    arm: Name
    confidence: float | None
    within: NotRequired[float]
    """by how much it may be worse than the best, where that was allowed"""


class IntervalsReport(TypedDict, total=False):
    """Which intervals a report shows."""

    kind: str
    level: float
    estimand: str


class Behind(TypedDict):
    """How far an arm is behind the leader, within epochs."""

    arm: Name
    mean: float
    error: float
    interval: list[float]


class TrendReport(TypedDict):
    """Differences within epochs."""

    leader: Name
    level: float
    behind: list[Behind]
    record: dict[str, object]


class LookReport(TypedDict, total=False):
    """A planned look of a test; what it showed, once the trial has stopped."""

    participants: int
    boundary: float
    """beyond which the test rejects; left out where no look is planned"""
    places: list[int]
    """of both arms, in an epoch"""
    sums: list[float]
    z: float


class ComparisonReport(TypedDict, total=False):
    """One treatment of several; what was found, once it is decided."""

    arm: Name
    decision: str
    look: int
    z: list[float]
    difference: float
    repeated: list[float]


class TestReport(TypedDict, total=False):
    """Where a test stands; what it found, once it has stopped."""

    decision: str
    """ "go on", "better", "worse" (of the first arm), "no difference shown" or "futile"; of
    several treatments "go on" or "decided"; of an alarm "go on", "alarm" or "no alarm" """
    comparisons: list[ComparisonReport]
    """of several treatments with the control"""
    look: int
    """looks so far, or that which decided"""
    sides: int
    looks: list[LookReport]
    sentence: str
    difference: float
    interval: list[float]
    level: float
    p_value: float
    repeated: list[float]
    forest: dict[str, object]
    """over strata"""
    rate: float
    """of an alarm: the largest rate of harm that is acceptable"""


class Ellipsoid(TypedDict):
    """Where the parameter of a linear row lies."""

    centre: list[float]
    inverse: list[float]
    radius: float
    level: float


class Estimate(TypedDict):
    """The mean outcome of an arm for given features, and how far the truth may be from it."""

    arm: Name
    mean: float
    width: float


class Report(TypedDict, total=False):
    """The report of a trial, or of a part of it; which entries there are depends on its kind."""

    policy: str
    settings: dict[str, object]
    """what was planned, in words"""
    warnings: list[str]
    guarantee: str
    meaning: str
    budget: dict[str, object]
    status: str
    failure: str
    fence: str
    rounds: int
    horizon: int | None
    assigned: int
    releases: int
    next_release: float | None
    most_played: Name
    recommendation: Recommendation | None
    arms: list[ArmReport] | None
    """None where counts of arms are private"""
    intervals: IntervalsReport | None
    silence: str
    record: dict[str, object] | None
    batch: BlockReport
    looks: int
    trend: TrendReport | None
    test: TestReport
    """of a trial that tests"""
    blocks: list[BlockReport] | None
    ended: dict[str, str] | None
    course: list[CourseEntry]
    estimate: list[float] | None
    radius: float | None
    ellipsoid: Ellipsoid | None
    stratum: Name
    """in one of a trial by stratum"""
    strata: list[Report]
    """in that of the whole, with the level of their intervals"""
    level: float
    protects: str
    """in a rehearsal"""
    day: float
