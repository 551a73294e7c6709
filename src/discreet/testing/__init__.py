"""The contract that every policy of the table keeps, as a suite for policies that you compose.

>>> from discreet.policies import AdaPKLUCB, ForgetLaplace, Geometric, Policy
>>> from discreet.testing import check_policy
>>> row = Policy("mine", Geometric(ratio=1.5), ForgetLaplace(epsilon=0.5), AdaPKLUCB(alpha=1.0))
>>> check_policy(row)

`check_policy` runs every check of `CHECKS` in turn. A check raises `AssertionError` with a message
that names the policy, the check, what was seen and what should have been. Line by line:

- **steps**: every decision names an existing arm and plays at least one round; a rule leaves the
  view as it is; pulls add up to the rounds; a batch cut off by the horizon is not released.
- **documented**: schedule, release and rule have docstrings; a reference that a policy names
exists.
- **guarantee**: it can be derived, is finite for a private policy, does not depend on the horizon,
  and is at most the budget that was asked for.
- **noisy first reward**: no arm's first release is its raw reward.
- **worth its budget**: one changed reward moves no release, response or choice by more than the
  guarantee says. Measured, so a claim without its noise is caught; not a proof.
- **verified**: the kernels, run on symbols, spend at most the guarantee, with simulated and with
  live noise. Algebra, not measurement: `discreet.verify` says what it covers.
- **means**: reported means are unbiased or None, their noise is what the release says, and it has
  secure noise where it says so.
- **compiled**: interpreted and compiled runs are equal, round by round.
- **seeded**: one seed, one result.
- **threads**: 1, 2 and 4 threads give the same numbers.
- **saved state**: a rehearsal that is saved midway continues exactly as if it had not been.
- **twin** (with `twin=`): at a huge budget the policy makes the choices of its non-private twin.

Seeds are fixed. "worth its budget" fails a sound policy with probability below 1e-6, "means" below
1e-8.
"""

from ._case import SEED, Case, Check
from ._claims import HORIZONS, check_documented, check_guarantee
from ._leaks import DRAWS, FALSE_ALARM, check_noisy_first, check_worth
from ._means import check_means
from ._repeats import check_compiled, check_saved_state, check_seeded, check_threads
from ._steps import check_steps
from ._stores import check_shared, check_store, check_workers
from ._suite import CHECKS, check_policy
from ._twins import HUGE, at_huge_budget, check_twin
from ._unchecked import unchecked_policy
from ._verified import check_verified
from ._walk import Walk

__all__ = [
    "CHECKS",
    "DRAWS",
    "FALSE_ALARM",
    "HORIZONS",
    "HUGE",
    "SEED",
    "Case",
    "Check",
    "Walk",
    "at_huge_budget",
    "check_compiled",
    "check_documented",
    "check_guarantee",
    "check_means",
    "check_noisy_first",
    "check_policy",
    "check_saved_state",
    "check_seeded",
    "check_shared",
    "check_steps",
    "check_store",
    "check_threads",
    "check_twin",
    "check_verified",
    "check_workers",
    "check_worth",
    "unchecked_policy",
]
