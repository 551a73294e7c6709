"""Live trials: adaptive experiments on real people, with noise that nobody can replay.

>>> import discreet
>>> trial = discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), arms=["A", "B"])
>>> arm = trial.assign("patient-1")
>>> trial.record("patient-1", 1.0)
>>> print(trial.guarantee.short())
ε = 1 (interactive)

The trial is the curator: it alone holds outcomes, and only until their block is released. All that
it shows is made of releases and of public counts. `rules` say what is to be done, `run` steps the
policy, a `Store` holds everything; this class has the order of things: draw, store, erase, show.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..checks import (
    Name,
    Unshown,
    check_arms,
    check_clock,
    check_unit,
    count,
    number_of,
    positive,
    read_clock,
)
from ..errors import ConflictingOutcome, DamagedFile, InvalidArgument, TrialError, UnknownUnit
from ..identify import Identifier
from ..identify.setting import one_risk
from ..privacy.guarantees import Guarantee
from . import report as reports
from . import rules
from .pairs import PairRun
from .rows import row_from_dict, row_to_dict
from .rules import Admission, Effect, Member, Place, Standing, Terms
from .setup import Plan, plan_for
from .stores import Block, FileStore, MemoryStore, Store
from .stores.base import bare
from .streaming import Streaming
from .streams import StreamRun, check_shares

if TYPE_CHECKING:
    from ..inference.record import Record
    from .contexts import Features
    from .run import Run

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others."""
EVERYBODY_RESPONDS = "every participant responds, or it is public who responded"
CONFLICTS = ("refuse", "ignore")


class Trial(Streaming):
    """An adaptive experiment that keeps the outcomes of its units private.

    `assign(unit)` says which arm a unit gets, always the same one; `record(unit, outcome)` hands in
    what came of it. Every unit takes a place in the stream of its arm; a stream is cut into blocks
    beforehand, and a block is released once, `deadline` seconds after its last place was taken.
    Policies whose rule has a memory, and those with contexts, play single batches instead: units
    that arrive while one waits get an arm, and their outcomes are not used.

    - `horizon`: how many assignments are used at most; some policies need it.
    - `goal`: "regret" to treat well on the way, or "identify", with an identifying policy, to
      stop with a recommendation that is wrong with probability at most `risk` (`delta` is its
      older name), or, with a policy of a fixed size, after its number of participants.
    - `deadline`: seconds after its assignment until which an outcome counts (in single batches:
      after the last assignment of its batch); a block is released that long after its last place
      was taken, whoever has responded by then; for missing outcomes see `missing`. Without a
      deadline a block waits until everybody has responded, and the guarantee rests on that.
    - `missing`: "estimate" to release how many answered beside the sum of what they answered, at no
      further price, and to learn from those (the default where the policy can); or the value that
      a missing outcome counts as. `default` is an older name for the latter.
    - `streams`: False for single batches also where the policy could do otherwise.
    - `window`: how many assignments are planned at once, and given out in a random order; default:
      two for each arm. A day's arrivals is a good choice.
    - `share`: the least share of an arm in every window, by name: `share={"control": 0.2}`.
    - `outcome_range`: the least and the largest outcome; default: (0, 1). `binary`: whether
      outcomes can only be one of these two.
    - `intervals`: the kind that the report shows, fixed here: "auto", "anytime", "looks" or "end".
    - `contributions`: how many outcomes of one unit may be used; the guarantee covers all.
    - `conflicts`: "refuse" a second, different outcome of a unit with an error, or "ignore" it:
      then whoever may record cannot find out by trying what was recorded before.
    - `path`: where the trial is stored, so that it outlives a crash; else it lives in memory.
      `store`: a store of your own instead.
    - `clock`: seconds as a function, for tests and replays.

    With a linear policy every unit brings features, `assign(unit, actions)`, one list per arm:

    - `dimension`: features that an arm has; `horizon` must be given.
    - `longest`: a bound on the length of the actions, default: 1; with private contexts, longer
      ones than 1 are scaled to 1, and their outcomes with them.
    - `batch`: members per release, for policies with trees; the others make their own batches.
    - Outcomes lie in the range that the policy clips to: `low` and `high` of adac-oful, else
      [-1, 1].
    """

    def __init__(
        self,
        policy: Any,
        arms: int | Sequence[Name],
        dimension: int | None = None,
        horizon: float | None = None,
        *,
        goal: str = "regret",
        risk: float | None = None,
        delta: float | None = None,
        deadline: float | None = None,
        missing: str | float | None = None,
        default: float | None = None,
        outcome_range: tuple[float, float] | None = None,
        binary: bool = False,
        intervals: str = "auto",
        contributions: int = 1,
        conflicts: str = "refuse",
        longest: float | None = None,
        batch: int | None = None,
        streams: bool | None = None,
        window: int | None = None,
        share: Mapping[Name, float] | None = None,
        path: str | os.PathLike[str] | None = None,
        store: Store | None = None,
        clock: Callable[[], float] = time.time,
        _planned: int | None = None,
    ) -> None:
        self._arms = check_arms(arms)
        estimate, default = missing_as(missing, default, deadline)
        self._plan: Plan = self._planned(
            policy, len(self._arms), dimension=dimension, horizon=horizon, goal=goal,
            risk=one_risk(risk, delta), outcome_range=outcome_range, intervals=intervals,
            binary=binary, longest=longest, batch=batch, streams=streams, window=window,
            shares=check_shares(share, self._arms), planned=_planned, estimate=estimate,
        )  # fmt: skip
        self._run: Run = self._plan.run
        self.policy = self._plan.policy
        self._clock = check_clock(clock)
        self._terms = Terms(
            _deadline(deadline),
            count(
                "contributions",
                contributions,
                fix="use 1, or the most outcomes that a unit may give",
            ),
            self._run.horizon,
            _refuses(conflicts),
            self._run.is_local,
        )
        self._default = self._check_default(default)
        self._missing = self._plan.units(self._default) or 0
        self.guarantee = self._covering(self._plan.guarantee)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed, self._failure = False, ""
        self._stale, self._ended = False, {}
        in_streams = isinstance(self._run, StreamRun)
        self._open: tuple[Block, Standing] | None = None
        self._drawing: tuple[str, int | None] | None = None
        self._fixed: dict[str, Any] = {}
        self._store: Store = MemoryStore()
        if path is not None and store is not None:
            raise InvalidArgument("store", "be left out beside path", store, "give one of them")
        if in_streams:
            self._fixed = self._settings()
        if path is not None or store is not None:
            self._fixed = self._settings()
            self._store = store if store is not None else FileStore(str(os.fspath(path or "")))
        self._store.create(self._document(self._run), len(self._arms), None if in_streams else "1")

    def _planned(self, policy: Any, arms: int, **options: Any) -> Plan:
        """The plan; its noise is secure."""
        return plan_for(policy, arms, **options)

    # --- the two calls of every day ---------------------------------------------------------------

    def assign(self, unit: Name, actions: Features = None) -> Name:
        """The arm of a unit; asking again gives the same one.

        With contexts, given the features of every arm for this unit; whoever asks again need not
        give them.
        """
        with self._lock:
            if isinstance(self._run, StreamRun):
                self._plan.context(actions)
                return self._assign_place(unit)
            block, standing = self._settled()
            unit = check_unit(unit)
            member = self._store.member(unit)
            admission = rules.admit(member, standing, self._terms, block.outcomes)
            if member is not None and admission is Admission.SAME:
                return self._arms[member.arm]
            if admission is not Admission.PLACE:
                self._refuse_newcomers(admission)
            run, context = self._run, self._plan.context(actions)
            del actions
            arm, key, slot = run.arm_for(context), standing.block, standing.filled
            if admission is Admission.VISITOR:
                self._store.assign(unit, Member(arm), None)
                return self._arms[arm]
            action = run.action_of(context, arm)
            del context
            run = run.joined(action, slot)
            due = rules.closes(run.cut, self._terms, self._now()) if run.is_full(slot + 1) else None
            used = 1 if member is None else member.used + 1
            self._open = None  # until the store and the run agree again
            self._store.assign(
                unit, Member(arm, used, key, slot), Place(unit, arm, due, action, run.private)
            )
            self._run, self._open = run, (block, _standing(run, key, block))
            if run.cut and action is not None:
                self._abandon(key, slot + 1)
            return self._arms[arm]

    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a unit.

        Held until its block is released. A late one is dropped, and so is one that is not used. The
        same outcome again changes nothing, another one is refused (or ignored, if the trial was
        planned so); of a policy in the local model the first stands, for it was randomised at once
        and cannot be compared.
        """
        with self._lock:
            in_streams, now = isinstance(self._run, StreamRun), 0.0
            try:
                if in_streams:
                    now = self._settle_streams()
                else:
                    block, standing = self._settled()
                unit = check_unit(unit)
                member = self._store.member(unit)
                value = self._plan.units(outcome)
            except BaseException:
                del outcome  # an error must not carry it, in no frame of ours
                raise
            if member is None:
                del value, outcome
                raise UnknownUnit(
                    f"unit must have been assigned before an outcome is recorded, got {unit!r}; "
                    "call assign(unit) first, and note that 1 and '1' are different participants"
                )
            if value is None:
                kind = type(outcome).__name__
                del outcome
                self._refuse_outcome(kind)
            del outcome
            if in_streams:
                effect = self._effect_of(member, value, now)
            else:
                effect = rules.accept(member, standing, self._terms, block.outcomes, value)
            if effect is not Effect.KEPT:
                del value
                if effect is Effect.CONFLICT:
                    raise ConflictingOutcome(
                        "outcome must stay the same once it is recorded, got another one for unit "
                        f"{unit!r} (neither is shown: outcomes are private); the first one stands"
                    )
                return
            if not in_streams and standing.full:
                self._open = None
            try:
                if self._terms.local:
                    self._drawing = member.block, member.slot
                    value = self._run.respond(value)
                self._store.record(member.block, member.slot, value)
                self._drawing = None
            except BaseException as error:
                del value
                raise bare(error)  # noqa: B904 - the same error
            del value
            if in_streams:
                if self._terms.deadline is None:
                    self._settle_streams()
            elif standing.full:
                standing = _standing(self._run, member.block, block)
                self._open = block, standing
                if rules.is_due(standing, self._terms, self._now()):
                    self._release(member.block, block)
                    self._begin()

    def __contains__(self, unit: object) -> bool:
        """Whether a unit was assigned an arm."""
        with self._lock:
            self._usable()
            return self._store.member(check_unit(unit)) is not None

    def settle(self) -> bool:
        """Release what is due, as every other call does first; whether there was anything."""
        with self._lock:
            before = set(self._store.blocks)
            if isinstance(self._run, StreamRun):
                self._settle_streams()
            else:
                self._settled()
            return before != set(self._store.blocks)

    # --- a release: draw, store, erase, and only then think ---------------------------------------

    def _settled(self) -> tuple[Block, Standing]:
        """The open block, once what is due is released; every call begins with this."""
        self._usable()
        block, standing = self._open or self._open_block()
        if standing.full:
            if rules.is_due(standing, self._terms, self._now()):
                self._release(standing.block, block)
            if not self._run.begun:
                self._begin()
            return self._open or self._open_block()
        return block, standing

    def _release(self, key: str, block: Block) -> None:
        """Draw the release of a block on a copy of the run, store it, and erase the outcomes.

        Storing and erasing are one step of the store. If anything goes wrong before that step is
        done, this object refuses to go on: it never draws a block a second time.
        """
        self._drawing = key, None
        run = self._run.copy()
        try:
            run.publish([place.action for place in block.places], self._all_outcomes(block))
            self._open = None
            self._store.release(key, self._document(run), opens=_next(key))
            self._run = run
            self._drawing = None
        except BaseException as error:
            del run
            raise bare(error)  # noqa: B904 - the same error

    def _begin(self) -> None:
        """Hand what was released to the rule; the next block is stored before it is shown.

        A rule that fails leaves a trial that says so: the release stands, and no block is open.
        """
        run = self._run.copy()
        try:
            run.begin()
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            return
        (key,) = self._store.blocks
        self._open = None
        self._store.begin(key, run.opening())
        self._failure = ""

    def _abandon(self, key: str, filled: int) -> None:
        """Erase what is known of a block of which it turns out that the horizon cuts it off."""
        run = self._run.copy()
        run.abandon(filled)
        self._open = None
        self._store.release(key, self._document(run), opens=_next(key))

    def _all_outcomes(self, block: Block) -> list[Any]:
        """Those that came; one that did not counts as declared, randomised if all are, or is None
        where missing ones are estimated."""
        outcomes, run = dict(block.outcomes), self._run
        if isinstance(run, PairRun):
            return [outcomes.get(slot) for slot in range(len(block.places))]
        for slot in rules.missing(len(block.places), outcomes):
            outcomes[slot] = run.respond(self._missing) if self._terms.local else self._missing
        return [outcomes[slot] for slot in range(len(block.places))]

    # --- what may be shown: whatever is due is released first -------------------------------------

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms."""
        return self._arms

    @property
    def rounds(self) -> int:
        """Assignments whose outcomes are used, so far."""
        return self._shown().standing.rounds

    @property
    def status(self) -> str:
        """ "collecting" units, "settling" what waits for its release while no unit is taken,
        "finished", or "stuck" if the rule of the policy fails on what was released."""
        return self._shown().status

    @property
    def recommendation(self) -> Name | None:
        """The best arm, wrong with probability at most `risk`, once a trial that identifies has
        stopped."""
        with self._lock:
            self._shown()
            answer = self._run.answer
            return None if answer is None else self._arms[answer]

    def report(self) -> dict[str, Any]:
        """Releases and public counts, ready for JSON."""
        with self._lock:
            shown = self._shown()
            shown = shown._replace(record=self._plan.record(self._run, self._arms))
            return reports.report_of(shown, self._run)  # type: ignore[arg-type]

    def public_record(self) -> Record | None:
        """What was released, and what is known of the noise in it: all that intervals use."""
        with self._lock:
            self._shown()
            return self._plan.record(self._run, self._arms)

    def estimates(self, actions: Features) -> list[dict[str, Any]]:
        """For features as `assign` takes them: the estimated mean outcome of every arm, and how far
        the truth may be from it if the policy's assumptions hold. Made of releases alone."""
        with self._lock:
            self._shown()
            found = self._plan.estimates(self._run, actions)
            return [
                {"arm": arm, "mean": mean, "width": width}
                for arm, (mean, width) in zip(self._arms, found, strict=True)
            ]

    def __str__(self) -> str:
        return reports.as_text(self.report())

    def __repr__(self) -> str:
        kind = f"<Trial of {self.policy.name}, {len(self._arms)} arms"
        with self._lock:
            if self._closed:
                return f"{kind}, closed: {self.guarantee.short()}>"
            shown = self._shown()
            return (
                f"{kind}, {sum(shown.assigned)} assigned, {sum(self._run.releases)} releases, "
                f"{shown.status}: {self.guarantee.short()}>"
            )

    def _shown(self) -> reports.Shown:
        with self._lock:
            if isinstance(self._run, StreamRun):
                return self._shown_streams()
            _, standing = self._settled()
            status = "collecting"
            if not self._run.begun:
                status = "stuck"
            elif standing.full:
                status = "finished" if standing.cut else "settling"
            return reports.Shown(
                self.policy, self.guarantee, self._arms, self._plan.outcome_range, standing,
                self._store.assigned.copy(), status, self._failure,
            )  # fmt: skip

    # --- storing ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the trial in files from now on; every later call is on disk before it returns.

        A trial has one file: of two copies each could release the same block, and two noisy
        answers about the same people reveal more than one.
        """
        with self._lock:
            self._usable()
            store = FileStore(path)
            if self._store.place == store.place:
                return
            if not isinstance(self._store, MemoryStore) or isinstance(self._store, FileStore):
                raise TrialError(
                    f"the trial is stored in {self._store.place} and must not be copied; close it, "
                    "move all its files and load it from there"
                )
            fixed = self._settings()
            store.adopt(self._store, fixed)
            self._store, self._fixed = store, fixed

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | Store,
        policy: Any = None,
        clock: Callable[[], float] | None = None,
    ) -> Self:
        """Go on with a saved trial; a policy that you composed yourself must be passed again.

        A store of your own is passed in place of a path.
        """
        store: Store
        if isinstance(path, str | os.PathLike):
            store = files = FileStore(path)
            files.load()
        else:
            store = path
        try:
            return cls._revived(store, policy, clock or time.time)
        except BaseException:
            store.close()
            raise

    @classmethod
    def _revived(cls, store: Store, policy: Any, clock: Callable[[], float]) -> Self:
        row = row_from_dict(store.state.get("policy"), policy, store.place)
        damage = ""
        try:
            trial = cls(row, store.state["arms"], **settings_in(store.state, row), clock=clock)
            trial._store, trial._fixed, trial._open = store, trial._settings(), None
            for unit in {place.unit for block in store.blocks.values() for place in block.places}:
                check_unit(unit)
            if isinstance(trial._run, StreamRun):
                trial._rebuild()
                return trial
            block, standing = trial._open_block()
            if trial._run.cut and block.places and block.places[-1].action is not None:
                trial._abandon(standing.block, len(block.places))
            return trial
        except DamagedFile as error:
            damage = str(error)
        except (InvalidArgument, KeyError, TypeError, ValueError, IndexError):
            damage = "the settings or the assignments are damaged"
        raise DamagedFile(f"{store.place}: {damage}")

    def close(self) -> None:
        """End the use of this object. A trial that was saved can be loaded again; of one that
        was not, the outcomes are erased."""
        with self._lock:
            self._closed = True
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "a trial must not be copied or pickled: two copies could release the same block twice; "
            "use save(path), close() and Trial.load(path)"
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "policy": row_to_dict(self.policy),
            "guarantee": str(self.guarantee),
            "arms": list(self._arms),
            "horizon": self._terms.horizon,
            "deadline": self._terms.deadline,
            "default": self._default,
            "contributions": self._terms.contributions,
            "conflicts": CONFLICTS[not self._terms.refuses_conflicts],
            **self._plan.settings,
        }

    def _document(self, run: Run) -> dict[str, Any]:
        return {**self._fixed, "protocol": run.to_dict()}

    # --- where it stands --------------------------------------------------------------------------

    def _usable(self) -> None:
        if self._closed:
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        if self._process != os.getpid():
            raise TrialError(
                "the trial belongs to the process that opened it, and this is a fork of it: both "
                "could release the same block; open the trial after the fork, in one process"
            )
        self._store.ready()
        if self._drawing is not None:
            key, slot = self._drawing
            block = self._store.blocks.get(key)
            if block is not None and (slot is None or slot not in block.outcomes):
                raise TrialError(
                    "the trial was interrupted between drawing noise and storing what it hides, "
                    "and noise is never drawn twice; a trial that has a path can be closed and "
                    "loaded again, where nothing of that draw is known"
                )
            self._drawing = None

    def _open_block(self) -> tuple[Block, Standing]:
        """The open block and where it stands; the run is brought to where the store is."""
        ((key, block),) = self._store.blocks.items()
        run = self._plan.run.copy()
        run.restore(self._store.state["protocol"])
        for slot, place in enumerate(block.places):
            if run.is_full(slot) or not run.may_play(place.arm):
                raise DamagedFile("the assignments since the last release are out of order")
            run = run.joined(place.action, slot)
        self._run, self._open = run, (block, _standing(run, key, block))
        return self._open

    def _now(self) -> float:
        return 0.0 if self._terms.deadline is None else read_clock(self._clock)

    # --- refusals ---------------------------------------------------------------------------------

    def _refuse_newcomers(self, admission: Admission) -> None:
        if not self._run.begun:
            raise TrialError(
                f"the rule of the policy fails on what was released ({self._failure}), so there is "
                "no arm for further units; what was released stands, see report(), and nothing is "
                "drawn again"
            )
        if self._run.answer is not None:
            raise TrialError(
                f"the trial has stopped and recommends {self._arms[self._run.answer]!r}; "
                "give further units that arm"
            )
        if admission is Admission.OVER:
            raise TrialError(
                f"the horizon of {self._terms.horizon} assignments is reached; "
                "decide for further units by what report() shows"
            )

    def _refuse_outcome(self, kind: str) -> NoReturn:
        low, high = self._plan.outcome_range
        raise InvalidArgument(
            "outcome", f"be a number from {low:g} to {high:g}", Unshown(kind), self._plan.range_fix
        )

    def _check_default(self, default: float) -> float:
        (low, high), number = self._plan.outcome_range, number_of(default)
        if number is None or not math.isfinite(number):
            raise InvalidArgument("default", "be a finite number", default, "use an outcome")
        if self._terms.deadline is not None and not low <= number <= high:
            raise InvalidArgument(
                "default", f"lie in the outcome_range, from {low:g} to {high:g}", default,
                "say what a missing outcome counts as",
            )  # fmt: skip
        return number

    def _covering(self, guarantee: Guarantee) -> Guarantee:
        """A guarantee in the budget that the secure noise is calibrated to, for all outcomes that
        one unit may contribute, under the conditions of a trial."""
        asked = getattr(self.policy.release, "budget", None)
        if asked is not None and guarantee.budget.implies(asked):
            guarantee = replace(guarantee, budget=asked)
        conditions = [text for text in guarantee.conditions if text != CHECKED]
        if self._terms.deadline is None:
            conditions.append(EVERYBODY_RESPONDS)
        guarantee = replace(guarantee, conditions=tuple(conditions))
        return guarantee.for_user(self._terms.contributions)


def settings_in(state: dict[str, Any], row: Any) -> dict[str, Any]:
    """The arguments that a stored trial was made with."""
    contexts = ("dimension", "longest", "batch") if "dimension" in state else ("outcome_range",)
    names = ("horizon", "deadline", "default", "contributions", *contexts)
    options = {name: state[name] for name in names}
    if state.get("missing") is not None:
        options = {**options, "missing": state["missing"], "default": None}
    later = {"conflicts": CONFLICTS[0], "intervals": "auto", "binary": False}  # than version 1
    options |= {name: state.get(name, usual) for name, usual in later.items()}
    options |= {"streams": bool(state.get("streams", False))}  # before, there were none
    if options["streams"]:
        named = zip(state["arms"], state["shares"], strict=True)
        options |= {
            "window": state["window"], "share": dict(named), "_planned": state["planned"],
        }  # fmt: skip
    elif "dimension" in state:
        del options["streams"]
    if not isinstance(row, Identifier):
        return options
    return {**options, "goal": "identify", "risk": row.risk}


def _standing(run: Run, key: str, block: Block) -> Standing:
    filled = len(block.places)
    return Standing(
        key, filled, run.is_full(filled), run.cut, len(block.outcomes), block.due, run.t + filled
    )


def _next(key: str) -> str:
    return str(int(key) + 1)


def missing_as(
    missing: str | float | None, default: float | None, deadline: float | None
) -> tuple[bool | None, float]:
    """Whether missing outcomes are estimated, None for where the policy can, and else what they
    count as."""
    if missing is not None and default is not None:
        raise InvalidArgument("default", "be left out beside missing", default, "give missing")
    if missing == "estimate":
        if deadline is None:
            raise InvalidArgument(
                "missing", "be left out where a block waits for everybody", missing,
                "give a deadline",
            )  # fmt: skip
        return True, 0.0
    if isinstance(missing, str):
        raise InvalidArgument(
            "missing", 'be "estimate", or the value that a missing outcome counts as', missing,
            'use missing="estimate"',
        )  # fmt: skip
    given = default if missing is None else missing
    if given is None:
        return None if deadline is not None else False, 0.0
    return False, given


def _deadline(deadline: float | None) -> float | None:
    fix = "use for example deadline=86_400 for a day, or None to wait for everybody"
    return None if deadline is None else positive("deadline", deadline, fix)


def _refuses(conflicts: str) -> bool:
    if conflicts not in CONFLICTS:
        raise InvalidArgument(
            "conflicts", "be 'refuse' or 'ignore'", conflicts, "leave it out for 'refuse'"
        )
    return conflicts == "refuse"
