"""AIDS Clinical Trials Group Study 175: 2139 patients, four treatments."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from discreet.arms._trial import TrialData
from discreet.errors import InvalidArgument

NAME = "actg175"
OUTCOMES = ("cd4", "event-free")
ARM_NAMES = (
    "zidovudine",
    "zidovudine + didanosine",
    "zidovudine + zalcitabine",
    "didanosine",
)
CITATION = (
    "Hammer et al., A trial comparing nucleoside monotherapy with combination therapy in "
    "HIV-infected adults with CD4 cell counts from 200 to 500 per cubic millimeter, "
    "N Engl J Med 335 (1996) 1081"
)
SOURCE = "UCI Machine Learning Repository no. 890"
LICENCE = "CC BY 4.0"


def actg175(outcome: str = "cd4") -> TrialData:
    """The outcomes of the clinical trial ACTG 175 (Hammer et al. 1996), by treatment.

    Args:
        outcome: "cd4": the CD4 count at week 20 is above that at the start. "event-free": no event
            (a fall of the CD4 count by half, AIDS, or death) was seen.

    Returns:
        The trial; `resampled()` is an environment that draws from it, `replay()` its own order.

    Raises:
        InvalidArgument: If there is no such outcome.

    Example:
        >>> import discreet
        >>> len(discreet.actg175().outcomes)
        2139
    """
    if outcome not in OUTCOMES:
        raise InvalidArgument("outcome", "be cd4 or event-free", outcome, "choose one of the two")
    return _read(outcome)


@cache
def _read(outcome: str) -> TrialData:
    with files("discreet.arms").joinpath("data/actg175.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if outcome == "cd4":
        good = [float(int(row["cd420"]) > int(row["cd40"])) for row in rows]
    else:
        good = [float(int(row["cens"]) == 0) for row in rows]
    assigned = [int(row["arm"]) for row in rows]
    return TrialData(NAME, outcome, ARM_NAMES, assigned, good, CITATION, LICENCE, SOURCE)
