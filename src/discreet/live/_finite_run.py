"""Runs of finite-armed policies: what all have, and the one that plays a block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from .._checks import Name
from .._compiled import Function
from ..errors import DamagedFile
from ..identify._trials import verdict_of
from ..inference._record import History, Record, Recording, frozen, note, recording
from ..policies import Policy
from ..policies._schedules import UNTIL_THE_END
from ..policies._view import Setting, fresh_view, shown
from ..policies.releases._entries import LAST, Silence
from ..privacy._source import Source
from ._lists import as_lists, copied_history, count_in, history_in
from ._rules import Action
from ._run import Context, OneBlock, Outcomes, Run

if TYPE_CHECKING:
    from .._types import Json
    from ._randomness import Draws
    from .stores import Block


class Kernels(NamedTuple):
    """The functions of a row for finite arms, with one source's noise filled in."""

    choose: Function
    length: Function
    publish: Function
    respond: Function | None
    """what local releases make of one reward; None where a curator is trusted"""


class ArmRun(Run):
    """A run whose blocks are of one arm: its public record, and what local releases make of a
    reward."""

    NUMBERS: ClassVar[int] = 1
    """numbers that a release adds to the record"""

    kernels: Kernels
    release: Any
    """the parameters of the release"""
    arm: int
    """arm of the open block, or of the one that is released"""
    memory: Any
    """the rule's own notes"""
    recorded: Recording | Silence
    """what the releases are, or why they do not speak of a mean"""
    history: History | None
    """the public record, by arm; None if it was not kept from the beginning"""
    lazy: bool
    """whether it is brought up to date when it is asked for: of running totals the last entry is
    all that counts"""

    def largest_scale(self, policy: Policy, setting: Setting) -> float:
        """The largest scale, in steps, that noise can have up to the horizon."""
        return policy.release.largest_scale(setting)

    def completed(self, block: Block, default: int | None) -> Outcomes:
        """The sum of the outcomes of a block."""
        return sum(super().completed(block, default))

    def _note(self, arm: int) -> None:
        """Enter the last release of an arm into the record."""
        if isinstance(self.recorded, Recording) and self.history is not None:
            note(self.recorded, self.history, arm, self.releases, self.view, self.memory)

    def noted(self) -> History | None:
        """The public record, by arm, up to now."""
        for arm, number in enumerate(self.releases) if self.lazy else ():
            if number:
                self._note(arm)
        return self.history

    def abandon(self, filled: int) -> None:
        """A block of this run that is cut off stays open: nothing of it is ever kept."""

    @property
    def is_local(self) -> bool:
        return self.kernels.respond is not None

    def respond(self, reward: int) -> int:
        respond = self.kernels.respond
        assert respond is not None
        response: int = respond(self.release, reward, self.noise)
        return response

    def copy(self) -> Self:
        other = super().copy()
        other.history = copied_history(self.history)
        return other

    def record(
        self, arms: Sequence[Name], outcome_range: tuple[float, float], kind: str, binary: bool
    ) -> Record | None:
        """The public record, for inference."""
        history = self.noted()
        if not isinstance(self.recorded, Recording) or history is None:
            return None
        return Record(self.recorded, tuple(arms), frozen(history), outcome_range, kind, binary)

    @property
    def silence(self) -> str:
        """Why there is no record; empty where there is one."""
        if isinstance(self.recorded, Silence):
            return self.recorded.reason
        return "" if self.history is not None else "its history was not kept from the beginning"

    def saved_history(self) -> History | None:
        """A copy, for JSON."""
        return copied_history(self.noted())

    def _restore_record(self, data: Json) -> None:
        self.arm = count_in(data, "arm")
        self.history = history_in(data, len(self.releases), self.NUMBERS)
        if self.arm >= len(self.releases):
            raise DamagedFile("the state of the run has no open block")


class FiniteRun(ArmRun, OneBlock):
    """A block at a time, each of one arm, its length known beforehand."""

    PARTS: ClassVar[tuple[str, ...]] = ("view", "ledger", "memory")
    BEGUN: ClassVar[tuple[str, ...]] = ("arm", "rounds", "memory")

    rounds: int
    """length of the open block; 0 once the horizon is reached"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Draws, noise: Draws | None
    ) -> None:
        self.kernels = linked_kernels(policy, setting.source)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.verdict = verdict_of(policy, setting)
        self.recorded = recording(policy, setting)
        self.history = [[] for _ in range(setting.arms)]
        self.horizon = setting.horizon
        self.random, self.noise = random, noise
        self.view = as_lists(fresh_view(setting.arms))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.memory = as_lists(policy.rule.memory(setting))
        self.releases = [0] * setting.arms  # of every arm
        self.t, self.arm, self.rounds, self.cut, self.answer = 0, 0, 0, False, None
        self.begun, self.private = True, False
        self.lazy = isinstance(self.recorded, Recording) and self.recorded.reads == LAST
        self.begin()

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        arm, rounds, view = self.arm, self.rounds, self.view
        self.t += rounds
        view.pulls[arm] += rounds
        if not self.cut:
            value, size = view.value[arm], view.size[arm]
            self.kernels.publish(self.release, self.ledger, view, arm, rounds, outcomes, self.noise)
            if view.size[arm] != size or view.value[arm] != value:
                self.releases[arm] += 1  # some releases go on collecting and show nothing yet
                if not self.lazy:
                    self._note(arm)
        self.rounds, self.begun = 0, False

    def begin(self) -> None:
        """The next block. One that the horizon cuts off is played but never released."""
        t, horizon, memory, view = self.t, self.horizon, self.memory, shown(self.view)
        if self.verdict is not None and not self.cut and t > 0:
            self.answer = self.verdict(self.rule, memory, view, t)
        if self.answer is not None or (horizon is not None and t >= horizon):
            self.rounds, self.cut = 0, True
        else:
            self.arm = arm = self.kernels.choose(self.rule, memory, view, t, self.random)
            rounds = self.kernels.length(self.schedule, memory, view, arm)
            if horizon is not None and rounds > horizon - t:
                self.rounds, self.cut = horizon - t, True
            else:
                self.rounds, self.cut = rounds, rounds >= UNTIL_THE_END
        self.begun = True

    def choice(self, context: Context) -> tuple[int, Action | None]:
        return self.arm, None

    def is_full(self, filled: int) -> bool:
        return filled >= self.rounds

    def public(self) -> dict[str, object]:
        history = self.saved_history()
        return super().public() | {"arm": self.arm, "rounds": self.rounds, "history": history}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        self._restore_record(data)
        self.rounds = count_in(data, "rounds")


@lru_cache(maxsize=256)
def linked_kernels(policy: Policy, source: Source) -> Kernels:
    """A row's functions, interpreted, with the noise of one source."""
    respond = policy.release.respond_kernel(source)
    return Kernels(
        policy.choose_kernel.interpreted(),
        policy.length_kernel.interpreted(),
        policy.release.publish_kernel(source).interpreted(),
        None if respond is None else respond.interpreted(),
    )
