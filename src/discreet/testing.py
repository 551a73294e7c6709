"""The contract that every row of the table keeps, as a suite for rows that you compose.

>>> from discreet.policies import AdaPKLUCB, ForgetLaplace, Geometric, Policy
>>> from discreet.testing import check_policy
>>> row = Policy("mine", Geometric(ratio=1.5), ForgetLaplace(epsilon=0.5), AdaPKLUCB(alpha=1.0))
>>> check_policy(row)

`check_policy` runs every check of `CHECKS` in turn. A check raises `AssertionError` with a message
that names the row, the check, what was seen and what should have been. Row by row:

- **steps**: every decision names an existing arm and plays at least one round; a rule leaves the
  view as it is; pulls add up to the rounds; a batch cut off by the horizon is not released.
- **documented**: schedule, release and rule have docstrings; a reference that a row names exists.
- **guarantee**: it can be derived, is finite for a private row, does not depend on the horizon, and
  is at most the budget that was asked for.
- **noisy first reward**: no arm's first release is its raw reward.
- **worth its budget**: one changed reward moves no release, response or choice by more than the
  guarantee says. Measured, so a claim without its noise is caught; not a proof.
- **compiled**: interpreted and compiled runs are equal, round by round.
- **seeded**: one seed, one result.
- **threads**: 1, 2 and 4 threads give the same numbers.
- **saved state**: a rehearsal that is saved midway goes on exactly as if it had not been.
- **twin** (with `twin=`): at a huge budget the row makes the choices of its non-private twin.

Seeds are fixed. "worth its budget" fails a sound row with probability below 1e-6.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .arms import Bernoulli, RewardTable
from .policies.policy import Policy
from .policies.releases import Release
from .policies.rules import Rule
from .policies.schedules import Schedule
from .policies.view import View, fresh_view
from .privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from .privacy.guarantees import Definition
from .privacy.source import SIMULATED
from .simulator.loop import FINISHED, STARVED, Curve, fresh_course, loop_kernel

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from .arms import Law

SEED = 20_260
DRAWS = 20_000
"""Noisy numbers that are drawn for each of two neighbours."""
FALSE_ALARM = 1e-7
"""Chance that "worth its budget" fails one sound release; Bonferroni over its comparisons."""
HORIZONS = (100, 10_000, 10**6, 10**12)
HUGE = 1e12


@dataclasses.dataclass(frozen=True)
class Case:
    """The size at which a row is checked, and its twin."""

    arms: int = 4
    horizon: int = 2000
    twin: Policy | None = None

    def law(self) -> Bernoulli:
        """Means from 0.8 downwards."""
        return Bernoulli([0.8 - 0.6 * arm / self.arms for arm in range(self.arms)])

    def table(self, number: int) -> RewardTable:
        """Fixed rewards without ties, the best arm last."""
        rng = _generator(number)
        noise = rng.normal(0.0, 0.2, (self.horizon, self.arms))
        means = [0.3 + 0.5 * (arm + 1) / self.arms for arm in range(self.arms)]
        return RewardTable((noise + means).clip(0.0, 1.0))


Check = Callable[[Policy, Case], None]


def check_policy(
    row: Policy, *, arms: int = 4, horizon: int = 2000, twin: Policy | None = None
) -> None:
    """Run the whole contract on a row; raises `AssertionError` at the first broken clause.

    `twin` is the row that `row` must equal when its budget is huge: the same schedule with the
    release `Exact()`, and the rule without privacy. A forgetting release has no such twin.
    """
    if not isinstance(row, Policy):
        raise AssertionError(f"check_policy takes a Policy, got {row!r}")
    case = Case(arms, horizon, twin)
    for name, check in CHECKS.items():
        try:
            check(row, case)
        except AssertionError as error:
            raise AssertionError(f"{row.name} breaks the contract at {name!r}: {error}") from error


# --- running a row by hand ------------------------------------------------------------------------


class Walk:
    """One run of a row, decision by decision, interpreted or compiled; every round is recorded.

    Run `number` of a simulation with `seed` is the walk with the same two numbers.
    """

    def __init__(
        self, row: Policy, law: Law, horizon: int, *, seed: int, number: int = 0,
        compiled: bool = False,
    ) -> None:  # fmt: skip
        import numpy as np

        setting = row.setting(law.arms, horizon)
        kernel = loop_kernel(row, law.draw)
        self.loop = kernel.compiled() if compiled else kernel.interpreted()
        self.law, self.horizon, self.arms = law, horizon, law.arms
        self.rng = _generator(seed, number)
        self.state = law.start(self.rng)
        self.view: View = fresh_view(law.arms)
        self.course = fresh_course()
        grid = np.arange(1, horizon + 1)
        pulls = np.zeros((horizon, law.arms), np.int64)
        self.curve = Curve(grid, np.full(horizon, np.nan), pulls)
        means = np.array(law.means)
        parts = (row.schedule, row.release, row.rule)
        self.fixed = (
            self.state, *(part.parameters(setting) for part in parts), row.release.ledger(setting),
            row.rule.memory(setting), self.view, self.course, self.curve, means.max() - means,
            horizon,
        )  # fmt: skip

    def go(self, decisions: int) -> bool:
        """Take so many decisions, or fewer if the run ends; True when it is over."""
        status = self.loop(*self.fixed, decisions, self.rng)
        while status == STARVED and self.law.refill(self.state, self.rng):
            status = self.loop(*self.fixed, 0, self.rng)
        return bool(status in (FINISHED, STARVED))

    def played(self) -> NDArray[Any]:
        """Finish the run; the arm of every round."""
        import numpy as np

        while not self.go(100_000):
            pass
        before = np.zeros((1, self.arms), np.int64)
        return np.asarray(np.diff(self.curve.pulls, axis=0, prepend=before).argmax(axis=1))


def _generator(seed: int, number: int = 0) -> Generator:
    import numpy as np

    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(number,))))


# --- the checks -----------------------------------------------------------------------------------


def check_steps(row: Policy, case: Case) -> None:
    """Decisions, interpreted, one at a time (compiled code would not notice a wrong index)."""
    _check_decisions(row, case)
    _check_cut_batches(row, case)


def _check_decisions(row: Policy, case: Case) -> None:
    """Every decision names an arm and a length, and leaves the view to the release."""
    setting = row.setting(case.arms, case.horizon)
    choose, length = row.choose_kernel.interpreted(), row.length_kernel.interpreted()
    publish = row.release.publish_kernel(SIMULATED).interpreted()
    schedule, release, rule = (
        part.parameters(setting) for part in (row.schedule, row.release, row.rule)
    )
    ledger, memory = row.release.ledger(setting), row.rule.memory(setting)
    view = fresh_view(case.arms)
    rng, t = _generator(SEED), 0
    while t < case.horizon:
        before = _contents(view)
        arm = choose(rule, memory, view, t, rng)
        if not 0 <= arm < case.arms or arm != int(arm):
            raise AssertionError(f"choose must name an arm from 0 to {case.arms - 1}, got {arm!r}")
        rounds = length(schedule, memory, view, int(arm))
        if rounds < 1 or rounds != int(rounds):
            raise AssertionError(f"length must be a whole number of rounds from 1, got {rounds!r}")
        if _contents(view) != before:
            raise AssertionError("choose and length must leave the view as it is, they changed it")
        t += int(rounds)
        if t > case.horizon:
            return
        view.pulls[arm] += rounds
        pulls = view.pulls.tolist()
        publish(release, ledger, view, int(arm), int(rounds), 0.5 * rounds, rng)
        if view.pulls.tolist() != pulls:
            raise AssertionError("publish must not count pulls, which the loop does")
        sizes = [x for other, x in enumerate(view.size.tolist()) if other != arm]
        if sizes != [x for other, x in enumerate(before[1]) if other != arm]:
            raise AssertionError(
                f"a batch of arm {arm} changed the size behind another arm's value"
            )
        if view.size[arm] < 1:
            raise AssertionError(f"publish must say how many rewards it rests on: arm {arm} has 0")


def _check_cut_batches(row: Policy, case: Case) -> None:
    """The loop: pulls add up to t, and what the horizon cuts off is not released."""
    for horizon in (case.horizon, case.horizon - 1, max(case.arms, case.horizon // 3)):
        walk = Walk(row, case.law(), horizon, seed=SEED)
        before, t, stuck = _contents(walk.view), 0, 0
        while not walk.go(1):
            before = _contents(walk.view)
            stuck = stuck + 1 if walk.course.t[0] == t else 0
            t = int(walk.course.t[0])
            if stuck > 1:
                raise AssertionError(f"the schedule plays no round after round {t}: length below 1")
            if int(walk.view.pulls.sum()) != t:
                raise AssertionError(f"pulls add up to {walk.view.pulls.sum()} after {t} rounds")
        sums = walk.curve.pulls.sum(axis=1)
        if not (sums == walk.curve.grid).all():
            raise AssertionError("recorded pulls do not add up to the rounds")
        if walk.course.rounds[0] == 0 and _contents(walk.view)[:2] != before[:2]:
            raise AssertionError("a batch that the horizon cut off was released")


def _contents(view: View) -> tuple[list[float], list[int], list[int]]:
    return view.value.tolist(), view.size.tolist(), view.pulls.tolist()


def check_documented(row: Policy, case: Case) -> None:
    """Docstrings of the parts, and the citation of a published row."""
    from .references import REFERENCES

    for part, base in ((row.schedule, Schedule), (row.release, Release), (row.rule, Rule)):
        kind = type(part)
        words = (kind.__doc__ or "").strip()
        # a dataclass without docstring is given its signature for one
        generated = words.startswith(f"{kind.__name__}(")
        if kind is base or not words or generated:
            raise AssertionError(f"{kind.__name__} must have a docstring that says what it does")
        if not getattr(part, "name", ""):
            raise AssertionError(f"{kind.__name__} must have a name for the printed table")
    if row.recipe and not row.reference:
        raise AssertionError("a row of the catalogue must name its reference")
    if row.reference and row.reference not in REFERENCES:
        raise AssertionError(f"the reference {row.reference!r} must be in discreet.references")


def check_guarantee(row: Policy, case: Case) -> None:
    """Derivable, finite, the same at every horizon, and at most what was asked for."""
    promised = row.guarantee
    if not promised.is_private:
        if getattr(row.release, "budget", None) is not None or row.rule.budget is not None:
            raise AssertionError("the row was given a budget and promises nothing")
        return
    if promised.definition is Definition.NONE or not promised.budget.is_finite:
        raise AssertionError(f"a private row must promise something finite, got {promised.short()}")
    if promised.definition is Definition.INSTANTANEOUS:
        _keeps(promised.budget, getattr(row.rule, "asked", promised.budget), "a choice")
        return
    asked = row.release.budget
    for horizon in HORIZONS:
        spent = row.release.guarantee(row.schedule, horizon)
        _keeps(spent.budget, asked, f"horizon {horizon:g}")
        if spent.definition is not promised.definition:
            raise AssertionError(
                f"the definition must not depend on the horizon: {spent.definition.value} at "
                f"{horizon:g}, {promised.definition.value} without"
            )
    _keeps(promised.budget, asked, "no horizon")


def _keeps(spent: Budget, asked: Budget, where: str) -> None:
    """`spent` is of the asked kind and within it."""
    if type(spent) is not type(asked):
        raise AssertionError(f"{where}: a budget of kind {asked.kind} became one of {spent.kind}")
    for field in dataclasses.fields(asked):  # type: ignore[arg-type]  # all budgets are
        was, wanted = getattr(spent, field.name), getattr(asked, field.name)
        if was > wanted * (1.0 + 1e-9):
            raise AssertionError(f"{where}: spends {field.name} = {was:g} of {wanted:g}")


def check_noisy_first(row: Policy, case: Case) -> None:
    """A batch of one reward, 0 or 1, of every arm: what is released is never that reward."""
    if not row.release.guarantee(row.schedule, case.horizon).is_private:
        return
    if row.release.respond is not None:
        return  # a random bit may equal the reward: "worth its budget" looks at its law
    for arm in range(case.arms):
        for reward in (0.0, 1.0):
            released = _first_releases(row, case, arm, reward, 200)
            raw = sum(value == reward for value in released)
            if raw:
                raise AssertionError(
                    f"the first release of arm {arm} was its raw reward {reward:g} "
                    f"in {raw} of 200 draws; add noise to the first batch as to any other"
                )


def _first_releases(row: Policy, case: Case, arm: int, reward: float, draws: int) -> list[float]:
    """The view's value after a batch of one."""
    return [values[0] for values in _releases(row, case, arm, reward, [1], draws)]


def _releases(
    row: Policy, case: Case, arm: int, reward: float, batches: list[int], draws: int
) -> Iterator[list[float]]:
    """Noisy sums of an arm, batch after batch; the first reward varies, all others are 0."""
    setting = row.setting(case.arms, case.horizon)
    publish = row.release.publish_kernel(SIMULATED).interpreted()
    release, rng = row.release.parameters(setting), _generator(SEED, arm + 1)
    for _ in range(draws):
        ledger, view = row.release.ledger(setting), fresh_view(case.arms)
        sums = []
        for number, rounds in enumerate(batches):
            view.pulls[arm] += rounds
            total = reward if number == 0 else 0.0
            publish(release, ledger, view, arm, rounds, total, rng)
            sums.append(float(view.value[arm] * view.size[arm]))
        yield sums


def check_worth(row: Policy, case: Case) -> None:
    """Two neighbours: what the guarantee forbids to tell apart is not told apart."""
    promised = row.guarantee
    if not promised.is_private:
        return
    if promised.definition is Definition.INSTANTANEOUS:
        _audit(promised.budget, _choices(row, case, 0.4), _choices(row, case, 0.6), "a choice")
    elif row.release.respond is not None:
        _audit(
            promised.budget, _responses(row, case, 0.0), _responses(row, case, 1.0), "a response"
        )
    else:
        budget = row.release.guarantee(row.schedule, case.horizon).budget
        arm, batches = case.arms - 1, _batches(row, case)
        zero, one = (_first_releases(row, case, arm, reward, DRAWS) for reward in (0.0, 1.0))
        _audit(budget, zero, one, "the first release")
        many = (list(_releases(row, case, 0, reward, batches, DRAWS // 4)) for reward in (0.0, 1.0))
        zero, one = _told_apart(*many)
        _audit(budget, zero, one, f"a mean of {len(batches)} releases")


def _told_apart(zero: list[list[float]], one: list[list[float]]) -> tuple[list[float], list[float]]:
    """The weighted mean of the releases that best tells the neighbours apart (Fisher's).

    The weights come from the half of the draws that `_audit` does not test on.
    """
    import numpy as np

    half = len(zero) // 2
    first, second = np.array(zero), np.array(one)
    spread = np.cov(first[:half].T) + np.cov(second[:half].T)
    spread = np.atleast_2d(spread) + 1e-12 * np.eye(first.shape[1])
    weights = np.linalg.solve(spread, second[:half].mean(axis=0) - first[:half].mean(axis=0))
    return (first @ weights).tolist(), (second @ weights).tolist()


def _batches(row: Policy, case: Case) -> list[int]:
    """The batches of an arm that is always played, as the schedule would cut them; at most 8."""
    length = row.length_kernel.interpreted()
    setting = row.setting(case.arms, case.horizon)
    schedule, memory = row.schedule.parameters(setting), row.rule.memory(setting)
    view, batches = fresh_view(case.arms), list[int]()
    while len(batches) < 8:
        rounds = max(1, int(length(schedule, memory, view, 0)))
        if view.pulls[0] + rounds > case.horizon:
            break
        view.pulls[0] += rounds
        batches.append(rounds)
    return batches or [1]


def _responses(row: Policy, case: Case, reward: float) -> list[float]:
    kernel = row.release.respond_kernel(SIMULATED)
    if kernel is None:
        raise AssertionError("a local release must have a respond kernel")
    respond, rng = kernel.interpreted(), _generator(SEED, int(reward))
    release = row.release.parameters(row.setting(case.arms, case.horizon))
    return [float(respond(release, reward, rng)) for _ in range(DRAWS)]


def _choices(row: Policy, case: Case, value: float) -> list[float]:
    """1 where arm 0 is chosen; all arms have 5 rewards, arm 0 one more or one less success."""
    setting = row.setting(case.arms, case.horizon)
    choose, rng = row.choose_kernel.interpreted(), _generator(SEED, int(10 * value))
    rule, memory, view = (
        row.rule.parameters(setting),
        row.rule.memory(setting),
        fresh_view(case.arms),
    )
    view.value[:], view.size[:], view.pulls[:] = 0.6, 5, 5
    view.value[0] = value
    t = 5 * case.arms
    return [float(choose(rule, memory, view, t, rng) == 0) for _ in range(DRAWS)]


def _audit(budget: Budget, zero: list[float], one: list[float], what: str) -> None:
    """P(S | x) <= e^ε P(S | x') + δ(ε) for half-lines S, both ways, with exact confidence bounds.

    Half of the draws choose the half-lines, the others test them.
    """
    import numpy as np
    from scipy.stats import beta

    epsilons = _levels(budget)
    half = len(zero) // 2
    first = np.concatenate([zero[:half], one[:half]])
    cuts = np.unique(np.quantile(first, [0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9], method="nearest"))
    chance = FALSE_ALARM / (2 * len(epsilons) * 4 * len(cuts))
    tails = [np.asarray(sample[half:]) for sample in (zero, one)]
    n = len(tails[0])
    for cut in cuts:
        for above in (True, False):
            hits = [int((x >= cut).sum() if above else (x <= cut).sum()) for x in tails]
            for here, there in (hits, hits[::-1]):
                low = float(beta.ppf(chance, here, n - here + 1)) if here else 0.0
                high = float(beta.isf(chance, there + 1, n - there)) if there < n else 1.0
                for epsilon in epsilons:
                    if low > math.exp(epsilon) * high + budget.delta_at(epsilon):
                        raise AssertionError(
                            f"{what} tells two neighbours apart better than {budget} allows: "
                            f"an event has probability at least {low:.3g} for one and at most "
                            f"{high:.3g} for the other; the noise is too small for the claim"
                        )


def _levels(budget: Budget) -> list[float]:
    """The ε at which a claim is put to the test."""
    if isinstance(budget, Pure | Approximate):
        return [min(budget.epsilon, 300.0)]
    return [0.0, 0.5, 1.0, 2.0, 4.0]


def check_compiled(row: Policy, case: Case) -> None:
    """Round by round, from one generator."""
    plain = Walk(row, case.law(), case.horizon, seed=SEED).played()
    fast = Walk(row, case.law(), case.horizon, seed=SEED, compiled=True).played()
    if not (plain == fast).all():
        first = int((plain != fast).argmax())
        raise AssertionError(
            f"interpreted and compiled runs part in round {first + 1}: "
            f"arm {plain[first]} and arm {fast[first]}"
        )


def check_seeded(row: Policy, case: Case) -> None:
    """The same seed twice."""
    from .simulator import simulate

    def pulls() -> NDArray[Any]:
        options: dict[str, Any] = {"horizon": case.horizon, "runs": 4, "threads": 1}
        return simulate(row, case.law(), seed=SEED, progress=False, **options).pulls

    if not (pulls() == pulls()).all():
        raise AssertionError("one seed gave two results: draw from the generator that is passed in")


def check_threads(row: Policy, case: Case) -> None:
    """Eight runs in 1, 2 and 4 threads."""
    from .simulator import simulate

    options: dict[str, Any] = {"horizon": case.horizon, "runs": 8, "seed": SEED}
    results = [
        simulate(row, case.law(), threads=threads, progress=False, **options)
        for threads in (1, 2, 4)
    ]
    for result, threads in zip(results[1:], (2, 4), strict=True):
        same = (result.pulls == results[0].pulls).all() and (
            result.regret == results[0].regret
        ).all()
        if not same:
            raise AssertionError(f"1 and {threads} threads gave different numbers for one seed")


def check_saved_state(row: Policy, case: Case) -> None:
    """A rehearsal, saved as JSON after a third of the rounds and in mid-batch, goes on the same."""
    from .live.rehearsal import Rehearsal

    rounds = min(case.horizon, 600)
    table = case.table(2).table

    def play(rehearsal: Any, start: int, end: int) -> list[int]:
        arms = []
        for t in range(start, end):
            arms.append(rehearsal.select())
            rehearsal.update(arms[-1], table[t][arms[-1]])
        return arms

    for stop in (rounds // 3, rounds // 3 + 7):
        whole = Rehearsal(row, case.arms, horizon=case.horizon, seed=SEED)
        play(whole, 0, stop)
        saved = json.loads(json.dumps(whole.to_dict()))
        again = Rehearsal.from_dict(saved, None if row.recipe else row)
        if play(again, stop, rounds) != play(whole, stop, rounds):
            raise AssertionError(f"a rehearsal saved after {stop} rounds went on differently")


def check_twin(row: Policy, case: Case) -> None:
    """Fixed rewards: at a huge budget the row and its twin choose the same arms."""
    if case.twin is None:
        return
    rich = at_huge_budget(row)
    for number in range(3):
        law = case.table(number)
        mine = Walk(rich, law, case.horizon, seed=SEED).played()
        other = Walk(case.twin, law, case.horizon, seed=SEED).played()
        if not (mine == other).all():
            first = int((mine != other).argmax())
            raise AssertionError(
                f"with a huge budget the row plays arm {mine[first]} in round {first + 1}, "
                f"its twin {case.twin.name} arm {other[first]}"
            )


def at_huge_budget(row: Policy) -> Policy:
    """The same row with noise that is too small to matter."""
    changed = {}
    for name in ("release", "rule"):
        part: Any = getattr(row, name)
        fields = {field.name for field in dataclasses.fields(part)} if _is_data(part) else set()
        if "epsilon" in fields:
            changed[name] = dataclasses.replace(part, epsilon=HUGE)
        for field in fields & {"budget", "asked"}:
            changed[name] = dataclasses.replace(part, **{field: _huge(getattr(part, field))})
    if not changed:
        raise AssertionError("neither release nor rule has a budget that could be raised")
    return dataclasses.replace(row, **changed)


def _is_data(part: object) -> bool:
    return dataclasses.is_dataclass(part) and not inspect.isclass(part)


def _huge(budget: Budget) -> Budget:
    match budget:
        case ZCDP():
            return ZCDP(HUGE**2)
        case Renyi(alpha=alpha):
            return Renyi(alpha, HUGE**2)
        case GaussianDP():
            return GaussianDP(HUGE)
        case Approximate(delta=delta) if delta > 0.0:
            return Approximate(HUGE, delta)
        case _:
            return Pure(HUGE)


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "steps": check_steps,
        "documented": check_documented,
        "guarantee": check_guarantee,
        "noisy first reward": check_noisy_first,
        "worth its budget": check_worth,
        "compiled": check_compiled,
        "seeded": check_seeded,
        "threads": check_threads,
        "saved state": check_saved_state,
        "twin": check_twin,
    }
)
"""All checks by name, in the order in which they run."""
