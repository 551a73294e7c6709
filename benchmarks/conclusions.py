"""Power and error of private tests, design by design: the table of docs/confirm.md.

    python benchmarks/conclusions.py            # some minutes on one core
    python benchmarks/conclusions.py --runs 2000 --epsilons 1
    python benchmarks/conclusions.py --live     # whole trials, rehearsed: some minutes
    python benchmarks/conclusions.py --numbers  # eight numbers, beside what they have to be

Every cell has the power of a *certified* design. Designs at planned looks are computed exactly and
simulated as well, `--runs` trials each; epochs and strata are simulated. `error` is the largest
share of simulated trials that reject over common rates .02, .1, .35, .5.

`--live` rehearses whole trials instead, by the code of live trials: participants arrive 20 a day,
answer after 7 days on average, at most 14, and 5 % never. Silence counts as 0 there, so the rates
that the test compares are .95 of those that are drawn; they are set so that it compares the stated
ones.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import Rehearsal
from discreet.arms import Bernoulli
from discreet.confirm import (
    Design,
    SeveralDesign,
    alarm,
    design,
    epochs,
    operating,
    several,
    strata,
)
from discreet.confirm._families import Family
from discreet.confirm._final import Cells, batched, weighted
from discreet.confirm._lattice import Law, Rule, statistic, two_arm_rule
from discreet.confirm._noises import Noise, noise_of
from discreet.confirm._normal import boundaries
from discreet.confirm._simulated import Sums
from discreet.privacy import Pure
from discreet.simulator.calendar import Delay

NULLS = (0.02, 0.1, 0.35, 0.5)


def rejected(plan: Design | SeveralDesign, rates: tuple[float, ...], runs: int) -> float:
    """Share of simulated trials that reject for the first treatment; of equal rates: for any."""
    rng, sums_of = np.random.default_rng(20), Sums(plan.noise)
    single = isinstance(plan, Design)
    bounds = plan.boundaries if isinstance(plan, Design) else plan.boundaries()
    total, crossed, before = np.zeros((len(rates), runs)), np.zeros(runs, bool), (0, 0)
    null = len(set(rates)) == 1
    for look, (size, bound) in enumerate(zip(plan.sizes, bounds, strict=True), 1):
        for arm, rate in enumerate(rates):
            side = int(arm == len(rates) - 1)
            total[arm] += sums_of.draw(size[side] - before[side], rate, runs, rng)
        for arm in range(len(rates) - 1 if null or single else 1):
            z = statistic(total[arm], total[-1], size, look, plan.noise)
            crossed |= (np.abs(z) > bound) if plan.sides == 2 else (z > bound)
        before = size
    return float(crossed.mean())


def row(case: str, kind: str, epsilon: float, cells: tuple[str, str, str], since: float) -> None:
    """One line: exact power, simulated power, largest simulated error, seconds."""
    shown = "∞" if math.isinf(epsilon) else f"{epsilon:g}"
    used = time.process_time() - since
    print(f"| {case} | {kind} | {shown} | {' | '.join(cells)} | {used:.1f} |", flush=True)


def two_arms(case: str, rates: tuple[float, float], n: int, epsilon: float, runs: int) -> None:
    since = time.process_time()
    plan = design(n, epsilon=epsilon)
    error = max(rejected(plan, (p, p), runs) for p in NULLS)
    cells = f"{plan.power(*rates):.4f}", f"{rejected(plan, rates, runs):.4f}", f"{error:.4f}"
    row(case, "O'Brien-Fleming, 3 looks", epsilon, cells, since)


def family(epsilon: float, runs: int) -> None:
    since = time.process_time()
    plan = several(800, 3, looks=2, epsilon=epsilon, sides=1, risk=0.025)
    error = max(rejected(plan, (p,) * 4, runs) for p in (*NULLS, 0.9, 0.99))
    cells = (
        f"{plan.power(0.5, 0.35):.4f}", f"{rejected(plan, (0.5, 0.35, 0.35, 0.35), runs):.4f}",
        f"{error:.4f}",
    )  # fmt: skip
    row("0.5/0.35, 4 arms, 800, one-sided 0.025", "Dunnett, 2 looks", epsilon, cells, since)


def adaptive(case: str, rates: tuple[float, float], n: int, epsilon: float, runs: int) -> None:
    since = time.process_time()
    plan = epochs(n, epsilon=epsilon)
    error = max(plan.operating(p, p, runs=runs, seed=20).power for p in NULLS)
    found = plan.operating(*rates, runs=runs, seed=20)
    kind = f"3 epochs, least share 0.3, B ({found.in_trial:.0%} on the better arm)"
    row(case, kind, epsilon, ("", f"{found.power:.4f}", f"{error:.4f}"), since)


def over_strata(epsilon: float, runs: int) -> None:
    since = time.process_time()
    plan = strata([400, 240, 160], epsilon=epsilon)
    error = max(sum(plan.operating((p,) * 3, (p,) * 3, runs=runs, seed=20)) for p in NULLS)
    power = plan.operating((0.5,) * 3, (0.35,) * 3, runs=runs, seed=20)[0]
    row(
        "0.5/0.35, 800",
        "by stratum, 3 of them",
        epsilon,
        ("", f"{power:.4f}", f"{error:.4f}"),
        since,
    )


class Given(Noise):
    """v = 2 and κ = 2."""

    variance = 2.0
    shrinkage = 2.0


def numbers() -> None:
    """Eight numbers of the method, found and to be reached; `tests/confirm` holds them."""
    since = time.process_time()
    one, textbook = noise_of(Pure(1.0)), (3.471, 2.454, 2.004)
    law = Law(((133, 133), (266, 266), (400, 400)), one, 0.01, 0.01)
    plan = design(800, epsilon=1.0)
    bounds = replace(plan.certificate, boundaries=(3.4711, 2.4544, 2.0040))
    worked = replace(plan, certificate=bounds).verdict([(70, 44), (69, 44)])
    assert worked.estimate is not None
    single = Law(((300, 150),), noise_of(Pure(0.5)), 0.3, 0.3)
    spent = boundaries("lan-demets", (0.3, 0.8, 1.0), 0.05, 2)
    two_looks = Rule((-math.inf,) * 2, (2.36 * math.sqrt(2.0), 2.36))
    of_three = Family(((100, 100), (200, 200)), one, (0.35,) * 3, 0.35).stops(two_looks)
    watch = alarm(400, 0.02, looks=8, epsilon=1.0)
    rows = np.array([(40, 40, 21, 15), (56, 24, 29.5, 8), (64, 16, 30, 7.5), (64, 16, 33, 5)])
    cells, noise = Cells(*(rows[:, [i]] for i in range(4))), Given("laplace", 1.0)
    w, b = weighted(cells, noise), batched(cells, noise)
    found = [
        ("1 textbook boundaries, rate .01", law.stops(two_arm_rule(textbook, 1.0, 2)).rejected,
         ".04768"),
        ("2 certified factor; power", (plan.certificate.factor, plan.power(0.5, 0.35)),
         "1.0065 ± .003; .9858"),
        ("3 one look, 300 and 150", single.stops(Rule((-1.96,), (1.96,))).rejected, ".05027"),
        ("4 Lan-DeMets at .3, .8, 1", spent, "3.9286 2.2509 2.0251"),
        ("5 family; one arm", (of_three.rejected, of_three.each[0]), ".02452; .00927"),
        ("6 Z; estimate; interval; p; repeated",
         (*worked.z, worked.estimate.difference, *worked.estimate.interval,
          worked.estimate.p_value, *worked.repeated),
         "3.133 4.349; .1840; .0875 .2723; .00052; .0854 .2981"),
        ("7 thresholds; error; at .06", (*watch.thresholds, watch.error, watch.power(0.06)),
         "7 9 11 12 14 15 17 18; .04775; .8887"),
        ("8 W: estimate, se, Z; B", (w.difference, w.se, w.z, b.difference, b.se, b.z),
         ".1438 .0712 1.991; .1403 .0718 1.926"),
    ]  # fmt: skip
    for name, value, wanted in found:
        listed = value if isinstance(value, tuple) else (value,)
        print(f"{name}: {' '.join(f'{x:.5g}' for x in listed)}   (to reach: {wanted})")
    print(f"{time.process_time() - since:.1f} s")


def live_others(runs: int) -> None:
    """The same of four arms, of three strata and of epochs, each with its null: how often the first
    treatment is shown to be better, and how often anything is shown."""
    silent, four = 0.05, ["A", "B", "C", "control"]
    sites = {"north": 400, "south": 240, "west": 160}
    cases: list[tuple[str, Any, list[str]]] = [
        ("four arms, Dunnett, 2 looks, one-sided",
         several(800, 3, looks=2, epsilon=1.0, sides=1, risk=0.025), four),
        ("three strata, 3 looks", strata(sites, epsilon=1.0), ["treatment", "control"]),
        ("3 epochs, least share 0.3, lag 1", epochs(800, epsilon=1.0, lag=1),
         ["treatment", "control"]),
    ]  # fmt: skip
    print("| design | rates | trials | first better | planned | any shown | planned | in all |")
    print("|---|---|---|---|---|---|---|---|")
    for name, plan, arms in cases:
        for first in (0.35, 0.5):
            rates = [first, *[0.35] * (len(arms) - 1)]
            better, shown, took_part = 0, 0, 0
            for seed in range(runs):
                rehearsal = Rehearsal(
                    plan, arms, seed=seed, arrivals=20, default=0.0, delay=Delay(14.0, "uniform"),
                    missing=silent,
                )  # fmt: skip
                told = rehearsal.play(Bernoulli([rate / (1.0 - silent) for rate in rates]))
                found: Any = rehearsal.verdict()
                each = getattr(found, "comparisons", (found,))
                better += each[0].decision == "better"
                shown += any(one.decision in ("better", "worse") for one in each)
                took_part += told["assigned"]
            wanted = operating(plan, 0.35, (round(first - 0.35, 2),)).scenarios[-1]
            both = "" if first > 0.35 else f"{wanted.rejected:.3f}"
            right = f"{wanted.right:.3f}" if first > 0.35 else ""
            print(
                f"| {name} | {first:g}/0.35 | {runs} | {better / runs:.3f} | {right} | "
                f"{shown / runs:.3f} | {both} | {took_part / runs:.0f} |",
                flush=True,
            )


def live(runs: int) -> None:
    """Rehearsed trials: how often they decide, at which look, how many take part, and how often
    the intervals hold the truth. Their deadline makes some take part after the deciding look."""
    plan, silent = design(800, epsilon=1.0), 0.05
    print("| rates | trials | better | exact | worse | exact | in the looks | in all | covered |")
    print("|---|---|---|---|---|---|---|---|---|")
    for rates in ((0.35, 0.35), (0.5, 0.35)):
        found = plan.operating(*rates)
        law = Bernoulli([rate / (1.0 - silent) for rate in rates])
        seen, all_in, looks, covered = {"better": 0, "worse": 0}, 0, 0, 0
        for seed in range(runs):
            rehearsal = Rehearsal(
                plan, ["treatment", "control"], seed=seed, arrivals=20, default=0.0,
                delay=Delay(14.0, "uniform"), missing=silent,
            )  # fmt: skip
            shown = rehearsal.play(law)
            test = shown["test"]
            seen[test["decision"]] = seen.get(test["decision"], 0) + 1
            all_in += shown["assigned"]
            looks += test["looks"][test["look"] - 1]["participants"]
            low, high = test["interval"]
            covered += low <= rates[0] - rates[1] <= high
        print(
            f"| {rates[0]:g}/{rates[1]:g} | {runs} | {seen['better'] / runs:.3f} | "
            f"{sum(found.above):.3f} | {seen['worse'] / runs:.3f} | {sum(found.below):.3f} | "
            f"{looks / runs:.0f} ({found.participants:.0f}) | {all_in / runs:.0f} | "
            f"{covered / runs:.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--numbers", action="store_true")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--epsilons", default="inf,1,.5,.25")
    given = parser.parse_args()
    if given.numbers:
        numbers()
        return
    if given.live:
        live(given.trials)
        live_others(given.trials)
        return
    epsilons, runs = [float(each) for each in given.epsilons.split(",")], given.runs
    print("| case | design | ε | power, exact | simulated | error, simulated | seconds |")
    print("|---|---|---|---|---|---|---|")
    for epsilon in epsilons:
        two_arms("0.5/0.35, 800", (0.5, 0.35), 800, epsilon, runs)
    for epsilon in epsilons:
        adaptive("0.5/0.35, 800", (0.5, 0.35), 800, epsilon, runs)
    for epsilon in epsilons:
        over_strata(epsilon, runs)
    for epsilon in epsilons:
        family(epsilon, runs)
    for epsilon in epsilons:
        two_arms("0.02/0.01, 6,000", (0.02, 0.01), 6000, epsilon, runs)
    for epsilon in epsilons[:2]:
        adaptive("0.02/0.01, 6,000", (0.02, 0.01), 6000, epsilon, runs)
    for epsilon in epsilons[:2]:
        two_arms("0.05/0.04, 50,000", (0.05, 0.04), 50_000, epsilon, runs)


if __name__ == "__main__":
    main()
