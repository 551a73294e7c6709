"""The setting of an identification: that of a policy, with the risk of a wrong answer."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import share
from ..errors import InvalidArgument
from ..policies import Setting


@dataclass(frozen=True)
class RiskSetting(Setting):
    """How many arms, which noise, and the papers' δ, the risk of a wrong answer (NaN: none)."""

    risk: float


def risk_of(setting: Setting, who: str) -> float:
    """The risk, for parts that only make sense in an identification."""
    if isinstance(setting, RiskSetting):
        return setting.risk
    raise InvalidArgument(
        "risk", f"be given for {who}", None, "put the part into an Identifier, and give risk"
    )


def check_risk(risk: object) -> float:
    """A probability strictly between 0 and 1."""
    return share("risk", risk, fix="it is the probability of a wrong answer, such as risk=0.05")
