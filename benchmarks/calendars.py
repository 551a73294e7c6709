"""Trials with late and missing outcomes: what was measured beforehand, and what comes out now.

    python benchmarks/calendars.py [--runs 2000] [--seed 11] [--part regret] [--speed]

Unless said: dp-imed, ε = 1, 12 arrivals a day (Poisson), outcomes count for 14 days, 10 % are
missing and counted as 0. Every line: the figure that is to be reached, what was found now, ± one
standard error, and by how many standard errors they are apart beyond rounding, taking the former to
have the same error. Lines that are more than three apart are marked: `better`, or `<--` if not.

Why some are better:
- "not private": all participants of an arm count as evidence, as if those to come had its mean.
  Counting those alone who answered gives 20.6, 21.9 and 76; which counting gave the figures asked
  for is not known, and none of six that were tried does.
- races, .5/.4: the last look is at T/K places, and its outcomes come after the last participant. It
  counts here; "before the last look" is what is declared without it.
Speed is CPU time of one thread, the loops alternating in one process.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet.identify import identifier
from discreet.simulator.calendar import Delay, Drift

FOUR = (0.6, 0.5, 0.5, 0.45)


class Line(NamedTuple):
    """One figure beside what it should be."""

    what: str
    said: float
    found: float
    error: float
    digits: int = 1
    higher: bool = False
    """whether more is better"""


class Asked(NamedTuple):
    """What the command line says."""

    runs: int
    seed: int


def row(epsilon: float = 1.0, ratio: float = 1.5) -> Any:
    if math.isinf(epsilon):
        return discreet.policy("dp-imed", epsilon=epsilon, ratio=ratio, first=20)
    return discreet.policy("dp-imed", epsilon=epsilon, ratio=ratio)


def trials(
    asked: Asked, means: tuple[float, ...], horizon: float, policy: Any = None, **more: Any
) -> discreet.Result:
    days = {"arrivals": 12, "delay": 14, "missing": 0.1, "default": 0.0, **more}
    study = {"runs": asked.runs, "seed": asked.seed, "progress": False}
    found: Any = discreet.simulate(
        policy or row(), discreet.Bernoulli(means), horizon=horizon, **(study | days)
    )
    return found


def race(epsilon: float) -> Any:
    return identifier("race", epsilon=epsilon).at(0.05)


def mean(what: str, said: float, values: Any, digits: int = 1, higher: bool = False) -> Line:
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Line(what, said, float(np.mean(values)), max(error, 1e-12), digits, higher)


def share(what: str, said: float, found: float, runs: int, higher: bool = True) -> Line:
    """A probability; its error as if it were at least one in `runs`."""
    likely = min(max(found, 1.0 / runs), 1.0 - 1.0 / runs)
    return Line(what, said, found, math.sqrt(likely * (1.0 - likely) / runs), 3, higher)


def regret(asked: Asked) -> Iterator[Line]:
    """Section 1: rules for those who arrive while outcomes are awaited."""
    said: dict[str, tuple[float, float, float]] = {
        "closed counted (default)": (24.4, 26.2, 90.0),
        "default, w = 12 shuffled": (25.1, 27.1, 91.0),
        "not private, 14 d": (20.8, 21.4, 67.0),
        "not private, exponential 5 d": (10.4, 14.4, 65.0),
    }
    ways: dict[str, dict[str, Any]] = {
        "closed counted (default)": {},
        "default, w = 12 shuffled": {"window": 12},
        "not private, 14 d": {"policy": discreet.policy("imed")},
        "not private, exponential 5 d": {
            "policy": discreet.policy("imed"), "delay": Delay(14, "exponential", 5),
        },
    }  # fmt: skip
    places = (((0.5, 0.3), 600), ((0.5, 0.3), 10_000), (FOUR, 10_000))
    for name, way in ways.items():
        for number, (means, horizon) in enumerate(places):
            found = trials(asked, means, horizon, **way)
            label = f"{name}, {len(means)} arms, T = {horizon:,}"
            yield mean(f"regret, {label}", said[name][number], found.final_regret)
            if not name.startswith("not private"):
                yield mean(f"share used, {label}", 1.0, found.used, 2, higher=True)
            if name == "closed counted (default)" and len(means) == 4:
                yield share(f"best named, {label}", 0.998, found.best_named, asked.runs)


def delays(asked: Asked) -> Iterator[Line]:
    """Section 1: deadlines; T = 5,000, .5/.3."""
    for days_late, default, seen in (
        (1, 18, 12), (7, 21, 15), (14, 27, 21), (30, 44, 39), (90, 116, 111),
    ):  # fmt: skip
        yield mean(
            f"default, L = {days_late}", default,
            trials(asked, (0.5, 0.3), 5000, delay=days_late).final_regret,
        )  # fmt: skip
        openly = trials(asked, (0.5, 0.3), 5000, policy=discreet.policy("imed"), delay=days_late)
        yield mean(f"not private, L = {days_late}", seen, openly.final_regret)


def price(asked: Asked) -> Iterator[Line]:
    """Section 4: the price by ε; T = 10,000, .5/.3. And the scan of the deadline."""
    for epsilon, said in ((0.1, 72), (0.25, 41), (0.5, 30), (1.0, 26), (math.inf, 25)):
        found = trials(asked, (0.5, 0.3), 10_000, policy=row(epsilon))
        yield mean(f"regret, ε = {epsilon:g}", said, found.final_regret)
    for deadline, said in ((3, 52), (7, 33), (14, 27), (21, 28), (35, 35)):
        late = Delay(deadline, "exponential", 5)
        found = trials(asked, (0.5, 0.4), 3000, delay=late, missing=0.05)
        yield mean(
            f".5/.4, exponential 5 d, 5 % never, deadline {deadline}", said, found.final_regret
        )


def races(asked: Asked) -> Iterator[Line]:
    """Section 2: permuted blocks until a winner, T <= 6,000; then equal arms, T = 20,000."""
    said = {
        (1.0, (0.5, 0.3)): (1.0, 892, 74), (1.0, (0.5, 0.4)): (0.94, 2994, 250),
        (1.0, FOUR): (0.46, 5374, 456), (0.25, (0.5, 0.3)): (1.0, 1439, 120),
        (0.25, (0.5, 0.4)): (0.97, 4026, 339), (0.25, FOUR): (0.10, 5918, 506),
        (math.inf, (0.5, 0.3)): (1.0, 747, 62), (math.inf, (0.5, 0.4)): (0.95, 2746, 229),
        (math.inf, FOUR): (0.55, 5186, 439),
    }  # fmt: skip
    for (epsilon, means), (declared, people, length) in said.items():
        found = trials(asked, means, 6000, policy=race(epsilon))
        label = f"ε = {epsilon:g}, {'/'.join(f'{m:g}' for m in means)}"
        if means == (0.5, 0.4) and epsilon >= 1.0:  # the last look is after the last participant
            early = float(((found.recommendation >= 0) & (found.participants < 6000)).mean())
            yield share(f"declared before the last look, {label}", declared, early, asked.runs)
        yield share(f"declared, {label}", declared, found.declared, asked.runs)
        yield mean(f"participants, {label}", people, found.participants, 0)
        yield mean(f"days, {label}", length, found.days, 0)
    for name, drift, rate in (
        ("no drift", None, 0.0037), ("linear +.3", Drift("linear", 0.3), 0.003),
        ("season ±.15", Drift("season", 0.15), 0.0045),
    ):  # fmt: skip
        level = trials(asked, (0.5, 0.5), 20_000, policy=race(1.0), drift=drift)
        false = level.false_winners
        yield share(f"false winners of α = .05, {name}", rate, false, asked.runs, higher=False)


def trend(asked: Asked) -> Iterator[Line]:
    """Section 2: drift; T = 5,000, .5/.4. Differences are of rates times .9."""
    ways: dict[str, dict[str, Any]] = {
        "default, w = 24": {"window": 24},
        "epochs": {"trend": True},
        "epochs, each at least 10 %": {"trend": True, "share": 0.1},
    }
    said = {
        "none": ((30, 0.02), (37, 0.02), (74, 0.0)),
        "+.2 linear": ((26, 0.09), (38, 0.02), (74, 0.0)),
        "-.2 linear": ((53, -0.02), (35, 0.02), (73, 0.0)),
        "±.1, 180 d": ((50, 0.0), (38, 0.02), (74, 0.0)),
    }
    drifts = (
        None, Drift("linear", 0.2), Drift("linear", -0.2), Drift("season", 0.1, 180.0),
    )  # fmt: skip
    for (name, figures), drift in zip(said.items(), drifts, strict=True):
        for (way, options), (lost, bias) in zip(ways.items(), figures, strict=True):
            found = trials(asked, (0.5, 0.4), 5000, drift=drift, **options)
            yield mean(f"regret, drift {name}, {way}", lost, found.final_regret)
            ahead = found.estimates[:, 0] - found.estimates[:, 1] - 0.09
            yield mean(f"bias, drift {name}, {way}", bias, ahead, 3)


def missing(asked: Asked) -> Iterator[Line]:
    """Section 5: .5/.4, T = 5,000, by what is missing of the better arm and of the other."""
    said = {
        (0.2, 0.2): ((34, 0.999), (34, 1.0), (30, 1.0)),
        (0.3, 0.1): ((304, 0.243), (28, 1.0), (30, 0.999)),
        (0.1, 0.3): ((14, 1.0), (41, 0.999), (32, 1.0)),
    }
    for shares, figures in said.items():
        for default, (lost, named) in zip((0.0, 0.5, "estimate"), figures, strict=True):
            found = trials(asked, (0.5, 0.4), 5000, missing=shares, default=default)
            label = f"missing {shares[0]:g} and {shares[1]:g}, {default}"
            yield mean(f"regret, {label}", lost, found.final_regret)
            yield share(f"best named, {label}", named, found.best_named, asked.runs)


PARTS: dict[str, Callable[[Asked], Iterator[Line]]] = {
    "regret": regret, "delays": delays, "price": price, "races": races, "trend": trend,
    "missing": missing,
}  # fmt: skip


def speed(asked: Asked) -> None:
    """1,000 trials of 10,000, one thread: CPU seconds, the best of five alternating rounds."""
    print("\nSpeed: 1,000 trials of 10,000 participants, one thread, CPU seconds")
    few = (
        (0.5, 0.3), FOUR, (0.6, *[0.5] * 9),
    )  # fmt: skip
    best: dict[tuple[int, str], float] = {}
    ways: dict[str, dict[str, Any]] = {"in strides": {}, "unit by unit": {"window": 12}}
    for _ in range(6):  # the first round compiles
        for means in few:
            for name, way in ways.items():
                started = time.process_time()
                trials(asked._replace(runs=1000), means, 10_000, threads=1, **way)
                taken = time.process_time() - started
                key = len(means), name
                best[key] = min(best.get(key, math.inf), taken)
    for (arms, name), taken in best.items():
        aim = {"in strides": 0.15, "unit by unit": 2.0}[name]
        said = f"   (at most {aim:g})" if arms == 4 else ""
        print(f"  {arms:>2} arms, {name:<14}{taken:8.3f}{said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--speed", action="store_true", help="measure the speed alone")
    given = parser.parse_args()
    asked = Asked(given.runs, given.seed)
    better = worse = 0
    for name in () if given.speed else given.part or PARTS:
        print(f"\n{PARTS[name].__doc__} {asked.runs} trials a line, seed {asked.seed}")
        for line in PARTS[name](asked):
            rounding = 0.5 * 10.0 ** -_digits(line.said)
            beyond = max(0.0, abs(line.found - line.said) - rounding)
            off = math.copysign(beyond, line.found - line.said) / (math.sqrt(2.0) * line.error)
            mark = ""
            if abs(off) > 3.0:
                nearer = "bias" in line.what and abs(line.found) < abs(line.said)
                good = nearer or ("bias" not in line.what and (off > 0.0) == line.higher)
                mark = "  better" if good else "  <--"
                better, worse = better + good, worse + (not good)
            print(
                f"  {line.what:<62}{line.said:>8g}{line.found:>10.{line.digits}f} ± "
                f"{line.error:.{max(line.digits, 1)}f}{off:+7.1f}{mark}"
            )
    if not given.speed:
        print(f"\nmore than 3 standard errors off: {worse} lines for the worse, {better} better")
    if given.speed or not given.part:
        speed(asked)


def _digits(number: float) -> int:
    """Digits after the point of a figure as it is written."""
    return len(f"{number:g}".partition(".")[2])


if __name__ == "__main__":
    main()
