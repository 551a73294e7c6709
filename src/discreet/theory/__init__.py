"""Theory: what privacy costs, before a trial starts.

Distances (`klinf`, `tvinf`, `d_epsilon`), lower and upper bounds (listed in `BOUNDS` with domain
and reference), regimes (`free_epsilon`), the strength of a budget, and the planner (`plan`).
"""

from .bound import BOUNDS, Bound
from .choosing import Choice, choose
from .distances import FiniteLaw, d_epsilon, gaussian_klinf, gaussian_tvinf, klinf, tvinf
from .features import Worth, gain_of, past_problem, problem_with_gain, worth_of
from .identification import (
    Allocation,
    adap_tt_samples,
    adap_tt_star_samples,
    characteristic_time,
    identification_samples,
    private_characteristic_time,
    total_variation_time,
)
from .linear_lower import (
    LinearProgramme,
    linear_minimax_pure,
    linear_minimax_zcdp,
    linear_private,
    linear_programme,
)
from .pictures import price_picture, regime_picture
from .planning import Plan, TrialPlan, plan, plan_trial
from .regimes import (
    Regime,
    free_epsilon,
    free_epsilon_identification,
    log_odds_ratio,
    regime,
    turning_epsilon,
)
from .regret_lower import (
    lai_robbins,
    local_private,
    minimax_global,
    minimax_pure,
    minimax_zcdp,
    private_bernoulli,
    view_private,
)
from .regret_upper import (
    adac_ucb,
    adap_ucb,
    adap_ucb_minimax,
    dp_ftpl_new,
    dp_ucb,
    gdp_elim_new,
    ldp_ucb_b,
    ldp_ucb_l,
    sigmoid_slope,
)
from .strength import Strength, strength
from .summary import Line, best_lower, bounds, bounds_of, overlay

__all__ = [
    "BOUNDS",
    "Allocation",
    "Bound",
    "Choice",
    "FiniteLaw",
    "Line",
    "LinearProgramme",
    "Plan",
    "Regime",
    "Strength",
    "TrialPlan",
    "Worth",
    "adac_ucb",
    "adap_tt_samples",
    "adap_tt_star_samples",
    "adap_ucb",
    "adap_ucb_minimax",
    "best_lower",
    "bounds",
    "bounds_of",
    "characteristic_time",
    "choose",
    "d_epsilon",
    "dp_ftpl_new",
    "dp_ucb",
    "free_epsilon",
    "free_epsilon_identification",
    "gain_of",
    "gaussian_klinf",
    "gaussian_tvinf",
    "gdp_elim_new",
    "identification_samples",
    "klinf",
    "lai_robbins",
    "ldp_ucb_b",
    "ldp_ucb_l",
    "linear_minimax_pure",
    "linear_minimax_zcdp",
    "linear_private",
    "linear_programme",
    "local_private",
    "log_odds_ratio",
    "minimax_global",
    "minimax_pure",
    "minimax_zcdp",
    "overlay",
    "past_problem",
    "plan",
    "plan_trial",
    "price_picture",
    "private_bernoulli",
    "private_characteristic_time",
    "problem_with_gain",
    "regime",
    "regime_picture",
    "sigmoid_slope",
    "strength",
    "total_variation_time",
    "turning_epsilon",
    "tvinf",
    "view_private",
    "worth_of",
]
