"""The plan as one page of plain text."""

from __future__ import annotations

import math
from functools import partial

from ..._plain import aligned, wrapped
from ._candidates import Candidate
from ._plan import Plan, Prediction, cut, number

WIDTH = 100
SHOWN = 8
"""Candidates listed at the ε that was asked for."""


def text(plan: Plan, width: int = WIDTH) -> str:
    """Question, recommendation, costs, candidates, strengths."""
    asked = plan.question
    what = "regret" if asked.goal == "regret" else "samples"
    table = partial(aligned, width=max(width, WIDTH + 20) if width >= WIDTH else width)
    parts = [asked_sentence(plan), "", f"RECOMMENDED  {recommendation(plan)}"]
    parts += [f"- {reason}" for reason in plan.why]
    parts += ["", f"COST BY ε ({what}; the best candidate at each ε)"]
    costs = table(
        ["ε", "best policy", "mean", "95 % interval", "9 of 10 trials", "lower bound", "privacy"],
        [cost_line(plan, epsilon) for epsilon in plan.epsilons],
    )
    own = plan.at(asked.epsilon)
    ranking = table(
        ["policy", "mean", "95 % interval"], [candidate_line(plan, p) for p in own[:SHOWN]]
    )
    if len(own) > SHOWN:
        ranking.append(f"and {len(own) - SHOWN} more, all worse")
    rest = [*free_sentences(plan), "", f"CANDIDATES AT ε = {asked.epsilon:g} ({what})"]
    rest[-2:-2] = width_lines(plan)
    end = ["", "WHAT EACH ε MEANS", *(f"- {s.sentence}" for s in plan.strengths)]
    end += ["", "POLICIES LEFT OUT", *refused_lines(plan)]
    if not plan.complete:
        end += ["", "Interrupted: only what was finished is shown."]
    folded = partial(wrapped, width=width)
    lines = [*map(folded, parts), *costs, "", *map(folded, rest), *ranking, *map(folded, end)]
    return "\n".join(lines)


def asked_sentence(plan: Plan) -> str:
    """What was asked, in a sentence or two."""
    asked = plan.question
    many = "" if asked.horizon is None else f" {asked.horizon:,} participants;"
    goal = (
        "as little regret as possible"
        if asked.goal == "regret"
        else f"name the best arm, wrong with probability at most {asked.risk:g}"
    )
    trust = "a trusted server" if asked.trust == "server" else "no trust: outcomes leave in noise"
    delta = f", δ = {asked.delta:g}" if asked.delta else ""
    return f"Asked: {asked.arms};{many} goal: {goal}; {trust}; ε = {asked.epsilon:g}{delta}."


def recommendation(plan: Plan) -> str:
    """The row and how to ask for it."""
    best = plan.recommended
    if plan.worth is not None and plan.worth.pays:
        row, numbers = plan.worth.row, plan.question.budget.numbers()
        said = "".join(f", {name}={value:g}" for name, value in numbers.items())
        return f'{row}   discreet.policy("{row}"{said})'
    if not plan.helps:
        return "equal allocation: no private policy helps at this size"
    if plan.question.goal != "regret":
        call = f'discreet.policy("{best.row}", epsilon={best.epsilon:g}, goal="identify")'
        return f"{best.label}   {call}"
    budget = Candidate(best.row, best.options).budget(best.epsilon, plan.question.delta)
    given = {name: value for name, value in budget.to_dict().items() if name != "kind"}
    said = "".join(f", {name}={_literal(value)}" for name, value in (given | best.options).items())
    return f'{best.label}   discreet.policy("{best.row}"{said})'


def _literal(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def cost_line(plan: Plan, epsilon: float) -> list[str]:
    """One ε: best row, mean, intervals, bound, strength."""
    best = plan.best(epsilon)
    word = next(s.word for s in plan.strengths if s.epsilon == epsilon)
    least = cut(plan.question, best)
    return [
        f"{epsilon:g}",
        best.label,
        f"> {number(best.mean)}" if least else number(best.mean),
        "–" if least else f"{number(best.low)} to {number(best.high)}",
        f"{number(best.usual[0])} to {number(best.usual[1])}",
        number(best.bound),
        word,
    ]


def candidate_line(plan: Plan, prediction: Prediction) -> list[str]:
    """One candidate; a least value if it was not followed to the end."""
    if cut(plan.question, prediction):
        regret = plan.question.goal == "regret"
        where = f"{prediction.until:,}"
        early = f"by round {where} already" if regret else f"cut off after {where} samples"
        return [prediction.label, f"> {number(prediction.mean)}", early]
    interval = f"{number(prediction.low)} to {number(prediction.high)}"
    return [prediction.label, number(prediction.mean), interval]


def width_lines(plan: Plan) -> list[str]:
    """How wide the intervals will be."""
    found = plan.widths
    if found is None:
        return []
    by_arm = ", ".join(f"{width:.2g}" for width in found.widths)
    return [
        f"How wide the {100 * found.level:g} % intervals of the rates will be at the end, arm by "
        f"arm: {by_arm} (kind: {found.kind})."
    ]


def free_sentences(plan: Plan) -> list[str]:
    """From which ε on privacy is free, and what not learning would cost."""
    asked, free = plan.question, plan.free
    theory = (
        f"In theory privacy is free from ε = {free.theory:.3g} on: there the lower bound is the "
        "one without privacy"
        if math.isfinite(free.theory)
        else "In theory privacy is never quite free here: a rate of 0 or 1 has infinite log odds"
    )
    if asked.goal == "regret":
        theory += " (the largest log odds ratio of the best arm and another)"
    if asked.trust == "none":
        theory = "That is for a trusted server; without one privacy always costs. " + theory
    lines = [theory + "."]
    if plan.open is not None:
        where = (
            f"from ε = {free.practice:g} on"
            if free.practice is not None
            else f"at no ε up to {max(plan.epsilons):g}"
        )
        lines.append(
            f"In these simulations the best private policy is within 10 % of {plan.open.label}, "
            f"which is not private and has {number(plan.open.mean)}, {where}."
        )
    if plan.equal is not None:
        lines.append(f"Equal allocation, which learns nothing, has {number(plan.equal)}.")
    return lines


def refused_lines(plan: Plan) -> list[str]:
    """Rows that cannot be used, grouped by their reason."""
    groups: dict[str, list[str]] = {}
    for name, reason in plan.refused.items():
        groups.setdefault(reason, []).append(name)
    return [f"- {', '.join(names)}: {reason}" for reason, names in groups.items()]
