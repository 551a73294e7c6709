"""The papers that a board asks for, from a planned trial or one that runs.

>>> import discreet
>>> from discreet.report import Study, papers
>>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
>>> trial = discreet.Trial(plan, ["drug", "placebo"], deadline="28 days", missing=0)
>>> page = papers(trial, Study(title="Drug against placebo", contact="trials@example.org"))
>>> print(page.markdown().splitlines()[0])
# Drug against placebo

Six papers in one document: protocol section, statistical analysis plan, information for
participants, data-protection annex, checklist of CONSORT with its extension for adaptive designs
(Dimairo et al. 2020), and the flow of participants. Everything that the software knows is filled
in: settings, boundaries, certificates, guarantee, version. What only the investigators know is a
field of `Study`, or stands there as [to be completed]. It is all built from settings and of the
public report, so the papers may be shown to anyone who may see the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import InvalidArgument
from ._live_page import flow_table
from ._numbers import count, decimal
from ._page import Page

if TYPE_CHECKING:
    from ..live import Rehearsal, Strata, Trial
    from ..live._documents import Report

BLANK = "[to be completed]"


@dataclass(frozen=True, kw_only=True)
class Study:
    """What the software cannot know of a trial. Fields that are left out stay blank in the papers.

    Args:
        title: Of the trial.
        question: What is to be found out, in a sentence.
        participants: Who may take part.
        outcome: What is measured, how and when.
        treatments: What each arm gets.
        sites: Where.
        sponsor: Who is responsible.
        contact: Whom participants may ask.
        registration: Register and number.
        ethics: Committee and reference.
        basis: The legal basis of processing personal data.
        monitoring: Who sees reports before the end.

    >>> Study(title="Drug against placebo").known("sponsor")
    '[to be completed]'
    """

    title: str = "A private adaptive trial"
    question: str = ""
    participants: str = ""
    outcome: str = ""
    treatments: str = ""
    sites: str = ""
    sponsor: str = ""
    contact: str = ""
    registration: str = ""
    ethics: str = ""
    basis: str = ""
    monitoring: str = ""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, str):
                raise InvalidArgument(each.name, "be text", value, f'use {each.name}="..."')

    def known(self, name: str) -> str:
        """A field, or the blank."""
        return getattr(self, name) or BLANK


def papers(trial: Trial | Strata | Rehearsal, study: Study | None = None) -> Page:
    """The papers of a trial: `.markdown()` to edit, `.html()` to read, `.write(path)` for both.

    Args:
        trial: A `Trial`, `Strata` or `Rehearsal`. A trial in memory without participants is a plan.
        study: What the software cannot know.

    Returns:
        A page of six sections.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> from discreet.report import papers
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> with discreet.Trial(policy, arms=["A", "B"], horizon=20) as trial:
        ...     text = papers(trial).markdown()
        >>> "## Synopsis" in text, "## Statistical analysis plan" in text
        (True, True)
    """
    study = Study() if study is None else study
    if not isinstance(study, Study):
        raise InvalidArgument("study", "be a Study", study, 'use Study(title="...")')
    if hasattr(getattr(getattr(trial, "policy", None), "design", None), "thresholds"):
        raise InvalidArgument(
            "trial", "be the trial that an alarm watches", "the alarm itself", "use watched.trial"
        )
    known = _Known(trial, study)
    page = Page(study.title, subtitle="Papers for the review of a trial with private outcomes")
    for add in (_synopsis, _protocol, _analysis, _information, _data, _checklist, _flow, _cited):
        add(page, known)
    return page.footer(
        f"Written by discreet {__version__} from the settings and the public report of the trial. "
        f"What is marked {BLANK} is for the investigators."
    )


class _Known:
    """The trial, its report, and what follows from both."""

    def __init__(self, trial: Any, study: Study) -> None:
        self.study = study
        self.whole: Report = trial.report()
        parts: list[Report] = self.whole.get("strata") or [self.whole]
        self.strata = [str(part["stratum"]) for part in parts if "stratum" in part]
        self.report = parts[0]
        self.parts = parts
        self.policy = getattr(trial, "policy", None) or self._policy_of(trial)
        self.guarantee = trial.guarantee
        self.settings = self.report["settings"]
        self.arms = [str(arm) for arm in self.settings["arms"]]  # type: ignore[attr-defined]
        design: Any = getattr(self.policy, "design", None)
        self.design = getattr(design, "design", design)  # of a stratum: that of all
        self.goal = getattr(self.policy, "goal", "regret")
        self.deadline = str(self.settings["deadline"])
        self.is_rehearsal = "protects" in self.whole

    @staticmethod
    def _policy_of(trial: Any) -> Any:
        return next(iter(trial.trials.values())).policy if hasattr(trial, "trials") else None

    @property
    def has_contexts(self) -> bool:
        return "dimension" in self.settings

    @property
    def is_adaptive_test(self) -> bool:
        return hasattr(self.design, "lag")

    @property
    def estimates_missing(self) -> bool:
        return "unknown" in str(self.settings.get("missing", ""))

    @property
    def most(self) -> str:
        horizon = self.whole.get("horizon")
        if horizon is None and self.strata:
            each = [part["horizon"] for part in self.parts]
            horizon = None if None in each else sum(h for h in each if h is not None)
        return "not limited" if horizon is None else f"at most {count(horizon)}"

    @property
    def purpose(self) -> str:
        return {
            "test": "to test whether two treatments differ, with a stated type I error",
            "identify": "to name the best treatment, with a stated probability of a wrong answer",
        }.get(self.goal, "to treat participants as well as possible while it learns")


def _synopsis(page: Page, known: _Known) -> None:
    study = known.study
    page.section("Synopsis").terms(
        {
            "Title": study.title,
            "Question": study.known("question"),
            "Purpose of the design": known.purpose,
            "Arms": ", ".join(known.arms),
            **({"Strata": ", ".join(known.strata)} if known.strata else {}),
            "Participants": known.most,
            "Primary outcome": f"{study.known('outcome')}; recorded: {known.settings['outcomes']}",
            "Outcome counts until": known.deadline,
            "Policy": str(known.design or known.report["policy"]),
            "Privacy": known.guarantee.short(),
            "Sponsor": study.known("sponsor"),
            "Sites": study.known("sites"),
            "Registration": study.known("registration"),
            "Ethics committee": study.known("ethics"),
            "Software": f"discreet {__version__}",
        }
    )
    if known.is_rehearsal:
        page.note("These papers were written from a rehearsal with made-up outcomes.", warning=True)


def _protocol(page: Page, known: _Known) -> None:
    page.section("Protocol section: allocation, outcomes, looks")
    page.heading("Allocation").text(*_allocation(known))
    page.heading("Concealment and blinding").text(
        "An arm is drawn when a participant is enrolled, by a cryptographic generator without a "
        "seed, and no list is kept. Someone who knows all earlier arms of a window can guess its "
        "last ones, so they should not be shown to those who enrol. The software does not blind "
        "treatment. Private is not blinded: the guarantee below limits what can be inferred about "
        "one participant, and does not hide which arm is ahead. "
        + (
            "The report shows no means until the test has decided. "
            if known.goal == "test"
            else "Reports show released means while the trial runs. "
        )
        + f"Who sees reports before the end: {known.study.known('monitoring')}."
    )
    page.heading("Outcomes").text(
        f"The outcome of a participant is {known.settings['outcomes']}, "
        f"{known.settings['contributions']}. Deadline: {known.deadline}. "
        f"{_missing_words(known)}"
    )
    page.heading("When data are looked at").text(*_looks_words(known))
    page.heading("Changes that are planned").text(
        "A board may end enrolment, with its reason on record. "
        + (
            "Arms are neither added nor dropped: either would void the test. "
            if known.goal == "test"
            else "An arm may be dropped by a decision that rests on the report. "
        )
        + "Every such step is stored with the trial. All other settings are fixed before the first "
        "participant."
    )


def _allocation(known: _Known) -> Iterator[str]:
    window = known.settings.get("window")
    if known.is_adaptive_test:
        design = known.design
        yield (
            f"Participants are enrolled in epochs of {', '.join(map(str, design.sizes))}. The "
            "first epoch is split evenly; in every later one the arm that is ahead when it is "
            f"planned gets all places but {design.least:.0%}. The order within an epoch is random. "
            f"An epoch is planned on all epochs but the last {design.lag} before it. Who comes "
            "before these are released gets the control, and is not in the trial. "
        )
    elif known.goal == "test":
        yield (
            f"Participants are randomised {_shares(known)} in permuted blocks"
            + (f" of {window}" if window else "")
            + (", within strata. " if known.strata else ". ")
        )
    elif known.has_contexts:
        yield (
            "The policy assigns the arm with the largest optimistic or sampled estimate for the "
            "features of the participant. "
        )
    else:
        yield (
            "Allocation adapts to released results. For every window the policy plans how many "
            "participants each arm gets, and the arms are given out in a random order"
            + (f" ({window}). " if window else ". ")
        )
        share = known.settings.get("share", "none")
        if share != "none":
            least = ", ".join(f"{arm} {s:.0%}" for arm, s in share.items())  # type: ignore[attr-defined]
            yield f"Least shares: {least}. "
    if rest := known.settings.get("rest"):
        yield (
            f"After the verdict participants get {rest}; their outcomes are not used. Who comes "
            "while the last outcomes are awaited gets the control. "
        )
    yield f"Policy: {known.report['policy']}."


def _shares(known: _Known) -> str:
    """ "1:1", or the numbers of participants."""
    sizes = known.design.sizes
    n1, n0 = sizes[0][-1] if known.strata else sizes[-1]
    if n1 == n0:
        return ":".join("1" for _ in known.arms)
    return ":".join([str(n1)] * (len(known.arms) - 1) + [str(n0)])


def _missing_words(known: _Known) -> str:
    if "missing" not in known.settings:
        return "Every participant is expected to respond, or it is public who did."
    if known.estimates_missing:
        return (
            "Silence means that the outcome is unknown: the number of participants who answered is "
            "released together with the sum, with noise, at no further cost of privacy."
        )
    return f"A participant who has not answered by then is counted: {known.settings['missing']}."


def _looks_words(known: _Known) -> Iterator[str]:
    yield (
        "Outcomes are grouped in blocks. A block is released once: the sum of its outcomes plus "
        "random noise, at a moment that is public and does not depend on who answered. Raw "
        "outcomes are erased with the release, and nothing else ever reads them. "
    )
    test = known.whole.get("test") or known.report.get("test")
    if test is not None:
        sizes = ", ".join(count(look["participants"]) for look in test["looks"])
        yield f"The test looks when the outcomes of {sizes} participants are due. "


def _analysis(page: Page, known: _Known) -> None:
    page.section("Statistical analysis plan")
    if known.goal == "test":
        _test_plan(page, known)
    elif known.goal == "identify":
        risk = getattr(known.policy, "risk", None)
        sure = (
            f"The probability that the recommended arm is not the best is at most {risk:g}"
            if risk is not None and known.policy.delta_correct
            else "The trial ends after a fixed number of participants; no bound on the probability "
            "of a wrong answer is fixed in advance"
        )
        page.text(
            "The trial stops with a recommendation. " + sure + ", whatever the mean outcomes are, "
            "as long as they do not change over time. It does not test a hypothesis, and the "
            "recommendation has no p-value."
        )
    else:
        page.text(
            "The trial controls no type I error for a hypothesis: it is planned to treat well. "
            "Its report has intervals for mean outcomes, which stay valid although allocation "
            "adapts. A confirmatory conclusion needs a trial that tests."
        )
    page.heading("Estimands and intervals").text(*_estimands(known))
    page.heading("Noise").text(
        "Every released sum contains noise from a known distribution. It is part of the variance "
        "in every statistic and interval, and is never estimated from the data. "
        f"Budget: {known.guarantee.short()}. An outcome is used in one release, or as often as the "
        "guarantee accounts for."
    )
    page.heading("Missing outcomes").text(_missing_words(known))


def _test_plan(page: Page, known: _Known) -> None:
    design = known.design
    *treatments, control = known.arms
    treatment = (
        " or ".join(treatments) if len(treatments) < 2 else f"each of {', '.join(treatments)}"
    )
    side = (
        f"{treatment} and {control} have the same success rate, against a difference in either "
        "direction"
        if design.sides == 2
        else f"{treatment} is no better than {control}, against its being better"
    )
    page.text(
        f"Null hypothesis: {side}. The test is group-sequential ({design}). Z is the difference of "
        "the two shares of successes over its standard error under the null hypothesis, in which "
        "the noise is included; the trial stops at the first look where Z lies beyond the boundary."
    )
    test = known.whole.get("test") or known.report["test"]
    beyond = "beyond ±" if design.sides == 2 else "above "
    page.table(
        ["Look", "Participants", "Reject where Z is"],
        [
            [
                number,
                look["participants"],
                f"{beyond}{decimal(look['boundary'], 4)}" if "boundary" in look else "no test",
            ]
            for number, look in enumerate(test["looks"], 1)
        ],
        caption="Looks and boundaries, fixed before the first outcome.",
        numeric=(1, 2),
    )
    if hasattr(design, "treatments"):
        page.text(
            f"Risk: the probability of any false claim is at most {design.risk:g}; proved bound at "
            f"every common rate: {design.bound:.4f} ({design.method}, closed testing). A treatment "
            "that is decided is no longer assigned, and its places are not given away."
        )
        return
    page.text(f"Type I error: {design.risk:g}. Certificate: {design.certificate}.")
    if known.is_adaptive_test:
        page.text(
            "Arms are compared within epochs alone, so a trend that both share cancels. Statistic: "
            f"{design.statistic}. discreet operating shows power and participants, simulated."
        )
    elif not known.strata:
        cases = [(0.5, 0.5), (0.5, 0.35), (0.3, 0.2), (0.6, 0.5)]
        page.table(
            [f"Rate with {treatment}", f"Rate with {control}", "Probability to reject"],
            [
                [f"{one:g}", f"{two:g}", decimal(sum(_stops(design, one, two)), 3)]
                for one, two in cases
            ],
            caption="Operating characteristics, exact. Equal rates: the type I error there. "
            "discreet operating shows others.",
            numeric=(0, 1, 2),
        )


def _stops(design: Any, treatment: float, control: float) -> tuple[float, float]:
    found = design.operating(treatment, control)
    return sum(found.above), sum(found.below)


def _estimands(known: _Known) -> Iterator[str]:
    if known.goal == "test":
        yield (
            "The difference of success rates, "
            + (
                "over strata by Mantel and Haenszel, with a forest of the strata. "
                if known.strata
                else "with a median-unbiased estimate and a stage-wise interval for a trial that "
                "stops at a boundary. "
            )
            + "A repeated interval is valid at every look, also if the boundary is overruled. "
            "Estimate and intervals rest on the normal distribution; the decision does not. "
        )
    elif known.has_contexts:
        yield "The coefficients of the linear model, with an ellipsoid where one is proved. "
    elif known.report.get("trend", "absent") != "absent":
        yield (
            "Differences between arms within epochs of fixed allocation, in which a trend that all "
            "arms share cancels; their intervals hold at all times. "
        )
    else:
        kind = known.settings.get("intervals", "auto")
        yield f"The mean outcome of every arm, with intervals of the kind {kind!r}. "
    yield (
        "The mean is over those who answered, taken to be like the others of their arm; bounds "
        "without that assumption are reported beside it."
        if known.estimates_missing
        else "The mean is over all who were assigned, with missing outcomes counted as declared."
    )


def _information(page: Page, known: _Known) -> None:
    budget = known.guarantee
    right = 100.0 * budget.tradeoff().accuracy
    joint = str(known.guarantee.definition.value) == "joint"
    page.section("Information for participants")
    page.text(
        f"You are asked to take part in a study: {known.study.title}. "
        f"{known.study.known('question')}"
    )
    page.items(
        [
            f"You will get one of these: {', '.join(known.arms)}. Which one is drawn at random"
            + (
                "."
                if known.goal == "test"
                else "; those that seem to work better so far are drawn more often."
            ),
            f"We will record one result for you: {known.study.known('outcome')}. It counts if we "
            f"have it in time ({known.deadline}).",
            "Your result is added to the results of other people. A random number is added to the "
            "sum before anyone sees it, and then your own result is erased. Nobody is shown "
            "your result by itself.",
            "Suppose someone knew the results of everyone else and guessed which of two results "
            f"you had. From all that the study ever shows, that guess would be right at most "
            f"{right:.1f} times in 100, instead of 50 by chance.",
            "The study does not hide that you take part, or when you came"
            + ("." if joint else ", or which treatment you got."),
            "You may leave at any time, without giving a reason. If your result was not yet added "
            "to a sum, it will never be. If it was, the sum stands: your part in it cannot be "
            "taken out or found again. Your name in the study will be overwritten.",
            f"Questions: {known.study.known('contact')}.",
        ]
    )


def _data(page: Page, known: _Known) -> None:
    page.section("Data-protection annex")
    page.table(
        ["What", "Where", "How long", "Who can read it"],
        [
            [
                "Pseudonym, arm, time of assignment", "the trial's file or database",
                "until it is erased after the end", "those who may open the trial",
            ],
            [
                "Outcome of a participant", "the same, sealed under the key of its block",
                "until its block is released or it is withdrawn; the key is then overwritten",
                "no one through the software; the administrator of the machine could",
            ],
            [
                "Exact sums, for policies that keep them", "the same, sealed",
                "until the trial ends", "as above",
            ],
            [
                "Released sums with noise, counts, decisions", "the same, and the witness",
                "for good", "anyone who may see the report",
            ],
        ],
        caption="What is held. Source data at the sites are outside of this software.",
    )  # fmt: skip
    page.terms(
        {
            "Guarantee": str(known.guarantee),
            "In words": known.guarantee.tradeoff().in_words(outcomes=True),
            "Conditions": "; ".join(known.guarantee.conditions) or "none beside those above",
            "Budget over several trials": "budgets of trials that use data of the same people add "
            "up; with ε of this trial and of another, what both reveal is bounded by the sum",
            "Not covered": "who takes part, when and in which arm; source data; access to the "
            "machine while outcomes wait; several trials, unless their budgets are added",
            "Withdrawal": "an outcome that was not released is never used; a released sum stands",
            "Legal basis": known.study.known("basis"),
            "Controller": known.study.known("sponsor"),
        }
    )


def _checklist(page: Page, known: _Known) -> None:
    study, test = known.study, known.goal == "test"
    adaptive = (
        "response-adaptive allocation between epochs, group-sequential test"
        if known.is_adaptive_test
        else "group-sequential: may stop at planned looks"
        if test
        else "response-adaptive allocation; may stop with an answer"
        if known.goal == "identify"
        else "response-adaptive allocation"
    )
    sample = (
        f"{known.most}; boundaries, error and power in the analysis plan"
        if test
        else f"{known.most}; simulate operating characteristics with discreet plan and a rehearsal"
    )
    rows = [
        ("1a", "Randomised trial in the title", study.title),
        ("2b", "Objectives or hypotheses", study.known("question")),
        ("3a", "Trial design and allocation ratio", "Protocol section, Allocation"),
        ("3b", "Type of adaptive design, planned adaptations", adaptive),
        ("3c", "Changes outside of the planned adaptations", "to be listed at the end"),
        ("4a", "Eligibility", study.known("participants")),
        ("4b", "Settings and locations", study.known("sites")),
        ("5", "Interventions", study.known("treatments")),
        ("6a", "Outcomes", f"{study.known('outcome')}; {known.settings['outcomes']}"),
        ("7a", "Sample size and operating characteristics", sample),
        ("7b", "Interim decision rules", "Protocol section, When data are looked at"),
        ("8a", "Random sequence", "cryptographic generator, no seed, drawn at enrolment"),
        ("8b", "Type of randomisation", "Protocol section, Allocation"),
        ("9", "Allocation concealment", "Protocol section, Concealment and blinding"),
        ("11a", "Blinding", BLANK),
        ("11c", "Confidentiality of interim information",
         "no means in reports before the verdict" if test
         else f"reports show released means; they are seen by: {study.known('monitoring')}"),
        ("12a", "Statistical methods", "Statistical analysis plan"),
        ("12b", "Estimation and inference for the adaptive design", "Estimands and intervals"),
        ("13a", "Flow of participants", "Flow of participants"),
        ("14a", "Dates of recruitment", BLANK),
        ("14c", "Adaptation decisions made", _ended(known)),
        ("15", "Baseline data", BLANK),
        ("17a", "Results of each group, effect and precision", _result(known)),
        ("17c", "Interim results that informed decisions", "releases, in the report"),
        ("19", "Harms", BLANK),
        ("23", "Registration", study.known("registration")),
        ("24", "Protocol and analysis plan", "this document"),
        ("25", "Funding", BLANK),
    ]  # fmt: skip
    page.section("Checklist: CONSORT 2010 with ACE").table(
        ["Item", "Topic", "Here"], [[item, topic, where] for item, topic, where in rows],
        caption="Items of CONSORT 2010 with the extension for adaptive designs (Dimairo et al., "
        "BMJ 2020;369:m115) that concern what this software does. The statement has all of them.",
    )  # fmt: skip


def _ended(known: _Known) -> str:
    ended = known.report.get("ended")
    if ended:
        return f"ended by hand: {ended.get('by', '')}"
    return f"status: {known.whole['status']}"


def _result(known: _Known) -> str:
    test = known.whole.get("test") or known.report.get("test")
    if test is None:
        return "means and intervals in the report"
    return "no decision yet" if test["decision"] == "go on" else test["sentence"]


def _flow(page: Page, known: _Known) -> None:
    page.section("Flow of participants")
    if not any(part.get("arms") for part in known.parts):
        page.text("Counts of arms are private in this trial, and are not shown.")
        return
    if not known.whole["assigned"]:
        page.text("No participant has been assigned yet.")
    flow_table(page, known.parts)


def _cited(page: Page, known: _Known) -> None:
    from ..references import REFERENCES

    keys = ["discreet", getattr(known.policy, "reference", "")]
    works = [REFERENCES[key] for key in keys if key in REFERENCES]
    page.section("Software and references").items(
        f"{', '.join(work.authors)}. {work.title}. {work.venue or 'Software'}, {work.year}."
        for work in works
    )
    page.text(f"discreet {__version__}; policy {known.report['policy']}.")
