"""Kernels: linking by name, digests, and a cache on disk that is fast and never stale."""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import discreet
from discreet import _compiled as compiled
from discreet._compiled import Kernel

# --- functions to link ------------------------------------------------------------------------


def inner(x: float) -> float:
    raise RuntimeError("no inner was filled in")


def double(x: float) -> float:
    return 2.0 * x


def triple(x: float) -> float:
    return 3.0 * x


def middle(x: float) -> float:
    return inner(x) + 1.0


def outer(x: float) -> float:
    return middle(x) * 10.0


FACTOR = 2.0


def scaled(x: float) -> float:
    return FACTOR * x


class Holder(NamedTuple):
    """Has a field with the name of a function of this module."""

    inner: float
    x: float


def attribute(holder: Holder) -> float:
    return holder.inner + holder.x


def both(holder: Holder) -> float:
    return holder.inner + inner(holder.x)


def nested(x: float) -> float:
    return sum([inner(y) for y in (x, x)])


def with_default(x: float, y: float = 0.5) -> float:
    return x + y


def recurring(kernel: Kernel, *arguments: Any) -> None:
    """Interpreted and compiled say the same."""
    assert kernel.interpreted()(*arguments) == kernel.compiled()(*arguments)


def test_names_are_filled_in() -> None:
    kernel = Kernel(middle, inner=double)
    assert kernel.interpreted()(3.0) == 7.0
    assert kernel.compiled()(3.0) == 7.0
    with pytest.raises(RuntimeError, match="no inner"):
        Kernel(middle).interpreted()(3.0)


def test_filled_names_reach_the_callees_of_callees() -> None:
    assert Kernel(outer, inner=triple).interpreted()(1.0) == 40.0
    assert Kernel(outer, inner=triple).compiled()(1.0) == 40.0
    assert Kernel(nested, inner=triple).interpreted()(1.0) == 6.0


def test_the_innermost_kernel_has_the_last_word() -> None:
    kernel = Kernel(outer, middle=Kernel(middle, inner=double), inner=triple)
    assert kernel.interpreted()(1.0) == 30.0
    assert kernel.compiled()(1.0) == 30.0


def test_a_kernel_of_a_kernel_adds_and_replaces_parts() -> None:
    first = Kernel(middle, inner=double)
    assert Kernel(first).interpreted()(1.0) == 3.0
    assert Kernel(first, inner=triple).interpreted()(1.0) == 4.0
    assert first.interpreted()(1.0) == 3.0


def test_an_inlined_kernel_computes_the_same_by_other_code() -> None:
    plain = Kernel(middle, inner=triple)
    kernel = Kernel(outer, middle=plain)
    inlined = Kernel(outer, middle=plain.inlined())
    assert inlined.compiled()(1.0) == kernel.compiled()(1.0) == inlined.interpreted()(1.0) == 40.0
    assert inlined.digest != kernel.digest
    assert Kernel(inlined).digest == inlined.digest
    assert plain.inlined().inline
    assert not plain.inline


def test_linking_leaves_the_function_alone() -> None:
    Kernel(middle, inner=double).interpreted()
    with pytest.raises(RuntimeError):
        middle(1.0)


def test_an_attribute_of_the_same_name_is_not_linked() -> None:
    holder = Holder(5.0, 1.0)
    kernel = Kernel(attribute, inner=double)
    recurring(kernel, holder)
    assert kernel.interpreted()(holder) == 6.0
    assert Kernel(both, inner=triple).compiled()(holder) == 8.0
    assert Kernel(attribute, inner=double).digest == Kernel(attribute, inner=triple).digest


def test_defaults_survive() -> None:
    assert Kernel(with_default).interpreted()(1.0) == 1.5
    assert Kernel(with_default).compiled()(1.0) == 1.5


def test_closures_and_other_callables_are_refused() -> None:
    free = 3.0

    def closure(x: float) -> float:
        return x * free

    for bad in (closure, math.sqrt, 3):
        with pytest.raises(TypeError, match="plain function without closure"):
            Kernel(bad)  # type: ignore[arg-type]


# --- digests ----------------------------------------------------------------------------------


def function_of(text: str, name: str, **names: Any) -> Any:
    space: dict[str, Any] = {"math": math, **names}
    exec(text, space)
    return space[name]


def test_equal_code_has_equal_digests() -> None:
    text = "def f(x):\n    return x * 2.0\n"
    assert Kernel(function_of(text, "f")).digest == Kernel(function_of(text, "f")).digest
    assert Kernel(middle, inner=double).digest == Kernel(middle, inner=double).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return x * 2.0", "return x * 3.0"),
        ("return x * 2.0", "return x + 2.0"),
        ("return x * 2.0", "return 2.0 * x"),
        ("return x * 2", "return x * 2.0"),
        ("return x * 0.0", "return x * -0.0"),
        ("return math.sin(x)", "return math.cos(x)"),
        ("return FACTOR * x", "return LARGE * x"),
        ("return sum([y * 2.0 for y in (x,)])", "return sum([y * 3.0 for y in (x,)])"),
        ("return x * 2.0", "return x * 2.0 if x > 0.0 else 0.0"),
    ],
)
def test_any_change_of_code_changes_the_digest(one: str, other: str) -> None:
    def digest(body: str) -> str:
        text = f"def f(x):\n    {body}\n"
        return Kernel(function_of(text, "f", FACTOR=2.0, LARGE=2.0)).digest

    assert digest(one) != digest(other)


def test_a_default_is_part_of_the_digest() -> None:
    one = function_of("def f(x, y=1.0):\n    return x + y\n", "f")
    other = function_of("def f(x, y=2.0):\n    return x + y\n", "f")
    assert Kernel(one).digest != Kernel(other).digest


def test_a_global_constant_is_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Kernel(scaled).digest
    monkeypatch.setitem(scaled.__globals__, "FACTOR", 2.5)
    assert Kernel(scaled).digest != before


def test_a_callee_deep_down_is_part_of_the_digest() -> None:
    assert Kernel(outer, inner=double).digest != Kernel(outer, inner=triple).digest
    deep = function_of("def double(x):\n    return 2.5 * x\n", "double")
    assert Kernel(outer, inner=double).digest != Kernel(outer, inner=deep).digest


def test_a_constant_of_a_callee_is_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Kernel(outer, inner=scaled).digest
    monkeypatch.setitem(scaled.__globals__, "FACTOR", 2.5)
    assert Kernel(outer, inner=scaled).digest != before


def test_kernels_of_different_code_do_not_share_machine_code() -> None:
    one = function_of("def f(x):\n    return x * 2.0\n", "f")
    other = function_of("def f(x):\n    return x * 3.0\n", "f")
    assert Kernel(one).compiled()(1.0) == 2.0
    assert Kernel(other).compiled()(1.0) == 3.0
    assert Kernel(one).compiled() is Kernel(one).compiled()


# --- the cache on disk ------------------------------------------------------------------------

PROBE = """
import json
import discreet
from discreet import _compiled as compiled

row = discreet.policy("dp-klucb", epsilon=1.0)
law = discreet.Bernoulli([0.7, 0.5, 0.4])
result = discreet.simulate(row, law, horizon=20_000, runs=3, seed=1, threads=1)
stats = [
    dispatcher.stats for dispatcher in compiled._dispatchers.values()
    if type(dispatcher._cache).__name__ != "NullCache"
]
print(json.dumps({
    "regret": result.final_regret.tolist(),
    "hits": sum(sum(s.cache_hits.values()) for s in stats),
    "misses": sum(sum(s.cache_misses.values()) for s in stats),
    "file": discreet.__file__,
}))
"""


def probe(cache: Path, source: Path) -> dict[str, Any]:
    """Simulate in another process, with the package of a folder."""
    environment = os.environ | {
        "DISCREET_CACHE": str(cache),
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """A copy of the package, a cache of its own, and what a first process found."""
    home = tmp_path_factory.mktemp("copy")
    source, cache = home / "source", home / "cache"
    package = Path(discreet.__file__).parent
    shutil.copytree(package, source / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    first = probe(cache, source=source)
    assert first["file"].startswith(str(source))
    return source, cache, first


def test_a_second_process_compiles_nothing(copy: tuple[Path, Path, dict[str, Any]]) -> None:
    source, cache, first = copy
    assert (first["hits"], first["misses"]) == (0, 1)
    second = probe(cache, source=source)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert second["regret"] == first["regret"]


def test_an_edited_formula_is_never_answered_from_the_cache(
    copy: tuple[Path, Path, dict[str, Any]],
) -> None:
    """The nasty case: another file than the loop's, of the same size and modification time."""
    source, cache, first = copy
    edited = source / "discreet" / "policies" / "_divergences.py"
    old, new = "math.expm1(-(tilt + c))", "math.expm1(-(tilt - c))"
    was, text = edited.stat(), edited.read_text(encoding="utf-8")
    assert text.count(old) == 1, "the formula moved: choose another place to break"
    try:
        edited.write_text(text.replace(old, new), encoding="utf-8")
        os.utime(edited, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert edited.stat().st_mtime_ns == was.st_mtime_ns
        assert edited.stat().st_size == was.st_size
        after = probe(cache, source=source)
    finally:
        edited.write_text(text, encoding="utf-8")
    assert (after["hits"], after["misses"]) == (0, 1)
    assert after["regret"] != first["regret"]


def test_a_cache_that_cannot_be_made_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent is a file, which not even the superuser can write into."""
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "file" / "cache"))
    assert compiled.cache_folder() is None
    lonely = function_of("def f(x):\n    return x * 2.125\n", "f")
    assert Kernel(lonely).cached(1.0)(2.0) == 4.25


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    monkeypatch.setenv("DISCREET_CACHE", str(folder))
    assert compiled.cache_folder() is None


def test_the_cache_belongs_to_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached code is executed: nobody else may write it."""
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "a" / "b"))
    folder = compiled.cache_folder()
    assert folder == tmp_path / "a" / "b"
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_was_not_built_for_long_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    (tmp_path / "sub").mkdir()
    old, young, other = (tmp_path / "sub" / name for name in ("a.nbi", "b.nbc", "c.txt"))
    for file in (old, young, other):
        file.touch()
    past = time.time() - compiled.STALE_SECONDS - 60.0
    os.utime(old, (past, past))
    os.utime(other, (past, past))
    assert compiled.cache_folder() == tmp_path
    assert [old.exists(), young.exists(), other.exists()] == [False, True, True]


def test_another_checkout_and_other_lines_of_a_file_compile_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    code = "def tripled(x):\n    return 3.0 * x\n"
    run = (
        "from formula import tripled\n"
        "from discreet._compiled import Kernel\n"
        "print(Kernel(tripled).cached(1.0)(2.0))\n"
    )
    for folder, text in (("one", code), ("two", f"'Another file.'\n\n{code}")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "formula.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", run], cwd=tmp_path / folder, capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == ("6.0\n", "")
    assert len(list((tmp_path / "cache").glob("*.nbc"))) == 1


class One(NamedTuple):
    """A class."""

    x: float


class Two(NamedTuple):
    """Another one with the same shape."""

    x: float


def read(holder: Any) -> float:
    return float(holder.x)


def test_cached_code_is_bound_to_the_classes_of_its_arguments() -> None:
    kernel = Kernel(read)
    assert kernel.cached(One(1.0)) is not kernel.cached(Two(1.0))
    assert kernel.cached(One(1.0)) is kernel.cached(One(2.0))
    assert kernel.cached(One(1.0))(One(3.0)) == kernel.cached(Two(1.0))(Two(3.0)) == 3.0


def doubled(x: float) -> float:
    return x + x


@pytest.mark.parametrize(
    "index",
    [b"", b"not a pickle", b"cdiscreet.not_there\nPlace\n.", b"cdiscreet.compiled\nNotThere\n."],
    ids=["empty", "damaged", "a module of another version", "a class of another version"],
)
def test_machine_code_that_cannot_be_read_is_compiled_again(
    index: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle

    from numba import __version__ as numba_version

    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))

    def freshly() -> Any:
        compiled._dispatchers.clear()
        return compiled.compile_for("doubled", lambda: Kernel(doubled).cached(1.0), (1.0,))

    monkeypatch.setattr(compiled, "_dispatchers", {})
    assert freshly()(3.0) == 6.0
    (file,) = tmp_path.glob("*.nbi")
    file.write_bytes(pickle.dumps(numba_version) + index)
    assert freshly()(3.0) == 6.0
    again = freshly()
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1  # it was written anew
