"""Figure 1 (a)-(f): LDP-UCB-L and LDP-UCB-B on 20 bounded arms, against UCB1 and against ε.

(a) ε = 2, (b) ε = 0.2, (c) and (d) several ε for each policy: Bernoulli arms; (e) and (f) the same
for arms of different distributions. Published: 50 trials, regret ratios to UCB1 of 1.6 (B) and 8.5
(L) in (a). The horizon is not printed; T = 1e7 was chosen because it meets both within 10 %, and
those two verdicts are marked as fitted. Ren et al. (2020), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Mark, Panel, Size, Statement, Verdict
from .._excerpts import (
    by_label,
    excerpt,
    in_how_many,
    nearest_round,
    regret_near,
    regrets_near,
    within,
)
from .._measures import Measure, ascending, final_regret, mean_of, ratio
from .._pictures import draw_panels
from ._setting import (
    BERNOULLI,
    EPSILONS,
    LAPLACE,
    UCB,
    at,
    bernoulli_arms,
    bernoulli_bound,
    bounded_curves,
    laplace_bound,
    mixed_arms,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ...simulator import Result

LOW, HIGH = 2.0, 0.2
"""The budgets of (a) and (b)."""
PUBLISHED = {BERNOULLI: 1.6, LAPLACE: 8.5}
BOUNDS = {BERNOULLI: bernoulli_bound, LAPLACE: laplace_bound}
NEAR = 0.1
"""A published ratio is met within this share."""
MUCH = 5.0
"""A ratio that is so many times another is much larger."""
SIMILAR = 1.25
"""Regrets within this factor of each other are similar."""
SHORTER = 10
"""(c)-(f) are run for T divided by this."""


@dataclass(frozen=True, kw_only=True)
class LocalPrivacy(Figure):
    """Three sets of runs behind six pictures."""

    def panels(self, lab: Lab) -> list[Panel]:
        between = tuple(e for e in EPSILONS if e not in (LOW, HIGH))
        short = max(lab.size.horizon // SHORTER, len(EPSILONS) * 10)
        environment = bernoulli_arms()
        return [
            lab.compare("Bernoulli arms, ε = 2 and 0.2", bounded_curves((LOW, HIGH)), environment),
            lab.compare(
                "Bernoulli arms, ε between", bounded_curves(between, baseline=False), environment,
                horizon=short,
            ),
            lab.compare(
                "arms of four distributions", bounded_curves(EPSILONS), mixed_arms(), horizon=short
            ),
        ]  # fmt: skip

    def draw(self, panels: Sequence[Panel]) -> Picture:
        bits, mixed = by_label(panels[:2]), by_label(panels[2:])
        until = panels[2].comparison[0].horizon
        shown = [
            excerpt(f"({letter}) Bernoulli arms, ε = {epsilon:g}", {
                label: bits[label] for label in (UCB, at(BERNOULLI, epsilon), at(LAPLACE, epsilon))
            })
            for letter, epsilon in (("a", LOW), ("b", HIGH))
        ]  # fmt: skip
        for letter, label, curves, arms in (
            ("c", LAPLACE, bits, "Bernoulli arms"),
            ("d", BERNOULLI, bits, "Bernoulli arms"),
            ("e", LAPLACE, mixed, "arms of four distributions"),
            ("f", BERNOULLI, mixed, "arms of four distributions"),
        ):
            chosen = {UCB: curves[UCB]} | {f"ε = {e:g}": curves[at(label, e)] for e in EPSILONS}
            shown.append(excerpt(f"({letter}) {label}, {arms}", chosen, until))
        return draw_panels(shown, since=100)

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        bits, mixed = by_label(panels[:2]), by_label(panels[2:])
        until = panels[2].comparison[0].horizon
        return [
            _order(bits),
            *(_ratio(bits, label) for label in PUBLISHED),
            _strong_privacy(bits),
            _grows(bits, LAPLACE, "c", until),
            _grows(bits, BERNOULLI, "d", until),
            _alike(bits, mixed, LAPLACE, "e"),
            _alike(bits, mixed, BERNOULLI, "f"),
        ]


def _order(curves: dict[str, Result]) -> Finding:
    labels = (UCB, at(BERNOULLI, LOW), at(LAPLACE, LOW))
    regrets = {label: final_regret(curves[label]) for label in labels}
    return Finding(
        Statement(
            "at ε = 2 LDP-UCB-B is above UCB1 and below LDP-UCB-L", "section 4, figure 1 (a)"
        ),
        Verdict.of(ascending(list(regrets.values()))),
        {f"regret of {label}": measure for label, measure in regrets.items()},
        "Mean regret at the horizon; an order counts from two standard errors on.",
    )


def _ratio(curves: dict[str, Result], label: str) -> Finding:
    published, base, private = PUBLISHED[label], curves[UCB], curves[at(label, LOW)]
    found = ratio(final_regret(private), final_regret(base))
    t, (there,) = nearest_round([private], base, [published])
    bound = BOUNDS[label](LOW)
    return Finding(
        Statement(
            f"at ε = 2 the regret of {label} is {published:g} times that of UCB1 (horizon not "
            "printed)",
            "section 4, figure 1 (a)",
        ),
        Verdict.of(within(found, published, NEAR), within(there, published, NEAR)),
        {
            f"ratio at T = {base.horizon:.3g}": found,
            "nearest to the published ratio": there,
            "reached at t": Measure(t),
            "published bound of the ratio": Measure(bound),
        },
        f"The ratio grows with t towards its bound of {bound:.3g}, so a number without a horizon "
        f"fixes little. It counts as met within {NEAR:.0%}. T was chosen because both published "
        "ratios are met there, so this is no test of either.",
        (Mark.FITTED,),
    )


def _strong_privacy(curves: dict[str, Result]) -> Finding:
    measured, holds = {}, []
    for label, bound in BOUNDS.items():
        base = final_regret(curves[UCB])
        strong = ratio(final_regret(curves[at(label, HIGH)]), base)
        weak = ratio(final_regret(curves[at(label, LOW)]), base)
        measured[f"{label}: ratio to UCB1 at ε = {HIGH:g}"] = strong
        measured[f"{label}: published bound"] = Measure(bound(HIGH))
        holds.append(MUCH * weak.value <= strong.value <= bound(HIGH))
    horizon = curves[UCB].horizon
    linear = ratio(Measure(horizon * _mean_gap()), final_regret(curves[UCB]))
    return Finding(
        Statement(
            "at ε = 0.2 the ratios to UCB1 are much larger (here: 5 times those at ε = 2), and "
            "below the bounds 441 (L) and 101 (B)",
            "section 4, figure 1 (b)",
        ),
        in_how_many(holds),
        measured | {f"a policy that learns nothing by T = {horizon:.3g}": linear},
        "A policy that plays all arms alike has the last ratio: no measured one can be far above.",
    )


def _mean_gap() -> float:
    from ._setting import MEANS

    return max(MEANS) - sum(MEANS) / len(MEANS)


def _grows(curves: dict[str, Result], label: str, part: str, until: float) -> Finding:
    regrets = [regret_near(curves[at(label, epsilon)], until) for epsilon in EPSILONS]
    slopes = [late_slope(curves[at(label, epsilon)], until) for epsilon in EPSILONS]
    names = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
    return Finding(
        Statement(
            f"the regret of {label} increases with 1/ε, and it converges more slowly",
            f"section 4, figure 1 ({part})",
        ),
        in_how_many([ascending(regrets), ascending(slopes)]),
        {f"{name}: regret at t = {until:.3g}": m for name, m in zip(names, regrets, strict=True)}
        | {
            f"{name}: growth exponent over the last doubling": m
            for name, m in zip(names, slopes, strict=True)
        },
        "A growth exponent of 1 is linear regret, of 0 no more regret at all.",
    )


def late_slope(result: Result, until: float) -> Measure:
    """Per run, log2(R(t)/R(t/2))."""
    import numpy as np

    late, early = regrets_near(result, until), regrets_near(result, until / 2.0)
    return mean_of(np.log2(np.maximum(late, 1e-9) / np.maximum(early, 1e-9)))


def _alike(bits: dict[str, Result], mixed: dict[str, Result], label: str, part: str) -> Finding:
    measured, holds = {}, []
    for epsilon in EPSILONS:
        other = mixed[at(label, epsilon)]
        found = ratio(final_regret(other), regret_near(bits[at(label, epsilon)], other.horizon))
        measured[f"ε = {epsilon:g}: arms of four distributions / Bernoulli arms"] = found
        holds.append(1.0 / SIMILAR <= found.value <= SIMILAR)
    return Finding(
        Statement(
            f"{label} performs on arms of different distributions as on Bernoulli arms (here: "
            f"within a factor of {SIMILAR:g})",
            f"section 4, figure 1 ({part})",
        ),
        in_how_many(holds),
        measured,
        "Regret at the same round and the same ε. For LDP-UCB-B the responses are bits of the same "
        "law whatever the law of the rewards, so only chance can differ."
        if label == BERNOULLI
        else "Regret at the same round and the same ε. The Laplace noise outweighs the spread of "
        "the rewards.",
    )


FIGURE = LocalPrivacy(
    study="ren2020",
    number="1",
    title="Local privacy on 20 bounded arms",
    reference="ren2020",
    full=Size(10**7, 50),
    quick=Size(3 * 10**6, 4),
    note="The paper prints neither the horizon nor the ε of (c) to (f). T = 1e7 is ours: both "
    "ratios are met there within 10 %, though B passes 1.6 long before L reaches 8.5. (c) to (f) "
    "are run to T/10 at ε = 2, 1, 0.5 and 0.2.",
)
