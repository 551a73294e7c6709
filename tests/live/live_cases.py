"""Shared by the tests of live trials: rows, a clock, and noise that can be told apart."""

from __future__ import annotations

import gc
import json
import sqlite3
import types
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live._rows import protects_whole_run, serves_trials
from discreet.live.stores import Block
from discreet.live.stores import _seal as seal
from discreet.live.stores._memory import HeldBlock
from discreet.policies import CATALOGUE, Policy, policy
from discreet.privacy._source import SECURE

ROWS = [name for name, row in CATALOGUE.items() if serves_trials(row.example())]
"""Every row that a trial accepts."""
PUBLIC_ROWS = [name for name, row in CATALOGUE.items() if not protects_whole_run(row.example())]
"""Every row that it must refuse because it promises too little."""

SECRET = 0.123456
SECRET_STEPS = round(SECRET * SECURE.resolution)


def short_row(name: str) -> Policy:
    """A row of the catalogue, set up so that it releases something early."""
    if name == "private-thompson":
        return policy(name, epsilon=1.0, gap_estimation=False, fill=4)
    return CATALOGUE[name].example()


def open_block(trial: Trial) -> Block:
    """The block that is not yet released; an empty one where nobody has a place yet."""
    (block,) = list(trial._store.blocks.values()) or [HeldBlock()]
    return block


def run_of(trial: Trial) -> Any:
    """The run of a trial, for a look at what was released."""
    return trial._run


def units_in(trial: Trial) -> list[Any]:
    """Who has a place in it."""
    return [place.unit for place in open_block(trial).places]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class CountedNoise:
    """Integers in place of noise, every one of them different, all of them kept."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def __call__(self, scale: float, rng: None = None) -> int:
        assert rng is None
        self.drawn.append(7_654_321 + 1_000_003 * len(self.drawn))
        return self.drawn[-1]


def batch_trial(*arguments: Any, **options: Any) -> Trial:
    """A trial by the rule of single batches, also where the policy could do otherwise. Without a
    clock of its own, a deadline is in seconds."""
    deadline = options.get("deadline")
    if deadline is not None:
        options.setdefault("missing", 0.0)
    if "clock" not in options and isinstance(deadline, int | float):
        options["deadline"] = f"{deadline} s"
    return Trial(*arguments, **grouped(dict(streams=False, **options)))


def klucb_trial(**options: Any) -> Trial:
    """A trial of the row that most examples use."""
    arms = options.pop("arms", ["A", "B"])
    return batch_trial(policy("adap-klucb", epsilon=options.pop("epsilon", 1.0)), arms, **options)


def fill(trial: Trial, name: str) -> list[str]:
    """New units until the open batch takes no more; they have not answered yet."""
    units: list[str] = []
    while trial.status == "collecting":
        units.append(f"{name}-{len(units)}")
        trial.assign(units[-1])
    return units


def values_in(data: Any) -> Iterator[Any]:
    """All single values of a JSON document."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from values_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from values_in(value)
    else:
        yield data


def damaged(path: Path, statement: str, *values: object) -> None:
    """Somebody has changed a file by hand."""
    with closing(sqlite3.connect(path)) as file:
        file.execute(statement, values)
        file.commit()


def pending_in(path: Path) -> int:
    """Rows of a file that may hold outcomes."""
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM pending").fetchone()[0])


class Keys:
    """Every key under which anything private was sealed; `seal.new_key`, watched."""

    def __init__(self) -> None:
        self.made: list[bytes] = []
        self._new = seal.new_key

    def __call__(self) -> bytes:
        self.made.append(self._new())
        return self.made[-1]


def keys_on_disk(folder: Path, keys: Iterable[bytes]) -> list[bytes]:
    """Which of the keys are left anywhere in the files of a folder."""
    data = b"".join(path.read_bytes() for path in folder.iterdir())
    return [key for key in keys if key in data]


def keys_in_use(path: Path) -> set[bytes]:
    """The keys of open blocks and of the ledger, by the tables of a file."""
    with closing(sqlite3.connect(path)) as file:
        found = file.execute(
            "SELECT key FROM keys WHERE id IN (SELECT key FROM open_blocks) "
            "OR id IN (SELECT key FROM trials)"
        )
        return {key for (key,) in found}


def values_on_disk(folder: Path) -> list[Any]:
    """All single values in all rows of the databases of a folder, with what is sealed in them."""
    found: list[Any] = []
    for path in folder.iterdir():
        if path.name.endswith((".db-wal", ".db-shm")):
            continue
        if path.name.endswith(".witness"):
            for line in path.read_text().splitlines():
                found += values_in(json.loads(line.partition(" ")[2]))
            continue
        with closing(sqlite3.connect(path)) as file:
            keys = dict(file.execute("SELECT id, key FROM keys").fetchall())
            for text, settings, secret, key in file.execute(
                "SELECT public, settings, secret, key FROM trials"
            ):
                for part in (text, settings, seal.opened(keys[key], secret)):
                    found += values_in(json.loads(part))
            for moved, assigned in file.execute("SELECT moved, assigned FROM heads"):
                found += [*values_in(json.loads(moved)), *values_in(json.loads(assigned))]
            found += [json.loads(unit) for (unit,) in file.execute("SELECT unit FROM places")]
            for outcome, action, private, key in file.execute(
                "SELECT q.outcome, q.action, q.private, b.key FROM pending q "
                "JOIN open_blocks b USING (trial, block)"
            ):
                found.append(seal.outcome_in(seal.opened(keys[key], outcome)))
                if action is not None:
                    text = seal.opened(keys[key], action) if private else action
                    found += values_in(json.loads(text))
    return found


def values_in_memory(root: Any) -> list[Any]:
    """All numbers and strings that can be reached from an object, code and classes aside."""
    seen: set[int] = set()
    found: list[Any] = []
    todo = [root]
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen.add(id(thing))
        if isinstance(thing, int | float | str):
            found.append(thing)
        todo.extend(gc.get_referents(thing))
    return found


def functions_in(function: Any, seen: dict[int, Any]) -> dict[int, Any]:
    """A linked kernel and all that it calls."""
    if id(function) not in seen:
        seen[id(function)] = function
        for name in function.__code__.co_names:
            callee = function.__globals__.get(name)
            if isinstance(callee, types.FunctionType):
                functions_in(callee, seen)
    return seen
