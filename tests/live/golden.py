"""Lives of trials of every kind, scripted: the same coins, noise, clock and outcomes, every time.

What a trial shows in such a life is kept in `data/transcripts.json`. Coins are scripted by what
they are for, not by their order: the order of a window is a function of the participant's number,
so a trial that asks for a coin more, or for one less, still lives the same life.

    python tests/live/golden.py    # writes the transcripts anew, after a change that is meant
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet.errors import DiscreetError
from discreet.live._arguments import grouped
from discreet.live._setup import Sources
from discreet.live._visits import RehearsedTrial
from discreet.privacy._source import REHEARSED

TRANSCRIPTS = Path(__file__).parent / "data" / "transcripts.json"
SPREAD = 0.37
"""Where the places of arms that have no release, and least shares, are rounded."""


class Scripted:
    """Coins by purpose."""

    def __init__(self, seed: int) -> None:
        self.step = 0
        self._order = random.Random(seed)
        self._orders: list[int] = []
        rng = np.random.Generator(np.random.PCG64(seed))
        self.beta, self.standard_normal = rng.beta, rng.standard_normal
        self.standard_exponential = rng.standard_exponential

    def random(self) -> float:
        return SPREAD

    def below(self, number: int) -> int:
        while len(self._orders) <= self.step:
            self._orders.append(self._order.getrandbits(60))
        return self._orders[self.step] % number


class GoldenTrial(RehearsedTrial):
    """A trial whose coins and noise are scripted."""

    def __init__(self, coins: Scripted, seed: int, *arguments: Any, **options: Any) -> None:
        rng = np.random.Generator(np.random.PCG64(seed))
        self._scripted = Sources(REHEARSED, coins, rng)
        super().__init__(rng, *arguments, **options)

    def _planned(self, policy: Any, arms: int, **options: Any) -> Any:
        self._sources = self._scripted
        return super()._planned(policy, arms, **options)


class Life(NamedTuple):
    """A kind of trial, and what is done to it when."""

    policy: str
    arms: int
    people: int
    options: dict[str, Any]
    budget: dict[str, Any]
    events: dict[int, tuple[str, Any]]
    answered: float
    gap: float
    """between the means of an arm and the next"""


def life(
    policy: str, arms: int = 3, people: int = 220, *, budget: dict[str, Any] | None = None,
    events: dict[int, tuple[str, Any]] | None = None, gap: float = 0.1, **options: Any,
) -> Life:  # fmt: skip
    if "deadline" not in options:
        options["deadline"] = 3.0
    answered = 0.85
    if options["deadline"] is not None:
        options.setdefault("missing", 0.0)
    else:
        answered = 1.0
    return Life(
        policy, arms, people, options, budget or {"epsilon": 1.0}, events or {}, answered, gap
    )


IDENTIFY = {"risk": 0.05}
CHANGES = {60: ("drop", "b"), 90: ("add", "new"), 150: ("finish", None)}

LIVES = {
    "index": life("dp-imed"),
    "index, horizon": life("dp-imed", horizon=150),
    "index, window 1": life("dp-imed", window=1),
    "index, window 24, shares": life("dp-imed", 4, window=24, share={"a": 0.2, "c": 0.1}),
    "index, changes": life("dp-imed", 4, events=CHANGES),
    "index, discards": life("dp-imed", events={100: ("discard", None)}),
    "index, no deadline": life("dp-imed", deadline=None),
    "index, stopped": life("dp-imed", events={101: ("stop", None)}),
    "index, twice": life("dp-imed", contributions=2, conflicts="ignore"),
    "index that forgets": life("adap-klucb"),
    "index that forgets, Gaussian": life("adac-ucb", budget={"rho": 0.5}),
    "index of running sums": life("dp-klucb", window=5),
    "index, tree": life("dp-ucb", people=90, horizon=120),
    "index, tree that fills": life("lazy-dp-ts", people=120, horizon=200),
    "index, sampled": life("dp-ts", people=80, horizon=100),
    "index, local bits": life("ldp-ucb-b", people=120),
    "index, local Laplace": life("ldp-ucb-l", people=120, window=1),
    "index, exact exponent": life("laplace-imed", people=300, window=6),
    "pairs": life("dp-imed", missing="estimate"),
    "pairs, changes": life("dp-imed", 4, missing="estimate", events=CHANGES),
    "pairs that forget": life("adap-klucb", missing="estimate", window=4),
    "pairs, Gaussian": life("gauss-imed", missing="estimate", budget={"rho": 0.5}),
    "epochs": life("dp-imed", trend=True, people=400),
    "epochs, shares": life("dp-imed", 3, trend=True, people=400, window=60, share={"a": 0.2}),
    "epochs, changes": life(
        "dp-imed",
        4,
        trend=True,
        people=400,
        events={130: ("drop", "b"), 200: ("add", "new"), 300: ("finish", None)},
    ),
    "epochs, horizon": life("dp-imed", 2, trend=True, horizon=250, people=300),
    "looks, race": life("race", people=900, horizon=800, **IDENTIFY),
    "looks, race of four": life(
        "race", 4, people=700, horizon=1500, **IDENTIFY, events={300: ("drop", "c")}
    ),
    "looks, race, no deadline": life("race", people=400, horizon=600, deadline=None, **IDENTIFY),
    "looks, elimination": life("dp-se", people=2500, horizon=1e5, budget={"epsilon": 4.0}),
    "looks, elimination, ended": life(
        "dp-se", people=1500, horizon=1e4, budget={"epsilon": 2.0}, events={1200: ("finish", None)}
    ),
    "looks, race that is won": life(
        "race", 2, 900, horizon=1500, gap=0.5, **IDENTIFY, budget={"epsilon": 5.0}
    ),
    "top two, evidence that is enough": life("evidence-tt", people=2000, gap=0.2, **IDENTIFY),
    "top two, doubling, enough": life(
        "adap-tt", 2, 3000, gap=0.6, **IDENTIFY, budget={"epsilon": 5.0}
    ),
    "top two, evidence": life("evidence-tt", people=700, **IDENTIFY),
    "top two, evidence, dropped": life(
        "evidence-tt", 4, people=500, **IDENTIFY, events={200: ("drop", "b"), 400: ("finish", None)}
    ),
    "top two, evidence, horizon": life(
        "evidence-tt", people=400, horizon=300, window=9, **IDENTIFY
    ),
    "top two, doubling": life("adap-tt", people=400, **IDENTIFY),
    "top two, local": life("ctb-tt", people=150, **IDENTIFY),
    "one batch": life("dp-imed", streams=False),
    "one batch, no deadline": life("adap-klucb", streams=False, deadline=None),
    "one batch, horizon": life("dp-se", people=900, horizon=800, streams=False),
}


def told(report: dict[str, Any]) -> dict[str, Any]:
    """What a report says but for words."""
    words = ("policy", "settings", "guarantee", "meaning", "budget")
    return {name: value for name, value in report.items() if name not in words}


def lived(name: str) -> Iterator[object]:
    """What is seen of a life, event by event."""
    policy, arms, people, options, budget, events, answered, gap = LIVES[name]
    coins, world, now = Scripted(7), random.Random(name), [0.0]
    trial = GoldenTrial(
        coins, 11, discreet.policy(policy, **budget), list("abcdef"[:arms]), clock=lambda: now[0],
        **grouped(options),
    )  # fmt: skip
    letters: list[tuple[float, int, float]] = []
    for person in range(people):
        now[0] += world.expovariate(12.0)
        letters.sort()
        while letters and letters[0][0] <= now[0]:
            _, unit, outcome = letters.pop(0)
            trial.record(unit, outcome)
        if person in events:
            yield _happens(trial, *events[person])
        coins.step += 1
        unit = person // 2 if options.get("contributions") and person % 7 == 3 else person
        try:
            arm = trial.assign(unit)
        except DiscreetError as error:
            yield str(error).split(";")[0]
            break
        yield arm
        if world.random() < answered:
            mean = 0.3 + gap * "abcdefn".index(str(arm)[0])
            outcome = round(min(1.0, max(0.0, world.gauss(mean, 0.2))), 3)
            late = world.choice([0.2, 1.0, 2.5, 2.9, 3.5]) if options["deadline"] else 0.5
            letters.append((now[0] + late, unit, outcome))
        if person % 50 == 49:
            yield told(trial.report())
    if options["deadline"] is not None:
        now[0] += 10.0
    yield told(trial.report())
    record = trial.public_record()
    yield None if record is None else repr(record)
    epochs = trial.public_epochs()
    yield None if epochs is None else repr(epochs)


def _happens(trial: GoldenTrial, what: str, to: Any) -> object:
    """Somebody changes the trial."""
    try:
        if what == "drop":
            trial.drop(to)
        elif what == "add":
            trial.add(to)
        elif what == "finish":
            trial.finish()
        elif what == "discard":
            trial.finish(discard=True)
        else:
            trial.stop(because="board")
    except DiscreetError as error:
        return f"{what}: {type(error).__name__}"
    return what


def digest(seen: list[object]) -> str:
    return hashlib.sha256(json.dumps(seen, sort_keys=True, default=str).encode()).hexdigest()


def transcript(name: str) -> dict[str, object]:
    """Of a life: the arms that were given, and a digest of all that was seen."""
    seen = list(lived(name))
    arms = "".join(each[0] for each in seen if isinstance(each, str) and each in "abcdefnew")
    return {"arms": arms, "entries": len(seen), "digest": digest(seen)}


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked:
        for each in asked:
            for entry in lived(each):
                print(entry)
    else:
        found = {name: transcript(name) for name in LIVES}
        TRANSCRIPTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
