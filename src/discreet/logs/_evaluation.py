"""Off-policy evaluation: what a policy would have earned, by a log of another; privately too.

**Private** (`epsilon`): every participant's score is clipped to a range that is fixed in advance,
[c - Mh, c + Mh] with c the middle and h half the width of the rewards' bounds and M = `clip`, and
scaled to [0, 1]; with its square it is all that is used of them. Replacing a participant (features,
action, reward and propensity) moves the sum of n such numbers by at most 1, and so the sum of
squares about the middle, scaled alike. Both are released once, by the release `forget + Laplace`
with the secure noise of live trials, at 3/4 ε and 1/4 ε: ε in all, by sequential composition. What
follows is post-processing. A model must then come from elsewhere (`model=`): one that is fitted to
the log would put everyone into everyone's score. Without one q = c, so "dr" is IPW with a
baseline. Functions are asked for one participant at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from .._checks import check_is, number, one_of, positive, share
from ..errors import InvalidArgument
from ..policies._policy import BasePolicy
from ..policies._schedules import Regular
from ..policies._view import Setting, View
from ..policies.releases import ForgetLaplace
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._source import SECURE, Source
from ..privacy.budgets import Pure
from ._estimators import Model, direct, doubly_robust, expected, fitted, ipw, snips, terms
from ._log import Log

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats
    from ._estimators import Terms

METHODS = ("dr", "ipw", "snips", "dm", "switch")
"""How a policy can be evaluated."""
CLIP = 10.0
"""Default of the largest weight, where privacy needs one."""
THRESHOLD = 10.0
"""Default of the largest weight that Switch-DR trusts."""
MEAN_SHARE = 0.75
"""The part of ε that the estimate gets; the rest is for its standard error."""
CONDITIONS = (
    "how many participants are in the log is public",
    "policy, model, clip and bounds were not chosen by looking at the log, and policy and model "
    "have an answer for everybody who could be in it",
    "a participant is in one row of the log",
)


@dataclass(frozen=True)
class Estimate:
    """What a policy would have earned per participant."""

    value: float
    error: float
    """standard error: of the participants, and of the noise where there is some"""
    participants: int
    method: str
    guarantee: Guarantee
    noise: float = 0.0
    """scale b of the Laplace noise in `value`"""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Approximate limits: normal for the participants, exact for the noise, each with half of
        the risk."""
        from scipy.special import ndtri

        risk = 1.0 - share("level", level, fix="use level=0.95")
        if self.noise == 0.0:
            width = -float(ndtri(risk / 2.0)) * self.error
        else:
            people = math.sqrt(max(self.error**2 - 2.0 * self.noise**2, 0.0))
            width = -float(ndtri(risk / 4.0)) * people + self.noise * math.log(2.0 / risk)
        return self.value - width, self.value + width

    def to_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        return {
            "value": self.value, "error": self.error, "interval": list(self.interval()),
            "participants": self.participants, "method": self.method,
            "guarantee": self.guarantee.to_dict(),
        }  # fmt: skip

    def __str__(self) -> str:
        low, high = self.interval()
        text = f"{self.value:.4g} ± {self.error:.2g} (95 %: {low:.4g} to {high:.4g}; {self.method}"
        private = f"; {self.guarantee.short()}" if self.guarantee.is_private else ""
        return f"{text}, {self.participants:,} participants{private})"


def evaluate(
    policy: object,
    log: Log,
    *,
    method: str = "dr",
    epsilon: float | None = None,
    clip: float | None = None,
    model: Model | None = None,
    threshold: float = THRESHOLD,
) -> Estimate:
    """What a policy would have earned per participant, from a log of another policy.

    Args:
        policy: The name of an arm, a dictionary of shares by arm, an array of probabilities (one
            line per participant, one column per arm), or a function from features to such an array
            or to arms.
        log: The log, from `discreet.logged`.
        method: "dr" (doubly robust), "ipw", "snips", "dm" or "switch".
        epsilon: The budget that keeps every participant of the log private. Default: no privacy.
        clip: The largest weight. Default: none, and 10 with epsilon.
        model: A function from features to mean rewards, one column per arm. Default: lines are
            fitted to the log, for each half on the other.
        threshold: The largest weight that "switch" corrects by.

    Returns:
        The estimate, with its standard error and its guarantee.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> rows = {"arm": ["a", "b"] * 50, "won": [1.0, 0.0] * 50}
        >>> log = discreet.logged(rows, action="arm", reward="won", propensity=0.5)
        >>> round(discreet.evaluate("a", log, method="ipw").value, 2)
        1.0
    """
    check_is("log", log, Log, "make it with discreet.logged(...)")
    one_of("method", method, *METHODS)
    limit = math.inf if clip is None else number("clip", clip, low=1.0, fix="use clip=10.0")
    tau = positive("threshold", threshold, "use threshold=10.0")
    private = epsilon is not None
    given = terms(log, shares_of(policy, log, each=private))
    if epsilon is not None:
        spend = positive("epsilon", epsilon)
        limit = CLIP if clip is None else limit
        scores = _own_scores(method, log, given, model, tau)
        return replace(released(scores, log, spend, limit, SECURE), method=method)
    given = given._replace(weights=given.weights.clip(max=limit))
    scores = _scores(method, log, given, model, tau)
    error = float(scores.std(ddof=1)) / math.sqrt(len(log)) if len(log) > 1 else math.inf
    return Estimate(float(scores.mean()), error, len(log), method, Guarantee.none())


def _scores(method: str, log: Log, given: Terms, model: Model | None, tau: float) -> Floats:
    import numpy as np

    if method == "ipw":
        return ipw(given)
    if method == "snips":
        return snips(given)
    if method == "dm":
        return direct(log, given) if model is None else expected(given, _model(model, log))
    q = fitted(log) if model is None else _model(model, log)
    own = q[np.arange(len(log)), log.action]
    return doubly_robust(given, q, own, tau if method == "switch" else math.inf)


def _own_scores(method: str, log: Log, given: Terms, model: Model | None, tau: float) -> Floats:
    """Scores that depend on one participant each."""
    import numpy as np

    with np.errstate(all="ignore"):  # a warning would tell of someone
        return _each_score(method, log, given, model, tau)


def _each_score(method: str, log: Log, given: Terms, model: Model | None, tau: float) -> Floats:
    import numpy as np

    if method == "snips":
        raise InvalidArgument(
            "method", "be 'dr', 'ipw', 'dm' or 'switch' with epsilon", method,
            'use method="dr": SNIPS divides by a sum over all participants',
        )  # fmt: skip
    if method == "ipw":
        return ipw(given)
    if model is None:
        if method == "dm":
            raise InvalidArgument(
                "model", "be given for method='dm' with epsilon", None,
                'use method="dr": a model that is fitted to the log holds everybody',
            )  # fmt: skip
        q = np.full((len(log), len(log.arms)), 0.5 * sum(log.bounds))
    else:
        q = np.vstack([_model(model, log.of(place)) for place in range(len(log))])
    if method == "dm":
        return expected(given, q)
    own = q[np.arange(len(log)), log.action]
    return doubly_robust(given, q, own, tau if method == "switch" else math.inf)


def released(
    scores: Floats, log: Log, epsilon: float, clip: float, source: Source,
    rng: Generator | None = None,
) -> Estimate:  # fmt: skip
    """The mean of clipped scores and its standard error, each with noise of a source."""
    import numpy as np

    low, high = log.bounds
    middle, half = 0.5 * (low + high), 0.5 * clip * (high - low)
    # a score that is no number must not become an exception, which would tell of its participant
    scores = np.where(np.isnan(scores), middle, scores)
    size, width = len(scores), 2.0 * half
    inside = np.clip((np.clip(scores, middle - half, middle + half) - middle) / width + 0.5, 0, 1)
    squares = (2.0 * inside - 1.0) ** 2
    mean, scale = _noisy_mean(inside, MEAN_SHARE * epsilon, source, rng)
    second, wide = _noisy_mean(squares, (1.0 - MEAN_SHARE) * epsilon, source, rng)
    # for scores in [-1, 1] the variance is E s² - (E s)²; that noise makes it seem smaller than it
    # is has a probability of 1/40
    centre = min(max(2.0 * mean - 1.0, -1.0), 1.0)
    spread = min(max(second + wide * math.log(20.0) - centre**2, 0.0), 1.0)
    people = half * math.sqrt(spread / size)
    return Estimate(
        middle + half * (2.0 * mean - 1.0), math.hypot(people, math.sqrt(2.0) * width * scale),
        size, "", guarantee_of(epsilon), width * scale,
    )  # fmt: skip


def guarantee_of(epsilon: float) -> Guarantee:
    """Two releases of every participant's score: the sum of what they cost."""
    parts = [ForgetLaplace(part * epsilon) for part in (MEAN_SHARE, 1.0 - MEAN_SHARE)]
    spent = sum(cast("Pure", part.guarantee(Regular(1)).budget).epsilon for part in parts)
    budget = Pure(epsilon) if math.isclose(spent, epsilon, rel_tol=1e-9) else Pure(spent)
    return Guarantee(budget, Definition.INTERACTIVE, conditions=CONDITIONS)


def _noisy_mean(
    values: Floats, epsilon: float, source: Source, rng: Generator | None
) -> tuple[float, float]:
    """The mean of numbers in [0, 1], by the house's release of one batch; the scale of its noise.

    On the secure path every number is a whole number of steps, so that their sum is exact.
    """
    size = len(values)
    release, schedule = ForgetLaplace(epsilon), Regular(size)
    setting = Setting(1, size, source, schedule, release)
    steps = source.resolution
    total = sum(round(float(value) * steps) for value in values) if steps > 1 else sum(values)
    view = View([0.0], [0], [size])
    parameters = release.parameters(setting)
    publish = release.publish_kernel(source).interpreted()
    publish(parameters, release.ledger(setting), view, 0, size, total, rng)
    return float(view.value[0]), release.largest_scale(setting) / (size * steps)


def shares_of(policy: object, log: Log, each: bool = False) -> Floats:
    """π(a|x): one row per participant, one column per arm. `each`: a function is asked for every
    participant alone, so that it cannot make one's row of another's features."""
    import numpy as np

    if each and callable(policy) and not isinstance(policy, BasePolicy):
        return np.vstack([shares_of(policy, log.of(place)) for place in range(len(log))])

    fix = "pass an arm, a dictionary of shares, an array, or a function of features"
    if isinstance(policy, BasePolicy):
        raise InvalidArgument(
            "policy", "be fixed: one that learns would have made another log", policy.name,
            "pass the name of an arm, or simulate(policy, problem(...)) instead",
        )  # fmt: skip
    if callable(policy):
        policy = cast("Callable[[Floats], object]", policy)(log.context)
    if isinstance(policy, Mapping):
        row = [number("policy", policy.get(arm, 0.0)) for arm in log.arms]
        if set(policy) - set(log.arms):
            raise InvalidArgument("policy", "name arms of the log", list(policy), fix)
        shares = np.tile(row, (len(log), 1))
    elif np.ndim(cast("Floats", policy)) == 2:
        shares = np.asarray(policy, float)
    else:
        names = np.asarray(policy)
        chosen = np.broadcast_to(names, (len(log),)) if names.ndim == 0 else names
        if set(chosen.tolist()) - set(log.arms):
            raise InvalidArgument("policy", "name arms of the log", "others", fix)
        places = {name: place for place, name in enumerate(log.arms)}
        shares = np.eye(len(log.arms))[[places[name] for name in chosen.tolist()]]
    if shares.shape != (len(log), len(log.arms)):
        rule = f"be {len(log)} rows of {len(log.arms)} probabilities"
        raise InvalidArgument("policy", rule, shares.shape, fix)
    if not (shares >= 0.0).all() or not np.allclose(shares.sum(axis=1), 1.0, atol=1e-9):
        raise InvalidArgument("policy", "be probabilities that sum to 1", "others", fix)
    return shares


def _model(model: Model, log: Log) -> Floats:
    """q of a model from elsewhere."""
    import numpy as np

    found = np.asarray(model(log.context), float)
    if found.shape != (len(log), len(log.arms)) or not np.isfinite(found).all():
        raise InvalidArgument(
            "model", f"return {len(log)} rows of {len(log.arms)} finite numbers", found.shape,
            "return one row per participant and one column per arm",
        )  # fmt: skip
    return found
