"""The plan as one HTML page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...report import Page, count, percent
from ._plan import Plan, number
from ._text import (
    asked_sentence,
    candidate_line,
    cost_line,
    free_sentences,
    recommendation,
    refused_lines,
    width_lines,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(plan: Plan) -> Page:
    """Recommendation first, then the costs, the candidates, and what each ε means."""
    asked = plan.question
    what = "regret" if asked.goal == "regret" else "samples"
    sheet = Page("A plan for a private trial", subtitle=asked_sentence(plan))
    if not plan.complete:
        sheet.note("The simulation was interrupted: only what was finished is shown.", warning=True)
    sheet.section("Recommendation")
    if plan.helps:
        sheet.code(recommendation(plan))
    else:
        sheet.note(recommendation(plan).capitalize() + ".", warning=True)
    sheet.items(plan.why)
    sheet.section("What privacy costs").figure(
        cost_picture(plan),
        caption=f"Predicted {what} of the best candidate at each ε (bars: 95 % interval of the "
        "mean; band: nine of ten single trials) beside the lower bound.",
        alt=f"Predicted {what} against ε on logarithmic scales, falling until privacy is free.",
    )
    sheet.table(
        ["ε", "Best policy", "Mean", "95 % interval", "9 of 10 trials", "Lower bound", "Privacy"],
        [cost_line(plan, epsilon) for epsilon in plan.epsilons],
        caption=f"The best candidate at each ε, by simulated {what}.",
        numeric=(0, 2, 3, 4, 5),
    )
    for sentence in [*free_sentences(plan), *width_lines(plan)]:
        sheet.text(sentence)
    sheet.section("Policies you can use").table(
        ["Policy", "Mean", "95 % interval"],
        [candidate_line(plan, p) for p in plan.at(asked.epsilon)],
        caption=f"All candidates at ε = {asked.epsilon:g}, best first.",
        numeric=(1, 2),
    )
    sheet.text("These cannot be used:").items(
        line.removeprefix("- ") for line in refused_lines(plan)
    )
    sheet.section("What each ε means").table(
        ["ε", "Privacy", "A guess is right at most", "Odds change by at most", "Suspicion of 10 %"],
        [
            [
                f"{s.epsilon:g}",
                s.word,
                percent(s.right),
                "–" if math.isinf(s.odds) else f"× {s.odds:.3g}",
                f"becomes {percent(s.suspicion_after)} at most",
            ]
            for s in plan.strengths
        ],
        caption="Against somebody who knows everything but one participant's outcome, and must "
        "tell two values of it apart. A blind guess is right half of the time.",
        numeric=(0, 2, 3),
    )
    horizon = "" if asked.horizon is None else f"{count(asked.horizon)} participants, "
    sheet.footer(
        f"Simulated with seed {asked.seed}, {horizon}Bernoulli outcomes, arms in random order."
    )
    return sheet


def cost_picture(plan: Plan) -> Figure:
    """Predicted cost of the best candidate against ε, beside the lower bound."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from ..._figures import Picture, legend_below
    from ...simulator._plots import COLOURS

    best = [plan.best(epsilon) for epsilon in plan.epsilons]
    epsilons = [p.epsilon for p in best]
    figure = Picture(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.add_subplot()
    means = [p.mean for p in best]
    errors = [[p.mean - p.low for p in best], [p.high - p.mean for p in best]]
    axes.fill_between(
        epsilons, [p.usual[0] for p in best], [p.usual[1] for p in best], color=COLOURS[0],
        alpha=0.15, linewidth=0, label="nine of ten trials",
    )  # fmt: skip
    axes.errorbar(
        epsilons, means, yerr=errors, color=COLOURS[0], marker="o", markersize=4, capsize=3,
        label="best private policy",
    )  # fmt: skip
    bounds = [p.bound for p in best]
    if any(bound > 0.0 for bound in bounds):  # NaN where it does not bind: a gap
        axes.plot(
            epsilons, bounds, "--", color="#555555", marker="_", label="lower bound (large trials)"
        )
    if plan.open is not None:
        axes.axhline(
            plan.open.mean, color=COLOURS[2], linewidth=1.2,
            label=f"{plan.open.label}, not private: {number(plan.open.mean)}",
        )  # fmt: skip
    if math.isfinite(plan.free.theory) and plan.question.trust == "server":
        axes.axvline(plan.free.theory, color="#999999", linestyle=":", label="free in theory")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(epsilons))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.set_xlabel("ε: strong privacy on the left, weak on the right")
    axes.set_ylabel("mean regret" if plan.question.goal == "regret" else "mean samples")
    axes.grid(alpha=0.25)
    legend_below(figure, [axes])
    return figure
