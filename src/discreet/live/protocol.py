"""The protocol of a run: choose an arm, play a batch of it, release the batch, choose again.

The simulator's loop, one step at a time and interpreted, on plain lists. Rehearsals and live trials
differ in nothing but the source of noise: `SIMULATED` is handed a seeded generator, `SECURE` is
handed none, and draws integers from OpenDP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

from ..compiled import Function
from ..errors import DamagedFile
from ..identify.trials import verdict_of
from ..inference.record import Record, Recording, frozen, note, recording
from ..policies import Policy
from ..policies.schedules import UNTIL_THE_END
from ..policies.view import Setting, fresh_view
from ..privacy.source import SECURE, SIMULATED, Source
from .run import Run, as_lists, count_in


class Kernels(NamedTuple):
    """The functions of a row, with one source's noise filled in."""

    choose: Function
    length: Function
    publish: Function
    respond: Function | None
    """what local releases make of one reward; None where a curator is trusted"""


class Protocol(Run):
    """A run of a finite-armed row. A batch is of one arm, and its length is known beforehand.

    `finish(total)` closes the open batch and opens the next.
    """

    __slots__ = ("arm", "history", "memory", "recorded", "rounds", "verdict")
    PARTS: ClassVar[tuple[str, ...]] = ("view", "ledger", "memory")

    arm: int
    """arm of the open batch"""
    rounds: int
    """its length; 0 once the horizon is reached"""
    recorded: Recording | None
    """what the releases are; None where they do not speak of the mean outcome"""
    history: list[list[list[float]]] | None
    """the public record, by arm; None if it was not kept from the beginning"""

    def __init__(self, policy: Policy, setting: Setting, chance: Any, noise: Any) -> None:
        self.kernels: Kernels = linked_kernels(policy, setting.source.secure)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.verdict = verdict_of(policy, setting)
        self.recorded = recording(policy, setting)
        self.history = [[] for _ in range(setting.arms)]
        self.horizon = setting.horizon
        self.chance, self.noise = chance, noise
        self.view: Any = as_lists(fresh_view(setting.arms))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.memory = as_lists(policy.rule.memory(setting))
        self.releases = [0] * setting.arms  # of every arm
        self.t, self.arm, self.rounds, self.cut, self.answer = 0, 0, 0, False, None
        self.begin()

    def begin(self) -> None:
        """Open the next batch. One that the horizon cuts off is played but never released."""
        t, horizon, kernels, memory, view = (
            self.t, self.horizon, self.kernels, self.memory, self.view,
        )  # fmt: skip
        if horizon is not None and t >= horizon:
            self.rounds, self.cut = 0, True
            return
        self.arm = arm = kernels.choose(self.rule, memory, view, t, self.chance)
        rounds = kernels.length(self.schedule, memory, view, arm)
        if horizon is not None and rounds > horizon - t:
            self.rounds, self.cut = horizon - t, True
        else:
            self.rounds, self.cut = rounds, rounds >= UNTIL_THE_END

    def finish(self, total: Any) -> None:
        """Release the open batch, whose rewards sum to `total`, and open the next one."""
        arm, rounds, view = self.arm, self.rounds, self.view
        self.t += rounds
        view.pulls[arm] += rounds
        if not self.cut:
            value, size = view.value[arm], view.size[arm]
            self.kernels.publish(self.release, self.ledger, view, arm, rounds, total, self.noise)
            # some releases go on collecting and show nothing yet
            if view.size[arm] != size or view.value[arm] != value:
                self.releases[arm] += 1
                if self.recorded is not None and self.history is not None:
                    size, value = int(view.size[arm]), float(view.value[arm])
                    note(self.recorded, self.history[arm], self.releases[arm], size, value)
            if self.verdict is not None:
                self.answer = self.verdict(self.rule, self.memory, view, self.t)
                if self.answer is not None:
                    self.rounds, self.cut = 0, True
                    return
        self.begin()

    def arm_for(self, context: None) -> int:
        return self.arm

    def joined(self, action: list[int] | None, slot: int) -> Self:
        return self

    def may_play(self, arm: int) -> bool:
        return arm == self.arm

    def is_full(self, filled: int) -> bool:
        return filled >= self.rounds

    def finish_batch(self, actions: Mapping[int, list[int]], outcomes: Sequence[int]) -> None:
        self.finish(sum(outcomes))

    @property
    def is_local(self) -> bool:
        return self.kernels.respond is not None

    def respond(self, reward: Any) -> Any:
        respond = self.kernels.respond
        assert respond is not None
        return respond(self.release, reward, self.noise)

    def copy(self) -> Self:
        other = super().copy()
        if self.history is not None:
            other.history = [list(map(list, arm)) for arm in self.history]
        return other

    def record(
        self, arms: Sequence[Any], outcome_range: tuple[float, float], kind: str, binary: bool
    ) -> Record | None:
        """The public record, for inference."""
        if self.recorded is None or self.history is None:
            return None
        return Record(self.recorded, tuple(arms), frozen(self.history), outcome_range, kind, binary)

    def to_dict(self) -> dict[str, Any]:
        batch = {"arm": self.arm, "rounds": self.rounds, "answer": self.answer}
        history = self.history and [list(map(list, arm)) for arm in self.history]
        return super().to_dict() | batch | {"history": history}

    def restore(self, data: Any) -> None:
        super().restore(data)
        self.arm, self.rounds = count_in(data, "arm"), count_in(data, "rounds")
        if self.arm >= len(self.releases):
            raise DamagedFile("the state of the run has no open batch")
        answer = data.get("answer")
        if answer is not None and (type(answer) is not int or not 0 <= answer < len(self.releases)):
            raise DamagedFile("the state of the run recommends no arm that there is")
        self.answer = answer
        self.history = history_in(data, len(self.releases))


def history_in(data: Mapping[str, Any], arms: int) -> list[list[list[float]]] | None:
    """The saved record; None in files from before there was one."""
    history = data.get("history")
    if history is None:
        return None
    fits = type(history) is list and len(history) == arms
    for arm in history if fits else ():
        fits = fits and type(arm) is list and all(
            type(entry) is list and len(entry) == 2 and type(entry[0]) is int
            and type(entry[1]) in (int, float)
            for entry in arm
        )  # fmt: skip
    if not fits:
        raise DamagedFile("the state of the run has a damaged record of releases")
    return [[[size, float(value)] for size, value in arm] for arm in history]


@lru_cache(maxsize=256)
def linked_kernels(policy: Policy, secure: bool) -> Kernels:
    """A row's functions, interpreted, with the noise of one source."""
    source: Source = SECURE if secure else SIMULATED
    respond = policy.release.respond_kernel(source)
    return Kernels(
        policy.choose_kernel.interpreted(),
        policy.length_kernel.interpreted(),
        policy.release.publish_kernel(source).interpreted(),
        None if respond is None else respond.interpreted(),
    )
