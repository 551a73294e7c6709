"""The protocol of a run: choose an arm, play a batch of it, release the batch, choose again.

The simulator's loop, one step at a time and interpreted, on plain lists. Rehearsals and live trials
differ in nothing but the source of noise: `SIMULATED` is handed a seeded generator, `SECURE` is
handed none, and draws integers from OpenDP.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

from ..compiled import Function
from ..errors import DamagedFile
from ..identify.trials import verdict_of
from ..policies import Policy
from ..policies.schedules import UNTIL_THE_END
from ..policies.view import Setting, fresh_view
from ..privacy.source import SECURE, SIMULATED, Source


class Kernels(NamedTuple):
    """The functions of a row, with one source's noise filled in."""

    choose: Function
    length: Function
    publish: Function
    respond: Function | None
    """what local releases make of one reward; None where a curator is trusted"""


class Protocol:
    """Where a run stands: the view, the curator's ledger, the rule's memory and the open batch.

    `finish(total)` closes the open batch and opens the next. Noise draws on `noise`, the choices of
    sampling rules on `chance`: both the seeded generator in a rehearsal, None and the system's
    randomness in a trial.
    """

    __slots__ = (
        "answer", "arm", "chance", "cut", "horizon", "kernels", "ledger", "memory", "noise",
        "release", "releases", "rounds", "rule", "schedule", "t", "verdict", "view",
    )  # fmt: skip

    def __init__(self, policy: Policy, setting: Setting, chance: Any, noise: Any) -> None:
        self.kernels = linked_kernels(policy, setting.source.secure)
        self.schedule = policy.schedule.parameters(setting)
        self.release = policy.release.parameters(setting)
        self.rule = policy.rule.parameters(setting)
        self.verdict = verdict_of(policy, setting)
        self.horizon = setting.horizon
        self.chance, self.noise = chance, noise
        self.view: Any = as_lists(fresh_view(setting.arms))
        self.ledger = as_lists(policy.release.ledger(setting))
        self.memory = as_lists(policy.rule.memory(setting))
        self.releases = [0] * setting.arms
        """releases of every arm so far"""
        self.t = 0
        """rounds before the open batch"""
        self.arm = 0
        """arm of the open batch"""
        self.rounds = 0
        """its length; 0 once the horizon is reached"""
        self.cut = False
        """whether it is never released, because the horizon cuts it off"""
        self.answer: int | None = None
        """the recommended arm, once a row that identifies has stopped"""
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
            if self.verdict is not None:
                self.answer = self.verdict(self.rule, self.memory, view, self.t)
                if self.answer is not None:
                    self.rounds, self.cut = 0, True
                    return
        self.begin()

    @property
    def is_local(self) -> bool:
        """Whether every reward is randomised on its own."""
        return self.kernels.respond is not None

    def respond(self, reward: Any) -> Any:
        """What a local release makes of one reward."""
        respond = self.kernels.respond
        assert respond is not None
        return respond(self.release, reward, self.noise)

    def copy(self) -> Protocol:
        """The same place, to step on from without touching this one."""
        other = object.__new__(Protocol)
        for name in Protocol.__slots__:
            setattr(other, name, getattr(self, name))
        for name in ("view", "ledger", "memory", "releases"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def to_dict(self) -> dict[str, Any]:
        """Where the run stands, ready for JSON; no random state."""
        return {
            "t": self.t,
            "arm": self.arm,
            "rounds": self.rounds,
            "cut": self.cut,
            "answer": self.answer,
            "releases": self.releases.copy(),
            "view": self.view.to_dict(),
            "ledger": self.ledger.to_dict(),
            "memory": self.memory.to_dict(),
        }

    def restore(self, data: Any) -> None:
        """Stand where `to_dict` was called."""
        if not isinstance(data, Mapping):
            raise DamagedFile("the state of the run is missing")
        parts = {name: _restored(name, self, data) for name in ("view", "ledger", "memory")}
        if not _is_like(data.get("releases"), self.releases):
            raise DamagedFile("the state of the run lacks its counts of releases")
        counts = {name: data.get(name) for name in ("t", "arm", "rounds")}
        for name, count in counts.items():
            if type(count) is not int or count < 0:
                raise DamagedFile(f"the state of the run lacks its {name}")
        if data["arm"] >= len(self.releases) or type(data.get("cut")) is not bool:
            raise DamagedFile("the state of the run has no open batch")
        answer = data.get("answer")
        if answer is not None and (type(answer) is not int or not 0 <= answer < len(self.releases)):
            raise DamagedFile("the state of the run recommends no arm that there is")
        self.answer = answer
        parts["releases"], parts["cut"] = list(data["releases"]), data["cut"]
        for name, value in {**counts, **parts}.items():
            setattr(self, name, value)


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


class Lists:
    """A NamedTuple of arrays as an object of lists: the kernels read it twice as fast."""

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """A copy, by field."""
        fields: tuple[str, ...] = self.__slots__
        return {name: _copied(getattr(self, name)) for name in fields}

    def copy(self) -> Self:
        """The same lists again."""
        return type(self)(**self.to_dict())


@lru_cache(maxsize=256)
def _lists_of(kind: type) -> type[Lists]:
    fields: tuple[str, ...] = getattr(kind, "_fields")  # noqa: B009 - a NamedTuple of some kind
    return type(kind.__name__, (Lists,), {"__slots__": fields})


def as_lists(state: Any) -> Lists:
    """The arrays of a NamedTuple as lists; single numbers stay."""
    fields = {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in state._asdict().items()
    }
    kind: type = type(state)
    return _lists_of(kind)(**fields)


def _copied(value: Any) -> Any:
    return value.copy() if type(value) is list else value


def _restored(name: str, run: Protocol, data: Mapping[str, Any]) -> Any:
    """The saved part of that name, if it has the shape of a fresh one."""
    fresh, saved = getattr(run, name), data.get(name)
    if not isinstance(saved, Mapping) or set(saved) != set(fresh.__slots__):
        raise DamagedFile(f"the state of the run lacks its {name}")
    for field in fresh.__slots__:
        if not _is_like(saved[field], getattr(fresh, field)):
            raise DamagedFile(f"the {name} of the run has a {field} of another shape")
    return type(fresh)(**{field: _copied(value) for field, value in saved.items()})


def _is_like(saved: Any, fresh: Any) -> bool:
    if type(fresh) is not list:
        return _is_number(saved)
    same = type(saved) is list and len(saved) == len(fresh)
    return same and all(_is_number(value) for value in saved)


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float
