"""Do the tests notice? Small changes in code that touches outcomes, one at a time (`make mutants`).

A mutant is one module with one change: a comparison shifted or turned round, + for -, `and` for
`or`, a constant moved, a statement or a refusal left out. A first pass of the tests learns which of
them enter which function; a mutant is *killed* if one of those fails or takes far too long, and has
*survived* otherwise. The quickest are tried first, so many seconds of them. Survivors are printed
with their line: each is a test that is missing, or a change that changes nothing anyone could see.
Functions are changed in memory, in a process of its own; what stands outside of them is not tried.

    python benchmarks/mutants.py [--sample 300] [--seed 1] [--only live/run.py] [--seconds 10]
        [--tests tests/live tests/privacy] [--all]
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

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
LONGEST = 1800.0
"""Seconds after which whoever still waits is taken for killed."""


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
            yield Mutant(path, place, change, node.lineno, lines[node.lineno - 1].strip())


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
        new = ast.Pass()

    class Replace(ast.NodeTransformer):
        def visit(self, at: ast.AST) -> Any:
            return ast.copy_location(new, at) if at is node else self.generic_visit(at)

    whole = ast.fix_missing_locations(Replace().visit(tree))
    return compile(whole, str(mutant.path), "exec", dont_inherit=True)


Place = tuple[str, int]
"""A file, and the first line of a function in it; 0 for what is outside of all functions."""


class Reach:
    """A plugin of pytest: which tests enter which functions, and how long they take."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.table: dict[str, Any] = {}
        self.seen: set[Any] = set()

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        self.seen.add(frame.f_code)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.seen = set()
        self.begun = time.process_time()
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # none again
        places = {
            (str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno)
            for code in self.seen
            if code.co_filename in self.files
        }
        if places:
            seconds = time.process_time() - self.begun
            self.table[nodeid] = {"seconds": seconds, "places": sorted(places)}


def reach(path: Path, tests: list[str]) -> dict[str, Any]:
    """The map from tests to functions, made anew if it is missing."""
    if not path.exists():
        child = os.fork()
        if child == 0:
            import pytest

            plugin = Reach({str(file) for file in modules(None)})
            pytest.main([*tests, *QUIETLY], plugins=[plugin])
            path.write_text(json.dumps(plugin.table))
            os._exit(0)
        os.waitpid(child, 0)
    table: dict[str, Any] = json.loads(path.read_text())
    return table


def place_of(mutant: Mutant) -> Place:
    """The outermost function that the change is in."""
    file = str(mutant.path.relative_to(ROOT))
    for node in ast.walk(ast.parse(mutant.path.read_text())):
        inside = isinstance(node, ast.FunctionDef) and node.end_lineno is not None
        if inside and node.lineno <= mutant.line <= node.end_lineno:
            return file, min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return file, 0


def tests_of(mutant: Mutant, table: dict[str, Any], seconds: float) -> list[str]:
    """The quickest tests that enter the function of a change, so many seconds of them; of one that
    is outside of all functions, those that enter anything in its file."""
    file, line = place_of(mutant)
    found = [
        test for test, row in table.items()
        if any(where == file and line in (0, first) for where, first in row["places"])
    ]  # fmt: skip
    picked: list[str] = []
    for test in sorted(found, key=lambda test: seconds_of(table, test)):
        seconds -= seconds_of(table, test)
        if seconds < 0.0 and picked:
            break
        picked.append(test)
    return picked


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
    """Put the mutated code in place of the function's own: whoever has the function, has it."""
    place = place_of(mutant)
    new = {(code.co_qualname, code.co_firstlineno): code for code in codes_in(changed(mutant))}
    for function in known[place]:
        key = function.__code__.co_qualname, place[1]
        function.__code__ = new[key]


def fails(
    tests: list[str], seconds: float, mutant: Mutant | None, known: dict[Place, list[FunctionType]]
) -> bool:
    """Whether a test fails or outlasts its processor time, in a process of its own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds) + 1))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if mutant is not None:
            swap(mutant, known)
        import pytest

        # test modules are imported already, with their assertions rewritten
        os._exit(int(pytest.main([*tests, "-x", "--assert=plain", *QUIETLY])))
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tests for a mutant")
    parser.add_argument("--tests", nargs="+", default=["tests/live", "tests/privacy"])
    parser.add_argument("--map", type=Path, default=ROOT / ".venv" / "reach.json")
    parser.add_argument("--all", action="store_true", help="no map: all tests for every mutant")
    options = parser.parse_args()
    os.chdir(ROOT)
    table = {} if options.all else reach(options.map, options.tests)
    import pytest

    if pytest.main(["--collect-only", *options.tests, *QUIETLY]):
        print("error: the tests cannot be collected")
        return 1
    known = functions()
    every = [
        mutant for path in modules(options.only) for mutant in mutants(path)
        if place_of(mutant) in known
    ]  # fmt: skip
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    print(f"{len(every):,} mutants in functions, {len(chosen):,} tried", flush=True)
    counts: dict[str, Counter[str]] = {}
    first = (
        options.tests if options.all else sorted(table, key=lambda test: seconds_of(table, test))
    )
    if fails(first[:20], 600.0, None, known):
        print("error: tests fail without any mutant; make them pass first")
        return 1
    for mutant in sorted(chosen):
        file = str(mutant.path.relative_to(PACKAGE))
        tests = options.tests if options.all else tests_of(mutant, table, options.seconds)
        fate = "not reached"
        if tests:
            limit = 60.0 + 5.0 * options.seconds
            fate = "killed" if fails(tests, limit, mutant, known) else "survived"
        counts.setdefault(file, Counter())[fate] += 1
        if fate != "killed":
            print(f"{fate:<12} {file}:{mutant.line} {mutant.change}: {mutant.text}", flush=True)
    print(f"{'':<28}{'mutants':>9}{'killed':>9}{'survived':>10}{'not reached':>13}")
    total: Counter[str] = Counter()
    for file, found in counts.items():
        total += found
        print(line_of(file, found))
    print(line_of("all", total))
    return 0


def seconds_of(table: dict[str, Any], test: str) -> float:
    """How long a test took."""
    return float(table[test]["seconds"])


def line_of(name: str, found: Counter[str]) -> str:
    """A line of the table."""
    numbers = found.total(), found["killed"], found["survived"], found["not reached"]
    return "{:<28}{:>9}{:>9}{:>10}{:>13}".format(name, *numbers)


if __name__ == "__main__":
    sys.exit(main())
