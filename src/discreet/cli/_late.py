"""Outcomes that come late, on the command line: the words of `discreet.simulate`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from .._durations import days
from ..errors import InvalidArgument
from ._options import flag, numbers, switch, whole

if TYPE_CHECKING:
    from ..simulator.calendar import Delay, Drift


@dataclass(frozen=True)
class Late:
    """How outcomes come late."""

    arrivals: Annotated[
        float | None, flag("Participants a day: outcomes then come late.", "NUMBER")
    ] = None
    delay: Annotated[
        str | None, flag('With --arrivals: the deadline for outcomes, "14 days".', "TIME")
    ] = None
    delay_law: Annotated[
        str | None, flag("With --arrivals: fixed (default), uniform or exponential.", "NAME")
    ] = None
    delay_mean: Annotated[
        str | None, flag('With --delay-law: mean delay of outcomes, "5 days".', "TIME")
    ] = None
    missing: Annotated[
        str | None, flag("With --arrivals: the share that never answers, or one per arm.", "P,...")
    ] = None
    default: Annotated[
        str | None,
        flag(
            "With --arrivals: what a missing outcome counts as. Default: estimate, from those "
            "who answered.",
            "VALUE",
        ),
    ] = None
    drift: Annotated[
        str | None, flag('With --arrivals: linear:SIZE, or "season:SIZE:180 days".', "KIND:SIZE")
    ] = None
    window: Annotated[
        str | None, flag("With --arrivals: places that are planned and shuffled at once.", "COUNT")
    ] = None
    share: Annotated[
        str | None, flag("With --arrivals: the least share of every arm, or one per arm.", "P,...")
    ] = None
    trend: Annotated[
        bool,
        switch("--trend", "With --arrivals: compare arms within epochs alone, against trends."),
    ] = False

    def given(self) -> dict[str, Any]:
        """Arguments of `discreet.simulate`: those that were given."""
        for each in fields(self):
            value = getattr(self, each.name)
            if self.arrivals is None and value is not None and value is not False:
                raise InvalidArgument(
                    each.name.replace("_", "-"), "come with arrivals", value,
                    "add for example --arrivals 12",
                )  # fmt: skip
        if self.arrivals is None:
            return {}
        found: dict[str, Any] = {"arrivals": self.arrivals}
        late = delay_of(self.delay, self.delay_law, self.delay_mean)
        if late is not None:
            found["delay"] = late
        for name in ("missing", "share"):
            if getattr(self, name) is not None:
                found[name] = numbers(name, getattr(self, name))
        if self.default is not None:
            found["default"] = default_of(self.default)
        if self.drift is not None:
            found["drift"] = drift_of(self.drift)
        if self.window is not None:
            found["window"] = whole("window", self.window)
        return found | ({"trend": True} if self.trend else {})


def delay_of(
    deadline: str | None, environment: str | None = None, mean: str | None = None
) -> float | Delay | None:
    """When answers come; None if nothing is said of it."""
    from ..simulator.calendar import Delay

    if environment is None and mean is None:
        return None if deadline is None else in_days("delay", deadline)
    latest = 0.0 if deadline is None else in_days("delay", deadline)
    usual = None if mean is None else in_days("delay-mean", mean)
    return Delay(latest, environment or "exponential", usual)


def default_of(text: str) -> float | str:
    """What a missing outcome counts as."""
    return text if text == "estimate" else numbers("default", text)[0]


def in_days(option: str, text: str, before: str = "") -> float:
    """A length of time in days; a fix is written as the option is."""
    try:
        return float(days(option, text))
    except InvalidArgument as error:
        fix = f'use for example --{option} "{before}14 days"'
        raise InvalidArgument(error.argument, error.rule, error.value, fix) from None


def drift_of(text: str | None) -> Drift | None:
    """How the rates of all arms move together."""
    from ..simulator.calendar import Drift

    if text is None:
        return None
    kind, *sizes = text.split(":")
    if len(sizes) not in (1, 2):
        raise InvalidArgument(
            "drift", "be linear:SIZE or season:SIZE:TIME", text,
            'use for example linear:.1, or "season:.1:180 days"',
        )  # fmt: skip
    size, *period = sizes
    return Drift(
        kind, numbers("drift", size)[0], *(in_days("drift", each, "season:.1:") for each in period)
    )
