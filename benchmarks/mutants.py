"""Do the tests notice? Small changes in code that touches outcomes, one at a time (`make mutants`).

A mutant is one module with one change: a comparison shifted or turned round, + for -, `and` for
`or`, a constant moved, a statement or a refusal left out. A first pass of the tests learns which of
them pass which lines, a second one, shuffled, which of them fail without any mutant: those are
named and left out. A mutant is *killed* if one of its tests fails, *out of time* if they take far
too long, and has *survived* otherwise. The quickest are tried first, so many seconds of them.
Survivors are printed with their line: each is a test that is missing, or a change that changes
nothing anyone could see. Functions are changed in memory, in a process of its own; what stands
outside of them is not tried.

What the first pass learns of a file of tests is kept (`--map`), and so is the fate of every mutant
(`--log`): whatever ends it, or `--minutes`, the same call again goes on from there.

    python benchmarks/mutants.py [--sample 300] [--seed 1] [--only live/run.py] [--seconds 10]
        [--tests tests/live tests/privacy ...] [--at live/run.py:120 ...] [--log file] [--minutes 8]
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import resource
import select
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import _lru_cache_wrapper, lru_cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest

from discreet import _compiled as compiled

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "discreet"
ASIDE = ("__init__.py", "report.py", "rehearsal.py", "tradeoff.py", "accounting.py")
"""Files that see only what was released, or no outcome at all."""

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


QUIETLY = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header")
AGAIN = ("--assert=plain", *QUIETLY)
"""Test modules are imported already, with their assertions rewritten."""

TESTS = ["tests/live", "tests/privacy", "tests/policies", "tests/inference"]
FATES = ("killed", "survived", "out of time", "not reached")
LONGEST = 1800.0
"""Seconds after which whoever still waits is taken to be out of time."""

FOLLOWED = 300
"""Calls of one function that are followed in one test."""

BROKEN = 70
"""How a process ends that did not come as far as its tests."""

Table = dict[str, Any]
"""Of every test, how long it takes and which lines it passes."""

Tracer = Callable[[FrameType, str, object], Any]


class Mutant(NamedTuple):
    """One change: which file, which node of its tree in walking order, which line, what to say."""

    path: Path
    node: int
    change: str
    line: int
    text: str


def modules(only: str | None) -> list[Path]:
    """What is mutated: the live core and the privacy calculus."""
    found = [
        path
        for room in ("live", "privacy")
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name not in ASIDE
    ]
    return [path for path in found if only is None or only in str(path)]


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change of one file, outside annotations, docstrings, messages and decorators."""
    source = path.read_text()
    lines = source.splitlines()
    tree = ast.parse(source)
    spared = {
        id(child) for node in ast.walk(tree) for part in silent(node) for child in ast.walk(part)
    }
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in spared:
            continue
        for change in changes(node):
            where = ast.unparse(node).splitlines()[0][:60]
            text = f"{where} in {lines[node.lineno - 1].strip()}"
            yield Mutant(path, place, change, node.lineno, text)


def silent(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that no test should have to notice."""
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield part
    yield from getattr(node, "decorator_list", ())
    if isinstance(node, ast.Raise) and node.exc is not None:
        yield node.exc  # whether it is raised is tested, its words are not
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node
    if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__"):
        yield from node.body
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        yield node


def changes(node: ast.AST) -> Iterator[str]:
    """Names of the changes that fit a node; `changed` makes them."""
    swapped = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    if type(swapped) in SWAPS:
        yield "swap"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "drop not"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        yield "move"
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "leave out"


def changed(mutant: Mutant) -> CodeType:
    """The mutated module, compiled; lines keep their numbers."""
    tree = ast.parse(mutant.path.read_text())
    node = list(ast.walk(tree))[mutant.node]
    new: Any = deepcopy(node)
    if mutant.change == "swap":
        if isinstance(new, ast.Compare):
            new.ops[0] = SWAPS[type(new.ops[0])]()
        else:
            new.op = SWAPS[type(new.op)]()
    elif mutant.change == "drop not":
        new = new.operand
    elif mutant.change == "move":
        new.value = not new.value if type(new.value) is bool else new.value + 1
    else:
        new = ast.If(ast.Constant(False), [new], [])  # so that the names in it stay what they are

    class Replace(ast.NodeTransformer):
        def visit(self, at: ast.AST) -> Any:
            return ast.copy_location(new, at) if at is node else self.generic_visit(at)

    whole = ast.fix_missing_locations(Replace().visit(tree))
    return compile(whole, str(mutant.path), "exec", dont_inherit=True)


Place = tuple[str, int]
"""A file, and the first line of a function in it; 0 for what is outside of all functions."""


class Reach:
    """A plugin of pytest: which lines a test passes, and how long it takes.

    Compiled code passes no lines; all that is linked into a kernel counts as passed.
    """

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.table: Table = {}
        self.seen: set[tuple[str, int]] = set()
        self.calls: Counter[CodeType] = Counter()
        self.begun = 0.0

    def enter(self, frame: FrameType, event: str, argument: object) -> Tracer | None:
        """Whether to follow a call: not the thousandth of the same function in one test."""
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        self.calls[code] += 1
        return self.line if self.calls[code] <= FOLLOWED else None

    def line(self, frame: FrameType, event: str, argument: object) -> Tracer:
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def linked(self, kernel: compiled.Kernel, parts: dict[str, Any]) -> None:
        code = kernel.function.__code__
        if code.co_filename in self.files:
            self.seen |= {(code.co_filename, line) for _, _, line in code.co_lines() if line}
        inside = {**parts, **kernel.parts}
        for _, callee in compiled._callees(kernel, inside):
            self.linked(callee, inside)

    def pytest_sessionstart(self) -> None:
        link = compiled.Kernel._link

        def _link(kernel: compiled.Kernel, machine: bool, classes: str | None) -> Any:
            if machine:
                self.linked(kernel, {})
            return link(kernel, machine, classes)

        compiled.Kernel._link = _link  # type: ignore[method-assign]  # in a process of its own

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.seen = set()
        self.calls.clear()
        self.begun = time.process_time()
        sys.settrace(self.enter)
        threading.settrace(self.enter)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # none again
        lines: dict[str, list[int]] = {}
        for file, line in sorted(self.seen):
            lines.setdefault(str(Path(file).relative_to(ROOT)), []).append(line)
        if lines:
            self.table[nodeid] = {"seconds": time.process_time() - self.begun, "lines": lines}


class Failures:
    """A plugin of pytest: the tests that failed, with the last line of what was said."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            said = str(getattr(report.longrepr, "reprcrash", "") or report.longrepr)
            self.found.setdefault(report.nodeid, said.strip().splitlines()[0][:200])


def reach(path: Path, files: list[str], end: float) -> Table:
    """The map from tests to lines; files of tests that it does not have are added."""
    known: dict[str, Table] = json.loads(path.read_text()) if path.exists() else {}
    for file in files:
        if file in known:
            continue
        if time.monotonic() > end:
            raise SystemExit(f"stopped: {len(known)} of {len(files)} files of tests are mapped")

        def walk(file: str = file) -> str:
            plugin = Reach({str(module) for module in modules(None)})
            pytest.main([file, *AGAIN], plugins=[plugin])
            return json.dumps(plugin.table)

        ended = apart(walk, LONGEST)
        if ended.status != 0:
            raise SystemExit(f"error: the first pass of {file} ended with status {ended.status}")
        known[file] = json.loads(ended.said)
        path.write_text(json.dumps(known))
    return {test: row for file in files for test, row in known[file].items()}


class Files:
    """A plugin of pytest: the files that the tests are in."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.found = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in items))


def sound(table: Table, chosen: list[Mutant], seconds: float) -> Table:
    """Without the tests that fail here although nothing was changed, in an order that is nobody's,
    of those that the mutants are to be tried by."""
    order = sorted({test for mutant in chosen for test in tests_of(mutant, table, seconds)})
    random.Random(1).shuffle(order)

    def walk() -> str:
        plugin = Failures()
        pytest.main([*order, *AGAIN], plugins=[plugin])
        return json.dumps(plugin.found)

    ended = apart(walk, LONGEST)
    if ended.status != 0:
        raise SystemExit(f"error: the pass without a mutant ended with status {ended.status}")
    found = json.loads(ended.said)
    for test, said in found.items():
        print(f"left out     {test}: {said}", flush=True)
    return {test: row for test, row in table.items() if test not in found}


def place_of(mutant: Mutant) -> Place:
    """The outermost function that the change is in."""
    file = str(mutant.path.relative_to(ROOT))
    for first, last, begins in spans(mutant.path):
        if first <= mutant.line <= last:
            return file, begins
    return file, 0


@lru_cache
def spans(path: Path) -> list[tuple[int, int, int]]:
    """First and last line of every function, outermost first, and where its code object begins."""
    return [
        (
            node.lineno,
            node.end_lineno or 0,
            min([node.lineno, *(m.lineno for m in node.decorator_list)]),
        )
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef)
    ]


def tests_of(mutant: Mutant, table: Table, seconds: float) -> list[str]:
    """The quickest tests that pass the statement of a change, so many seconds of them."""
    file, statement = str(mutant.path.relative_to(ROOT)), set(lines_of(mutant))
    found = [
        test for test, row in table.items() if not statement.isdisjoint(row["lines"].get(file, ()))
    ]
    picked: list[str] = []
    for test in sorted(found, key=lambda test: seconds_of(table, test)):
        seconds -= seconds_of(table, test)
        if seconds < 0.0 and picked:
            break
        picked.append(test)
    return picked


def lines_of(mutant: Mutant) -> range:
    """The lines of the innermost statement that a change is in; of one that holds others, its
    head."""
    found = range(mutant.line, mutant.line + 1)
    for node in ast.walk(parsed(mutant.path)):
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0):
            inside = getattr(node, "body", None)
            last = inside[0].lineno - 1 if inside else node.end_lineno or 0
            if mutant.line <= last or node.lineno == mutant.line:
                found = range(node.lineno, max(last, node.lineno) + 1)
    return found


@lru_cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions() -> dict[Place, list[FunctionType]]:
    """All functions of the modules, as they are in memory, by the line where they begin."""
    files = {str(path): str(path.relative_to(ROOT)) for path in modules(None)}
    found: dict[Place, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in files:
            code = thing.__code__
            found.setdefault((files[code.co_filename], code.co_firstlineno), []).append(thing)
    return found


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and all in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def swap(mutant: Mutant, known: dict[Place, list[FunctionType]]) -> None:
    """Put the mutated code in place of the function's own: whoever has the function, has it.

    What was worked out before, or linked into a kernel, is forgotten.
    """
    place = place_of(mutant)
    new = next(
        code for code in codes_in(changed(mutant))
        if code.co_firstlineno == place[1] and not code.co_name.startswith("<")
    )  # fmt: skip
    for function in known[place]:
        own = function.__code__
        function.__code__ = new.replace(co_name=own.co_name, co_qualname=own.co_qualname)
    compiled._dispatchers.clear()
    for thing in gc.get_objects():
        if isinstance(thing, compiled.Kernel):
            thing._linked.clear()
        elif isinstance(thing, _lru_cache_wrapper) and thing.__module__.startswith("discreet."):
            thing.cache_clear()


class Ended(NamedTuple):
    """How a process ended: the status that the system gives, and what it said."""

    status: int
    said: str


def apart(step: Callable[[], str], seconds: float) -> Ended:
    """Take a step in a process of its own, with so much processor time and a quiet screen."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        status = BROKEN
        try:
            os.close(told)
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds) + 1))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            said = step()
            with open(tell, "w") as out:
                out.write(said)
            status = 0
        finally:
            os._exit(status)
    os.close(tell)
    end = time.monotonic() + LONGEST
    said = b""
    with open(told, "rb", buffering=0) as pipe:
        while (left := end - time.monotonic()) > 0.0 and select.select([pipe], [], [], left)[0]:
            piece = pipe.read(1 << 16)
            if not piece:
                break
            said += piece
        else:
            os.killpg(child, signal.SIGKILL)
    return Ended(os.waitpid(child, 0)[1], said.decode())


def fate_of(
    tests: list[str], seconds: float, mutant: Mutant, known: dict[Place, list[FunctionType]]
) -> tuple[str, str]:
    """What becomes of a mutant, and the test that says so."""

    def walk() -> str:
        swap(mutant, known)
        plugin = Failures()
        code = pytest.main([*tests, "-x", *AGAIN], plugins=[plugin])
        return json.dumps([int(code), *plugin.found])

    ended = apart(walk, seconds)
    if os.WIFSIGNALED(ended.status):
        late = os.WTERMSIG(ended.status) in (signal.SIGXCPU, signal.SIGKILL)
        return ("out of time", "") if late else ("killed", f"signal {os.WTERMSIG(ended.status)}")
    if ended.status != 0:
        raise SystemExit(f"error: {mutant} was not tried, status {ended.status}")
    code, *found = json.loads(ended.said)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"error: {mutant} was not tried, pytest says {code}")
    return ("killed", found[0] if found else f"exit {code}") if code else ("survived", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--at", nargs="+", help="file:line, instead of a sample")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tests for a mutant")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--map", type=Path, default=ROOT / ".venv" / "reach.json")
    parser.add_argument("--log", type=Path, help="where every mutant's fate is written")
    parser.add_argument("--minutes", type=float, default=1e6, help="then stop, to go on later")
    options = parser.parse_args()
    end = time.monotonic() + 60.0 * options.minutes
    os.chdir(ROOT)
    for path in modules(None):
        importlib.import_module(".".join(("discreet", *path.relative_to(PACKAGE).parts))[:-3])
    files = Files()
    if pytest.main(["--collect-only", *options.tests, *QUIETLY], plugins=[files]):
        print("error: the tests cannot be collected")
        return 1
    table = reach(options.map, files.found, end)
    known = functions()
    every = [
        mutant for path in modules(options.only) for mutant in mutants(path)
        if place_of(mutant) in known
    ]  # fmt: skip
    if options.at:
        chosen = [mutant for mutant in every if spot(mutant) in options.at]
    else:
        chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    print(f"{len(every):,} mutants in functions, {len(chosen):,} tried", flush=True)
    counts: dict[str, Counter[str]] = {}
    tried = fates_in(options.log)
    left = [mutant for mutant in sorted(chosen) if named(mutant) not in tried]
    table = sound(table, left, options.seconds) if left else table
    for mutant in sorted(chosen):
        fate = tried.get(named(mutant), "")
        if not fate:
            if time.monotonic() > end:
                raise SystemExit(f"stopped: {len(tried):,} mutants are tried")
            tests = tests_of(mutant, table, options.seconds)
            fate, witness = "not reached", ""
            if tests:
                limit = 60.0 + 5.0 * sum(seconds_of(table, test) for test in tests)
                fate, witness = fate_of(tests, limit, mutant, known)
            tried[named(mutant)] = fate
            if options.log:
                with options.log.open("a") as log:
                    told = [fate, named(mutant), f"{len(tests)} tests", witness]
                    log.write("\t".join(told) + "\n")
        counts.setdefault(str(mutant.path.relative_to(PACKAGE)), Counter())[fate] += 1
        if fate != "killed":
            print(f"{fate:<12} {named(mutant)}", flush=True)
    print(f"{'':<28}{'mutants':>9}" + "".join(f"{fate:>13}" for fate in FATES))
    total: Counter[str] = Counter()
    for file, found in counts.items():
        total += found
        print(line_of(file, found))
    print(line_of("all", total))
    return 0


def named(mutant: Mutant) -> str:
    """What is printed of a mutant; its number tells those of one line apart."""
    return f"{spot(mutant)} {mutant.change}: {mutant.text} ({mutant.node})"


def fates_in(log: Path | None) -> dict[str, str]:
    """What became of the mutants that were tried before."""
    if log is None or not log.exists():
        return {}
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    return {name: fate for fate, name, *_ in lines}


def spot(mutant: Mutant) -> str:
    """Its file and line."""
    return f"{mutant.path.relative_to(PACKAGE)}:{mutant.line}"


def seconds_of(table: Table, test: str) -> float:
    """How long a test took."""
    return float(table[test]["seconds"])


def line_of(name: str, found: Counter[str]) -> str:
    """A line of the table."""
    return f"{name:<28}{found.total():>9}" + "".join(f"{found[fate]:>13}" for fate in FATES)


if __name__ == "__main__":
    sys.exit(main())
