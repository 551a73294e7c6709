"""Do the tests notice? Small changes in code that touches outcomes, one at a time (`make mutants`).

A mutant is one module with one change: a comparison shifted or turned round, + for -, `and` for
`or`, a constant moved, a statement or a refusal left out. A first pass of the tests learns which of
them reach which line; a mutant is *killed* if one of those fails or takes far too long, and has
*survived* otherwise. Survivors are printed with their line: each is a test that is missing, or a
change that changes nothing anyone could see.

    python benchmarks/mutants.py [--sample 300] [--seed 1] [--only live/run.py] [--seconds 20]
        [--tests tests/live tests/privacy]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
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


def changed(mutant: Mutant) -> str:
    """The source of the mutated module."""
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

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


class Reach:
    """A plugin of pytest: which tests reach which lines, and how long they take."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.seen: set[tuple[str, int]] = set()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.seen = set()
        self.begun = time.perf_counter()
        sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        self.lines[nodeid] = self.seen
        self.seconds[nodeid] = time.perf_counter() - self.begun

    def write(self, path: Path) -> None:
        table = {
            test: {
                "seconds": self.seconds[test],
                "lines": sorted((str(Path(file).relative_to(ROOT)), line) for file, line in seen),
            }
            for test, seen in self.lines.items()
            if seen
        }
        path.write_text(json.dumps(table))


def reach(path: Path, tests: list[str]) -> dict[str, Any]:
    """The map from tests to lines, made anew if it is missing."""
    if not path.exists():
        child = os.fork()
        if child == 0:
            import pytest

            plugin = Reach({str(file) for file in modules(None)})
            pytest.main(
                [*tests, "-q", "-p", "no:xdist", "-p", "no:cacheprovider"], plugins=[plugin]
            )
            plugin.write(path)
            os._exit(0)
        os.waitpid(child, 0)
    table: dict[str, Any] = json.loads(path.read_text())
    return table


def killed(mutant: Mutant, tests: list[str], seconds: float, copy: Path) -> bool:
    """Whether a test notices the mutant."""
    place = copy / mutant.path.relative_to(PACKAGE.parent)
    place.write_text(changed(mutant))
    try:
        return fails(tests, seconds, copy)
    finally:
        place.write_text(mutant.path.read_text())


def fails(tests: list[str], seconds: float, copy: Path) -> bool:
    """Whether a test fails or outlasts its time, in a process of its own that imports the copy."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.environ["PYTHONPATH"] = str(copy)
        sys.path.insert(0, str(copy))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        import pytest

        arguments = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header"]
        os._exit(int(pytest.main([*tests, *arguments])))
    end = time.monotonic() + seconds
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
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for a mutant")
    parser.add_argument("--tests", nargs="+", default=["tests/live", "tests/privacy"])
    parser.add_argument("--map", type=Path, default=ROOT / ".venv" / "reach.json")
    options = parser.parse_args()
    os.chdir(ROOT)
    for heavy in ("numpy", "opendp.prelude", "pytest", "scipy.stats"):
        import_module(heavy)  # once, not in every process

    table = reach(options.map, options.tests)
    every = [mutant for path in modules(options.only) for mutant in mutants(path)]
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    print(f"{len(every):,} mutants, {len(chosen):,} tried", flush=True)
    counts = {"killed": 0, "survived": 0, "not reached": 0}
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(PACKAGE.parent, copy)
        if fails(sorted(table, key=lambda test: float(table[test]["seconds"]))[:20], 120.0, copy):
            print("error: tests fail without any mutant; make them pass first")
            return 1
        for mutant in sorted(chosen):
            file = str(mutant.path.relative_to(ROOT))
            tests = sorted(
                (test for test, row in table.items() if [file, mutant.line] in row["lines"]),
                key=lambda test: table[test]["seconds"],
            )
            budget, picked = options.seconds, []
            for test in tests:
                budget -= table[test]["seconds"]
                if budget < 0.0 and picked:
                    break
                picked.append(test)
            if not picked:
                fate = "not reached"
            elif killed(mutant, picked, 60.0 + 5.0 * options.seconds, copy):
                fate = "killed"
            else:
                fate = "survived"
            counts[fate] += 1
            if fate != "killed":
                print(f"{fate:<12} {file}:{mutant.line} {mutant.change}: {mutant.text}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
