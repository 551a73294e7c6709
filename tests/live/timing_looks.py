"""Trials whose arms are released together, for the attack of `timing_attack`.

At the first look of a race the blocks of all arms are released in one call, and so are the cells of
an epoch; of top two, blocks that are due at one moment. A transcript is of two units, one on each
arm; the first is attacked, and the outcome of the second is known to the onlooker. The time of the
call covers both draws. The released value of the second arm tells its noise; an onlooker who
knows the sampler takes away what that draw must have taken, and is left with the time of the other
one. That tells |noise|, and so how far the first value is from what it would be after a 1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import timing_attack
from live_cases import Clock
from timing_attack import Timed, begin_anew
from timing_streams import Sampler

from discreet.identify import identifier
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.policies import policy
from discreet.privacy._source import SECURE

DEADLINE = 1.0
KNOWN = 0.5
"""The outcome of the unit that is not attacked."""
IDENTIFY: dict[str, Any] = {"risk": 0.1}
LOOKS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "race": lambda: (identifier("race", epsilon=1.0), {**IDENTIFY, "horizon": 20}),
    "top two": lambda: (identifier("adap-tt", epsilon=1.0), IDENTIFY),
    "epochs": lambda: (policy("dp-imed", epsilon=1.0, ratio=1.5, first=1), {"trend": True}),
}
"""Short ones, whose first blocks have one place. All claim 1."""


def trial_of_looks(name: str, clock: Clock) -> Trial:
    row, options = LOOKS[name]()
    return Trial(
        row, 2, deadline=DEADLINE, missing=0.0, clock=clock, **grouped(dict(window=2, **options))
    )


def timed_looks(name: str, sampler: Sampler) -> Timed:
    """Transcripts, of a trial that begins anew each time."""
    clock, units = Clock(), count()
    trial = trial_of_looks(name, clock)
    beginning = trial._document(trial._plan.run)

    def play(side: float) -> tuple[float, list[int]]:
        begin_anew(trial, beginning)
        first, second = next(units), next(units)
        durations: list[int] = []

        def timed(call: Callable[..., Any], *arguments: Any) -> Any:
            result, taken = timing_attack.timed(call, *arguments)
            durations.extend(taken)
            return result

        clock.now += 10.0
        attacked, other = timed(trial.assign, first), timed(trial.assign, second)
        timed(trial.record, first, side)
        timed(trial.record, second, KNOWN)
        assert {attacked, other} == {0, 1}
        assert len(trial._store.blocks) == 2, "both are in flight"
        clock.now += DEADLINE
        timed(trial.settle)
        value, known = (released(trial, arm) for arm in (attacked, other))
        durations += [known, distance(trial, value, known, durations[-1], sampler)]
        timed(repr, trial)
        return float(value), durations

    return play


def released(trial: Trial, arm: int) -> int:
    """The noisy sum of an arm with one place, in steps."""
    view: Any = trial._run.view
    assert view.size[arm] == 1, "one outcome was released"
    return round(float(view.value[arm]) * SECURE.resolution)


def scale_of(trial: Trial) -> float:
    """Of the noise."""
    run: Any = trial._run
    return float(run.release.scale)


def distance(trial: Trial, value: int, known: int, duration: int, sampler: Sampler) -> int:
    """How far a released value less its noise, as the duration tells it, is from that of a 1."""
    scale = scale_of(trial)
    of_the_other = sampler.draw + sampler.slowness * abs(known - KNOWN * SECURE.resolution) / scale
    left = duration - sampler.look - sampler.draw - of_the_other
    noise = round(scale * left / sampler.slowness)
    return min(abs(value - noise - SECURE.resolution), abs(value + noise - SECURE.resolution))
