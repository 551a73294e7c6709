"""Plans: who of those that come gets which place, where blocks end, when they are due.

The fourth column of the table. A policy names its own (`Policy.plan`):

- *one batch*: the arm of the rule, until its batch is released;
- *mixed*: a decision every round; the batches of several arms fill concurrently;
- *index*: streams of all arms concurrently, the rule asked for every place;
- *looks*: arms that are compared over the same participants, in permuted blocks;
- *top two*: leader and challenger share the windows;
- *epochs*: an index whose comparisons stay within epochs;
- *tested epochs*: two arms in epochs of fixed sizes, for a trial that ends with a test;
- *contexts*: blocks of any arm, for participants with features: on its own state.
"""

from __future__ import annotations

from ..._compiled import Function
from ._batch import BATCH, MIXED
from ._contexts import CONTEXTS
from ._epochs import EPOCHS
from ._index import INDEX
from ._looks import LOOKS
from ._tested_epochs import TESTED_EPOCHS
from ._top_two import TOP_TWO

PLANS: dict[str, dict[str, Function]] = {
    "one batch": BATCH, "mixed": MIXED, "index": INDEX, "looks": LOOKS, "top two": TOP_TWO,
    "epochs": EPOCHS, "tested epochs": TESTED_EPOCHS, "contexts": CONTEXTS,
}  # fmt: skip

__all__ = ["PLANS"]
