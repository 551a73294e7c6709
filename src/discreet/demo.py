"""The whole job on embedded data: `python -m discreet.demo` writes a report for clinical readers.

Policies with and without privacy treat resampled patients of the trial ACTG 175; the price of
privacy is measured; a live trial runs with secure noise; everything goes into one HTML file.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.markup import escape

from .arms import Bernoulli, actg175
from .errors import ConflictingOutcome, InvalidArgument
from .policies import Policy, policy
from .report._live_page import LiveStory
from .report._page import check_path
from .report._pictures import regret_picture, save_picture, title, twin
from .report._trial_page import Findings, lost, price, price_in_words, trial_page, worse

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arms._base import Environment
    from .arms._trial import TrialData
    from .live import Trial
    from .report._pictures import Price
    from .simulator import Result

OUTPUT = "demo-report.html"
PLAIN = ("imed", "kl-ucb", "ucb1")
PRICED = ("dp-imed", "dp-klucb", "adap-klucb", "ldp-ucb-b")
"""Policies whose price is measured for every ε."""
EPSILON = 1.0
"""The budget of the comparison; AdaC-UCB, which needs ρ, gets ε²/2."""

RECEIVED = {
    "in time": "outcomes came in time",
    "late": "outcomes came weeks late, after their deadline, and were dropped",
    "again": "outcomes came a second time, which changed nothing",
    "contrary": "outcomes contradicted one that was not needed any more, and were dropped",
}
DEADLINE = 14
"""Days for which an outcome of the live trial counts."""
A_DAY = 12
"""Patients of the live trial, on average."""
MOST_DAYS = 30.0
"""How late a late outcome is."""

PICTURE_MEANS = (0.375, 0.625, 0.75, 0.5, 0.25)
"""The best arm is in the middle: some policies try arms in order, which should not favour them."""
PICTURE_HORIZON = 10**7
PICTURE_RUNS = {"kl-ucb": 10, "imed": 10, "ucb1": 20, "dp-ucb": 10, "ldp-ucb-b": 20}
"""Policies that decide in every round take seconds for ten million; the others do 200 runs."""


class Stopped(Exception):
    """Ctrl-C."""


@dataclass(frozen=True)
class Settings:
    """How much the demonstration does."""

    seed: int = 1
    runs: tuple[tuple[int, int], ...] = ((2_139, 400), (10_000, 320), (100_000, 32))
    """Patients, and how many trials of so many patients are simulated."""
    main: int = 10_000
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
    live_patients: int = 2_000


def compared() -> tuple[Policy, ...]:
    """The policies of the comparison."""
    return (
        *(policy(name) for name in PLAIN),
        *(policy(name, epsilon=EPSILON) for name in PRICED),
        policy("adac-ucb", rho=EPSILON**2 / 2),
    )


def write_report(output: str | Path, settings: Settings, console: Console) -> Path:
    """Do everything and write the report; a path that cannot be written to is refused first."""
    path = check_path(output)
    return trial_page(find(settings, console)).write(path)


def find(settings: Settings, console: Console) -> Findings:
    """Everything that the report tells."""
    data = actg175()
    environment = data.resampled()
    policies = compared()
    runs = dict(settings.runs)
    priced = [(name, e) for e in settings.epsilons for name in PRICED if e != EPSILON]
    if settings.main not in runs:
        raise InvalidArgument(
            "main", "be one of the horizons", settings.main, f"use one of {list(runs)}"
        )
    console.print(
        f"[bold]ACTG 175[/bold]: {len(data.outcomes):,} patients, {environment.arms} treatments. "
        f"Comparing {len(policies)} policies; the first time, their loops are compiled in about "
        "20 seconds."
    )
    results: dict[int, tuple[Result, ...]] = {}
    with _steps(console, len(policies) * len(runs) + len(priced)) as step:
        for horizon, repeats in runs.items():
            console.print(f"Simulating {repeats:,} trials of {horizon:,} patients for each policy.")
            found = []
            for row in policies:
                step(f"{title(row.name)}, {horizon:,} patients")
                found.append(_simulated(row, environment, horizon, repeats, settings.seed))
            results[horizon] = tuple(found)
        at = {result.name: result for result in results[settings.main]}
        prices = [price(at[name], at[twin(name)], EPSILON) for name in PRICED]
        shown = ", ".join(f"{epsilon:g}" for epsilon in settings.epsilons)
        console.print(f"Measuring the price of privacy for ε = {shown}.")
        for name, epsilon in priced:
            step(f"price of privacy: {title(name)}, ε = {epsilon:g}")
            row = policy(name, epsilon=epsilon)
            result = _simulated(row, environment, settings.main, runs[settings.main], settings.seed)
            prices.append(price(result, at[twin(name)], epsilon))
    _show_comparison(console, results[settings.main], settings.main)
    _show_price(console, prices, settings.main)
    from .membership.gradients._demonstration import training_audit

    console.print(training_audit(settings.seed), markup=False)
    console.print(
        f"Running a live trial with {settings.live_patients:,} simulated patients and secure "
        "noise (it has no seed: every run differs)."
    )
    return Findings(
        data=data,
        policies=policies,
        results=results,
        prices=tuple(prices),
        seed=settings.seed,
        runs=runs,
        command=f"python -m discreet.demo --seed {settings.seed}",
        live=live_trial(data, settings.live_patients, settings.seed),
        main=settings.main,
        epsilons=tuple(sorted({*settings.epsilons, EPSILON})),
    )


def live_trial(data: TrialData, patients: int, seed: int) -> LiveStory:
    """A live trial with simulated patients, who answer late, twice, wrongly, or not at all.

    The seed is that of the patients; the trial has none.
    """
    import numpy as np

    from .live import Assignment, Trial

    rng = np.random.default_rng(seed)
    today = 0.0
    trial = Trial(
        policy("dp-imed", epsilon=EPSILON, ratio=1.5), arms=data.arm_names,
        deadline=float(DEADLINE), missing="estimate", assignment=Assignment(window=A_DAY),
        clock=lambda: today,  # which counts days
    )  # fmt: skip
    outcomes_of = dict(zip(data.arm_names, data.by_arm, strict=True))
    events = Counter[str]()
    post: list[Letter] = []

    def deliver(until: float) -> None:
        nonlocal today
        while post and post[0].day <= until:
            letter = heappop(post)
            today = letter.day
            events[_received(trial, letter)] += 1

    moments = rng.exponential(1.0 / A_DAY, patients).cumsum().tolist()
    for patient, moment in enumerate(moments):
        deliver(moment)
        today = moment
        outcome = float(rng.choice(outcomes_of[str(trial.assign(patient))]))
        for letter in _letters(patient, outcome, today, rng):
            heappush(post, letter)
            events["outcomes never came"] += letter.day == math.inf
    trial.finish()
    deliver(moments[-1] + MOST_DAYS)
    today = max(today, moments[-1] + DEADLINE)
    return LiveStory(
        policy="dp-imed",
        patients=patients,
        protocol=f"About {A_DAY} patients were recruited a day, and the outcome came one to ten "
        f"days later. A block of patients was released {DEADLINE} days after its last patient, "
        "with how many had answered beside what they answered; meanwhile later patients filled "
        "further blocks, so that nobody was treated for nothing. As in life, not all went well:",
        events={words: number for words, number in events.most_common() if number},
        report=trial.report(),
    )


class Letter(NamedTuple):
    """An outcome on its way to the trial."""

    day: float
    patient: int
    outcome: float
    kind: str


def _letters(patient: int, outcome: float, today: float, rng: Generator) -> list[Letter]:
    """What comes of one patient: mostly one outcome in time."""
    day = today + rng.uniform(1.0, 10.0)
    drawn = rng.random()
    if drawn < 0.04:
        return [Letter(math.inf, patient, outcome, "lost")]
    if drawn < 0.06:
        return [Letter(today + MOST_DAYS, patient, outcome, "late")]
    once = Letter(day, patient, outcome, "in time")
    if drawn < 0.08:
        return [Letter(day - 0.5, patient, 9.0, "wrong"), once]
    if drawn < 0.12:
        return [once, Letter(day + 0.5, patient, outcome, "again")]
    if drawn < 0.14:
        return [once, Letter(day + 0.5, patient, 1.0 - outcome, "contrary")]
    return [once]


def _received(trial: Trial, letter: Letter) -> str:
    """Hand in one outcome and say what became of it."""
    try:
        trial.record(letter.patient, letter.outcome)
    except ConflictingOutcome:
        return "outcomes contradicted an earlier one of the same patient and were refused"
    except InvalidArgument:
        return "outcomes were out of range (a slip of the pen) and were refused"
    return RECEIVED[letter.kind]


def picture(path: str | Path, *, seed: int = 1, horizon: int = PICTURE_HORIZON) -> Path:
    """Regret of private (ε = 1) and non-private policies on five Bernoulli arms."""
    target = check_path(path, "picture")
    environment = Bernoulli(PICTURE_MEANS)
    rows = [policy(name) for name in PLAIN]
    rows += [
        policy(name, epsilon=EPSILON)
        for name in ("dp-imed", "dp-klucb", "adap-klucb", "ldp-ucb-b", "dp-se", "dp-ucb")
    ]
    results = [
        _simulated(row, environment, horizon, PICTURE_RUNS.get(row.name, 200), seed, progress=None)
        for row in rows
    ]
    arms = ", ".join(f"{mean:g}" for mean in sorted(PICTURE_MEANS, reverse=True))
    figure = regret_picture(
        results,
        across="rounds",
        up="mean regret",
        heading=f"Bernoulli arms {arms}: private (solid, ε = {EPSILON:g}) and not (dashed)",
        since=100,
    )
    save_picture(figure, target)
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    asked = _parser().parse_args(arguments)
    console = Console(highlight=False)
    try:
        if asked.picture is not None:
            console.print("Drawing regret over ten million rounds; this takes a minute or two.")
            written = picture(asked.picture, seed=asked.seed)
        else:
            written = write_report(asked.output, Settings(seed=asked.seed), console)
    except InvalidArgument as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/red] {escape(str(error))}")
        return 2
    except (Stopped, KeyboardInterrupt):
        console.print("Stopped; nothing was written.")
        return 130
    console.print(f"[bold]Written to[/bold] {escape(str(written.resolve()))}", soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m discreet.demo",
        description="What privacy costs in an adaptive trial: a report on embedded data.",
    )
    parser.add_argument(
        "--output", metavar="PATH", default=OUTPUT, help=f"the report (default: {OUTPUT})"
    )
    parser.add_argument("--seed", type=_seed, default=1, help="of the simulated part (default: 1)")
    parser.add_argument(
        "--picture", metavar="PATH", help="draw the regret of ten million rounds there instead"
    )
    return parser


def _seed(given: str) -> int:
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(f"seed must be a whole number from 0, got {given!r}")
    return int(given)


def _simulated(
    row: Policy,
    environment: Environment,
    horizon: int,
    runs: int,
    seed: int,
    progress: bool | None = False,
) -> Result:
    from .simulator import simulate

    result = simulate(row, environment, horizon=horizon, runs=runs, seed=seed, progress=progress)
    if not result.complete:
        raise Stopped
    return result


@contextmanager
def _steps(console: Console, total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar on a terminal, silence elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), "{task.description}",
        console=console, transient=True, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=total)
        begun = False

        def step(words: str) -> None:
            nonlocal begun
            bar.update(task, advance=int(begun), description=words)
            begun = True

        yield step


def _show_comparison(console: Console, results: Sequence[Result], horizon: int) -> None:
    from rich.table import Table

    table = Table(title=f"{horizon:,} patients (± standard error)", title_justify="left")
    table.add_column("policy")
    table.add_column("promise")
    table.add_column("on a worse treatment", justify="right")
    table.add_column("successes lost", justify="right")
    for result in sorted(results, key=lambda result: result.final_regret.mean()):
        promise = result.guarantee.short()
        table.add_row(title(result.name), promise, str(worse(result)), str(lost(result)))
    console.print(table)


def _show_price(console: Console, prices: Sequence[Price], horizon: int) -> None:
    for found in prices:
        if found.epsilon == EPSILON:
            words = price_in_words(found, horizon)
            console.print(f"[bold]{title(found.policy)}[/bold], ε = {EPSILON:g}: {words}")


if __name__ == "__main__":
    sys.exit(main())
