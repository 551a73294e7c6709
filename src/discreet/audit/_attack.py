"""The attack: search for the worst input, learn what tells its two sides apart, test it.

1. Search: every candidate gets a few transcripts, the best third of them three times as many, …
2. Learn, on fresh transcripts of the winner: scores on one part, a handful of events on another.
3. Test, on fresh transcripts again: Clopper-Pearson limits of every event on both sides, each at
   (1 - confidence)/(number of limits), so that all of them hold together with the confidence.

Whatever is searched and learned can only make the bound weaker, never wrong. How many transcripts
are tested is fixed before the first of them is played: from a number, or from a time and the speed
of earlier ones. The clock must not end the test: where the length of a transcript tells something,
as with a stopping time, counts up to a moment are not binomial. Time counts once all is compiled.

>>> from discreet.audit import Plain, attack
>>> from discreet.privacy import Laplace, Pure
>>> noise = Plain.of(Laplace(1.0))
>>> result = attack([noise], Pure(1.0), transcripts=200_000, seed=1)
>>> 0.9 < result.epsilon_lower < 1.0
True
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InvalidArgument
from ..privacy._guarantees import Definition, Guarantee
from ..privacy.budgets import Budget, GaussianDP, Renyi
from ..simulator._work import entropy_of
from . import _limits as limits
from ._effort import Limit
from ._events import (
    Event,
    Partition,
    choose_events,
    choose_partition,
    measures_of,
    uses_partition,
)
from ._progress import Shares
from ._result import Audit, Proof
from ._scores import CodeRatio, Total, learn
from ._transcripts import Subject, Transcripts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints

FIRST_SEARCH = 400
"""Transcripts per side that every input gets first, where time is given; more if they are quick."""
KEPT = 3
"""One input in so many continues to the next round of the search."""
MOST_LEARNED = 200_000
"""Transcripts per side to learn from, at most: more would not sharpen the scores."""
BLOCK = 50_000
"""Transcripts per side that are counted at once."""
MOST_NUMBERS = 4_000_000
"""Numbers per side that are held at once."""
FEWEST = 25
"""Transcripts per side of an input that tell anything at all."""
GLANCE = 10
"""The same, of many inputs that are slow: enough to see what no noise hides, and to look again."""
CURVE = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
"""The δ of the curve that is reported beside the one asked for."""


def attack(
    subjects: Sequence[Subject],
    claimed: Guarantee | Budget,
    *,
    name: str = "mechanism",
    delta: float | None = None,
    confidence: float = 0.99,
    transcripts: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Audit a claim on one or more candidate inputs, for so many transcripts or seconds.

    Seconds count from when every input was played once, so without compilation. Ctrl-C ends it
    early, with what was tested so far: `complete` is then False.

    Args:
        subjects: Candidate inputs, each a `Subject`.
        claimed: The budget that the mechanism claims.
        name: What the audit is called.
        delta: The δ to bound ε at; default: that of the claim.
        confidence: Probability with which the bound holds.
        transcripts: How many transcripts, instead of a time.
        seconds: How long, without compilation.
        seed: Random seed, for reproducible results.
        progress: Show a bar; default: on a terminal.

    Returns:
        The audit.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.audit import Plain, attack
        >>> from discreet.privacy import Laplace, Pure
        >>> noise = Plain.of(Laplace(1.0))
        >>> attack([noise], Pure(1.0), transcripts=40_000, seed=1, progress=False).verdict
        'no violation found with 40,000 transcripts'
    """
    guarantee = claimed if isinstance(claimed, Guarantee) else Guarantee(claimed, Definition.TABLE)
    if not guarantee.is_private:
        raise InvalidArgument(
            "claimed", "promise something", guarantee.short(), "there is nothing to attack"
        )
    if not subjects:
        raise InvalidArgument("subjects", "hold at least one input", subjects, "add one")
    if not 0.5 <= confidence < 1.0:
        raise InvalidArgument("confidence", "lie in [0.5, 1)", confidence, "use 0.99")
    at = limits.delta_of(guarantee.budget, delta)
    limit = Limit(transcripts, seconds)
    work = _Work(guarantee.budget, at, 1.0 - confidence, limit, entropy_of(seed))
    with Shares(name, limit.share, progress) as bar:
        complete = work.run(list(subjects), bar)
    return work.result(name, guarantee, confidence, complete)


class _Counts(NamedTuple):
    """Tested transcripts per side, and how many of them lie in every event and in every part.

    One object, replaced as a whole: Ctrl-C may come between any two steps.
    """

    tested: int
    hits: Ints
    parts: Ints


class _Work:
    """The three steps, and what they leave behind."""

    def __init__(self, budget: Budget, delta: float, error: float, limit: Limit, seed: int) -> None:
        self.budget, self.delta, self.error, self.limit, self.seed = (
            budget, delta, error, limit, seed,
        )  # fmt: skip
        self.rng: Generator = np.random.Generator(np.random.SFC64(seed))
        self.subject: Subject | None = None
        self.events: list[Event] = []
        self.partition: Partition | None = None
        self.learned = 0
        self.counts = _Counts(0, np.zeros((0, 2), np.int64), np.zeros((2, 0), np.int64))
        self.alone: list[float] = []

    def run(self, subjects: list[Subject], bar: Shares) -> bool:
        """All three; False if Ctrl-C cut them short."""
        try:
            self.subject = subjects[0]
            self.compile(subjects)
            self.limit.start()
            self.subject = self.search(subjects, bar)
            self.learn(bar)
            self.test(bar)
        except KeyboardInterrupt:
            return False
        return True

    def compile(self, subjects: list[Subject]) -> None:
        """Play every input once, with another generator, so that a time is not spent on that; and
        again, to know how long it takes."""
        if self.limit.transcripts is None:
            for subject in subjects:
                subject.sample(0, 1, np.random.Generator(np.random.SFC64(self.seed)))
                begun = time.perf_counter()
                subject.sample(0, 1, np.random.Generator(np.random.SFC64(self.seed)))
                self.alone.append(time.perf_counter() - begun)

    def pair(self, subject: Subject, count: int) -> tuple[Transcripts, Transcripts]:
        """Fresh transcripts of both sides."""
        self.limit.used += 2 * count
        first, second = (subject.sample(side, count, self.rng) for side in (0, 1))
        return first.settled(), second.settled()

    def search(self, subjects: list[Subject], bar: Shares) -> Subject:
        """Successive thirding, in a quarter of the work: the best third gets three times as many
        transcripts, until one is left."""
        rounds = max(1, math.ceil(math.log(len(subjects), KEPT)))
        count = self._first(subjects, rounds)
        first = self.limit.transcripts is None  # slow or not, every input is looked at once
        while len(subjects) > 1:
            begun = self.limit.elapsed
            told, first = self._told(subjects, count, bar, first), False
            taken = self.limit.elapsed - begun
            allotted = 0.25 * self.limit.seconds / rounds
            while self.limit.transcripts is None and count < MOST_LEARNED:
                spare = allotted - (self.limit.elapsed - begun)
                if spare < 2.0 * taken or len(told) < len(subjects):
                    break
                # quick ones: the same again, with more; what is small tells little about speed
                count = min(MOST_LEARNED, int(count * min(16.0, spare / max(taken, 1e-9))))
                again = self.limit.elapsed
                more = self._told(subjects, count, bar)
                if len(more) < len(subjects):
                    break
                told, taken = more, self.limit.elapsed - again
            ranked = self._ranked(told)
            found = [subjects[place] for place in ranked] or subjects
            if len(told) < len(subjects):  # the rest was not reached
                return found[0]
            subjects = found[: math.ceil(len(found) / KEPT)]
            count = min(MOST_LEARNED, count * KEPT)
        return subjects[0]

    def _first(self, subjects: list[Subject], rounds: int) -> int:
        """Transcripts per side that every input gets in the first round."""
        if self.limit.transcripts is not None:
            count = self.limit.transcripts // (16 * len(subjects) * min(rounds, 2))
            return max(FEWEST, min(count, MOST_LEARNED))
        begun = self.limit.elapsed
        self.pair(subjects[0], FEWEST)
        # of one transcript most is the call, the same for all, but where runs are long
        least, pair = min(self.alone), (self.limit.elapsed - begun) / FEWEST
        everybody = sum(pair + 2.0 * (alone - least) for alone in self.alone)
        allotted = 0.25 * self.limit.seconds / rounds
        return max(GLANCE, min(FIRST_SEARCH, int(allotted / (2.0 * max(everybody, 1e-9)))))

    def _told(
        self, subjects: list[Subject], count: int, bar: Shares, everyone: bool = False
    ) -> list[tuple[float, float, float]]:
        """What so many transcripts of every input tell, as long as a quarter of the work lasts."""
        told: list[tuple[float, float, float]] = []
        for subject in subjects:
            if self.limit.share(4 * count) > 0.3 and not everyone:
                break
            told.append(self.score(subject, count))
            bar.tell(f"searching, {len(subjects)} inputs")
        return told

    @staticmethod
    def _ranked(told: list[tuple[float, float, float]]) -> list[int]:
        """Places of the inputs, best first: by each of the measures in turn."""
        places = range(len(told))
        orders = [sorted(places, key=lambda place: -told[place][by]) for by in range(3)]
        return list(dict.fromkeys(place for best in zip(*orders, strict=True) for place in best))

    def score(self, subject: Subject, count: int) -> tuple[float, float, float]:
        """What a few transcripts suggest about an input, as the search ranks it:
        1. the best bound of events that were chosen on others of them;
        2. Jeffreys' divergence, as the best score estimates it: steadier than a bound;
        3. the log likelihood ratio that a hundredth exceeds: what more transcripts may prove.
        """
        scores = learn(subject, *self.pair(subject, count), parts=2)
        if not scores:
            return 0.0, 0.0, 0.0
        first, second = self.pair(subject, count)
        half = count // 2
        tried = first.cut(0, half), second.cut(0, half)
        fresh = first.cut(half, count), second.cut(half, count)
        best = 0.0
        for event in choose_events(scores, *tried, self.budget, self.delta, 0.05, most=1):
            hits = [event.hits(side) for side in fresh]
            p = limits.clopper_pearson_lower(hits[event.likelier], count - half, 0.05)
            q = limits.clopper_pearson_upper(hits[1 - event.likelier], count - half, 0.05)
            measures = measures_of(np.atleast_1d(p), np.atleast_1d(q), self.budget, self.delta)
            best = max(best, *(float(measure[0]) for measure in measures))
        ratios = [score for score in scores if isinstance(score, CodeRatio | Total)]
        sides = [(score(first), score(second)) for score in ratios]
        apart = max(float(other.mean() - one.mean()) for one, other in sides)
        # codes that came once or never have ratios of their own that mean nothing
        steady = sides[-2:] if isinstance(ratios[-1], Total) else sides
        tails = [max(np.quantile(other, 0.99), -np.quantile(one, 0.01)) for one, other in steady]
        return best, apart, float(max(tails))

    def learn(self, bar: Shares) -> None:
        """Scores on one quarter of the work, events on the next: the first half."""
        assert self.subject is not None
        # what the search took is gone; both parts get a quarter of the rest
        left = 1.0 - min(self.limit.share(), 0.5)
        self.learned = count = self._count(left / 4.0)
        bar.tell("learning")
        scores = learn(self.subject, *self.pair(self.subject, count))
        if not scores:
            return
        first, second = self.pair(self.subject, count)
        guess = self.error / 16.0
        self.events = choose_events(scores, first, second, self.budget, self.delta, guess)
        if uses_partition(self.budget):
            self.partition = choose_partition(scores, first, second)

    def _count(self, share: float) -> int:
        """Transcripts per side that take such a share of the work to play and to learn from."""
        limit, subject = self.limit, self.subject
        assert subject is not None
        if limit.transcripts is not None:
            return max(10, min(MOST_LEARNED, int(share * limit.transcripts) // 2))
        speed = self._speed(lambda count: learn(subject, *self.pair(subject, count)))
        return max(100, min(MOST_LEARNED, int(share * limit.seconds * speed / 2.0)))

    def _speed(self, work: Callable[[int], object]) -> float:
        """Transcripts per side in a second of some work, tried until a fiftieth of the time."""
        count = 50
        while True:
            begun = time.perf_counter()
            work(count)
            taken = time.perf_counter() - begun
            if taken > 0.02 * self.limit.seconds or count >= MOST_LEARNED:
                return count / max(taken, 1e-9)
            count *= 2

    def test(self, bar: Shares) -> None:
        """Count the chosen events on fresh transcripts, as many as were planned."""
        parts = 0 if self.partition is None else len(self.partition.edges) + 1
        hits = np.zeros((len(self.events), 2), np.int64)
        self.counts = _Counts(0, hits, np.zeros((2, parts), np.int64))
        left, block = self._planned()
        assert self.subject is not None
        block = max(FEWEST, min(block, MOST_NUMBERS // max(1, len(self.subject.names))))
        while left > 0:
            before, more = self.counts, self._counted(min(left, block))
            self.counts = _Counts(
                before.tested + more.tested, before.hits + more.hits, before.parts + more.parts
            )
            left -= more.tested
            bar.tell("testing")

    def _planned(self) -> tuple[int, int]:
        """Transcripts per side to test, whatever they show, and how many of them at once."""
        limit = self.limit
        if limit.transcripts is not None:
            return (limit.transcripts - limit.used) // 2, BLOCK
        speed = self._speed(self._counted)
        left = int((limit.seconds - limit.elapsed) * speed)
        # where a busy machine has used up the time, what was learned is tested all the same
        least = max(self.learned, 4 * FEWEST)
        return max(left, least), max(FEWEST, min(BLOCK, int(0.1 * speed)))

    def _counted(self, count: int) -> _Counts:
        """Fresh transcripts, counted."""
        assert self.subject is not None
        sides = self.pair(self.subject, count)
        # events of one score are counted together: the score is what takes time
        scored = {id(event.score): [event.score(side) for side in sides] for event in self.events}
        hits = [
            [int((side >= event.threshold).sum()) for side in scored[id(event.score)]]
            for event in self.events
        ]
        parts: list[Ints | list[int]] = [
            [] if self.partition is None else self.partition.counts(side) for side in sides
        ]
        return _Counts(count, np.array(hits, np.int64).reshape(-1, 2), np.array(parts, np.int64))

    def result(self, name: str, guarantee: Guarantee, confidence: float, complete: bool) -> Audit:
        """What the counts prove."""
        number = 2 * len(self.events) + 2 * self.counts.parts.size
        error = self.error / max(number, 1)
        p, q, proofs = self._limits(error)
        epsilons = limits.epsilon_bound(p, q, self.delta)
        own, divided = self._parameter(p, q, error)
        claimed = limits.claimed_epsilon(self.budget, self.delta)
        excess = p > limits.allowed(self.budget, q)
        lower = float(epsilons.max(initial=0.0))
        best = None
        if len(proofs):
            best = proofs[int(excess.argmax() if excess.any() else epsilons.argmax())]
        if divided is not None and own[2] > own[1] and not excess.any():
            best = divided
        return Audit(
            policy=name,
            claimed=guarantee,
            claimed_epsilon=claimed,
            epsilon_lower=lower,
            delta=self.delta,
            confidence=confidence,
            transcripts=self.limit.used,
            tested=2 * self.counts.tested,
            inputs="" if self.subject is None else self.subject.inputs,
            proof=best,
            is_violation=bool(lower > claimed or excess.any() or own[2] > own[1]),
            parameter=own,
            curve={d: float(limits.epsilon_bound(p, q, d).max(initial=0.0)) for d in CURVE},
            seconds=self.limit.elapsed,
            seed=self.seed,
            complete=complete,
        )

    def _limits(self, error: float) -> tuple[Floats, Floats, list[Proof]]:
        tested, hits = self.counts.tested, self.counts.hits
        events = self.events[: len(hits)]  # none is counted if Ctrl-C came before the test
        likelier, place = np.array([event.likelier for event in events], int), np.arange(len(hits))
        p = limits.clopper_pearson_lower(hits[place, likelier], tested, error)
        q = limits.clopper_pearson_upper(hits[place, 1 - likelier], tested, error)
        proofs = [
            Proof(str(event), event.likelier, float(low), float(high), (int(one), int(two)), tested)
            for event, low, high, (one, two) in zip(events, p, q, hits, strict=True)
        ]
        return p, q, proofs

    def _parameter(
        self, p: Floats, q: Floats, error: float
    ) -> tuple[tuple[str, float, float], Proof | None]:
        """The number that the claim is stated by, what was proved of it, and by which partition."""
        name, claimed = limits.own_parameter(self.budget)
        if isinstance(self.budget, GaussianDP):
            return (name, claimed, float(limits.mu_bound(p, q).max(initial=0.0))), None
        if self.partition is None or not self.counts.tested:
            lower = float(limits.epsilon_bound(p, q, self.delta).max(initial=0.0))
            return (name, claimed, lower), None
        low = limits.clopper_pearson_lower(self.counts.parts, self.counts.tested, error)
        high = limits.clopper_pearson_upper(self.counts.parts, self.counts.tested, error)
        found = []
        for side in (0, 1):
            if isinstance(self.budget, Renyi):
                bound = limits.renyi_bound(low[side], high[1 - side], self.budget.alpha)
            else:
                bound = limits.rho_bound(low[side], high[1 - side])
            found.append((bound, side))
        best, side = max(found)
        return (name, claimed, best), self._part(side, low[side], high[1 - side])

    def _part(self, side: int, low: Floats, high: Floats) -> Proof:
        """The part of the partition that tells most, for the record."""
        assert self.partition is not None
        part = int(np.log(np.maximum(low, 1e-300) / high).argmax())
        text = (
            f"part {part + 1} of {self.partition} (the Rényi divergence is bounded over all parts)"
        )
        hits = int(self.counts.parts[0, part]), int(self.counts.parts[1, part])
        return Proof(text, side, float(low[part]), float(high[part]), hits, self.counts.tested)
