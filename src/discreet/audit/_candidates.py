"""Candidates: neighbouring inputs of a policy that the search starts from.

They vary in what has hidden a leak before:
- where the outcome changes: at the first batches, and at the last and longest ones; in a long run
  also between, in rounds each of which is a quarter of the next;
- how long the run is: 4 rounds, in which few noisy numbers hide one outcome and all of them are
  seen; a few batches an arm; and a long one, in which batches of 64 and more are released;
- how many arms there are, 2, 3 and 5, with the change in the last of them;
- what all other outcomes are: the least, the largest, or such that the arm of the changed one is
  best, so that it is played on and its outcome enters as many releases as there are;
- by how much it changes: from end to end of the range, or half of it, off every coarse grid;
- whether an adversary forces the arms or feeds the rewards, if the policy's definition covers it.
Where batches begin is found by an interpreted walk; nothing is compiled for that. Of a run with a
release in every round a walk sees the beginning alone: its late changes are planned by rounds, and
transcripts look at the releases from there on. If a walk fails,
as one does that leaves its ledger, its input is left out: compiled code would not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arms._tables import RewardTable
from ..errors import InvalidArgument
from ..policies import Policy
from ..policies._step import fresh_state, parts_of
from ..policies._view import fresh_view, shown
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._source import SIMULATED
from ._adversaries import IN_TURN, OWN_CHOICE, Adversary, Echo, Steady, Tables, forced_arm
from ._choices import Choices

LONGEST = 1 << 15
"""Horizons beyond this are not tried by themselves."""
BRIEF, MIDDLE, LONG, EVERY_ROUND = 4, 64, 256, 32
"""Rounds of brief inputs, of longer ones, and of longer ones with a release in every round."""
MORE_ARMS = (3, 5)
"""Numbers of arms that are tried beside two."""
MOST_DECISIONS = 32
"""Decisions of one candidate, at most."""
LISTED = 4096
"""Rounds of the longest lists of rewards that are written out."""
DEEP = 256
"""Decisions that a walk through a long run takes, at most: batches that double fill 2^50 rounds."""
LATEST, APART = 1 << 16, 4
"""The latest change in a run with a release in every round, and the ratio of two late changes."""
EXTREME = 40.0
"""Stands for an unbounded reward: its sigmoid is 0 or 1 in double precision, nearly."""


class Batch(NamedTuple):
    """A batch that is released: its first round, its length, its arm."""

    start: int
    rounds: int
    arm: int


@lru_cache(maxsize=256)
def walk(
    policy: Policy, arms: int, horizon: int, plan: int = OWN_CHOICE,
    rewards: tuple[float, ...] = (), decisions: int = MOST_DECISIONS,
) -> tuple[Batch, ...]:  # fmt: skip
    """The batches of one interpreted run; every arm always pays the same, by default 0."""
    setting, rng = policy.setting(arms, horizon), np.random.Generator(np.random.SFC64(1))
    choose, length = policy.choose_kernel.interpreted(), policy.length_kernel.interpreted()
    publish = policy.release.publish_kernel(SIMULATED).interpreted()
    answer = policy.release.respond_kernel(SIMULATED)
    respond = None if answer is None else answer.interpreted()
    schedule, release, rule = parts_of(policy, setting)
    ledger, memory, _ = fresh_state(policy, setting)
    view, t, found = fresh_view(arms), 0, list[Batch]()
    with np.errstate(all="ignore"):  # as compiled code does
        while t < horizon and len(found) < decisions:
            arm = int(choose(rule, memory, shown(view), t, rng))
            arm = forced_arm(plan, arms, arm, t)
            rounds = int(length(schedule, memory, shown(view), arm))
            if rounds > horizon - t:
                break
            reward = rewards[arm] if rewards else 0.0
            total = reward * rounds
            if respond is not None:
                total = sum(respond(release, reward, rng) for _ in range(rounds))
            found.append(Batch(t, rounds, arm))
            t += rounds
            view.pulls[arm] += rounds
            publish(release, ledger, view, arm, rounds, total, rng)
    return tuple(found)


def candidates(
    policy: Policy,
    arms: int | None = None,
    horizon: int | None = None,
    contributions: int = 1,
    feeding: bool = True,
    decisions: int | None = None,
) -> list[Adversary]:
    """Neighbouring inputs that a policy must not tell apart.

    `arms` and `horizon` fix what is otherwise varied; `contributions` outcomes change together.

    Args:
        policy: The policy to attack.
        arms: Number of arms; default: varied.
        horizon: Rounds; default: varied.
        contributions: How many outcomes change together.
        feeding: Whether adversaries that see releases are among them.
        decisions: Decisions of a transcript, at most.

    Returns:
        The adversaries.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> found = discreet.audit.candidates(discreet.policy('dp-imed', epsilon=1.0), 2, 8)
        >>> print(found[0])
        lists of 8 rewards that differ in round 1 (0 or 1, all else 0)
    """
    few = 2 if arms is None else arms
    maker = Maker(policy, contributions, decisions)
    found: list[Adversary] = []
    if horizon is not None:
        found += maker.early(few, horizon) + maker.late(few, horizon)
        found += maker.between(few, horizon)
        rounds = horizon
    else:
        rounds = short_horizon(policy, few)
        if rounds > BRIEF >= few:
            found += maker.early(few, BRIEF)
        found += maker.early(few, rounds)
        for long in maker.long(few, rounds):
            found += maker.late(few, long)
    brief = BRIEF if horizon is None else rounds
    found += maker.halves(few, brief) or maker.halves(few, rounds)
    for more in MORE_ARMS if arms is None else ():
        found += maker.last_arm(more, horizon)
    if found and feeding and contributions == 1 and covers(policy.guarantee, Definition.ADAPTIVE):
        low, high = maker.range
        found += [Echo(place, few, rounds, low, high) for place in (0, 1, 2) if place < rounds]
    if not found:
        raise InvalidArgument(
            "horizon", f"be long enough for {policy.name} to release something", horizon,
            "leave it out, or pass the horizon that the policy is meant for",
        )  # fmt: skip
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Maker:
    """Makes candidates for one policy."""

    policy: Policy
    contributions: int
    decisions: int | None

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest reward."""
        return self.policy.bounds or (-EXTREME, EXTREME)

    @property
    def interactive(self) -> bool:
        """Whether the claim covers an adversary who replaces arms."""
        return covers(self.policy.guarantee, Definition.INTERACTIVE)

    def early(self, arms: int, horizon: int) -> list[Adversary]:
        """A change in one of the first batches, or in the middle."""
        found = []
        low, high = self.range
        for plan in (OWN_CHOICE, 0, IN_TURN) if self.interactive else (OWN_CHOICE,):
            batches = self._walk(arms, horizon, plan)
            places = {batch.start for batch in batches[:4]} | {horizon // 2}
            for place in sorted(places if batches else ()):
                rests = (low, high) if plan == OWN_CHOICE else (low,)
                found += [self._lists(arms, horizon, place, rest, plan) for rest in rests]
            if plan == OWN_CHOICE and batches:
                found.append(self._best(arms, horizon, batches[0]))
        return [pair for pair in found if pair is not None]

    def late(self, arms: int, horizon: int) -> list[Adversary]:
        """A change in the first, in the longest or in the last batch of a long run."""
        found = []
        for plan in (OWN_CHOICE, 0) if self.interactive else (OWN_CHOICE,):
            batches = self._walk(arms, horizon, plan)
            if not batches:  # a walk failed, but those of other rewards may not
                found.append(self._best(arms, horizon, Batch(0, 1, 0)))
                continue
            longest = max(batches, key=lambda batch: batch.rounds)
            for batch in dict.fromkeys([batches[0], longest, batches[-1]]):
                found.append(self._lists(arms, horizon, batch.start, self.range[0], plan))
                if plan == OWN_CHOICE:
                    found.append(self._best(arms, horizon, batch))
        return [pair for pair in found if pair is not None]

    def between(self, arms: int, horizon: int) -> list[Adversary]:
        """A change in a round that is a quarter of the next such round, beyond what `early` has,
        and transcripts of what is released from there on."""
        found: list[Adversary] = []
        low = self.range[0]
        for plan in (OWN_CHOICE, 0) if self.interactive else (OWN_CHOICE,):
            batches = self._walk(arms, horizon, plan, decisions=DEEP)
            covered = batches[-1].start + batches[-1].rounds if batches else 0
            # with long batches the walk has seen them all; with short ones it saw the beginning
            ended = len(batches) < DEEP
            place = covered // 2 if ended else min(horizon // 2, LATEST)
            depth = self.decisions or MOST_DECISIONS
            while place > MOST_DECISIONS and horizon > LONG:
                pair = Steady((low,) * arms, place, horizon, self.range, self.contributions, plan)
                found.append(replace(pair, since=place + 1, decisions=depth))
                place //= APART
        return found

    def halves(self, arms: int, horizon: int) -> list[Adversary]:
        """A change by half of the range."""
        low, high = self.range
        half = low, 0.5 * (low + high)
        plans = (OWN_CHOICE, 0) if self.interactive else (OWN_CHOICE,)
        pairs = [self._lists(arms, horizon, 0, low, plan, half) for plan in plans]
        return [pair for pair in pairs if pair is not None]

    def last_arm(self, arms: int, horizon: int | None) -> list[Adversary]:
        """A change in the last of several arms."""
        try:
            rounds = short_horizon(self.policy, arms) if horizon is None else horizon
        except InvalidArgument:  # its start phase of so many arms is too long to be tried
            return []
        if rounds < arms:
            return []
        walked = self._walk(arms, rounds, OWN_CHOICE)
        batches = [batch for batch in walked if batch.arm == arms - 1]
        found = [self._lists(arms, rounds, batch.start, self.range[0]) for batch in batches[:1]]
        if self.interactive:
            found.append(self._lists(arms, rounds, 0, self.range[0], arms - 1))
        return [pair for pair in found if pair is not None]

    def long(self, arms: int, short: int) -> list[int]:
        """Horizons in which long batches are released, or many where all are short."""
        if short >= LONG:
            return [short]
        batches = self._walk(arms, MIDDLE, OWN_CHOICE)
        covered = batches[-1].start + batches[-1].rounds if batches else MIDDLE
        return [MIDDLE, LONG] if covered > MIDDLE // 2 else [EVERY_ROUND]

    def _walk(
        self, arms: int, horizon: int, plan: int, rest: tuple[float, ...] = (),
        decisions: int = MOST_DECISIONS,
    ) -> tuple[Batch, ...]:  # fmt: skip
        rewards = rest or (self.range[0],) * arms
        try:
            return walk(self.policy, arms, horizon, plan, rewards, decisions)
        except (IndexError, ValueError, ArithmeticError):
            return ()

    def _depth(self, horizon: int, batches: Sequence[Batch]) -> int:
        """Decisions to play: as many as a walk has, and some more, for other walks are longer."""
        if self.decisions is not None:
            return self.decisions
        return max(2, min(MOST_DECISIONS, horizon, len(batches) + 2))

    def _lists(
        self, arms: int, horizon: int, place: int, rest: float, plan: int = OWN_CHOICE,
        values: tuple[float, float] | None = None,
    ) -> Adversary | None:  # fmt: skip
        """All arms have the same rewards: `rest`, but for those at `place`."""
        return self._pair((rest,) * arms, horizon, place, plan, values or self.range)

    def _best(self, arms: int, horizon: int, batch: Batch) -> Adversary | None:
        """The arm of a batch has the largest rewards and all others the least."""
        low, high = self.range
        if not covers(self.policy.guarantee, Definition.TABLE):
            return None
        rest = tuple(high if arm == batch.arm else low for arm in range(arms))
        return self._pair(rest, horizon, batch.start, OWN_CHOICE, self.range)

    def _pair(
        self, rest: tuple[float, ...], horizon: int, place: int, plan: int,
        values: tuple[float, float],
    ) -> Adversary | None:  # fmt: skip
        """Every arm has its own reward, but for the outcomes of one user from `place` on."""
        arms = len(rest)
        batches = self._walk(arms, horizon, plan, rest)
        if place + self.contributions > horizon or not batches:
            return None
        depth = self._depth(horizon, batches)
        if horizon > LISTED:
            return Steady(rest, place, horizon, values, self.contributions, plan, decisions=depth)
        changed = range(place, place + self.contributions)
        first, second = (
            [(value,) * arms if t in changed else rest for t in range(horizon)] for value in values
        )
        forced: tuple[int, ...] = ()
        if plan != OWN_CHOICE:
            forced = tuple(forced_arm(plan, arms, 0, t) for t in range(horizon))
        bounds = self.policy.bounds
        title = "lists" if len(set(rest)) == 1 else "tables"
        return Tables(RewardTable(first, bounds), RewardTable(second, bounds), forced, title, depth)


def covers(guarantee: Guarantee, definition: Definition) -> bool:
    """Whether a claim implies the same budget under another definition."""
    return guarantee.implies(replace(guarantee, definition=definition))


def short_horizon(policy: Policy, arms: int = 2) -> int:
    """The shortest power of two in which a few batches are released: 3 an arm, or 1 an arm if
    batches are long. Of a policy that fails in longer runs, the longest before that, if any."""
    rounds, before = 8, 0
    while rounds < arms:
        rounds *= 2
    while rounds <= LONGEST:
        high = (policy.bounds or (-EXTREME, EXTREME))[1]
        try:
            released = len(walk(policy, arms, rounds, OWN_CHOICE, (high,) * arms, 4 * arms))
        except (IndexError, ValueError, ArithmeticError) as error:
            if before:  # what it releases until it fails must keep the claim as well
                return rounds // 2
            if isinstance(error, InvalidArgument):  # which says itself what to do
                raise
            raise InvalidArgument(
                "policy", f"play {rounds} rounds without an error", policy.name,
                f"{type(error).__name__} in its own code: check the parts that it is made of",
            ) from None  # fmt: skip
        if released >= 3 * arms or (rounds >= 2048 and released >= arms):
            return rounds
        before = released
        rounds *= 2
    raise InvalidArgument(
        "horizon", f"be given: {policy.name} releases nothing within {LONGEST} rounds", None,
        "pass the horizon that it is meant for",
    )  # fmt: skip


def histories(policy: Policy, arms: int = 2) -> list[Choices]:
    """Histories after which one success more must not show: few pulls of one arm, extreme others.

    The others are known so well, or so badly, that what they draw hides arm 0 least. Perturbations
    may grow with the horizon, so that it is hardly longer than the history, or much longer.
    """
    setting = policy.setting(arms, 1000)
    start = int(getattr(policy.rule.parameters(setting), "start", 1))
    found = []
    known: dict[int, tuple[float, ...]] = {start: (0.0, 0.5, 1.0)}
    known |= dict.fromkeys((8 * start + 64, 64 * start + 1000), tuple(i / 8 for i in range(9)))
    for own in sorted({0, (start - 1) // 2, start - 1}):
        for others, shares in known.items():
            for success in shares:
                pulls = (start, *[others] * (arms - 1))
                successes = (own, *[round(success * others)] * (arms - 1))
                for horizon in (sum(pulls) + 1, max(1000, 2 * sum(pulls))):
                    found.append(Choices(policy, pulls, successes, horizon))
    return found
