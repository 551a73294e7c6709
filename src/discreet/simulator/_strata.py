"""Simulated trials by stratum: one copy of a policy for each public group of participants.

>>> import discreet
>>> laws = {"men": discreet.Bernoulli([0.7, 0.4]), "women": discreet.Bernoulli([0.3, 0.6])}
>>> row = discreet.policy("dp-imed", epsilon=1.0)
>>> found = discreet.simulate_strata(row, laws, horizon={"men": 400, "women": 600}, runs=5, seed=1)
>>> found.final_regret.shape, found.guarantee.short()
((5,), 'ε = 1 (interactive)')

Copies learn nothing from one another, so each stratum is its own simulation, with seeds of its
own. Regret is against the best arm of every stratum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from .._checks import Name, by_name, check_names, check_seed
from ..errors import InvalidArgument
from ..privacy._guarantees import PUBLIC_STRATUM, Guarantee
from ._record import mean_and_error
from ._results import Result
from ._runs import simulate

if TYPE_CHECKING:
    from .._progress import Bar
    from .._types import Floats
    from ..arms._base import Environment
    from ._own import Row


@dataclass(frozen=True)
class StrataResult:
    """The runs of every stratum; run i of all of them is one trial."""

    strata: dict[Name, Result]

    @property
    def final_regret(self) -> Floats:
        """Regret of all strata together, one number a run."""
        import numpy as np

        return np.asarray(sum(result.final_regret for result in self.strata.values()))

    @property
    def guarantee(self) -> Guarantee:
        """That of one stratum: no one is in two of them."""
        one = next(iter(self.strata.values())).guarantee
        return replace(one, conditions=(*one.conditions, PUBLIC_STRATUM))

    def __str__(self) -> str:
        lines = [
            f"{name}: regret {mean_and_error(result.final_regret)}"
            for name, result in self.strata.items()
        ]
        return "\n".join([*lines, f"together: regret {mean_and_error(self.final_regret)}"])


class Played(TypedDict, total=False):
    """What else `simulate` takes."""

    threads: int | None
    points: int
    shuffle: bool
    progress: bool | Bar | None


def simulate_strata(
    policy: Row,
    environments: Mapping[Name, Environment],
    *,
    horizon: float | Mapping[Name, float],
    runs: int = 100,
    seed: int | None = None,
    **study: Unpack[Played],
) -> StrataResult:
    """Play a copy of a policy in every stratum: groups of participants that are public.

    Args:
        policy: The policy; each stratum has a copy.
        environments: The environment of every stratum, by its name.
        horizon: Participants of every stratum, or by name.
        runs: The number of runs.
        seed: Random seed, for reproducible results. Default: random.
        **study: Further arguments of `simulate`.

    Returns:
        The results by stratum, and for all strata together.

    Raises:
        InvalidArgument: If names do not agree, or an argument breaks its rule.

    Example:
        >>> import discreet
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> groups = {"men": arms, "women": discreet.Bernoulli([0.4, 0.6])}
        >>> row = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = discreet.simulate_strata(row, groups, horizon=300, runs=3, seed=1)
        >>> sorted(found.strata)
        ['men', 'women']
    """
    if not isinstance(environments, Mapping):
        raise InvalidArgument(
            "environments",
            "have an environment for every stratum",
            environments,
            'use {"men": ..., "women": ...}',
        )
    names = check_names("environments", tuple(environments), 'use {"men": ..., "women": ...}')
    horizons = by_name("horizon", horizon, names)
    return StrataResult(
        {
            name: simulate(
                policy, environments[name], horizon=horizons[name], runs=runs, seed=own, **study
            )
            for name, own in zip(names, _seeds(seed, len(names)), strict=True)
        }
    )


def _seeds(seed: int | None, count: int) -> list[int | None]:
    """Seeds of independent simulations."""
    if seed is None:
        return [None] * count
    import numpy as np

    return [
        int(word)
        for word in np.random.SeedSequence(check_seed(seed)).generate_state(count, np.uint64) >> 1
    ]
