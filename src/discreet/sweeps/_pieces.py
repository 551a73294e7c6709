"""A piece of a sweep: some runs of one cell. It plays the same numbers wherever it is played.

Run i of a cell draws from the i-th child of one SeedSequence, so a piece is fixed by its policy,
problem, horizon, grid of rounds, entropy and the numbers of its first and last run. Its digest
names all of that and the code that plays it, and so names the file of its result: a changed formula
is never answered by its past.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .._progress import Bar
from ..errors import DiscreetError, InvalidArgument
from ..identify._loop import loop_kernel as identifying_loop
from ..identify._runs import Identification
from ..linear._late import LateWork, context_slots
from ..linear._loop import loop_kernel as linear_loop
from ..linear._problem import LinearProblem
from ..linear._row import RoundPolicy
from ..linear._runs import LinearWork
from ..policies._fingerprints import fingerprint
from ..protocol import play_kernel
from ..protocol.worlds._contexts import context_kernel
from ..simulator._comparison import FORMAT, from_table
from ..simulator._files import open_table, save_table
from ..simulator._loop import loop_kernel
from ..simulator._own import OwnPolicy, OwnWork
from ..simulator._record import RECORDS
from ..simulator._results import Result
from ..simulator._runs import Simulation, log_grid
from ..simulator.calendar import TrialWork
from ..simulator.calendar._own import OwnTrialWork
from ..simulator.calendar._runs import filled_of
from ._grid import Cell

ROOMS = ("arms", "policies", "privacy", "protocol", "identify", "linear", "simulator/calendar")
FILES = (
    "_compiled.py", "_draws.py", "simulator/_late.py", "simulator/_loop.py", "simulator/_runs.py",
    "simulator/_seeds.py", "simulator/_work.py",
)  # fmt: skip
"""The code that a run's numbers depend on."""
AnyWork = Simulation | LinearWork | Identification | OwnWork | TrialWork


@dataclass(frozen=True)
class Piece:
    """Runs `first` to `last - 1` of a cell."""

    cell: Cell
    points: int
    shuffle: bool
    entropy: int
    first: int
    last: int
    record: str = RECORDS[0]

    @cached_property
    def digest(self) -> str:
        """What names the piece's file."""
        said = {
            "cell": cell_digest(self.cell),
            "points": self.points,
            "shuffle": self.shuffle,
            "entropy": str(self.entropy),
            "runs": [self.first, self.last],
            "record": self.record,
            "code": source_digest(),
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def kind(self) -> tuple[str, str, str]:
        """Pieces of one kind share compiled code: the first of them compiles it."""
        policy = self.cell.policy
        parts = " ".join(type(getattr(policy, part)).__qualname__ for part in policy.made_of)
        return policy.name, parts, type(self.cell.problem).__name__

    @property
    def size(self) -> int:
        """Rounds, arms and runs: of two pieces of one kind, the larger one takes longer."""
        arms: int = self.cell.problem.arms
        return self.cell.horizon * arms * (self.last - self.first)

    def work(self) -> AnyWork:
        """The runs, ready to be played."""
        cell, runs = self.cell, self.last - self.first
        work: AnyWork
        if cell.calendar is not None:
            grid = log_grid(cell.horizon, self.points)
            kind: Any = LateWork if isinstance(cell.problem, LinearProblem) else TrialWork
            if isinstance(cell.policy, OwnPolicy):
                kind = OwnTrialWork
            work = kind(
                cell.policy, cell.problem, cell.horizon, runs, self.entropy, grid,
                calendar=cell.calendar,
            )  # fmt: skip
        elif cell.policy.kind == "identify":
            work = Identification(cell.policy, cell.problem, cell.horizon, runs, self.entropy)
        else:
            grid = log_grid(cell.horizon, self.points)
            if isinstance(cell.problem, LinearProblem):
                work = LinearWork(cell.policy, cell.problem, cell.horizon, runs, self.entropy, grid)
            elif isinstance(cell.policy, OwnPolicy):
                work = OwnWork(
                    cell.policy, cell.problem, cell.horizon, runs, self.entropy, grid,
                    shuffle=self.shuffle,
                )  # fmt: skip
            else:
                work = Simulation(
                    cell.policy, cell.problem, cell.horizon, runs, self.entropy, grid,
                    shuffle=self.shuffle,
                )  # fmt: skip
        work.first, work.record = self.first, self.record
        return work


class Played(NamedTuple):
    """What a piece came to, and the seconds that its runs took."""

    result: Result
    seconds: float


class Stopped(DiscreetError):
    """A piece was stopped in its middle: it is played again, from its first run."""


def play(piece: Piece, code: str, stop: threading.Event | None = None) -> Played:
    """All runs of a piece, one after the other, by code of that digest."""
    if source_digest() != code:
        raise DiscreetError(
            "every worker must have the same version of discreet as the one who asks; "
            "install it on all of them, and start them again"
        )
    work = piece.work()
    work.stop = stop or work.stop
    work.do(1, Bar(False))
    if not work.complete:
        raise Stopped("the piece was stopped")
    return Played(timeless(work.result()), work.seconds)


def timeless(result: Result) -> Result:
    """The same without what differs from one time to the other: its file has the same bytes."""
    return replace(result, seconds=math.nan, policy=result.policy | {"label": ""})


def cell_digest(cell: Cell) -> str:
    """What is played: the policy's parts and settings, the problem, the horizon."""
    policy, problem = cell.policy, cell.problem
    said = {
        "policy": policy.to_dict() | {"label": ""},
        "parts": fingerprint(policy),
        "problem": problem.to_dict(),
        "horizon": cell.horizon,
    }
    # parts of one's own stand in files that `source_digest` misses
    if cell.calendar is not None:
        said |= {"calendar": cell.calendar.to_dict()}
    if cell.calendar is not None and isinstance(policy, RoundPolicy):
        said["kernel"] = context_kernel(context_slots(policy, problem), "calendar").digest
    elif cell.calendar is not None and not isinstance(problem, LinearProblem):
        filled = filled_of(policy, problem, cell.calendar, cell.horizon)
        said["kernel"] = play_kernel(filled).digest
    elif policy.kind == "finite":
        said["kernel"] = loop_kernel(policy, problem.draw, problem.lost).digest
    elif policy.kind == "identify":
        said["kernel"] = identifying_loop(policy, problem.draw).digest
    elif isinstance(policy, RoundPolicy):
        said["kernel"] = linear_loop(policy, problem.contexts.offer, problem.rewards.pay).digest
    if isinstance(problem, LinearProblem):  # its settings may be short: a seed and two numbers
        said |= {"theta": problem.theta.tolist(), "contexts": problem.contexts.to_dict()}
    return json.dumps(said, sort_keys=True)


def check_lasting(cell: Cell) -> None:
    """Refuse a folder for what no later process could recognise."""
    if isinstance(cell.policy, OwnPolicy):
        raise InvalidArgument(
            "folder", "be left out for objects of your own: code that changes would go unnoticed",
            cell.policy.name, "leave folder out, and save what sweep returns",
        )  # fmt: skip
    if '"opaque"' in json.dumps(cell.problem.to_dict()):
        raise InvalidArgument(
            "problems", "be described by numbers if a folder keeps their results", cell.name,
            "use scipy distributions instead of functions, or leave folder out",
        )  # fmt: skip


@lru_cache(maxsize=1)
def source_digest() -> str:
    """A digest of the code that a run's numbers depend on, and of what draws them."""
    import numba
    import numpy as np

    package = Path(__file__).parent.parent
    files = [file for room in ROOMS for file in sorted((package / room).rglob("*.py"))]
    seen = hashlib.sha256(f"numpy {np.__version__}, numba {numba.__version__}".encode())
    for file in [*files, *(package / name for name in FILES)]:
        seen.update(file.relative_to(package).as_posix().encode())
        seen.update(file.read_bytes())
    return seen.hexdigest()


def write(result: Result, path: Path) -> None:
    """A piece's file: the same bytes whenever it is written."""
    save_table(result.table(), path)


def read(path: Path) -> Result:
    """The result in a piece's file."""
    table, _ = open_table(path, "piece", newest=FORMAT)
    return from_table(table)[0]


def joined(cell: Cell, parts: list[Result]) -> Result:
    """The pieces of a cell, in the order of their runs, as one result."""
    import numpy as np

    changed: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("run", "counted", "regret")
    }
    changed |= {
        "more": {n: np.concatenate([part.more[n] for part in parts]) for n in parts[0].more},
        "complete": all(part.complete for part in parts),
        "policy": parts[0].policy | {"label": cell.policy.label},
        "problem": cell.name,
    }
    return replace(parts[0], **changed)
