"""Live trials, which protect real people, and rehearsals, which protect no one."""

from typing import TYPE_CHECKING

from .._lazy import lazily
from ._arguments import Assignment, Features, Outcomes
from ._ledger import Ledger
from ._rehearsal import Rehearsal
from ._rights import Remains
from ._strata import Strata
from ._tables import as_csv
from ._trial import Trial
from ._watched import Watched
from ._weights import Weights

if TYPE_CHECKING:
    from ._beat import Beat
    from ._curate import curate
    from ._lives import verify_lives

__all__ = [
    "Assignment", "Beat", "Features", "Ledger", "Outcomes", "Rehearsal", "Remains", "Strata",
    "Trial", "Watched", "Weights", "as_csv", "curate", "verify_lives",
]  # fmt: skip
LATE = {"_lives": ("verify_lives",), "_beat": ("Beat",), "_curate": ("curate",)}
__getattr__, __dir__ = lazily(__name__, LATE, *__all__)
