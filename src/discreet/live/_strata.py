"""Trials by stratum: one copy of a policy for each of a few public groups of participants.

>>> import discreet
>>> row = discreet.policy("dp-imed", epsilon=1.0)
>>> trial = discreet.Strata(
...     row, strata=["men", "women"], arms=["A", "B"], deadline="14 days", missing=0.0
... )
>>> arm = trial.assign("patient-1", "women")
>>> trial.record("patient-1", 1.0)
>>> print(trial.guarantee.short())
ε = 1 (interactive)

Every stratum has its own trial, with its own releases. Everyone is in one stratum, for good,
so an outcome is in the releases of one trial: what all of them show together costs what one does
(parallel composition). That rests on the stratum being public, and on no one being in two: a unit
that was assigned in one stratum is refused in all others.

All trials lie in one file (`stores.sqlite`), and that no one is in two of them is checked in the
step that stores an assignment: it holds for several processes too. `Trial.load` refuses such a
file: a single trial does not know who is in the others.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, NoReturn, Self

from .._checks import Name, Unshown, by_name, check_legible, check_names, check_unit, share
from ..errors import InvalidArgument, TrialError, UnknownUnit
from ..privacy._guarantees import PUBLIC_STRATUM, Guarantee
from . import _report as reports
from ._arguments import ungrouped
from ._curator import turn_of
from ._rights import Remains, check_words
from ._trial import Trial, check_path
from ._verdicts import Combined, by_stratum, is_test
from .stores import MemoryStore, SqliteStore, Store
from .stores._base import unheld
from .stores._sql import SqlStore

if TYPE_CHECKING:
    from ..confirm import StrataDesign, StrataVerdict
    from ..inference import Intervals, Record
    from ..inference._within import EpochRecord
    from ..linear._row import LinearPolicy
    from ..policies import Policy
    from ..policies._policy import BasePolicy
    from ._contexts import Features
    from ._documents import ArmReport, Behind, Report

LEVEL = 0.95
"""Of the intervals of all strata together."""


class Strata:
    """One trial a stratum, in one file or in memory.

    - `strata`: their names. `assign(unit, stratum)` says which arm a unit of that stratum gets.
    - `horizon`: how many places there are in all strata together, first come, first served; or of
      each by name, `horizon={"men": 400, "women": 600}`.
    - `risk`: for a policy that stops with an answer, the probability that any stratum gets a wrong
      answer: each has its share of it.
    - `path`: a file that is made here, or a `SqliteStore` with a witness elsewhere, or a
      `PostgresStore`; without it the trial lives in memory. `Trial.restore` and `Trial.move` serve
      files of strata too.
    - A design over strata in place of the policy (`discreet.confirm.strata`) is one test of all of
      them: `verdict()`. It stops in all strata once what all have released is beyond its boundary.
    - All else as for `Trial`: `deadline`, `missing`, `outcomes`, `assignment`, `features`,
      `intervals`. The least share of an arm holds in every stratum.

    The report and the intervals are by stratum; intervals hold for all strata together.

    Example:
        >>> import discreet
        >>> trial = discreet.Strata(
        ...     discreet.policy("dp-imed", epsilon=1.0), ["women", "men"], ["A", "B"],
        ... )
        >>> trial.assign("patient-1", "women") in trial.arms
        True
    """

    def __init__(
        self,
        policy: BasePolicy[Never] | StrataDesign,
        strata: Sequence[Name],
        arms: int | Sequence[Name],
        horizon: float | Mapping[Name, float] | None = None,
        *,
        risk: float | None = None,
        path: str | os.PathLike[str] | SqlStore | None = None,
        clock: Callable[[], float] | None = None,
        **options: Any,
    ) -> None:
        names = check_names("strata", strata, 'use names such as ["men", "women"]')
        check_legible("strata", names)
        policies = by_stratum(policy, names)
        if getattr(policies[names[0]], "risk", None) is not None:
            raise InvalidArgument(
                "risk", "be given here, by that name: the strata share it",
                "in the policy", "use risk=0.05",
            )  # fmt: skip
        horizons = by_name("horizon", horizon, names)
        shared = horizon is not None and not isinstance(horizon, Mapping)
        each = None if risk is None else share("risk", risk, below=1.0 / 3.0) / len(names)
        settings = ungrouped(options)
        charged = secrets.token_hex(16)
        if settings["kits"] is not None:
            raise InvalidArgument(
                "kits", "be left out by stratum: every stratum would hand out the same ones",
                sorted(settings["kits"], key=str), "plan a trial of its own for each stratum",
            )  # fmt: skip

        def trial(name: Name, store: Store | None) -> Trial:
            made = self._fresh()
            asked = {
                **settings, "horizon": horizons[name], "shared": shared, "risk": each,
                "charged": charged,
            }  # fmt: skip
            made._set_up(policies[name], arms, store, clock, asked, stratum=name)
            return made

        self._lock = threading.RLock()
        if path is None:
            first, *others = names
            home = MemoryStore()
            stores = {first: home, **{name: home.beside() for name in others}}
            self._trials = {name: trial(name, store) for name, store in stores.items()}
            return
        self._trials = _made_in(sql_store_at(path), names, trial)

    def _fresh(self) -> Trial:
        """The trial of a stratum, before it is set up."""
        return Trial.__new__(Trial)

    # --- the two calls of every day ---------------------------------------------------------------

    @unheld
    def assign(self, unit: Name, stratum: Name, actions: Features = None) -> Name:
        """The arm of a unit of a stratum; asking again gives the same one."""
        with turn_of(self._lock):
            chosen = self._trial(stratum)
            unit = check_unit(unit)
            self._conclude()
            home = self._home(unit)
            if home is not None and home != stratum:
                raise InvalidArgument(
                    "stratum", f"be the one that unit {unit!r} was assigned in, {home!r}", stratum,
                    "everybody belongs to one stratum: were it two, outcomes would be used twice",
                )  # fmt: skip
            former = None if home is not None else self._former_home(unit)
            if former is not None:
                self._trials[former]._refuse_forgotten(unit)
            return chosen.assign(unit, actions)

    @unheld
    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a unit, in the stratum that it was assigned in: see `Trial.record`."""
        with turn_of(self._lock):
            self._trials[self._recorded_in(unit, outcome)].record(unit, outcome)

    def _recorded_in(self, unit: Name, outcome: float) -> Name:
        """The stratum of a unit that has an outcome."""
        unit = check_unit(unit)
        home = self._home(unit)
        if home is None:
            home = self._former_home(unit)
        if home is None:
            plan = next(iter(self._trials.values()))._plan
            shown = unit if plan.steps(outcome) is not None else Unshown(type(unit).__name__)
            raise UnknownUnit(
                f"unit must have been assigned before an outcome is recorded, got {shown!r}; "
                "call assign(unit, stratum) first"
            )
        return home

    def settle(self) -> bool:
        """Release what is due in every stratum; whether there was anything."""
        with turn_of(self._lock):
            found = [trial.settle() for trial in self._trials.values()]
            self._conclude()
            return any(found)

    def confirm_clock(self, *, by: str = "", reason: str = "") -> str:
        """Continue although the clock has jumped, because it is right: see
        `Trial.confirm_clock`."""
        with turn_of(self._lock):
            said = [t.confirm_clock(by=by, reason=reason) for t in self._trials.values()]
            return said[0]

    # --- the rights of people ---------------------------------------------------------------------

    @unheld
    def withdraw(self, unit: Name, *, by: str = "", reason: str = "") -> Remains:
        """A unit takes its outcome back; says what remains: see `Trial.withdraw`."""
        with turn_of(self._lock):
            unit = check_unit(unit)
            home = self._home(unit) or self._former_home(unit)
            if home is None:
                raise UnknownUnit(f"unit must have been assigned before it withdraws, got {unit!r}")
            return self._trials[home].withdraw(unit, by=by, reason=reason)

    @unheld
    def correct(self, unit: Name, outcome: float, *, by: str = "", reason: str = "") -> None:
        """Another outcome in place of the one that was recorded: see `Trial.correct`."""
        with turn_of(self._lock):
            self._trials[self._recorded_in(unit, outcome)].correct(
                unit, outcome, by=by, reason=reason
            )

    def erase(self, *, by: str = "", reason: str = "") -> None:
        """Overwrite the names of all participants, once all strata are finished: see
        `Trial.erase`."""
        with turn_of(self._lock):
            self._conclude()
            if self._status() != "finished":
                raise TrialError(
                    "names are erased once all strata are finished: until then they show that "
                    "nobody takes part twice; end the trial by finish()"
                )
            for trial in self._trials.values():
                trial.erase(by=by, reason=reason)

    def log(self, *, verify: bool = False) -> list[dict[str, Any]]:
        """The trail of every stratum: see `Trial.log`."""
        with turn_of(self._lock):
            self._conclude()
            return [
                {"stratum": name, **entry}
                for name, trial in self._trials.items()
                for entry in trial.log(verify=verify)
            ]

    def _former_home(self, unit: Name) -> Name | None:
        """Where someone was who has withdrawn and was forgotten."""
        for name, trial in self._trials.items():
            with trial._turn(), trial._store.held():
                trial._stand()
                if trial._store.people.is_forgotten(unit):
                    return name
        return None

    def stratum_of(self, unit: Name) -> Name | None:
        """The stratum that a unit was assigned in; None for a stranger."""
        with turn_of(self._lock):
            return self._home(check_unit(unit))

    def _home(self, unit: Name) -> Name | None:
        return next((name for name, trial in self._trials.items() if unit in trial), None)

    # --- the life of a trial: in one stratum, or in all -------------------------------------------

    def drop(
        self, arm: Name, stratum: Name | None = None, *, by: str = "", reason: str = ""
    ) -> None:
        """No more places for an arm: see `Trial.drop`. In all strata, or in none if one refuses."""
        self._each(stratum, lambda trial: trial._check_drop(arm))
        self._each(stratum, lambda trial: trial.drop(arm, by=by, reason=reason))

    def stop(
        self, because: str = "releases", stratum: Name | None = None, *, by: str = "",
        reason: str = "",
    ) -> None:  # fmt: skip
        """No more units, and why: see `Trial.stop`."""
        self._each(stratum, lambda trial: trial.stop(because, by=by, reason=reason))

    def finish(
        self, discard: bool = False, stratum: Name | None = None, *, by: str = "", reason: str = ""
    ) -> None:
        """No more units: see `Trial.finish`."""
        self._each(stratum, lambda trial: trial.finish(discard, by=by, reason=reason))

    def _each(self, stratum: Name | None, act: Callable[[Trial], object]) -> None:
        with turn_of(self._lock):
            chosen = self._trials.values() if stratum is None else [self._trial(stratum)]
            for trial in chosen:
                act(trial)

    # --- what may be shown ------------------------------------------------------------------------

    @property
    def strata(self) -> tuple[Name, ...]:
        """The names of the strata."""
        return tuple(self._trials)

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms."""
        return next(iter(self._trials.values())).arms

    @property
    def policy(self) -> Policy | LinearPolicy:
        """The policy, of which every stratum runs a copy."""
        return next(iter(self._trials.values())).policy

    @property
    def guarantee(self) -> Guarantee:
        """That of one stratum: no outcome is in two of them."""
        each = [trial.guarantee for trial in self._trials.values()]
        conditions = dict.fromkeys(text for one in each for text in one.conditions)
        return replace(each[0], conditions=(*conditions, PUBLIC_STRATUM))

    @property
    def rounds(self) -> int:
        """Assignments whose outcomes are used, so far, in all strata."""
        return sum(trial.rounds for trial in self._trials.values())

    @property
    def status(self) -> str:
        """ "fenced", "stuck" or "collecting" if a stratum is, "settling" while one waits,
        "finished" last."""
        with turn_of(self._lock):
            self._conclude()
            return self._status()

    def _status(self) -> str:
        found = {trial.status for trial in self._trials.values()}
        return next(
            s for s in ("fenced", "stuck", "collecting", "settling", "finished") if s in found
        )

    @property
    def recommendation(self) -> dict[Name, Name | None]:
        """The best arm of every stratum, once its trial has stopped."""
        return {name: trial.recommendation for name, trial in self._trials.items()}

    def verdict(self, *, by: str = "", reason: str = "") -> StrataVerdict | None:
        """Of a test over strata: what its design says of the looks that all strata have had; None
        before the first. See `Trial.verdict`."""
        words = check_words(by, reason)
        with turn_of(self._lock):
            self._conclude()
            found = self._combined().verdict
            for trial in self._trials.values() if found is not None else ():
                with trial._turn(), trial._store.held():
                    trial._stand()
                    trial._note("verdict opened", **words)
                    trial._store.noted()
            return found

    def _combined(self) -> Combined:
        trials = self._trials.values()
        return Combined.of(self.policy, [trial._run for trial in trials])

    def _conclude(self) -> None:
        """A test that has decided stops in all strata: a rule on releases, so it is free."""
        if not is_test(self.policy) or not all(t._releases_here for t in self._trials.values()):
            return  # anyone who releases sees to it
        for trial in self._trials.values():
            trial.settle()
        found = self._combined().verdict
        if found is not None and found.decision != "go on":
            for trial in self._trials.values():
                trial.stop("releases")

    def report(self) -> Report:
        """A report for every stratum, ready for JSON; intervals hold for all strata together."""
        with turn_of(self._lock):
            self._conclude()
            status = self._status()
            each: list[Report] = [
                {"stratum": name, **self._leveled(trial.report())}
                for name, trial in self._trials.items()
            ]
            dues = [one["next_release"] for one in each if one["next_release"] is not None]
            guarantee, terms = self.guarantee, next(iter(self._trials.values()))._terms
            for one in each if terms.shared else ():
                one["horizon"] = None  # it is that of all
            return {
                "policy": str(self.policy),
                "guarantee": str(guarantee),
                "budget": guarantee.to_dict(),
                "status": status,
                "assigned": sum(one["assigned"] for one in each),
                "rounds": sum(one["rounds"] for one in each),
                **({"horizon": terms.horizon} if terms.shared else {}),
                "releases": sum(one["releases"] for one in each),
                "next_release": min(dues, default=None),
                "level": LEVEL,
                **({"test": self._combined().entries()} if is_test(self.policy) else {}),
                "strata": each,
            }

    def intervals(
        self, level: float = LEVEL, *, together: bool = False
    ) -> dict[Name, Intervals | None]:
        """Intervals of the mean outcomes, by stratum; None where there can be none.

        For one arm they hold in all strata with the probability `level`: each stratum has its share
        of the error. `together`: for all arms as well.
        """
        from ..inference import intervals

        return self._inferred(
            lambda record: intervals(record, self._each_at(level), together=together)
        )

    def differences(
        self, level: float = LEVEL, *, against: Name | None = None
    ) -> dict[Name, Intervals | None]:
        """Effects by stratum: the difference of every arm and one other, likewise."""
        from ..inference import differences

        return self._inferred(
            lambda record: differences(record, self._each_at(level), against=against), epochs=True
        )

    def _inferred(
        self, infer: Callable[[Record | EpochRecord], Intervals], epochs: bool = False
    ) -> dict[Name, Intervals | None]:
        with turn_of(self._lock):
            records: dict[Name, Record | EpochRecord | None] = {
                name: (trial.public_epochs() if epochs else None) or trial.public_record()
                for name, trial in self._trials.items()
            }
        return {name: None if r is None else infer(r) for name, r in records.items()}

    def _each_at(self, level: float) -> float:
        """The level of one stratum at which all hold at this one."""
        from ..inference._intervals import check_level

        return 1.0 - (1.0 - check_level(level)) / len(self._trials)

    def _leveled(self, report: Report) -> Report:
        """A report whose intervals hold for all strata together."""
        from ..inference import intervals
        from ..inference._within import ahead_within, epochs_of

        trend, cells = report.get("trend"), epochs_of(report)
        if trend and cells is not None:
            level = self._each_at(LEVEL)
            ends = ahead_within(cells, cells.arms.index(trend["leader"]), level)
            behind: list[Behind] = [
                {**row, "interval": list(ends[cells.arms.index(row["arm"])])}
                for row in trend["behind"]
            ]
            return {**report, "trend": {**trend, "level": level, "behind": behind}}
        if report.get("intervals") is None:
            return report
        found = intervals(report, self._each_at(LEVEL))
        arms: list[ArmReport] = [
            {**row, "interval": [interval.low, interval.high]}
            for row, interval in zip(report["arms"] or (), found, strict=True)
        ]
        if found.estimand == "responders":
            everybody = intervals(report, self._each_at(LEVEL), over="all")
            for row, interval in zip(arms, everybody, strict=True):
                row["interval_of_all"] = [interval.low, interval.high]
        return {**report, "arms": arms, "intervals": reports.summary_of(found)}

    def __str__(self) -> str:
        return self.as_text()

    def as_text(self, width: int = 0) -> str:
        """The report in words, for so many columns; as `print` shows it by default."""
        found = self.report()
        each = found["strata"]
        shown = [f"stratum {one['stratum']}\n{reports.as_text(one, width)}" for one in each]
        if "test" in found:
            shown += ["\n".join(reports.tested(found["test"]))]
        return "\n\n".join([*shown, found["guarantee"]])

    def __repr__(self) -> str:
        names = ", ".join(map(str, self._trials))
        return f"<Strata {names} of {self.policy.name}: {self.guarantee.short()}>"

    # --- storing ----------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | SqlStore,
        policy: BasePolicy[Never] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Self:
        """Continue with a saved trial: see `Trial.load`."""
        stores = _stores_in(sql_store_at(path))
        made = cls.__new__(cls)
        made._lock = threading.RLock()
        with ExitStack() as opened:
            for store in stores:
                opened.callback(store.close)
            made._trials = {
                name: Trial._opened(store, policy, clock, name)
                for store in stores
                for name in [store.state["stratum"]]
            }
            opened.pop_all()
        return made

    def backup(self, to: str | os.PathLike[str], *, by: str = "", reason: str = "") -> None:
        """All that is public, in another file: see `Trial.backup`."""
        words = check_words(by, reason)
        with turn_of(self._lock):
            self.settle()
            first, *_ = trials = list(self._trials.values())
            with first._turn(), first._store.held():
                for trial in trials:
                    trial._stand()
                ledgers = {t._in_a_file("backup").number: t._no_ledger() for t in trials}
                first._in_a_file("backup").back_up(check_path("to", to), ledgers)
                first._note("backup made", **words)
                first._store.noted()

    def fence(self, *, by: str = "", reason: str = "") -> None:
        """End a trial that is fenced, in all strata: see `Trial.fence`."""
        self._each(None, lambda trial: trial.fence(by=by, reason=reason))

    def close(self) -> None:
        """End the use of this object: see `Trial.close`."""
        with self._lock, ExitStack() as closing:
            for trial in self._trials.values():
                closing.callback(trial.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "a trial must not be copied or pickled: two copies could release the same block twice; "
            "give path, then close() and Strata.load(path)"
        )

    def _trial(self, stratum: Name) -> Trial:
        if type(stratum) not in (str, int) or stratum not in self._trials:
            raise InvalidArgument(
                "stratum", "be a stratum of the trial", stratum, f"one of {self.strata}"
            )
        return self._trials[stratum]


# --- the file -------------------------------------------------------------------------------------


def sql_store_at(path: str | os.PathLike[str] | SqlStore) -> SqlStore:
    """A store that has room for several trials."""
    if isinstance(path, SqlStore):
        return path
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument("path", "be a path", path, 'use for example "trial.db"')
    return SqliteStore(path)


def _made_in(
    home: SqlStore, names: tuple[Name, ...], trial: Callable[[Name, Store | None], Trial]
) -> dict[Name, Trial]:
    """A trial for every stratum in a new home; if one cannot be made, nothing is left of it."""
    base = home._base
    base.make()
    try:
        with base.gathered():
            made = {name: trial(name, home.beside(n)) for n, name in enumerate(names, 1)}
    except BaseException:
        base.discard()
        raise
    base.leave()  # those of the strata continue
    return made


def _stores_in(home: SqlStore) -> list[SqlStore]:
    """The stores of all strata."""
    base = home._base
    base.open()
    found = base.run(
        "SELECT trial FROM trials WHERE trial BETWEEN ? AND ? ORDER BY trial", base.trials
    )
    stores = [home.beside(trial - base.first) for (trial,) in found]
    base.leave()
    for store in stores:
        store.load()
    if not stores or any("stratum" not in store.state for store in stores):
        for store in stores:
            store.close()
        raise InvalidArgument(
            "path", "be a saved trial by stratum", base.name,
            f"open it as one trial: discreet.Trial.load({base.name!r})",
        )  # fmt: skip
    return stores


def is_by_stratum(path: str | os.PathLike[str] | SqlStore) -> bool:
    """Whether the trial of a file, or of another home, has strata."""
    store = sql_store_at(path).again()
    store.load()
    try:
        return "stratum" in store.state
    finally:
        store.close()


def opened(path: str | os.PathLike[str] | SqlStore) -> Trial | Strata:
    """The trial of a file, or of another home, whichever it is."""
    return Strata.load(path) if is_by_stratum(path) else Trial.load(path)
