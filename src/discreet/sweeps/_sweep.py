"""`discreet.sweep`: a grid of policies, problems and settings, each cell played many times.

>>> import discreet
>>> found = discreet.sweep(
...     ["imed", "dp-imed"], discreet.Bernoulli([0.7, 0.5]), epsilon=[0.1, 1.0],
...     horizon=[100, 1000], runs=5, seed=1,
... )
>>> found.labels, len(found)
(['imed', 'dp-imed ε=0.1', 'dp-imed ε=1'], 6)
>>> found.table().column_names[:3]
['policy', 'row', 'epsilon']

With `folder`, every piece becomes a Parquet file that is named by its digest: a sweep that was
stopped, by Ctrl-C, a lost worker or a lost machine, continues where it was when it is called again,
and ends with the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

from .._checks import MOST_RUNS, check_flag, count
from .._progress import Bar
from ..errors import DamagedFile, InvalidArgument
from ..identify._runs import MAX_SAMPLES
from ..simulator._comparison import Comparison
from ..simulator._record import RECORDS, check_record
from ..simulator._results import Result
from ..simulator._runs import LATE, check_kept
from ..simulator._work import check_room, check_threads, entropy_of
from ._grid import (
    Cell,
    Days,
    Policies,
    Problems,
    built,
    cells_of,
    labelled,
    late_cells,
    values_of,
)
from ._pieces import Piece, Played, check_lasting, joined, read, timeless, write
from ._pool import check_executor, run

PIECE = 25
"""Runs of a piece."""
ABANDONED = 3600.0
"""Seconds after which a file that was not finished is removed."""


def sweep(
    policies: Policies,
    problems: Problems,
    *,
    horizon: float | Iterable[float] | None = None,
    risk: float | Iterable[float] | None = None,
    runs: int = 100,
    seed: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    folder: str | Path | None = None,
    points: int = 100,
    shuffle: bool = True,
    max_samples: float = MAX_SAMPLES,
    piece: int = PIECE,
    progress: bool | Bar | None = None,
    record: str = RECORDS[0],
    arrivals: float | None = None,
    **grid: object,
) -> Comparison:
    """Play every policy with every setting that it takes in every environment, with the same seeds.

    Cells are cut into pieces, which run on threads, processes or a cluster. The results do not
    depend on where they run, and with a folder a stopped sweep continues where it was.

    Args:
        policies: Names, which take the settings; or policies, which have theirs; or objects with
            `select` and `update`.
        problems: An environment or a linear problem, a list of them, or a mapping from labels.
        horizon: Rounds: one number or several.
        risk: For policies that identify the best arm: the probability of a wrong answer.
        runs: The number of runs of each cell.
        seed: Random seed, for reproducible results. Default: random.
        executor: Any `concurrent.futures.Executor`. Default: threads.
        threads: The number of threads. Default: all cores.
        folder: Where finished pieces are stored.
        points: Points of the regret curves.
        shuffle: Whether every run has a random order of the arms.
        max_samples: Where a run of a policy that identifies ends without an answer.
        piece: Runs of a piece.
        progress: Whether to show a bar. Default: on a terminal.
        record: "regret" keeps no pulls, which take gigabytes with many arms and runs.
        arrivals: Participants a day; outcomes then come late, as in `simulate`.
        **grid: Budgets (epsilon, delta, rho, renyi_alpha, mu) and options, each a value or a list;
            with arrivals also what `simulate` takes.

    Returns:
        A `Comparison` with one result per cell. After Ctrl-C it has what is
        finished.

    Raises:
        InvalidArgument: If an argument breaks its rule, or an option belongs to no policy.

    Example:
        >>> import discreet
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> found = discreet.sweep(["imed", "dp-imed"], arms, epsilon=[0.5, 1], horizon=200, runs=2)
        >>> len(found)
        3
    """
    days = Days(arrivals, {name: grid.pop(name) for name in LATE if name in grid})
    wanted = {name: values_of(name, given) for name, given in grid.items()}
    risks = (None,) if risk is None else tuple(values_of("risk", risk))
    horizons = None if horizon is None else values_of("horizon", horizon)
    late = arrivals is not None or bool(days.late)
    rows = built(policies, wanted, "identify" if risk is not None else None, late)
    record = check_record(record)
    if late:
        check_kept(record)
        if horizons is None and any(row.kind != "identify" for row in rows):
            raise InvalidArgument("horizon", "be given with arrivals", None, "use horizon=1e4")
        cells = late_cells(rows, labelled(problems), horizons or [max_samples], risks, days)
    else:
        cells = cells_of(rows, labelled(problems), horizons, risks, max_samples)
    runs = count("runs", runs, most=MOST_RUNS)
    points = count("points", points, least=2, most=MOST_RUNS)
    size = count("piece", piece, most=MOST_RUNS)
    for cell in cells:
        check_room(runs, points, cell.problem.arms, record)
    entropy, workers = entropy_of(seed), check_threads(threads)
    ordered = check_flag("shuffle", shuffle)
    pieces = [
        [
            Piece(cell, points, ordered, entropy, first, min(first + size, runs), record)
            for first in range(0, runs, size)
        ]
        for cell in cells
    ]
    every = [one for several in pieces for one in several]
    check_executor(executor, [several[0] for several in pieces])
    store = None if folder is None else Store(folder, cells)
    done: dict[int, Result] = {} if store is None else dict(store.found(every))

    def keep(played: Piece, outcome: Played) -> None:
        done[id(played)] = outcome.result
        if store is not None:
            store.add(played, outcome.result)

    missing = [one for one in every if id(one) not in done]
    with Bar.of(progress) as bar:
        bar.estimates = False
        run(missing, executor, workers, keep, bar, len(every) - len(missing))
    results = [_gathered(several, done) for several in pieces]
    return Comparison(tuple(results))


def _gathered(pieces: list[Piece], done: dict[int, Result]) -> Result:
    """What is finished of a cell, as one result; none of its runs, if Ctrl-C came first."""
    parts = [done[id(piece)] for piece in pieces if id(piece) in done]
    found = joined(pieces[0].cell, parts or [timeless(pieces[0].work().result())])
    return replace(found, complete=len(parts) == len(pieces))


class Store:
    """A folder of pieces: one file each, whole or not there."""

    def __init__(self, folder: str | Path, cells: list[Cell]) -> None:
        for cell in cells:
            check_lasting(cell)
        try:
            folder = Path(folder)
            folder.mkdir(parents=True, exist_ok=True)
            oldest = time.time() - ABANDONED
            for file in folder.glob(".*.parquet.*"):  # its writer was ended before it was whole
                if file.stat().st_mtime < oldest:
                    file.unlink(missing_ok=True)
        except (OSError, TypeError) as error:
            raise InvalidArgument(
                "folder", "be a folder that can be written", str(folder), f"{error}"
            ) from None
        self.folder = folder

    def path(self, piece: Piece) -> Path:
        """The file of a piece."""
        return self.folder / f"{piece.digest}.parquet"

    def add(self, piece: Piece, result: Result) -> None:
        """Write a piece's file."""
        write(result, self.path(piece))

    def found(self, pieces: list[Piece]) -> Iterator[tuple[int, Result]]:
        """The pieces that are there; a damaged one is played again."""
        there = {file.name for file in self.folder.iterdir()}
        for piece in pieces:
            path = self.path(piece)
            if path.name not in there:
                continue
            try:
                result = read(path)
            except (DamagedFile, KeyError, TypeError, ValueError):
                continue
            if list(result.run) == list(range(piece.first, piece.last)):
                yield id(piece), result
