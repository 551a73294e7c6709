"""Data of classes as a trial with features: do they pay, is the advice right, how long are tails?

    python benchmarks/contexts.py --data wine.csv          regrets and advice, ε = 1 or (1, 1e-6)
    python benchmarks/contexts.py --data wine.csv --tail   jdp-ts by the range that it is told

A file has a line of names, then one line per row of data: features, which are numbers, and last the
class. A participant is a row that is drawn with replacement, an arm is a class, and an outcome is 1
at the rate that a line, fitted to "this is the class" by `past_problem`, has for the features.
Regret is against the best arm for each participant.

The figures of docs/choosing.md and docs/linear.md are of UCI Wine (178 rows, 13 features, three
classes; Aeberhard & Forina 1992, CC BY 4.0), as scikit-learn has it:

    from sklearn.datasets import load_wine
    load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)

"Silent" is the same with the outcomes of every arm shuffled among rows. Exits with 1 if an advice
is wrong: features are to be used where the policy that uses them is clearly ahead in these runs,
and only there.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

import discreet
import discreet.linear as linear
from discreet.privacy.budgets import Approximate, Budget, Pure
from discreet.theory import choose, gain_of, past_problem
from discreet.theory._choosing import ADVISED
from discreet.theory._features import DOUBT

SEED = 20_262
SIZES = (2_000, 20_000)
BUDGETS: dict[str, Budget] = {"public": Pure(1.0), "private": Approximate(1.0, 1e-6)}
USING = {"public": ("blocks-ts",), "private": ("jdp-blocks-ts", "jdp-ts")}


def read(path: Path) -> tuple[Any, Any]:
    """Features, one row each, and the numbers of the classes."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line][1:]
    if len(lines) < 2 or len({len(line) for line in lines}) != 1 or len(lines[0]) < 2:
        raise SystemExit(f"{path}: give a line of names, then features and a class in every line")
    try:
        features = np.array([line[:-1] for line in lines], float)
    except ValueError as error:
        raise SystemExit(f"{path}: features must be numbers: {error}") from None
    return features, np.unique([line[-1].strip() for line in lines], return_inverse=True)[1]


def outcomes_of(classes: Any) -> Any:
    """Of every row under every arm: whether it is the class."""
    return np.eye(int(classes.max()) + 1)[classes]


def silent(outcomes: Any) -> Any:
    """The same, dealt out anew among the rows, arm by arm."""
    return np.random.default_rng(SEED).permuted(outcomes, axis=0)


def problem_of(features: Any, outcomes: Any) -> linear.LinearProblem:
    """All that the data say: every row under every arm."""
    rows, arms = outcomes.shape
    assigned = np.tile(np.arange(arms), rows)
    return past_problem(np.repeat(features, arms, axis=0), assigned, outcomes.ravel())


def past_of(features: Any, outcomes: Any) -> linear.LinearProblem:
    """What a past trial says: everybody had one arm, at random."""
    rows, arms = outcomes.shape
    assigned = np.random.default_rng(SEED).integers(0, arms, rows)
    return past_problem(features, assigned, outcomes[np.arange(rows), assigned])


def ignoring(name: str, problem: linear.LinearProblem, size: int) -> Any:
    """Regrets of a policy for finite arms, with what the features would have gained."""
    row = discreet.policy(name, epsilon=1.0, **ADVISED.get(name, {}))
    environment = discreet.Bernoulli([min(max(mean, 0.0), 1.0) for mean in problem.means])
    found = discreet.simulate(
        row, environment, horizon=size, runs=1000, seed=SEED, points=2, shuffle=True, progress=False
    )
    return found.final_regret + size * gain_of(problem)


def regrets(
    name: str, problem: linear.LinearProblem, size: int, runs: int, **options: float
) -> Any:
    """Of a linear policy."""
    row = linear.policy(
        name, budget=BUDGETS["public" if name == "blocks-ts" else "private"], **options
    )
    found = linear.simulate(row, problem, horizon=size, runs=runs, seed=SEED, progress=False)
    return found.final_regret


def error(values: Any) -> float:
    """Standard error."""
    return float(values.std(ddof=1) / len(values) ** 0.5)


def said(values: Any) -> str:
    """Mean ± standard error."""
    return f"{values.mean():,.0f} ± {error(values):.0f}"


def advice(features: Any, classes: Any, runs: int, sizes: tuple[int, ...] = SIZES) -> int:
    """Two tables; how many advices are wrong."""
    outcomes, wrong = outcomes_of(classes), 0
    for label, known in (("as they are", outcomes), ("silent", silent(outcomes))):
        problem = problem_of(features, known)
        print(f"\n{label}: features gain {gain_of(problem):.3f} per participant\n")
        print(f"| participants | {' | '.join(f'{size:,}' for size in sizes)} |")
        print("|---|" + "---|" * len(sizes))
        names = ("laplace-imed", "dp-imed")
        found = {
            (name, size): ignoring(name, problem, size) for name in names for size in sizes
        } | {
            (name, size): regrets(name, problem, size, runs)
            for using in USING.values() for name in using for size in sizes
        }  # fmt: skip
        for name in dict.fromkeys(name for name, _ in found):
            print(f"| `{name}` | {' | '.join(said(found[name, size]) for size in sizes)} |")
        for contexts, (row, *_) in USING.items():
            for source, seen in (
                ("all rows", problem), ("a past trial", past_of(features, known)),
            ):  # fmt: skip
                cells = []
                for size in sizes:
                    chosen = choose(
                        BUDGETS[contexts], contexts=contexts, participants=size, problem=seen
                    )
                    lead = found["laplace-imed", size].mean() - found[row, size].mean()
                    doubt = error(found["laplace-imed", size]) + error(found[row, size])
                    missed = (chosen.name == row) != (lead > 0.0) and abs(lead) > DOUBT * doubt
                    wrong += missed
                    cells.append(f"`{chosen.name}`{' WRONG' if missed else ''}")
                print(f"| advised, {contexts} features, {source} | {' | '.join(cells)} |")
    return wrong


def tail(features: Any, classes: Any, runs: int, sizes: tuple[int, ...] = (20_000, 100_000)) -> int:
    """Quantiles of jdp-ts, told the range [-1, 1] and told [0, 1]."""
    problem = problem_of(features, outcomes_of(classes))
    print(f"\njdp-ts, (ε, δ) = (1, 1e-6), {runs} runs\n")
    print("| participants | range | mean | median | 90 % | 99 % | most | most / median |")
    print("|---|---|---|---|---|---|---|---|")
    for size in sizes:
        for low in (-1.0, 0.0):
            found = regrets("jdp-ts", problem, size, runs, low=low, high=1.0)
            marks = np.quantile(found, [0.5, 0.9, 0.99, 1.0])
            cells = [f"{size:,}", f"[{low:g}, 1]", said(found), *(f"{mark:,.0f}" for mark in marks)]
            print(f"| {' | '.join(cells)} | {marks[-1] / marks[0]:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="CSV file: features, then class")
    parser.add_argument("--runs", type=int, default=200, help="of policies with features")
    parser.add_argument("--tail", action="store_true", help="quantiles of jdp-ts by its range")
    asked = parser.parse_args()
    part = tail if asked.tail else advice
    sys.exit(1 if part(*read(asked.data), asked.runs) else 0)
