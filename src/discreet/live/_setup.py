"""What kinds of trials differ in: finite arms, or contexts. The kind follows from the policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import Name, check_horizon, check_range, count, number, number_of
from ..errors import InvalidArgument, UnsupportedBudget
from ..identify import Identifier
from ..identify._trials import row_for_trial
from ..inference._record import Record, check_kind
from ..policies import Policy
from ..policies._view import Setting
from ..policies.releases._pairs import pair_scale_of
from ..privacy._guarantees import Guarantee
from ..privacy._source import RESOLUTION, SECURE, Source
from ._batches import BatchRun
from ._epochs import EpochRun, longest_epoch
from ._looks import LookRun
from ._pairs import PairRun
from ._randomness import SystemRandomness
from ._rows import protects_whole_run, rows_for_trials
from ._run import Run
from ._stream_run import StreamRun
from ._streams import check_window
from ._tested_epochs import TestedEpochRun
from ._top_two import TopTwoRun
from ._verdicts import is_test
from ._vetting import vetted

if TYPE_CHECKING:
    from ..confirm._played import Tested
    from ..linear._row import LinearPolicy
    from ._contexts import ContextRun, Features
    from ._randomness import Draws, Randomness
    from ._run import Context
    from .stores._base import Json


LONGEST_ACTION = 1e15
"""So that features in whole steps all fit into the same room in a file (`stores.seal.ROOM`)."""


NO_FEATURES = "say how many features an arm has: features=discreet.Features(dimension=5)"


class Sources(NamedTuple):
    """Where noise comes from, and the choices of sampling rules."""

    source: Source
    random: Randomness
    noise: Draws | None
    """what draws of the source are handed; None for secure ones"""


class Plan(NamedTuple):
    """A trial before anyone was assigned."""

    policy: Policy | LinearPolicy
    """as the trial plays it"""
    run: Run
    guarantee: Guarantee
    """of one outcome"""
    outcome_range: tuple[float, float]
    steps: Callable[[object], int | None]
    """an outcome as a whole number of steps; None if it is none of this trial"""
    range_fix: str
    """what to do about an outcome out of range"""
    settings: Json
    """what is stored of it"""
    context: Callable[[Features], Context]
    """the features of a unit that needs an arm, in the form that the run takes"""
    grown: Callable[[int], Plan] | None = None
    """the same with so many arms; in streams"""

    @property
    def outcomes(self) -> str:
        """What outcomes are, in words."""
        low, high = self.outcome_range
        if self.settings.get("binary"):
            return f"{low:g} or {high:g}"
        if self.settings.get("truncate"):
            return f"a number, truncated to lie from {low:g} to {high:g}"
        return f"a number from {low:g} to {high:g}"

    def with_arms(self, arms: int) -> Plan:
        """The plan with arms that were added."""
        assert self.grown is not None
        return self.grown(arms)

    def record(self, run: Run, arms: Sequence[Name]) -> Record | None:
        """What was released so far, for inference; None where there is no mean of an arm."""
        if not isinstance(run, StreamRun):
            return None
        return run.record(
            arms, self.outcome_range, self.settings["intervals"], self.settings["binary"]
        )

    def estimates(self, run: Run, actions: Features) -> list[tuple[float, float]]:
        """Mean and width of every arm."""
        if isinstance(run, StreamRun):
            raise _no_contexts("actions", self.policy)
        contextual: ContextRun = run  # type: ignore[assignment]
        return contextual.estimates(actions)


def plan_for(policy: object, arms: int, **options: Any) -> Plan:
    """The plan of a trial; what its policy cannot do is refused."""
    if isinstance(policy, Policy):
        return finite_plan(policy, arms, **options)
    from ..linear._row import LinearPolicy

    if not isinstance(policy, LinearPolicy):
        raise InvalidArgument(
            "policy", "be a row of the catalogue, or composed of the same parts", policy,
            'use for example discreet.policy("dp-imed", epsilon=1.0)',
        )  # fmt: skip
    return context_plan(policy, arms, **options)


def finite_plan(
    policy: Policy, arms: int, *, horizon: float | None, risk: float | None,
    outcome_range: tuple[float, float] | None, intervals: str, binary: bool,
    streams: bool | None, window: int | None, shares: Sequence[float],
    planned: int | None, estimate: bool, trend: bool = False, rounded: bool = False,
    truncate: bool = False,
    conditions: Sequence[str] | None = None, sources: Sources | None = None, **contexts: object,
) -> Plan:  # fmt: skip
    """Arms that are the same for everyone. `planned`: how many there were in the beginning;
    `estimate`: whether missing outcomes are estimated; `conditions`: what was not verified of the
    policy when the trial was planned; `sources`: those of a rehearsal. A trial gives none, and gets
    secure ones."""
    for name, value in contexts.items():
        if value is not None:
            raise _no_contexts(name, policy)
    row = row_for_trial(policy, risk)
    if sources is None and not protects_whole_run(row):
        usable = f"policies you can use: {', '.join(rows_for_trials())}"
        if isinstance(policy, Identifier):
            usable = 'use for example discreet.policy("evidence-tt", epsilon=1.0)'
        raise UnsupportedBudget(
            "policy", "be private over the whole run of a live trial",
            f"{row.name}: {row.guarantee.short()}",
            f"{usable}; Rehearsal runs any policy, on made-up outcomes",
        )  # fmt: skip
    low, high = check_range((0.0, 1.0) if outcome_range is None else outcome_range)
    if rounded and (binary or not row.release.takes_binary):
        raise InvalidArgument(
            "rounded", "be left out for outcomes that are 0 or 1, and for all but a test", rounded,
            "leave it out: fractions are released as they are",
        )  # fmt: skip
    binary = bool(binary) or (row.release.takes_binary and not rounded)
    if truncate and binary:
        raise InvalidArgument(
            "truncate", f"be left out for {row.name}, whose outcomes have two values", True,
            "take another policy, for example discreet.policy(\"dp-imed\", epsilon=1.0)",
        )  # fmt: skip
    if is_test(row):
        horizon = check_tested(row, horizon, streams)
    drawn = sources or Sources(SECURE, SystemRandomness(), None)
    setting = row.setting(arms, check_horizon(horizon), drawn.source)
    if sources is None and not row.release.is_live:
        raise InvalidArgument(
            "policy", "have secure noise for a live trial", str(row.release),
            f"policies you can use: {', '.join(rows_for_trials())}",
        )  # fmt: skip
    guarantee = row.guarantee_at(setting.horizon)
    unverified = conditions
    if sources is None and conditions is None:  # else it was vetted when it was planned
        unverified = vetted(row, arms, setting.horizon)
    if unverified:
        guarantee = replace(guarantee, conditions=(*guarantee.conditions, *unverified))
    settings: Json = {"outcome_range": [low, high], "binary": bool(binary)}
    if truncate:
        settings["truncate"] = True
    if rounded:
        settings["rounded"] = True
    if unverified:
        settings["conditions"] = list(unverified)
    grown: Callable[[int], Plan] | None = None
    run: StreamRun
    kind = kind_of_streams(streams, row, setting, window, shares, trend)
    if estimate and not _estimates(kind, row, setting):
        why = (kind or BatchRun).NO_ESTIMATE
        fix = f"use missing={low:g} if a missing outcome is a failure"
        if not binary:
            fix += f", or missing={0.5 * (low + high):g}, which is off by half of the range at most"
        raise InvalidArgument("missing", f"be a value for this trial: {why}", "estimate", fix)
    if kind is not None:
        first = arms if planned is None else planned
        places = check_window(window, first)
        if is_test(row) and kind is TestedEpochRun:
            if planned is None and window is not None:
                raise InvalidArgument(
                    "window", "be left out for a test in epochs: its design has their sizes",
                    window, "leave it out",
                )  # fmt: skip
            design: Any = row.design
            places = max(design.sizes)  # an epoch is one window
        if window is None and kind is EpochRun:
            places = longest_epoch(row, row.setting(first, setting.horizon, drawn.source))
        run = streaming = (PairRun if estimate else kind)(
            row, setting, drawn.random, drawn.noise, places, shares
        )
        streaming.rounded = rounded
        if first < arms:
            streaming.plan_as(row, row.setting(first, setting.horizon, drawn.source))
        settings |= {
            "streams": True, "window": places, "shares": list(shares), "planned": first,
            **({"missing": "estimate"} if estimate else {}), **({"trend": True} if trend else {}),
        }  # fmt: skip

        def with_arms(more: int) -> Plan:
            return finite_plan(
                policy, more, horizon=horizon, risk=risk, outcome_range=outcome_range,
                intervals=intervals, binary=binary, rounded=rounded, streams=True, window=places,
                shares=[*shares, *[0.0] * (more - len(shares))], trend=trend, planned=first,
                estimate=estimate, truncate=truncate, conditions=unverified, sources=sources,
            )  # fmt: skip

        grown = with_arms
    else:
        run = BatchRun(row, setting, drawn.random, drawn.noise, 1, ())
    if sources is None:
        check_noise(row, run.largest_scale(row, setting))

    def no_context(actions: Features) -> None:
        if actions is not None:
            raise _no_contexts("actions", policy)

    # trials with missing outcomes were stored with kinds that they never had
    unheld = estimate and planned is not None and intervals in ("looks", "end")
    settings["intervals"] = check_kind("auto" if unheld else intervals, run.recorded, "intervals")
    return Plan(
        row,
        run,
        guarantee,
        (low, high),
        steps_of(
            low,
            high,
            lambda number: round((number - low) / (high - low) * RESOLUTION),
            binary,
            truncate,
        ),
        "record what was measured: a test counts one of two outcomes, unless it is planned with "
        "outcomes=discreet.Outcomes(rounded=True)"
        if row.release.takes_binary and not rounded
        else "record what was measured, or plan the trial without binary outcomes"
        if binary
        else "record what was measured, or plan the trial with "
        "outcomes=discreet.Outcomes(range=(0, 10))",
        settings,
        no_context,
        grown,
    )


def check_tested(row: Tested, horizon: float | None, streams: bool | None) -> int:
    """How many participants a test has: its design says so, and its arms fill concurrently."""
    most = row.design.participants
    if horizon is not None and horizon != most:
        raise InvalidArgument(
            "horizon", f"be left out: the design has {most} participants", horizon, "leave it out"
        )
    if streams is False:
        raise InvalidArgument(
            "streams", "be left out for a test, whose arms are side by side", streams,
            "leave it out",
        )  # fmt: skip
    return most


def can_estimate(row: Policy, arms: int, horizon: float | None = None) -> bool:
    """Whether a trial of that policy can estimate missing outcomes."""
    setting = row.setting(arms, check_horizon(horizon), SECURE)
    return _estimates(kind_of_streams(None, row, setting, None, (), False), row, setting)


def _estimates(kind: type[StreamRun] | None, row: Policy, setting: Setting) -> bool:
    return kind is StreamRun and pair_scale_of(row.release, setting.source) is not None


def check_noise(row: Policy, scale: float) -> None:
    """Refuse noise that could not be drawn when the time has come."""
    from ..privacy._secure import LARGEST_SCALE

    if scale > LARGEST_SCALE:
        raise InvalidArgument(
            "policy", f"have noise of a scale of at most {LARGEST_SCALE:g} steps",
            f"{row.name}, {row.guarantee.short()}: {scale:.3g} steps",
            f"use a larger budget, at least {scale / LARGEST_SCALE:.3g} times this one",
        )  # fmt: skip


SIDE_BY_SIDE: dict[str, type[StreamRun]] = {
    "index": StreamRun, "looks": LookRun, "top two": TopTwoRun, "tested epochs": TestedEpochRun,
}  # fmt: skip
"""How plans that play arms concurrently are stepped."""


def kind_of_streams(
    streams: bool | None, row: Policy, setting: Setting, window: int | None,
    shares: Sequence[float], trend: bool,
) -> type[StreamRun] | None:  # fmt: skip
    """How a trial is played in streams: if the row can, unless told otherwise; None for single
    batches."""
    kind = SIDE_BY_SIDE.get(row.plan(setting))
    if streams and kind is None:
        raise InvalidArgument(
            "streams", f"be left out: {row.name} {why_not(row)}", streams,
            "take a policy with an index, a race or a top two, such as dp-imed or evidence-tt",
        )  # fmt: skip
    if streams is False:
        kind = None
    if trend:
        if kind is None or not row.has_epochs:
            raise InvalidArgument(
                "trend", f"be left out for {row.name}: differences within epochs have an index "
                "for dp-imed alone, in streams", trend, "take dp-imed; races compare arms side by "
                "side as they are",
            )  # fmt: skip
        return EpochRun
    if kind in (LookRun, TestedEpochRun) and any(shares):
        raise InvalidArgument(
            "share", "be left out where arms are compared in equal shares", list(shares),
            "leave it out",
        )  # fmt: skip
    if kind is None:
        for name, value in (("window", window), ("share", any(shares) or None)):
            if value is not None:
                raise InvalidArgument(
                    name, "be left out where single batches are played", value, "leave it out"
                )
    return kind


def why_not(row: Policy) -> str:
    """Why a row is played in single batches."""
    if isinstance(row, Identifier) and row.fixed_size:
        return "has a number of participants that is fixed, and rounds that decide who goes on"
    if not row.release.takes_any_block:
        return "pays for its noise by batches of lengths that are fixed beforehand"
    return "has a rule that notes every batch in its turn, and decides after it"


def context_plan(
    policy: LinearPolicy, arms: int, *, dimension: int | None, horizon: float | None,
    risk: float | None, outcome_range: tuple[float, float] | None, intervals: str, binary: bool,
    rounded: bool, longest: float | None, batch: int | None, streams: bool | None,
    window: int | None, shares: Sequence[float], trend: bool, planned: int | None, estimate: bool,
    conditions: Sequence[str] | None, truncate: bool = False,
) -> Plan:  # fmt: skip
    """Arms whose features every unit brings."""
    from ..linear._view import LinearSetting
    from ._contexts import ContextRun, served_release

    if streams or window is not None or any(shares) or estimate or trend:
        raise InvalidArgument(
            "streams", "be left out with contexts, whose batches are of all arms", streams,
            "leave out streams, window, share and trend, and give missing=0.0",
        )  # fmt: skip
    if risk is not None:
        raise InvalidArgument(
            "risk", "be left out for a policy with contexts, which stops with no answer", risk,
            "leave it out",
        )  # fmt: skip
    for name, value in (("outcome_range", outcome_range), ("truncate", truncate or None)):
        if value is not None:
            raise InvalidArgument(
                name, "be left out: the policy says what it clips outcomes to",
                value, "adac-oful takes low=..., high=...",
            )  # fmt: skip
    if rounded:
        raise InvalidArgument(
            "rounded", "be left out with contexts, which release fractions as they are", rounded,
            "leave it out",
        )  # fmt: skip
    if binary:
        raise InvalidArgument(
            "binary", "be left out with contexts, which have no interval of a mean", binary,
            "leave it out",
        )  # fmt: skip
    release = served_release(policy)
    size = count(
        "dimension",
        dimension,
        fix="use features=discreet.Features(dimension=5), the number of features of an arm",
    )
    rounds = check_horizon(horizon)
    if rounds is None:
        raise InvalidArgument(
            "horizon", "be given for a trial with contexts", None, "use for example 10_000"
        )
    length = number(
        "longest", 1.0 if longest is None else longest, low=0.0, high=LONGEST_ACTION, strict=True,
        fix="give a bound on the actions' length",
    )  # fmt: skip
    members = 1 if batch is None else count("batch", batch, fix="give the members per release")
    if members > 1 and not release.each_alone:
        raise InvalidArgument(
            "batch", "be left out for a policy that makes its own batches", batch, "leave it out"
        )
    grid = release.grid(length)
    setting = LinearSetting(arms, size, rounds, grid)
    run = ContextRun(policy, setting, members, length, SystemRandomness())
    return Plan(
        policy,
        run,
        policy.stated(release.guarantee(size)),
        (grid.low, grid.high),
        steps_of(grid.low, grid.high, grid.reward),
        "record what was measured, scaled to the range; adac-oful takes low=..., high=...",
        {"dimension": size, "longest": length, "batch": members},
        run.context,
    )


def steps_of(
    low: float, high: float, scaled: Callable[[float], int], binary: bool = False,
    truncate: bool = False,
) -> Callable[[object], int | None]:  # fmt: skip
    """A function that makes whole steps of outcomes; `binary` ones are the ends of the range, and
    nothing between. `truncate`: those beyond it are moved to its ends, before anything is summed,
    so that one outcome moves a sum by the range at most, whatever it is."""

    def steps(outcome: object) -> int | None:
        number = outcome if type(outcome) is float else number_of(outcome)
        if truncate and number is not None and number == number:
            number = min(max(number, low), high)
        if number is None or not low <= number <= high:
            return None
        return None if binary and low < number < high else scaled(number)

    return steps


def _no_contexts(argument: str, policy: Policy | LinearPolicy) -> InvalidArgument:
    return InvalidArgument(
        argument, f"be left out: {policy.name} is a policy for finite arms, without contexts",
        "a value", 'take a linear policy, for example discreet.policy("adac-oful", rho=0.5)',
    )  # fmt: skip
