"""Is the planner's recommendation the best row of the catalogue? Twenty held-out instances.

Each instance draws K from 2 to 10, means from [0.05, 0.95] with a least gap, T from 1e4 to 1e6
(log-uniform; 1e5 at most without trust), ε from 0.05 to 5 (log-uniform). Every other trial has a
trusted server, the others none. The planner answers with its own seed; then every candidate is
simulated afresh with other seeds and many more runs, and the planner is right if no other row has a
lower mean regret.

- "row": the recommended row, with the options it was recommended with, has the lowest mean regret
  of all rows (each with its best offered options), or is tied with it: the difference is below
  two standard errors of the fresh simulation. Rivals are those that may be recommended: rows that
  can lose a run on hard instances may not, where a run can be lost (docs/hard.md).
- "strict": the same without ties.
The last columns are the regret of choosing otherwise: the best other row, the published default of
a practitioner's usual choice (adap-ucb, or ldp-ucb-l without trust), and equal allocation.

    python benchmarks/planner.py [--instances 20] [--runs 2000] [--seed 2026]
    python benchmarks/planner.py --field 80 --seed 77     # are the rows that plan simulates enough?

The first exits with 1 if fewer than 19 of 20 are right; the second, if any other row is below the
best of those by more than two standard errors of the difference. It draws wider questions: K from 2
to 16, T from 100 to 1e5, ε from 0.01 to 10, δ of 0 or not, gaps down to 0.003, rare outcomes.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial
from typing import Any

import numpy as np

from discreet import Bernoulli, simulate
from discreet.theory.planning import Candidate, Prediction, candidates, plan
from discreet.theory.planning._plan import FIELD, best_of, is_safe
from discreet.theory.planning._question import Question, question

LEAST_GAP = 0.02
SHARE = 0.95
USUAL = {"server": "adap-ucb", "none": "ldp-ucb-l"}


def drawn(rng: np.random.Generator, trust: str) -> dict[str, Any]:
    """One held-out question."""
    arms = int(rng.integers(2, 11))
    while True:
        means = np.sort(rng.uniform(0.05, 0.95, arms))[::-1].round(3)
        if means[0] - means[1] >= LEAST_GAP:
            break
    longest = 1e5 if trust == "none" else 1e6
    return {
        "means": [float(mean) for mean in means],
        "horizon": round(10 ** rng.uniform(4.0, math.log10(longest))),
        "epsilon": float(f"{10 ** rng.uniform(math.log10(0.05), math.log10(5.0)):.2g}"),
        "trust": trust,
    }


def truth(asked: Question, predicted: list[Prediction], runs: int, seed: int) -> dict[str, Any]:
    """Fresh mean and standard error of every candidate that is not out of sight.

    A candidate that the planner found ten times worse is simulated a few times, but as often as
    the others if these few do not agree: a policy that fails in one trial of three may look perfect
    in four. Rows that decide each round get 60 runs.
    """
    assert asked.horizon is not None
    recommended = best_of(predicted)
    best = recommended.mean
    seen = {p.label: p for p in predicted}
    found = {}
    for candidate in candidates(asked)[0]:
        own = seen.get(candidate.label)
        far = own is None or own.mean > 10.0 * best
        few, many = (4, 60) if candidate.each_round else (20, runs)
        policy, environment = (
            candidate.policy(asked.epsilon, asked.delta),
            Bernoulli(asked.scenarios[0]),
        )
        simulated = partial(
            simulate, policy, environment, horizon=asked.horizon, seed=seed, points=2, shuffle=True
        )
        values = simulated(runs=few).final_regret if far else None
        if values is None or values.mean() <= 10.0 * best:
            values = simulated(runs=many).final_regret
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        safe = is_safe(asked, candidate, float(np.median(values))) or own is recommended
        found[candidate.label] = (candidate, float(values.mean()), error, safe)
    return found


def judged(chosen: str, found: dict[str, Any]) -> tuple[bool, bool, tuple[Candidate, float]]:
    """Whether the choice is best with and without ties, and the best other row."""
    row = found[chosen][0].row
    rivals = {label: entry for label, entry in found.items() if entry[0].row != row and entry[3]}
    mean, error = found[chosen][1:3]
    other = min(rivals.values(), key=lambda entry: entry[1])
    strict = mean <= other[1]
    tied = mean - other[1] <= 2.0 * math.hypot(error, other[2])
    return strict, strict or tied, (other[0], other[1])


def wider(rng: np.random.Generator) -> dict[str, Any]:
    """One question of many kinds, with a trusted server."""
    arms = int(rng.choice([2, 2, 3, 4, 6, 10, 16]))
    horizon, epsilon = round(10 ** rng.uniform(2, 5)), float(10 ** rng.uniform(-2, 1))
    kind = rng.random()
    if kind < 0.5:
        means = np.sort(rng.uniform(0.02, 0.98, arms))[::-1].round(3)
    elif kind < 0.75:
        top, gap = rng.uniform(0.05, 0.95), 10 ** rng.uniform(-2.3, -0.5)
        means = np.r_[top, np.full(arms - 1, max(0.01, top - gap))].round(4)
    else:
        top = rng.uniform(0.01, 0.1)
        means = np.sort(rng.uniform(0.001, top, arms))[::-1].round(4)
    if means[0] - means[1] < 0.003:
        means[0] = min(0.99, means[0] + 0.01)
    return {
        "means": means.tolist(), "horizon": horizon, "epsilon": epsilon,
        "delta": float(rng.choice([0, 0, 1e-6, 0.01])),
    }  # fmt: skip


def check_field(instances: int, seed: int) -> int:
    """How often a row that `plan` leaves out is clearly better than all that it simulates."""
    rng, missed = np.random.default_rng(seed), 0
    for number in range(instances):
        case = wider(rng)
        asked = question(**case, epsilons=[case["epsilon"]])
        assert asked.horizon is not None
        best: dict[bool, tuple[float, float, str]] = {}
        for candidate in candidates(asked)[0]:
            runs = max(6, min(60, 2_000_000 // asked.horizon)) if candidate.each_round else 200
            values = simulate(
                candidate.policy(asked.epsilon, asked.delta), Bernoulli(asked.scenarios[0]),
                horizon=asked.horizon, runs=runs, seed=number, points=2, shuffle=True, threads=1,
            ).final_regret  # fmt: skip
            error = float(values.std(ddof=1)) / math.sqrt(runs)
            inside = candidate.row in FIELD
            found = (float(values.mean()), error, candidate.label)
            best[inside] = min(best.get(inside, (math.inf, 0.0, "")), found)
        ours, other = best[True], best[False]
        clear = other[0] + 2.0 * math.hypot(ours[1], other[1]) < ours[0]
        missed += clear
        print(
            f"{len(asked.scenarios[0]):3d} {asked.horizon:7d} {asked.epsilon:7.3g} {asked.delta:6g}"
            f"  {ours[2]:24s} {ours[0]:8.1f}  {other[2]:24s} {other[0]:8.1f}  "
            f"{'MISSED' if clear else 'ok'}",
            flush=True,
        )
    print(f"a row that plan leaves out is clearly better in {missed} of {instances}")
    return int(missed > 0)


def main() -> None:
    """Draw, plan, check, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--field", type=int, help="questions for the rows that plan leaves out")
    asked_for = parser.parse_args()
    if asked_for.field is not None:
        sys.exit(check_field(asked_for.field, asked_for.seed))
    rng = np.random.default_rng(asked_for.seed)
    right = strictly = 0
    losses = []
    by_trust = {trust: [0, 0] for trust in USUAL}
    print("  K        T      ε  trust   recommended              regret  best other row"
          "            regret   usual    equal  within row  plan s")  # fmt: skip
    for number in range(asked_for.instances):
        trust = list(USUAL)[number % len(USUAL)]
        case = drawn(rng, trust)
        started = time.process_time()
        answer = plan(**case, epsilons=[case["epsilon"]], seed=number)
        spent = time.process_time() - started
        asked = question(**case, epsilons=[case["epsilon"]])
        best = answer.recommended
        found = truth(asked, answer.at(case["epsilon"]), asked_for.runs, 10_000 + number)
        strict, fine, (other, otherwise) = judged(best.label, found)
        mean = found[best.label][1]
        own = min(entry[1] for entry in found.values() if entry[0].row == best.row and entry[3])
        usual = found[USUAL[case["trust"]]][1]
        right, strictly = right + fine, strictly + strict
        by_trust[trust][0] += fine
        by_trust[trust][1] += 1
        losses.append((otherwise / mean, usual / mean, asked.uniform * case["horizon"] / mean))
        mark = "ok " if strict else "tie" if fine else "BAD"
        print(
            f"{len(case['means']):3d} {case['horizon']:8d} {case['epsilon']:6g}  "
            f"{case['trust']:6s} {best.label:24s} {mean:7.0f}  {other.label:24s} "
            f"{otherwise:7.0f} {usual:7.0f} {asked.uniform * case['horizon']:8.0f}  "
            f"{mean / own - 1.0:9.1%}  {spent:5.1f}  {mark}",
            flush=True,
        )
    n = asked_for.instances
    rest = [float(np.exp(np.mean(np.log(column)))) for column in zip(*losses, strict=True)]
    print(f"the recommended row is best in {right} of {n} ({strictly} without ties)")
    for trust, (fine, all_of) in by_trust.items():
        print(f"  trust {trust}: {fine} of {all_of}")
    print(
        f"choosing otherwise multiplies regret by {rest[0]:.2f} (best other row), {rest[1]:.1f} "
        f"(usual choice), {rest[2]:.1f} (equal allocation), geometric means"
    )
    sys.exit(0 if right >= SHARE * n else 1)


if __name__ == "__main__":
    main()
