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
