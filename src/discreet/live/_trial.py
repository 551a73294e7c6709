"""Live trials: adaptive experiments on real people, with noise that no one can replay.

>>> import discreet
>>> trial = discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), arms=["A", "B"])
>>> arm = trial.assign("patient-1")
>>> trial.record("patient-1", 1.0)
>>> print(trial.guarantee.short())
ε = 1 (interactive)

`Curator` assigns, records and releases; here is how a trial is planned, what may be decided on the
way, what it shows, and where it is stored.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, NoReturn, Self

from .._checks import Name, check_arms, check_legible, check_unit, one_of
from .._notebooks import plain
from ..errors import DamagedFile, DiscreetError, InvalidArgument, TrialError, UnknownUnit
from . import _report as reports
from ._arguments import Assignment, Features, Outcomes, group_of
from ._curator import Curator
from ._epochs import EpochRun
from ._rights import care_in, care_of, check_kits, check_words, entries_of, keeps_sums
from ._rights import verify as check_trail
from ._rows import row_from_dict
from ._setup import Plan, plan_for
from ._stream_run import StreamRun
from ._streams import check_shares
from ._terms import (
    Stored,
    check_default,
    covering,
    deadline_of,
    missing_as,
    retention_of,
    settings_in,
    terms_of,
)
from ._verdicts import as_policy, is_test, verdict_of
from .stores import MemoryStore, SqliteStore, Store
from .stores import _copies as copies
from .stores._base import unheld
from .stores._sql import SqlStore

if TYPE_CHECKING:
    from ..confirm import AlarmState, Design, EpochVerdict, SeveralVerdict, Verdict
    from ..inference._record import Record
    from ..inference._within import EpochRecord
    from ..policies._policy import BasePolicy
    from ._contexts import Features as Actions
    from ._documents import Estimate, Report
    from ._ledger import Ledger
    from .stores._base import Json

REASONS = ("releases", "public", "board")


class Trial(Curator):
    """An adaptive experiment that keeps the outcomes of its units private.

    `assign(unit)` says which arm a unit gets, always the same one; `record(unit, outcome)` hands in
    what came of it. Every unit takes a place in the stream of its arm; a stream is cut into blocks
    in advance, and a block is released once, the deadline after its last place was taken.
    Races, elimination and top two compare their arms concurrently. Policies with contexts, and a
    few others, play single batches instead: units that arrive while one waits get an arm, and their
    outcomes are not used.

    Args:
        policy: What decides, from `discreet.policy` or `discreet.identify.identifier`; or the
            design of a test, from `discreet.confirm.design`.
        arms: Their names, or how many there are.
        horizon: How many assignments are used at most. Some policies need it.
        deadline: How long after its assignment an outcome counts, with its unit: "28 days",
            "30 min", "PT12H" or a `timedelta` (with contexts: after the last assignment of its
            block). A block is released that long after its last place was taken, whether or not
            all have responded by then. Without a deadline a block waits until everyone has
            responded, and the guarantee rests on that.
        missing: What silence means, to be said with a deadline. A value, such as 0.0: silence means
            that outcome (no click, no purchase). "estimate": silence means that the outcome is
            unknown; how many answered is released beside the sum of what they answered, at no
            further price.
        risk: For a policy that stops with an answer: how likely that may be wrong.
        outcomes: What an outcome is, see `Outcomes`.
        assignment: How participants are assigned: windows, shares, trends, see `Assignment`.
        features: For a linear policy, see `Features`. Every participant then brings features,
            `assign(unit, actions)`, one list per arm; `horizon` must be given; outcomes lie in the
            range that the policy clips to: `low` and `high` of adac-oful, else [-1, 1].
        intervals: The kind that the report shows, fixed here: "auto", "anytime", "looks" or "end".
        path: The file in which the trial is stored, "trial.db", so that it outlives a crash, and so
            that several processes can use it at once; or a store, such as
            `SqliteStore("trial.db", witness="elsewhere/trial.witness")` or
            `PostgresStore("postgresql://...", "name")`. Without it the trial lives in memory.
        clock: The time as a function, for tests and replays; `deadline` is then a number in the
            unit of that clock.

    Raises:
        InvalidArgument: If the trial cannot be run as asked; nothing was made then.
        UnsupportedBudget: If the policy does not protect the whole run.

    Example:
        >>> import discreet
        >>> trial = discreet.Trial(
        ...     discreet.policy("dp-imed", epsilon=1.0), ["drug", "placebo"],
        ...     deadline="28 days", missing=0.0,
        ... )
        >>> trial.assign("patient-1") in trial.arms
        True
        >>> trial.record("patient-1", 1.0)
        >>> print(trial.guarantee.short())
        ε = 1 (interactive)
    """

    def __init__(
        self,
        policy: BasePolicy[Never] | Design,
        arms: int | Sequence[Name],
        horizon: float | None = None,
        *,
        deadline: str | timedelta | float | None = None,
        missing: str | float | None = None,
        risk: float | None = None,
        outcomes: Outcomes | None = None,
        assignment: Assignment | None = None,
        features: Features | None = None,
        intervals: str = "auto",
        path: str | os.PathLike[str] | Store | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        settings = {
            "horizon": horizon, "deadline": deadline, "missing": missing, "risk": risk,
            "intervals": intervals, **group_of("outcomes", outcomes),
            **group_of("assignment", assignment), **group_of("features", features),
        }  # fmt: skip
        self._set_up(policy, arms, path, clock, settings)

    def _set_up(
        self, policy: BasePolicy[Never] | Design, arms: int | Sequence[Name],
        path: str | os.PathLike[str] | Store | None, clock: Callable[[], float] | None,
        settings: Mapping[str, Any], stored: Stored | None = None, stratum: Name | None = None,
    ) -> None:  # fmt: skip
        """Plan the trial and store it. `stored`: of a trial that continues; `stratum`: of which it
        is the trial."""
        self._stratum = stratum
        options = dict(settings)
        deadline, missing, share = (options.pop(n, None) for n in ("deadline", "missing", "share"))
        contributions, conflicts = options.pop("contributions"), options.pop("conflicts")
        corrections, kept = options.pop("corrections"), options.pop("retention")
        ledger, beyond, kits = (options.pop(name) for name in ("ledger", "beyond", "kits"))
        charged, shared = options.pop("charged", None), options.pop("shared", False)
        played = as_policy(policy)
        names = check_arms(arms, getattr(played, "fewest", 2))
        if stored is None:  # else it is a trial of before, which continues as it is
            check_legible("arms", names)
            own = clock is not None and clock is not time.time
            within = deadline_of(deadline, own)
        else:
            own, within = stored.own_clock, deadline_of(deadline, own_clock=True)
        estimate, default = missing_as(missing, within, options["outcome_range"])
        plan = self._planned(
            played, len(names), shares=check_shares(share, names), estimate=estimate,
            planned=None if stored is None else stored.arms,
            conditions=None if stored is None else stored.conditions, **options,
        )  # fmt: skip
        kept = retention_of(kept, own or stored is not None)
        terms = terms_of(plan, within, contributions, conflicts, own, corrections, kept)
        terms = terms._replace(shared=shared)
        guarantee, default = covering(plan, terms), check_default(default, plan, terms)
        if stored is not None:
            self._care = stored.care
        else:
            self._care = care_of(names, ledger, beyond, kits, charged)
            if self._care.ledger is not None:
                self._care.ledger.check(guarantee.budget)
        super().__init__(
            names, plan, terms, default, guarantee, store_at(path),
            time.time if clock is None else clock,
        )  # fmt: skip

    def _planned(self, policy: BasePolicy[Never], arms: int, **options: Any) -> Plan:
        """The plan; its noise is secure."""
        return plan_for(policy, arms, **options)

    # --- the life of a trial: public decisions, stored like releases ------------------------------

    def drop(self, arm: Name, *, by: str = "", reason: str = "") -> None:
        """No more places for an arm. Its open block closes now and is released when it is due.

        Decide by `report()`, or by what is public: that is free. `by` and `reason`, here and in
        other decisions, are entries of the trail: see `log`.
        """
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            run = self._without(arm)
            if run is not None:
                self._note("arm dropped", arm=arm, **words)
                self._change(run)

    def _check_drop(self, arm: Name) -> None:
        """Refuse what `drop` would refuse, and change nothing."""
        with self._turn(), self._store.held():
            self._without(arm)

    def _without(self, arm: Name) -> StreamRun | None:
        """The run with an arm dropped; None if it was before."""
        run = self._changing("drop")
        if self._care.kits and arm in self._labels:  # as a report names it
            arm = self._arms[self._labels.index(arm)]
        if arm not in self._arms:
            raise InvalidArgument("arm", "be an arm of the trial", arm, f"one of {self._arms}")
        number = self._arms.index(arm)
        if not run.head.active[number]:
            return None
        if sum(run.head.active) <= run.FEWEST:
            raise TrialError(
                f"{arm!r} must stay: it is the last arm, or one of the last two where "
                "arms are compared; use stop()"
            )
        return run.dropped(number)

    def __contains__(self, unit: object) -> bool:
        """Whether a unit was assigned an arm."""
        with self._turn(), self._store.held():
            self._usable()
            return self._store.member(check_unit(unit)) is not None

    def add(self, arm: Name, *, by: str = "", reason: str = "") -> None:
        """A new arm, with an empty stream: one in K of the places until its first release."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            run = self._changing("add")
            if run.NO_NEWCOMERS:
                raise TrialError(run.NO_NEWCOMERS)
            if arm in self._arms:
                raise InvalidArgument("arm", "be new", arm, "choose another name")
            arms = check_arms((*self._arms, arm))
            check_legible("arms", arms)
            plan = self._plan.with_arms(len(arms))
            grown = run.grown(plan.run)
            self._stale = True
            self._note("arm added", arm=arm, **words)
            fixed = {**self._fixed, **plan.settings, "arms": list(arms)}
            if self._care.kits:
                fixed["labels"] = [*self._fixed["labels"], len(arms)]
            self._store.release(None, {**fixed, "protocol": grown.to_dict()}, None)
            self._plan, self._arms, self._run, self._fixed = plan, arms, grown, fixed
            self._stale = False

    def stop(self, because: str = "releases", *, by: str = "", reason: str = "") -> None:
        """No more units, as `finish`; and a word on why.

        - "releases": a rule on what `report()` shows. Free, like all that is built from it.
        - "public": reasons that have nothing to do with outcomes: money, season, the law.
        - "board": someone who has seen raw outcomes. That is not covered: the guarantee says so.
        """
        one_of("because", because, *REASONS)
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            run = self._changing("stop")
            if because == "board" or not run.has_ended or self._has_rest():
                self._note("stopped", because=because, **words)
                self._change(run.ended(), {"by": because})

    def finish(self, discard: bool = False, *, by: str = "", reason: str = "") -> None:
        """No more units. Open blocks close now, each is released when its last member is due: they
        are disjoint, so this costs nothing. `discard`: they are erased instead."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            run = self._changing("finish")
            if run.has_ended and not self._has_rest():
                return
            self._note("finished", discard=discard, **words)
            with self._store.together():
                for arm in range(len(self._arms)) if discard else ():
                    key = run.open_key(arm)
                    if key in self._store.blocks:
                        run = run.without(arm)
                        self._write(run, block=key)
                run = run.ended()
                self._write(run, {"by": "public"})
            self._took(run)

    def _changing(self, what: str) -> StreamRun:
        """The run, settled, for a change that only streams allow."""
        self._settle()
        self._check_releases()
        run = self._run
        if not isinstance(run, StreamRun) or not run.CHANGES:
            raise TrialError(
                f"{what}() is for trials in streams; this one plays single batches, with an end "
                "that its horizon or its rule sets"
            )
        if self._is_over or self._fence:
            self._refuse_fenced()
        if what in ("drop", "add") and run.has_ended:
            self._refuse_newcomers()
        return run

    # --- what may be shown: whatever is due is released first -------------------------------------

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms; someone else may have added one."""
        with self._turn(), self._store.held():
            if not self._closed:
                self._stand()
            return self._arms

    @property
    def rounds(self) -> int:
        """Assignments whose outcomes are used, so far."""
        with self._turn(), self._store.held():
            return self._shown().standing.rounds

    @property
    def status(self) -> str:
        """ "collecting" units, "settling" what waits for its release while no unit is taken,
        "finished", "stuck" if the rule of the policy fails on what was released, or "fenced" if its
        file is an old copy or has lost its witness: then nothing is released."""
        with self._turn(), self._store.held():
            return self._shown().standing.status

    @property
    def recommendation(self) -> Name | None:
        """The best arm, wrong with probability at most `risk`, once a trial that identifies has
        stopped."""
        with self._turn(), self._store.held():
            self._shown()
            answer = self._run.answer
            return None if answer is None else self._labels[answer]

    def verdict(
        self, *, by: str = "", reason: str = ""
    ) -> Verdict | SeveralVerdict | EpochVerdict | AlarmState | None:
        """Of a trial that tests: what its design says of the releases so far; None before the
        first look. Built from releases, so it costs nothing. `print` of it says "go on" until the
        trial stops, and so does `report()`: anyone who looks at more of it on the way knows the
        state of a trial that others take part in: that someone has opened it is in the trail. Of a
        trial that was ended by hand before its boundary the decision stays "go on": its design has
        not decided."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            self._shown()
            found = verdict_of(self.policy, self._run)
            if found is not None:
                self._stand()
                self._note("verdict opened", look=found.look, **words)
                self._store.noted()
            return found

    def log(self, *, verify: bool = False) -> list[dict[str, Any]]:
        """The trail: what was planned, decided, released, copied and opened, by whom and why. It
        says nothing of single participants. Entries are chained: `verify` raises `DamagedFile` if
        one was changed or taken out, or if there were more at a release, by the witness. Anyone who
        can write to the file can still change what came after the last release, and chain it anew:
        keep the last `chain` elsewhere."""
        with self._turn(), self._store.held():
            self._settle()
            self._stand()
            trail = self._store.people.trail()
            if verify:
                check_trail(trail, self._store.people.witnessed(), self._store.place)
            return entries_of(trail)

    def report(self) -> Report:
        """Releases and public counts, ready for JSON."""
        with self._turn(), self._store.held():
            shown = self._shown()
            shown = shown._replace(record=self._plan.record(self._run, self._labels))
            return reports.report_of(shown, self._run)  # type: ignore[arg-type]

    def public_record(self) -> Record | None:
        """What was released, and what is known of the noise in it: all that intervals use."""
        with self._turn(), self._store.held():
            self._shown()
            return self._plan.record(self._run, self._labels)

    def public_epochs(self) -> EpochRecord | None:
        """Of a trial with `trend=True`: what was released in every epoch, for differences."""
        with self._turn(), self._store.held():
            shown = self._shown()
            if not isinstance(self._run, EpochRun):
                return None
            return self._run.public_epochs(self._labels, shown.outcome_range)

    @unheld
    def estimates(self, actions: Actions) -> list[Estimate]:
        """For features as `assign` takes them: the estimated mean outcome of every arm, and how far
        the truth may be from it if the policy's assumptions hold. Built from releases alone."""
        with self._turn(), self._store.held():
            self._shown()
            found = self._plan.estimates(self._run, actions)
            return [
                {"arm": arm, "mean": mean, "width": width}
                for arm, (mean, width) in zip(self._labels, found, strict=True)
            ]

    @unheld
    def propensity(self, unit: Name) -> float:
        """The probability with which a participant got the arm, for inverse propensity weights.

        It is that of its latest place, given all releases before, public features, and the window:
        how many places of each arm it was to have. Of a window the order is random, so everyone in
        it has the arm with the probability of the arm's share; an arm without a place has 0. No
        outcome that is not released enters.

        Raises:
            UnknownUnit: If the unit has no arm.
            TrialError: If it is not known: for a unit without a place, for arms that are hidden or
                features that are private, and where the policy draws an arm from a distribution
                without a closed form.

        Example:
            >>> import discreet
            >>> trial = discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"])
            >>> arm = trial.assign("patient-1")
            >>> trial.propensity("patient-1")
            0.5
        """
        with self._turn(), self._store.held():
            self._ready()
            if self._care.kits:
                raise TrialError("arms are hidden behind kits here, and a propensity tells them")
            member = self._store.member(check_unit(unit))
            if member is None:
                raise UnknownUnit(f"participant {unit!r} has not been assigned an arm")
            if member.share is None:
                why = self._run.no_propensity if member.block else "it has no place"
                raise TrialError(f"the propensity of {unit!r} is not known: {why}")
            return member.share

    def as_text(self, width: int = 0) -> str:
        """The report in words, for so many columns; as `print` shows it by default."""
        return reports.as_text(self.report(), width)

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        kind = f"<Trial of {self.policy.name}, {len(self._arms)} arms"
        if self._is_inside:  # a debugger's, or an error-reporting tool's
            return f"{kind}, in a call: {self.guarantee.short()}>"
        with self._turn(), self._store.held():
            if self._closed:
                return f"{kind}, closed: {self.guarantee.short()}>"
            try:
                shown = self._shown()
            except Exception as error:
                why = str(error) if isinstance(error, DiscreetError) else type(error).__name__
                return f"{kind}, not in use: {why}>"
            return (
                f"{kind}, {sum(shown.assigned)} assigned, {sum(self._run.releases)} releases, "
                f"{shown.standing.status}: {self.guarantee.short()}>"
            )

    def _repr_html_(self) -> str:
        """For notebooks: the report, built from releases and public counts; one line where there is
        none to show."""
        if self._is_inside:
            return plain(repr(self))
        try:
            return plain(str(self))
        except Exception:  # closed, or its store fails: one line says which
            return plain(repr(self))

    # --- storing ----------------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str] | SqlStore,
        witness: str | os.PathLike[str] | None = None,
    ) -> None:
        """Store the trial in a file, or in a `PostgresStore`, from now on; every later call is on
        disk before it returns.

        A trial has one file: of two copies each could release the same block, and two noisy
        answers about the same people reveal more than one.
        """
        with self._turn(), self._store.held():
            self._stand()
            store = path if isinstance(path, SqlStore) else SqliteStore(path, witness=witness)
            if self._store.place == store.place:
                return
            if not isinstance(self._store, MemoryStore):
                raise TrialError(
                    f"the trial is stored in {self._store.place} and must not be copied; close it, "
                    "move it by Trial.move(path, to) and load it from there"
                )
            self._saving = store  # noted first: one of the two continues, whatever interrupts this
            store.adopt(self._store, self._fixed)
            self._own(store)
            self._store, self._saving = store, None

    def backup(self, to: str | os.PathLike[str], *, by: str = "", reason: str = "") -> None:
        """All that is public, in another file: who has which arm, and the releases. Outcomes that
        are not released yet, exact sums and keys are left out, so it can be read, but never goes
        on: it is fenced. `restore` puts it into a place of your choice."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            self._settle()
            self._stand()
            self._check_releases()
            store = self._in_a_file("backup")
            store.back_up(check_path("to", to), {store.number: self._no_ledger()})
            self._note("backup made", **words)
            store.noted()

    @staticmethod
    def restore(backup: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
        """A backup as its own file. What was assigned or released after it is unknown there,
        so it is fenced: `load` it to read it, and `fence` it to end the trial."""
        copies.restore(check_path("backup", backup), check_path("to", to))

    @staticmethod
    def move(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
        """Move the file of a trial with its witness; a witness in its own place stays there.
        Close the trial everywhere first. If it is cut short, call it again."""
        copies.move(check_path("path", path), check_path("to", to))

    def fence(self, *, charge: bool = False, by: str = "", reason: str = "") -> None:
        """End a trial whose `status` is "fenced", with what its file has released: outcomes that
        wait are erased, and nothing is released any more.

        `charge`: continue in place of that, at a price. Open blocks are void indefinitely, and the
        guarantee is multiplied by one plus the number of fences that were passed so: anyone who
        came after the copy is unknown here, and may contribute once more. For a copy whose witness
        is there, of a policy with an index that keeps no exact sums, without strata, kits or a
        ledger.
        """
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            self._stand()
            store = self._in_a_file("fence")
            if self._is_over:
                return
            if not self._fence:
                raise TrialError(
                    "the trial is not fenced: its file and its witness agree; end it by stop()"
                )
            self._stale = True
            if charge:
                self._charge_fence(store, words)
                return
            self._note("ended behind a fence", **words)
            fixed = {**self._fixed, "ended": {"by": "fence"}}
            run = {**self._run.public(), "ledger": self._no_ledger()}
            store.silence({**fixed, "protocol": run})

    def _charge_fence(self, store: SqlStore, words: dict[str, str]) -> None:
        """Continue behind a fence."""
        run = self._run
        kept = keeps_sums(tuple(run.ledger.to_dict()), self._terms.local)
        for refused, why in (
            (not store.base.releases_ahead(), f"its witness does not tell what it lacks: "
             f"{self._fence}"),
            (not isinstance(run, StreamRun) or run.PLAN != "index" or is_test(self.policy),
             "it is not played by an index"),
            (kept, "its policy keeps exact sums, which would be released again"),
            (self._stratum is not None, "it is by stratum"),
            (self._care.kits, "the kits that were handed out since are unknown"),
            (bool(self._care.charged), "its price is charged to a ledger before a place is taken"),
            (run.has_ended, "it has ended"),
        ):  # fmt: skip
            if refused:
                raise TrialError(
                    f"the trial cannot continue behind its fence, for {why}; nothing changed: "
                    "end it by fence(), or discreet trial fence FILE --stop"
                )
        assert isinstance(run, StreamRun)
        fences = store.base.fences() + 1
        guarantee = self._fenced_guarantee(fences)
        self._note("continued behind a fence", fences=fences, **words)
        fixed = {**self._fixed, "fences": fences, "guarantee": str(guarantee)}
        store.charge({**fixed, "protocol": run.voided().to_dict()}, fences)
        self._stand()

    def _no_ledger(self) -> Json:
        """The ledger with nothing in it."""
        return self._run.ledger.cleared().to_dict()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | Store,
        policy: BasePolicy[Never] | None = None,
        clock: Callable[[], float] | None = None,
        ledger: Ledger | None = None,
    ) -> Self:
        """Continue with a saved trial; a policy that you composed yourself must be passed again.

        Your own store is passed in place of a path; a ledger only if its file was moved.
        """
        return cls._opened(path, policy, clock, ledger=ledger)

    @classmethod
    def _opened(
        cls, path: str | os.PathLike[str] | Store, policy: BasePolicy[Never] | None,
        clock: Callable[[], float] | None, stratum: Name | None = None,
        ledger: Ledger | None = None,
    ) -> Self:  # fmt: skip
        """The same, of a stratum too."""
        store: Store
        if isinstance(path, str | os.PathLike):
            store = file = SqliteStore(path)
            file.load()
        else:
            if not callable(getattr(path, "member", None)):
                raise InvalidArgument(
                    "path", "be the file of a saved trial, or a store", path, 'use "trial.db"'
                )
            store = path
            if isinstance(store, MemoryStore):
                store.check_process()
            if isinstance(store, SqlStore) and not store.is_read:
                store.load()
        try:
            check_stratum(store, stratum)
            trial = cls._revived(store, policy, clock, ledger)
            trial._check_worker()
            return trial
        except BaseException:
            if store is not path:  # one that was handed in may be another trial's, which continues
                store.close()
            raise

    @classmethod
    def _revived(
        cls, store: Store, policy: BasePolicy[Never] | None, clock: Callable[[], float] | None,
        ledger: Ledger | None = None,
    ) -> Self:  # fmt: skip
        row = row_from_dict(store.state.get("policy"), policy, store.place)
        care, damage = care_in(store.state, ledger), ""
        try:
            trial = cls.__new__(cls)
            options, stored = settings_in(store.state, row)
            trial._set_up(
                row, store.state["arms"], None, clock, options, stored._replace(care=care),
                store.state.get("stratum"),
            )  # fmt: skip
            trial._own(store)
            trial._store, trial._lock, trial._fixed = store, store.lock, trial._settings()
            trial._seen = -inf  # this moment is none that the trial has seen
            trial._stale = True
            with store.held():
                trial._stand()
            return trial
        except DamagedFile as error:
            damage = str(error)
        except (InvalidArgument, KeyError, TypeError, ValueError, IndexError):
            damage = "the settings or the assignments are damaged"
        raise DamagedFile(f"{store.place}: {damage}")

    def close(self) -> None:
        """End the use of this object. A trial that was saved can be loaded again; of one that
        was not, the outcomes are erased."""
        within = self._is_within()  # as a signal handler may be that ends the process
        with self._lock:
            self._closed = True
            if not within:  # else the call is still writing: the next one, or `close`, lets go
                self._let_go()

    def _is_within(self) -> bool:
        """Whether another call of this object is under way in this thread. That the lock is held
        does not say so: an interrupt may have left it."""
        frame = sys._getframe(2) if self._is_inside else None
        while frame is not None:
            if frame.f_locals.get("self") is self and frame.f_code.co_name != "__exit__":
                return True
            frame = frame.f_back
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _settings(self) -> Json:
        """What is stored; a stratum says that it is one."""
        mark: Json = {} if self._stratum is None else {"stratum": self._stratum}
        if self._care.kits:
            mark["labels"] = self._shuffled()
        return super()._settings() | mark

    def _shuffled(self) -> list[int]:
        """Numbers for arms in reports, in an order that says nothing of them."""
        numbers = list(range(1, len(self._arms) + 1))
        secrets.SystemRandom().shuffle(numbers)
        return numbers

    # --- arms that are hidden behind kits ---------------------------------------------------------

    def restock(
        self, kits: Mapping[Name, Sequence[str]], *, by: str = "", reason: str = ""
    ) -> None:
        """More kits, by arm."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            self._settle()
            self._stand()
            self._check_blinded()
            people, stock = self._store.people, check_kits(kits, self._arms)
            known = people.codes()
            for code in (code for codes in stock.values() for code in codes):
                if code in known:
                    raise InvalidArgument("kits", "be new", code, "every kit is used once")
            self._note("kits added", many=sum(map(len, stock.values())), **words)
            with self._store.together():
                people.stock(stock)
                self._store.noted()

    def unblind(self, unit: Name, *, by: str, reason: str) -> Name:
        """The arm behind the kit of a unit. Who opened it, and why, is in the trail, by its code,
        before the answer is given."""
        words = check_words(by, reason)
        if not by or not reason:
            raise InvalidArgument(
                "by" if not by else "reason", "be said", "",
                'use for example by="Dr. Weber", reason="allergic reaction"',
            )  # fmt: skip
        with self._turn(), self._store.held():
            self._settle()
            self._stand()
            self._check_blinded()
            member = self._store.member(check_unit(unit))
            if member is None:
                raise UnknownUnit(f"unit must have been assigned to be unblinded, got {unit!r}")
            self._note("unblinded", kit=self._store.people.kit_of(unit), **words)
            self._store.noted()
            return self._arms[member.arm]

    def _check_blinded(self) -> None:
        if not self._care.kits:
            raise TrialError(
                "this trial has no kits, and shows its arms by name; plan one with "
                'assignment=discreet.Assignment(kits={"A": ["K101"], "B": ["K102"]})'
            )

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "a trial must not be copied or pickled: two copies could release the same block twice; "
            "use save(path), close() and Trial.load(path)"
        )


def store_at(path: str | os.PathLike[str] | Store | None) -> Store:
    """Where a trial is stored: in memory, in a file, or in your own store."""
    if path is None:
        return MemoryStore()
    if isinstance(path, str | os.PathLike):
        return SqliteStore(path)
    if not callable(getattr(path, "member", None)):
        raise InvalidArgument("path", "be a file or a store", path, 'use for example "trial.db"')
    return path


def check_path(name: str, path: str | os.PathLike[str]) -> Path:
    """Where a file is, or is to be."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument(name, "be a path", path, 'use for example "trial.db"')
    return Path(path).absolute()


def check_stratum(store: Store, stratum: Name | None) -> None:
    """Refuse to open the trial of a stratum alone: it does not know who is in the others, and
    someone could enter the releases of two under one stated budget."""
    found = store.state.get("stratum")
    if found == stratum:
        return
    if stratum is not None:
        raise DamagedFile(f"{store.place}: not the trial of stratum {stratum!r}; put it back")
    raise InvalidArgument(
        "path", f"be a trial of its own, not one by stratum, as of {found!r}", store.place,
        f"open all strata: discreet.Strata.load({store.place!r})",
    )  # fmt: skip
