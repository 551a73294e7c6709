"""The process that releases, where others only assign and record.

Workers whose stores have `releases_here=False` seat newcomers and hand outcomes in. What is due is
released here. No one but the newcomers of that trial waits for it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable

from ..errors import DiscreetError
from ._strata import Strata, opened, sql_store_at
from ._trial import Trial
from .stores._sql import SqlStore

LOG = logging.getLogger("discreet.live")


def never() -> bool:
    """The process runs until it is ended."""
    return False


def curate(
    stores: Iterable[str | os.PathLike[str] | SqlStore],
    *,
    every: float = 0.2,
    until: Callable[[], bool] = never,
) -> None:
    """Release what is due in trials, again and again.

    - `stores`: files, or stores such as `PostgresStore(url, name)`.
    - `every`: seconds between two looks.
    - `until`: asked before every look; the call returns when it says True.

    Several processes may do this at once: one of them releases a block. What goes wrong in one
    trial is logged (`discreet.live`), and the trial is opened anew at the next look.
    """
    homes = [sql_store_at(store) for store in stores]
    trials: list[Trial | Strata | None] = [None] * len(homes)
    said: list[str] = [""] * len(homes)
    try:
        while not until():
            for number, home in enumerate(homes):
                why, trial = _looked(home, trials[number])
                trials[number] = trial
                if why and why != said[number]:
                    LOG.warning("%s", why)
                said[number] = why
            time.sleep(every)
    finally:
        for trial in trials:
            if trial is not None:
                trial.close()


def _looked(home: SqlStore, trial: Trial | Strata | None) -> tuple[str, Trial | Strata | None]:
    """One look at one trial: what went wrong, and the trial if it can continue."""
    try:
        if trial is None:
            trial = opened(home.again())
        trial.settle()
    except DiscreetError as error:
        if trial is not None:
            trial.close()
        return str(error), None
    return "", trial
