"""The report of a comparison of policies on a finished trial, for clinical readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .._version import __version__
from ..privacy.budgets import Pure
from ._html import Html, element, joined, strong
from ._live_page import LiveStory, add_live, cited
from ._numbers import MINUS, NO_BREAK, Estimate, count, decimal, percent
from ._page import Page
from ._pictures import Palette, Price, price_picture, regret_picture, title, twin

if TYPE_CHECKING:
    from .._types import Ints
    from ..arms._trial import TrialData
    from ..policies import Policy
    from ..simulator import Result

OUTCOMES = {
    "cd4": "the patient’s CD4 cell count at 20 ± 5 weeks was above that at the start",
    "event-free": "no event (CD4 count halved, AIDS, or death) was seen",
}


@dataclass(frozen=True)
class Findings:
    """All numbers of the report."""

    data: TrialData
    policies: tuple[Policy, ...]
    results: Mapping[int, tuple[Result, ...]]
    """By horizon: one result for every policy."""
    prices: tuple[Price, ...]
    seed: int
    runs: Mapping[int, int]
    command: str
    live: LiveStory | None = None
    main: int = 10_000
    """The horizon of the headline."""
    epsilons: tuple[float, ...] = field(default=(0.1, 1.0))


def worse(result: Result) -> Estimate:
    """Patients on another arm than the best one."""
    return Estimate.of(worse_by_run(result))


def worse_by_run(result: Result) -> Ints:
    """For every run: patients on another arm than the best one."""
    last = result.pulls[:, -1, :]
    best = max(range(len(result.means)), key=lambda arm: result.means[arm])
    worse: Ints = last.sum(axis=1) - last[:, best]
    return worse


def lost(result: Result) -> Estimate:
    """Expected successes lost against the best arm: the regret."""
    return Estimate.of(result.final_regret)


def price(private: Result, twin: Result, epsilon: float) -> Price:
    """Run by run, so that the errors hold whatever the two have in common."""
    return Price(
        private.name,
        twin.name,
        epsilon,
        Estimate.of(worse_by_run(private) - worse_by_run(twin)),
        Estimate.of(private.final_regret - twin.final_regret),
    )


def price_in_words(found: Price, horizon: int) -> str:
    """A sentence."""
    extra = found.patients
    if abs(extra.mean) <= 2.0 * extra.error:
        said = f"as many ({extra}, within chance) would have received a worse treatment as"
    else:
        size = Estimate(abs(extra.mean), extra.error)
        word = "more" if extra.mean > 0 else "fewer"
        said = f"{size} {word} would have received a worse treatment than"
    return f"of {count(horizon)} patients, {said} without privacy ({title(found.twin)})."


def trial_page(findings: Findings) -> Page:
    """The whole report."""
    page = Page(
        "What does privacy cost in an adaptive trial?",
        subtitle=f"{count(len(findings.data.outcomes))} patients of the trial ACTG 175, "
        "four treatments, policies with and without differential privacy",
    )
    _in_short(page, findings)
    _asked(page, findings)
    _privacy(page, findings)
    _results(page, findings)
    _price(page, findings)
    if findings.live is not None:
        add_live(page, findings.live)
    _guarantees(page, findings)
    _limits(page, findings)
    _repeat(page, findings)
    page.section("Methods").text(_methods(findings))
    page.section("How to cite").text(cited())
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return page.footer(
        f"Written by discreet {__version__} on {today}. Data: {findings.data.citation}; "
        f"{findings.data.source}; {findings.data.licence}."
    )


def _in_short(page: Page, findings: Findings) -> None:
    data, horizon = findings.data, findings.main
    results = {result.name: result for result in findings.results[horizon]}
    equal_worse, _ = equal_split(data, horizon)
    page.section("In short")
    paragraphs: list[object] = []
    headline = next(
        (p for p in findings.prices if p.policy == "dp-imed" and p.epsilon == 1.0), None
    )
    if headline is not None and {"imed", "dp-imed"} <= set(results):
        without, with_ = worse(results["imed"]), worse(results["dp-imed"])
        paragraphs += [
            joined(
                f"An adaptive trial learns as it goes which treatment works best and gives it to "
                f"more and more patients. Of {count(horizon)} patients, about ",
                strong(count(without.mean)),
                " would have received a worse treatment than the best one without privacy, and "
                "about ",
                strong(count(with_.mean)),
                " with a privacy guarantee of ε = 1: ",
                strong(_more(headline.patients)),
                f" patients (± {_error(headline.patients)}). In a trial that splits patients "
                f"equally it is {count(equal_worse)}.",
            ),
            joined(
                "In outcomes, privacy cost ",
                _cost(headline.successes),
                f" among {count(horizon)} patients (the private policy DP-IMED against its "
                "non-private twin, IMED).",
            ),
        ]
    at_one = sorted((p for p in findings.prices if p.epsilon == 1.0), key=lambda p: p.patients.mean)
    if len(at_one) > 1:
        low, high = at_one[0], at_one[-1]
        paragraphs.append(
            f"The price depends strongly on the policy and on ε. At ε = 1 it ranges from "
            f"{_in_brief(low)} to {_in_brief(high)}, each compared with its non-private twin."
        )
    page.note(*paragraphs)


def _asked(page: Page, findings: Findings) -> None:
    data = findings.data
    best = max(data.rates)
    page.section("What was asked").text(
        "An adaptive trial publishes something with every decision: which treatment the next "
        "patient gets depends on how earlier patients fared. Anyone who watches the assignments "
        "can therefore learn something about the outcome of a single patient. Differential privacy "
        "bounds how much. The question is what this protection costs the patients of the trial."
    ).text(
        "The policies were tried on the outcomes of AIDS Clinical Trials Group Study 175, in "
        "which adults with HIV were given one of four treatments. A success here means that "
        f"{OUTCOMES.get(data.outcome, data.outcome)}."
    )
    rows = [
        [name.capitalize(), len(outcomes), percent(rate), _points(best - rate)]
        for name, outcomes, rate in zip(data.arm_names, data.by_arm, data.rates, strict=True)
    ]
    page.table(
        ["Treatment", "Patients in the trial", "Success rate", "Behind the best"],
        rows,
        caption="The four treatments and how often they succeeded. A policy does not know "
        "these rates: it has to find the best treatment while treating.",
        numeric=(1, 2, 3),
    ).text(
        "Two measures are reported. ",
        strong("Patients on a worse treatment"),
        " counts those who received another treatment than the best one. ",
        strong("Successes lost"),
        " weighs them by how much worse it was: the number of successes that one expects to be "
        "missing compared with giving everyone the best treatment (in the literature: the "
        f"regret). One patient on {data.arm_names[0]} alone, for example, costs "
        f"{decimal(best - data.rates[0], 2)} of a success.",
    )


def _privacy(page: Page, findings: Findings) -> None:
    page.section("What differential privacy means").text(
        "A differentially private trial adds so much chance to what it learns from outcomes that "
        "everything an outsider can see would have been almost as likely if any one patient had "
        "fared differently. How much “almost” allows is a number, ε: whatever an "
        "outsider believed about the outcome of a patient before, the trial multiplies the odds "
        "by at most e",
        element("sup", "ε"),
        " in either direction."
    )  # fmt: skip
    power = element("sup", "ε")
    rows = []
    for epsilon in findings.epsilons:
        advantage = Pure(epsilon).attacker_advantage()
        rows.append(
            [
                f"{epsilon:g}",
                f"× {math.exp(epsilon):.3g}",
                percent((1.0 + advantage) / 2.0),
                percent(advantage),
            ]
        )
    page.table(
        [
            "ε",
            "Odds change by at most",
            "A guess between two outcomes is right at most",
            "Attacker’s advantage",
        ],
        rows,
        caption=joined(
            "What ε means for someone who tries to find out one patient’s outcome and knows "
            "everything else. Without the trial, a guess between two equally likely outcomes is "
            "right half of the time. The advantage is the true positive rate minus the false "
            "positive rate, at most ",
            element("span", "(e", power, f" {MINUS} 1) / (e", power, " + 1)", class_="formula"),
            ".",
        ),
        numeric=(0, 1, 2, 3),
    ).text(
        "Two kinds of policies appear below. In the ",
        strong("central"),
        " model a trusted trial office sees the outcomes and only noisy sums leave it. In the ",
        strong("local"),
        " model (LDP in the name) each outcome is disguised before it reaches the office, so that "
        "nobody has to be trusted.",
    )


def _results(page: Page, findings: Findings) -> None:
    data, horizon = findings.data, findings.main
    page.section("Results").text(
        "Every policy treated the same numbers of simulated patients and knew nothing at the "
        "start. IMED, KL-UCB and UCB1 are classical policies without privacy; the others are "
        "private, and the table says how much."
    )
    results = sorted(findings.results[horizon], key=lambda result: result.final_regret.mean())
    equal_worse, equal_lost = equal_split(data, horizon)
    rows: list[list[object]] = [
        [title(r.name), _promise(r), worse(r), lost(r), percent(1.0 - worse(r).mean / horizon, 0)]
        for r in results
    ]
    rows.append(
        [
            "Equal split",
            "not adaptive",
            count(equal_worse),
            count(equal_lost),
            percent(1.0 - equal_worse / horizon, 0),
        ]
    )
    page.table(
        [
            "Policy",
            "Promise",
            "Patients on a worse treatment",
            "Successes lost",
            "On the best treatment",
        ],
        rows,
        caption=f"{count(horizon)} patients, mean of {count(findings.runs[horizon])} simulated "
        "trials ± standard error, best first. The last line is a trial that splits patients "
        "equally between the treatments, as ACTG 175 did.",
        numeric=(2, 3, 4),
    )
    longest = max(findings.results)
    drawn = findings.results[longest]
    page.figure(
        regret_picture(
            drawn,
            across="patients treated",
            up="successes lost so far (expected)",
            since=30,
            baseline=("equal split", equal_split(data, 1)[1]),
            palette=Palette(policy.name for policy in findings.policies),
        ),
        caption=f"Successes lost while the trial grows to {count(longest)} patients (mean of "
        f"{count(findings.runs[longest])} simulated trials; bands: ± 2 standard errors). "
        "Both scales are logarithmic. Solid: private, as promised in the table; dashed: not "
        "private; dotted: patients split equally. A curve that flattens has found the best "
        "treatment.",
        alt=_curves_in_words(drawn, longest),
    )
    horizons = sorted(findings.results)
    by_name = {h: {result.name: result for result in findings.results[h]} for h in horizons}
    table = [
        [title(result.name), *(lost(by_name[h][result.name]) for h in horizons)]
        for result in results
    ]
    table.append(["Equal split", *(count(equal_split(data, h)[1]) for h in horizons)])
    page.table(
        ["Policy", *(f"{count(h)} patients" for h in horizons)],
        table,
        caption="Successes lost in trials of different sizes, ± standard error "
        f"({count(len(data.outcomes))} is the size of ACTG 175).",
        numeric=range(1, len(horizons) + 1),
    )


def _price(page: Page, findings: Findings) -> None:
    horizon, prices = findings.main, findings.prices
    if not prices:
        return
    page.section("The price of privacy").text(
        "The price is the number of additional patients on a worse treatment, compared with the "
        "policy’s non-private twin: the policy whose rule it adapts."
    ).figure(
        price_picture(
            prices,
            up=f"more patients on a worse treatment, of {count(horizon)}, than without privacy",
            palette=Palette(policy.name for policy in findings.policies),
        ),
        caption=f"The price of privacy for {count(horizon)} patients (bars: ± 2 standard "
        "errors). The vertical scale is compressed above 100.",
        alt=f"The price of privacy against ε for {count(horizon)} patients. "
        + " ".join(_price_in_words(prices)),
    )
    sentences = [
        joined(strong(f"{title(p.policy)}, ε = {p.epsilon:g}: "), price_in_words(p, horizon))
        for p in prices
        if p.epsilon == 1.0
    ]
    page.items(sentences)
    names = list(dict.fromkeys(p.policy for p in prices))
    by_key = {(p.policy, p.epsilon): p for p in prices}
    for what, caption in (
        ("patients", f"More patients on a worse treatment, of {count(horizon)}, ± standard error."),
        ("successes", f"More successes lost, among {count(horizon)} patients, ± standard error."),
    ):
        page.table(
            ["ε", *(f"{title(name)} against {title(twin(name))}" for name in names)],
            [
                [f"{e:g}", *(getattr(by_key[name, e], what) for name in names)]
                for e in findings.epsilons
            ],
            caption=caption,
            numeric=range(len(names) + 1),
        )
    page.text(
        "Where a curve levels off above zero, what remains is not the price of noise but of the "
        "rest of the private design: deciding for whole batches of patients at a time and, in "
        "AdaP-KLUCB, forgetting earlier batches and trying treatments for longer."
    )
    if any(p.patients.mean < -2.0 * p.patients.error for p in prices):
        page.text(
            "A price below zero means that the private policy did better than its twin. Privacy "
            "does not help patients: the two policies differ in more than the noise (private "
            "ones decide in batches and explore by another formula), and here the formula of the "
            "private one suits the data better than that of the older policy."
        )


def _guarantees(page: Page, findings: Findings) -> None:
    page.section("The promises in words")
    promises: dict[str, list[str]] = {}
    for policy in findings.policies:
        promises.setdefault(str(policy.guarantee), []).append(title(policy.name))
    page.terms({", ".join(names): sentence for sentence, names in promises.items()})
    if any(policy.guarantee.budget.kind == "zcdp" for policy in findings.policies):
        page.text(
            "ρ is another scale: whatever keeps ε also keeps ρ = ε²/2, but not the other way "
            "round. A promise with ρ = 0.5 is therefore weaker than one with ε = 1."
        )


def _limits(page: Page, findings: Findings) -> None:
    page.section("Limits").items(
        [
            "What is protected is the outcome of a patient. That someone took part, when, and "
            "which treatment they were given is not hidden by these policies, and in the central "
            "model the trial office sees the outcomes.",
            "A promise is for one outcome per patient. If a patient’s outcome also reveals "
            "that of a relative or partner, the promises for the two add up.",
            "Differential privacy does not hide what the trial teaches about patients in general: "
            "teaching it is the purpose of a trial.",
            "The trials in this report are simulated: outcomes were drawn at random, with "
            "replacement, from those recorded for the treatment in ACTG 175. Patients are "
            "treated as exchangeable, outcomes as known before the next decision, and the "
            "recorded rates as the truth.",
            "Errors are those of the simulation. They do not include the uncertainty of the "
            "recorded rates.",
            "A rise of the CD4 count after 20 weeks is one outcome among many, and the "
            "treatments are those of the 1990s. Nothing here is medical advice.",
        ]
    )


def _repeat(page: Page, findings: Findings) -> None:
    data = findings.data
    page.section("Data, settings and how to repeat this").text(
        f"Data: {data.citation}. Source: {data.source}. Licence: {data.licence}; only the columns "
        "that are needed are kept, without patient numbers."
    )
    page.table(
        ["Setting", "Value"],
        [
            ["Version of discreet", __version__],
            ["Seed", str(findings.seed)],
            ["Outcome", data.outcome],
            *(
                [f"Simulated trials of {count(h)} patients, each policy", count(runs)]
                for h, runs in sorted(findings.runs.items())
            ),
            ["ε in the price of privacy", ", ".join(f"{e:g}" for e in findings.epsilons)],
        ],
        caption="Settings. The same version and seed give the same simulated numbers; the live "
        "trial has no seed.",
    ).code(findings.command)
    page.table(
        ["Policy", "Schedule", "Release", "Rule"],
        [[title(p.name), str(p.schedule), str(p.release), str(p.rule)] for p in findings.policies],
        caption="The policies: when a batch of outcomes is released, how, and what is made of it.",
    )


def _methods(findings: Findings) -> str:
    """A paragraph for the methods section of a paper."""
    sizes = "; ".join(
        f"{count(runs)} trials of {count(horizon)} patients"
        for horizon, runs in sorted(findings.runs.items())
    )
    names = ", ".join(title(policy.name) for policy in findings.policies)
    return (
        f"Adaptive trials were simulated with the policies {names}. Rewards were outcomes "
        f"({findings.data.outcome}) drawn with replacement from those recorded in the same group "
        f"of ACTG 175. For each policy there were {sizes}, with the random seed {findings.seed}. "
        "The cost of privacy is the mean difference, run by run, between a private policy and its "
        "counterpart without privacy; ± is one standard error of the simulation. Software: "
        f"discreet {__version__}."
    )


def equal_split(data: TrialData, horizon: int) -> tuple[float, float]:
    """An equal split: patients on a worse arm, and successes lost."""
    gaps = [max(data.rates) - rate for rate in data.rates]
    each = horizon / len(gaps)
    return each * sum(gap > 0 for gap in gaps), each * sum(gaps)


def _points(gap: float) -> str:
    return "the best" if gap == 0 else f"{decimal(100 * gap, 1)} points"


def _promise(result: Result) -> str:
    guarantee = result.guarantee
    if not guarantee.is_private:
        return "not private"
    where = "local" if guarantee.definition.value == "local" else "central"
    return f"{guarantee.budget} ({where})".replace(" ", NO_BREAK)


def _more(estimate: Estimate) -> str:
    number = count(abs(estimate.mean))
    return f"{number} more" if estimate.mean >= 0 else f"{number} fewer"


def _in_brief(found: Price) -> str:
    if abs(found.patients.mean) <= 2.0 * found.patients.error:
        return f"nothing that could be measured ({title(found.policy)})"
    return f"{_more(found.patients)} patients on a worse treatment ({title(found.policy)})"


def _error(estimate: Estimate) -> str:
    return count(max(estimate.error, 1.0)) if estimate.error >= 0 else "unknown"


def _cost(estimate: Estimate) -> Html:
    if estimate.mean < 0:
        return joined("no successes")
    return joined(strong(f"about {count(estimate.mean)} successes"), f" (± {_error(estimate)})")


def _curves_in_words(results: Iterable[Result], horizon: int) -> str:
    ends = ", ".join(
        f"{title(r.name)} {count(r.final_regret.mean())}"
        for r in sorted(results, key=lambda r: r.final_regret.mean())
    )
    return (
        "Curves of successes lost against patients treated. "
        f"After {count(horizon)} patients: {ends}."
    )


def _price_in_words(prices: Iterable[Price]) -> list[str]:
    prices = list(prices)
    return [
        f"{title(name)}: "
        + ", ".join(
            f"{count(p.patients.mean)} at ε = {p.epsilon:g}" for p in prices if p.policy == name
        )
        + "."
        for name in dict.fromkeys(p.policy for p in prices)
    ]
