"""docs/catalogue.md: every published policy, written by `python -m discreet.cli._catalogue`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._policies import describe

INTRODUCTION = """# The catalogue

Every policy that `discreet.policy` builds by name, with the guarantee that follows from its parts
for an example budget. `discreet policies` prints the same, and `discreet show NAME` shows one with
its formulas. [Which policy to choose](choosing.md) gives advice. [Schedule × release ×
rule](table.md) explains the parts.

*Reference* is the paper that prints the policy or, where a policy is new here, the one that it
builds on. *Live* says whether a live trial (`discreet.Trial`) can play the policy with secure
noise. All of them can be simulated.

Written by `python -m discreet.cli._catalogue`; do not edit.
"""
SECTIONS = {
    "finite": (
        "Policies for finite arms",
        "Each chooses an arm for every participant, until the horizon.",
    ),
    "identify": (
        "Policies that identify the best arm",
        "Each stops with an answer: see [identification](identification.md).",
    ),
    "linear": (
        "Policies with contexts",
        "Each chooses by the features of arms: see [linear policies](linear.md) and "
        "[contexts](contexts.md).",
    ),
}
BUDGETS = {
    "pure": "ε", "zcdp": "ρ (zCDP)", "approximate": "(ε, δ)", "renyi": "Rényi", "gaussian": "μ",
}  # fmt: skip


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_lines()]).rstrip() + "\n"


def _lines() -> Iterator[str]:
    from ..policies._registry import every_entry

    entries = [describe(name) for name in every_entry()]
    for kind, (title, words) in SECTIONS.items():
        own = [entry for entry in entries if entry["kind"] == kind]
        parts = [part for part in ("schedule", "release", "rule", "stopping") if part in own[0]]
        yield f"## {title}\n\n{words}\n"
        columns = ("policy", *parts, "budget", "guarantee", "live", "reference")
        yield f"| {' | '.join(columns)} |"
        yield "|---" * len(columns) + "|"
        for entry in own:
            budgets = ", ".join(BUDGETS[budget] for budget in entry["budgets"]) or "none"
            live = "yes" if _is_live(entry) else "-"
            cells = (
                f"`{entry['name']}`", *(entry.get(part, "-") for part in parts), budgets,
                entry["guarantee"]["short"], live, entry["reference"]["short"],
            )  # fmt: skip
            yield f"| {' | '.join(cells)} |"
        yield ""


def _is_live(entry: dict[str, Any]) -> bool:
    """Whether a live trial can play it."""
    from ..identify import Identifier
    from ..linear._row import LinearPolicy
    from ..live._contexts import serves
    from ..live._rows import serves_trials
    from ..policies._registry import every_entry

    example: Any = every_entry()[entry["name"]].example()
    if isinstance(example, LinearPolicy):
        return serves(example)
    if isinstance(example, Identifier):
        example = (example.among(100) if example.fixed_size else example.at(0.1)).batched()
    return serves_trials(example)


if __name__ == "__main__":
    print(page(), end="")
