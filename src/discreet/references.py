"""The literature: every paper that a row, a law or a proof of this package rests on.

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

from .version import __version__

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


_ALL = (
    Reference(
        "agrawal2012", "inproceedings", ("Agrawal, Shipra", "Goyal, Navin"),
        "Analysis of Thompson Sampling for the Multi-armed Bandit Problem",
        "Proceedings of the 25th Annual Conference on Learning Theory", 2012,
        {
            "series": "Proceedings of Machine Learning Research", "volume": "23",
            "pages": "39.1–39.26", "url": "https://proceedings.mlr.press/v23/agrawal12.html",
        },
    ),
    Reference(
        "agarwal2021", "inproceedings", ("Agarwal, Naman", "Kairouz, Peter", "Liu, Ziyu"),
        "The Skellam Mechanism for Differentially Private Federated Learning",
        "Advances in Neural Information Processing Systems", 2021,
        {"volume": "34", "eprint": "2110.04995", "archiveprefix": "arXiv"},
    ),
    Reference(
        "asi2025", "inproceedings", ("Asi, Hilal", "Raman, Vinod", "Talwar, Kunal"),
        "Faster Rates for Private Adversarial Bandits",
        "Proceedings of the 42nd International Conference on Machine Learning", 2025,
        {"eprint": "2505.21790", "archiveprefix": "arXiv"},
    ),
    Reference(
        "auer2002", "article", ("Auer, Peter", "Cesa-Bianchi, Nicolò", "Fischer, Paul"),
        "Finite-time Analysis of the Multiarmed Bandit Problem", "Machine Learning", 2002,
        {
            "volume": "47", "number": "2–3", "pages": "235–256",
            "doi": "10.1023/A:1013689704352",
        },
    ),
    Reference(
        "azize2022", "inproceedings", ("Azize, Achraf", "Basu, Debabrota"),
        "When Privacy Meets Partial Information: A Refined Analysis of Differentially Private "
        "Bandits",
        "Advances in Neural Information Processing Systems", 2022, {"volume": "35"},
    ),
    Reference(
        "azize2024", "inproceedings", ("Azize, Achraf", "Basu, Debabrota"),
        "Concentrated Differential Privacy for Bandits",
        "2024 IEEE Conference on Secure and Trustworthy Machine Learning (SaTML)", 2024,
        {"eprint": "2309.00557", "archiveprefix": "arXiv"},
    ),
    Reference(
        "azize2024thesis", "phdthesis", ("Azize, Achraf",),
        "Privacy-Utility Trade-offs in Sequential Decision-Making under Uncertainty",
        "Université de Lille", 2024, {},
    ),
    Reference(
        "abbasi2011", "inproceedings",
        ("Abbasi-Yadkori, Yasin", "Pál, Dávid", "Szepesvári, Csaba"),
        "Improved Algorithms for Linear Stochastic Bandits",
        "Advances in Neural Information Processing Systems", 2011, {"volume": "24"},
    ),
    Reference(
        "jourdan2023", "inproceedings", ("Jourdan, Marc", "Degenne, Rémy"),
        "Non-Asymptotic Analysis of a UCB-based Top Two Algorithm",
        "Advances in Neural Information Processing Systems", 2023, {"volume": "36"},
    ),
    Reference(
        "jourdan2025", "inproceedings", ("Jourdan, Marc", "Azize, Achraf"),
        "Optimal Best Arm Identification under Differential Privacy",
        "Advances in Neural Information Processing Systems", 2025,
        {"eprint": "2510.17348", "archiveprefix": "arXiv"},
    ),
    Reference(
        "kaufmann2021", "article", ("Kaufmann, Emilie", "Koolen, Wouter M."),
        "Mixture Martingales Revisited with Applications to Sequential Tests and Confidence "
        "Intervals",
        "Journal of Machine Learning Research", 2021,
        {"volume": "22", "number": "246", "pages": "1–44"},
    ),
    Reference(
        "howard2021", "article",
        (
            "Howard, Steven R.", "Ramdas, Aaditya", "McAuliffe, Jon", "Sekhon, Jasjeet",
        ),
        "Time-uniform, Nonparametric, Nonasymptotic Confidence Sequences",
        "The Annals of Statistics", 2021,
        {"volume": "49", "number": "2", "pages": "1055–1080"},
    ),
    Reference(
        "waudby2024", "article", ("Waudby-Smith, Ian", "Ramdas, Aaditya"),
        "Estimating Means of Bounded Random Variables by Betting",
        "Journal of the Royal Statistical Society Series B", 2024,
        {"volume": "86", "number": "1", "pages": "1–27"},
    ),
    Reference(
        "karnin2013", "inproceedings", ("Karnin, Zohar", "Koren, Tomer", "Somekh, Oren"),
        "Almost Optimal Exploration in Multi-Armed Bandits",
        "Proceedings of the 30th International Conference on Machine Learning", 2013,
        {"series": "Proceedings of Machine Learning Research", "volume": "28"},
    ),
    Reference(
        "maron1994", "inproceedings", ("Maron, Oded", "Moore, Andrew W."),
        "Hoeffding Races: Accelerating Model Selection Search for Classification and Function "
        "Approximation",
        "Advances in Neural Information Processing Systems 6", 1994,
    ),
    Reference(
        "lai1985", "article", ("Lai, Tze Leung", "Robbins, Herbert"),
        "Asymptotically Efficient Adaptive Allocation Rules",
        "Advances in Applied Mathematics", 1985,
        {"volume": "6", "number": "1", "pages": "4–22"},
    ),
    Reference(
        "garivier2016", "inproceedings", ("Garivier, Aurélien", "Kaufmann, Emilie"),
        "Optimal Best Arm Identification with Fixed Confidence",
        "Proceedings of the 29th Annual Conference on Learning Theory", 2016,
        {"series": "Proceedings of Machine Learning Research", "volume": "49"},
    ),
    Reference(
        "azize2025", "inproceedings",
        (
            "Azize, Achraf", "Wu, Yulian", "Honda, Junya", "Orabona, Francesco", "Ito, Shinji",
            "Basu, Debabrota",
        ),
        "Optimal Regret of Bandits under Differential Privacy",
        "Advances in Neural Information Processing Systems", 2025,
        {"eprint": "2505.05613", "archiveprefix": "arXiv"},
    ),
    Reference(
        "azize2026", "article",
        ("Azize, Achraf", "Jourdan, Marc", "Al Marjani, Aymen", "Basu, Debabrota"),
        "Differentially Private Best-Arm Identification",
        "Journal of Machine Learning Research", 2026,
        {"eprint": "2406.06408", "archiveprefix": "arXiv"},
    ),
    Reference(
        "chan2011", "article", ("Chan, T.-H. Hubert", "Shi, Elaine", "Song, Dawn"),
        "Private and Continual Release of Statistics",
        "ACM Transactions on Information and System Security", 2011,
        {"volume": "14", "number": "3", "doi": "10.1145/2043621.2043626"},
    ),
    Reference(
        "chowdhury2023", "inproceedings", ("Chowdhury, Sayak Ray", "Zhou, Xingyu"),
        "Distributed Differential Privacy in Multi-Armed Bandits",
        "International Conference on Learning Representations", 2023,
        {"eprint": "2206.05772", "archiveprefix": "arXiv"},
    ),
    Reference(
        "garivier2011", "inproceedings", ("Garivier, Aurélien", "Cappé, Olivier"),
        "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond",
        "Proceedings of the 24th Annual Conference on Learning Theory", 2011,
        {
            "series": "Proceedings of Machine Learning Research", "volume": "19",
            "pages": "359–376",
        },
    ),
    Reference(
        "hammer1996", "article",
        (
            "Hammer, Scott M.", "Katzenstein, David A.", "Hughes, Michael D.",
            "Gundacker, Holly", "Schooley, Robert T.", "Haubrich, Richard H.",
            "Henry, W. Keith", "Lederman, Michael M.", "Phair, John P.", "Niu, Manette",
            "Hirsch, Martin S.", "Merigan, Thomas C.",
        ),
        "A Trial Comparing Nucleoside Monotherapy with Combination Therapy in HIV-Infected "
        "Adults with CD4 Cell Counts from 200 to 500 per Cubic Millimeter",
        "New England Journal of Medicine", 1996,
        {
            "volume": "335", "number": "15", "pages": "1081–1090",
            "doi": "10.1056/NEJM199610103351501",
        },
    ),
    Reference(
        "honda2015", "article", ("Honda, Junya", "Takemura, Akimichi"),
        "Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded Rewards",
        "Journal of Machine Learning Research", 2015,
        {"volume": "16", "number": "113", "pages": "3721–3756"},
    ),
    Reference(
        "hu2022", "inproceedings", ("Hu, Bingshan", "Hegde, Nidhi"),
        "Near-Optimal Thompson Sampling-based Algorithms for Differentially Private Stochastic "
        "Bandits",
        "Proceedings of the Thirty-Eighth Conference on Uncertainty in Artificial Intelligence",
        2022,
        {
            "series": "Proceedings of Machine Learning Research", "volume": "180",
            "pages": "844–852", "url": "https://proceedings.mlr.press/v180/hu22a.html",
        },
    ),
    Reference(
        "lattimore2020", "book", ("Lattimore, Tor", "Szepesvári, Csaba"), "Bandit Algorithms",
        "Cambridge University Press", 2020, {"doi": "10.1017/9781108571401"},
    ),
    Reference(
        "li2011", "inproceedings",
        ("Li, Lihong", "Chu, Wei", "Langford, John", "Wang, Xuanhui"),
        "Unbiased Offline Evaluation of Contextual-bandit-based News Article Recommendation "
        "Algorithms",
        "Proceedings of the Fourth ACM International Conference on Web Search and Data Mining",
        2011, {"pages": "297–306", "doi": "10.1145/1935826.1935878"},
    ),
    Reference(
        "mishra2015", "inproceedings", ("Mishra, Nikita", "Thakurta, Abhradeep"),
        "(Nearly) Optimal Differentially Private Stochastic Multi-Arm Bandits",
        "Proceedings of the Thirty-First Conference on Uncertainty in Artificial Intelligence",
        2015, {"pages": "592–601"},
    ),
    Reference(
        "ren2020", "misc",
        ("Ren, Wenbo", "Zhou, Xingyu", "Liu, Jia", "Shroff, Ness B."),
        "Multi-Armed Bandits with Local Differential Privacy", "arXiv preprint", 2020,
        {"eprint": "2007.03121", "archiveprefix": "arXiv"},
    ),
    Reference(
        "riyazat2026", "inproceedings", ("Riyazat, Mohammadreza", "Ukwatta, Eranga"),
        "AdaPrivate-TS: Private Thompson Sampling for Contextual Bandits with Privacy "
        "Amplification",
        "Proceedings of the 39th Canadian Conference on Artificial Intelligence", 2026,
        {"series": "PMLR", "volume": "318", "pages": "723–734"},
    ),
    Reference(
        "sajed2019", "inproceedings", ("Sajed, Touqir", "Sheffet, Or"),
        "An Optimal Private Stochastic-MAB Algorithm Based on Optimal Private Stopping Rule",
        "Proceedings of the 36th International Conference on Machine Learning", 2019,
        {
            "series": "Proceedings of Machine Learning Research", "volume": "97",
            "pages": "5579–5588",
        },
    ),
    Reference(
        "shariff2018", "inproceedings", ("Shariff, Roshan", "Sheffet, Or"),
        "Differentially Private Contextual Linear Bandits",
        "Advances in Neural Information Processing Systems", 2018,
        {"volume": "31", "pages": "4296–4306"},
    ),
    Reference(
        "tao2022", "inproceedings",
        ("Tao, Youming", "Wu, Yulian", "Zhao, Peng", "Wang, Di"),
        "Optimal Rates of (Locally) Differentially Private Heavy-tailed Multi-Armed Bandits",
        "Proceedings of the 25th International Conference on Artificial Intelligence and "
        "Statistics", 2022,
        {"eprint": "2106.02575", "archiveprefix": "arXiv"},
    ),
    Reference(
        "thompson1933", "article", ("Thompson, William R.",),
        "On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence "
        "of Two Samples",
        "Biometrika", 1933,
        {
            "volume": "25", "number": "3–4", "pages": "285–294",
            "doi": "10.1093/biomet/25.3-4.285",
        },
    ),
    Reference(
        "tossou2016", "inproceedings", ("Tossou, Aristide C. Y.", "Dimitrakakis, Christos"),
        "Algorithms for Differentially Private Multi-Armed Bandits",
        "Proceedings of the Thirtieth AAAI Conference on Artificial Intelligence", 2016,
        {"doi": "10.1609/aaai.v30i1.10212"},
    ),
    Reference(
        "wang2024", "article", ("Wang, Siwei", "Zhu, Jun"),
        "Optimal Learning Policies for Differential Privacy in Multi-armed Bandits",
        "Journal of Machine Learning Research", 2024, {"volume": "25"},
    ),
    Reference(
        "dong2022", "article", ("Dong, Jinshuo", "Roth, Aaron", "Su, Weijie J."),
        "Gaussian Differential Privacy",
        "Journal of the Royal Statistical Society Series B", 2022,
        {"volume": "84", "number": "1", "pages": "3–37"},
    ),
    Reference(
        "dwork2015", "inproceedings",
        ("Dwork, Cynthia", "Smith, Adam", "Steinke, Thomas", "Ullman, Jonathan", "Vadhan, Salil"),
        "Robust Traceability from Trace Amounts",
        "56th Annual IEEE Symposium on Foundations of Computer Science", 2015,
        {"pages": "650–669"},
    ),
    Reference(
        "kairouz2015", "inproceedings", ("Kairouz, Peter", "Oh, Sewoong", "Viswanath, Pramod"),
        "The Composition Theorem for Differential Privacy",
        "Proceedings of the 32nd International Conference on Machine Learning", 2015,
        {"series": "Proceedings of Machine Learning Research", "volume": "37"},
    ),
    Reference(
        "mahloujifar2025", "inproceedings",
        ("Mahloujifar, Saeed", "Melis, Luca", "Chaudhuri, Kamalika"),
        "Auditing f-Differential Privacy in One Run",
        "Proceedings of the 42nd International Conference on Machine Learning", 2025,
        {
            "series": "Proceedings of Machine Learning Research", "volume": "267",
            "pages": "42615–42641",
        },
    ),
    Reference(
        "sankararaman2009", "article",
        (
            "Sankararaman, Sriram", "Obozinski, Guillaume", "Jordan, Michael I.",
            "Halperin, Eran",
        ),
        "Genomic Privacy and Limits of Individual Detection in a Pool", "Nature Genetics", 2009,
        {"volume": "41", "pages": "965–967"},
    ),
    Reference(
        "steinke2023", "inproceedings",
        ("Steinke, Thomas", "Nasr, Milad", "Jagielski, Matthew"),
        "Privacy Auditing with One (1) Training Run",
        "Advances in Neural Information Processing Systems", 2023,
        {"volume": "36", "eprint": "2305.08846", "archiveprefix": "arXiv"},
    ),
    Reference(
        "waudby2024", "article", ("Waudby-Smith, Ian", "Ramdas, Aaditya"),
        "Estimating Means of Bounded Random Variables by Betting",
        "Journal of the Royal Statistical Society Series B", 2024,
        {"volume": "86", "number": "1", "pages": "1–27"},
    ),
    Reference(
        "nasr2023", "misc",
        ("Nasr, Milad", "Hayes, Jamie", "Steinke, Thomas", "Balle, Borja", "Tramèr, Florian",
         "Jagielski, Matthew", "Carlini, Nicholas", "Terzis, Andreas"),
        "Tight Auditing of Differentially Private Machine Learning", "", 2023,
        {"eprint": "2302.07956", "archiveprefix": "arXiv"},
    ),
    Reference(
        "xiao2017", "misc", ("Xiao, Han", "Rasul, Kashif", "Vollgraf, Roland"),
        "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        "", 2017, {"eprint": "1708.07747", "archiveprefix": "arXiv"},
    ),
    Reference(
        "leemann2023", "misc", ("Leemann, Tobias", "Pawelczyk, Martin", "Kasneci, Gjergji"),
        "Gaussian Membership Inference Privacy", "", 2023,
        {"eprint": "2306.07273", "archiveprefix": "arXiv"},
    ),
    Reference(
        "maddock2022", "misc", ("Maddock, Samuel", "Sablayrolles, Alexandre", "Stock, Pierre"),
        "CANIFE: Crafting Canaries for Empirical Privacy Measurement in Federated Learning",
        "", 2022, {"eprint": "2210.02912", "archiveprefix": "arXiv"},
    ),
    Reference(
        "zanella2023", "inproceedings",
        ("Zanella-Béguelin, Santiago", "Wutschitz, Lukas", "Tople, Shruti", "Salem, Ahmed",
         "Rühle, Victor", "Paverd, Andrew", "Naseri, Mohammad", "Köpf, Boris", "Jones, Daniel"),
        "Bayesian Estimation of Differential Privacy",
        "Proceedings of the 40th International Conference on Machine Learning", 2023,
        {"series": "Proceedings of Machine Learning Research", "volume": "202"},
    ),
    Reference(
        "discreet", "software", ("The discreet developers",),
        "discreet: adaptive experiments that keep their participants' secrets", "", 2026,
        {"version": __version__},
    ),
)  # fmt: skip

REFERENCES: dict[str, Reference] = {reference.key: reference for reference in _ALL}
"""All works by key; "discreet" is this package."""
