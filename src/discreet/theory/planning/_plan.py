"""The plan: predictions, bounds, strengths and a recommendation, as text, page and JSON.

>>> import discreet.theory
>>> found = discreet.theory.plan([0.6, 0.5], horizon=1e4, epsilons=[1.0])
>>> found.recommended.label
'laplace-imed (caution = 0.5)'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..._checks import check_is
from ..._notebooks import plain
from ...errors import InvalidArgument
from ...policies import CATALOGUE, Policy
from ...simulator._work import check_threads
from .._choosing import ADVISED, LOST, Told, contexts_pay, least_noise
from .._regimes import free_epsilon, free_epsilon_identification
from .._strength import Strength, strength
from ._candidates import Candidate, candidates
from ._question import Question, question

if TYPE_CHECKING:
    from ...linear import LinearProblem
    from ...report import Page
    from .._features import Worth
    from ._widths import Widths

FIELD = ("dp-imed", "laplace-imed", "gauss-imed", "dp-klucb", "adap-klucb")
"""With a trusted server, one of these had the lowest regret, or one that could not be told from the
lowest, in every one of 80 random questions (`benchmarks/planner.py --field`): K from 2 to 16, T
from 100 to 1e5, ε from 0.01 to 10, with and without δ."""
OUTSIDE = "not simulated: never better than the others where all were; all_policies=True has them"
DOUBT = 2.0
"""Half widths of the 95 % interval by which a policy must be below equal allocation to help: about
four standard errors, because it is the best of some twenty candidates."""
MOST_REHEARSED = 10**6
"""Participants of a trial that is rehearsed for the width of its intervals."""
NEARLY = 1.1
"""Privacy counts as free in simulation where regret is at most this multiple of the open one."""


@dataclass(frozen=True)
class Prediction:
    """Predicted regret (or samples) of one candidate at one ε.

    `low` and `high` hold the mean with 95 % confidence; `usual` holds nine of ten single trials.
    A candidate that was not followed to the horizon has `until` below it, and `mean` is a least
    value. `bound` is the lower bound for every policy of the same kind of privacy, as T grows; NaN
    if the trial is too short for it to say anything: a candidate or equal allocation is below it.

    Example:
        >>> import discreet
        >>> found = discreet.plan([0.7, 0.4], horizon=300, epsilons=[2.0])
        >>> best = found.recommended
        >>> best.low <= best.mean <= best.high
        True
    """

    epsilon: float
    row: str
    options: dict[str, object]
    label: str
    mean: float
    low: float
    high: float
    usual: tuple[float, float]
    runs: int
    until: int | None
    bound: float
    wrong: float | None = None
    """Share of simulated identifications that named a wrong arm."""
    safe: bool = True
    """Whether it may be recommended: it lost no run on hard instances, or none can be lost here."""

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        } | {"usual": [x if math.isfinite(x) else None for x in self.usual]}


@dataclass(frozen=True)
class Free:
    """From which ε on privacy is free: in the bounds as T grows, and in these simulations.

    Example:
        >>> from discreet import theory
        >>> from discreet.theory.planning import Free
        >>> free = Free(theory=theory.free_epsilon([0.7, 0.4]), practice=None)  # at no ε tried
        >>> round(free.theory, 3)
        1.253
    """

    theory: float
    practice: float | None


@dataclass(frozen=True)
class Plan:
    """The answer of `plan`: predictions for each candidate, sorted by ε, then best first.

    Example:
        >>> import discreet
        >>> found = discreet.plan([0.7, 0.4], horizon=300, epsilons=[2.0])
        >>> found.recommended.label, found.recommended.epsilon, found.complete
        ('dp-imed (ratio = 1.25)', 1.0, True)
    """

    question: Question
    serving: tuple[str, ...]
    refused: dict[str, str]
    predictions: tuple[Prediction, ...]
    open: Prediction | None
    """The best policy without privacy."""
    free: Free
    strengths: tuple[Strength, ...]
    why: tuple[str, ...]
    complete: bool
    widths: Widths | None = None
    """How wide the intervals of the recommended policy will be; None where it decides each round,
    or the rates are not given one by one."""
    worth: Worth | None = None
    """What features are worth, where they were simulated. If they pay, a policy with features is
    recommended instead of the one for finite arms."""

    @property
    def equal(self) -> float | None:
        """The regret of equal allocation, which neither learns nor reveals anything."""
        return equal_allocation(self.question)

    @property
    def helps(self) -> bool:
        """Whether the best private policy clearly regrets less than equal allocation would."""
        return helps(self.question, self.recommended)

    def __repr__(self) -> str:
        """One line: `text()` has the page."""
        best = self.recommended
        word = "" if self.helps else ", no private policy helps"
        what = "regret" if self.question.goal == "regret" else "samples"
        sure = f"{number(best.mean)} (95 %: {number(best.low)} to {number(best.high)})"
        return f"Plan({best.label} at ε = {best.epsilon:g}: {what} {sure}{word})"

    def _repr_html_(self) -> str:
        """For notebooks: the page of plain text."""
        return plain(self.text())

    @property
    def recommended(self) -> Prediction:
        """The best safe candidate at the ε that was asked for; it may be no help: see `helps`."""
        return self.best(self.question.epsilon)

    def best(self, epsilon: float) -> Prediction:
        """The best candidate at one ε of those that are safe, if there are any."""
        own = self.at(epsilon)
        if not own:
            raise InvalidArgument(
                "epsilon", "be one of the plan's", epsilon, f"it has {list(self.epsilons)}"
            )
        return best_of(own)

    def at(self, epsilon: float) -> list[Prediction]:
        """All predictions at one ε, best first."""
        return [p for p in self.predictions if p.epsilon == epsilon]

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every ε that was simulated."""
        return tuple(sorted({p.epsilon for p in self.predictions}))

    @property
    def policy(self) -> Policy:
        """The recommended row, ready for `simulate` (or `identify`) and for a `Trial`."""
        best = self.recommended
        if self.question.goal != "regret":
            from ...identify import identifier

            return identifier(best.row, epsilon=best.epsilon).at(self.question.risk)
        return Candidate(best.row, best.options).policy(best.epsilon, self.question.delta)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        free = self.free
        return {
            "question": self.question.to_dict(),
            "serving": list(self.serving),
            "refused": self.refused,
            "predictions": [p.to_dict() for p in self.predictions],
            "open": None if self.open is None else self.open.to_dict(),
            "free_epsilon": {
                "theory": free.theory if math.isfinite(free.theory) else None,
                "practice": free.practice,
            },
            "strengths": [s.to_dict() for s in self.strengths],
            "recommended": self.recommended.to_dict(),
            "equal_allocation": self.equal,
            "helps": self.helps,
            "why": list(self.why),
            "complete": self.complete,
            "widths": None if self.widths is None else asdict(self.widths),
            "worth": None if self.worth is None else asdict(self.worth) | {"pays": self.worth.pays},
        }

    def text(self, width: int = 100) -> str:
        """One page of plain text, in lines of at most `width`."""
        from ._text import text

        return text(self, width)

    def page(self) -> Page:
        """One HTML page."""
        from ._page import page

        return page(self)

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return self.page().write(path)


def plan(
    means: Sequence[float] | None = None,
    *,
    arms: int | None = None,
    rates: Sequence[float] | None = None,
    gap: float | None = None,
    horizon: float | None = None,
    goal: str = "regret",
    risk: float = 0.05,
    trust: str = "server",
    epsilon: float = 1.0,
    epsilons: Sequence[float] | None = None,
    delta: float = 0.0,
    contexts: str = "none",
    features: int | None = None,
    gain: float | None = None,
    problem: LinearProblem | None = None,
    all_policies: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
) -> Plan:
    """What privacy will cost, for a range of budgets, and which policy to take.

    The policies that have been the best in measured questions like this one are simulated, with
    the arms in random order; or all that can be used.

    Args:
        means: The expected rate of every arm.
        arms: Instead of means, the number of arms, with `rates` or `gap`.
        rates: The lowest and the highest rate to expect.
        gap: The smallest gap that matters.
        horizon: The number of participants.
        goal: "regret", or "identify": find the best arm.
        risk: For "identify": the probability of a wrong answer.
        trust: "server" if it may see true outcomes, or "none".
        epsilon: The budget of the recommendation.
        epsilons: Further budgets to show.
        delta: The δ of an (ε, δ) budget.
        contexts: Whether participants have features: "none", "public" or "private".
        features: The number of features.
        gain: By how much the best arm for each participant beats the best for all.
        problem: Instead of these two, a problem from past data (`discreet.theory.past_problem`).
        all_policies: Whether all policies that can be used are simulated. The first time that
            takes longer, for each has to be compiled.
        seed: Random seed, for reproducible results.
        threads: The number of threads. Default: all cores.
        progress: Whether to show a bar. Default: on a terminal.

    Returns:
        The plan: `text()`, `page()`, and `policy`, the recommended one. After Ctrl-C it has what is
        finished, and `complete` is False.

    Raises:
        InvalidArgument: If an argument breaks its rule, or no policy can be used.

    Example:
        >>> import discreet
        >>> found = discreet.plan([0.7, 0.4], horizon=300, epsilons=[2.0])
        >>> found.complete
        True
    """
    asked = question(
        means, arms=arms, rates=rates, gap=gap, horizon=horizon, goal=goal, risk=risk,
        trust=trust, epsilon=epsilon, epsilons=epsilons, delta=delta, seed=seed,
        contexts=contexts,
    )  # fmt: skip
    check_threads(threads)
    check_is("all_policies", all_policies, bool, "use True or False")

    worth, said = None, ""
    if asked.contexts != "none":
        told = Told(asked.scenarios[0], features, gain, problem)
        worth, said = contexts_pay(
            asked.contexts, asked.horizon, asked.budget, told, seed=asked.seed, threads=threads
        )
    if asked.goal == "identify":
        from ._samples import predict_samples

        found = predict_samples(asked, threads, progress)
    else:
        from ._regret import predict_regret

        found = predict_regret(asked, threads, progress, all_policies)
    if not found.predictions or asked.epsilon not in {p.epsilon for p in found.predictions}:
        if not found.complete:
            raise KeyboardInterrupt
        fix = "trust the server, or give delta"
        raise InvalidArgument("trust", "leave a policy that can be used", asked.trust, fix)
    return Plan(
        asked, found.serving, found.refused, found.predictions, found.open,
        _free(asked, found.predictions, found.open),
        tuple(strength(e, asked.delta) for e in asked.epsilons),
        (*_why(asked, found.predictions, found.open), *([f"Features: {said}."] if said else [])),
        found.complete, _widths(asked, found.predictions) if found.complete else None, worth,
    )  # fmt: skip


def _widths(asked: Question, predictions: Sequence[Prediction]) -> Widths | None:
    """Of the best candidate at the ε that was asked for, if its trials are quick to play again."""
    from ...identify import IDENTIFIERS, identifier
    from ._widths import interval_widths

    best = best_of([p for p in predictions if p.epsilon == asked.epsilon])
    horizon = MOST_REHEARSED if asked.goal == "identify" else asked.horizon
    if len(asked.scenarios) > 1 or horizon is None or horizon > MOST_REHEARSED:
        return None
    row: Policy
    if asked.goal == "identify":
        if best.row not in IDENTIFIERS:
            return None
        row = identifier(best.row, epsilon=asked.epsilon).at(asked.risk)
    else:
        candidate = Candidate(best.row, best.options)
        if candidate.each_round:
            return None
        row = candidate.policy(asked.epsilon, asked.delta)
    try:
        return interval_widths(row, asked.scenarios[0], horizon, trials=10, seed=asked.seed)
    except InvalidArgument:  # what it releases does not speak of means
        return None


@dataclass(frozen=True)
class Found:
    """What a simulation of all candidates returns."""

    serving: tuple[str, ...]
    refused: dict[str, str]
    predictions: tuple[Prediction, ...]
    open: Prediction | None
    complete: bool


def in_field(asked: Question) -> bool:
    """Whether a question is like those that `FIELD` was found by; for longer trials
    `benchmarks/planner.py` has checked it up to T = 1e6."""
    assert asked.horizon is not None
    arms = max(len(means) for means in asked.scenarios)
    usual = arms <= 16 and 100 <= asked.horizon <= 10**6
    return asked.trust == "server" and usual and 0.01 <= asked.epsilon <= 10.0


def serving_and_refused(
    asked: Question, all_policies: bool
) -> tuple[list[Candidate], tuple[str, ...], dict[str, str]]:
    """Candidates, the names of their policies, and why the others are left out."""
    entrants, refused = candidates(asked)
    if in_field(asked) and not all_policies:
        outside = [entrant.row for entrant in entrants if entrant.row not in FIELD]
        entrants = [entrant for entrant in entrants if entrant.row in FIELD]
        refused |= dict.fromkeys(outside, OUTSIDE)
    return entrants, tuple(dict.fromkeys(entrant.row for entrant in entrants)), refused


def best_of(own: Sequence[Prediction]) -> Prediction:
    """The first that is safe; the first of all if none is."""
    return next((p for p in own if p.safe), own[0])


def is_safe(asked: Question, candidate: Candidate, median: float) -> bool:
    """Whether it lost no run on hard instances, or the largest regret of a trial of this size is at
    most 20 times its median one, so that no run can be lost."""
    if ADVISED.get(candidate.row) == candidate.options:
        return True
    assert asked.horizon is not None
    widest = max(max(means) - min(means) for means in asked.scenarios)
    return asked.horizon * widest <= LOST * median


def equal_allocation(asked: Question) -> float | None:
    """The regret of equal allocation, if the goal is regret."""
    if asked.goal != "regret" or asked.horizon is None:
        return None
    return asked.uniform * asked.horizon


def helps(asked: Question, best: Prediction) -> bool:
    """Whether a candidate is below equal allocation by more than its error."""
    equal = equal_allocation(asked)
    return equal is None or best.mean + DOUBT * (best.high - best.mean) < equal


def _free(asked: Question, predictions: Sequence[Prediction], opened: Prediction | None) -> Free:
    threshold = free_epsilon if asked.goal == "regret" else free_epsilon_identification
    theory = max(threshold(means) for means in asked.scenarios)
    if opened is None:
        return Free(theory, None)
    least: dict[float, float] = {}
    for prediction in predictions:
        if cut(asked, prediction):  # a least value says nothing about the whole
            continue
        least[prediction.epsilon] = min(prediction.mean, least.get(prediction.epsilon, math.inf))
    practice = None
    for epsilon in sorted(least, reverse=True):
        if least[epsilon] > NEARLY * opened.mean:
            break
        practice = epsilon
    return Free(theory, practice)


def _why(
    asked: Question, predictions: Sequence[Prediction], opened: Prediction | None
) -> tuple[str, ...]:
    """The reasons for the recommendation, in sentences."""
    own = [p for p in predictions if p.epsilon == asked.epsilon]
    best = best_of(own)
    what = "mean regret" if asked.goal == "regret" else "mean number of samples"
    reasons = [
        f"{best.label} has the lowest {what} of all {len(own)} candidates at ε = {best.epsilon:g}: "
        f"{number(best.mean)} (95 % interval {number(best.low)} to {number(best.high)}, "
        f"{best.runs:,} simulated trials)."
    ]
    if own[0] is not best:
        reasons = [
            f"{best.label} has the lowest {what}, {number(best.mean)} (95 % interval "
            f"{number(best.low)} to {number(best.high)}, {best.runs:,} simulated trials), of the "
            f"candidates at ε = {best.epsilon:g} that lost no run on hard instances. "
            f"{own[0].label} has {number(own[0].mean)}, but on hard instances some of its runs "
            "regret more than 20 times the median: see docs/hard.md."
        ]
    equal = equal_allocation(asked)
    if equal is not None and not helps(asked, best):
        return (
            f"No private policy helps at this size: the best of all {len(own)} candidates at "
            f"ε = {best.epsilon:g}, {best.label}, has a mean regret of {number(best.mean)} (95 % "
            f"interval {number(best.low)} to {number(best.high)}), and equal allocation, which "
            f"learns nothing and so reveals nothing, has {number(equal)}.",
            "Allocate the arms equally, or plan with more participants or a larger ε.",
        )
    if cut(asked, best):
        reasons = [
            f"No candidate ends for sure within {best.until:,} samples at ε = {best.epsilon:g}. "
            f"{best.label} needs least, on average more than {number(best.mean)}."
        ]
    if asked.goal == "identify" and asked.horizon and best.usual[1] > asked.horizon:
        reasons.append(
            f"There are {asked.horizon:,} participants, and one identification in twenty takes "
            f"more than {number(best.usual[1])}: it may well end without an answer."
        )
    others = (p for p in own if p.row != best.row and math.isfinite(p.mean))
    other = next((p for p in others if p.safe or best is own[0]), None)
    if other is not None:
        least = "at least " if cut(asked, other) else ""
        reasons.append(
            f"The best other row, {other.label}, has {least}{number(other.mean)}: choosing it "
            f"costs {least}{number(other.mean - best.mean)} more."
        )
    if best.bound > 0.0:
        reasons.append(
            f"The lower bound for every policy with this kind of privacy is {number(best.bound)}: "
            f"the recommendation is at {best.mean / best.bound:.2g} times that. (The bound is "
            "about ever larger trials: it is shown only where no candidate stays below it.)"
        )
    elif math.isnan(best.bound):
        reasons.append(
            "The lower bounds are about larger trials: here they are above what a candidate or "
            "equal allocation regrets, so nothing is known about how near to the best possible "
            "this is."
        )
    if opened is not None and opened.mean > 0.0:
        reasons.append(
            f"Without privacy, {opened.label} has {number(opened.mean)}: here privacy multiplies "
            f"the cost by {best.mean / opened.mean:.2g}."
        )
    if asked.goal == "regret" and asked.delta:
        reasons.append(f"Noise: {least_noise(asked.budget)[1]}.")
    if asked.goal == "regret" and best.row in CATALOGUE:
        title = CATALOGUE[best.row].title
        guarantee = Candidate(best.row, best.options).policy(best.epsilon, asked.delta).guarantee
        reasons.append(f"What {title} guarantees: {guarantee}")
        reasons.append(
            f"What that means to a person: {guarantee.tradeoff().in_words(outcomes=True)}"
        )
    return tuple(reasons)


def cut(asked: Question, prediction: Prediction) -> bool:
    """Whether a candidate was not followed to its end, so that its mean is a least value."""
    return prediction.until is not None and prediction.until != asked.horizon


def number(value: float) -> str:
    """Three digits, with thousands."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"
