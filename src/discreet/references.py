"""The literature: every paper that a policy, a distribution or a proof of this package rests on.

>>> from discreet.references import REFERENCES
>>> REFERENCES["azize2022"].short()
'Azize & Basu (2022)'

A field that could not be checked against its source is left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ._version import __version__

__all__ = ["REFERENCES", "Reference"]

_VENUE = {
    "article": "journal",
    "inproceedings": "booktitle",
    "book": "publisher",
    "phdthesis": "school",
}
_ACCENTS = {"\u0301": "'", "\u0300": "`", "\u0308": '"', "\u0302": "^", "\u0303": "~"}


@dataclass(frozen=True)
class Reference:
    """One work. Authors are "Family, Given"; `fields` are further ones, in BibTeX's names."""

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int
    fields: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    def short(self) -> str:
        """As in running text: "Auer et al. (2002)"."""
        families = [author.split(",")[0] for author in self.authors]
        if len(families) > 2:
            return f"{families[0]} et al. ({self.year})"
        return f"{' & '.join(families)} ({self.year})"

    def bibtex(self) -> str:
        """The entry, in ASCII, so that it works with every BibTeX."""
        # an author without a comma is a group, which BibTeX would split into names
        authors = (author if "," in author else f"{{{author}}}" for author in self.authors)
        entries = {"author": " and ".join(authors), "title": f"{{{self.title}}}"}
        if self.venue:
            entries[_VENUE.get(self.kind, "howpublished")] = self.venue
        entries |= {"year": str(self.year), **self.fields}
        width = max(len(name) for name in entries)
        lines = [f"  {name:<{width}} = {{{_ascii(value)}}}," for name, value in entries.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "key": self.key,
            "kind": self.kind,
            "authors": list(self.authors),
            "title": self.title,
            "venue": self.venue,
            "year": self.year,
            "fields": dict(self.fields),
            "short": self.short(),
            "bibtex": self.bibtex(),
        }


def _ascii(text: str) -> str:
    """é -> {\\'e}, and an en dash -> two hyphens."""
    result = ""
    for letter in unicodedata.normalize("NFD", text.replace("–", "--")):
        if letter in _ACCENTS:
            result = f"{result[:-1]}{{\\{_ACCENTS[letter]}{result[-1]}}}"
        else:
            result += letter
    return result


NEURIPS = "Advances in Neural Information Processing Systems"
JMLR = "Journal of Machine Learning Research"


def _work(
    key: str, kind: str, authors: str, title: str, venue: str, year: int, **fields: str
) -> Reference:
    """A work whose authors are "Family, Given; Family, Given"; `pmlr` is its volume in the
    Proceedings of Machine Learning Research, `arxiv` its number there."""
    if "pmlr" in fields:
        series = "Proceedings of Machine Learning Research"
        fields = {"series": series, "volume": fields.pop("pmlr"), **fields}
    if "arxiv" in fields:
        fields |= {"eprint": fields.pop("arxiv"), "archiveprefix": "arXiv"}
    return Reference(key, kind, tuple(authors.split("; ")), title, venue, year, fields)


_ALL = (
    _work(
        "agrawal2012", "inproceedings", "Agrawal, Shipra; Goyal, Navin",
        "Analysis of Thompson Sampling for the Multi-armed Bandit Problem",
        "Proceedings of the 25th Annual Conference on Learning Theory", 2012, pmlr="23",
        pages="39.1–39.26", url="https://proceedings.mlr.press/v23/agrawal12.html",
    ),
    _work(
        "agarwal2021", "inproceedings", "Agarwal, Naman; Kairouz, Peter; Liu, Ziyu",
        "The Skellam Mechanism for Differentially Private Federated Learning", NEURIPS, 2021,
        volume="34", arxiv="2110.04995",
    ),
    _work(
        "asi2025", "inproceedings", "Asi, Hilal; Raman, Vinod; Talwar, Kunal",
        "Faster Rates for Private Adversarial Bandits",
        "Proceedings of the 42nd International Conference on Machine Learning", 2025,
        arxiv="2505.21790",
    ),
    _work(
        "auer2002", "article", "Auer, Peter; Cesa-Bianchi, Nicolò; Fischer, Paul",
        "Finite-time Analysis of the Multiarmed Bandit Problem", "Machine Learning", 2002,
        volume="47", number="2–3", pages="235–256", doi="10.1023/A:1013689704352",
    ),
    _work(
        "bubeck2012", "article", "Bubeck, Sébastien; Cesa-Bianchi, Nicolò",
        "Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems",
        "Foundations and Trends in Machine Learning", 2012, volume="5", number="1",
        pages="1–122",
    ),
    _work(
        "cao2019", "inproceedings", "Cao, Yang; Wen, Zheng; Kveton, Branislav; Xie, Yao",
        "Nearly Optimal Adaptive Procedure with Change Detection for Piecewise-Stationary Bandit",
        "Proceedings of the 22nd International Conference on Artificial Intelligence and "
        "Statistics", 2019,
    ),
    _work(
        "garivier2008", "misc", "Garivier, Aurélien; Moulines, Eric",
        "On Upper-Confidence Bound Policies for Non-Stationary Bandit Problems",
        "arXiv:0805.3415", 2008,
    ),
    _work(
        "azize2022", "inproceedings", "Azize, Achraf; Basu, Debabrota",
        "When Privacy Meets Partial Information: A Refined Analysis of Differentially Private "
        "Bandits",
        NEURIPS, 2022, volume="35",
    ),
    _work(
        "azize2024", "inproceedings", "Azize, Achraf; Basu, Debabrota",
        "Concentrated Differential Privacy for Bandits",
        "2024 IEEE Conference on Secure and Trustworthy Machine Learning (SaTML)", 2024,
        arxiv="2309.00557",
    ),
    _work(
        "azize2024thesis", "phdthesis", "Azize, Achraf",
        "Privacy-Utility Trade-offs in Sequential Decision-Making under Uncertainty",
        "Université de Lille", 2024,
    ),
    _work(
        "abbasi2011", "inproceedings", "Abbasi-Yadkori, Yasin; Pál, Dávid; Szepesvári, Csaba",
        "Improved Algorithms for Linear Stochastic Bandits", NEURIPS, 2011, volume="24",
    ),
    _work(
        "jourdan2023", "inproceedings", "Jourdan, Marc; Degenne, Rémy",
        "Non-Asymptotic Analysis of a UCB-based Top Two Algorithm", NEURIPS, 2023, volume="36",
    ),
    _work(
        "jourdan2025", "inproceedings", "Jourdan, Marc; Azize, Achraf",
        "Optimal Best Arm Identification under Differential Privacy", NEURIPS, 2025,
        arxiv="2510.17348",
    ),
    _work(
        "kaufmann2021", "article", "Kaufmann, Emilie; Koolen, Wouter M.",
        "Mixture Martingales Revisited with Applications to Sequential Tests and Confidence "
        "Intervals",
        JMLR, 2021, volume="22", number="246", pages="1–44",
    ),
    _work(
        "howard2021", "article",
        "Howard, Steven R.; Ramdas, Aaditya; McAuliffe, Jon; Sekhon, Jasjeet",
        "Time-uniform, Nonparametric, Nonasymptotic Confidence Sequences",
        "The Annals of Statistics", 2021, volume="49", number="2", pages="1055–1080",
    ),
    _work(
        "waudby2024", "article", "Waudby-Smith, Ian; Ramdas, Aaditya",
        "Estimating Means of Bounded Random Variables by Betting",
        "Journal of the Royal Statistical Society Series B", 2024, volume="86", number="1",
        pages="1–27",
    ),
    _work(
        "karnin2013", "inproceedings", "Karnin, Zohar; Koren, Tomer; Somekh, Oren",
        "Almost Optimal Exploration in Multi-Armed Bandits",
        "Proceedings of the 30th International Conference on Machine Learning", 2013, pmlr="28",
    ),
    _work(
        "maron1994", "inproceedings", "Maron, Oded; Moore, Andrew W.",
        "Hoeffding Races: Accelerating Model Selection Search for Classification and Function "
        "Approximation",
        "Advances in Neural Information Processing Systems 6", 1994,
    ),
    _work(
        "lai1985", "article", "Lai, Tze Leung; Robbins, Herbert",
        "Asymptotically Efficient Adaptive Allocation Rules",
        "Advances in Applied Mathematics", 1985, volume="6", number="1", pages="4–22",
    ),
    _work(
        "garivier2016", "inproceedings", "Garivier, Aurélien; Kaufmann, Emilie",
        "Optimal Best Arm Identification with Fixed Confidence",
        "Proceedings of the 29th Annual Conference on Learning Theory", 2016, pmlr="49",
    ),
    _work(
        "azize2025", "inproceedings",
        "Azize, Achraf; Wu, Yulian; Honda, Junya; Orabona, Francesco; Ito, Shinji; Basu, "
        "Debabrota",
        "Optimal Regret of Bandits under Differential Privacy", NEURIPS, 2025, arxiv="2505.05613",
    ),
    _work(
        "azize2026", "article", "Azize, Achraf; Jourdan, Marc; Al Marjani, Aymen; Basu, Debabrota",
        "Differentially Private Best-Arm Identification", JMLR, 2026, arxiv="2406.06408",
    ),
    _work(
        "chan2011", "article", "Chan, T.-H. Hubert; Shi, Elaine; Song, Dawn",
        "Private and Continual Release of Statistics",
        "ACM Transactions on Information and System Security", 2011, volume="14", number="3",
        doi="10.1145/2043621.2043626",
    ),
    _work(
        "chowdhury2023", "inproceedings", "Chowdhury, Sayak Ray; Zhou, Xingyu",
        "Distributed Differential Privacy in Multi-Armed Bandits",
        "International Conference on Learning Representations", 2023, arxiv="2206.05772",
    ),
    _work(
        "garivier2011", "inproceedings", "Garivier, Aurélien; Cappé, Olivier",
        "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond",
        "Proceedings of the 24th Annual Conference on Learning Theory", 2011, pmlr="19",
        pages="359–376",
    ),
    _work(
        "hammer1996", "article",
        "Hammer, Scott M.; Katzenstein, David A.; Hughes, Michael D.; Gundacker, Holly; "
        "Schooley, Robert T.; Haubrich, Richard H.; Henry, W. Keith; Lederman, Michael M.; "
        "Phair, John P.; Niu, Manette; Hirsch, Martin S.; Merigan, Thomas C.",
        "A Trial Comparing Nucleoside Monotherapy with Combination Therapy in HIV-Infected "
        "Adults with CD4 Cell Counts from 200 to 500 per Cubic Millimeter",
        "New England Journal of Medicine", 1996, volume="335", number="15", pages="1081–1090",
        doi="10.1056/NEJM199610103351501",
    ),
    _work(
        "honda2015", "article", "Honda, Junya; Takemura, Akimichi",
        "Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded Rewards", JMLR, 2015,
        volume="16", number="113", pages="3721–3756",
    ),
    _work(
        "hu2022", "inproceedings", "Hu, Bingshan; Hegde, Nidhi",
        "Near-Optimal Thompson Sampling-based Algorithms for Differentially Private Stochastic "
        "Bandits",
        "Proceedings of the Thirty-Eighth Conference on Uncertainty in Artificial Intelligence",
        2022, pmlr="180", pages="844–852", url="https://proceedings.mlr.press/v180/hu22a.html",
    ),
    _work(
        "lattimore2020", "book", "Lattimore, Tor; Szepesvári, Csaba",
        "Bandit Algorithms", "Cambridge University Press", 2020, doi="10.1017/9781108571401",
    ),
    _work(
        "li2011", "inproceedings", "Li, Lihong; Chu, Wei; Langford, John; Wang, Xuanhui",
        "Unbiased Offline Evaluation of Contextual-bandit-based News Article Recommendation "
        "Algorithms",
        "Proceedings of the Fourth ACM International Conference on Web Search and Data Mining",
        2011, pages="297–306", doi="10.1145/1935826.1935878",
    ),
    _work(
        "mishra2015", "inproceedings", "Mishra, Nikita; Thakurta, Abhradeep",
        "(Nearly) Optimal Differentially Private Stochastic Multi-Arm Bandits",
        "Proceedings of the Thirty-First Conference on Uncertainty in Artificial Intelligence",
        2015, pages="592–601",
    ),
    _work(
        "ren2020", "misc", "Ren, Wenbo; Zhou, Xingyu; Liu, Jia; Shroff, Ness B.",
        "Multi-Armed Bandits with Local Differential Privacy", "arXiv preprint", 2020,
        arxiv="2007.03121",
    ),
    _work(
        "riyazat2026", "inproceedings", "Riyazat, Mohammadreza; Ukwatta, Eranga",
        "AdaPrivate-TS: Private Thompson Sampling for Contextual Bandits with Privacy "
        "Amplification",
        "Proceedings of the 39th Canadian Conference on Artificial Intelligence", 2026,
        series="PMLR", volume="318", pages="723–734",
    ),
    _work(
        "sajed2019", "inproceedings", "Sajed, Touqir; Sheffet, Or",
        "An Optimal Private Stochastic-MAB Algorithm Based on Optimal Private Stopping Rule",
        "Proceedings of the 36th International Conference on Machine Learning", 2019, pmlr="97",
        pages="5579–5588",
    ),
    _work(
        "shariff2018", "inproceedings", "Shariff, Roshan; Sheffet, Or",
        "Differentially Private Contextual Linear Bandits", NEURIPS, 2018, volume="31",
        pages="4296–4306",
    ),
    _work(
        "tao2022", "inproceedings", "Tao, Youming; Wu, Yulian; Zhao, Peng; Wang, Di",
        "Optimal Rates of (Locally) Differentially Private Heavy-tailed Multi-Armed Bandits",
        "Proceedings of the 25th International Conference on Artificial Intelligence and "
        "Statistics", 2022, arxiv="2106.02575",
    ),
    _work(
        "thompson1933", "article", "Thompson, William R.",
        "On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence "
        "of Two Samples",
        "Biometrika", 1933, volume="25", number="3–4", pages="285–294",
        doi="10.1093/biomet/25.3-4.285",
    ),
    _work(
        "tossou2016", "inproceedings", "Tossou, Aristide C. Y.; Dimitrakakis, Christos",
        "Algorithms for Differentially Private Multi-Armed Bandits",
        "Proceedings of the Thirtieth AAAI Conference on Artificial Intelligence", 2016,
        doi="10.1609/aaai.v30i1.10212",
    ),
    _work(
        "wang2024", "article", "Wang, Siwei; Zhu, Jun",
        "Optimal Learning Policies for Differential Privacy in Multi-armed Bandits", JMLR, 2024,
        volume="25",
    ),
    _work(
        "dong2022", "article", "Dong, Jinshuo; Roth, Aaron; Su, Weijie J.",
        "Gaussian Differential Privacy", "Journal of the Royal Statistical Society Series B", 2022,
        volume="84", number="1", pages="3–37",
    ),
    _work(
        "dwork2015", "inproceedings",
        "Dwork, Cynthia; Smith, Adam; Steinke, Thomas; Ullman, Jonathan; Vadhan, Salil",
        "Robust Traceability from Trace Amounts",
        "56th Annual IEEE Symposium on Foundations of Computer Science", 2015, pages="650–669",
    ),
    _work(
        "kairouz2015", "inproceedings", "Kairouz, Peter; Oh, Sewoong; Viswanath, Pramod",
        "The Composition Theorem for Differential Privacy",
        "Proceedings of the 32nd International Conference on Machine Learning", 2015, pmlr="37",
    ),
    _work(
        "mahloujifar2025", "inproceedings", "Mahloujifar, Saeed; Melis, Luca; Chaudhuri, Kamalika",
        "Auditing f-Differential Privacy in One Run",
        "Proceedings of the 42nd International Conference on Machine Learning", 2025, pmlr="267",
        pages="42615–42641",
    ),
    _work(
        "sankararaman2009", "article",
        "Sankararaman, Sriram; Obozinski, Guillaume; Jordan, Michael I.; Halperin, Eran",
        "Genomic Privacy and Limits of Individual Detection in a Pool", "Nature Genetics", 2009,
        volume="41", pages="965–967",
    ),
    _work(
        "steinke2023", "inproceedings", "Steinke, Thomas; Nasr, Milad; Jagielski, Matthew",
        "Privacy Auditing with One (1) Training Run", NEURIPS, 2023, volume="36",
        arxiv="2305.08846",
    ),
    _work(
        "nasr2023", "misc",
        "Nasr, Milad; Hayes, Jamie; Steinke, Thomas; Balle, Borja; Tramèr, Florian; Jagielski, "
        "Matthew; Carlini, Nicholas; Terzis, Andreas",
        "Tight Auditing of Differentially Private Machine Learning", "", 2023, arxiv="2302.07956",
    ),
    _work(
        "xiao2017", "misc", "Xiao, Han; Rasul, Kashif; Vollgraf, Roland",
        "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        "", 2017, arxiv="1708.07747",
    ),
    _work(
        "leemann2023", "misc", "Leemann, Tobias; Pawelczyk, Martin; Kasneci, Gjergji",
        "Gaussian Membership Inference Privacy", "", 2023, arxiv="2306.07273",
    ),
    _work(
        "maddock2022", "misc", "Maddock, Samuel; Sablayrolles, Alexandre; Stock, Pierre",
        "CANIFE: Crafting Canaries for Empirical Privacy Measurement in Federated Learning",
        "", 2022, arxiv="2210.02912",
    ),
    _work(
        "zanella2023", "inproceedings",
        "Zanella-Béguelin, Santiago; Wutschitz, Lukas; Tople, Shruti; Salem, Ahmed; Rühle, "
        "Victor; Paverd, Andrew; Naseri, Mohammad; Köpf, Boris; Jones, Daniel",
        "Bayesian Estimation of Differential Privacy",
        "Proceedings of the 40th International Conference on Machine Learning", 2023, pmlr="202",
    ),
    _work(
        "discreet", "software", "The discreet developers",
        "discreet: adaptive experiments that keep their participants' secrets", "", 2026,
        version=__version__,
    ),
)  # fmt: skip

REFERENCES: dict[str, Reference] = {reference.key: reference for reference in _ALL}
"""All works by key; "discreet" is this package."""
