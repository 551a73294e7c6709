"""What a policy, a release, a rule or an environment of one's own is written with.

>>> from discreet.extend import choose_largest, noise, numbers
>>> numbers("means", [0.5, 0.3], low=0.0, high=1.0)
(0.5, 0.3)

Kernels are plain functions that call each other by name: `Kernel` binds them, `open_slot` marks a
name that is filled in later. `noise` draws in simulations and, secure, in live trials; `zeros` is a
ledger's column in either. `docs/extending.md` has an example of each.
"""

from ._checks import amount, count, number, numbers, one_of, positive, probability
from ._compiled import Kernel, open_slot
from .identify._catalogue import row as identifier_row
from .linear._catalogue import row as linear_row
from .policies._catalogue import row as policy_row
from .policies._rules import choose_highest, choose_largest, choose_sampled, choose_smallest
from .policies.releases._base import NEWEST, noise, zeros
from .privacy._source import SIMULATED

__all__ = [
    "NEWEST",
    "SIMULATED",
    "Kernel",
    "amount",
    "choose_highest",
    "choose_largest",
    "choose_sampled",
    "choose_smallest",
    "count",
    "identifier_row",
    "linear_row",
    "noise",
    "number",
    "numbers",
    "one_of",
    "open_slot",
    "policy_row",
    "positive",
    "probability",
    "zeros",
]
