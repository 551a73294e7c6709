"""The setting of an identification: that of a policy, with the risk δ of a wrong answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidArgument
from ..policies import Setting


@dataclass(frozen=True)
class RiskSetting(Setting):
    """How many arms, which noise, and the risk δ of a wrong answer (NaN: of a fixed size)."""

    delta: float


def delta_of(setting: Setting, who: str) -> float:
    """δ, for parts that only make sense in an identification."""
    if isinstance(setting, RiskSetting):
        return setting.delta
    raise InvalidArgument(
        "risk", f"be given for {who}", None, "put the part into an Identifier, and give risk"
    )


def check_delta(delta: object) -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0.0 < delta < 1.0:
        raise InvalidArgument(
            "risk", "lie in (0, 1): it is the probability of a wrong answer", delta,
            "use for example risk=0.05",
        )  # fmt: skip
    return float(delta)


def one_risk(risk: float | None, delta: float | None) -> float | None:
    """The risk, under its own name or under the older one."""
    if risk is not None and delta is not None:
        raise InvalidArgument(
            "delta", "be left out: it is the older name of risk", delta,
            "give risk; the δ of a budget belongs to the row",
        )  # fmt: skip
    return delta if risk is None else risk
