"""Rehearsals: the protocol of a trial with simulated noise and a seed, for research loops.

>>> import discreet
>>> rehearsal = discreet.Rehearsal(discreet.policy("adap-klucb", epsilon=1.0), arms=3, seed=1)
>>> arm = rehearsal.select()
>>> rehearsal.update(arm, 1.0)

With `arrivals` it is the live trial itself that is rehearsed, on days that are made up:

>>> row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5)
>>> rehearsal = discreet.Rehearsal(
...     row, ["A", "B"], horizon=60, arrivals=12, delay="14 days", default="estimate", seed=1
... )
>>> for visit in rehearsal.participants():
...     rehearsal.answer(visit.unit, 1.0 if visit.arm == "A" else 0.0)
>>> rehearsal.trial.status
'finished'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Any, Never

from .._checks import Name, check_arms, check_horizon, count
from ..errors import DamagedFile, InvalidArgument, TrialError
from ..inference._record import Record
from ..inference._within import EpochRecord
from ..policies import Policy
from ..policies._policy import BasePolicy, served
from ..privacy._guarantees import Guarantee
from ..privacy._source import SIMULATED
from ._rounds import Rounds
from ._rows import row_from_dict, row_to_dict
from ._terms import UNSAID
from ._verdicts import as_policy, is_test, shares_of
from ._visits import CAVEAT, Visit, Visits

if TYPE_CHECKING:
    from .._types import Json
    from ..arms import Bernoulli
    from ..confirm import Design, EpochVerdict, SeveralVerdict, StrataDesign, StrataVerdict, Verdict
    from ..simulator.calendar import Calendar, Delay, Drift

FORMAT, VERSION = "discreet rehearsal", 1
NOBODY = "nobody: a rehearsal draws simulated noise that can be replayed"


class Rehearsal:
    """A policy to play with, one reward at a time. It protects no one: its noise can be replayed.

    `select()` says which arm is next, `update(arm, reward)` what it brought. The arm stays the same
    until the batch is over; `remaining` rewards of it may be given at once by `update_many`.

    With `arrivals`, participants a day, outcomes come late or never, and `trial` is a live trial in
    everything but its noise and its clock: streams, windows, deadlines, estimates of what is
    missing, `drop`, `add`, `stop`, `finish`. What the calendar says is what `simulate` takes:

    - `delay`: the deadline, "14 days" or a number of days, or a `Delay`, with the distribution of
      how late answers are;
    - `missing`: the share that never answers, or one per arm; who answers after the deadline is
      missing as well. An arm that is added is like the last one;
    - `default`: what a missing outcome counts as, or "estimate": to be said, as `missing` of a
      `Trial`;
    - a design (`discreet.confirm.design`) in place of the policy rehearses a test: see `verdict`;
    - `strata`: groups of participants, with the shares of those who come, `{"men": 2, "women": 1}`;
      a design over strata has its own. Then `trial` is a `Strata`, and a visit has its `stratum`;
    - `drift`: how the rates of a distribution move that is played, see `play`;
    - and whatever else `Trial` takes: `outcomes`, `assignment`, `risk`, `intervals`.

    Example:
        >>> import discreet
        >>> rehearsal = discreet.Rehearsal(
        ...     discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], horizon=100, seed=1
        ... )
        >>> arm = rehearsal.select()
        >>> rehearsal.update(arm, 1.0)
    """

    __slots__ = (
        "_arms", "_calendar", "_high", "_label", "_left", "_low", "_planned", "_respond", "_rng",
        "_run", "_total", "_visits", "policy",
    )  # fmt: skip

    def __init__(
        self,
        policy: BasePolicy[Never] | Design | StrataDesign,
        arms: int | Sequence[Name],
        *,
        horizon: float | None = None,
        seed: int | None = None,
        arrivals: float | None = None,
        delay: str | timedelta | float | Delay | None = None,
        missing: float | Sequence[float] | None = None,
        default: float | str | None = None,
        drift: Drift | None = None,
        strata: Sequence[Name] | Mapping[Name, float] | None = None,
        **trial: Any,
    ) -> None:
        import numpy as np

        if seed is not None and (
            isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0
        ):
            raise InvalidArgument(
                "seed", "be a whole number from 0", seed, "use for example seed=1"
            )
        shares = shares_of(policy, strata)
        if shares is None:
            policy = as_policy(policy)
        if is_test(policy) or shares is not None:
            self._check_tested(arrivals)
        self._arms = check_arms(arms, getattr(policy, "fewest", 2))
        if not isinstance(policy, BasePolicy):
            self._planned: Any = policy  # a design over strata
        else:
            self._planned = self.policy = served(
                policy, "a rehearsal", Policy, "finite", "identify",
                fix="discreet.linear.Rehearsal plays policies with contexts",
            )  # fmt: skip
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._visits: Visits | None = None
        self._calendar: Calendar | None = None
        given = {"delay": delay, "missing": missing, "default": default, "drift": drift, **trial}
        if arrivals is not None:
            self._begin_calendar(arrivals, horizon, shares, **given)
            return
        for name, value in given.items():
            if value is not None:
                raise InvalidArgument(
                    name, "come with arrivals", value, "say how many participants come a day"
                )
        setting = self.policy.setting(len(self._arms), check_horizon(horizon), SIMULATED)
        self._run = Rounds(self.policy, setting, self._rng)
        self._respond = self._run.respond
        self._low, self._high = self.policy.bounds or (-float_info.max, float_info.max)
        self._open()

    @staticmethod
    def _check_tested(arrivals: float | None) -> None:
        """A test is rehearsed as it runs: arms concurrently."""
        if arrivals is None:
            raise InvalidArgument(
                "arrivals", "be given for a test, or by stratum, where arms are side by side", None,
                "use for example arrivals=12, delay=14 and default=0",
            )  # fmt: skip

    # --- with a calendar --------------------------------------------------------------------------

    def _begin_calendar(
        self, arrivals: float, horizon: float | None, shares: Mapping[Name, float] | None,
        delay: str | timedelta | float | Delay | None,
        missing: float | Sequence[float] | None, default: float | str | None,
        drift: Drift | None, **trial: Any,
    ) -> None:  # fmt: skip
        from ..simulator.calendar import calendar

        if default is None:
            raise InvalidArgument("default", UNSAID, None, 'use default=0, or default="estimate"')
        self._calendar = calendar(
            len(self._arms), arrivals=arrivals, delay=0.0 if delay is None else delay,
            missing=0.0 if missing is None else missing, drift=drift, default=default,
        )  # fmt: skip
        self._visits = Visits(
            self._planned, self._arms, self._calendar, self._rng, default, shares,
            horizon=horizon, **trial,
        )  # fmt: skip
        self.policy = self._visits.trial.policy
        self._label: Name | None = None
        self._left = 0

    def _with_calendar(self) -> Visits:
        if self._visits is None:
            raise TrialError(
                "this rehearsal has no calendar: its rewards come at once, by select() and "
                "update(); give arrivals=12, for example, and delay=14"
            )
        return self._visits

    @property
    def trial(self) -> Any:
        """The trial that is rehearsed, a `Trial` or a `Strata`, with all that a live one has but
        its protection."""
        return self._with_calendar().trial

    @property
    def day(self) -> float:
        """Days since the beginning."""
        return self._with_calendar().day

    def participants(self) -> Iterator[Visit]:
        """Everyone who comes, with the arm they got, until the trial takes no more. Answers that
        come in the meantime are handed in; in the end, what is open is waited for."""
        return self._with_calendar().participants()

    def answer(self, unit: int, outcome: float | None, after: float | None = None) -> None:
        """What will come of a participant: so many days `after` they got an arm, or when, and if at
        all, the calendar draws it; None for never."""
        self._with_calendar().answer(unit, outcome, after)

    def play(
        self,
        environment: Bernoulli | Callable[[Visit], float | None] | Mapping[Name, Bernoulli],
    ) -> dict[str, Any]:
        """Everyone who comes, with outcomes from a function of the visit, or from an environment
        whose rates drift as the calendar says, of all or of every stratum; the report at the
        end."""
        visits = self._with_calendar()
        outcome = self._outcomes_of(environment)
        for visit in visits.participants():
            visits.answer(visit.unit, outcome(visit))
        return self.report()

    def _outcomes_of(
        self,
        environment: Bernoulli | Callable[[Visit], float | None] | Mapping[Name, Bernoulli],
    ) -> Callable[[Visit], float | None]:
        from ..arms import Bernoulli

        shares = self._with_calendar().shares
        if isinstance(environment, Mapping):
            if shares is None or set(environment) != set(shares):
                raise InvalidArgument(
                    "environment", "have one for every stratum", sorted(map(str, environment)),
                    f"use {sorted(map(str, shares or []))}, or one environment for all",
                )  # fmt: skip
            each = {name: self._outcomes_of(one) for name, one in environment.items()}
            return lambda visit: each[visit.stratum](visit)  # type: ignore[index]

        calendar, trial, rng = self._calendar, self.trial, self._rng
        assert calendar is not None
        if not isinstance(environment, Bernoulli):
            if callable(environment) and calendar.drift is None:
                return environment
            raise InvalidArgument(
                "environment", "be a Bernoulli law, or, where no drift is given, a function",
                environment, "let your own function look at visit.day",
            )  # fmt: skip
        if environment.arms != len(trial.arms):
            raise InvalidArgument(
                "environment", f"have {len(trial.arms)} arms", environment.arms,
                "give one mean per arm of the trial",
            )  # fmt: skip
        horizon = trial.horizon
        if horizon is None and calendar.drift is not None:
            raise InvalidArgument(
                "horizon", "be given where rates drift", None, "say how many participants come"
            )
        drift, length = calendar.drift, (horizon or 1) / calendar.arrivals

        def outcome(visit: Visit) -> float:
            rate = environment.means[trial.arms.index(visit.arm)]
            if drift is not None:
                rate = drift.moved(rate, visit.day, length)
            return float(rng.random() < rate)

        return outcome

    # --- without ----------------------------------------------------------------------------------

    def _open(self) -> None:
        self._total = 0.0
        self._left = self._run.rounds
        self._label = self._arms[self._run.arm] if self._left else None

    def select(self) -> Name:
        """The arm to play next; asking twice changes nothing."""
        label = self._label
        if label is None:
            self._refuse_more()
        return label  # type: ignore[return-value]

    def update(self, arm: Name, reward: float) -> None:
        """The reward that the selected arm brought."""
        if arm != self._label:
            self._refuse_arm(arm)
        try:
            fits = self._low <= reward <= self._high  # False for NaN
        except TypeError:
            fits = False
        if not fits:
            self._refuse_reward(reward)
        if self._respond is not None:
            reward = self._respond(self._run.release, reward, self._rng)
        if self._left > 1:
            self._left -= 1
            self._total += reward
            return
        run = self._run
        run.close(float(self._total + reward))
        self._total = 0.0
        self._left = rounds = run.rounds
        self._label = self._arms[run.arm] if rounds else None

    def update_many(self, arm: Name, rewards: Iterable[float]) -> None:
        """Several rewards of the selected arm, in order: at most `remaining`. All of them count, or
        none if one is refused. The same as as many calls of `update`."""
        values = rewards.tolist() if hasattr(rewards, "tolist") else list(rewards)
        if arm != self._label:
            self._refuse_arm(arm)
        if len(values) > self._left:
            raise InvalidArgument(
                "rewards", f"be at most the {self._left} rounds that are left of the batch",
                len(values), "give the others after asking select() again",
            )  # fmt: skip
        low, high = self._low, self._high
        for reward in values:
            try:
                if low <= reward <= high:
                    continue
            except TypeError:
                pass
            self._refuse_reward(reward)
        if self._respond is not None:
            release, rng, respond = self._run.release, self._rng, self._respond
            values = [respond(release, reward, rng) for reward in values]
        total = self._total
        for reward in values:
            total += reward
        self._total = total
        self._left -= len(values)
        if not self._left:
            self._run.close(float(total))
            self._open()

    def propensities(self, draws: int = 1000) -> dict[Name, float]:
        """The probability of each arm for the open batch, given what was released before.

        Exact where the policy draws no coins: then one arm has 1. Else the share of `draws` choices
        that the policy would have made, by coins of their own: a probability p has a standard error
        of sqrt(p(1 - p)/draws). With a calendar ask `rehearsal.trial.propensity(unit)`.

        Example:
            >>> import discreet
            >>> row = discreet.policy("dp-imed", epsilon=1.0)
            >>> discreet.Rehearsal(row, ["A", "B"], seed=1).propensities()
            {'A': 1.0, 'B': 0.0}
        """
        draws = count("draws", draws, fix="use for example draws=1000")
        if self._label is None:
            self._refuse_more()
        choose = self.policy.choose_kernel.interpreted()
        found = self._run.propensities(choose, draws)
        return dict(zip(self._arms, found, strict=True))

    @property
    def remaining(self) -> int:
        """Rounds that are left of the open batch: so long the selected arm stays the same."""
        return self._left

    @property
    def rounds(self) -> int:
        """Rewards given so far; with a calendar, assignments."""
        if self._visits is not None:
            return int(self._visits.trial.rounds)
        return self._run.t + self._run.rounds - self._left

    @property
    def arms(self) -> tuple[Name, ...]:
        """The names of the arms."""
        return self._arms if self._visits is None else self._visits.trial.arms

    @property
    def guarantee(self) -> Guarantee:
        """What a live trial of this policy would promise. The rehearsal itself protects no one."""
        if self._visits is not None:
            found: Guarantee = self._visits.trial.guarantee
            return found
        promised = self.policy.guarantee
        return replace(promised, conditions=(*promised.conditions, CAVEAT))

    def public_record(self, binary: bool = False) -> Record | None:
        """What was released, and what is known of the noise in it: all that intervals use.
        `binary` says that rewards are 0 or 1; with a calendar, give it in the beginning."""
        if self._visits is not None:
            if self._visits.shares is not None:
                raise TrialError("records are by stratum: see rehearsal.trial.intervals()")
            record: Record | None = self._visits.trial.public_record()
            return record
        found = self._run.record(self._arms, (0.0, 1.0), "auto", binary)
        bounded = binary or self.policy.bounds is not None
        return found if found is None or bounded else replace(found, bounded=False)

    def verdict(self) -> Verdict | SeveralVerdict | EpochVerdict | StrataVerdict | None:
        """Of a test: what its design says of the releases so far; None before the first look."""
        found: Verdict | None = self._with_calendar().trial.verdict()
        return found

    def public_epochs(self) -> EpochRecord | None:
        """With a calendar and `trend=True`: what was released in every epoch, for differences."""
        if self._visits is None or self._visits.shares is not None:
            return None
        found: EpochRecord | None = self._visits.trial.public_epochs()
        return found

    def report(self) -> dict[str, Any]:
        """What the policy has seen: counts and released means, ready for JSON; with a calendar,
        the report of the trial, times in days."""
        if self._visits is not None:
            return {"protects": NOBODY, "day": self.day, **self.trial.report()}
        run = self._run
        view, played = run.view, list(run.view.pulls)
        played[run.arm] += run.rounds - self._left
        return {
            "policy": str(self.policy),
            "protects": NOBODY,
            "a trial would promise": str(self.policy.guarantee),
            "rounds": self.rounds,
            "horizon": run.horizon,
            "arms": [
                {
                    "arm": name,
                    "played": played[arm],
                    "releases": run.releases[arm],
                    "size": max(view.size[arm], 0),
                    "value": float(view.value[arm]) if view.size[arm] > 0 else None,
                }
                for arm, name in enumerate(self._arms)
            ],
        }

    def __repr__(self) -> str:
        return (
            f"<Rehearsal of {self.policy.name}, {len(self.arms)} arms, {self.rounds} rounds: "
            "simulated noise, protects nobody>"
        )

    def to_dict(self) -> dict[str, object]:
        """All that is needed to continue, ready for JSON, the generator's state included."""
        if self._visits is not None:
            raise TrialError(
                "a rehearsal with a calendar is not stored; play it again with the same seed"
            )
        return {
            "format": FORMAT,
            "version": VERSION,
            "policy": row_to_dict(self.policy),
            "arms": list(self._arms),
            "horizon": self._run.horizon,
            "protocol": self._run.to_dict(),
            "left": self._left,
            "total": float(self._total),
            "generator": self._rng.bit_generator.state,
        }

    @classmethod
    def from_dict(cls, data: Json, policy: Policy | None = None) -> Rehearsal:
        """Continue where `to_dict` was called; a policy that you composed must be passed again."""
        return cls._revived(data, policy, "the data")

    def save(self, path: str | Path) -> None:
        """Write `to_dict()` to a file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, policy: Policy | None = None) -> Rehearsal:
        """Continue where `save` was called."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise DamagedFile(f"{path}: not a JSON file ({error})") from None
        return cls._revived(data, policy, path)

    @classmethod
    def _revived(cls, data: object, policy: Policy | None, path: object) -> Rehearsal:
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise DamagedFile(f"{path}: not a saved rehearsal")
        if data.get("version") != VERSION:
            raise DamagedFile(
                f"{path}: written in version {data.get('version')!r} of the format, this library "
                f"reads {VERSION}; use a later version of discreet"
            )
        row = row_from_dict(data.get("policy"), policy, path)
        try:
            rehearsal = cls(row, data["arms"], horizon=data["horizon"])
            rehearsal._run.restore(data["protocol"])
            rehearsal._open()
            left, total = data["left"], data["total"]
            if type(left) is not int or not 0 <= left <= rehearsal._left:
                raise DamagedFile(f"{path}: the rounds that are left of the batch are damaged")
            rehearsal._left, rehearsal._total = left, float(total)
            rehearsal._rng.bit_generator.state = data["generator"]
        except DamagedFile:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: damaged ({type(error).__name__}: {error})") from None
        return rehearsal

    def _refuse_more(self) -> None:
        if self._visits is not None:
            raise TrialError(
                "a rehearsal with a calendar has participants(), who answer() late or never; "
                "leave out arrivals for rewards that come at once"
            )
        raise TrialError(
            f"the horizon of {self._run.horizon} rounds is over, so no arm is selected; "
            "start another rehearsal, with a longer horizon"
        )

    def _refuse_arm(self, arm: object) -> None:
        if self._label is None:
            self._refuse_more()
        raise InvalidArgument(
            "arm",
            f"be the selected one, {self._label!r}",
            arm,
            "play the arm that select() returns",
        )

    def _refuse_reward(self, reward: object) -> None:
        rule = "be a finite number"
        if self.policy.bounds is not None:
            rule = f"be a number from {self._low:g} to {self._high:g}"
        raise InvalidArgument("reward", rule, reward, "scale or clip it before the update")
