"""What a trial that tests may say: its design's verdict, read off the releases.

`discreet.confirm` needs numpy, which a trial of another kind does without: it is imported late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from .._checks import Name, check_names, positive
from ..errors import InvalidArgument, TrialError
from ..policies._policy import BasePolicy
from ._looks import LookRun
from ._tested_epochs import TestedEpochRun

if TYPE_CHECKING:
    from ..confirm import (
        AlarmState,
        EpochVerdict,
        SeveralVerdict,
        StrataDesign,
        StrataVerdict,
        Verdict,
    )
    from ..confirm._played import Tested
    from ._documents import LookReport, TestReport

GO_ON = "go on"
"""What is shown of a test before it has decided."""
NO_TEST = (
    "verdict() is for trials that test: plan one with a design, "
    "discreet.Trial(discreet.confirm.design(800, epsilon=1.0), ['drug', 'placebo'])"
)


def is_test(policy: object) -> TypeGuard[Tested]:
    """Whether a trial of that policy tests."""
    return getattr(policy, "goal", "") == "test"


def as_policy(given: object) -> Any:
    """A design as the policy that plays it; whatever else is given as it is."""
    if isinstance(given, BasePolicy):
        return given
    from ..confirm import Alarm, Design, EpochDesign, SeveralDesign, StrataDesign, ThenWinner
    from ..confirm._played import played
    from ..confirm._played_alarm import played_alarm
    from ..confirm._played_epochs import played_in_epochs

    if isinstance(given, Alarm):
        return played_alarm(given)
    rest = 0
    if isinstance(given, ThenWinner):
        given, rest = given.design, given.participants
    if isinstance(given, EpochDesign):
        return played_in_epochs(given, rest)
    if isinstance(given, StrataDesign):
        raise InvalidArgument(
            "policy", "be a design without strata for one trial", str(given),
            "use discreet.Strata, or discreet.confirm.design(800, epsilon=1.0)",
        )  # fmt: skip
    return played(given, rest) if isinstance(given, Design | SeveralDesign) else given


def shares_of(policy: object, given: object) -> dict[Name, float] | None:
    """Strata with the share of those who come, for a rehearsal; a design over strata has its own.
    None without strata."""
    own: dict[Name, float] = {}
    if not isinstance(policy, BasePolicy):
        from ..confirm import StrataDesign

        if isinstance(policy, StrataDesign):
            sizes = [float(sum(size[-1])) for size in policy.sizes]
            own = dict(zip(policy.names, sizes, strict=True))
    if given is None:
        return own or None
    fix = 'use for example strata={"men": 2, "women": 1}'
    if not isinstance(given, Mapping):
        return dict.fromkeys(check_names("strata", given, fix), 1.0)
    check_names("strata", list(given), fix)
    return {name: positive("strata", share, fix) for name, share in given.items()}


def by_stratum(given: object, names: Sequence[Name]) -> dict[Name, Any]:
    """The policy of every stratum: the same for all, or its part of a test over strata."""
    if isinstance(given, BasePolicy):
        return dict.fromkeys(names, given)
    from ..confirm import Design, EpochDesign, SeveralDesign, StrataDesign, ThenWinner
    from ..confirm._played import Part, played

    if isinstance(given, Design | SeveralDesign | EpochDesign | ThenWinner):
        raise InvalidArgument(
            "policy", "be a design over strata for a trial by stratum", str(given),
            'use for example discreet.confirm.strata({"men": 400, "women": 400}, epsilon=1.0)',
        )  # fmt: skip
    if not isinstance(given, StrataDesign):
        return dict.fromkeys(names, given)
    if tuple(map(str, names)) != given.names:
        raise InvalidArgument(
            "strata", "be those of the design, in its order", list(names),
            f"use strata={list(given.names)}",
        )  # fmt: skip
    return {name: played(Part(given, number)) for number, name in enumerate(names)}


def sums_of(run: object) -> list[Any]:
    """The noisy sums (treatments, control) of every look that the trial has had, None for a
    treatment that had left; in epochs (n1, n0, x1, x0) of each."""
    from ..confirm._played import MISSING

    if isinstance(run, TestedEpochRun):
        return run.cells
    assert isinstance(run, LookRun)
    memory, arms = run.memory, len(run.releases)
    return [
        tuple(None if x == MISSING else x for x in memory.sums[arms * look : arms * (look + 1)])
        for look in range(int(memory.epoch[0]))
    ]


def released_of(policy: Tested, run: object) -> list[tuple[int, float]]:
    """Of every arm: the places behind its released sums, and their total."""
    sums = sums_of(run)
    if isinstance(run, TestedEpochRun):
        return [
            (sum(cell[arm] for cell in sums), sum(cell[2 + arm] for cell in sums)) for arm in (0, 1)
        ]
    assert isinstance(run, LookRun)
    design: Any = policy.design
    arms, sizes = len(run.releases), design.sizes
    if arms == 1:
        return [(sizes[len(sums) - 1] if sums else 0, sum(row[0] for row in sums))]
    found = []
    for arm in range(arms):
        seen = [row[arm] for row in sums if row[arm] is not None]
        place = sizes[len(seen) - 1][arm == arms - 1] if seen else 0
        found.append((place, sum(seen)))
    return found


def verdict_of(
    policy: object, run: object
) -> Verdict | SeveralVerdict | EpochVerdict | AlarmState | None:
    """What the design says of them; None before the first look."""
    if not is_test(policy):
        raise TrialError(NO_TEST)
    sums = sums_of(run)
    design: Any = policy.design
    if sums and hasattr(design, "thresholds"):
        state: AlarmState = design.state([row[0] for row in sums])
        return state
    return design.verdict(sums) if sums else None


class Combined(NamedTuple):
    """What all strata have released: sums by look, by stratum."""

    design: StrataDesign
    sums: list[list[tuple[float, float]]]

    @classmethod
    def of(cls, policy: object, runs: Sequence[object]) -> Combined:
        """Looks count once all strata have had them."""
        if not is_test(policy):
            raise TrialError(NO_TEST)
        part: Any = policy.design
        each = [sums_of(run) for run in runs]
        looks = min(map(len, each))
        return cls(part.design, [[sums[look] for sums in each] for look in range(looks)])

    @property
    def verdict(self) -> StrataVerdict | None:
        """None before the first look of all."""
        return self.design.verdict(self.sums) if self.sums else None

    def entries(self) -> TestReport:
        """For the report: "go on" until the test has decided; then the common effect, and a forest
        of the strata at the look that decided."""
        sizes = [
            sum(sum(each[look]) for each in self.design.sizes)
            for look in range(len(self.design.sizes[0]))
        ]
        looks: list[LookReport] = [
            {"participants": size, "boundary": bound}
            for size, bound in zip(sizes, self.design.boundaries, strict=True)
        ]
        found = self.verdict
        shown: TestReport = {
            "decision": GO_ON, "look": len(self.sums), "sides": self.design.sides,
            "looks": looks, "sentence": str(found) if found else "no look yet: go on",
        }  # fmt: skip
        if found is None or found.common is None:
            return shown
        for look, z in zip(looks, found.z, strict=False):
            look["z"] = z
        return shown | {
            "decision": found.decision, "look": found.look, "level": found.level,
            "difference": found.common.difference, "interval": list(found.common.interval),
            "repeated": list(found.repeated),
            "forest": self.design.forest(self.sums[: found.look]).to_dict(),
        }  # fmt: skip
