"""Policies verified by execution: their own kernels on symbols, along public paths.

A path says which arm is played when, and where the rule sets the phases also for how long. It is
public: a function of published numbers and of coins that no reward has touched. What one path
costs is exact (`privacy.verification.shifts`); which paths there are is settled here.

**One step that stands for all.** `policies.induction` takes a single step from a state of which
nothing is known. If that proves the claim, it holds on every path, with batches of any length, at
every time up to the horizon; a short walk then shows whether some reward really pays as much.

**Separate arms: one arm alone is the worst.** The walk of an arm alone notes every entry of ledger
and view that the kernels used. If no entry was used by two arms, and no released value was read
again, then whatever a path does with the other arms, an arm's k-th batch finds the entries as it
found them alone (by induction: what it reads is its own, and what others write is not), so it
publishes the same forms. On another path an arm has at most as many batches as alone, and fewer
numbers to keep equal cost no more. So the arms alone, one walk each, are all the paths there are:
exact for every public path, as far as they were walked.

**Otherwise** all paths are walked at a small horizon, to which the policy is calibrated anew, and
at the asked one the arms alone, arms in turn, one arm after the other, and seeded random paths:
exact on those, and a proof of nothing else. Where a rule sets phases, its own paths are walked
too, on released values that make it continue, drop arms, or waver. A release that says that it
takes batches wherever they are cut off is also walked with lengths that no schedule or rule would
choose.

**Local releases**: a response is one number about one reward, and leaves its participant once, so
its cost is that of the run, for all paths.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import count
from .._compiled import Function
from ..privacy._source import SECURE, SIMULATED, Source
from ..privacy.verification import (
    Candidate,
    Cells,
    Loss,
    NotAffine,
    PublicCells,
    Symbol,
    Tape,
    Values,
    Verification,
    Worst,
    cells,
    is_tight,
    losses,
    sharpened,
    spent,
    symbolic,
    undominated,
    within,
)
from ..privacy.verification._choices import Choices
from ..privacy.verification._forms import REWARD, Place
from ..privacy.verification._result import main_number
from ._induction import Proof, prove
from ._view import View

if TYPE_CHECKING:
    from ..privacy.budgets import Budget
    from ..privacy.verification._shifts import System
    from ._policy import Policy
    from ._view import Setting
    from .releases import Release

MOST_NUMBERS = 1500
"""Published numbers, and batches, that are followed on one path; costs grow with the square."""
SHORT = 300
"""The same where the claim is proved already, and the walk shows what is really spent."""
MOST_PATHS = 128
"""Paths of a small horizon that are walked all."""
RANDOM_PATHS = 2
CUT_ROUNDS = 200
"""Rounds of a path whose blocks are cut off anywhere."""
SEED = 20_260
NOMINAL_RISK = 0.1
"""Stands in for the risk of a wrong answer, which no release depends on."""


class Path(NamedTuple):
    """A public path: arms, lengths where the schedule leaves them open, and released values."""

    name: str
    arms: Callable[[], Iterator[int]] | None
    """None if the rule chooses"""
    lengths: Callable[[], Iterator[int]] | None = None
    values: Callable[[], Callable[[int], float]] | None = None


@dataclass
class Walk:
    """What one walk left: its tape, and where it ended."""

    path: Path
    tape: Tape
    cut_short: bool
    """whether it was given up for its length"""
    outside: str = ""
    """where a kernel reached outside of its ledger, or a rule wrote where it may not"""
    rounds: int = 0
    """how far it went"""
    failed: bool = False
    """whether its rule failed, so that this path goes no further"""


def verify(
    policy: Policy, arms: int = 3, horizon: int = 300, *, live: bool = False, seed: int = SEED
) -> Verification:
    """What a policy's kernels spend, beside what it claims.

    `live`: the whole-numbered noise of live trials instead of the simulated one. `seed` draws the
    random paths.
    """
    arms = count("arms", arms, least=getattr(policy, "fewest", 2), fix="use 2")
    horizon = count("horizon", horizon, least=arms, fix="use for example horizon=300")
    source = SECURE if live else SIMULATED
    claim = policy.guarantee_at(horizon)
    result = Verification(
        policy.name, claim.budget, claim.definition, None, False, "", arms, horizon, source.name,
        0, 0, conditions=claim.conditions,
    )  # fmt: skip
    released = policy.release.guarantee(policy.schedule, horizon)
    if not released.is_private:
        if claim.is_private:
            reason = (
                "the release is exact and the rule is the mechanism: it draws the choice, and what "
                "a draw costs is not a matter of sums; see its docstring for the proof"
            )
        else:
            reason = "nothing is claimed: the row is not private"
        return replace(result, reason=reason, scope="none")
    fixed_size = getattr(policy, "fixed_size", False)
    if getattr(policy, "risk", 0.0) is None and not fixed_size:  # it was not given a risk
        policy = policy.at(NOMINAL_RISK)  # type: ignore[attr-defined]
    try:
        if policy.release.respond is not None:
            return verify_response(policy, result, source)
        return Verifier(policy, result, source, seed).run()
    except NotAffine as stop:
        return replace(result, reason=f"the release is not affine: {stop}", scope="none")


def verify_response(policy: Policy, result: Verification, source: Source) -> Verification:
    """One response to one reward."""
    setting = policy.setting(result.arms, result.horizon, source)
    kernel = policy.release.respond_kernel(symbolic(source))
    assert kernel is not None
    tape = Tape()
    width = math.inf if policy.release.bounds is None else 1.0
    reward = tape.reward(width, source.resolution, arm=-1, batch=0, first=1, rounds=1)
    answer = kernel.interpreted()(policy.release.parameters(setting), reward, tape)
    if hasattr(answer, "coefficients"):
        tape.numbers.append(answer)
    _, found = losses(tape, whole=source.secure)
    computed = max(
        (spent(each.loss, result.claimed, source.secure) for each in found), key=main_number
    )
    if sum(each.loss != Loss() for each in found) > 1:
        raise NotAffine("it answers with a reward and with a function of it at once")
    noises = max(each.loss.numbers for each in found)
    return replace(
        result, computed=computed, exact=True, paths=1, numbers=1,
        worst=Worst(-1, 1, 1, noises, "any"),
        scope="every public path: a response is one number, and leaves its participant once",
    )  # fmt: skip


class Verifier:
    """Walks paths, and remembers the reward that pays most."""

    def __init__(self, policy: Policy, result: Verification, source: Source, seed: int) -> None:
        self.policy, self.result, self.source, self.seed = policy, result, source, seed
        self.kernels = Kernels.of(policy, source)
        self.settings: dict[int, Setting] = {}
        self.computed = spent(Loss(), result.claimed)
        self.exact = True
        self.worst: Worst | None = None
        self.paths = self.numbers = 0
        self.most = MOST_NUMBERS
        self.cut_short = self.failed = False
        self.breach = ""

    def run(self) -> Verification:
        """The proof, all walks, and what they say."""
        arms, horizon = self.result.arms, self.result.horizon
        proof = prove(self.policy, self._setting(horizon), self.source)
        proved = None if isinstance(proof, str) else self._spent(proof.loss)
        if proved is not None and within(proved, self.result.claimed):
            self.most = SHORT
        else:
            proved = None
        if self.policy.schedule.set_by_rule:
            scope, covered = self._phases(proved is not None), 0
        else:
            alone = [self._walk(path, horizon) for path in arms_alone(arms)]
            for walk in alone:
                self._judge(walk)
            # what the rule does by itself: walked for what it may not do
            self._note(self._walk(rule_paths(arms, self.seed)[-1], min(horizon, CUT_ROUNDS)))
            scope, covered = self._arms(alone, proved is not None)
        if self.numbers == 0 and not self.failed:  # and without releases there is one path
            scope, covered = f"nothing is released within {horizon} rounds", horizon
        elif proved is not None and isinstance(proof, Proof) and covered < horizon:
            scope, covered = f"every public path, at any time: {proof.argument}", horizon
            self._prove(proof, proved)
        elif self.cut_short:
            scope += f"; walks ended after {self.most} numbers, so only those are covered"
        return replace(
            self.result, computed=self.computed, exact=self.exact, worst=self.worst, scope=scope,
            paths=self.paths, numbers=self.numbers, breach=self.breach, covered=covered,
        )  # fmt: skip

    def _spent(self, loss: Loss) -> Budget:
        return spent(loss, self.result.claimed, self.source.secure)

    def _prove(self, proof: Proof, proved: Budget) -> None:
        """What is proved is spent, if a reward is known to pay as much; else it is a bound."""
        walked, bound = main_number(self.computed), main_number(proved)
        if _exceeds(walked, bound):
            return  # a walk has the last word
        seen = math.isclose(walked, bound, rel_tol=1e-9)
        attained = proof.attained or seen
        if not seen:
            self.worst = None  # anyone who pays as much was not met on the way
        tight = is_tight(proof.loss, self.result.claimed, self.source.secure)
        self.computed, self.exact = proved, attained and tight

    def _arms(self, alone: list[Walk], proved: bool) -> tuple[str, int]:
        """What the arms alone say of all paths, and up to which round."""
        reached = min(walk.rounds if walk.cut_short else self.result.horizon for walk in alone)
        if separate(alone) and not self.breach:
            if not proved and self.policy.release.takes_any_block:
                self._cut_blocks()
            return "every public path: arms are separate, so that one arm alone is the worst", (
                reached
            )
        if proved:
            return "", 0
        return self._several(self.result.horizon)

    def _cut_blocks(self) -> None:
        """A release that takes any block is walked on blocks that no schedule would make."""
        arms, horizon = self.result.arms, self.result.horizon
        for path in phase_paths(arms, self.seed):
            self._judge(self._walk(path, min(horizon, CUT_ROUNDS)))

    def _several(self, horizon: int) -> tuple[str, int]:
        """Paths of arms that share something, and up to which round they are all there are."""
        arms = self.result.arms
        for path in (*shared_paths(arms), *random_paths(arms, self.seed)):
            self._judge(self._walk(path, horizon))
        small = min(horizon, max(arms, math.floor(math.log(MOST_PATHS, arms))))
        if arms**small <= MOST_PATHS:
            for order in itertools.product(range(arms), repeat=small):
                path = Path(f"arms {', '.join(map(str, order))}", partial(iter, order))
                self._judge(self._walk(path, small))
            if small == horizon:
                return "every public path, one by one", horizon
            return (
                f"every path at horizon {small}, and at {horizon} the paths walked: arms alone, in "
                f"turn, one after the other, and {RANDOM_PATHS} random ones"
            ), 0
        return "the paths walked: arms alone, in turn, one after the other, random", 0

    def _phases(self, proved: bool) -> str:
        """Paths of a rule that sets the lengths; what is proved takes no others, if it releases
        anything on those."""
        arms, horizon = self.result.arms, self.result.horizon
        for path in rule_paths(arms, self.seed):
            self._judge(self._walk(path, horizon))
        if proved and self.numbers:
            return ""
        scope = "the paths walked: those of the rule, on released values that differ in kind"
        if self.policy.release.takes_any_block:
            for path in phase_paths(arms, self.seed):
                self._judge(self._walk(path, horizon))
            scope += ", and batches of other lengths, arms alone, in turn and at random"
        return scope

    def _setting(self, horizon: int) -> Setting:
        if horizon not in self.settings:
            self.settings[horizon] = self.policy.setting(self.result.arms, horizon, self.source)
        return self.settings[horizon]

    def _walk(self, path: Path, horizon: int) -> Walk:
        return walk(self.policy, self.kernels, self._setting(horizon), path, self.seed, self.most)

    def _note(self, walk: Walk) -> None:
        """What no walk may run into."""
        self.failed |= walk.failed
        if walk.outside and not self.breach:
            self.breach = f"{walk.outside}, on the path {walk.path.name!r}"

    def _judge(self, walk: Walk) -> None:
        """Keep the reward that pays most; look for cheaper shifts only where it would matter."""
        self._note(walk)
        self.paths += 1
        self.numbers += len(walk.tape.numbers)
        self.cut_short |= walk.cut_short
        whole = self.source.secure
        system, found = losses(walk.tape, whole)
        while found:
            front = list(undominated(found))
            budgets = [spent(each.loss, self.result.claimed, whole) for each in front]
            place = max(range(len(front)), key=lambda i: main_number(budgets[i]))
            if not _exceeds(main_number(budgets[place]), main_number(self.computed)):
                return
            top = front[place]
            better = top
            if not top.exact and sharper(self.result.claimed, system):
                better = sharpened(system, walk.tape, top, whole)
            if better is top or not better.exact or better.loss == top.loss:
                if walk.tape.revealed and not within(budgets[place], self.result.claimed):
                    raise NotAffine("it branches on a noisy number, and what that tells is unknown")
                tight = is_tight(top.loss, self.result.claimed, whole) and not walk.tape.revealed
                self.computed, self.exact = budgets[place], better.exact and tight
                self.worst = _worst(walk, top)
                return
            found[next(i for i, each in enumerate(found) if each is top)] = better


def sharper(claimed: Budget, system: System) -> bool:
    """Whether the least shift of the system is the loss in the claimed kind of budget."""
    from ..privacy.budgets import Pure
    from ..privacy.verification._forms import GAUSSIAN

    return isinstance(claimed, Pure) or {kind.law for kind in system.kinds} == {GAUSSIAN}


def _exceeds(value: float, best: float) -> bool:
    return value > best * (1.0 + 1e-12)


def _worst(walk: Walk, candidate: Candidate) -> Worst:
    symbol = walk.tape.symbols[candidate.symbol]
    return Worst(symbol.arm, symbol.first, symbol.rounds, candidate.loss.numbers, walk.path.name)


class Kernels(NamedTuple):
    """A policy's functions, interpreted, with symbols for noise."""

    choose: Function
    length: Function
    publish: Function

    @classmethod
    def of(cls, policy: Policy, source: Source) -> Kernels:
        """Linked once for all walks."""
        return cls(
            policy.choose_kernel.interpreted(),
            policy.length_kernel.interpreted(),
            policy.release.publish_kernel(symbolic(source)).interpreted(),
        )


def walk(
    policy: Policy, kernels: Kernels, setting: Setting, path: Path, seed: int = SEED,
    most: int = MOST_NUMBERS,
) -> Walk:  # fmt: skip
    """One public path, with the policy's own kernels, rewards and noises as symbols."""
    source, arms, horizon = setting.source, setting.arms, setting.horizon
    assert horizon is not None
    tape = Tape(_any_value(path, seed) if path.values is None else path.values(), most)
    choose, length, publish = kernels
    release, schedule, rule = (
        part.parameters(setting) for part in (policy.release, policy.schedule, policy.rule)
    )
    # whatever a release writes into its parameters, others can read
    release = cells(tape, "parameters", release, PublicCells)
    ledger = cells(tape, "ledger", policy.release.ledger(setting))
    memory = cells(tape, "memory", policy.rule.memory(setting))
    view = symbolic_view(tape, arms)
    seen = View(*(Frozen(field) for field in view))
    rng = Choices(seed)
    order = None if path.arms is None else path.arms()
    lengths = None if path.lengths is None else path.lengths()
    t = batch = 0
    try:
        while t < horizon and not tape.is_full and batch < most:
            if order is None:
                try:
                    with untracked(tape):
                        arm = int(choose(rule, memory, seen, t, rng))
                except (NotAffine, Written):
                    raise
                except Exception:  # a rule that does not take these values
                    return Walk(path, tape, False, "", t, failed=True)
            else:
                following = next(order, None)
                if following is None:
                    break
                arm = following
            if not 0 <= arm < arms:
                return Walk(path, tape, False, f"the rule names arm {arm} of {arms}", t)
            rounds = int(length(schedule, memory, seen, arm) if lengths is None else next(lengths))
            if rounds < 1:
                raise NotAffine(f"its schedule plays {rounds} rounds")
            if rounds > horizon - t:  # a batch that the horizon cuts off is never released
                break
            symbol = Symbol(REWARD, 1.0, arm=arm, batch=batch, first=t + 1, rounds=rounds)
            total = tape.symbol(symbol, source.resolution)
            t, batch = t + rounds, batch + 1
            view.pulls[arm] += rounds
            pulls, sizes = plain(view.pulls), plain(view.size)
            try:
                publish(release, ledger, view, arm, rounds, total, tape)
            except (IndexError, ValueError) as stop:
                return Walk(path, tape, False, f"the release fails on a batch: {stop}", t)
            sizes[arm] = plain(view.size)[arm]
            if plain(view.pulls) != pulls or plain(view.size) != sizes:
                what = "the release counts pulls, or rewards behind another arm's value"
                return Walk(path, tape, False, what, t)
    except Written as stop:
        return Walk(path, tape, False, str(stop), t)
    return Walk(path, tape, (tape.is_full or batch == most) and t < horizon, "", t)


def symbolic_view(tape: Tape, arms: int) -> View:
    """The view before the first release, which notes what is written and read."""
    return View(
        Values(tape, "view.value", [0.0] * arms),
        PublicCells(tape, "view.size", [0] * arms),
        Cells(tape, "view.pulls", [0] * arms),
    )


def _any_value(path: Path, seed: int) -> Callable[[int], float]:
    """Released values that no one chose."""
    rng = Choices(f"{seed} {path.name}")
    return lambda arm: rng.normal(0.5, 1.0)


class Written(Exception):
    """A rule or a schedule wrote into the view."""


class Frozen:
    """A field of the view as rules and schedules see it: to be read, not written."""

    __slots__ = ("cells",)

    def __init__(self, cells: Any) -> None:  # Cells, which kernels take for numbers
        self.cells: Cells = cells

    def __getitem__(self, place: Place) -> Any:
        return self.cells[place]

    def __setitem__(self, place: Place, value: object) -> None:
        raise Written(f"the rule or the schedule writes into {self.cells.name}")

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.cells)


def plain(cells: Any) -> list[Any]:
    """A copy of what a field of the view holds, unnoticed."""
    return list(cells.cells)


class untracked:  # noqa: N801  # reads like a statement
    """What a rule looks at is not what a release rests on."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def __enter__(self) -> None:
        self.before = self.tape.touched, self.tape.read_values
        self.tape.touched = set()

    def __exit__(self, *_: object) -> None:
        self.tape.touched, self.tape.read_values = self.before


def separate(alone: list[Walk]) -> bool:
    """Whether no two arms used the same entry, and no released value was read again."""
    if any(walk.tape.read_values for walk in alone):
        return False
    used = [walk.tape.touched for walk in alone]
    return sum(map(len, used)) == len(set[tuple[str, int]]().union(*used))


def arms_alone(arms: int) -> list[Path]:
    """Every arm alone."""
    return [Path(f"arm {arm} alone", partial(itertools.repeat, arm)) for arm in range(arms)]


def shared_paths(arms: int) -> list[Path]:
    """Arms in turn, and one after the other."""

    def one_after_the_other() -> Iterator[int]:
        for size in itertools.count(1):
            for arm in range(arms):
                yield from itertools.repeat(arm, 2**size - 1)

    def late() -> Iterator[int]:
        yield from itertools.repeat(0, 37)
        yield from itertools.cycle(range(arms))

    return [
        Path("arms in turn", partial(itertools.cycle, range(arms))),
        Path("one arm after the other", one_after_the_other),
        Path("arm 0 first, then in turn", late),
    ]


def random_paths(arms: int, seed: int) -> list[Path]:
    """Seeded random arms, uniform or with a favourite."""

    def order(number: int) -> Iterator[int]:
        rng = Choices(f"{seed} {number}")
        favourite = number % arms
        while True:
            alone = number % 2 == 1 and rng.random() < 0.8
            yield favourite if alone else rng.below(arms)

    return [Path(f"random arms {number}", partial(order, number)) for number in range(RANDOM_PATHS)]


def _ranked(gap: float) -> Callable[[], Callable[[int], float]]:
    return lambda: lambda arm: 0.9 - gap * arm


def rule_paths(arms: int, seed: int) -> list[Path]:
    """The rule's own choices on released values: clear, close, far apart, random."""

    def at_random(number: int) -> Callable[[int], float]:
        rng = Choices(f"{seed} {number}")
        return lambda arm: rng.normal(0.5, 0.2 + number)

    return [
        Path("the rule, arms clearly apart", None, None, _ranked(0.4)),
        Path("the rule, arms alike", None, None, _ranked(0.0)),
        Path("the rule, arms very far apart", None, None, _ranked(5.0)),
        Path("the rule, last arm best", None, None, _ranked(-3.0)),
        *(
            Path(f"the rule, random values {n}", None, None, partial(at_random, n))
            for n in range(RANDOM_PATHS)
        ),
    ]


def phase_paths(arms: int, seed: int) -> list[Path]:
    """Lengths that no rule chose."""

    def ones() -> Iterator[int]:
        return itertools.repeat(1)

    def growing() -> Iterator[int]:
        return itertools.count(1)

    def any_length() -> Iterator[int]:
        rng = Choices(seed)
        while True:
            yield 1 + rng.below(7)

    found = []
    for path in [*arms_alone(arms), *shared_paths(arms)[:1], *random_paths(arms, seed)[:2]]:
        for lengths in (ones, growing, any_length):
            label = lengths.__name__.replace("_", " ")
            found.append(Path(f"{path.name}, lengths: {label}", path.arms, lengths))
    return found


def released_noise(release: Release, setting: Setting, sizes: list[int]) -> Tape:
    """The walk of arm 0 alone through batches of these sizes, for the noise of its last number."""
    tape = Tape(None, 1 << 30)
    publish = release.publish_kernel(symbolic(setting.source)).interpreted()
    ledger = cells(tape, "ledger", release.ledger(setting))
    view = symbolic_view(tape, setting.arms)
    parameters, t = release.parameters(setting), 0
    for batch, rounds in enumerate(sizes):
        symbol = Symbol(REWARD, 1.0, arm=0, batch=batch, first=t + 1, rounds=rounds)
        total = tape.symbol(symbol, setting.source.resolution)
        t += rounds
        view.pulls[0] += rounds
        publish(parameters, ledger, view, 0, rounds, total, tape)
    return tape
