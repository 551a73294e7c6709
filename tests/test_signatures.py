"""No function takes more than seven parameters that are not options of the user."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
MOST = 7

OPTIONS = {
    "arms/_trial.py": {"__init__"},
    "audit/_attack.py": {"attack"},
    "audit/_counts.py": {"from_errors"},
    "audit/_search.py": {"audit"},
    "_checks.py": {"number"},
    "confirm/_adaptive.py": {"epochs"},
    "confirm/_alarm.py": {"alarm"},
    "confirm/_characteristics.py": {"operating"},
    "confirm/_designs.py": {"design"},
    "confirm/_several.py": {"several"},
    "confirm/_sizes.py": {"size", "power_at"},
    "confirm/_strata.py": {"strata"},
    "confirm/_unplanned.py": {"unplanned"},
    "_front.py": {"policy"},
    "identify/_runs.py": {"identify"},
    "linear/_catalogue.py": {
        "_adac_gope", "_adac_oful", "_jdp_ts", "_blocks_ts", "_jdp_blocks_ts",
    },
    "linear/_runs.py": {"compare"},
    "live/_rehearsal.py": {"__init__"},
    "live/_trial.py": {"__init__"},
    "membership/gradients/_audits.py": {"audit_dpsgd"},
    "membership/gradients/_canaries.py": {"canife"},
    "membership/gradients/_epochs.py": {"play_epochs"},
    "membership/_leakage.py": {"leakage"},
    "membership/_training.py": {"audit_training"},
    "report/_pictures.py": {"regret_picture"},
    "serve/_run.py": {"serve"},
    "simulator/calendar/_setting.py": {"calendar"},
    "simulator/_runs.py": {"simulate", "compare"},
    "sweeps/_sweep.py": {"sweep"},
    "theory/_bound.py": {"bound"},
    "theory/_choosing.py": {"choose"},
    "theory/_cost.py": {"cost"},
    "theory/planning/_calendar.py": {"plan_trial"},
    "theory/planning/_plan.py": {"plan"},
    "theory/planning/_widths.py": {"interval_widths"},
}  # fmt: skip
"""What users call, each parameter a choice of theirs; `cli` is made of such."""

HANDED_ON = {
    "live/_setup.py": {"finite_plan", "context_plan"},
    "theory/planning/_question.py": {"question"},
}
"""The same options, checked in one place for what users call."""

RESULTS = {"audit/_counts.py": {"audited"}, "audit/_result.py": {"of"}}
"""Make a result, with a parameter per field."""

KERNELS = {
    "audit/_contexts.py": {"play_stream"},
    "audit/_identification.py": {"identify_often"},
    "audit/_streams.py": {"play_all"},
    "audit/_transcripts.py": {"play"},
    "identify/_filling.py": {"fill_whole", "fill_mixed", "fill_ahead", "fill_between", "stride"},
    "identify/_loop.py": {"run"},
    "linear/_loop.py": {"run"},
    "simulator/_late.py": {"run_late"},
    "simulator/_loop.py": {"run"},
}
"""Compiled loops: a policy and a run are plain tuples of arrays there, one per part."""

PICTURES = {"serve/_pages_svg.py": {"_standing", "_means"}}
"""Draw one picture each, in two widths, from the numbers of a report."""

NAMED = [OPTIONS, HANDED_ON, RESULTS, KERNELS, PICTURES]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many it names, but for self and cls."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


def long_ones(folder: Path) -> Iterator[tuple[str, str]]:
    """File and name of every function with more than seven parameters."""
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).as_posix()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and parameters(node) > MOST:
                yield path, node.name


def named(path: str) -> set[str]:
    return set().union(*(names.get(path, set()) for names in NAMED))


def test_functions_take_at_most_seven_parameters() -> None:
    found = {
        f"{path}: {name}"
        for path, name in long_ones(SOURCE)
        if not path.startswith("cli/") and name not in named(path)
    }
    assert found == set()


def test_the_exceptions_are_needed() -> None:
    there = set(long_ones(SOURCE))
    for names in NAMED:
        assert {(path, name) for path in names for name in names[path]} <= there


def test_long_signatures_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text("def f(a, b, c, d, *, e, g, h): ...\n")
    assert list(long_ones(tmp_path)) == []
    file.write_text("class C:\n    def f(self, a, b, /, c, d, *, e, g, h, i=1): ...\n")
    assert list(long_ones(tmp_path)) == [("some.py", "f")]
