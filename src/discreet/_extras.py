"""What only some users install: an extra, imported late, and named where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import DiscreetError


def require(extra: str, *modules: str) -> None:
    """Refuse to continue without the packages of an extra; nothing is imported here."""
    missing = [name for name in modules if not _is_there(name)]
    if missing:
        raise DiscreetError(
            f"{', '.join(missing)} must be installed for this; "
            f'run: python -m pip install "discreet[{extra}]"'
        )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
