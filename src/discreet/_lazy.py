"""Names of a package that are loaded when they are first used, so that importing it is cheap.

    __getattr__, __dir__ = lazily(__name__, {"catalogue": ("policy",), "runs": ("simulate",)})

Homes are modules of the package, or with a leading dot for each step upwards.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers take it for True
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(
    package: str, homes: Mapping[str, tuple[str, ...]], *more: str, packages: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in `homes`; `more` are its own, and
    `packages` those inside it, which come with their name."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> object:
        if name not in home_of and name not in packages:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        if name not in home_of:
            return importlib.import_module(f".{name}", package)
        value = getattr(importlib.import_module(f".{home_of[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted([*home_of, *packages, *more])


class _Called(type(sys)):  # type: ignore[misc]  # a module: types would be most of the import
    """A package that is called as its main function: `discreet.identify(...)` is
    `discreet.identify.identify(...)`, and the package stays what it is."""

    def _main(self) -> Callable[..., object]:
        import importlib

        home, name = self.__dict__["_called_as"]
        found: Callable[..., object] = getattr(
            importlib.import_module(f".{home}", self.__name__), name
        )
        return found

    def __call__(self, *given: object, **named: object) -> object:
        return self._main()(*given, **named)

    @property
    def __signature__(self) -> object:
        import inspect

        return inspect.signature(self._main())


def called_as(package: str, home: str, name: str) -> None:
    """Let a package be called as a function that lives in one of its modules."""
    module = sys.modules[package]
    module.__dict__["_called_as"] = (home, name)
    module.__class__ = _Called
