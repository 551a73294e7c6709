"""A policy stepped by hand, a reward at a time: what `Rehearsal` without a calendar plays.

A shortcut of plan *one batch*, two to three times as fast as the protocol where a batch is one
round: the steps of the simulator's loop (`policies._step`), interpreted. The same seed gives the
same run as `simulate`, to the last bit, and tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import DamagedFile
from ..identify._trials import verdict_of
from ..inference._record import recording
from ..policies import Policy
from ..policies._schedules import UNTIL_THE_END
from ..policies._step import interpreted_steps
from ..policies._view import Setting, fresh_view, shown
from ..privacy._source import SIMULATED
from ._lists import as_lists, count_in, is_like, restored
from ._randomness import SeenDraws
from ._recorded import Recorded

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Function

PARTS = ("view", "ledger", "memory")
ENDLESS = UNTIL_THE_END - 1
"""Stands in for the horizon where there is none: a batch that never ends is never released."""


class Rounds(Recorded):
    """Where such a run stands."""

    t: int
    """rounds before the open batch"""
    rounds: int
    """length of the open batch; 0 once the horizon is reached"""
    length: int
    """the same; 0 if it is never released"""
    answer: int | None
    """the recommended arm, once a policy that identifies has stopped"""

    def __init__(self, policy: Policy, setting: Setting, rng: Generator) -> None:
        self.steps = interpreted_steps(policy, SIMULATED)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.verdict = verdict_of(policy, setting)
        self.recorded = recording(policy, setting)
        self.horizon, self.rng = setting.horizon, rng
        self.view = as_lists(fresh_view(setting.arms))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.memory = self.before = as_lists(policy.rule.memory(setting))
        self.has_notes = bool(self.memory.to_dict())
        self.releases, self.history = [0] * setting.arms, [[] for _ in range(setting.arms)]
        self.record_lazily()
        self.t = self.arm = self.rounds = self.length = 0
        self.answer = None
        self.begin()

    @property
    def respond(self) -> Function | None:
        """What local releases make of one reward; None where a curator is trusted."""
        return self.steps.respond

    def close(self, total: float) -> None:
        """Release the batch, whose rewards (or their devices' answers) sum to this, unless the
        horizon cut it off; open the next."""
        arm, length, view = self.arm, self.length, self.view
        self.t += self.rounds
        view.pulls[arm] += self.rounds
        if length > 0:
            value, size = view.value[arm], view.size[arm]
            self.steps.close_batch(self.release, self.ledger, view, arm, length, total, self.rng)
            if view.size[arm] != size or view.value[arm] != value:
                self.releases[arm] += 1  # some continue collecting and show nothing yet
                if not self.lazy:
                    self.note(arm)
        self.begin()

    def begin(self) -> None:
        """The next batch."""
        t, last = self.t, ENDLESS if self.horizon is None else self.horizon
        if self.verdict is not None and t > 0:
            self.answer = self.verdict(self.rule, self.memory, self.view, t)
        if self.answer is not None or t >= last:
            self.rounds = self.length = 0
            return
        if self.has_notes:
            self.before = self.memory.copy()
        self.arm, self.rounds, self.length = self.steps.open_batch(
            self.schedule, self.rule, self.memory, self.view, t, last, self.rng
        )

    def propensities(self, choose: Function, draws: int) -> list[float]:
        """How often the rule would have named each arm for the open batch, of so many times; once
        if it draws no coins."""
        import numpy as np

        generator, found = np.random.Generator(np.random.PCG64(0)), [0] * len(self.releases)
        for _ in range(draws):
            coins = SeenDraws(generator)
            memory = self.before.copy()
            found[choose(self.rule, memory, shown(self.view), self.t, coins)] += 1
            if not coins.drawn:
                break
        return [many / sum(found) for many in found]

    def to_dict(self) -> dict[str, object]:
        """Ready for JSON; without the generator."""
        return {
            "t": self.t, "arm": self.arm, "rounds": self.rounds, "length": self.length,
            "answer": self.answer, "releases": self.releases.copy(),
            "history": self.saved_history(),
            **{name: getattr(self, name).to_dict() for name in PARTS},
        }  # fmt: skip

    def restore(self, data: object) -> None:
        """Stand where `to_dict` was called."""
        if not isinstance(data, Mapping):
            raise DamagedFile("the state of the run is missing")
        parts = {name: restored(name, getattr(self, name), data) for name in PARTS}
        releases, answer = data.get("releases"), data.get("answer")
        if type(releases) is not list or not is_like(releases, self.releases):
            raise DamagedFile("the state of the run lacks its counts of releases")
        if answer is not None and (type(answer) is not int or not 0 <= answer < len(releases)):
            raise DamagedFile("the state of the run recommends no arm that there is")
        counts = {name: count_in(data, name) for name in ("t", "rounds", "length")}
        self.restore_record(data)
        self.releases, self.answer = releases.copy(), answer
        for name, value in {**parts, **counts}.items():
            setattr(self, name, value)
