"""The public record of a trial: what was released, and what is known of the noise in it.

Intervals are made of this record and of nothing else, so they cost no privacy. `recording` asks a
row in its setting what its releases are; a trial appends to its history as they come.

| kind     | an entry [size, value] of an arm's history is |
|---|---|
| running  | the rewards so far and the mean of their noisy batch sums: batches are differences |
| fresh    | a batch and its noisy mean |
| again    | the rewards so far and their mean with noise that later entries do not share |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..errors import InvalidArgument
from ..identify.evidence import GAUSSIAN, LAPLACE, NOISELESS, Noise
from ..identify.halving import Halving
from ..identify.noises import gap_factor
from ..policies import (
    DividedTree,
    Exact,
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    ForgetTruncated,
    Geometric,
    Hybrid,
    LocalBernoulli,
    LocalLaplace,
    Policy,
    Regular,
    RememberLaplace,
    RunningGaussian,
    RunningLaplace,
    Setting,
    ShrinkingLaplace,
    Tree,
)
from ..policies.schedules import EachRound

RUNNING, FRESH, AGAIN = "running", "fresh", "again"
ALL, LAST, POWERS = "all", "last", "powers"
KINDS = ("auto", "anytime", "looks", "end")


@dataclass(frozen=True)
class Recording:
    """What the releases of a row are, and which of them belong in the record."""

    kind: str
    reads: str
    """"all" releases of an arm, the "last", or those whose number is a "powers" of two"""
    noise: Noise
    """of a batch (running, fresh) or of a read (again), for rewards in [0, 1]"""
    power: float = 0.0
    """of a read: the scale is multiplied by size^power"""
    factor: float = 1.0
    """a difference of two means is seen multiplied by it (random bits)"""
    looks: int | None = None
    """reads of an arm at most, where their sizes are fixed beforehand; else None"""
    single: bool = False
    """whether nothing that is released changes how often an arm is played"""
    step: float = 0.0
    """of the grid that discrete noise lies on"""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {"noise": self.noise._asdict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recording:
        """The inverse of `to_dict`."""
        return cls(**{**data, "noise": Noise(**data["noise"])})


def recording(policy: Policy, setting: Setting) -> Recording | None:
    """What a row's releases are; None where they do not speak of the mean outcome."""
    release, source = policy.release, setting.source
    if policy.bounds != (0.0, 1.0):
        return None
    step = 1.0 / source.unit if source.secure else 0.0
    looks = _looks(policy, setting)
    halving = policy.rule if isinstance(policy.rule, Halving) else None
    single = halving is not None and not math.isfinite(halving.cut)
    common: dict[str, Any] = {"looks": looks, "single": single, "step": step}

    def scaled(kind: str, times: float = 1.0, each: bool = False) -> Noise:
        parameters: Any = release.parameters(setting)
        return Noise(kind, times * parameters.scale / parameters.unit, each)

    # a subclass may release something else, so every kind is named
    exactly = type(release)
    if exactly in (LocalBernoulli, LocalLaplace, Exact):
        # sums of responses: only their total matters, whatever the batches
        noise = scaled(LAPLACE, each=True) if exactly is LocalLaplace else NOISELESS
        fixed = looks if halving is not None else None
        common |= {"looks": fixed, "factor": gap_factor(release)}
        return Recording(RUNNING, ALL if fixed else LAST, noise, **common)
    if exactly is RunningGaussian:
        return Recording(RUNNING, ALL, scaled(GAUSSIAN), **common)
    if exactly is RunningLaplace:
        return Recording(RUNNING, ALL, scaled(LAPLACE), **common)
    if exactly is ForgetGaussian:
        return Recording(FRESH, ALL, scaled(GAUSSIAN), **common)
    if exactly in (ForgetLaplace, FillingLaplace):
        return Recording(FRESH, ALL, scaled(LAPLACE), **common)
    if exactly is ForgetExact:
        return Recording(FRESH, ALL, NOISELESS, **common)
    if isinstance(release, ForgetTruncated):
        # a symmetric law cut off on both sides has smaller moments
        truncation: Any = release.parameters(setting)
        if truncation.epsilon == 0.0:
            return None
        return Recording(FRESH, ALL, Noise(LAPLACE, 1.0 / truncation.epsilon), **common)
    if exactly is Hybrid:
        # at powers of two a sum of blocks, each with Lap(2/ε)
        return Recording(RUNNING, POWERS, scaled(LAPLACE, 2.0), **common)
    if looks is None:
        return None
    if exactly in (Tree, DividedTree):
        # at powers of two the prefix is one node
        return Recording(AGAIN, POWERS, scaled(LAPLACE), **common)
    if exactly is RememberLaplace:
        reads = POWERS if isinstance(policy.schedule, EachRound | Regular) else ALL
        return Recording(AGAIN, reads, scaled(LAPLACE), **common)
    if isinstance(release, ShrinkingLaplace):
        power = 0.5 * release.power
        return Recording(AGAIN, POWERS, Noise(LAPLACE, 1.0), power=power, **common)
    return None


def _looks(policy: Policy, setting: Setting) -> int | None:
    """How often an arm is read at most, if the sizes at its reads are fixed beforehand."""
    if isinstance(policy.rule, Halving):
        return len(policy.rule.lengths(setting.arms)[0])
    if setting.horizon is None or getattr(policy, "mixed", False):
        return None
    if isinstance(policy.release, FillingLaplace):
        return int(math.log2(setting.horizon)) + 1
    if isinstance(policy.schedule, Geometric):
        growth: Any = policy.schedule.parameters(setting)
        pulls, looks = growth.first, 1
        while (pulls := pulls + math.ceil((growth.ratio - 1.0) * pulls)) <= setting.horizon:
            looks += 1
        return looks
    if isinstance(policy.schedule, EachRound | Regular):
        releases = policy.schedule.releases(setting.horizon)
        return int(math.log2(max(1, releases))) + 1
    return None


def note(
    recorded: Recording, history: list[list[float]], number: int, size: int, value: float
) -> None:
    """Enter the `number`-th release of an arm into its history."""
    if recorded.reads == LAST and history:
        history[0] = [size, value]
    elif recorded.reads != POWERS or number & (number - 1) == 0:
        history.append([size, value])


class Batch(NamedTuple):
    """The rewards and the released sum of one batch."""

    size: int
    total: float


@dataclass(frozen=True)
class Record:
    """All that intervals may be made of."""

    recorded: Recording
    arms: tuple[Any, ...]
    history: tuple[tuple[tuple[int, float], ...], ...]
    outcome_range: tuple[float, float] = (0.0, 1.0)
    kind: str = "auto"
    """the kind of intervals, fixed when the trial was created"""
    binary: bool = False
    """whether outcomes are one of two values, as was declared then"""

    def batches(self, arm: int) -> list[Batch]:
        """The batches of an arm."""
        found, size, total = [], 0, 0.0
        for entry, value in self.history[arm]:
            if self.recorded.kind == FRESH:
                found.append(Batch(int(entry), entry * value))
            else:
                found.append(Batch(int(entry) - size, entry * value - total))
                size, total = int(entry), entry * value
        return found

    def sums(self, arm: int) -> tuple[int, float, int]:
        """Rewards, their noisy sum and the number of noises in it: n, s and k."""
        if self.recorded.kind == AGAIN:
            if not self.history[arm]:
                return 0, 0.0, 0
            size, value = self.history[arm][-1]
            return int(size), size * value, 1
        batches = self.batches(arm)
        size, total = sum(b.size for b in batches), math.fsum(b.total for b in batches)
        if self.recorded.noise.each:
            return size, total, size
        return size, total, len(batches)

    def noise(self, arm: int) -> Noise:
        """The noise of the last read of an arm, or of a batch."""
        noise = self.recorded.noise
        if self.recorded.power and self.history[arm]:
            return noise._replace(
                scale=noise.scale * self.history[arm][-1][0] ** self.recorded.power
            )
        return noise

    def outcome(self, mean: float, *, inside: bool = True) -> float:
        """A mean as it is released, in the units of the outcomes."""
        low, high = self.outcome_range
        value = 0.5 + (mean - 0.5) / self.recorded.factor
        if inside:
            value = min(max(value, 0.0), 1.0)
        return low + (high - low) * value

    def gap(self, difference: float) -> float:
        """A difference of two means, likewise."""
        low, high = self.outcome_range
        return (high - low) * min(max(difference / self.recorded.factor, -1.0), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "recorded": self.recorded.to_dict(),
            "arms": list(self.arms),
            "history": [[list(entry) for entry in arm] for arm in self.history],
            "outcome_range": list(self.outcome_range),
            "kind": self.kind,
            "binary": self.binary,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The inverse of `to_dict`."""
        low, high = data["outcome_range"]
        return cls(
            Recording.from_dict(data["recorded"]), tuple(data["arms"]), frozen(data["history"]),
            (low, high), data["kind"], data["binary"],
        )  # fmt: skip


def frozen(history: Sequence[Sequence[Sequence[float]]]) -> tuple[Any, ...]:
    """A history as tuples."""
    return tuple(tuple((int(size), float(value)) for size, value in arm) for arm in history)


def record_of(source: Any) -> Record:
    """The public record of a trial, of a rehearsal, of a report, or as it is."""
    if isinstance(source, Record):
        return source
    found = source.get("record") if isinstance(source, Mapping) else getattr(source, "record", None)
    if callable(getattr(source, "public_record", None)):
        found = source.public_record()
    if isinstance(found, Record):
        return found
    if isinstance(found, Mapping):
        return Record.from_dict(found)
    raise InvalidArgument(
        "source", "be a trial, a rehearsal or a report whose releases speak of mean outcomes",
        type(source).__name__, "pass a Trial, a Rehearsal, trial.report() or a Record",
    )  # fmt: skip


def check_kind(kind: str, recorded: Recording | None) -> str:
    """The kind of intervals that a row can have: "auto" is the narrowest that holds."""
    if kind not in KINDS:
        raise InvalidArgument("kind", f"be one of {', '.join(KINDS)}", kind, "use 'auto'")
    if recorded is None:
        return kind
    if kind == "auto":
        if recorded.single:
            return "end"
        return "anytime" if recorded.looks is None and recorded.kind != AGAIN else "looks"
    if kind == "looks" and recorded.looks is None:
        raise InvalidArgument(
            "kind", "be 'anytime' where batch sizes depend on earlier releases or no horizon says "
            "how many looks there are", kind, "use kind='anytime', or give a horizon",
        )  # fmt: skip
    if kind == "end" and not recorded.single:
        raise InvalidArgument(
            "kind", "be 'anytime' or 'looks' where releases change how often an arm is played",
            kind, "use kind='auto'; one look is valid with equal shares (the row 'uniform')",
        )  # fmt: skip
    if kind == "anytime" and recorded.kind == AGAIN:
        raise InvalidArgument(
            "kind", "be 'looks' where reads share their rewards (trees)", kind, "use kind='auto'"
        )
    return kind
