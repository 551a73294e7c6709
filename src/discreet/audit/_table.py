"""The whole catalogue audited, as a page: `python -m discreet.audit._table --seconds 60`.

Every private policy of the catalogue with its example budget, every private identifier with ε = 1,
live trials and releases with the secure noise, and the linear policies that release round by
round, so many seconds each. The page is written line by line. `make audits` runs it at length
and writes docs/audits.md; `--only NAME`, as often as you like, attacks these alone and puts their
lines in place of those of the page that is there; `--workers 2` attacks two policies at a time,
each on its own core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, TypedDict, TypeVar

import typer

from ..identify import IDENTIFIERS
from ..linear._catalogue import CATALOGUE as LINEAR
from ..linear._row import LinearPolicy
from ..live import Trial
from ..policies import CATALOGUE, Policy
from ..privacy._source import SECURE
from ._attack import attack
from ._identification import identifications
from ._result import Audit
from ._search import audit
from ._traces import grid_traces
from ._transcripts import Subject
from ._trials import TrialRuns

LIVE = ("adap-ucb", "adac-ucb", "dp-ucb", "dp-ucb-bound", "ldp-ucb-l")
"""Policies whose live noise is attacked: Laplace, Gaussian, trees, hybrid counters, local
responses."""
PAIRS = ("adap-ucb", "adac-ucb")
"""Policies whose trials with late and missing answers are: several blocks wait, each for a pair."""

WHOLE = ("adap-ucb", "dp-imed")
"""Policies whose live trials are attacked by all that they report, in every kind of life."""

VIOLATION = ": violation"
"""Stands behind what was proved, where that is too much."""

HEAD = """\
# Audits of the catalogue

Written by `make audits`; do not edit. Every private row, with the budget that `discreet policies`
shows it with, every private identifier with ε = 1, some live trials and live releases, whose noise
is discrete and has no seed, and the private linear rows that release round by round, were attacked
on one core, each for the seconds that its line says (seed {seed}, confidence {confidence:g} a row).

"Proved" is a lower bound on what the row spends. Above the claim it would be a violation; below, it
proves nothing about the claim: nothing was found with so many transcripts. A live trial
takes milliseconds, as its secure noise and the windows of time that hide it do: its few
transcripts find gross faults, and a live release of a row with trees is one node of many. What
perturbed leaders spend shows in events so rare, at δ = 1e-6, that no number of transcripts that
fits the time can prove it. The budget of dp-ucb-int lasts for ever: by `discreet verify`, a reward
has spent ρ = 0.153 of it after 256 rounds, the longest that are tried.

"Live, whole report" is what `discreet audit NAME --live` does. It plays real trials in every kind
of life that they may have: some participants never answer, blocks are cut off, an arm is dropped or
added, a board stops the trial, it is finished early. One participant answers otherwise, or not at
all, and every number of the report has a place in the transcript: means, counts, intervals, record
and course. So few transcripts find what no noise hides, not noise that is a little too small; for
that, the same lives are played on symbols ([verification](verification.md)).

The confidence is for each row by itself: that any of the {number} is called a violation by chance,
though all of them keep their claims, has probability {chance:.2g} at most.
What is protected, and against whom: [What is and is not protected](protection.md).

| policy | claimed | δ | claimed ε | proved ε | seconds | transcripts | worst inputs found | event |
|---|---|---|---|---|---|---|---|---|
"""


def page(audits: Iterable[Audit], seconds: float, seed: int, confidence: float) -> str:
    """The page for finished audits."""
    return _written([_line(row, seconds) for row in audits], seed, confidence)


def merged(
    before: str, audits: Iterable[Audit], seconds: float, seed: int, confidence: float
) -> str:
    """A page with other lines in place of some, and what it does not have."""
    lines = {_name(line): line for line in before.splitlines() if line.startswith("| ")}
    lines |= {row.policy: _line(row, seconds) for row in audits}
    known = [name for name, _ in rows()]
    missing = [name for name in known if name not in lines]
    found = [lines[name] for name in known if name in lines]
    return _written(found, seed, confidence, missing)


def _written(lines: list[str], seed: int, confidence: float, missing: Sequence[str] = ()) -> str:
    found = [_name(line) for line in lines if VIOLATION in line]
    verdict = f"Violations: {', '.join(found)}." if found else "No violation was found."
    if missing:
        verdict += f"\n\nNot attacked: {', '.join(missing)}."
    number = len(lines)
    chance = min(1.0, number * (1.0 - confidence))
    head = HEAD.format(seed=seed, confidence=confidence, number=number, chance=chance)
    return head + "\n".join(lines) + f"\n\n{verdict}\n"


def _name(line: str) -> str:
    return line.split(" | ")[0].removeprefix("| ")


def _line(row: Audit, seconds: float) -> str:
    name, _, lower = row.parameter
    proved = f"{row.epsilon_lower:.3f}"
    if name != "epsilon":
        proved += f" ({name} >= {lower:.3g})"
    if row.is_violation:
        proved += VIOLATION
    event = "" if row.proof is None else row.proof.event
    cells = [
        row.policy, row.claimed.short(), f"{row.delta:g}", f"{row.claimed_epsilon:.3f}", proved,
        f"{seconds:g}", f"{row.transcripts:,}", row.inputs, event,
    ]  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class Effort(TypedDict):
    """What every policy is given."""

    seconds: float
    seed: int
    confidence: float


P = TypeVar("P", bound=Policy)
Row = tuple[str, Callable[[Effort], Audit]]
"""What the page calls it, and its audit."""


def rows() -> Iterator[Row]:
    """All private policies, identifiers, live noise, linear policies."""
    for name, entry in CATALOGUE.items():
        policy = entry.example()
        if policy.is_private:
            yield name, partial(_audited, policy)
    for name, row in IDENTIFIERS.items():
        if row.private:
            sized = "participants" in row.options
            identifier = (
                row.asked(epsilon=1.0, participants=64) if sized else row.asked(epsilon=1.0)
            )
            yield _row(f"{name} (identify)", identifier, identifications)
    for name in LIVE:
        policy = CATALOGUE[name].example()
        yield _row(f"{name} (live trial)", policy, live_trials)
        yield _row(f"{name} (live release)", policy, lambda row: [grid_traces(row, SECURE)])
    for name in PAIRS:
        policy = CATALOGUE[name].example()
        yield _row(f"{name} (live trial, late answers)", policy, late_trials)
    for name in WHOLE:
        yield f"{name} (live, whole report)", partial(_lived, name)
    race = IDENTIFIERS["adap-tt"].asked(epsilon=1.0)
    make = partial(Trial, risk=0.1)
    runs = partial(live_trials, make=make, horizon=None)
    yield _row("adap-tt (live trial)", race, runs)
    for name, each in LINEAR.items():
        linear = each.example()
        if linear.is_private and not linear.phased:
            yield name, partial(_audited, linear)


def _audited(policy: Policy | LinearPolicy, options: Effort) -> Audit:
    return audit(policy, **options)


def _lived(name: str, options: Effort) -> Audit:
    found = audit(CATALOGUE[name].example(), live=True, **options)
    return replace(found, policy=f"{name} (live, whole report)")


def _row(name: str, policy: P, subjects: Callable[[P], Sequence[Subject]]) -> Row:
    def run(options: Effort) -> Audit:
        return attack(subjects(policy), policy.guarantee, name=name, **options)

    return name, run


def live_trials(
    policy: Policy, make: Callable[..., Trial] = Trial, horizon: int | None = 4
) -> list[TrialRuns]:
    """Live trials of one participant, of two and of four, the first or the third of whom answers 0
    or 1. The shorter, the more of them there are."""
    return [
        TrialRuns(policy, (0.0,) * units, one_of(units, place, 1.0), horizon=horizon, make=make)
        for units, place in ((1, 0), (2, 0), (4, 0), (4, 2))
    ]


def late_trials(policy: Policy) -> list[TrialRuns]:
    """Trials of one participant, and of four who are all treated before the first answer counts:
    the first of them answers 1 or 0, or one of these and not at all."""
    return [
        TrialRuns(
            policy, one_of(units, 0, first), one_of(units, 0, second), horizon=4, deadline=1.0,
            together=units,
        )
        for units in (1, 4)
        for first, second in ((0.0, 1.0), (0.0, None), (1.0, None))
    ]  # fmt: skip


def one_of(units: int, place: int, outcome: float | None) -> tuple[float | None, ...]:
    """Outcomes of so many participants, all 0 but for one."""
    return tuple(outcome if unit == place else 0.0 for unit in range(units))


def _attacked(names: Sequence[str], options: Effort, workers: int) -> Iterator[Audit]:
    """The audits of these lines, in their order."""
    if workers == 1:
        yield from (_attack(name, options) for name in names)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(_attack, names, [options] * len(names))


def _attack(name: str, options: Effort) -> Audit:
    return dict(rows())[name](options)


def main(
    seconds: Annotated[float, typer.Option(help="Time for every policy.")] = 60.0,
    output: Annotated[Path | None, typer.Option(help="The page; else standard output.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every audit.")] = 1,
    confidence: Annotated[float, typer.Option(help="Confidence of every policy.")] = 0.9999,
    only: Annotated[
        list[str] | None, typer.Option(help="A line to attack and replace, by its name.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes, each of which attacks a policy at a time.", min=1)
    ] = 1,
) -> None:
    """Audit all private policies and write the page."""
    options = Effort(seconds=seconds, seed=seed, confidence=confidence)
    chosen, before = list(rows()), ""
    if only:
        unknown = set(only) - {name for name, _ in chosen}
        if unknown:
            typer.echo(
                f"error: no line of the page is called {', '.join(sorted(unknown))}", err=True
            )
            raise typer.Exit(2)
        chosen = [(name, run) for name, run in chosen if name in only]
        if output is not None and output.exists():
            before = output.read_text(encoding="utf-8")
    done: list[Audit] = []

    def written() -> str:
        if only:
            return merged(before, done, seconds, seed, confidence)
        return page(done, seconds, seed, confidence)

    for attacked in _attacked([name for name, _ in chosen], options, workers):
        if not attacked.complete:
            break
        done.append(attacked)
        typer.echo(f"{attacked.policy}: {attacked.verdict}", err=True)
        if output is not None:  # line by line: whatever ends it, what is finished is there
            output.write_text(written(), encoding="utf-8")
    if output is None:
        typer.echo(written(), nl=False)
    raise typer.Exit(1 if any(result.is_violation for result in done) else 0)


if __name__ == "__main__":
    typer.run(main)
