"""Means: what a release says of itself is true of what it releases.

- `estimated_mean` of a released value is an unbiased estimate of the mean reward, or None. Measured
  with 2000 releases of 25 rewards at three levels: off by 7 standard errors fails, which a sound
  release does with probability below 1e-9 (the errors are means of 2000, close to normal).
- `mean_noise`, where a formula gives it, is the noise that the kernel adds, by algebra.
- `evidence` says which rewards stand behind a mean: as many as `view.size` counts.
- `is_live` says whether the policy can be put to work with secure noise.
"""

from __future__ import annotations

import math

from ..errors import InvalidArgument
from ..policies._policy import Policy
from ..policies._view import fresh_view
from ..policies.releases import Release
from ..policies.releases._base import CLOSED, NEWEST
from ..privacy._source import SECURE, SIMULATED
from ._case import SEED, Case, generator

DRAWS = 2000
REWARDS = 32
LEVELS = (0.0, 0.3, 1.0)
ERRORS = 7.0
"""Standard errors that an average may be off."""
SIZES = ([1], [3], [1, 1, 1], [1, 2, 4], [2] * 7, [1] * 12)
BLOCKS = ([1], [4], [4, 2, 1], [2, 1, 1, 1])
"""Sizes for a release that only takes those of its own rule: blocks, then single rounds."""


def check_means(row: Policy, case: Case) -> None:
    """Check that released means are unbiased (or None), and their noise as declared.

    Also that live noise is secure where it is said to be.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If it is not so.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_means
        >>> check_means(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    _check_unbiased(row, case)
    _check_noise(row, case)
    _check_evidence(row, case)
    _check_live(row, case)


def _check_unbiased(row: Policy, case: Case) -> None:
    import numpy as np

    for number, level in enumerate(LEVELS):
        estimates = np.array(_estimates(row, case, level, number))
        if not len(estimates):
            continue
        declared = row.release.mean_noise(row.setting(case.arms, case.horizon), [REWARDS])
        spread = max(float(estimates.std()), 0.0 if declared is None else declared.sd)
        off = abs(float(estimates.mean()) - level)
        if off > ERRORS * spread / math.sqrt(len(estimates)) + 1e-9:
            raise AssertionError(
                f"rewards of {level:g} are reported with a mean of {estimates.mean():.4g}: "
                "estimated_mean must undo what the release does to the mean, or be None"
            )


def _estimates(row: Policy, case: Case, level: float, number: int) -> list[float]:
    """Reported means of batches of equal rewards; none if nothing is reported."""
    setting, rng = row.setting(case.arms, case.horizon), generator(SEED, 100 + number)
    release, parameters = row.release, row.release.parameters(setting)
    publish = release.publish_kernel(SIMULATED).interpreted()
    answer = release.respond_kernel(SIMULATED)
    respond = None if answer is None else answer.interpreted()
    found = []
    for _ in range(DRAWS):
        ledger, view = release.ledger(setting), fresh_view(case.arms)
        view.pulls[0] = REWARDS
        if respond is None:
            total = REWARDS * level
        else:
            total = math.fsum(respond(parameters, level, rng) for _ in range(REWARDS))
        publish(parameters, ledger, view, 0, REWARDS, total, rng)
        estimate = release.estimated_mean(float(view.value[0]))
        if estimate is None:
            return []
        found.append(float(estimate))
    return found


def _check_noise(row: Policy, case: Case) -> None:
    """A formula for the noise gives what the kernel adds; local noise has no kernel of sums."""
    from ..privacy.verification import NotAffine

    release = row.release
    if release.respond is not None:
        return
    setting = row.setting(case.arms, case.horizon)
    for sizes in SIZES if release.takes_any_block else BLOCKS:
        told = release.mean_noise(setting, sizes)
        if told is None:
            continue
        try:
            executed = Release.noise_after(release, setting, sizes, None)
        except NotAffine:
            return
        if executed is None or not math.isclose(told.sd, executed.sd, rel_tol=1e-9, abs_tol=1e-15):
            raise AssertionError(
                f"mean_noise says {told} for batches of {sizes}, and the kernel adds {executed}"
            )


def _check_evidence(row: Policy, case: Case) -> None:
    """As many rewards as it says: trials in streams plan by them, and count those that wait."""
    setting, rng, release = row.setting(case.arms, case.horizon), generator(SEED, 99), row.release
    publish = release.publish_kernel(SIMULATED).interpreted()
    for sizes in SIZES if release.takes_any_block else ():
        ledger, view = release.ledger(setting), fresh_view(case.arms)
        for size in sizes:
            view.pulls[0] += size
            publish(release.parameters(setting), ledger, view, 0, size, 0.0, rng)
        shown, behind = int(view.size[0]), _behind(release.evidence, sizes)
        if shown != behind:
            raise AssertionError(
                f"after batches of {sizes} view.size is {shown}, and evidence = "
                f"{release.evidence!r} speaks of {behind} rewards"
            )


def _behind(evidence: str, sizes: list[int]) -> int:
    if evidence == NEWEST:
        return sizes[-1]
    if evidence == CLOSED:
        return sum(sizes)
    released = filled = 0
    for size in sizes:
        filled += size
        if filled >= max(1, 2 * released):
            released, filled = filled, 0
    return released


def _check_live(row: Policy, case: Case) -> None:
    """Put to work with secure noise, or refused, as the release says."""
    if not row.release.guarantee(row.schedule).is_private:
        return
    try:
        row.setting(case.arms, case.horizon, SECURE)
        works = True
    except InvalidArgument:
        works = False
    if works is not row.release.is_live:
        raise AssertionError(
            f"is_live says {row.release.is_live}, but with secure noise the policy "
            f"{'works' if works else 'is refused'}"
        )
