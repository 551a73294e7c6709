"""Formulas as plain functions, linked by name, compiled once.

Every formula of the package is a plain Python function in numba's subset, on scalars, flat
sequences and NamedTuples of them. A *kernel* is such a function whose calls are filled in by name:

>>> def area(side):
...     return power(side)
>>> def square(x):
...     return x * x
>>> kernel = Kernel(area, power=square)
>>> kernel.interpreted()(3.0), kernel.compiled()(3.0)
(9.0, 9.0)

So one text serves the simulator (compiled, on arrays) and the live trial (interpreted, on lists of
integers, with other noise filled in), and nothing imports numba before something is simulated.

Compiled kernels outlive the process: they are cached on disk under a digest of all the code they
contain, callees and constants included, and of the classes of their arguments. A changed formula
has a new digest, in whatever file it stands, so it can never be answered by its own past.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from .errors import InvalidArgument

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Function = Callable[..., Any]


class Floats(Protocol):
    """A flat sequence of floats: a numpy array when compiled, a list when interpreted."""

    def __getitem__(self, place: int, /) -> float: ...
    def __setitem__(self, place: int, value: float, /) -> None: ...
    def __iter__(self) -> Iterator[float]: ...
    def __len__(self) -> int: ...


class Integers(Protocol):
    """A flat sequence of integers, likewise."""

    def __getitem__(self, place: int, /) -> int: ...
    def __setitem__(self, place: int, value: int, /) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...


STALE_SECONDS = 60 * 24 * 3600.0
"""A cached kernel that was not built for so long is removed when the next one is built."""

_lock = threading.RLock()
_uncounted = threading.local()
_dispatchers: dict[tuple[str, str | None, bool], Function] = {}


class Kernel:
    """A function with the functions that it calls, directly or not, filled in by name.

    Names that are filled in hold for the function and everything it calls, unless a callee is
    itself a Kernel that fills in the same name: `Kernel(publish, noise=laplace)` reaches the
    `noise` of a counter that `publish` calls.
    """

    __slots__ = ("_linked", "function", "inline", "parts")

    def __init__(self, function: Function | Kernel, **parts: Function | Kernel) -> None:
        self.inline = False
        if isinstance(function, Kernel):
            self.inline = function.inline
            parts = {**function.parts, **parts}
            function = function.function
        if not isinstance(function, types.FunctionType) or function.__closure__:
            raise TypeError(f"a kernel needs a plain function without closure, got {function!r}")
        self.function: types.FunctionType = function
        self.parts: dict[str, Function | Kernel] = parts
        self._linked: dict[tuple[bool, str | None, bool], Function] = {}

    def __repr__(self) -> str:
        inside = "".join(f", {name}={part!r}" for name, part in self.parts.items())
        return f"Kernel({self.function.__name__}{inside})"

    def __reduce__(self) -> tuple[object, ...]:
        """Travels without what was linked: the other process links it again."""
        return _restored, (self.function, self.parts, self.inline)

    def inlined(self) -> Kernel:
        """The same, to be compiled into its caller with all that it calls. Worth it for what runs
        every round and draws: else a reference to the whole generator is counted at every draw."""
        kernel = Kernel(self)
        kernel.inline = True
        return kernel

    @property
    def digest(self) -> str:
        """A digest of all the code inside: equal digests compute the same."""
        return _digest(self, {})

    def interpreted(self) -> Function:
        """The kernel as an ordinary Python function."""
        return self._link(False, None)

    def compiled(self) -> Function:
        """The kernel compiled by numba, for this process."""
        return self._link(True, None)

    def cached(self, *arguments: object) -> Function:
        """The kernel compiled for such arguments, its machine code kept for later processes."""
        return self._link(True, _classes(arguments))

    def _link(self, compiled: bool, classes: str | None) -> Function:
        key = (compiled, classes, _counts())
        if key not in self._linked:
            if compiled:
                with _lock:
                    self._linked[key] = _link(self, {}, compiled, classes, inner=False)
            else:  # shares nothing with other threads: no interrupt can leave a lock behind
                self._linked[key] = _link(self, {}, compiled, classes, inner=False)
        return self._linked[key]


def _restored(
    function: types.FunctionType, parts: dict[str, Function | Kernel], inline: bool
) -> Kernel:
    kernel = Kernel(function, **parts)
    return kernel.inlined() if inline else kernel


def open_slot(name: str) -> Function:
    """Stands in a template for a function that a kernel fills in by name; calling it is an error.

    >>> open_slot("index")(0.5)
    Traceback (most recent call last):
    RuntimeError: index was not filled in

    Args:
        name: The name of the slot.

    Returns:
        The function that stands there.
    """
    filling = {"__builtins__": __builtins__, "MISSING": f"{name} was not filled in"}
    return types.FunctionType(_unfilled.__code__, filling, name)


def _unfilled(*arguments: object) -> None:
    raise RuntimeError(MISSING)  # type: ignore[name-defined]  # noqa: F821 - `open_slot` sets it


def read_only(sequence: Any) -> Any:
    """The same numbers, to be read and not written. Interpreted, a write to them is an error where
    it happens; compiled, code that would write is not compiled at all.

    >>> read_only([1, 2])
    (1, 2)
    """
    if hasattr(sequence, "setflags"):
        seen = sequence.view()
        seen.setflags(write=False)
        return seen
    return tuple(sequence)


@lru_cache(maxsize=1)
def _compiled_read_only() -> Function:
    """`read_only` for numba: the array itself, of a type that is never written to."""
    from numba.core import types as kinds
    from numba.core.imputils import impl_ret_borrowed
    from numba.extending import intrinsic

    def typed(context: Any, array: Any) -> Any:
        if not isinstance(array, kinds.Array):
            return None

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kept: Any = impl_ret_borrowed
            return kept(context, builder, signature.return_type, arguments[0])

        return array.copy(readonly=True)(array), code

    made: Function = intrinsic(typed)
    return made


def compile_for(name: str, link: Callable[[], Function], arguments: tuple[object, ...]) -> Function:
    """A kernel compiled for such arguments now, or loaded, rather than when it is first called.

    A kernel that makes no arrays is compiled without counting references to those that it was
    given: the caller holds them, and counting costs more than most rounds. What numba cannot
    compile is refused in the words of numba's own first complaint.
    """
    from numba.core.errors import NumbaError

    try:
        try:
            with _without_counting(arguments):
                return _compiled_now(link, arguments)
        except (NumbaError, AssertionError):  # it makes arrays, or has a mistake
            return _compiled_now(link, arguments)
    except NumbaError as error:
        raise InvalidArgument(
            "policy", "be made of functions that numba can compile", name,
            f"correct this: {_complaint(error)}",
        ) from None  # fmt: skip


class Dispatcher(Protocol):
    """What is used of numba's own, which has no types."""

    overloads: Mapping[object, object]
    py_func: types.FunctionType

    def __call__(self, *arguments: object) -> Any: ...
    def typeof_pyval(self, value: object) -> object: ...
    def compile(self, kinds: tuple[object, ...]) -> object: ...


def _compiled_now(link: Callable[[], Function], arguments: tuple[object, ...]) -> Function:
    function = cast("Dispatcher", link())
    kinds = tuple(function.typeof_pyval(argument) for argument in arguments)
    if kinds not in function.overloads:
        with _one_process(function.py_func.__name__):
            function.compile(kinds)
    return function


def machine_code(function: Function, arguments: tuple[object, ...]) -> Function:
    """What `compile_for` compiled for such arguments, called without a look at what it is given.

    Numba's dispatch takes 10 µs for the thirty arrays of a run. Anyone who goes round it gives no
    other kinds of arguments ever: see `kinds_of`.
    """
    dispatcher: Any = function
    kinds = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    code: Function = dispatcher.overloads[kinds].entry_point
    return code


def kinds_of(value: Any) -> object:
    """What numba tells arguments apart by, at least: equal kinds are served by the same code."""
    if isinstance(value, tuple):
        return type(value), *map(kinds_of, value)
    if hasattr(value, "dtype"):
        flags = getattr(value, "flags", None)
        return type(value), value.dtype, value.ndim, getattr(flags, "num", None)
    return type(value)


@contextmanager
def _without_counting(arguments: tuple[object, ...]) -> Iterator[None]:
    """Kernels that this thread links now count no references, unless an argument wants that:
    NumPy's own generators do."""
    from numpy.random import Generator

    _uncounted.asked = not any(type(argument) is Generator for argument in arguments)
    try:
        yield
    finally:
        _uncounted.asked = False


def _counts() -> bool:
    """Whether a kernel that is linked now counts references."""
    return not getattr(_uncounted, "asked", False)


LOCKS = 64
"""Files that processes wait for each other with: kernels share them."""


@contextmanager
def _one_process(name: str) -> Iterator[None]:
    """One process of a host compiles a kernel, while the others wait and then load it."""
    folder = cache_folder()
    if folder is None or fcntl is None:
        yield
        return
    number = int(hashlib.sha256(name.encode()).hexdigest(), 16) % LOCKS
    try:
        file = os.open(folder / f"compiling-{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # a cache that cannot be locked still serves
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)  # which releases the lock


def _complaint(error: Exception) -> str:
    """The innermost message and where it points, without numba's advice."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    said = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith(("Failed in", "During:", "This error"))
    ]
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    ours = Path(__file__).resolve().parent
    own = [place for place in places if not Path(place[0]).resolve().is_relative_to(ours)]
    inside = re.search(r"<function (\w+)_[0-9a-f]{20} at", text)
    where = ""
    if own:
        where = f' (file "{own[0][0]}", line {own[0][1]})'
    elif inside:  # of a name that is not there, numba says no more than who was called
        where = f" (in {inside[1]})"
    what = said[0] if said else type(error).__name__
    if "setitem" in what and "readonly array" in text:
        what = "it writes into the view, which rules and schedules may only read"
    return f"{what}{where}"


def _classes(arguments: object) -> str:
    """The NamedTuple classes among the arguments: cached code refers to them by name."""
    if not isinstance(arguments, tuple):
        return "."
    kind = type(arguments)
    inside = ",".join(map(_classes, arguments))
    return f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', '')}({inside})"


def _callees(
    kernel: Kernel, parts: Mapping[str, Function | Kernel]
) -> Iterator[tuple[str, Kernel]]:
    """The functions that a kernel calls by a global name, in the order of their names."""
    function = kernel.function
    for name in _names(function.__code__):
        value = parts.get(name, function.__globals__.get(name))
        if isinstance(value, Kernel | types.FunctionType):
            callee = value if isinstance(value, Kernel) else Kernel(value)
            yield name, callee.inlined() if kernel.inline else callee


@lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """The globals that code looks up, sorted (an attribute of the same name is another matter)."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_names(constant))
    return tuple(sorted(names))


def _link(
    kernel: Kernel,
    outer: Mapping[str, Function | Kernel],
    compiled: bool,
    classes: str | None,
    inner: bool,
) -> Function:
    """`classes` is None for code that is not cached; `inner` functions, which are part of their
    caller's code, never are."""
    function, parts = kernel.function, {**outer, **kernel.parts}
    if compiled and function is read_only:
        return _compiled_read_only()
    said = f"{_digest(kernel, outer)} {classes}{_bounds()} {_draws_digest()} {_counts()}"
    digest = hashlib.sha256(said.encode()).hexdigest()
    if compiled and (digest, classes, inner) in _dispatchers:
        return _dispatchers[digest, classes, inner]
    filled = {
        name: _link(callee, parts, compiled, None, inner=True)
        for name, callee in _callees(kernel, parts)
    }
    name = f"{function.__name__}_{digest[:20]}" if compiled else function.__name__
    code = function.__code__.replace(co_name=name, co_qualname=name)
    linked = types.FunctionType(
        code, {**function.__globals__, **filled}, name, function.__defaults__
    )
    linked.__kwdefaults__ = function.__kwdefaults__
    linked.__module__ = function.__module__
    linked.__qualname__ = name
    if not compiled:
        return linked
    dispatcher = _njit(linked, classes is not None, inner, kernel.inline)
    _dispatchers[digest, classes, inner] = dispatcher
    return dispatcher


def _digest(kernel: Kernel, outer: Mapping[str, Function | Kernel]) -> str:
    function, parts = kernel.function, {**outer, **kernel.parts}
    callees = dict(_callees(kernel, parts))
    seen = hashlib.sha256(f"{function.__name__} {kernel.inline}".encode())
    seen.update(_code_digest(function.__code__))
    seen.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
    for name in _names(function.__code__):
        if name in callees:
            seen.update(f"{name}={_digest(callees[name], parts)};".encode())
        elif name in function.__globals__:
            seen.update(f"{name}={_constant(function.__globals__[name])};".encode())
    return seen.hexdigest()


@lru_cache(maxsize=4096)
def _code_digest(code: types.CodeType) -> bytes:
    seen = hashlib.sha256(code.co_code)
    seen.update(repr((code.co_names, code.co_varnames, code.co_argcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            seen.update(_code_digest(constant))
        else:
            seen.update(repr(constant).encode())
    return seen.digest()


def _constant(value: object) -> str:
    """What a global contributes to the digest: numba freezes its value into the code."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    return repr(value)


def _bounds() -> str:
    """Code that checks its indices is other code: it must neither answer for the fast one nor be
    answered by it. Nothing for the fast one, whose digest is that of its source alone."""
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "").strip().lower()
    return "" if checked in ("", "0") else " bounds checked"


@lru_cache(maxsize=1)
def _draws_digest() -> str:
    """How numbers are drawn is compiled into every kernel that draws, without being called by a
    name that `_digest` could follow."""
    return hashlib.sha256(Path(__file__).with_name("_draws.py").read_bytes()).hexdigest()


def _njit(function: types.FunctionType, cached: bool, inner: bool, inline: bool) -> Function:
    import numba

    njit: Callable[..., Callable[[Function], Function]] = numba.njit
    options: dict[str, object] = {"nogil": True, "error_model": "numpy", "_nrt": _counts()}
    if inner:  # no one calls it from Python, and the wrappers for that are a third of the compiling
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": inline}
    dispatcher: Any = njit(**options)(function)
    folder = cache_folder() if cached else None
    if folder is not None:
        dispatcher._cache = _disk_cache(folder)(function)
    compiled: Function = dispatcher
    return compiled


@lru_cache(maxsize=8)
def _disk_cache(folder: Path) -> Function:
    """Numba's cache on disk, told that a name with its digest says all there is to know: neither
    the path of a source nor its other lines matter, so an edit, an upgrade or a second checkout
    compiles again only what has changed."""
    from numba.core import caching

    class Place(caching._CacheLocator):
        def __init__(self, py_file: str) -> None:
            self._py_file = py_file  # numba names it in its warnings

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return "named by digest"

        def get_disambiguator(self) -> str:
            return "kernel"

        @classmethod
        def from_function(cls, py_func: types.FunctionType, py_file: str) -> Place:
            return cls(py_file)

    saved = type("Saved", (caching.CompileResultCacheImpl,), {"_locator_classes": [Place]})

    base: Any = caching.FunctionCache

    def load(self: Any, signature: object, target: object) -> object:
        """None, so that it is compiled again, for what cannot be read: a damaged file, or one that
        names a class which this version does not have."""
        try:
            return base.load_overload(self, signature, target)
        except Exception:  # whatever unpickling runs into
            self.flush()
            return None

    return type("Cache", (base,), {"_impl_class": saved, "load_overload": load})


def cache_folder() -> Path | None:
    """Where machine code is kept: `$DISCREET_CACHE`, else the user's cache folder.

    None if it cannot be written. Cached code is executed when loaded, so a folder that others may
    write to, such as the system's temporary one, is never used.
    """
    if "DISCREET_CACHE" in os.environ:
        folder = Path(os.environ["DISCREET_CACHE"])
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "discreet"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_stale(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _remove_stale(folder: Path) -> None:
    oldest = time.time() - STALE_SECONDS
    for file in folder.rglob("*.nb[ci]"):
        if file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)
