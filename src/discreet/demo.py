"""One story on embedded data: `python -m discreet.demo` writes a report for clinical readers.

A live trial with secure noise treats simulated patients, and can be watched. Meanwhile two other
processes compile the loops of the simulations. These answer the question: what did privacy cost
the patients? Everything goes into one HTML file.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .report._numbers import percent
from .report._page import check_path
from .report._pictures import regret_picture, save_picture, title, twin
from .report._trial_page import (
    Findings,
    equal_split,
    lost,
    price,
    price_in_words,
    trial_page,
    worse,
)  # fmt: skip

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arms._base import Environment
    from .arms._trial import TrialData
    from .live import Trial
    from .live._documents import Report
    from .report._pictures import Price
    from .simulator import Result

OUTPUT = "demo-report.html"
PLAIN = ("imed", "kl-ucb", "ucb1")
PRICED = ("dp-imed", "dp-klucb", "adap-klucb", "ldp-ucb-b")
"""Policies whose price is measured for every ε."""
HEADLINE = "dp-imed"
"""The policy of the answer, and of the live trial."""
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
GLANCE = 50
"""Patients between two looks at the public report."""
PROCESSES = 2
"""That compile."""

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
    first = (twin(HEADLINE), HEADLINE)
    names = [*first, *(row.name for row in compared() if row.name not in first)]
    with _compiling(names) as compiled:
        findings = find(settings, console, compiled)
    return trial_page(findings).write(path)


def find(
    settings: Settings, console: Console, compiled: Callable[[str], None] = lambda _: None
) -> Findings:
    """All numbers of the report; `compiled` waits until the loop of a policy is compiled."""
    runs = dict(settings.runs)
    if settings.main not in runs:
        raise InvalidArgument(
            "main", "be one of the horizons", settings.main, f"use one of {list(runs)}"
        )
    data = actg175()
    environment = data.resampled()
    console.print(
        f"[bold]What does privacy cost the patients of a trial?[/bold]\n"
        f"ACTG 175 treated {len(data.outcomes):,} patients in {environment.arms} groups. "
        f"{percent(max(data.rates))} of the best group had a success, and "
        f"{percent(min(data.rates))} of the worst."
    )
    console.print(
        f"\n[bold]1. A live trial[/bold] of {settings.live_patients:,} simulated patients, with "
        f"ε = {EPSILON:g} and secure noise. It sees outcomes as noisy sums alone."
    )
    with _watched(console, settings.live_patients) as watch:
        live = live_trial(data, settings.live_patients, settings.seed, watch)
    console.print(
        f"\n[bold]2. The cost of privacy[/bold], in {runs[settings.main]:,} simulated trials of "
        f"{settings.main:,} patients."
    )

    def simulated(row: Policy, horizon: int) -> Result:
        compiled(row.name)
        return _simulated(row, environment, horizon, runs[horizon], settings.seed)

    by_name = {row.name: row for row in compared()}
    at = {name: simulated(by_name[name], settings.main) for name in (twin(HEADLINE), HEADLINE)}
    headline = price(at[HEADLINE], at[twin(HEADLINE)], EPSILON)
    _show_headline(console, data, at, headline, settings.main)
    priced = [(name, e) for e in settings.epsilons for name in PRICED if e != EPSILON]
    console.print(f"\n[bold]3. The report[/bold]: {len(by_name) - len(at)} further policies.")
    with _steps(console, len(by_name) * len(runs) + len(priced) - len(at)) as step:
        results: dict[int, tuple[Result, ...]] = {}
        for horizon in (settings.main, *(h for h in runs if h != settings.main)):
            found = []
            for name, row in by_name.items():
                if horizon == settings.main and name in at:
                    found.append(at[name])
                    continue
                step(f"{title(name)}, {horizon:,} patients")
                found.append(simulated(row, horizon))
            results[horizon] = tuple(found)
        at = {result.name: result for result in results[settings.main]}
        prices = [price(at[name], at[twin(name)], EPSILON) for name in PRICED]
        for name, epsilon in priced:
            step(f"the cost of privacy: {title(name)}, ε = {epsilon:g}")
            result = simulated(policy(name, epsilon=epsilon), settings.main)
            prices.append(price(result, at[twin(name)], epsilon))
    _show_prices(console, [found for found in prices if found.policy == HEADLINE])
    return Findings(
        data=data,
        policies=tuple(by_name.values()),
        results={horizon: results[horizon] for horizon in runs},
        prices=tuple(prices),
        seed=settings.seed,
        runs=runs,
        command=f"python -m discreet.demo --seed {settings.seed}",
        live=live,
        main=settings.main,
        epsilons=tuple(sorted({*settings.epsilons, EPSILON})),
    )


def live_trial(
    data: TrialData, patients: int, seed: int, watch: Callable[[Report], None] = lambda _: None
) -> LiveStory:
    """A live trial with simulated patients, who answer late, twice, wrongly, or not at all.

    The seed is that of the patients; the trial has none. `watch` is shown the public report, again
    and again.
    """
    import numpy as np

    from .live import Assignment, Trial

    rng = np.random.default_rng(seed)
    today = 0.0
    trial = Trial(
        policy(HEADLINE, epsilon=EPSILON, ratio=1.5), arms=data.arm_names,
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
        if (patient + 1) % GLANCE == 0:
            watch(trial.report())
    trial.finish()
    deliver(moments[-1] + MOST_DAYS)
    today = max(today, moments[-1] + DEADLINE)
    report = trial.report()
    watch(report)
    return LiveStory(
        policy=HEADLINE,
        patients=patients,
        protocol=f"About {A_DAY} patients were recruited a day, and the outcome came one to ten "
        f"days later. A block of patients was released {DEADLINE} days after its last patient, "
        "with how many had answered and what they answered; meanwhile later patients filled "
        "further blocks, so that every outcome was used. As in life, not all went well:",
        events={words: number for words, number in events.most_common() if number},
        report=report,
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
    """Record one outcome and say what became of it."""
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


@contextmanager
def _compiling(names: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """Compile loops in other processes; what is given waits for that of one policy.

    A process that fails compiles nothing, and the simulation does it itself.
    """
    shares = [names[start::PROCESSES] for start in range(PROCESSES)]
    code = "import sys; from discreet import demo; demo._compile(sys.argv[1:])"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, *share],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )
        for share in shares
    ]  # fmt: skip
    ready = set[str]()

    def wait(name: str) -> None:
        for process, share in zip(started, shares, strict=True):
            while name in share and name not in ready:
                line = process.stdout.readline() if process.stdout is not None else ""
                ready.add(line.strip() if line else name)

    try:
        yield wait
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _compile(names: Sequence[str]) -> None:
    """Simulate a few patients, which leaves compiled loops in the cache."""
    environment = actg175().resampled()
    by_name = {row.name: row for row in compared()}
    for name in names:
        _simulated(by_name[name], environment, 10, 1, seed=1)
        print(name, flush=True)


@contextmanager
def _watched(console: Console, patients: int) -> Iterator[Callable[[Report], None]]:
    """The public report as a table that changes on a terminal, and as a few lines elsewhere."""
    from rich.live import Live
    from rich.table import Table

    def table(report: Report) -> Table:
        made = Table(title=_progress(report, patients), title_justify="left")
        for heading in ("treatment", "patients", "success rate, with noise"):
            made.add_column(heading, justify="left" if heading == "treatment" else "right")
        for arm in report["arms"] or ():
            mean = arm.get("mean")
            shown = "–" if mean is None else percent(min(max(mean, 0.0), 1.0))
            made.add_row(str(arm["arm"]), f"{arm['assigned']:,}", shown)
        return made

    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as view:
            yield lambda report: view.update(table(report), refresh=True)
        return

    def watch(report: Report) -> None:
        done = report["assigned"]
        if report["status"] != "collecting":
            console.print(table(report))
        elif done < patients and done * 4 // patients > (done - GLANCE) * 4 // patients:
            console.print(_progress(report, patients))

    yield watch


def _progress(report: Report, patients: int) -> str:
    """Where the trial stands, in a line."""
    arms = report["arms"] or ()
    most = max(arms, key=lambda arm: arm["assigned"])
    return (
        f"{report['assigned']:,} of {patients:,} patients, {report['releases']} noisy sums "
        f"released; {percent(most['assigned'] / report['assigned'], 0)} got {most['arm']}"
    )


def _show_headline(
    console: Console, data: TrialData, at: Mapping[str, Result], found: Price, horizon: int
) -> None:
    from rich.table import Table

    table = Table(title=f"{horizon:,} patients (± standard error)", title_justify="left")
    table.add_column("policy")
    table.add_column("guarantee")
    table.add_column("on a worse treatment", justify="right")
    table.add_column("successes lost", justify="right")
    for result in at.values():
        promise = result.guarantee.short()
        table.add_row(title(result.name), promise, str(worse(result)), str(lost(result)))
    split = (f"{number:,.0f}" for number in equal_split(data, horizon))
    table.add_row("equal split", "not adaptive", *split)
    console.print(table)
    console.print(f"[bold]Answer[/bold]: with ε = {EPSILON:g}, {price_in_words(found, horizon)}")


def _show_prices(console: Console, prices: Sequence[Price]) -> None:
    console.print("Stronger and weaker privacy, in more patients on a worse treatment:")
    for found in sorted(prices, key=lambda found: found.epsilon):
        console.print(f"  ε = {found.epsilon:<4g} {found.patients}")


if __name__ == "__main__":
    sys.exit(main())
