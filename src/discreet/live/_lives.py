"""Live trials verified by paired lives: the trial itself, played again and again on symbols.

`policies.verification` follows the kernel of a release. What a trial makes of it is more: pairs
where answers are missing, blocks that are cut off, arms that are dropped or added, an early end,
the record behind the intervals, the report. Here the trial itself is played, with its rules, its
run, its curator and its store as they are. Noise is a symbol; so what is released is a number plus
noises.

Two lives differ in one participant, who gives another outcome or none. Their releases have the
same noises, and the numbers beside them differ by what the noises have to hide, at the price of the
cheapest shift (`privacy.verification.shifts`). Whatever else a trial shows has to be equal in both
lives: a difference that no noise stands beside is hidden by nothing. Released values are those of a
made-up path, the same in both.

>>> import discreet
>>> found = verify_lives(discreet.policy("dp-imed", epsilon=1.0), participants=8)
>>> found.holds, str(found.computed)
(True, 'ε = 1')

A life is an example and proves nothing beyond itself; `discreet.verify` has the proofs.
Responses of the local model are verified there, one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Never

from ..errors import DiscreetError, InvalidArgument
from ..identify import Identifier
from ..policies import Policy
from ..privacy._source import SECURE, Source
from ..privacy.verification import (
    Form,
    Loss,
    NotAffine,
    Symbol,
    Tape,
    main_number,
    spent,
    symbolic,
    within,
)
from ..privacy.verification._choices import Choices
from ..privacy.verification._shifts import UNHIDDEN, loss_between
from ._arguments import grouped
from ._lists import Lists
from ._setup import Plan, Sources, finite_plan
from ._stream_run import StreamRun
from ._trial import Trial
from ._verdicts import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..policies._policy import BasePolicy
    from ..privacy.budgets import Budget
    from ._rules import Action
    from ._run import Outcomes

PARTICIPANTS = 14
DEADLINE = 3.0
RISK = 0.1
AFTER = 4
"""Participants after the verdict of a test, where any come."""
PRIVATE = frozenset({"ledger", "noise", "random", "tape", "steps", "design"})
"""What a run holds and shows no one."""
Outcome = float | None


@lru_cache(maxsize=1)
def symbols() -> Source:
    """Live noise as symbols, at its own scales."""
    return symbolic(SECURE)


# --- a trial whose noise is symbols -------------------------------------------------------------


class Followed:
    """Beside the class of a run: every number that it releases is noted, and replaced by one of the
    path's, so that no rule ever sees a symbol."""

    tape: Tape
    published: list[str]

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        super().publish(actions, outcomes)  # type: ignore[misc]
        for name, value in vars(self).items():
            if name not in PRIVATE:
                self.__dict__[name] = self._plain(value)

    def turn_to(self, key: str, now: float) -> Any:
        self.published.append(key)
        return super().turn_to(key, now)  # type: ignore[misc]

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Form):
            return value.constant if value.is_constant else self.tape.publish(value, 0)
        if type(value) is list:
            value[:] = [self._plain(entry) for entry in value]
        elif isinstance(value, Lists):
            fields: tuple[str, ...] = type(value).__slots__
            for field in fields:
                setattr(value, field, self._plain(getattr(value, field)))
        elif type(value) is dict:
            return {key: self._plain(entry) for key, entry in value.items()}
        elif hasattr(value, "_fields"):
            return type(value)(*map(self._plain, value))
        elif isinstance(value, tuple) and any(isinstance(x, Form) for x in value):
            raise NotAffine("it keeps a noisy number where it is not looked for")
        return value


@lru_cache(maxsize=64)
def _followed(kind: type) -> type:
    return type(f"Followed{kind.__name__}", (Followed, kind), {})


class SymbolicTrial(Trial):
    """`Trial`, in all that it does, but for its noise."""

    def __init__(self, tape: Tape, published: list[str], *arguments: Any, **options: Any) -> None:
        self._sources = Sources(symbols(), Choices("window"), tape)
        self._followed = tape, published
        super().__init__(*arguments, **options)

    def _planned(self, policy: BasePolicy[Never], arms: int, **options: Any) -> Plan:
        for name in ("dimension", "longest", "batch"):
            options.pop(name)
        assert isinstance(policy, Policy)
        return self._following(finite_plan(policy, arms, sources=self._sources, **options))

    def _following(self, plan: Plan) -> Plan:
        run: Any = object.__new__(_followed(type(plan.run)))
        grown = plan.grown
        run.__dict__.update(plan.run.__dict__)
        run.tape, run.published = self._followed

        def followed(arms: int) -> Plan:
            assert grown is not None
            return self._following(grown(arms))

        return plan._replace(run=run, grown=None if grown is None else followed)


# --- lives --------------------------------------------------------------------------------------


class Life(NamedTuple):
    """What happens in a trial, whatever its participants answer."""

    name: str
    options: dict[str, Any]
    in_the_middle: Callable[[Trial], object] | None = None
    at_the_end: Callable[[Trial], object] | None = None


def open_arms(trial: Trial) -> list[int]:
    """Arms that have someone in their open block: what is changed then cuts a block."""
    run = trial._run
    return run.open_arms if isinstance(run, StreamRun) and run.CHANGES else [0]


def _drop(trial: Trial) -> None:
    """The last arm that has someone in its open block, if there is one."""
    trial.drop(trial.arms[max(open_arms(trial), default=-1)])


def _add(trial: Trial) -> None:
    trial.add("added")


def _finish(trial: Trial) -> None:
    trial.finish()


def _discard(trial: Trial) -> None:
    trial.finish(discard=True)


def _stop(trial: Trial) -> None:
    trial.stop(because="board")


WAITING: dict[str, Any] = {"deadline": DEADLINE}
BETWEEN = 0.25
"""What silence counts as in some lives, where an outcome may be that."""
LIVES = (
    Life("everybody answers", {}, None, _finish),
    Life("single batches", {"streams": False}),
    Life(
        "answers are missing, and are estimated", WAITING | {"missing": "estimate"}, None, _finish
    ),
    Life(
        "answers are missing, and count as a value", WAITING | {"missing": BETWEEN}, None, _finish
    ),
    Life("fractions are rounded", WAITING | {"missing": BETWEEN, "rounded": True}, None, _finish),
    Life("an arm is dropped", WAITING | {"missing": "estimate"}, _drop, _finish),
    Life("an arm is dropped, nobody is waited for", {}, _drop, _finish),
    Life("an arm is added", WAITING | {"missing": BETWEEN}, _add, _finish),
    Life("finished early", WAITING | {"missing": "estimate"}, _finish),
    Life("what is open is thrown away", WAITING | {"missing": BETWEEN}, _discard),
    Life("stopped by a board", WAITING | {"missing": BETWEEN}, _stop),
)


class Shown(NamedTuple):
    """All that one life showed."""

    numbers: list[Form]
    kinds: list[Symbol]
    public: list[object]
    published: list[str]


def play(policy: Policy, arms: int, life: Life, outcomes: Sequence[Outcome]) -> Shown:
    """One life: everyone comes at their hour, and answers at once or never."""
    path = Choices("path")
    tape, published = Tape(lambda _: path.random()), list[str]()
    public = lead(
        partial(SymbolicTrial, tape, published), policy, arms, life, outcomes,
        lambda trial: (trial.status, trial.rounds, len(published)), _seen,
    )  # fmt: skip
    return Shown(tape.numbers, tape.symbols, public, published)


def lead(
    make: Callable[..., Trial], policy: Policy, arms: int, life: Life,
    outcomes: Sequence[Outcome], glance: Callable[[Trial], object],
    look: Callable[[Trial], object],
) -> list[object]:  # fmt: skip
    """What a trial shows in a life: what every call answers, what `glance` sees after each
    participant, and `look` after what happens in the middle and at the end."""
    options = dict(life.options)
    whole = policy.release.takes_binary and not options.get("rounded")
    if whole and options.get("missing") == BETWEEN:
        options["missing"] = 0.0
    if isinstance(policy, Identifier) and not policy.fixed_size:
        options["risk"] = RISK if policy.risk is None else policy.risk
    now, public = [0.0], list[object]()
    size = None if is_test(policy) else len(outcomes)  # a test has its own
    trial = make(policy, arms, horizon=size, clock=lambda: now[0], **grouped(options))
    change = life.in_the_middle
    for number, outcome in enumerate(outcomes):
        now[0] += 0.5
        late = number >= len(outcomes) // 2 and (open_arms(trial) or number == len(outcomes) - 1)
        if change is not None and late:
            _told(public, change, trial)
            change = None
            public.append(look(trial))
        if _told(public, trial.assign, number) and outcome is not None:
            trial.record(number, outcome)
        public.append(glance(trial))
    if life.at_the_end is not None:
        _told(public, life.at_the_end, trial)
    now[0] += 2 * DEADLINE
    trial.settle()
    public.append(look(trial))
    trial.close()
    return public


def _told(public: list[object], call: Callable[..., object], *arguments: object) -> bool:
    """What a call answers, or how it refuses; whether it answers."""
    try:
        public.append(call(*arguments))
        return True
    except DiscreetError as refusal:
        public.append(f"{type(refusal).__name__}: {refusal}")
        return False


def _seen(trial: Trial) -> object:
    """Everything that a trial says of itself, and the public part of what it stores."""
    return trial.report(), repr(trial), str(trial.guarantee), trial._run.public(), trial._fixed


# --- pairs of lives -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Lives:
    """The dearest pair of lives."""

    policy: str
    claimed: Budget
    computed: Budget
    worst: str
    kinds: tuple[str, ...]
    """the lives that this policy can lead"""
    pairs: int
    blocks: int
    """that were released in all of them"""

    @property
    def holds(self) -> bool:
        """Whether no pair costs more than is claimed."""
        return within(self.computed, self.claimed)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        number = main_number(self.computed)
        return {
            "holds": self.holds,
            "claimed": self.claimed.to_dict(),
            "computed": self.computed.to_dict() if math.isfinite(number) else "infinity",
            "worst": self.worst,
            "kinds": list(self.kinds),
            "pairs": self.pairs,
            "blocks": self.blocks,
        }

    def __str__(self) -> str:
        word = "none costs" if self.holds else "some cost"
        return (
            f"lives     {self.pairs:,} pairs of {len(self.kinds)} kinds of live trials, and {word} "
            f"more than {self.claimed}; the dearest costs {self.computed} ({self.worst})"
        )


def verify_lives(
    policy: Policy, arms: int = 3, *, participants: int = PARTICIPANTS,
    lives: Sequence[Life] = LIVES,
) -> Lives:  # fmt: skip
    """What one participant's outcome, or silence, costs in lives of a trial of this policy."""
    if policy.release.respond is not None:
        raise InvalidArgument(
            "policy", "have a curator, whose releases lives are about", policy.name,
            "use discreet.verify with live=True, which verifies single responses",
        )  # fmt: skip
    if is_test(policy):  # all that its design has, and some of those who come after its verdict
        participants = policy.design.participants
        participants = min(participants + AFTER, max(policy.rest, participants))
    claimed = policy.guarantee_at(participants).budget
    dearest, worst, kinds, pairs, blocks = Loss(), "nothing was released", list[str](), 0, 0
    budget = spent(dearest, claimed, True)
    for life in lives:
        try:
            base = play(policy, arms, life, answers(policy, participants, life))
        except InvalidArgument:
            continue  # this policy leads no such life
        kinds.append(life.name)
        blocks += len(base.published)
        if len(set(base.published)) < len(base.published):
            return Lives(
                policy.name, claimed, spent(UNHIDDEN, claimed, True),
                f"a block is released twice: {life.name}", tuple(kinds), pairs, blocks,
            )  # fmt: skip
        for who, first, second in neighbours(policy, arms, life, participants, base):
            pairs += 1
            cost = spent(told_apart(first, second), claimed, True)
            if main_number(cost) > main_number(budget) * (1.0 + 1e-12):
                budget, worst = cost, f"participant {who}: {life.name}"
    return Lives(policy.name, claimed, budget, worst, tuple(kinds), pairs, blocks)


def answers(policy: Policy, participants: int, life: Life) -> list[Outcome]:
    """What everyone answers in the life that others are held against; some never do, where that
    may be."""
    silent, kinds = "deadline" in life.options, (0.0, 1.0, 0.75)
    if policy.release.takes_binary and not life.options.get("rounded"):
        kinds = (0.0, 1.0, 1.0)
    return [
        None if silent and number % 4 == 3 else kinds[number % 3] for number in range(participants)
    ]


def neighbours(
    policy: Policy, arms: int, life: Life, participants: int, base: Shown
) -> Iterator[tuple[int, Shown, Shown]]:
    """Pairs of lives that differ in one participant: other outcomes, and none where some may be
    silent."""
    for who in range(participants):
        worlds = list[Shown]()
        for outcome in (0.0, 1.0, *([None] if "deadline" in life.options else [])):
            said = answers(policy, participants, life)
            if said[who] == outcome:
                worlds.append(base)
                continue
            said[who] = outcome
            worlds.append(play(policy, arms, life, said))
        for place, first in enumerate(worlds):
            for second in worlds[place + 1 :]:
                yield who, first, second


def told_apart(first: Shown, second: Shown) -> Loss:
    """What hides which of two lives was led: nothing, if anything but noisy numbers differs."""
    if first.public != second.public or first.published != second.published:
        return UNHIDDEN
    if first.kinds != second.kinds:
        return UNHIDDEN
    return loss_between(first.numbers, second.numbers, first.kinds)
