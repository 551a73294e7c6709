"""Two lives of one trial: same arrivals, clock, coins and releases, other people.

What they answer, whether and when they respond and, with private contexts, some of their features
differ. Releases are made of zeros in both, so nothing of it may be seen: not in what any call
returns or refuses, in how many numbers it draws, nor in the names and pages of the files (but for
the log of the database, which grows when somebody responds).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from live_cases import Clock

import discreet
import discreet.linear as linear
from discreet.errors import DiscreetError, InvalidArgument
from discreet.identify import IDENTIFIERS
from discreet.live import Trial
from discreet.live import _stream_run as stream_run
from discreet.live._arguments import grouped
from discreet.live._contexts import ContextRun
from discreet.live._curator import Curator
from discreet.live._pairs import PairRun
from discreet.live._randomness import SystemRandomness
from discreet.live._rows import rows_for_trials
from discreet.live._run import Run
from discreet.live.stores import _seal as seal
from discreet.policies import CATALOGUE
from discreet.privacy import _secure as secure

pytestmark = pytest.mark.usefixtures("no_sync")
ARMS = 11
"""so that their numbers have one digit or two"""


def finite(name: str, budget: dict[str, float], **options: Any) -> Callable[..., Trial]:
    settings: dict[str, Any] = dict(budget)

    def make(**more: Any) -> Trial:
        return Trial(
            discreet.policy(name, **settings),
            3,
            deadline=10.0,
            **grouped({"missing": "estimate"} | options | more),
        )

    return make


def contextual(name: str, budget: dict[str, float], **options: Any) -> Callable[..., Trial]:
    def make(**more: Any) -> Trial:
        return linear.Trial(
            linear.policy(name, **budget),
            ARMS,
            horizon=60,
            deadline=10.0,
            missing=0.0,
            **grouped(dict(dimension=2, longest=1e6, **options, **more)),
        )

    return make


PURE, IDENTIFY = {"epsilon": 1.0}, {"risk": 0.1, "missing": 0.0}
KINDS: dict[str, Callable[..., Trial]] = {
    "pairs": finite("adap-klucb", PURE),
    "declared": finite("dp-imed", PURE | {"ratio": 1.5}, missing=0.25),
    "trees": finite("dp-ucb", PURE, missing=0.0, horizon=60),
    "single batches": finite("adap-klucb", PURE, missing=0.0, streams=False, contributions=2),
    "several outcomes": finite("adac-ucb", {"rho": 0.5}, contributions=3, window=4),
    "local": finite("ldp-ucb-l", PURE, missing=0.0),
    "local bits": finite("ldp-ucb-b", PURE, missing=0.0),
    "epochs": finite("dp-imed", PURE | {"ratio": 1.5}, missing=0.0, trend=True, window=12),
    "race": finite("race", PURE, horizon=600, **IDENTIFY),
    "top two": finite("evidence-tt", {"epsilon": 5.0}, **IDENTIFY),
    "elimination": finite("dp-se", {"epsilon": 5.0}, missing=0.0, horizon=500),
    "public contexts": contextual("adac-oful", {"rho": 0.5}),
    "private contexts": contextual("private-linucb", PURE, batch=3),
    "private batches": contextual("jdp-ts", {"rho": 0.5, "first": 3}),
}


def made(row: Any, options: dict[str, Any], **more: Any) -> Trial:
    return Trial(row, 3, deadline=10.0, **grouped(options | more))


def everything() -> dict[str, Callable[..., Trial]]:
    """Every policy that a trial can run, in every way that it can be played."""
    found: dict[str, Callable[..., Trial]] = {}
    ways: dict[str, dict[str, Any]] = {
        "streams": {"missing": 0.0}, "estimated": {"missing": "estimate"},
        "single batches": {"missing": 0.0, "streams": False},
        "trend": {"missing": 0.0, "trend": True}, "shares": {"missing": 0.0, "share": {0: 0.3}},
    }  # fmt: skip
    rows: list[Any] = [CATALOGUE[name].example() for name in rows_for_trials()]
    rows += [IDENTIFIERS[name].example() for name in IDENTIFIERS]
    for row in rows:
        goal = "regret" if row.name in CATALOGUE else "identify"
        risk = {"risk": 0.1} if goal == "identify" and not row.fixed_size else {}
        for way, options in ways.items():
            make = partial(made, row, {"horizon": 90} | risk | options)
            try:
                make(clock=Clock()).close()
            except DiscreetError:
                continue  # refused when it is planned
            found[f"{row.name}, {goal}, {way}"] = make
    return found


KINDS |= everything()
WEIGHTS = {
    "new": 30.0, "again": 8.0, "later": 20.0, "earlier": 2.0, "settle": 3.0, "report": 6.0,
    "status": 3.0, "repr": 3.0, "log": 3.0, "known": 2.0, "reload": 2.0, "drop": 0.7,
    "add": 0.5, "finish": 0.2, "stop": 0.2,
}  # fmt: skip


class World:
    """Coins and noise of a seed, and how many numbers were drawn."""

    def __init__(self) -> None:
        self.drawn, self.noise, self.coin = 0, Random(), Random()

    def begin(self, seed: int) -> None:
        self.drawn, self.noise, self.coin = 0, Random(seed + 7), Random(seed + 9)

    def draw(self, scale: float, rng: None = None) -> int:
        self.drawn += 1
        return int(scale * self.noise.gauss(0.0, 1.0))

    def respond(self, steps: int, resolution: int, epsilon: float) -> int:
        self.drawn += 1
        return self.noise.randrange(2)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose releases hold nothing."""
    world, publish = World(), ContextRun.publish

    def nothing(self: Run, block: Any, default: int | None) -> list[int]:
        for _ in block.places if self.is_local else ():
            self.respond(0)
        return [0] * len(block.places)

    def nobody(self: Run, block: Any, default: int | None) -> tuple[int, int]:
        return 0, 0

    def published(self: ContextRun, actions: Any, outcomes: Any) -> None:
        hidden = [[0] * self.design.dimension for _ in actions]
        publish(self, hidden if self.private else actions, outcomes)

    monkeypatch.setattr(Run, "completed", nothing)
    monkeypatch.setattr(PairRun, "completed", nobody)
    monkeypatch.setattr(ContextRun, "publish", published)
    for name, draw in (
        ("laplace", world.draw), ("gaussian", world.draw), ("randomised_response", world.respond),
    ):  # fmt: skip
        monkeypatch.setattr(secure, name, draw)
    coins: dict[str, Callable[..., Any]] = {
        "below": lambda self, number: world.coin.randrange(number),
        "random": lambda self: world.coin.random(),
        "standard_normal": lambda self: world.coin.gauss(0.0, 1.0),
        "beta": lambda self, a, b: world.coin.betavariate(a, b),
    }
    for name, coin in coins.items():
        monkeypatch.setattr(SystemRandomness, name, coin)
    return world


class Life:
    """One life: `public` decides what everybody sees, `private` what nobody may."""

    def __init__(self, kind: str, seed: int, people: int, folder: Path | None) -> None:
        self.public, self.private = Random(seed), Random(1000 * (seed + 1) + people)
        self.clock, self.folder, self.seen = Clock(), folder, list[Any]()
        options: dict[str, Any] = {"clock": self.clock, "conflicts": "ignore"}
        if folder is not None:
            folder.mkdir()
            options["path"] = folder / "t.db"
        try:
            self.trial = KINDS[kind](corrections="deadline", **options)
        except InvalidArgument:  # of local policies the first answer stands
            self.trial = KINDS[kind](**options)
        run: Any = self.trial._run
        self.features, self.hidden = isinstance(run, ContextRun), run.private
        self.units: list[str] = []
        self.blocks: dict[str, set[str]] = {}

    def live(self, world: World) -> list[Any]:
        for _ in range(self.public.randrange(30, 90)):
            self.hear(world)
            (act,) = self.public.choices(list(WEIGHTS), list(WEIGHTS.values()))
            try:
                shown = getattr(self, act)()
            except DiscreetError as error:
                shown = f"{type(error).__name__}: {error}"
            self.seen.append((act, shown, world.drawn, self.sizes()))
        self.clock.now += 50.0
        self.seen.append((self.report(), world.drawn))
        self.trial.close()
        return self.seen

    def hear(self, world: World) -> None:
        """Whoever responds does so in between; of local policies, with noise of their own."""
        for _ in range(self.private.choice([0, 0, 1, 2]) if self.units else 0):
            before = world.drawn, world.noise.getstate()
            self.answer(self.private.choice(self.units))
            assert self.trial._terms.local or world.drawn == before[0]
            world.drawn = before[0]
            world.noise.setstate(before[1])

    def answer(self, unit: str) -> None:
        """They answer, or correct what they have answered; and some withdraw while their block
        waits, who ask for no arm afterwards."""
        act = self.private.random()
        fickle = int(unit[1:]) % 2 == 1 and self.all_wait(unit)
        if fickle and act < 0.3:
            self.trial.withdraw(unit)
        elif self.trial._terms.corrects and act < 0.5:
            self.trial.correct(unit, self.private.random())
        else:
            self.trial.record(unit, self.private.random())

    def note(self, unit: str) -> None:
        """In which blocks a unit has places, which is public."""
        with self.trial._turn(), self.trial._store.held():
            self.trial._store.ready()
            member = self.trial._store.member(unit)
            assert member is not None
            self.blocks.setdefault(unit, set()).add(member.block)

    def all_wait(self, unit: str) -> bool:
        """Whether none of them is released."""
        with self.trial._turn(), self.trial._store.held():
            self.trial._store.ready()
            return self.blocks[unit] <= set(self.trial._store.blocks)

    def sizes(self) -> dict[str, int]:
        """Pages of the file; the log beside it grows with every call."""
        if self.folder is None:
            return {}
        with closing(sqlite3.connect(self.folder / "t.db")) as file:
            names = {path.name: 0 for path in sorted(self.folder.iterdir())}
            return names | {"t.db": file.execute("PRAGMA page_count").fetchone()[0]}

    def new(self) -> Any:
        unit, own, length = f"u{len(self.seen)}", False, 0.5
        source = self.public
        if self.hidden and self.public.random() < 0.3:
            source, own = self.private, True
            length = self.private.choice([1e-6, 0.1, 0.9, 3e5])
        actions = [[source.uniform(-length, length) for _ in range(2)] for _ in range(ARMS)]
        arm = self.trial.assign(unit, actions if self.features else None)
        self.units.append(unit)
        self.note(unit)
        return "their own" if own else arm

    def again(self) -> Any:
        if not self.units or self.hidden:
            return None
        unit = self.public.choice(self.units)
        if int(unit[1:]) % 2 == 1 and not self.all_wait(unit):
            return None  # whoever may have withdrawn is forgotten at a release, and asks no more
        found = self.trial.assign(unit, [[0.1, 0.2]] * ARMS if self.features else None)
        self.note(unit)
        return found

    def later(self) -> None:
        self.clock.now += self.public.expovariate(1.0 / 3.0)

    def earlier(self) -> None:
        self.clock.now -= self.public.expovariate(1.0 / 3.0)

    def settle(self) -> bool:
        return self.trial.settle()

    def report(self) -> str:
        return json.dumps(self.trial.report())

    def status(self) -> Any:
        return self.trial.status, self.trial.rounds, self.trial.recommendation, str(self.trial)

    def repr(self) -> str:
        return repr(self.trial)

    def known(self) -> bool:
        return "u4" in self.trial

    def log(self) -> Any:
        found = self.trial.log(verify=True)
        return [{**entry, "chain": ""} for entry in found]

    def reload(self) -> None:
        if self.folder is not None:
            self.trial.close()
            self.trial = Trial.load(self.folder / "t.db", clock=self.clock)

    def drop(self) -> None:
        self.trial.drop(self.public.randrange(3))

    def add(self) -> None:
        self.trial.add(f"new {len(self.seen)}")

    def finish(self) -> None:
        self.trial.finish(discard=self.public.random() < 0.5)

    def stop(self) -> None:
        self.trial.stop()


def lives(kind: str, seed: int, world: World, folder: Path | None) -> list[list[Any]]:
    found = []
    for people in (1, 2):
        world.begin(seed)
        mine = None if folder is None else folder / f"{seed}-{people}"
        found.append(Life(kind, seed, people, mine).live(world))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_other_people_with_the_same_releases_cannot_be_told_apart(
    kind: str, world: World, tmp_path: Path
) -> None:
    for seed, folder in ((4, tmp_path), (2, None)):
        one, other = lives(kind, seed, world, folder)
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            assert left == right, number


def settled_by_answers(member: Any, blocks: Any, terms: Any, now: float) -> bool:
    block = blocks.get(member.block)
    return block is None or member.slot in block.outcomes


def no_room(action: list[int]) -> bytes:
    return json.dumps(action).encode() + b" " * 3000 * (len(str(action[0])) > 9)


record = Curator.record


def recorded_and_settled(self: Trial, unit: Any, outcome: float) -> None:
    record(self, unit, outcome)
    self.settle()


@pytest.mark.parametrize(
    ("kind", "where", "name", "leak"),
    [
        ("several outcomes", stream_run, "_is_settled", settled_by_answers),
        ("private contexts", seal, "action_text", no_room),
        ("declared", Curator, "record", recorded_and_settled),
    ],
)
def test_these_lives_find_what_leaks(
    kind: str, where: Any, name: str, leak: Any, world: World, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(where, name, leak)
    for seed in range(8):
        try:
            one, other = lives(kind, seed, world, tmp_path)
        except AssertionError:
            return  # something was drawn when somebody responded
        if one != other:
            return
    raise AssertionError("nothing was found")
