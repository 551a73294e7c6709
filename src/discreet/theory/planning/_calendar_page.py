"""A plan with a calendar as a page: plain text, or HTML with pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._plain import aligned, wrapped
from ._calendar_words import likely, measured, ranged
from ._plan import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

    from ...report import Page
    from ._calendar import Deadline, Price, TrialLine, TrialPlan
    from ._designs import DesignLine

TRIAL_HEADER = ["", "on worse arms", "regret", "days", "best named", "used"]
RACE_HEADER = ["", "declared", "participants", "days", "false winners, equal arms"]
DESIGN_HEADER = [
    "", "power", "type I error", "at most", "in the trial", "on worse arms, of all",
]  # fmt: skip
DESIGNS = (
    "Tests are exact, epochs simulated, without late or missing outcomes; the race and the "
    "adaptive trial are those above. Power: the best arm is shown to be better; of the adaptive "
    "trial, by the interval of the difference at the end."
)
SCAN_HEADER = ["deadline", "answers in time", "regret", "days"]
PRICE_HEADER = ["ε", "noise alone, regret", "privacy, regret", "privacy, on worse arms"]
FIGURES = (
    "Figures are means ± standard errors of the simulation; in brackets what nine of ten trials "
    "see, after probabilities their 95 % intervals."
)
BLOCKS = (
    "The trial is DP-IMED in streams whose blocks grow by 1.5. No noise: the same blocks, released "
    "exactly. Not private: IMED, which sees every answer when it comes. All keep the same least "
    "shares."
)
EPOCHS = (
    "The trial is DP-IMED in epochs, arms compared within them. No noise and not private: the same "
    "epochs with the same least shares, released exactly; epochs are there against trends."
)
MISSING = (
    "Intervals and races take a missing outcome for its declared default, races for ½ if none is "
    "declared. That participants of an arm are missing at random is assumed."
)


def notes(plan: TrialPlan) -> tuple[str, ...]:
    """What the tables mean."""
    return FIGURES, EPOCHS if plan.calendar.trend else BLOCKS, MISSING, DESIGNS


def text(plan: TrialPlan, width: int = 100) -> str:
    """One page of plain text."""
    shown = max(width, 130) if width >= 100 else width
    lines = [wrapped(plan.asked, width), "", "RECOMMENDED"]
    lines += [wrapped(f"- {sentence}", width) for sentence in plan.recommendation]
    lines += ["", "THE TRIAL"]
    lines += aligned(TRIAL_HEADER, [trial_cells(line) for line in plan.lines], shown)
    lines += ["", wrapped(f"Equal allocation has a regret of {number(plan.equal)}.", width)]
    lines += ["", "THE PRICE OF PRIVACY"]
    lines += aligned(PRICE_HEADER, [price_cells(price) for price in plan.prices], shown)
    lines += ["", f"TO CONCLUDE (ε = {plan.epsilon:g}, risk {plan.risk:g})"]
    lines += aligned(DESIGN_HEADER, [design_cells(line) for line in plan.designs], shown)
    lines += ["", *(f"- {aim}: {name}" for aim, name in plan.advice.items())]
    lines += ["", f"A RACE FOR A WINNER (risk {plan.risk:g}; permuted blocks)"]
    raced = [line for line in plan.lines if line.declared is not None]
    lines += aligned(RACE_HEADER, [race_cells(line) for line in raced], shown)
    lines += ["", f"HOW WIDE THE INTERVALS WILL BE (all looks, risk {plan.risk:g})"]
    lines += aligned(["", "by arm"], width_cells(plan), shown)
    if plan.deadlines:
        lines += ["", f"OTHER DEADLINES (ε = {plan.epsilon:g})"]
        lines += aligned(SCAN_HEADER, [scan_cells(d) for d in plan.deadlines], shown)
    lines += ["", *(wrapped(f"- {note}", width) for note in notes(plan))]
    return "\n".join(lines)


def page(plan: TrialPlan) -> Page:
    """The same, with pictures."""
    from ...report import Page

    sheet = Page("A plan for a trial with late outcomes", subtitle=plan.asked)
    sheet.section("Recommended").items(plan.recommendation)
    sheet.section("The trial").figure(
        regret_picture(plan),
        caption="Expected outcomes lost: mean, and what nine of ten trials see; dotted, equal "
        "allocation.",
        alt="Regret: "
        + ", ".join(f"{line.label} {number(line.regret.mean)}" for line in plan.lines)
        + f", equal allocation {number(plan.equal)}.",
    ).table(
        TRIAL_HEADER, [stacked(trial_cells(line)) for line in plan.lines],
        caption="Mean ± standard error of the simulation; in brackets what nine of ten trials see, "
        "for probabilities their 95 % interval.", numeric=(1, 2, 3, 4, 5),
    )  # fmt: skip
    sheet.section("The price of privacy").table(
        PRICE_HEADER, [price_cells(price) for price in plan.prices],
        caption="Beside the same blocks or epochs without noise, and beside the trial that is not "
        "private.", numeric=(0, 1, 2, 3),
    )  # fmt: skip
    sheet.section("To conclude").table(
        DESIGN_HEADER, [design_cells(line) for line in plan.designs],
        caption="; ".join(f"to {aim}: {name}" for aim, name in plan.advice.items()).replace(
            "to both", "for both"
        ) + ".", numeric=(1, 2, 3, 4, 5),
    )  # fmt: skip
    raced = [line for line in plan.lines if line.declared is not None]
    sheet.section("A race for a winner").figure(
        race_picture(raced),
        caption="Participants until a winner is declared, or until the trial ends: mean and nine "
        "of ten races; beside it, how often one is.",
        alt="Races: " + ", ".join(f"{x.label} declared {x.declared:.2f}" for x in raced) + ".",
    ).table(
        RACE_HEADER, [stacked(race_cells(line)) for line in raced],
        caption=f"Permuted blocks; wrong with probability at most {plan.risk:g}.",
        numeric=(1, 2, 3, 4),
    )  # fmt: skip
    sheet.section("How wide the intervals will be").table(
        ["", "By arm"], width_cells(plan),
        caption=f"Intervals that hold at all looks together, risk {plan.risk:g}; mean, and nine of "
        "ten trials.",
    )  # fmt: skip
    if plan.deadlines:
        sheet.section("Other deadlines").figure(
            deadline_picture(plan),
            caption="Regret against the deadline; the band holds nine of ten trials.",
            alt="Regret for several deadlines.",
        ).table(
            SCAN_HEADER, [scan_cells(deadline) for deadline in plan.deadlines],
            caption=f"The same trial with other deadlines, ε = {plan.epsilon:g}.",
            numeric=(0, 1, 2, 3),
        )  # fmt: skip
    sheet.items(notes(plan))
    return sheet.footer(
        f"Simulated with seed {plan.seed}, {plan.runs:,} trials, yes-or-no outcomes."
    )


def stacked(cells: list[str]) -> list[object]:
    """Cells of a page, what stands in brackets below the rest: concurrently a page is too narrow
    for them."""
    from ...report._html import element

    shown: list[object] = []
    for cell in cells:
        mean, bracket, rest = cell.partition(" (")
        below = element("span", f"({rest}", style="display: block")
        shown.append(element("span", mean, below) if bracket else cell)
    return shown


def trial_cells(line: TrialLine) -> list[str]:
    """One line of the table of trials."""
    return [
        line.label, ranged(line.worse), ranged(line.regret), ranged(line.days),
        likely(line.best_named), f"{line.used:.2f}",
    ]  # fmt: skip


def price_cells(price: Price) -> list[str]:
    """One line of the table of prices."""
    found = (price.noise, price.privacy, price.participants)
    return [f"{price.epsilon:g}", *(measured(each) for each in found)]


def race_cells(line: TrialLine) -> list[str]:
    """One line of the table of races."""
    assert line.declared is not None
    assert line.race_participants is not None
    assert line.race_days is not None
    assert line.false_winners is not None
    return [
        line.label, likely(line.declared), ranged(line.race_participants), ranged(line.race_days),
        likely(line.false_winners),
    ]  # fmt: skip


def design_cells(line: DesignLine) -> list[str]:
    """One line of the comparison of designs."""
    shares = (line.power, line.error, line.bound)
    return [
        line.name, *("-" if share is None else f"{share:.3f}" for share in shares),
        number(line.participants), number(line.on_worse),
    ]  # fmt: skip


def width_cells(plan: TrialPlan) -> list[list[str]]:
    """The widths of every ε."""
    return [
        [line.label, ", ".join(f"{w.mean:.2g} ({w.low:.2g} to {w.high:.2g})" for w in found)]
        for line in plan.lines
        if (found := line.width_figures) is not None
    ]


def scan_cells(deadline: Deadline) -> list[str]:
    """One line of the scan."""
    return [
        f"{deadline.days:g} days", f"{100.0 * deadline.answered:.0f} %", ranged(deadline.regret),
        ranged(deadline.length),
    ]  # fmt: skip


def regret_picture(plan: TrialPlan) -> Picture:
    """Every line with its range, and equal allocation."""
    drawing, axes = _bars(len(plan.lines), "regret")
    from ...simulator._plots import COLOURS

    for place, line in enumerate(plan.lines):
        found = line.regret
        axes.hlines(place, found.low, found.high, color=COLOURS[0], linewidth=5, alpha=0.3)
        axes.plot([found.mean], [place], "o", color=COLOURS[0])
    axes.axvline(plan.equal, color="#6b7683", linestyle=":")
    axes.set_yticks(range(len(plan.lines)), [line.label for line in plan.lines])
    axes.set_xlim(left=0.0)
    return drawing


def race_picture(lines: list[TrialLine]) -> Picture:
    """Participants of every race."""
    from ...simulator._plots import COLOURS

    drawing, axes = _bars(len(lines), "participants")
    labels = []
    for place, line in enumerate(lines):
        found, declared = line.race_participants, line.declared
        assert found is not None
        assert declared is not None
        axes.hlines(place, found.low, found.high, color=COLOURS[1], linewidth=5, alpha=0.3)
        axes.plot([found.mean], [place], "o", color=COLOURS[1])
        labels.append(f"{line.label}\ndeclared {declared:.2f}")
    axes.set_yticks(range(len(lines)), labels)
    most = max(line.race_participants.high for line in lines if line.race_participants is not None)
    axes.set_xlim(0.0, 1.04 * most)  # the last point whole
    return drawing


def deadline_picture(plan: TrialPlan) -> Picture:
    """Regret against the deadline."""
    from ..._figures import Picture as Drawing
    from ..._figures import legend_below
    from ...simulator._plots import COLOURS

    drawing = Drawing(figsize=(7.2, 3.4), layout="constrained")
    axes = drawing.add_subplot()
    days = [deadline.days for deadline in plan.deadlines]
    regrets = [deadline.regret for deadline in plan.deadlines]
    axes.fill_between(
        days, [r.low for r in regrets], [r.high for r in regrets], color=COLOURS[0],
        alpha=0.15, linewidth=0, label="nine of ten trials",
    )  # fmt: skip
    axes.plot(days, [r.mean for r in regrets], color=COLOURS[0], marker="o", label="mean")
    axes.set_xlabel("deadline, days")
    axes.set_ylabel("regret")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.25)
    legend_below(drawing, [axes])
    return drawing


def _bars(many: int, across: str) -> tuple[Picture, Axes]:
    from ..._figures import Picture as Drawing

    drawing = Drawing(figsize=(7.2, 1.0 + 0.5 * many), layout="constrained")
    axes = drawing.add_subplot()
    axes.set_xlabel(across)
    axes.grid(axis="x", alpha=0.25)
    axes.set_ylim(many - 0.5, -0.5)
    return drawing, axes
