"""The public record of a trial: what was released, and what is known of the noise in it.

Intervals are built from this record and of nothing else, so they cost no privacy. `recording` asks
a policy in its setting what its releases are (`Release.entries`); a trial appends to its history
as they come. An entry of an arm's history is [size, value] or [size, value, draws]:

| kind     | size | value | draws (default: 1) |
|---|---|---|---|
| running  | rewards so far | mean of their noisy batch sums | batches since the last entry |
| fresh    | rewards of a batch | its noisy mean | batches of equal size that it stands for |
| again    | rewards so far | their mean, with noise of its own | |
| together | rewards so far | as running, all arms at once | noises since the last entry |

and for pairs [size, S, R, draws]: places of a block, Σ r (y - 1/2) and Σ r with noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

from .._checks import Name
from ..errors import DiscreetError, InvalidArgument
from ..policies import Policy, Setting, View
from ..policies._parts import says_itself
from ..policies._schedules import growing, growth_of
from ..policies._view import fresh_view
from ..policies.releases._entries import (
    AGAIN,
    ALL,
    FRESH,
    LAST,
    PAIR,
    POWERS,
    RUNNING,
    SIZES,
    TOGETHER,
    Entries,
    Noise,
    Silence,
    entries_of,
)
from . import _sigmoids as sigmoids
from ._within import epochs_of

KINDS = ("auto", "anytime", "looks", "end")
MOST_LOOKS = 64
"""With more, evidence for all times at once is narrower."""
RISK = 0.05
"""α of the reckoning that chooses looks and kinds."""
TOO_WIDE = 1.0
"""A look at which an interval is reckoned to be wider is not taken. Half of the range would be too
strict: arms that are played little would never be looked at."""
WORST = 0.25
"""The largest variance of an outcome in [0, 1]."""
LONGEST = 64
"""Entries of an arm from which on batches of one size are added up."""

History = list[list[list[float]]]
"""The entries of every arm; an entry is never changed, only replaced."""


@dataclass(frozen=True)
class Recording(Entries):
    """What the releases of a policy are, and how often they are read.

    Example:
        >>> import discreet
        >>> from discreet.inference import recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = recording(policy, policy.setting(2, 300))
        >>> found.looks, found.first, found.counted  # reads of an arm, all taken
        (5, 1, 5)
    """

    looks: int | None = None
    """reads of an arm at most, where their sizes are fixed in advance; else None"""
    single: bool = False
    """whether nothing that is released changes how often an arm is played"""
    step: float = 0.0
    """of the grid that discrete noise lies on"""
    count: Noise | None = None
    """of a pair: the noise of the number of answers"""
    sizes: tuple[int, ...] = ()
    """pulls of an arm at its reads, where the schedule says them in advance"""

    @property
    def first(self) -> int:
        """The number of the first look that is taken. Earlier ones are left out by a public rule:
        their intervals would be wider than the range, and would cost the others width."""
        if not self.sizes or self.looks is None:
            return 1
        wide = [reckoned_width(self, look) > TOO_WIDE for look in range(1, len(self.sizes) + 1)]
        return min(wide.index(False) + 1 if False in wide else len(wide), self.looks)

    @property
    def counted(self) -> int | None:
        """How many looks are taken."""
        return None if self.looks is None else self.looks - self.first + 1

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        noises = {"noise": self.noise, "count": self.count}
        said = {k: None if v is None else v._asdict() for k, v in noises.items()}
        return asdict(self) | said | {"sizes": list(self.sizes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recording:
        """The inverse of `to_dict`; earlier records have fewer fields."""
        count = data.get("count")
        given = {
            "noise": Noise(**data["noise"]),
            "count": None if count is None else Noise(**count),
        }
        return cls(**{**data, **given, "sizes": tuple(data.get("sizes", ()))})


def recording(policy: Policy, setting: Setting) -> Recording | Silence:
    """What a policy's releases are, or why they do not speak of a mean.

    Args:
        policy: The policy.
        setting: Its setting, for example `policy.setting(arms, horizon)`.

    Returns:
        The description of its releases, or a `Silence` with the reason.

    Example:
        >>> import discreet
        >>> from discreet.inference import recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = recording(policy, policy.setting(2, 300))
        >>> found.kind, found.noise.kind, found.sizes
        ('running', 'laplace', (15, 30, 60, 120, 240))
    """
    entries = entries_of(policy.release, setting)
    if isinstance(entries, Silence):
        return entries
    planned = policy.rule.planned_rounds(setting)
    looks, single = _looks(policy, setting, entries), False
    fields = {name: getattr(entries, name) for name in Entries.__dataclass_fields__}
    if planned is not None:
        looks, single = planned
        fields["reads"] = ALL if entries.reads == LAST else entries.reads
    elif entries.reads == LAST:
        looks = None
    if entries.kind == AGAIN and looks is None:
        return Silence(
            f"{policy.release.name!r} releases the same rewards again and again: that takes sizes "
            "that are fixed beforehand and a horizon, which limits how often it is read"
        )
    step = 1.0 / setting.source.resolution if setting.source.secure else 0.0
    sizes = planned_sizes(policy, setting, looks) if fields["reads"] == ALL else ()
    return Recording(**fields, looks=looks, single=single, step=step, sizes=sizes)


def planned_sizes(policy: Policy, setting: Setting, looks: int | None) -> tuple[int, ...]:
    """Pulls of an arm at its reads, for schedules that grow by a factor; else none."""
    growth = growth_of(policy.schedule, setting)
    if looks is None or looks > MOST_LOOKS or growth is None:
        return ()
    view, sizes = fresh_view(1), list[int]()
    for _ in range(looks):
        view.pulls[0] += growing(growth, None, view, 0)
        sizes.append(int(view.pulls[0]))
    return tuple(sizes)


def reckoned_width(recorded: Recording, look: int) -> float:
    """How wide an interval for a mean of 1/2 will be at a look, by the normal approximation: from
    what is settled before the first outcome."""
    sizes = [0, *recorded.sizes[:look]]
    batches = [after - before for before, after in pairwise(sizes)]
    kept = batches[kept_from(batches, recorded.noise) :]
    n, k = sum(kept), len(kept)
    spread = math.sqrt(WORST * n + k * recorded.noise.variance) / n
    assert recorded.looks is not None
    return 2.0 * normal_tail(RISK / (2.0 * recorded.looks)) * spread


def normal_tail(p: float) -> float:
    """The z with P(Z > z) = p."""
    return -NormalDist().inv_cdf(p)


def kept_from(sizes: Sequence[int], noise: Noise) -> int:
    """The first of an arm's batches that an interval is built from: the one from which on the mean
    of all rewards varies least. Each batch has its own noise, so that small ones add more of it
    than they bring; sizes are public, and so is what is left out."""
    if noise.each:
        return 0
    best, least = 0, math.inf
    n, k = 0, 0
    for place in range(len(sizes) - 1, -1, -1):
        n, k = n + sizes[place], k + 1
        spread = (WORST * n + k * noise.variance) / (n * n) if n else math.inf
        if spread <= least:
            best, least = place, spread
    return best


def _looks(policy: Policy, setting: Setting, entries: Entries) -> int | None:
    """How often an arm is read at most, if the sizes at its reads are fixed in advance."""
    schedule = policy.schedule
    if entries.kind == TOGETHER or setting.horizon is None or getattr(policy, "mixed", False):
        return None
    if entries.doubling and (entries.reads == SIZES or schedule.fixed_sizes):
        return setting.horizon.bit_length()
    looks = schedule.looks(setting) if says_itself(schedule, "fixed_sizes", "length") else None
    if looks is None:
        return None
    return max(1, looks).bit_length() if entries.reads == POWERS else looks


def pair_recording(noise: Noise, count: Noise, step: float) -> Recording:
    """What blocks with missing outcomes release; their sizes may be anything."""
    return Recording(PAIR, noise, step=step, count=count)


def note(
    recorded: Recording, history: History, arm: int, releases: Sequence[int], view: View,
    memory: object,
) -> None:  # fmt: skip
    """Enter the last release of an arm into the history; all of it is public."""
    size, value, number = int(view.size[arm]), float(view.value[arm]), releases[arm]
    own = history[arm]
    if recorded.kind == TOGETHER:
        _note_together(history, sum(releases), view)
    elif recorded.reads == LAST:
        own[:] = [[size, value]]
    elif recorded.reads == POWERS:
        if _is_power(number):
            own.append([size, value])
    elif recorded.reads == SIZES:
        # a rule that estimates gaps first says so in its notes: phase 0
        if _is_power(size) and getattr(memory, "phase", (1,))[0] != 0:
            own.append([size, value])
    else:
        _note_batch(own, size, value, recorded.kind)


def _note_batch(own: list[list[float]], size: int, value: float, kind: str) -> None:
    """The next batch; where there are many of one size, they are added up: evidence of batches of
    one size is a function of their sum."""
    if len(own) >= LONGEST:
        last, before = own[-1], own[-2][0] if kind == RUNNING else 0
        draws = _draws(last)
        each = (last[0] - before) / draws
        if kind == RUNNING and size - last[0] == each:
            own[-1] = [size, value, draws + 1]
            return
        if kind == FRESH and size == each:
            whole = int(last[0]) + size
            own[-1] = [whole, (last[0] * last[1] + size * value) / whole, draws + 1]
            return
    own.append([size, value])


def _note_together(history: History, step: int, view: View) -> None:
    """At powers of two of all releases a block of every arm ends."""
    if not _is_power(step):
        return
    for arm, own in enumerate(history):
        size = int(view.size[arm])
        if size > 0:
            draws = step.bit_length() - sum(_draws(entry) for entry in own)
            own.append([size, float(view.value[arm]), draws])


def _draws(entry: Sequence[float]) -> int:
    return int(entry[2]) if len(entry) > 2 else 1


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


class Batch(NamedTuple):
    """The rewards and the released sum of one batch, or of several of one size."""

    size: int
    total: float
    draws: int = 1
    """noises in it"""
    planned: int = 0
    """the size that was foreseen before it began, where its own is not; 0 if it is"""


class PairBlock(NamedTuple):
    """A block with missing outcomes, or several of one size: places, S and R."""

    size: int
    total: float
    answers: float
    draws: int = 1


@dataclass(frozen=True)
class Record:
    """All that intervals may be built from.

    `history` holds the entries of every arm, in the order of their release.

    `history` holds the entries of every arm, in the order of their release.

    Example:
        >>> import discreet
        >>> from discreet.inference import Record, recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> recorded = recording(policy, policy.setting(2, 300))
        >>> history = (((15, 0.75), (30, 0.5)), ((15, 0.25),))  # pulls, released mean
        >>> record = Record(recorded, ("drug", "placebo"), history, binary=True)
        >>> record.sums(0)  # outcomes, their noisy sum, noises in it
        (30, 15.0, 2)
    """

    recorded: Recording
    arms: tuple[Name, ...]
    history: tuple[tuple[tuple[float, ...], ...], ...]
    outcome_range: tuple[float, float] = (0.0, 1.0)
    kind: str = "auto"
    """the kind of intervals, fixed when the trial was created"""
    binary: bool = False
    """whether outcomes are one of two values, as was declared then"""
    bounded: bool = True
    """whether outcomes are known to lie in the range"""

    @property
    def estimand(self) -> str:
        """What its intervals are about."""
        if self.recorded.kind == PAIR:
            return "responders"
        return "sigmoid" if self.recorded.sigmoid and not self.bounded else "mean"

    def batches(self, arm: int) -> list[Batch]:
        """The batches of an arm."""
        found, size, total = [], 0, 0.0
        together = self.recorded.kind == TOGETHER
        for entry in self.history[arm]:
            whole, draws = int(entry[0]), _draws(entry)
            if self.recorded.kind == FRESH:
                found.append(Batch(whole, whole * entry[1], draws))
                continue
            # blocks that end together double, so that one is foreseen to bring what was there
            planned = max(1, size) if together else 0
            found.append(Batch(whole - size, whole * entry[1] - total, draws, planned))
            size, total = whole, whole * entry[1]
        return found

    def pairs(self, arm: int) -> list[PairBlock]:
        """The blocks of an arm, where outcomes are missing."""
        return [
            PairBlock(int(entry[0]), entry[1], entry[2], int(entry[3]) if len(entry) > 3 else 1)
            for entry in self.history[arm]
        ]

    def sums(self, arm: int) -> tuple[int, float, int]:
        """Rewards, their noisy sum and the number of noises in it: n, s and k."""
        if self.recorded.kind == AGAIN:
            if not self.history[arm]:
                return 0, 0.0, 0
            last = self.history[arm][-1]
            return int(last[0]), last[0] * last[1], 1
        return self._added(self.batches(arm))

    def look(self, arm: int) -> tuple[int, float, int]:
        """The same of the batches that an interval at planned looks is built from; n = 0 before the
        first look that is taken."""
        recorded = self.recorded
        if len(self.history[arm]) < recorded.first:
            return 0, 0.0, 0
        if not recorded.sizes:
            return self.sums(arm)
        batches = self.batches(arm)
        return self._added(batches[kept_from([b.size for b in batches], recorded.noise) :])

    def _added(self, batches: Sequence[Batch]) -> tuple[int, float, int]:
        size, total = sum(b.size for b in batches), math.fsum(b.total for b in batches)
        if self.recorded.noise.each:
            return size, total, size
        return size, total, sum(b.draws for b in batches)

    def noise(self, arm: int) -> Noise:
        """The noise of the last read of an arm, or of a batch."""
        noise = self.recorded.noise
        if self.recorded.power and self.history[arm]:
            return noise._replace(
                scale=noise.scale * self.history[arm][-1][0] ** self.recorded.power
            )
        return noise

    # --- from means as they are released to the scale of the outcomes -----------------------------

    def limits(self, low: float, high: float) -> tuple[float, float]:
        """Both ends of an interval."""
        low, high = (0.5 + (end - 0.5) / self.recorded.factor for end in (low, high))
        if self.recorded.sigmoid:
            step = self.recorded.step  # sigmoids are rounded to the grid
            low, high = low - step, high + step
            if self.bounded:
                low, high = sigmoids.least_mean(low, self.binary), sigmoids.largest_mean(high)
        return self._outcome(min(max(low, 0.0), 1.0)), self._outcome(min(max(high, 0.0), 1.0))

    def estimate(self, mean: float) -> float | None:
        """The estimate itself, which noise may carry out of the range; None if there is none."""
        value = 0.5 + (mean - 0.5) / self.recorded.factor
        if self.recorded.sigmoid and self.bounded:
            if not self.binary:
                return None
            value = sigmoids.largest_mean(value)
        return self._outcome(value)

    def _outcome(self, value: float) -> float:
        if self.estimand == "sigmoid":
            return value
        low, high = self.outcome_range
        return low + (high - low) * value

    def gaps(self, low: float, high: float) -> tuple[float, float]:
        """Both ends of an interval for a difference of two means."""
        low, high = (self.gap(end) for end in (low, high))
        slack = self._width() * self._slack()
        most = self._width()
        return max(low - slack, -most), min(high + slack, most)

    def gap(self, difference: float) -> float:
        """A difference of two means on the scale of the outcomes, as if the release were linear."""
        return self._width() * min(max(difference / self._scale(), -1.0), 1.0)

    def shift(self, margin: float) -> float:
        """A margin between two mean outcomes as the least difference of what is released that any
        outcomes with at most that margin cannot have in the mean."""
        return (margin / self._width() + self._slack()) * self._scale()

    def _scale(self) -> float:
        """What the release makes of a difference of one."""
        slope = sigmoids.SLOPE if self.recorded.sigmoid and self.bounded else 1.0
        return self.recorded.factor * slope

    def _width(self) -> float:
        return 1.0 if self.estimand == "sigmoid" else self.outcome_range[1] - self.outcome_range[0]

    def _slack(self) -> float:
        """By how much a difference may be off because sigmoids bend, and are rounded."""
        if not self.recorded.sigmoid:
            return 0.0
        if not self.bounded:
            return 2.0 * self.recorded.step
        rounded = 2.0 * self.recorded.step / sigmoids.SLOPE
        return rounded + (0.0 if self.binary else sigmoids.BEND)

    # --- as JSON ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "recorded": self.recorded.to_dict(),
            "arms": list(self.arms),
            "history": [[list(entry) for entry in arm] for arm in self.history],
            "outcome_range": list(self.outcome_range),
            "kind": self.kind,
            "binary": self.binary,
            "bounded": self.bounded,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The inverse of `to_dict`."""
        low, high = data["outcome_range"]
        return cls(
            Recording.from_dict(data["recorded"]), tuple(data["arms"]), frozen(data["history"]),
            (low, high), data["kind"], data["binary"], data.get("bounded", True),
        )  # fmt: skip


def frozen(
    history: Sequence[Sequence[Sequence[float]]],
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """A history as tuples."""
    return tuple(
        tuple((int(entry[0]), *(float(value) for value in entry[1:])) for entry in arm)
        for arm in history
    )


def record_of(source: object, run: int = 0) -> Record:
    """The public record of a trial: all that intervals may be built from.

    Args:
        source: A trial, a rehearsal, a report, or a result of `simulate` or `identify`, whose
            run is played again. A record is returned as it is.
        run: Which run of a result, from 0.

    Returns:
        The record.

    Raises:
        InvalidArgument: If the source has no record.

    Example:
        >>> import discreet
        >>> from discreet.inference import record_of
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = record_of(discreet.Rehearsal(policy, ["A", "B"], horizon=120, seed=1))
        >>> found.arms, found.history
        (('A', 'B'), ((), ()))
    """
    if isinstance(source, Record):
        return checked(source)
    found = source.get("record") if isinstance(source, Mapping) else getattr(source, "record", None)
    show = getattr(source, "public_record", None)
    if callable(show):
        found = show()
    if isinstance(found, Mapping):
        found = Record.from_dict(found)
    if found is None and all(hasattr(source, name) for name in ("run", "counted", "environment")):
        from ._replay import replayed

        found = replayed(source, run)
    if isinstance(found, Record):
        return checked(found)
    raise InvalidArgument(
        "source", "be a trial, a rehearsal, a report or a simulated result whose releases speak of "
        "mean outcomes", f"{type(source).__name__}{_why_silent(source)}",
        "pass a Trial, a Rehearsal, trial.report(), a result of simulate or identify, or a Record",
    )  # fmt: skip


def checked(record: Record) -> Record:
    """Refuse outcomes of any size: no interval for their mean holds."""
    if record.bounded or record.recorded.sigmoid:
        return record
    raise InvalidArgument(
        "source", "have outcomes in a known range", "rewards of any size, whose mean a few of them "
        "can move as far as they like", "declare them binary, or take a policy for rewards in "
        "[0, 1]; the sigmoids of ldp-ucb-bs and ldp-ucb-ls have intervals for any rewards",
    )  # fmt: skip


def _why_silent(source: object) -> str:
    """Why a trial, a rehearsal or a report has no record, by name."""
    if epochs_of(source) is not None:
        return " (its arms are compared within epochs alone: take differences(...))"
    if isinstance(source, Mapping):
        silence = source.get("silence")
        return f" ({silence})" if isinstance(silence, str) else ""
    policy, arms = getattr(source, "policy", None), getattr(source, "arms", None)
    report: Callable[[], Mapping[str, int | None]] | None = getattr(source, "report", None)
    if not isinstance(policy, Policy) or not isinstance(arms, tuple) or report is None:
        return ""
    try:
        found = recording(policy, policy.setting(len(arms), report().get("horizon")))
    except DiscreetError:
        return ""
    if isinstance(found, Silence):
        return f" ({found.reason})"
    return " (its history was not kept from the beginning)"


def narrower(recorded: Recording) -> str:
    """ "looks" or "anytime", whichever is narrower for an arm with half of the horizon and a mean
    of 1/2: from what is settled before the first outcome. Looks, where no sizes are known."""
    from ._intervals import intervals

    half = [size for size in recorded.sizes if size <= max(recorded.sizes) / 2]
    if recorded.noise.each or not half:
        return "looks"
    whole = recorded.kind == RUNNING
    batches = [after - before for before, after in pairwise([0, *half])]
    entries = tuple((size, 0.5) for size in (half if whole else batches))
    widths = {}
    for kind in ("looks", "anytime"):
        record = Record(recorded, (0,), (entries,), kind=kind, binary=True)
        widths[kind] = intervals(record, 1.0 - RISK)[0].width
    return min(widths, key=lambda kind: widths[kind])


def check_kind(kind: str, recorded: Recording | Silence | None, argument: str = "kind") -> str:
    """The kind of intervals that a policy can have: "auto" is the narrowest that holds."""
    if kind not in KINDS:
        raise InvalidArgument(argument, f"be one of {', '.join(KINDS)}", kind, "use 'auto'")
    if not isinstance(recorded, Recording):
        return kind
    if kind == "auto":
        if recorded.single:
            return "end"
        if recorded.kind == AGAIN:
            return "looks"
        many = recorded.looks is None or recorded.looks > MOST_LOOKS
        return "anytime" if many else narrower(recorded)
    if kind == "looks" and recorded.looks is None:
        raise InvalidArgument(
            argument, "be 'anytime' where batch sizes depend on earlier releases, outcomes "
            "are missing, or no horizon says how many looks there are", kind,
            f"use {argument}='anytime', or give a horizon",
        )  # fmt: skip
    if kind == "end" and not recorded.single:
        raise InvalidArgument(
            argument, "be 'anytime' or 'looks' where releases change how often an arm is played",
            kind, f"use {argument}='auto'; one look is valid with equal shares (the row 'uniform')",
        )  # fmt: skip
    if kind == "anytime" and recorded.kind == AGAIN:
        raise InvalidArgument(
            argument,
            "be 'looks' where reads share their rewards (trees)",
            kind,
            f"use {argument}='auto'",
        )
    return kind
