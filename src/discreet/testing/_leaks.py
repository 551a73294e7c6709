"""Leaks: what two neighbours release, answer or choose is no easier to tell apart than claimed.

Neighbours differ in one reward. An event that is likelier for one of them than the guarantee
allows is looked for on half of the draws and tested on the others, with exact confidence limits:
a claim without its noise is caught. It is no proof; `discreet.audit` looks much harder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..policies._policy import Policy
from ..policies._view import fresh_view
from ..privacy._guarantees import Definition
from ..privacy._source import SIMULATED
from ..privacy.budgets import Approximate, Budget, Pure
from ._case import SEED, Case, generator

DRAWS = 20_000
"""Noisy numbers that are drawn for each of two neighbours."""
FALSE_ALARM = 1e-7
"""Probability that "worth its budget" fails one sound release; Bonferroni over its comparisons."""


def check_noisy_first(row: Policy, case: Case) -> None:
    """Check that what is released of a batch of one reward is never that reward.

    A release that moves noisy means into the range often equals an end of it: post-processing. So
    rewards are asked for that no such move leads to.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If a reward is released as it is.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_noisy_first
        >>> check_noisy_first(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    if not row.release.guarantee(row.schedule, case.horizon).is_private:
        return
    if row.release.respond is not None:
        return  # a random bit may equal the reward: "worth its budget" looks at its distribution
    for arm in range(case.arms):
        for reward in (0.3183, 0.7261):
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
    release, rng = row.release.parameters(setting), generator(SEED, arm + 1)
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
    """Check by a game that two neighbours are not told apart more than a guarantee allows.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If they are.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_worth
        >>> check_worth(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
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
    respond, rng = kernel.interpreted(), generator(SEED, int(reward))
    release = row.release.parameters(row.setting(case.arms, case.horizon))
    return [float(respond(release, reward, rng)) for _ in range(DRAWS)]


def _choices(row: Policy, case: Case, value: float) -> list[float]:
    """1 where arm 0 is chosen; all arms have 5 rewards, arm 0 one more or one less success."""
    setting = row.setting(case.arms, case.horizon)
    choose, rng = row.choose_kernel.interpreted(), generator(SEED, int(10 * value))
    rule, memory, view = (
        row.rule.parameters(setting),
        row.rule.memory(setting),
        fresh_view(case.arms),
    )
    for arm in range(case.arms):
        view.value[arm], view.size[arm], view.pulls[arm] = 0.6, 5, 5
    view.value[0] = value
    t = 5 * case.arms
    return [float(choose(rule, memory, view, t, rng) == 0) for _ in range(DRAWS)]


def _audit(budget: Budget, zero: list[float], one: list[float], what: str) -> None:
    """P(S | x) <= e^ε P(S | x') + δ(ε) for half-lines S, both ways, with exact confidence bounds.

    Half of the draws choose the half-lines, the others test them.
    """
    import numpy as np

    from ..audit._limits import clopper_pearson_lower, clopper_pearson_upper

    epsilons = _levels(budget)
    half = len(zero) // 2
    first = np.concatenate([zero[:half], one[:half]])
    cuts = np.unique(np.quantile(first, [0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9], method="nearest"))
    risk = FALSE_ALARM / (2 * len(epsilons) * 4 * len(cuts))
    tails = [np.asarray(sample[half:]) for sample in (zero, one)]
    n = len(tails[0])
    for cut in cuts:
        for above in (True, False):
            hits = [int((x >= cut).sum() if above else (x <= cut).sum()) for x in tails]
            for here, there in (hits, hits[::-1]):
                low = float(clopper_pearson_lower(here, n, risk))
                high = float(clopper_pearson_upper(there, n, risk))
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
