"""`discreet membership`: games against an empirical mean, what leaks, and audits from counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._checks import check_seed
from .._checks import count as check_count
from ..errors import InvalidArgument
from ._options import Json, Seed, Threads, flag, numbers, switch, value_of, whole
from ._output import PICTURES, check_path, print_json, print_table, print_text, save_picture

if TYPE_CHECKING:
    from .._types import Floats
    from ..audit._result import Audit
    from ..membership import Bernoulli
    from ..membership._games import Adversary

NAME = "membership"
SUMMARY = "Games against an empirical mean, what leaks, and audits from counts."
LEVELS = (0.001, 0.01, 0.05, 0.1)
MOST_COLUMNS = 10**7
ATTACKS = ("lr", "linear", "scalar", "scalar-centred", "printed-subsampling")

Columns = Annotated[
    str,
    flag("Bernoulli columns: probabilities, each with how many columns have it.", "P:COUNT,..."),
]
Records = Annotated[str, flag("Records in the data set.", "COUNT", "--n")]
Target = Annotated[str, flag("easiest, hardest, draw, or 0 and 1 for every column.", "NAME")]
Noise = Annotated[float, flag("Standard deviation of the noise on the released mean.", "NUMBER")]
Subsample = Annotated[float, flag("Share of the records that the mean is taken over.", "NUMBER")]
Delta = Annotated[float, flag("The δ of ε(δ).", "NUMBER")]
Confidence = Annotated[float, flag("Probability that a bound holds.", "NUMBER")]
Levels = Annotated[str | None, flag("False-alarm rates to report the power at.", "A,A,...")]
Plot = Annotated[Path | None, flag("Draw it: .png, .svg or .pdf.", "FILE.png", readable=False)]


def leakage(
    columns: Columns,
    n: Records,
    target: Target = "easiest",
    noise: Noise = 0.0,
    subsample: Subsample = 1.0,
    exact: Annotated[
        bool, switch("--exact", "Convolve the columns instead of a normal distribution.")
    ] = False,
    delta: Delta = 1e-5,
    levels: Levels = None,
    seed: Annotated[int | None, flag("With --target draw: which target.", "COUNT")] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """What the best attacker achieves against one target of an empirical mean, without sampling.

    Prints the leakage score, the largest advantage, the power at levels of false alarms, the area
    under the curve, and the ε(δ) that this game can show. None of it is a guarantee.
    """
    check_path("plot", plot, PICTURES)
    from ..membership import leakage as leakage_of

    environment = columns_of(columns)
    vector = target_of(environment, target, seed)
    found = leakage_of(
        environment, whole("n", n), vector, noise=noise, subsample=subsample, exact=exact
    )
    data = found.to_dict(levels_of(levels), delta)
    if plot is not None:
        from ..membership._plots import plot_curves

        save_picture(plot_curves({f"{target} target": found.curve()}), plot)
    if json:
        print_json(data)
        return
    _print(data)


def play(
    columns: Columns,
    n: Records,
    target: Annotated[
        str,
        flag("easiest, hardest, draw, average (anew each round), or 0 and 1 per column.", "NAME"),
    ] = "easiest",
    noise: Noise = 0.0,
    subsample: Subsample = 1.0,
    attack: Annotated[str, flag(f"The score: {', '.join(ATTACKS)}.", "NAME")] = "lr",
    rounds: Annotated[str, flag("Rounds with the target, and as many without.", "COUNT")] = "10000",
    delta: Delta = 1e-5,
    confidence: Confidence = 0.95,
    levels: Levels = None,
    seed: Seed = None,
    threads: Threads = None,
    output: Annotated[
        Path | None, flag("Save all scores as Parquet.", "FILE.parquet", readable=False)
    ] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Play the membership game against an empirical mean, and audit it.

    The threshold that proves `epsilon_lower` is learnt on half of the rounds and counted on the
    other half. Figures come with limits at the stated confidence.
    """
    check_path("output", output, (".parquet",))
    check_path("plot", plot, PICTURES)
    from .. import membership

    environment = columns_of(columns)
    vector = None if target == "average" else target_of(environment, target, seed)
    mean = membership.Mean(environment, whole("n", n), noise=noise, subsample=subsample)
    result = membership.Game(mean, vector).play(
        attack_of(attack), whole("rounds", rounds), seed=seed, threads=threads
    )
    audit = result.audit(delta=delta, confidence=confidence)
    data = result.summary(levels_of(levels), confidence)
    leak = None if vector is None else membership.leakage(mean, target=vector)
    if leak is not None:
        data = {"score": leak.score} | data
    data |= {"epsilon_lower": audit.epsilon_lower, "delta": delta, "audit": _audit_dict(audit)}
    if output is not None:
        result.save(output)
    if plot is not None:
        theory = None if leak is None else {"theory": leak.curve()}
        save_picture(result.plot(theory=theory), plot)
    if json:
        print_json(data)
    else:
        _print(data)
        print_text(str(audit))
    if not result.complete:
        typer.echo("interrupted: figures rest on the rounds that were finished", err=True)
        raise typer.Exit(130)


def audit(
    hits: Annotated[
        str | None, flag("How often an event was hit on two neighbours.", "H,H")
    ] = None,
    errors: Annotated[
        str | None, flag("False alarms and misses of an attacker in a game.", "F,M")
    ] = None,
    one_run: Annotated[
        str | None, flag("Canaries of one run, how many were guessed, and how many right.", "M,R,V")
    ] = None,
    runs: Annotated[
        str | None, flag("Runs per side, with --hits or --errors; one number or two.", "COUNT")
    ] = None,
    delta: Annotated[float, flag("The δ to bound ε at.", "NUMBER")] = 0.0,
    confidence: Confidence = 0.95,
    gaussian: Annotated[
        bool, switch("--gaussian", "With --one-run: bound μ of Gaussian DP.")
    ] = False,
    bayesian: Annotated[
        bool, switch("--bayesian", "With --errors: a credible bound instead.")
    ] = False,
    epsilon: Annotated[float | None, flag("A claim to hold the bound against.", "NUMBER")] = None,
    mu: Annotated[float | None, flag("A Gaussian claim instead.", "NUMBER")] = None,
    json: Json = False,
) -> None:
    """A lower bound on ε from counts, with a stated confidence.

    The event, the threshold and the number of guesses must have been fixed before counting. An
    audit never proves privacy. Exit code 1 means that a claim is violated.
    """
    from ..privacy.budgets import budget_from

    given = {"--hits": hits, "--errors": errors, "--one-run": one_run}
    if sum(value is not None for value in given.values()) != 1:
        raise InvalidArgument(
            "counts", "be given once", [name for name, value in given.items() if value is not None],
            "use one of --hits 500,100, --errors 50,300 and --one-run 1000,100,95",
        )  # fmt: skip
    if (gaussian and one_run is None) or (bayesian and errors is None):
        raise InvalidArgument(
            "gaussian" if gaussian else "bayesian", "go with its counts", True,
            "use --gaussian with --one-run, --bayesian with --errors",
        )  # fmt: skip
    kind = "gaussian" if gaussian else "bayesian" if bayesian else ""
    claimed = budget_from(
        epsilon=epsilon, delta=delta if epsilon is not None and delta else None, mu=mu
    )
    options = {"delta": delta, "confidence": confidence, "claimed": claimed}
    found = _audited(hits, errors, one_run, runs, kind, options)
    if json:
        print_json(_audit_dict(found))
    else:
        print_text(str(found))
    if found.is_violation:
        raise typer.Exit(1)


EXAMPLES = {
    "leakage": "discreet membership leakage --columns .1:50,.5:50,.9:50 --n 100 --target easiest",
    "play": "discreet membership play --columns .1:50,.5:50,.9:50 --n 100 --target hardest",
    "audit": "discreet membership audit --errors 50,300 --runs 1000",
}
COMMANDS: dict[str, Callable[..., None]] = {"leakage": leakage, "play": play, "audit": audit}


def _audited(
    hits: str | None, errors: str | None, one_run: str | None, runs: str | None, kind: str,
    options: dict[str, Any],
) -> Audit:  # fmt: skip
    from ..audit import _counts as counts
    from ..audit import _one_run as single

    if one_run is not None:
        if runs is not None:
            raise InvalidArgument("runs", "be left out with --one-run", runs, "drop it")
        canaries, guesses, right = _counts("one-run", one_run, 3)
        audit = single.one_run_gaussian if kind else single.one_run
        return audit(canaries, guesses, right, **options)
    if runs is None:
        raise InvalidArgument("runs", "be given", None, "use --runs 1000")
    trials = tuple(whole("runs", part.strip()) for part in runs.split(","))
    if len(trials) > 2:
        raise InvalidArgument("runs", "be one number or two", runs, "use --runs 1000")
    of = (trials[0], trials[-1])
    if hits is not None:
        first, second = _counts("hits", hits, 2)
        return counts.from_hits((first, second), of, **options)
    assert errors is not None
    alarms, misses = _counts("errors", errors, 2)
    return (counts.bayesian if kind else counts.from_errors)((alarms, misses), of, **options)


def _counts(argument: str, text: str, count: int) -> list[int]:
    parts = [whole(argument, part.strip()) for part in text.split(",")]
    if len(parts) != count:
        raise InvalidArgument(
            argument, f"be {count} whole numbers", text, f"see discreet {NAME} audit --help"
        )
    return parts


def _audit_dict(audit: Audit) -> dict[str, object]:
    data = audit.to_dict()
    name, _, lower = audit.parameter
    if name == "mu":
        data["mu_lower"] = lower
    return data


def columns_of(text: str) -> Bernoulli:
    """P:COUNT,... as a law of data."""
    from ..membership import Bernoulli

    p: list[float] = []
    for part in text.split(","):
        value, _, count = part.partition(":")
        number = value_of(value.strip())
        if not isinstance(number, int | float):
            raise InvalidArgument(
                "columns", "be P:COUNT between commas", text, "write for example .1:50,.5:50"
            )
        several = whole("columns", count.strip()) if count else 1
        p += [float(number)] * check_count("columns", several, most=MOST_COLUMNS)
    return Bernoulli(p)


def target_of(environment: Bernoulli, text: str, seed: int | None) -> Floats:
    """A target by name, or its entries."""
    import numpy as np

    if text == "easiest":
        return environment.easiest()
    if text == "hardest":
        return environment.hardest()
    if text == "draw":
        return environment.draw(np.random.default_rng(check_seed(seed)))
    if not text or text[0] not in "01.":
        raise InvalidArgument(
            "target", "be easiest, hardest, draw or 0 and 1 for every column", text,
            "use --target easiest",
        )  # fmt: skip
    return environment.check_targets(numbers("target", text))


def attack_of(name: str) -> Adversary:
    """An adversary by name."""
    from .. import membership

    if name not in ATTACKS:
        raise InvalidArgument("attack", f"be one of {', '.join(ATTACKS)}", name, "use --attack lr")
    attacks: dict[str, Adversary] = {
        "lr": membership.LikelihoodRatio(),
        "linear": membership.LinearRatio(),
        "scalar": membership.ScalarProduct(),
        "scalar-centred": membership.ScalarProduct("mean"),
        "printed-subsampling": membership.PrintedSubsampling(),
    }
    return attacks[name]


def levels_of(text: str | None) -> tuple[float, ...]:
    """Levels between commas; default: a few usual ones."""
    return LEVELS if text is None else tuple(numbers("levels", text))


def _print(data: dict[str, Any]) -> None:
    for name in ("score", "advantage", "auc", "epsilon"):
        if name in data:
            value = "infinite" if data[name] is None else f"{data[name]:.4g}"
            print_text(f"{name:10s} {value}")
    limits = data.get("limits", {}).get("power", {})
    rows = [
        [level, f"{power:.4g}", "–".join(f"{x:.4g}" for x in limits[level]) if limits else ""]
        for level, power in data["power"].items()
    ]
    print_table(["false alarms", "power", "limits"], rows, right=("false alarms", "power"))
