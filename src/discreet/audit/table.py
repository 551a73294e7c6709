"""The whole catalogue audited, as a page: `python -m discreet.audit.table --seconds 60`.

Every private row of the catalogue with its example budget, every private identifier with ε = 1,
live trials and releases with the secure noise, and the linear rows that release round by round, so
many seconds each. The page is written row by row. `make audits` runs it at length
and writes docs/audits.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from ..identify import IDENTIFIERS
from ..linear.catalogue import CATALOGUE as LINEAR
from ..live import Trial
from ..policies import CATALOGUE, Policy
from ..privacy.source import SECURE
from .attack import attack
from .identification import identifications
from .result import Audit
from .search import audit
from .traces import grid_traces
from .trials import TrialRuns

LIVE = ("adap-ucb", "adac-ucb", "dp-ucb", "dp-ucb-bound", "ldp-ucb-l")
"""Rows whose live noise is attacked: Laplace, Gaussian, trees, hybrid counters, local responses."""
PAIRS = ("adap-ucb", "adac-ucb")
"""Rows whose trials with late and missing answers are: several blocks wait, each for a pair."""

HEAD = """\
# Audits of the catalogue

Written by `make audits`; do not edit. Every private row, with the budget that `discreet policies`
shows it with, every private identifier with ε = 1, some live trials and live releases, whose noise
is discrete and has no seed, and the private linear rows that release round by round, were attacked
for {seconds:g} seconds each on one core (seed {seed}, confidence {confidence:g} a row).

"Proved" is a lower bound on what the row spends. Above the claim it would be a violation; below, it
proves nothing about the claim: nothing was found with so many transcripts. Live noise is drawn one
number at a time: its few transcripts find gross faults. What perturbed leaders spend shows in
events so rare, at δ = 1e-6, that no number of transcripts that fits the time can prove it.

The confidence is for each row by itself: of a hundred rows at 0.99 that spend just what they claim,
one may be called a violation by chance. Repeat it with another seed.
What is protected, and against whom: [What is and is not protected](protection.md).

| policy | claimed | δ | claimed ε | proved ε | transcripts | worst inputs found | event |
|---|---|---|---|---|---|---|---|
"""


def page(audits: Iterable[Audit], seconds: float, seed: int, confidence: float) -> str:
    """The page for finished audits."""
    rows = list(audits)
    lines = [_line(row) for row in rows]
    found = [row.policy for row in rows if row.is_violation]
    verdict = f"Violations: {', '.join(found)}." if found else "No violation was found."
    head = HEAD.format(seconds=seconds, seed=seed, confidence=confidence)
    return head + "\n".join(lines) + f"\n\n{verdict}\n"


def _line(row: Audit) -> str:
    name, _, lower = row.parameter
    proved = f"{row.epsilon_lower:.3f}"
    if name != "epsilon":
        proved += f" ({name} >= {lower:.3g})"
    event = "" if row.proof is None else row.proof.event
    cells = [
        row.policy, row.claimed.short(), f"{row.delta:g}", f"{row.claimed_epsilon:.3f}", proved,
        f"{row.transcripts:,}", row.inputs, event,
    ]  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class Effort(TypedDict):
    """What every row is given."""

    seconds: float
    seed: int
    confidence: float


def attacks(options: Effort) -> Iterator[Audit]:
    """All private policies, identifiers, live noise, linear rows."""
    for entry in CATALOGUE.values():
        policy = entry.example()
        if policy.is_private:
            yield audit(policy, **options)
    for name, row in IDENTIFIERS.items():
        if row.private:
            sized = "participants" in row.options
            identifier = (
                row.asked(epsilon=1.0, participants=64) if sized else row.asked(epsilon=1.0)
            )
            subjects = identifications(identifier)
            yield attack(subjects, identifier.guarantee, name=f"{name} (identify)", **options)
    for name in LIVE:
        policy = CATALOGUE[name].example()
        runs = live_trials(policy)
        yield attack(runs, policy.guarantee, name=f"{name} (live trial)", **options)
        release = grid_traces(policy, SECURE)
        yield attack([release], policy.guarantee, name=f"{name} (live release)", **options)
    for name in PAIRS:
        policy = CATALOGUE[name].example()
        runs = late_trials(policy)
        yield attack(runs, policy.guarantee, name=f"{name} (live trial, late answers)", **options)
    race = IDENTIFIERS["adap-tt"].asked(epsilon=1.0)
    runs = live_trials(race, make=partial(Trial, goal="identify", risk=0.1), horizon=None)
    yield attack(runs, race.guarantee, name="adap-tt (live trial)", **options)
    for linear in (entry.example() for entry in LINEAR.values()):
        if linear.is_private and not linear.phased:
            yield audit(linear, **options)


def live_trials(
    policy: Policy, make: Callable[..., Trial] = Trial, horizon: int | None = 4
) -> list[TrialRuns]:
    """Live trials of four participants, the first or the third of whom answers 0 or 1."""
    return [
        TrialRuns(policy, (0.0,) * 4, one_of_four(place, 1.0), horizon=horizon, make=make)
        for place in (0, 2)
    ]


def late_trials(policy: Policy) -> list[TrialRuns]:
    """Trials of four participants, all treated before the first answer counts: the first of them
    answers 1 or 0, or one of these and not at all."""
    return [
        TrialRuns(
            policy, one_of_four(0, first), one_of_four(0, second), horizon=4, deadline=1.0,
            together=4,
        )
        for first, second in ((0.0, 1.0), (0.0, None), (1.0, None))
    ]  # fmt: skip


def one_of_four(place: int, outcome: float | None) -> tuple[float | None, ...]:
    """Outcomes of four participants, all 0 but for one."""
    return tuple(outcome if unit == place else 0.0 for unit in range(4))


def main(
    seconds: Annotated[float, typer.Option(help="Time for every row.")] = 60.0,
    output: Annotated[Path | None, typer.Option(help="The page; else standard output.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every audit.")] = 1,
    confidence: Annotated[float, typer.Option(help="Confidence of every row.")] = 0.99,
) -> None:
    """Audit all private rows and write the page."""
    options = Effort(seconds=seconds, seed=seed, confidence=confidence)
    done: list[Audit] = []
    for attacked in attacks(options):
        if not attacked.complete:
            break
        done.append(attacked)
        typer.echo(f"{attacked.policy}: {attacked.verdict}", err=True)
        if output is not None:  # row by row: whatever ends it, what is finished is there
            output.write_text(page(done, seconds, seed, confidence), encoding="utf-8")
    if output is None:
        typer.echo(page(done, seconds, seed, confidence), nl=False)
    raise typer.Exit(1 if any(result.is_violation for result in done) else 0)


if __name__ == "__main__":
    typer.run(main)
