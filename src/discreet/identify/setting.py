"""The setting of an identification: that of a policy, with the risk δ of a wrong answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidArgument
from ..policies import Setting


@dataclass(frozen=True)
class RiskSetting(Setting):
    """How many arms, which noise, and the probability δ with which the answer may be wrong."""

    delta: float


def delta_of(setting: Setting, who: str) -> float:
    """δ, for parts that only make sense in an identification."""
    if isinstance(setting, RiskSetting):
        return setting.delta
    raise InvalidArgument(
        "delta", f"be given for {who}", None, "put the part into an Identifier, and give delta"
    )


def check_delta(delta: object) -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0.0 < delta < 1.0:
        raise InvalidArgument(
            "delta", "lie in (0, 1): it is the risk of a wrong answer", delta,
            "use for example delta=0.05",
        )  # fmt: skip
    return float(delta)
