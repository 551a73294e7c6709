"""Live trials, which protect real people, and rehearsals, which protect nobody."""

from typing import TYPE_CHECKING

from .._lazy import lazily
from ._arguments import Assignment, Features, Outcomes
from ._ledger import Ledger
from ._rehearsal import Rehearsal
from ._rights import Remains
from ._strata import Strata
from ._tables import as_csv
from ._trial import Trial
from ._weights import Weights

if TYPE_CHECKING:
    from ._lives import verify_lives

__all__ = [
    "Assignment", "Features", "Ledger", "Outcomes", "Rehearsal", "Remains", "Strata", "Trial",
    "Weights", "as_csv", "verify_lives",
]  # fmt: skip
__getattr__, __dir__ = lazily(__name__, {"_lives": ("verify_lives",)}, *__all__)
