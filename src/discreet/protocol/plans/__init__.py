"""Plans: who of those that come gets which place, where blocks end, when they are due.

The fourth column of the table. A policy names its own (`Policy.plan`):

- *one batch*: the arm of the rule, until its batch is released;
- *index*: streams of all arms side by side, the rule asked for every place;
- *looks*: arms that are compared over the same participants, in permuted blocks;
- *top two*: leader and challenger share the windows;
- *epochs*: an index whose comparisons stay within epochs.
"""

from __future__ import annotations

from ...compiled import Function
from .batch import BATCH
from .epochs import EPOCHS
from .index import INDEX
from .looks import LOOKS
from .top_two import TOP_TWO

PLANS: dict[str, dict[str, Function]] = {
    "one batch": BATCH, "index": INDEX, "looks": LOOKS, "top two": TOP_TWO,
    "epochs": EPOCHS,
}  # fmt: skip

__all__ = ["PLANS"]
