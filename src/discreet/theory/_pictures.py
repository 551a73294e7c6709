"""Two pictures of the two regimes.

`regime_picture`: over the gap of two arms and ε, by which factor privacy raises the lower bound on
regret; the line where it begins is the log odds ratio of the arms.
`price_picture`: for one instance, the lower bound and the simulated regret of a policy against ε.

    python -m discreet.theory docs

draws the two of docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._checks import means_of, share
from ._regimes import free_epsilon, log_odds_ratio, regime
from ._regret_lower import lai_robbins, private_bernoulli

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTORS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Levels of the map."""
MEANS = (0.75, 0.625, 0.5, 0.375, 0.25)
"""The second instance of Azize & Basu (2022), on which the price is drawn."""


def regime_picture(best: float = 0.75, *, path: str | Path | None = None) -> Figure:
    """Where privacy is free, over (gap, ε), for two Bernoulli arms.

    Args:
        best: The mean of the better arm.
        path: Where to save it, if anywhere.

    Returns:
        The figure.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> theory.regime_picture(0.6).axes[0].get_xscale()
        'log'
    """
    import numpy as np
    from matplotlib.colors import LogNorm

    from .._figures import Picture

    best = share("best", best)
    gaps = np.geomspace(0.01, best * 0.98, 81)
    epsilons = np.geomspace(0.01, 10.0, 81)
    factors = np.array([[regime(best - g, best, e).factor for g in gaps] for e in epsilons])
    figure = Picture(figsize=(7.0, 4.6), layout="constrained")
    axes = figure.add_subplot()
    drawn = axes.contourf(
        gaps, epsilons, np.clip(factors, 1.0 + 1e-9, FACTORS[-1]), FACTORS, cmap="Blues",
        norm=LogNorm(1.0, 40.0), extend="max",
    )  # fmt: skip
    bar = figure.colorbar(drawn, ax=axes, label="factor by which privacy raises the lower bound")
    bar.set_ticks(FACTORS, labels=[f"{factor:g}" for factor in FACTORS])
    turns = [log_odds_ratio(best - g, best) for g in gaps]
    axes.fill_between(gaps, turns, 10.0, color="#e8f3ec", linewidth=0)
    axes.plot(gaps, turns, color="#00604a", linewidth=2.0)
    axes.text(0.012, 2.2, "low privacy: free of charge", color="#00604a", fontsize=11)
    axes.text(gaps[54], 0.014, "high privacy:\nregret grows like 1/ε", color="white", fontsize=11)
    axes.annotate(
        "ε = log odds ratio of the arms", xy=(gaps[30], turns[30]),
        xytext=(0.013, 0.7), fontsize=10, color="#00604a",
        arrowprops={"arrowstyle": "->", "color": "#00604a"},
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(gaps[0], gaps[-1])
    axes.set_ylim(0.01, 10.0)
    _plain(axes)
    axes.set_xlabel(f"gap Δ of the worse arm (the better has rate {best:g})")
    axes.set_ylabel("ε")
    return _saved(figure, path)


def price_picture(
    means: Sequence[float] = MEANS,
    *,
    horizon: float = 1e8,
    policy: str = "dp-imed",
    runs: int = 400,
    seed: int = 1,
    path: str | Path | None = None,
) -> Figure:
    """Lower bound and simulated regret against ε: flat where privacy is free, steep where not.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        policy: The name of a policy.
        runs: Simulated runs at each ε.
        seed: Random seed.
        path: Where to save it, if anywhere.

    Returns:
        The figure.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> figure = theory.price_picture([0.7, 0.5], horizon=300, runs=2)
        >>> len(figure.axes)
        1
    """
    import numpy as np

    from .._figures import Picture, legend_below
    from ..arms import Bernoulli
    from ..policies import policy as row
    from ..simulator import simulate
    from ..simulator._plots import COLOURS
    from .planning._regret import described

    means = means_of(means)
    grid = np.geomspace(0.02, 10.0, 200)
    log = math.log(horizon)
    points = np.geomspace(0.02, 10.0, 13)
    figure = Picture(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(grid, [log * private_bernoulli(means, e) for e in grid], color=COLOURS[0],
              label="lower bound with ε-DP")  # fmt: skip
    axes.axhline(
        log * lai_robbins(means), color="#555555", linestyle="--",
        label="lower bound without privacy",
    )  # fmt: skip
    found = []
    for epsilon in points:
        own = row(policy, epsilon=float(epsilon))
        result = simulate(
            own, Bernoulli(means), horizon=horizon, runs=runs, seed=seed, points=2, progress=False
        )
        found.append(described(result.final_regret)[:3])
    centre = np.array([mean for mean, _, _ in found])
    error = [[m - low for m, low, _ in found], [high - m for m, _, high in found]]
    axes.errorbar(
        points, centre, yerr=error, color=COLOURS[1], marker="o", markersize=4, capsize=3,
        label=f"{policy}, simulated ({runs} trials, 95 % intervals)",
    )  # fmt: skip
    turn = free_epsilon(means)
    axes.axvline(turn, color="#00604a", linestyle=":")
    label = f"free from ε = {turn:.2g} on"
    low = 0.7 * log * lai_robbins(means)
    axes.text(turn * 1.06, low, label, color="#00604a", va="center")
    axes.set_ylim(bottom=0.5 * log * lai_robbins(means))
    axes.set_xscale("log")
    axes.set_yscale("log")
    _plain(axes)
    axes.set_xlabel("ε: strong privacy on the left, weak on the right")
    axes.set_ylabel(f"regret after {horizon:,.0f} participants")
    axes.grid(alpha=0.25)
    legend_below(figure, [axes])
    return _saved(figure, path)


def _plain(axes: Axes) -> None:
    """1 and 0.1 rather than powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def _saved(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        from ..report._pictures import save_picture

        save_picture(figure, path)
    return figure
